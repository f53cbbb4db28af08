"""Collect the calls in tests of operations, a module per family."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter

from tests.engine.ops.cases.case import Case

__all__ = ["CASES", "Case"]

CASES: list[Case] = [
    case
    for module in pkgutil.iter_modules(__path__)
    if module.name != "case"
    for case in importlib.import_module(f"{__name__}.{module.name}").CASES
]
_twice = sorted(name for name, count in Counter(case.name for case in CASES).items() if count > 1)
assert not _twice, f"cases are looked up by name, and these names stand for two: {_twice}"
