"""Normalization of rows and of planes, with its gradients: tile by tile, in the processor's cache.

A plane is the part that shares a weight: one channel of one sample. If the mean is not large compared to the deviation,
the squares are summed without centering, and ``(x - mean) * rstd * weight + bias`` is one factor and one shift per
plane, or per element of a row. Otherwise too many digits would be lost, and the mean is subtracted first.

If a number per row is combined with a matrix of short rows, NumPy copies it for each element into a buffer; a product
of two columns with two rows, by the BLAS, takes half of that time. Arrays are contiguous, of float32 or float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import caching_allocator
from nbautograd._engine.arrays.axpy import axpy_rows, scale_rows, shift_rows
from nbautograd._engine.arrays.rows import for_row_tiles, number, ones, row_products, row_sums, tile_rows
from nbautograd._engine.arrays.summation import pairwise_sum

MIN_LONG_ROW = 1 << 9
"""Minimum length of an inner loop that outweighs NumPy's overhead per row."""
MIN_TILED_SIZE = 1 << 16
"""Number of elements of rows below which each step is one call over all of them."""
MAX_ROWS = 1 << 8
"""Rows that a product sums sequentially, as in a product of `MAX_ROW_ELEMENTS` numbers."""
MAX_SQUARE_RATIO = 10.0
"""Up to this ratio of the mean of squares to the variance, subtracting the squared mean loses at most three bits."""
Shape = tuple[int, ...]


def _for_tiles(function: Callable[..., None], rows: int, width: int, *arrays: Any) -> None:
    """Call ``function`` with some rows of all arrays, tile by tile; None, and a row for all, are passed unchanged."""
    if rows <= tile_rows(width):
        function(*arrays)
        return

    def evaluate(tile: slice) -> None:
        function(*[a if a is None or len(a) == 1 else a[tile] for a in arrays])

    for_row_tiles(evaluate, rows, width)


def _sums(a: Any, b: Any) -> Any:
    """Return the sums of the rows of ``a``, and of ``a * b``."""
    result = np.empty((2, len(a)), a.dtype)
    if a.shape[1] == 1:
        result[0] = a[:, 0]
        np.multiply(result[0], b[:, 0], result[1])
    else:
        _for_tiles(_add_up, *a.shape, a, b, *result)
    return result


def _add_up(a: Any, b: Any, sums: Any, products: Any) -> None:
    row_sums(a, sums)
    row_products(a, b, products)


def _is_near_zero(square: Any, variance: Any) -> bool:
    """Return whether no mean is so large that its square hides the variance, given the means of squares."""
    return bool(np.count_nonzero(square <= MAX_SQUARE_RATIO * variance) == square.size)  # nan is not


# -- planes ----------------------------------------------------------------------------------------------------------


class _Planes:
    """The planes of a batch as rows of a matrix, which is computed in tiles.

    Numbers per plane are arrays of the shape of the planes, or broadcast with it. If planes are short and the numbers
    are the same for all samples, a row is a whole sample: NumPy processes long rows at twice the speed.

    :param shape: samples first.
    :param axis: the dimension of ``shape`` over which statistics are taken, and over the planes themselves.
    """

    def __init__(self, shape: Shape, axis: int, size: int) -> None:
        self.shape, self.axis = shape, axis
        self.number = math.prod(shape)
        self.count = size // self.number
        self.by_sample = axis == 0 and self.count < MIN_LONG_ROW
        self.rows = shape[0] if self.by_sample else self.number
        self.width = size // self.rows

    def spread(self, values: Any) -> Any:
        """Expand numbers per plane, or per statistic, for the rows of the matrix."""
        if self.by_sample:
            return np.repeat(values.reshape(-1), self.count)[None]
        if values.size != self.number:
            per_plane = np.empty(self.shape, values.dtype)
            per_plane[...] = values
            values = per_plane
        return values.reshape(-1, 1)

    def sums(self, a: Any, b: Any) -> Any:
        """Return the sums of ``a``, and of ``a * b``, over each plane."""
        return _sums(a.reshape(self.number, -1), b.reshape(self.number, -1)).reshape(2, *self.shape)

    def means(self, sums: Any) -> Any:
        """Return the means over all planes normalized together, from two kinds of sums over planes."""
        size = self.shape[self.axis]
        if self.axis:  # the last one
            total = row_sums(sums.reshape(-1, size)).reshape(*sums.shape[:-1], 1)
        else:
            total = pairwise_sum(sums, (1,), True)
        return total / (size * self.count)

    def for_tiles(self, function: Callable[..., None], *arrays: Any) -> None:
        """Call ``function`` with tiles of matrices, and of expanded numbers."""
        _for_tiles(function, self.rows, self.width, *arrays)

    def matrix(self, a: Any) -> Any:
        """Return a batch as the matrix whose rows form the tiles."""
        return a.reshape(self.rows, -1)


