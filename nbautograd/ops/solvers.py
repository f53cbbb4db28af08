"""Systems of linear equations, inverses, determinants."""

from __future__ import annotations

__all__: list[str] = []
