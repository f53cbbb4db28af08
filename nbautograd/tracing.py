"""Noting, for each node, the line of code that made it and what went in and came out.

Off, it costs nothing: the operations' code has no trace of it. Switching it on exchanges the code objects of all
operations for ones with one line more (see ``declare.py``).
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nbautograd.protocol import Operand, Trace, current_scope
from nbautograd.tensor import Tensor

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


def note(node: Any, output: Tensor, arguments: tuple[tuple[str, Any], ...]) -> Trace:
    """What is remembered of the operation that ``node`` stands for, called from its generated code."""
    filename, lineno = caller()
    array = output._a
    inputs = node.inputs
    operands = []
    for name, value in arguments:
        if value is None:
            continue
        slot = inputs.index(name) if name in inputs else None
        if isinstance(value, Tensor):
            a = value._a
            operands.append(Operand(name, slot, _small(a), a.shape, _name(a.dtype), weakref.ref(value)))
        elif isinstance(value, (tuple, list)) and value and all(isinstance(v, Tensor) for v in value):
            for i, v in enumerate(value):
                place = None if slot is None else i
                a = v._a
                operands.append(Operand(f"{name}[{i}]", place, _small(a), a.shape, _name(a.dtype), weakref.ref(v)))
        else:
            operands.append(Operand(name, slot, value, None, None, None))
    made = weakref.ref(output)
    dtype = _name(array.dtype)
    return Trace(filename, lineno, made, _small(array), array.shape, dtype, tuple(operands), current_scope())


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
