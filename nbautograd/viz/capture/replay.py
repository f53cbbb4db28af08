"""Computing a recorded graph again with another value in one of its leaves, to see the changes.

What is computed are copies: the arrays that tracing noted go through the library's own operations, from new leaves to a
new result, and a backward pass over that. The user's tensors, hooks and functions have no part in it. A graph can be
computed again if it is traced and small, if all its operations are declared and draw no random numbers, and if the
recorded values give the recorded result. Of a smaller graph without hooks and functions of the user's, the Jacobian is
computed by passes of its own.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nbautograd import protocol
from nbautograd.viz.capture.timeline import Product
from nbautograd.viz.language import say
from nbautograd.viz.read import values
from nbautograd.viz.read.introspect import attribute, is_pytorchs_node
from nbautograd.viz.read.model import GraphModel
from nbautograd.viz.read.walk import GraphWalk

__all__ = ["Replay", "answer", "products", "replay_of"]

MAX_OPS = 300
MAX_PRINTED_ELEMENTS = 16  # of a Jacobian
MAX_JACOBIAN_OPS = 60  # of a graph whose Jacobian is computed
MAX_ELEMENTS = 1024  # of a tensor
RANDOM = "nbautograd._engine.ops.creation"  # the package of operations that create tensors, also from random numbers

Place = tuple[str, int]
"""The id of an operation or leaf, and the index of the result."""


@dataclass(frozen=True)
class _ReplayedCall:
    """One operation with its arguments: places of computed values, or the original arrays and options."""

    node: str
    function: Any
    computed: Sequence[tuple[protocol.Operand, Place]]
    arrays: Sequence[tuple[protocol.Operand, np.ndarray[Any, Any]]]
    options: Mapping[str, Any]
    result: np.ndarray[Any, Any] | None
    """The recorded result."""


@dataclass
class Replay:
    """A graph that can be computed again."""

    calls: list[_ReplayedCall]
    leaves: dict[str, np.ndarray[Any, Any]]
    root: Place
    seed: np.ndarray[Any, Any] | None
    boxes: Mapping[Place, str]
    new: Callable[[Any], Any]

    @cached_property
    def agrees(self) -> bool:
        """True if the computed values agree with the recorded result."""
        try:
            results, _ = self._forward({})
            single = [call for call in self.calls if (call.node, 1) not in results]
            recorded = [(results[call.node, 0], call.result) for call in single if call.result is not None]
            return all(
                np.allclose(values.host(value), result, rtol=1e-4, atol=1e-6, equal_nan=True)
                for value, result in recorded
            )
        except Exception:  # a graph that cannot be computed again gets a prediction
            return False

    def nudged(self, leaf: str, place: int, value: float) -> dict[str, dict[str, list[float]]] | None:
        """All values and the gradients of the leaves, by ids of boxes, with one element changed; None if that fails."""
        if leaf not in self.leaves or not 0 <= place < self.leaves[leaf].size or not self.agrees:
            return None
        changed = self.leaves[leaf].copy(order="K")
        changed.reshape(-1)[place] = value
        try:
            results, leaves = self._forward({leaf: changed})
            root = results[self.root]
            root.backward(None if self.seed is None else self.new(self.seed))
        except Exception:
            return None
        boxes = {self.boxes.get(at, at[0]): _numbers(result) for at, result in results.items() if at[0] not in leaves}
        boxes |= {key: _numbers(tensor) for key, tensor in leaves.items()}
        grads = {key: _numbers(tensor.grad) for key, tensor in leaves.items() if tensor.grad is not None}
        return {"values": {key: cells for key, cells in boxes.items() if cells}, "grads": grads}

    def _forward(self, changed: Mapping[str, np.ndarray[Any, Any]]) -> tuple[dict[Place, Any], dict[str, Any]]:
        leaves = {key: self.new(changed.get(key, array)).requires_grad_() for key, array in self.leaves.items()}
        results: dict[Place, Any] = {(key, 0): leaf for key, leaf in leaves.items()}
        for call in self.calls:
            made = call.function(**self._arguments(call, results))
            for index, part in enumerate(made if isinstance(made, (tuple, list)) else (made,)):
                results[call.node, index] = part
        return results, leaves

    def _arguments(self, call: _ReplayedCall, results: Mapping[Place, Any]) -> dict[str, Any]:
        flat = [(operand.parameter, results[place]) for operand, place in call.computed]
        flat += [(operand.parameter, self.new(array)) for operand, array in call.arrays]
        arguments: dict[str, Any] = dict(call.options)
        for (name, place), value in sorted(flat, key=lambda item: item[0][1] or 0):
            if place is None:
                arguments[name] = value
            else:
                arguments.setdefault(name, []).append(value)
        return arguments


def replay_of(model: GraphModel, root: Any, seed: Any) -> Replay | None:
    """The graph of ``root`` in a form that can be computed again; None if it cannot be.

    :param model: with its live objects, before a backward pass has freed the saved tensors.
    :param seed: the gradient that the pass starts with, or None.
    """
    whole = model.entire
    if not 0 < len(whole.order) <= MAX_OPS or len(whole.roots) != 1:
        return None
    try:
        live = {key: node for node, key in whole.handles.ops.items()}
        tensors = whole.handles.tensors()
        leaves = {leaf.id: _copied(tensors[leaf.id]) for leaf in whole.leaves}
        calls = [_replayed_call(key, whole, live[key], whole.handles.names.walk) for key in whole.order]
        is_theirs = is_pytorchs_node(root.grad_fn)  # PyTorch's graphs are computed again with our operations
        new = sys.modules["nbautograd"].tensor if is_theirs else next(iter(tensors.values())).new_tensor
        start = whole.handles.ops[root.grad_fn], int(attribute(root, "output_nr", 0) or 0)
        boxes = {place: edge.dst for place, edge in whole.results.items()}
        return Replay(calls, leaves, start, None if seed is None else _copied(seed), boxes, new)
    except Exception:  # a graph with unknown values
        return None


def answer(replay: Replay | None, asked: Any) -> dict[str, Any] | None:
    """The message for a player whose user nudges a leaf's value; None where the question makes no sense.

    :param asked: ``{"leaf": id, "place": number of the element, "value": number, "serial": any number}``.
    """
    if not isinstance(asked, dict):
        return None
    leaf, place, value, serial = (asked.get(name) for name in ("leaf", "place", "value", "serial"))
    if not (isinstance(leaf, str) and isinstance(place, int) and isinstance(serial, int)):
        return None
    if not (isinstance(value, (int, float)) and math.isfinite(value)):
        return None
    outcome = replay.nudged(leaf, place, float(value)) if replay is not None else None
    return {"nudged": {"leaf": leaf, "place": place, "serial": serial, **(outcome or {})}}


def _replayed_call(key: str, model: GraphModel, node: Any, walk: GraphWalk) -> _ReplayedCall:
    function, edges, trace = walk.declared[node].operation(), walk.next[node], walk.traces[node]
    if str(function.__module__).startswith(RANDOM):
        raise ValueError("random numbers")
    computed, arrays = list[tuple[protocol.Operand, Place]](), list[tuple[protocol.Operand, Any]]()
    wanted = inspect.signature(function).parameters.values()
    options: dict[str, Any] = {p.name: None for p in wanted if p.default is p.empty}  # a trace omits None
    for operand in trace.operands:
        slot = operand.slot
        maker, index = edges[slot] if slot is not None and slot < len(edges) else (None, 0)
        if maker is not None:
            computed.append((operand, (model.handles.ops[maker], index)))
        elif operand.shape is not None:
            arrays.append((operand, _copied(operand.value)))
        else:
            options[operand.name] = operand.value
    for operand, _ in (*computed, *arrays):
        options.pop(operand.name.partition("[")[0], None)
    value = trace.value
    return _ReplayedCall(key, function, computed, arrays, options, None if value is None else np.array(value))


def _copied(value: Any) -> np.ndarray[Any, Any]:
    array = None if value is None else values.near(value, MAX_ELEMENTS)
    if array is None:
        raise ValueError("the value is not known")
    return np.array(array)


def _numbers(tensor: Any) -> list[float]:
    """The elements of a real tensor; empty for others, which a picture cannot show as numbers."""
    array = values.host(tensor)
    if array.dtype.kind not in "biuf" or array.size > MAX_ELEMENTS or not np.isfinite(array).all():
        return []
    return array.reshape(-1).astype(np.float64).tolist()


# -- vᵀJ with its numbers ---------------------------------------------------------------------


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
