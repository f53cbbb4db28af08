"""Write the interactive view of a training run as data: its steps, its leaves, and the passes that play."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nbautograd.viz.escape import one_line
from nbautograd.viz.notebook.recording import Recording
from nbautograd.viz.notebook.training import BINS, LOWEST_LOG2, OCTAVES_PER_BIN, Run
from nbautograd.viz.read.numbers import SUMMARY, number_text
from nbautograd.viz.read.values import shape_text
from nbautograd.viz.settings import settings

__all__ = ["MAX_PAGE_BYTES", "chosen", "lens_data", "pass_data"]

MAX_PAGE_BYTES = 2_500_000  # of passes in a saved page
FIRST_LETTER = 35  # bins of a histogram, written as a letter each


def lens_data(run: Run, recordings: Mapping[int, Recording], label: str) -> dict[str, Any]:
    """All that the view needs but for the passes themselves."""
    steps = run.steps
    leaves = [
        _leaf_data(name, leaf, [step.leaves[i] for step in steps]) for i, (name, leaf) in enumerate(run.leaves.items())
    ]
    return {
        "steps": [step.number for step in steps],
        "losses": [_told(step.loss, f"{step.loss:.9g}") for step in steps],
        "outstanding": [step.number for step in steps if step.outstanding],
        "leaves": leaves,
        "bins": {"count": BINS, "lowest": LOWEST_LOG2, "each": OCTAVES_PER_BIN, "letter": FIRST_LETTER},
        "recorded": list(recordings),
        "passes": {},
        "theme": settings.theme,
        "label": label,
    }


def _leaf_data(name: str, leaf: Any, steps: Sequence[Any]) -> dict[str, Any]:
    bad = [[i, step.nan, step.inf] for i, step in enumerate(steps) if step.nan or step.inf]
    return {
        "name": one_line(name, 60),
        "shape": shape_text(leaf),
        "norms": [_told(step.norm, number_text(step.norm, SUMMARY)) for step in steps],
        "ratios": [_told(step.ratio, number_text(step.ratio, SUMMARY)) for step in steps],
        "counts": ["".join(chr(FIRST_LETTER + share) for share in step.counts) for step in steps],
        "zeros": [round(100 * step.zeros) for step in steps],
        "bad": bad,
    }


def _told(value: float, written: str) -> float | str | None:
    """The number as it was written; infinity as text and NaN as nothing, because JSON has neither."""
    return float(written) if math.isfinite(value) else None if math.isnan(value) else str(value)


def pass_data(recording: Recording) -> dict[str, Any]:
    """Return a pass for the player, without the data that all passes share."""
    data = recording.data(0)
    data["svgs"] = [drawings[:2] for drawings in data["svgs"]]  # for the window of a laptop, and for a wider one
    return {key: value for key, value in data.items() if key not in ("texts", "theme")}


def chosen(recordings: Mapping[int, Recording], outstanding: Iterable[int], room: int) -> dict[int, dict[str, Any]]:
    """Return as many passes as there is room for: the first and the last one, outliers, and others evenly.

    :param room: bytes of all passes.
    """
    steps, picked = list(recordings), dict[int, dict[str, Any]]()
    special = set(outstanding)
    order = [*steps[:1], *steps[-1:], *(step for step in reversed(steps) if step in special), *_evenly(steps)]
    for step in dict.fromkeys(order):
        data = pass_data(recordings[step])
        room -= len(json.dumps(data, ensure_ascii=False))
        if room < 0:
            break
        picked[step] = data
    return dict(sorted(picked.items()))


def _evenly(steps: Sequence[int]) -> list[int]:
    """The steps in an order whose every beginning is spread over all of them.

    >>> _evenly([1, 2, 3, 4, 5])
    [1, 5, 3, 2, 4]
    """
    by_rank = [len(steps) - 1, 0] if steps else []
    spans = [(0, len(steps) - 1)]
    for low, high in spans:
        middle = (low + high) // 2
        if low < middle < high:
            by_rank.append(middle)
            spans += [(low, middle), (middle, high)]
    return [steps[i] for i in dict.fromkeys([*sorted(by_rank[:2]), *by_rank[2:]])]
