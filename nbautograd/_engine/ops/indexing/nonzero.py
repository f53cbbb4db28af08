"""Indices of nonzero elements."""

from __future__ import annotations

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.indices import as_int64
from nbautograd._engine.compiler.op import composite, op
from nbautograd._engine.core.batched import looks_at_elements
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops.queries import example


@op()
@example("argwhere([0, 5, 7]) -> [[1], [2]]")
def argwhere(input: Tensor) -> Tensor:
    """Return the indices of the nonzero elements, shape (count, ndim)."""
    if not input.ndim and not backend.is_bare(input):
        return np.zeros_like(input, np.int64, shape=(int(input != 0), 0))
    return as_int64(np.stack(np.nonzero(input))).T


@composite()
@looks_at_elements
@example("nonzero_static([0, 5, 7], size=3) -> [[ 1], [ 2], [-1]]")
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """Return the indices of the first ``size`` nonzero elements, shape (size, ndim), padded with ``fill_value``.

    :raises RuntimeError: size is negative.
    """
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, not {size}")
    if input.is_meta:
        return wrap(np.empty_like(input._a, np.int64, shape=(size, input._a.ndim)))
    indices = argwhere(input.detach())._a[:size]
    whole = np.full_like(indices, fill_value, shape=(size, input._a.ndim), order="C")
    whole[: indices.shape[0]] = indices
    return wrap(whole)
