"""Recording a function on examples, and checking the recording."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from nbautograd._compat.traced.function import Signature, TracedGraph
from nbautograd._compat.traced.graph import FunctionGraph
from nbautograd._compat.traced.interceptions import TracerWarning, recording
from nbautograd._compat.traced.recorder import TraceRecorder, current
from nbautograd._compat.traced.script import listing
from nbautograd._engine.compiler.graph import Output
from nbautograd._engine.core import batched, dispatch_mode
from nbautograd._engine.core.pytree import tree_flatten, tree_map
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.rng import generator
from nbautograd.errors import TracingError, kind_of, warn


class TracingCheckError(Exception):
    """The error for traces of a function that differ."""


# -- recording -------------------------------------------------------------------------------------------------------


def record(
    function: Callable[..., Any], name: str, arguments: tuple[Any, ...], strict: bool
) -> tuple[FunctionGraph, Any, TraceRecorder]:
    """Run a function, and record it: return the graph, the function's result, and the recorder."""
    if dispatch_mode.is_on() or batched.levels() or current.get() is not None:
        raise TracingError(
            f"{name} cannot be traced inside of vmap, forward mode, another trace, or a mode that watches operations"
        )
    tensors, _ = tree_flatten(arguments)
    recorder = TraceRecorder(tensors, name)
    with recording(recorder):
        result = function(*arguments)
        if result is None:
            raise RuntimeError(
                "The traced function didn't return any values! A trace keeps what its results are computed from, so "
                "nothing would be left of it."
            )
        _check_result(result, strict)
        graph = recorder.graph
        outputs = tree_flatten(result)[0]
        for tensor in outputs:
            graph.outputs.append(_output(recorder, tensor, outputs))
        for entry in list(recorder.entries.values()):
            if entry.tensor._view is None and entry.version > 0:
                begin = recorder.beginnings.get(id(entry.tensor))
                if begin is not None:
                    graph.effects.append((begin, entry.value))
    graph.prune()
    return graph, tree_map(_kept, result), recorder


def _kept(t: Tensor) -> Any:
    """Return the value of a result, which may be written to later."""
    return wrap(np.array(t._a))


def _output(recorder: TraceRecorder, tensor: Tensor, outputs: list[Any]) -> Output:
    """Return the form of an output: an argument itself, or a view of an argument."""
    value = recorder.value_of(tensor)
    if id(tensor) in recorder.beginnings:
        return Output(recorder.beginnings[id(tensor)])
    if tensor._view is None:
        return Output(value)
    base = tensor._view.base
    if id(base) in recorder.beginnings:
        return Output(recorder.beginnings[id(base)], tensor._view.steps())
    if any(
        other is base or other._view is not None and other._view.base is base
        for other in outputs
        if other is not tensor
    ):
        return Output(recorder.value_of(base), tensor._view.steps())
    return Output(value)


def _check_result(result: Any, strict: bool) -> None:
    """Raise RuntimeError if the result of a function is not made of tensors."""
    if isinstance(result, Tensor):
        return
    kind = "list" if isinstance(result, list) else "dict" if isinstance(result, dict) else ""
    if kind and strict:
        message = (
            f"Encountering a {kind} at the output of the tracer might cause the trace to be incorrect: its "
            f"{'keys' if kind == 'dict' else 'length'} are those of the example inputs. Return a "
            f"{'NamedTuple' if kind == 'dict' else 'tuple'}, or pass strict=False where all inputs give the same."
        )
        if kind == "dict":
            raise RuntimeError(message)
        warn(message, TracerWarning)
    if not isinstance(result, (tuple, list, dict)):
        raise RuntimeError(
            "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions"
        )
    for part in result.values() if isinstance(result, dict) else result:
        _check_result(part, strict)


def _arguments(name: str, example: Any) -> Any:
    """Return the example inputs as a tuple; raise TypeError if they are no sequence, RuntimeError if no tensors."""
    if isinstance(example, Tensor):
        example = (example,)
    elif not isinstance(example, Iterable):
        raise TypeError(
            f"{kind_of(example)!r} object is not iterable: the examples for {name} must be a tensor or a tuple of the "
            f"function's arguments, but got {example!r}"
        )
    elif not isinstance(example, tuple):
        example = tuple(example)
    for leaf in tree_flatten(example)[0]:
        if not isinstance(leaf, Tensor):
            kinds = ", ".join("Tensor" if isinstance(part, Tensor) else kind_of(part) for part in example)
            raise RuntimeError(
                f"Type 'Tuple[{kinds}]' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples "
                "of Tensors can be traced"
            )
    return example


