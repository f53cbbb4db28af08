"""The last steps of the layered layout: coordinates across the layers and along the edges, and the lines of the edges.

*Breadth* runs across the layers: weighted isotonic regression pulls each node towards its neighbors and keeps the
order and the gaps. *Depth* runs along the edges: layers are as deep as their deepest node, and gaps as wide as the
labels in them. Lines go through the layers, and meet their nodes at *ports*.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from operator import itemgetter

from nbautograd.viz.draw.labels import Point
from nbautograd.viz.draw.layering import MAX_SMALL_NODES, LayeredGraph

__all__ = ["BreadthAssignment", "DepthAssignment", "EdgeRouter", "isotonic"]

BREADTH_GAP_PX = 16.0  # of two boxes of one layer
BEND_GAP_PX = 14.0  # beside a passing line
LANE_GAP_PX = 9.0  # of two lanes beside the drawing
DEPTH_GAP_PX, MAX_DEPTH_GAP_PX = 28.0, 90.0  # of two layers: at least; at most where steep lines bend between them
PORT_GAP_PX = 14.0  # of the ends of two lines at one node
CORNER_PX, STRAIGHT_PX = 8.0, 14.0  # at both ends of a node's side: without lines; without straight ones off the middle
MIN_REACH_PX = 9.0  # from the middle of a side to the outermost line
MAX_MOVE_PX, MAX_LARGE_MOVE_PX = 0.05, 0.5  # of a sweep after which positions count as found; of a large drawing
LABEL_ROOM_PX = 10.0  # in addition to a label's own length
MAX_LABEL_PX, MIN_ROOM_PX = 92.0, 62.0  # a longer label is above or below the boxes, which have this room

Pulls = list[list[tuple[int, float]]]
"""For each node its neighbors, and the weight of their pull."""
_WEIGHT = itemgetter(1)


class BreadthAssignment:
    """``breadth``: the middle of each node across the layers; ``span``: how broad the whole is; both in pixels."""

    def __init__(self, graph: LayeredGraph, rows: list[list[int]]) -> None:
        self.graph, self.rows = graph, rows
        self.breadth = [0.0] * graph.total
        gaps = [self.stack_row(row) for row in rows]
        self.relax(gaps)
        self.straighten(gaps)
        sides = [(b - thick / 2, b + thick / 2) for b, thick in zip(self.breadth, graph.thickness, strict=True)]
        top = min((low for low, _ in sides), default=0.0)
        self.breadth = [b - top for b in self.breadth]
        self.span = self.beside = max((high for _, high in sides), default=0.0) - top
        if graph.lanes:
            self.beside += BREADTH_GAP_PX
            self.span = self.lane_at(max(graph.lanes.values()))

    def lane_at(self, lane: int) -> float:
        """The breadth of a lane."""
        return self.beside + LANE_GAP_PX * lane

    def passes(self, src: int, layer: int) -> float:
        """The breadth at which the long edges of ``src`` pass a layer."""
        graph, lane = self.graph, self.graph.lanes.get(src)
        if lane is not None:
            return self.lane_at(lane)
        return self.breadth[graph.trunk[src][layer - graph.layer[src]]]

    def stack_row(self, row: list[int]) -> list[float]:
        """Put a layer's nodes side by side around 0; returns the least distances between their middles."""
        graph = self.graph
        gaps, at = [], 0.0
        for i, v in enumerate(row):
            if i:
                u = row[i - 1]
                gap = BREADTH_GAP_PX if u < graph.count and v < graph.count else BEND_GAP_PX
                gaps.append((graph.thickness[u] + graph.thickness[v]) / 2 + gap)
                at += gaps[-1]
            self.breadth[v] = at
        for v in row:
            self.breadth[v] -= at / 2
        return gaps

    def relax(self, gaps: list[list[float]]) -> None:
        """Sweep over the layers until positions converge: towards the neighbors on one side, then on both.

        First each layer follows the one that has just been placed, as a wave runs through the drawing and back; that
        brings far nodes near quickly, and leaves them where the last wave came from. The second half of the sweeps
        pulls from both sides, which alone would take hundreds of sweeps::

            a ─╮           a ──╮            a ───╮
               b   c  ──►      b ─ c  ──►        b ─── c     b is level with c at last, between a and d
            d ─╯           d ──╯            d ───╯
        """
        graph = self.graph
        before, after = self.pulls()
        both = [near + far for near, far in zip(before, after, strict=True)]
        ways = [(p, [[sum(map(_WEIGHT, p[v])) for v in row] for row in self.rows]) for p in (after, before, both)]
        rounds = graph.effort(14, 7, 6)
        quiet, tolerance = 0, MAX_MOVE_PX if graph.total < MAX_SMALL_NODES else MAX_LARGE_MOVE_PX
        for step in range(rounds):
            pull, masses = ways[step % 2 if step < rounds // 2 else 2]
            moved = 0.0
            for r in range(len(self.rows)) if step % 2 else reversed(range(len(self.rows))):
                moved = max(moved, self.settle(self.rows[r], gaps[r], pull, masses[r]))
            quiet = quiet + 1 if moved < tolerance else 0
            if quiet == 2:
                break

    def pulls(self) -> tuple[Pulls, Pulls]:
        """Return neighbors and how strongly they pull: trunks are straight first, then the spine; leaves go aside."""
        graph = self.graph
        source = [not graph.before[v] for v in range(graph.total)]

        def weight(u: int, v: int) -> float:
            if source[u]:
                return 0.25
            bends = (u >= graph.count) + (v >= graph.count)
            return (3.0, 1.0, 8.0)[bends]

        before = [[(u, weight(u, v)) for u in graph.before[v]] for v in range(graph.total)]
        after = [[(u, weight(v, u)) for u in graph.after[v]] for v in range(graph.total)]
        return before, after

    def settle(self, row: list[int], gaps: list[float], pull: Pulls, masses: list[float]) -> float:
        """Move a layer's nodes towards their neighbors, subject to order and gaps; returns the largest move."""
        breadth = self.breadth
        wanted = []
        for v, mass in zip(row, masses, strict=True):
            force = 0.0
            for u, weight in pull[v]:
                force += weight * breadth[u]
            wanted.append(force / mass if mass else breadth[v])
        weights = masses if all(masses) else [mass or 0.05 for mass in masses]
        moved = 0.0
        for v, b in zip(row, isotonic(wanted, weights, gaps) if gaps else wanted, strict=True):
            step = b - breadth[v]
            if step:
                breadth[v] = b
                if step > moved or -step > moved:
                    moved = abs(step)
        return moved

    def straighten(self, gaps: list[list[float]]) -> None:
        """Align each chain of neighbors at one breadth, if the nodes beside it leave room."""
        graph = self.graph
        chains = self.chains()
        before, after = [-1] * graph.total, [-1] * graph.total  # the neighboring node, and its distance
        lower, upper = [0.0] * graph.total, [0.0] * graph.total
        for row, between in zip(self.rows, gaps, strict=True):
            for u, v, gap in zip(row, row[1:], between, strict=False):
                after[u], before[v], upper[u], lower[v] = v, u, gap, gap
        for _ in range(3):
            for chain in chains:
                low = max((self.breadth[before[v]] + lower[v] for v in chain if before[v] >= 0), default=-float("inf"))
                high = min((self.breadth[after[v]] - upper[v] for v in chain if after[v] >= 0), default=float("inf"))
                if low <= high + 1e-6:
                    place = min(max(self.wish(chain), low), high)
                    for v in chain:
                        self.breadth[v] = place

    def wish(self, chain: list[int]) -> float:
        """A chain's preferred breadth: for a trunk nearest to the nodes it leads to, otherwise the current one."""
        graph = self.graph
        served = [u for v in chain for u in graph.after[v] if u < graph.count] if chain[0] >= graph.count else []
        return sum(self.breadth[v] for v in served or chain) / len(served or chain)

    def chains(self) -> list[list[int]]:
        """Paths that should be straight: trunks, and from each node on to the one that has it as its main input."""
        graph = self.graph
        follows = {u: v for trunk in graph.trunk.values() for u, v in pairwise(trunk[1:])}
        for row in self.rows:
            for v in row:
                main = self.main_input(v, follows) if v < graph.count else None
                if main is not None:
                    follows[main] = v
        starts = follows.keys() - set(follows.values())
        chains = []
        for v in sorted(starts):
            chain = [v]
            while chain[-1] in follows:
                chain.append(follows[chain[-1]])
            chains.append(chain)
        return chains

    def main_input(self, v: int, taken: Container[int]) -> int | None:
        """The input that a node continues, of those that no other one does; None for none, or several equal ones."""
        graph = self.graph
        before = graph.before[v]
        free = [u for u in before if u not in taken]
        inputs = [u for u in free if u < graph.count and graph.before[u]]
        if not inputs and [len(graph.after[u]) for u in before] == [1]:
            inputs = free
        if 1 < len(inputs) == len(before):
            return None  # the node stands between them
        return inputs[0] if inputs else None


class DepthAssignment:
    """In pixels along edges: ``depth``, each node's middle; ``starts`` and ``ends`` of layers; ``length`` of all."""

    def __init__(self, graph: LayeredGraph, rows: list[list[int]], breadth: Sequence[float]) -> None:
        deep = [max((graph.sizes[v][0] for v in row if v < graph.count), default=2.0) for row in rows]
        room = gaps_before(graph, rows, breadth)
        self.starts, self.ends, at = [], [], 0.0
        for r, size in enumerate(deep):
            at += room[r] if r else 0.0
            self.starts.append(at)
            at += size
            self.ends.append(at)
        self.length = at
        self.depth = [(self.starts[r] + self.ends[r]) / 2 for r in graph.layer]
        for v in range(graph.count):
            if graph.light[v] and graph.after[v]:  # leaves and constants are placed right before their users
                self.depth[v] = self.ends[graph.layer[v]] - graph.sizes[v][0] / 2


def gaps_before(graph: LayeredGraph, rows: list[list[int]], breadth: Sequence[float]) -> list[float]:
    """The room before each layer: for labels, and for steep lines to bend."""
    room = [DEPTH_GAP_PX] * (len(rows) + 1)
    for (_, dst), (long, _) in zip(graph.edges, graph.labels, strict=True):
        if long:
            r = graph.layer[dst]
            room[r] = max(room[r], (long if long <= MAX_LABEL_PX else MIN_ROOM_PX) + LABEL_ROOM_PX)
    for r, row in enumerate(rows[1:], 1):
        steep = max((abs(breadth[u] - breadth[v]) for v in row for u in graph.before[v]), default=0.0)
        room[r] = max(room[r], min(DEPTH_GAP_PX + steep / 7, MAX_DEPTH_GAP_PX))
    return room


def isotonic(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places closest to the wanted ones (weighted least squares) that keep the order and these gaps.

    >>> isotonic([0.0, 0.0], [1.0, 1.0], [2.0])
    [-1.0, 1.0]
    """
    if len(wanted) == 2:
        a, b = wanted
        excess = gaps[0] - (b - a)
        if excess <= 0:
            return [a, b]
        first = a - excess * weights[1] / (weights[0] + weights[1])
        return [first, first + gaps[0]]
    offsets = list(accumulate(gaps, initial=0.0))
    blocks: list[tuple[float, float, int]] = []  # sum of weight * place, sum of weight, count
    for want, weight, offset in zip(wanted, weights, offsets, strict=False):
        force, mass, count = weight * (want - offset), weight, 1
        while blocks and blocks[-1][0] * mass >= force * blocks[-1][1]:
            force, mass, count = force + blocks[-1][0], mass + blocks[-1][1], count + blocks[-1][2]
            blocks.pop()
        blocks.append((force, mass, count))
    places = [force / mass for force, mass, count in blocks for _ in range(count)]
    return [place + offset for place, offset in zip(places, offsets, strict=False)]


class EdgeRouter:
    """Lines as points (depth, breadth) in pixels. A *port* is where lines enter or leave a node."""

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
        """Return where each edge enters its destination and where it leaves its source, ordered to avoid crossings."""
        graph = self.graph
        enters, leaves = [0.0] * len(graph.edges), [0.0] * len(graph.edges)
        arriving: dict[int, list[tuple[float, int]]] = {}
        departing: dict[int, dict[tuple[float, int], list[int]]] = {}
        for k, (src, dst) in enumerate(graph.edges):
            long = graph.layer[dst] - graph.layer[src] > 1
            end = self.across.passes(src, graph.layer[dst] - 1) if long else self.breadth[src]
            arriving.setdefault(dst, []).append((end, k))
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
        gap = min(PORT_GAP_PX, max(2 * (half - CORNER_PX), 0) / max(len(others) - 1, 1))
        middle = self.breadth[v]
        reach = max(half - STRAIGHT_PX, 0.0) if graph.boxy[v] else 0.0  # limit of the deviation of a straight line
        near = max(gap * (len(others) - 1) / 2, MIN_REACH_PX)
        wanted = [to if abs(to - middle) <= reach else min(max(to, middle - near), middle + near) for to in others]
        weights = [20.0 if abs(place - other) < 1 else 1.0 for place, other in zip(wanted, others, strict=True)]
        placed = isotonic(wanted, weights, [gap] * (len(others) - 1))
        room = max(half - CORNER_PX, 0)
        shift = max(placed[-1] - middle - room, 0) + min(placed[0] - middle + room, 0)
        return [place - shift for place in placed]
