"""``torch.storage``: the memory that tensors share, as objects."""

from __future__ import annotations

from nbautograd._engine.core.storage import STORAGE_TYPES, TypedStorage, UntypedStorage, storage_type

__all__ = ["TypedStorage", "UntypedStorage", *STORAGE_TYPES]

globals().update({name: storage_type(name) for name in STORAGE_TYPES})
