"""Max pooling of windows that do not overlap, without indices.

If the indices of the maxima are not requested, the forward pass only records which of two neighbors is larger, for all
windows at once: first within the rows of a window, then among its rows, so that the first of equal elements wins. The
backward pass routes gradients by these records.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from nbautograd._engine.arrays import caching_allocator
from nbautograd._engine.arrays.masking import zero_where, zero_where_not
from nbautograd._engine.arrays.strides import images_like
from nbautograd._engine.compiler.op import no_method
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import highest
from nbautograd._engine.ops.signal.pool import MAX, pool_gather, pool_scatter

__all__ = ["is_sliced", "sliced_max_pool"]

Ints = tuple[int, ...]
PART_SIZE = 1 << 17
"""Elements computed at a time, roughly."""
MAX_ROWS = 4
"""Maximum number of rows of a window of two columns, one 8-bit shift per position."""
LITTLE_ENDIAN = sys.byteorder == "little"


def is_sliced(size: Ints, out: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> bool:
    """Return whether windows tile the image without overlap or padding."""
    inside = all((m - 1) * s + k <= n for n, m, k, s in zip(size, out, kernel, stride, strict=True))
    apart = all(k <= s for k, s in zip(kernel, stride, strict=True))
    return inside and apart and not any(padding) and set(dilation) == {1}


def _slices(kernel: int, stride: int, count: int) -> list[slice]:
    """Return, for each position in a window, the slice of its elements in all windows, along one dimension."""
    return [slice(i, i + stride * (count - 1) + 1, stride) for i in range(kernel)]


def _images(a: Any) -> Any:
    """Return a batch as (n, h, w)."""
    return a.reshape(-1, *a.shape[-2:])


def _parts(count: int, size: Ints) -> Iterator[slice]:
    """Yield slices of images that fit into the cache."""
    step = max(1, PART_SIZE // max(math.prod(size), 1))
    return (slice(start, start + step) for start in range(0, count, step))


@no_method(
    node="MaxPool2DWithIndicesBackward0",
    symbol="max pool",
    many=True,
    input="maxima_scatter(g[0], input, result[1], result[2], result[3], kernel, stride)",
)
def sliced_max_pool(input: Tensor, out: Ints, kernel: Ints, stride: Ints) -> Any:
    """Return the maxima of windows for which ``is_sliced`` holds, and masks of the elements larger than those before.

    The masks have shape (kernel[0], kernel[1] - 1, n, *out) within rows, and (kernel[0] - 1, n, *out) among rows. The
    last result is True if any maximum is nan.
    """
    source = _images(input)
    n = len(source)
    result = caching_allocator.empty((*input.shape[:-2], *out), input.dtype)
    target = _images(result)
    within = np.empty((kernel[0], kernel[1] - 1, n, *out), np.bool_)
    among = np.empty((kernel[0] - 1, n, *out), np.bool_)
    rows, columns = map(_slices, kernel, stride, out)
    for part in _parts(n, source.shape[1:]):
        images, best = source[part], target[part]
        wide = np.empty_like(best)
        for i, row in enumerate(rows):
            largest = wide if i else best
            _take_larger(largest, [images[:, row, column] for column in columns], within[i, :, part])
            if i:
                np.greater(wide, best, among[i - 1, part])
                np.maximum(best, wide, out=best)
    return images_like(result, input), within, among, np.array(result.size > 0 and np.isnan(highest(result)))


def _take_larger(largest: Any, candidates: list[Any], notes: Any) -> None:
    """Write the larger candidates to ``largest``, and to ``notes`` where each exceeds those before it."""
    if len(candidates) == 1:
        np.copyto(largest, candidates[0])
        return
    first, second, *others = candidates
    np.greater(second, first, notes[0])
    np.maximum(first, second, out=largest)
    for candidate, note in zip(others, notes[1:], strict=True):
        np.greater(candidate, largest, note)
        np.maximum(largest, candidate, out=largest)


def _shares(g: Any, notes: Any) -> Iterator[tuple[int, Any]]:
    """Yield the share of each candidate, by its number, of the gradient of the maximum."""
    for number in range(len(notes), 0, -1):
        share = zero_where_not(g, notes[number - 1])
        yield number, share
        g = zero_where(g, notes[number - 1])
    yield 0, g


def _write_pairs(gradients: Any, rows: list[slice], g: Any, within: Any, among: Any) -> None:
    """Write the gradient to one element of each window and zeros to the others, for windows of two columns.

    Two neighbors of float32 are one 64-bit number; the gradient is shifted into it, or out of it.
    """
    places = within[0].view(np.uint8).copy()  # two per row
    for i, larger in enumerate(among, 1):
        places ^= (places ^ (within[i].view(np.uint8) + np.uint8(2 * i))) & -larger.view(np.int8).view(np.uint8)
    shift, wide = (places * np.uint8(32)).astype(np.uint64), g.view(np.uint32).astype(np.uint64)
    pairs = gradients.view(np.uint64)
    for i, row in enumerate(rows):
        if i:
            shift -= np.uint64(64)  # the shift for earlier rows is now larger than 64 bits, which gives 0
        np.left_shift(wide, shift, pairs[:, row])


def _index(x: Any, out: Ints, kernel: Ints, stride: Ints) -> Any:
    return MAX[2].__wrapped__(x, out, kernel, stride, (0, 0), (1, 1))[1]


@no_method(
    node="MaxPoolBackwardBackward0",
    symbol="max pool",
    input="maxima_gather(g, x, within, among, any_nan, kernel, stride)",
)
def maxima_scatter(
    input: Tensor, x: Tensor, within: Tensor, among: Tensor, any_nan: Tensor, kernel: Ints, stride: Ints
) -> Tensor:
    """Compute the transpose of ``maxima_gather``: elements at the maxima of ``x``, and zeros."""
    if any_nan:  # PyTorch takes the last nan of a window
        return pool_scatter.__wrapped__(input, _index(x, among.shape[-2:], kernel, stride), x.shape, 2)
    out = among.shape[-2:]
    result = caching_allocator.empty(x.shape, input.dtype)
    target, g, size = _images(result), _images(input), x.shape[-2:]
    rows, columns = map(_slices, kernel, stride, out)
    covered = kernel == stride and tuple(map(operator.mul, out, kernel)) == size
    pairs = covered and kernel[1] == 2 and kernel[0] <= MAX_ROWS and result.dtype == np.float32 and LITTLE_ENDIAN
    for part in _parts(len(target), size):
        gradients = target[part]
        if pairs:
            _write_pairs(gradients, rows, np.ascontiguousarray(g[part]), within[:, 0, part], among[:, part])
            continue
        if not covered:
            gradients[...] = 0
        for i, share in _shares(np.ascontiguousarray(g[part]), among[:, part]):
            for j, element in _shares(share, within[i, :, part]):
                gradients[:, rows[i], columns[j]] = element
    return result


@no_method(
    node="GatherBackward0", symbol="gather", input="maxima_scatter(g, x, within, among, any_nan, kernel, stride)"
)
def maxima_gather(
    input: Tensor, x: Tensor, within: Tensor, among: Tensor, any_nan: Tensor, kernel: Ints, stride: Ints
) -> Tensor:
    """Return the elements at the maxima of ``x``."""
    index = _index(x, among.shape[-2:], kernel, stride)
    return pool_gather.__wrapped__(input, index, 2)
