"""The local derivative of an operation with its numbers: what one step of the chain rule multiplies by.

Only formulas that the library itself has declared are evaluated, with the functions that its backward pass calls; of
those of anybody else's nodes no more than arithmetic of single numbers. What they come to is compared with what was
sent, so no wrong number is shown.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nbautograd.viz.read import formulas, introspect, values
from nbautograd.viz.read.introspect import attribute, node_name
from nbautograd.viz.read.jacobians import DIAGONAL, MATRIX, MOVE, diagonal_code, entry_of, matrix_codes

__all__ = ["LocalDerivative", "count_of", "local_derivative"]

_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}  # as PyTorch's nodes keep them
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
    """And where in ``g`` that element is."""


def local_derivative(node: Any, parameter: str, source: str, g: Any, sent: Any) -> LocalDerivative:
    """What ``node`` multiplied ``g`` by to get ``sent``, the gradient of ``parameter``.

    The numbers are left out where they cannot be told, and where they do not come to what was sent.
    """
    kind = entry_of(source)
    if kind not in (DIAGONAL, MATRIX, MOVE):
        return LocalDerivative(kind)
    try:
        if values.is_near(g, LARGEST) and values.is_near(sent, LARGEST):
            upstream, wanted = values.host(g), values.host(sent)
            names = _scope_and_operands(node, parameter, source, wanted.shape)
            with np.errstate(all="ignore"):
                if names is None:
                    numbers = _single_number(node, source, upstream) if kind == DIAGONAL else None
                elif kind == MOVE:
                    return _moved(source, *names, upstream, wanted)
                else:
                    numbers = (_diagonal if kind == DIAGONAL else _matrix)(source, *names, upstream)
                if numbers and numbers.product is not None and _comes_to(numbers.product, wanted):
                    return numbers
    except Exception:  # a picture is drawn even where a formula cannot be evaluated
        pass
    return LocalDerivative(kind)


def count_of(node: Any, parameter: str, source: str, shape: tuple[int, ...] | None) -> int | None:
    """``n`` in a formula, by which a mean divides; None where there is none, or where it cannot be told.

    :param shape: of the input, as far as it is known from elsewhere.
    """
    if "count(" not in source and "each(" not in source:
        return None
    try:
        names = _scope_and_operands(node, parameter, source, shape)
        for part in ast.walk(ast.parse(source.strip(), mode="eval")) if names else ():
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in ("count", "each"):
                counted = part if part.func.id == "count" else part.args[1]
                result = eval(compile(ast.Expression(counted), "<formula>", "eval"), *names)  # type: ignore[misc]
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


def _diagonal(source: str, scope: dict[str, Any], own: dict[str, Any], g: np.ndarray[Any, Any]) -> LocalDerivative:
    code = diagonal_code(source)
    product = np.asarray(eval(code.product, scope, own | {"g": g}))
    factor = np.asarray(eval(code.product, scope, own | {"g": np.ones_like(g)}))
    numbered = np.arange(g.size).reshape(g.shape)
    places = np.broadcast_to(np.asarray(eval(code.upstream, scope, own | {"g": numbered})), product.shape)
    factor = np.broadcast_to(factor, product.shape)
    return LocalDerivative(DIAGONAL, factor, False, product, g.reshape(-1)[places], places)


def _moved(
    source: str, scope: dict[str, Any], own: dict[str, Any], g: np.ndarray[Any, Any], sent: np.ndarray[Any, Any]
) -> LocalDerivative:
    """Where in ``g`` each element that was sent is from; -1 where it is from nowhere and zero."""
    numbered = np.arange(1.0, g.size + 1).astype(g.dtype).reshape(g.shape)
    moved = np.asarray(eval(compile(source.strip(), "<formula>", "eval"), scope, own | {"g": numbered}))
    places = moved.astype(np.int64) - 1
    where = np.clip(places, 0, None)
    if moved.shape != sent.shape or not np.array_equal(np.where(places < 0, 0, g.reshape(-1)[where]), sent):
        return LocalDerivative(MOVE)
    return LocalDerivative(MOVE, places=places)


def _matrix(source: str, scope: dict[str, Any], own: dict[str, Any], g: np.ndarray[Any, Any]) -> LocalDerivative | None:
    for code in matrix_codes(source) if g.ndim == 2 else ():
        if code.test is None or eval(code.test, scope, own):
            factor = np.asarray(eval(code.matrix, scope, own))
            if code.scale is not None:
                factor = factor * eval(code.scale, scope, own)
            return LocalDerivative(MATRIX, factor, code.left, factor @ g if code.left else g @ factor)
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


def _scope_and_operands(
    node: Any, parameter: str, source: str, shape: tuple[int, ...] | None
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """What the names of a formula mean: functions, and this node's values; None where it is not the library's own.

    :param shape: of the parameter, if it is known.
    """
    declared = introspect.declared(node, node_name(node))
    if attribute(declared, "formula_scope") is None or declared.formulas.get(parameter) != source:
        return None
    own = {} if shape is None else {parameter: _ShapeOnly(shape)}
    return _scope(declared), own | _operands(node, declared)


@lru_cache(2000)
def _scope(declared: Any) -> dict[str, Any]:
    return dict(declared.formula_scope())


class _ShapeOnly:
    """Stands for a tensor of which a formula needs no more than the shape."""

    def __init__(self, shape: tuple[int, ...], dtype: str = "float32") -> None:
        self.shape, self.ndim, self.dtype, self.size = shape, len(shape), np.dtype(dtype), math.prod(shape)


def _operands(node: Any, declared: Any) -> dict[str, Any]:
    """Arrays, numbers and options by the names that formulas have for them."""
    operands: dict[str, Any] = {}
    trace = attribute(node, "trace")
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
    return values.host(value) if hasattr(value, "shape") and not isinstance(value, (int, float, complex)) else value
