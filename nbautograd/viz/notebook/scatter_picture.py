"""The drawing of points and regions in a plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nbautograd.viz.draw.lines import number, text_element
from nbautograd.viz.draw.theme import LIGHT
from nbautograd.viz.escape import one_line
from nbautograd.viz.language import say
from nbautograd.viz.notebook.still import framed

__all__ = ["GRID_CELLS", "INKS", "Look", "Plane", "drawn"]

GRID_CELLS = 60  # per row and per column
INKS = tuple(LIGHT[name] for name in ("leaf", "ochre", "out", "teal"))
SINGLE_PX, IN_ROW_PX = 300, 140  # sides of a picture
LEFT_PX, TOP_PX, GAP_PX, BELOW_PX = 52, 58, 8, 40
LEGEND_PX = 130  # room for a class's name
MAX_POINTS = 2000

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Plane:
    """Points, their classes, and all names."""

    points: Array
    kinds: Array
    classes: Sequence[str]
    axes: tuple[str, str]

    @cached_property
    def low(self) -> Array:
        """The lower left corner: a little outside of all points."""
        return np.asarray(self.points.min(0) - self._room)

    @cached_property
    def high(self) -> Array:
        """The upper right corner."""
        return np.asarray(self.points.max(0) + self._room)

    @cached_property
    def _room(self) -> Array:
        size = np.ptp(self.points, axis=0)
        return np.asarray(np.where(size > 0, size, 1.0) * 0.06)

    def grid(self) -> Array:
        """Return the middles of the cells, by row from above, as points."""
        part = (np.arange(GRID_CELLS) + 0.5) / GRID_CELLS
        x = self.low[0] + part * (self.high[0] - self.low[0])
        y = self.high[1] - part * (self.high[1] - self.low[1])
        return np.stack([np.tile(x, GRID_CELLS), np.repeat(y, GRID_CELLS)], axis=1)

    def words(self) -> str:
        """Return the number of points of each class."""
        counts = np.bincount(self.kinds, minlength=len(self.classes))
        each = (say("scatter_of", n=n, name=one_line(name, 30)) for n, name in zip(counts, self.classes, strict=True))
        return say("scatter", n=len(self.points), each=say("scatter_and").join(each))


@dataclass(frozen=True)
class Look:
    """The class that a model gives to each cell, the points to which it gives a wrong one, and a line about it."""

    regions: Array
    wrong: Array
    words: str


def drawn(plane: Plane, looks: Sequence[Look], label: str, words: str) -> str:
    """Return the picture of points, or a row of pictures for several states of a model."""
    count = max(len(looks), 1)
    side = SINGLE_PX if count == 1 else IN_ROW_PX
    wide, high = LEFT_PX + count * (side + GAP_PX) + GAP_PX, TOP_PX + side + BELOW_PX
    wide = max(wide, LEFT_PX + LEGEND_PX * len(plane.classes))
    body = _legend(plane)
    for place in range(count):
        left = LEFT_PX + place * (side + GAP_PX)
        body += _panel(plane, looks[place] if looks else None, left, side)
    return framed(label, words, (wide, high), "".join(body))


def _legend(plane: Plane) -> list[str]:
    """A mark and a name for each class."""
    out, x = [], float(LEFT_PX)
    for kind, name in enumerate(plane.classes):
        out.append(f'<path d="{_mark(kind, x + 5, 22)}" fill="{INKS[kind]}"/>')
        out.append(text_element(x + 14, 26, one_line(name, 20), LIGHT["fg"]))
        x += LEGEND_PX
    return out


def _panel(plane: Plane, look: Look | None, left: float, side: float) -> list[str]:
    """One picture: regions, points, and rings around those in a wrong region."""
    out = [] if look is None else _areas(look.regions, left, side)
    out.append(_points(plane, side) if left == LEFT_PX else f'<use href="#nb-points" x="{number(left - LEFT_PX)}"/>')
    if look is not None:
        out.append(text_element(left, TOP_PX - 6, look.words, LIGHT["muted"]))
        across, down, shown, size = _places(plane, side)
        rings = shown[look.wrong[shown]]
        marks = "".join(_circle(left + across[i], down[i], size + 2) for i in rings)
        out += [f'<path d="{marks}" fill="none" stroke="{LIGHT["bad"]}" stroke-width="1.2"/>'] if marks else []
    place = f'x="{number(left)}" y="{TOP_PX}" width="{side}" height="{side}"'
    frame = f'<rect {place} fill="none" stroke="{LIGHT["wire"]}"/>'
    return [*out, frame, *(_axes(plane, left, side) if left == LEFT_PX else ())]


def _places(plane: Plane, side: float) -> tuple[Array, Array, Array, float]:
    """Return the positions of the points, seen from the left edge, the indices of the drawn ones, and their size."""
    part = (plane.points - plane.low) / (plane.high - plane.low)
    shown = np.arange(len(part))[:: -(-len(part) // MAX_POINTS)]
    size = (4.0 if side == SINGLE_PX else 2.6) * (1 if len(shown) <= 300 else 0.7)
    return part[:, 0] * side, TOP_PX + (1 - part[:, 1]) * side, shown, size


def _points(plane: Plane, side: float) -> str:
    """The points of the first picture, which the others use again."""
    across, down, shown, size = _places(plane, side)
    out = []
    for kind, ink in enumerate(INKS):
        own = shown[plane.kinds[shown] == kind]
        marks = "".join(_mark(kind, LEFT_PX + across[i], down[i], size) for i in own)
        out += (
            [f'<path d="{marks}" fill="{ink}" stroke="{LIGHT["bg"]}" stroke-width="{0.15 * size:.2g}"/>']
            if marks
            else []
        )
    return f'<g id="nb-points">{"".join(out)}</g>'


def _areas(regions: Array, left: float, side: float) -> list[str]:
    """Return one path per class, with adjacent cells of a row as one rectangle."""
    place = f"translate({number(left)} {TOP_PX}) scale({side / GRID_CELLS:.4g})"
    look = f'fill-opacity="0.2" shape-rendering="crispEdges" transform="{place}"'
    out = []
    for kind, ink in enumerate(INKS):
        edges = np.diff(np.pad(regions == kind, ((0, 0), (1, 1))).astype(int), axis=1)
        runs = zip(np.argwhere(edges == 1).tolist(), np.argwhere(edges == -1).tolist(), strict=True)
        path = "".join(f"M{begin} {row}h{end - begin}v1H{begin}z" for (row, begin), (_, end) in runs)
        out += [f'<path d="{path}" fill="{ink}" {look}/>'] if path else []
    return out


def _axes(plane: Plane, left: float, side: float) -> list[str]:
    """The two ends of each axis, and its name."""
    west, south, east, north = (f"{end:.2g}" for end in (*plane.low, *plane.high))
    below, ink, name = TOP_PX + side + 15, LIGHT["muted"], one_line(plane.axes[1], 24)
    up = f"translate({number(left - 8)} {number(TOP_PX + side / 2)}) rotate(-90)"
    return [
        text_element(left, below, west, ink, mono=True),
        text_element(left + side, below, east, ink, anchor="end", mono=True),
        text_element(left + side / 2, below + 14, one_line(plane.axes[0], 24), ink, anchor="middle"),
        text_element(left - 4, TOP_PX + side, south, ink, anchor="end", mono=True),
        text_element(left - 4, TOP_PX + 10, north, ink, anchor="end", mono=True),
        f'<g transform="{up}">{text_element(0, 0, name, ink, anchor="middle")}</g>',
    ]


SHAPES = (
    (),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.2), (1.2, 0.9), (-1.2, 0.9)),
    ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
)
"""The corners of each class's mark: of a disk, a square, a triangle, a diamond."""


def _circle(x: float, y: float, r: float) -> str:
    arc = f"a{number(r)} {number(r)} 0 1 0"
    return f"M{number(x - r)} {number(y)}{arc} {number(2 * r)} 0{arc} {number(-2 * r)} 0z"


def _mark(kind: int, x: float, y: float, r: float = 4.5) -> str:
    """The outline of a class's mark."""
    corners = [f"{number(x + dx * r)} {number(y + dy * r)}" for dx, dy in SHAPES[kind]]
    return f"M{'L'.join(corners)}z" if corners else _circle(x, y, r)
