"""The line of each edge through the layers, and where it meets its nodes: after the layered layout's five steps."""

from __future__ import annotations

from functools import cached_property

from nbautograd.viz.draw.coordinates import BreadthAssignment, DepthAssignment, isotonic
from nbautograd.viz.draw.labels import Point
from nbautograd.viz.draw.layering import LayeredGraph

__all__ = ["EdgeRouter"]

PORT_GAP = 14.0  # of the ends of two lines at one node


class EdgeRouter:
    """Lines as points (depth, breadth). A *port* is where lines enter or leave a node."""

    def __init__(self, graph: LayeredGraph, across: BreadthAssignment, along: DepthAssignment) -> None:
        self.graph, self.across, self.along = graph, across, along
        self.breadth = across.breadth
        self.depth, self.starts, self.ends = along.depth, along.starts, along.ends
        self.trunk_port: dict[int, float] = {}  # where the long edges leave a node together

    def routes(self) -> list[list[Point]]:
        """The points (depth, breadth) of each edge's line, which is straight within layers and curved between them."""
        graph = self.graph
        enters, leaves = self.ports()
        lines, shared = [], self.huge
        for k, (src, dst) in enumerate(graph.edges):
            first, last = graph.layer[src], graph.layer[dst]
            if shared and last - first > 1:  # only the branch: the shared trunk is drawn once
                line = [(self.ends[last - 1], self.across.passes(src, last - 1))] * 2
            else:
                line = [(self.depth[src] + graph.sizes[src][0] / 2, leaves[k]), (self.ends[first], leaves[k])]
                line += self.way(src, last)
            line += [(self.starts[last], enters[k]), (self.depth[dst] - graph.sizes[dst][0] / 2, enters[k])]
            lines.append(line)
        return lines

    @cached_property
    def huge(self) -> bool:
        """Return whether the drawing is too large to draw each long edge on its own."""
        graph = self.graph
        return sum(graph.layer[dst] - graph.layer[src] for src, dst in graph.edges) > 4 * len(graph.edges) + 2000

    def way(self, src: int, last: int) -> list[Point]:
        """The points between the layers of ``src`` and ``last``."""
        graph = self.graph
        first = graph.layer[src] + 1
        if src in graph.lanes and first < last:
            lane = self.across.passes(src, first)
            return [(self.starts[first], lane), (self.ends[last - 1], lane)]
        points: list[Point] = []
        for r in range(first, last):
            at = self.across.passes(src, r)
            points += [(self.starts[r], at), (self.ends[r], at)]
        return points

    def trunk_lines(self) -> list[list[Point]]:
        """The lines that several long edges share."""
        graph = self.graph
        lines = []
        reach: dict[int, int] = {}
        for src, dst in graph.edges:
            reach[src] = max(reach.get(src, 0), graph.layer[dst])
        for src in graph.trunk:
            if graph.travellers[src] > (not self.huge):  # in a huge drawing, routes are branches only
                start, out = self.depth[src] + graph.sizes[src][0] / 2, self.trunk_port.get(src, self.breadth[src])
                lines.append([(start, out), (self.ends[graph.layer[src]], out), *self.way(src, reach[src])])
        return lines

    def ports(self) -> tuple[list[float], list[float]]:
        """Return the points where each edge enters its destination and leaves its source, ordered to avoid
        crossings.
        """
        graph = self.graph
        enters, leaves = [0.0] * len(graph.edges), [0.0] * len(graph.edges)
        arriving: dict[int, list[tuple[float, int]]] = {}
        departing: dict[int, dict[tuple[float, int], list[int]]] = {}
        for k, (src, dst) in enumerate(graph.edges):
            long = graph.layer[dst] - graph.layer[src] > 1
            arriving.setdefault(dst, []).append(
                (self.across.passes(src, graph.layer[dst] - 1) if long else self.breadth[src], k)
            )
            # Long edges leave together, along their trunk.
            way = (self.across.passes(src, graph.layer[src] + 1), -1) if long else (self.breadth[dst], k)
            departing.setdefault(src, {}).setdefault(way, []).append(k)
        for v, ends in arriving.items():
            ends.sort()
            for (_, k), port in zip(ends, self.spaced(v, [end for end, _ in ends]), strict=True):
                enters[k] = port
        for v, ways in departing.items():
            targets = sorted(ways)
            for way, port in zip(targets, self.spaced(v, [way[0] for way in targets]), strict=True):
                if way[1] < 0:
                    self.trunk_port[v] = port
                for k in ways[way]:
                    leaves[k] = port
        return enters, leaves

    def spaced(self, v: int, others: list[float]) -> list[float]:
        """Places along a side of v for lines to neighbors at ``others``, in order; straight where that can be."""
        graph = self.graph
        half = graph.thickness[v] / 2
        if len(others) == 1 and others[0] == self.breadth[v]:
            return others
        gap = min(PORT_GAP, max(2 * half - 16, 0) / max(len(others) - 1, 1))
        middle = self.breadth[v]
        reach = max(half - 14, 0.0) if graph.boxy[v] else 0.0  # limit of the deviation of a straight line
        near = max(gap * (len(others) - 1) / 2, 9.0)
        wanted = [
            other if abs(other - middle) <= reach else min(max(other, middle - near), middle + near) for other in others
        ]
        weights = [20.0 if abs(place - other) < 1 else 1.0 for place, other in zip(wanted, others, strict=True)]
        placed = isotonic(wanted, weights, [gap] * (len(others) - 1))
        shift = max(placed[-1] - middle - max(half - 8, 0), 0) + min(placed[0] - middle + max(half - 8, 0), 0)
        return [place - shift for place in placed]
