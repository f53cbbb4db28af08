"""Attention, forward and backward: a few heads at a time go through all steps, in the processor's cache."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import caching_allocator, rows
from nbautograd._engine.arrays.axpy import shift_rows
from nbautograd._engine.arrays.thread_pool import parallel_for

Tile = tuple[slice, slice]
TILE_SIZE = 1 << 16
"""Scores computed at a time."""


def attention(query: Any, key: Any, value: Any, mask: Any, is_causal: bool, factor: float) -> Any:
    """Return the output, the exponentials of the scores minus a constant per row, and their sums.

    :param mask: True where a query may attend, or numbers that are added to the scores.
    """
    *batch, length, _ = query.shape
    sources, width = value.shape[-2:]
    q, k, v = _as_heads(query), _as_heads(key), _as_heads(value)
    n, heads = q.shape[:2]
    output = caching_allocator.empty((n, heads, length, width), query.dtype)
    if q.strides[1] < q.strides[2]:  # the heads of a position are adjacent, also in the output
        output = output.reshape(n, length, heads, width).swapaxes(1, 2)
    powers = caching_allocator.empty((n, heads, length, sources), query.dtype)
    sums = np.empty((n, heads, length, 1), query.dtype)
    added = _added(mask, is_causal, length, sources, query.dtype)
    if powers.size <= TILE_SIZE:
        _attend(q, k, v, added, factor, output, powers, sums)
    else:
        everywhere = None if added is None else np.broadcast_to(added, powers.shape)

        def evaluate(tile: Tile) -> None:
            part = None if everywhere is None else everywhere[tile]
            _attend(q[tile], k[tile], v[tile], part, factor, output[tile], powers[tile], sums[tile])

        _for_heads(evaluate, n, heads, length * sources)
    if query.ndim == 4:
        return [output, powers, sums]
    return [a.reshape(*batch, length, -1) for a in (output, powers, sums)]


def _attend(q: Any, k: Any, v: Any, added: Any, factor: float, output: Any, powers: Any, sums: Any) -> None:
    """Write the results of ``attention`` for some heads; ``added`` is added to the scores, unless it is None."""
    scores = np.matmul(q * factor, k.swapaxes(2, 3))
    if added is not None:
        np.add(scores, added, scores)
    rows_of_scores, rows_of_powers = scores.reshape(-1, scores.shape[3]), powers.reshape(-1, scores.shape[3])
    total = rows.unshifted_exponentials(rows_of_scores, rows_of_powers)
    if total is None:
        total = rows.shifted_exponentials(rows_of_scores, rows_of_powers)
        total[total == 0] = 1  # a query that may attend to nothing
    sums[...] = total.reshape(sums.shape)
    np.divide(np.matmul(powers, v), sums, output)


def attention_back(
    g: Any, query: Any, key: Any, value: Any, output: Any, powers: Any, sums: Any, factor: float
) -> list[Any]:
    """Return the gradients of query, key and value."""
    arrays = [_as_heads(a) for a in (query, key, value, g, output, powers, sums)]
    gradients = [caching_allocator.empty(a.shape, a.dtype) for a in arrays[:3]]
    if powers.size <= TILE_SIZE:
        _attend_back(arrays, factor, gradients)
    else:

        def evaluate(tile: Tile) -> None:
            _attend_back([a[tile] for a in arrays], factor, [d[tile] for d in gradients])

        n, heads, length, sources = arrays[5].shape
        _for_heads(evaluate, n, heads, length * sources)
    return [d.reshape(a.shape) for d, a in zip(gradients, (query, key, value), strict=True)]


def _attend_back(arrays: list[Any], factor: float, gradients: list[Any]) -> None:
    """Write the gradients of some heads."""
    q, k, v, cotangent, out, weights, total = arrays
    for_query, for_key, for_value = gradients
    slope = cotangent / total
    np.matmul(weights.swapaxes(2, 3), slope, for_value)
    scores = np.matmul(slope, v.swapaxes(2, 3))
    # Softmax: weights * (scores - sum of weights * scores), and that sum is output * slope.
    shift_rows(-np.vecdot(slope, out).reshape(-1), scores.reshape(-1, scores.shape[3]))
    np.multiply(scores, weights, scores)
    np.matmul(scores, k, for_query)
    np.multiply(for_query, factor, for_query)
    np.matmul(scores.swapaxes(2, 3), q, for_key)
    np.multiply(for_key, factor, for_key)


def _as_heads(a: Any) -> Any:
    """Return an array in four dimensions: batch, heads, positions, and elements per position."""
    if a.ndim == 4:
        return a
    return a.reshape(math.prod(a.shape[:-3]), *(a.shape[-3:] if a.ndim > 2 else (1, *a.shape)))


def _added(mask: Any, is_causal: bool, length: int, sources: int, dtype: Any) -> Any:
    """Return the array to add to the scores, or None."""
    if is_causal:
        return (_causal if length * sources <= TILE_SIZE else _causal.__wrapped__)(length, sources, dtype)
    if mask is None:
        return None
    mask = np.where(mask, dtype.type(0), dtype.type(-math.inf)) if mask.dtype.kind == "b" else mask
    return _as_heads(mask) if mask.ndim > 4 else mask


@functools.lru_cache(maxsize=8)
def _causal(length: int, sources: int, dtype: Any) -> Any:
    """Return 0 where the key's index is at most the query's, -inf elsewhere."""
    added = np.where(np.arange(sources) <= np.arange(length)[:, None], dtype.type(0), dtype.type(-math.inf))
    added.flags.writeable = False
    return added


def _for_heads(evaluate: Callable[[Tile], None], n: int, heads: int, size: int) -> None:
    """Call ``evaluate`` for tiles of heads, each of ``size`` scores, in several threads."""
    side = max(1, min(heads, TILE_SIZE // size))
    step = max(1, TILE_SIZE // (size * heads))
    tiles = [
        (slice(i, i + step), slice(j, j + side)) for i, j in itertools.product(range(0, n, step), range(0, heads, side))
    ]
    parallel_for(lambda number: evaluate(tiles[number]), len(tiles))
