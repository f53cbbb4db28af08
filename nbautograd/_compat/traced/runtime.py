"""The functions that compiled code calls by name: nodes for single steps, opaque functions, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._compat.traced.graph import Array, Value
from nbautograd._compat.traced.replay import Changed, blank
from nbautograd._engine.arrays import backend
from nbautograd._engine.core.grad_mode import grad_enabled
from nbautograd._engine.core.node import LEAF, MULTIPLE, OutputEdge, OutputGrads
from nbautograd._engine.core.pytree import tree_flatten
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.core.views import CopySlices, replay_view
from nbautograd._engine.fusion.lazy_gradient import add_gradients, materialize
from nbautograd._engine.fusion.tiling import MIN_TILED_SIZE
from nbautograd.autograd import engine
from nbautograd.errors import TracingError

__all__ = ["NAMES", "WANTED", "gradients_of", "written"]


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


class _TensorCall:
    """A call of a function over tensors: its arguments as leaves, and its results."""

    __slots__ = ("leaves", "outputs")
    leaves: list[Tensor]
    outputs: list[Tensor]


def _call(function: Any, arguments: Any, keywords: Any, arrays: list[Any], wanted: list[bool], shapes: Any) -> Any:
    """Call a function with tensors of these arrays; return the results' arrays, and the call, for its gradients."""
    call = _TensorCall()
    call.leaves = [wrap(array, LEAF if want else None) for array, want in zip(arrays, wanted, strict=True)]
    leaves = iter(call.leaves)
    token = grad_enabled.set(any(wanted))
    try:
        result = function(*_with_leaves(arguments, leaves), **_with_leaves(keywords, leaves))
    finally:
        grad_enabled.reset(token)
    call.outputs = tree_flatten(result)[0]
    results = [output._a for output in call.outputs]
    for array, shape in zip(results, shapes, strict=True):
        check_shape(array, shape, function.__name__)
    return results, call


def _with_leaves(argument: Any, leaves: Any) -> Any:
    if isinstance(argument, Value):
        return next(leaves)
    if isinstance(argument, Array):
        return next(leaves)._a
    if argument.__class__ in (list, tuple):
        return argument.__class__([_with_leaves(part, leaves) for part in argument])
    if argument.__class__ is dict:
        return {key: _with_leaves(part, leaves) for key, part in argument.items()}
    return argument


def gradients_of(call: _TensorCall, gradients: list[Any]) -> list[Any]:
    """Compute the gradients of a call's arguments; None where none is needed, or none arrives."""
    roots = []
    for output, g in zip(call.outputs, gradients, strict=True):
        if g is not None and output._fn is not None:
            roots.append((output if output._fn is LEAF else output._fn, wrap(materialize(g))))
    keys = [(leaf, 0) for leaf in call.leaves if leaf._fn is LEAF]
    if not roots or not keys:
        return [None] * len(call.leaves)
    by_leaf = engine.capture(roots, True, False, keys)
    return [by_leaf.get((leaf, 0)) for leaf in call.leaves]


def check_shape(array: Any, shape: tuple[int, ...], name: str) -> None:
    """Check that a result has the same shape as in the trace.

    :raises TracingError: the shape differs.
    """
    if array.shape != shape:
        raise TracingError(
            f"{name}() gave a result of shape {list(array.shape)}, and one of shape {list(shape)} while tracing: the "
            "shape depends on values, and a traced function has fixed shapes. Call the function itself."
        )


def check(function: Any, arguments: Any, said: Any, arrays: list[Any]) -> None:
    """Repeat a check of values.

    :raises Changed: the result differs from the trace.
    """
    answer = function(*_with_leaves(arguments, map(wrap, arrays)))
    if answer != said:
        raise Changed(f"{function.__name__}() says something else than while tracing")


def fill(function: Any, place: Any, arguments: Any, keywords: Any, arrays: list[Any]) -> Any:
    """Return random numbers in a new array with this shape, dtype and layout."""
    scratch = wrap(blank(*place))
    leaves = map(wrap, arrays)
    function(scratch, *_with_leaves(arguments, leaves), **_with_leaves(keywords, leaves))
    return scratch._a


def add(total: Any, d: Any) -> Any:
    """Compute the sum of two gradients, as the engine adds them."""
    if d.__class__ is np.ndarray and d.size >= MIN_TILED_SIZE:
        return materialize(add_gradients(total, d))
    return total + d


NAMES: dict[str, Any] = {
    "Changed": Changed,
    "CopySlices": CopySlices,
    "MULTIPLE": MULTIPLE,
    "OutputGrads": OutputGrads,
    "OutputEdge": OutputEdge,
    "SILENT": backend.SILENT,
    "Tensor": Tensor,
    "WANTED": WANTED,
    "add": add,
    "call": _call,
    "check": check,
    "check_shape": check_shape,
    "fill": fill,
    "float32": np.float32,
    "float64": np.float64,
    "gradients_of": gradients_of,
    "materialize": materialize,
    "ndarray": np.ndarray,
    "new": object.__new__,
    "np": np,
    "replay_view": replay_view,
    "get_quiet": backend.get_quiet,
    "set_quiet": backend.set_quiet,
    "written": written,
}
"""The initial names of generated code."""
