"""Saved tensors: ``grad_fn._saved_self`` and the like, and the hooks that pack and unpack them.

With hooks, a node stores the result of ``pack`` instead of an array, and ``unpack`` restores the tensor. The class of a
node with packed tensors becomes a subclass, whose ``vjp`` unpacks them while the formulas run; other nodes have no
overhead.
"""

from __future__ import annotations

import functools
from _thread import RLock
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from nbautograd import protocol
from nbautograd._engine.arrays import dtypes, version_counter
from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.node import FREED, Node, OutputEdge
from nbautograd._engine.core.tensor import Tensor, new, wrap
from nbautograd._engine.fusion.lazy_gradient import materialize_pending
from nbautograd._engine.ops._internal import cast
from nbautograd.errors import AutogradError, ShapeError, kind_of

Pack = Callable[[Tensor], Any]
Unpack = Callable[[Any], Tensor]

_stack: ContextVar[tuple[tuple[Pack, Unpack], ...]] = ContextVar("saved_tensors_hooks", default=())
disabled: ContextVar[str | None] = ContextVar("saved_tensors_hooks_disabled", default=None)


def current() -> tuple[Pack, Unpack] | None:
    """Return the innermost pair of hooks, which is the active one."""
    stack = _stack.get()
    return stack[-1] if stack else None


class RestoredLeaf(Node):
    """The ``_fn`` of a leaf that an unpack hook restored: the gradient flows to the leaf itself, ``next0``."""

    __slots__ = ()
    is_hidden = True

    def vjp(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Return the gradient unchanged."""
        return g, None

    vjp_graph = vjp


@contextmanager
def unobserved() -> Iterator[None]:
    """Disable hooks and observers inside the ``with`` block or the decorated function, for internal computations."""
    hooks = _stack.set(())
    try:
        observers = protocol.observers.set(())
        try:
            yield
        finally:
            protocol.observers.reset(observers)
    finally:
        _stack.reset(hooks)


class Packed:
    """The result of a pack hook, which replaces one saved tensor."""

    __slots__ = ("dtype", "own_dtype", "restore", "unpack", "value")

    def __init__(self, value: Any, unpack: Unpack, tensor: Tensor, dtype: Any) -> None:
        self.value, self.unpack = value, unpack
        self.own_dtype = tensor._a.dtype
        self.dtype = dtype or self.own_dtype  # the promoted dtype that the formulas over arrays expect
        # Restores the tangents of forward mode after unpacking.
        self.restore = None if dispatch_mode.tangents is None else dispatch_mode.tangents.packed(tensor)

    def unpacked(self) -> Tensor:
        """Call the unpack hook; raise TypeError if it does not return a tensor."""
        tensor: Any = self.unpack(self.value)
        if not isinstance(tensor, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(tensor).__name__}"
            )
        return tensor

    def array(self) -> Any:
        """Return the unpacked tensor's array, promoted like the saved one."""
        array = self.unpacked()._a
        return array if array.dtype == self.dtype else array.astype(self.dtype)

    def tensor(self, edge: Any) -> Tensor:
        """Return the unpacked tensor with the packed one's history, ``edge``: a node, a leaf, or None."""
        tensor = self.with_history(edge)
        return tensor if self.restore is None else self.restore(tensor)

    def with_history(self, edge: Any) -> Tensor:
        """Return the unpacked tensor with the history of the packed one, without tangents."""
        tensor: Tensor = self.unpacked()
        if self.dtype.kind not in dtypes.INEXACT:
            edge = None
        if isinstance(edge, Tensor):  # a leaf: the gradient flows to it, even if the hook returned other values
            if edge is tensor:
                return tensor
            node = new(RestoredLeaf)
            node.next0, node._seq = edge, version_counter.next_sequence_nr()
            node.next1 = node.input_meta = node.extras = None
            edge = node
        return tensor if edge is None and tensor._fn is None else wrap(tensor._a, edge)


def own(array: Any) -> Any:
    """Return an array to pass to users: a copy if it is a constant that operations share."""
    shared = not array.ndim and not isinstance(array, np.generic) and not getattr(array.flags, "writeable", True)
    return array.copy() if shared else array


def pack(tensor: Tensor, hooks: tuple[Pack, Unpack], dtype: Any = None) -> Packed:
    """Call the pack hook, which must not modify the tensor; the formulas expect ``dtype``, by default its own."""
    before = version_counter.version_of(tensor._a)
    with no_grad():
        value = hooks[0](tensor)
    if version_counter.version_of(tensor._a) != before:
        raise AutogradError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
            "be modified by in-place operations, as the graph's own values would change: clone() it first."
        )
    return Packed(value, hooks[1], tensor, dtype)


