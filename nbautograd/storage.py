"""``torch.storage``: the memory that tensors share, as an object of its own."""

from __future__ import annotations

from nbautograd.core.storage import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
