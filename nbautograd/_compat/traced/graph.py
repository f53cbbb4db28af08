"""A recorded trace: values, and the steps that compute them. Values never change."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from nbautograd._engine.compiler.schema import OpSchema

__all__ = [
    "CAPTURED",
    "CONSTANT",
    "INPUT",
    "RESULT",
    "Array",
    "Copied",
    "Detached",
    "Drawn",
    "Graph",
    "OpStep",
    "Opaque",
    "Output",
    "Part",
    "RegionWrite",
    "Rehistoried",
    "TraceStep",
    "Value",
    "ValueCheck",
    "values_in",
]

INPUT, CAPTURED, CONSTANT, RESULT = "input", "captured", "constant", "result"
"""The kinds of values: an argument; a captured tensor, read at each call; data of the trace; a step's result."""


class Value:
    """The state of a tensor in the traced function between writes."""

    __slots__ = ("array", "dtype", "kind", "name", "position", "shape", "step")

    def __init__(self, kind: str, array: Any, step: TraceStep | None = None, position: int = 0) -> None:
        self.kind, self.step, self.position = kind, step, position
        self.shape, self.dtype = tuple(array.shape), array.dtype
        self.array: Any = array if kind == CONSTANT else None
        self.name = ""

    def __repr__(self) -> str:
        return f"{self.name or self.kind}: {self.dtype}{list(self.shape)}"


class Array:
    """A value that an operation gets as an array instead of a tensor."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


class TraceStep:
    """One step, with its inputs and results."""

    __slots__ = ("recorded", "results")
    results: list[Value]
    recorded: bool
    """True if gradient mode was on."""

    def reads(self) -> list[Value]:
        """Return all values that the step reads."""
        raise NotImplementedError

    def edges(self) -> list[Value | None]:
        """Return the values that get gradients, in the order of the vector-Jacobian product's results."""
        return []


def values_in(argument: Any) -> Iterator[Value]:
    """Yield the values in an argument, which may be a list or tuple."""
    if isinstance(argument, Value):
        yield argument
    elif isinstance(argument, Array):
        yield argument.value
    elif isinstance(argument, (list, tuple)):
        for part in argument:
            yield from values_in(part)
    elif isinstance(argument, dict):
        for part in argument.values():
            yield from values_in(part)


class OpStep(TraceStep):
    """A call of a declared operation."""

    __slots__ = ("arguments", "op", "relays")

    def __init__(self, op: OpSchema, arguments: dict[str, Any], recorded: bool, relays: bool) -> None:
        self.op, self.arguments, self.recorded, self.relays = op, arguments, recorded, relays
        self.results: list[Value] = []

    def reads(self) -> list[Value]:
        return [value for argument in self.arguments.values() for value in values_in(argument)]

    def edges(self) -> list[Value | None]:
        edges: list[Value | None] = []
        for name in self.op.tensors:
            if name not in self.op.formulas:
                continue
            argument = self.arguments.get(name)
            if name in self.op.lists:
                edges += [part if isinstance(part, Value) else None for part in argument or ()]
            else:
                edges.append(argument if isinstance(argument, Value) else None)
        return edges


class Opaque(TraceStep):
    """A call of a function that is not an operation and is not traced: it draws random numbers, or reads values."""

    __slots__ = ("arguments", "function", "keywords", "random")

    def __init__(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any], recorded: bool
    ) -> None:
        self.function, self.arguments, self.keywords, self.recorded = function, arguments, keywords, recorded
        self.results: list[Value] = []
        self.random = False

    def reads(self) -> list[Value]:
        return [*values_in(self.arguments), *values_in(self.keywords)]

    def edges(self) -> list[Value | None]:
        return list(dict.fromkeys(value for value in self.reads() if value.dtype.kind in "fcV"))


class Drawn(Opaque):
    """Random numbers: the result has no history."""

    __slots__ = ("fills",)

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        super().__init__(function, arguments, keywords, False)
        self.fills: tuple[Any, ...] | None = None
        """Shape, dtype and strides of the first argument, if the function fills it; otherwise None."""

    def edges(self) -> list[Value | None]:
        return []


class ValueCheck(Opaque):
    """A check of values that affects the function's control flow: its result in the trace must hold in each call."""

    __slots__ = ("said",)

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], said: Any) -> None:
        super().__init__(function, arguments, {}, False)
        self.said = said

    def edges(self) -> list[Value | None]:
        return []