def plane_norm(a: Any, shape: Shape, axis: int, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any, Any]:
    """Return planes of mean 0 and variance 1, times weight, plus bias; the means, reciprocal deviations, and variances.

    :param shape: the shape of the planes, samples first.
    :param axis: the dimension of ``shape`` that is normalized together with the planes themselves.
    :param weight: a number per plane of a sample, like ``bias``. None for 1 and 0.
    """
    planes = _Planes(shape, axis, a.size)
    result = caching_allocator.empty(a.shape, a.dtype)
    source, target = planes.matrix(a), planes.matrix(result)
    mean, square = planes.means(planes.sums(a, a))
    variance = square - mean * mean
    near_zero = _is_near_zero(square, variance)
    if not near_zero:
        planes.for_tiles(np.subtract, source, planes.spread(mean), target)
        source, variance = None, planes.means(planes.sums(target, target))[1]
    rstd = 1 / np.sqrt(variance + eps)
    scale = rstd if weight is None else rstd * weight.reshape(1, *shape[1:])
    shift = None if bias is None else bias.reshape(1, *shape[1:])
    if near_zero:
        shift = mean * -scale if shift is None else shift - mean * scale
    shifts = None if shift is None else planes.spread(shift)
    planes.for_tiles(_scale, source, planes.spread(scale), shifts, target)
    return result, mean, rstd, variance


def _scale(source: Any, factors: Any, shifts: Any, out: Any) -> None:
    """Write ``source * factors + shifts``; a source of None stands for the values in ``out``."""
    if factors.shape[1] == 1 and source is not None:
        out[...] = 0 if shifts is None else shifts
        axpy_rows(factors[:, 0], source, out)
        return
    np.multiply(out if source is None else source, factors, out)
    if shifts is not None:
        np.add(out, shifts, out)


