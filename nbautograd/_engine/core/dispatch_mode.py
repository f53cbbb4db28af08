"""Dispatch modes: functions that intercept every operation, like PyTorch's TorchDispatchMode.

Anomaly detection, hooks on saved tensors, forward-mode AD and inference mode concern every operation but are rarely on.
So the code of an operation does not check for them: while a mode is on anywhere, the code objects of all operations are
replaced by one that calls ``dispatch`` (see ``compiler/op.py``), and then restored.

Code objects belong to the process, but a mode acts where it was pushed: it is stored in a context variable, and in
other threads and tasks ``dispatch`` runs the operation's usual code. Three modes are pushed ``everywhere``, for all
threads: anomaly detection and forward-mode AD, since PyTorch's are process-wide, and inference mode, whose tensors may
be used in any thread.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from nbautograd._engine.arrays.thread_pool import process_lock
from nbautograd._engine.arrays.version_counter import next_sequence_nr
from nbautograd._engine.core.node import Node, OutputEdge
from nbautograd._engine.core.tensor import Tensor

UNHANDLED = object()
"""Returned by ``override`` if no argument overrides the operation."""

__all__ = [
    "UNHANDLED",
    "Call",
    "dispatch",
    "is_on",
    "is_on_anywhere",
    "node_created",
    "on_switch",
    "pop",
    "push",
    "set_override",
    "set_watcher",
]


class Call:
    """A recorded call of an operation: the declaration, the arguments and the results."""

    __slots__ = ("args", "kwargs", "op", "results")

    def __init__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], results: Sequence[Any]) -> None:
        self.op, self.args, self.kwargs, self.results = op, args, kwargs, results


After = Callable[[Node, Call | None], None]
Around = Callable[..., Any]
Mode = tuple[Any, bool]  # the function, and whether it runs the operation (Around) or gets its new node (After)


class _Process:
    """State shared by all threads: the modes that act everywhere, and the number of contexts with their own modes."""

    __slots__ = ("local", "modes")

    def __init__(self) -> None:
        self.modes: tuple[Mode, ...] = ()
        self.local = 0


_process = _Process()
_here: ContextVar[tuple[Mode, ...]] = ContextVar("dispatch_modes", default=())
_listeners: list[Callable[[], None]] = []


if TYPE_CHECKING:

    class TangentListener(Protocol):
        """The listener of forward-mode AD, which hears of saved tensors."""

        def unpacked(self, tensor: Tensor, array: Any) -> None:
            """Called when a recorded backward pass unpacks a saved tensor: with the tensor and the saved array."""

        def copied(self, array: Any, copy: Any) -> None:
            """Called before a saved array is overwritten: with the array and the copy that replaces it in the node."""

        def packed(self, tensor: Tensor) -> Callable[[Tensor], Tensor] | None:
            """Called with a tensor that a hook packs. Its result, unless None, is called with the unpacked tensor."""


tangents: TangentListener | None = None
"""Set while forward-mode AD, whose levels all threads share, is on."""


override: Callable[..., Any] | None = None
"""Called with each operation's function and arguments while tensors have subclasses: see ``core/overrides.py``."""


def set_override(function: Callable[..., Any] | None) -> None:
    """Call ``function(operation, args, kwargs)`` before each operation from now on; None ends that."""
    _set("override", function)


def _set(slot: str, function: Callable[..., Any] | None) -> None:
    with process_lock:
        was_on = is_on_anywhere()
        globals()[slot] = function
        if is_on_anywhere() != was_on:
            _tell()


watcher: Callable[[str, Callable[..., Any], Any, Any], Any] | None = None
"""Called with each operation's name, the function that runs it, and its arguments, in all threads while a profiler is
on.

In-place methods, optimizer steps and batches of data loaders also pass through it. It runs before modes and overrides.
"""


def set_watcher(function: Callable[[str, Callable[..., Any], Any, Any], Any] | None) -> None:
    """Route all calls of operations through ``function(name, call, args, kwargs)`` from now on; None ends that."""
    _set("watcher", function)


def is_on() -> bool:
    """Return whether a mode acts in this context."""
    return bool(_process.modes or _here.get())


