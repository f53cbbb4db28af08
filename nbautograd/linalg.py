"""``torch.linalg``: linear algebra."""

from __future__ import annotations

from nbautograd._engine.ops.linalg.matmul import matmul  # noqa: F401 - `fill` lists it
from nbautograd._names import namespaces
from nbautograd.errors import LinAlgError  # noqa: F401

__all__ = namespaces.fill(
    __name__,
    "linalg_",
    "linalg.cholesky linalg.eig linalg.householder linalg.least_squares linalg.lu linalg.matrix_functions linalg.qr "
    "linalg.solvers linalg.svd linalg.vectors reduction.norms",
)
