"""The writer of a traced function's forward pass as one function over arrays: a line for each step.

A line runs when it is written, with the arrays of the compiling call, which tells the size of every value, the
promotion of its operands, and the node that eager would create.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nbautograd._compat.traced.graph import FunctionGraph, Opaque, OpStep, TraceStep, Transfer, Value, ValueCheck
from nbautograd._compat.traced.namespace import WANTED, Namespace
from nbautograd._compat.traced.specialize import Specializer
from nbautograd._engine.compiler.elementwise import CONSTANTS, Constants, constants_as_arrays
from nbautograd._engine.compiler.expressions import binds_names, specialized
from nbautograd._engine.compiler.forward import ForwardWriter
from nbautograd._engine.compiler.graph import Array, values_in
from nbautograd._engine.compiler.promotion import HalfPrecision, promote
from nbautograd._engine.compiler.runtime import FORWARD
from nbautograd._engine.compiler.schema import NATIVE, PLAIN, POINTWISE, TILED, OpSchema
from nbautograd._engine.compiler.source import evaluated, expression_of
from nbautograd._engine.core.tensor import wrap
from nbautograd._engine.core.views import AsStridedBackward0, _layout
from nbautograd._engine.fusion.tiling import MIN_TILED_SIZE

INLINE, NODE, CALLED = "inline", "node", "called"
"""The computation of a step's gradients: by its formulas, by a node like eager's, or by a call over tensors."""

SHAPED = ("embedding_rows", "nll_rows", "nll_images", "gather", "scatter", "take_along_dim")
"""Operations with indices whose results' shapes follow from their operands."""


@dataclass(slots=True)
class Plan:
    """The data about a step for the backward pass."""

    mode: str
    node: str = ""
    meta: Any = None
    names: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    variant: str = "real"


