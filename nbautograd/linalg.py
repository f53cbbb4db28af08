"""Linear algebra, by the names that it has in ``torch.linalg``."""

from __future__ import annotations

__all__: list[str] = []
