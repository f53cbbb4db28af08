"""Costs of a graph by its nodes: floating-point operations from shapes, parameters, and the modules around."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nbautograd.viz.read import formulas, introspect, values
from nbautograd.viz.read.introspect import attribute, node_name, result_shape
from nbautograd.viz.read.notes import trace_of
from nbautograd.viz.read.walk import GraphWalk

__all__ = ["flops", "parameters"]

Shape = tuple[int, ...]
PRODUCTS = {
    "Mm": ("input", "mat2"), "Addmm": ("mat1", "mat2"), "Bmm": ("input", "mat2"), "Baddbmm": ("batch1", "batch2"),
    "Addbmm": ("batch1", "batch2"), "Mv": ("input", "vec"), "Addmv": ("mat", "vec"), "Dot": ("input", "tensor"),
}  # fmt: skip
"""The two factors of each product of matrices and vectors."""
OTHERS = ("Convolution", "ScaledDotProduct", "MkldnnRnnLayer")
VIEWS = ("T", "Transpose", "View", "UnsafeView", "Permute", "Expand", "Unsqueeze", "Squeeze", "ToCopy", "Clone")
"""Operations whose leaves are counted where their results are used."""


def flops(walk: GraphWalk, node: Any) -> tuple[int, int] | None:
    """Return the floating-point operations of a node, forward and backward; None if a shape is not known.

    As for PyTorch's own counter, a multiplication and an addition are two, and only products, convolutions and
    attention are counted. The backward pass computes such a product for each factor that gets a gradient.
    """
    base = formulas.base(node_name(node))
    if base not in PRODUCTS and not base.startswith(OTHERS):
        return 0, 0
    shapes, out = _shapes(walk, node), result_shape(node, 0) or ()
    try:
        if base in PRODUCTS:
            first, second = (shapes.get(name, ()) for name in PRODUCTS[base])
            if not (first and second or out or base == "Dot"):
                return None
            forward = _of_product(first, second, out)
            return forward, forward * _wanted(walk, node, PRODUCTS[base])
        if base == "Convolution":
            moved = shapes.get("input", out) if _is_transposed(node) else out
            forward = 2 * out[0] * math.prod(moved[2:]) * math.prod(shapes["weight"])
            return forward, forward * _wanted(walk, node, ("input", "weight"))
        if base.startswith("ScaledDotProduct"):
            forward, backward = _of_attention(shapes["query"], shapes["key"], shapes["value"])
            return forward, backward if _wanted(walk, node, ("query", "key", "value")) else 0
        if base == "MkldnnRnnLayer":
            forward = 2 * math.prod(shapes["input"][:2]) * (math.prod(shapes["weight0"]) + math.prod(shapes["weight1"]))
            return forward, 2 * forward
    except (KeyError, IndexError):  # an unknown shape
        pass
    return None


def _of_attention(query: Shape, key: Shape, value: Shape) -> tuple[int, int]:
    """Count the operations of attention and of its gradients, which compute the scores again."""
    pairs = math.prod(query[:-1]) * key[-2]
    forward = 2 * pairs * (query[-1] + value[-1])
    return forward, 2 * forward + 2 * pairs * query[-1]


def _of_product(first: Sequence[int], second: Sequence[int], out: Sequence[int]) -> int:
    """Count the operations of a product of matrices or vectors of these shapes; of one, the shape may be unknown."""
    if first and second:
        return 2 * math.prod(first) * (second[-1] if len(second) > 1 else 1)
    # the other one gets no gradient, so this one was not saved
    return 2 * math.prod(out) * (first[-1] if first else second[-2 if len(second) > 1 else -1])


def _shapes(walk: GraphWalk, node: Any) -> dict[str, Shape]:
    """The shapes of the arguments: from the notes, else from the edges and from saved tensors."""
    inputs = _inputs(node)
    shapes: dict[str, Shape] = {}
    for name, (to, index) in zip(inputs, walk.next[node], strict=False):
        shape = result_shape(to, index)
        if shape is None and formulas.base(node_name(to)) == "T":
            shape = (result_shape(*walk.next[to][0]) or ())[::-1]
        if shape:
            shapes[name] = shape
    for name, value in introspect.operands_of(node).items():
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            shapes.setdefault(name, values.shape(value))
    trace = trace_of(node)
    for operand in trace.operands if trace is not None else ():
        if operand.shape is not None:
            shapes[operand.name] = tuple(operand.shape)
    return shapes


def _inputs(node: Any) -> tuple[str, ...]:
    return tuple(attribute(introspect.declared(node), "inputs") or ("query", "key", "value"))


def _wanted(walk: GraphWalk, node: Any, names: tuple[str, ...]) -> int:
    """Return the number of arguments with a gradient."""
    inputs, edges = _inputs(node), walk.next[node]
    return sum(1 for name in names if name in inputs[: len(edges)] and edges[inputs.index(name)][0] is not None)


def _is_transposed(node: Any) -> bool:
    trace = trace_of(node)
    known = attribute(node, "_saved_transposed")
    return bool(known) or (trace is not None and any(operand.name == "shape" for operand in trace.operands))


def parameters(walk: GraphWalk) -> Mapping[Any, int]:
    """Return the elements of the leaves that each operation is the first to use."""
    users: dict[Any, list[Any]] = {}
    for node in walk.order:
        for to, _ in walk.next[node]:
            users.setdefault(to, []).append(node)
    found: dict[Any, int] = {}
    for leaf, first in users.items():
        variable = attribute(leaf, "variable")
        if variable is None:
            continue
        user = first[0]
        while formulas.base(node_name(user)) in VIEWS and len(users.get(user, ())) == 1:
            user = users[user][0]
        found[user] = found.get(user, 0) + math.prod(values.shape(variable))
    return found
