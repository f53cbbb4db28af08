"""``torch.utils.benchmark``: running times of code, measured repeatedly, and comparison tables."""

from __future__ import annotations

from nbautograd._names import absent
from nbautograd.utils.benchmark._compare import Colorize, Compare
from nbautograd.utils.benchmark._measurement import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from nbautograd.utils.benchmark._timer import Language, Timer, timer

__all__ = [
    "Colorize",
    "Compare",
    "Language",
    "Measurement",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]

absent.answer(__name__)
