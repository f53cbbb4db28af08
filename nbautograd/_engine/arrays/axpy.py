"""The BLAS's axpy, ``y += a · x``, on the CPU, and its like for the rows of a matrix, in one pass over memory.

NumPy takes two passes for it, and where a number per row meets the row, a slow one: it copies the number for each
element into a buffer. SciPy's functions behind products with sparse matrices write into memory of the caller: a
matrix of one element is ``a``, a diagonal one has a number per row. They round twice, as NumPy's passes do; the BLAS's
own axpy rounds once where the processor can, so that last digits would depend on it.

Arrays are contiguous, of float32 or float64. Smaller ones, and all in a browser, go through NumPy.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from nbautograd._engine.arrays.late_packages import late

__all__ = ["axpy", "axpy_rows", "multiples", "scale_rows", "shift_rows"]

SMALLEST = 1 << 15
"""From so many elements on the one pass is worth loading SciPy's sparse matrices for."""
WIDE = 1 << 10
"""Minimum length of a row that NumPy scales or shifts in place without a buffer."""


def axpy(factor: float, x: Any, y: Any, work: Any) -> None:
    """``y += factor · x`` for flat arrays.

    :param work: a buffer as long as they are.

    >>> x, y = np.ones(3), np.arange(3.)
    >>> axpy(0.5, x, y, np.empty(3))
    >>> y.tolist()
    [0.5, 1.5, 2.5]
    """
    if y.__class__ is np.ndarray and len(y) >= SMALLEST and (sparse := _sparse()) is not None:
        ends = multiples(2, 1)
        sparse.csr_matvecs(1, 1, len(y), ends, ends, np.array([factor], y.dtype), x, y)
    else:
        np.multiply(x, factor, work)
        np.add(y, work, y)


def axpy_rows(factors: Any, x: Any, y: Any) -> None:
    """``y[i] += factors[i] · x[i]`` for the rows of a matrix.

    >>> y = np.ones((2, 2))
    >>> axpy_rows(np.array([2., 3.]), np.array([[1., 2.], [3., 4.]]), y)
    >>> y.tolist()
    [[3.0, 5.0], [10.0, 13.0]]
    """
    rows, width = y.shape
    if y.size >= SMALLEST and (sparse := _sparse()) is not None:
        places = multiples(rows + 1, 1)
        sparse.csr_matvecs(rows, rows, width, places, places, factors, x.reshape(-1), y.reshape(-1))
    else:
        np.add(y, x * factors[:, None], y)


def shift_rows(numbers: Any, y: Any) -> None:
    """``y[i] += numbers[i]`` for the rows of a matrix.

    >>> y = np.ones((2, 2))
    >>> shift_rows(np.array([2., 3.]), y)
    >>> y.tolist()
    [[3.0, 3.0], [4.0, 4.0]]
    """
    rows, width = y.shape
    if y.size >= SMALLEST and width < WIDE and (sparse := _sparse()) is not None:
        one = np.ones(width, y.dtype)
        sparse.csr_matvecs(rows, 1, width, multiples(rows + 1, 1), multiples(rows, 0), numbers, one, y.reshape(-1))
    else:
        np.add(y, numbers[:, None], y)


def scale_rows(factors: Any, y: Any) -> None:
    """``y[i] *= factors[i]`` for the rows of a matrix.

    >>> y = np.ones((2, 2))
    >>> scale_rows(np.array([2., 3.]), y)
    >>> y.tolist()
    [[2.0, 2.0], [3.0, 3.0]]
    """
    rows, width = y.shape
    if y.size >= SMALLEST and width < WIDE and (sparse := _sparse()) is not None:
        ends = multiples(rows + 1, width)
        sparse.csr_scale_rows(rows, width, ends, ends, y.reshape(-1), factors)
    else:
        np.multiply(y, factors[:, None], y)


@functools.cache
def _sparse() -> Any:
    """SciPy's functions on the arrays of sparse matrices; None in a browser, which would have to fetch them."""
    if sys.platform == "emscripten":
        return None
    sparse = getattr(late("scipy.sparse"), "_sparsetools", None)
    return sparse if hasattr(sparse, "csr_matvecs") and hasattr(sparse, "csr_scale_rows") else None


@functools.lru_cache(maxsize=16)
def multiples(count: int, step: int) -> Any:
    """Indices 0, step, 2 step, and so on, kept for the next time: where rows begin and end, or where an element is."""
    indices = np.arange(count) * step
    indices.flags.writeable = False
    return indices
