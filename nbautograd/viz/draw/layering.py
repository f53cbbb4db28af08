"""The first three steps of the layered layout: layer assignment, dummy nodes for long edges, crossing reduction.

A node's layer is its longest distance to a root, so that every edge runs towards the roots. An edge over several layers
passes each of them at a dummy node, here called a *bend*. All long edges from one node share their bends, so a weight
used a thousand times is one trunk with branches, and the work stays in proportion to the drawing. Where trunks would
need many more bends than there are nodes, the longest run in *lanes* beside the drawing instead: they cross nothing but
lines, and cost as little as a short edge. The nodes of each layer are then ordered by barycentre sweeps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise

from nbautograd.viz.draw.labels import Size

__all__ = ["MAX_SMALL_NODES", "LayeredGraph", "order_layers"]

MAX_SMALL_NODES, MIN_HUGE_NODES = 160, 8000  # and bends; from there on, few rounds are made
NODE_GAP_PX = 24.0  # of two nodes of a layer, roughly
BEND_WIDTH_PX = 2.0  # of a passing line


class LayeredGraph:
    """The graph as lists indexed by node, each in its layer; bends are nodes with higher numbers.

    ``before`` and ``after`` are the neighbors in the adjacent layers, ``trunk[v]`` is v followed by the bends that its
    long edges share, and ``lanes`` maps nodes whose long edges run beside the drawing to their lane.
    """

    def __init__(
        self, sizes: Sequence[Size], edges: Sequence[tuple[int, int]], labels: Sequence[Size], light: Sequence[bool],
        boxy: Sequence[bool], widest: float = 0.0,
    ) -> None:  # fmt: skip
        self.count = len(sizes)
        self.sizes, self.edges, self.labels, self.light, self.boxy = sizes, edges, labels, light, boxy
        self.thickness = [size[1] for size in sizes]  # width of each node
        self.layer = assign_layers(self.count, edges)
        if widest:
            self.layer = staggered(self.layer, edges, self.thickness, widest)
        self.before: list[list[int]] = [[] for _ in range(self.count)]
        self.after: list[list[int]] = [[] for _ in range(self.count)]
        self.trunk: dict[int, list[int]] = {}
        self.travellers = [0] * self.count  # number of long edges that leave each node
        self.lanes = choose_lanes(self.layer, edges)
        self.insert_bends()
        self.total = len(self.layer)

    def effort(self, small: int, large: int, huge: int) -> int:
        """The number of sweeps, by the size of the drawing with its dummy nodes."""
        total, many = self.total, MIN_HUGE_NODES
        return small if total < MAX_SMALL_NODES else large if total < many else huge if total < 4 * many else 1

    def insert_bends(self) -> None:
        """Break long edges at every layer that they pass."""
        for src, dst in self.edges:
            trunk = self.trunk.setdefault(src, [src])
            steps = self.layer[dst] - self.layer[src]
            self.travellers[src] += steps > 1
            if src in self.lanes:
                if steps == 1:
                    self.join(src, dst)
                continue
            while len(trunk) < steps:
                bend = len(self.layer)
                self.layer.append(self.layer[src] + len(trunk))
                self.thickness.append(BEND_WIDTH_PX)
                self.before.append([])
                self.after.append([])
                self.join(trunk[-1], bend)
                trunk.append(bend)
            self.join(trunk[steps - 1], dst)

    def join(self, u: int, v: int) -> None:
        """Make u and v, which are in successive layers, neighbors."""
        self.after[u].append(v)
        self.before[v].append(u)

    def branches_off(self, k: int) -> bool:
        """Return whether edge k shares its route with others."""
        src, dst = self.edges[k]
        return self.layer[dst] - self.layer[src] > 1 and self.travellers[src] > 1


def assign_layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return each node's layer: its longest distance to a sink, counted from the other end, in topological order.

    :raises ValueError: the graph has a cycle.
    """
    sources: list[list[int]] = [[] for _ in range(count)]
    users = [0] * count  # in-degree, counted from the sinks
    for src, dst in edges:
        sources[dst].append(src)
        users[src] += 1
    distance = [0] * count
    ready = [v for v in range(count) if not users[v]]
    for v in ready:
        for u in sources[v]:
            distance[u] = max(distance[u], distance[v] + 1)
            users[u] -= 1
            if not users[u]:
                ready.append(u)
    if len(ready) != count:
        raise ValueError("the graph has a cycle")
    last = max(distance, default=0)
    return [last - d for d in distance]


