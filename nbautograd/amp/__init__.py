"""Mixed precision: ``autocast`` computes in half precision, ``GradScaler`` keeps gradients in range."""

from __future__ import annotations

from nbautograd._names import absent
from nbautograd.amp.autocast_mode import autocast, custom_bwd, custom_fwd
from nbautograd.amp.grad_scaler import GradScaler
from nbautograd.amp.state import is_autocast_available

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

absent.answer(__name__)
