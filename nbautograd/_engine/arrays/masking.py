"""Selecting elements without branches: ``where`` as bitwise operations.

NumPy's ``where`` branches for each element, at ten times the cost if the processor mispredicts the branches. Here the
bits of the chosen elements are masked instead: ``b ^ ((a ^ b) & m)``, where m is all ones or all zeros.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

MIN_WHERE_SIZE = 1 << 12
"""Minimum number of elements for masking the bits of two arrays."""
MIN_ZERO_SIZE = 1 << 8
"""Minimum number of elements for masking an array and zeros."""
PIECE_SIZE = 1 << 16
"""Number of elements for which a number is repeated, to be compared with an array's."""
_BITS: dict[Any, Any] = {np.dtype(np.float32): np.dtype(np.int32), np.dtype(np.float64): np.dtype(np.int64)}
_BOOL = np.dtype(np.bool_)
_BYTE = np.array(1, np.int8)
_ALL = {bits: np.array(-1, bits) for bits in _BITS.values()}


def bitwise_where(condition: Any, a: Any, b: Any) -> Any:
    """Return elements of ``a`` where ``condition`` is true, of ``b`` elsewhere.

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


def zero_where_not(a: Any, condition: Any, out: Any = None) -> Any:
    """Return elements of ``a`` where ``condition`` is true, 0 elsewhere, even for nan or inf.

    >>> zero_where_not(np.array([1., np.nan]), np.array([True, False])).tolist()
    [1.0, 0.0]
    """
    bits = _maskable(a, condition)
    if bits is None:
        return _copied(np.where(condition, a, _zero(a)), out)
    return _masked(a, np.negative(condition.view(np.int8)).astype(bits), out)


def zero_where(a: Any, condition: Any, out: Any = None) -> Any:
    """Return elements of ``a`` where ``condition`` is false, 0 elsewhere, even for nan or inf.

    >>> zero_where(np.array([1., np.nan]), np.array([False, True])).tolist()
    [1.0, 0.0]
    """
    bits = _maskable(a, condition)
    if bits is None:
        return _copied(np.where(condition, _zero(a), a), out)
    return _masked(a, np.subtract(condition.view(np.int8), _BYTE).astype(bits), out)


def scale_where_not(a: Any, condition: Any, factor: Any, out: Any = None) -> Any:
    """Return elements of ``a`` where ``condition`` is true, ``a * factor`` elsewhere: a product with 1 or the factor.

    >>> scale_where_not(np.array([1., 2.]), np.array([True, False]), 0.25).tolist()
    [1.0, 0.5]
    """
    bits = _maskable(a, condition)
    if bits is None or not isinstance(factor, (int, float)):
        return _copied(bitwise_where(condition, a, a * factor), out)
    factors = np.negative(condition.view(np.int8)).astype(bits)
    otherwise = np.array(factor, a.dtype).view(bits)
    factors &= np.array(1, a.dtype).view(bits) ^ otherwise
    factors ^= otherwise
    result = factors.view(a.dtype)
    return np.multiply(a, result, result if out is None else out)


class Choice:
    """One of these three functions as a step of a kernel, with a comparison of numbers and arrays, into ``out``.

    >>> CHOICES["zero_where", "less"](np.array([3., 4.]), np.array([-1., 1.]), 0, out=np.empty(2)).tolist()
    [0.0, 4.0]
    """

    nout = 1
    types = ("fff->f", "ffff->f")

    def __init__(self, choose: Callable[..., Any], compare: np.ufunc) -> None:
        self.choose, self.compare = choose, compare

    def __call__(self, a: Any, left: Any, right: Any, *rest: Any, out: Any) -> Any:
        return self.choose(a, self.compare(left, right), *rest, out)


CHOICES = {
    (choose.__name__, compare.__name__): Choice(choose, compare)
    for choose in (zero_where, zero_where_not, scale_where_not)
    for compare in (np.less, np.less_equal, np.greater, np.greater_equal)
}
"""The steps by the names of the choosing function and the comparison."""


def bounded(ufunc: Any, a: Any, b: Any, out: Any) -> Any:
    """Compute ``np.maximum`` or ``np.minimum`` of an array and a number, in either order, into ``out``.

    NumPy compares two arrays by vector instructions, but an array and a number element by element: so the number is
    repeated.

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
    for start in range(0, source.size, PIECE_SIZE):
        part = source[start : start + PIECE_SIZE]
        ufunc(part, repeated[: part.size], out=target[start : start + PIECE_SIZE])
    return out


@functools.lru_cache(maxsize=16)
def _repeated(number: float, dtype: Any) -> Any:
    array = np.full(PIECE_SIZE, number, dtype)
    array.flags.writeable = False
    return array


def _masked(a: Any, mask: Any, out: Any) -> Any:
    """Return ``a`` where the bits of ``mask`` are ones, 0 where they are zeros."""
    result = mask if out is None else out.view(mask.dtype)
    np.bitwise_and(mask, a.view(mask.dtype), result)
    return mask.view(a.dtype) if out is None else out


def _copied(result: Any, out: Any) -> Any:
    return result if out is None else np.positive(result, out)


def _maskable(a: Any, condition: Any) -> Any:
    """Return the integer dtype whose bits are masked; None if masking is impossible or not faster."""
    if condition.__class__ is not np.ndarray or a.__class__ is not np.ndarray or a.size < MIN_ZERO_SIZE:
        return None
    if condition.dtype is not _BOOL or a.shape != condition.shape or not a.flags.c_contiguous:
        return None
    return _BITS.get(a.dtype)


def _zero(a: Any) -> Any:
    return np.zeros_like(a, shape=()) if a.__class__ is np.ndarray else np.zeros_like(a)
