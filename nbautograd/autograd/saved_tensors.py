"""Hooks on saved tensors: a node then keeps what ``pack`` made of an array, and ``unpack`` gives it back.

A node that is packed gets a subclass of its own class, in which the formulas see the arrays again for as long as they
run; nodes that nobody packs know nothing of all this.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from nbautograd.arrays import version_counter
from nbautograd.core import dispatch_mode
from nbautograd.core.grad_mode import no_grad
from nbautograd.core.node import FREED, Node
from nbautograd.core.tensor import Tensor, wrap
from nbautograd.errors import AutogradError
from nbautograd.fusion.lazy_gradient import materialize_pending

__all__ = ["Packed", "current", "pack", "pack_slot", "saved_tensors_hooks"]

Pack = Callable[[Tensor], Any]
Unpack = Callable[[Any], Tensor]

_stack: ContextVar[tuple[tuple[Pack, Unpack], ...]] = ContextVar("saved_tensors_hooks", default=())
disabled: ContextVar[str | None] = ContextVar("saved_tensors_hooks_disabled", default=None)


def current() -> tuple[Pack, Unpack] | None:
    """The innermost pair of hooks, which is the one that applies."""
    stack = _stack.get()
    return stack[-1] if stack else None


class Packed:
    """What is kept in the place of one array."""

    __slots__ = ("unpack", "value")

    def __init__(self, value: Any, unpack: Unpack) -> None:
        self.value, self.unpack = value, unpack

    def array(self) -> Any:
        """The array again.

        :raises TypeError: the hook gave no tensor.
        """
        tensor = self.unpack(self.value)
        if not isinstance(tensor, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(tensor).__name__}"
            )
        return tensor._a


def own(array: Any) -> Any:
    """An array that a user may get: a copy if it is a constant that operations share."""
    shared = not array.ndim and not isinstance(array, np.generic) and not getattr(array.flags, "writeable", True)
    return array.copy() if shared else array


def pack(array: Any, hooks: tuple[Pack, Unpack]) -> Packed:
    """An array given to the pack hook, which must not write to it."""
    array = own(array)
    before = version_counter.version_of(array)
    with no_grad():
        value = hooks[0](wrap(array))
    if version_counter.version_of(array) != before:
        raise AutogradError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can not "
            "be modified by in-place operations, as the graph's own values would change: clone() it first."
        )
    return Packed(value, hooks[1])


def _packed(node: Node) -> dict[str, Any]:
    return node.rare and node.rare.packed or {}


def pack_slot(node: Node, slot: str, pack_hook: Pack, unpack_hook: Unpack) -> None:
    """Pack one slot of a node."""
    if slot in _packed(node):
        raise AutogradError(
            "Calling register_hooks on a saved tensor whose hooks have already been set: only one pair of hooks is "
            "allowed at a time"
        )
    value = getattr(node, slot)
    if value is FREED:
        raise AutogradError("Calling register_hooks on a saved tensor after it has been freed")
    if value is None:
        raise AutogradError("Calling register_hooks on a saved tensor with value None is forbidden")
    if version_counter.changed_since(value, node.seq):
        node.raise_changed(slot, value)
    _replace(node, slot, value, (pack_hook, unpack_hook))


def _replace(node: Node, slot: str, value: Any, hooks: tuple[Pack, Unpack]) -> None:
    if isinstance(value, (int, float, complex)) and not hasattr(value, "dtype"):
        return  # a number in the place of a tensor
    if isinstance(value, (list, tuple)):
        kept: Any = [None if a is None else pack(a, hooks) for a in value]
    else:
        kept = pack(value, hooks)
    rare = node.rarities()
    if rare.packed is None:
        rare.packed, rare.lock = {}, rare.lock or threading.RLock()
    rare.packed[slot] = kept
    setattr(node, slot, None)
    if "_packed_of" not in type(node).__dict__:
        node.__class__ = _variant(type(node))


def _pack_node(nodes: list[Node]) -> None:
    """What the detour calls with every new node."""
    hooks = current()
    if hooks is not None:
        for node in nodes:
            for slot in node.saved:
                value = getattr(node, slot)
                if value is not None and value is not FREED and slot not in _packed(node):
                    _replace(node, slot, value, hooks)


_variants: dict[type[Node], type[Node]] = {}


def _variant(cls: type[Node]) -> type[Node]:
    """The subclass of nodes of this class that are packed."""
    if cls in _variants:
        return _variants[cls]

    def vjp(self: Node, g: Any, keep: bool, needed: Any = None) -> tuple[Any, Any]:
        materialize_pending()  # unpacking may write to anything
        with _unpacked(self, keep):
            return cls.vjp(self, g, True, needed)

    def vjp_graph(self: Node, g: Any, keep: bool, needed: Any = None) -> tuple[Any, Any]:
        with _unpacked(self, keep):
            return cls.vjp_graph(self, g, True, needed)

    def check_saved(self: Node) -> None:
        packed = _packed(self)
        for slot in self.saved:
            value = None if slot in packed else getattr(self, slot)
            if value is not None and value is not FREED and version_counter.changed_since(value, self.seq):
                self.raise_changed(slot, value)

    def saved_values(self: Node) -> dict[str, Any]:
        with _unpacked(self, True):
            return cls.saved_values(self)

    def saved_as_tensors(self: Node, slot: str) -> Any:
        with _unpacked(self, True, checked=False):
            return cls.saved_as_tensors(self, slot)

    members = {
        "__slots__": (),
        "__module__": cls.__module__,
        "__doc__": cls.__doc__,
        "_packed_of": cls,
        **{f.__name__: f for f in (vjp, vjp_graph, check_saved, saved_values, saved_as_tensors)},
    }
    made: type[Node] = type(cls.__name__, (cls,), members)
    _variants[cls] = made
    return made


@contextmanager
def _unpacked(node: Node, keep: bool, checked: bool = True) -> Iterator[None]:
    """The arrays back in their slots, for a while; let go of at the end unless they are to be kept."""
    rare = node.rarities()
    with rare.lock:
        packed = rare.packed
        if packed is None and checked:
            node.raise_freed()
        packed = packed or {}
        try:
            for slot, kept in packed.items():
                many = isinstance(kept, list)
                setattr(node, slot, [p and p.array() for p in kept] if many else kept.array())
            yield
            done = not keep
        except BaseException:
            done = False
            raise
        finally:
            for slot in packed:
                setattr(node, slot, None)
        if done:
            for slot in node.saved:
                setattr(node, slot, FREED)
            rare.packed = None


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Exchange what operations save for backward for ``pack_hook(tensor)``; ``unpack_hook`` makes it again.

    What ``pack_hook`` returns may be anything: a compressed copy, a file's name, a tensor on another device. Of nested
    pairs the innermost applies. ``pack_hook`` must not write into its tensor.

    :raises RuntimeError: on entering, inside :class:`disable_saved_tensors_hooks`.

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
        message = disabled.get()
        if message is not None:
            raise AutogradError(message)
        _stack.set((*_stack.get(), (self.pack_hook, self.unpack_hook)))
        dispatch_mode.enter(_pack_node)

    def __exit__(self, *exception: object) -> None:
        dispatch_mode.leave(_pack_node)
        _stack.set(_stack.get()[:-1])


class disable_saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Refuse :class:`saved_tensors_hooks` inside the ``with`` block, or the decorated function, with this message."""

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
