"""Anomaly detection that stops at the first NaN or infinity: in a forward pass at the operation that made it.

Loaded when it is switched on, and when a backward pass has found a NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from nbautograd._engine.base.bad_numbers import first_bad, is_written, name_of, number, of_gradient, of_result
from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.core.node import Node, OutputGrads
from nbautograd._engine.core.sparse import values_of
from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import BadNumberError

UNSET = ("empty", "new_empty")
"""Operations that leave memory as it was."""
Place = tuple[str, int]


def begin(infinite: bool) -> None:
    """Check the results of all operations from now on, also of infinities if ``infinite``."""
    dispatch_mode.push(_STOP[infinite], everywhere=True)


def end(infinite: bool) -> None:
    """Undo ``begin``."""
    dispatch_mode.pop(_STOP[infinite])


def _run_and_check(infinite: bool, op: Any, run: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run an operation and raise if its result has a NaN or, if ``infinite``, an infinity that no argument had."""
    result = run(*args, **kwargs)
    if not op.name.startswith(UNSET):
        for tensor in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(tensor, Tensor):
                array = values_of(tensor)
                found = None if array is None else first_bad(array, infinite)
                if found is not None:
                    _raise(op, args, kwargs, tensor, array, found)
    return result


_STOP = [dispatch_mode.Interpreter(run=partial(_run_and_check, inf), follows=True) for inf in (False, True)]
"""The interpreters, by whether they look for infinities."""


def _raise(op: Any, args: Any, kwargs: Any, result: Tensor, array: Any, found: tuple[tuple[int, ...], int]) -> None:
    """Raise the error of a bad result, unless it is an infinity, or an unrecorded NaN, that an argument had."""
    given = dict(_given(op, args, kwargs))
    text, name = number(array[found[0]]), op.name.removesuffix("_all").removesuffix("_over")
    infinite = text != "nan"
    if is_written(given.values(), text):
        return
    tensors = {key: value for key, value in given.items() if isinstance(value, Tensor)}
    outside = next((key for key, value in tensors.items() if _is_bad(values_of(value), infinite)), "")
    if outside and (infinite or result._fn is None):
        return
    shown = [(_named(key, value), values_of(value) if key in tensors else value) for key, value in given.items()]
    sources = [tensors[outside]] if outside else list(tensors.values())
    bad = of_result(name, array, found, shown, sources, _named(outside, tensors.get(outside)), _place)
    raise BadNumberError(bad, operands=tuple(tensors.values()))


def _is_bad(array: Any, infinite: bool) -> bool:
    return array is not None and first_bad(array, infinite) is not None


def _given(op: Any, args: Any, kwargs: Any) -> Iterator[tuple[str, Any]]:
    """Yield the tensors and numbers among the arguments of an operation, by the names of its parameters."""
    names = [*op.positional, *(f"argument {i}" for i in range(len(op.positional), len(args)))]
    for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
        if isinstance(value, (tuple, list)) and value and all(isinstance(each, Tensor) for each in value):
            yield from ((f"{name}[{i}]", each) for i, each in enumerate(value))
        elif isinstance(value, Tensor) or (isinstance(value, (int, float)) and not isinstance(value, bool)):
            yield name, value


def _named(name: str, value: Any) -> str:
    """Return the user's name of an argument; else that of its parameter."""
    return (name_of(value) if isinstance(value, Tensor) else "") or name


def _place(node: Any) -> Place | None:
    """Return the line in which a node was made, if anomaly detection or tracing noted it."""
    where = node.metadata.get("traceback_")
    if where:
        return where[-1].filename, where[-1].lineno
    trace = node.trace
    return (trace.filename, trace.lineno) if trace is not None and trace.lineno else None


def _incoming(node: Node, incoming: Any) -> list[tuple[str, Any]]:
    """Return the gradients of a node's outputs, with their names."""
    parts = incoming.take(node.outputs()) if isinstance(incoming, OutputGrads) else [incoming]
    gradients = [values_of(part) for part in parts if part is not None]
    return [("g" if len(gradients) == 1 else f"g[{i}]", g) for i, g in enumerate(gradients) if g is not None]


def bad_gradient(node: Node, incoming: Any, saved: dict[str, Any], index: int, array: Any, infinite: bool) -> None:
    """Raise the error of a gradient that is not finite; not that of an infinity that ``incoming`` had.

    :param index: of the gradient among those that the node computed; ``saved``: the values of its formulas.
    """
    found = first_bad(array, infinite)
    assert found is not None
    text, inputs = number(array[found[0]]), _incoming(node, incoming)
    if text != "nan" and any(_is_bad(g, True) for _, g in inputs):
        return
    inputs += [(name, value) for name, value in saved.items() if hasattr(value, "dtype")]
    bad = of_gradient(node.name(), node, array, found, inputs, _place)
    kind = "nan" if text == "nan" else "infinite"
    raise BadNumberError(bad, f"Function '{node.name()}' returned {kind} values in its {index}th output.", node)
