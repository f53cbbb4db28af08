"""Reads a recorded graph: which operations ran on what, with the values that are constants of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import numpy as np

from nbautograd._engine.arrays import strides
from nbautograd._engine.arrays.version_counter import changed_since
from nbautograd._engine.compiler.graph import CONSTANT, INPUT, RESULT, Graph, OpCall, Output, Value
from nbautograd._engine.compiler.schema import OPS, OpSchema
from nbautograd._engine.core.node import FREED, AccumulateGrad, Node, saved_slots
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.core.views import AsStridedBackward0, CopySlices, replay_view
from nbautograd.errors import ProgramError
from nbautograd.protocol import SourceLocator
from nbautograd.viz.program.literals import same_elements

__all__ = ["Call", "Tape", "apart", "drawn", "is_freed", "place_of", "read", "refuse"]

Tape = Mapping[Any, tuple[tuple[Any, int], ...]]
"""For each node the node and the output to which each of its edges leads."""
WRITTEN = CopySlices, AsStridedBackward0
"""The node of the base after a write to a view of it, and that of the view after a write to its base."""
MAX_COPIED = 1_000_000
"""Elements of an array of which another one shows a part."""


@dataclass(eq=False, slots=True)
class LeafValue(Value):
    """A leaf, with its tensor."""

    tensor: Any = None


@dataclass(eq=False)
class Call(OpCall):
    """One operation, with its node."""

    node: Any
    targets: list[Value | None]
    """For each slot, the operand of the gradient; None if not needed."""
    recorded: Any = None
    """The result as tracing noted it, where it is small."""
    name: str = ""
    """The node's name, such as ``MulBackward0``."""


@dataclass(eq=False, repr=False)
class TapeGraph(Graph):
    """A graph that is read from nodes. Its constants were found on the way, and need not be looked for again."""

    found: list[Value] = field(default_factory=list)

    def constants(self) -> list[Value]:
        """Return the tensors without a gradient."""
        return self.found


def place_of(node: Any) -> str:
    """The line that made a node: ``In [2], line 3``; nothing where tracing was off."""
    trace = node.trace
    if trace is None:
        return ""
    label, _ = SourceLocator.locate(trace.filename, trace.lineno)
    return " ".join(f"{label}, line {trace.lineno}".split())[:80]


def refuse(node: Any, reason: str) -> ProgramError:
    """The error that names the operation and its line."""
    place = place_of(node)
    return ProgramError(
        f"a program cannot be written of {type(node).__name__}{f' ({place})' if place else ''}: {reason}"
    )


def read(
    root: Any, name_of: Callable[[Any, int], str] | None, tensor_name: Callable[[Any], str] | None, tape: Tape | None
) -> Graph:
    """The graph that made ``root``.

    :param name_of: returns the name of an output of a node.
    :param tensor_name: returns the name of a leaf or a constant, or an empty one.
    :param tape: the nodes that made it with their edges, if they have been read.
    :raises ProgramError: something in it is no declared operation, or was not noted.
    """
    counter = itertools.count(1)
    name_of = name_of or (lambda node, index: "y" if node is root.grad_fn else f"t{next(counter)}")
    graph = _Reader(name_of, tensor_name or (lambda tensor: "")).read(root, tape)
    graph.outputs[0].value.array = root._a
    return graph


def apart(graph: Graph) -> None:
    """Put copies into a graph of all that a pass frees or a user may change, so that it can be written later.

    A node's copy keeps the saved tensors that the pass takes away from the node itself.

    :raises ProgramError: an array cannot be copied with its strides.
    """
    copied = _Copies().of
    for value in (*graph.inputs, *graph.constants(), graph.outputs[0].value):
        value.array = copied(value.array)
        if isinstance(value, LeafValue):
            grad = value.tensor.grad
            value.tensor = SimpleNamespace(grad=None if grad is None else SimpleNamespace(_a=copied(grad._a)))
    for call in graph.steps:
        if call.recorded is None and call.op.draws:
            call.recorded = copied(drawn(call))
        node = call.node = copy(call.node)
        for slot in saved_slots(type(node)):
            if hasattr(node, slot):
                setattr(node, slot, copied(getattr(node, slot)))
        kinds = np.ndarray, list, tuple
        arrays = {name: copied(value) for name, value in call.arguments.items() if isinstance(value, kinds)}
        call.arguments = call.arguments | arrays


