"""Writing to chosen places: index_add, scatter_reduce, put, and copies with a part replaced."""

from __future__ import annotations

__all__: list[str] = []
