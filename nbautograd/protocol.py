"""The seam between the library and whatever watches it: shapes of objects, and records of events.

A picture of a graph needs only what :class:`GraphNode` and :class:`Leaf` name, and PyTorch's own nodes have that too.
A picture of a backward pass needs only the event records below, which the engine hands to every callback that
:func:`observe` registers. Nothing here knows who is watching; nothing that watches needs to know more than this.
"""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from types import CodeType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from nbautograd._names import lazy

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
    """One step of a recorded computation, seen from its result: where gradients come in and where they go on.

    :param args, kwargs: none: it is a protocol, of which there are no instances.
    :returns: nothing: ``isinstance`` asks it whether an object has what it names.
    :raises TypeError: it is called.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> isinstance((x * 2).grad_fn, GraphNode), isinstance(x, GraphNode)
    (True, False)
    """

    @property
    def next_functions(self) -> tuple[tuple[GraphNode | None, int], ...]:
        """For each differentiable input, the node that made it and which of that node's outputs it was."""

    def name(self) -> str:
        """The node's name, such as ``MulBackward0``."""


@runtime_checkable
class Leaf(Protocol):
    """Where an edge ends: the node that adds what arrives to ``variable.grad``.

    :param args, kwargs: none: it is a protocol, of which there are no instances.
    :returns: nothing: ``isinstance`` asks it whether an object has what it names.
    :raises TypeError: it is called.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> leaf, _ = (x * 2).grad_fn.next_functions[0]
    >>> isinstance(leaf, Leaf), leaf.variable is x
    (True, True)
    """

    @property
    def variable(self) -> Any:
        """The leaf tensor."""


class Operand(NamedTuple):
    """One argument of a traced operation.

    :param name: the parameter's name, such as ``other``.
    :param slot: its place in ``next_functions``; None when no gradient goes there.
    :param value: a Python number, or the array when it is small enough to be kept, or None.
    :param shape: None for a Python number.
    :param dtype: such as ``float32``; None for a Python number.
    :param tensor: the tensor that was passed, as long as it lives: a weak reference.
    :returns: a named tuple of these.
    :raises TypeError: a field is missing.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> from nbautograd.viz import traced
    >>> with traced():
    ...     y = x * 2
    >>> [(each.name, each.shape, each.dtype) for each in y.grad_fn.trace.operands]
    [('input', (), 'float32'), ('other', None, None)]
    """

    name: str
    slot: int | None
    value: Any
    shape: tuple[int, ...] | None
    dtype: str | None
    tensor: weakref.ref[Any] | None

    @property
    def parameter(self) -> tuple[str, int | None]:
        """The parameter that it belongs to, and its place in the list or tuple passed for that, if it is part of one.

        >>> Operand("tensors[2]", 2, None, (), "float32", None).parameter
        ('tensors', 2)
        """
        name, bracket, place = self.name.partition("[")
        return name, int(place[:-1]) if bracket else None


class ScopeEntry(NamedTuple):
    """One entry into a named block.

    :param name, number: of the block, and of this entry, among all.
    :param module: the module whose call the block is, as long as it lives: a weak reference, or None.
    :returns: a named tuple of these.
    :raises TypeError: a field is missing.

    >>> ScopeEntry("encoder", 1)
    ScopeEntry(name='encoder', number=1, module=None)
    """

    name: str
    number: int
    module: weakref.ref[Any] | None = None


class Trace(NamedTuple):
    """What tracing remembers of one operation, as ``node.trace`` (absent or None when tracing was off).

    :param filename, lineno: where the code called the operation; a notebook gives each cell a file name of its own.
    :param output: a function that returns the tensor that the operation made, as long as it lives.
    :param value: the array that it made when it is small enough to be kept, or None.
    :param shape, dtype: those of the result.
    :param operands: its arguments.
    :param scope: the named blocks around the call, outermost first.
    :param code, instruction: what called the operation, by which instruction (for ``code.co_positions()``).
    :param version: how often the result had been written to in place when it had this value; None: not known.
    :returns: a named tuple of these.
    :raises TypeError: a field is missing.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> from nbautograd.viz import traced
    >>> with traced():
    ...     y = x * 2
    >>> y.grad_fn.trace.shape, y.grad_fn.trace.dtype, y.grad_fn.trace.output() is y
    ((), 'float32', True)
    """

    filename: str
    lineno: int
    output: Callable[[], Any]
    value: Any
    shape: tuple[int, ...]
    dtype: str
    operands: tuple[Operand, ...]
    scope: tuple[ScopeEntry, ...] = ()
    code: CodeType | None = None
    instruction: int = -1
    version: int | None = None


