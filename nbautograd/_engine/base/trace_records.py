"""Declare what tracing records of an operation: its call, its arguments, and the named blocks around it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

__all__ = ["Operand", "ScopeEntry", "Trace"]


class Operand(NamedTuple):
    """An argument of a traced operation.

    :param name: the parameter's name, such as ``other``.
    :param slot: its position in ``next_functions``; None if it gets no gradient.
    :param value: a Python number, or the array if it is small enough to keep, or None.
    :param shape: None for a Python number.
    :param dtype: such as ``float32``; None for a Python number.
    :param tensor: a weak reference to the passed tensor.
    :returns: a named tuple of these.
    :raises TypeError: a field is missing.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> from nbautograd.viz import traced
    >>> with traced():
    ...     y = x * 2
    >>> [(each.name, each.shape, each.dtype) for each in y.grad_fn.trace.operands]
    [('input', (), 'float32'), ('other', None, None)]
    """

    name: str
    slot: int | None
    value: Any
    shape: tuple[int, ...] | None
    dtype: str | None
    tensor: weakref.ref[Any] | None

    @property
    def parameter(self) -> tuple[str, int | None]:
        """The parameter that it belongs to, and its position in a list or tuple passed for it.

        >>> Operand("tensors[2]", 2, None, (), "float32", None).parameter
        ('tensors', 2)
        """
        name, bracket, place = self.name.partition("[")
        return name, int(place[:-1]) if bracket else None


class ScopeEntry(NamedTuple):
    """One entry into a named block.

    :param name, number: the name of the block, and the number of this entry, among all.
    :param module: a weak reference to the module whose call the block is, or None.
    :returns: a named tuple of these.
    :raises TypeError: a field is missing.

    >>> ScopeEntry("encoder", 1)
    ScopeEntry(name='encoder', number=1, module=None)
    """

    name: str
    number: int
    module: weakref.ref[Any] | None = None


class Trace(NamedTuple):
    """The record of one operation by tracing, as ``node.trace`` (absent or None if tracing was off).

    :param filename, lineno: the location of the call; in a notebook each cell has its own file name.
    :param output: a function that returns the operation's result while it is alive.
    :param value: the resulting array if it is small enough to keep, or None.
    :param shape, dtype: shape and dtype of the result.
    :param operands: its arguments.
    :param scope: the named blocks around the call, outermost first.
    :param code, instruction: the calling code, and the index of its instruction (for ``code.co_positions()``).
    :param version: the number of in-place writes to the result when it had this value; None if unknown.
    :returns: a named tuple of these.
    :raises TypeError: a field is missing.

    >>> import nbautograd as nb
    >>> x = nb.tensor(3.0, requires_grad=True)
    >>> from nbautograd.viz import traced
    >>> with traced():
    ...     y = x * 2
    >>> y.grad_fn.trace.shape, y.grad_fn.trace.dtype, y.grad_fn.trace.output() is y
    ((), 'float32', True)
    """

    filename: str
    lineno: int
    output: Callable[[], Any]
    value: Any
    shape: tuple[int, ...]
    dtype: str
    operands: tuple[Operand, ...]
    scope: tuple[ScopeEntry, ...] = ()
    code: CodeType | None = None
    instruction: int = -1
    version: int | None = None


for _record in (Operand, ScopeEntry, Trace):
    _record.__module__ = "nbautograd.protocol"  # where programs find them, and pickles too
