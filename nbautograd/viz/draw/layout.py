"""Place the nodes and edges of a graph: a layered (Sugiyama) layout in plain Python.

1. Layer assignment, and 2. dummy nodes where an edge passes a layer: ``layering``.
3. Crossing reduction: ``crossings``.
4. Coordinates across the layers, and 5. along the edges: ``coordinates``.
6. The lines of the edges, and their ports at the nodes: ``edge_routing``. Spots for their labels: ``labels``.
7. Where it is asked for, the whole in several rows: ``ribbon``.

Everything is computed with *depth* along the edges and *breadth* across them; the direction decides which is x.
Deterministic: the same graph and sizes give the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from nbautograd.viz.draw.coordinates import BreadthAssignment, DepthAssignment
from nbautograd.viz.draw.crossings import order_layers
from nbautograd.viz.draw.edge_routing import EdgeRouter
from nbautograd.viz.draw.labels import Box, Point, Size, is_turn, label_spots
from nbautograd.viz.draw.layering import LayeredGraph
from nbautograd.viz.draw.ribbon import Ribbon
from nbautograd.viz.read.model import GraphModel

__all__ = ["Arranged", "Box", "Layout", "Point", "labelled", "layout"]

MARGIN = 12.0  # around the whole
ROW_GAP = 10.0  # gap between two rows, beside their labels


@dataclass(frozen=True, slots=True)
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
    layers: dict[str, int]
    direction: str
    trunks: tuple[tuple[Point, ...], ...] = ()
    branches: dict[str, tuple[Point, ...]] = field(default_factory=dict)
    joints: dict[str, Point] = field(default_factory=dict)
    """For a loop, the points where branches to each step leave the rail of shared nodes, by edge of the branch."""
    headings: tuple[tuple[Point, str], ...] = ()
    """For a loop, the numbers of its steps, above their columns."""


def layout(
    model: GraphModel,
    sizes: Mapping[str, Size],
    *,
    direction: str = "LR",
    labels: Mapping[str, Size] | None = None,
    margin: float = MARGIN,
    rows: int = 1,
) -> Layout:
    """Lay out a graph whose nodes have these sizes (width, height).

    :param direction: ``LR``, from leaves on the left to roots on the right, or ``TB``, from top to bottom.
    :param labels: sizes of the texts on edges, by edge id; room is left for them.
    :param rows: the number of rows into which a drawing from left to right is cut; one if it cannot be cut.
    """
    return labelled(Arranged(model, sizes, direction, labels or {}, margin).in_rows(rows), labels or {}, margin)


class Arranged:
    """A graph with all steps done once, of which layouts in several numbers of rows can be had.

    There is room for the texts on edges, but they are not yet placed: that takes longer than all the rest.

    :param widest: the width in which a drawing from top to bottom should fit; leaves are put below each other for it.
    """

    def __init__(
        self,
        model: GraphModel,
        sizes: Mapping[str, Size],
        direction: str,
        labels: Mapping[str, Size],
        margin: float = MARGIN,
        widest: float = 0.0,
    ) -> None:
        if direction not in ("LR", "TB"):
            raise ValueError(f"direction must be 'LR' or 'TB', not {direction!r}")
        self.model, self.sizes, self.labels, self.direction = model, sizes, labels, direction
        self.frame = _Frame(direction == "LR", margin)
        self.graph = _layered(model, sizes, labels, self.frame, max(widest - 2 * margin, 0.0))
        order = order_layers(self.graph)
        self.across = BreadthAssignment(self.graph, order)
        self.along = DepthAssignment(self.graph, order, self.across.breadth)
        router = EdgeRouter(self.graph, self.across, self.along)
        self.routes, self.trunks = router.routes(), router.trunk_lines()

    def in_rows(self, rows: int = 1) -> Layout:
        """Return the layout, cut into this many rows if possible."""
        graph, frame = self.graph, self.frame
        nodes = list(zip(self.along.depth[: graph.count], self.across.breadth, strict=False))
        routes, trunks, length, span = self.routes, self.trunks, self.along.length, self.across.span
        if rows > 1 and frame.across:
            ribbon = Ribbon(graph, self.across, self.along, [*routes, *trunks], rows, _row_gap(self.labels))
            if ribbon.possible:
                nodes = [ribbon.point(*node) for node in nodes]
                routes, trunks = [[ribbon.line(line) for line in lines] for lines in (routes, trunks)]
                length, span = ribbon.width, ribbon.span
        ids, keys = [node.id for node in self.model.nodes], [edge.id for edge in self.model.edges]
        boxes = {key: frame.box(*place, self.sizes[key]) for key, place in zip(ids, nodes, strict=True)}
        lines = {key: frame.line(line) for key, line in zip(keys, routes, strict=True)}
        branches = {key: _branch(lines[key]) for i, key in enumerate(keys) if graph.branches_off(i)}
        layers = {key: graph.layer[i] for i, key in enumerate(ids)}
        width, height = frame.extent(length, span)
        drawn = tuple(map(frame.line, trunks))
        return Layout(width, height, boxes, lines, {}, layers, self.direction, drawn, branches)


def labelled(places: Layout, labels: Mapping[str, Size], margin: float = MARGIN) -> Layout:
    """The layout with a spot for each text, and as large as these need."""
    spots = label_spots(places.routes, labels, places.boxes, places.direction == "LR")
    left = min((x - labels[key][0] / 2 for key, (x, _) in spots.items()), default=0.0)
    top = min((y - labels[key][1] / 2 for key, (_, y) in spots.items()), default=0.0)
    if left < 0 or top < 0:
        places, spots = _moved(places, spots, max(-left, 0.0), max(-top, 0.0))
    right = max((x + labels[key][0] / 2 for key, (x, _) in spots.items()), default=0.0)
    low = max((y + labels[key][1] / 2 for key, (_, y) in spots.items()), default=0.0)
    width, height = max(places.width, right + margin), max(places.height, low + margin)
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
    points = 3 if is_turn(line) is None else 5
    end = line[-points:]
    return end[0], *end


def _row_gap(labels: Mapping[str, Size]) -> float:
    """Between two rows, which have labels between them."""
    return ROW_GAP + min(max((high for _, high in labels.values()), default=0.0), 2 * ROW_GAP)


def _layered(
    model: GraphModel, sizes: Mapping[str, Size], labels: Mapping[str, Size], frame: _Frame, widest: float
) -> LayeredGraph:
    number = {node.id: i for i, node in enumerate(model.nodes)}
    return LayeredGraph(
        [frame.turned(sizes[node.id]) for node in model.nodes],
        [(number[edge.src], number[edge.dst]) for edge in model.edges],
        [frame.turned(labels.get(edge.id, (0.0, 0.0))) for edge in model.edges],
        light=[node.kind in ("constant", "leaf") for node in model.nodes],
        boxy=[node.kind != "op" for node in model.nodes],
        widest=widest,
    )


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
        """Width and height of the whole."""
        ((right, low),) = self.line([(length, span)])
        return round(right + self.margin, 1), round(low + self.margin, 1)
