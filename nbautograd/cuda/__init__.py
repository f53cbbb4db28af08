"""``torch.cuda``: the devices, their memory, streams and events, and the reason if CUDA is not available.

As in PyTorch, queries and cleanup (``is_available``, ``device_count``, ``memory_allocated``, ``empty_cache``,
``manual_seed``, ...) also work on a machine without CUDA; all other functions raise an error that says what is missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nbautograd._names import absent
from nbautograd.cuda.devices import (
    current_device,
    device,
    device_count,
    device_of,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_bf16_supported,
    is_initialized,
    set_device,
    synchronize,
    why_not,
)
from nbautograd.cuda.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    reset_peak_memory_stats,
)
from nbautograd.cuda.random import initial_seed, manual_seed, manual_seed_all, seed, seed_all
from nbautograd.cuda.streams import Event, Stream, StreamContext, current_stream, default_stream, set_stream, stream
from nbautograd.errors import OutOfMemoryError

__all__ = [
    "Event",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_stream",
    "stream",
    "synchronize",
    "why_not",
]


def __getattr__(name: str) -> Any:
    if name == "_initialized":
        return is_initialized()
    if name == "amp":  # it imports this package
        return import_module("nbautograd.cuda.amp")
    return absent.fail("cuda", name)
