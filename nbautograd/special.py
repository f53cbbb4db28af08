"""Special functions, by the names they have in ``torch.special``."""

from __future__ import annotations

__all__: list[str] = []
