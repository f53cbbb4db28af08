"""The events that a profiler has recorded, one by one and summed up by name."""

from __future__ import annotations

import enum
import json
import os
from collections.abc import Iterable
from typing import Any

from nbautograd._engine.base.atomic_file import replacing
from nbautograd.autograd.profiler_table import format_time, table

__all__ = ["DeviceType", "EventList", "FormattedTimesMixin", "FunctionEvent", "FunctionEventAvg", "Interval"]


class DeviceType(enum.Enum):
    """The device of an event.

    :param value: 0 or 1.
    :returns: the member of that value.
    :raises ValueError: the number is neither.

    >>> DeviceType(1)
    DeviceType.CUDA
    """

    CPU = 0
    CUDA = 1

    def __repr__(self) -> str:
        return str(self)


class Interval:
    """An interval from ``start`` to ``end``, in microseconds since the profiler's start."""

    __slots__ = ("end", "start")

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """Return the length of the interval."""
        return self.end - self.start


class FormattedTimesMixin:
    """Times as text, and their names from when CUDA was the only device."""

    is_async = is_remote = is_legacy = False
    node_id = -1
    device_type = DeviceType.CPU
    overload_name = ""
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total: float
    self_device_time_total: float

    @property
    def cpu_time(self) -> float:
        """Microseconds per call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """Microseconds per call on the device."""
        return self.device_time_total / self.count if self.count else 0.0

    cpu_time_str = property(lambda self: format_time(self.cpu_time))
    cpu_time_total_str = property(lambda self: format_time(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: format_time(self.self_cpu_time_total))
    device_time_str = property(lambda self: format_time(self.device_time))
    device_time_total_str = property(lambda self: format_time(self.device_time_total))
    self_device_time_total_str = property(lambda self: format_time(self.self_device_time_total))
    cuda_time = property(lambda self: self.device_time)
    cuda_time_total = property(lambda self: self.device_time_total)
    self_cuda_time_total = property(lambda self: self.self_device_time_total)


def _alone(name: str, doc: str) -> Any:
    """Return a property: a number of an event, less those of the events inside it."""
    return property(lambda self: getattr(self, name) - sum(getattr(c, name) for c in self.cpu_children), doc=doc)


class FunctionEvent(FormattedTimesMixin):
    """One call of an operation, one node of a backward pass, or one block of ``record_function``.

    :param id: its number.
    :param name: the name of the call.
    :param thread: the number of the thread.
    :param parent: the enclosing event, which gets it as a child, or None.
    :returns: an event without a duration.
    :raises AttributeError: ``name`` is not a string.

    >>> event = FunctionEvent(1, "aten::add", 0, FunctionEvent(0, "forward", 0, None))
    >>> event.key, event.cpu_parent.name
    ('aten::add', 'forward')
    """

    count = 1

    def __init__(self, id: int, name: str, thread: int, parent: FunctionEvent | None) -> None:
        self.id, self.thread, self.cpu_parent = id, thread, parent
        self.name = "ProfilerStep*" if name.startswith("ProfilerStep#") else name
        self.trace_name = name
        self.time_range = Interval(0.0, 0.0)
        self.cpu_children: list[FunctionEvent] = []
        self.input_shapes: list[Any] = []
        self.stack: list[str] = []
        self.is_user_annotation = False
        self.cpu_memory_usage = self.device_memory_usage = self.flops = 0
        self.device_time_total = 0.0
        self.use_device: str | None = None
        self.sequence_nr = -1
        if parent is not None:
            parent.cpu_children.append(self)

    @property
    def key(self) -> str:
        """The key by which events are summed."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds from its beginning to its end."""
        return self.time_range.elapsed_us()

    self_cpu_time_total = _alone("cpu_time_total", "Microseconds that are not spent in events inside it.")
    self_cpu_memory_usage = _alone("cpu_memory_usage", "Bytes of its results that no event inside it has allocated.")
    self_device_memory_usage = _alone(
        "device_memory_usage", "Bytes of its results on the device that no event inside it has allocated."
    )
    self_device_time_total = _alone(
        "device_time_total", "Microseconds on the device that are not spent in events inside it."
    )

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} device_type={self.device_type} "
            f"cpu_time={self.cpu_time_str} start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} "
            f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


SUMMED = (
    "count", "cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total",
    "cpu_memory_usage", "self_cpu_memory_usage", "device_memory_usage", "self_device_memory_usage", "flops",
)  # fmt: skip