def traced_graph(
    function: Callable[..., Any], name: str, example_inputs: Any, *, check_trace: bool = True, check_inputs: Any = None,
    check_tolerance: float = 1e-5, strict: bool = True, keywords: bool = False, parameters_of: Any = None,
) -> TracedGraph:  # fmt: skip
    """Record a function and check the recording; see ``trace``."""
    if keywords:
        example_inputs = inspect.signature(function).bind(**example_inputs).args
    arguments = _arguments(name, example_inputs)
    state = generator.default_generator.get_state()
    before = _copies(arguments)
    graph, result, recorder = record(function, name, _apart(arguments), strict)
    after = generator.default_generator.get_state()
    leaves, spec = tree_flatten(arguments)
    signature = Signature(name, _names(parameters_of or function, arguments), spec, leaves)
    traced = TracedGraph(name, graph, function, signature, tree_flatten(result)[1])
    if check_trace:
        ends = [(t, np.array(t._a)) for t, _ in recorder.originals.values()]
        try:
            _check(traced, recorder, before, result, state, after, strict, check_tolerance)
            for other in check_inputs or ():
                _check_again(traced, _arguments(name, other), strict, check_tolerance)
        finally:
            for t, end in ends:
                t._shared_array()[...] = end
            generator.default_generator.set_state(after)
    return traced


def _copies(arguments: Any) -> Any:
    """Return the arguments with copies of their tensors."""
    return tree_map(lambda t: t.detach().clone().requires_grad_(t.requires_grad), arguments)


def _apart(arguments: Any) -> Any:
    """Return the arguments with separate tensors for repeated ones."""
    seen: set[int] = set()

    def one(t: Tensor) -> Tensor:
        if id(t) in seen:
            return wrap(t._a, t._fn if t._fn is not None and not t.is_leaf else None)
        seen.add(id(t))
        return t

    return tree_map(one, arguments)


def _names(function: Any, arguments: tuple[Any, ...]) -> list[str]:
    """Return the names of the tensors in the arguments."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for number, argument in enumerate(arguments):
        name = f"argument_{number + 1}"
        if number < len(parameters) and parameters[number].kind in (0, 1):
            name = parameters[number].name
        elif parameters and parameters[-1].kind == 2:
            name = f"{parameters[-1].name}_{number - len(parameters) + 1}"
        count = len(tree_flatten(argument)[0])
        names += [name] if isinstance(argument, Tensor) else [f"{name}[{i}]" for i in range(count)]
    return names


# -- checking --------------------------------------------------------------------------------------------------------


def _restore(recorder: TraceRecorder) -> None:
    for t, array in recorder.originals.values():
        t._shared_array()[...] = array


def _check(
    traced: TracedGraph, recorder: TraceRecorder, before: Any, result: Any, state: Any, after: Any, strict: bool,
    tolerance: float,
) -> None:  # fmt: skip
    """Run the traced and the original function on the example; warn or raise if they differ."""
    _restore(recorder)
    generator.default_generator.set_state(state)
    ours = traced.entry(tree_flatten(_copies(before))[0])
    compiled = tree_flatten(tree_map(_kept, ours))[0]
    if not np.array_equal(generator.default_generator.get_state()._a, after._a):
        recorder.refuse("it draws random numbers in a way that cannot be recorded")
    _warn_if_unlike(compiled, tree_flatten(result)[0], tolerance, "compiled")
    _restore(recorder)
    generator.default_generator.set_state(state)
    _check_again(traced, before, strict, tolerance)


def _check_again(traced: TracedGraph, arguments: Any, strict: bool, tolerance: float) -> None:
    """Trace a function on other arguments, and compare."""
    state = generator.default_generator.get_state()
    copies = _copies(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TracerWarning)
        graph, result, recorder = record(traced.function, traced.name, _copies(arguments), strict)
    _restore(recorder)
    generator.default_generator.set_state(state)
    if [v.shape for v in graph.inputs] == [v.shape for v in traced.graph.inputs]:
        outputs = tree_flatten(traced.entry(tree_flatten(copies)[0]))[0]
        _warn_if_unlike(outputs, tree_flatten(result)[0], tolerance, "Python")
    first, second = listing(traced.graph, traced.signature.names, True), listing(graph, traced.signature.names, True)
    if first != second:
        difference = "".join(f"\t\t{line}" for line in difflib.ndiff(first.splitlines(True), second.splitlines(True)))
        raise TracingCheckError(
            f"Tracing failed sanity checks!\nERROR: Graphs differed across invocations!\n\tGraph diff:\n{difference}"
        )


def _warn_if_unlike(ours: list[Any], theirs: list[Any], tolerance: float, what: str) -> None:
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True), 1):
        x, y = np.asarray(a._a), np.asarray(b._a)
        if x.dtype.kind == "V":
            x, y = x.astype(np.float32), y.astype(np.float32)
        if x.shape != y.shape or not np.allclose(x, y, tolerance, tolerance, equal_nan=True):
            warn(
                f"Output nr {number}. of the traced function does not match the corresponding output of the {what} "
                "function. Detailed error:\nTensor-likes are not close!",
                TracerWarning,
            )
