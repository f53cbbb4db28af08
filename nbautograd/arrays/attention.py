"""Attention, forward and backward: some heads at a time go through all steps, in the processor's cache."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd.arrays import caching_allocator, rows
from nbautograd.arrays.thread_pool import parallel_for

__all__ = ["attention", "attention_back"]

TILE_SIZE = 1 << 16
"""About how many scores are computed at a time."""


def attention(query: Any, key: Any, value: Any, mask: Any, is_causal: bool, factor: float) -> Any:
    """The output; then the exponentials of the scores, less the same for all of a row, and their sums.

    :param mask: True where a query may look, or numbers that are added to the scores.
    """
    *batch, length, _ = query.shape
    sources, width = value.shape[-2:]
    q, k, v = (_as_heads(a) for a in (query, key, value))
    n, heads = q.shape[:2]
    output = caching_allocator.empty((n, heads, length, width), query.dtype)
    if q.strides[1] < q.strides[2]:  # the heads of a position lie side by side, also in the output
        output = output.reshape(n, length, heads, width).swapaxes(1, 2)
    powers = caching_allocator.empty((n, heads, length, sources), query.dtype)
    sums = np.empty((n, heads, length, 1), query.dtype)
    added = _added(mask, is_causal, length, sources, query.dtype)
    if added is not None:
        added = np.broadcast_to(added, powers.shape)

    def evaluate(tile: tuple[slice, slice]) -> None:
        scores = np.matmul(q[tile] * factor, k[tile].swapaxes(2, 3))
        if added is not None:
            np.add(scores, added[tile], scores)
        part = powers[tile]
        _, total = rows.exponentials(scores.reshape(-1, sources), part.reshape(-1, sources))
        total[total == 0] = 1  # a query that may look at nothing
        sums[tile] = total.reshape(*part.shape[:3], 1)
        np.multiply(np.matmul(part, v[tile]), 1 / sums[tile], output[tile])

    _for_heads(evaluate, n, heads, length * sources)
    return [a.reshape(*batch, length, -1) for a in (output, powers, sums)]


def attention_back(
    g: Any, query: Any, key: Any, value: Any, output: Any, powers: Any, sums: Any, factor: float
) -> list[Any]:
    """The gradients of query, key and value."""
    q, k, v, cotangent, out, weights, total = (_as_heads(a) for a in (query, key, value, g, output, powers, sums))
    gradients = [caching_allocator.empty(a.shape, a.dtype) for a in (q, k, v)]
    for_query, for_key, for_value = gradients

    def evaluate(tile: tuple[slice, slice]) -> None:
        part = weights[tile]
        slope = cotangent[tile] / total[tile]
        np.matmul(part.swapaxes(2, 3), slope, for_value[tile])
        scores = np.matmul(slope, v[tile].swapaxes(2, 3))
        # Softmax: weights * (scores - sum of weights * scores), and that sum is output * slope.
        np.subtract(scores, np.vecdot(slope, out[tile])[..., None], scores)
        np.multiply(scores, part, scores)
        slope = np.matmul(scores, k[tile])
        np.multiply(slope, factor, for_query[tile])
        slope = np.matmul(scores.swapaxes(2, 3), q[tile])
        np.multiply(slope, factor, for_key[tile])

    n, heads, length, sources = weights.shape
    _for_heads(evaluate, n, heads, length * sources)
    return [d.reshape(a.shape) for d, a in zip(gradients, (query, key, value), strict=True)]


def _as_heads(a: Any) -> Any:
    """An array in four dimensions: batch, heads, positions, and numbers of each."""
    if a.ndim == 4:
        return a
    return a.reshape(math.prod(a.shape[:-3]), *(a.shape[-3:] if a.ndim > 2 else (1, *a.shape)))


def _added(mask: Any, is_causal: bool, length: int, sources: int, dtype: Any) -> Any:
    """What is added to the scores; None for nothing."""
    if is_causal:
        return np.where(np.arange(sources) <= np.arange(length)[:, None], dtype.type(0), dtype.type(-math.inf))
    if mask is None:
        return None
    mask = np.where(mask, dtype.type(0), dtype.type(-math.inf)) if mask.dtype.kind == "b" else mask
    return _as_heads(mask) if mask.ndim > 4 else mask


def _for_heads(evaluate: Callable[[tuple[slice, slice]], None], n: int, heads: int, size: int) -> None:
    """Call ``evaluate`` for tiles of heads, in several threads.

    :param size: the scores of a head.
    """
    side = max(1, min(heads, TILE_SIZE // size))
    step = max(1, TILE_SIZE // (size * heads))
    tiles = [
        (slice(i, i + step), slice(j, j + side)) for i, j in itertools.product(range(0, n, step), range(0, heads, side))
    ]
    parallel_for(lambda number: evaluate(tiles[number]), len(tiles))
