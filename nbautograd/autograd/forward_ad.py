"""Forward-mode AD: dual tensors, which carry a tangent, and operations that compute it along with their result.

No operation declares a JVP. Its formula gives u ↦ VJP(u), which is linear in u; and the vector-Jacobian product of that
function, taken at the tangent v, is the Jacobian-vector product (the double-backward trick): ⟨VJP(u), v⟩ = ⟨u, Jv⟩, so
Jv = d/du ⟨VJP(u), v⟩.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from nbautograd.arrays import dtypes
from nbautograd.autograd.backward import grad
from nbautograd.core import dispatch_mode, inplace, views
from nbautograd.core.grad_mode import (
    enable_grad,
    forward_ad_level,
    forward_ad_suspended,
    is_forward_ad_active,
    is_grad_enabled,
)
from nbautograd.core.node import LEAF, Node, OutputEdge, OutputGrads
from nbautograd.core.tensor import Tensor, wrap
from nbautograd.errors import AutogradError, ShapeError

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class _Level:
    """The duals and tangents of the one level that there can be, shared by all threads as PyTorch's is."""

    __slots__ = ("arrays", "duals")

    def __init__(self) -> None:
        self.duals: list[weakref.ref[Tensor]] = []
        # Nodes save arrays: by the id of an array, the array (alive, so that its id stays taken) and its tangent.
        self.arrays: dict[int, tuple[Any, Tensor]] = {}


level = _Level()


@contextmanager
def suspended() -> Iterator[None]:
    """Operations inside the ``with`` block see no tangents."""
    token = forward_ad_suspended.set(True)
    try:
        yield
    finally:
        forward_ad_suspended.reset(token)


class UnpackedDualTensor(NamedTuple):
    """What :func:`unpack_dual` returns: the value, and its tangent or None."""

    primal: Any
    tangent: Any


def enter_dual_level() -> int:
    """Begin a level: tensors can be given tangents until it ends.

    :raises RuntimeError: there is one already.
    """
    if forward_ad_level.number >= 0:
        raise AutogradError(
            "Nested forward mode AD is not supported at the moment: leave the first dual_level() before entering "
            "another, or take the outer derivative in reverse mode (autograd.grad)"
        )
    forward_ad_level.number = 0
    inplace.followers.append(_follow)
    dispatch_mode.on_unpack, dispatch_mode.on_copy = _restore, _moved
    dispatch_mode.push(_around, around=True, everywhere=True)
    return forward_ad_level.number


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level; all tangents are gone.

    :raises RuntimeError: ``level`` is not the one entered last.
    """
    if forward_ad_level.number < 0 or (level is not None and level != forward_ad_level.number):
        raise AutogradError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    dispatch_mode.pop(_around)
    dispatch_mode.on_unpack = dispatch_mode.on_copy = None
    inplace.followers.remove(_follow)
    state: _Level = globals()["level"]  # hidden by the argument
    for ref in state.duals:
        dual = ref()
        if dual is not None:
            dual.__dict__.pop("_tangent", None)
    forward_ad_level.number, state.duals, state.arrays = -1, [], {}


class dual_level:  # noqa: N801 - PyTorch's name
    """The ``with`` block inside which tensors can carry tangents.

    >>> import nbautograd as torch
    >>> import nbautograd.autograd.forward_ad as forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.5]))
    ...     forward_ad.unpack_dual(x * x)
    UnpackedDualTensor(primal=tensor([1., 4.]), tangent=tensor([2., 2.]))
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level(level=0)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of ``tensor`` that carries ``tangent``.

    :raises RuntimeError: there is no level, or the tangent is of another shape or dtype.
    :raises ValueError: a dtype is neither floating nor complex.
    """
    _check_level(level, "create a dual Tensor")
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype!r}")
    dual: Tensor = tensor.view(tensor.shape)
    if "_tangent" in dual.__dict__:
        raise AutogradError(
            "Nested forward mode AD is not supported: the tensor has a tangent already; give make_dual() its primal"
        )
    set_tangent(dual, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent, None where there is none."""
    if (forward_ad_level.number if level is None else level) < 0:
        return UnpackedDualTensor(tensor, None)
    with suspended():
        primal = tensor.view(tensor.shape)
    return UnpackedDualTensor(primal, tangent_of(tensor))


