"""Statistics of a CUDA device's memory, and freeing of cached blocks."""

from __future__ import annotations

from typing import Any

from nbautograd.arrays import backend
from nbautograd.cuda.devices import checked_index, is_initialized

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
]


def _pool(device: Any, ask: str) -> int:
    """A statistic of CuPy's memory pool for a device; 0 before CUDA is used."""
    if not is_initialized():
        return 0
    library = backend.cuda.start()
    with library.cuda.Device(checked_index(device)):
        return int(getattr(library.get_default_memory_pool(), ask)())


def memory_allocated(device: Any = None) -> int:
    """How many bytes the tensors and other arrays on a device take; 0 before CUDA has been used."""
    return _pool(device, "used_bytes")


def memory_reserved(device: Any = None) -> int:
    """How many bytes are kept from the device: those in use, and freed ones that new arrays will get."""
    return _pool(device, "total_bytes")


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes in use since the start, or since :func:`reset_peak_memory_stats`."""
    if not is_initialized():
        return 0
    return max(backend.cuda.peak.get(checked_index(device), 0), memory_allocated(device))


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes kept from the device; freed blocks stay with the pool, so that is no less than now."""
    return max(memory_reserved(device), max_memory_allocated(device))


def reset_peak_memory_stats(device: Any = None) -> None:
    """Restart tracking of the peak number of bytes in use."""
    backend.cuda.peak[checked_index(device)] = memory_allocated(device)


def empty_cache() -> None:
    """Release all cached, unused memory to the device; does nothing before CUDA is used."""
    if is_initialized():
        library = backend.cuda.start()
        library.get_default_memory_pool().free_all_blocks()
        library.get_default_pinned_memory_pool().free_all_blocks()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The free and the total bytes of a device, whoever uses them."""
    library = backend.cuda.start()
    with library.cuda.Device(checked_index(device)):
        free, total = library.cuda.runtime.memGetInfo()
    return int(free), int(total)
