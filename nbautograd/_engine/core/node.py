"""The nodes of the tape: the ``grad_fn`` of tensors, and the graph of a backward pass.

A recorded operation creates one ``Node``. The targets of its gradients (``next_nodes()``) are kept in the engine's
form: None (no gradient), a Node, an ``OutputEdge`` (one of several outputs of a node), or a leaf tensor itself. Users
see PyTorch's ``next_functions``, in which a leaf appears as an ``AccumulateGrad``.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from nbautograd._engine.arrays import dtypes, version_counter
from nbautograd._engine.arrays.version_counter import changed_since, next_sequence_nr
from nbautograd._engine.core.exchanged_data import exchanged, latest
from nbautograd._engine.core.hooks import Hooks, RemovableHandle
from nbautograd._names.docstrings.methods import describe_methods
from nbautograd.errors import AutogradError, GraphFreedError, InplaceError
from nbautograd.protocol import SourceLocator


class _Mark:
    """A sentinel, compared by identity."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


LEAF = _Mark("LEAF")
"""The ``_fn`` of a leaf that requires grad; the ``_fn`` of a computed tensor is its node."""
FREED = _Mark("FREED")
"""Replaces a saved tensor in a node's slot once a backward pass has freed it."""
MULTIPLE = _Mark("MULTIPLE")
"""Returned first by a ``vjp`` with more than two inputs; the second result is then the list of all gradients."""


def gradients_of(first: Any, second: Any, count: int) -> list[Any]:
    """Return the two results of a ``vjp`` as a list of the gradients of ``count`` inputs."""
    return list(second) if first is MULTIPLE else [first, second][:count]


class Extras:
    """Fields that few nodes need, allocated on demand: a node without a ``__dict__`` is created in half the time."""

    __slots__ = ("hooks", "lock", "metadata", "packed", "trace")

    def __init__(self) -> None:
        self.hooks: Hooks | None = None
        self.metadata: dict[Any, Any] | None = None
        self.trace: Any = None  # recorded by tracing: a protocol.Trace, or a function that formats one on first use
        self.packed: dict[str, Any] | None = None  # saved tensors as packed by hooks: autograd/saved_tensors.py
        self.lock: Any = None  # held while they are unpacked


_WITH_NAMESPACE = {"AccumulateGrad", "CopyBackwards", "CopySlices"}
"""Nodes that PyTorch implements by hand: ``name()`` gives the C++ class."""


