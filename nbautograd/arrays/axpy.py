"""The BLAS's axpy on the CPU, ``y += a · x``, in one pass over memory where NumPy takes two."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from nbautograd.arrays.late_packages import late

__all__ = ["axpy"]

SMALLEST = 1 << 15
"""From so many elements on the one pass is worth loading SciPy's sparse matrices for."""
_ENDS, _PLACES = np.array([0, 1]), np.zeros(1, np.intp)


def axpy(factor: float, x: Any, y: Any, work: Any) -> None:
    """``y += factor · x``, rounded twice, for flat arrays of one dtype that lie densely.

    SciPy's product with a sparse matrix of the one element ``factor`` does it. The BLAS's own would round once where
    the processor can, so that last digits would depend on it.

    :param work: a buffer as long as they are.

    >>> x, y = np.ones(3), np.arange(3.)
    >>> axpy(0.5, x, y, np.empty(3))
    >>> y.tolist()
    [0.5, 1.5, 2.5]
    """
    if y.__class__ is np.ndarray and len(y) >= SMALLEST and (product := _sparse_product()) is not None:
        product(1, 1, len(y), _ENDS, _PLACES, np.array([factor], y.dtype), x, y)
    else:
        np.multiply(x, factor, work)
        np.add(y, work, y)


@functools.cache
def _sparse_product() -> Any:
    """SciPy's function that adds a product to memory of the caller; None in a browser, which would have to fetch it."""
    if sys.platform == "emscripten":
        return None
    return getattr(getattr(late("scipy.sparse"), "_sparsetools", None), "csr_matvecs", None)
