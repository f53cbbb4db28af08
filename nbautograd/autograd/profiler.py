"""``torch.autograd.profiler``: the time of each operation. ``torch.profiler`` is the newer interface, built on this."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from nbautograd._engine.arrays import backend
from nbautograd._names import absent
from nbautograd.autograd.profiler_recording import EventRecording, cuda_is_usable, current
from nbautograd.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg, write_trace

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "emit_itt", "emit_nvtx", "profile", "record_function"]

Function = TypeVar("Function", bound=Callable[..., Any])


class profile:  # noqa: N801 - PyTorch's name
    """A recorder of the operations in its ``with`` block, and the nodes of backward passes.

    :param enabled: if False, it does nothing.
    :param use_cuda: also measure times on the CUDA device.
    :param use_device: likewise, by the device's name.
    :param record_shapes: record the shapes of the arguments.
    :param with_flops: count floating-point operations.
    :param profile_memory: count the bytes of results.
    :param with_stack: record the lines of the calls.
    :param with_modules: has no effect; for TorchScript in PyTorch.
    :param use_kineto: has no effect; PyTorch's library for traces.
    :param use_cpu: has no effect, like further keywords.
    :returns: a context manager whose ``key_averages()`` returns the sums.
    :raises RuntimeError: it is entered twice, or while another profiler runs.

    >>> import nbautograd as torch
    >>> x = torch.ones(3, requires_grad=True)
    >>> with torch.autograd.profiler.profile() as prof:
    ...     (2 * x).sum().backward()
    >>> sorted(event.key for event in prof.key_averages() if event.key.startswith("aten::"))
    ['aten::mul', 'aten::sum']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        **_: Any,
    ) -> None:
        self.enabled = enabled
        self.use_device = "cuda" if use_cuda or use_device == "cuda" else None
        self.record_shapes = record_shapes or with_flops
        self.with_flops, self.profile_memory, self.with_stack = with_flops, profile_memory, with_stack
        self.with_modules, self.entered = with_modules, False
        self._recording: EventRecording | None = None
        self._events: EventList | None = None

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.enabled:
            self.stop()

    def start(self) -> None:
        """Start recording."""
        self.entered = True
        device = self.use_device is not None and cuda_is_usable()
        options = self.record_shapes, self.profile_memory, self.with_stack, self.with_flops, device
        self._recording = EventRecording(*options)
        self._recording.start()

    def stop(self) -> None:
        """Stop recording."""
        if self._recording is not None and current() is self._recording:
            self._recording.stop()
            self._events = self.listed(self._recording.events)

    def pause(self, paused: bool) -> None:
        """Pause or resume recording."""
        if self._recording is not None:
            self._recording.paused = paused

    def listed(self, events: list[FunctionEvent]) -> EventList:
        """Return the events as a list with the profiler's options."""
        return EventList(
            events, use_device=self.use_device, profile_memory=self.profile_memory, with_flops=self.with_flops
        )

    @property
    def function_events(self) -> EventList:
        """The events, in order of their beginning.

        :raises RuntimeError: the profiler still runs.
        """
        if self._events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self._events

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each counted once."""
        return self.function_events.self_cpu_time_total

    @functools.wraps(EventList.table)
    def table(self, *args: Any, **kwargs: Any) -> str:  # noqa: D102 - it is wrapped
        return self.function_events.table(*args, **kwargs)

    @functools.wraps(EventList.key_averages)
    def key_averages(self, *args: Any, **kwargs: Any) -> EventList:  # noqa: D102 - it is wrapped
        return self.function_events.key_averages(*args, **kwargs)

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all events."""
        return self.function_events.total_average()

    def export_chrome_trace(self, path: str, more: Any = None) -> None:
        """Write the events as a trace for ``chrome://tracing`` and Perfetto.

        :param path: the file; compressed if its name ends with ``.gz``.
        """
        events = self.function_events
        assert self._recording is not None
        write_trace(path, events, self._recording.began, more or {})

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write a file for flame graphs; requires ``with_stack``."""
        if not self.with_stack:
            raise ValueError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None else str(self._events)

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None else repr(self._events)


class record_function:  # noqa: N801 - PyTorch's name
    """A name in profiles for the code in a ``with`` block, or in a function that it decorates.

    :param name: the name.
    :param args: ignored.
    :returns: a context manager, and a decorator.

    >>> import nbautograd as torch
    >>> with torch.profiler.profile() as prof:
    ...     with torch.profiler.record_function("doubling"):
    ...         y = torch.ones(2) * 2
    >>> [event.key for event in prof.key_averages()]
    ['doubling', 'aten::mul']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._open: list[tuple[EventRecording | None, FunctionEvent | None]] = []

    def __enter__(self) -> record_function:
        recording = current()
        if recording is None or recording.paused:
            self._open.append((None, None))
        else:
            self._open.append((recording, recording.begin(self.name, annotation=True)))
        return self

    def __exit__(self, *exception: object) -> None:
        recording, event = self._open.pop()
        if recording is not None and event is not None:
            recording.end(event)

    def __call__(self, func: Function) -> Function:
        """Decorate a function."""

        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.name, self.args):
                return func(*args, **kwargs)

        return wrapped  # type: ignore[return-value]


class emit_nvtx:  # noqa: N801 - PyTorch's name
    """A mode that marks each operation as a range for NVIDIA's profilers, in a ``with`` block.

    :param enabled: if False, it does nothing.
    :param record_shapes: write the shapes of the arguments into the names.
    :returns: a context manager.
    :raises RuntimeError: CUDA is not available, or a profiler is on.

    >>> with emit_nvtx(enabled=False):
    ...     pass
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes
        self._recording: _Ranges | None = None

    def __enter__(self) -> emit_nvtx | None:
        if not self.enabled:
            return None
        self._recording = _Ranges(self.record_shapes, False, False, False, False)
        self._recording.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._recording is not None:
            self._recording.stop()
            self._recording = None


class _Ranges(EventRecording):
    """Events that become ranges in NVIDIA's profilers."""

    def start(self) -> None:
        self.ranges = backend.cuda.start().cuda.nvtx
        super().start()

    def begin(self, name: str, annotation: bool = False) -> FunctionEvent:
        self.ranges.RangePush(name)
        return super().begin(name, annotation)

    def _close_to(self, count: int) -> None:
        for _ in self._thread.open[count:]:
            self.ranges.RangePop()
        super()._close_to(count)


class emit_itt:  # noqa: N801 - PyTorch's name
    """PyTorch's marks for Intel's profilers, which are not supported.

    :param enabled: if True, entering raises.
    :param record_shapes: ignored.
    :returns: a context manager.
    :raises RuntimeError: it is entered with ``enabled``.

    >>> with emit_itt(enabled=False):
    ...     pass
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_itt | None:
        if self.enabled:
            raise RuntimeError("nbautograd does not support Intel's profilers. Use torch.profiler.profile")
        return None

    def __exit__(self, *exception: object) -> None:
        pass


absent.answer(__name__)
