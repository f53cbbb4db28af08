"""Helpers that third-party optimizers import from ``torch.optim.optimizer``, besides the base class."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from nbautograd._engine.arrays.dtypes import dtype, float32, float64, get_default_dtype
from nbautograd._engine.core.grad_mode import set_grad_enabled
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.elementwise.complex import view_as_real

__all__ = ["_use_grad_for_differentiable"]

_params_doc = "params: the tensors to optimize, or dictionaries of parameter groups"
_foreach_doc = "foreach (bool, optional): accepted; tensors go one by one"
_fused_doc = "fused (bool, optional): accepted; tensors go one by one"
_maximize_doc = "maximize (bool, optional): ascend instead of descending (default: False)"
_differentiable_doc = "differentiable (bool, optional): whether steps are recorded (default: False)"
_capturable_doc = "capturable (bool, optional): for graphs of CUDA, which are not used here (default: False)"
_foreach_supported_types = [Tensor]


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``step`` that is recorded only if the optimizer's default ``differentiable`` is true."""

    @functools.wraps(func)
    def step(*args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(args[0].defaults["differentiable"]):
            return func(*args, **kwargs)

    return step


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[Any], Any]:
    """Return the function unchanged, as a decorator: nothing is compiled."""
    return lambda func: func


def _get_value(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def _to_scalar(x: Any) -> Any:
    return x.squeeze() if isinstance(x, Tensor) and x.ndim else x


def _stack_if_compiling(x: Any) -> Any:
    return x


def _get_scalar_dtype(is_fused: bool | None = None) -> dtype:
    """Return the dtype in which steps are counted."""
    return float64 if not is_fused and get_default_dtype() is float64 else float32


def _get_foreach_kernels_supported_devices() -> list[str]:
    return ["cuda"]


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["cpu", "cuda"]


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    return ["cuda"]


def _default_to_fused_or_foreach(params: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Return whether multi-tensor kernels are the default: False, as on the CPU in PyTorch."""
    return False, False


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    if not p.is_floating_point():
        raise RuntimeError(f"`fused=True` requires all the params to be floating point Tensors, but got {p.dtype}")


def _view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Replace complex tensors in lists by real views."""
    for i, p in enumerate(params):
        if p.is_complex():
            for values in (params, *state_and_grads):
                values[i] = view_as_real(values[i])
