"""Shared helpers: parsing and checking of arguments, and reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.compiler.op import POINTWISE, op
from nbautograd._engine.core import dispatch_mode, inplace, tracing
from nbautograd._engine.core.grad_mode import is_grad_enabled
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.from_data import number_in
from nbautograd._engine.ops.indexing.indexing import view_alias
from nbautograd._engine.ops.queries import check_tensors
from nbautograd.autograd import saved_tensors
from nbautograd.autograd.backward import grad
from nbautograd.errors import DtypeError, UnsupportedDtypeError, kind_of, warn
from nbautograd.nn.parameter import Parameter

PLAIN_CLASSES = (Tensor, Parameter)
F = TypeVar("F", bound=Callable[..., Any])


def pointwise(*, accepts: str = "f", method: bool = False, **declaration: Any) -> Callable[[F], F]:
    """Declare an elementwise operation as :func:`op` does: of floating dtypes, and no method of Tensor, by default."""
    return op(kind=POINTWISE, accepts=accepts, method=method, inplace_method=False, **declaration)


def is_fusible(*tensors: Tensor) -> bool:
    """Return whether steps on tensors may become one node: the tensors are on the CPU, and no observer watches."""
    dtype = tensors[0]._a.dtype
    if dtype not in dtypes.FLOATS_32_64 or tracing.is_on() or dispatch_mode.is_on_anywhere() or saved_tensors.current():
        return False
    for t in tensors:
        array = t._a
        if t.__class__ not in PLAIN_CLASSES or array.__class__ is not np.ndarray or array.dtype is not dtype:
            return False
    return True


def gradients_of_steps(
    g: Sequence[Tensor | None], steps: Callable[..., Sequence[Tensor]], operands: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """Return recorded gradients of a fused operation's operands: run its steps again and differentiate them.

    :param g: the gradients of the results of ``steps``; None for one that is missing.
    """
    # Aliases: an operand's gradient comes from the steps, not from another operand that depends on it.
    aliases = [None if t is None else view_alias(t) for t in operands]
    pairs = [(t, d) for t, d in zip(steps(*aliases), g, strict=True) if d is not None]
    wanted = {i: t for i, t in enumerate(aliases) if t is not None and t.requires_grad}
    if not (wanted and pairs):
        return [None] * len(aliases)
    results, weights = zip(*pairs, strict=True)
    gradients = grad(results, list(wanted.values()), weights, create_graph=True, allow_unused=True)
    found = dict(zip(wanted, gradients, strict=True))
    return [found.get(i) for i in range(len(aliases))]


def tuple_of(value: Any, n: int, what: str, least: int | None = None) -> tuple[int, ...]:
    """Return ``n`` ints, given as a single int or as a sequence of length one or ``n``."""
    if value.__class__ is int and (least is None or value >= least):
        return (value,) * n
    items = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    for item in items:
        if isinstance(item, (bool, float)) or not hasattr(item, "__index__"):
            raise TypeError(f"argument '{what}' must be tuple of ints, but found element of type {kind_of(item)}")
    result = tuple(map(int, items))
    if len(result) == 1:
        result = result * n
    if len(result) != n:
        raise RuntimeError(f"{what} must be a single int or a tuple of {n} ints, got {value!r}")
    if least is not None and min(result, default=least) < least:
        kind = {0: "non-negative", 1: "greater than zero (positive)"}.get(least, f"at least {least}")
        raise RuntimeError(f"{what} should be {kind}, but got {value!r}")
    return result


def check_running(training: bool, running_mean: Tensor | None, running_var: Tensor | None) -> None:
    """Check that a normalization in training follows both running statistics or neither."""
    if training and (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")


def is_mixed(name: str, input: Tensor, *others: Tensor | None) -> bool:
    """Return whether the input has half precision and the parameters float32, as autocast leaves them."""
    mixed = False
    for t in others:
        if t is not None and t._a.dtype != input._a.dtype:
            mixed = input._a.dtype.itemsize == 2 and t._a.dtype == np.float32
            if not mixed:
                raise DtypeError(
                    f"{name}(): mixed dtype (CPU): expect parameter to have scalar type of "
                    f"{dtypes.scalar_type(input.dtype)}, as input has, but found {dtypes.scalar_type(t.dtype)}"
                )
    return mixed


def in_place_or_not(name: str, function: Callable[..., Tensor], write: bool, input: Tensor, *options: Any) -> Tensor:
    """Return ``function(input, *options)``, written into ``input`` if ``write``."""
    if write:
        return inplace.apply_inplace(input, name + "_", function, options, {})
    return function(input, *options)


def fitting(name: str, number: Any, input: Tensor) -> Any:
    """Return a number that a tensor's dtype, or float32, can hold."""
    if isinstance(number, (int, float)) and not -65504 <= number <= 65504:
        number_in(number, dtypes.promote_types(input.dtype, dtypes.float32), name)
    return number


def check_reduction(reduction: str) -> None:
    """Check that a reduction is ``"mean"``, ``"sum"`` or ``"none"``."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction: expected 'mean', 'sum' or 'none'")


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """Return the mean of the losses, their sum, or the losses themselves."""
    check_reduction(reduction)
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


def no_derivative(function: str, **tensors: Any) -> None:
    """Check that no tensor requires grad for which the function has no derivative."""
    for name, tensor in tensors.items():
        if isinstance(tensor, Tensor) and tensor.requires_grad and is_grad_enabled():
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument '{name}'. This input cannot "
                "have requires_grad True: detach() it"
            )


def floating_only(name: str, t: Tensor) -> None:
    """Check that the dtype is floating."""
    if t._a.dtype.kind not in "fV":
        raise UnsupportedDtypeError(name, t.dtype, "f")


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """Return the reduction that the deprecated arguments ``size_average`` and ``reduce`` select, if given."""
    if size_average is None and reduce is None:
        return reduction
    average, is_reduced = (flag is None or bool(flag) for flag in (size_average, reduce))
    result = "none" if not is_reduced else "mean" if average else "sum"
    warn(f"size_average and reduce args will be deprecated, please use reduction='{result}' instead.")
    return result


def of_nothing(input: Tensor, **others: Tensor | None) -> Tensor:
    """Return a batch without elements, normalized."""
    check_tensors("batch_norm", **{name: t for name, t in others.items() if t is not None})
    weight, bias = others["weight"], others["bias"]
    result = input.clone() if weight is None else input.clone() * weight[0]
    return result if bias is None else result + bias[0]
