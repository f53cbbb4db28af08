"""``docs/differences.md`` names every difference that a test of this folder holds, and no other."""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module
from pathlib import Path

from tests.parity import differences
from tests.parity.differences.both import TITLES

PAGE = Path(__file__).parents[3] / "docs" / "differences.md"


def test_the_page_has_the_titles() -> None:
    for module in pkgutil.iter_modules(differences.__path__):
        import_module(f"{differences.__name__}.{module.name}")
    named = re.findall(r"^\*\*(.+?)\.?\*\*", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(set(TITLES))
