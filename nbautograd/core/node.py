"""The nodes of the graph: what a tensor's ``grad_fn`` is, and what a backward pass walks over.

An operation that is recorded makes one ``Node``. Its edges, to where its gradients go, are kept in the form that the
engine wants: None (no gradient goes there), a Node, a ``Port`` (one of several outputs of a node), or a leaf tensor
itself. What users see are PyTorch's ``next_functions``, in which a leaf appears as an ``AccumulateGrad``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NoReturn

from nbautograd.arrays import version_counter
from nbautograd.arrays.version_counter import tick
from nbautograd.errors import GraphFreedError, InplaceError
from nbautograd.protocol import Places

__all__ = ["FREED", "LEAF", "MANY", "AccumulateGrad", "Node", "Port", "RemovableHandle", "Slots", "public_edge"]


class _Mark:
    """A value that is only ever compared by identity."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


LEAF = _Mark("LEAF")
"""What a leaf that requires grad has where other tensors have the node that made them."""
FREED = _Mark("FREED")
"""What a node has where its saved tensors were, once a backward pass has used them up."""
MANY = _Mark("MANY")
"""What a node with more than two edges answers as its first gradient; the second is then the list of all."""


class _Alive:
    """How many ``Hooks`` there are; as long as there is none, no node need be asked for its own."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


alive = _Alive()


class Hooks:
    """The hooks of one node, each kind in the order of registration; the kinds run in the order of the fields."""

    __slots__ = ("accumulated", "post", "pre", "retain", "tensor")

    def __init__(self) -> None:
        alive.count += 1
        self.tensor: dict[int, Callable[..., Any]] = {}  # of the output: Tensor.register_hook
        self.retain: weakref.ref[Any] | None = None  # the output that keeps its gradient: Tensor.retain_grad
        self.pre: dict[int, Callable[..., Any]] = {}  # Node.register_prehook
        self.accumulated: dict[int, Callable[..., Any]] = {}  # of a leaf: Tensor.register_post_accumulate_grad_hook
        self.post: dict[int, Callable[..., Any]] = {}  # Node.register_hook

    def __del__(self) -> None:
        alive.count -= 1


class LeafHooks(Hooks):
    """The hooks of a leaf. While there are any, passes visit leaves as soon as their gradients are complete."""

    __slots__ = ()
    alive = 0

    def __init__(self) -> None:
        super().__init__()
        LeafHooks.alive += 1

    def __del__(self) -> None:
        super().__del__()
        LeafHooks.alive -= 1


class Rare:
    """What few nodes have, kept apart: an object without a ``__dict__`` is made in half the time."""

    __slots__ = ("hooks", "lock", "metadata", "packed", "trace")

    def __init__(self) -> None:
        self.hooks: Hooks | None = None
        self.metadata: dict[Any, Any] | None = None
        self.trace: Any = None  # what tracing remembers: protocol.Trace, or what makes it when somebody asks
        self.packed: dict[str, Any] | None = (
            None  # saved tensors in the form that hooks gave them: autograd/saved_tensors.py
        )
        self.lock: Any = None  # held while they are unpacked


class RemovableHandle:
    """What registering a hook returns: ``remove()`` takes the hook away; a ``with`` block does so at its end."""

    __slots__ = ("_hooks", "id")

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        if not callable(hook):
            raise TypeError(f"a hook must be callable, and this {type(hook).__name__} is not")
        self.id = tick()
        self._hooks = hooks
        hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class Node:
    """One recorded operation: where its gradients go, what its formulas need, and when it ran.

    Subclasses are made from the operations' declarations (see ``compiler/op.py``). Each has a slot per saved value and
    ``vjp(g, keep)``, which turns the gradient of the output into those of the first and the second input, over arrays;
    ``vjp_graph`` does the same over tensors and so records itself.
    """

    __slots__ = ("__weakref__", "f0", "f1", "fit", "rare", "seq")

    arity = 1
    inputs: tuple[str, ...] = ()  # names of the differentiable inputs, by edge
    formulas: dict[str, str] = {}  # noqa: RUF012 - how the gradient of each is computed from g
    symbol = ""
    saved: tuple[str, ...] = ()  # names of the slots that hold saved tensors
    relays = False  # whether it has one input and one user, neither of whom can tell when exactly it runs
    takes_lazy_gradient = (
        False  # whether ``vjp`` knows gradients that wait to be computed, see ``fusion/lazy_gradient.py``
    )
    f0: Any
    f1: Any
    fit: Any  # None, or for each input the (shape, dtype, device) to which its gradient is brought back
    rare: Rare | None
    seq: int

    def rarities(self) -> Rare:
        """What few nodes have, made when it is first needed."""
        if self.rare is None:
            self.rare = Rare()
        return self.rare

    @property
    def hooks(self) -> Hooks | None:
        """The node's hooks, if it has any."""
        return None if self.rare is None else self.rare.hooks

    @property
    def trace(self) -> Any:
        """What tracing remembers of the operation, a ``protocol.Trace``; None when it was off."""
        rare = self.rare
        if rare is None:
            return None
        if callable(rare.trace):  # noted in haste
            rare.trace = rare.trace()
        return rare.trace

    @trace.setter
    def trace(self, trace: Any) -> None:
        self.rarities().trace = trace

    def vjp(self, g: Any, keep: bool, needed: Any = None) -> tuple[Any, Any]:
        """The gradients of the inputs from that of the output, as arrays.

        :param keep: keep what is saved for another time.
        :param needed: the edges whose gradients are wanted; None for all. Of two edges, the other's is then None.
        """
        raise NotImplementedError

    def vjp_graph(self, g: Any, keep: bool, needed: Any = None) -> tuple[Any, Any]:
        """The same over tensors, recorded."""
        raise NotImplementedError

    def edges(self) -> tuple[Any, ...]:
        """The edges in the engine's form."""
        return (self.f0, self.f1)[: self.arity]

    def outputs(self) -> int:
        """How many outputs the operation had."""
        return 1

    def name(self) -> str:
        """The node's name.

        >>> import nbautograd as torch
        >>> (torch.tensor(2.0, requires_grad=True) * 3).grad_fn.name()
        'MulBackward0'
        """
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """For each differentiable input, the node its gradient goes to and which of its outputs the input was."""
        return tuple(map(public_edge, self.edges()))

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for whoever wants to note something here."""
        rare = self.rarities()
        if rare.metadata is None:
            rare.metadata = {}
        return rare.metadata

    @property
    def requires_grad(self) -> bool:
        """True: a node exists only where a gradient is required."""
        return True

    def _sequence_nr(self) -> int:
        return self.seq

    def __getattr__(self, name: str) -> Any:
        """``_saved_self``, ``_saved_result``, ...: what the node has saved, under PyTorch's names."""
        if name.startswith("_saved_"):
            slot = _slot_of(type(self), name[7:])
            if slot is not None:
                return self.saved_as_tensors(slot)
        elif name.startswith("_raw_saved_"):
            slot = _slot_of(type(self), name[11:])
            if slot in self.saved:
                return SavedTensor(self, slot)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *("_saved_" + _public(slot) for slot in _saved_slots(type(self)))]

    def saved_as_tensors(self, slot: str) -> Any:
        """What a slot holds: a saved array as the tensor that it was, everything else as it is.

        :raises GraphFreedError: a backward pass has used it up.
        :raises InplaceError: it was written to since.
        """
        from nbautograd.autograd.saved_tensors import own
        from nbautograd.core.tensor import Tensor, wrap

        value = getattr(self, slot)
        if value is FREED:
            self.raise_freed()
        if slot not in self.saved or value is None or isinstance(value, (int, float, complex, Tensor)):
            return value
        if isinstance(value, (list, tuple)):
            return tuple(map(wrap, value))
        if version_counter.changed_since(value, self.seq):
            self.raise_changed(slot, value)
        value, name = own(value), slot[2:]
        if name == "result":
            return wrap(value, self)
        return wrap(value, dict(zip(self.inputs, self.edges(), strict=False)).get(name))

    def __call__(self, *gradients: Any) -> Any:
        """The gradients of the inputs for these gradients of the outputs, computed now; nothing is accumulated."""
        from nbautograd.autograd import engine

        return engine.apply(self, gradients)

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the node has run; it may return new ``grad_inputs``."""
        return RemovableHandle(self.own_hooks().post, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the node runs; it may return new ``grad_outputs``."""
        return RemovableHandle(self.own_hooks().pre, hook)

    def own_hooks(self) -> Hooks:
        """The node's hooks, made when the first is registered."""
        rare = self.rarities()
        if rare.hooks is None:
            rare.hooks = Hooks()
        return rare.hooks

    @property
    def _register_hook_dict(self) -> dict[int, Any]:
        return {} if self.hooks is None else self.hooks.post

    def saves(self) -> bool:
        """Whether a backward pass would take saved tensors from the node."""
        return bool(self.saved)

    def saved_values(self) -> dict[str, Any]:
        """The saved arrays by name.

        :raises GraphFreedError: a backward pass has used them up.
        """
        values = {name: getattr(self, name) for name in self.saved}
        if any(value is FREED for value in values.values()):
            self.raise_freed()
        return {name.removeprefix("s_"): value for name, value in values.items() if value is not None}

    def raise_freed(self) -> NoReturn:
        """Say that the saved tensors are gone, and what to do."""
        raise GraphFreedError(
            f"Trying to backward through the graph a second time: {self.name()}{self.place()} gave up "
            "its saved tensors "
            "when backward() or autograd.grad() last ran through it (or directly access saved tensors after they have "
            "already been freed). Specify retain_graph=True in that first call to "
            "keep them, or compute the result anew."
        )

    def place(self) -> str:
        """Where the node was made, when tracing has noted it; otherwise nothing."""
        if self.trace is None:
            return ""
        return f" (made in {_located(self.trace.filename, self.trace.lineno)})"

    def check_saved(self) -> None:
        """Make sure that no saved tensor was written to since this node saved it.

        :raises InplaceError: one was.
        """
        for name in self.saved:
            value = getattr(self, name)
            if value is not None and value is not FREED and version_counter.changed_since(value, self.seq):
                self.raise_changed(name, value)

    def raise_changed(self, name: str, value: Any) -> NoReturn:
        """Say which saved tensor was written to."""
        was, now = version_counter.version_at(value, self.seq), version_counter.version_of(value)
        written = version_counter.where_written(value)
        culprit = "" if written is None else f" The last write was in {_located(*written)}."
        where = {"s_result": "its result"}.get(name, f"its input {name.removeprefix('s_')!r}")
        raise InplaceError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"{self.name()}{self.place()} saved {where}, a {value.dtype} tensor of shape {list(value.shape)}, which is "
            f"at version {now}; expected version {was} instead.{culprit} Use an operation that makes a new tensor "
            "there (x = x + 1 instead of x += 1), or write to a clone()."
        )


