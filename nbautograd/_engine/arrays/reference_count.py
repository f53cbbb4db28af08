"""Reference counts: check that only the caller holds an array, so that its memory may be overwritten.

The result of ``sys.getrefcount`` depends on how many names and containers hold an object, and on the interpreter: an
argument counts up to Python 3.13; from 3.14 on it is borrowed from the caller's variable and does not. So the numbers
to compare with are measured once, in code of the same form as the calling code, and checked: each additional holder
must add one. If it does not, or if threads run concurrently, so that a count may change during the check, all numbers
are ``NEVER``: every array then counts as shared, and memory is not reused. ``tests/engine/test_reference_count.py``
fails if the numbers break the assumptions of this module's users.

From Python 3.14 on, a function that passes its parameter on is invisible to the callee. After a call of
``add_gradients`` or a node's ``vjp``, the caller must not use the gradient, unless a container or another name holds
it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from sys import getrefcount as getrefcount
from typing import Any

NEVER = -sys.maxsize
"""A number below every count."""
ROUNDS = 16
"""Number of measurements of each count: an interpreter replaces instructions by faster ones after some runs."""

Count = Callable[[Any], int]


class _Probe:
    """An object without other references."""

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
    """Return the counts below; ``NEVER`` for all if they are unreliable.

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
"""The count of an object, as measured

- by a function for its local variable, if one container also holds the object;
- by a function for its parameter, if only a local variable of the caller holds the object;
- by such a function, if the parameter was passed through two method calls;
- for a local variable, if the object is the ``base`` of one view.
"""
