"""Selecting elements without branches: ``where`` as bitwise operations.

NumPy's ``where`` branches for each element, at ten times the cost where the processor cannot guess how it will go. Here
the bits of the chosen elements are masked instead: ``b ^ ((a ^ b) & m)``, where m is all ones or all zeros.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

__all__ = ["bitwise_where", "bounded", "zero_where", "zero_where_not"]

MIN_WHERE_SIZE = 1 << 12
"""Minimum number of elements for masking the bits of two arrays."""
MIN_ZERO_SIZE = 1 << 8
"""The same for an array and zeros."""
PIECE = 1 << 15
"""Elements that a number is repeated for, to be compared with an array's."""
_BITS: dict[Any, Any] = {np.dtype(np.float32): np.dtype(np.int32), np.dtype(np.float64): np.dtype(np.int64)}
_BOOL = np.dtype(np.bool_)
_ONE = {bits: np.array(1, bits) for bits in _BITS.values()}
_ALL = {bits: np.array(-1, bits) for bits in _BITS.values()}


def bitwise_where(condition: Any, a: Any, b: Any) -> Any:
    """Elements of ``a`` where ``condition`` is true, of ``b`` elsewhere.

    >>> bitwise_where(np.array([True, False]), np.array([1., 2.]), np.array([3., 4.])).tolist()
    [1.0, 4.0]
    """
    arrays = (condition, a, b)
    if any(x.__class__ is not np.ndarray for x in arrays) or a.size < MIN_WHERE_SIZE or condition.dtype is not _BOOL:
        return np.where(condition, a, b)
    bits = _BITS.get(a.dtype)
    if bits is None or a.dtype is not b.dtype or any(x.shape != a.shape or not x.flags.c_contiguous for x in arrays):
        return np.where(condition, a, b)
    mask = np.multiply(condition, _ALL[bits])
    left, right = a.view(bits), b.view(bits)
    result = left ^ right
    result &= mask
    result ^= right
    return result.view(a.dtype)


def zero_where_not(a: Any, condition: Any) -> Any:
    """Elements of ``a`` where ``condition`` is true, 0 elsewhere, whatever ``a`` is there.

    >>> zero_where_not(np.array([1., np.nan]), np.array([True, False])).tolist()
    [1.0, 0.0]
    """
    bits = _maskable(a, condition)
    if bits is None:
        return np.where(condition, a, _zero(a))
    mask = np.multiply(condition, _ALL[bits])
    mask &= a.view(bits)
    return mask.view(a.dtype)


def zero_where(a: Any, condition: Any) -> Any:
    """Elements of ``a`` where ``condition`` is false, 0 elsewhere, whatever ``a`` is there.

    >>> zero_where(np.array([1., np.nan]), np.array([False, True])).tolist()
    [1.0, 0.0]
    """
    bits = _maskable(a, condition)
    if bits is None:
        return np.where(condition, _zero(a), a)
    mask = np.subtract(condition, _ONE[bits])
    mask &= a.view(bits)
    return mask.view(a.dtype)


def bounded(ufunc: Any, a: Any, b: Any, out: Any) -> Any:
    """``np.maximum`` or ``np.minimum`` of an array and a number, either way round, into ``out``.

    NumPy compares two arrays by vector instructions, and an array and a number one by one: so the number is repeated.

    >>> bounded(np.maximum, 0, np.array([-1., 2.]), np.empty(2)).tolist()
    [0.0, 2.0]
    """
    array, number = (a, b) if isinstance(a, np.ndarray) else (b, a)
    if array.__class__ is not np.ndarray or isinstance(number, np.ndarray):
        return ufunc(a, b, out=out)
    if array.dtype.kind != "f" or not (array.flags.c_contiguous and out.flags.c_contiguous):
        return ufunc(a, b, out=out)
    repeated = _repeated(number, array.dtype)
    source, target = array.reshape(-1), out.reshape(-1)
    for start in range(0, source.size, PIECE):
        part = source[start : start + PIECE]
        ufunc(part, repeated[: part.size], out=target[start : start + PIECE])
    return out


@functools.lru_cache(maxsize=16)
def _repeated(number: float, dtype: Any) -> Any:
    array = np.full(PIECE, number, dtype)
    array.flags.writeable = False
    return array


def _maskable(a: Any, condition: Any) -> Any:
    """The integers in whose bits to mask; None where that cannot be done, or does not pay."""
    if condition.__class__ is not np.ndarray or a.__class__ is not np.ndarray or a.size < MIN_ZERO_SIZE:
        return None
    if condition.dtype is not _BOOL or a.shape != condition.shape or not a.flags.c_contiguous:
        return None
    return _BITS.get(a.dtype)


def _zero(a: Any) -> Any:
    """Zero in the dtype of ``a``."""
    return np.zeros_like(a, shape=()) if a.__class__ is np.ndarray else np.zeros_like(a)
