"""Compute the local derivative of an operation in numbers: the factor of one step of the chain rule.

The values of the names in a formula are copied before the pass frees them, and put into parts of the formula. Only
formulas that the library itself has declared are evaluated, with the functions that its backward pass calls.

The value of a formula is compared with the sent gradient, so no wrong number is shown; if there is no number, the
reason is shown. For nodes of other libraries, only arithmetic of single numbers is computed.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from nbautograd.viz.escape import one_line
from nbautograd.viz.read import formulas, introspect, jacobians, values
from nbautograd.viz.read.formulas import MAX_CHARACTERS, Mark
from nbautograd.viz.read.introspect import attribute, node_name, trace_of
from nbautograd.viz.read.jacobians import DIAGONAL, MATRIX, MOVE, OTHER, OUTER, Terms, Work
from nbautograd.viz.read.model import Formula
from nbautograd.viz.read.values import Digest

__all__ = ["MAX_ELEMENTS", "LocalDerivative", "Operands", "count_of", "evaluation", "kept_operands", "local_derivative"]

MAX_ELEMENTS = 65_536
"""Elements of a tensor with which a formula is evaluated."""
REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}  # as PyTorch's nodes keep them

Array = np.ndarray[Any, Any]
Operands = Mapping[str, Any]
"""Arrays, numbers and options by the names that formulas have for them."""
Evaluate = Callable[..., Any]
"""Return the value of a part of a formula, with the values of its names."""
Came = Mapping[int, Any]
"""The gradients that a node received, by the number of their result."""


@dataclass(frozen=True, slots=True)
class LocalDerivative:
    """The factor that computes one edge's gradient, with its numbers if they are known."""

    kind: str
    factor: Array | None = None
    """For a diagonal Jacobian the derivative of each element, for a matrix product the matrix."""
    left: bool = False
    """True if the matrix is to the left of ``g``."""
    product: Array | None = None
    """``g`` times the factor, before broadcasting is undone by sums."""
    upstream: Array | None = None
    """For a diagonal Jacobian ``g``, the matching element for each element of the product."""
    places: Array | None = None
    """And where in ``g`` that element is."""
    terms: Terms | None = None
    """For a formula that is not a product, the terms of each sent element, or of one."""
    permutes: bool = False
    """True if each sent element is an arrived one."""
    unknown: str = ""
    """Why there are no numbers: ``large``, ``unsaved``, ``complex``, ``foreign`` or ``differs``."""


def local_derivative(
    node: Any, written: Formula, came: Came, sent: Any, known: Operands | None,
    count: int = 1, work: Work | None = None, declared: Any = None,
) -> LocalDerivative:  # fmt: skip
    """Return the factor by which ``node`` turned the gradients that ``came`` into ``sent``, by a formula of its input.

    The numbers are left out if they are unknown, or if they differ from the sent gradient.

    :param known: the values in the formula, copied before the node ran; None: they were too large.
    :param count: the number of results of the node.
    :param work: the remaining work allowed.
    :param declared: the node's declaration, if it has been found.
    """
    source = written.source
    kind = jacobians.entry_of(source) if len(came) == 1 else OTHER
    nothing = LocalDerivative(kind, permutes=kind == MOVE and jacobians.only_permutes(source))
    try:
        read = _arrays([*came.values(), sent])
        if known is None or len(read) <= len(came):
            return replace(nothing, unknown="large")
        arrays, wanted = dict(zip(came, read, strict=False)), read[-1]
        if any(map(np.iscomplexobj, read)):
            return replace(nothing, unknown="complex")
        declared = introspect.declared(node) if declared is None else declared
        evaluated = evaluation(node, written.input, source, wanted.shape, known, declared)
    except Exception:  # objects that cannot be read still get a picture
        return replace(nothing, unknown="unsaved")
    if evaluated is None:
        only = next(iter(arrays.values()))
        numbers = _single_number(node, source, only, wanted) if kind == DIAGONAL else None
        return numbers or replace(nothing, unknown="foreign")
    if type(node).__name__.startswith("Native"):
        count = max(count, 3)  # PyTorch keeps only the first of a norm's three results
    formula = _Formula(source, *evaluated, arrays, hasattr(declared, "count"), count, written.slot)
    try:
        with np.errstate(all="ignore"):
            return _numbers(nothing, formula, wanted, work) or replace(nothing, unknown="differs")
    except Exception:  # the formula refers to a missing value
        return replace(nothing, unknown=_lack(source, known))


