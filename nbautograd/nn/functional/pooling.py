"""Average, power-average and maximum pooling with fixed windows; max-unpooling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.compiler.op import composite
from nbautograd._engine.core.batched import elements
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.signal import pool
from nbautograd._engine.ops.signal.maxima import is_sliced, sliced_max_pool
from nbautograd.errors import ShapeError, UnsupportedDtypeError
from nbautograd.nn.functional._common import floating_only, is_fusible, tuple_of

__all__ = [
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
    "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip

Ints = int | tuple[int, ...]
Windows = tuple[Ints, Ints | None, Ints, Ints, bool]
"""The options of windows: kernel, stride, padding, dilation, and whether the last one may be incomplete."""


def _check(name: str, n: int, input: Tensor) -> None:
    check_tensors(name, input=input)
    shape = input._a.shape
    if name in ("avg_pool2d", "lp_pool2d") and len(shape) < 3:
        raise IndexError(f"{name}(): Dimension out of range: -3 of {len(shape)}, expected a tensor of 3 or 4")
    if len(shape) not in (n + 1, n + 2) or 0 in shape[-n - 1 :]:
        raise ShapeError(
            f"{name}(): Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size for input, "
            f"non-empty otherwise, but got: {list(shape)}"
        )


def _windows(name: str, n: int, input: Tensor, windows: Windows) -> tuple[tuple[int, ...], ...]:
    """Return the options of windows, all as tuples: kernel, stride, padding, dilation, and the number of windows."""
    kernel_size, stride, padding, dilation, ceil = windows
    _check(name, n, input)
    kernel, spread = tuple_of(kernel_size, n, f"{name}: kernel_size", 1), tuple_of(dilation, n, f"{name}: dilation", 1)
    step = kernel if stride is None or stride == () or stride == [] else tuple_of(stride, n, f"{name}: stride")
    if min(step) < 1:
        raise RuntimeError(f"{name}(): stride must be greater than zero and should not be zero, got {stride}")
    around = tuple_of(padding, n, f"{name}: padding", 0)
    for p, k, d in zip(around, kernel, spread, strict=True):
        if p > (d * (k - 1) + 1) // 2:
            given = f"pad={p}, kernel_size={k} and dilation={d}"
            raise RuntimeError(f"{name}(): pad should be at most half of effective kernel size, but got {given}")
    size = input._a.shape[-n:]
    if name == "avg_pool3d" and any(m < k for m, k in zip(size, kernel, strict=True)):
        raise ShapeError(f"{name}(): input image {list(size)} smaller than kernel size {list(kernel)}")
    options = zip(size, kernel, step, around, spread, strict=True)
    out = tuple(_count(m, k, s, p, d, ceil) for m, k, s, p, d in options)
    if min(out) < 1:
        raise ShapeError(
            f"{name}(): Given input size {list(size)}. Calculated output size: {list(out)}. Output size is too small"
        )
    return kernel, step, around, spread, out


def _count(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> int:
    """Return the number of windows; with ``ceil``, the last may end beyond the padding, but not start there."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (room + (stride - 1 if ceil else 0)) // stride + 1
    return count - 1 if ceil and (count - 1) * stride >= size + padding else count


def as_2d(values: tuple[int, ...], first: int) -> tuple[int, ...]:
    """Convert options of one dimension to options of two."""
    return (first, *values)


def _avg(
    name: str, n: int, input: Tensor, windows: Windows, count_include_pad: bool, divisor_override: int | None
) -> Tensor:
    kernel, step, around, _, out = _windows(name, n, input, windows)
    if divisor_override == 0:
        raise RuntimeError(f"{name}(): divisor must be not zero, got divisor_override=0")
    if not input.is_floating_point() and input._a.dtype != np.int64:
        raise UnsupportedDtypeError(name, input.dtype, "if")
    if n > 1:
        return pool.AVG[n](input, out, (kernel, step, around, count_include_pad, divisor_override))
    options = (as_2d(kernel, 1), as_2d(step, 1), as_2d(around, 0), count_include_pad, None)
    return pool.AVG[2](input.unsqueeze(-2), as_2d(out, 1), options).squeeze(-2)


