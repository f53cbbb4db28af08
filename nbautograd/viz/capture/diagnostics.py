"""Compute the notes of a recording beside its numbers: origin of a NaN, freed nodes, vᵀJ."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from nbautograd import protocol
from nbautograd.viz.capture.timeline import Product
from nbautograd.viz.language import say
from nbautograd.viz.read import values
from nbautograd.viz.read.introspect import trace_of
from nbautograd.viz.read.model import GraphModel

__all__ = ["first_bad", "is_freed", "operand_names", "products", "reset"]

MAX_PRINTED_ELEMENTS = 16  # of a Jacobian
MAX_JACOBIAN_OPS = 60  # of a graph whose Jacobian is computed


def operand_names(model: GraphModel, key: str) -> dict[str, str]:
    """Return the user's names of the first and the second operand of an operation, by their names in formulas."""
    slots = {edge.slot: model.by_id[edge.src] for edge in model.edges if edge.dst == key}
    asked = (("input", 0), ("self", 0), ("other", 1))
    return {name: slots[slot].name for name, slot in asked if slot in slots and slots[slot].named}


def first_bad(node: Any, incoming: Any, sent: Any, names: Mapping[str, str]) -> str:
    """Find the first element that is not finite, and its inputs; return nothing if they are unknown.

    :param names: the user's names of the operands.
    """
    try:
        array = values.host(sent)
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        named = [] if incoming is None else [("g", incoming)]
        trace = trace_of(node)
        named += [(o.name, o.value) for o in (trace.operands if trace is not None else ()) if o.value is not None]
        parts = []
        for operand, value in named:
            told, name = _told_at(value, index, array.shape), names.get(operand, operand)
            if told:
                parts.append(say("bad_gradient" if operand == "g" else "bad_operand", name=name, value=told))
        if not parts:
            return ""
        about = {"numbers": say("bad_and").join(parts), "result": values.inline(array[index])}
        key = "bad_because_at" if array.size > 1 else "bad_because"
        return say(key, index=f"[{', '.join(map(str, index))}]", **about)
    except Exception:
        return ""


def _told_at(value: Any, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Return a number, or the element of an array of this shape, as text; nothing for other arrays."""
    own = tuple(getattr(value, "shape", ()))
    if own == shape:
        return values.inline(values.host(value)[index])
    return "" if math.prod(own) > 1 else values.inline(value)


def is_freed(node: Any) -> bool:
    """Return whether a pass has freed the saved tensors of a node."""
    read = getattr(node, "saved_values", None)
    try:
        if callable(read):
            read()
        else:
            for name in dir(type(node)):
                if name.startswith("_saved_"):
                    getattr(node, name)
    except Exception:
        return True
    return False


def reset(was: str, grad: Any) -> str:
    """Return the change of a gradient that was ``was`` after the last pass: ``none``, ``zeroed``, ``changed`` or
    nothing.
    """
    if values.inline(grad) == was:
        return ""
    if grad is None:
        return "none"
    try:
        return "changed" if values.host(grad).any() else "zeroed"
    except Exception:
        return "changed"


def _is_quiet(model: GraphModel, leaves: list[Any]) -> bool:
    """Return whether a graph is small, and runs no code of the user's backward."""
    nodes = [node for node in model.handles.ops if not hasattr(node, "variable")]
    declared = all(isinstance(getattr(type(n), "formulas", None), Mapping) and n.hooks is None for n in nodes)
    hooked = any(getattr(leaf, "_hooks", None) is not None for leaf in leaves)
    return 0 < len(nodes) <= MAX_JACOBIAN_OPS and 0 < len(leaves) <= 4 and declared and not hooked


def _rows(tensor: Any, leaves: list[Any]) -> list[tuple[Any, ...]]:
    """Compute the gradients of each element of a tensor, one pass for each."""
    library = sys.modules[type(tensor).__module__.partition(".")[0]]
    rows: list[tuple[Any, ...]] = []
    for i in range(math.prod(tensor.shape)):
        one = (tensor.detach() * 0).reshape(-1)
        one[i] = 1
        unit = one.reshape(tuple(tensor.shape))
        rows.append(library.autograd.grad(tensor, leaves, unit, retain_graph=True, allow_unused=True))
    return rows


def products(tensor: Any, gradient: Any, model: GraphModel) -> tuple[Product, ...]:
    """For each leaf of a small graph vᵀJ with its numbers; nothing where that is large or might have side effects.

    The rows of J are separate passes, so they must not trigger users' code: hooks, custom functions.
    """
    model, count = model.entire, math.prod(tensor.shape)
    leaves = [leaf for leaf in model.handles.kept if getattr(leaf, "requires_grad", False)]
    largest = max([math.prod(leaf.shape) * count for leaf in leaves], default=0)
    if count < 2 or largest > MAX_PRINTED_ELEMENTS or not _is_quiet(model, leaves):
        return ()
    token = protocol.observers.set(())
    try:
        rows = _rows(tensor, leaves)
        weights = values.host(gradient).reshape(-1)
        vjps = []
        for k, leaf in enumerate(leaves):
            if any(row[k] is None for row in rows):
                continue
            jacobian = np.stack([values.host(row[k]).reshape(-1) for row in rows])
            name = model.by_id[model.handles.leaves[id(leaf)]].name
            root = model.by_id[model.roots[0]].name
            vjps.append(_product(say("vjp_title", name=name, root=root), weights, jacobian))
        return tuple(vjps)
    except Exception:  # leave the picture out; the pass itself raises the error
        return ()
    finally:
        protocol.observers.reset(token)


def _product(title: str, v: np.ndarray[Any, Any], jacobian: np.ndarray[Any, Any]) -> Product:
    row, matrix, result = _texts(v), tuple(_texts(line) for line in jacobian), _texts(v @ jacobian)
    lines = "; ".join(", ".join(line) for line in matrix)
    return Product(title, row, matrix, result, f"{title}: [{', '.join(row)}] · [{lines}] = [{', '.join(result)}]")


def _texts(numbers: np.ndarray[Any, Any]) -> tuple[str, ...]:
    return tuple(values.inline(number) for number in numbers)
