"""Writing into a tensor: what may be written to, and whose history changes by it.

A view shares its base's memory. When either is written to while operations are recorded, the history of all of them
has to follow: the base's value now comes from a ``CopySlices`` node (the old base with a region replaced), and every
view of it is the same view of the new base.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd import backend, dtypes, storage
from nbautograd.errors import DtypeError, InplaceError, ShapeError
from nbautograd.grad_mode import is_grad_enabled
from nbautograd.node import LEAF, Node
from nbautograd.tensor import Tensor, new, wrap

__all__ = ["View", "check_writable", "into", "link", "resize_into", "store", "update"]


class View:
    """How a tensor is a view: of which parent, the base at the end of the chain, and how to look again."""

    __slots__ = ("arguments", "base", "body", "function", "parent")

    def __init__(self, parent: Tensor, body: Callable[..., Any], function: Callable[..., Any], arguments: Any) -> None:
        self.parent = parent
        self.base: Tensor = parent if parent._view is None else parent._view.base
        self.body, self.function, self.arguments = body, function, arguments

    def steps(self) -> tuple[tuple[Callable[..., Any], Callable[..., Any], Any], ...]:
        """How to get from the base to the view, without holding either."""
        before = () if self.parent._view is None else self.parent._view.steps()
        return (*before, (self.body, self.function, self.arguments))


def look(value: Any, steps: Any) -> Any:
    """The view that ``steps`` make of another array or tensor shaped like the base."""
    for body, function, arguments in steps:
        value = (function if isinstance(value, Tensor) else body)(value, *arguments)
    return value


def link(view: Tensor, parent: Tensor, body: Any, function: Any, arguments: Any) -> None:
    """Note that ``view`` is a view of ``parent``."""
    how = view._view = View(parent, body, function, arguments)
    views = how.base.__dict__.setdefault("_views", [[], 16])
    views[0].append(weakref.ref(view))
    if len(views[0]) > views[1]:  # drop the dead now and then, so that a loop over views does not pile them up
        views[0] = [ref for ref in views[0] if ref() is not None]
        views[1] = max(16, 2 * len(views[0]))


class CopySlices(Node):
    """The base of a view after the view was written to: the old base with the view's region replaced."""

    __slots__ = ("steps",)
    arity = 2
    inputs = ("base", "region")
    symbol = "[…]="
    steps: Any

    def name(self) -> str:
        """PyTorch's full name for it."""
        return "torch::autograd::CopySlices"

    def vjp(self, g: Any, keep: bool) -> tuple[Any, Any]:
        region = look(g, self.steps).copy() if self.f1 is not None else None
        if self.f0 is None:
            return None, region
        g = g.copy() if g.ndim else np.array(g)
        look(g, self.steps)[...] = 0
        return g, region

    def vjp_graph(self, g: Tensor, keep: bool) -> tuple[Any, Any]:
        region = look(g, self.steps)
        if self.f0 is None:
            return None, region
        g = g.clone()
        look(g, self.steps).zero_()
        return g, region


CopySlices.__module__ = "builtins"


def check_writable(t: Tensor, what: str) -> None:
    """Make sure that ``t`` may be written to in place.

    :raises InplaceError: ``t`` is a leaf that requires grad, or a view of one, and operations are recorded.
    :raises RuntimeError: several elements of ``t`` are one place in memory.
    """
    if is_grad_enabled():
        if t._view is not None and t._view.base._fn is LEAF:
            raise InplaceError(
                f"a view of a leaf Variable that requires grad is being used in an in-place operation ({what}). "
                "Write inside torch.no_grad(), or compute a new tensor instead."
            )
        if t._fn is LEAF:
            raise InplaceError(
                f"a leaf Variable that requires grad is being used in an in-place operation ({what}). "
                "Write inside torch.no_grad() or to its .data, or compute a new tensor instead (w = w - step)."
            )
    a = t._a
    if a.ndim and a.size and any(stride == 0 and size > 1 for stride, size in zip(a.strides, a.shape, strict=True)):
        raise InplaceError(
            f"unsupported operation: more than one element of the written-to tensor refers to a single memory location "
            f"(it was expanded). Please clone() the tensor before performing {what}."
        )


