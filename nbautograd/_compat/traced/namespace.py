"""The names of compiled code: constants and functions get their own names, and lines run when they are written.

Among them are the functions that compiled code calls: nodes for single steps, opaque functions, and errors.
"""

from __future__ import annotations

import ast
import builtins
import math
from typing import Any

import numpy as np

from nbautograd._compat.traced.graph import Changed, check_again, fill, with_tensors
from nbautograd._engine.compiler.runtime import FORWARD
from nbautograd._engine.compiler.source import evaluated, executed, parsed, rewritten
from nbautograd._engine.core.grad_mode import grad_enabled
from nbautograd._engine.core.node import LEAF, MULTIPLE, OutputGrads
from nbautograd._engine.core.pytree import tree_flatten
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.core.views import CopySlices, replay_view
from nbautograd._engine.fusion.lazy_gradient import add_gradients, materialize
from nbautograd._engine.fusion.tiling import MIN_TILED_SIZE
from nbautograd.autograd import engine
from nbautograd.errors import TracingError


class Namespace:
    """The values of the names in one traced function's code.

    :ivar globals: the globals of the compiled functions.
    :ivar values: the values of variables in the compiling call.
    """

    def __init__(self) -> None:
        self.globals: dict[str, Any] = dict(_NAMES)
        self.values: dict[str, Any] = dict(_NAMES)
        self._names: dict[int, str] = {id(value): name for name, value in _NAMES.items()}

    def constant(self, value: Any, name: str = "") -> str:
        """Return the name of an object."""
        known = self._names.get(id(value))
        if known is not None:
            return known
        name = name or _called(value)
        name = "".join(c if c.isalnum() else "_" for c in name).strip("_").lower() or "constant"
        own, number = f"{name}_", 0
        while own in self.globals or hasattr(builtins, own):
            number += 1
            own = f"{name}_{number}"
        self.globals[own] = self.values[own] = value
        self._names[id(value)] = own
        return own

    def literal(self, value: Any) -> str:
        """Return an option as a literal, or as a name if it has no literal form."""
        if value is None or value.__class__ in (bool, int, str) or value.__class__ is float and math.isfinite(value):
            return repr(value)
        if value.__class__ is tuple and all(part.__class__ in (bool, int, str) for part in value):
            return repr(value)
        return self.constant(value)

    def resolved(self, tree: Any, scope: dict[str, Any], variables: dict[str, str]) -> Any:
        """Return an expression of another module in the names of this namespace.

        :param scope: the values of its names.
        :param variables: the names of its variables in this namespace.
        """

        def change(part: Any) -> Any:
            if not isinstance(part, ast.Name):
                return part
            if part.id in variables:
                return parsed(variables[part.id])
            if part.id in ("np", "temporary") or isinstance(getattr(part, "ctx", None), ast.Store):
                return part
            return ast.Name(self.constant(scope[part.id], part.id), ast.Load()) if part.id in scope else part

        return rewritten(tree, change)

    def run(self, source: str) -> None:
        """Run lines with the values of the compiling call."""
        executed(source, self.values)

    def evaluated(self, text: str) -> Any:
        """Return the value of an expression in the compiling call."""
        return evaluated(text, self.values, {})


def _called(value: Any) -> str:
    if isinstance(value, (np.ndarray, np.generic)):
        return "array" if value.ndim else "number"
    return (value.name if isinstance(value, np.dtype) else "") or getattr(value, "__name__", "") or type(value).__name__


# -- what compiled code calls -----------------------------------------------------------------------------------------


class _Wanted:
    """The placeholder in a step's node for a target that needs a gradient."""

    _seq = 1
    takes_lazy_gradient = False
    extras = None


WANTED = _Wanted()


def written(base: Any, region: Any, steps: Any) -> Any:
    """Return a copy of an array with a write to one of its views."""
    result = base.copy(order="K") if isinstance(base, np.ndarray) else np.array(base)
    replay_view(result, steps)[...] = region
    return result


TensorCall = tuple[list[Tensor], list[Tensor]]
"""A call of a function over tensors: its arguments as leaves, and its results."""


def _call(function: Any, arguments: Any, keywords: Any, arrays: list[Any], wanted: list[bool], shapes: Any) -> Any:
    """Call a function with tensors of these arrays; return the results' arrays, and the call, for its gradients."""
    tensors = [wrap(array, LEAF if want else None) for array, want in zip(arrays, wanted, strict=True)]
    leaves = iter(tensors)
    token = grad_enabled.set(any(wanted))
    try:
        result = function(*_with_leaves(arguments, leaves), **_with_leaves(keywords, leaves))
    finally:
        grad_enabled.reset(token)
    outputs = tree_flatten(result)[0]
    results = [output._a for output in outputs]
    for array, shape in zip(results, shapes, strict=True):
        check_shape(array, shape, function.__name__)
    return results, (tensors, outputs)


def _with_leaves(argument: Any, leaves: Any) -> Any:
    return with_tensors(argument, lambda value: next(leaves))


def gradients_of(call: TensorCall, gradients: list[Any]) -> list[Any]:
    """Compute the gradients of a call's arguments; None where none is needed, or none arrives."""
    leaves, outputs = call
    roots = []
    for output, g in zip(outputs, gradients, strict=True):
        if g is not None and output._fn is not None:
            roots.append((output if output._fn is LEAF else output._fn, wrap(materialize(g))))
    keys = [(leaf, 0) for leaf in leaves if leaf._fn is LEAF]
    if not roots or not keys:
        return [None] * len(leaves)
    by_leaf = engine.capture(roots, True, False, keys)
    return [by_leaf.get((leaf, 0)) for leaf in leaves]


def check_shape(array: Any, shape: tuple[int, ...], name: str) -> None:
    """Raise TracingError if a result has another shape than in the trace."""
    if array.shape != shape:
        raise TracingError(
            f"{name}() gave a result of shape {list(array.shape)}, and one of shape {list(shape)} while tracing: the "
            "shape depends on values, and a traced function has fixed shapes. Call the function itself."
        )


def _check(function: Any, arguments: Any, said: Any, arrays: list[Any]) -> None:
    check_again(function, _with_leaves(arguments, map(wrap, arrays)), said)


def _fill(function: Any, place: Any, arguments: Any, keywords: Any, arrays: list[Any]) -> Any:
    leaves = map(wrap, arrays)
    return fill(function, place, _with_leaves(arguments, leaves), _with_leaves(keywords, leaves))._a


def add(total: Any, d: Any) -> Any:
    """Compute the sum of two gradients, as the engine adds them."""
    if d.__class__ is np.ndarray and d.size >= MIN_TILED_SIZE:
        return materialize(add_gradients(total, d))
    return total + d


_SHARED = "OutputEdge SILENT Tensor float32 float64 get_quiet ndarray new np set_quiet"
_NAMES: dict[str, Any] = {
    **{name: FORWARD[name] for name in _SHARED.split()}, "Changed": Changed, "CopySlices": CopySlices,
    "MULTIPLE": MULTIPLE, "OutputGrads": OutputGrads, "WANTED": WANTED, "add": add, "call": _call, "check": _check,
    "check_shape": check_shape, "fill": _fill, "gradients_of": gradients_of, "materialize": materialize,
    "replay_view": replay_view, "written": written,
}  # fmt: skip
"""The initial names of generated code."""