Node.__module__ = "nbautograd.autograd.graph"


def _located(filename: str, lineno: int) -> str:
    """A line of code as messages name it: the cell or file, the number, the text."""
    label, source = Places.locate(filename, lineno)
    return f"{label}, line {lineno}{': ' + source if source else ''}"


def _saved_slots(cls: type) -> list[str]:
    """The slots of a node's class that hold what its formulas need."""
    return [slot for base in cls.__mro__ for slot in base.__dict__.get("__slots__", ()) if slot.startswith("s_")]


def _public(slot: str) -> str:
    """PyTorch's name for a slot: ``s_input`` is ``self``, ``s_input_shape`` is ``self_sym_sizes``."""
    name = slot[2:]
    for ours, theirs in (("input_", "self_"), ("_shape", "_sym_sizes")):
        if ours[0] == "_" and name.endswith(ours):
            name = name.removesuffix(ours) + theirs
        elif name.startswith(ours):
            name = theirs + name.removeprefix(ours)
    return "self" if name == "input" else name


def _slot_of(cls: type, public: str) -> str | None:
    return next((slot for slot in _saved_slots(cls) if _public(slot) == public), None)


class SavedTensor:
    """One saved tensor of one node, for putting hooks on it alone: ``grad_fn._raw_saved_self``."""

    __slots__ = ("node", "slot")

    def __init__(self, node: Node, slot: str) -> None:
        self.node, self.slot = node, slot

    def register_hooks(self, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
        """Exchange what is saved for ``pack(tensor)``, from which ``unpack`` makes it again when it is needed.

        :raises RuntimeError: it has been freed, is none, or has hooks already.
        """
        from nbautograd.autograd import saved_tensors

        saved_tensors.pack_slot(self.node, self.slot, pack, unpack)


class Slots:
    """Gradients of some outputs of one node, by output; adding two merges them."""

    __slots__ = ("by_index",)

    def __init__(self, by_index: dict[int, Any]) -> None:
        self.by_index = by_index

    def __add__(self, other: Slots) -> Slots:
        merged = dict(self.by_index)
        for index, gradient in other.by_index.items():
            merged[index] = merged[index] + gradient if index in merged else gradient
        return Slots(merged)

    def take(self, count: int) -> list[Any]:
        """The gradients of outputs 0 to count - 1, None where nothing arrived."""
        return [self.by_index.get(index) for index in range(count)]


class Port(Node):
    """Output ``index`` of a node with several outputs: gathers its gradient and puts it into that node's Slots."""

    __slots__ = ("index",)
    index: int

    def __init__(self, node: Node, index: int) -> None:
        self.f0, self.index, self.seq = node, index, tick()
        self.f1 = self.fit = self.rare = None

    def vjp(self, g: Any, keep: bool, needed: Any = None) -> tuple[Any, Any]:
        """The gradient, marked with the output that it belongs to."""
        return Slots({self.index: g}), None

    vjp_graph = vjp


class AccumulateGrad(Node):
    """Where an edge ends at a leaf: what arrives is added to ``variable.grad``.

    The engine's edge is the leaf itself; this is what ``next_functions`` shows for it. It is made on demand and the
    same one as long as somebody holds it. It holds its leaf, not the other way round.
    """

    __slots__ = ("variable",)
    arity = 0
    symbol = "+="
    variable: Any

    @property
    def hooks(self) -> Hooks | None:
        """The hooks of the accumulation, which live as long as the leaf does."""
        hooks: Hooks | None = self.variable.__dict__.get("_hooks")
        return hooks

    def own_hooks(self) -> Hooks:
        """The hooks of the leaf."""
        hooks: Hooks = self.variable.own_hooks()
        return hooks

    def __call__(self, *gradients: Any) -> None:
        """Add the gradient to ``variable.grad``."""
        from nbautograd.autograd import engine

        engine.accumulate(self.variable, gradients[0])

    def name(self) -> str:
        """PyTorch's full name for it."""
        return "torch::autograd::AccumulateGrad"


AccumulateGrad.__module__ = "builtins"


def accumulator(leaf: Any) -> AccumulateGrad:
    """The AccumulateGrad of a leaf."""
    known = leaf.__dict__.get("_accumulator")
    node: AccumulateGrad | None = None if known is None else known()
    if node is None:
        node = object.__new__(AccumulateGrad)
        node.variable, node.seq = leaf, 0
        node.f0 = node.f1 = node.fit = node.rare = None
        leaf.__dict__["_accumulator"] = weakref.ref(node)
    return node


def public_edge(edge: Any) -> tuple[Any, int]:
    """An edge as ``next_functions`` shows it."""
    if edge is None:
        return None, 0
    if not isinstance(edge, Node):
        return accumulator(edge), 0
    if edge.__class__ is Port:
        return edge.f0, edge.index
    return edge, 0
