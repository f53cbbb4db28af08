"""Anomaly detection that stops at the first NaN or infinity: in a forward pass at the operation that made it.

Loaded when it is switched on, and when a backward pass has found a NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from nbautograd._engine.arrays.sparse import SparseArray
from nbautograd._engine.base.bad_numbers import first_bad, is_written, name_of, number, of_gradient, of_result
from nbautograd._engine.core import dispatch_mode, inplace
from nbautograd._engine.core.node import Node, OutputGrads
from nbautograd._engine.core.sparse import stored
from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import BadNumberError

__all__ = ["bad_gradient", "begin", "end"]

UNSET = ("empty", "new_empty")
"""Operations that leave memory as it was."""
Place = tuple[str, int]


def begin(infinite: bool) -> None:
    """Check the results of all operations from now on, also of infinities if ``infinite``."""
    dispatch_mode.push(_stop_at_infinity if infinite else _stop_at_nan, around=True, everywhere=True)
    inplace.followers.append(inplace.IDLE)


def end(infinite: bool) -> None:
    """Undo ``begin``."""
    dispatch_mode.pop(_stop_at_infinity if infinite else _stop_at_nan)
    inplace.followers.remove(inplace.IDLE)


def _stop_at_nan(op: Any, run: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run an operation (a dispatch mode) and raise if its result has a NaN."""
    return _run_and_check(op, run, args, kwargs, infinite=False)


def _stop_at_infinity(op: Any, run: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run an operation (a dispatch mode) and raise if its result has a NaN, or an infinity that no argument had."""
    return _run_and_check(op, run, args, kwargs, infinite=True)


def _run_and_check(op: Any, run: Callable[..., Any], args: Any, kwargs: Any, infinite: bool) -> Any:
    result = run(*args, **kwargs)
    if not op.name.startswith(UNSET):
        for tensor in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(tensor, Tensor):
                array = _values(tensor)
                found = None if array is None else first_bad(array, infinite)
                if found is not None:
                    _raise(op, args, kwargs, tensor, array, found)
    return result


def _values(tensor: Any) -> Any:
    """Return the array of a tensor or gradient; of a sparse one, the values that it stores; None if it has none."""
    array = stored(tensor)
    array = array.values if array.__class__ is SparseArray else array
    return array if hasattr(array, "dtype") and hasattr(array.dtype, "kind") else None


def _raise(op: Any, args: Any, kwargs: Any, result: Tensor, array: Any, found: tuple[tuple[int, ...], int]) -> None:
    """Raise the error of a bad result, unless it is an infinity, or an unrecorded NaN, that an argument had."""
    given = list(_given(op, args, kwargs))
    text, name = number(array[found[0]]), op.name.removesuffix("_all").removesuffix("_over")
    infinite = text != "nan"
    if is_written((value for _, value in given), text):
        return
    tensors = [(key, value) for key, value in given if isinstance(value, Tensor)]
    outside = next((key for key, value in tensors if _is_bad(_values(value), infinite)), "")
    if outside and (infinite or result._fn is None):
        return
    shown = [(_named(key, value), _values(value) if isinstance(value, Tensor) else value) for key, value in given]
    sources = {key: value for key, value in tensors if outside in ("", key)}
    called = _named(outside, sources[outside]) if outside else ""
    bad = of_result(name, array, found, shown, list(sources.values()), called, _place)
    raise BadNumberError(bad, operands=tuple(value for _, value in tensors))


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


def bad_gradient(node: Node, incoming: Any, saved: dict[str, Any], index: int, array: Any, infinite: bool) -> None:
    """Raise the error of a gradient that is not finite; not that of an infinity that ``incoming`` had.

    :param index: of the gradient among those that the node computed; ``saved``: the values of its formulas.
    """
    found = first_bad(array, infinite)
    parts = list(incoming.take(node.outputs())) if isinstance(incoming, OutputGrads) else [incoming]
    gradients = [_values(part) for part in parts if part is not None]
    assert found is not None
    text = number(array[found[0]])
    if text != "nan" and any(g is not None and first_bad(g, True) is not None for g in gradients):
        return
    inputs = [("g" if len(gradients) == 1 else f"g[{i}]", g) for i, g in enumerate(gradients) if g is not None]
    inputs += [(name, value) for name, value in saved.items() if hasattr(value, "dtype")]
    bad = of_gradient(node.name(), node, array, found, inputs, _place)
    kind = "nan" if text == "nan" else "infinite"
    raise BadNumberError(bad, f"Function '{node.name()}' returned {kind} values in its {index}th output.", node)
