"""The dispatch mode of forward mode: the Jacobian-vector product of an operation, by double backward.

No operation declares a jvp. Its formulas give u ↦ vjp(u), which is linear in the cotangent u. The vector-Jacobian
product of this function with the tangent v is the Jacobian-vector product: ⟨vjp(u), v⟩ = ⟨u, Jv⟩, so Jv = d/du ⟨vjp(u),
v⟩.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes, version_counter
from nbautograd._engine.core.dispatch_mode import Interpreter
from nbautograd._engine.core.grad_mode import enable_grad, is_grad_enabled
from nbautograd._engine.core.node import LEAF, Node, OutputEdge, OutputGrads
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd.autograd.backward import grad
from nbautograd.autograd.saved_tensors import unobserved
from nbautograd.autograd.tangents import (
    SPENT,
    Level,
    below,
    carry,
    cast_to,
    change,
    highest,
    levels,
    refuse_out,
    set_tangent,
    tangent_of,
    visible,
    write,
)


def run(op: Any, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run the operation at all levels at which an argument has a tangent, from the innermost outwards."""
    level = highest((*args, *kwargs.values()), visible())
    if level is None:
        return call(*args, **kwargs)
    if kwargs.get("out") is not None:
        refuse_out(op.name, *args, *kwargs.values())
    if op.kind == "view":
        return _view(op, call, args, kwargs)
    with below(level.number):
        return _derive(op, call, args, kwargs, level)


FORWARD = Interpreter(run=run, write=write, change=change, follows=True)


