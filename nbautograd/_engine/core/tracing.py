"""Tracing: records for each node the line of code that created it, its operands and its result, for the pictures.

Switched off, it costs nothing: the code of the operations does not contain it. While it is on anywhere, operations have
code with an additional line, a call of ``note`` (see ``core/dispatch_mode.py``).

Each operation decides where it runs whether it is traced: ``traced()`` sets a context variable, so other threads or
tasks are not traced. ``switch`` is the process-wide setting, ``viz.settings.tracing``: a notebook's cells may have
several contexts. ``traced()`` takes precedence.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from types import CodeType
from typing import TYPE_CHECKING, Any
from weakref import ref

from nbautograd._engine.arrays.version_counter import clock, version_at
from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.core.tensor import Tensor
from nbautograd.protocol import current_scope

if TYPE_CHECKING:
    from nbautograd.protocol import Trace

MAX_KEPT_BYTES = 4096  # of a value that is kept with the node, for the pictures

_process = dispatch_mode.tracing
is_on_anywhere = _process.is_on
"""Returns whether some context is traced."""
_here: ContextVar[bool | None] = ContextVar("traced", default=None)  # None: the process-wide setting


def is_on() -> bool:
    """Return whether operations are traced in this context."""
    here = _here.get()
    return bool(_process.everywhere if here is None else here)


def switch(on: bool) -> bool:
    """Switch tracing on or off for the whole process; return the previous setting."""
    before: bool = _process.everywhere
    _process.change(everywhere=on)
    return before


@contextmanager
def traced(on: bool = True) -> Iterator[None]:
    """Trace the operations inside the ``with`` block, in this context only; with False, do not trace them.

    :param on: if True, each operation records its line of code, its operands and its result.
    :returns: a context manager that restores the setting at its end.
    :raises TypeError: other arguments are given.

    >>> import nbautograd as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> with traced():
    ...     y = x * 3
    >>> y.grad_fn.trace.operands[1].value
    3
    """
    before = _here.get()
    _here.set(on)
    _process.change(1 if on else 0)
    try:
        yield
    finally:
        _here.set(before)
        _process.change(-1 if on else 0)


def note(node: Any, output: Tensor, arguments: tuple[tuple[str, Any], ...]) -> None:
    """Record the operands and the result of the operation that created ``node``; called from its generated code.

    Values that may change are copied now. The rest is formatted when ``Node.trace`` is first read.
    """
    if not is_on():  # another context is traced
        return
    noted: list[tuple[Any, ...]] = []
    for name, value in arguments:
        if isinstance(value, Tensor):
            noted.append((name, *_noted(value)))
        elif value is not None:
            if isinstance(value, (tuple, list)) and value and all(isinstance(v, Tensor) for v in value):
                value = _SeveralListeners(map(_noted, value))
            noted.append((name, value))
    extras = node.get_extras()
    extras.trace = partial(_format, node.inputs, _calling_frame(), _noted(output), noted, current_scope(), node._seq)


class _SeveralListeners(list[Any]):
    """The notes of a list of tensors, such as the argument of ``cat``."""


def _format(
    inputs: tuple[str, ...], place: tuple[Any, ...], result: tuple[Any, ...], noted: list[tuple[Any, ...]], scope: Any,
    time: int,
) -> Trace:  # fmt: skip
    """Return the notes as a ``Trace``."""
    from nbautograd._engine.base.pass_events import Operand, Trace

    operands = []
    for name, value, *about in noted:
        slot = inputs.index(name) if name in inputs else None
        if about:
            shape, dtype, tensor = about
            operands.append(Operand(name, slot, value, shape, _name(dtype), tensor))
        elif isinstance(value, _SeveralListeners):
            for i, (part, shape, dtype, tensor) in enumerate(value):
                operands.append(Operand(f"{name}[{i}]", None if slot is None else i, part, shape, _name(dtype), tensor))
        else:
            operands.append(Operand(name, slot, value, None, None, None))
    value, shape, dtype, output = result
    code, line, instruction = place
    made = output()
    version = None if made is None else version_at(made._a, time)
    return Trace(
        code.co_filename, line, output, value, shape, _name(dtype), tuple(operands), scope, code, instruction, version
    )


_name = cache(str)  # of a dtype, which NumPy spells out in Python, at the cost of a small operation


def _noted(tensor: Any) -> tuple[Any, Any, Any, ref[Any]]:
    """Return a copy of the array, which later in-place writes do not change, or None for a large one; and its kind."""
    array = tensor._a if tensor._sparse is None else tensor._sparse
    kept = array.copy(order="K") if array.nbytes <= MAX_KEPT_BYTES else None
    return kept, array.shape, array.dtype, ref(tensor)


def caller() -> tuple[str, int]:
    """Return the file and line, outside this package, from which the operation was called."""
    code, line, _ = _calling_frame()
    return code.co_filename, line


def _calling_frame() -> tuple[CodeType, int, int]:
    """Return the code outside this package that called the operation: its line and its instruction."""
    frame = sys._getframe(2)
    while frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        if name != "nbautograd" and not name.startswith("nbautograd."):
            break
        frame = frame.f_back
    return frame.f_code, frame.f_lineno, frame.f_lasti


def _written_at() -> tuple[str, int] | None:
    return caller() if is_on() else None


def _note_places(on: bool) -> None:  # of writes, for the error about a modified saved tensor
    clock.place = _written_at if on else None  # type: ignore[assignment]


_process.listeners.append(_note_places)
