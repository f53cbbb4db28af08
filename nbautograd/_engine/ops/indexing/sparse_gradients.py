"""The sparse gradient of ``gather``."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.core.sparse import sparse_gradient, stored


def sparse_gather_back(g: Any, shape: Any, dim: int, index: Any) -> Any:
    """Return ``g`` at the gathered positions in zeros of ``shape``, as a sparse array, or tensor if ``g`` is one."""
    index, d = stored(index), dimension(dim, len(shape))
    module = backend.module(backend.device_of(index))
    rows = [module.arange(n).reshape((-1,) + (1,) * (index.ndim - i - 1)) for i, n in enumerate(index.shape)]
    rows[d] = index
    places = np.stack([np.broadcast_to(row, index.shape).reshape((-1,)) for row in rows])
    return sparse_gradient(places.astype(np.int64), g.reshape(-1), shape)
