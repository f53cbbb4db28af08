"""The bytes of arrays: to copy, pickle and save them together with their views."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import strides


class _Bytes:
    """Some bytes of memory, in a form that arrays can be made from."""

    def __init__(self, low: int, count: int, owner: Any) -> None:
        self.owner = owner  # kept alive
        self.__array_interface__ = {"data": (low, False), "shape": (count,), "typestr": "|u1", "version": 3}


def address(array: np.ndarray[Any, Any]) -> int:
    """Return the memory address of the first element."""
    return int(array.__array_interface__["data"][0])


def span(array: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], int]:
    """Return the memory of an array's elements as an array of bytes, and the offset of the first element."""
    if not array.size:
        return np.empty(0, np.uint8), 0
    steps = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
    below = -sum(step for step in steps if step < 0)
    count = below + sum(step for step in steps if step > 0) + array.itemsize
    return np.asarray(_Bytes(address(array) - below, count, array)), below


def deep_copy(array: Any, memo: dict[Any, Any]) -> Any:
    """Copy an array and all the memory that it is a view of, which other views copied with this memo share."""
    if not isinstance(array, np.ndarray) or not array.size:
        return array.copy("K") if array.ndim else array.copy()
    owner = strides.root(array)
    key = ("memory", id(owner))
    if key not in memo:
        flat, _ = span(owner)
        memo[key] = flat.copy(), address(flat), owner
    copied, low, _ = memo[key]
    offset = address(array) - low
    if not 0 <= offset < copied.size:  # a hand-made view of memory outside its owner's
        return array.copy()
    return np.ndarray(array.shape, array.dtype, copied, offset, array.strides)
