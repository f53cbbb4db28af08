"""A recorded trace: a graph of operations, of other calls and of writes, each of which can run again on tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbautograd._engine.batching.mode import invoke
from nbautograd._engine.compiler import graph
from nbautograd._engine.compiler.graph import CONSTANT, Array, GraphStep, mapped, values_in
from nbautograd._engine.core.grad_mode import is_grad_enabled, no_grad, set_grad_enabled
from nbautograd._engine.core.pytree import tree_flatten
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.core.views import AsStridedBackward0, CopySlices, replay_view
from nbautograd._engine.ops._internal import cast
from nbautograd.autograd.function import Function
from nbautograd.errors import TracingError

CAPTURED = "captured"
"""The kind of the value of a tensor from outside, which is read in each call."""


class Value(graph.Value):
    """A value with the step that computes it, and its shape and dtype, which are the same in each call."""

    __slots__ = ("dtype", "position", "shape", "step")

    def __init__(self, kind: str, array: Any, step: TraceStep | None = None, position: int = 0) -> None:
        self.kind, self.name, self.array = kind, "", array if kind == CONSTANT else None
        self.step, self.position, self.shape, self.dtype = step, position, tuple(array.shape), array.dtype

    def __repr__(self) -> str:
        return f"{self.name or self.kind}: {self.dtype}{list(self.shape)}"


def with_tensors(argument: Any, tensor_of: Callable[[Value], Any]) -> Any:
    """Return an argument with tensors in the place of its values, and with arrays where an operation gets those."""
    if isinstance(argument, Array):
        return tensor_of(argument.value)._a
    if isinstance(argument, Value):
        return tensor_of(argument)
    return mapped(argument, lambda part: with_tensors(part, tensor_of))


# -- steps -----------------------------------------------------------------------------------------------------------

Given = Callable[[Any], Any]
"""A function from an argument of a step to the same one with tensors for its values."""


@dataclass(eq=False)
class OpStep(graph.OpCall):
    """A call of a declared operation.

    As of each step, its ``run`` returns the results as tensors, and ``listed`` its name and its arguments for listings.

    :ivar recorded: true if gradient mode was on.
    """

    recorded: bool
    relays: bool

    def run(self, given: Given) -> list[Any]:
        result = invoke(self.op, given(self.arguments))
        return list(result) if self.op.many else [result]

    def listed(self, shown: Callable[[Any], str]) -> tuple[str, list[str]]:
        return self.op.name, [*map(shown, self.arguments.values())]


@dataclass(eq=False)
class Opaque(GraphStep):
    """A call of a function that is not an operation and is not traced: it draws random numbers, or reads values."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    recorded: bool = False
    draws: bool = False
    fills: tuple[Any, ...] | None = None
    """Shape, dtype and strides of the first argument, if the function fills it; otherwise None."""

    def reads(self) -> list[Value]:
        return [*values_in(self.arguments), *values_in(self.keywords)]

    def edges(self) -> list[Value | None]:
        return list(dict.fromkeys(value for value in self.reads() if value.dtype.kind in "fcV"))

    def run(self, given: Given) -> list[Any]:
        if self.fills is not None:
            return [fill(self.function, self.fills, given(self.arguments[1:]), given(self.keywords))]
        return tree_flatten(self.function(*given(self.arguments), **given(self.keywords)))[0]

    def listed(self, shown: Callable[[Any], str]) -> tuple[str, list[str]]:
        named = [f"{key}={shown(value)}" for key, value in self.keywords.items()]
        return self.function.__name__.strip("_"), [*map(shown, self.arguments), *named]


@dataclass(eq=False)
class Drawn(Opaque):
    """Random numbers: the result has no history."""

    draws: bool = True


@dataclass(eq=False)
class ValueCheck(Opaque):
    """A check of values that affects the function's control flow: its result in the trace must hold in each call."""

    said: Any = None

    def run(self, given: Given) -> list[Any]:
        check_again(self.function, given(self.arguments), self.said)
        return []

    def listed(self, shown: Callable[[Any], str]) -> tuple[str, list[str]]:
        name, arguments = super().listed(shown)
        return name, [*arguments, f"said={self.said!r}"]


class Transfer(GraphStep):
    """A step that is no call: of ``values``, and ``about`` the dtype of a copy or the steps of a view.

    :cvar label: the name in listings.
    :cvar code: the expression over arrays.
    :cvar carries: the values that get gradients.
    :cvar node: the class of the node that computes them; None if they pass unchanged.
    """

    label: str
    code = "{}"
    carries = slice(None)
    node: Any = None

    def __init__(self, *values: Value, about: Any = None, recorded: bool = True) -> None:
        self.values, self.about, self.recorded = values, about, recorded

    def reads(self) -> list[Value]:
        return [*self.values]

    def edges(self) -> list[Value]:
        return [*self.values[self.carries]]

    def run(self, given: Given) -> list[Any]:
        return [self.moved(*map(given, self.values))]

    def moved(self, *tensors: Any) -> Any:
        """Return the result for these tensors."""
        raise NotImplementedError

    def listed(self, shown: Callable[[Any], str]) -> tuple[str, list[str]]:
        steps = () if self.node is None else self.about
        views = [f"{getattr(function, '__name__', 'part')}{shown(tuple(rest))}" for function, _, rest in steps]
        return self.label, [*map(shown, self.values), *views]


class Detached(Transfer):
    """A value without its history."""

    label, carries = "detach", slice(0)

    def moved(self, *tensors: Any) -> Any:
        return tensors[0].detach()


