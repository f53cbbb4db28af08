"""A plugin for pytest: nbval compares notebooks by what their outputs say.

    pytest -p nbautograd.viz.nbval --nbval my_notebook.ipynb

nbval compares outputs byte by byte, so a picture that another processor draws a tenth of a pixel further left would
be another picture. With this plugin the rule of :mod:`nbautograd.viz.compare` holds for all that a cell shows and
prints, and a failure names what differs. What nbval passes over (widgets, PNG), its patterns and its marks stay.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from functools import partial
from typing import Any

from nbautograd.viz.compare import differences

__all__ = ["pytest_itemcollected"]


def pytest_itemcollected(item: Any) -> None:
    """Give each cell that nbval tests our comparison."""
    nbval = sys.modules.get("nbval.plugin")
    if nbval is not None and isinstance(item, nbval.IPyNbCell):
        item.compare_outputs = partial(_compare, item)


def _compare(item: Any, now: Any, stored: Any, skip_compare: Any = None) -> bool:
    """In the place of nbval's own method: whether outputs say the same. In what they differ is noted with the cell."""
    skipped = set(skip_compare or item.parent.skip_compare)
    before, after = _by_kind(stored, skipped), _by_kind(now, skipped)
    item.comparison_traceback = differing = []
    for kind in [*before, *(kind for kind in after if kind not in before)]:
        one, two = before.get(kind, []), after.get(kind, [])
        if len(one) != len(two):
            differing.append(f"{kind}: {len(one)} stored, {len(two)} now")
            differing += [f"  only {when}: {str(rest)[:400]!r}"
                      for when, all_, others in (("stored", one, two), ("now", two, one))
                      for rest in all_[len(others) :]]  # fmt: skip
            continue
        for number, (old, new) in enumerate(zip(one, two, strict=True), 1):
            which = f"{kind}, output {number} of {len(one)}" if len(one) > 1 else kind
            differing += [f"{which}: {line}" for line in differences(kind, old, new, item.sanitize)]
    return not differing


def _by_kind(outputs: Any, skipped: set[str]) -> dict[str, list[Any]]:
    """What outputs hold, by MIME type or the stream's name, in order; kinds that differ may come in another order."""
    by_kind: dict[str, list[Any]] = defaultdict(list)
    for output in outputs:
        if output["output_type"] == "stream":
            by_kind[output["name"]].append(output["text"])
            continue
        for key, value in output.items():
            for kind, held in value.items() if key == "data" else [(key, value)]:
                if kind not in skipped and key not in skipped:
                    by_kind[kind].append(held)
    return dict(by_kind)
