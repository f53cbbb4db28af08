"""A backward pass as text: its steps, and the ledger of each leaf's gradients."""

from __future__ import annotations

from functools import cache
from itertools import count

from nbautograd.viz.capture.timeline import Frame, LedgerRow, Timeline
from nbautograd.viz.draw.graph_text import MAX_LINES, table
from nbautograd.viz.escape import escape, escape_long
from nbautograd.viz.language import headings, say
from nbautograd.viz.notebook import output

__all__ = ["failure_html", "has_gradients", "ledger_html", "ledger_rows", "ledger_text", "timeline_text"]

MAX_DRAWN = 40  # of a ledger with tiles


def ledger_head() -> list[str]:
    """Return the headings of a ledger."""
    return headings("ledger_pass", "leaf", "grad_before", "arriving_pass", "sum", "grad_after")


def ledger_rows(timeline: Timeline) -> list[tuple[str, ...]]:
    """A line for every leaf in every pass."""
    return [
        (str(n), name, row.before, terms_text(row), row.total or "–", row.after or row.before)
        for n, name, row in timeline.ledger
    ]


def terms_text(row: LedgerRow) -> str:
    """``3. via b + 2. via a``."""
    terms = [f"{gradient} {say('via', name=via)}" for gradient, via in row.terms]
    if len(terms) > 6:
        terms = [*terms[:3], say("more_terms", n=len(terms) - 4), terms[-1]]
    return " + ".join(terms) or say("nothing")


def ledger_html(timeline: Timeline) -> str:
    """The ledger as an HTML table, where gradients of more than one number are tiles."""
    rows = timeline.ledger
    if len(rows) > MAX_DRAWN or not timeline.tiled:
        return output.table(ledger_head(), ledger_rows(timeline))

    @cache  # most gradients are in several columns: as a term, as the sum, and as .grad after it
    def cell(text: str, number: int) -> str:
        tile = timeline.tiles[number] if number >= 0 else None
        return output.gradient_image(text, tile, timeline.scale)

    lines = []
    for n, name, row in rows:
        terms = [f"{cell(gradient, tile)} {escape(say('via', name=via))}"
                 for (gradient, via), tile in zip(row.terms, row.tiles, strict=True)]  # fmt: skip
        if len(terms) > 6:
            terms = [*terms[:3], escape(say("more_terms", n=len(terms) - 4)), terms[-1]]
        after = cell(row.after, row.after_tile) if row.after else cell(row.before, row.before_tile)
        cells = [str(n), escape(name), cell(row.before, row.before_tile), " + ".join(terms) or escape(say("nothing")),
                 cell(row.total or "–", row.total_tile), after]  # fmt: skip
        lines.append(cells)
    return output.table(ledger_head(), lines, output.key_image(timeline.scale), are_html=True)


def ledger_text(timeline: Timeline) -> str:
    """The ledger as a table."""
    return table([ledger_head(), *ledger_rows(timeline)])


def has_gradients(timeline: Timeline) -> bool:
    """Return whether a gradient reached a leaf: after a pass that failed at once, a ledger would be empty."""
    return any(row.terms or row.total or row.after for _, _, row in timeline.ledger)


def failure_html(frame: Frame) -> str:
    """Return the cause and the cure of an error as HTML."""
    parts = [f"<li><b>{escape(what)}</b>: {escape_long(details, 400)}{f' ({escape(where)})' if where else ''}</li>"
             for what, details, where in frame.story]  # fmt: skip
    story = f"<ol>{''.join(parts)}</ol>" if parts else ""
    advice = "".join(f"<li>{escape_long(alarm, 600)}</li>" for alarm in frame.alarms)
    products = "".join(f"<p>{escape_long(product.text, 400)}</p>" for product in frame.products)
    return f"<p><b>{escape(frame.words)}</b></p>{story}<ul>{advice}</ul>{products}"


def _step_text(number: int, frame: Frame) -> str:
    """Write a step in one line; for an error, also its story and the advice."""
    if frame.kind != "error":
        return f"{number}. {frame.caption}"
    story = [say("story_value", what=what, value=details) + f" ({where})" * bool(where)
             for what, details, where in frame.story]  # fmt: skip
    return "\n   - ".join([f"{number}. {frame.words}", *story, *frame.alarms])


def timeline_text(timeline: Timeline) -> str:
    """The steps, a line each, and the ledger."""
    steps = map(_step_text, count(1), timeline.frames[:MAX_LINES])
    return "\n".join([*steps, *(["", ledger_text(timeline)] if has_gradients(timeline) else ())])