class Forward:
    """The writer of the forward function.

    :param arrays: the arrays of the graph's inputs and captured tensors, of this call.
    :param wanted: the values that require grad.
    :ivar lines: the function's body.
    :ivar names: the variable of each value.
    :ivar plans: the plan of each step through which gradients flow.
    """

    def __init__(self, graph: FunctionGraph, arrays: dict[Value, Any], wanted: set[Value], space: Namespace) -> None:
        self.graph, self.space, self.wanted = graph, space, wanted
        self.lines: list[str] = []
        self.specializer = Specializer(space, self.lines, "t", {})
        self.emit = self.specializer.emit
        self.names: dict[Value, str] = {}
        self.plans: dict[TraceStep, Plan] = {}
        self.flows: dict[Value, bool] = {}
        for value, array in arrays.items():
            name = self.names[value] = f"{'x' if value in graph.inputs else 'p'}{value.position}"
            space.values[name] = array

    def write(self) -> None:
        """Write all lines."""
        for value in self.graph.constants():
            self.names[value] = self.space.constant(_frozen(value.array))
        for number, step in enumerate(self.graph.steps):
            for value in step.results:
                self.names[value] = f"v{number}" if len(step.results) == 1 else f"v{number}_{value.position}"
            self.write_step(step, number)

    def array(self, value: Value) -> Any:
        """Return the array of a value in this call."""
        return self.space.values[self.names[value]]

    def flow(self, value: Value) -> bool:
        """Return whether a value needs a gradient."""
        if value not in self.flows:
            if value.dtype.kind not in "fcV":
                self.flows[value] = False
            elif value.step is None:
                self.flows[value] = value in self.wanted
            else:
                step = value.step
                self.flows[value] = bool(step.recorded) and any(self.targets(step))
        return self.flows[value]

    def targets(self, step: TraceStep) -> list[Value | None]:
        """Return the edges of a step whose gradients are needed; None for others."""
        return [None if edge is None or not self.flow(edge) else edge for edge in step.edges()]

    # -- steps ---------------------------------------------------------------------------------------------------------

    def write_step(self, step: TraceStep, number: int) -> None:
        """Write the lines of a step."""
        flows = bool(step.results) and step.recorded and any(self.targets(step))
        if isinstance(step, OpStep):
            try:
                self.write_op(step, number, flows)
            except (HalfPrecision, _Unusual):
                self.write_called(step, number, flows)
        elif isinstance(step, ValueCheck):
            self.write_check(step)
        elif isinstance(step, Opaque) and step.fills is not None:
            names = ", ".join(self.names[value] for value in step.reads())
            parts = (step.function, step.fills, step.arguments[1:], step.keywords)
            constants = ", ".join(map(self.space.constant, parts))
            self.emit(f"{self.names[step.results[0]]} = fill({constants}, [{names}])")
        elif isinstance(step, Opaque):
            self.write_called(step, number, flows)
        else:
            self.write_transfer(step, flows)

    def write_check(self, step: ValueCheck) -> None:
        """Write a check of values: on the arrays if they suffice, otherwise on tensors."""
        space, said = self.space, self.space.literal(step.said)
        direct = f"{space.constant(step.function)}({', '.join(map(self.text, step.arguments))})"
        differs = "is not None" if step.said is None else f"!= {said}"
        try:
            self.emit(f"if {direct} {differs}: raise Changed")
        except (AttributeError, TypeError):
            names = ", ".join(self.names[value] for value in step.reads())
            function, arguments = space.constant(step.function), space.constant(step.arguments)
            self.emit(f"check({function}, {arguments}, {said}, [{names}])")

    def write_transfer(self, step: Transfer, flows: bool) -> None:
        """Write the lines of a step that is not a call."""
        about = [] if step.about is None else [self.space.constant(step.about)]
        text = step.code.format(*(self.names[value] for value in step.values), *about)
        self.emit(f"{self.names[step.results[0]]} = {text}")
        if not flows:
            return
        plan = self.plans[step] = Plan(NODE)
        if step.node is not None:
            base_array = self.array(step.values[0])
            node: Any = object.__new__(step.node)
            wanted = [target and WANTED for target in self.targets(step)]
            node.next0, node.next1 = [*wanted, None][:2]
            node.input_meta, node.extras, node._seq = None, None, 0
            node.steps, node.layout = step.about, _layout(base_array, step.about)
            if step.node is AsStridedBackward0:
                node.shape = base_array.shape
            plan.node = self.space.constant(node)  # it saves nothing, so that all calls may share it

    def write_called(self, step: OpStep | Opaque, number: int, flows: bool) -> None:
        """Call the function over tensors."""
        function, arguments, keywords = _call_of(step)
        values = step.reads()
        wanted = tuple(flows and self.flow(value) for value in values)
        names = ", ".join(self.names[value] for value in values)
        shapes = tuple(value.shape for value in step.results)
        constants = ", ".join(map(self.space.constant, (function, arguments, keywords)))
        targets = "".join(f"{self.names[value]}, " for value in step.results)
        call = f"call({constants}, [{names}], {wanted!r}, {shapes!r})"
        self.emit(f"({targets}), call{number} = {call}")
        if flows:
            plan = self.plans[step] = Plan(CALLED)
            plan.node, plan.names["values"] = f"call{number}", values

    # -- operations ----------------------------------------------------------------------------------------------------

    def write_op(self, step: OpStep, number: int, flows: bool) -> None:
        """Write the lines of an operation over arrays; raise _Unusual if it must be called over tensors."""
        op = step.op
        operands = self.operands(step)
        options = {name: value for name, value in step.arguments.items() if name not in op.tensors}
        if op.kind == POINTWISE:
            loads, names, meta, variant = self.promoted(op, operands, options)
            self.emit(*loads)
        else:
            names, meta, variant = {n: self.text(value) for n, value in step.arguments.items()}, None, "real"
        expression, is_tiled = self.expression(op, names, options)
        self.write_results(step, expression)
        self.check_shapes(step)
        if not flows:
            return
        variant = _variant_of(op, self.array(step.results[0]), variant, is_tiled)
        plan = self.plans[step] = Plan(NODE if op.lists or op.many or variant != "real" or op.keys else INLINE)
        plan.variant, plan.meta, plan.names, plan.options = variant, meta, names, options
        if plan.mode == NODE:
            plan.node = f"node{number}"
            self.emit(*self.node(step, plan))

    def write_results(self, step: OpStep, expression: str) -> None:
        """Write the line that names an operation's results."""
        names = [self.names[value] for value in step.results]
        if not step.op.many:
            self.names[step.results[0]] = self.specializer.assign(names[0], self.specializer.written(expression))
        else:
            self.emit(f"{', '.join(names)}, = {expression}" if len(names) > 1 else f"({names[0]}, ) = {expression}")

    def check_shapes(self, step: OpStep) -> None:
        """Write the checks of results whose shapes may depend on values."""
        op = step.op
        depends = op.keys or any(value.dtype.kind in "iub" for value in step.reads())
        for value in step.results if depends and op.kind == PLAIN and op.name not in SHAPED else ():
            if value.shape:
                self.emit(f"check_shape({self.names[value]}, {value.shape!r}, {op.name!r})")

    def operands(self, step: OpStep) -> dict[str, Any]:
        """Return the arrays of an operation's tensors, if it supports a call over arrays."""
        op = step.op
        arrays = [self.array(value) for value in step.reads()]
        if any(not isinstance(a, (np.ndarray, np.generic)) for a in arrays):
            raise _Unusual
        if op.half_policy != NATIVE and any(a.dtype.kind == "V" or a.dtype.char == "e" for a in arrays):
            raise _Unusual
        return {name: step.arguments.get(name) for name in op.tensors}

    def text(self, argument: Any) -> str:
        """Return the code of an argument."""
        if isinstance(argument, Value):
            return self.names[argument]
        if isinstance(argument, Array):
            return self.names[argument.value]
        if argument.__class__ is list and any(True for _ in values_in(argument)):
            return f"[{', '.join(map(self.text, argument))}]"
        if argument.__class__ is tuple and any(True for _ in values_in(argument)):
            return f"({', '.join(map(self.text, argument))},)"
        return self.space.literal(argument)

    def operand(self, argument: Any) -> Any:
        """Return what promotion sees of an operand: a tensor, an array or a number."""
        if isinstance(argument, Value):
            return wrap(self.array(argument))
        return self.array(argument.value) if isinstance(argument, Array) else argument

    def promoted(
        self, op: OpSchema, operands: dict[str, Any], options: dict[str, Any]
    ) -> tuple[list[str], dict[str, str], Any, str]:
        """Return lines that cast operands, the arguments' names, the casts of gradients, and the node's variant."""
        *arrays, meta, _ = promote(op, tuple(map(self.operand, operands.values())))
        if any(a.__class__ is not np.ndarray and not isinstance(a, (np.generic, int, float)) for a in arrays):
            raise _Unusual
        lines, names = self.casts(operands, arrays)
        names |= {name: self.text(value) for name, value in options.items()}
        if any(spec is not None and spec[2] is not None for spec in meta or ()):
            raise _Unusual
        return lines, names, meta, "complex" if any(map(np.iscomplexobj, arrays)) else "real"

    def casts(self, operands: dict[str, Any], arrays: list[Any]) -> tuple[list[str], dict[str, str]]:
        """Return lines that cast operands, and the operands' names."""
        lines, names = [], {}
        for (parameter, argument), array in zip(operands.items(), arrays, strict=True):
            if not isinstance(argument, (Value, Array)):
                names[parameter] = self.space.constant(_frozen(array))
                continue
            name = self.text(argument)
            if self.space.values[name].dtype != array.dtype:
                cast = f"{name}_{array.dtype.name}"
                lines.append(f"{cast} = {name}.astype({self.space.constant(array.dtype)})")
                name = cast
            names[parameter] = name
        return lines, names

    def expression(self, op: OpSchema, names: dict[str, str], options: dict[str, Any]) -> tuple[str, bool]:
        """Return the expression of the result, and whether it is computed tile by tile."""
        space = self.space
        tree = expression_of(op.body)
        scope = op.body.__globals__
        plain = all(value.__class__ in (int, float, bool, str, type(None)) for value in options.values())
        if tree is None or not plain or op.rest or op.lists or binds_names(tree):
            return self.called(op, names), False
        if op.kind == POINTWISE and (tiled := self.tiled(op, names, options)) is not None:
            return tiled, True
        variables = {name: text for name, text in names.items() if name not in options}
        tree = specialized(tree, {}, options)
        if op.kind == POINTWISE:
            tree, numbers = self.constants(op, tree, names)
            variables |= numbers
        return ast.unparse(space.resolved(tree, scope, variables)), False

    def constants(self, op: OpSchema, tree: ast.expr, names: dict[str, str]) -> tuple[ast.expr, dict[str, str]]:
        """Return a pointwise expression with variables for the numbers beside arrays, and the numbers."""
        evaluated = {n: self.space.evaluated(names[n]) for n in op.tensors}
        arrays = {n for n, value in evaluated.items() if getattr(value, "ndim", 0)}
        numbers: dict[str, Any] = {}
        tree = constants_as_arrays(tree, arrays, numbers)
        if arrays and len({value.dtype for n, value in evaluated.items() if n not in op.masks}) == 1:
            kind = evaluated[next(iter(arrays))].dtype
            numbers = {name: number_as(value, kind) for name, value in numbers.items()}
        return tree, {name: self.space.literal(value) for name, value in numbers.items()}

    def called(self, op: OpSchema, names: dict[str, str]) -> str:
        """Return the call of the operation's body."""
        return f"{self.space.constant(op.body)}({op.passed(names)})"

    def tiled(self, op: OpSchema, names: dict[str, str], options: dict[str, Any]) -> str | None:
        """Return the call that computes a large result tile by tile, as eager does."""
        arrays = [self.space.values[names[name]] for name in op.tensors]
        if arrays[0].__class__ is not np.ndarray or not any(getattr(a, "size", 1) >= MIN_TILED_SIZE for a in arrays):
            return None
        if any(a.dtype.kind != "f" or a.dtype.itemsize < 4 for a in arrays):
            return None
        writer, tree = ForwardWriter(op, traced=False), expression_of(op.body)
        assert tree is not None
        text, guard = writer.tiled_expression(specialized(tree, writer.arrays))
        if text is None or not evaluated(f"True{guard}", {}, dict(options)):
            return None
        called = ", ".join(names[name] for name in op.tensors)
        return f"{self.space.constant(FORWARD['compute_tiled'])}({self.space.constant(op)}, {text!r}, {called})"

    def node(self, step: OpStep, plan: Plan) -> list[str]:
        """Write lines that create the node of an operation, as in eager."""
        op, node = step.op, plan.node
        node_class: Any = op.node(plan.variant)
        wanted = ["WANTED" if target else "None" for target in self.targets(step)]
        lines = [f"{node} = new({self.space.constant(node_class)}); {node}.extras = None; {node}._seq = 0"]
        if op.many_edges:
            edges = "".join(f"{edge}, " for edge in wanted)
            lines.append(f"{node}.all_edges = ({edges}); {node}.next0 = {node}.next1 = None")
        else:
            first, second = [*wanted, "None"][:2]
            lines.append(f"{node}.next0 = {first}; {node}.next1 = {second}")
        lines.append(f"{node}.input_meta = {self.space.literal(plan.meta)}")
        for what, slot in node_class.formula_slots.items():
            lines.append(f"{node}.{slot} = {self.saved(step, plan, what)}")
        if op.many:
            lines.append(f"{node}.count = {len(step.results)}")
        return lines

    def saved(self, step: OpStep, plan: Plan, what: str) -> str:
        """Return the code of a saved value of a node."""
        results = [self.names[value] for value in step.results]
        names = plan.names | {f"result[{number}]": name for number, name in enumerate(results)}
        names["result"] = f"({', '.join(results)},)" if step.op.many else results[0]
        return step.op.value_of(what, names)


def number_as(value: float, dtype: Any) -> Any:
    """Return a number as a 0-d array with a dtype."""
    return CONSTANTS[repr(value)][dtype] if math.isfinite(value) else Constants(value)[dtype]


class _Unusual(Exception):  # noqa: N818 - a way out
    """An operation that is called over tensors."""


def _call_of(step: OpStep | Opaque) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    if isinstance(step, Opaque):
        return step.function, step.arguments, step.keywords
    return step.op.function, *step.op.bound(step.arguments)


def _variant_of(op: OpSchema, result: Any, variant: str, is_tiled: bool) -> str:
    """Return the variant of an operation's node; without one it is the usual one."""
    if op.kind != POINTWISE:
        conjugates = result.dtype.kind == "c" and any("conj" in text for text in op.formulas.values())
        return "complex" if conjugates else variant
    is_large = is_tiled or result.__class__ is np.ndarray and result.size >= MIN_TILED_SIZE
    return TILED if variant == "real" and is_large else variant


def _frozen(array: Any) -> Any:
    """Return a read-only array of the trace, which calls share."""
    if isinstance(array, np.ndarray):
        array.flags.writeable = False
    return array
