"""Copy the values of the names in a node's formulas before the pass frees them, and put them into parts of a formula.

Only formulas that the library itself has declared are evaluated, with the functions that its backward pass calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nbautograd.viz.escape import one_line
from nbautograd.viz.read import introspect, values
from nbautograd.viz.read.formulas import MAX_CHARACTERS
from nbautograd.viz.read.introspect import attribute, node_name
from nbautograd.viz.read.notes import Digest, trace_of

__all__ = ["MAX_ELEMENTS", "Evaluate", "Operands", "TooLarge", "evaluator", "kept_operands"]

MAX_ELEMENTS = 65_536
"""Elements of a tensor with which a formula is evaluated."""
_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}  # as PyTorch's nodes keep them

Operands = Mapping[str, Any]
"""Arrays, numbers and options by the names that formulas have for them."""
Evaluate = Callable[..., Any]
"""Return the value of a part of a formula, with further names."""


class _ShapeOnly:
    """Stands for a tensor of which no more than the shape is known, which is enough for some formulas."""

    def __init__(self, shape: tuple[int, ...], dtype: str = "float32") -> None:
        self.shape, self.ndim, self.dtype = shape, len(shape), np.dtype(dtype)
        self.size = math.prod([n for n in shape if isinstance(n, int)])  # for a list of tensors, a list of shapes


class TooLarge(_ShapeOnly):
    """A value that exists, but has too many elements."""


def evaluator(
    node: Any,
    parameter: str,
    source: str,
    shape: tuple[int, ...] | None,
    known: Operands | None = None,
    declared: Any = None,
) -> Evaluate | None:
    """Evaluates parts of a node's formula with its values; None where the formula is not the library's own.

    :param shape: of the parameter, if it is known.
    :param known: the result of ``kept_operands`` before the node ran; without it, the current values of the node.
    :param declared: the node's declaration, if it has been found.
    """
    declared = introspect.declared(node) if declared is None else declared
    value = getattr(declared, "formula_value", None)
    if value is None or source != _written(declared, parameter):
        return None
    names = dict(kept_operands(node) if known is None else known)
    if shape is not None and parameter not in names:
        names[parameter] = _ShapeOnly(shape)
    return lambda part, **more: value(part, names | more)


def _written(declared: Any, parameter: str) -> str:
    return one_line((getattr(declared, "formulas", None) or {}).get(parameter, ""), MAX_CHARACTERS)


def _noted(trace: Any, saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return the operands and the result that a trace has noted, but for those that are saved."""
    operands: dict[str, Any] = {}
    for operand in [one for one in trace.operands if one.name not in saved]:
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
    if operands.get("reduction") in _REDUCTIONS:
        operands["reduction"] = _REDUCTIONS[operands["reduction"]]
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
                operands.setdefault(name, _ShapeOnly(tuple(getattr(node, slot))))
            elif not metadata and what.isidentifier():
                operands.setdefault(name, _copied(getattr(node, slot)))
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
    array = None if isinstance(value, Digest) else values.near(value, MAX_ELEMENTS)
    return TooLarge(values.shape(value)) if array is None else np.array(array, order="K")
