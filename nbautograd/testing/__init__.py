"""``torch.testing``: comparison of tensors, and random tensors."""

from __future__ import annotations

from nbautograd._names import absent
from nbautograd.testing._comparison import assert_allclose, assert_close
from nbautograd.testing._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

absent.answer(__name__)
