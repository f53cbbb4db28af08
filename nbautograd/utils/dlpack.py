"""``torch.utils.dlpack``: memory shared with other libraries."""

from __future__ import annotations

from nbautograd._engine.ops.creation.interop import DLDeviceType, from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
