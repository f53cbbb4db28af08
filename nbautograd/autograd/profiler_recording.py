"""Recording of operations, nodes of backward passes, and named blocks, with their times.

While no recording is on, none of this has a cost: operations get here because their code is exchanged, as for dispatch
modes (``_engine/core/dispatch_mode.py``), and backward passes are observed as the pictures do (``protocol.py``).
"""

from __future__ import annotations

import functools
import math
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nbautograd import protocol
from nbautograd._engine.arrays import backend
from nbautograd._engine.compiler.schema import OPS
from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.core.tensor import Tensor, tensors_in
from nbautograd.autograd.profiler_util import FunctionEvent
from nbautograd.errors import CudaUnavailableError

PACKAGE = __name__.partition(".")[0]
PRIVATE = {"LogSoftmax": "_log_softmax", "Softmax": "_softmax", "ToCopy": "_to_copy"}
"""Nodes whose operations have underscores in PyTorch."""
PRODUCTS = {"aten::mm": 0, "aten::bmm": 0, "aten::matmul": 0, "aten::linear": 0, "aten::addmm": 1, "aten::baddbmm": 1}
"""By product: the place of the tensor whose last dimension is summed over."""
_current: list[EventRecording] = []
_thread_id = getattr(threading, "get_native_id", threading.get_ident)  # WebAssembly has no native one


def current() -> EventRecording | None:
    """Return the active recording, or None."""
    return _current[-1] if _current else None


def cuda_is_usable() -> bool:
    """Return whether times can be measured on a device."""
    try:
        backend.cuda.start()
    except CudaUnavailableError:
        return False
    return True


class _Thread(threading.local):
    """The open events of a thread, and the number of the thread."""

    def __init__(self) -> None:
        self.open: list[FunctionEvent] = []


class EventRecording:
    """A recording from ``start`` to ``stop``, in all threads; backward passes in the context of ``start``.

    :param shapes: record the shapes of the arguments.
    :param memory: count the bytes of results.
    :param stack: record the lines of the calls.
    :param flops: count the floating-point operations of matrix products, convolutions, sums and products.
    :param device: measure times on the CUDA device.
    """

    def __init__(self, shapes: bool, memory: bool, stack: bool, flops: bool, device: bool) -> None:
        self.shapes, self.memory, self.stack, self.flops, self.device = shapes, memory, stack, flops, device
        self.paused = False
        self.events: list[FunctionEvent] = []
        self.began = 0.0  # the time of day in microseconds
        self.zero = 0
        self._thread = _Thread()
        self._passes: list[int] = []  # for each running backward pass, the number of events open at its start
        self._incoming: set[int] = set()  # the memory of the gradients of the running node
        self._marks: list[tuple[FunctionEvent, Any, Any]] = []

    def start(self) -> None:
        """Start recording; raise RuntimeError if another recording is on."""
        if _current:
            raise RuntimeError("Profiler is already enabled: stop the running one, or exit its with block, first")
        _current.append(self)
        self.began, self.zero = time.time_ns() / 1e3, time.perf_counter_ns()
        protocol.observers.set((*protocol.observers.get(), self._observe))
        dispatch_mode.set_hook("watcher", self._watch)

    def stop(self) -> None:
        """Stop recording; blocks that are still open end now."""
        dispatch_mode.set_hook("watcher", None)
        protocol.observers.set(tuple(each for each in protocol.observers.get() if each != self._observe))
        _current.remove(self)
        self._close_to(0)
        if self._marks:
            self._read_marks()
        self.events[:] = sorted(self.events, key=lambda event: event.time_range.start)
        self._thread = _Thread()

    # -- events ----------------------------------------------------------------------------------------------------

    def begin(self, name: str, annotation: bool = False) -> FunctionEvent:
        """Open an event inside the open one of this thread."""
        opened = self._thread.open
        event = FunctionEvent(len(self.events), name, _thread_id(), opened[-1] if opened else None)
        event.is_user_annotation = annotation
        event.use_device = "cuda" if self.device else None
        if self.stack:
            event.stack = list(_lines(sys._getframe(2)))
        self.events.append(event)
        opened.append(event)
        event.time_range.start = self._now()
        return event

    def end(self, event: FunctionEvent) -> None:
        """Close an event, and the open events inside it."""
        opened = self._thread.open
        if event in opened:
            self._close_to(opened.index(event))

    def _close_to(self, count: int) -> None:
        now, opened = self._now(), self._thread.open
        while len(opened) > count:
            event = opened.pop()
            event.time_range.end = now
            if not event.name.startswith("aten::") and not event.cpu_memory_usage:  # a block has that of its contents
                event.cpu_memory_usage = sum(child.cpu_memory_usage for child in event.cpu_children)
                event.device_memory_usage = sum(child.device_memory_usage for child in event.cpu_children)

    def _now(self) -> float:
        return (time.perf_counter_ns() - self.zero) / 1e3

    # -- operations ------------------------------------------------------------------------------------------------

    def _watch(self, name: str, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Record and make a call that the library announces: of an operation, or of a part whose name has a ``#``."""
        if self.paused:
            return call(*args, **kwargs)
        event = self.begin(name if "#" in name else _name_of(name))
        marks = self._mark() if self.device else None
        try:
            result = call(*args, **kwargs)
        finally:
            if marks is not None:
                self._marks.append((event, marks, self._mark()))
            self.end(event)
        if "#" not in name:
            self._describe(event, args, kwargs, result)
        return result

    def _describe(self, event: FunctionEvent, args: Any, kwargs: Any, result: Any) -> None:
        if self.shapes:
            event.input_shapes = [_shape(value) for value in (*args, *kwargs.values())]
        if self.memory:
            given = {id(_owner(t._a)) for t in tensors_in((*args, *kwargs.values()))}
            _count_bytes(event, [t._a for t in tensors_in((result,)) if id(_owner(t._a)) not in given])
        if self.flops:
            event.flops = _flops(event.name, args, kwargs, result)
        event.sequence_nr = getattr(next((t._fn for t in tensors_in((result,))), None), "_seq", 0) or -1

    # -- backward passes -------------------------------------------------------------------------------------------

    def _observe(self, event: protocol.Event) -> None:
        """Record a step of a backward pass: an event for the node, and one inside it for its formula."""
        if self.paused:
            return
        opened = self._thread.open
        if isinstance(event, protocol.PassStarted):
            self._passes.append(len(opened))
        elif isinstance(event, protocol.PassFinished):
            self._close_to(self._passes.pop())
        elif isinstance(event, protocol.NodeStarted):
            self._begin_node(event)
        elif isinstance(event, protocol.NodeFinished):
            self._end_node(event.node.name())
        elif isinstance(event, protocol.EdgeSent) and opened:
            self._end_formula(event)

    def _begin_node(self, event: protocol.NodeStarted) -> None:
        """Begin the event of a node, and inside it that of its formula."""
        name = event.node.name()
        around = self.begin(f"autograd::engine::evaluate_function: {name}")
        inside = self.begin(name)
        around.sequence_nr = inside.sequence_nr = getattr(event.node, "_seq", 0) or -1
        self._incoming = {id(_owner(getattr(g, "_a", g))) for g in event.gradients}
        if self.shapes:
            inside.input_shapes = [list(g.shape) for g in event.gradients if g is not None]

    def _end_formula(self, event: protocol.EdgeSent) -> None:
        """Close the inner event when the first gradient is sent; count the gradients."""
        name, opened = event.node.name(), self._thread.open
        if opened[-1].name == name:
            self._close_to(len(opened) - 1)
        if self.memory and opened and opened[-1].cpu_children:
            around, array = opened[-1], getattr(event.gradient, "_a", event.gradient)
            if isinstance(array, np.ndarray) and id(_owner(array)) not in self._incoming:
                for each in (around, around.cpu_children[0]):
                    _count_bytes(each, [array])

    def _end_node(self, name: str) -> None:
        for index in reversed(range(len(self._thread.open))):
            if self._thread.open[index].name.endswith(f"evaluate_function: {name}"):
                self._close_to(index)
                return

    # -- the device ------------------------------------------------------------------------------------------------

    def _mark(self) -> Any:
        cuda = backend.cuda.start().cuda
        mark = cuda.Event()
        mark.record(cuda.get_current_stream())
        return mark

    def _read_marks(self) -> None:
        """Read the times between the marks in the device's queue, after all of them have passed."""
        library = backend.cuda.start()
        for event, begin, end in self._marks:
            end.synchronize()
            event.device_time_total = 1e3 * library.cuda.get_elapsed_time(begin, end)
        self._marks.clear()
        for event in reversed(self.events):  # inner events come after outer ones
            inside = sum(child.device_time_total for child in event.cpu_children)
            event.device_time_total = max(event.device_time_total, inside)


@functools.cache
def _name_of(operation: str) -> str:
    """Return PyTorch's name of an operation; some are split here, such as sums of all elements and over dimensions."""
    declaration = OPS.get(operation)
    if declaration is None or hasattr(Tensor, operation):
        return f"aten::{operation}"
    node = re.sub(r"Backward\d+(_copy)?$", "", declaration.node_name or "")
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=\dD)(?=[A-Z])", "_", node)
    return f"aten::{PRIVATE.get(node) or parts.lower() or operation.lstrip('_')}"


