"""The local derivative of an operation with its numbers: what one step of the chain rule multiplies by.

Only formulas that the library itself has declared are evaluated, with the functions that its backward pass calls; of
those of anybody else's nodes no more than arithmetic of single numbers. What they come to is compared with what was
sent, so no wrong number is shown.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbautograd.viz.read import formulas, introspect, values
from nbautograd.viz.read.introspect import attribute, node_name
from nbautograd.viz.read.jacobians import DIAGONAL, MATRIX, MOVE, diagonal_parts, entry_of, matrix_parts
from nbautograd.viz.read.notes import trace_of

__all__ = ["LocalDerivative", "count_of", "local_derivative"]

_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}  # as PyTorch's nodes keep them
MOVED = 256  # elements whose way is told one by one
LARGEST = 65_536  # elements of a gradient for which a formula is evaluated


@dataclass(frozen=True, slots=True)
class LocalDerivative:
    """What one edge's gradient is computed by, with its numbers as far as they can be told."""

    kind: str
    factor: np.ndarray[Any, Any] | None = None
    """Of a diagonal Jacobian the derivative for each element, of a matrix product the matrix."""
    left: bool = False
    """Whether the matrix stands on the left of ``g``."""
    product: np.ndarray[Any, Any] | None = None
    """What ``g`` times the factor is, before broadcasting is undone by sums."""
    upstream: np.ndarray[Any, Any] | None = None
    """Of a diagonal Jacobian ``g``, for each element of the product the one that it is made from."""
    places: np.ndarray[Any, Any] | None = None
    """And where in ``g`` that element is; also where elements only move, with -1 for a zero."""


def local_derivative(node: Any, parameter: str, source: str, g: Any, sent: Any) -> LocalDerivative:
    """What ``node`` multiplied ``g`` by to get ``sent``, the gradient of ``parameter``.

    The numbers are left out where they cannot be told, and where they do not come to what was sent.
    """
    kind = entry_of(source)
    if kind not in (DIAGONAL, MATRIX):
        return LocalDerivative(kind, places=_moved(node, parameter, source, g, sent) if kind == MOVE else None)
    try:
        if values.is_near(g, LARGEST) and values.is_near(sent, LARGEST):
            upstream, wanted = values.host(g), values.host(sent)
            evaluate = _evaluator(node, parameter, source, wanted.shape)
            with np.errstate(all="ignore"):
                if evaluate is None:
                    numbers = _single_number(node, source, upstream) if kind == DIAGONAL else None
                else:
                    numbers = (_diagonal if kind == DIAGONAL else _matrix)(source, evaluate, upstream)
                if numbers and numbers.product is not None and _comes_to(numbers.product, wanted):
                    return numbers
    except Exception:  # a picture is drawn even where a formula cannot be evaluated
        pass
    return LocalDerivative(kind)


def _moved(node: Any, parameter: str, source: str, g: Any, sent: Any) -> np.ndarray[Any, Any] | None:
    """For each element that was sent the one of ``g`` that it is, -1 for a zero; None where that cannot be told.

    The formula tells: it is given the places themselves, from 1 on, in place of ``g``.
    """
    try:
        if not (values.is_near(g, MOVED) and values.is_near(sent, MOVED)):
            return None
        upstream, wanted = values.host(g), values.host(sent)
        evaluate = _evaluator(node, parameter, source, wanted.shape)
        if evaluate is None:
            return None
        moved = np.asarray(evaluate(source, g=np.arange(1.0, upstream.size + 1).reshape(upstream.shape)))
        places = moved.astype(np.int64) - 1
        if moved.shape != wanted.shape or places.min() < -1 or places.max() >= upstream.size:
            return None
        arrived = np.where(places < 0, 0, upstream.reshape(-1)[places])
        return places if np.array_equal(arrived, wanted, equal_nan=True) else None
    except Exception:  # a picture is drawn even where a formula cannot be evaluated
        return None


def count_of(node: Any, parameter: str, source: str, shape: tuple[int, ...] | None) -> int | None:
    """``n`` in a formula, by which a mean divides; None where there is none, or where it cannot be told.

    :param shape: of the input, as far as it is known from elsewhere.
    """
    if "count(" not in source and "each(" not in source:
        return None
    try:
        evaluate = _evaluator(node, parameter, source, shape)
        for part in ast.walk(ast.parse(source.strip(), mode="eval")) if evaluate is not None else ():
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in ("count", "each"):
                counted = part if part.func.id == "count" else part.args[1]
                result = evaluate(ast.unparse(counted))  # type: ignore[misc]
                return int(result) if part.func.id == "count" else math.prod(result)
    except Exception:  # a picture is drawn even where a formula cannot be evaluated
        return None
    return None


def _single_number(node: Any, source: str, g: np.ndarray[Any, Any]) -> LocalDerivative | None:
    """The same for single numbers in a formula of somebody else's, of which only arithmetic is understood."""
    operands = introspect.operands_of(node).items()
    known = {name: float(values.host(v).item()) for name, v in operands if np.size(values.host(v)) == 1}
    factor = formulas.value(source, {**known, "g": 1.0}) if g.size == 1 else None
    if factor is None:
        return None
    return LocalDerivative(DIAGONAL, np.full(g.shape, factor), product=g * factor, upstream=g)


