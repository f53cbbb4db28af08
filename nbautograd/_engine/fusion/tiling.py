"""Tiled evaluation of large elementwise expressions: intermediate results stay in the processor's cache.

An expression such as ``1 / (1 + exp(-x))`` makes an array per step. An array of ten million elements is written to
memory and read back; a tile never leaves the cache. A kernel's steps (``fusion/kernel.py``) run tile by tile, in
several threads, and results use recycled memory (``arrays/caching_allocator.py``). The tiles depend only on the shape,
and so does every rounding error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, caching_allocator, summation
from nbautograd._engine.arrays.dtypes import FLOATS_32_64
from nbautograd._engine.arrays.reference_count import PASSED_TWICE, getrefcount
from nbautograd._engine.arrays.thread_pool import for_each_tile
from nbautograd._engine.fusion.kernel import ElementwiseKernel

MIN_TILED_SIZE = 1 << 17
TILE_SIZE = 1 << 17
TILES_PER_TASK = 4
MAX_ROW_ELEMENTS = 1 << 19
"""Upper bound of a row's scratch buffer, in elements: arrays with longer rows are computed whole."""


class Tiling:
    """Operands and how they are cut into tiles: along the first axis of ``shape``, ``step`` at a time.

    :ivar is_cut: for each operand, True if each tile has its own part of it; others are broadcast to every tile.
    """

    __slots__ = ("is_cut", "operands", "shape", "step")

    def __init__(self, shape: tuple[int, ...], step: int, operands: list[Any], is_cut: list[bool]) -> None:
        self.shape, self.step, self.operands, self.is_cut = shape, step, operands, is_cut

    def at(self, tile: slice) -> list[Any]:
        """Return the operands of a tile."""
        return [operand[tile] if cut else operand for operand, cut in zip(self.operands, self.is_cut, strict=True)]


def compute(
    kernel: ElementwiseKernel,
    values: tuple[Any, ...],
    spare: Any = None,
    fit: Any = None,
    shape: tuple[int, ...] | None = None,
) -> Any:
    """Return the result of ``kernel`` for ``values``, arrays that are broadcast or numbers: tile by tile, or at once.

    :param spare: an array that is no longer needed; the result may be written into it.
    :param fit: for a gradient, (shape, ...) before broadcasting: the result is summed to that shape.
    :param shape: the result's, if known.
    """
    steps, alike = kernel.steps, _alike(values)
    if alike is not None:
        dtype, shape = alike.dtype, alike.shape
    else:
        dtype = _common_dtype(values)
    if dtype is None or steps is None:
        return _untiled(kernel, values, fit)
    if shape is None:
        shape = _shape_of(values)
    size = math.prod(shape)
    if size < MIN_TILED_SIZE:
        return _untiled(kernel, values)
    is_summed = fit is not None and fit[0] != shape
    is_short = size <= _at_once(kernel, TILE_SIZE)
    if is_short and not is_summed and _are_contiguous(values, alike):
        return _in_one_tile(kernel, values, _result(spare, shape, dtype))
    tiling = _tile(values, shape)
    if tiling is None:
        return _untiled(kernel, values)
    if is_summed:
        return _summed(kernel, tiling, shape, dtype, fit[0])
    result = _result(spare, shape, dtype)
    target = result.reshape(tiling.shape)

    def evaluate(tile: slice, buffers: Any) -> None:
        out = target[tile]
        steps(out, [buffer[: out.size].reshape(out.shape) for buffer in buffers], *tiling.at(tile))

    step, per_task = _at_once(kernel, tiling.step), TILES_PER_TASK * tiling.step
    for_each_tile(tiling.shape[0], step, per_task, lambda: _scratch(kernel, tiling, dtype), evaluate)
    return result


def _at_once(kernel: ElementwiseKernel, step: int) -> int:
    return TILES_PER_TASK * step if kernel.is_one_pass else step  # does not use the cache


