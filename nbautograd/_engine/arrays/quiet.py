"""Operations without NumPy's warnings of overflow, division by zero and invalid values, of which PyTorch has none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any

import numpy as np

BUFFER_SIZE = 1 << 10
"""Number of elements in NumPy's buffers inside operations. NumPy copies broadcast operands into them, row by row; rows
longer than a buffer are not copied, and take three fifths of the time."""
# NumPy warns of overflow, division by zero and invalid values; PyTorch does not, and neither does nbautograd. NumPy's
# own ``errstate`` costs more than a small operation, so operations use the underlying context variable, set
# inside of ``try`` because of interrupts.
try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    SILENT = _make_extobj(all="ignore", bufsize=BUFFER_SIZE)
    get_quiet = _extobj_contextvar.get
    set_quiet = _extobj_contextvar.set
except ImportError:  # another NumPy version: the public, slower way
    SILENT = dict.fromkeys(("divide", "over", "under", "invalid"), "ignore")  # type: ignore[assignment]
    get_quiet = np.geterr  # type: ignore[assignment]

    def set_quiet(state: Any) -> Any:
        """Set which floating-point errors NumPy warns of."""
        np.seterr(**state)


quietly = Context()
"""``quietly.run(function, *arguments)``: calls without warnings, at a third of the cost of setting and resetting them.

It is a context with only warnings off, for C functions without context variables. It raises RuntimeError if already
entered: by another thread in a long operation, or by code that a finalizer interrupted.
"""
quietly.run(set_quiet, SILENT)


def run_quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call any function without warnings, at any time."""
    before = get_quiet()
    try:
        set_quiet(SILENT)
        result = function(*arguments)
    finally:
        set_quiet(before)
    return result


@contextmanager
def quiet() -> Iterator[None]:
    """Disable NumPy's floating-point warnings inside the ``with`` block."""
    before = get_quiet()
    try:
        set_quiet(SILENT)
        yield
    finally:
        set_quiet(before)
