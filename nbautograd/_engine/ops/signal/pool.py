"""Average and max pooling over the last dimensions, their transposes, and unpooling."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.indices import as_int64
from nbautograd._engine.arrays.rows import are_rows, row_sums
from nbautograd._engine.arrays.strides import images_like
from nbautograd._engine.compiler.op import no_method, op
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import highest, pairwise_mean, pairwise_sum
from nbautograd._engine.ops.signal.interpolate import WeightTable, resampled, spread_back

Ints = tuple[int, ...]

PART_SIZE = 1 << 16
"""Window elements compared at a time, roughly."""


# -- averages --------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def _divisors(dtype: Any, size: Ints, out: Ints, kernel: Ints, stride: Ints, padding: Ints, include_pad: bool) -> Any:
    """Return the divisor of the windows' sums: a number if they share it, otherwise an array."""
    counts = np.ones((1,) * len(size))
    for d, (n, m, k, s, p) in enumerate(zip(size, out, kernel, stride, padding, strict=True)):
        start = np.arange(m) * s - p
        end = np.minimum(start + k, n + p)
        if not include_pad:
            start, end = np.maximum(start, 0), np.minimum(end, n)
        counts = counts * (end - start).reshape((-1,) + (1,) * (len(size) - d - 1))
    if (counts == counts.flat[0]).all():
        return float(counts.flat[0])
    counts = counts.astype(dtype)
    counts.flags.writeable = False
    return counts


def _divisor(x: Any, size: Ints, out: Ints, options: Any) -> Any:
    kernel, stride, padding, include_pad, override = options
    if override is not None:
        return override
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    divisors = _divisors(dtype, size, out, kernel, stride, padding, include_pad)
    return divisors if divisors.__class__ is float else backend.module(backend.device_of(x)).asarray(divisors)


def _laid_out(result: Any, input: Any, dims: int) -> Any:
    """Return a result in the memory format of the input, but row-major over three dimensions, as in PyTorch."""
    return result if dims == 3 else images_like(result, input)


def _every(d: int, start: int, step: int, count: int) -> tuple[Any, ...]:
    """Return the index of ``count`` elements along dimension ``d``."""
    return (slice(None),) * d + (slice(start, start + step * (count - 1) + 1, step),)


def _avg_pool(input: Tensor, out: Ints, options: Any) -> Tensor:
    """Compute means of windows; options: kernel, stride, padding, count_include_pad, divisor_override."""
    kernel, stride, padding, *_ = options
    first = input.ndim - len(out)
    sums: Any = input
    for d, (m, k, s, p) in enumerate(zip(out, kernel, stride, padding, strict=True), first):
        # Separable: one dimension after the other. The padding is 0 and is skipped.
        x, n = sums, sums.shape[d]
        first_is_whole = k > 0 and _inside(-p, s, m, n) == (0, m)
        make = np.empty_like if first_is_whole else np.zeros_like
        sums = make(x, shape=(*x.shape[:d], m, *x.shape[d + 1 :]), order="C")
        for i in range(k):
            low, high = _inside(i - p, s, m, n)
            if low < high:
                part, added = sums[_every(d, low, 1, high - low)], x[_every(d, low * s + i - p, s, high - low)]
                np.add(0 if first_is_whole and not i else part, added, out=part)
    means = sums / _divisor(input, input.shape[first:], out, options)
    means = np.trunc(means).astype(input.dtype) if input.dtype.kind in "iu" else means
    return _laid_out(means, input, len(out))


