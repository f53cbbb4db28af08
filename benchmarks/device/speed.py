"""Rows measured next to PyTorch on the same device: time, share of the device's limit, peak memory, waits."""

from __future__ import annotations

import statistics
import traceback
from collections.abc import Callable
from typing import Any

from .child import Child
from .counts import counted, returns_early
from .rows import CALLS, GROUPS, Row
from .side import Side, Step, compare, in_turn, sides, summary

ROUNDS = 11
COUNTED = ("models", "networks")  # groups with counted waits, kernels and peaks
NO_WAITS = ("models",)  # and those in which the host must not wait


def run(child: Child, group: str) -> None:
    """Measure the rows of a group."""
    ours, theirs = sides(child.rehearsal)
    rounds = 3 if child.rehearsal else ROUNDS
    copied = [0.0]
    work = {row.name: (lambda row=row: measured(row, group, ours, theirs, rounds, copied)) for row in GROUPS[group]}
    child.each(work)


def bandwidth(theirs: Side, rounds: int) -> float:
    """Bytes per second of a copy from the device to itself through PyTorch, what is read and what is written."""
    n = theirs.size(10**8, 1000)
    a, b = theirs.normal(n), theirs.normal(n, seed=1)
    (times,) = in_turn([(theirs, lambda: b.copy_(a))], rounds)
    return 8 * n / statistics.median(times)


def measured(row: Row, group: str, ours: Side, theirs: Side, rounds: int, copied: list[float]) -> dict[str, Any]:
    """The figures of a row, after both libraries gave the same results."""
    pairs = [(side, row.make(side)) for side in (ours, theirs)]
    error = compare(*(step() for _, step in pairs), row.tolerance)
    launches = group == "launches"
    times = in_turn(pairs, rounds, Side.issued if launches else Side.seconds, 40 if launches else 200)
    if launches:
        times = [[seconds / CALLS for seconds in side] for side in times]
    figures: dict[str, Any] = {"group": group, "error": error, **summary(*times)}
    if row.moved is not None:
        copied[0] = copied[0] or bandwidth(theirs, rounds)
        for name in ("ours", "torch"):
            figures[f"{name}_share"] = row.moved(ours) / copied[0] / (figures[f"{name}_ms"] / 1e3)
        figures["copy_GBs"] = copied[0] / 1e9
    elif row.share is not None:
        figures["ours_share"] = 1 / figures["ratio"]
    if group in COUNTED:
        figures |= further(pairs)
    figures["goals"] = goals(row, group, figures)
    del pairs
    for side in (ours, theirs):
        side.tidy()
    return {"figures": figures}


def further(pairs: list[tuple[Side, Step]]) -> dict[str, Any]:
    """Measure peaks of memory, waits and kernels; unavailable ones are None, and the row's times stay."""
    asked: dict[str, Callable[[], Any]] = {
        "peak_MB": lambda: [side.peak(step) for side, step in pairs],
        "counts": lambda: [counted(side, step) for side, step in pairs],
        "returns_early": lambda: returns_early(*pairs[0]),
    }
    found: dict[str, Any] = {"not counted": {}}
    for name, ask in asked.items():
        try:
            found[name] = ask()
        except Exception as error:
            traceback.print_exc()
            found[name], found["not counted"][name] = None, f"{type(error).__name__}: {error}"[:300]
    return found


def goals(row: Row, group: str, figures: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the goals of the row, and whether it meets them."""
    found = []
    if row.share is not None:
        of = "the copy's bandwidth" if row.moved is not None else "cuBLAS"
        value = figures["ours_share"]
        found.append({"goal": f"at least {row.share:.0%} of {of}", "is": f"{value:.0%}", "met": value >= row.share})
    if row.ratio is not None:
        value = figures["ratio"]
        found.append(
            {"goal": f"at most {row.ratio:g} of PyTorch's time", "is": f"{value:.2f}", "met": value <= row.ratio}
        )
    if group in NO_WAITS:
        value = figures["counts"][0]["waits"] if figures["counts"] else "uncounted"
        found.append({"goal": "the host does not wait", "is": f"{value} waits", "met": value == 0})
    return found
