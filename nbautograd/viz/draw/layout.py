"""Place the nodes and edges of a graph: a layered (Sugiyama) layout in plain Python.

1. Layer assignment, 2. dummy nodes where an edge passes a layer, and 3. crossing reduction: ``layering``.
4. Coordinates across the layers, 5. along the edges, and 6. the lines of the edges with their ports at the nodes:
   ``coordinates``. Spots for their labels: ``labels``.
7. Where it is asked for, the whole in several rows: ``ribbon``.

Everything is computed with *depth* along the edges and *breadth* across them; the direction decides which is x.
Deterministic: the same graph and sizes give the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from nbautograd.viz.draw.coordinates import BreadthAssignment, DepthAssignment, EdgeRouter
from nbautograd.viz.draw.labels import Box, Point, Size, is_turn, label_spots
from nbautograd.viz.draw.layering import LayeredGraph, order_layers
from nbautograd.viz.draw.lines import aside, path
from nbautograd.viz.draw.ribbon import Ribbon
from nbautograd.viz.read.model import GraphModel, Outline, outline_of

__all__ = ["Arranged", "Box", "Layout", "Point", "labelled", "layout"]

MARGIN_PX = 12.0  # around the whole
GRADIENT_OFFSET_PX = 6.0  # from the value's line to the gradient's
ROW_GAP_PX = 10.0  # between two rows, beside their labels


@dataclass(frozen=True)
class Layout:
    """Positions of all nodes, lines of all edges from source to destination, and the size of the whole.

    What several long edges share is one of the ``trunks``; ``branches`` has the rest of each such edge, and ``routes``
    each edge whole. (In a huge drawing the route of such an edge is its branch only.)
    """

    width: float
    height: float
    boxes: dict[str, Box]
    routes: dict[str, tuple[Point, ...]]
    labels: dict[str, Point]
    """The middle of the text on an edge."""
    direction: str
    trunks: tuple[tuple[Point, ...], ...] = ()
    branches: dict[str, tuple[Point, ...]] = field(default_factory=dict)
    joints: dict[str, Point] = field(default_factory=dict)
    """For a loop, the points where branches to each step leave the rail of shared nodes, by edge of the branch."""
    headings: tuple[tuple[Point, str], ...] = ()
    """For a loop, the numbers of its steps, above their columns."""

    @cached_property
    def paths(self) -> dict[str, str]:
        """The line of each edge as an SVG path, without what it shares with others."""
        return {key: path(self.branches.get(key, line), self.direction) for key, line in self.routes.items()}

    @cached_property
    def flows(self) -> dict[str, str]:
        """The line of the gradient along each edge as an SVG path."""
        across, upright = self.direction, bool(self.headings)
        beside = {key: aside(line, across, upright=upright) for key, line in self.routes.items()}
        return {key: path(line[::-1], across, -GRADIENT_OFFSET_PX) for key, line in beside.items()}


def layout(
    model: GraphModel, sizes: Mapping[str, Size], *, direction: str = "LR", labels: Mapping[str, Size] | None = None,
    rows: int = 1,
) -> Layout:  # fmt: skip
    """Lay out a graph whose nodes have these sizes (width, height).

    :param direction: ``LR``, from leaves on the left to roots on the right, or ``TB``, from top to bottom.
    :param labels: sizes of the texts on edges, by edge id; room is left for them.
    :param rows: the number of rows into which a drawing from left to right is cut; one if it cannot be cut.
    """
    return labelled(Arranged(outline_of(model), sizes, direction, labels or {}).in_rows(rows), labels or {})


class Arranged:
    """A graph with all steps done once, of which layouts in several numbers of rows can be had.

    There is room for the texts on edges, but they are not yet placed: that takes longer than all the rest.

    :param widest: the width in which a drawing from top to bottom should fit; leaves are put below each other for it.
    """

    def __init__(
        self, outline: Outline, sizes: Mapping[str, Size], direction: str, labels: Mapping[str, Size],
        margin: float = MARGIN_PX, widest: float = 0.0,
    ) -> None:  # fmt: skip
        if direction not in ("LR", "TB"):
            raise ValueError(f"direction must be 'LR' or 'TB', not {direction!r}")
        self.outline, self.sizes, self.labels, self.direction = outline, sizes, labels, direction
        self.frame = _Frame(direction == "LR", margin)
        number = {key: i for i, (key, _) in enumerate(outline.nodes)}
        self.graph = LayeredGraph(
            [self.frame.turned(sizes[key]) for key, _ in outline.nodes],
            [(number[src], number[dst]) for _, src, dst in outline.edges],
            [self.frame.turned(labels.get(key, (0.0, 0.0))) for key, _, _ in outline.edges],
            light=[kind in ("constant", "leaf") for _, kind in outline.nodes],
            boxy=[kind != "op" for _, kind in outline.nodes],
            widest=max(widest - 2 * margin, 0.0),
        )
        order = order_layers(self.graph)
        self.across = BreadthAssignment(self.graph, order)
        self.along = DepthAssignment(self.graph, order, self.across.breadth)
        self.ribbons: dict[int, Ribbon] = {}

    @cached_property
    def lines(self) -> tuple[list[list[Point]], list[list[Point]]]:
        """The routes of the edges, and the trunks."""
        router = EdgeRouter(self.graph, self.across, self.along)
        return router.routes(), router.trunk_lines()

    def ribbon(self, rows: int) -> Ribbon | None:
        """The drawing cut into so many rows; None for one row, and where it cannot be cut."""
        if rows > 1 and self.frame.across and rows not in self.ribbons:
            routes, trunks = self.lines
            label = max((high for _, high in self.labels.values()), default=0.0)  # in the gap between two rows
            gap = ROW_GAP_PX + min(label, 2 * ROW_GAP_PX)
            self.ribbons[rows] = Ribbon(self.graph, self.across, self.along, [*routes, *trunks], rows, gap)
        ribbon = self.ribbons.get(rows)
        return ribbon if ribbon is not None and ribbon.possible else None

    def extent(self, rows: int = 1) -> Size:
        """Width and height of the layout in so many rows, which are known before the lines are."""
        ribbon = self.ribbon(rows)
        return self.frame.extent(*(self.along.length, self.across.span) if ribbon is None else ribbon.extent)

    def in_rows(self, rows: int = 1) -> Layout:
        """Return the layout, cut into this many rows if possible."""
        graph, frame = self.graph, self.frame
        nodes = list(zip(self.along.depth[: graph.count], self.across.breadth, strict=False))
        (routes, trunks), ribbon = self.lines, self.ribbon(rows)
        if ribbon is not None:
            nodes = [ribbon.point(*node) for node in nodes]
            routes, trunks = [[ribbon.line(line) for line in lines] for lines in (routes, trunks)]
        ids, keys = [key for key, _ in self.outline.nodes], [key for key, _, _ in self.outline.edges]
        boxes = {key: frame.box(*place, self.sizes[key]) for key, place in zip(ids, nodes, strict=True)}
        lines = {key: frame.line(line) for key, line in zip(keys, routes, strict=True)}
        branches = {key: _branch(lines[key]) for i, key in enumerate(keys) if graph.branches_off(i)}
        width, height = self.extent(rows)
        return Layout(width, height, boxes, lines, {}, self.direction, tuple(map(frame.line, trunks)), branches)


def labelled(places: Layout, labels: Mapping[str, Size]) -> Layout:
    """The layout with a spot for each text, and as large as these need."""
    spots = label_spots(places.routes, labels, places.boxes, places.direction == "LR")
    left = min([x - labels[key][0] / 2 for key, (x, _) in spots.items()], default=0.0)
    top = min([y - labels[key][1] / 2 for key, (_, y) in spots.items()], default=0.0)
    if left < 0 or top < 0:
        places, spots = _moved(places, spots, max(-left, 0.0), max(-top, 0.0))
    right = max([x + labels[key][0] / 2 for key, (x, _) in spots.items()], default=0.0)
    low = max([y + labels[key][1] / 2 for key, (_, y) in spots.items()], default=0.0)
    width, height = max(places.width, right + MARGIN_PX), max(places.height, low + MARGIN_PX)
    return replace(places, width=round(width, 1), height=round(height, 1), labels=spots)


def _moved(places: Layout, spots: Mapping[str, Point], right: float, down: float) -> tuple[Layout, dict[str, Point]]:
    """Everything a little to the right and down, where a text would be cut off otherwise."""

    def point(at: Point) -> Point:
        return round(at[0] + right, 1), round(at[1] + down, 1)

    def lines(drawn: Mapping[str, tuple[Point, ...]]) -> dict[str, tuple[Point, ...]]:
        return {key: tuple(map(point, line)) for key, line in drawn.items()}

    boxes = {key: Box(*point((box.x, box.y)), box.width, box.height) for key, box in places.boxes.items()}
    trunks = tuple(tuple(map(point, line)) for line in places.trunks)
    width, height = places.width + right, places.height + down
    joints = {key: point(joint) for key, joint in places.joints.items()}
    headings = tuple((point(at), text) for at, text in places.headings)
    moved = replace(places, width=width, height=height, boxes=boxes, routes=lines(places.routes), trunks=trunks,
                    branches=lines(places.branches), joints=joints, headings=headings)  # fmt: skip
    return moved, {key: point(spot) for key, spot in spots.items()}


def _branch(line: tuple[Point, ...]) -> tuple[Point, ...]:
    """Return the end of a line, from its branch off the shared trunk."""
    end = line[-3 if is_turn(line) is None else -5 :]
    return end[0], *end


@dataclass(frozen=True, slots=True)
class _Frame:
    """Convert depth and breadth to x and y, with a margin around the whole."""

    across: bool
    """True if depth is x."""
    margin: float

    def turned(self, size: Size) -> Size:
        return size if self.across else (size[1], size[0])

    def line(self, points: Sequence[Point]) -> tuple[Point, ...]:
        margin = self.margin
        if self.across:
            return tuple([(round(depth + margin, 1), round(breadth + margin, 1)) for depth, breadth in points])
        return tuple([(round(breadth + margin, 1), round(depth + margin, 1)) for depth, breadth in points])

    def box(self, depth: float, breadth: float, size: Size) -> Box:
        ((x, y),) = self.line([(depth, breadth)])
        return Box(round(x - size[0] / 2, 1), round(y - size[1] / 2, 1), *size)

    def extent(self, length: float, span: float) -> Size:
        ((right, low),) = self.line([(length, span)])
        return round(right + self.margin, 1), round(low + self.margin, 1)
