"""Indices in int64, as in PyTorch: those of NumPy have as many bits as an address, which may be 32.

A key is a tuple of slices and arrays, by which an array is indexed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import strides

ALIKE = np.dtype(np.intp) == np.int64


def as_int64(index: Any) -> Any:
    """Return an array of indices or counts from NumPy in int64.

    >>> as_int64(np.argsort([3.0, 1.0])).dtype
    dtype('int64')
    """
    return index if ALIKE else index.astype(np.int64)


def fill(array: Any, key: Any, value: Any) -> None:
    """Assign ``array[key] = value`` for a number or a 0-d array; one on the host is accepted for any device."""
    is_elsewhere = value.__class__ is np.ndarray and array.__class__ is not np.ndarray
    array[key] = value.item() if is_elsewhere else value


def in_order(part: Any, a: Any, key: tuple[Any, ...], picked: list[int]) -> Any:
    """Return ``part``, which is ``a[key]``, with the dimensions it shares with ``a`` in the same order in memory.

    :param picked: the positions of the key's arrays.

    >>> a, key = np.ones((2, 3, 4)), (slice(None), np.array([0, 2]))
    >>> a[key].strides, in_order(a[key], a, key, [1]).strides
    ((32, 64, 8), (64, 32, 8))
    """
    sizes = [item.ndim if item.__class__ is not slice and item.dtype.kind == "b" else 1 for item in key]
    starts = [sum(sizes[:i]) for i in range(len(key))]
    gone = {starts[i] + k for i in picked for k in range(sizes[i])}
    kept = [step for d, step in enumerate(strides.strides_of(a)) if d not in gone]
    first = starts[picked[0]] if picked[-1] - picked[0] == len(picked) - 1 else 0
    steps = (*kept[:first], *(0,) * (part.ndim - len(kept)), *kept[first:])
    wanted = strides.ordered(part.shape, steps)
    if wanted == strides.strides_of(part):
        return part
    result = strides.empty(part, part.shape, wanted)
    result[...] = part
    return result


def takes_rows(key: tuple[Any, ...], shape: Any) -> bool:
    """Return whether a key is one array of integers for the first dimension, and includes all of the others."""
    first = key[0]
    return (
        first.__class__ is np.ndarray
        and first.dtype.kind == "i"
        and len(shape) > 1
        and all(item.__class__ is slice and item == slice(None) for item in key[1:])
    )