class _Copies:
    """Copies of arrays as they are in memory: one of each, and parts of one array are parts of its copy."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, Any]] = {}  # by id(), with the array, so that the id stays its own

    def of(self, value: Any) -> Any:
        """Return the copy of an array, or of those in a list; other things as they are."""
        if isinstance(value, (list, tuple)) and any(isinstance(part, np.ndarray) for part in value):
            return type(value)(map(self.of, value))
        if not isinstance(value, np.ndarray):
            return value
        if id(value) not in self.known:
            made = value.copy(order="K") if value.base is None else self.part(value, value.base)
            if made is None or made.strides != value.strides:
                raise ProgramError("a program cannot be written later: an array cannot be copied with its strides")
            self.known[id(value)] = value, made
        return self.known[id(value)][1]

    def part(self, value: Any, owner: Any) -> Any:
        """Return the part of the copy of ``owner`` that ``value`` is of ``owner`` itself; None where that is too large.

        A copy of the part alone would have other strides, with which NumPy sums in another order.
        """
        if not isinstance(owner, np.ndarray) or owner.base is not None or owner.size > MAX_COPIED:
            return None
        offset = value.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        return np.ndarray(value.shape, value.dtype, self.of(owner).ravel(order="K"), offset, value.strides)


class _Reader:
    def __init__(self, name_of: Callable[[Any, int], str], tensor_name: Callable[[Any], str]) -> None:
        self.name_of, self.tensor_name = name_of, tensor_name
        self.leaves: dict[int, LeafValue] = {}
        self.constants: dict[Any, Value] = {}
        self.calls: dict[Any, Call] = {}

    def read(self, root: Any, tape: Tape | None) -> Graph:
        if root.grad_fn is None:
            raise ProgramError("a program is written of a tensor that operations have made, and this one has no graph")
        start, index = root.grad_fn, root.output_nr
        tape = _reachable(start) if tape is None else tape
        nodes = [node for node in tape if not isinstance(node, AccumulateGrad)]
        for node in sorted(nodes, key=attrgetter("_seq")):
            trace = node.trace
            self.check(node, trace)
            self.calls[node] = self.call(node, trace, tape[node])
        calls = list(self.calls.values())
        outputs = [Output(self.calls[start].results[index])]
        return TapeGraph(list(self.leaves.values()), calls, outputs, list(self.constants.values()))

    def check(self, node: Any, trace: Any) -> None:
        """Raise if a part of a node is not in its declaration, or has changed."""
        if not hasattr(type(node), "operation") and type(node) not in WRITTEN:
            raise refuse(
                node, "it is a function of your own, or of a library: its backward is Python code, and no formula"
            )
        if trace is None and type(node) is not AsStridedBackward0:
            raise refuse(
                node,
                "tracing was off when it ran, so that its arguments were not noted: compute the result again "
                "in a notebook with the extension loaded, or after viz.settings.tracing = True",
            )
        hooks = node.hooks
        if hooks is not None and any(map(_any_hook, (hooks, *hooks.outputs.values()))):
            raise refuse(node, "it has hooks, which may change its gradients")
        if node.extras is not None and node.extras.packed:
            raise refuse(node, "its saved tensors were packed by hooks, which may have changed them")
        if not is_freed(node):
            node.check_saved()

    def call(self, node: Any, trace: Any, edges: tuple[tuple[Any, int], ...]) -> Call:
        targets = [None if to is None else self.target(to, index) for to, index in edges]
        if type(node) in WRITTEN:
            return self.call_of_write(node, trace, targets)
        op = _declaration(node)
        arguments: dict[str, Any] = {}
        for operand in trace.operands:
            target = targets[operand.slot] if operand.slot is not None and operand.slot < len(targets) else None
            if target is not None:
                self.check_leaf(node, target, operand)
                value: Any = target
            elif operand.shape is not None:
                value = self.constant(node, operand)
            else:
                value = operand.value
            if op.lists and (listed := _list_of(op, operand)):
                arguments.setdefault(listed, []).append(value)
            else:
                arguments[operand.name] = value
        call = Call(op, arguments, node, targets, trace.value, type(node).__name__)
        call.results = [Value(RESULT, self.name_of(node, i)) for i in range(node.outputs())]
        return call

    def call_of_write(self, node: Any, trace: Any, targets: list[Value | None]) -> Call:
        """A view that was written to, or a view of such a view, as another operation."""
        operands: list[Any] = [] if trace is None else [*trace.operands]
        op, arguments = _as_operation(node, operands[0].shape if operands else node.shape)
        for i, parameter in enumerate(op.tensors):
            target = targets[i]
            arguments[parameter] = self.constant(node, operands[i]) if target is None else target
        recorded = None if trace is None else trace.value
        call = Call(op, arguments, node, targets[: len(op.tensors)], recorded, type(node).__name__)
        call.results = [Value(RESULT, self.name_of(node, 0))]
        return call

    def target(self, to: Any, index: int) -> Value:
        """The value that an edge leads to."""
        if isinstance(to, AccumulateGrad):
            leaf = to.variable
            if leaf._hooks is not None and _any_hook(leaf._hooks):
                raise ProgramError(
                    f"a program cannot be written: the leaf {self.tensor_name(leaf) or ''} has hooks, which may change "
                    "its gradient"
                )
            if id(leaf) not in self.leaves:
                name = self.tensor_name(leaf) or f"leaf{len(self.leaves) + 1}"
                self.leaves[id(leaf)] = LeafValue(INPUT, name, _array(leaf), leaf)
            return self.leaves[id(leaf)]
        value: Value = self.calls[to].results[index]
        return value

    def check_leaf(self, node: Any, value: Value, operand: Any) -> None:
        """Raise if a leaf has changed since an operation used it."""
        if not isinstance(value, LeafValue):
            return
        noted = operand.value
        is_other = noted is not None and not same_elements(value.array, noted)
        if is_other or changed_since(value.array, node._seq):
            raise refuse(node, f"its operand {operand.name!r}, the leaf {value.name!r}, has been written to since")

    def constant(self, node: Any, operand: Any) -> Value:
        """A tensor without a gradient, unchanged."""
        tensor = operand.tensor() if operand.tensor is not None else None
        array = _value_when_used(node, operand, tensor)
        name = self.tensor_name(tensor) if tensor is not None else ""
        key = id(tensor) if tensor is not None else id(array)
        known = self.constants.get(key)
        if known is None or not same_elements(known.array, array):
            known = Value(CONSTANT, name or f"c{len(self.constants) + 1}", array)
            self.constants[key if key not in self.constants else (key, id(known))] = known
        return known


SCATTERING = {"select": "select_scatter", "slice_": "slice_scatter", "diagonal": "diagonal_scatter"}
"""By the operation that creates a view, the one that replaces it in a copy of the whole."""


def _as_operation(node: Any, shape: tuple[int, ...]) -> tuple[OpSchema, dict[str, Any]]:
    """Return a view that was written to, or a view of such a view, as an operation that makes a new tensor.

    ``y[0] = x`` gives the base of the view a node with the old base and the written values. A program computes the new
    base by ``select_scatter``, and the new value of a view by the operation that created the view, or by its strides.

    :param shape: of the base.
    """
    from nbautograd._engine.ops.indexing import slice_scatter  # noqa: F401 - declares what replaces a part

    if len(node.steps) == 1:
        _, function, values = node.steps[0]
        op = getattr(function, "__globals__", {}).get("OP")
        if type(node) is CopySlices:
            op = OPS.get(SCATTERING.get(getattr(op, "name", ""), ""))
        if isinstance(op, OpSchema) and not op.rest and not op.many:
            options = [name for name in op.positional if name not in op.tensors]
            return op, op.defaults | dict(zip(options, values, strict=False))
    home, view = _geometry(node, shape)
    if type(node) is CopySlices:
        return OPS["strided_scatter"], {"view": view, "home": home, "length": home.end()}
    return OPS["as_strided_in"], {
        "size": view.shape,
        "stride": view.strides,
        "storage_offset": view.offset,
        "home": home,
    }


def _geometry(node: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the memory layout of the base and of the view."""
    if node.layout is None:
        base = np.empty(shape, np.int8)
    else:
        geometry, length = node.layout
        base = strides.restride(np.empty(length, np.int8), geometry.shape, geometry.strides)
    return strides.of(base), strides.of(replay_view(base, node.steps))


