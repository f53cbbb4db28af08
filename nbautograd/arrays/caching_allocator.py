"""A caching allocator for large arrays: freed blocks of memory are kept and used again.

The operating system clears every page that it hands out, and a large array that dies gives its pages back at once: of
ten million numbers that costs more than multiplying them. So large results are laid into blocks which are kept here. A
block is free when its reference count says that nothing but the list below holds it: no array has to say that it dies.

What is kept is bounded (``LIMIT``, all blocks together, in use or not); ``nbautograd.utils.allocator`` sets the bound,
and 0 turns all of this off.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd.arrays.reference_count import HELD_ONCE, VIEWED_ONCE, getrefcount

__all__ = ["BlockHandle", "empty", "is_whole", "keep"]

SMALLEST = 1 << 22
"""Bytes from which on an array gets a block: what is smaller, the C library keeps itself."""
LOOSE = 1.25
"""So many times as large as the array a block may be."""


class _Pool:
    """The blocks, the one used last at the end, and how many bytes they may have together."""

    def __init__(self) -> None:
        self.blocks: list[np.ndarray[Any, Any]] = []
        self.limit = 256 << 20


pool = _Pool()


class BlockHandle:
    """What an array over a block has as its ``base``: it holds the block until the last view of the array is gone.

    Every use of a block has one of its own, so that a block's next array has nothing in common with this one.
    """

    __slots__ = ("__array_interface__", "block")

    def __init__(self, block: np.ndarray[Any, Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.block = block
        place = block.__array_interface__["data"]
        self.__array_interface__ = {"data": place, "shape": shape, "typestr": dtype.str, "version": 3}


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array whose elements are whatever was there; over a free block if it is large.

    Two threads do not get the same block: each holds the one that it looks at, so that neither finds it free.
    """
    size = math.prod(shape) * dtype.itemsize
    if not SMALLEST <= size <= pool.limit:
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
        if getrefcount(block) <= HELD_ONCE and size <= block.nbytes <= size * LOOSE:
            return BlockHandle(block, shape, dtype)
    return None


def _make_room(limit: int) -> bool:
    """Give back free blocks, the oldest first, until the rest has at most ``limit`` bytes; whether that is so."""
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
    """Let all blocks together have at most so many bytes; free ones beyond that are given back."""
    pool.limit = limit
    _make_room(limit)


def is_whole(a: Any) -> bool:
    """Whether an array has its memory to itself: its own, or all of that of an array that is known through it alone."""
    base = getattr(a, "base", None)
    if base is None or isinstance(base, BlockHandle):
        return True
    rooted = base.__class__ is np.ndarray and (base.base is None or isinstance(base.base, BlockHandle))
    return rooted and getrefcount(base) <= VIEWED_ONCE and bool(base.size == a.size and a.flags.c_contiguous)