def _lack(source: str, known: Operands) -> str:
    """Return why a formula cannot be computed."""
    lacks = {part.id for part in ast.walk(ast.parse(source)) if isinstance(part, ast.Name)}
    return "large" if any(isinstance(known.get(name), TooLarge) for name in lacks) else "unsaved"


def _arrays(given: list[Any]) -> list[Array]:
    """Return those values as arrays that are not too large."""
    read = []
    for value in given:
        if type(value) is not np.ndarray or value.size > MAX_ELEMENTS:
            value = values.near(value, MAX_ELEMENTS)
        if value is not None:
            read.append(value)
    return read


@dataclass(frozen=True, slots=True)
class _Formula:
    """A formula of a node, with the gradients that came."""

    source: str
    value: Evaluate
    names: Operands
    came: Mapping[int, Array]
    several: bool
    """True if it takes the gradients of several results."""
    count: int
    slot: int

    def evaluate(self, part: str, g: Any = None) -> Any:
        """A part of the formula with another ``g``, for each of the gradients that came where it is a mapping."""
        if part == "g" and isinstance(g, np.ndarray) and not self.several:
            return g
        given = g if isinstance(g, Mapping) else dict.fromkeys(self.came, g)
        parts = [given.get(i) for i in range(self.count)] if self.several else next(iter(given.values()))
        # NumPy's function, as in the operation's body, which also asks for the dtype.
        result = self.value(part, {**self.names, "conj": np.conjugate, "g": parts})
        return result[self.slot] if isinstance(result, (list, tuple)) else result

    def elements(self, shape: tuple[int, ...], given: Array) -> Array:
        """All elements that it sends, in a row, for all elements that came, in a row."""
        parts, start = {}, 0
        for index, array in self.came.items():
            own = given[start : start + array.size]
            parts[index] = own.reshape(array.shape).astype(array.dtype)
            start += array.size
        sent = np.asarray(self.evaluate(self.source, parts)).real
        return _undone(sent, shape).reshape(-1).astype(np.float64)


def _numbers(nothing: LocalDerivative, formula: _Formula, sent: Array, work: Work | None) -> LocalDerivative | None:
    """The numbers of a formula, if they give the sent gradient."""
    numbers = None
    if nothing.kind == DIAGONAL:
        numbers = _diagonal_derivative(formula)
    elif nothing.kind in (MATRIX, OUTER):
        numbers = _matrix_derivative(nothing.kind, formula)
    if numbers is not None and _agree(numbers.product, sent, numbers.product):
        return numbers
    came = np.concatenate([array.reshape(-1) for array in formula.came.values()]).astype(np.float64)

    product = np.asarray(formula.evaluate(formula.source, formula.came))
    if not _agree(product, sent, np.concatenate([product.reshape(-1), came])):
        return None
    wanted, call = sent.reshape(-1).astype(np.float64), partial(formula.elements, sent.shape)
    terms = jacobians.terms_of(call, came, wanted, nothing.kind == MOVE, work or Work())
    permutes = nothing.permutes or (terms is not None and _permutes(terms))
    kind = nothing.kind if nothing.kind == MOVE else OTHER
    return replace(nothing, kind=kind, terms=terms, permutes=kind == MOVE and permutes)


def _permutes(terms: Terms) -> bool:
    """Return whether each sent element is an arrived one."""
    count = len(terms.ends)
    return terms.only < 0 and terms.ends == tuple(range(1, count + 1)) and len(set(terms.ups)) == count


def count_of(node: Any, parameter: str, source: str, shape: tuple[int, ...] | None) -> Mark:
    """``n`` in a formula, by which a mean divides: its number, or its letter if that is unknown.

    :param shape: of the input, if it is known from elsewhere.
    """
    with suppress(Exception):  # the picture is drawn even if a formula cannot be evaluated
        value, names = evaluation(node, parameter, source, shape) or (None, {})
        for part in ast.walk(ast.parse(source.strip(), mode="eval")) if value is not None else ():
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in ("count", "each"):
                counted = part if part.func.id == "count" else part.args[1]
                result = value(ast.unparse(counted), names)  # type: ignore[misc]
                return ["n", str(int(result) if part.func.id == "count" else math.prod(result))]
    return ["i", "n"]


