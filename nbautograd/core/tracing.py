"""Noting, for each node, the line of code that made it and what went in and came out.

Off, it costs nothing: the operations' code has no trace of it. Switching it on exchanges the code objects of all
operations for ones with one line more (see ``compiler/op.py``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import ref

from nbautograd.core.tensor import Tensor
from nbautograd.protocol import Operand, Trace, current_scope

__all__ = ["is_on", "note", "switch", "traced"]

SMALL = 4096  # bytes: values up to this size are kept with the node, for the pictures

_on = False
_listeners: list[Callable[[bool], None]] = []


def is_on() -> bool:
    """Whether operations are traced."""
    return _on


def on_switch(listener: Callable[[bool], None]) -> None:
    """Call ``listener(on)`` whenever tracing is switched."""
    _listeners.append(listener)


def switch(on: bool) -> bool:
    """Switch tracing on or off; returns what it was before."""
    global _on
    before, _on = _on, on
    try:
        if before != on:
            _tell()
    except BaseException:  # an interrupt: no operation may stay in the other state
        _on = before
        _tell()
        raise
    return before


def _tell() -> None:
    for listener in _listeners:
        listener(_on)


@contextmanager
def traced(on: bool = True) -> Iterator[None]:
    """Trace the operations inside the ``with`` block.

    >>> import nbautograd as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> with traced():
    ...     y = x * 3
    >>> y.grad_fn.trace.operands[1].value
    3
    """
    before = switch(on)
    try:
        yield
    finally:
        switch(before)


def note(node: Any, output: Tensor, arguments: tuple[tuple[str, Any], ...]) -> None:
    """Remember the operation that ``node``, just made, stands for; called from its generated code.

    Only what may change is taken down now. The rest is put in order when somebody asks, see ``Node.trace``.
    """
    noted: list[tuple[Any, ...]] = []
    for name, value in arguments:
        if isinstance(value, Tensor):
            a = value._a
            noted.append((name, _small(a), a.shape, a.dtype, ref(value)))
        elif value is not None:
            if isinstance(value, (tuple, list)) and value and all(isinstance(v, Tensor) for v in value):
                value = _Several((_small(v._a), v._a.shape, v._a.dtype, ref(v)) for v in value)
            noted.append((name, value))
    array = output._a
    result = (ref(output), _small(array), array.shape, array.dtype)
    extras = node.get_extras()
    extras.trace = partial(_spelt_out, node.inputs, caller(), result, noted, current_scope())


class _Several(list[Any]):
    """What was noted of each of several tensors that were one argument."""


def _spelt_out(
    inputs: tuple[str, ...], place: tuple[str, int], result: tuple[Any, ...], noted: list[tuple[Any, ...]], scope: Any
) -> Trace:
    """What was noted, in order."""
    operands = []
    for name, value, *about in noted:
        slot = inputs.index(name) if name in inputs else None
        if about:
            shape, dtype, tensor = about
            operands.append(Operand(name, slot, value, shape, _name(dtype), tensor))
        elif isinstance(value, _Several):
            for i, (kept, shape, dtype, tensor) in enumerate(value):
                operands.append(Operand(f"{name}[{i}]", None if slot is None else i, kept, shape, _name(dtype), tensor))
        else:
            operands.append(Operand(name, slot, value, None, None, None))
    output, value, shape, dtype = result
    return Trace(*place, output, value, shape, _name(dtype), tuple(operands), scope)


_names: dict[Any, str] = {}  # NumPy spells a dtype out in Python, at the cost of a small operation


def _name(dtype: Any) -> str:
    name = _names.get(dtype)
    if name is None:
        name = _names[dtype] = str(dtype)
    return name


def _small(array: Any) -> Any:
    """A copy of a small array, so that later in-place writes do not rewrite the past; None for a large one."""
    return array.copy() if array.nbytes <= SMALL else None


def caller() -> tuple[str, int]:
    """The file and line, outside this package, from which the operation was called."""
    frame = sys._getframe(2)
    while frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        if name != "nbautograd" and not name.startswith("nbautograd."):
            break
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