@describe_methods
class Node:
    """An operation on the tape: the targets of its gradients, its saved tensors, and its sequence number.

    Subclasses are compiled from the operations' declarations (see ``compiler/op.py``). Each has a slot per saved value
    and ``vjp(g, retain_graph)``, the vector-Jacobian product over arrays: from the gradient of the output to those of
    the first and the second input. ``vjp_graph`` does the same over tensors and so records itself.

    :returns: a node; operations make their own.

    >>> import nbautograd as torch
    >>> y = torch.tensor(2.0, requires_grad=True) * 3
    >>> isinstance(y.grad_fn, torch.autograd.graph.Node), y.grad_fn.name()
    (True, 'MulBackward0')
    """

    __slots__ = ("__weakref__", "_seq", "extras", "input_meta", "next0", "next1")

    arity = 1
    inputs: tuple[str, ...] = ()  # names of the differentiable inputs, by edge
    formulas: dict[str, str] = {}  # noqa: RUF012 - how the gradient of each is computed from g
    formula_slots: dict[str, str] = {}  # noqa: RUF012 - what the formulas name, such as ``input.shape``, and its slot
    symbol = ""
    is_hidden = False  # if True, the tensor is a leaf to users, and its node no ``grad_fn``
    saved: tuple[str, ...] = ()  # names of the slots that hold saved tensors
    needed_by: dict[str, int] = {}  # noqa: RUF012 - saved inputs that one formula alone uses: which of them
    _relays = False
    """If True, the engine may run it at once, out of order: a temporary view with one input and one consumer."""
    takes_lazy_gradient = False  # True if ``vjp`` accepts lazy gradients, see ``fusion/lazy_gradient.py``
    next0: Any
    next1: Any
    input_meta: Any  # None, or for each input the (shape, dtype, device) of its gradient
    extras: Extras | None
    _seq: int  # the sequence number: later than that of every node of its inputs
    # Attached by the modules that know tensors and the engine: autograd/saved_tensors.py, autograd/engine.py.
    saved_as_tensors: Callable[[str], Any]
    _raw_saved: Callable[[str], Any]
    __call__: Callable[..., Any]

    def get_extras(self) -> Extras:
        """Return the node's ``Extras``, allocated on first use."""
        if self.extras is None:
            self.extras = Extras()
        return self.extras

    @property
    def hooks(self) -> Hooks | None:
        """The node's hooks, if it has any."""
        return None if self.extras is None else self.extras.hooks

    @property
    def trace(self) -> Any:
        """The operation's ``protocol.Trace``, recorded by tracing; None if tracing was off."""
        extras = self.extras
        if extras is None:
            return None
        if callable(extras.trace):  # recorded without formatting, see tracing.note
            extras.trace = extras.trace()
        return extras.trace

    @trace.setter
    def trace(self, trace: Any) -> None:
        self.get_extras().trace = trace

    def vjp(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Compute the vector-Jacobian product: the inputs' gradients from that of the output (the cotangent), as
        arrays.

        :param retain_graph: keep the saved tensors for another backward pass.
        :param needed: the nodes and leaves whose gradients are requested; None for all. Other gradients are None.
        """
        raise NotImplementedError

    def vjp_graph(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Compute the vjp over tensors, recorded, so that it can be differentiated again."""
        raise NotImplementedError

    def next_nodes(self) -> tuple[Any, ...]:
        """Return the targets of the inputs' gradients: nodes, leaves or None."""
        return (self.next0, self.next1)[: self.arity]

    def outputs(self) -> int:
        """Return the number of outputs of the operation."""
        return 1

    def name(self) -> str:
        """Return the node's name."""
        name = type(self).__name__
        return f"torch::autograd::{name}" if name in _WITH_NAMESPACE else name

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """For each differentiable input: the node of its gradient, and the index of the input among its outputs."""
        return tuple(map(public_edge, self.next_nodes()))

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for users' notes on the node."""
        extras = self.get_extras()
        if extras.metadata is None:
            extras.metadata = {}
        return extras.metadata

    @property
    def requires_grad(self) -> bool:
        """True: a node exists only if a gradient is required."""
        return True

    def _sequence_nr(self) -> int:
        return self._seq

    def __getattr__(self, name: str) -> Any:
        """Return ``_saved_self``, ``_saved_result``, ...: the saved values under PyTorch's names."""
        if name.startswith("_saved_") and (slot := _slot_of(type(self), name[7:])) is not None:
            return self.saved_as_tensors(slot)
        if name.startswith("_raw_saved_") and (slot := _slot_of(type(self), name[11:])) in self.saved:
            return self._raw_saved(slot)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *("_saved_" + _public(slot) for slot in saved_slots(type(self)))]

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the node has run; it may return new ``grad_inputs``."""
        return RemovableHandle(self._own_hooks().post, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the node runs; it may return new ``grad_outputs``."""
        return RemovableHandle(self._own_hooks().pre, hook)

    def _own_hooks(self) -> Hooks:
        """Return the node's hooks, allocated on first registration."""
        extras = self.get_extras()
        if extras.hooks is None:
            extras.hooks = Hooks()
        return extras.hooks

    @property
    def _register_hook_dict(self) -> dict[int, Any]:
        return {} if self.hooks is None else self.hooks.post

    def saves(self) -> bool:
        """Return whether the node has saved tensors, which a backward pass would free."""
        return bool(self.saved)

    def saved_values(self) -> dict[str, Any]:
        """Return the saved arrays by name.

        :raises GraphFreedError: a backward pass has freed them.
        """
        values: dict[str, Any] = {}
        for name in self.saved:
            value = getattr(self, name)
            if value is FREED:
                self.raise_freed()
            if value.__class__ is tuple:
                value = [part for part in value if part.__class__ is not slice]
            if value is not None:
                values[name.removeprefix("s_")] = value
        return values

    def raise_freed(self) -> NoReturn:
        """Raise the error for a second backward pass through freed saved tensors."""
        raise GraphFreedError(
            "Trying to backward through the graph a second time (or directly access saved tensors after they have "
            f"already been freed): the first pass freed what {self.name()}{self.place()} had saved; "
            "specify retain_graph=True in that pass, or compute the result again."
        )

    def place(self) -> str:
        """Return the line that created the node, for messages; empty unless tracing has noted it."""
        return "" if self.trace is None else f" (made in {_located(self.trace.filename, self.trace.lineno)})"

    def check_saved(self) -> None:
        """Compare the version counters of the saved tensors, which must not have been written to since.

        :raises InplaceError: a saved tensor was written to.
        """
        for name in self.saved:
            value = getattr(self, name)
            if value.__class__ is not np.ndarray or id(value) in exchanged:
                self.check_slot(name)
            elif changed_since(value, self._seq):
                self.report_changed(name, value)

    def check_slot(self, name: str) -> None:
        """Compare the version counters of one slot, which holds an array or several.

        If the data of a saved input has been exchanged since (``x.data = ...``), the slot gets the new array.
        """
        value = getattr(self, name)
        if value is None or value is FREED:
            return
        if value.__class__ is list or value.__class__ is tuple:
            for array in value:
                if changed_since(array, self._seq):
                    self.report_changed(name, array)
        elif changed_since(value, self._seq):
            self.report_changed(name, value)
        elif (id(value) in exchanged or value.__class__ is not np.ndarray) and not name.startswith("s_result"):
            self._renew(name, value)

    def _renew(self, name: str, value: Any) -> None:
        """Put the new data of a saved input into its slot, if it was exchanged."""
        now, time = latest(value, self._seq)
        if now is value:
            return
        if changed_since(now, time):
            self.report_changed(name, now)
        elif now.shape != value.shape and self.needs(name):
            raise AutogradError(
                f"The size of the input {name[2:]!r} that {self.name()}{self.place()} saved was "
                f"{list(value.shape)}; its data has been exchanged for a tensor of size {list(now.shape)}, so "
                "its gradient is no longer defined."
            )
        setattr(self, name, now if now.dtype == value.dtype else now.astype(value.dtype))

    def needs(self, name: str) -> bool:
        """Return whether a saved input is needed: not if its only gradient is not required."""
        position = self.needed_by.get(name)
        target = self if position is None else self.next_nodes()[position]
        return target is not None and target.__class__ is not UnrecordedView

    def report_changed(self, name: str, value: Any) -> None:
        """Raise the error that names a saved tensor modified in place, if it is needed."""
        if not self.needs(name):
            return
        was, now = version_counter.version_at(value, self._seq), version_counter.version_of(value)
        written = version_counter.where_written(value)
        culprit = "" if written is None else f" The last write was in {_located(*written)}."
        what = name.removeprefix("s_")
        where = what if " " in what else f"its {what}" if what.startswith("result") else f"its input {what!r}"
        error = InplaceError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{_type_name(value)} {list(value.shape)}]{self._made_by(what)} is at version {now}; expected version "
            f"{was} instead. Hint: {self.changed_hint} {self.name()}{self.place()} saved it as {where}.{culprit} Use "
            "an operation that makes a new tensor there (x = x + 1 instead of x += 1), or write to a clone()."
        )
        error.saved, error.versions, error.written = what, (was, now), written
        raise error

    changed_hint = (
        "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    """PyTorch's advice; replaced while anomaly detection is on."""

    def _made_by(self, what: str) -> str:
        """Return, for messages, the operation whose output a saved tensor is; empty for a leaf."""
        if what.startswith("result"):
            return self.output_text(int(what[6:] or 0))
        edge = dict(zip(self.inputs, self.next_nodes(), strict=False)).get(what)
        if not isinstance(edge, Node):
            return ""
        node, index = public_edge(edge)
        return node.output_text(index) if node else ""

    def output_text(self, index: int) -> str:
        """Return the name of an output of the node in messages."""
        return f", which is output {index} of {re.sub('Backward[0-9]*$', '', self.name())},"


Node.__module__ = "nbautograd.autograd.graph"


def _type_name(array: Any) -> str:
    """Return the type of a tensor in PyTorch's messages."""
    name, on_gpu = dtypes.scalar_type(array.dtype), not isinstance(array, (np.ndarray, np.generic))
    if array.dtype.kind == "c":
        return f"{'CUDA' if on_gpu else 'CPU'}{name}Type"
    return f"torch.{'cuda.' * on_gpu}{name}Tensor"


def _located(filename: str, lineno: int) -> str:
    """Return a line of code in the form of messages: the cell or file, the number, the text."""
    label, source = SourceLocator.locate(filename, lineno)
    return f"{label}, line {lineno}{': ' + source if source else ''}"


def saved_slots(cls: type) -> list[str]:
    """Return the slots of a node's class for the values of its formulas."""
    return [slot for base in cls.__mro__ for slot in base.__dict__.get("__slots__", ()) if slot.startswith("s_")]


def _public(slot: str) -> str:
    """Return PyTorch's name for a slot: ``s_input`` is ``self``, ``s_input_shape`` is ``self_sym_sizes``."""
    name = slot[2:]
    for ours, theirs in (("input_", "self_"), ("_shape", "_sym_sizes")):
        if ours[0] == "_" and name.endswith(ours):
            name = name.removesuffix(ours) + theirs
        elif name.startswith(ours):
            name = theirs + name.removeprefix(ours)
    return {"input": "self", "key": "indices"}.get(name, name)


def _slot_of(cls: type, public: str) -> str | None:
    return next((slot for slot in saved_slots(cls) if _public(slot) == public), None)


class OutputGrads:
    """Gradients of some outputs of one node, by output (PyTorch's InputBuffer); adding two merges them."""

    __slots__ = ("by_index",)

    def __init__(self, by_index: dict[int, Any]) -> None:
        self.by_index = by_index

    def __add__(self, other: OutputGrads) -> OutputGrads:
        merged = dict(self.by_index)
        for index, gradient in other.by_index.items():
            merged[index] = merged[index] + gradient if index in merged else gradient
        return OutputGrads(merged)

    def take(self, count: int) -> list[Any]:
        """Return the gradients of outputs 0 to count - 1, None where nothing arrived."""
        return [self.by_index.get(index) for index in range(count)]


class OutputEdge(Node):
    """The edge to output ``index`` of a node with several outputs; it labels the gradient with ``index``."""

    __slots__ = ("index",)
    index: int

    def __init__(self, node: Node, index: int) -> None:
        self.next0, self.index, self._seq = node, index, next_sequence_nr()
        self.next1 = self.input_meta = self.extras = None

    def vjp(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Return the gradient, labelled with its output."""
        return OutputGrads({self.index: g}), None

    vjp_graph = vjp

    def _own_hooks(self) -> Hooks:
        """Return the output's hooks. Its node also calls them if no gradient arrives at the output."""
        hooks = super()._own_hooks()
        self.next0._own_hooks().outputs[self.index] = hooks
        return hooks


class UnrecordedView(Node):
    """The ``_fn`` of a view, created under ``no_grad``, of a tensor that requires grad.

    The view also requires grad, but has no ``grad_fn``; a gradient that reaches it is dropped.
    """

    __slots__ = ()
    arity = 0
    is_hidden = True

    def __init__(self) -> None:
        self._seq = next_sequence_nr()
        self.next0 = self.next1 = self.input_meta = self.extras = None

    def vjp(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Return no gradients."""
        return None, None

    vjp_graph = vjp


class AccumulateGrad(Node):
    """The end of the tape at a leaf: gradients that arrive are added to ``variable.grad``.

    In the engine the leaf itself is the target; ``next_functions`` shows this node instead. It is created on demand,
    and kept while it is referenced. It refers to its leaf, and the leaf to it only weakly.
    """

    __slots__ = ("variable",)
    arity = 0
    symbol = "+="
    variable: Any

    @property
    def hooks(self) -> Hooks | None:
        """The hooks of the accumulation, which live as long as the leaf does."""
        return self.variable.__dict__.get("_hooks")  # type: ignore[no-any-return]

    def _own_hooks(self) -> Hooks:
        return self.variable._own_hooks()  # type: ignore[no-any-return]


AccumulateGrad.__module__ = "builtins"


def accumulator(leaf: Any) -> AccumulateGrad:
    """Return the AccumulateGrad of a leaf."""
    known = leaf.__dict__.get("_accumulator")
    node: AccumulateGrad | None = None if known is None else known()
    if node is None:
        node = object.__new__(AccumulateGrad)
        node.variable, node._seq = leaf, 0
        node.next0 = node.next1 = node.input_meta = node.extras = None
        leaf.__dict__["_accumulator"] = weakref.ref(node)
    return node


def public_edge(edge: Any) -> tuple[Any, int]:
    """Return a target in the form of ``next_functions``: a node and the index of its output."""
    if edge is None:
        return None, 0
    if not isinstance(edge, Node):
        return accumulator(edge), 0
    if edge.is_hidden:
        return public_edge(edge.next0)
    if edge.__class__ is OutputEdge:
        return edge.next0, edge.index
    return edge, 0
