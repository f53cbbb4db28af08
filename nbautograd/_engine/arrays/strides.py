"""Memory layout of arrays: strides and offsets, counted in elements as in PyTorch.

NumPy's own functions drop strides that it does not need (of lengths 1 and 0, and of broadcast arrays). PyTorch keeps
them and users print them, so views state their memory layout explicitly.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nbautograd._engine.arrays import backend, memory_format, version_counter
from nbautograd.errors import kind_of

Ints = tuple[int, ...]


class Geometry(NamedTuple):
    """The memory layout of a tensor in its storage."""

    shape: Ints
    strides: Ints
    offset: int

    def end(self) -> int:
        """Return the minimum number of elements of the storage."""
        if 0 in self.shape:
            return self.offset
        return self.offset + 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))


def contiguous(shape: Ints) -> Ints:
    """Return the strides of elements in row-major order without gaps.

    >>> contiguous((2, 3, 4))
    (12, 4, 1)
    """
    steps, step = [], 1
    for n in reversed(shape):
        steps.append(step)
        step *= n or 1
    return tuple(reversed(steps))


def channels_last(shape: Ints) -> Ints:
    """Return the strides of (N, C, ...) elements whose channels are adjacent in memory.

    >>> channels_last((1, 2, 3, 4))
    (24, 1, 8, 2)
    """
    steps = [math.prod(shape[d + 1 :]) * shape[1] for d in range(2, len(shape))]
    return (math.prod(shape[1:]), 1, *steps)


def is_channels_last(a: Any) -> bool:
    """Return whether an array of images has its channels last in memory, and is not also row-major.

    >>> is_channels_last(np.ones((2, 3, 3, 4)).transpose(0, 3, 1, 2)), is_channels_last(np.ones((2, 3, 3, 4)))
    (True, False)
    """
    return not a.flags.c_contiguous and a.ndim in (4, 5) and strides_of(a) == channels_last(a.shape)


def images_like(result: Any, *inputs: Any) -> Any:
    """Return a result with its channels last in memory where those of an input are, as PyTorch lays out images."""
    if not any(a is not None and is_channels_last(a) for a in inputs):
        return result
    output = empty(result, result.shape, channels_last(result.shape))
    output[...] = result
    return output


def strides_of(a: Any) -> Ints:
    """Return the strides of an array."""
    if not a.size and not any(a.strides):  # NumPy's strides are undefined for an array without elements
        return contiguous(a.shape)
    size = a.itemsize
    return tuple(s // size for s in a.strides)


def root(a: Any) -> Any:
    """Return the array that owns the memory of ``a``."""
    while True:
        owner = version_counter.owner(a)
        if owner.__class__ is not version_counter.Apart:
            return owner
        a = owner.array


def offset_of(a: Any) -> int:
    """Return the offset of the first element from the start of the memory."""
    if a.__class__ is not np.ndarray and isinstance(a, np.generic):
        return 0
    start = root(a)
    if start is a or isinstance(start, np.generic):  # a scalar's memory is its own, at another address each time
        return 0
    address = backend.of(a).address
    return int((address(a) - address(start)) // a.itemsize)


def of(a: Any) -> Geometry:
    """Return the geometry of an array."""
    return Geometry(a.shape, strides_of(a), offset_of(a))


def restride(a: Any, shape: Ints, strides: Ints, shift: int = 0) -> Any:
    """Return a view of the memory of ``a``, ``shift`` elements after its first one. It must not leave that memory."""
    if isinstance(a, np.generic):
        a = np.asarray(a)
    size = a.itemsize
    steps = tuple(s * size for s in strides)
    if a.__class__ is np.ndarray and a.flags.writeable:
        # The fast paths: inside the array itself, and inside the plain array that owns its memory.
        try:
            if shift >= 0 and a.flags.c_contiguous:
                return np.ndarray(shape, a.dtype, a, shift * size, steps)
        except (ValueError, TypeError):
            pass
        start = version_counter.owner(a)
        if start.__class__ is np.ndarray and start.flags.c_contiguous:
            where = shift * size
            if start is not a:
                where += a.__array_interface__["data"][0] - start.__array_interface__["data"][0]
            try:
                return np.ndarray(shape, a.dtype, start, where, steps)
            except (ValueError, TypeError):
                pass
    view = backend.of(a).strided(a, shape, steps, shift * size)
    version_counter.adopt(view, a)
    return view


def view_strides(have: Geometry | tuple[Ints, Ints], shape: Ints) -> Ints | None:
    """Return the strides with which the same memory has another shape; None if a copy is needed.

    Dimensions without a gap to the next are one run of memory; a run can be cut in any way, but no new dimension may
    span two runs.

    >>> view_strides(((4, 3), (3, 1)), (2, 6)), view_strides(((3, 4), (1, 3)), (12,))
    ((6, 1), None)
    """
    old, strides = have[0], have[1]
    if 0 in old:
        return strides if old == shape else contiguous(shape)
    if not old:
        return (1,) * len(shape)
    steps = [0] * len(shape)
    d = len(shape) - 1
    base, length = strides[-1], 1  # of the current run of dimensions
    for i in range(len(old) - 1, -1, -1):
        length *= old[i]
        if i and (old[i - 1] == 1 or strides[i - 1] == length * base):
            continue
        filled = 1
        while d >= 0 and (filled < length or shape[d] == 1):
            steps[d] = filled * base
            filled *= shape[d]
            d -= 1
        if filled != length:
            return None
        if i:
            base, length = strides[i - 1], 1
    return tuple(steps) if d == -1 else None


def is_dense(shape: Ints, strides: Ints) -> bool:
    """Return whether the elements fill their range of memory, each location once, in any order of dimensions."""
    step = 1
    for n, s in sorted(((n, s) for n, s in zip(shape, strides, strict=True) if n != 1), key=lambda pair: pair[1]):
        if n == 0:
            return True
        if s != step:
            return False
        step *= n
    return True


def overlaps(shape: Ints, strides: Ints) -> bool:
    """Return whether several elements may share a location; harmless interleaving of dimensions is not detected.

    >>> overlaps((2, 3), (3, 1)), overlaps((2, 3), (1, 1)), overlaps((2, 3), (0, 1))
    (False, True, True)
    """
    span = 0
    for step, n in sorted((s, n) for n, s in zip(shape, strides, strict=True) if n > 1):
        if step <= span:
            return True
        span += step * (n - 1)
    return False


def dense(shape: Ints, strides: Ints) -> Ints:
    """Return the strides of a copy that keeps the memory order of dimensions, as ``clone()``, ``empty_like()`` do.

    >>> dense((2, 3), (1, 2)), dense((2, 3), (10, 2)), dense((2, 3), (0, 1))
    ((1, 2), (3, 1), (3, 1))
    """
    return strides if is_dense(shape, strides) else ordered(shape, strides)


def ordered(shape: Ints, strides: Ints) -> Ints:
    """Return strides without gaps, with the dimensions in the order of these strides; one of stride 0 keeps its
    position.

    >>> ordered((2, 3, 4), (1, 0, 6))
    (1, 2, 6)
    """
    order = list(range(len(shape) - 1, -1, -1))  # innermost first
    for i in range(1, len(order)):
        here = i
        for other in range(i - 1, -1, -1):
            outer, inner = order[here], order[other]
            if not strides[inner] or not strides[outer]:
                continue  # a broadcast dimension fits anywhere: it keeps its position
            if strides[inner] > strides[outer] or strides[inner] == strides[outer] and shape[inner] > shape[outer]:
                order[here], order[other] = inner, outer
                here = other
            elif strides[inner] < strides[outer]:
                break
    steps, step = [0] * len(shape), 1
    for d in order:
        steps[d] = step
        step *= max(shape[d], 1)
    return tuple(steps)


def strides_for(a: Any, wanted: memory_format.memory_format | None, name: str) -> tuple[int, ...]:
    """Return the strides of a copy of ``a`` in a memory format; raise RuntimeError for other numbers of dimensions."""
    if wanted is None or wanted is memory_format.preserve_format:
        return dense(a.shape, strides_of(a))
    if not isinstance(wanted, memory_format.memory_format):
        raise TypeError(f"{name}(): argument 'memory_format' must be torch.memory_format, not {kind_of(wanted)}")
    if wanted is memory_format.contiguous_format:
        return contiguous(a.shape)
    ndim = {memory_format.channels_last: 4, memory_format.channels_last_3d: 5}[wanted]
    if a.ndim != ndim:
        raise RuntimeError(f"{name}(): required rank {ndim} tensor to use {wanted!r} format, got rank {a.ndim}")
    return channels_last(a.shape)


def empty(like: Any, shape: Ints, strides: Ints, dtype: Any = None) -> Any:
    """Return an uninitialized array on the device of ``like`` with these strides."""
    dtype = like.dtype if dtype is None else dtype
    memory = backend.module(backend.device_of(like)).empty((Geometry(shape, strides, 0).end(),), dtype)
    return restride(memory, shape, strides)


def row_major(a: Any) -> Any:
    """Return the array itself if it is contiguous, otherwise a contiguous copy.

    >>> row_major(np.ones((2, 3)).T).strides
    (16, 8)
    """
    return a if a.flags.c_contiguous else a.copy()


def in_format(a: Any) -> Any:
    """Return the array itself if it is row-major or its channels are last, otherwise a row-major copy.

    This prepares operands whose result has the memory format of the operand.
    """
    return a if a.flags.c_contiguous or is_channels_last(a) else a.copy()


def copied(a: Any, dtype: Any = None) -> Any:
    """Return a copy, optionally of another dtype, with the order of the dimensions in memory, like ``dense``.

    >>> copied(np.broadcast_to(np.ones(2), (3, 2))).strides, copied(np.ones((2, 3)).T).strides
    ((16, 8), (8, 24))
    """
    if a.flags.c_contiguous:
        return np.array(a, dtype) if isinstance(a, np.generic) else a.astype(a.dtype if dtype is None else dtype)
    result = empty_as(a, dtype)
    result[...] = a
    return result


def laid_as(a: Any, like: Any) -> Any:
    """Return a contiguous array with its dimensions in memory in the order of ``like``, which has the same shape."""
    if like.flags.c_contiguous:
        return a
    result = empty_as(like, a.dtype)
    result[...] = a
    return result


def empty_as(a: Any, dtype: Any = None) -> Any:
    """Return an uninitialized array with the order of the dimensions of ``a`` in memory."""
    return empty(a, a.shape, dense(a.shape, strides_of(a)), dtype)


def length_of(a: Any) -> int:
    """Return the number of elements of its dtype in the memory of ``a``."""
    return max(int(root(a).nbytes // a.itemsize), of(a).end())


def laid_out(a: Any, geometry: Geometry, length: int) -> Any:
    """Return a copy of ``a`` with the layout ``geometry``, in its own memory for ``length`` elements."""
    shape, strides, offset = geometry
    filled_array = restride(np.zeros_like(a, shape=(length,)), shape, strides, offset)
    filled_array[...] = a
    return filled_array


def places(geometry: Geometry, like: Any) -> Any:
    """Return the memory location of each element, as indices on the device of ``like``."""
    positions = np.asarray(geometry.offset)
    for d, (n, s) in enumerate(zip(geometry.shape, geometry.strides, strict=True)):
        positions = positions + (np.arange(n) * s).reshape((n,) + (1,) * (len(geometry.shape) - d - 1))
    positions = np.broadcast_to(positions, geometry.shape)
    return backend.module(backend.device_of(like)).asarray(positions)
