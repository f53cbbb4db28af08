"""Declare what observers see: the records of tracing, nodes, leaves, and the records of a backward pass, in order.

Gradients are live arrays (tensors if the pass creates a graph): an observer that keeps one must copy it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple, Protocol, get_args, runtime_checkable

from nbautograd._names.docstrings import fill


class Operand(NamedTuple):
    """An argument of a traced operation.

    :param name: the parameter's name, such as ``other``.
    :param slot: its position in ``next_functions``; None if it gets no gradient.
    :param value: a Python number, or the array if it is small enough to keep, or None.
    :param shape: None for a Python number.
    :param dtype: such as ``float32``; None for a Python number.
    :param tensor: a weak reference to the passed tensor.

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
        """The parameter that it belongs to, and its position in a list or tuple passed for it.

        >>> Operand("tensors[2]", 2, None, (), "float32", None).parameter
        ('tensors', 2)
        """
        name, bracket, place = self.name.partition("[")
        return name, int(place[:-1]) if bracket else None


class ScopeEntry(NamedTuple):
    """One entry into a named block.

    :param name, number: the name of the block, and the number of this entry, among all.
    :param module: a weak reference to the module whose call the block is, or None.

    >>> ScopeEntry("encoder", 1)
    ScopeEntry(name='encoder', number=1, module=None)
    """

    name: str
    number: int
    module: weakref.ref[Any] | None = None


class Trace(NamedTuple):
    """The record of one operation by tracing, as ``node.trace`` (absent or None if tracing was off).

    :param filename, lineno: the location of the call; in a notebook each cell has its own file name.
    :param output: a function that returns the operation's result while it is alive.
    :param value: the resulting array if it is small enough to keep, or None.
    :param shape, dtype: shape and dtype of the result.
    :param operands: its arguments.
    :param scope: the named blocks around the call, outermost first.
    :param code, instruction: the calling code, and the index of its instruction (for ``code.co_positions()``).
    :param version: the number of in-place writes to the result when it had this value; None if unknown.

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


@runtime_checkable
class GraphNode(Protocol):
    """A step of a recorded computation, seen from its result: the source and the targets of gradients.

    :param args, kwargs: none: a protocol has no instances.
    :returns: nothing: use ``isinstance`` to check for its attributes.
    :raises TypeError: the class is called.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> isinstance((x * 2).grad_fn, GraphNode), isinstance(x, GraphNode)
    (True, False)
    """

    @property
    def next_functions(self) -> tuple[tuple[GraphNode | None, int], ...]:
        """For each differentiable input: its node, and the index of the input among the node's outputs."""

    def name(self) -> str:
        """Return the node's name, such as ``MulBackward0``."""


@runtime_checkable
class Leaf(Protocol):
    """The end of an edge: the node that adds gradients to ``variable.grad``.

    :param args, kwargs: none: a protocol has no instances.
    :returns: nothing: use ``isinstance`` to check for its attributes.
    :raises TypeError: the class is called.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> leaf, _ = (x * 2).grad_fn.next_functions[0]
    >>> isinstance(leaf, Leaf), leaf.variable is x
    (True, True)
    """

    @property
    def variable(self) -> Any:
        """The leaf tensor."""


class PassStarted(NamedTuple):
    """A backward pass begins at ``roots``, each a node and the index of its output, with these gradients.

    :param roots: nodes, each with the number of an output.
    :param gradients: an array or a tensor for each root.
    :param retain_graph, create_graph: True if saved tensors are kept; True if the pass itself is recorded.

    >>> [(len(event.roots), event.retain_graph) for event in events if isinstance(event, PassStarted)][0]
    (1, False)
    """

    roots: tuple[tuple[GraphNode, int], ...]
    gradients: tuple[Any, ...]
    retain_graph: bool
    create_graph: bool


class NodeStarted(NamedTuple):
    """All gradients for ``node`` have arrived (None for an unused output) and its formula runs now.

    :param node: the node.
    :param gradients: one for each output, or None.

    >>> [event.node.name() for event in events if isinstance(event, NodeStarted)][0]
    'MulBackward0'
    """

    node: GraphNode
    gradients: tuple[Any, ...]


class EdgeSent(NamedTuple):
    """``node`` sent ``gradient`` along edge ``index`` to output ``to_index`` of ``to``, where the sum is now ``total``.

    This is the sum over paths inside one pass, in a buffer; ``.grad`` has not changed yet.

    :param node, index: the source node, and the index of its edge.
    :param to, to_index: the target node, and the index of its output.
    :param gradient: the gradient sent.
    :param total: the sum so far, in the shape of that output.

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
    :param before, after: the gradient, or the tuple of gradients, before and after the hook.

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
    :param before: ``.grad`` before, or None.
    :param incoming: the gradient that arrived.
    :param after: ``.grad`` after.

    >>> [(event.before, float(event.after)) for event in events if isinstance(event, Accumulated)][0]
    (None, 2.0)
    """

    node: Leaf
    before: Any
    incoming: Any
    after: Any


class Captured(NamedTuple):
    """``autograd.grad`` captured ``gradient`` for one of its inputs; nothing was accumulated.

    :param node: the node.
    :param index: the index of its output.
    :param gradient: the gradient that arrived.

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
    """``node`` is done; ``freed`` is True if it has just dropped its saved tensors.

    :param node: the node.
    :param freed: True if its saved tensors have just been dropped.

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

    >>> [event.error is None for event in events if isinstance(event, PassFinished)][0]
    True
    """

    error: BaseException | None


Event = (
    PassStarted | NodeStarted | EdgeSent | HookCalled | Accumulated | Captured | NodeFinished | PassFinished
)  #: any of the records above


_GIVEN = """>>> import nbautograd as nb
>>> from nbautograd.protocol import observe
>>> x = nb.tensor(3.0, requires_grad=True)
"""
_PASS = """>>> events = []
>>> with observe(events.append):
...     (x * 2).backward()
"""


def _with_given(doc: str) -> str:
    """Return the docstring of an event with the lines before its example, which are the same for all."""
    text, _, example = doc.partition(">>> ")
    given = _GIVEN + (_PASS if example.startswith("[") else "")
    return text + given.replace("\n", "\n" + text.rpartition("\n")[2]) + ">>> " + example


for _record in (Operand, ScopeEntry, Trace):
    _record.__module__ = "nbautograd.protocol"  # where programs find them, and pickles too
for _record in (Operand, ScopeEntry, Trace, *get_args(Event)):
    _doc = _record.__doc__ or ""
    if ">>> " in _doc:  # not with python -OO
        _doc = _with_given(_doc) if _record in get_args(Event) else _doc
        _record.__doc__ = fill(_doc, (), {}, "a named tuple of these.", [("TypeError", "a field is missing")])