def _result(spare: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    reuse = spare is not None and spare.shape == shape and spare.dtype is dtype and spare.flags.c_contiguous
    return spare if reuse else caching_allocator.empty(shape, dtype)


def _alike(values: tuple[Any, ...]) -> Any:
    """Return one of the arrays if all are contiguous and of one shape and floating dtype; numbers are allowed."""
    first: Any = None
    for value in values:
        if value.__class__ is np.ndarray:
            if not value.flags.c_contiguous:
                return None
            if first is None:
                first = value
            elif value.shape != first.shape or value.dtype is not first.dtype:
                return None
        elif value.__class__ is not int and value.__class__ is not float:
            return None
    return first if first is not None and first.dtype in FLOATS_32_64 else None


def _are_contiguous(values: tuple[Any, ...], alike: Any) -> bool:
    return alike is not None or all(value.flags.c_contiguous for value in values if value.__class__ is np.ndarray)


def _in_one_tile(kernel: ElementwiseKernel, values: tuple[Any, ...], result: Any) -> Any:
    """Write the result in one thread: the usual case of medium sizes."""
    steps = kernel.steps
    assert steps is not None
    before = backend.get_quiet()
    try:
        backend.set_quiet(backend.SILENT)
        steps(result, [np.empty(result.shape, result.dtype) for _ in range(kernel.scratch)], *values)
    finally:
        backend.set_quiet(before)
    return result


def _untiled(kernel: ElementwiseKernel, values: tuple[Any, ...], fit: Any = None) -> Any:
    """Return the result at once, or by a kernel of the arrays' device."""
    library = kernels_for(values)
    if library is not None:
        return cuda_kernel().compute(kernel, values, library, fit)
    with backend.quiet():
        return kernel.eager(*values)


def _scratch(kernel: ElementwiseKernel, tiling: Tiling, dtype: np.dtype[Any], more: int = 0) -> Any:
    return np.empty((kernel.scratch + more, tiling.step * math.prod(tiling.shape[1:])), dtype)


def _common_dtype(values: tuple[Any, ...]) -> np.dtype[Any] | None:
    """Return the floating dtype of all arrays; None if they differ, or are not NumPy's."""
    dtype = None
    for value in values:
        if value.__class__ is np.ndarray or isinstance(value, np.generic):
            if dtype is None:
                dtype = value.dtype
            if value.dtype is not dtype:
                return None
        elif not isinstance(value, (int, float)):
            return None
    return dtype if dtype in FLOATS_32_64 else None


def _shape_of(values: tuple[Any, ...]) -> tuple[int, ...]:
    return np.broadcast(*[value for value in values if value.__class__ is np.ndarray]).shape


def _tile(values: tuple[Any, ...], shape: tuple[int, ...]) -> Tiling | None:
    """Cut flat arrays into tiles, or along the first axis if some are broadcast; None if an array is not contiguous."""
    operands = [compact(value) for value in values]
    if any(operand is None for operand in operands):
        return None
    shapes: list[tuple[int, ...]] = [getattr(operand, "shape", ()) for operand in operands]
    if {*shapes} <= {shape, ()}:
        is_full = [each == shape for each in shapes]
        flat = [o.reshape(-1) if full else o for o, full in zip(operands, is_full, strict=True)]
        return Tiling((math.prod(shape),), TILE_SIZE, flat, is_full)
    width = math.prod(shape[1:])
    if width > MAX_ROW_ELEMENTS:
        return None
    is_cut = [len(each) == len(shape) and each[0] > 1 for each in shapes]
    return Tiling(shape, max(1, TILE_SIZE // width), operands, is_cut)


def compact(value: Any) -> Any:
    """Return an array without its broadcast repetitions (0-d for one element); None if that is not C-contiguous."""
    if value.__class__ is not np.ndarray or not value.ndim:
        return value
    if not value.flags.c_contiguous:
        value = value[tuple([slice(1) if not stride else slice(None) for stride in value.strides])]
        if not value.flags.c_contiguous:
            return None
    return value.reshape(()) if value.size == 1 else value


def _summed(
    kernel: ElementwiseKernel, tiling: Tiling, shape: tuple[int, ...], dtype: np.dtype[Any], to: tuple[int, ...]
) -> Any:
    """Return the result summed to the shape ``to`` (a fused reduction), each tile as soon as it is computed."""
    steps = kernel.steps
    assert steps is not None
    axes = summation.broadcast_axes(shape, to)
    if len(tiling.shape) < len(shape):  # flat operands are cut along the first axis after all, unless rows are too long
        width = math.prod(shape[1:])
        if width > MAX_ROW_ELEMENTS or len(shape) < 2:
            whole = compute(kernel, tuple(tiling.operands), None, None, tiling.shape).reshape(shape)
            return summation.pairwise_sum(whole, axes, True).reshape(to)
        operands = [o.reshape(shape) if cut else o for o, cut in zip(tiling.operands, tiling.is_cut, strict=True)]
        tiling = Tiling(shape, max(1, TILE_SIZE // width), operands, tiling.is_cut)
    length, over_rows = tiling.shape[0], 0 in axes
    tile_count = -(-length // tiling.step)
    summed_shape = tuple(1 if d in axes else n for d, n in enumerate(shape))
    sums = np.empty((tile_count if over_rows else length, *summed_shape[1:]), dtype)

    def evaluate(tile: slice, buffers: Any) -> None:
        *intermediate, result = buffers
        tile_shape = (tile.stop - tile.start, *tiling.shape[1:])
        size = math.prod(tile_shape)
        out = result[:size].reshape(tile_shape)
        steps(out, [buffer[:size].reshape(tile_shape) for buffer in intermediate], *tiling.at(tile))
        partial = summation.pairwise_sum(out, axes, True)
        if over_rows:
            sums[tile.start // tiling.step] = partial[0]
        else:
            sums[tile] = partial

    step = tiling.step
    for_each_tile(length, step, TILES_PER_TASK * step, lambda: _scratch(kernel, tiling, dtype, 1), evaluate)
    return (summation.pairwise_sum(sums, (0,), True) if over_rows else sums).reshape(to)


# -- memory reuse ----------------------------------------------------------------------------------------------------


def reusable(g: Any, extras: Any) -> Any:
    """Return ``g`` if only the engine and the calling ``vjp`` hold it, so that it may be overwritten; else None.

    :param extras: the node's optional parts: hooks would see ``g`` afterwards.
    """
    return g if extras is None and getrefcount(g) <= PASSED_TWICE and is_owned(g) else None


def is_owned(g: Any) -> bool:
    """Return whether an array may be written to, judging by its memory."""
    return g.__class__ is np.ndarray and g.flags.writeable and caching_allocator.is_whole(g)


def kernels_for(values: tuple[Any, ...]) -> Any:
    """Return the library that compiles kernels for arrays such as these; None for NumPy arrays."""
    for value in values:
        if value.__class__ is not np.ndarray and hasattr(value, "dtype") and not isinstance(value, np.generic):
            return backend.of(value).kernels()
    return None


def cuda_kernel() -> Any:
    """Return the module of kernels for devices, which is loaded late."""
    from nbautograd._engine.fusion import cuda_kernel

    return cuda_kernel


def sum_on_device(function: Callable[..., Any], operands: tuple[Any, ...], axes: Any, keepdims: bool) -> Any:
    """Sum the values of ``function`` for each element over ``axes``, by a kernel; None if that is not faster."""
    library = kernels_for(operands)
    return None if library is None else cuda_kernel().sum_of(function, operands, library, axes, keepdims)
