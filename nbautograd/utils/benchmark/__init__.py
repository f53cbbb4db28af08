"""``torch.utils.benchmark``: running times of code, measured repeatedly, and comparison tables."""

# ruff: noqa: F403

from __future__ import annotations

from nbautograd._names import absent
from nbautograd.utils.benchmark import _compare, _measurement, _timer
from nbautograd.utils.benchmark._compare import *
from nbautograd.utils.benchmark._measurement import *
from nbautograd.utils.benchmark._timer import *

__all__ = sorted([*_compare.__all__, *_measurement.__all__, *_timer.__all__])

absent.answer(__name__)