def _inside(start: int, step: int, count: int, n: int) -> tuple[int, int]:
    """Return the range [first, last) of i for which ``start + step * i`` is in [0, n)."""
    return max(0, -(start // step)), min(count, (n - 1 - start) // step + 1)


def pooled_shape(shape: Ints, options: Any) -> Ints:
    """Return the pooled dimensions: the last ones, as many as the kernel has."""
    return shape[len(shape) - len(options[0]) :]


@no_method(
    node="AvgPoolBackwardBackward0",
    symbol="avg pool",
    input="avg_pool2d(g, pooled_shape(input.shape, options), options)",
)
def avg_pool_back(input: Tensor, shape: Any, options: Any) -> Tensor:
    """Return the transpose of ``avg_pool``."""
    kernel, stride, padding, *_ = options
    first = input.ndim - len(kernel)
    out = input.shape[first:]
    result = input / _divisor(input, shape[first:], out, options)
    for d, (m, k, s, p) in enumerate(zip(out, kernel, stride, padding, strict=True), first):
        g, n = result, shape[d]
        result = np.zeros_like(g, shape=(*g.shape[:d], n, *g.shape[d + 1 :]), order="C")
        for i in range(k):
            low, high = _inside(i - p, s, m, n)
            if low < high:
                result[_every(d, low * s + i - p, s, high - low)] += g[_every(d, low, 1, high - low)]
    return result


def cells(n: int, m: int) -> tuple[Any, Any]:
    """Return the starts and ends of the ``m`` regions of adaptive pooling over ``n`` elements."""
    i = np.arange(m)
    return i * n // m, -((i + 1) * -n // m)


def _cell_table(dim: int, n: int, m: int) -> WeightTable:
    start, end = cells(n, m)
    reach = int((end - start).max(initial=0))
    at = start[:, None] + np.arange(reach)
    weight = np.where(at < end[:, None], 1 / (end - start)[:, None], 0)
    return WeightTable(dim, np.minimum(at, end[:, None] - 1), weight)


def _adaptive_avg(input: Tensor, out: Ints) -> Tensor:
    """Compute adaptive average pooling over the last dimensions."""
    if set(out) == {1} and input.size:  # means of whole images
        lead = input.shape[: input.ndim - len(out)]
        images = input.reshape((math.prod(lead), -1))
        means = row_sums(images) / images.shape[1] if are_rows(images) else pairwise_mean(images, (1,))
        return _laid_out(means.reshape((*lead, *out)), input, len(out))
    result = input
    for d, m in enumerate(out, input.ndim - len(out)):
        n = result.shape[d]
        if m and n % m == 0:
            cut = result.reshape((*result.shape[:d], m, n // m, *result.shape[d + 1 :]))
            result = pairwise_sum(cut, (d + 1,)) / (n // m)
        else:
            result = resampled(result, (_cell_table(d, n, m),)) if m else result[(slice(None),) * d + (slice(0),)]
    return _laid_out(result, input, len(out))


@no_method(
    node="AdaptiveAvgPoolBackwardBackward0",
    symbol="avg pool",
    input="adaptive_avg_pool2d(g, input.shape[g.ndim - dims:])",
)
def adaptive_avg_back(input: Tensor, shape: Any, dims: int) -> Tensor:
    """Return the transpose of adaptive average pooling over the last ``dims`` dimensions."""
    result: Any = input
    for d in range(input.ndim - dims, input.ndim):
        size, m = shape[d], result.shape[d]
        if m and size % m == 0:
            result = np.repeat(result / (size // m), size // m, d)
        else:
            result = spread_back(result, (*result.shape[:d], size, *result.shape[d + 1 :]), (_cell_table(d, size, m),))
    return result.copy() if result is input else result


# -- maxima ----------------------------------------------------------------------------------------------------------


def _better(candidate: Any, best: Any) -> Any:
    """Return where a candidate is larger than the best, or nan, which propagates."""
    larger = candidate > best
    return larger | (candidate != candidate) if candidate.dtype.kind == "f" else larger


def _least(kind: Any) -> Any:
    return -math.inf if kind.kind == "f" else np.iinfo(kind).min


def _max_pool(input: Tensor, out: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Any:
    """Return the maxima of windows, and their flat indices in the last dimensions."""
    n = len(out)
    size, module = input.shape[input.ndim - n :], backend.module(backend.device_of(input))
    steps = tuple(zip(size, out, kernel, stride, padding, dilation, strict=True))
    images = input.reshape((-1, *size))
    count = math.prod(input.shape[: input.ndim - n])
    best = np.empty_like(input, shape=(count, *out), order="C")
    winner = np.empty_like(input, shape=(count, *out), dtype=np.intp, order="C")
    on_cpu, size = input.__class__ is np.ndarray, math.prod(kernel) * math.prod(out)
    at_once = max(1, PART_SIZE // max(size, 1)) if on_cpu else count
    for start in range(0, count, max(at_once, 1)):
        part = slice(start, start + at_once)
        windows = _candidates(_surrounded(images[part], steps), steps)
        best[part] = highest(windows, 0)
        _first_of(windows, best[part], winner[part])
    corner, first, offsets = map(module.asarray, _flat_places(steps))
    at = module.take(offsets, winner)
    at += corner
    if any(padding) and best.size:  # if a window is all -inf: the first element that is not padding
        least = _least(best.dtype)
        if best.__class__ is not np.ndarray or not np.minimum.reduce(best, None) > least:
            at = module.where(best == least, first, at)
    shape = (*input.shape[: input.ndim - n], *out)
    return images_like(best.reshape(shape), input), images_like(as_int64(at).reshape(shape), input)


@functools.lru_cache(maxsize=64)
def _flat_places(steps: tuple[Ints, ...]) -> tuple[Any, Any, Any]:
    """Return flat indices in an image of each window: its corner, its first element inside, its elements from the
    corner.

    :param steps: for each dimension the size, the number of windows, kernel, stride, padding and dilation.
    """
    corner = first = offsets = np.int64(0)
    for d, (_, m, k, s, p, spread) in enumerate(steps):
        width, ones = math.prod([length for length, *_ in steps[d + 1 :]]), (1,) * (len(steps) - d - 1)
        start = np.arange(m) * s - p
        inside = start + np.maximum(-(start // spread), 0) * spread
        corner = corner + (start * width).reshape(-1, *ones)
        first = first + (inside * width).reshape(-1, *ones)
        offsets = offsets + (np.arange(k) * spread * width).reshape(-1, *ones)
    return corner, first, offsets.reshape(-1)


def _surrounded(images: Any, steps: Any) -> Any:
    """Return images padded to the reach of their windows with the smallest number of their dtype."""
    if not any(p or (m - 1) * s + d * (k - 1) >= length for length, m, k, s, p, d in steps):
        return images
    ends = [max(p, (m - 1) * s + d * (k - 1) + 1 - length) for length, m, k, s, p, d in steps]
    shape = [length + p + e for (length, _, _, _, p, _), e in zip(steps, ends, strict=True)]
    wide = np.full_like(images, _least(images.dtype), shape=(len(images), *shape), order="C")
    wide[(slice(None), *(slice(p, p + length) for length, _, _, _, p, _ in steps))] = images
    return wide


def _candidates(images: Any, steps: Any) -> Any:
    """Return the elements of all windows, by their place in the window first."""
    kernel = [k for _, _, k, _, _, _ in steps]
    shape = (math.prod(kernel), len(images), *(m for _, m, _, _, _, _ in steps))
    result = np.empty_like(images, shape=shape, order="C")
    for number, offset in enumerate(itertools.product(*map(range, kernel))):
        starts = zip(offset, steps, strict=True)
        result[number] = images[(..., *(slice(i * d, i * d + s * (m - 1) + 1, s) for i, (_, m, _, s, _, d) in starts))]
    return result


def _first_of(windows: Any, best: Any, winner: Any) -> None:
    """Write the position of each window's maximum to ``winner``: the first of equal ones, but the last nan.

    The position of the first maximum is the number of elements before it.
    """
    if best.__class__ is not np.ndarray or best.dtype.kind == "f" and best.size and np.isnan(highest(best)):
        largest = windows[0].copy()
        winner[...] = 0
        for number in range(1, len(windows)):
            better = _better(windows[number], largest)
            np.copyto(largest, windows[number], where=better)
            np.copyto(winner, np.int32(number), where=better)
        return
    before = np.ones(winner.shape, np.bool_)
    places = np.zeros(winner.shape, np.int8 if len(windows) < 128 else np.int32)
    for window in windows[:-1]:
        before &= window != best
        places += before.view(np.int8)
    winner[...] = places


def _cells_max(input: Tensor, out: Ints) -> Any:
    """Compute adaptive max pooling over the last dimensions: the maxima and their flat indices."""
    n = len(out)
    size, module = input.shape[input.ndim - n :], backend.module(backend.device_of(input))
    tables = []
    for length, m in zip(size, out, strict=True):
        start, end = cells(length, m)
        at = start[:, None] + np.arange(int((end - start).max(initial=m == 0)))
        tables.append(module.asarray(np.minimum(at, end[:, None] - 1)))
    flat = input.reshape((*input.shape[: input.ndim - n], math.prod(size)))
    best = where = None
    for offset in itertools.product(*(range(table.shape[1]) for table in tables)):
        at = 0
        for d, (table, k) in enumerate(zip(tables, offset, strict=True)):
            at = at * size[d] + table[:, k].reshape((-1,) + (1,) * (n - d - 1))
        candidate = np.take(flat, at, flat.ndim - 1)
        if best is None:
            best, where = candidate, np.zeros_like(candidate, dtype=np.int64) + at
            continue
        better = _better(candidate, best)
        best, where = np.where(better, candidate, best), np.where(better, at, where)
    return _laid_out(best, input, n), _laid_out(where, input, n)


def _places_max(input: Tensor, places: Any) -> Any:
    """Return the maxima of windows given by flat indices in the last dimensions, (..., *out, k)."""
    n = places.ndim - 3
    flat = input.reshape((*input.shape[: input.ndim - n], math.prod(input.shape[input.ndim - n :])))
    best = where = None
    for k in range(places.shape[-1]):
        at = places[..., k]
        candidate = np.take_along_axis(flat, at.reshape((*at.shape[:2], math.prod(at.shape[2:]))), -1).reshape(at.shape)
        if best is None:
            best, where = candidate, at
            continue
        better = _better(candidate, best)
        best, where = np.where(better, candidate, best), np.where(better, at, where)
    return best, as_int64(where)


@no_method(node="MaxPoolBackwardBackward0", symbol="max pool", input="pool_gather(g, index, dims)")
def pool_scatter(input: Tensor, index: Tensor, shape: Any, dims: int) -> Tensor:
    """Transpose max pooling: add elements into zeros of ``shape`` at flat indices of the last ``dims``."""
    rows, width = math.prod(shape[: len(shape) - dims]), math.prod(shape[len(shape) - dims :])
    output = np.zeros_like(input, shape=(rows * width,), order="C")
    first = backend.module(backend.device_of(input)).arange(rows).reshape((-1, 1)) * width
    backend.add_at(output, ((index.reshape(rows, index.size // max(rows, 1)) + first).reshape(-1),), input.reshape(-1))
    return output.reshape(shape)


@no_method(node="GatherBackward0", symbol="gather", input="pool_scatter(g, index, input.shape, dims)")
def pool_gather(input: Tensor, index: Tensor, dims: int) -> Tensor:
    """Return the elements at flat indices in the last ``dims`` dimensions."""
    lead = input.shape[: input.ndim - dims]
    flat = input.reshape((*lead, math.prod(input.shape[input.ndim - dims :])))
    return np.take_along_axis(flat, index.reshape(*lead, math.prod(index.shape[len(lead) :])), -1).reshape(index.shape)


def _unpool(input: Tensor, index: Tensor, shape: Any, dims: int) -> Tensor:
    """Compute max unpooling: zeros of ``shape`` with elements at flat indices in the last ``dims`` dimensions."""
    lead = shape[: len(shape) - dims]
    output = np.zeros_like(input, shape=(*lead, math.prod(shape[len(shape) - dims :])), order="C")
    flat = (*lead, math.prod(input.shape[len(lead) :]))
    np.put_along_axis(output, index.reshape(flat), input.reshape(flat), -1)
    return _laid_out(output.reshape(shape), input, dims)


# -- the operations, by number of dimensions, named as PyTorch's -----------------------------------------------------


def _declared(body: Any, name: str, formula: str, many: bool = False, ending: str = "") -> dict[int, Any]:
    """Declare an operation over two and over three dimensions; ``%`` stands for their number in its formula."""
    operations: dict[int, Any] = {}
    for n in (2, 3):
        options: Any = {"symbol": name.replace("_", " "), "name": f"{name}{n}d{ending}", "many": many}
        operations[n] = op(method=False, input=formula.replace("%", str(n)), **options)(body)
    return operations


_BACK = "pool_scatter(g[0], result[1], input.shape, %)"
AVG = _declared(_avg_pool, "avg_pool", "avg_pool_back(g, input.shape, options)")
ADAPTIVE_AVG = _declared(_adaptive_avg, "adaptive_avg_pool", "adaptive_avg_back(g, input.shape, %)")
MAX = _declared(_max_pool, "max_pool", _BACK, True, "_with_indices")
ADAPTIVE_MAX = _declared(_cells_max, "adaptive_max_pool", _BACK, True)
FRACTIONAL_MAX = _declared(_places_max, "fractional_max_pool", _BACK, True)
UNPOOL = _declared(_unpool, "max_unpool", "pool_gather(g, index, %)")
