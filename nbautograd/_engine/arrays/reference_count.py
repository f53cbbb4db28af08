"""Reference counts: whether anybody but the caller holds an array, so that its memory may be written to.

What ``sys.getrefcount`` says of an object depends on how many names and containers hold it, and on the interpreter: an
argument that is being passed counts up to Python 3.13, and from 3.14 on it is borrowed from the caller's variable and
does not. So the numbers to compare with are measured once, in code of the same form as the code that asks, and checked:
one holder more has to add one to each. Where it does not, and where threads run at the same time, so that a count may
change while it is looked at, all numbers are ``NEVER``: nothing is then taken to be nobody else's, and memory is not
used again. ``tests/engine/test_reference_count.py`` fails where the numbers are not what the users of this module rely
on.

From Python 3.14 on, a function that hands its parameter down is not seen by the function below. Whoever calls
``add_gradients`` or a node's ``vjp`` must not use the gradient afterwards, unless a container or another name holds it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from sys import getrefcount
from typing import Any

__all__ = ["HELD_ONCE", "NEVER", "PASSED_ONCE", "PASSED_TWICE", "VIEWED_ONCE", "getrefcount", "measure"]

NEVER = -sys.maxsize
"""A number that no count is as small as."""
ROUNDS = 16
"""How often each count is taken: an interpreter replaces instructions by faster ones after some runs."""

Count = Callable[[Any], int]


class _Probe:
    """An object that nobody else knows."""

    __slots__ = ("__weakref__", "base")
    base: Any


def _held_once(count: Count, holders: list[Any] | None) -> int:
    for probe in [_Probe()]:
        if holders is not None:
            holders.append(probe)
        return count(probe)
    raise AssertionError


def _ask(g: Any, extras: Any, count: Count) -> int:
    return count(g)


def _passed_once(count: Count, holders: list[Any] | None) -> int:
    g = {0: _Probe()}.pop(0)
    if holders is not None:
        holders.append(g)
    return _ask(g, None, count)


class _Node:
    def vjp(self, g: Any, count: Count) -> int:
        return _ask(g, None, count)


def _passed_twice(count: Count, holders: list[Any] | None) -> int:
    node, g = _Node(), {0: _Probe()}.pop(0)
    if holders is not None:
        holders.append(g)
    return node.vjp(g, count)


def _ask_for_base(a: Any, count: Count) -> int:
    base = getattr(a, "base", None)
    return count(base)


def _viewed_once(count: Count, holders: list[Any] | None) -> int:
    view = _Probe()
    view.base = _Probe()
    if holders is not None:
        holders.append(view.base)
    return _ask_for_base(view, count)


def measure(count: Count = getrefcount) -> tuple[int, int, int, int]:
    """The counts below; ``NEVER`` for all where they cannot be relied on.

    >>> measure(lambda thing: 1 << 30)[0] == NEVER  # as if everything were immortal
    True
    """
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return (NEVER,) * 4
    measured = []
    for form in (_held_once, _passed_once, _passed_twice, _viewed_once):
        alone = form(count, None)
        for _ in range(ROUNDS):
            if form(count, None) != alone or form(count, []) != alone + 1:
                return (NEVER,) * 4
        measured.append(alone)
    held, once, twice, viewed = measured
    return held, once, twice, viewed


HELD_ONCE, PASSED_ONCE, PASSED_TWICE, VIEWED_ONCE = measure()
"""The count of an object, asked

- by a function for its local variable, where one container holds the object too;
- by a function for its parameter, where a local variable of the function's caller alone holds the object;
- the same where a method of two calls has handed it down;
- for a local variable, where the object is the ``base`` of one view.
"""
