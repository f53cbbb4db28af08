"""Sending every operation through a function of ours, while some mode wants to see them all.

Anomaly detection, hooks on saved tensors, forward-mode derivatives and inference mode concern every operation but are
rarely on. So operations know nothing of them: while one is on, the code objects of all operations are exchanged for
one that calls ``run`` (see ``compiler/op.py``), and afterwards they are what they were.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from nbautograd.core.node import Node, OutputEdge
from nbautograd.core.tensor import Tensor

__all__ = ["dispatch", "is_on", "node_created", "on_switch", "pop", "push"]

After = Callable[[list[Node]], None]
Around = Callable[..., Any]

_after: list[After] = []  # called with the nodes that an operation has made
_around: list[Around] = []  # called with the operation, what does it, and its arguments
_listeners: list[Callable[[], None]] = []
_lock = threading.RLock()
on_unpack: Callable[[Tensor, Any], None] | None = None
"""Called with every saved tensor that a recorded backward pass makes again, and the array that was saved."""
on_copy: Callable[[Any, Any], None] | None = None
"""Called with a saved array and the copy that the node has got instead, before the array is overwritten."""


def is_on() -> bool:
    """Whether operations go through ``run``."""
    return bool(_after or _around)


def on_switch(listener: Callable[[], None]) -> None:
    """Call ``listener()`` whenever the detour begins or ends."""
    _listeners.append(listener)


def push(watcher: Any, around: bool = False) -> None:
    """Have ``watcher`` called for every operation, until as many calls of ``leave``.

    :param around: it runs the operation, as ``watcher(op, run, *args, **kwargs)``; otherwise it gets the new nodes.
    """
    with _lock:
        before, watchers = is_on(), _around if around else _after
        count = len(watchers)
        try:
            watchers.append(watcher)
            if not before:
                _tell()
        except BaseException:  # an interrupt: no operation may stay in the other state
            del watchers[count:]
            _tell()
            raise


def pop(watcher: Any) -> None:
    """Stop calling ``watcher``."""
    with _lock:
        try:
            (_around if watcher in _around else _after).remove(watcher)
            if not is_on():
                _tell()
        except BaseException:
            _tell()
            raise


def _tell() -> None:
    for listener in _listeners:
        listener()


def dispatch(op: Any, plain: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Run the operation ``op``, whose usual code is ``plain``, in the modes that are on."""
    call = plain
    for around in dict.fromkeys(_around):
        call = functools.partial(around, op, call)
    result = call(*args, **kwargs)
    if _after:
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        for fn in dict.fromkeys(t._fn for t in outputs if isinstance(t, Tensor)):
            if isinstance(fn, Node):
                node_created(fn.next0 if fn.__class__ is OutputEdge else fn)
    return result


def node_created(node: Node) -> None:
    """Show a new node to those who want to see them; called by whatever makes nodes without ``run``."""
    for after in dict.fromkeys(_after):
        after([node])