def pack_result(tensor: Tensor, hooks: tuple[Pack, Unpack]) -> Packed:
    """Pack a result of the node without a reference to the tensor, which would be a reference cycle."""
    packed = pack(tensor, hooks)
    if packed.value is tensor:
        packed.value = wrap(tensor._a)
    return packed


def _edges(node: Node, slot: str) -> Any:
    """Return the edge of the saved tensor in a slot, or a list of edges for several."""
    name, edges = slot[2:], node.next_nodes()
    if name.startswith("result"):
        outputs: Any = [OutputEdge(node, i) for i in range(node.count)] if hasattr(node, "count") else node
        return outputs[int(name[6:])] if name[6:] else outputs
    return list(edges) if len(edges) > len(node.inputs) else dict(zip(node.inputs, edges, strict=False)).get(name)


def _saved_as_tensors(node: Node, slot: str) -> Any:
    """Return the value of a slot: a saved array as a tensor with its history, everything else unchanged.

    :raises GraphFreedError: a backward pass has freed the tensor.
    :raises InplaceError: the tensor was written to since.
    """
    if not node.needs(slot):
        return None
    packed = _packed(node).get(slot)
    if packed is not None:
        edges = _edges(node, slot)
        if not isinstance(packed, (list, tuple)):
            return packed.tensor(edges)
        return tuple(t if isinstance(t, Tensor) else None for t in _tensors(packed, edges))
    value = getattr(node, slot)
    if value is FREED:
        node.raise_freed()
    if slot not in node.saved or isinstance(value, (type(None), int, float, complex, Tensor)):
        return value
    node.check_slot(slot)
    value, edges = getattr(node, slot), _edges(node, slot)
    if isinstance(value, (list, tuple)):
        return tuple(
            wrap(a, edge) if hasattr(a, "dtype") else None for a, edge in zip(value, _each(edges, value), strict=True)
        )
    return wrap(own(value), edges)


def _each(edges: Any, values: Sequence[Any]) -> Sequence[Any]:
    """Return the edges of several saved tensors; indices have None."""
    return edges if isinstance(edges, list) else [None] * len(values)


def _tensors(values: Sequence[Any], edges: Any, same_dtype: bool = False) -> Iterator[Any]:
    """Unpack the packed ones of several values; ``same_dtype``: in their dtypes, regardless of the hook's result."""
    for part, edge in zip(values, _each(edges, values), strict=True):
        if not isinstance(part, Packed):
            yield part
            continue
        tensor = part.tensor(edge)
        yield cast(tensor, part.own_dtype) if same_dtype and tensor._a.dtype != part.own_dtype else tensor


