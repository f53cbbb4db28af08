"""Hours of notebook life in one kernel: nothing is left behind.

A few hundred cells by default; as many as the environment variable ``NBAUTOGRAD_SOAK`` says otherwise (10,000 take
some minutes). With more than a thousand the figures are printed (``pytest -s``).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import needs

needs.package("jupyter_client")
needs.package("ipykernel")

from .cells import CELLS, START
from .kernel import Kernel, kernel, moments

CELLS_TO_RUN = int(os.environ.get("NBAUTOGRAD_SOAK", "80"))
COUNTED = ("comms", "threads", "children", "files", "observers", "callbacks")

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


def notebook(running: Kernel, when: float) -> int:
    """Run the notebook once from top to bottom; returns how many cells that were."""
    for number, cell in enumerate((START, *CELLS)):
        done = running.run(cell.code, f"cell-{number}", when if cell.interrupt else None)
        assert done.error == cell.error, f"{cell.name}: {done.error}: {done.message}"
    return 1 + len(CELLS)


def test_a_long_session(tmp_path: Path) -> None:
    chance = moments(0)
    trace = "import tracemalloc\ntracemalloc.start()" if os.environ.get("NBAUTOGRAD_SOAK_TRACE") else ""
    with kernel(tmp_path) as running:
        if trace:
            running.run(trace)
        notebook(running, 0.5)  # even on a busy machine every interrupted loop has gone round once
        notebook(running, 0.01)  # objects that are created once exist now
        before, cells, shown = running.measure(), 0, []
        while cells < CELLS_TO_RUN:
            cells += notebook(running, chance.random() * 0.02)
            if CELLS_TO_RUN > 1000 and cells // 1000 > len(shown):
                shown.append(running.measure())
                print(f"{cells:6} cells:", shown[-1], flush=True)
        after = running.measure()
    grown = {name: after[name] - before[name] for name in before}
    print(f"{cells} cells, grown by", grown)
    assert {name: grown[name] for name in COUNTED} == dict.fromkeys(COUNTED, 0)
    assert abs(grown["histories"]) < 20
    assert grown["objects"] < 1500 + cells / 100  # leftovers of the last cells differ a little
    if shown:  # the memory of a short run says little; Jupyter itself uses some hundred bytes per cell
        assert (after["rss"] - shown[0]["rss"]) / (cells - 1000) < 800  # bytes a cell
