"""Gradients of softmax, and normalisation of rows and channels: tile by tile, in the processor's cache.

Computed step by step over a whole array, each step reads and writes memory, and its result is new memory that the
operating system has to clear. Here some rows go through all steps before the next ones do. Arrays are contiguous, of
float32 or float64. What is written over is always the functions' own.
"""

from __future__ import annotations

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
    "channel_sums",
    "log_softmax_back",
    "norm",
    "norm_back",
    "norm_weight_back",
    "softmax_back",
]

MIN_SIZE = 1 << 14
"""Minimum number of elements for tiles."""
TILE_SIZE = 1 << 14
"""About how many elements of each array are computed at a time."""
TILES_PER_TASK = 8
"""Tiles that a thread takes at a time."""
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
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


# -- softmax, backward -----------------------------------------------------------------------------------------------


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
        precise.exp(logarithms[tile], out)
        np.multiply(out, pairwise_sum(part, (1,), True), out)
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
    source, target = a.reshape(-1, *tail), result.reshape(-1, *tail)
    per_sample = math.prod(tail) // width
    mean, rstd, variance = (np.empty((len(source), per_sample, 1), a.dtype) for _ in range(3))

    def evaluate(tile: slice) -> None:
        out = target[tile]
        x, centred = source[tile].reshape(-1, per_sample, width), out.reshape(-1, per_sample, width)
        mean[tile] = pairwise_sum(x, (2,), True)
        mean[tile] /= width
        np.subtract(x, mean[tile], centred)
        np.vecdot(centred, centred, variance[tile, :, 0])
        variance[tile] /= width
        np.divide(1, np.sqrt(variance[tile] + eps), rstd[tile])
        np.multiply(centred, rstd[tile], centred)
        if weight is not None:
            np.multiply(out, weight, out)
        if bias is not None:
            np.add(out, bias, out)

    _for_tiles(evaluate, len(source), math.prod(tail))
    kept = (*rows[:-1], 1)
    return result, mean.reshape(kept), rstd.reshape(kept), variance.reshape(kept)


def norm_back(g: Any, a: Any, mean: Any, rstd: Any, rows: Shape, tail: Shape, weight: Any) -> Any:
    """The gradient of the input of ``norm``."""
    width, per_sample = rows[-1], math.prod(tail) // rows[-1]
    result = caching_allocator.empty(a.shape, a.dtype)
    cotangent, source, target = (x.reshape(-1, *tail) for x in (g, a, result))
    means, scales = mean.reshape(-1, per_sample, 1), rstd.reshape(-1, per_sample, 1)

    def evaluate(tile: slice) -> None:
        scale, out = scales[tile], target[tile]
        if weight is None:
            np.copyto(out, cotangent[tile])
        else:
            np.multiply(cotangent[tile], weight, out)
        part = out.reshape(-1, per_sample, width)
        unit = np.subtract(source[tile].reshape(-1, per_sample, width), means[tile])
        slope = np.vecdot(part, unit)[..., None]
        slope *= scale * scale / width
        part -= pairwise_sum(part, (2,), True) / width
        unit *= slope
        part -= unit
        part *= scale

    _for_tiles(evaluate, len(source), math.prod(tail))
    return result


def norm_weight_back(g: Any, a: Any, mean: Any, rstd: Any, tail: Shape, per_sample: int) -> Any:
    """The gradient of the weight of ``norm`` per element of a sample, of the shape ``tail``."""
    cotangent, source = g.reshape(-1, *tail), a.reshape(-1, *tail)
    means, scales = mean.reshape(-1, per_sample, 1), rstd.reshape(-1, per_sample, 1)
    step = max(1, TILE_SIZE // math.prod(tail))
    sums = np.empty((-(-len(source) // step), math.prod(tail)), a.dtype)

    def evaluate(tile: slice) -> None:
        unit = np.subtract(source[tile].reshape(-1, per_sample, math.prod(tail) // per_sample), means[tile])
        unit *= scales[tile]
        unit = unit.reshape(-1, *tail)
        unit *= cotangent[tile]
        sums[tile.start // step] = pairwise_sum(unit.reshape(len(unit), -1), (0,))

    _for_tiles(evaluate, len(source), math.prod(tail))
    return pairwise_sum(sums, (0,)).reshape(tail)


# -- normalisation of channels ---------------------------------------------------------------------------------------


def channel_sums(g: Any, a: Any, mean: Any) -> tuple[Any, Any]:
    """The sums of ``g`` and of ``g * (a - mean)`` over all but dimension 1, both of shape (c, 1)."""
    n, c = a.shape[:2]
    cotangent, source, means = g.reshape(n, c, -1), a.reshape(n, c, -1), mean.reshape(c, 1)
    sums = np.empty((2, n, c), a.dtype)

    def evaluate(tile: slice) -> None:
        part = cotangent[tile]
        sums[0, tile] = pairwise_sum(part, (2,))
        np.vecdot(part, np.subtract(source[tile], means), sums[1, tile])

    _for_tiles(evaluate, n, source.size // max(n, 1))
    return tuple(pairwise_sum(s, (0,))[:, None] for s in sums)


def channel_norm_back(g: Any, a: Any, mean: Any, rstd: Any, weight: Any) -> Any:
    """The gradient of a batch that was normalised by channels, which are dimension 1; a weight is of shape (c,)."""
    n, c = a.shape[:2]
    total, slope = channel_sums(g, a, mean)
    count = a.size // max(c, 1)
    scale = rstd.reshape(c, 1) if weight is None else rstd.reshape(c, 1) * weight.reshape(c, 1)
    per_input = -scale * rstd.reshape(c, 1) ** 2 * slope / count
    shift = -scale * total / count - per_input * mean.reshape(c, 1)
    result = caching_allocator.empty(a.shape, a.dtype)
    cotangent, source, target = (x.reshape(n, c, -1) for x in (g, a, result))

    def evaluate(tile: slice) -> None:
        out = target[tile]
        np.multiply(source[tile], per_input, out)
        np.add(out, shift, out)
        np.add(out, cotangent[tile] * scale, out)

    _for_tiles(evaluate, n, source.size // max(n, 1))
    return result


def channel_norm(a: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any, Any]:
    """Channels, which are dimension 1, with mean 0 and variance 1, scaled and shifted by weight and bias of shape (c,).

    Then the means, the reciprocal deviations and the variances, all of shape (c, 1).
    """
    n, c = a.shape[:2]
    count = a.size // c
    result = caching_allocator.empty(a.shape, a.dtype)
    source, target = a.reshape(n, c, -1), result.reshape(n, c, -1)
    sums = np.empty((n, c), a.dtype)

    def add_up(tile: slice) -> None:
        sums[tile] = pairwise_sum(source[tile], (2,))

    def centre(tile: slice) -> None:
        out = target[tile]
        np.subtract(source[tile], mean, out)
        np.vecdot(out, out, sums[tile])

    def scale(tile: slice) -> None:
        out = target[tile]
        np.multiply(out, factor, out)
        if bias is not None:
            np.add(out, bias.reshape(c, 1), out)

    _for_tiles(add_up, n, source.size // n)
    mean = pairwise_sum(sums, (0,))[:, None] / count
    _for_tiles(centre, n, source.size // n)
    variance = pairwise_sum(sums, (0,))[:, None] / count
    rstd = 1 / np.sqrt(variance + eps)
    factor = rstd if weight is None else rstd * weight.reshape(c, 1)
    _for_tiles(scale, n, source.size // n)
    return result, mean, rstd, variance
