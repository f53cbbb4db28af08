"""Rows added up by where they go, on the CPU: the product with a sparse matrix that has a one for each of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import caching_allocator
from nbautograd._engine.arrays.late_packages import late

__all__ = ["scattered_sums"]


def scattered_sums(places: Any, rows: Any, count: int) -> Any:
    """A matrix of ``count`` rows, zeros at first, to which ``rows`` are added in their order.

    A large result lies in memory that is used again, as the gradient of an embedding needs it at every step: of new
    memory the operating system clears each page, which takes longer than the sums. SciPy writes to memory of the
    caller only in the function behind its product; without that it is the product itself.

    :param places: a row of the result for each of ``rows``, from 0 on.

    >>> scattered_sums(np.array([1, 1]), np.array([[1., 2.], [3., 4.]]), 2).tolist()
    [[0.0, 0.0], [4.0, 6.0]]
    """
    n, width = rows.shape
    sparse = late("scipy.sparse")
    ones, ends = np.ones(n, rows.dtype), np.arange(n + 1)
    add = getattr(getattr(sparse, "_sparsetools", None), "csc_matvecs", None)
    if add is None:
        return sparse.csc_array((ones, places, ends), shape=(count, n)) @ rows
    result = caching_allocator.empty((count, width), rows.dtype)
    result.fill(0)
    add(count, n, width, ends, places.astype(ends.dtype, copy=False), ones, rows.reshape(-1), result.reshape(-1))
    return result
