"""What the tests of operations call, a module per family."""

from __future__ import annotations

import importlib
import pkgutil

from tests.ops.cases.case import Case

__all__ = ["CASES", "Case"]

CASES: list[Case] = [
    case
    for module in pkgutil.iter_modules(__path__)
    if module.name != "case"
    for case in importlib.import_module(f"{__name__}.{module.name}").CASES
]
