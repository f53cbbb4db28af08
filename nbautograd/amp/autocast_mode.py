"""``autocast``: a region in which some functions compute in half precision, and custom functions inside it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.dtypes import bfloat16, dtype as dtype_class, float16, float64
from nbautograd._engine.core.tensor import Tensor
from nbautograd.amp import state
from nbautograd.amp.state import is_autocast_available
from nbautograd.cuda.devices import is_available, is_bf16_supported
from nbautograd.errors import warn

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

P = ParamSpec("P")
R = TypeVar("R")
SUPPORTED = (bfloat16, float16)


def autocast_decorator(autocast_instance: autocast, func: Callable[P, R]) -> Callable[P, R]:
    """Return the function, so that each call runs in the region."""

    @functools.wraps(func)
    def decorate_autocast(*args: P.args, **kwargs: P.kwargs) -> R:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


def _is_usable(device: str, dtype: dtype_class) -> bool:
    """Return whether autocast can cast to a dtype; warn if it cannot."""
    if device == "cuda":
        if not is_available():
            warn("CUDA is not available or torch_xla is imported. Disabling autocast.")
            return False
        if dtype is bfloat16 and not is_bf16_supported():
            raise RuntimeError("Current CUDA Device does not support bfloat16. Please switch dtype to float16.")
    elif dtype not in SUPPORTED:
        warn(
            f"In {device.upper()} autocast, but the target dtype is not supported. Disabling autocast.\n"
            f"{device.upper()} Autocast only supports dtypes of {', '.join(map(str, SUPPORTED))} currently."
        )
        return False
    if device in ("cpu", "cuda"):
        _ = dtype.numpy  # raises ImportError here instead of inside a model
    return True


class autocast:  # noqa: N801 - PyTorch's name
    """A region in which matrix products and convolutions compute in half precision, and some functions in float32.

    The functions are PyTorch's choice, which differs between the CPU and CUDA; all others compute in their arguments'
    dtypes. Parameters and their gradients keep their dtypes; casts of parameters are cached until the outermost
    region ends. Run the forward pass and the loss inside, and the backward pass outside. It also decorates functions.

    On the CPU, half precision is computed in float32 and rounded: it is not faster, and the numbers are those of
    hardware for half precision.

    :param device_type: the device of the tensors, ``"cpu"`` or ``"cuda"``.
    :param dtype: float16 or bfloat16; by default bfloat16 on the CPU and float16 on CUDA.
    :param enabled: False to switch autocast off inside a region.
    :param cache_enabled: whether to cast a parameter once instead of at each use.
    :raises RuntimeError: the device has no autocast.
    :raises ImportError: the dtype is bfloat16, and the package ``ml_dtypes`` is not installed.

    >>> import nbautograd as torch
    >>> model = torch.nn.Linear(2, 2)
    >>> with torch.autocast("cpu"):
    ...     y = model(torch.ones(1, 2))
    >>> y.dtype
    torch.bfloat16
    >>> y.sum().backward()
    >>> model.weight.grad.dtype
    torch.float32
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtype_class | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        _check_device_type(device_type)
        self.fast_dtype = state.get_autocast_dtype(device_type) if dtype is None else dtypes.as_dtype(dtype)
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self._cache_enabled = state.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._enabled = enabled and _is_usable(device_type, self.fast_dtype)
        self._before: list[state.AutocastState] = []

    def __enter__(self) -> autocast:
        before = state.snapshot()
        self._before.append(before)
        self.prev, self.prev_cache_enabled = self.device in before.devices, before.caches
        self.prev_fastdtype = before.lower(self.device)
        devices = before.devices | {self.device} if self._enabled else before.devices - {self.device}
        chosen = (*before.dtypes, (self.device, self.fast_dtype))
        casts = {} if before.casts is None else before.casts
        state.restore(state.AutocastState(devices, chosen, self._cache_enabled, before.nesting + 1, casts))
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        before = self._before.pop()
        if before.nesting == 0:
            state.clear_autocast_cache()
        state.restore(before)

    def __call__(self, func: Callable[P, R]) -> Callable[P, R]:
        """Return the function, so that each call runs in this region.

        :raises TypeError: the argument is not a function.
        """
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast as "
                "a context manager? For example:\n    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )
        return autocast_decorator(self, func)


def _enter_autocast(*vals: Any) -> autocast:
    """Begin a region without a ``with``."""
    return autocast(*vals).__enter__()


def _exit_autocast(mode: autocast) -> None:
    """End a region that ``_enter_autocast`` began."""
    mode.__exit__(None, None, None)


def _cast(value: Any, device_type: str, dtype: dtype_class) -> Any:
    """Cast the floating tensors of a device, also in containers; return float64 and all other values unchanged."""
    if isinstance(value, Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type and value.dtype is not float64
        return value.to(dtype) if eligible else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, Iterable):
        cast = (_cast(each, device_type, dtype) for each in value)
        return type(value)(cast) if isinstance(value, (list, tuple)) else cast
    return value


def _check_device_type(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: dtype_class | None = None) -> Any:
    """Decorate the ``forward`` of a custom ``Function`` that may be called in a region of ``autocast``.

    :param cast_inputs: in a region, cast the tensors to this dtype and run ``forward`` with autocast off; by default
        ``forward`` runs like the rest of the region.
    :raises ValueError: ``device_type`` is not a string.
    """
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        ctx._dtype = state.get_autocast_dtype(device_type)
        is_on = state.is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = is_on and cast_inputs is None
        if not is_on or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorate_fwd


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate the ``backward`` of a custom ``Function``: it runs in autocast if ``forward`` did.

    :raises ValueError: ``device_type`` is not a string.
    """
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd
