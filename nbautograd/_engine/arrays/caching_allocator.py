"""A caching allocator for large arrays: freed blocks of memory are kept and reused.

The operating system clears every page that it provides, and a large array that is freed returns its pages at once: for
ten million numbers that costs more than multiplying them. So large results are placed in blocks which this module
keeps. A block is free when its reference count shows that only the list below holds it: arrays need not report that
they are freed.

The size of all blocks together, in use or not, is bounded (``limit``); ``nbautograd.utils.allocator`` sets the bound,
and 0 disables the allocator.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from nbautograd._engine.arrays.reference_count import HELD_ONCE, NEVER, VIEWED_ONCE, getrefcount

MIN_BLOCK_BYTES = 1 << 20
"""The C library keeps smaller ones itself (``raise_threshold``)."""
MAX_BLOCK_RATIO = 1.25
"""Maximum ratio of the size of a block to that of its array."""


class _Pool:
    """The blocks in order of last use (LRU), and the limit of their bytes."""

    def __init__(self) -> None:
        self.blocks: list[np.ndarray[Any, Any]] = []
        self.limit = 0


pool = _Pool()


class BlockHandle:
    """The ``base`` of an array over a block; returns the block to the pool when the last view of the array is freed.

    Every use of a block has its own handle, so that a block's next array has nothing in common with this one.
    """

    __slots__ = ("__array_interface__", "block")

    def __init__(self, block: np.ndarray[Any, Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.block = block
        place = block.__array_interface__["data"]
        self.__array_interface__ = {"data": place, "shape": shape, "typestr": dtype.str, "version": 3}


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return an uninitialized array; a large one reuses a free block.

    Two threads cannot get the same block: each holds the one that it inspects, so that neither finds it free.
    """
    size = math.prod(shape) * dtype.itemsize
    if not MIN_BLOCK_BYTES <= size <= pool.limit:
        return np.empty(shape, dtype)
    handle = _free_block(size, shape, dtype)
    if handle is None:
        if not _make_room(pool.limit - size):
            return np.empty(shape, dtype)
        block = np.empty(size, np.uint8)
        pool.blocks.append(block)
        handle = BlockHandle(block, shape, dtype)
    return np.asarray(handle)


def _free_block(size: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> BlockHandle | None:
    for block in pool.blocks:
        if getrefcount(block) <= HELD_ONCE and size <= block.nbytes <= size * MAX_BLOCK_RATIO:
            return BlockHandle(block, shape, dtype)
    return None


def _make_room(limit: int) -> bool:
    """Free unused blocks, oldest first, until at most ``limit`` bytes are left; return whether that succeeded."""
    total = sum(block.nbytes for block in pool.blocks)
    index = 0
    while total > limit and index < len(pool.blocks):
        block = pool.blocks[index]
        if getrefcount(block) <= HELD_ONCE:
            del pool.blocks[index]
            total -= block.nbytes
        else:
            index += 1
    return total <= limit


def keep(limit: int) -> None:
    """Limit the bytes of all blocks; unused blocks beyond the limit are freed. Every kept block is counted."""
    pool.limit = 0 if HELD_ONCE == NEVER else limit
    _make_room(limit)


def is_whole(a: Any) -> bool:
    """Return whether no other array shares an array's memory: it owns it, or is the only view of all of it."""
    base = getattr(a, "base", None)
    if base is None or isinstance(base, BlockHandle):
        return True
    rooted = base.__class__ is np.ndarray and (base.base is None or isinstance(base.base, BlockHandle))
    return rooted and getrefcount(base) <= VIEWED_ONCE and bool(base.size == a.size and a.flags.c_contiguous)


def raise_threshold() -> None:
    """Make the GNU C library keep smaller arrays, instead of returning their memory again and again.

    By default it returns all memory above 128 kB. After an array with its own pages is freed, it keeps twice the size
    of that array, up to 64 MB (its manual, mallopt(3), on the dynamic mmap threshold). This array is the largest that
    counts, and none of its pages is ever touched.
    """
    if sys.platform == "linux":
        np.empty((1 << 25) - (1 << 13), np.uint8)


keep(256 << 20)
raise_threshold()
