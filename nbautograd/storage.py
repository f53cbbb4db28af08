"""Which arrays share memory, and when that memory was last written to.

One clock orders everything: the nodes of the graph and the in-place writes take their numbers from ``tick``. A node
that saved an array at time *n* has lost it when the array's memory was written to at a time after *n*; so operations
record nothing about versions, and only writes cost. Backward looks at versions only when something, anywhere, was
written to after the node was made.
"""

from __future__ import annotations

import weakref
from bisect import bisect_right
from itertools import count
from typing import Any

import numpy as np

__all__ = ["alias", "changed_since", "record_write", "same_memory", "tick", "unshared", "version_at", "version_of"]

tick = count(1).__next__


class _Clock:
    """When the last in-place write to any tensor happened."""

    __slots__ = ("last_write",)

    def __init__(self) -> None:
        self.last_write = 0


clock = _Clock()


class _History:
    """The times of the writes to one piece of memory."""

    __slots__ = ("dropped", "former", "owner", "times")
    KEEP = 256

    def __init__(self, owner: Any, former: np.generic | None) -> None:
        self.times: list[int] = []
        self.dropped = 0  # writes so old that only their number is kept
        self.former = former  # the scalar that the memory was before it was memory; alive, so that its id stays taken
        keys = [id(owner)] if former is None else [id(owner), id(former)]
        for key in keys:
            _histories[key] = self
        self.owner = weakref.ref(owner, lambda _: [_histories.pop(key, None) for key in keys])

    def add(self, time: int) -> None:
        self.times.append(time)
        if len(self.times) > 2 * self.KEEP:
            del self.times[: self.KEEP]
            self.dropped += self.KEEP


_histories: dict[int, _History] = {}  # by the id of the owner (see _owner); removed when the owner dies


class _Apart:
    """Memory under another name: an array made from this shares memory with ``array`` but not its write history."""

    __slots__ = ("__array_interface__", "__weakref__", "array")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


def _owner(array: Any) -> Any:
    """The object that stands for the memory of ``array``: the array at the end of its chain of bases."""
    while array.__class__ is not _Apart:
        base = getattr(array, "base", None)
        if base is None or not (hasattr(base, "base") or base.__class__ is _Apart):
            break
        array = base
    return array


def same_memory(a: Any, b: Any) -> bool:
    """Whether two arrays are views of the same piece of memory."""
    return _owner(a) is _owner(b)


def unshared(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same memory with a write history of its own, for ``Tensor.data``."""
    if not isinstance(array, np.ndarray):
        return array.view()  # on another device: a view with an owner of its own is not to be had
    return np.asarray(_Apart(array)) if array.size else array.view()


def _history(array: Any, former: np.generic | None = None) -> _History:
    owner = _owner(array)
    return _histories.get(id(owner)) or _History(owner, former)


def alias(scalar: np.generic) -> np.ndarray[Any, Any]:
    """An array that takes the place of a 0-d tensor's scalar, so that others can share it or write to it.

    Nodes may have saved the scalar; it shares the array's history, so that they notice writes to the array.
    """
    array = np.array(scalar)
    _history(array, scalar)
    return array


def record_write(array: Any) -> None:
    """Note that the memory of ``array`` has just been written to."""
    time = tick()
    _history(array).add(time)
    clock.last_write = time


def version_of(array: Any) -> int:
    """How many in-place writes the memory of ``array`` has seen."""
    history = _histories.get(id(_owner(array)))
    return 0 if history is None else history.dropped + len(history.times)


def version_at(array: Any, time: int) -> int:
    """How many of them happened before ``time``."""
    history = _histories.get(id(_owner(array)))
    return 0 if history is None else history.dropped + bisect_right(history.times, time)


def changed_since(array: Any, time: int) -> bool:
    """Whether the memory of ``array`` was written to after ``time``."""
    history = _histories.get(id(_owner(array)))
    return history is not None and bool(history.times) and history.times[-1] > time