def _single_number(node: Any, source: str, g: Array, sent: Array) -> LocalDerivative | None:
    """Return the derivative of a formula of another library, of which only arithmetic of single numbers is understood.

    None if it does not give the sent gradient.
    """
    operands = introspect.operands_of(node).items()
    known = {name: float(values.host(v).item()) for name, v in operands if np.size(values.host(v)) == 1}
    factor = formulas.value(source, {**known, "g": 1.0}) if g.size == 1 else None
    if factor is None:
        return None
    numbers = LocalDerivative(DIAGONAL, np.full(g.shape, factor), product=g * factor, upstream=g)
    return numbers if _agree(numbers.product, sent, numbers.product) else None


def _diagonal_derivative(formula: _Formula) -> LocalDerivative:
    (written, upstream), (g,) = jacobians.diagonal_parts(formula.source), formula.came.values()
    product = np.asarray(formula.evaluate(written, g)).real
    factor = np.asarray(formula.evaluate(written, np.ones_like(g))).real
    places = np.arange(g.size).reshape(g.shape)
    if upstream != "g" or formula.several:
        places = np.asarray(formula.evaluate(upstream, places))
    places = np.broadcast_to(places, product.shape)
    factor = np.broadcast_to(factor, product.shape)
    return LocalDerivative(DIAGONAL, factor, False, product, g.reshape(-1)[places], places)


def _matrix_derivative(kind: str, formula: _Formula) -> LocalDerivative | None:
    (g,) = formula.came.values()
    for parts in jacobians.matrix_parts(formula.source):
        if parts.test is None or formula.evaluate(parts.test):
            factor = np.asarray(formula.evaluate(parts.matrix)).real
            if parts.scale is not None:
                factor = factor * formula.evaluate(parts.scale)
            if kind == OUTER:
                return LocalDerivative(OUTER, factor, False, np.multiply.outer(g, factor))
            return LocalDerivative(MATRIX, factor, parts.left, factor @ g if parts.left else g @ factor)
    return None


def _undone(product: Array, shape: tuple[int, ...]) -> Array:
    """Return a gradient after the sums that undo broadcasting; unchanged if its shape still differs."""
    extra = product.ndim - len(shape)
    if product.shape == shape or extra < 0:
        return product
    summed = product.sum(axis=tuple(range(extra)))
    ones = tuple(i for i, (a, b) in enumerate(zip(summed.shape, shape, strict=True)) if a != b == 1)
    return np.asarray(summed.sum(axis=ones, keepdims=True))


def _agree(result: Any, sent: Array, terms: Any) -> bool:
    """Return whether a gradient, after the sums that undo broadcasting, differs from the sent one by rounding only."""
    if result.shape != sent.shape:
        result = _undone(result, sent.shape)
    return result.shape == sent.shape and (np.array_equal(result, sent) or jacobians.is_rounded(result, sent, terms))


# -- the values in a formula ------------------------------------------------------------------------------


class _ShapeOnly:
    """Stands for a tensor of which no more than the shape is known, which is enough for some formulas."""

    def __init__(self, shape: tuple[int, ...], dtype: str = "float32") -> None:
        self.shape, self.ndim, self.dtype = shape, len(shape), np.dtype(dtype)
        self.size = math.prod([n for n in shape if isinstance(n, int)])  # for a list of tensors, a list of shapes


class TooLarge(_ShapeOnly):
    """A value that exists, but has too many elements."""


def evaluation(
    node: Any, parameter: str, source: str, shape: tuple[int, ...] | None, known: Operands | None = None,
    declared: Any = None,
) -> tuple[Evaluate, dict[str, Any]] | None:  # fmt: skip
    """Return what evaluates parts of a node's formula, and its values; None if the formula is not the library's own.

    :param shape: of the parameter, if it is known.
    :param known: the result of ``kept_operands`` before the node ran; without it, the current values of the node.
    :param declared: the node's declaration, if it has been found.
    """
    declared = introspect.declared(node) if declared is None else declared
    value = getattr(declared, "formula_value", None)
    written = (getattr(declared, "formulas", None) or {}).get(parameter, "")
    if value is None or source != one_line(written, MAX_CHARACTERS):
        return None
    names = dict(kept_operands(node) if known is None else known)
    if shape is not None and parameter not in names:
        names[parameter] = _ShapeOnly(shape)
    return value, names


