"""``torch.cpu``: the CPU as a device with one queue, which completes work immediately."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from nbautograd._engine.arrays import cpu_features
from nbautograd._names import absent
from nbautograd._names.docstrings import import_in_examples

__all__ = [
    "Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count", "get_capabilities",
    "is_available", "is_initialized", "set_device", "stream", "synchronize",
]  # fmt: skip


class Event:
    """An event in a queue, which is always complete.

    :returns: an event whose ``query`` returns True.

    >>> torch.cpu.Event().query()
    True
    """

    def query(self) -> bool:
        """Return True: all work is complete."""
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Do nothing: all work is complete."""

    def synchronize(self) -> None:
        """Do nothing: all work is complete."""

    def wait(self, stream: Stream | None = None) -> None:
        """Do nothing: all work is complete."""


class Stream:
    """A queue of work; submitted work is complete immediately.

    :param priority: accepted and ignored.
    :returns: a stream.

    >>> stream = torch.cpu.Stream()
    >>> stream.wait_stream(torch.cpu.current_stream())
    """

    def __init__(self, priority: int = -1) -> None: ...

    def wait_stream(self, stream: Stream) -> None:
        """Do nothing: all work is complete."""

    def record_event(self) -> None:
        """Do nothing, as in PyTorch."""

    def wait_event(self, event: Event) -> None:
        """Do nothing: all work is complete."""


class StreamContext:
    """The context manager of ``torch.cpu.stream(s)``, which makes a stream the current one.

    :param stream: the stream; None changes nothing.
    :returns: a context manager.

    >>> stream = torch.cpu.Stream()
    >>> with torch.cpu.StreamContext(stream):
    ...     torch.cpu.current_stream() is stream
    True
    """

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
    """Return a context in which ``stream`` is the current one; None changes nothing.

    :param stream: the stream, or None.
    :returns: a context manager.

    >>> stream = torch.cpu.Stream()
    >>> with torch.cpu.stream(stream):
    ...     torch.cpu.current_stream() is stream
    True
    """
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """Return the current stream.

    :param device: accepted and ignored.
    :returns: a ``torch.cpu.Stream``.

    >>> isinstance(torch.cpu.current_stream(), torch.cpu.Stream)
    True
    """
    return _current[0]


def is_available() -> bool:
    """Return True: the CPU is always available.

    :returns: True.

    >>> torch.cpu.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """Return True: the CPU needs no initialization.

    :returns: True.

    >>> torch.cpu.is_initialized()
    True
    """
    return True


def device_count() -> int:
    """Return 1: all processors are one device.

    :returns: 1.

    >>> torch.cpu.device_count()
    1
    """
    return 1


def current_device() -> str:
    """Return the name of the device.

    :returns: ``"cpu"``.

    >>> torch.cpu.current_device()
    'cpu'
    """
    return "cpu"


def set_device(device: Any) -> None:
    """Do nothing: the CPU is one device.

    :param device: accepted and ignored.
    :returns: None.

    >>> torch.cpu.set_device("cpu")
    """


def synchronize(device: Any = None) -> None:
    """Do nothing: work is complete when a call returns.

    :param device: accepted and ignored.
    :returns: None.

    >>> torch.cpu.synchronize()
    """


def get_capabilities() -> Mapping[str, bool]:
    """Return the features of the processor: True or False by lowercase name.

    :returns: a read-only mapping.

    >>> isinstance(torch.cpu.get_capabilities().get("avx2", False), bool)
    True
    """
    return MappingProxyType({name.lower(): has for name, has in sorted(cpu_features.features().items())})


import_in_examples(globals()[name] for name in __all__)
del import_in_examples


def __getattr__(name: str) -> Any:
    if name == "amp":  # it imports this package
        return import_module("nbautograd.cpu.amp")
    return absent.fail("cpu", name)
