"""Empty an IPython shell, as fast as it can be."""

from __future__ import annotations

import gc
from typing import Any

import pytest

__all__ = ["empty"]


def empty(shell: Any) -> None:
    """Reset a shell without collecting garbage: ``%reset`` does so twice, which takes longer than most tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "collect", int)
        shell.run_line_magic("reset", "-f")
