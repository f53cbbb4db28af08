"""Pairwise summation along any axes: the rounding error hardly grows with the number of elements."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import caching_allocator
from nbautograd._engine.arrays.strides import row_major
from nbautograd._engine.arrays.thread_pool import parallel_for

MAX_SEQUENTIAL = 32
"""Rows that are added sequentially: the rounding error is still small."""
BLOCK_ROWS = 16
"""Number of rows added sequentially in each round of a long sum."""
ELEMENTS_PER_TASK = 1 << 18
"""Number of elements of one long row that a thread takes at a time."""
MIN_LONG_ROW = 1024
"""Minimum length of an inner loop that outweighs NumPy's overhead per call."""
MIN_PRODUCT_SIZE = 1 << 14
"""Minimum number of elements for which rows are summed block by block, each as a product with ones."""
MIN_BLOCK_ROWS = 16
"""Minimum length of a block for which a product is faster."""

FLOAT16, FLOAT32, FLOAT64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
ONES = {dtype: np.ones(2 * MAX_SEQUENTIAL, dtype) for dtype in (FLOAT32, FLOAT64)}
"""Ones for sums as products, which cost a third of a reduction; their length is the maximum number of elements."""


def is_half(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype is float16 or bfloat16."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def upcast_half(a: Any) -> Any:
    """Return half precision as float32, for sums and squares; anything else unchanged."""
    if not hasattr(a, "dtype") or not is_half(a.dtype):
        return a
    return a.astype(np.float32, "C" if 0 in a.strides else "K")


def pairwise_sum(a: Any, axes: tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    """Return the sum over ``axes``, all by default, with an error that hardly grows with the number of elements.

    NumPy sums in pairs only along contiguous memory; otherwise row by row, and float16 in float16. Here, integers and
    bools are summed in int64, float16 in float32.
    """
    dtype = a.dtype
    if a.__class__ is not np.ndarray:  # CuPy's sum is pairwise itself
        return row_major(a.sum(axes, None if dtype.kind in "fc" else np.int64, None, keepdims))
    if dtype is not FLOAT32 and dtype is not FLOAT64:
        if dtype is FLOAT16 or dtype.kind == "V":
            return pairwise_sum(upcast_half(a), axes, keepdims).astype(dtype)
        if dtype.kind not in "fc":
            return row_major(np.add.reduce(a, axes, np.int64, None, keepdims))
    in_order = a.flags.c_contiguous
    ones = ONES.get(dtype) if in_order else None
    if ones is not None:
        if a.size <= len(ones) and (axes is None or a.ndim == 1) and not keepdims:
            return a.reshape(-1).dot(ones[: a.size])
        if a.ndim == 2 and axes is not None and len(axes) == 1 and (n := a.shape[axes[0]]) <= len(ones):
            if axes[0] == 0:
                return ones[:n].dot(a)[None] if keepdims else ones[:n].dot(a)
            return a.dot(ones[:n])[:, None] if keepdims else a.dot(ones[:n])
    if a.size <= MAX_SEQUENTIAL:
        summed = np.add.reduce(a, axes, None, None, keepdims)
        return summed if in_order else row_major(summed)
    if in_order:
        if axes is None:
            if a.size >= 2 * ELEMENTS_PER_TASK:
                return _shared(a.reshape(-1)).reshape((1,) * (a.ndim * keepdims))[()]
            if a.size < MIN_PRODUCT_SIZE or ones is None:
                return np.add.reduce(a, None, None, None, keepdims)
            return _sums_by_blocks(a.reshape(1, -1)).reshape((1,) * (a.ndim * keepdims))[()]
        if len(axes) == 1:
            (d,) = axes
            shape = a.shape
            if shape[d] > MAX_SEQUENTIAL and d < len(shape) - 1:
                before, after = shape[:d], shape[d + 1 :]
                summed = _rows(a.reshape(math.prod(before), shape[d], math.prod(after)))
                return summed.reshape(before + (1,) * keepdims + after)
            if d == len(shape) - 1 and a.size >= MIN_PRODUCT_SIZE:
                return _sums_by_blocks(a.reshape(-1, shape[d])).reshape(shape[:d] + (1,) * keepdims)
            return np.add.reduce(a, axes, None, None, keepdims)
        kept = a.ndim - len(axes)
        if kept and axes == tuple(range(kept, a.ndim)):  # the last ones: rows
            shape = a.shape[:kept]
            return _sums_by_blocks(a.reshape(math.prod(shape), -1)).reshape(shape + (1,) * len(axes) * keepdims)
    return row_major(_by_memory(a, range(a.ndim) if axes is None else axes, keepdims))


def pairwise_mean(a: Any, axes: tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    """Return the mean over ``axes``, all by default; of float16, computed in float32."""
    if a.dtype is FLOAT16:
        return pairwise_mean(upcast_half(a), axes, keepdims).astype(a.dtype)
    n = a.size if axes is None else a.shape[axes[0]] if len(axes) == 1 else math.prod([a.shape[d] for d in axes])
    return pairwise_sum(a, axes, keepdims) / n


def _shared(a: Any) -> Any:
    """Sum one long row in several threads. Its shares do not depend on the number of threads."""
    sums = np.empty(-(-a.size // ELEMENTS_PER_TASK), a.dtype)

    def task(number: int) -> None:
        sums[number] = _sums_by_blocks(a[None, ELEMENTS_PER_TASK * number : ELEMENTS_PER_TASK * (number + 1)])[0]

    parallel_for(task, len(sums))
    return np.add.reduce(sums, keepdims=True)


def _sums_by_blocks(a: Any) -> Any:
    """Return the sums of the rows of a matrix. The BLAS sums equally long blocks at once."""
    n = a.shape[1]
    if a.size < MIN_PRODUCT_SIZE or a.dtype not in ONES or not a.flags.c_contiguous:
        return np.add.reduce(a, 1)
    ones = ONES[a.dtype]
    if len(a) == 1:  # a product with a wide matrix reads memory in order
        whole = n - n % len(ones)
        sums = np.add.reduce(ones.dot(a[0, :whole].reshape(len(ones), -1)), keepdims=True)
        return sums if whole == n else sums + np.add.reduce(a[0, whole:])
    block = _block(n)
    if block < min(n, MIN_BLOCK_ROWS):
        return np.add.reduce(a, 1)
    sums = a.reshape(-1, block).dot(ones[:block])
    if block == n:
        return sums
    sums = sums.reshape(len(a), -1)
    return sums.dot(ones[: n // block]) if n <= block * len(ones) else np.add.reduce(sums, 1)


@functools.lru_cache(maxsize=256)
def _block(length: int) -> int:
    """Return the largest divisor of a length up to which the terms of a product may be added in any order."""
    return next((n for n in range(2 * MAX_SEQUENTIAL, 0, -1) if length % n == 0), 0)


def _rows(a: Any) -> Any:
    """Sum over the middle one of three axes: round by round, blocks of rows become one row each."""
    while (rows := a.shape[1]) > MAX_SEQUENTIAL:
        before, _, after = a.shape
        joined = max(1, min(MIN_LONG_ROW // max(1, after), rows // BLOCK_ROWS))  # short adjacent rows make a long one
        left = rows // (BLOCK_ROWS * joined) * joined
        whole = a[:, : left * BLOCK_ROWS].reshape(before, -1, BLOCK_ROWS, joined, after)
        summed = np.add.reduce(whole, 2).reshape(before, left, after)
        for start in range(left * BLOCK_ROWS, rows, left):
            rest = a[:, start : start + left]
            summed[:, : rest.shape[1]] += rest
        a = summed
    return np.add.reduce(a, 1)


def _by_memory(a: Any, axes: Any, keepdims: bool) -> Any:
    """Sum over ``axes`` of an array in any layout, not empty: in memory order, and the longest axis first."""
    order = sorted(range(a.ndim), key=lambda d: -abs(a.strides[d]))
    lengths: list[int] = []
    gone: list[bool] = []
    for d in order:  # adjacent axes that are both kept, or both summed, are merged
        if gone[-1:] == [d in axes]:
            lengths[-1] *= a.shape[d]
        else:
            lengths.append(a.shape[d])
            gone.append(d in axes)
    b = a.transpose(order).reshape(lengths)
    while any(gone):
        d = max(itertools.compress(range(b.ndim), gone), key=b.shape.__getitem__)
        shape = b.shape[:d] + b.shape[d + 1 :]
        if d == b.ndim - 1:
            b = _sums_by_blocks(b.reshape(-1, b.shape[d])).reshape(shape)
        else:
            b = _rows(b.reshape(math.prod(b.shape[:d]), b.shape[d], -1)).reshape(shape)
        del gone[d]
    kept = [d for d in order if d not in axes]
    b = b.reshape([a.shape[d] for d in kept])
    if kept != sorted(kept):
        b = b.transpose(sorted(range(len(kept)), key=kept.__getitem__))
    return b.reshape([1 if d in axes else n for d, n in enumerate(a.shape)]) if keepdims else b[()]


CHUNK_SIZE = 16
"""Elements whose cumulative sums are one product with a triangle of ones, faster than one by one."""
MAX_TRIANGLE = 64
"""Chunks whose cumulative sums are one such product."""
MIN_CUMULATIVE_SIZE = 1 << 10
CUMULATIVE_BLOCK = 1 << 15
"""Elements, in whole rows, computed at a time: they stay in the cache."""


def cumulative_sums(a: Any, reverse: bool) -> Any:
    """Return the cumulative sums along the last axis of a large float32 array; None if they must be added one by one.

    The sums before each chunk are added in float64, so that the error does not grow with the length.

    :param reverse: begin at the end.
    """
    fits = a.__class__ is np.ndarray and a.dtype is FLOAT32 and a.size >= MIN_CUMULATIVE_SIZE
    if not fits or a.shape[-1] % CHUNK_SIZE or not a.flags.c_contiguous:
        return None
    result = caching_allocator.empty(a.shape, a.dtype)
    triangle, width = _triangle(CHUNK_SIZE, reverse), a.shape[-1] // CHUNK_SIZE
    whole, rows = 0 if reverse else -1, max(1, CUMULATIVE_BLOCK // a.shape[-1]) * width
    source, target = a.reshape(-1, CHUNK_SIZE), result.reshape(-1, CHUNK_SIZE)
    for start in range(0, len(source), rows):
        block = target[start : start + rows]
        np.matmul(source[start : start + rows], triangle, block)
        sums = block[:, whole].astype(np.float64)
        if not np.isfinite(sums).all():  # zeros of the triangle times inf are nan
            return None
        block += _before(sums.reshape(-1, width), reverse).repeat(CHUNK_SIZE).reshape(block.shape)
    return result


def _before(sums: Any, reverse: bool) -> Any:
    """Return the sum before each chunk; the first is 0, which turns sums of -0 into 0, as in PyTorch."""
    width = sums.shape[1]
    if width <= MAX_TRIANGLE:
        return (sums @ _triangle(width, reverse, True)).astype(FLOAT32)
    before = np.zeros(sums.shape, FLOAT32)
    if reverse:
        before[:, -2::-1] = np.cumsum(sums[:, :0:-1], 1)
    else:
        before[:, 1:] = np.cumsum(sums[:, :-1], 1)
    return before


@functools.lru_cache(maxsize=32)
def _triangle(size: int, reverse: bool, strict: bool = False) -> Any:
    """Return the triangle of ones that gives a row's cumulative sums; ``strict``, in float64, for exclusive sums."""
    ones = np.ones((size, size), np.float64 if strict else FLOAT32)
    return np.tril(ones, -strict) if reverse else np.triu(ones, strict)


@functools.lru_cache(maxsize=1024)
def broadcast_axes(shape: tuple[int, ...], to: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dimensions that broadcasting ``to`` to ``shape`` added or repeated."""
    extra = len(shape) - len(to)
    if extra < 0 or any(n != 1 and n != shape[d + extra] for d, n in enumerate(to)):
        raise RuntimeError(f"size {list(to)} is not expandable to size {list(shape)}")
    return (*range(extra), *(d + extra for d, n in enumerate(to) if n == 1 != shape[d + extra]))