def _view(op: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a view, with the same view of the tangent as its tangent."""
    result, (source, *rest) = call(*args, **kwargs), args
    for level in visible():
        tangent = tangent_of(source, level)
        if tangent is None:
            continue
        with below(level.number):
            parts = run(op, call, tangent, *rest, **kwargs)  # which may have tangents of outer levels
            for out, part in zip(result, parts, strict=True) if isinstance(result, tuple) else ((result, parts),):
                set_tangent(out, part, level)
    return result


def _derive(op: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], level: Level) -> Any:
    """Run the operation, recorded, and compute the tangents of its results at ``level`` with its node."""
    recording = is_grad_enabled()
    stand_ins = _StandIns(recording, level)
    with enable_grad():
        named = {name: stand_ins.of(value) for name, value in kwargs.items()}
        result = run(op, call, *map(stand_ins.of, args), **named)
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    node = _node_of(outputs)
    if node is None:
        return result
    values = op.edges(_bound(op, args, kwargs))
    tangents = [tangent_of(value, level) for value in values]
    recorded = recording and any(map(_requires_grad, values))
    create_graph = recording and any(map(_requires_grad, (*values, *tangents)))
    try:
        derived = _jvp(node, outputs, tangents, create_graph)
    except NotImplementedError as error:
        raise NotImplementedError(
            f"Trying to use forward AD with {op.name} that does not support it because it has not been implemented "
            f"yet: {error}"
        ) from None
    _cut(node, set(map(id, stand_ins.leaves.values())))
    for out, tangent in zip(outputs, derived, strict=True):
        if not recorded:
            _unrecord(out, any(map(_requires_grad, _lower(values, level))))
        if tangent is not None:
            set_tangent(out, _apart(cast_to(tangent, out), tangents), level)
    if recorded:
        _remember(op, node, args, kwargs, level)
    return result


class _StandIns:
    """Leaves in place of arguments with tangents, so that the node has an edge for each of them."""

    def __init__(self, recording: bool, level: Level) -> None:
        self.recording, self.level = recording, level
        self.leaves: dict[int, Tensor] = {}  # by the id of the argument

    def of(self, value: Any) -> Any:
        """Return the argument itself, or the leaf that replaces it."""
        if isinstance(value, (tuple, list)):
            return [self.of(v) for v in value] if highest(value, [self.level]) else value
        if tangent_of(value, self.level) is None or self.recording and value._fn is not None:
            return value
        leaf = self.leaves.get(id(value))
        if leaf is None:
            leaf = self.leaves[id(value)] = wrap(value._a, LEAF)
            leaf.__dict__[SPENT] = True
            carry(value, leaf)
        return leaf


def _requires_grad(value: Any) -> bool:
    return isinstance(value, Tensor) and value._fn is not None


def _lower(values: list[Any], level: Level) -> list[Tensor | None]:
    """Return the tangents of tensors at the levels below this one."""
    return [tangent_of(value, before) for value in values for before in levels[: level.number]]


def _unrecord(out: Any, keep_lower: bool) -> None:
    """Drop the history of a result, which leads only to stand-ins; unless ``keep_lower``, also that of its tangents."""
    if isinstance(out, Tensor):
        out._fn = None
        for level in () if keep_lower else visible():
            _unrecord(tangent_of(out, level), False)


def _apart(tangent: Tensor, others: list[Tensor | None]) -> Tensor:
    """Return a tangent that shares no memory with ``others``: a linear operation may return its argument."""
    if any(t is not None and version_counter.same_memory(t._a, tangent._a) for t in others):
        apart: Tensor = tangent.clone()
        return apart
    return tangent


def _node_of(outputs: Any) -> Node | None:
    """Return the node of the outputs; None if nothing was recorded."""
    for t in outputs:
        if isinstance(t, Tensor) and isinstance(t._fn, Node):
            node: Node = t._fn.next0 if t._fn.__class__ is OutputEdge else t._fn
            return node
    return None


def _bound(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the tensors among the arguments, by name."""
    named = {name: value for name, value in kwargs.items() if name in op.tensors}
    bound: dict[str, Any] = op.signature.bind_partial(*args, **named).arguments
    return bound


@unobserved()
def _jvp(node: Node, outputs: Any, tangents: list[Tensor | None], create_graph: bool) -> list[Tensor | None]:
    """Compute the Jacobian-vector product: the tangents of the outputs, by differentiating the node's vjp."""
    units = list(map(_unit, outputs))
    wanted = [u for u in units if u is not None]
    if not wanted:
        return units
    with enable_grad():
        d, d1 = node.vjp_graph(_incoming(node, outputs, units), True)
    parts: Any = d1 if isinstance(d1, list) else [d, d1]
    pairs = [(p, t) for p, t in zip(parts, tangents, strict=False) if _requires_grad(p) and t is not None]
    derived: Any = [None] * len(wanted)
    if pairs:
        outputs, gradients = zip(*pairs, strict=True)
        derived = grad(outputs, wanted, gradients, create_graph=create_graph, allow_unused=True)
    answers = iter(derived)
    return [None if u is None else _or_zeros(next(answers), u) for u in units]


def _unit(out: Tensor) -> Tensor | None:  # the leaf that stands for an output's gradient
    return wrap(np.zeros_like(out._a), LEAF) if out._a.dtype.kind in dtypes.INEXACT else None


def _incoming(node: Node, outputs: Any, gradients: list[Tensor | None]) -> Any:
    """Return the gradients of the outputs as a node takes them: one, or several by number."""
    if node.outputs() > 1 or outputs[0]._fn.__class__ is OutputEdge:
        return OutputGrads({i: g for i, g in enumerate(gradients) if g is not None})
    return gradients[0]


def _or_zeros(tangent: Tensor | None, like: Tensor) -> Tensor:
    return wrap(np.zeros_like(like._a)) if tangent is None else tangent


def _cut(node: Node, stand_ins: set[int]) -> None:
    """Remove the node's edges to the stand-ins."""
    edges = getattr(node, "all_edges", None)
    if edges is not None:
        node.all_edges = tuple(None if id(e) in stand_ins else e for e in edges)  # type: ignore[attr-defined]
    else:
        node.next0, node.next1 = (None if id(e) in stand_ins else e for e in (node.next0, node.next1))


# -- tangents of saved tensors -----------------------------------------------------------------------------------------


def _remember(op: Any, node: Node, args: tuple[Any, ...], kwargs: dict[str, Any], level: Level) -> None:
    """Record the tangents of arrays that the node has saved in another dtype, for forward mode over its backward."""
    bound = _bound(op, args, kwargs)
    for slot in node.saved:
        saved, tangent = getattr(node, slot), tangent_of(bound.get(slot[2:]), level)
        if tangent is not None and hasattr(saved, "dtype") and level.arrays.get(saved) is None:
            level.arrays.set(saved, tangent)


def unpacked(t: Tensor, saved: Any) -> None:
    """Restore the tangents of a saved tensor when it is unpacked."""
    for level in visible():
        tangent = level.arrays.get(saved)
        if tangent is not None and level.tangents.get(t) is None:
            with below(level.number):
                level.tangents.set(t, cast_to(tangent, t))


def copied(array: Any, copy: Any) -> None:
    """Give the copy of a saved array, made before it is overwritten, the present tangents."""
    for level in visible():
        tangent = level.arrays.get(array)
        if tangent is not None:
            with below(level.number):
                level.arrays.set(copy, tangent.clone())


def packed(t: Tensor) -> Callable[[Tensor], Tensor] | None:
    """Return the function that restores the present tangents of a saved tensor packed by a hook."""
    tangents = [(level, tangent) for level in visible() if (tangent := tangent_of(t, level)) is not None]

    def restore(tensor: Tensor) -> Tensor:
        for level, tangent in tangents:
            if level in visible() and level.tangents.get(tensor) is None:
                set_tangent(tensor, tangent, level)
        return tensor

    return restore if tangents else None
