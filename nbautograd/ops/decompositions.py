"""Matrix decompositions: eigenvalues, singular values, QR, LU, Cholesky, LDL."""

from __future__ import annotations

__all__: list[str] = []