def staggered(
    layer: Sequence[int], edges: Sequence[tuple[int, int]], thickness: Sequence[float], widest: float
) -> list[int]:
    """Return the layers with the sources of too wide ones in layers before them, until no layer is too wide."""
    moved = list(layer)
    used = {dst for _, dst in edges}
    for place in range(max(layer, default=0), -len(layer), -1):
        own = [v for v, where in enumerate(moved) if where == place]
        if not own:
            break
        sources = sorted(set(own) - used, key=lambda v: (thickness[v], v))
        passing = {src for src, dst in edges if moved[src] < place < moved[dst]}
        total = sum(thickness[v] + NODE_GAP_PX for v in own) + NODE_GAP_PX * len(passing)
        for source in sources[::-1][: len(own) - 1]:
            if total <= widest:
                break
            moved[source] -= 1
            total -= thickness[source]  # its line passes in its place
    first = min(moved, default=0)
    return [place - first for place in moved]


def choose_lanes(layer: Sequence[int], edges: Sequence[tuple[int, int]]) -> dict[int, int]:
    """For the nodes whose long edges run beside the drawing, their lane (0: the nearest)."""
    count = len(layer)
    reach = [0] * count
    for src, dst in edges:
        reach[src] = max(reach[src], layer[dst])
    bends = {v: reach[v] - layer[v] - 1 for v in range(count) if reach[v] - layer[v] > 1}
    excess = sum(bends.values()) - max(3 * count // 2, 250)
    beside = []
    for v in sorted(bends, key=lambda v: (-bends[v], v)):
        if excess <= 0:
            break
        excess -= bends[v]
        beside.append(v)
    lanes: dict[int, int] = {}
    free: list[int] = []  # lanes that are free again
    leaving: list[tuple[int, int]] = []  # (the layer where a lane falls free, the lane)
    for v in sorted(beside, key=lambda v: (layer[v], v)):
        while leaving and leaving[0][0] <= layer[v]:
            heappush(free, heappop(leaving)[1])
        lanes[v] = heappop(free) if free else len(leaving)
        heappush(leaving, (reach[v], lanes[v]))
    return lanes


def order_layers(graph: LayeredGraph) -> list[list[int]]:
    """Return the nodes of each layer in order: the order with the fewest crossings among those of the sweeps."""
    rows = depth_first_order(graph)
    rank = [0] * graph.total  # position of each node in its layer
    for row in rows:
        for i, v in enumerate(row):
            rank[v] = i
    best, fewest = [row[:] for row in rows], count_crossings(graph, rows, rank)
    vain = 0
    for sweep in range(graph.effort(10, 3, 2)):
        if not fewest or vain == 4:
            break
        sweep_layers(graph, rows, rank, towards_roots=sweep % 2 == 1)
        crossings = count_crossings(graph, rows, rank)
        vain += 1
        if crossings < fewest:
            best, fewest, vain = [row[:] for row in rows], crossings, 0
    return best


def depth_first_order(graph: LayeredGraph) -> list[list[int]]:
    """Depth-first order from the roots, with inputs in the order of their slots."""
    rows: list[list[int]] = [[] for _ in range(max(graph.layer, default=-1) + 1)]
    seen = bytearray(graph.total)
    for root in range(graph.total):
        stack = [] if graph.after[root] else [root]
        while stack:
            v = stack.pop()
            if not seen[v]:
                seen[v] = 1
                rows[graph.layer[v]].append(v)
                stack.extend(reversed(graph.before[v]))
    return rows


def sweep_layers(graph: LayeredGraph, rows: list[list[int]], rank: list[int], *, towards_roots: bool) -> None:
    """Sort each layer by the barycentre, the mean rank, of the neighbors in the layer before."""
    beside = graph.before if towards_roots else graph.after
    for row in rows if towards_roots else reversed(rows):
        if len(row) == 1:
            continue
        mean = {v: sum(rank[u] for u in beside[v]) / len(beside[v]) if beside[v] else rank[v] for v in row}
        row.sort(key=mean.__getitem__)
        for i, v in enumerate(row):
            rank[v] = i


def count_crossings(graph: LayeredGraph, rows: list[list[int]], rank: list[int]) -> int:
    """Return the number of pairs of lines that cross, counted between each two layers by sorted insertion."""
    after, total = graph.after, 0
    for row, following in pairwise(rows):
        if len(row) == 1 or len(following) == 1:
            continue
        passed: list[int] = []  # where the lines drawn so far end
        for u in row:
            ends = [rank[v] for v in after[u]]
            if len(ends) > 1:
                ends.sort()
            known = len(passed)
            for end in ends:  # crosses lines that were drawn before and end further on
                total += known - bisect_right(passed, end, 0, known)
            for end in ends:
                passed.insert(bisect_right(passed, end), end)
    return total
