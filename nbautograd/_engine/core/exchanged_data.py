"""``x.data = other``: how nodes that saved the array of ``x`` find the new array.

In PyTorch a node saves the tensor ``x``; here it saves the array. So each exchange records which tensor held the former
array. A node looks it up only if an exchange happened after the node was created.
"""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

import numpy as np

from nbautograd._engine.arrays import version_counter
from nbautograd._engine.arrays.reference_count import HELD_ONCE, getrefcount
from nbautograd._engine.arrays.version_counter import clock, next_sequence_nr
from nbautograd._engine.core.hooks import keep_shape

exchanged: dict[int, tuple[Any, int, Any]] = {}
"""By the id of a former array: a weak reference to it, the time of the exchange, and a weak reference to the tensor.

NumPy's scalars cannot be weakly referenced. They are kept alive here until ``_forget_scalars`` drops those without
other references.
"""


_limit = 64  # entries, from which on ``_forget_scalars`` runs


def exchange(tensor: Any, array: Any) -> None:
    """Give a tensor another array, which no other tensor may hold."""
    if tensor._a.shape != array.shape:
        keep_shape(tensor)
    former, tensor._a = tensor._a, array
    clock.last_write = time = next_sequence_nr()  # so that the engine checks saved tensors
    tensor._data_since = time
    scalar = former if isinstance(former, np.generic) else version_counter.former_scalar(former)
    if scalar is not former:
        key = id(former)  # the entry is removed with the array, without a call that an interrupt could end early
        exchanged[key] = weakref.ref(former, partial(exchanged.pop, key)), time, weakref.ref(tensor)
    if scalar is not None:
        if len(exchanged) >= _limit:
            _forget_scalars()
        exchanged[id(scalar)] = scalar, time, weakref.ref(tensor)


def _forget_scalars() -> None:
    """Drop the scalars referenced only by this table, and those of freed tensors."""
    global _limit
    for key, (thing, _, tensor) in list(exchanged.items()):
        if isinstance(thing, np.generic) and (getrefcount(thing) <= HELD_ONCE or tensor() is None):
            exchanged.pop(key, None)
    _limit = max(64, 2 * len(exchanged))


def expect_hidden_writes() -> None:
    """Make the engine check saved tensors: a scalar becomes an array, and writes to it are not counted."""
    clock.last_write = next_sequence_nr()


def latest(array: Any, time: int) -> tuple[Any, int]:
    """Return the current array of the tensor that held ``array`` at ``time``, and when it got that array.

    Returns ``array`` and ``time`` themselves if the data was not exchanged since.
    """
    entry = exchanged.get(id(array))
    if entry is not None and entry[1] > time:
        tensor = entry[2]()
        if tensor is not None:
            return tensor._a, tensor._data_since
    if isinstance(array, np.generic):
        return version_counter.alias_of(array), time
    return array, time