class SavedTensor:
    """A saved tensor of a node, on which hooks can be registered: ``grad_fn._raw_saved_self``."""

    __slots__ = ("node", "slot")
    node: Node
    slot: str

    def __init__(self) -> None:
        raise AutogradError(
            "Trying to create a SavedTensor object from Python is forbidden. Nodes have them: grad_fn._raw_saved_self."
        )

    @property
    def data(self) -> Any:
        """The saved tensor, or the result of its pack hook."""
        packed = _packed(self.node).get(self.slot)
        return self.node.saved_as_tensors(self.slot) if packed is None else packed.value

    def register_hooks(self, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
        """Replace the saved tensor by ``pack(tensor)``; ``unpack`` restores it when it is needed.

        :raises RuntimeError: the tensor has been freed, is None, or already has hooks.
        """
        pack_slot(self.node, self.slot, pack, unpack)


def _raw_saved(node: Node, slot: str) -> SavedTensor:
    raw: SavedTensor = new(SavedTensor)
    raw.node, raw.slot = node, slot
    return raw


_saved_as_tensors.__name__ = "saved_as_tensors"
Node.saved_as_tensors = _saved_as_tensors  # type: ignore[assignment]
Node._raw_saved = _raw_saved  # type: ignore[assignment]


def _packed(node: Node) -> dict[str, Any]:
    return node.extras and node.extras.packed or {}


def pack_slot(node: Node, slot: str, pack_hook: Pack, unpack_hook: Unpack) -> None:
    """Pack one slot of a node."""
    _check_callable("register_hooks()", pack_hook, unpack_hook)
    if slot in _packed(node):
        raise AutogradError(
            "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks "
            "is allowed at a time."
        )
    value = getattr(node, slot)
    if value is FREED:
        raise AutogradError(
            "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph "
            "are freed when you call .backward() or autograd.grad(): call register_hooks before, or specify "
            "retain_graph=True there."
        )
    if value is None:
        raise AutogradError("Calling register_hooks on a saved tensor with value None is forbidden")
    node.check_slot(slot)
    value, hooks = getattr(node, slot), (pack_hook, unpack_hook)
    if isinstance(value, (list, tuple)):
        _store_packed(node, slot, type(value)(pack(wrap(a), hooks) if hasattr(a, "dtype") else a for a in value))
    elif hasattr(value, "dtype"):  # not a Python number
        _store_packed(node, slot, pack(wrap(own(value)), hooks))


def _check_callable(what: str, *hooks: Any) -> None:
    for name, hook in zip(("pack_hook", "unpack_hook"), hooks, strict=True):
        if not callable(hook):
            raise TypeError(f"{what}: argument '{name}' must be callable, and this {kind_of(hook)} is not")


def _store_packed(node: Node, slot: str, packed: Any) -> None:
    """Replace the value of a slot by a ``Packed``, or a list of them."""
    extras = node.get_extras()
    if extras.packed is None:
        extras.packed, extras.lock = {}, extras.lock or RLock()
    extras.packed[slot] = packed
    setattr(node, slot, None)
    if "_packed_of" not in type(node).__dict__:
        node.__class__ = _variant(type(node))


def _pack_node(node: Node, call: dispatch_mode.Call | None) -> None:
    """Pack the saved tensors of a new node with the active hooks.

    The hooks get the tensors of the call themselves. They are not called for numbers, which the node saves as arrays.
    """
    hooks = current()
    if hooks is None or call is None:
        return
    for slot in node.saved:
        value = getattr(node, slot)
        if value is not None and value is not FREED and node.needs(slot):
            packed = _packed_value(slot[2:], value, call, hooks)
            if packed is not None:
                _store_packed(node, slot, packed)


_PACKING = dispatch_mode.Interpreter(made=_pack_node)


def _packed_value(name: str, value: Any, call: dispatch_mode.Call, hooks: tuple[Pack, Unpack]) -> Any:
    """Pack what a node saves under a name: results by their numbers, or arguments; return None for a number."""
    many = isinstance(value, (list, tuple))
    if name.startswith("result"):
        results = call.results
        return [pack_result(t, hooks) for t in results] if many else pack_result(results[int(name[6:] or 0)], hooks)
    if name in call.op.keys:
        return tuple(pack(wrap(a), hooks) if hasattr(a, "dtype") else a for a in value)
    arguments = {**dict(zip((*call.op.positional, call.op.rest), call.args, strict=False)), **call.kwargs}
    given: Any = arguments.get(name)
    if many:
        return [pack(t, hooks, a.dtype) for t, a in zip(given, value, strict=True)]
    return pack(given, hooks, value.dtype) if isinstance(given, Tensor) else None


_variants: dict[type[Node], type[Node]] = {}


def _variant(cls: type[Node]) -> type[Node]:
    """Return the subclass for nodes of this class with packed saved tensors."""
    if cls in _variants:
        return _variants[cls]

    def vjp(self: Node, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        materialize_pending()  # unpacking may write to anything
        with _unpacked(self, retain_graph):
            try:
                return cls.vjp(self, g, True, needed)
            except ValueError as error:  # NumPy's
                message = (
                    f"{self.name()}: the results of unpack hooks have sizes that do not match the formulas: {error}"
                )
                raise ShapeError(message) from None

    def vjp_graph(self: Node, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        with _unpacked(self, retain_graph, recorded=True):
            return cls.vjp_graph(self, g, True, needed)

    def saved_values(self: Node) -> dict[str, Any]:
        with _unpacked(self, True):
            return cls.saved_values(self)

    members: dict[str, Any] = {f.__name__: f for f in (vjp, vjp_graph, saved_values)}
    members |= {"__slots__": (), "__module__": cls.__module__, "__doc__": cls.__doc__, "_packed_of": cls}
    variant: type[Node] = type(cls.__name__, (cls,), members)
    _variants[cls] = variant
    return variant


@contextmanager
def _unpacked(node: Node, retain_graph: bool, recorded: bool = False) -> Iterator[None]:
    """Unpack into the slots for the ``with`` block; then free the saved values unless the graph is retained.

    :param recorded: unpack to tensors with history, for the formulas over tensors; otherwise to arrays.
    """
    extras = node.get_extras()
    with extras.lock:
        packed = extras.packed
        if packed is None:
            node.raise_freed()
        done = False
        try:
            for slot, stored in packed.items():
                many = isinstance(stored, (list, tuple))
                parts = stored if many else [stored]
                if recorded:
                    edges = _edges(node, slot)
                    each = _tensors(parts, edges if many else [edges], True)
                else:
                    each = (part.array() if isinstance(part, Packed) else part for part in parts)
                setattr(node, slot, type(stored)(each) if many else next(each))
            yield
            done = not retain_graph
        finally:
            for slot in packed:
                setattr(node, slot, None)
        if done:
            for slot in node.saved:
                setattr(node, slot, FREED)
            extras.packed = None


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """A mode that saves ``pack_hook(tensor)`` instead of tensors for backward; ``unpack_hook`` restores them.

    ``pack_hook`` may return anything: a compressed copy, the name of a file, a tensor on another device. Only the
    innermost of nested pairs is active. ``pack_hook`` gets the argument or result of the operation itself, and must not
    modify it. Backward computes with the tensor that ``unpack_hook`` returns.

    :param pack_hook: a function of a tensor, called when an operation saves it.
    :param unpack_hook: a function of the result of ``pack_hook`` that returns a tensor.
    :returns: a context manager.
    :raises RuntimeError: on entering, inside :class:`disable_saved_tensors_hooks`.
    :raises TypeError: on entering, a hook is not callable.

    >>> import nbautograd as torch
    >>> x = torch.tensor([2.0, 3.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([4., 6.])
    """

    def __init__(self, pack_hook: Pack, unpack_hook: Unpack) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        _check_callable("saved_tensors_hooks()", self.pack_hook, self.unpack_hook)
        message = disabled.get()
        if message is not None:
            raise AutogradError(message)
        _stack.set((*_stack.get(), (self.pack_hook, self.unpack_hook)))
        dispatch_mode.push(_PACKING)

    def __exit__(self, *exception: object) -> None:
        dispatch_mode.pop(_PACKING)
        _stack.set(_stack.get()[:-1])


class disable_saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """A mode in which :class:`saved_tensors_hooks` raises this message, in the ``with`` block or the decorated
    function.

    :param error_message: the message of the error.
    :returns: a context manager, which also decorates functions.
    :raises RuntimeError: on entering, inside :class:`saved_tensors_hooks`.

    >>> import nbautograd as torch
    >>> with torch.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     with torch.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
    nbautograd.errors.AutogradError: no hooks here
    """

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message
        self._before: list[str | None] = []

    def __enter__(self) -> None:
        if _stack.get():
            raise AutogradError(self.error_message)
        self._before.append(disabled.get())
        disabled.set(self.error_message)

    def __exit__(self, *exception: object) -> None:
        disabled.set(self._before.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function."""

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.error_message):
                return function(*args, **kwargs)

        return wrapper
