"""Reference counts: whether anybody but the caller holds an array, so that its memory may be written to.

What ``sys.getrefcount`` says of an object depends on how many names and containers hold it, and on the interpreter: an
argument that is being passed counts on some versions of Python and not on others. So the numbers to compare with are
measured once, in code of the same form as the code that asks. ``tests/test_reference_count.py`` fails where they are
not what the users of this module rely on.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

__all__ = ["HELD_ONCE", "PASSED_ONCE", "PASSED_TWICE", "VIEWED_ONCE", "getrefcount"]


class _Probe:
    """An object that nobody else knows."""

    __slots__ = ("__weakref__", "base")
    base: Any


def _held_once() -> int:
    for probe in [_Probe()]:
        return getrefcount(probe)
    raise AssertionError


HELD_ONCE = _held_once()
"""The count, asked by a function for its local variable, of an object that only one container holds too."""


def _ask(g: Any, extras: Any) -> int:
    return getrefcount(g)


class _Node:
    def vjp(self, g: Any, keep: bool, needed: Any = None) -> int:
        return _ask(g, None)


def _passed_on() -> tuple[int, int]:
    pending = {0: _Probe()}
    node = _Node()
    g = pending.pop(0)
    return _ask(g, None), node.vjp(g, False)


PASSED_ONCE, PASSED_TWICE = _passed_on()
"""The count, asked by a function for its parameter, of an object that is held by a local variable of the function's
caller alone; and the same where a method of two calls has handed it down."""


def _viewed_once() -> int:
    view = _Probe()
    view.base = _Probe()

    def ask(a: Any) -> int:
        base = getattr(a, "base", None)
        return getrefcount(base)

    return ask(view)


VIEWED_ONCE = _viewed_once()
"""The count, asked for a local variable, of an array that else is the ``base`` of one view."""
