"""Views, and how their history follows in-place writes.

A view shares its base's memory. When one of them is written to while operations are recorded, the history of all of
them has to follow (``rebase_history``): the base's value now comes from a ``CopySlices`` node (the old base with a
region replaced), and every view of it is the same view of the new base, replayed.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from nbautograd.arrays import strides, version_counter
from nbautograd.core import dispatch_mode
from nbautograd.core.grad_mode import is_grad_enabled, is_inference_mode_enabled
from nbautograd.core.node import Node
from nbautograd.core.tensor import Tensor, new, wrap
from nbautograd.errors import InplaceError

__all__ = [
    "CopySlices",
    "CustomFunctionView",
    "View",
    "ViewOfOutput",
    "rebase_history",
    "register_view",
    "replay_view",
]


class ViewOfOutput:
    """One output of a view function that has several, such as ``split``: calling it gives that output."""

    __slots__ = ("function", "index")

    def __init__(self, function: Callable[..., Any], index: int) -> None:
        self.function, self.index = function, index

    def __call__(self, *args: Any) -> Any:  # noqa: D102 - said above
        return self.function(*args)[self.index]


class CustomFunctionView:
    """Marks a view that a custom Function returned of its input: it cannot be replayed on a new base."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what

    def __call__(self, value: Any, *_: Any) -> Any:
        """The view after its base has been written to: with a node that raises when a gradient reaches it."""
        node = new(_Unknown)
        node.next0 = node.next1 = node.input_meta = node.extras = None
        node.what, node._seq = self.what, version_counter.next_sequence_nr()
        return wrap(value._a, node)


class _Unknown(Node):
    """The node of a custom Function's view whose base has been written to: it has no derivative."""

    __slots__ = ("what",)
    what: str

    def vjp(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        raise InplaceError(
            f"{self.what} is a view and its base or another view of its base has been modified inplace. It was created "
            "inside a custom Function, so that its history cannot follow: clone() it in the Function."
        )

    vjp_graph = vjp


class View:
    """How a tensor is a view: its parent, the base at the end of the chain, and the function that replays it.

    ``body`` is the function over arrays, ``function`` the operation over tensors; both take ``arguments`` after the
    parent. ``recorded`` and ``inference`` are the modes in which the view was made.
    """

    __slots__ = ("arguments", "base", "body", "function", "inference", "parent", "recorded")

    def __init__(self, parent: Tensor, body: Callable[..., Any], function: Callable[..., Any], arguments: Any) -> None:
        self.parent = parent
        self.base: Tensor = parent if parent._view is None else parent._view.base
        self.body, self.function, self.arguments = body, function, arguments
        self.recorded, self.inference = is_grad_enabled(), is_inference_mode_enabled()

    def steps(self) -> tuple[tuple[Callable[..., Any], Callable[..., Any], Any], ...]:
        """The functions that lead from the base to the view, without references to either."""
        before = () if self.parent._view is None else self.parent._view.steps()
        return (*before, (self.body, self.function, self.arguments))


def replay_view(value: Any, steps: Any) -> Any:
    """The same view of another base: ``steps``, as ``View.steps`` gives them, applied to an array or a tensor."""
    for body, function, arguments in steps:
        value = (function if isinstance(value, Tensor) else body)(value, *arguments)
    return value


def register_view(view: Tensor, parent: Tensor, body: Any, function: Any, arguments: Any) -> None:
    """Note that ``view`` is a view of ``parent``; the base holds weak references to all of its views."""
    how = view._view = View(parent, body, function, arguments)
    views = how.base.__dict__.setdefault("_views", [[], 16])
    views[0].append(weakref.ref(view))
    if len(views[0]) > views[1]:  # drop the dead now and then, so that a loop over views does not pile them up
        views[0] = [ref for ref in views[0] if ref() is not None]
        views[1] = max(16, 2 * len(views[0]))


class CopySlices(Node):
    """The base of a view after the view was written to: the old base with the view's region replaced."""

    __slots__ = ("layout", "steps")
    arity = 2
    inputs = ("base", "region")
    symbol = "[…]="
    steps: Any
    layout: Any  # the base's strides and length in memory if a step is as_strided, which counts in them; else None
    lay_out: ClassVar[Callable[..., Tensor]]  # the operation that copies g so; set by ops/shape/as_strided.py

    @staticmethod
    def wants(target: Any, needed: Any) -> bool:
        """Whether there is a target and its gradient is wanted."""
        return target is not None and (needed is None or target in needed)

    def vjp(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """For the old base, the gradient with the region zeroed; for what was written, the region's gradient."""
        if self.layout is not None:
            g = strides.laid_out(g, *self.layout)
        region = replay_view(g, self.steps).copy() if self.wants(self.next1, needed) else None
        if not self.wants(self.next0, needed):
            return None, region
        g = g if self.layout is not None else g.copy() if g.ndim else np.array(g)
        replay_view(g, self.steps)[...] = 0
        return g, region

    def vjp_graph(self, g: Tensor, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """The same over tensors, recorded."""
        if self.layout is not None:
            g = self.lay_out(g, *self.layout)
        region = replay_view(g, self.steps) if self.wants(self.next1, needed) else None
        if not self.wants(self.next0, needed):
            return None, region
        g = g.clone() if self.layout is None else self.lay_out(g, *self.layout)
        replay_view(g, self.steps).zero_()
        return g, region


CopySlices.__module__ = "builtins"


def _move_retained(t: Tensor, fn: Any) -> None:
    """Let a tensor that retains its gradient go on to do so; its other hooks stay with the former value's node."""
    hooks = t._fn.hooks if isinstance(t._fn, Node) else None
    if hooks is not None and hooks.retain is not None and hooks.retain() is t and isinstance(fn, Node):
        fn.own_hooks().retain, hooks.retain = hooks.retain, None


def rebase_history(t: Tensor, fn: Any) -> None:
    """Give ``t`` the history ``fn``, its base a ``CopySlices`` node, and replay every other view of that base."""
    _move_retained(t, fn)
    t._fn = fn
    base = t
    if t._view is not None:
        base = t._view.base
        node = new(CopySlices)
        node.next0, node.next1, node.input_meta, node.steps = base._fn, fn, None, t._view.steps()
        node.layout = node.extras = None
        if any(step[0].__name__ == "as_strided_in" for step in node.steps):
            node.layout = (strides.of(base._a), strides.length_of(base._a))
        node._seq = version_counter.next_sequence_nr()
        if dispatch_mode.is_on():
            dispatch_mode.node_created(node)
        _move_retained(base, node)
        base._fn = node
    for ref in base.__dict__.get("_views", ([],))[0]:
        view = ref()
        if view is not None and view._view.recorded:
            how = view._view
            view._fn = how.function(how.parent, *how.arguments)._fn
