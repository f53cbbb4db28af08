"""Views, and their history after in-place writes.

A view shares its base's memory. If one of them is written to while operations are recorded, the history of all of them
must follow (``rebase_history``): the base's value now comes from a ``CopySlices`` node (the old base with a region
replaced), and every view of it is the same part of the new base. The history of a view is recomputed lazily: until its
next use its class is ``_StaleView``, whose ``_fn`` builds the new history, or raises if that is impossible.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from nbautograd._engine.arrays import strides, version_counter
from nbautograd._engine.arrays.dtypes import INEXACT
from nbautograd._engine.core import dispatch_mode, tracing
from nbautograd._engine.core.batched import elements
from nbautograd._engine.core.grad_mode import enable_grad, is_grad_enabled, is_inference_mode_enabled
from nbautograd._engine.core.hooks import alive
from nbautograd._engine.core.node import LEAF, Node, OutputEdge, UnrecordedView
from nbautograd._engine.core.tensor import Tensor, new
from nbautograd.errors import InplaceError


class ViewOfOutput:
    """One output of a view function with several outputs, such as ``split``: calling it returns that output."""

    __slots__ = ("function", "index")

    def __init__(self, function: Callable[..., Any], index: int) -> None:
        self.function, self.index = function, index

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)[self.index]


NO_GRAD, INFERENCE, SEVERAL, CUSTOM = "no_grad", "inference", "several", "custom"
"""Reasons why the history of a view cannot follow a write: the mode that it was created in, or the function that
returned it (PyTorch's CreationMeta).
"""


class View:
    """The origin of a view: its parent, the base at the end of the chain, and the function that replays it.

    ``body`` is the function over arrays, ``function`` the operation over tensors; both take ``arguments`` after the
    parent. ``obstacle`` is None, or the reason why its history cannot follow a recorded write.
    """

    __slots__ = ("arguments", "base", "body", "function", "obstacle", "parent")

    def __init__(self, parent: Tensor, body: Callable[..., Any], function: Callable[..., Any], arguments: Any) -> None:
        self.parent = parent
        how = parent._view
        self.base: Tensor = parent if how is None else how.base
        self.body, self.function, self.arguments = body, function, arguments
        if not is_grad_enabled():
            inferred = is_inference_mode_enabled() or how is not None and how.obstacle is INFERENCE
            self.obstacle: str | None = INFERENCE if inferred else NO_GRAD
        elif function.__class__ is ViewOfOutput:
            self.obstacle = SEVERAL
        else:
            self.obstacle = None if how is None else how.obstacle

    def steps(self) -> tuple[tuple[Callable[..., Any], Callable[..., Any], Any], ...]:
        """Return the functions that lead from the base to the view, without references to either."""
        before = () if self.parent._view is None else self.parent._view.steps()
        return (*before, (self.body, self.function, self.arguments))


class DualView(View):
    """A view that shares no tangents with its base, at ``level``, or at any level if that is None."""

    __slots__ = ("level",)

    def __init__(self, how: View, level: Any) -> None:
        super().__init__(how.parent, how.body, how.function, how.arguments)
        self.obstacle, self.level = how.obstacle, level


def replay_view(value: Any, steps: Any) -> Any:
    """Apply the ``steps`` of a view (``View.steps``) to another base, an array or a tensor."""
    for body, function, arguments in steps:
        value = (function if isinstance(value, Tensor) else body)(value, *arguments)
    return value


def register_view(view: Tensor, parent: Tensor, body: Any, function: Any, arguments: Any) -> Any:
    """Record that ``view`` is a view of ``parent``; the base holds weak references to all of its views.

    :returns: the ``_fn`` of the view if it is not recorded.
    """
    how = view._view = View(parent, body, function, arguments)
    base = how.base
    views = base._views
    if views is None:
        views = base._views = [[], 16]
    views[0].append(weakref.ref(view))
    if len(views[0]) > views[1]:  # drop dead references sometimes, so that a loop over views does not accumulate them
        views[0] = [ref for ref in views[0] if ref() is not None]
        views[1] = max(16, 2 * len(views[0]))
    return None if how.obstacle is None or base._fn is None else UnrecordedView()


def views_of(base: Tensor) -> Iterator[Tensor]:
    """Return all live views of a tensor."""
    for ref in () if base._views is None else base._views[0]:
        view = ref()
        if view is not None:
            yield view


def _layout(base: Any, steps: Any) -> Any:
    """Return the strides and memory length that a gradient of ``base`` needs to replay ``steps`` on it.

    Returns None if row-major order suffices: the base has it, and no step depends on strides.
    """
    if base.flags.c_contiguous and not any(hasattr(step[0], "reads_strides") for step in steps):
        return None
    return strides.of(base), strides.length_of(base)


class CopySlices(Node):
    """The base of a view after the view was written to: the old base with the view's region replaced."""

    __slots__ = ("layout", "steps")
    arity = 2
    inputs = ("base", "region")
    symbol = "[…]="
    steps: Any
    layout: Any
    lay_out: ClassVar[Callable[..., Tensor]]  # copies g into the layout; set by ops/shape/slicing.py

    def name(self) -> str:
        """Return PyTorch's full name of the node."""
        return "torch::autograd::CopySlices"

    @staticmethod
    def wants(target: Any, needed: Any) -> bool:
        """Return whether a target exists and its gradient is requested."""
        return target is not None and (needed is None or target in needed)

    def vjp(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Return the gradients of the old base, with the region zeroed, and of the written value: the region's."""
        if self.layout is not None:
            g = strides.laid_out(g, *self.layout)
        region = replay_view(g, self.steps).copy() if self.wants(self.next1, needed) else None
        if not self.wants(self.next0, needed):
            return None, region
        g = g if self.layout is not None else g.copy() if g.ndim else np.array(g)
        replay_view(g, self.steps)[...] = 0
        return g, region

    def vjp_graph(self, g: Tensor, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Compute this vjp over tensors, recorded."""
        if self.layout is not None:
            g = self.lay_out(g, *self.layout)
        region = replay_view(g, self.steps) if self.wants(self.next1, needed) else None
        if not self.wants(self.next0, needed):
            return None, region
        g = g.clone() if self.layout is None else self.lay_out(g, *self.layout)
        replay_view(g, self.steps).zero_()
        return g, region


class AsStridedBackward0(Node):
    """The history of a view after its base was written to, whichever operation created the view."""

    __slots__ = ("layout", "shape", "steps")
    inputs = ("input",)
    symbol = "strides"
    steps: Any
    layout: Any
    shape: Any  # of the base
    of_base: ClassVar[Callable[..., Tensor]]  # the gradient of as_strided; set by ops/shape/slicing.py

    def vjp(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Return zeros in the shape of the base, with the gradient at the elements of the view."""
        whole, part = self.places(g)
        if strides.overlaps(part.shape, strides.strides_of(part)):
            return self.of_base(g, strides.of(whole), *strides.of(part)), None
        part[...] = g
        return whole, None

    def vjp_graph(self, g: Tensor, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Compute this vjp over tensors, recorded."""
        whole, part = self.places(elements(g))
        return self.of_base(g, strides.of(whole), *strides.of(part)), None

    def places(self, g: Any) -> tuple[Any, Any]:
        """Return zeros with the strides of the base, and the view of them."""
        if self.layout is None:
            whole = np.zeros_like(g, shape=self.shape)
        else:
            geometry, length = self.layout
            whole = strides.restride(np.zeros_like(g, shape=(length,)), *geometry)
        return whole, replay_view(whole, self.steps)


CopySlices.__module__ = AsStridedBackward0.__module__ = "builtins"


_PROPERTIES: Any = vars(Tensor)


class _StaleView(Tensor):
    """A view whose memory was written to since its history was built: ``_fn`` rebuilds it.

    A tensor has this class until its history is read, since most views are never used again. A tensor that retains its
    gradient continues to retain it at its former node until then.
    """

    __slots__ = ()

    @property
    def _fn(self) -> Any:
        return self.refreshed() if is_grad_enabled() else _get_fn(self)  # unused while nothing is recorded

    @_fn.setter
    def _fn(self, fn: Any) -> None:
        self.__class__ = Tensor  # type: ignore[assignment]
        _set_fn(self, fn)

    def refreshed(self) -> Any:
        """Rebuild ``_fn``; raise InplaceError if the history could not follow the write."""
        before = _get_fn(self)
        if _is_recorded(before) or self._view.base._fn is not None:
            check_history_follows(self, indirect=True)
            fn = _history_from_base(self)
            move_retained(self, before, fn)
            _set_fn(self, fn)
        self.__class__ = Tensor  # type: ignore[assignment]
        return _get_fn(self)

    @property
    def grad_fn(self) -> Any:
        """The node whose output the tensor is; None for a leaf."""
        self.refreshed()
        return _PROPERTIES["grad_fn"].fget(self)

    @property
    def output_nr(self) -> int:
        """Index of the tensor among the outputs of its former node: it reads no history."""
        fn = _get_fn(self)
        return fn.index if fn.__class__ is OutputEdge else 0

    @property
    def is_leaf(self) -> bool:
        """True if the tensor is not the output of a node."""
        return not _is_recorded(self.refreshed())

    @property
    def grad(self) -> Any:
        """The accumulated gradient of backward passes."""
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        _PROPERTIES["grad"].fset(self, value)

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def retain_grad(self) -> None:
        """Keep the gradient, unless the tensor was a leaf at its last use."""
        if not self.requires_grad or not self.retains_grad and _is_recorded(_get_fn(self)):
            Tensor.retain_grad(self)

    @property
    def retains_grad(self) -> bool:
        """True if the gradient is retained, by its former node and then by its next one."""
        hooks = getattr(_get_fn(self), "hooks", None)
        return hooks is not None and hooks.retain is not None

    @property
    def requires_grad(self) -> bool:
        """True if the view or its base requires grad; this does not need the history."""
        return _get_fn(self) is not None or self._view.base._fn is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        recorded = _is_recorded(_get_fn(self))
        if not isinstance(value, bool) or recorded:
            _PROPERTIES["requires_grad"].fset(self, value)  # raises
        elif not recorded and self._a.dtype.kind in INEXACT:
            _set_fn(self, LEAF if value else None)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set ``requires_grad`` in place."""
        if requires_grad is not True:
            return Tensor.requires_grad_(self, requires_grad)
        if not _is_recorded(_get_fn(self)):
            self.requires_grad = True
        return self


_StaleView.__name__, _StaleView.__qualname__, _StaleView.__module__ = "Tensor", "Tensor", "nbautograd"


def _is_recorded(fn: Any) -> bool:
    return fn is not None and fn is not LEAF and fn.__class__ is not UnrecordedView


_get_fn, _set_fn = Tensor._fn.__get__, Tensor._fn.__set__  # the slot itself


def outdate_views(base: Tensor, but: Tensor | None = None) -> None:
    """Mark the views of ``base`` as stale after a write, so that they rebuild their history on next use."""
    for view in views_of(base):
        if view.__class__ is Tensor and view is not but:
            view.__class__ = _StaleView


def record_unrecorded_write(t: Tensor) -> None:
    """Count an unrecorded write to ``t``, and mark all views of its memory as stale."""
    version_counter.record_write(t._a)
    outdate_views(t if t._view is None else t._view.base)


def _history_from_base(view: Tensor, steps: Any = None) -> Any:
    """Return the ``_fn`` of a view, derived from the present history of its base."""
    base = view._view.base
    if steps is None:
        steps = view._view.steps()
    whole = base._shared_array()
    if view._a.dtype != whole.dtype:
        with enable_grad():
            return replay_view(base, steps)._fn
    node = new(AsStridedBackward0)
    node.next0 = base if base._fn is LEAF else base._fn or UnrecordedView()
    node.next1 = node.input_meta = node.extras = None
    node.steps, node.layout, node.shape = steps, _layout(whole, steps), whole.shape
    node._seq = version_counter.next_sequence_nr()
    if dispatch_mode.is_on():
        dispatch_mode.node_created(node)
    return node


def check_history_follows(view: Tensor, indirect: bool) -> None:
    """Check that the history of a view can follow a write.

    :param indirect: the write was to its base, or to another view of its base.
    :raises InplaceError: it cannot, because the view is one of several outputs, or was created while nothing was
        recorded.
    """
    why = view._view.obstacle
    if why is None:
        return
    fn = _get_fn(view)
    recorded = _is_recorded(fn)
    written = "its base or another view of its base has been" if indirect else "is being"
    output = ""
    if recorded:
        node, index = (fn.next0, fn.index) if fn.__class__ is OutputEdge else (fn, 0)
        output = f"Output {index} of {node.name().removesuffix('0').removesuffix('Backward')} is a view "
    if why in (INFERENCE, NO_GRAD) or not recorded:
        mode = INFERENCE if why == INFERENCE else NO_GRAD
        text = (
            f"{output + 'of a view which' if recorded else 'A view'} was created in {mode} mode and {written} modified "
            f"inplace {'in normal mode' if mode == INFERENCE else 'with grad mode enabled'}."
        )
    else:
        text = f"{output}and {written} modified inplace."
    raise InplaceError(f"{text} {_ADVICE[why]}")


_ADVICE = {
    SEVERAL: "This view is the output of a function that returns multiple views. Such functions do not allow the "
    "output views to be modified inplace: take the views one by one (x[i], x.narrow(...)), or compute a new tensor.",
    CUSTOM: "This view was created inside a custom Function (or because an input was returned as-is), whose backward "
    "would be bypassed by the write, leading to incorrect gradients. This behavior is forbidden: clone() the output in "
    "the Function.",
    NO_GRAD: "The history of its base would be unknown. Create the view and write to it in the same mode.",
    INFERENCE: "The history of its base would be unknown. Create the view and write to it in the same mode.",
}


def move_retained(t: Tensor, before: Any, fn: Any) -> None:
    """Move ``retain_grad`` of a tensor to its new node; its other hooks stay at the node of its former value."""
    hooks = before.hooks if isinstance(before, Node) else None
    if hooks is not None and hooks.retain is not None and hooks.retain() is t and isinstance(fn, Node):
        fn._own_hooks().retain, hooks.retain = hooks.retain, None


def _bypass_hooks(t: Tensor, before: Any, fn: Any) -> None:
    """Send the gradient of the former value of a view directly to the base, past the hooks of the view and its parents.

    Other inputs that ``fn`` may have got from the view keep their edges.
    """
    if fn.next0 is before:
        fn.next0 = _history_from_base(t)
    elif before in getattr(fn, "all_edges", ()):
        place = fn.all_edges.index(before)
        fn.all_edges = (*fn.all_edges[:place], _history_from_base(t), *fn.all_edges[place + 1 :])
    fn._seq = version_counter.next_sequence_nr()  # later than that of the new edge


def rebase_history(t: Tensor, fn: Any) -> None:
    """Give ``t`` the history ``fn``, its base a ``CopySlices`` node, and mark its other views as stale."""
    before = t._fn
    if t._view is None:
        t._fn = fn
        move_retained(t, before, fn)
        if t._views is not None:
            outdate_views(t)
        return
    how, base = t._view, t._view.base
    steps = how.steps()
    node = new(CopySlices)
    node.next0, node.next1, node.input_meta, node.extras = base._fn, fn, None, None
    node.steps, node.layout = steps, _layout(base._a, steps)
    if alive.count and before is not None and isinstance(fn, Node):
        _bypass_hooks(t, before, fn)
    node._seq = version_counter.next_sequence_nr()
    if dispatch_mode.is_on():
        dispatch_mode.node_created(node)
    if before is not None:
        move_retained(base, base._fn, node)
    if tracing.is_on_anywhere():
        tracing.note(node, base, (("base", base), ("region", t)))
    base._fn = node
    t._fn = _history_from_base(t, steps)
    move_retained(t, before, t._fn)
    outdate_views(base, t)
