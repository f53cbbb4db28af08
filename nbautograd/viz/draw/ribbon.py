"""A long drawing in rows: the layers of a left-to-right layout cut into pieces that lie below each other.

Every second row is turned by half a turn, as a river meanders: it runs from right to left, so that a line reaches the
next row by a short turn at the end of its own, and lines that do not cross before a turn do not cross in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nbautograd.viz.draw.coordinates import BreadthAssignment, DepthAssignment
from nbautograd.viz.draw.labels import Point
from nbautograd.viz.draw.layering import LayeredGraph

__all__ = ["Ribbon"]

Line = Sequence[Point]

TURN = 24.0  # how far the innermost line of a turn goes beyond its row
NEXT_TURN = 15.0  # from one line of a turn to the next outer one
CROSSING = 60.0  # what a line that turns costs when the cuts are chosen, in pixels of a row
MOST_TURNS = 4  # lines that turn at the end of a row


@dataclass(slots=True)
class _Row:
    first: int
    last: int  # layers
    start: float
    end: float  # depths
    turned: bool
    low: float = 0.0
    high: float = 0.0  # breadths
    top: float = 0.0


class Ribbon:
    """Where points (depth, breadth) of a layered layout go when it is cut into so many rows.

    ``possible`` is False where too many lines would turn, or lines run beside the drawing.
    """

    def __init__(
        self,
        graph: LayeredGraph,
        across: BreadthAssignment,
        along: DepthAssignment,
        lines: Sequence[Line],
        count: int,
        gap: float,
    ) -> None:
        self.along, self.lines = along, lines
        self.rows: list[_Row] = []
        self.turns: list[dict[Point, float]] = []  # per cut: (breadth before, after) -> how far the line goes out
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
        ends, starts = self.along.ends, self.along.starts
        low, high = 0, len(ends) - 1
        while low < high:  # the last layer that ends at or before d0
            middle = (low + high + 1) // 2
            low, high = (middle, high) if ends[middle] <= d0 + 0.1 else (low, middle - 1)
        if ends[low] > d0 + 0.1 or low + 1 >= len(starts) or d1 < starts[low + 1] - 0.1:
            return None
        return low

    def cut(self, count: int) -> bool:
        """Choose the cuts so that the longest row is short and few lines turn; False where there are none."""
        passing, starts, ends = self.crossings(), self.along.starts, self.along.ends
        last = len(starts) - 1
        best: list[dict[int, tuple[float, int]]] = [{} for _ in range(count + 1)]  # rows, last layer -> cost, cut
        for r in range(last + 1):
            best[1][r] = ends[r] - starts[0], -1
        for rows in range(2, count + 1):
            for r in range(rows - 1, last + 1):
                options = []
                for c in range(rows - 2, r):
                    if c in best[rows - 1] and 0 < len(passing[c]) <= MOST_TURNS:
                        cost = max(best[rows - 1][c][0], ends[r] - starts[c + 1] + CROSSING * len(passing[c]))
                        options.append((cost, c))
                if options:
                    best[rows][r] = min(options)
        if last not in best[count]:
            return False
        cuts, r = [last], last
        for rows in range(count, 1, -1):
            r = best[rows][r][1]
            cuts.append(r)
        first = 0
        for i, r in enumerate(reversed(cuts)):
            self.rows.append(_Row(first, r, starts[first], ends[r], i % 2 == 1))
            first = r + 1
        for row in self.rows[:-1]:
            inner_first = sorted(passing[row.last], reverse=not row.turned)
            self.turns.append({pair: TURN + NEXT_TURN * i for i, pair in enumerate(inner_first)})
        return True

    # -- how large the rows are -------------------------------------------------------------------

    def row_of(self, depth: float) -> _Row:
        """The row that a depth lies in."""
        return next(row for row in self.rows if depth <= row.end + 0.1)

    def measure(self, graph: LayeredGraph, across: BreadthAssignment) -> None:
        """From which to which breadth each row is taken."""
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
        """Put the rows below each other, with room for the turns at their ends."""
        room = [max(turns.values()) for turns in self.turns]
        self.left = max(room[1::2], default=0.0)
        self.length = max(row.end - row.start for row in self.rows)
        top = 0.0
        for row in self.rows:
            row.top = top
            top += row.high - row.low + gap
        self.span = top - gap
        self.width = self.left + self.length + max(room[0::2], default=0.0)

    # -- where things go -------------------------------------------------------------------

    def point(self, depth: float, breadth: float) -> Point:
        """Where a point goes."""
        return self.within(self.row_of(depth), depth, breadth)

    def within(self, row: _Row, depth: float, breadth: float) -> Point:
        """The same for a point of a row that is known."""
        if row.turned:
            return self.left + self.length - (depth - row.start), row.top + row.high - breadth
        return self.left + depth - row.start, row.top + breadth - row.low

    def node(self, layer: int) -> Callable[[float, float], Point]:
        """Where points of a node in a layer go."""
        row = self.row_of(self.along.starts[layer])
        return lambda depth, breadth: self.within(row, depth, breadth)

    def line(self, points: Line) -> list[Point]:
        """A line, with a turn of two more points wherever it goes on in the next row."""
        placed = [self.point(*points[0])]
        for (d0, b0), (d1, b1) in pairwise(points):
            row, next_ = self.row_of(d0), self.row_of(d1)
            end, goal = self.within(row, d0, b0), self.within(next_, d1, b1)
            if row is not next_:
                out = self.turns[self.rows.index(row)][round(b0, 1), round(b1, 1)]
                x = self.left - out if row.turned else self.left + self.length + out
                placed += [(x, end[1]), (x, goal[1])]
            placed.append(goal)
        return placed