def _diagonal(source: str, evaluate: Evaluate, g: np.ndarray[Any, Any]) -> LocalDerivative:
    parts = diagonal_parts(source)
    product = np.asarray(evaluate(parts.product, g=g))
    factor = np.asarray(evaluate(parts.product, g=np.ones_like(g)))
    numbered = np.arange(g.size).reshape(g.shape)
    places = np.broadcast_to(np.asarray(evaluate(parts.upstream, g=numbered)), product.shape)
    factor = np.broadcast_to(factor, product.shape)
    return LocalDerivative(DIAGONAL, factor, False, product, g.reshape(-1)[places], places)


def _matrix(source: str, evaluate: Evaluate, g: np.ndarray[Any, Any]) -> LocalDerivative | None:
    for parts in matrix_parts(source) if g.ndim == 2 else ():
        if parts.test is None or evaluate(parts.test):
            factor = np.asarray(evaluate(parts.matrix))
            if parts.scale is not None:
                factor = factor * evaluate(parts.scale)
            return LocalDerivative(MATRIX, factor, parts.left, factor @ g if parts.left else g @ factor)
    return None


def _comes_to(product: np.ndarray[Any, Any], sent: np.ndarray[Any, Any]) -> bool:
    """Whether a product is what was sent, after the sums that undo broadcasting."""
    summed = product
    if product.shape != sent.shape:
        extra = product.ndim - sent.ndim
        if extra < 0:
            return False
        summed = summed.sum(axis=tuple(range(extra)))
        ones = tuple(i for i, (a, b) in enumerate(zip(summed.shape, sent.shape, strict=True)) if a != b)
        if any(sent.shape[i] != 1 for i in ones):
            return False
        summed = summed.sum(axis=ones, keepdims=True)
    if np.array_equal(summed, sent):
        return True
    scale = float(np.abs(sent[np.isfinite(sent)]).max(initial=0.0))
    return bool(np.allclose(summed, sent, rtol=2e-3, atol=1e-4 * scale + 1e-30, equal_nan=True))


# -- the values that it names --------------------------------------------------------------------------------------


Evaluate = Callable[..., Any]
"""From a part of a formula and further names to what it comes to."""


def _evaluator(node: Any, parameter: str, source: str, shape: tuple[int, ...] | None) -> Evaluate | None:
    """Evaluates parts of a node's formula with its values; None where the formula is not the library's own.

    :param shape: of the parameter, if it is known.
    """
    declared = introspect.declared(node, node_name(node))
    value = attribute(declared, "formula_value")
    if value is None or declared.formulas.get(parameter) != source:
        return None
    own = {} if shape is None else {parameter: _ShapeOnly(shape)}
    names = own | _operands(node, declared)
    return lambda part, **more: value(part, names | more)


class _ShapeOnly:
    """Stands for a tensor of which a formula needs no more than the shape."""

    def __init__(self, shape: tuple[int, ...], dtype: str = "float32") -> None:
        self.shape, self.ndim, self.dtype, self.size = shape, len(shape), np.dtype(dtype), math.prod(shape)


def _operands(node: Any, declared: Any) -> dict[str, Any]:
    """Arrays, numbers and options by the names that formulas have for them."""
    operands: dict[str, Any] = {}
    trace = trace_of(node)
    for operand in trace.operands if trace is not None else ():
        if operand.value is None and operand.shape is not None:
            operands[operand.name] = _ShapeOnly(tuple(operand.shape), operand.dtype or "float32")
        elif operand.slot is not None and isinstance(operand.value, (int, float)):
            operands[operand.name] = np.asarray(operand.value, trace.dtype)  # a number in the place of a tensor
        else:
            operands[operand.name] = _plain(operand.value)
    if trace is not None and trace.value is not None:
        operands["result"] = _plain(trace.value)
    known: Mapping[str, Any] = introspect.operands_of(node) if trace is None else introspect.saved_values(node)
    operands |= {name: _plain(value) for name, value in known.items() if value is not None}
    if trace is None and "dim" in operands:
        operands["dim"] = _signed(operands["dim"])
    if operands.get("reduction") in _REDUCTIONS:
        operands["reduction"] = _REDUCTIONS[operands["reduction"]]
    for what, slot in (attribute(declared, "formula_slots") or {}).items():
        if hasattr(node, slot):
            name, _, metadata = what.partition(".")
            if metadata == "shape":
                operands.setdefault(name, _ShapeOnly(tuple(getattr(node, slot))))
            elif not metadata and what.isidentifier():
                operands.setdefault(name, _plain(getattr(node, slot)))
    return operands


def _signed(dim: Any) -> Any:
    """A dimension, which PyTorch's nodes keep as an unsigned number: 2**64 - 1 is the last one."""
    if isinstance(dim, (tuple, list)):
        return tuple(map(_signed, dim)) or None
    return dim - 2**64 if isinstance(dim, int) and dim >= 2**63 else dim


def _plain(value: Any) -> Any:
    if not hasattr(value, "shape") or isinstance(value, (int, float, complex)):
        return value
    if not values.is_near(value, sys.maxsize):
        raise ValueError("it would have to be copied from another device")
    return values.host(value)
