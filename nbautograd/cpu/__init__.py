"""``torch.cpu``: the CPU as a device among others, with one queue of work, in which everything is done at once."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from nbautograd import _absent
from nbautograd.arrays import cpu_features

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "get_capabilities",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


class Event:
    """A mark in a queue, which is always reached."""

    def query(self) -> bool:
        """True: all work is done."""
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Nothing: all work is done."""

    def synchronize(self) -> None:
        """Nothing: all work is done."""

    def wait(self, stream: Stream | None = None) -> None:
        """Nothing: all work is done."""


class Stream:
    """A queue of work; work is done when it is submitted.

    :param priority: accepted as in PyTorch; there is nothing to choose between.
    """

    def __init__(self, priority: int = -1) -> None: ...

    def wait_stream(self, stream: Stream) -> None:
        """Nothing: all work is done."""

    def record_event(self) -> None:
        """Nothing, as in PyTorch."""

    def wait_event(self, event: Event) -> None:
        """Nothing: all work is done."""


class StreamContext:
    """``with torch.cpu.stream(s):`` makes a stream the current one."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before: list[Stream] = []

    def __enter__(self) -> None:
        if self.stream is not None:
            self._before.append(_current[0])
            _current[0] = self.stream

    def __exit__(self, *exception: object) -> None:
        if self.stream is not None:
            _current[0] = self._before.pop()


_current = [Stream()]


def stream(stream: Stream | None) -> StreamContext:
    """A context in which ``stream`` is the current one; None changes nothing."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The current stream."""
    return _current[0]


def is_available() -> bool:
    """True: there is a CPU."""
    return True


def is_initialized() -> bool:
    """True: a CPU needs no preparation."""
    return True


def device_count() -> int:
    """1: all processors are one device."""
    return 1


def current_device() -> str:
    """The name of the device."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is one CPU."""


def synchronize(device: Any = None) -> None:
    """Nothing: all work is done when a call returns."""


def get_capabilities() -> Mapping[str, bool]:
    """By name, in small letters, whether the processor has a feature.

    >>> import nbautograd as torch
    >>> isinstance(torch.cpu.get_capabilities().get("avx2", False), bool)
    True
    """
    return MappingProxyType({name.lower(): has for name, has in sorted(cpu_features.features().items())})


def __getattr__(name: str) -> Any:
    if name == "amp":  # which needs this package
        return import_module("nbautograd.cpu.amp")
    return _absent.fail("cpu", name)
