"""``torch.cpu``: the CPU as a device, for code that treats all devices alike. It does one thing after the other."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any

from nbautograd import _absent

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


def is_available() -> bool:
    """Whether there is a CPU: true."""
    return True


def is_initialized() -> bool:
    """Whether the CPU is ready for use: true."""
    return True


def synchronize(device: Any = None) -> None:
    """Wait until everything is computed; it is."""


def device_count() -> int:
    """The number of CPUs as devices: 1, whatever their cores."""
    return 1


def current_device() -> str:
    """The name of the device."""
    return "cpu"


def set_device(device: Any) -> None:
    """Choose the only device."""


class Stream:
    """The order in which the CPU computes: that of the program."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Wait for another stream; there is nothing to wait for."""

    def record_event(self) -> None:
        """Record an event."""

    def wait_event(self, event: Any) -> None:
        """Wait for an event."""


class Event:
    """A point in a stream, which has been reached."""

    def query(self) -> bool:
        """Whether it has been reached: true."""
        return True

    def record(self, stream: Any = None) -> None:
        """Record the event."""

    def synchronize(self) -> None:
        """Wait for the event."""

    def wait(self, stream: Any = None) -> None:
        """Let a stream wait for the event."""


_current_stream = Stream()


def current_stream(device: Any = None) -> Stream:
    """The stream of this program."""
    return _current_stream


class StreamContext(AbstractContextManager["StreamContext"]):
    """A block in which a stream is the current one; None leaves it as it is."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:  # type: ignore[override]
        global _current_stream
        self._before = _current_stream
        if self.stream is not None:
            _current_stream = self.stream

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        global _current_stream
        _current_stream = self._before


def stream(stream: Stream | None) -> StreamContext:
    """A block in which a stream is the current one."""
    return StreamContext(stream)


def __getattr__(name: str) -> Any:
    if name == "amp":  # which needs this package
        return import_module("nbautograd.cpu.amp")
    raise AttributeError(_absent.explain("cpu", name), name=name, obj=sys.modules[__name__])