declared: dict[str, Callable[[], type]] = {}
"""For each declared operation, by the name of its node: what gives the node's class, with ``symbol``, ``inputs`` and
``formulas``. So a picture of another library's graph can tell how the gradients of a node of that name are computed.
"""


def declaration(name: str) -> Callable[[], type] | None:
    """The entry of ``declared``; what is loaded only when it is asked for has one, too.

    :param name: of the node, such as ``MulBackward0``.
    :returns: a function without arguments that returns the node's class; None if nothing of this name is declared.
    :raises TypeError: ``name`` cannot be hashed.

    >>> declaration("MulBackward0")().inputs
    ('input', 'other')
    >>> declaration("NoBackward0") is None
    True
    """
    if name not in declared:
        lazy.load()
    return declared.get(name)


scopes: ContextVar[tuple[ScopeEntry, ...]] = ContextVar("scopes", default=())
"""The named blocks that are open; see :func:`scope`."""
_entries = count(1)


def entry(name: str, module: Any = None) -> ScopeEntry:
    """A new entry into a named block.

    :param name: of the block.
    :param module: the module whose call it is, or None.
    :returns: the entry, with a number of its own.
    :raises TypeError: there can be no weak reference to ``module``.

    >>> entry("encoder").name
    'encoder'
    """
    return ScopeEntry(name, next(_entries), None if module is None else weakref.ref(module))