def update(t: Tensor, name: str, function: Callable[..., Tensor], args: Any, kwargs: Any) -> Tensor:
    """``t.name(...)`` for an in-place method: compute, then write into ``t``; an error changes nothing."""
    if not isinstance(t, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(t).__name__}")
    check_writable(t, name)
    return store(t, function(t, *args, **kwargs))


def store(t: Tensor, result: Tensor) -> Tensor:
    """Write ``result`` into ``t``, which takes over its history.

    :raises RuntimeError: ``result`` has another shape, or a dtype of a higher category.
    """
    if result._a.shape != t._a.shape:
        raise ShapeError(
            f"output with shape {list(t._a.shape)} doesn't match the broadcast shape {list(result._a.shape)}"
        )
    check_cast(result._a.dtype, t._a.dtype)
    before, target = t._a, t.shared_array()
    node = result._fn
    recorded = is_grad_enabled() and (node is not None or t._fn is not None)
    if recorded and isinstance(node, Node):
        _keep_saved(node, (before, target), result._a, target)
    with backend.quiet():
        target[...] = result._a
    storage.record_write(target)
    if recorded:
        if isinstance(node, Node) and node.seq:
            node.seq = storage.tick()  # the result that it saved is what has just been written
        rebase(t, node)
    return t


def _keep_saved(node: Node, old: tuple[Any, ...], result: Any, target: Any) -> None:
    """Before ``target`` is overwritten: copy what the node saved of it, and let a saved result be the target itself."""
    for name in node.saved:
        value = getattr(node, name)
        if any(value is a for a in old):
            setattr(node, name, value.copy())
        elif value is result and result.dtype == target.dtype:
            setattr(node, name, target)


def check_cast(source: np.dtype[Any], target: np.dtype[Any]) -> None:
    """Make sure that a result may be written into a tensor of the target dtype.

    :raises RuntimeError: that would lose its category (a float into integers, a complex into floats).
    """
    if source != target and dtypes.of(source).rank > max(1, dtypes.of(target).rank) - (target.kind == "b"):
        raise DtypeError(
            f"result type {dtypes.of(source).name} can't be cast to the desired output type {dtypes.of(target).name}"
        )


def rebase(t: Tensor, fn: Any) -> None:
    """Give ``t`` the history ``fn``, its base the replaced region, and every other view of that base a fresh look."""
    t._fn = fn
    base = t
    if t._view is not None:
        base = t._view.base
        node = new(CopySlices)
        node.f0, node.f1, node.fit, node.steps = base._fn, fn, None, t._view.steps()
        node.seq = storage.tick()
        base._fn = node
    for ref in base.__dict__.get("_views", ([],))[0]:
        view = ref()
        if view is not None:
            how = view._view
            view._fn = how.function(how.parent, *how.arguments)._fn


def into(out: Any, result: Any, name: str) -> Any:
    """The result, written into the tensor given as ``out=`` if there is one."""
    return result if out is None else resize_into(out, result, name)


def resize_into(out: Any, result: Any, name: str) -> Any:
    """Write ``result`` into the tensor given as ``out=``, which takes its shape and keeps its own dtype.

    Several results go into as many tensors.
    """
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(f"{name}(): argument 'out' must be a tuple of {len(result)} Tensors, not {out!r:.50}")
        written = [resize_into(o, r, name) for o, r in zip(out, result, strict=True)]
        return type(result)(written)
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if is_grad_enabled() and (out._fn is not None or result._fn is not None):
        raise InplaceError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    check_cast(result._a.dtype, out._a.dtype)
    if out._a.shape != result._a.shape:
        if out.numel():
            _warn_resized(out, result)
        fresh = backend.module(out.device).empty(result._a.shape, out._a.dtype)
        fresh[...] = result._a
        out._a = fresh
        return out
    return store(out, wrap(result._a))


def _warn_resized(out: Tensor, result: Tensor) -> None:
    import warnings

    warnings.warn(
        "An output with one or more elements was resized since it had shape "
        f"{list(out._a.shape)}, which does not match "
        f"the required output shape {list(result._a.shape)}. Resize it to zero elements first "
        "(t.resize_(0)) to reuse it.",
        UserWarning,
        stacklevel=4,
    )
