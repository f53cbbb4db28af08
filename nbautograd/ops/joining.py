"""Cutting and putting together: cat, stack and split with their relatives, grids and products of sets."""

from __future__ import annotations

__all__: list[str] = []
