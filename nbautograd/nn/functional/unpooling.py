"""Max-unpooling: maxima put back in their original places, zeros elsewhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.core.batched import elements
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.signal import pool
from nbautograd.errors import ShapeError
from nbautograd.nn.functional._common import floating_only, tuple_of
from nbautograd.nn.functional.pooling import Ints

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]


def _unpool(
    name: str,
    n: int,
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    output_size: Any,
) -> Tensor:
    check_tensors(name, input=input, indices=indices)
    kernel = tuple_of(kernel_size, n, f"{name}: kernel_size")
    step = kernel if stride is None else tuple_of(stride, n, f"{name}: stride")
    around = tuple_of(padding, n, f"{name}: padding")
    a, index = input._a, indices._a
    if index.dtype != np.int64:
        raise RuntimeError(
            f"{name}(): elements in indices should be type int64 but got: {dtypes.scalar_type(indices.dtype)}"
        )
    if index.shape != a.shape:
        raise ShapeError(
            f"{name}(): Expected shape of indices to be same as that of the input tensor ({list(a.shape)}) but got "
            f"indices tensor with shape: {list(index.shape)}"
        )
    if a.ndim not in (n + 1, n + 2) or 0 in a.shape[-n:]:
        raise ShapeError(
            f"{name}(): Input to max_unpooling should be a {n + 1}d or {n + 2}d Tensor, got {list(a.shape)}"
        )
    least = [(m - 1) * s + k - 2 * p for m, s, k, p in zip(a.shape[-n:], step, kernel, around, strict=True)]
    size = tuple(least) if output_size is None else _size_near(name, least, step, output_size, a.ndim)
    floating_only(name, input)
    index = elements(indices)
    if index.size and not 0 <= int(index.min()) <= int(index.max()) < math.prod(size):
        raise RuntimeError(
            f"{name}(): Found an invalid max index: {int(index.max())} (output volumes are of size {size})"
        )
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
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Any = None,
) -> Tensor:
    """Put maxima back in their original places, zeros elsewhere: a partial inverse of :func:`max_pool1d`."""
    return _unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Any = None,
) -> Tensor:
    """Put maxima back in their original places, zeros elsewhere: a partial inverse of :func:`max_pool2d`."""
    return _unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Any = None,
) -> Tensor:
    """Put maxima back in their original places, zeros elsewhere: a partial inverse of :func:`max_pool3d`."""
    return _unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)