def is_on_anywhere() -> bool:
    """Return whether a mode acts in some context, so that operations must go through ``dispatch``."""
    return bool(_process.modes) or _process.local > 0 or override is not None or watcher is not None


def on_switch(listener: Callable[[], None]) -> None:
    """Call ``listener()`` whenever the first mode begins or the last one ends, over all contexts."""
    _listeners.append(listener)


def push(mode: Any, around: bool = False, everywhere: bool = False) -> None:
    """Call ``mode`` for every operation, until the matching ``pop``.

    :param around: if True, it runs the operation, as ``mode(op, run, *args, **kwargs)``; otherwise it gets the new
        node.
    :param everywhere: in all threads, not only in this context.
    """
    if everywhere:
        _change((*_process.modes, (mode, around)), 0)
    else:
        _change(_process.modes, 1)
        _here.set((*_here.get(), (mode, around)))


def pop(mode: Any) -> None:
    """Stop calling ``mode``."""
    here = _without(_here.get(), mode)
    if here is not None:
        _here.set(here)
        _change(_process.modes, -1)
        return
    modes = _without(_process.modes, mode)
    if modes is not None:
        _change(modes, 0)
    else:  # pushed in a context that has ended
        _change(_process.modes, -1)


def _without(modes: tuple[Mode, ...], mode: Any) -> tuple[Mode, ...] | None:
    """Return the modes without the innermost occurrence of ``mode``; None if it is not among them."""
    for i in reversed(range(len(modes))):
        if modes[i][0] == mode:
            return modes[:i] + modes[i + 1 :]
    return None


def _change(modes: tuple[Mode, ...], local: int) -> None:
    """Set the modes that act everywhere, add to the number of others, and return whether the first began or the last
    ended.
    """
    with process_lock:
        before = _process.modes, _process.local
        was_on = is_on_anywhere()
        try:
            _process.modes, _process.local = modes, max(0, before[1] + local)
            if is_on_anywhere() != was_on:
                _tell()
        except BaseException:  # an interrupt: no operation may stay in the other state
            if not was_on:
                _process.modes, _process.local = before
            _tell()
            raise


def _tell() -> None:
    for listener in _listeners:
        listener()


def dispatch(op: Any, plain: Callable[..., Any], args: Any, kwargs: Any, seen: bool = False) -> Any:
    """Run the operation ``op``, whose usual code is ``plain``, in the modes that act in this context.

    :param seen: True if the watcher has seen this call.
    """
    watch = watcher
    if watch is not None and not seen:
        return watch(op.name, lambda *args, **kwargs: dispatch(op, plain, args, kwargs, True), args, kwargs)
    if override is not None:
        result = override(op.function, args, kwargs)
        if result is not UNHANDLED:
            return result
    if op.interceptor is not None:
        return op.interceptor(functools.partial(_in_modes, op, plain), args, kwargs)
    return _in_modes(op, plain, *args, **kwargs)


def _in_modes(op: Any, plain: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run an operation in the modes that act in this context."""
    modes = (*_process.modes, *_here.get())
    if not modes:
        if op.interceptor is None and not is_on_anywhere():
            _return_to_own_code(op)
        return plain(*args, **kwargs)
    call = plain
    for mode, around in dict.fromkeys(modes):
        if around:
            call = functools.partial(mode, op, call)
    begin = next_sequence_nr()
    result = call(*args, **kwargs)
    if not all(around for _, around in modes):
        results = result if isinstance(result, (tuple, list)) else (result,)
        edges = [t._fn for t in results if isinstance(t, Tensor)]
        for node in dict.fromkeys(fn.next0 if fn.__class__ is OutputEdge else fn for fn in edges):
            if isinstance(node, Node) and node._seq > begin:  # not that of an argument, returned unchanged
                node_created(node, Call(op, args, kwargs, results))
    return result


def _return_to_own_code(op: Any) -> None:
    """End the detour of an operation that is called after the last mode has ended."""
    with process_lock:
        if not is_on_anywhere():  # else another thread has begun a mode
            op.divert(False)


def node_created(node: Node, call: Call | None = None) -> None:
    """Pass a new node to the modes that observe nodes; called by code that creates nodes without ``dispatch``."""
    for mode, around in dict.fromkeys((*_process.modes, *_here.get())):
        if not around:
            mode(node, call)
