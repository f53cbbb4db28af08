"""Where the tests keep the pictures that they take: the folder NBAUTOGRAD_SHOTS names, else tests/screenshots."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["SHOTS"]

SHOTS = Path(os.environ.get("NBAUTOGRAD_SHOTS", Path(__file__).with_name("screenshots")))
SHOTS.mkdir(parents=True, exist_ok=True)
