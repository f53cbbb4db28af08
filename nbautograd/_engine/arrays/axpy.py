"""The BLAS operation axpy, ``y += a · x``, on the CPU, and its variants for the rows of a matrix, in one pass over
memory.

NumPy takes two passes, and a slow one if a number per row is broadcast along the row: it copies the number for each
element into a buffer. SciPy's functions behind sparse matrix products write into the caller's memory: a matrix of one
element is ``a``, a diagonal one has a number per row. They round twice, like NumPy's passes; the BLAS's own axpy rounds
once where the processor supports it, so that last digits would depend on it.

Arrays are contiguous, of float32 or float64. Smaller arrays, and all in a browser, go through NumPy.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from nbautograd._engine.arrays.late_packages import late

MIN_SIZE = 1 << 15
"""Minimum number of elements for which the single pass is worth loading SciPy's sparse matrices."""
MIN_WIDE_ROW = 1 << 10
"""Minimum length of a row that NumPy scales or shifts in place without a buffer."""


def axpy(factor: float, x: Any, y: Any, work: Any) -> None:
    """Compute ``y += factor · x`` for flat arrays.

    :param work: a buffer of the same length.

    >>> x, y = np.ones(3), np.arange(3.)
    >>> axpy(0.5, x, y, np.empty(3))
    >>> y.tolist()
    [0.5, 1.5, 2.5]
    """
    if y.__class__ is np.ndarray and len(y) >= MIN_SIZE and (sparse := _sparse()) is not None:
        ends = multiples(2, 1)
        sparse.csr_matvecs(1, 1, len(y), ends, ends, np.array([factor], y.dtype), x, y)
    else:
        np.multiply(x, factor, work)
        np.add(y, work, y)


def axpy_rows(factors: Any, x: Any, y: Any) -> None:
    """Compute ``y[i] += factors[i] · x[i]`` for the rows of a matrix.

    >>> y = np.ones((2, 2))
    >>> axpy_rows(np.array([2., 3.]), np.array([[1., 2.], [3., 4.]]), y)
    >>> y.tolist()
    [[3.0, 5.0], [10.0, 13.0]]
    """
    rows, width = y.shape
    if y.size >= MIN_SIZE and (sparse := _sparse()) is not None:
        places = multiples(rows + 1, 1)
        sparse.csr_matvecs(rows, rows, width, places, places, factors, x.reshape(-1), y.reshape(-1))
    else:
        np.add(y, x * factors[:, None], y)


def shift_rows(numbers: Any, y: Any) -> None:
    """Compute ``y[i] += numbers[i]`` for the rows of a matrix.

    >>> y = np.ones((2, 2))
    >>> shift_rows(np.array([2., 3.]), y)
    >>> y.tolist()
    [[3.0, 3.0], [4.0, 4.0]]
    """
    rows, width = y.shape
    if y.size >= MIN_SIZE and width < MIN_WIDE_ROW and (sparse := _sparse()) is not None:
        one = np.ones(width, y.dtype)
        sparse.csr_matvecs(rows, 1, width, multiples(rows + 1, 1), multiples(rows, 0), numbers, one, y.reshape(-1))
    else:
        np.add(y, numbers[:, None], y)


def scale_rows(factors: Any, y: Any) -> None:
    """Compute ``y[i] *= factors[i]`` for the rows of a matrix.

    >>> y = np.ones((2, 2))
    >>> scale_rows(np.array([2., 3.]), y)
    >>> y.tolist()
    [[2.0, 2.0], [3.0, 3.0]]
    """
    rows, width = y.shape
    if y.size >= MIN_SIZE and width < MIN_WIDE_ROW and (sparse := _sparse()) is not None:
        ends = multiples(rows + 1, width)
        sparse.csr_scale_rows(rows, width, ends, ends, y.reshape(-1), factors)
    else:
        np.multiply(y, factors[:, None], y)


@functools.cache
def _sparse() -> Any:
    """Return SciPy's functions on the arrays of sparse matrices; None in a browser, which would have to fetch them."""
    if sys.platform == "emscripten":
        return None
    sparse = getattr(late("scipy.sparse"), "_sparsetools", None)
    return sparse if hasattr(sparse, "csr_matvecs") and hasattr(sparse, "csr_scale_rows") else None


@functools.lru_cache(maxsize=16)
def multiples(count: int, step: int) -> Any:
    """Return indices 0, step, 2 step, and so on, cached: the boundaries of rows, or the position of an element."""
    indices = np.arange(count) * step
    indices.flags.writeable = False
    return indices
