"""``torch.cpu``: the CPU as a device among others, with one queue of work, in which everything is done at once."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from nbautograd._engine.arrays import cpu_features
from nbautograd._names import absent

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
    """A mark in a queue, which is always reached.

    :returns: an event, of which ``query`` gives True.

    >>> import nbautograd as torch
    >>> torch.cpu.Event().query()
    True
    """

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
    :returns: a stream.

    >>> import nbautograd as torch
    >>> stream = torch.cpu.Stream()
    >>> stream.wait_stream(torch.cpu.current_stream())
    """

    def __init__(self, priority: int = -1) -> None: ...

    def wait_stream(self, stream: Stream) -> None:
        """Nothing: all work is done."""

    def record_event(self) -> None:
        """Nothing, as in PyTorch."""

    def wait_event(self, event: Event) -> None:
        """Nothing: all work is done."""


class StreamContext:
    """``with torch.cpu.stream(s):`` makes a stream the current one.

    :param stream: the stream; None changes nothing.
    :returns: a context manager.

    >>> import nbautograd as torch
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
    """A context in which ``stream`` is the current one; None changes nothing.

    :param stream: the stream, or None.
    :returns: a context manager.

    >>> import nbautograd as torch
    >>> stream = torch.cpu.Stream()
    >>> with torch.cpu.stream(stream):
    ...     torch.cpu.current_stream() is stream
    True
    """
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The current stream.

    :param device: accepted and without effect.
    :returns: a ``torch.cpu.Stream``.

    >>> import nbautograd as torch
    >>> isinstance(torch.cpu.current_stream(), torch.cpu.Stream)
    True
    """
    return _current[0]


def is_available() -> bool:
    """True: there is a CPU.

    :returns: True.

    >>> import nbautograd as torch
    >>> torch.cpu.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """True: a CPU needs no preparation.

    :returns: True.

    >>> import nbautograd as torch
    >>> torch.cpu.is_initialized()
    True
    """
    return True


def device_count() -> int:
    """1: all processors are one device.

    :returns: 1.

    >>> import nbautograd as torch
    >>> torch.cpu.device_count()
    1
    """
    return 1


def current_device() -> str:
    """The name of the device.

    :returns: ``"cpu"``.

    >>> import nbautograd as torch
    >>> torch.cpu.current_device()
    'cpu'
    """
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is one CPU.

    :param device: accepted and without effect.
    :returns: None.

    >>> import nbautograd as torch
    >>> torch.cpu.set_device("cpu")
    """


def synchronize(device: Any = None) -> None:
    """Nothing: all work is done when a call returns.

    :param device: accepted and without effect.
    :returns: None.

    >>> import nbautograd as torch
    >>> torch.cpu.synchronize()
    """


def get_capabilities() -> Mapping[str, bool]:
    """By name, in small letters, whether the processor has a feature.

    :returns: a mapping that cannot be written to.

    >>> import nbautograd as torch
    >>> isinstance(torch.cpu.get_capabilities().get("avx2", False), bool)
    True
    """
    return MappingProxyType({name.lower(): has for name, has in sorted(cpu_features.features().items())})


def __getattr__(name: str) -> Any:
    if name == "amp":  # which needs this package
        return import_module("nbautograd.cpu.amp")
    return absent.fail("cpu", name)