class RegionWrite(Transfer):
    """A base after a write to one of its views."""

    label, code, node = "scatter", "written({}, {}, {})", CopySlices

    def moved(self, *tensors: Any) -> Any:
        base = tensors[0].clone()
        replay_view(base, self.about).copy_(tensors[1])
        return base


class Part(Transfer):
    """A view of a base that was written to after the view's creation."""

    label, code, node = "view_of", "replay_view({}, {})", AsStridedBackward0

    def moved(self, *tensors: Any) -> Any:
        return replay_view(tensors[0], self.about)


class Copied(Transfer):
    """The data written into a tensor, in the tensor's dtype."""

    label, code = "copy", "{}.astype({})"

    def moved(self, *tensors: Any) -> Any:
        return cast(tensors[0], self.about)


class Rehistoried(Transfer):
    """A tensor after an unrecorded write: new data with the previous history."""

    label, carries = "copy", slice(1, 2)

    def moved(self, *tensors: Any) -> Any:
        data, history = tensors
        return _WithData.apply(history, data) if history.requires_grad else data


TraceStep = OpStep | Opaque | Transfer


class _WithData(Function):
    """An operation: new data with the history of a tensor."""

    @staticmethod
    def forward(ctx: Any, history: Tensor, data: Tensor) -> Tensor:
        return data.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


class Changed(TracingError):  # noqa: N818 - a way out
    """The exception for a check of values whose result differs from the trace."""


def check_again(function: Any, arguments: Any, said: Any) -> None:
    """Repeat a check of values.

    :raises Changed: the result differs from the trace.
    """
    if function(*arguments) != said:
        raise Changed(f"{function.__name__}() says something else than while tracing")


def fill(function: Any, place: tuple[Any, ...], arguments: Any, keywords: Any) -> Tensor:
    """Return a new tensor of random numbers, of the shape, dtype and layout ``place``."""
    shape, dtype, strides = place
    order = sorted(range(len(shape)), key=lambda d: -abs(strides[d]))
    scratch = wrap(np.empty([shape[d] for d in order], dtype).transpose(np.argsort(order)))
    function(scratch, *arguments, **keywords)
    return scratch


# -- functions -------------------------------------------------------------------------------------------------------


class FunctionGraph(graph.Graph):
    """A recorded function.

    :ivar captured: tensors from outside that it read, with their values.
    :ivar effects: the final values of tensors from outside, by their initial values.
    """

    def __init__(self) -> None:
        super().__init__()
        self.captured: list[tuple[Any, Value]] = []
        self.effects: list[tuple[Value, Value]] = []

    def ends(self) -> list[Value]:
        """Return the values of results and effects."""
        return super().ends() + [end for _, end in self.effects]

    @functools.cached_property
    def needed(self) -> list[TraceStep]:
        """The steps that outputs are computed by; others make what is written into tensors from before."""
        return self.computing({output.value for output in self.outputs}, lambda step: isinstance(step, ValueCheck))

    @functools.cached_property
    def read(self) -> set[Value]:
        """The values that those steps read."""
        return {value for step in self.needed for value in step.reads()}

    def prune(self) -> None:
        """Remove unused steps; keep steps that draw random numbers."""
        self.steps = self.computing({*self.ends()}, lambda step: step.draws or isinstance(step, ValueCheck))

    @functools.cached_property
    def draws(self) -> bool:
        """True if the graph draws random numbers."""
        return any(step.draws for step in self.steps)

    @functools.cached_property
    def random(self) -> list[TraceStep]:
        """The steps that draw random numbers, whose results have no gradient."""
        return [step for step in self.steps if step.draws and step.__class__ is not Opaque]


def replay(
    steps: list[TraceStep], tensors: dict[Value, Any], drawn: dict[TraceStep, list[Any]] | None = None
) -> dict[Value, Any]:
    """Return all values as tensors, from the initial ones.

    :param drawn: the random numbers of random steps; by default they draw new ones.
    """
    tensors = dict(tensors)
    recorded = is_grad_enabled()
    given = _given(tensors)
    for step in steps:
        known = None if drawn is None else drawn.get(step)
        if known is not None:
            results: list[Any] = [wrap(array) for array in known]
        else:
            if drawn is not None and step.__class__ is Opaque and step.draws:
                raise TracingError(
                    f"derivatives of higher order through {step.function.__name__}() in a traced function: what it "
                    "draws is not kept. Call the function itself."
                )
            with set_grad_enabled(recorded and step.recorded):
                results = step.run(given)
        tensors.update(zip(step.results, results, strict=True))
    return tensors


def call_again(graph: FunctionGraph, inputs: list[Tensor]) -> list[Tensor]:
    """Return the outputs for these inputs, by calling all operations on tensors; do the writes at the end."""
    first: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
    first.update((value, tensor) for tensor, value in graph.captured)
    given = _given(replay(graph.steps, first))
    with no_grad():
        for begin, end in graph.effects:
            first[begin].copy_(given(end))
    outputs = []
    for output in graph.outputs:
        tensor = first[output.value] if output.value in first else given(output.value)
        outputs.append(replay_view(tensor, output.steps))
    return outputs


def _given(tensors: dict[Value, Any]) -> Given:
    """Return the function that puts tensors in the place of an argument's values, also of the trace's data."""

    def tensor_of(value: Value) -> Any:
        if value.kind == CONSTANT and value not in tensors:
            tensors[value] = wrap(np.array(value.array))
        return tensors[value]

    return lambda argument: with_tensors(argument, tensor_of)
