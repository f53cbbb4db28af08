"""Window functions, by the names that they have in ``torch.signal.windows``."""

from __future__ import annotations

__all__: list[str] = []
