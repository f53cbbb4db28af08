"""Where each node of a graph goes, and along what line each edge runs: a layered (Sugiyama) layout in plain Python.

1. Layer assignment, and 2. dummy nodes where an edge passes a layer: ``layering``.
3. Crossing reduction: ``crossings``.
4. Coordinates across the layers, and 5. along the edges: ``coordinates``.
6. The lines of the edges, and their ports at the nodes: ``edge_routing``. Spots for their labels: ``labels``.

Everything is computed with *depth* along the edges and *breadth* across them; the direction decides which is x.
Deterministic: the same graph and sizes give the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nbautograd.viz.draw.coordinates import BreadthAssignment, DepthAssignment
from nbautograd.viz.draw.crossings import order_layers
from nbautograd.viz.draw.edge_routing import EdgeRouter
from nbautograd.viz.draw.labels import Box, Point, Size, label_spots
from nbautograd.viz.draw.layering import LayeredGraph
from nbautograd.viz.read.model import GraphModel

__all__ = ["Box", "Layout", "Point", "layout"]


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
    """Where the middle of the text on an edge goes."""
    layers: dict[str, int]
    direction: str
    trunks: tuple[tuple[Point, ...], ...] = ()
    branches: dict[str, tuple[Point, ...]] = field(default_factory=dict)


def layout(
    model: GraphModel,
    sizes: Mapping[str, Size],
    *,
    direction: str = "LR",
    labels: Mapping[str, Size] | None = None,
    margin: float = 16.0,
) -> Layout:
    """Lay out a graph whose nodes have these sizes (width, height).

    :param direction: ``LR``, from leaves on the left to roots on the right, or ``TB``, from top to bottom.
    :param labels: sizes of the texts on edges, by edge id; room is left for them.
    """
    if direction not in ("LR", "TB"):
        raise ValueError(f"direction must be 'LR' or 'TB', not {direction!r}")
    frame, texts = _Frame(direction == "LR", margin), labels or {}
    graph = _layered(model, sizes, texts, frame)
    rows = order_layers(graph)
    across = BreadthAssignment(graph, rows)
    along = DepthAssignment(graph, rows, across.breadth)
    boxes = {
        node.id: frame.box(depth, breadth, sizes[node.id])
        for node, depth, breadth in zip(model.nodes, along.depth, across.breadth, strict=False)
    }
    router = EdgeRouter(graph, across, along)
    lines, trunks = (tuple(map(frame.line, drawn)) for drawn in (router.routes(), router.trunk_lines()))
    routes = {edge.id: line for edge, line in zip(model.edges, lines, strict=True)}
    ends = {edge.id: routes[edge.id][-3:] for i, edge in enumerate(model.edges) if graph.branches_off(i)}
    branches = {key: (line[0], *line) for key, line in ends.items()}
    spots = label_spots(routes, texts, boxes, frame.across)
    width, height = frame.extent(along.length, across.span, spots, texts)
    layers = {node.id: graph.layer[i] for i, node in enumerate(model.nodes)}
    return Layout(width, height, boxes, routes, spots, layers, direction, trunks, branches)


def _layered(model: GraphModel, sizes: Mapping[str, Size], labels: Mapping[str, Size], frame: _Frame) -> LayeredGraph:
    number = {node.id: i for i, node in enumerate(model.nodes)}
    return LayeredGraph(
        [frame.turned(sizes[node.id]) for node in model.nodes],
        [(number[edge.src], number[edge.dst]) for edge in model.edges],
        [frame.turned(labels.get(edge.id, (0.0, 0.0))) for edge in model.edges],
        light=[node.kind in ("constant", "leaf") for node in model.nodes],
        boxy=[node.kind != "op" for node in model.nodes],
    )


@dataclass(frozen=True, slots=True)
class _Frame:
    """From depth and breadth to x and y, with a margin around the whole."""

    across: bool
    """Whether depth is x."""
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

    def extent(self, length: float, span: float, spots: Mapping[str, Point], texts: Mapping[str, Size]) -> Size:
        """Width and height of the whole, labels included."""
        ((right, low),) = self.line([(length, span)])
        right = max([right, *(x + texts[key][0] / 2 for key, (x, _) in spots.items())])
        low = max([low, *(y + texts[key][1] / 2 for key, (_, y) in spots.items())])
        return round(right + self.margin, 1), round(low + self.margin, 1)
