"""Norms of vectors and matrices, condition numbers, ranks."""

from __future__ import annotations

__all__: list[str] = []
