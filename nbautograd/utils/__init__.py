"""``torch.utils``: what is neither an operation nor a module."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbautograd.utils import checkpoint, dlpack

if TYPE_CHECKING:
    from nbautograd.utils import data

__all__ = ["checkpoint", "data", "dlpack"]


def __getattr__(name: str) -> Any:
    if name in ("data", "tensorboard"):  # at their first use
        return import_module(f"nbautograd.utils.{name}")
    raise AttributeError(f"module 'nbautograd.utils' has no attribute {name!r}")
