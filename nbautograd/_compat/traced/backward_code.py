"""The writer of a traced function's backward pass: the formulas of its operations, in the order of the engine."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from nbautograd._compat.traced.forward_code import CALLED, INLINE, Forward, Plan, number_as
from nbautograd._compat.traced.graph import Copied, FunctionGraph, OpStep, Rehistoried, TraceStep, Value
from nbautograd._compat.traced.specialize import Specializer
from nbautograd._engine.compiler.backward import array_vocabulary, prepared
from nbautograd._engine.compiler.elementwise import constants_as_arrays, operators_as_ufuncs
from nbautograd._engine.compiler.expressions import inlined, specialized
from nbautograd._engine.compiler.promotion import unbroadcast
from nbautograd._engine.compiler.schema import slot
from nbautograd._engine.fusion.tiling import MIN_TILED_SIZE


class Backward:
    """The writer of the backward function.

    :param outputs: the values whose gradients are given, in order.
    :param given: these gradients, in the compiling call.
    :ivar lines: the function's body.
    :ivar gradient: the variable of each value's gradient.
    """

    def __init__(self, graph: FunctionGraph, forward: Forward, outputs: list[Value], given: list[Any]) -> None:
        self.graph, self.forward, self.outputs, self.space = graph, forward, outputs, forward.space
        space = self.space
        space.values.update({f"g{number}": g for number, g in enumerate(given)})
        self.lines: list[str] = []
        self.specializer = Specializer(space, self.lines, "s", dict(forward.specializer.transposed))
        self.emit = self.specializer.emit
        self.gradient: dict[Value, str] = {}
        self.arrived: dict[Value, int] = {}

    def write(self) -> None:
        """Write all lines, for the steps by descending sequence numbers."""
        for number, value in enumerate(self.outputs):
            self.send(value, f"g{number}")
        for step in reversed(self.graph.steps):
            if isinstance(step, (Copied, Rehistoried)) or step in self.forward.plans and not step.relays:
                self.write_step(step)

    def send(self, target: Value, text: str) -> None:
        """Write the line that adds a gradient to a value's earlier gradients."""
        name = self.gradient.get(target)
        count = self.arrived[target] = self.arrived.get(target, 0) + 1
        if name is None:
            self.gradient[target] = self.specializer.assign(f"d_{self.forward.names[target]}", text)
        elif int(np.prod(target.shape)) >= MIN_TILED_SIZE:
            self.gradient[target] = f"d{count}_{self.forward.names[target]}"
            self.emit(f"{self.gradient[target]} = add({name}, {text})")
        elif count > 2 and target.shape:
            self.emit(f"{name} += {text}")
        else:
            self.gradient[target] = f"d{count}_{self.forward.names[target]}"
            self.emit(f"{self.gradient[target]} = {name} + {text}")
        step = target.step
        if step is not None and step.relays and step in self.forward.plans:
            self.write_step(step)
            del self.gradient[target]

    def write_step(self, step: TraceStep) -> None:
        """Write the lines of one step."""
        arrived = [self.gradient.get(value) for value in step.results]
        if all(g is None for g in arrived):
            return
        if isinstance(step, (Copied, Rehistoried)):
            (target,) = self.forward.targets(step)
            if target is not None:
                self.send(target, str(arrived[0]))
            return
        plan = self.forward.plans[step]
        if plan.mode == INLINE:
            assert isinstance(step, OpStep) and arrived[0] is not None
            self.write_inline(step, plan, arrived[0])
        elif plan.mode == CALLED:
            self.write_called(plan, arrived)
        else:
            self.write_node(step, plan, arrived)

    def write_called(self, plan: Plan, arrived: list[str | None]) -> None:
        """Write the gradients of a function that is called over tensors."""
        values = plan.names["values"]
        parts = f"parts_{plan.node}"
        self.emit(f"{parts} = gradients_of({plan.node}, [{', '.join(str(g) for g in arrived)}])")
        for index, value in enumerate(values):
            if self.forward.flow(value):
                self.send_value(value, f"{parts}[{index}]")

    def write_node(self, step: TraceStep, plan: Plan, arrived: list[str | None]) -> None:
        """Write the gradients of a node like eager's."""
        is_many = isinstance(step, OpStep) and step.op.many
        g = str(arrived[0])
        if is_many:
            g = f"OutputGrads({{{', '.join(f'{i}: {name}' for i, name in enumerate(arrived) if name)}}})"
        first = f"d_{plan.node.strip('_')}"
        second = f"e_{plan.node.strip('_')}"
        self.emit(f"{first}, {second} = {plan.node}.vjp({g}, True)")
        is_list = isinstance(step, OpStep) and step.op.many_edges
        for index, target in enumerate(self.forward.targets(step)):
            if target is not None:
                self.send_value(target, f"{second}[{index}]" if is_list else (first, second)[index])

    def send_value(self, target: Value, text: str) -> None:
        """Send a value that may be lazy, as eager's nodes compute it."""
        self.send(target, f"materialize({text})")

    # -- formulas ------------------------------------------------------------------------------------------------------

    def write_inline(self, step: OpStep, plan: Plan, g: str) -> None:
        """Write the formulas of an operation, as in its node's vjp."""
        op = step.op
        for name, target in zip(op.inputs, self.forward.targets(step), strict=True):
            if target is None:
                continue
            text = self.formula(step, plan, op.formulas[name], g)
            meta = plan.meta and plan.meta[op.tensors.index(name)]
            if meta is not None:
                text = f"{self.space.constant(unbroadcast)}({text}, {', '.join(map(self.space.literal, meta))})"
            self.send(target, self.specializer.written(text))

    def formula(self, step: OpStep, plan: Plan, formula: str, g: str) -> str:
        """Return a formula over arrays."""
        op, forward = step.op, self.forward
        needs = set().union(*op.saves().values())
        scope = dict(array_vocabulary(op))
        tree = inlined(prepared(formula, needs, False), scope)
        shape = step.results[0].shape
        numbers: dict[str, float] = {}
        tree = constants_as_arrays(tree, op.formula_arrays, numbers)
        if shape:
            tree = operators_as_ufuncs(tree, op.formula_arrays, {"g", "result"})
        variables = {"g": g, "result": forward.names[step.results[0]]}
        for name, value in numbers.items():
            variables[name] = self.space.literal(number_as(value, step.results[0].dtype) if shape else value)
        for what in needs:
            variables[what if what.isidentifier() else slot(what)] = self.saved(step, plan, what)
        plain = (bool, int, float, str, type(None))
        options = {name: v for name, v in plan.options.items() if name in variables and v.__class__ in plain}
        tree = specialized(tree, {}, options)
        return ast.unparse(self.space.resolved(tree, scope, variables))

    def saved(self, step: OpStep, plan: Plan, what: str) -> str:
        """Return the code for a name in a formula: metadata are constants, strides are the call's."""
        attribute = what.partition(".")[2]
        text = self.forward.saved(step, plan, what)
        return self.space.literal(self.space.evaluated(text)) if attribute in ("shape", "dtype", "ndim") else text
