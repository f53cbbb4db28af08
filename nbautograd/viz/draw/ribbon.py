"""A long drawing in rows: the layers of a left-to-right layout cut into pieces that lie below each other.

Every row runs from left to right, like lines of text. An edge to the next row leaves its row at the right, runs back
between the rows and enters at the left. Lines that did not cross before do not cross here.

    ─ a ── b ──╮
    ╭──────────╯
    ╰─ c ── d
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from nbautograd.viz.draw.coordinates import BreadthAssignment, DepthAssignment
from nbautograd.viz.draw.labels import Point
from nbautograd.viz.draw.layering import LayeredGraph

__all__ = ["Ribbon"]

Line = Sequence[Point]

TURN_GAP_PX = 18.0  # from a row to the innermost returning line
NEXT_TURN_PX = 13.0  # between two returning lines
CROSSING_COST_PX = 60.0  # of a returning line when cuts are chosen: pixels of a row
MAX_TURNS = 4  # lines that return at the end of a row


@dataclass(slots=True)
class _Row:
    first: int
    last: int  # layers
    start: float
    end: float  # depths
    low: float = 0.0
    high: float = 0.0  # breadths
    top: float = 0.0


class Ribbon:
    """The map from points (depth, breadth) of a layered layout to rows of a page.

    ``possible`` is False where too many lines would turn, or lines run beside the drawing.
    """

    def __init__(
        self, graph: LayeredGraph, across: BreadthAssignment, along: DepthAssignment, lines: Sequence[Line], count: int,
        gap: float,
    ) -> None:  # fmt: skip
        self.along, self.lines = along, lines
        self.rows: list[_Row] = []
        self.turns: list[list[Point]] = []  # per cut, the lines as (width before, width after), the lowest one first
        self.possible = not graph.lanes and len(along.starts) >= 2 * count and self.cut(count)
        if self.possible:
            self.measure(graph, across)
            self.stack(gap)

    # -- where to cut -------------------------------------------------------------------

    def crossings(self) -> list[set[Point]]:
        """For each gap between two layers the lines that pass it, as (breadth before, breadth after)."""
        passing: list[set[Point]] = [set() for _ in self.along.starts]
        for line in self.lines:
            for (d0, b0), (d1, b1) in pairwise(line):
                r = self.gap(d0, d1)
                if r is not None:
                    passing[r].add((round(b0, 1), round(b1, 1)))
        return passing

    def gap(self, d0: float, d1: float) -> int | None:
        """The layer after which a piece of a line passes on to the next one, if it does."""
        starts = self.along.starts
        last = bisect_right(self.along.ends, d0 + 0.1) - 1  # the last layer that ends at or before d0
        return last if 0 <= last < len(starts) - 1 and d1 >= starts[last + 1] - 0.1 else None

    def cut(self, count: int) -> bool:
        """Choose the cuts so that the longest row is short and few lines turn; False without cuts.

        Row by row: the best way to put the layers up to ``r`` into so many rows is a last row from ``c + 1`` to ``r``
        below the best way for the layers up to ``c``. All pairs are tried, some thousands, but for cuts where no line
        passes, or too many.
        """
        passing, starts, ends = self.crossings(), self.along.starts, self.along.ends
        last = len(starts) - 1
        best: list[dict[int, tuple[float, int]]] = [{} for _ in range(count + 1)]  # rows, last layer -> cost, cut
        for r, end in enumerate(ends):
            best[1][r] = end - starts[0], -1
        for rows in range(2, count + 1):
            for r in range(rows - 1, last + 1):
                options = []
                for c in range(rows - 2, r):
                    if c in best[rows - 1] and 0 < len(passing[c]) <= MAX_TURNS:
                        cost = max(best[rows - 1][c][0], ends[r] - starts[c + 1] + CROSSING_COST_PX * len(passing[c]))
                        options.append((cost, c))
                if options:
                    best[rows][r] = min(options)
        if last not in best[count]:
            return False
        for rows in range(count, 0, -1):
            _, cut = best[rows][last]
            self.rows.insert(0, _Row(cut + 1, last, starts[cut + 1], ends[last]))
            last = cut
        self.turns = [sorted(passing[row.last], reverse=True) for row in self.rows[:-1]]
        return True

    # -- how large the rows are -------------------------------------------------------------------

    def row_of(self, depth: float) -> _Row:
        """The row of a depth."""
        return next(row for row in self.rows if depth <= row.end + 0.1)

    def measure(self, graph: LayeredGraph, across: BreadthAssignment) -> None:
        """Return the range of breadths of each row."""
        spans: dict[int, list[float]] = {row.first: [] for row in self.rows}
        for v in range(graph.count):
            half = graph.thickness[v] / 2
            row = self.row_of(self.along.starts[graph.layer[v]])
            spans[row.first] += [across.breadth[v] - half, across.breadth[v] + half]
        for line in self.lines:
            for depth, breadth in line:
                spans[self.row_of(depth).first].append(breadth)
        for row in self.rows:
            row.low, row.high = min(spans[row.first]), max(spans[row.first])

    def stack(self, gap: float) -> None:
        """Put the rows below each other, with room for the lines that return between them."""
        self.left = max(map(_out, map(len, self.turns)), default=0.0)
        self.length = max(row.end - row.start for row in self.rows)
        top = 0.0
        for row, turns in zip(self.rows, [*self.turns, []], strict=True):
            row.top = top
            self.span = top + row.high - row.low
            top = self.span + gap + TURN_GAP_PX + NEXT_TURN_PX * len(turns)
        self.extent = self.left + self.length + self.left, self.span

    # -- where things go -------------------------------------------------------------------

    def point(self, depth: float, breadth: float) -> Point:
        """Return the position of a point."""
        return self.within(self.row_of(depth), depth, breadth)

    def within(self, row: _Row, depth: float, breadth: float) -> Point:
        """Return the position of a point of a known row."""
        return self.left + depth - row.start, row.top + breadth - row.low

    def line(self, points: Line) -> list[Point]:
        """Draw a line, with a return of four more points at each change of row."""
        placed = [self.point(*points[0])]
        for (d0, b0), (d1, b1) in pairwise(points):
            row, next_ = self.row_of(d0), self.row_of(d1)
            end, goal = self.within(row, d0, b0), self.within(next_, d1, b1)
            if row is not next_:
                turns = self.turns[self.rows.index(row)]
                i = turns.index((round(b0, 1), round(b1, 1)))
                right, left = self.left + row.end - row.start + _out(i + 1), self.left - _out(len(turns) - i)
                between = row.top + row.high - row.low + TURN_GAP_PX + NEXT_TURN_PX * i
                placed += [(right, end[1]), (right, between), (left, between), (left, goal[1])]
            placed.append(goal)
        return placed


def _out(count: int) -> float:
    """Return the distance of the outermost of this many returning lines from its row."""
    return TURN_GAP_PX + NEXT_TURN_PX * (count - 1) if count else 0.0
