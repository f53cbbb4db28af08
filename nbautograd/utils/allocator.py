"""Settings of the caching allocator for large arrays, and of the C library's ``malloc``."""

from __future__ import annotations

import ctypes
import platform
import sys

from nbautograd._engine.arrays import caching_allocator

__all__ = ["keep_freed_memory", "keep_large_arrays"]

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # mallopt(3)
_USUAL_BYTES = 128 << 10  # the default of both
_MAX_MMAP_BYTES = 32 << 20  # that older versions accept


def keep_large_arrays(megabytes: int = 256) -> int:
    """Limit the memory that the caching allocator keeps for large arrays.

    The allocator is on by default: elementwise results and gradients of 1 MB or more are stored in blocks, which are
    reused, and returned to the operating system only to make room for others. All blocks together, in use or not,
    never exceed this limit; an array that does not fit is allocated as usual. 0 frees all unused blocks and keeps none.

    Where reference counts do not show which blocks are free, as in Python without the GIL, the limit is 0.

    An array in a block does not own its memory: ``tensor.numpy().base`` is the block's handle.

    :param megabytes: the limit of all blocks together, at least 0.
    :returns: the previous limit.
    :raises ValueError: ``megabytes`` is negative, or not an int.

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
    """Make the C library keep freed memory for new arrays, instead of returning it to the operating system.

    The operating system clears every page that it allocates, which for large arrays costs about as much as
    a multiplication. Kept memory needs no clearing. The setting affects the whole process, so it is off by default; 0
    frees the kept memory and restores the default.

    :param megabytes: the amount of freed memory to keep, at least 0.
    :returns: whether the C library supports this: only glibc does.
    :raises ValueError: ``megabytes`` is negative.

    >>> keep_freed_memory(256) in (True, False)
    True
    """
    if not isinstance(megabytes, int) or megabytes < 0:
        raise ValueError(f"keep_freed_memory(): megabytes must be an int of at least 0, not {megabytes!r}")
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    limit = min(megabytes << 20, 2**31 - 1) or _USUAL_BYTES
    kept = mallopt(_M_MMAP_THRESHOLD, limit) or mallopt(_M_MMAP_THRESHOLD, _MAX_MMAP_BYTES)
    done = bool(kept and mallopt(_M_TRIM_THRESHOLD, limit))
    if not megabytes:
        ctypes.CDLL(None).malloc_trim(0)
    return done