@contextmanager
def scope(name: str, module: Any = None) -> Iterator[None]:
    """What is traced inside the ``with`` block belongs together in pictures, under ``name``; modules do this.

    :param name: of the block.
    :param module: the module whose call it is, or None.
    :returns: a context manager.
    :raises TypeError: on entering, there can be no weak reference to ``module``.

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
    """The named blocks that are open, outermost first.

    :returns: a tuple of entries; empty outside.

    >>> with scope("model"), scope("encoder"):
    ...     [block.name for block in current_scope()]
    ['model', 'encoder']
    """
    return scopes.get()


def _file_place(filename: str, lineno: int) -> tuple[str, str]:
    return filename.rpartition("/")[2], linecache.getline(filename, lineno).strip()


class SourceLocator:
    """How a line of code is called, in messages and pictures: a notebook's extension knows its cells by number.

    :returns: an object without state: ``locate`` is called on the class.

    >>> SourceLocator.locate("/home/somebody/train.py", 3)
    ('train.py', '')
    """

    locate: Callable[[str, int], tuple[str, str]] = staticmethod(_file_place)
    """From a file name and a line number to what the file is called and the text of the line."""
    earlier: Callable[[str], Iterable[str]] = staticmethod(lambda filename: ())
    """From a file name to those of the cells that ran before, the last one first."""


# Events, in the order in which a pass sends them. Gradients are live arrays (tensors when the pass creates a graph):
# whoever keeps one copies it.


class PassStarted(NamedTuple):
    """A backward pass begins at ``roots``, each a node and which of its outputs, with these gradients.

    :param roots: nodes, each with the number of an output.
    :param gradients: an array or a tensor for each root.
    :param retain_graph, create_graph: whether saved tensors are kept, and whether the pass itself is recorded.
    :returns: a named tuple of these.
    :raises TypeError: a field is missing.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> events = []
    >>> with observe(events.append):
    ...     (x * 2).backward()
    >>> [(len(event.roots), event.retain_graph) for event in events if isinstance(event, PassStarted)][0]
    (1, False)
    """

    roots: tuple[tuple[GraphNode, int], ...]
    gradients: tuple[Any, ...]
    retain_graph: bool
    create_graph: bool


class NodeStarted(NamedTuple):
    """All gradients for ``node`` have arrived (None for an output that nothing used) and its formula runs now.

    :param node: the node.
    :param gradients: one for each output, or None.
    :returns: a named tuple of these.
    :raises TypeError: a field is missing.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> events = []
    >>> with observe(events.append):
    ...     (x * 2).backward()
    >>> [event.node.name() for event in events if isinstance(event, NodeStarted)][0]
    'MulBackward0'
    """

    node: GraphNode
    gradients: tuple[Any, ...]


class EdgeSent(NamedTuple):
    """``node`` sent ``gradient`` along edge ``index`` to output ``to_index`` of ``to``, where the sum is now ``total``.

    This is the sum over paths inside one pass, in a buffer; ``.grad`` has not changed yet.

    :param node, index: where it came from, and by which of the node's edges.
    :param to, to_index: where it went, and to which output of that node.
    :param gradient: what was sent.
    :param total: the sum so far, in the shape of that output.
    :returns: a named tuple of these.
    :raises TypeError: a field is missing.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> events = []
    >>> with observe(events.append):
    ...     (x * x).backward()
    >>> [(event.node.name(), event.index, float(event.gradient)) for event in events if isinstance(event, EdgeSent)][0]
    ('MulBackward0', 0, 3.0)
    """

    node: GraphNode
    index: int  # type: ignore[assignment]  # hides tuple's method
    to: GraphNode
    to_index: int
    gradient: Any
    total: Any


class HookCalled(NamedTuple):
    """A hook of ``node`` ran (kind: ``tensor``, ``pre`` or ``post``) and may have replaced a gradient.

    :param node: the node.
    :param kind: ``tensor``, ``pre`` or ``post``.
    :param before, after: the gradient, or the tuple of gradients, that the hook was given, and what goes on from there.
    :returns: a named tuple of these.
    :raises TypeError: a field is missing.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> handle = x.register_hook(lambda gradient: gradient * 10)
    >>> events = []
    >>> with observe(events.append):
    ...     (x * 2).backward()
    >>> [event.kind for event in events if isinstance(event, HookCalled)][0]
    'tensor'
    """

    node: GraphNode
    kind: str
    before: Any
    after: Any


class Accumulated(NamedTuple):
    """A leaf's ``.grad`` was ``before`` (None at first) and is now ``after`` = before + incoming.

    :param node: the node of the leaf.
    :param before: ``.grad`` until now, or None.
    :param incoming: what arrived.
    :param after: ``.grad`` from now on.
    :returns: a named tuple of these.
    :raises TypeError: a field is missing.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> events = []
    >>> with observe(events.append):
    ...     (x * 2).backward()
    >>> [(event.before, float(event.after)) for event in events if isinstance(event, Accumulated)][0]
    (None, 2.0)
    """

    node: Leaf
    before: Any
    incoming: Any
    after: Any


class Captured(NamedTuple):
    """``autograd.grad`` took ``gradient`` for one of its inputs; nothing was accumulated.

    :param node: the node.
    :param index: which of its outputs.
    :param gradient: what arrived there.
    :returns: a named tuple of these.
    :raises TypeError: a field is missing.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> events = []
    >>> with observe(events.append):
    ...     gradients = nb.autograd.grad(x * 2, x)
    >>> [float(event.gradient) for event in events if isinstance(event, Captured)][0]
    2.0
    """

    node: GraphNode
    index: int  # type: ignore[assignment]  # hides tuple's method
    gradient: Any


class NodeFinished(NamedTuple):
    """``node`` is done; ``freed`` tells whether it has just dropped its saved tensors.

    :param node: the node.
    :param freed: whether its saved tensors have just been dropped.
    :returns: a named tuple of these.
    :raises TypeError: a field is missing.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> events = []
    >>> with observe(events.append):
    ...     (x * x).backward()
    >>> [(event.node.name(), event.freed) for event in events if isinstance(event, NodeFinished)][0]
    ('MulBackward0', True)
    """

    node: GraphNode
    freed: bool


class PassFinished(NamedTuple):
    """The pass is over; ``error`` is the exception that ended it early, or None.

    :param error: the exception, or None.
    :returns: a named tuple of these.
    :raises TypeError: a field is missing.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> events = []
    >>> with observe(events.append):
    ...     (x * 2).backward()
    >>> [event.error is None for event in events if isinstance(event, PassFinished)][0]
    True
    """

    error: BaseException | None


Event = (
    PassStarted | NodeStarted | EdgeSent | HookCalled | Accumulated | Captured | NodeFinished | PassFinished
)  #: any of the records above

observers: ContextVar[tuple[Callable[[Event], object], ...]] = ContextVar("observers", default=())


@contextmanager
def observe(callback: Callable[[Event], object]) -> Iterator[None]:
    """Send the events of every backward pass inside the ``with`` block to ``callback``, in order.

    :param callback: a function of one event.
    :returns: a context manager.
    :raises TypeError: in the pass, ``callback`` cannot be called.

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
