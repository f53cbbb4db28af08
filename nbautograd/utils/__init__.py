"""``torch.utils``: what is neither an operation nor a module."""

from __future__ import annotations

from nbautograd.utils import checkpoint, dlpack

__all__ = ["checkpoint", "dlpack"]
