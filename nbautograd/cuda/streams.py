"""Streams and events of CUDA."""

from __future__ import annotations

import threading
from typing import Any

from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.device import device as Device  # noqa: N812 - ``device`` is the context manager here
from nbautograd.cuda.devices import checked_index, device, set_device

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream"]


class Event:
    """An event in a stream, to wait for or to measure time.

    :param enable_timing: whether the event supports :meth:`elapsed_time`.
    :param blocking: whether a waiting thread yields the processor.
    :param interprocess: whether other processes may use it; this requires ``enable_timing=False``.
    :returns: an event that has not been recorded.
    :raises CudaUnavailableError: CUDA is not available.

    >>> if torch.cuda.is_available():
    ...     event = torch.cuda.Event(enable_timing=True)
    ...     event.record()
    ...     event.synchronize()
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self._cupy = backend.cuda.start()
        self._event = self._cupy.cuda.Event(block=blocking, disable_timing=not enable_timing, interprocess=interprocess)
        self._recorded = False

    @property
    def cuda_event(self) -> int:
        """CUDA's handle of the event."""
        return int(self._event.ptr)

    def record(self, stream: Stream | None = None) -> None:
        """Record the event at the end of the work submitted to the stream (the current one by default)."""
        self._event.record((current_stream() if stream is None else stream)._stream)
        self._recorded = True

    def wait(self, stream: Stream | None = None) -> None:
        """Make all work submitted later to the stream wait for this event."""
        (current_stream() if stream is None else stream).wait_event(self)

    def query(self) -> bool:
        """Return whether all work before the event has completed."""
        return not self._recorded or bool(self._event.done)

    def synchronize(self) -> None:
        """Wait for the event to complete."""
        if self._recorded:
            self._event.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds from this event to another; both must have completed.

        :raises ValueError: one of them has not been recorded.
        """
        if not (self._recorded and end_event._recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return float(self._cupy.cuda.get_elapsed_time(self._event, end_event._event))


class Stream:
    """A queue of work for a device; work in different streams may be done at the same time.

    A backward pass runs in the current stream of its call: use the stream of the forward pass, or make one stream
    wait for the other.

    :param device: the current one by default.
    :param priority: lower numbers go first.
    :returns: a stream that waits for no other, not even for the default one.
    :raises CudaUnavailableError: CUDA is not available.

    >>> if torch.cuda.is_available():
    ...     stream = torch.cuda.Stream()
    ...     with stream:
    ...         x = torch.ones(2, device="cuda")
    ...     stream.synchronize()
    """

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        library = backend.cuda.start()
        index = checked_index(device)
        with library.cuda.Device(index):
            self._set(library.cuda.Stream(non_blocking=True, priority=priority), index)

    def _set(self, stream: Any, index: int) -> Stream:
        self._stream, self.device_index, self._left = stream, index, threading.local()
        return self

    @property
    def device(self) -> Device:
        """The device of the stream."""
        return Device("cuda", self.device_index)

    @property
    def cuda_stream(self) -> int:
        """CUDA's handle of the stream; 0 for the default stream."""
        return int(self._stream.ptr)

    @property
    def priority(self) -> int:
        """The priority; lower numbers go first."""
        return int(self._stream.priority)

    def query(self) -> bool:
        """Return whether all kernels in the stream have completed."""
        return bool(self._stream.done)

    def synchronize(self) -> None:
        """Wait for all kernels in the stream to complete."""
        self._stream.synchronize()

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event (a new one by default) at the end of the stream, and return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Make all work submitted later wait for an event."""
        if event._recorded:
            self._stream.wait_event(event._event)

    def wait_stream(self, stream: Stream) -> None:
        """Make all work submitted later wait for the work already submitted to another stream."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        if not hasattr(self._left, "contexts"):
            self._left.contexts = []
        context = StreamContext(self)
        context.__enter__()
        self._left.contexts.append(context)
        return self

    def __exit__(self, *exception: object) -> None:
        self._left.contexts.pop().__exit__(*exception)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.cuda_stream, self.device_index) == (
            other.cuda_stream,
            other.device_index,
        )

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device_index))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class StreamContext:
    """The context of ``with cuda.stream(s):``, in which a stream and its device are current; None changes nothing.

    :param stream: the stream, or None.
    :returns: a context manager.
    :raises CudaUnavailableError: CUDA is not available, on entering with a stream.

    >>> with torch.cuda.StreamContext(None):
    ...     x = torch.ones(2)
    """

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self._device = device(self.stream.device_index)
            self._device.__enter__()
            self._before = current_stream()
            self.stream._stream.use()

    def __exit__(self, *exception: object) -> None:
        if self.stream is not None:
            self._before._stream.use()
            self._device.__exit__()


def stream(stream: Stream | None) -> StreamContext:
    """Return a context in which ``stream`` is the current one.

    :param stream: the stream; None changes nothing.
    :returns: a context manager.
    :raises CudaUnavailableError: CUDA is not available, on entering with a stream.

    >>> with torch.cuda.stream(None):
    ...     x = torch.ones(2)
    """
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """Return the stream selected by this thread for a device (the current one by default).

    :returns: the stream.
    """
    library = backend.cuda.start()
    index = checked_index(device)
    with library.cuda.Device(index):
        return Stream.__new__(Stream)._set(library.cuda.get_current_stream(), index)


def default_stream(device: Any = None) -> Stream:
    """Return the default stream of a device.

    :returns: the default stream, whose handle is 0.
    """
    return Stream.__new__(Stream)._set(backend.cuda.start().cuda.Stream.null, checked_index(device))


def set_stream(stream: Stream | None) -> None:
    """Make a stream and its device the current ones; None does nothing.

    :param stream: the stream, or None.
    """
    if stream is not None:
        set_device(stream.device_index)
        stream._stream.use()
