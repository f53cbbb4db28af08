"""Large arrays, piece by piece: what several steps make in between stays in the processor's cache.

An expression such as ``1 / (1 + exp(-x))`` makes an array per step. Of ten million elements each is written to memory
and read back; of a piece it never leaves the cache. What is evaluated so is found by looking at the expression: it must
be elementwise (``written_out`` in ``fusion/kernel.py``). Pieces are computed in several threads, and results lie in
memory that is used again (``arrays/caching_allocator.py``). Which pieces there are depends on the shape alone: so does
every rounding error.
"""

from __future__ import annotations

import math
from sys import getrefcount
from typing import Any, NamedTuple

import numpy as np

from nbautograd.arrays import backend, caching_allocator, summation
from nbautograd.arrays.thread_pool import parallel_for
from nbautograd.fusion.kernel import ElementwiseKernel

__all__ = ["MIN_TILED_SIZE", "SUM", "TILE_SIZE", "add_gradients", "compact", "compute", "is_owned", "reusable"]

MIN_TILED_SIZE = 1 << 17
"""From so many elements on it pays."""
TILE_SIZE = 1 << 17
"""So many elements at a time."""
TILES_PER_TASK = 4
"""So many pieces are one thread's at a time."""
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
MAX_ROW = 1 << 19
"""The most elements of what is between steps: an array whose single rows have more is computed whole."""


class Tiling(NamedTuple):
    """Operands as they are cut: along the first axis of ``shape``, ``step`` at a time."""

    shape: tuple[int, ...]
    step: int
    parts: list[Any]
    is_cut: list[bool]

    def at(self, piece: slice) -> list[Any]:
        """The operands of a piece."""
        return [part[piece] if cut else part for part, cut in zip(self.parts, self.is_cut, strict=True)]


