"""A backward pass as text: its steps, and the ledger of what each leaf received."""

from __future__ import annotations

from collections.abc import Iterable

from nbautograd.viz.capture.timeline import LedgerRow, Timeline
from nbautograd.viz.draw.graph_text import MOST_LINES, table
from nbautograd.viz.language import say

__all__ = ["ledger_head", "ledger_rows", "ledger_text", "timeline_text"]


def ledger_head() -> list[str]:
    """What the columns of a ledger are called."""
    return [say(key) for key in ("ledger_pass", "leaf", "grad_before", "arriving_pass", "sum", "grad_after")]


def ledger_rows(timeline: Timeline) -> list[tuple[str, ...]]:
    """A line for every leaf in every pass."""
    return [
        (str(n), name, row.before, terms_text(row), row.total or "–", row.after or row.before)
        for n, name, row in timeline.ledger()
    ]


def terms_text(row: LedgerRow) -> str:
    """``3. via b + 2. via a``."""
    terms = [f"{gradient} {say('via', name=via)}" for gradient, via in row.terms]
    if len(terms) > 6:
        terms = [*terms[:3], say("more_terms", n=len(terms) - 4), terms[-1]]
    return " + ".join(terms) or say("nothing")


def ledger_text(timeline: Timeline) -> str:
    """The ledger as a table."""
    return table([ledger_head(), *ledger_rows(timeline)])


def timeline_text(timeline: Timeline) -> str:
    """The steps, a line each, and the ledger."""
    steps: Iterable[str] = (f"{i}. {frame.caption}" for i, frame in enumerate(timeline.frames[:MOST_LINES], 1))
    return "\n".join([*steps, "", ledger_text(timeline)])
