"""The caching allocator for large arrays, and what the process keeps of freed memory."""

from __future__ import annotations

import ctypes
import platform

from nbautograd.arrays import caching_allocator

__all__ = ["keep_freed_memory", "keep_large_arrays"]

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # mallopt(3)
_USUAL = 128 << 10  # bytes, of both
_ACCEPTED = 32 << 20  # by older versions, as the size from which an array gets pages of its own


def keep_large_arrays(megabytes: int = 256) -> int:
    """Let so much memory of large results be used for the next ones, instead of being given back at once.

    This is the library's own memory, and on from the start: elementwise results and gradients of 4 MB or more lie in
    blocks, which go back to the operating system only to make room for others. All blocks together, in use or not,
    never have more than this; whatever does not fit is allocated as ever. 0 gives back what is free, and keeps nothing.

    An array in a block does not own its memory: ``tensor.numpy().base`` is the block's lease.

    :param megabytes: how much memory all blocks may have together, at least 0.
    :returns: the bound before.
    :raises ValueError: ``megabytes`` is negative, or no int.

    >>> before = keep_large_arrays(0)
    >>> keep_large_arrays(before)
    0
    """
    if not isinstance(megabytes, int) or megabytes < 0:
        raise ValueError(f"keep_large_arrays(): megabytes must be an int of at least 0, not {megabytes!r}")
    before = caching_allocator.pool.limit >> 20
    caching_allocator.keep(megabytes << 20)
    return before


def keep_freed_memory(megabytes: int = 512) -> bool:
    """Let the process keep up to so much freed memory for the next arrays, instead of giving it back at once.

    The operating system clears every page that it hands out, which for large arrays costs about as much as
    a multiplication. Kept memory needs no clearing. The setting is the whole process', and so is off until it is asked
    for; 0 gives back what is kept and returns to the usual.

    :param megabytes: how much freed memory to keep, at least 0.
    :returns: whether the C library knows of this: glibc does; others are left alone.
    :raises ValueError: ``megabytes`` is negative.

    >>> keep_freed_memory(256) in (True, False)
    True
    """
    if not isinstance(megabytes, int) or megabytes < 0:
        raise ValueError(f"keep_freed_memory(): megabytes must be an int of at least 0, not {megabytes!r}")
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    limit = min(megabytes << 20, 2**31 - 1) or _USUAL
    kept = mallopt(_M_MMAP_THRESHOLD, limit) or mallopt(_M_MMAP_THRESHOLD, _ACCEPTED)
    done = bool(kept and mallopt(_M_TRIM_THRESHOLD, limit))
    if not megabytes:
        ctypes.CDLL(None).malloc_trim(0)
    return done
