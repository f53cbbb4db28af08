"""Lines of a folded graph that stand for several gradients of one value: their sum, number and sizes.

Several gradients of one value are added up on their way to it, whether they are drawn as one line or as several.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nbautograd.viz.read import values
from nbautograd.viz.read.model import GraphModel
from nbautograd.viz.read.numbers import SUMMARY
from nbautograd.viz.read.tiles import MAX_EXACT_CELLS, Tile

__all__ = ["FoldedSum", "added", "sums_in_view", "text_of"]

CURVE_POINTS = 48
TILE_ERROR, SUM_ERROR = 5e-5, 1e-3  # of the numbers of a large tile; of a sum, relative to its largest number


@dataclass(slots=True)
class FoldedSum:
    """The sum of the gradients along one line in one pass."""

    count: int = 0
    total: Tile | None = None
    sizes: list[float | None] = field(default_factory=list)
    """log10 of the root mean square of each, in the order in which they came."""

    def add(self, gradient: Tile | None, size: float | None) -> None:
        """One more gradient."""
        self.total = gradient if not self.count else added(self.total, gradient)
        self.count += 1
        self.sizes.append(size)

    def known(self) -> Tile | None:
        """Return the sum, or None if the terms are too imprecise."""
        total = self.total
        if total is None or len(total.cells) <= MAX_EXACT_CELLS or total.block != (1, 1):
            return total
        largest = max(abs(float(cell)) for cell in total.cells)
        return total if self.count * TILE_ERROR <= SUM_ERROR * largest else None

    def curve(self) -> tuple[float | None, ...]:
        """Return the sizes, reduced to the number that a small curve can show."""
        step = math.ceil(len(self.sizes) / CURVE_POINTS)
        return tuple(self.sizes[::step])


def added(one: Tile | None, other: Tile | None) -> Tile | None:
    """Return the tile of the sum of two tensors, or None if unknown."""
    if one is None or other is None or (one.shape, one.block) != (other.shape, other.block):
        return None
    numbers = [float(a) + float(b) for a, b in zip(one.cells, other.cells, strict=True)]
    cells = tuple(number if math.isfinite(number) else str(number) for number in numbers)
    bad = [number for number in numbers if not math.isfinite(number)]
    nan = sum(math.isnan(number) for number in bad)
    form = SUMMARY if len(cells) > MAX_EXACT_CELLS else one.form
    return replace(one, cells=cells, histogram=(), low=0.0, high=0.0, norm=0.0, nan=nan, inf=len(bad) - nan, form=form)


def text_of(total: Tile | None) -> str:
    """The sum as text: a number, or a few of them; ``Σ`` where it is not known or large."""
    if total is None or total.block != (1, 1):
        return "Σ"
    return values.text(np.array([float(cell) for cell in total.cells]).reshape(total.shape), 4, brief=True)


def sums_in_view(
    model: GraphModel, labels: Mapping[str, str], edge_tiles: Mapping[str, int], tiles: Sequence[Tile]
) -> tuple[dict[str, str], dict[str, int], Sequence[Tile], dict[str, int]]:
    """Return labels and tiles of a folded view, whose lines represent several edges, and the number of gradients per
    line.
    """
    known = dict(enumerate(tiles))
    shown = {model.stands.get(key, key): text for key, text in labels.items()}
    numbers = {model.stands.get(key, key): number for key, number in edge_tiles.items()}
    sums: dict[str, FoldedSum] = {}
    expected = model.several
    for drawn in model.mixed & shown.keys():
        shown[drawn], numbers[drawn] = "", -1
    for key in labels:
        if (drawn := model.stands.get(key, key)) in expected:
            sums.setdefault(drawn, FoldedSum()).add(known.get(edge_tiles.get(key, -1)), None)
    more = list(tiles)
    for drawn, one in sums.items():
        if one.count > 1:
            total = one.known()
            shown[drawn], numbers[drawn] = text_of(total), len(more) if total is not None else -1
            more += [total] if total is not None else []
    counts = {drawn: one.count if one.count > 1 else expected[drawn] for drawn, one in sums.items()}
    return shown, numbers, more, counts
