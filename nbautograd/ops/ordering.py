"""Order and rank: sorting, the largest few, medians and quantiles, unique elements, searching sorted sequences."""

from __future__ import annotations

__all__: list[str] = []
