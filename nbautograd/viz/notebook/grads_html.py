"""The table of ``%grads`` as HTML: gradients as tiles on one scale, and a bar for each norm.

The tiles are images, so they are shown in untrusted notebooks and follow a dark one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nbautograd.viz.draw.cells import largest_of
from nbautograd.viz.draw.theme import LIGHT
from nbautograd.viz.escape import escape
from nbautograd.viz.language import headings
from nbautograd.viz.notebook.output import drawing, gradient_image, image, key_image, table
from nbautograd.viz.read.tiles import Tile, is_tiled

__all__ = ["GradientRow", "gradients_html"]

MAX_BAR_PX = 80.0


@dataclass(frozen=True, slots=True)
class GradientRow:
    """The table row of one leaf's gradient: texts, and tiles for more than one number."""

    name: str
    about: str
    added: str
    now: str
    added_tile: Tile | None
    now_tile: Tile | None
    norm: str
    passes: str


def gradients_html(title: str, rows: Sequence[GradientRow]) -> str:
    """The table; columns in which there is nothing are left out."""
    tiles = [tile for row in rows for tile in (row.added_tile, row.now_tile) if is_tiled(tile)]
    largest, norms = largest_of(tiles), [_number(row.norm) for row in rows]
    most = max((norm for norm in norms if math.isfinite(norm)), default=0.0)
    counted = any(row.passes != "–" for row in rows)
    heads = ["col_leaf", "col_type", "col_added_since", "col_grad_now", "col_norm"] + ["col_passes"] * counted
    lines = []
    for row, norm in zip(rows, norms, strict=True):
        cells = [
            escape(row.name),
            escape(row.about).replace(" ", "&nbsp;"),
            gradient_image(row.added, row.added_tile, largest),
            gradient_image(row.now, row.now_tile, largest),
            f"{_bar(norm, most)} {escape(row.norm)}",
            *([escape(row.passes)] * counted),
        ]
        lines.append(cells)
    caption = escape(title) + (f"<br>{key_image(largest)}" if tiles else "")
    return table(headings(*heads), lines, caption, are_html=True)


def _bar(norm: float, most: float) -> str:
    """A bar as long as the norm is large; the smallest is still seen."""
    if not most or not norm or not math.isfinite(norm):
        return ""
    bar = f'<rect y="2" width="{max(MAX_BAR_PX * norm / most, 1.0):.1f}" height="8" rx="2" fill="{LIGHT["done"]}"/>'
    return image(drawing(MAX_BAR_PX, 12, bar), "")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