class FunctionEventAvg(FormattedTimesMixin):
    """The sum of the events of one name."""

    cpu_parent = None

    def __init__(self) -> None:
        self.key: str | None = None
        self.input_shapes: list[Any] | str = []
        self.stack: list[str] = []
        self.is_user_annotation = False
        self.use_device: str | None = None
        for name in SUMMED:
            setattr(self, name, 0)

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Add an event to it."""
        if self.key is None:
            self.key, self.is_user_annotation = other.key, other.is_user_annotation
            self.use_device = other.use_device
        for name in SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_cuda_time={self.self_device_time_total_str} "
            f"cuda_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} cuda_memory_usage={self.device_memory_usage}>"  # type: ignore[attr-defined]
        )


class EventList(list[Any]):
    """Events, or sums of events.

    :param events: the events.
    :param use_device: the name of the device whose times are also recorded.
    :param profile_memory: True if bytes were counted.
    :param with_flops: True if floating-point operations were counted.
    :returns: a list.
    :raises TypeError: ``events`` is not iterable.

    >>> EventList([FunctionEvent(0, "aten::add", 0, None)])[0].name
    'aten::add'
    """

    def __init__(
        self,
        events: Iterable[Any] = (),
        *,
        use_device: str | None = None,
        profile_memory: bool = False,
        with_flops: bool = False,
    ) -> None:
        super().__init__(events)
        self._use_device, self._profile_memory, self._with_flops = use_device, profile_memory, with_flops

    def _like(self, events: Iterable[Any]) -> EventList:
        return EventList(
            events, use_device=self._use_device, profile_memory=self._profile_memory, with_flops=self._with_flops
        )

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each counted once."""
        return float(sum(event.self_cpu_time_total for event in self))

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """Return the events as a table, in PyTorch's form.

        :param sort_by: an attribute of the events, such as ``cpu_time_total``, ``self_cpu_time_total``, ``count``,
            ``self_cpu_memory_usage``, largest first; by default in order of their start.
        :param row_limit: the maximum number of rows; -1 for all.
        :param max_src_column_width: the maximum width of the source lines.
        :param max_name_column_width: the maximum width of the names.
        :param max_shapes_column_width: the maximum width of the shapes.
        :param header: a line above.
        :param top_level_events_only: omit events inside others.
        :param time_unit: ``"s"``, ``"ms"`` or ``"us"`` for all times; by default each has its own.
        :raises AttributeError: the events do not have that attribute.
        """
        widths = max_name_column_width, max_shapes_column_width, max_src_column_width
        rows = list(self)
        if sort_by is not None:
            attribute = sort_by.replace("cuda", "device")
            rows = sorted(rows, key=lambda event: getattr(event, attribute), reverse=True)
        columns = {"memory": self._profile_memory, "flops": self._with_flops}
        return table(rows, row_limit, widths, header, top_level_events_only, time_unit, columns)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Return the events summed by name.

        :param group_by_input_shape: also group by the shapes of their arguments.
        :param group_by_stack_n: also group by this number of innermost lines of their calls.
        :param group_by_overload_name: has no effect: operations have no overloads here.
        """
        sums: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shape else ""
            stack = event.stack[:group_by_stack_n]
            total = sums.setdefault((event.key, str(shapes), *stack), FunctionEventAvg()).add(event)
            total.input_shapes, total.stack = shapes, stack
        return self._like(sums.values())

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all events."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    def supported_export_stacks_metrics(self) -> list[str]:
        """Return the metrics of ``export_stacks``."""
        return ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]

    def export_stacks(self, path: str, metric: str) -> None:
        """Write a file for flame graphs: a line per event, with its calls and a number.

        :param path: the file.
        :param metric: ``self_cpu_time_total`` or ``self_cuda_time_total``.
        :raises ValueError: the metric is unknown.
        """
        accepted = self.supported_export_stacks_metrics()
        if metric not in accepted:
            raise ValueError(f"metric should be one of: {accepted}")
        attribute = metric.replace("cuda", "device").replace("xpu", "device").replace("privateuse1", "device")
        escape = str.maketrans(" ;\t\n", "____")
        with replacing(path) as file:
            for event in self:
                value = int(getattr(event, attribute))
                if event.stack and value > 0:
                    calls = ";".join(entry.translate(escape) for entry in reversed(event.stack))
                    file.write(f"{calls} {value}\n".encode())

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a trace for ``chrome://tracing`` and Perfetto.

        :param path: the file; compressed if its name ends with ``.gz``.
        """
        write_trace(path, self, 0.0, {})


def write_trace(path: str | os.PathLike[str], events: Iterable[FunctionEvent], start: float, more: Any) -> None:
    """Write events in the format of Chrome's traces.

    :param start: added to their times, in microseconds.
    :param more: further entries besides the events.
    """
    import gzip

    events = list(events)
    process = os.getpid()
    marks: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "ts": start, "args": {"name": "python"}},
        {"ph": "M", "name": "process_labels", "pid": process, "tid": 0, "ts": start, "args": {"labels": "CPU"}},
    ]
    for thread in sorted({event.thread for event in events}):
        args = {"name": f"thread {thread} (python)"}
        marks.append({"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "ts": start, "args": args})
    calls = [
        {
            "ph": "X", "cat": "user_annotation" if event.is_user_annotation else "cpu_op", "name": event.trace_name,
            "pid": process, "tid": event.thread, "ts": start + event.time_range.start,
            "dur": event.time_range.elapsed_us(), "args": _trace_args(event),
        }
        for event in events
    ]  # fmt: skip
    trace = {"schemaVersion": 1, "displayTimeUnit": "ms", **more, "traceEvents": marks + calls, "traceName": str(path)}
    text = json.dumps(trace).encode()
    with replacing(path) as file:
        file.write(gzip.compress(text) if str(path).endswith(".gz") else text)


def _trace_args(event: FunctionEvent) -> dict[str, Any]:
    args: dict[str, Any] = {"External id": event.id}
    if event.input_shapes:
        args["Input Dims"] = event.input_shapes
    if event.sequence_nr >= 0:
        args["Sequence number"] = event.sequence_nr
    if event.stack:
        args["Call stack"] = ";".join(event.stack)
    if event.device_time_total:
        args["Device time (us)"] = event.device_time_total
    return args
