"""Shared memory of arrays, and the time of the last write to it.

One clock orders everything: ``next_sequence_nr`` numbers the nodes of the graph and the in-place writes. The array that
a node saved at time *n* is invalid if the array's memory was written to after *n*; so operations record nothing about
versions, and only writes have a cost. Backward checks versions only if any memory was written to after the node was
created.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import numpy as np

next_sequence_nr = count(1).__next__


class _Clock:
    """The time of the last in-place write to any tensor."""

    __slots__ = ("last_write", "place")

    def __init__(self) -> None:
        self.last_write = 0
        self.place: Callable[[], tuple[str, int]] | None = None  # the current location in user code; None: not recorded


clock = _Clock()


def _forgotten(table: dict[int, Any], key: int, thing: Any) -> weakref.ref[Any]:
    """Return a weak reference to ``thing`` whose callback removes ``key`` from the table.

    The callback runs no Python code, which an interrupt could end too early: the exception would be lost, and the key,
    an id that another object may get, would stay. The reference itself is passed as ``pop``'s default.
    """
    return weakref.ref(thing, partial(table.pop, key))


class _History:
    """The times of the writes to one piece of memory."""

    __slots__ = ("dropped", "former", "owners", "place", "times")
    KEEP = 16

    def __init__(self, owner: Any, former: np.generic | None) -> None:
        self.times: list[int] = []
        self.place: tuple[str, int] | None = None  # the call of the last write, if locations are recorded
        self.dropped = 0  # old writes of which only the number is kept
        self.former = former  # the scalar that became this memory; kept alive, so that its id stays taken
        self.owners = [_forgotten(_histories, id(thing), owner) for thing in (owner, former) if thing is not None]
        for thing in (owner, former):
            if thing is not None:
                _histories[id(thing)] = self

    def add(self, time: int) -> None:
        self.times.append(time)
        if len(self.times) > 2 * self.KEEP:
            del self.times[: self.KEEP]
            self.dropped += self.KEEP


_histories: dict[int, _History] = {}  # by the id of the owner (see ``owner``); removed when the owner is freed


class Apart:
    """Memory under another name: an array made from it shares memory with ``array`` but not its write history.

    The array that owns the memory is kept alive as ``self.array``.
    """

    __slots__ = ("__array_interface__", "__weakref__", "array")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.__array_interface__ = array.__array_interface__
        self.array: Any = array
        base: Any = array
        while isinstance(base, np.ndarray):  # to the memory itself: ``p.data -= step`` in a loop builds no chain
            self.array, base = base, base.base
            if isinstance(base, Apart):
                base = base.array


def owner(array: Any) -> Any:
    """Return the object that represents the memory of ``array``: the array at the end of its chain of bases."""
    while array.__class__ is not Apart:
        base = getattr(array, "base", None)
        if base is None or not (hasattr(base, "base") or base.__class__ is Apart):
            kin = _adopted.get(id(array))
            if kin is None:
                break
            base = kin[1]
        array = base
    return array


_adopted: dict[int, tuple[Any, Any]] = {}  # by the id of the array: a weak reference to it, and the memory's owner


def adopt(array: Any, parent: Any) -> None:
    """Record that ``array`` is a view of the memory of ``parent``, if it has no base itself (CuPy's strided views)."""
    if getattr(array, "base", None) is None:
        key = id(array)
        _adopted[key] = (_forgotten(_adopted, key, array), parent)


def same_memory(a: Any, b: Any) -> bool:
    """Return whether two arrays are views of the same piece of memory."""
    return owner(a) is owner(b)


def unshared(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array over the same memory with its own write history, for ``Tensor.data``."""
    if not isinstance(array, np.ndarray):
        return array.view()  # on another device: a view with its own owner is not possible
    if not array.size:
        return array.copy()
    apart = np.asarray(Apart(array))
    if apart.strides != array.strides:  # NumPy's interface drops those of lengths of 1
        apart = np.lib.stride_tricks.as_strided(apart, strides=array.strides)
    return apart.view(array.dtype) if array.dtype.kind == "V" else apart  # NumPy's interface does not name bfloat16


def continued(array: Any, former: Any, always: bool) -> Any:
    """Return an array in place of another, whose write history it continues: for ``tensor.data = ...``.

    :param always: also if neither has been written to, since others share that history.
    """
    old, new = _histories.get(id(owner(former))), _histories.get(id(owner(array)))
    if old is new and not always or isinstance(former, np.generic) or is_inference(array):
        return array
    if not isinstance(array, np.ndarray) or not array.size:
        return array
    array = unshared(array)
    history = _history(former)
    key, apart = id(owner(array)), owner(array)
    history.owners[1:] = [ref for ref in history.owners[1:] if ref() is not None]  # a loop may get here each time
    history.owners.append(_forgotten(_histories, key, apart))
    _histories[key] = history
    return array


def _history(array: Any, former: np.generic | None = None) -> _History:
    whose = owner(array)
    return _histories.get(id(whose)) or _History(whose, former)


def alias(scalar: np.generic) -> np.ndarray[Any, Any]:
    """Return an array that replaces a 0-d tensor's scalar, so that others can share it or write to it.

    Nodes may have saved the scalar; it shares the array's history, so that they notice writes to the array.
    """
    array = np.array(scalar)
    _history(array, scalar)
    return array


def alias_of(scalar: np.generic) -> Any:
    """Return the array that replaced a scalar; the scalar itself if none did."""
    history = _histories.get(id(scalar))
    array = None if history is None or history.former is not scalar else history.owners[0]()
    return scalar if array is None else array


def former_scalar(array: Any) -> np.generic | None:
    """Return the scalar that an array replaced."""
    history = _histories.get(id(array))
    return None if history is None else history.former


def record_write(array: Any) -> None:
    """Record a write to the memory of ``array``."""
    time = next_sequence_nr()
    # Most arrays that are written to own their memory, or are a parameter's view of all of it.
    history = _histories.get(id(array)) or _histories.get(id(getattr(array, "base", None))) or _history(array)
    history.add(time)
    history.place = None if clock.place is None else clock.place()
    clock.last_write = time


def where_written(array: Any) -> tuple[str, int] | None:
    """Return the file and line of the last write to the memory of ``array``, if tracing was on."""
    history = _histories.get(id(owner(array)))
    return None if history is None else history.place


def version_of(array: Any) -> int:
    """Return the number of in-place writes to the memory of ``array``."""
    history = _histories.get(id(owner(array)))
    return 0 if history is None else history.dropped + len(history.times)


def version_at(array: Any, time: int) -> int:
    """Return the number of in-place writes to the memory of ``array`` before ``time``."""
    from bisect import bisect_right

    history = _histories.get(id(owner(array)))
    return 0 if history is None else history.dropped + bisect_right(history.times, time)


def changed_since(array: Any, time: int) -> bool:
    """Return whether the memory of ``array`` was written to after ``time``."""
    history = _histories.get(id(owner(array)))
    return history is not None and bool(history.times) and history.times[-1] > time


# -- memory created in inference mode ----------------------------------------------------------------------------------

inferred: dict[int, Any] = {}
"""Weak references to the owners of memory created in inference mode, by their id."""


def mark_inference(array: Any) -> None:
    """Record that the memory of ``array`` was created in inference mode."""
    whose = owner(array)
    key = id(whose)
    if key not in inferred:
        inferred[key] = _forgotten(inferred, key, whose)


def is_inference(array: Any) -> bool:
    """Return whether the memory of ``array`` was created in inference mode."""
    return bool(inferred) and id(owner(array)) in inferred
