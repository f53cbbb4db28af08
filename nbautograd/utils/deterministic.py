"""``torch.utils.deterministic``: what deterministic mode does beside choosing algorithms."""

from __future__ import annotations

__all__ = ["fill_uninitialized_memory"]

fill_uninitialized_memory = True
"""Kept as it is assigned. Memory of ``torch.empty`` is not filled here."""
