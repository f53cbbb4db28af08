"""Graphs of operations: values, and the steps that compute them.

``torch.jit.trace`` records a graph while a function runs (``_compat/traced/recorder.py``). A program is written of one
that is read from the nodes of a result (``viz/program/graph.py``). Each extends these classes by its own data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbautograd._engine.compiler.schema import OpSchema

INPUT, CONSTANT, RESULT = "input", "constant", "result"
"""The kinds of values: an argument or a leaf; data of the graph; a step's result."""


@dataclass(eq=False, slots=True)
class Value:
    """The state of a tensor between writes.

    :ivar name: the user's name of it, if it has one.
    :ivar array: its data, unless a step computes it.
    """

    kind: str
    name: str = ""
    array: Any = None


@dataclass(eq=False)
class Array:
    """A value that an operation gets as an array instead of a tensor."""

    value: Any


def mapped(argument: Any, change: Callable[[Any], Any]) -> Any:
    """Return an argument; of a list, tuple or dict, a copy in which ``change`` replaces each part."""
    if argument.__class__ in (list, tuple):
        return argument.__class__([change(part) for part in argument])
    if argument.__class__ is dict:
        return {key: change(part) for key, part in argument.items()}
    return argument


def values_in(argument: Any) -> Iterator[Any]:
    """Yield the values in an argument, which may be a list, tuple or dict."""
    if isinstance(argument, Value):
        yield argument
    elif isinstance(argument, Array):
        yield argument.value
    elif isinstance(argument, (list, tuple, dict)):
        for part in argument.values() if isinstance(argument, dict) else argument:
            yield from values_in(part)


class GraphStep:
    """One step: ``reads`` are its values, and ``edges`` those that get gradients, in the order of the vjp's results.

    :ivar draws: true if it draws random numbers.
    :ivar relays: true if it is a temporary view, whose gradient goes on at once.
    """

    results: Sequence[Any] = ()
    draws = relays = False


@dataclass(eq=False)
class OpCall(GraphStep):
    """A call of a declared operation, with its arguments by parameter."""

    op: OpSchema
    arguments: dict[str, Any]

    @property
    def draws(self) -> bool:  # type: ignore[override]
        """True if the operation draws random numbers."""
        return self.op.draws

    def reads(self) -> list[Any]:
        """Return the values in the arguments."""
        return [*values_in(self.arguments)]

    def edges(self) -> list[Any]:
        """Return the values that get gradients; None for other arguments with a formula."""
        return [edge if isinstance(edge, Value) else None for edge in self.op.edges(self.arguments)]


@dataclass(eq=False)
class Output:
    """One result; views are taken from their base by ``steps``, and arguments are returned themselves."""

    value: Any
    steps: Any = ()


@dataclass(eq=False, repr=False)
class Graph:
    """The steps in the order in which they ran, from inputs and constants to outputs."""

    inputs: list[Any] = field(default_factory=list)
    """The values of arguments, or of leaves."""
    steps: list[Any] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)

    def ends(self) -> list[Any]:
        """Return the values of the results."""
        return [output.value for output in self.outputs]

    def constants(self) -> list[Any]:
        """Return the data of the graph that steps read, or that are results."""
        read = [value for step in self.steps for value in step.reads()]
        return list(dict.fromkeys(value for value in [*read, *self.ends()] if value.kind == CONSTANT))

    def computing(self, wanted: set[Any], keeps: Callable[[Any], bool]) -> list[Any]:
        """Return the steps that compute the values ``wanted``, directly or indirectly, and those to keep."""
        steps = []
        for step in reversed(self.steps):
            if keeps(step) or any(value in wanted for value in step.results):
                steps.append(step)
                wanted.update(step.reads())
        return steps[::-1]