def avg_pool1d(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """Return the means of windows over one dimension; see :func:`avg_pool2d`.

    >>> torch.nn.functional.avg_pool1d(torch.tensor([[1., 2., 3., 4.]]), 2)
    tensor([[1.5000, 3.5000]])
    """
    return _avg("avg_pool1d", 1, input, (kernel_size, stride, padding, 1, ceil_mode), count_include_pad, None)


@composite(method=False, out=True)
def avg_pool2d(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """Return the means of windows.

    :param input: shape (n, c, h, w), or (c, h, w).
    :param padding: zeros on all sides, at most half of the kernel.

    >>> torch.nn.functional.avg_pool2d(torch.ones(1, 2, 4), 2)
    tensor([[[1., 1.]]])
    """
    windows = (kernel_size, stride, padding, 1, ceil_mode)
    return _avg("avg_pool2d", 2, input, windows, count_include_pad, divisor_override)


@composite(method=False, out=True)
def avg_pool3d(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """Return the means of windows over three dimensions; see :func:`avg_pool2d`.

    >>> torch.nn.functional.avg_pool3d(torch.ones(1, 2, 2, 4), 2)
    tensor([[[[1., 1.]]]])
    """
    windows = (kernel_size, stride, padding, 1, ceil_mode)
    return _avg("avg_pool3d", 3, input, windows, count_include_pad, divisor_override)


def _lp(
    name: str, n: int, input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None, ceil_mode: bool
) -> Tensor:
    check_tensors(name, input=input)
    if norm_type == 0:
        raise ValueError(f"{name}(): norm_type must not be 0")
    count = math.prod(tuple_of(kernel_size, n, f"{name}: kernel_size", 1))
    means = _avg(name, n, input.pow(norm_type), (kernel_size, stride, 0, 1, ceil_mode), True, None)
    return (means.sign() * means.abs().relu() * count).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """Compute the p-norms of windows, p being ``norm_type``."""
    return _lp("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """Compute the p-norms of windows, p being ``norm_type``."""
    return _lp("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """Compute the p-norms of windows, p being ``norm_type``."""
    return _lp("lp_pool3d", 3, input, norm_type, kernel_size, stride, ceil_mode)


def _max(name: str, n: int, input: Tensor, windows: Windows, with_indices: bool = True) -> tuple[Tensor, Tensor | None]:
    kernel, step, around, spread, out = _windows(name, n, input, windows)
    if input.dtype.rank not in (1, 2):
        raise UnsupportedDtypeError(name, input.dtype, "if")
    if not with_indices and is_sliced(input._a.shape[-2:], out, kernel, step, around, spread) and is_fusible(input):
        values, *_ = sliced_max_pool(input, out, kernel, step)
        return values, None
    if n > 1:
        return pool.MAX[n](input, out, kernel, step, around, spread)
    options = (as_2d(out, 1), as_2d(kernel, 1), as_2d(step, 1), as_2d(around, 0), as_2d(spread, 1))
    values, indices = pool.MAX[2](input.unsqueeze(-2), *options)
    return values.squeeze(-2), indices.squeeze(-2)


def max_pool1d_with_indices(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return :func:`max_pool1d` and the index of each maximum in the last dimension."""
    return _max("max_pool1d", 1, input, (kernel_size, stride, padding, dilation, ceil_mode))


def max_pool1d(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """Compute the maxima of windows over one dimension; see :func:`max_pool2d`."""
    result = _max("max_pool1d", 1, input, (kernel_size, stride, padding, dilation, ceil_mode))
    return result if return_indices else result[0]


def max_pool2d_with_indices(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return :func:`max_pool2d` and the index of each maximum in the flattened last two dimensions."""
    return _max("max_pool2d", 2, input, (kernel_size, stride, padding, dilation, ceil_mode))


def max_pool2d(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """Compute the maxima of windows; of equal elements, the first.

    >>> torch.nn.functional.max_pool2d(torch.tensor([[[1., 3., 2., 0.]]]), (1, 2))
    tensor([[[3., 2.]]])
    """
    result = _max("max_pool2d", 2, input, (kernel_size, stride, padding, dilation, ceil_mode), return_indices)
    return result if return_indices else result[0]


def max_pool3d_with_indices(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return :func:`max_pool3d` and the index of each maximum in the flattened last three dimensions."""
    return _max("max_pool3d", 3, input, (kernel_size, stride, padding, dilation, ceil_mode))


def max_pool3d(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """Compute the maxima of windows over three dimensions; see :func:`max_pool2d`."""
    result = _max("max_pool3d", 3, input, (kernel_size, stride, padding, dilation, ceil_mode))
    return result if return_indices else result[0]


def _unpool(
    name: str, n: int, input: Tensor, indices: Tensor, windows: tuple[Ints, Ints | None, Ints], output_size: Any
) -> Tensor:
    kernel_size, stride, padding = windows
    check_tensors(name, input=input, indices=indices)
    kernel = tuple_of(kernel_size, n, f"{name}: kernel_size")
    step = kernel if stride is None else tuple_of(stride, n, f"{name}: stride")
    around = tuple_of(padding, n, f"{name}: padding")
    a, index = input._a, indices._a
    if index.dtype != np.int64:
        kind = dtypes.scalar_type(indices.dtype)
        raise RuntimeError(f"{name}(): elements in indices should be type int64 but got: {kind}")
    if index.shape != a.shape:
        shapes = f"({list(a.shape)}) but got indices tensor with shape: {list(index.shape)}"
        raise ShapeError(f"{name}(): Expected shape of indices to be same as that of the input tensor {shapes}")
    if a.ndim not in (n + 1, n + 2) or 0 in a.shape[-n:]:
        raise ShapeError(f"{name}(): Input to max_unpooling should be a {n + 1}d or {n + 2}d Tensor, got {[*a.shape]}")
    least = [(m - 1) * s + k - 2 * p for m, s, k, p in zip(a.shape[-n:], step, kernel, around, strict=True)]
    size = tuple(least) if output_size is None else _size_near(name, least, step, output_size, a.ndim)
    floating_only(name, input)
    index = elements(indices)
    if index.size and not 0 <= int(index.min()) <= int(index.max()) < math.prod(size):
        found = int(index.max())
        raise RuntimeError(f"{name}(): Found an invalid max index: {found} (output volumes are of size {size})")
    if n > 1:
        return pool.UNPOOL[n](input, indices, (*a.shape[:-n], *size), n)
    shape = (*a.shape[:-1], *size, 1)
    return pool.UNPOOL[2](input.unsqueeze(-1), indices.unsqueeze(-1), shape, 2).squeeze(-1)


def _size_near(name: str, least: list[int], step: tuple[int, ...], output_size: Any, ndim: int) -> tuple[int, ...]:
    """Return the last dimensions of an output size, each less than a stride from ``least``."""
    n, size = len(least), tuple(int(m) for m in output_size)
    if len(size) == ndim:
        size = size[-n:]
    if len(size) != n:
        raise ValueError(f"{name}(): output_size should be a sequence containing {n} or {n + 2} elements, got {size}")
    for m, low, s in zip(size, least, step, strict=True):
        if not low - s < m < low + s:
            raise ValueError(
                f"{name}(): invalid output_size {size}: each must differ from {least} by less than stride {step}"
            )
    return size


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Put maxima back in their original places, zeros elsewhere: a partial inverse of :func:`max_pool1d`."""
    return _unpool("max_unpool1d", 1, input, indices, (kernel_size, stride, padding), output_size)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Put maxima back in their original places, zeros elsewhere: a partial inverse of :func:`max_pool2d`."""
    return _unpool("max_unpool2d", 2, input, indices, (kernel_size, stride, padding), output_size)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Put maxima back in their original places, zeros elsewhere: a partial inverse of :func:`max_pool3d`."""
    return _unpool("max_unpool3d", 3, input, indices, (kernel_size, stride, padding), output_size)
