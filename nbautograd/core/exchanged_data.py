"""``x.data = other``: how nodes that have saved the array of ``x`` find the new one.

In PyTorch a node saves the tensor ``x``, here its array. So whoever exchanges that notes here by which tensor the
former array was held. Nothing asks unless an exchange happened after the node was made.
"""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

import numpy as np

from nbautograd.arrays import version_counter
from nbautograd.arrays.reference_count import HELD_ONCE, getrefcount
from nbautograd.arrays.version_counter import clock, next_sequence_nr

__all__ = ["exchange", "exchanged", "expect_hidden_writes", "latest"]

exchanged: dict[int, tuple[Any, int, Any]] = {}
"""By the id of an array that a tensor had: a weak reference to it, when it was exchanged, and one to the tensor.

There are no weak references to scalars, which are kept until it is noticed that nobody else does.
"""


class _Limit:
    """From how many entries on it is worth looking for scalars that nobody else holds."""

    entries = 64


def exchange(tensor: Any, array: Any) -> None:
    """Give a tensor another array, which it alone must hold."""
    former, tensor._a = tensor._a, array
    clock.last_write = time = next_sequence_nr()  # so that nodes are asked to look at what they saved
    tensor._data_since = time
    scalar = former if isinstance(former, np.generic) else version_counter.former_scalar(former)
    if scalar is not former:
        key = id(former)  # the entry goes with the array, without a call that an interrupt could end early
        exchanged[key] = weakref.ref(former, partial(exchanged.pop, key)), time, weakref.ref(tensor)
    if scalar is not None:
        if len(exchanged) >= _Limit.entries:
            _forget_scalars()
        exchanged[id(scalar)] = scalar, time, weakref.ref(tensor)


def _forget_scalars() -> None:
    """Drop the scalars that only the table holds."""
    for key, (thing, _, _) in list(exchanged.items()):
        if isinstance(thing, np.generic) and getrefcount(thing) <= HELD_ONCE:
            exchanged.pop(key, None)
    _Limit.entries = max(64, 2 * len(exchanged))


def expect_hidden_writes() -> None:
    """Have nodes look at what they saved: a scalar becomes an array, writes to which go unnoticed."""
    clock.last_write = next_sequence_nr()


def latest(array: Any, time: int) -> tuple[Any, int]:
    """The array of the tensor that had ``array`` at ``time``, and since when; ``array`` if nothing was exchanged."""
    entry = exchanged.get(id(array))
    if entry is not None and entry[1] > time:
        tensor = entry[2]()
        if tensor is not None:
            return tensor._a, tensor._data_since
    if isinstance(array, np.generic):
        return version_counter.alias_of(array), time
    return array, time
