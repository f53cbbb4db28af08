"""The local derivative of an operation with its numbers: what one step of the chain rule multiplies by.

What a formula comes to is compared with what was sent, so no wrong number is shown; where there is none, it is told
why. Of formulas of somebody else's nodes no more is computed than arithmetic of single numbers.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nbautograd.viz.read import formulas, introspect, values
from nbautograd.viz.read.formula_values import LARGEST, Evaluate, Operands, TooLarge, evaluator
from nbautograd.viz.read.introspect import node_name
from nbautograd.viz.read.jacobians import DIAGONAL, MATRIX, MOVE, diagonal_parts, entry_of, matrix_parts, only_permutes

__all__ = ["LocalDerivative", "Output", "count_of", "local_derivative"]

MOVED = 256  # elements whose way is told one by one
UNITS = 32  # elements of a gradient of which each is followed through a formula that is no product

Output = tuple[int, int]
"""Which of how many results of a node a gradient is of."""


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
    jacobian: np.ndarray[Any, Any] | None = None
    """Of a formula that is no product, if it is small: a row for each element of ``g``, a column for each that was
    sent."""
    permutes: bool = False
    """Whether each element that was sent is one that came."""
    unknown: str = ""
    """Why there are no numbers: ``large``, ``unsaved``, ``complex``, ``foreign`` or ``differs``."""


def local_derivative(
    node: Any,
    parameter: str,
    source: str,
    g: Any,
    sent: Any,
    known: Operands | None,
    output: Output = (0, 1),
    slot: int = 0,
) -> LocalDerivative:
    """What ``node`` multiplied ``g`` by to get ``sent``, the gradient of ``parameter``.

    The numbers are left out where they cannot be told, and where they do not come to what was sent.

    :param known: what the formula names, copied before the node ran; None: it was too much.
    :param output: which of the node's results ``g`` is the gradient of.
    :param slot: along which edge it was sent, for a formula of all tensors of a list.
    """
    kind = entry_of(source)
    nothing = LocalDerivative(kind, permutes=kind == MOVE and only_permutes(source))
    if known is None or not (values.is_near(g, LARGEST) and values.is_near(sent, LARGEST)):
        return replace(nothing, unknown="large")
    try:
        upstream, wanted = values.host(g), values.host(sent)
        if kind != MOVE and "c" in (upstream.dtype.kind, wanted.dtype.kind):
            return replace(nothing, unknown="complex")
        evaluate = evaluator(node, parameter, source, wanted.shape, known)
    except Exception:  # a picture is drawn also of objects that cannot be read
        return replace(nothing, unknown="unsaved")
    if evaluate is None:
        numbers = _single_number(node, source, upstream) if kind == DIAGONAL else None
        return numbers if numbers is not None and _comes_to(numbers, wanted) else replace(nothing, unknown="foreign")
    value = _placed(node, evaluate, output, slot)
    try:
        with np.errstate(all="ignore"):
            return _numbers(nothing, source, value, upstream, wanted) or replace(nothing, unknown="differs")
    except Exception:  # something that the formula names is not there
        lacks = {part.id for part in ast.walk(ast.parse(source)) if isinstance(part, ast.Name)}
        large = any(isinstance(known.get(name), TooLarge) for name in lacks)
        return replace(nothing, unknown="large" if large else "unsaved")


def _placed(node: Any, evaluate: Evaluate, output: Output, slot: int) -> Evaluate:
    """The same with ``g`` as a formula gets it, of an operation with several results a list; of a list one item."""
    index, count = output
    several = hasattr(introspect.declared(node, node_name(node)), "count")

    def value(part: str, g: Any = None, **more: Any) -> Any:
        given = [g if i == index else None for i in range(count)] if several else g
        result = evaluate(part, g=given, **more)
        return result[slot] if isinstance(result, (list, tuple)) else result

    return value


def _numbers(
    nothing: LocalDerivative, source: str, evaluate: Evaluate, g: np.ndarray[Any, Any], sent: np.ndarray[Any, Any]
) -> LocalDerivative | None:
    """The numbers of a formula, if they come to what was sent."""
    if nothing.kind == MOVE:
        places = _moved(source, evaluate, g, sent)
        if places is not None:
            return replace(nothing, places=places, permutes=bool(places.min(initial=0) >= 0))
        product = np.asarray(evaluate(source, g=g))
        return nothing if _agree(_undone(product, sent.shape), sent, product) else None
    numbers = None
    if nothing.kind == DIAGONAL:
        numbers = _diagonal(source, evaluate, g)
    elif nothing.kind == MATRIX:
        numbers = _matrix(source, evaluate, g)
    if numbers is not None and _comes_to(numbers, sent):
        return numbers
    return _units(nothing, source, evaluate, g, sent)


def _moved(
    source: str, evaluate: Evaluate, g: np.ndarray[Any, Any], sent: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any] | None:
    """For each element that was sent the one of ``g`` that it is, -1 for a zero; None where some are sums.

    The formula tells: it is given the places themselves, from 1 on, in place of ``g``; and once more in reverse order,
    because a sum of two places may look like a third one.
    """
    if g.size > MOVED or sent.size > MOVED:
        return None
    ways = []
    for numbers in (np.arange(1.0, g.size + 1), np.arange(g.size, 0.0, -1)):
        moved = np.asarray(evaluate(source, g=numbers.reshape(g.shape))).real
        places = moved.astype(np.int64)
        if moved.shape != sent.shape or (places != moved).any() or ((places < 0) | (places > g.size)).any():
            return None
        ways.append(places)
    forth, back = ways
    if not np.array_equal(np.where(forth, g.size + 1 - forth, 0), back):
        return None
    went = forth[forth > 0]
    arrived = np.where(forth > 0, g.reshape(-1)[forth - 1], 0) if g.size else np.zeros(sent.shape)
    return forth - 1 if len(set(went.tolist())) == went.size and _agree(arrived, sent, sent) else None


def _units(
    nothing: LocalDerivative, source: str, evaluate: Evaluate, g: np.ndarray[Any, Any], sent: np.ndarray[Any, Any]
) -> LocalDerivative | None:
    """The whole Jacobian of a small formula, row by row; nothing where it is large; None where it does not agree."""
    product = np.asarray(evaluate(source, g=g)).real
    if not _agree(_undone(product, sent.shape), sent, product):
        return None
    if not 0 < g.size <= UNITS or not 0 < sent.size <= LARGEST // UNITS:
        return nothing
    rows = []
    for unit in np.eye(g.size, dtype=g.dtype):
        rows.append(_undone(np.asarray(evaluate(source, g=unit.reshape(g.shape))).real, sent.shape).reshape(-1))
    jacobian, came = np.stack(rows), g.reshape(-1)
    summed = _agree(came @ jacobian, sent.reshape(-1), came[:, None] * jacobian)
    return replace(nothing, jacobian=jacobian) if summed else nothing


def count_of(node: Any, parameter: str, source: str, shape: tuple[int, ...] | None) -> int | None:
    """``n`` in a formula, by which a mean divides; None where there is none, or where it cannot be told.

    :param shape: of the input, as far as it is known from elsewhere.
    """
    if "count(" not in source and "each(" not in source:
        return None
    try:
        evaluate = evaluator(node, parameter, source, shape)
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
    product = np.asarray(evaluate(parts.product, g=g)).real
    factor = np.asarray(evaluate(parts.product, g=np.ones_like(g))).real
    numbered = np.arange(g.size).reshape(g.shape)
    places = np.broadcast_to(np.asarray(evaluate(parts.upstream, g=numbered)), product.shape)
    factor = np.broadcast_to(factor, product.shape)
    return LocalDerivative(DIAGONAL, factor, False, product, g.reshape(-1)[places], places)


def _matrix(source: str, evaluate: Evaluate, g: np.ndarray[Any, Any]) -> LocalDerivative | None:
    for parts in matrix_parts(source) if g.ndim >= 2 else ():
        if parts.test is None or evaluate(parts.test):
            factor = np.asarray(evaluate(parts.matrix)).real
            if parts.scale is not None:
                factor = factor * evaluate(parts.scale)
            return LocalDerivative(MATRIX, factor, parts.left, factor @ g if parts.left else g @ factor)
    return None


def _comes_to(numbers: LocalDerivative, sent: np.ndarray[Any, Any]) -> bool:
    """Whether a product is what was sent, after the sums that undo broadcasting."""
    product = numbers.product
    return product is not None and _agree(_undone(product, sent.shape), sent, product)


def _undone(product: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """A gradient after the sums that undo broadcasting; as it is where its shape is another one still."""
    extra = product.ndim - len(shape)
    if product.shape == shape or extra < 0:
        return product
    summed = product.sum(axis=tuple(range(extra)))
    ones = tuple(i for i, (a, b) in enumerate(zip(summed.shape, shape, strict=True)) if a != b == 1)
    return np.asarray(summed.sum(axis=ones, keepdims=True))


def _agree(result: np.ndarray[Any, Any], sent: np.ndarray[Any, Any], terms: np.ndarray[Any, Any]) -> bool:
    """Whether two gradients are the same but for rounding, the larger the larger the ``terms`` are that are summed."""
    if result.shape != sent.shape:
        return False
    if np.array_equal(result, sent):
        return True
    scale = float(np.abs(terms[np.isfinite(terms)]).max(initial=0.0))
    return bool(np.allclose(result, sent, rtol=2e-3, atol=1e-4 * scale + 1e-30, equal_nan=True))
