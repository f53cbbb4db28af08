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
    if before != on:
        for listener in _listeners:
            listener(on)
    return before


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
    slots = {name: slot for slot, name in enumerate(node.inputs)}
    operands = []
    for name, value in arguments:
        if isinstance(value, (tuple, list)) and value and all(isinstance(v, Tensor) for v in value):
            operands += [_operand(f"{name}[{i}]", i if name in slots else None, v) for i, v in enumerate(value)]
        elif value is not None:
            operands.append(_operand(name, slots.get(name), value))
    shape, dtype = tuple(array.shape), str(array.dtype)
    made = weakref.ref(output)
    return Trace(filename, lineno, made, _small(array), shape, dtype, tuple(operands), current_scope())


def _operand(name: str, slot: int | None, value: Any) -> Operand:
    if not isinstance(value, Tensor):
        return Operand(name, slot, value, None, None, None)
    a = value._a
    return Operand(name, slot, _small(a), tuple(a.shape), str(a.dtype), weakref.ref(value))


def _small(array: Any) -> Any:
    """A copy of a small array, so that later in-place writes do not rewrite the past; None for a large one."""
    return array.copy() if array.nbytes <= SMALL else None


def caller() -> tuple[str, int]:
    """The file and line, outside this package, from which the operation was called."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "nbautograd":
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
