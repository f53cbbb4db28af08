"""The interface for observers of the library: shapes of objects, and records of events.

A picture of a graph needs only :class:`GraphNode` and :class:`Leaf`, whose attributes PyTorch's nodes have. One of a
pass needs only the records below, which the engine passes to all callbacks of :func:`observe`, whoever they are.
"""

from __future__ import annotations

import linecache
import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING, Any

from nbautograd._names import lazy

if TYPE_CHECKING:
    from nbautograd._engine.base.pass_events import (
        Accumulated,
        Captured,
        EdgeSent,
        Event,
        GraphNode,
        HookCalled,
        Leaf,
        NodeFinished,
        NodeStarted,
        Operand,
        PassFinished,
        PassStarted,
        ScopeEntry,
        Trace,
    )

__all__ = [
    "Accumulated", "Captured", "EdgeSent", "Event", "GraphNode", "HookCalled", "Leaf", "NodeFinished", "NodeStarted",
    "Operand", "PassFinished", "PassStarted", "ScopeEntry", "SourceLocator", "Trace", "current_scope", "declaration",
    "declared", "entry", "observe", "observers", "scope", "scopes",
]  # fmt: skip


declared: dict[str, Callable[[], type]] = {}
"""For each declared operation, by the name of its node: a function for its class, with ``symbol``, ``inputs`` and
``formulas``. So a picture of another library's graph can show how the gradients of such a node are computed.
"""


def declaration(name: str) -> Callable[[], type] | None:
    """Return the entry of ``declared``, also for lazily loaded operations.

    :param name: the name of the node, such as ``MulBackward0``.
    :returns: a function without arguments that returns the node's class; None if nothing of this name is declared.
    :raises TypeError: ``name`` is not hashable.

    >>> declaration("MulBackward0")().inputs
    ('input', 'other')
    >>> declaration("NoBackward0") is None
    True
    """
    if name not in declared:
        lazy.load()
    return declared.get(name)


scopes: ContextVar[tuple[ScopeEntry, ...]] = ContextVar("scopes", default=())
"""The open named blocks; see :func:`scope`."""
_entries = count(1)


def entry(name: str, module: Any = None) -> ScopeEntry:
    """Create a new entry into a named block.

    :param name: the name of the block.
    :param module: the module whose call it is, or None.
    :returns: the entry, with its own number.
    :raises TypeError: ``module`` does not support weak references.

    >>> entry("encoder").name
    'encoder'
    """
    from nbautograd._engine.base.pass_events import ScopeEntry  # late, as few programs open blocks

    return ScopeEntry(name, next(_entries), None if module is None else weakref.ref(module))


@contextmanager
def scope(name: str, module: Any = None) -> Iterator[None]:
    """Group the operations traced inside the ``with`` block under ``name`` in pictures; modules use this.

    :param name: the name of the block.
    :param module: the module whose call it is, or None.
    :returns: a context manager.
    :raises TypeError: on entering, ``module`` does not support weak references.

    >>> with scope("encoder"):
    ...     [block.name for block in current_scope()]
    ['encoder']
    """
    token = scopes.set((*scopes.get(), entry(name, module)))
    try:
        yield
    finally:
        scopes.reset(token)


def current_scope() -> tuple[ScopeEntry, ...]:
    """Return the open named blocks, outermost first.

    :returns: a tuple of entries; empty outside.

    >>> with scope("model"), scope("encoder"):
    ...     [block.name for block in current_scope()]
    ['model', 'encoder']
    """
    return scopes.get()


def _file_place(filename: str, lineno: int) -> tuple[str, str]:
    return os.path.basename(filename), linecache.getline(filename, lineno).strip()


class SourceLocator:
    """The names of lines of code in messages and pictures; a notebook's extension knows its cells by number.

    :returns: an object without state: ``locate`` is called on the class.

    >>> SourceLocator.locate("/home/somebody/train.py", 3)
    ('train.py', '')
    """

    locate: Callable[[str, int], tuple[str, str]] = staticmethod(_file_place)
    """Maps a file name and a line number to the name of the file and the text of the line."""
    earlier: Callable[[str], Iterable[str]] = staticmethod(lambda filename: ())
    """Maps a file name to those of the cells that ran before, last first."""


observers: ContextVar[tuple[Callable[[Event], object], ...]] = ContextVar("observers", default=())


@contextmanager
def observe(callback: Callable[[Event], object]) -> Iterator[None]:
    """Send the events of every backward pass inside the ``with`` block to ``callback``, in order.

    :param callback: a function of one event.
    :returns: a context manager.
    :raises TypeError: in the pass, ``callback`` is not callable.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> with observe(lambda event: print(type(event).__name__)):
    ...     (x * x).backward()
    PassStarted
    NodeStarted
    EdgeSent
    EdgeSent
    NodeFinished
    NodeStarted
    Accumulated
    NodeFinished
    PassFinished
    """
    before = observers.get()
    try:
        observers.set((*before, callback))
        yield
    finally:
        observers.set(before)


__getattr__, __dir__ = lazy.attributes(__name__, dict.fromkeys({*__all__} - {*globals()}, "._engine.base.pass_events"))
