"""Softmax, and normalisation of rows and channels, with their gradients: tile by tile, in the processor's cache.

Computed step by step over a whole array, each step reads and writes memory, and its result is new memory that the
operating system has to clear. Here some rows go through all steps before the next ones do. Arrays are contiguous, of
float32 or float64. What is written over is always the functions' own.

A row is summed as a product with ones, which costs a quarter of a reduction: the BLAS adds in as many sums as fit into
the processor's registers. Exponentials are NumPy's own, within 2.6 ulp in float32: as for the BLAS, the last digits
depend on the processor. Arrays that are smaller go through ``pairwise_sum`` and ``precise``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd.arrays import caching_allocator, precise
from nbautograd.arrays.summation import pairwise_sum
from nbautograd.arrays.thread_pool import for_each_tile

__all__ = [
    "are_rows",
    "channel_norm",
    "channel_norm_back",
    "exponentials",
    "log_softmax",
    "log_softmax_back",
    "norm",
    "norm_back",
    "repeated",
    "shifted_exponentials",
    "softmax",
    "softmax_back",
    "unshifted_exponentials",
]

MIN_SIZE = 1 << 14
"""Minimum number of elements for tiles."""
TILE_SIZE = 1 << 15
"""About how many elements of each array are computed at a time."""
TILES_PER_TASK = 8
"""Tiles that a thread takes at a time."""
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
LONG = 1 << 9
"""Minimum length of an inner loop that outweighs NumPy's overhead per row."""
NARROW = 1 << 6
"""Minimum length of a row whose maximum NumPy finds quickly."""
LONGEST = 1 << 12
"""Maximum length of a row that is summed as a product: its error still hardly grows with the length."""
MAX_ROWS = 64
"""Maximum number of rows that a product with ones adds up: it adds one after the other."""
UNSHIFTED = 30.0
"""Up to this number, exponentials and sums of them are far from overflow."""
LEAST_SUM = math.exp(-10)
"""From this sum on, no exponential has underflown whose share of the sum would not underflow as well."""
Shape = tuple[int, ...]


def are_rows(*arrays: Any) -> bool:
    """Whether all arrays are contiguous NumPy arrays of the same floating dtype; None stands for one that is missing.

    >>> are_rows(np.ones((2, 3)), None), are_rows(np.ones((2, 3)).T)
    (True, False)
    """
    dtype = arrays[0].dtype
    return dtype in FLOATS and all(
        a is None or a.__class__ is np.ndarray and a.dtype is dtype and a.flags.c_contiguous for a in arrays
    )


