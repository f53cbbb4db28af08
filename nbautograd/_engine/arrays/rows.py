"""Softmax of rows, with its gradients: tile by tile, in the processor's cache.

Computed step by step over a whole array, each step reads and writes memory, and its result is new memory that the
operating system has to clear. Here a few rows go through all steps before the next rows do. Arrays are contiguous, of
float32 or float64. Only the functions' own arrays are overwritten.

A row is summed as a product with ones, which costs a quarter of a reduction: the BLAS adds in as many sums as fit into
the processor's registers. Exponentials are NumPy's own, with errors of up to 2.6 ulp in float32: as with the BLAS, the
last digits depend on the processor. Smaller arrays go through ``pairwise_sum`` and ``precise``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import caching_allocator, dtypes, precise
from nbautograd._engine.arrays.axpy import axpy_rows, multiples, scale_rows, shift_rows
from nbautograd._engine.arrays.summation import pairwise_sum
from nbautograd._engine.arrays.thread_pool import for_each_tile

MIN_SIZE = 1 << 14
TILE_SIZE = 1 << 18
"""Elements of each array computed at a time."""
MIN_QUICK_ROW = 1 << 6
"""Minimum length of a row whose maximum NumPy finds quickly."""
MIN_WIDE_ROW = 1 << 9
"""Minimum length of a row whose maximum takes longer than NumPy's overhead per row."""
MAX_ROW_ELEMENTS = 1 << 12
"""Maximum length of a row that is summed as a product: its error still hardly grows with the length."""
MAX_UNSHIFTED = 30.0
"""Up to this number, exponentials and their sums are far from overflow."""
MAX_LOGARITHM = 345.0
"""Up to this number, no exponential of float64 underflows that float32 could tell from 0 next to the largest."""
HUGE = math.exp(2 * MAX_LOGARITHM)
LEAST_SUM = math.exp(-10)
"""From this sum on, every exponential that underflowed would also have a share that underflows."""


def are_rows(*arrays: Any) -> bool:
    """Return whether all arrays are contiguous NumPy arrays of the same floating dtype; None is ignored.

    >>> are_rows(np.ones((2, 3)), None), are_rows(np.ones((2, 3)).T)
    (True, False)
    """
    dtype = arrays[0].dtype
    if dtype not in dtypes.FLOATS_32_64:
        return False
    for a in arrays:
        if a is not None and not (a.__class__ is np.ndarray and a.dtype is dtype and a.flags.c_contiguous):
            return False
    return True