def compute(
    work: ElementwiseKernel,
    values: tuple[Any, ...],
    spare: Any = None,
    fit: Any = None,
    shape: tuple[int, ...] | None = None,
) -> Any:
    """What ``work`` computes from ``values``, arrays that are broadcast or numbers, piece by piece.

    What cannot be cut is computed whole.

    :param spare: an array that nobody needs any more; the result may be written into it.
    :param fit: for a gradient, (shape, ...) of what was broadcast: the result is summed to that shape.
    :param shape: the result's, if known.
    """
    dtype = _common_dtype(values)
    steps = work.steps
    if dtype is None or steps is None:
        return _whole(work, values)
    if shape is None:
        shape = _shape_of(values)
    cut = _tile(values, shape)
    if cut is None or math.prod(shape) < MIN_TILED_SIZE:
        return _whole(work, values)
    if fit is not None and fit[0] != shape:
        return _summed(work, cut, shape, dtype, fit[0])
    reused = spare is not None and spare.shape == shape and spare.dtype is dtype and spare.flags.c_contiguous
    result = spare if reused else caching_allocator.empty(shape, dtype)
    target = result.reshape(cut.shape)
    share = TILES_PER_TASK * cut.step
    length = cut.shape[0]

    def task(number: int) -> None:
        stop = min(share * (number + 1), length)
        buffers = _scratch(work, cut, dtype)
        step = cut.step if work.scratch else share  # a single step needs no cache
        for start in range(share * number, stop, step):
            piece = slice(start, min(start + step, stop))
            out = target[piece]
            steps(out, [buffer[: out.size].reshape(out.shape) for buffer in buffers], *cut.at(piece))

    parallel_for(task, -(-length // share))
    return result


def _whole(work: ElementwiseKernel, values: tuple[Any, ...]) -> Any:
    with backend.quiet():
        return work.eager(*values)


def _scratch(work: ElementwiseKernel, cut: Tiling, dtype: np.dtype[Any], more: int = 0) -> Any:
    """Memory for what is between the steps of a piece."""
    return np.empty((work.scratch + more, cut.step * math.prod(cut.shape[1:])), dtype)


def _common_dtype(values: tuple[Any, ...]) -> np.dtype[Any] | None:
    """The floating dtype of all arrays; None if they differ, or are not NumPy's."""
    dtype = None
    for value in values:
        if value.__class__ is np.ndarray or isinstance(value, np.generic):
            if dtype is None:
                dtype = value.dtype
            if value.dtype is not dtype:
                return None
        elif not isinstance(value, (int, float)):
            return None
    return dtype if dtype in FLOATS else None


def _shape_of(values: tuple[Any, ...]) -> tuple[int, ...]:
    shapes = {value.shape for value in values if value.__class__ is np.ndarray}
    return np.broadcast_shapes(*shapes)


def _tile(values: tuple[Any, ...], shape: tuple[int, ...]) -> Tiling | None:
    """As one long row each, or between rows where some are broadcast; None if they lie in memory in another order."""
    parts = [compact(value) for value in values]
    if any(part is None for part in parts):
        return None
    full = [part.__class__ is np.ndarray and part.shape == shape for part in parts]
    if all(is_full or getattr(part, "ndim", 0) == 0 for part, is_full in zip(parts, full, strict=True)):
        row = (math.prod(shape),)
        return Tiling(row, TILE_SIZE, [p.reshape(-1) if f else p for p, f in zip(parts, full, strict=True)], full)
    width = math.prod(shape[1:])
    if not width or width > MAX_ROW:
        return None
    is_cut = [getattr(part, "ndim", 0) == len(shape) and len(part) > 1 for part in parts]
    return Tiling(shape, max(1, TILE_SIZE // width), parts, is_cut)


def compact(value: Any) -> Any:
    """An array without its repetitions, as one number if that is all; None if it is not in the order of memory."""
    if value.__class__ is not np.ndarray or not value.ndim:
        return value
    if not value.flags.c_contiguous:
        value = value[tuple([slice(1) if not stride else slice(None) for stride in value.strides])]
        if not value.flags.c_contiguous:
            return None
    if value.size == 1:
        return value.reshape(())
    return value


def _summed(
    work: ElementwiseKernel, cut: Tiling, shape: tuple[int, ...], dtype: np.dtype[Any], to: tuple[int, ...]
) -> Any:
    """The same summed to the shape ``to``: each piece as soon as it is computed."""
    steps = work.steps
    assert steps is not None
    axes = summation.broadcast_axes(shape, to)
    share = TILES_PER_TASK * cut.step
    length = cut.shape[0]
    count = -(-length // share)
    flat = len(cut.shape) < len(shape)
    kept = tuple(1 if d in axes else n for d, n in enumerate(shape))
    if flat:  # as one row: between rows all the same, if they are not too long
        width = math.prod(shape[1:])
        if width > MAX_ROW or len(shape) < 2:
            return summation.pairwise_sum(
                compute(work, tuple(cut.parts), None, None, cut.shape).reshape(shape), axes, True
            ).reshape(to)
        parts = [part.reshape(shape) if c else part for part, c in zip(cut.parts, cut.is_cut, strict=True)]
        cut = Tiling(shape, max(1, TILE_SIZE // width), parts, cut.is_cut)
        share, length = TILES_PER_TASK * cut.step, shape[0]
        count = -(-length // share)
    over_rows = 0 in axes
    step_count = -(-length // cut.step)
    sums = np.empty((step_count if over_rows else length, *kept[1:]), dtype)

    def task(number: int) -> None:
        stop = min(share * (number + 1), length)
        *buffers, result = _scratch(work, cut, dtype, 1)
        for start in range(share * number, stop, cut.step):
            piece = slice(start, min(start + cut.step, stop))
            here = (piece.stop - piece.start, *cut.shape[1:])
            size = math.prod(here)
            out = result[:size].reshape(here)
            steps(out, [buffer[:size].reshape(here) for buffer in buffers], *cut.at(piece))
            summed = summation.pairwise_sum(out, axes, True)
            if over_rows:
                sums[start // cut.step] = summed[0]
            else:
                sums[piece] = summed

    parallel_for(task, count)
    return (summation.pairwise_sum(sums, (0,), True) if over_rows else sums).reshape(to)


# -- memory that is used again ---------------------------------------------------------------------------------------


def reusable(g: Any, rare: Any) -> Any:
    """``g`` if the engine and the ``vjp`` that asks are all who hold it, so that it may be overwritten; else None.

    :param rare: what the node has beyond the usual: hooks would be shown ``g`` afterwards.
    """
    return g if rare is None and getrefcount(g) <= _ALONE and is_owned(g) else None


def add_gradients(g: Any, d: Any) -> Any:
    """``g + d``, two gradients; one that the engine alone holds is overwritten."""
    if getrefcount(g) <= _MERGED and is_owned(g):
        return compute(SUM, (g, d), g)
    return compute(SUM, (g, d), d if getrefcount(d) <= _MERGED and is_owned(d) else None)


def is_owned(g: Any) -> bool:
    """Whether an array may be written to, as far as its memory goes."""
    return g.__class__ is np.ndarray and g.flags.writeable and caching_allocator.is_whole(g)


class _Probe:
    """A node, for counting who holds a gradient."""

    def vjp(self, g: Any, keep: bool, needed: Any = None) -> tuple[Any, Any]:
        return _counted(g, None), None


def _counted(g: Any, rare: Any) -> int:
    return getrefcount(g)


def _alone_counts() -> tuple[int, int]:
    """What getrefcount says in ``if_alone``, and in ``merged``, of a gradient that only the engine's loop holds."""
    pending = {0: np.empty(1)}
    node = _Probe()
    g = pending.pop(0)
    d, _ = node.vjp(g, False)
    return d, _counted(g, None)


_ALONE, _MERGED = _alone_counts()
SUM = ElementwiseKernel.of("g + d", ["g", "d"], {"np": np})