def _owner(array: Any) -> Any:
    """Return the array that owns the memory of an array."""
    while getattr(array, "base", None) is not None and hasattr(array.base, "dtype"):
        array = array.base
    return array


def _shape(value: Any) -> list[Any]:
    """Return a tensor's shape, those of a list of tensors, and an empty list otherwise, as in PyTorch."""
    if isinstance(value, Tensor):
        return list(value._a.shape)
    if isinstance(value, (list, tuple)) and value and all(isinstance(part, Tensor) for part in value):
        return [list(part._a.shape) for part in value]
    return []


def _count_bytes(event: FunctionEvent, arrays: list[Any]) -> None:
    for array in arrays:
        if backend.device_of(array).type == "cuda":
            event.device_memory_usage += array.nbytes
        else:
            event.cpu_memory_usage += array.nbytes


def _lines(frame: Any) -> Iterator[str]:
    """Return the lines outside this package that led here, innermost first."""
    while frame is not None:
        if not f"{frame.f_globals.get('__name__', '')}.".startswith(f"{PACKAGE}."):
            yield f"{frame.f_code.co_filename}({frame.f_lineno}): {frame.f_code.co_name}"
        frame = frame.f_back


def _flops(name: str, args: Any, kwargs: Any, result: Any) -> int:
    """Return the floating-point operations of a call, by PyTorch's rules; 0 if PyTorch does not count them."""
    tensors = list(tensors_in((*args, *kwargs.values())))
    if not tensors or not isinstance(result, Tensor):
        return 0
    elements = int(np.prod(result._a.shape))
    if name in ("aten::mul", "aten::add"):
        return elements
    inner = 0  # numbers multiplied and summed for one element
    if name == "aten::convolution":
        inner = math.prod(tensors[1]._a.shape[1:])
    elif name in PRODUCTS:
        inner = tensors[PRODUCTS[name]]._a.shape[-1]
    return 2 * elements * inner