def _noted(trace: Any, saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return the operands and the result that a trace has noted, but for those that are saved."""
    operands: dict[str, Any] = {}
    for operand in trace.operands:
        if operand.name in saved:
            continue
        if operand.value is None and operand.shape is not None:
            operands[operand.name] = TooLarge(tuple(operand.shape), operand.dtype or "float32")
        elif operand.slot is not None and isinstance(operand.value, (int, float)):
            operands[operand.name] = np.asarray(operand.value, trace.dtype)  # a number instead of a tensor
        else:
            operands[operand.name] = _copied(operand.value)
    if trace.value is not None and "result" not in saved:
        operands["result"] = _copied(trace.value)
    return operands


def kept_operands(node: Any, declared: Any = None, trace: Any = None) -> dict[str, Any]:
    """Return the operands of a node's formulas that are noted or saved now; arrays are copied.

    :param declared: its declaration, if it has been found.
    :param trace: its trace, if it has been read.
    """
    trace = trace_of(node) if trace is None else trace
    saved = introspect.saved_values(node)
    operands = _noted(trace, saved) if trace is not None else {}
    operands |= {name: _copied(value) for name, value in saved.items()}
    for name, attribute_name in introspect.saved_names(node).items():
        if name not in operands:  # reading it may run a hook, which some users allow only once
            value = _copied(attribute(node, attribute_name))
            operands[name] = _signed(value) if name.startswith("dim") or name == "ignore_index" else value
    if not hasattr(node, "formula_slots"):
        from nbautograd.viz.read import pytorch_operands

        pytorch_operands.add_to(operands, node, node_name(node))
    if operands.get("reduction") in REDUCTIONS:
        operands["reduction"] = REDUCTIONS[operands["reduction"]]
    declared = introspect.declared(node) if declared is None else declared
    if slots := getattr(declared, "formula_slots", None):
        _add_slots(operands, node, slots)
    return operands


def _add_slots(operands: dict[str, Any], node: Any, slots: Mapping[str, str]) -> None:
    """Add what a node keeps in its slots."""
    for what, slot in slots.items():  # PyTorch keeps an index of several parts whole; elsewhere only its tensors
        if type(parts := getattr(node, slot, None)) is tuple and what.isidentifier():
            operands[what] = tuple(map(_copied, parts))
    for what, slot in slots.items():
        name, _, metadata = what.partition(".")
        if name not in operands and hasattr(node, slot):
            if metadata == "shape":
                operands[name] = _ShapeOnly(tuple(getattr(node, slot)))
            elif what.isidentifier():
                operands[name] = _copied(getattr(node, slot))
    several = {int(what[7:-1]): operands.get(slot[2:]) for what, slot in slots.items() if what.startswith("result[")}
    if several:  # of several results, only the saved ones: PyTorch may call the second one indices
        if several.get(1, 0) is None:
            several[1] = operands.get("indices")
        operands["result"] = [several.get(i) for i in range(max(several) + 1)]


def _signed(dim: Any) -> Any:
    """A number that PyTorch's nodes keep without its sign: as a dimension, 2**64 - 1 is the last one."""
    if isinstance(dim, (tuple, list)):
        return tuple(map(_signed, dim)) or None
    return dim - 2**64 if isinstance(dim, int) and dim >= 2**63 else dim


def _copied(value: Any) -> Any:
    if not hasattr(value, "shape") or not hasattr(value, "dtype") or isinstance(value, (int, float, complex)):
        return value
    if type(value) is np.ndarray and value.size <= MAX_ELEMENTS:
        return value.copy("K")
    array = None if isinstance(value, Digest) else values.near(value, MAX_ELEMENTS)
    return TooLarge(values.shape(value)) if array is None else np.array(array, order="K")
