"""The seam between the library and whatever watches it: shapes of objects, and records of events.

A picture of a graph needs only what :class:`GraphNode` and :class:`Leaf` name, and PyTorch's own nodes have that too.
A picture of a backward pass needs only the event records below, which the engine hands to every callback that
:func:`observe` registers. Nothing here knows who is watching; nothing that watches needs to know more than this.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from types import CodeType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from nbautograd import _lazy

__all__ = [
    "Accumulated",
    "Captured",
    "EdgeSent",
    "Event",
    "GraphNode",
    "HookCalled",
    "Leaf",
    "NodeFinished",
    "NodeStarted",
    "Operand",
    "PassFinished",
    "PassStarted",
    "ScopeEntry",
    "SourceLocator",
    "Trace",
    "current_scope",
    "declaration",
    "declared",
    "entry",
    "observe",
    "observers",
    "scope",
    "scopes",
]


@runtime_checkable
class GraphNode(Protocol):
    """One step of a recorded computation, seen from its result: where gradients come in and where they go on."""

    @property
    def next_functions(self) -> tuple[tuple[GraphNode | None, int], ...]:
        """For each differentiable input, the node that made it and which of that node's outputs it was."""

    def name(self) -> str:
        """The node's name, such as ``MulBackward0``."""


@runtime_checkable
class Leaf(Protocol):
    """Where an edge ends: the node that adds what arrives to ``variable.grad``."""

    @property
    def variable(self) -> Any:
        """The leaf tensor."""


class Operand(NamedTuple):
    """One argument of a traced operation."""

    name: str
    """The parameter's name, such as ``other``."""
    slot: int | None
    """Its place in ``next_functions``; None when no gradient goes there."""
    value: Any
    """A Python number, or the array when it is small enough to be kept, or None."""
    shape: tuple[int, ...] | None
    """None for a Python number."""
    dtype: str | None
    """Such as ``float32``; None for a Python number."""
    tensor: weakref.ref[Any] | None
    """The tensor that was passed, as long as it lives."""

    @property
    def parameter(self) -> tuple[str, int | None]:
        """The parameter that it belongs to, and its place in the list or tuple passed for that, if it is part of one.

        >>> Operand("tensors[2]", 2, None, (), "float32", None).parameter
        ('tensors', 2)
        """
        name, bracket, place = self.name.partition("[")
        return name, int(place[:-1]) if bracket else None


class ScopeEntry(NamedTuple):
    """One entry into a named block."""

    name: str
    number: int
    """Of this entry, among all."""
    module: weakref.ref[Any] | None = None
    """The module whose call the block is, as long as it lives."""


class Trace(NamedTuple):
    """What tracing remembers of one operation, as ``node.trace`` (absent or None when tracing was off)."""

    filename: str
    """Of the code that called the operation; a notebook gives each cell its own."""
    lineno: int
    output: Callable[[], Any]
    """The tensor that the operation made, as long as it lives."""
    value: Any
    """The array that it made when it is small enough to be kept, or None."""
    shape: tuple[int, ...]
    dtype: str
    operands: tuple[Operand, ...]
    scope: tuple[ScopeEntry, ...] = ()
    """The named blocks around the call, outermost first."""
    code: CodeType | None = None
    """What called the operation, and by which instruction: ``co_positions()`` tells its place in the line."""
    instruction: int = -1


declared: dict[str, Callable[[], type]] = {}
"""For each declared operation, by the name of its node: what gives the node's class, with ``symbol``, ``inputs`` and
``formulas``. So a picture of another library's graph can tell how the gradients of a node of that name are computed.
"""


def declaration(name: str) -> Callable[[], type] | None:
    """The entry of ``declared``; what is loaded only when it is asked for has one, too."""
    if name not in declared:
        _lazy.load()
    return declared.get(name)


scopes: ContextVar[tuple[ScopeEntry, ...]] = ContextVar("scopes", default=())
"""The named blocks that are open; see :func:`scope`."""
_entries = count(1)


def entry(name: str, module: Any = None) -> ScopeEntry:
    """A new entry into a named block."""
    return ScopeEntry(name, next(_entries), None if module is None else weakref.ref(module))


@contextmanager
def scope(name: str, module: Any = None) -> Iterator[None]:
    """What is traced inside the ``with`` block belongs together in pictures, under ``name``; modules do this.

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
    """The named blocks that are open, outermost first."""
    return scopes.get()


def _file_place(filename: str, lineno: int) -> tuple[str, str]:
    import linecache

    return filename.rpartition("/")[2], linecache.getline(filename, lineno).strip()


class SourceLocator:
    """How a line of code is called, in messages and pictures: a notebook's extension knows its cells by number."""

    locate: Callable[[str, int], tuple[str, str]] = staticmethod(_file_place)
    """From a file name and a line number to what the file is called and the text of the line."""


# Events, in the order in which a pass sends them. Gradients are live arrays (tensors when the pass creates a graph):
# whoever keeps one copies it.


class PassStarted(NamedTuple):
    """A backward pass begins at ``roots``, each a node and which of its outputs, with these gradients."""

    roots: tuple[tuple[GraphNode, int], ...]
    gradients: tuple[Any, ...]
    retain_graph: bool
    create_graph: bool


class NodeStarted(NamedTuple):
    """All gradients for ``node`` have arrived (None for an output that nothing used) and its formula runs now."""

    node: GraphNode
    gradients: tuple[Any, ...]


class EdgeSent(NamedTuple):
    """``node`` sent ``gradient`` along edge ``index`` to output ``to_index`` of ``to``, where the sum is now ``total``.

    This is the sum over paths inside one pass, in a buffer; ``.grad`` has not changed yet.
    """

    node: GraphNode
    index: int  # type: ignore[assignment]  # hides tuple's method
    to: GraphNode
    to_index: int
    gradient: Any
    total: Any


class HookCalled(NamedTuple):
    """A hook of ``node`` ran (kind: ``tensor``, ``pre`` or ``post``) and may have replaced a gradient."""

    node: GraphNode
    kind: str
    before: Any
    after: Any


class Accumulated(NamedTuple):
    """A leaf's ``.grad`` was ``before`` (None at first) and is now ``after`` = before + incoming."""

    node: Leaf
    before: Any
    incoming: Any
    after: Any


class Captured(NamedTuple):
    """``autograd.grad`` took ``gradient`` for one of its inputs; nothing was accumulated."""

    node: GraphNode
    index: int  # type: ignore[assignment]  # hides tuple's method
    gradient: Any


class NodeFinished(NamedTuple):
    """``node`` is done; ``freed`` tells whether it has just dropped its saved tensors."""

    node: GraphNode
    freed: bool


class PassFinished(NamedTuple):
    """The pass is over; ``error`` is the exception that ended it early, or None."""

    error: BaseException | None


Event = (
    PassStarted | NodeStarted | EdgeSent | HookCalled | Accumulated | Captured | NodeFinished | PassFinished
)  #: any of the records above

observers: ContextVar[tuple[Callable[[Event], object], ...]] = ContextVar("observers", default=())


@contextmanager
def observe(callback: Callable[[Event], object]) -> Iterator[None]:
    """Send the events of every backward pass inside the ``with`` block to ``callback``, in order.

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