def _for_tiles(evaluate: Callable[[slice], None], rows: int, width: int) -> None:
    """Call ``evaluate`` for each slice of rows, in several threads. The slices depend on the shape alone."""
    step = max(1, TILE_SIZE // max(width, 1))
    if rows <= step:
        evaluate(slice(0, rows))
        return
    for_each_tile(rows, step, TILES_PER_TASK * step, lambda: None, lambda tile, _: evaluate(tile))


def _row_sums(a: Any, out: Any = None) -> Any:
    """The sums of the rows of a matrix."""
    if a.shape[1] > LONGEST:
        return np.add.reduce(a, 1, None, out)
    return np.dot(a, _ones(a.shape[1], a.dtype), out)


@functools.lru_cache(maxsize=64)
def _ones(count: int, dtype: Any) -> Any:
    ones = np.ones(count, dtype)
    ones.flags.writeable = False
    return ones


def repeated(values: Any, count: int) -> Any:
    """``count`` copies along a new dimension: NumPy goes through a contiguous array at twice the speed."""
    copies = np.empty((count, *values.shape), values.dtype)
    copies[:] = values
    return copies


# -- softmax ---------------------------------------------------------------------------------------------------------


def exponentials(x: Any, out: Any) -> Any:
    """Write the exponentials of a matrix, in each row times the same, so that none overflows; returns the sums."""
    sums = unshifted_exponentials(x, out)
    return shifted_exponentials(x, out) if sums is None else sums


def unshifted_exponentials(x: Any, out: Any) -> Any:
    """Write the exponentials of a matrix as they are; returns the rows' sums, or None where too much is lost so.

    Where no element is large, nothing has to be subtracted: finding the largest one of each row costs as much as the
    exponentials themselves.
    """
    if np.maximum.reduce(x, None) <= UNSHIFTED:  # false for nan
        np.exp(x, out)
        sums = _row_sums(out)
        if np.minimum.reduce(sums) >= LEAST_SUM:
            return sums
    return None


def shifted_exponentials(x: Any, out: Any) -> Any:
    """Write the exponentials of a matrix less the largest element of each row; returns the rows' sums."""
    _shifted(x, out)
    np.exp(out, out)
    return _row_sums(out)


def _shifted(x: Any, out: Any) -> None:
    """Write a matrix less the largest element of each row."""
    narrow = x.shape[1] < NARROW  # NumPy begins anew in each row
    shift = np.maximum.reduce(np.ascontiguousarray(x.T), 0) if narrow else np.maximum.reduce(x, 1)
    shift[shift == -math.inf] = 0  # inf - inf is nan
    np.subtract(x, shift[:, None], out)


def softmax(a: Any) -> Any:
    """Softmax over the last dimension."""
    result = caching_allocator.empty(a.shape, a.dtype)
    source, target = _matrix(a), _matrix(result)

    def evaluate(tile: slice) -> None:
        out = target[tile]
        sums = exponentials(source[tile], out)
        np.multiply(out, (1 / sums)[:, None], out)

    _for_tiles(evaluate, *source.shape)
    return result


def log_softmax(a: Any) -> Any:
    """The logarithm of softmax over the last dimension."""
    result = caching_allocator.empty(a.shape, a.dtype)
    source, target = _matrix(a), _matrix(result)

    def evaluate(tile: slice) -> None:
        out = target[tile]
        _shifted(source[tile], out)  # so that what is nearly certain has a logarithm that is nearly 0, and exact
        np.subtract(out, precise.log(_row_sums(np.exp(out)))[:, None], out)

    _for_tiles(evaluate, *source.shape)
    return result


def softmax_back(g: Any, value: Any) -> Any:
    """The gradient of softmax over the last dimension, whose value is given."""
    result = caching_allocator.empty(g.shape, g.dtype)
    cotangent, powers, target = _matrix(g), _matrix(value), _matrix(result)

    def evaluate(tile: slice) -> None:
        part, out = powers[tile], target[tile]
        np.subtract(cotangent[tile], np.vecdot(cotangent[tile], part)[:, None], out)
        np.multiply(out, part, out)

    _for_tiles(evaluate, *powers.shape)
    return result


def log_softmax_back(g: Any, value: Any) -> Any:
    """The gradient of the logarithm of softmax over the last dimension, whose value is given."""
    result = caching_allocator.empty(g.shape, g.dtype)
    cotangent, logarithms, target = _matrix(g), _matrix(value), _matrix(result)

    def evaluate(tile: slice) -> None:
        part, out = cotangent[tile], target[tile]
        np.exp(logarithms[tile], out)
        np.multiply(out, _row_sums(part)[:, None], out)
        np.subtract(part, out, out)

    _for_tiles(evaluate, *logarithms.shape)
    return result


def _matrix(a: Any) -> Any:
    return a.reshape(-1, a.shape[-1])


# -- normalisation of rows -------------------------------------------------------------------------------------------

# A sample has the shape ``tail``, with which ``weight`` and ``bias`` are broadcast, and consists of some rows.


def norm(a: Any, rows: Shape, tail: Shape, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any, Any]:
    """Rows with mean 0 and variance 1, scaled and shifted; then means, reciprocal deviations, and variances.

    :param rows: the shape in which the last dimension is normalised.
    """
    width = rows[-1]
    result = caching_allocator.empty(a.shape, a.dtype)
    source, target, samples = a.reshape(-1, width), result.reshape(-1, width), result.reshape(-1, *tail)
    mean, rstd, variance = (np.empty(len(source), a.dtype) for _ in range(3))
    scale, shift = (None if w is None else _per_sample(w, tail, len(samples)) for w in (weight, bias))

    def evaluate(tile: slice) -> None:
        part = _rows_of(tile, tail, width)
        out, centres, deviations, squares = target[part], mean[part], rstd[part], variance[part]
        _row_sums(source[part], centres)
        np.divide(centres, width, centres)
        np.subtract(source[part], centres[:, None], out)
        np.vecdot(out, out, squares)
        np.divide(squares, width, squares)
        np.add(squares, eps, deviations)
        np.sqrt(deviations, deviations)
        np.divide(1, deviations, deviations)
        np.multiply(out, deviations[:, None], out)
        whole = samples[tile]
        if scale is not None:
            np.multiply(whole, scale[: len(whole)], whole)
        if shift is not None:
            np.add(whole, shift[: len(whole)], whole)

    _for_tiles(evaluate, len(samples), math.prod(tail))
    kept = (*rows[:-1], 1)
    return result, mean.reshape(kept), rstd.reshape(kept), variance.reshape(kept)


def _rows_of(tile: slice, tail: Shape, width: int) -> slice:
    """The rows of some samples."""
    per_sample = math.prod(tail) // width
    return slice(tile.start * per_sample, tile.stop * per_sample)


def _per_sample(values: Any, tail: Shape, samples: int) -> Any:
    """Weights for as many samples as a tile has at most."""
    return repeated(np.broadcast_to(values, tail), min(samples, max(1, TILE_SIZE // math.prod(tail))))


def norm_back(g: Any, a: Any, mean: Any, rstd: Any, rows: Shape, tail: Shape, weight: Any) -> tuple[Any, Any, Any]:
    """The gradients of ``norm``: of the input, and of weight and bias per element of a sample, in its shape."""
    width, size = rows[-1], math.prod(tail)
    result = caching_allocator.empty(a.shape, a.dtype)
    source, target, samples = a.reshape(-1, width), result.reshape(-1, width), result.reshape(-1, size)
    cotangent, means, scales = g.reshape(-1, size), mean.reshape(-1), rstd.reshape(-1)
    factors = None if weight is None else _per_sample(weight, tail, len(samples)).reshape(-1, size)
    step = max(1, TILE_SIZE // max(size, 1))
    sums = np.empty((2, -(-len(samples) // step), size), a.dtype)

    def evaluate(tile: slice) -> None:
        part, whole, slopes = _rows_of(tile, tail, width), samples[tile], cotangent[tile]
        out, scale = target[part], scales[part]
        centred = np.subtract(source[part], means[part][:, None])
        np.multiply(centred, scale[:, None], out)
        np.multiply(whole, slopes, whole)
        for_weight, for_bias = sums[:, tile.start // step]
        _column_sums(whole, for_weight)
        _column_sums(slopes, for_bias)
        if factors is None:
            np.copyto(whole, slopes)
        else:
            np.multiply(slopes, factors[: len(whole)], whole)
        # With unit = centred * scale: (out - mean(out) - unit * mean(out * unit)) * scale.
        slope, shift = np.vecdot(out, centred), _row_sums(out)
        slope *= scale * scale / width
        shift /= width
        np.multiply(centred, slope[:, None], centred)
        np.subtract(out, centred, out)
        np.subtract(out, shift[:, None], out)
        np.multiply(out, scale[:, None], out)

    _for_tiles(evaluate, len(samples), size)
    for_weight, for_bias = (_column_sums(s).reshape(tail) for s in sums)
    return result, for_weight, for_bias


def _column_sums(a: Any, out: Any = None) -> Any:
    """The sums of the columns of a matrix: as products with ones of some rows each, and then of their sums."""
    while len(a) > MAX_ROWS:
        whole = len(a) // MAX_ROWS * MAX_ROWS
        sums = np.matmul(_ones(MAX_ROWS, a.dtype), a[:whole].reshape(-1, MAX_ROWS, a.shape[1]))
        a = np.concatenate([sums, a[whole:]]) if whole < len(a) else sums
    return np.dot(_ones(len(a), a.dtype), a, out)


# -- normalisation of channels ---------------------------------------------------------------------------------------


class _Channels:
    """A batch, whose channels are dimension 1, as a matrix of which tiles are computed.

    Where a channel has many elements, a row is one channel of one sample, otherwise all channels of a sample: NumPy
    goes through long rows at twice the speed of short ones.
    """

    def __init__(self, shape: Shape) -> None:
        self.n, self.c = shape[:2]
        self.count = math.prod(shape[2:])
        self.per_row = 1 if self.count >= LONG else self.c
        self.shape = (self.n * self.c // self.per_row, self.per_row * self.count)

    def matrix(self, a: Any) -> Any:
        """The matrix of a batch."""
        return a.reshape(self.shape)

    def values(self, per_channel: Any) -> Any:
        """A number per channel, in as many rows as the matrix has."""
        if self.per_row == 1:
            return np.tile(per_channel, self.n)[:, None]
        return np.broadcast_to(np.repeat(per_channel, self.count), self.shape)

    def each(self, part: Any) -> Any:
        """The channels of some rows as rows."""
        return part.reshape(-1, self.count)

    def places(self, tile: slice) -> slice:
        """Where their numbers are among those of all samples' channels."""
        return slice(tile.start * self.per_row, tile.stop * self.per_row)

    def total(self, sums: Any) -> Any:
        """The sum over the samples."""
        return pairwise_sum(sums.reshape(self.n, self.c), (0,))

    def for_tiles(self, evaluate: Callable[[slice], None]) -> None:
        """Call ``evaluate`` for each slice of rows."""
        _for_tiles(evaluate, *self.shape)


def channel_norm_back(g: Any, a: Any, mean: Any, rstd: Any, weight: Any) -> tuple[Any, Any, Any]:
    """The gradients of ``channel_norm``: of the input, and of weight and bias, of shape (c,)."""
    channels = _Channels(a.shape)
    centres, deviations = mean.reshape(-1), rstd.reshape(-1)
    result = caching_allocator.empty(a.shape, a.dtype)
    cotangent, source, target = (channels.matrix(x) for x in (g, a, result))
    means, sums = channels.values(centres), np.empty((2, channels.n * channels.c), a.dtype)

    def add_up(tile: slice) -> None:
        part, out, (total, slope) = channels.each(cotangent[tile]), target[tile], sums[:, channels.places(tile)]
        _row_sums(part, total)
        np.subtract(source[tile], means[tile], out)
        np.vecdot(part, channels.each(out), slope)

    channels.for_tiles(add_up)
    total, slope = map(channels.total, sums)
    count = channels.n * channels.count
    scale = deviations if weight is None else deviations * weight
    scales, slopes, shifts = map(
        channels.values, (scale, -scale * deviations**2 * slope / count, scale * total / count)
    )

    def evaluate(tile: slice) -> None:
        out = target[tile]
        np.multiply(out, slopes[tile], out)
        np.add(out, cotangent[tile] * scales[tile], out)
        np.subtract(out, shifts[tile], out)

    channels.for_tiles(evaluate)
    return result, slope * deviations, total


def channel_norm(a: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any, Any]:
    """Channels, which are dimension 1, with mean 0 and variance 1, scaled and shifted by weight and bias of shape (c,).

    Then the means, the reciprocal deviations and the variances, all of shape (c,).
    """
    channels = _Channels(a.shape)
    count = channels.n * channels.count
    result = caching_allocator.empty(a.shape, a.dtype)
    source, target = channels.matrix(a), channels.matrix(result)
    sums = np.empty(channels.n * channels.c, a.dtype)

    def add_up(tile: slice) -> None:
        _row_sums(channels.each(source[tile]), sums[channels.places(tile)])

    def centre(tile: slice) -> None:
        out = target[tile]
        np.subtract(source[tile], centres[tile], out)
        np.vecdot(channels.each(out), channels.each(out), sums[channels.places(tile)])

    def scale(tile: slice) -> None:
        out = target[tile]
        np.multiply(out, factors[tile], out)
        if bias is not None:
            np.add(out, shifts[tile], out)

    channels.for_tiles(add_up)
    mean = channels.total(sums) / count
    centres = channels.values(mean)
    channels.for_tiles(centre)
    variance = channels.total(sums) / count
    rstd = 1 / np.sqrt(variance + eps)
    factors = channels.values(rstd if weight is None else rstd * weight)
    shifts: Any = None if bias is None else channels.values(bias)
    channels.for_tiles(scale)
    return result, mean, rstd, variance