def tile_rows(width: int) -> int:
    """Return the number of rows of a tile."""
    return max(1, TILE_SIZE // max(width, 1))


def for_row_tiles(evaluate: Callable[[slice], None], rows: int, width: int) -> None:
    """Call ``evaluate`` for each slice of rows, in several threads. The slices depend only on the shape."""
    step = tile_rows(width)
    if rows <= step:
        evaluate(slice(0, rows))
        return
    for_each_tile(rows, step, step, lambda: None, lambda tile, _: evaluate(tile))


def row_sums(a: Any, out: Any = None) -> Any:
    """Return the sums of the rows of a matrix."""
    if a.shape[1] > MAX_ROW_ELEMENTS:
        return np.add.reduce(a, 1, None, out)
    return a.dot(ones(a.shape[1], a.dtype), out)  # the method takes two thirds of the function's time


def row_products(a: Any, b: Any, out: Any = None) -> Any:
    """Return the sums of the rows of ``a * b``, long rows in pieces, since the BLAS sums a row sequentially.

    :param b: a matrix, or a row for all.
    """
    width = a.shape[1]
    if width <= MAX_ROW_ELEMENTS:
        return np.vecdot(a, b, out) if b.ndim > 1 else a.dot(b, out)
    parts = np.empty((-(-width // MAX_ROW_ELEMENTS), len(a)), a.dtype)
    for number, part in enumerate(parts):
        piece = slice(MAX_ROW_ELEMENTS * number, MAX_ROW_ELEMENTS * (number + 1))
        np.vecdot(a[:, piece], b[..., piece], part)
    sums = pairwise_sum(parts, (0,))
    if out is None:
        return sums
    out[...] = sums
    return out


@functools.lru_cache(maxsize=64)
def ones(count: int, dtype: Any) -> Any:
    """Return a row of ones, cached."""
    row = np.ones(count, dtype)
    row.flags.writeable = False
    return row


@functools.lru_cache(maxsize=64)
def number(value: float, dtype: Any) -> Any:
    """Return a number as a cached array, next to which NumPy takes half the time of a Python number."""
    array = np.array(value, dtype)
    array.flags.writeable = False
    return array


def repeated(values: Any, count: int) -> Any:
    """Return ``count`` copies along a new dimension: NumPy processes a contiguous array at twice the speed."""
    copies = np.empty((count, *values.shape), values.dtype)
    copies[:] = values
    return copies


# -- softmax ---------------------------------------------------------------------------------------------------------


def exponentials(x: Any, out: Any) -> Any:
    """Write the exponentials of a matrix, scaled per row to avoid overflow; return their sums."""
    sums = unshifted_exponentials(x, out)
    return shifted_exponentials(x, out) if sums is None else sums


def unshifted_exponentials(x: Any, out: Any) -> Any:
    """Write the exponentials of a matrix unscaled; return the rows' sums, or None if too much precision is lost.

    If no element is large, nothing has to be subtracted: finding the largest element of each row costs as much as the
    exponentials themselves.
    """
    if np.maximum.reduce(x, None) <= MAX_UNSHIFTED:  # false for nan
        np.exp(x, out)
        sums = row_sums(out)
        if np.minimum.reduce(sums) >= LEAST_SUM:
            return sums
    return None


def shifted_exponentials(x: Any, out: Any) -> Any:
    """Write the exponentials of a matrix minus the largest element of each row; return the rows' sums."""
    _shifted(x, out)
    np.exp(out, out)
    return row_sums(out)


def _shifted(x: Any, out: Any) -> None:
    """Write a matrix minus the largest element of each row."""
    shift = _row_maxima(x)
    shift[shift == -math.inf] = 0  # inf - inf is nan
    np.subtract(x, shift[:, None], out)


def _row_maxima(x: Any) -> Any:
    """Return the largest element of each row, by ``reduceat`` in half of the time, since NumPy has overhead per row."""
    rows, width = x.shape
    if width < MIN_QUICK_ROW:
        return np.maximum.reduce(np.ascontiguousarray(x.T), 0)
    if width < MIN_WIDE_ROW:
        return np.maximum.reduceat(x.reshape(-1), multiples(rows, width))
    return np.maximum.reduce(x, 1)


def softmax(a: Any) -> Any:
    """Compute softmax over the last dimension."""
    result = caching_allocator.empty(a.shape, a.dtype)
    source, target = _matrix(a), _matrix(result)

    def evaluate(tile: slice) -> None:
        out = target[tile]
        sums = exponentials(source[tile], out)
        scale_rows(1 / sums, out)

    for_row_tiles(evaluate, *source.shape)
    return result


def log_softmax(a: Any) -> Any:
    """Return the logarithm of softmax over the last dimension."""
    result = caching_allocator.empty(a.shape, a.dtype)
    source, target = _matrix(a), _matrix(result)

    def evaluate(tile: slice) -> None:
        out = target[tile]
        _shifted(source[tile], out)  # so that a near-certain outcome has an exact logarithm near 0
        shift_rows(-precise.log(row_sums(np.exp(out))), out)

    for_row_tiles(evaluate, *source.shape)
    return result


def small_softmax(a: Any) -> Any:
    """Compute softmax over the last dimension, in float64; None if an exponential might be inf or nan."""
    powers = _matrix(a).astype(np.float64)
    np.exp(powers, powers)
    sums = row_sums(powers)
    shares = 1 / sums
    if not (sums.dot(sums) <= HUGE and shares.dot(shares) <= HUGE):  # in one step; false for nan
        return None
    np.multiply(powers, shares[:, None], powers)
    return powers.astype(a.dtype, copy=False).reshape(a.shape)


def small_log_softmax(a: Any) -> Any:
    """Compute the logarithm of ``small_softmax`` for float32; None under the same conditions, and for float64."""
    if a.dtype == np.float64 or a.shape[-1] == 1:  # whose logarithm is exactly 0
        return None
    wide = _matrix(a).astype(np.float64)
    logarithms = np.log(row_sums(np.exp(wide)))
    if not logarithms.dot(logarithms) <= MAX_LOGARITHM**2:
        return None
    np.subtract(wide, logarithms[:, None], wide)
    return wide.astype(a.dtype).reshape(a.shape)


def softmax_back(g: Any, value: Any) -> Any:
    """Return the gradient of softmax over the last dimension, given its value."""
    result = caching_allocator.empty(g.shape, g.dtype)
    cotangent, powers, target = _matrix(g), _matrix(value), _matrix(result)

    def evaluate(tile: slice) -> None:
        part, out = powers[tile], target[tile]
        np.multiply(cotangent[tile], part, out)
        axpy_rows(-row_sums(out), part, out)

    for_row_tiles(evaluate, *powers.shape)
    return result


def log_softmax_back(g: Any, value: Any) -> Any:
    """Return the gradient of log-softmax over the last dimension, given its value."""
    result = caching_allocator.empty(g.shape, g.dtype)
    cotangent, logarithms, target = _matrix(g), _matrix(value), _matrix(result)

    def evaluate(tile: slice) -> None:
        part, out = cotangent[tile], target[tile]
        np.exp(logarithms[tile], out)
        scale_rows(row_sums(part), out)
        np.subtract(part, out, out)

    for_row_tiles(evaluate, *logarithms.shape)
    return result


def _matrix(a: Any) -> Any:
    return a.reshape(-1, a.shape[-1])
