"""Along a dimension, keeping its length: running sums, products and extremes, differences, integrals."""

from __future__ import annotations

__all__: list[str] = []
