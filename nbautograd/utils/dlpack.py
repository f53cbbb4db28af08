"""``torch.utils.dlpack``: memory shared with other libraries."""

from __future__ import annotations

from nbautograd.ops.interchange import DLDeviceType, from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
