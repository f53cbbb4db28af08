"""A graph compiled for one kind of call: which arguments require grad. One function forward, one backward."""

from __future__ import annotations

import ast
import types
from typing import Any

import numpy as np

from nbautograd.arrays import backend, version_counter
from nbautograd.compiler.source import compiled
from nbautograd.errors import TracingError
from nbautograd.traced.backward_code import Backward
from nbautograd.traced.forward_code import Forward
from nbautograd.traced.graph import CONSTANT, Graph, Rehistoried, Value
from nbautograd.traced.namespace import Namespace

__all__ = ["Compilation"]


class Compilation:
    """The functions for calls in which ``wanted`` require grad.

    :ivar forward: from the arrays of inputs and captured tensors to (outputs, effects, saved).
    :ivar differentiable: for each output whether gradients flow through it.
    :ivar edges: the inputs and captured tensors that gradients go to.
    """

    def __init__(self, graph: Graph, name: str, arrays: dict[Value, Any], wanted: set[Value]) -> None:
        self.graph, self.name = graph, name
        self.space = Namespace()
        self.code = Forward(graph, arrays, wanted, self.space)
        self.arguments = list(arrays)
        self.outputs = [output.value for output in graph.outputs]
        with backend.quiet():
            self.code.write()
        self.computed = list(dict.fromkeys(v for v in self.outputs if v not in arrays))
        self.differentiable = [value for value in self.computed if self.code.flow(value)]
        self.edges = [value for value in arrays if value in wanted] if self.differentiable else []
        for _, end in graph.effects:
            if self.code.flow(end) and not isinstance(end.step, Rehistoried):
                raise TracingError(
                    f"{name}() writes into its argument what requires grad: in a traced function that is not possible. "
                    "Return the new value instead."
                )
        self.backwards: dict[tuple[bool, ...], Any] = {}
        self.sources: dict[str, str] = {}
        self.saved: list[str] = []
        self.visible: list[int] = []
        self.forward = self.write_forward()

    # -- forward -------------------------------------------------------------------------------------------------------

    def write_forward(self) -> Any:
        code = self.code
        parameters = [code.names[value] for value in self.arguments]
        if self.differentiable:
            everything = self.write_backward((True,) * len(self.differentiable))
            variables = {name for name in self.space.values if name not in self.space.globals}
            used = {part.id for part in ast.walk(ast.parse(everything)) if isinstance(part, ast.Name)} & variables
            drawn = {code.names[v] for step in self.graph.random for v in step.results}
            self.saved = sorted(used | drawn)
        seen = [self.space.values[n] for n in parameters] + [code.array(value) for value in self.computed]
        owners = {id(version_counter.owner(array)) for array in seen if isinstance(array, np.ndarray)}
        self.visible = [
            index
            for index, name in enumerate(self.saved)
            if isinstance(a := self.space.values[name], np.ndarray) and id(version_counter.owner(a)) in owners
        ]
        outputs = "".join(f"{self.result(value)}, " for value in self.computed)
        effects = "".join(f"{self.result(end, True)}, " for _, end in self.graph.effects)
        lines = [
            f"def {_plain(self.name)}({', '.join(parameters)}):",
            "    old_errstate = set_quiet(SILENT)",
            "    try:",
            *(f"        {line}" for line in code.lines or ["pass"]),
            "    finally: unset_quiet(old_errstate)",
            f"    return ({outputs}), ({effects}), [{', '.join(self.saved)}]",
        ]
        return self.function("\n".join(lines), "forward")

    def result(self, value: Value, effect: bool = False) -> str:
        """What the forward function returns of a value: a copy where the array is not its own."""
        name = self.code.names[value]
        array = self.space.values[name]
        if (
            value.kind == CONSTANT
            or not effect
            and any(array is self.space.values[self.code.names[v]] for v in self.arguments)
        ):
            return f"{name}.copy()" if value.kind == CONSTANT else f"{name}.view()"
        others = [self.code.array(v) for v in self.graph.constants()]
        if effect:
            others += [self.code.array(v) for v in self.arguments]
        if any(isinstance(a, np.ndarray) and np.may_share_memory(a, array) for a in others):
            return f"{name}.copy()"
        return name

    def function(self, source: str, kind: str) -> Any:
        name = _plain(self.name) if kind == "forward" else "backward"
        self.sources[kind] = source
        code = compiled(source, f"<nbautograd traced {self.name} {kind} {id(self)}>", name)
        return types.FunctionType(code, self.space.globals, name)

    def release(self) -> None:
        """Forget the arrays of the call that compiled, but for their shapes and dtypes."""
        for name, value in self.space.values.items():
            if name not in self.space.globals and isinstance(value, (np.ndarray, np.generic)):
                self.space.values[name] = np.broadcast_to(np.empty((), value.dtype), value.shape)
            elif name not in self.space.globals:
                self.space.values[name] = None

    # -- backward ------------------------------------------------------------------------------------------------------

    def backward(self, given: tuple[bool, ...]) -> Any:
        """The backward function, for gradients of some of the outputs: from what is saved and these to the edges'."""
        known = self.backwards.get(given)
        if known is None:
            kind = "backward" if all(given) else f"backward {given}"
            known = self.backwards[given] = self.function(self.write_backward(given), kind)
        return known

    def write_backward(self, given: tuple[bool, ...]) -> str:
        outputs = [value for value, is_given in zip(self.differentiable, given, strict=True) if is_given]
        writer = Backward(self.graph, self.code, outputs, self.space)
        writer.write()
        gradients = ", ".join(writer.gradient.get(value, "None") for value in self.edges)
        arguments = "".join(f", g{number}" for number in range(len(outputs)))
        unpack = [f"{', '.join(self.saved)}, = saved"] if self.saved else []
        lines = [*unpack, *writer.lines, f"return [{gradients}]"]
        return "\n".join([f"def backward(saved{arguments}):", *(f"    {line}" for line in lines)])


def _plain(name: str) -> str:
    name = "".join(c if c.isalnum() else "_" for c in name)
    return name if name.isidentifier() else f"f_{name.strip('_')}"
