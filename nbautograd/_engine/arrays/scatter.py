"""Sums of rows by destination, on the CPU: the product with a sparse matrix that has a one for each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import caching_allocator
from nbautograd._engine.arrays.late_packages import late


def scattered_sums(places: Any, rows: Any, count: int) -> Any:
    """Return a matrix of ``count`` rows, initially zeros, to which ``rows`` are added in their order.

    A large result uses recycled memory, since the gradient of an embedding needs it at every step: the operating system
    clears each page of new memory, which takes longer than the sums. Only SciPy's function behind its product writes
    into the caller's memory; without that function, the product itself is used.

    :param places: for each of ``rows``, the row of the result, from 0 on.

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