def plane_norm_back(g: Any, a: Any, shape: Shape, axis: int, mean: Any, rstd: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Return the gradients of ``plane_norm``: of the input, and of weight and bias, a number per plane of a sample."""
    planes = _Planes(shape, axis, a.size)
    result = caching_allocator.empty(a.shape, a.dtype)
    cotangent, source, target = planes.matrix(g), planes.matrix(a), planes.matrix(result)
    statistics = (1, *shape[1:]) if axis == 0 else (*shape[:axis], 1)
    mean, rstd = mean.reshape(statistics), rstd.reshape(statistics)
    near_zero = _is_near_zero(mean * mean, 1 / (rstd * rstd))
    if not near_zero:
        planes.for_tiles(np.subtract, source, planes.spread(mean), target)
        source = None
    sums = planes.sums(cotangent, target if source is None else source)
    total, slope = sums
    if near_zero:
        slope -= mean * total
    slope *= rstd
    for_bias, for_weight = pairwise_sum(sums.reshape(2, shape[0], -1), (1,))
    scale = rstd
    if weight is not None:
        weight = weight.reshape(1, *shape[1:])
        scale = rstd * weight
        sums *= weight
    # (g * weight - mean of that - unit * mean of g * weight * unit) * rstd, where unit = (x - mean) * rstd.
    level, along = planes.means(sums)
    factor, shift = -along * rstd * rstd, -level * rstd
    if near_zero:
        shift -= mean * factor
    spread = planes.spread(scale), planes.spread(factor), planes.spread(shift)
    planes.for_tiles(_scale_back, cotangent, source, *spread, target)
    return result, for_weight, for_bias


def _scale_back(g: Any, source: Any, scales: Any, factors: Any, shifts: Any, out: Any) -> None:
    _scale(source, factors, shifts, out)
    if scales.shape[1] == 1:
        axpy_rows(scales[:, 0], g, out)
    else:
        np.add(out, g * scales, out)


# -- rows with a weight per element ----------------------------------------------------------------------------------


def row_norm(a: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any, Any]:
    """Return rows of mean 0 and variance 1, times weight, plus bias, either of which may be None.

    Also return the means, the reciprocal deviations and the variances, as columns.
    """
    rows, width = a.shape
    dtype = a.dtype
    if a.size < MIN_TILED_SIZE:
        return _few_row_norm(a, weight, bias, eps)
    if width < MIN_LONG_ROW:
        answer = _row_norm_by_products(a, weight, bias, eps)
        if answer is not None:
            return answer
    result = caching_allocator.empty(a.shape, dtype)
    mean, rstd, variance = np.empty(rows, dtype), np.empty(rows, dtype), np.empty(rows, dtype)

    def normalize(part: Any, out: Any, centres: Any, deviations: Any, squares: Any) -> None:
        row_sums(part, centres)
        np.divide(centres, width, centres)
        np.subtract(part, centres[:, None], out)
        row_products(out, out, squares)
        np.divide(squares, width, squares)
        np.add(squares, eps, deviations)
        np.sqrt(deviations, deviations)
        np.divide(1, deviations, deviations)
        scale_rows(deviations, out)
        if weight is not None:
            np.multiply(out, weight, out)
        if bias is not None:
            np.add(out, bias, out)

    _for_tiles(normalize, rows, width, a, result, mean, rstd, variance)
    return result, mean[:, None], rstd[:, None], variance[:, None]


def row_norm_back(g: Any, a: Any, mean: Any, rstd: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Return the gradients of ``row_norm``: of the input, and of weight and bias, a number per element of a row."""
    rows, width = a.shape
    if a.size < MIN_TILED_SIZE:
        return _few_row_norm_back(g, a, mean.reshape(-1, 1), rstd.reshape(-1, 1), weight)
    mean, rstd = mean.reshape(-1), rstd.reshape(-1)
    if width < MIN_LONG_ROW and _is_near_zero(mean * mean, 1 / (rstd * rstd)):
        return _row_norm_back_by_products(g, a, mean, rstd, weight)
    result = caching_allocator.empty(a.shape, a.dtype)
    row, column = ones(width, a.dtype) if weight is None else weight, ones(rows, a.dtype)
    per_slope, per_level = rstd * rstd * rstd / -width, rstd / -width
    step = tile_rows(width)
    sums = np.empty((-(-rows // step), 2, width), a.dtype)

    def evaluate(tile: slice) -> None:
        slopes, out, scales, total = g[tile], result[tile], rstd[tile], sums[tile.start // step]
        centred = np.subtract(a[tile], mean[tile, None])
        products = np.multiply(slopes, centred, out)
        # With unit = (x - mean) * rstd and g * weight = d: (d - mean(d) - unit * mean(d * unit)) * rstd.
        factor, shift = row_products(products, row) * per_slope[tile], row_products(slopes, row) * per_level[tile]
        _weighted_sums(scales, products, total[0])
        _weighted_sums(column[: len(slopes)], slopes, total[1])
        if weight is None:
            np.copyto(out, slopes)
        else:
            np.multiply(slopes, weight, out)
        scale_rows(scales, out)
        axpy_rows(factor, centred, out)
        shift_rows(shift, out)

    for_row_tiles(evaluate, rows, width)
    for_weight, for_bias = sums[0] if len(sums) == 1 else pairwise_sum(sums, (0,))
    return result, for_weight, for_bias


def _weighted_sums(weights: Any, a: Any, out: Any) -> None:
    """Write ``weights.T @ a``, with some weights per row: sum some rows sequentially, and then their sums."""
    rows = len(weights)
    if rows <= MAX_ROWS:
        weights.T.dot(a, out)
        return
    whole = rows // MAX_ROWS * MAX_ROWS
    parts = weights[:whole].reshape(-1, MAX_ROWS, weights.size // rows).swapaxes(1, 2)
    np.add.reduce(np.matmul(parts, a[:whole].reshape(-1, MAX_ROWS, a.shape[1])), 0, None, out.reshape(-1, a.shape[1]))
    if whole < rows:
        np.add(out, np.dot(weights[whole:].T, a[whole:]), out)


def _few_row_norm(a: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any, Any]:
    """Compute ``row_norm`` of fewer than ``MIN_TILED_SIZE`` elements."""
    width, dtype = number(a.shape[1], a.dtype), a.dtype
    mean = row_sums(a)[:, None]
    mean /= width
    result = a - mean
    variance = row_products(result, result)[:, None]
    variance /= width
    rstd = variance + number(eps, dtype)
    np.sqrt(rstd, rstd)
    np.divide(number(1, dtype), rstd, rstd)
    result *= rstd
    if weight is not None:
        result *= weight
    if bias is not None:
        result += bias
    return result, mean, rstd, variance


def _few_row_norm_back(g: Any, a: Any, mean: Any, rstd: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Compute ``row_norm_back`` of fewer than ``MIN_TILED_SIZE`` elements."""
    width = number(a.shape[1], a.dtype)
    unit = a - mean
    unit *= rstd
    sums = np.empty((2, a.shape[1]), a.dtype)
    column = ones(len(a), a.dtype)
    _weighted_sums(column, g * unit, sums[0])
    _weighted_sums(column, g, sums[1])
    result = g.copy() if weight is None else g * weight
    unit *= (row_products(result, unit) / width)[:, None]
    unit += (row_sums(result) / width)[:, None]
    result -= unit
    result *= rstd
    return result, *sums


# -- many short rows, by products --------------------------------------------------------------------------------------


def _row_norm_by_products(a: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any, Any] | None:
    """Compute ``row_norm`` by products; None if too many digits would be lost."""
    rows, width = a.shape
    mean, square = _sums(a, a) / width
    variance = square - mean * mean
    rstd = 1 / np.sqrt(variance + eps)
    first, second = _pair_of_rows(weight, None, a), _pair_of_rows(weight, bias, a)
    if not (_is_near_zero(square, variance) and np.isfinite(second).all()):
        return None
    result = caching_allocator.empty(a.shape, a.dtype)

    def normalize(part: Any, scales: Any, shifts: Any, out: Any) -> None:
        np.dot(scales, first, out)
        np.multiply(out, part, out)
        np.add(out, np.dot(shifts, second), out)

    _for_tiles(normalize, rows, width, a, _with_ones(rstd), _with_ones(-mean * rstd), result)
    return result, mean[:, None], rstd[:, None], variance[:, None]


def _pair_of_rows(first: Any, second: Any, like: Any) -> Any:
    """Return two rows as a matrix; a missing first row is ones, a missing second row zeros."""
    pair = np.empty((2, like.shape[1]), like.dtype)
    pair[0] = 1 if first is None else first
    pair[1] = 0 if second is None else second
    return pair


def _with_ones(column: Any) -> Any:
    """Return a column with a column of ones beside it, as a matrix."""
    pair = np.ones((len(column), 2), column.dtype)
    pair[:, 0] = column
    return pair


def _row_norm_back_by_products(g: Any, a: Any, mean: Any, rstd: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Compute ``row_norm_back`` by products, if no centering is needed."""
    rows, width = a.shape
    result = caching_allocator.empty(a.shape, a.dtype)
    factors, scales, levels = _pair_of_rows(weight, None, a), _with_ones(rstd), _with_ones(mean * rstd)
    per_slope, per_level = rstd * rstd * rstd / width, rstd / width
    step = tile_rows(width)
    sums = np.empty((-(-rows // step), 3, width), a.dtype)

    def evaluate(tile: slice) -> None:
        slopes, part, out, centres = g[tile], a[tile], result[tile], mean[tile]
        total = sums[tile.start // step]
        products = slopes * part
        slope, level = np.dot(products, factors[0]), np.dot(slopes, factors[0])
        _weighted_sums(rstd[tile], products, total[0])
        _weighted_sums(levels[tile], slopes, total[1:])
        factor = (centres * level - slope) * per_slope[tile]
        shift = -centres * factor - level * per_level[tile]
        np.dot(scales[tile], factors, out)
        np.multiply(out, slopes, out)
        axpy_rows(factor, part, out)
        shift_rows(shift, out)

    for_row_tiles(evaluate, rows, width)
    for_unit, for_mean, for_bias = pairwise_sum(sums, (0,))
    return result, for_unit - for_mean, for_bias
