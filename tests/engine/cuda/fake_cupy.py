"""A module that looks like CuPy with a GPU, for the library's own code around it: its arrays are the strict stand-in's.

It proves that our Python handles the answers of CuPy correctly; it does not test CUDA.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from tests.engine.strict import backend as strict_backend, strict_array

__all__ = ["CUDARuntimeError", "fake_cupy", "present"]


class CUDARuntimeError(RuntimeError):
    """The error that CuPy raises when CUDA reports one."""


class OutOfMemoryError(MemoryError):
    """CuPy's own."""


class Device:
    """``cupy.cuda.Device``."""

    here = 0

    def __init__(self, index: int) -> None:
        self.id, self.before = index, [0]

    def use(self) -> None:
        Device.here = self.id

    def synchronize(self) -> None:
        strict_array.SYNCS.append("synchronize")

    def __enter__(self) -> None:
        self.before.append(Device.here)
        Device.here = self.id

    def __exit__(self, *exception: object) -> None:
        Device.here = self.before.pop()


class Stream:
    """``cupy.cuda.Stream``."""

    made = 0
    now: Any = None
    null: Any = None

    def __init__(self, null: bool = False, non_blocking: bool = False, priority: int | None = None) -> None:
        Stream.made += not null
        self.ptr, self.priority, self.done = 0 if null else Stream.made, priority or 0, True
        self.waits: list[Any] = []

    def use(self) -> None:
        Stream.now = self

    def synchronize(self) -> None:
        strict_array.SYNCS.append("synchronize")

    def wait_event(self, event: Any) -> None:
        self.waits.append(event)


class Event:
    """``cupy.cuda.Event``."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.ptr, self.done, self.timed, self.stream = id(self), True, not disable_timing, None

    def record(self, stream: Any) -> None:
        self.stream = stream

    def synchronize(self) -> None:
        strict_array.SYNCS.append("synchronize")


class Pool:
    """``cupy.get_default_memory_pool()``, with 1000 bytes."""

    used = held = 0

    def malloc(self, size: int) -> Any:
        if self.used + size > 1000:
            raise OutOfMemoryError(f"Out of memory allocating {size} bytes")
        self.used += size
        self.held = max(self.held, self.used)
        return SimpleNamespace(size=size)

    def used_bytes(self) -> int:
        return self.used

    def total_bytes(self) -> int:
        return self.held

    def free_all_blocks(self) -> None:
        self.held = self.used


def fake_cupy(devices: int = 1, **changes: Any) -> ModuleType:
    """A module ``cupy`` with this many GPUs; ``changes`` replace members of ``cupy.cuda``."""
    module = ModuleType("cupy")
    Device.here, Stream.null = 0, Stream(null=True)
    Stream.now = Stream.null
    pool = Pool()
    allocators = [pool.malloc]

    def set_device(index: int) -> None:
        Device.here = index

    runtime = SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError,
        getDeviceCount=lambda: devices,
        getDevice=lambda: Device.here,
        setDevice=set_device,
        getDeviceProperties=lambda i: {"name": b"Fake", "major": 9, "minor": 0, "totalGlobalMem": 1000},
        memGetInfo=lambda: (600, 1000),
        memoryTypeHost=1,
        pointerGetAttributes=lambda pointer: SimpleNamespace(type=0),
    )
    members = {
        "runtime": runtime,
        "nvrtc": SimpleNamespace(getVersion=lambda: (12, 8)),
        "cublas": SimpleNamespace(),
        "Device": Device,
        "Stream": Stream,
        "Event": Event,
        "get_current_stream": lambda: Stream.now,
        "get_elapsed_time": lambda start, end: 1.5,
        "memory": SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
        "get_allocator": lambda: allocators[-1],
        "set_allocator": allocators.append,
        "alloc": lambda size: allocators[-1](size),
        **changes,
    }
    module.__dict__.update(
        ndarray=strict_array.StrictArray,
        cuda=SimpleNamespace(**members),
        get_default_memory_pool=lambda: pool,
        get_default_pinned_memory_pool=lambda: Pool(),
        asnumpy=np.asarray,
    )
    module.__getattr__ = lambda name: getattr(strict_backend._MODULE, name)  # type: ignore[method-assign]
    return module


@contextmanager
def present(module: Any) -> Iterator[Any]:
    """As if ``import cupy`` returned ``module`` (None: nothing), with an unused backend."""
    before, kept = sys.modules.get("cupy"), backend.cuda
    fresh = backend._CupyBackend()
    sys.modules["cupy"] = module
    strict = strict_backend.StrictBackend()  # its arrays are created differently from CuPy's
    fresh.scipy, fresh.strided = strict.scipy, strict.strided  # type: ignore[method-assign]
    fresh.kernels = strict.kernels  # type: ignore[method-assign]
    backend.cuda = backend._BY_TYPE["cuda"] = fresh
    backend.ask_current(fresh.current)
    try:
        yield fresh
    finally:
        backend.cuda = backend._BY_TYPE["cuda"] = kept
        backend.ask_current(kept.current)
        backend._BY_CLASS.pop(strict_array.StrictArray, None)
        if before is None:
            sys.modules.pop("cupy", None)
        else:
            sys.modules["cupy"] = before