def _list_of(op: OpSchema, operand: Any) -> str:
    name, place = operand.parameter
    return name if place is not None and name in op.lists else ""


def _declaration(node: Any) -> OpSchema:
    function = type(node).operation()
    op: OpSchema = function.__globals__["OP"]
    return op


def _reachable(start: Node) -> Tape:
    """Return the nodes that a pass from ``start`` may reach, with their edges."""
    known: dict[Any, tuple[tuple[Any, int], ...]] = {start: ()}
    stack: list[Any] = [start]
    while stack:
        node = stack.pop()
        known[node] = node.next_functions
        for to, _ in known[node]:
            if to is not None and not isinstance(to, AccumulateGrad) and to not in known:
                known[to] = ()
                stack.append(to)
    return known


def drawn(call: Call) -> Any:
    """Return the random numbers that an operation drew, while the tensor of them lives; otherwise None."""
    value = call.node.trace.output() if len(call.results) == 1 else None
    return None if value is None or value.grad_fn is not call.node else value._a


def is_freed(node: Any) -> bool:
    """Return whether a pass has freed the saved tensors of a node."""
    return True in [getattr(node, slot) is FREED for slot in node.saved]


def _any_hook(hooks: Any) -> bool:
    return bool(hooks.tensor or hooks.pre or hooks.post or hooks.accumulated)


def _value_when_used(node: Any, operand: Any, tensor: Tensor | None) -> Any:
    noted = operand.value
    if tensor is not None:
        array = _array(tensor)
        if not changed_since(array, node._seq) if noted is None else same_elements(array, noted):
            return array
    if noted is not None:
        return noted
    saved = None if is_freed(node) else getattr(node, f"s_{operand.name}", None)
    if not isinstance(saved, np.ndarray) or saved.shape != operand.shape or str(saved.dtype) != operand.dtype:
        raise refuse(node, f"the value of its operand {operand.name!r} has not been kept: hold it in a variable")
    return saved


def _array(tensor: Tensor) -> Any:
    """The array of a dense tensor on the CPU."""
    array = getattr(tensor, "_a", None)
    if not isinstance(array, (np.ndarray, np.generic)):
        raise ProgramError(
            f"a program cannot be written with a tensor on {tensor.device}, of layout {tensor.layout}: it runs with "
            "NumPy's arrays"
        )
    return array
