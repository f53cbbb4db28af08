"""The replay of a graph's operations, one by one, on tensors: recorded, for higher derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._compat.traced.graph import (
    CONSTANT,
    Array,
    Copied,
    Detached,
    Drawn,
    Graph,
    Opaque,
    OpStep,
    Part,
    RegionWrite,
    Rehistoried,
    TraceStep,
    Value,
    ValueCheck,
)
from nbautograd._engine.batching.mode import invoke
from nbautograd._engine.core.grad_mode import is_grad_enabled, no_grad, set_grad_enabled
from nbautograd._engine.core.pytree import tree_flatten
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.core.views import replay_view
from nbautograd._engine.ops._internal import cast
from nbautograd.autograd.function import Function
from nbautograd.errors import TracingError

__all__ = ["Changed", "blank", "call_again", "replay"]


class Changed(TracingError):  # noqa: N818 - a way out
    """The exception for a check of values whose result differs from the trace."""


class _WithData(Function):
    """An operation: new data with the history of a tensor."""

    @staticmethod
    def forward(ctx: Any, history: Tensor, data: Tensor) -> Tensor:
        return data.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


def replay(
    steps: list[TraceStep], tensors: dict[Value, Any], drawn: dict[TraceStep, list[Any]] | None = None
) -> dict[Value, Any]:
    """Return all values as tensors, from the initial ones.

    :param drawn: the random numbers of random steps; by default they draw new ones.
    """
    tensors = dict(tensors)
    recorded = is_grad_enabled()
    for step in steps:
        known = None if drawn is None else drawn.get(step)
        if known is not None:
            results: list[Any] = [wrap(array) for array in known]
        else:
            if drawn is not None and isinstance(step, Opaque) and step.random:
                raise TracingError(
                    f"derivatives of higher order through {step.function.__name__}() in a traced function: what it "
                    "draws is not kept. Call the function itself."
                )
            with set_grad_enabled(recorded and step.recorded):
                results = _run(step, lambda value: _given(value, tensors))
        tensors.update(zip(step.results, results, strict=True))
    return tensors


def call_again(graph: Graph, inputs: list[Tensor]) -> list[Tensor]:
    """Return the outputs for these inputs, by calling all operations on tensors; do the writes at the end."""
    first: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
    first.update((value, tensor) for tensor, value in graph.captured)
    tensors = replay(graph.steps, first)
    with no_grad():
        for begin, end in graph.effects:
            first[begin].copy_(_given(end, tensors))
    outputs = []
    for output in graph.outputs:
        tensor = first[output.value] if output.value in first else _given(output.value, tensors)
        outputs.append(replay_view(tensor, output.steps))
    return outputs


def _given(argument: Any, tensors: dict[Value, Any]) -> Any:
    """Return an argument with its values replaced by tensors."""
    if isinstance(argument, Value):
        if argument.kind == CONSTANT and argument not in tensors:
            tensors[argument] = wrap(np.array(argument.array))
        return tensors[argument]
    if isinstance(argument, Array):
        return _given(argument.value, tensors)._a
    if argument.__class__ in (list, tuple):
        return argument.__class__([_given(part, tensors) for part in argument])
    if argument.__class__ is dict:
        return {key: _given(part, tensors) for key, part in argument.items()}
    return argument


def _run(step: TraceStep, given: Any) -> list[Any]:
    """Return the results of a step."""
    if isinstance(step, OpStep):
        values = {name: given(value) for name, value in step.arguments.items()}
        result = invoke(step.op, values)
        return list(result) if step.op.many else [result]
    if isinstance(step, ValueCheck):
        if step.function(*given(step.arguments)) != step.said:
            raise Changed(f"{step.function.__name__}() says something else than while tracing")
        return []
    if isinstance(step, Drawn) and step.fills is not None:
        scratch = wrap(blank(*step.fills))
        step.function(scratch, *given(step.arguments)[1:], **given(step.keywords))
        return [scratch]
    if isinstance(step, Opaque):
        result = step.function(*given(step.arguments), **given(step.keywords))
        return tree_flatten(result)[0]
    return [_replay_special(step, given)]


def _replay_special(step: TraceStep, given: Any) -> Any:
    if isinstance(step, Detached):
        return given(step.source).detach()
    if isinstance(step, RegionWrite):
        base = given(step.base).clone()
        replay_view(base, step.steps).copy_(given(step.region))
        return base
    if isinstance(step, Part):
        return replay_view(given(step.base), step.steps)
    if isinstance(step, Copied):
        return cast(given(step.source), step.dtype)
    assert isinstance(step, Rehistoried)
    history = given(step.history)
    return _WithData.apply(history, given(step.data)) if history.requires_grad else given(step.data)


def blank(shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...]) -> Any:
    """Return an uninitialized array in this layout."""
    if not shape:
        return np.empty(shape, dtype)
    order = sorted(range(len(shape)), key=lambda d: -abs(strides[d]))
    array = np.empty([shape[d] for d in order], dtype)
    return array.transpose(np.argsort(order))
