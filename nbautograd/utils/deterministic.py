"""``torch.utils.deterministic``: further settings of deterministic mode."""

from __future__ import annotations

__all__ = ["fill_uninitialized_memory"]

fill_uninitialized_memory = True
"""Stored without effect: memory of ``torch.empty`` is not filled."""
