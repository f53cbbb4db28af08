"""``make_tensor``: random tensors of any dtype, equal to PyTorch's after the same seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.dtypes import as_dtype, bool_, finfo, iinfo, int64
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import empty
from nbautograd._engine.ops.creation.random import randint
from nbautograd._engine.ops.elementwise.complex import view_as_real
from nbautograd.errors import warn


def make_tensor(
    *shape: int | Sequence[int],
    dtype: dtypes.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor of values drawn uniformly from ``[low, high)``.

    :param shape: the sizes, or a sequence of sizes.
    :param dtype: the dtype.
    :param device: the device.
    :param low: the lower limit, which is included; by default -9, and 0 for bools and unsigned integers. Values out
        of the dtype's range are excluded.
    :param high: the upper limit; by default 9 for floats and complex numbers, 10 for integers, 2 for bools.
    :param requires_grad: whether the tensor requires a gradient.
    :param noncontiguous: return a view of every second element of a larger tensor, if it has two elements or more.
    :param exclude_zero: replace zeros by the smallest positive normal number, 1 for integers and bools.
    :param memory_format: the order of the strides; exclusive with ``noncontiguous``.
    :raises ValueError: ``low`` is not less than ``high``, one of them is NaN, or the dtype has no value in between;
        integers cannot require a gradient.
    :raises TypeError: numbers of the dtype cannot be drawn.

    >>> import nbautograd as torch
    >>> generator = torch.manual_seed(0)
    >>> torch.testing.make_tensor(3, dtype=torch.float32, device="cpu", low=-1, high=1)
    tensor([-0.0075,  0.5364, -0.8230])
    """
    sizes: Any = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    sizes = tuple(sizes)
    dtype = as_dtype(dtype)
    whole = dtype.numpy.kind not in dtypes.INEXACT
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got {noncontiguous=} and {memory_format=}"
        )
    if requires_grad and whole:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    noncontiguous = noncontiguous and math.prod(sizes) > 1
    drawn = (*sizes[:-1], 2 * sizes[-1]) if noncontiguous else sizes
    lower, upper = _limits(dtype, low, high)
    if whole:
        result = randint(math.ceil(lower), math.ceil(upper), drawn, device=device, dtype=dtype)
    else:
        result = empty(drawn, device=device, dtype=dtype)
        _fill(result, lower, upper)
    if noncontiguous:
        result = result[..., 1::2]  # not from the first one, so that offsets are also tested
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = 1 if whole else finfo(dtype).tiny
    if requires_grad:
        result.requires_grad = True
    return result


def _limits(dtype: dtypes.dtype, low: float | None, high: float | None) -> tuple[float, float]:
    """Return the limits for a dtype: the given or the default ones, clamped to its values."""
    least: float
    beyond: float
    inexact = dtype.numpy.kind in dtypes.INEXACT
    if dtype is bool_:
        least, beyond, default = 0, 2, (0, 2)
    elif inexact:
        least, beyond, default = finfo(dtype).min, finfo(dtype).max, (-9, 9)
    else:  # randint does not accept the upper limit of int64
        least, beyond, default = iinfo(dtype).min, iinfo(dtype).max + (dtype is not int64), (-9, 10)
    low = default[0] if low is None else low
    high = default[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and inexact:
        warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 "
            "and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= beyond:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), "
            f"but {dtype} only supports [{least}, {beyond})"
        )
    return min(max(low, least), beyond), min(max(high, least), beyond)


def _fill(t: Tensor, low: float, high: float) -> None:
    """Draw each element, or its real and imaginary part, uniformly between the limits."""
    t = view_as_real(t) if t.dtype.is_complex else t
    if high - low >= finfo(t.dtype).max:  # uniform_ does not support it
        t.uniform_(low / 2, high / 2).mul_(2)
    else:
        t.uniform_(low, high)
