"""Tests marked ``cuda`` need a GPU; where there is none they are skipped, and the message says why."""

from __future__ import annotations

import pytest

import nbautograd as nb


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("cuda")]
    why = nb.cuda.why_not() if marked else None
    if why is not None:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=f"needs a CUDA device: {why}"))