class Detached(TraceStep):
    """A value without its history."""

    __slots__ = ("source",)

    def __init__(self, source: Value) -> None:
        self.source, self.recorded, self.results = source, False, []

    def reads(self) -> list[Value]:
        return [self.source]


class RegionWrite(TraceStep):
    """A base after a write to one of its views."""

    __slots__ = ("base", "region", "steps")

    def __init__(self, base: Value, region: Value, steps: Any, recorded: bool) -> None:
        self.base, self.region, self.steps, self.recorded, self.results = base, region, steps, recorded, []

    def reads(self) -> list[Value]:
        return [self.base, self.region]

    def edges(self) -> list[Value | None]:
        return [self.base, self.region]


class Part(TraceStep):
    """A view of a base that was written to after the view's creation."""

    __slots__ = ("base", "steps")

    def __init__(self, base: Value, steps: Any) -> None:
        self.base, self.steps, self.recorded, self.results = base, steps, True, []

    def reads(self) -> list[Value]:
        return [self.base]

    def edges(self) -> list[Value | None]:
        return [self.base]


class Copied(TraceStep):
    """The data written into a tensor, in the tensor's dtype."""

    __slots__ = ("dtype", "source")

    def __init__(self, source: Value, dtype: Any) -> None:
        self.source, self.dtype, self.recorded, self.results = source, dtype, True, []

    def reads(self) -> list[Value]:
        return [self.source]

    def edges(self) -> list[Value | None]:
        return [self.source]


class Rehistoried(TraceStep):
    """A tensor after an unrecorded write: new data with the previous history."""

    __slots__ = ("data", "history")

    def __init__(self, data: Value, history: Value) -> None:
        self.data, self.history, self.recorded, self.results = data, history, True, []

    def reads(self) -> list[Value]:
        return [self.data, self.history]

    def edges(self) -> list[Value | None]:
        return [self.history]


class Output:
    """One result of the function: a value; views are taken from their base, and arguments are returned themselves."""

    __slots__ = ("steps", "value")

    def __init__(self, value: Value, steps: Any = ()) -> None:
        self.value, self.steps = value, steps


class Graph:
    """A recorded function.

    :ivar inputs: its arguments, flat.
    :ivar captured: tensors from outside that it read, with their values.
    :ivar outputs: its results, flat.
    :ivar effects: the final values of tensors from outside, by their initial values.
    """

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.captured: list[tuple[Any, Value]] = []
        self.steps: list[TraceStep] = []
        self.outputs: list[Output] = []
        self.effects: list[tuple[Value, Value]] = []

    def constants(self) -> list[Value]:
        """Return the data of the trace that steps or outputs read."""
        read = [value for step in self.steps for value in step.reads()]
        read += [output.value for output in self.outputs] + [end for _, end in self.effects]
        return list(dict.fromkeys(value for value in read if value.kind == CONSTANT))

    @functools.cached_property
    def needed(self) -> list[TraceStep]:
        """The steps that outputs are computed by; others make what is written into tensors from before."""
        wanted = {output.value for output in self.outputs}
        steps = []
        for step in reversed(self.steps):
            if isinstance(step, ValueCheck) or any(value in wanted for value in step.results):
                steps.append(step)
                wanted.update(step.reads())
        return steps[::-1]

    @functools.cached_property
    def read(self) -> set[Value]:
        """The values that those steps read."""
        return {value for step in self.needed for value in step.reads()}

    def prune(self) -> None:
        """Remove unused steps; keep steps that draw random numbers."""
        wanted = {output.value for output in self.outputs} | {end for _, end in self.effects}
        steps = []
        for step in reversed(self.steps):
            draws = isinstance(step, OpStep) and "generator" in step.arguments or getattr(step, "random", False)
            if draws or isinstance(step, (ValueCheck, Drawn)) or any(value in wanted for value in step.results):
                steps.append(step)
                wanted.update(step.reads())
        self.steps = steps[::-1]

    @functools.cached_property
    def draws(self) -> bool:
        """True if the graph draws random numbers."""
        return bool(self.random) or any(isinstance(step, Opaque) and step.random for step in self.steps)

    @functools.cached_property
    def random(self) -> list[TraceStep]:
        """The steps that draw random numbers, whose results have no gradient."""
        return [
            step
            for step in self.steps
            if isinstance(step, Drawn) or isinstance(step, OpStep) and "generator" in step.arguments
        ]
