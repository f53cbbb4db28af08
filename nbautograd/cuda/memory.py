"""Statistics of a CUDA device's memory, and freeing of cached blocks."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.arrays import backend
from nbautograd.cuda.devices import checked_index, is_initialized

__all__ = [
    "empty_cache", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved",
    "reset_peak_memory_stats",
]  # fmt: skip


def _pool(device: Any, ask: str) -> int:
    """Return a statistic of CuPy's memory pool for a device; 0 before CUDA is used."""
    if not is_initialized():
        return 0
    library = backend.cuda.start()
    with library.cuda.Device(checked_index(device)):
        return int(getattr(library.get_default_memory_pool(), ask)())


def memory_allocated(device: Any = None) -> int:
    """Return the bytes used by tensors and other arrays on a device; 0 before CUDA has been used.

    >>> if torch.cuda.is_available():
    ...     x = torch.ones(256, device="cuda")
    ...     in_use = torch.cuda.memory_allocated()
    """
    return _pool(device, "used_bytes")


def memory_reserved(device: Any = None) -> int:
    """Return the bytes reserved on a device: those in use, and freed ones for new arrays."""
    return _pool(device, "total_bytes")


def max_memory_allocated(device: Any = None) -> int:
    """Return the peak number of bytes in use since the start, or since :func:`reset_peak_memory_stats`."""
    if not is_initialized():
        return 0
    return max(backend.cuda.peak.get(checked_index(device), 0), memory_allocated(device))


def max_memory_reserved(device: Any = None) -> int:
    """Return the peak number of reserved bytes; the pool keeps freed blocks, so it is at least the present number."""
    return max(memory_reserved(device), max_memory_allocated(device))


def reset_peak_memory_stats(device: Any = None) -> None:
    """Restart tracking of the peak number of bytes in use."""
    backend.cuda.peak[checked_index(device)] = memory_allocated(device)


def empty_cache() -> None:
    """Release all cached, unused memory to the device; do nothing before CUDA is used."""
    if is_initialized():
        library = backend.cuda.start()
        library.get_default_memory_pool().free_all_blocks()
        library.get_default_pinned_memory_pool().free_all_blocks()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the free and the total bytes of a device, counting all processes.

    :returns: two ints, free and total.
    """
    library = backend.cuda.start()
    with library.cuda.Device(checked_index(device)):
        free, total = library.cuda.runtime.memGetInfo()
    return int(free), int(total)