def _check_level(number: int | None, what: str) -> None:
    if forward_ad_level.number < 0:
        raise AutogradError(
            f"Trying to {what} for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    if number is not None and number != forward_ad_level.number:
        raise AutogradError(
            f"Trying to {what} for forward AD at level {number}, but the only level is {forward_ad_level.number}"
        )


# -- tangents --------------------------------------------------------------------------------------------------------


def tangent_of(value: Any) -> Tensor | None:
    """The tangent of a tensor; None where there is none."""
    return value.__dict__.get("_tangent") if isinstance(value, Tensor) else None


def set_tangent(t: Tensor, tangent: Tensor) -> None:
    """Give ``t`` a tangent.

    :raises RuntimeError: shape, dtype or device differ.
    """
    if tangent._a.shape != t._a.shape:
        raise ShapeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(t.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    if tangent._a.dtype != t._a.dtype or tangent.device != t.device:
        raise AutogradError(
            "Trying to set a forward gradient of another dtype or device than that of the original Tensor: "
            f"{tangent.dtype!r} on {tangent.device}, not {t.dtype!r} on {t.device}"
        )
    t.__dict__["_tangent"] = tangent
    level.duals.append(weakref.ref(t))
    level.arrays[id(t._a)] = (t._a, tangent)


def _restore(t: Tensor, saved: Any) -> None:
    """Called when a saved tensor is unpacked: give it the tangent that it had."""
    known = level.arrays.get(id(saved))
    if known is not None and "_tangent" not in t.__dict__ and not forward_ad_suspended.get():
        with suspended():
            t.__dict__["_tangent"] = _fitting(known[1], t)
        level.duals.append(weakref.ref(t))


def _fitting(tangent: Tensor, t: Tensor) -> Tensor:
    """A tangent in the dtype of its tensor."""
    if tangent._a.dtype == t._a.dtype:
        return tangent
    if tangent.is_complex() and not t.is_complex():
        tangent = tangent.real
    fitting: Tensor = tangent.cast(t._a.dtype)
    return fitting


def _moved(array: Any, copy: Any) -> None:
    """Called when a saved array is copied before it is overwritten: the copy has the same tangent."""
    known = level.arrays.get(id(array))
    if known is not None:
        level.arrays[id(copy)] = (copy, known[1])


def tangents_of(args: tuple[Any, ...]) -> list[Tensor | None] | None:
    """The tangents of all arguments; None where no argument has one."""
    if not is_forward_ad_active():
        return None
    found = [tangent_of(a) for a in args]
    return None if all(t is None for t in found) else found


# -- operations ------------------------------------------------------------------------------------------------------


def _around(op: Any, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The dispatch mode: operations with a tangent among their arguments compute one for their results."""
    if forward_ad_suspended.get() or not any(_has_tangent(value) for value in (*args, *kwargs.values())):
        return call(*args, **kwargs)
    with suspended():
        if op.kind == "view":
            return _view(call, args, kwargs)
        return _derive(op, call, args, kwargs)


def _has_tangent(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_has_tangent(v) for v in value)
    return isinstance(value, Tensor) and "_tangent" in value.__dict__


def _view(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A view is linear, and its tangent the same view of the tangent."""
    result, (source, *rest) = call(*args, **kwargs), args
    tangent = tangent_of(source)
    if tangent is None:
        return result
    parts = call(tangent, *rest, **kwargs)
    for out, part in zip(result, parts, strict=True) if isinstance(result, (tuple, list)) else ((result, parts),):
        set_tangent(out, part)
    return result


def _derive(op: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the operation once, recorded, and get the tangents of its results out of its node."""
    recording = is_grad_enabled()
    stand_ins = _StandIns(recording)
    with enable_grad():
        result = call(*map(stand_ins.of, args), **{name: stand_ins.of(value) for name, value in kwargs.items()})
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    node = _node_of(outputs)
    if node is None:
        return result
    values = _inputs(op, args, kwargs)
    tangents = [tangent_of(value) for value in values]
    recorded = recording and any(map(_requires_grad, values))
    found = _jvp(node, outputs, tangents, recorded or recording and any(map(_requires_grad, tangents)))
    _cut(node, {id(leaf) for leaf in stand_ins.leaves.values()})
    for out, tangent in zip(outputs, found, strict=True):
        if not recorded:
            out._fn = None
        if tangent is not None:
            set_tangent(out, _fitting(tangent, out))
    if recorded:
        _remember(op, node, args, kwargs)
    return result


class _StandIns:
    """Leaves in the place of arguments with tangents, so that the node has an edge for the derivative to go along."""

    def __init__(self, recording: bool) -> None:
        self.recording = recording
        self.leaves: dict[int, Tensor] = {}  # by the id of the argument

    def of(self, value: Any) -> Any:
        """The argument itself, or its leaf."""
        if isinstance(value, (tuple, list)):
            return [self.of(v) for v in value] if _has_tangent(value) else value
        if _has_tangent(value) and (value._fn is None or not self.recording):
            return self.leaves.setdefault(id(value), wrap(value._a, LEAF))
        return value


def _requires_grad(value: Any) -> bool:
    return isinstance(value, Tensor) and value._fn is not None


def _node_of(outputs: Any) -> Node | None:
    """The node that made the outputs; None where nothing was recorded."""
    for t in outputs:
        if isinstance(t, Tensor) and isinstance(t._fn, Node):
            node: Node = t._fn.next0 if t._fn.__class__ is OutputEdge else t._fn
            return node
    return None


def _inputs(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments that the edges of the operation's node belong to, in their order."""
    named = {name: value for name, value in kwargs.items() if name in op.tensors}
    bound = inspect.signature(op.body).bind_partial(*args, **named).arguments
    found: list[Any] = []
    for name in op.tensors:
        if name in op.formulas:
            value = bound.get(name)
            found += list(value or ()) if name in op.lists else [value]
    return found


def _jvp(node: Node, outputs: Any, tangents: list[Tensor | None], create_graph: bool) -> list[Tensor | None]:
    """The Jacobian-vector product: the tangents of the outputs, by differentiating the node's own VJP."""
    units = [wrap(np.zeros_like(out._a), LEAF) if out._a.dtype.kind in dtypes.INEXACT else None for out in outputs]
    if not any(u is not None for u in units):
        return units
    with enable_grad():
        many = node.outputs() > 1 or outputs[0]._fn.__class__ is OutputEdge
        g = OutputGrads({i: u for i, u in enumerate(units) if u is not None}) if many else units[0]
        d, d1 = node.vjp_graph(g, True)
    parts: Any = d1 if isinstance(d1, list) else [d, d1]
    both = zip(parts, tangents, strict=False)
    pairs = [(p, t) for p, t in both if p is not None and t is not None and p._fn is not None]
    wanted = [u for u in units if u is not None]
    found: Any = [None] * len(wanted)
    if pairs:
        found = grad([p for p, _ in pairs], wanted, [t for _, t in pairs], create_graph=create_graph, allow_unused=True)
    answers = iter(found)
    return [None if u is None else _or_zeros(next(answers), u) for u in units]


def _or_zeros(tangent: Tensor | None, like: Tensor) -> Tensor:
    return wrap(np.zeros_like(like._a)) if tangent is None else tangent


def _cut(node: Node, shadows: set[int]) -> None:
    """Remove the node's edges to the stand-ins."""
    edges = getattr(node, "all_edges", None)
    if edges is not None:
        node.all_edges = tuple(None if id(e) in shadows else e for e in edges)  # type: ignore[attr-defined]
    else:
        node.next0, node.next1 = (None if id(e) in shadows else e for e in (node.next0, node.next1))


def _remember(op: Any, node: Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Note the tangents of arrays that the node has saved cast, so that backward can be differentiated forward."""
    named = {name: value for name, value in kwargs.items() if name in op.tensors}
    bound = inspect.signature(op.body).bind_partial(*args, **named).arguments
    for slot in node.saved:
        saved, tangent = getattr(node, slot), tangent_of(bound.get(slot[2:]))
        if tangent is not None and hasattr(saved, "dtype") and id(saved) not in level.arrays:
            level.arrays[id(saved)] = (saved, tangent)


# -- writing in place ------------------------------------------------------------------------------------------------


def _follow(t: Tensor, result: Tensor) -> None:
    """After ``result`` was written into ``t``: the tangent follows, also that of a base and of other views of it."""
    if forward_ad_suspended.get():
        return
    new = tangent_of(result)
    base = t if t._view is None else t._view.base
    if new is None and "_tangent" not in t.__dict__:
        return
    with suspended():
        if new is None:
            new = wrap(np.zeros_like(t._a))
        if base is not t:
            before = tangent_of(base)
            written = wrap(np.zeros_like(base.shared_array())) if before is None else before.clone()
            views.replay_view(written, t._view.steps()).copy_(new)
            set_tangent(base, written)
        else:
            set_tangent(t, new)
        whole = tangent_of(base)
        for view in views.views_of(base):
            set_tangent(view, views.replay_view(whole, view._view.steps()))
    level.arrays[id(t._a)] = (t._a, new)
