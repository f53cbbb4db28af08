"""Where each node of a graph goes, and along what line each edge runs: a layered layout in plain Python.

1. Layers: a node's layer is its longest distance to a root, so that every edge runs towards the roots.
2. A long edge passes every layer between its ends at a *bend*. All long edges from one node share their bends, so a
   weight used a thousand times is drawn as one trunk with branches, and the work stays in proportion to the drawing.
   Where trunks would need many more bends than there are nodes, the longest run in *lanes* beside the drawing instead:
   they cross nothing but lines, and cost as little as a short edge.
3. Order within a layer: barycentre sweeps, keeping the order with the fewest crossings.
4. Breadth: weighted isotonic regression pulls each node towards its neighbours and keeps the order and the gaps.
5. Depth: layers are as deep as their deepest node, and gaps as wide as the labels in them.

Everything is computed with *depth* along the edges and *breadth* across them; the direction decides which is x.
Deterministic: the same graph and sizes give the same numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import accumulate, pairwise

from nbautograd.viz.draw.labels import Box, Point, Size, label_spots
from nbautograd.viz.read.builder import GraphModel

__all__ = ["Box", "Layout", "Point", "layout"]

BREADTH_GAP = 20.0  # between two boxes of one layer
BEND_GAP = 14.0  # beside a line that passes
DEPTH_GAP = 34.0  # between two layers, at least
LABEL_ROOM = 22.0  # beyond a label's own length
LONGEST_LABEL = 190.0
PORT_GAP = 14.0  # between the ends of two lines at one node
SMALL, HUGE = 160, 8000  # nodes and bends up to which many, and from which on few rounds are made
LANE_GAP = 9.0  # between two lanes beside the drawing


@dataclass(frozen=True, slots=True)
class Layout:
    """SourceLocator of all nodes, lines of all edges from source to destination, and the size of the whole.

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
    across = direction == "LR"
    turned = [sizes[n.id] if across else (sizes[n.id][1], sizes[n.id][0]) for n in model.nodes]
    number = {n.id: i for i, n in enumerate(model.nodes)}
    edges = [(number[e.src], number[e.dst]) for e in model.edges]
    wide = [(labels or {}).get(e.id, (0.0, 0.0)) for e in model.edges]
    light = [n.kind in ("constant", "leaf") for n in model.nodes]
    boxy = [n.kind != "op" for n in model.nodes]
    drawing = _Drawing(turned, edges, [w if across else (w[1], w[0]) for w in wide], light, boxy)
    drawing.run()

    def turn(depth: float, breadth: float) -> Point:
        x, y = (depth, breadth) if across else (breadth, depth)
        return round(x + margin, 1), round(y + margin, 1)

    boxes = {}
    for node, depth, breadth in zip(model.nodes, drawing.depth, drawing.breadth, strict=False):
        w, h = sizes[node.id]
        x, y = turn(depth, breadth)
        boxes[node.id] = Box(round(x - w / 2, 1), round(y - h / 2, 1), w, h)
    pairs, trunk_pairs = drawing.routes(), drawing.trunk_lines()
    if across:
        lines = [tuple([(round(d + margin, 1), round(b + margin, 1)) for d, b in line]) for line in pairs]
        trunks = tuple([tuple([(round(d + margin, 1), round(b + margin, 1)) for d, b in line]) for line in trunk_pairs])
    else:
        lines = [tuple([(round(b + margin, 1), round(d + margin, 1)) for d, b in line]) for line in pairs]
        trunks = tuple([tuple([(round(b + margin, 1), round(d + margin, 1)) for d, b in line]) for line in trunk_pairs])
    routes = {edge.id: line for edge, line in zip(model.edges, lines, strict=True)}
    branches = {e.id: routes[e.id][-3:] for i, e in enumerate(model.edges) if drawing.branches_off(i)}
    branches = {key: (line[0], *line) for key, line in branches.items()}
    total = turn(drawing.length, drawing.span)
    texts = labels or {}
    spots = label_spots(routes, texts, boxes, across)
    right = max([total[0], *(x + texts[key][0] / 2 for key, (x, _) in spots.items())])
    low = max([total[1], *(y + texts[key][1] / 2 for key, (_, y) in spots.items())])
    layers = {n.id: drawing.layer[i] for i, n in enumerate(model.nodes)}
    return Layout(
        round(right + margin, 1), round(low + margin, 1), boxes, routes, spots, layers, direction, trunks, branches
    )


class _Drawing:
    """The graph as lists indexed by node; bends are nodes with higher numbers."""

    def __init__(
        self,
        sizes: Sequence[Size],
        edges: Sequence[tuple[int, int]],
        labels: Sequence[Size],
        light: Sequence[bool],
        boxy: Sequence[bool],
    ) -> None:
        self.count = len(sizes)
        self.sizes, self.edges, self.labels, self.light, self.boxy = sizes, edges, labels, light, boxy
        self.thickness = [size[1] for size in sizes]  # breadth of each node

    def run(self) -> None:
        """All five steps."""
        self.assign_layers()
        self.insert_bends()
        self.order()
        self.spread()
        self.stack()

    def effort(self, small: int, large: int, huge: int) -> int:
        """How many rounds to make, by the size of the drawing with its bends."""
        return small if self.total < SMALL else large if self.total < HUGE else huge if self.total < 4 * HUGE else 1

    # -- 1. layers -------------------------------------------------------------------

    def assign_layers(self) -> None:
        """``layer``: the longest distance to a sink, counted from the other end."""
        sources: list[list[int]] = [[] for _ in range(self.count)]
        waiting = [0] * self.count
        for src, dst in self.edges:
            sources[dst].append(src)
            waiting[src] += 1
        distance = [0] * self.count
        ready = [v for v in range(self.count) if not waiting[v]]
        for v in ready:
            for u in sources[v]:
                distance[u] = max(distance[u], distance[v] + 1)
                waiting[u] -= 1
                if not waiting[u]:
                    ready.append(u)
        if len(ready) != self.count:
            raise ValueError("the graph has a cycle")
        last = max(distance, default=0)
        self.layer = [last - d for d in distance]

    # -- 2. bends -------------------------------------------------------------------

    def insert_bends(self) -> None:
        """Break long edges at every layer; ``trunk[v]`` is v followed by the bends that its long edges share."""
        self.before: list[list[int]] = [[] for _ in range(self.count)]
        self.after: list[list[int]] = [[] for _ in range(self.count)]
        self.trunk: dict[int, list[int]] = {}
        self.travellers = [0] * self.count  # how many long edges leave each node
        self.choose_lanes()
        for src, dst in self.edges:
            trunk = self.trunk.setdefault(src, [src])
            steps = self.layer[dst] - self.layer[src]
            self.travellers[src] += steps > 1
            if src in self.lanes:
                if steps == 1:
                    self.join(src, dst)
                continue
            while len(trunk) < steps:
                self.layer.append(self.layer[src] + len(trunk))
                self.thickness.append(2.0)
                self.before.append([])
                self.after.append([])
                self.join(trunk[-1], len(self.layer) - 1)
                trunk.append(len(self.layer) - 1)
            self.join(trunk[steps - 1], dst)
        self.total = len(self.layer)

    def choose_lanes(self) -> None:
        """``lanes``: of the nodes whose long edges run beside the drawing, in which lane they do (0: the nearest)."""
        reach = [0] * self.count
        for src, dst in self.edges:
            reach[src] = max(reach[src], self.layer[dst])
        bends = {v: reach[v] - self.layer[v] - 1 for v in range(self.count) if reach[v] - self.layer[v] > 1}
        excess = sum(bends.values()) - max(3 * self.count // 2, 250)
        beside = []
        for v in sorted(bends, key=lambda v: (-bends[v], v)):
            if excess <= 0:
                break
            excess -= bends[v]
            beside.append(v)
        self.lanes: dict[int, int] = {}
        free: list[int] = []  # lanes that nobody uses any more
        leaving: list[tuple[int, int]] = []  # (the layer where a lane falls free, the lane)
        for v in sorted(beside, key=lambda v: (self.layer[v], v)):
            while leaving and leaving[0][0] <= self.layer[v]:
                heappush(free, heappop(leaving)[1])
            self.lanes[v] = heappop(free) if free else len(leaving)
            heappush(leaving, (reach[v], self.lanes[v]))

    def join(self, u: int, v: int) -> None:
        """Make u and v, which lie in successive layers, neighbours."""
        self.after[u].append(v)
        self.before[v].append(u)

    # -- 3. order -------------------------------------------------------------------

    def order(self) -> None:
        """``rows``: the nodes of each layer in order."""
        self.rows: list[list[int]] = [[] for _ in range(max(self.layer, default=-1) + 1)]
        self.first_order()
        place = self.place = [0] * self.total
        for row in self.rows:
            for i, v in enumerate(row):
                place[v] = i
        best, fewest = [row[:] for row in self.rows], self.crossings()
        vain = 0
        for sweep in range(self.effort(10, 3, 2)):
            if not fewest or vain == 4:
                break
            self.sweep(towards_roots=sweep % 2 == 1)
            crossings = self.crossings()
            vain += 1
            if crossings < fewest:
                best, fewest, vain = [row[:] for row in self.rows], crossings, 0
        self.rows = best

    def first_order(self) -> None:
        """As a walk from the roots meets the nodes, inputs in the order of their slots."""
        seen = bytearray(self.total)
        for root in range(self.total):
            stack = [] if self.after[root] else [root]
            while stack:
                v = stack.pop()
                if not seen[v]:
                    seen[v] = 1
                    self.rows[self.layer[v]].append(v)
                    stack.extend(reversed(self.before[v]))

    def sweep(self, towards_roots: bool) -> None:
        """Sort each layer by the mean place of the neighbours in the layer before."""
        place, beside = self.place, self.before if towards_roots else self.after
        for row in self.rows if towards_roots else reversed(self.rows):
            if len(row) == 1:
                continue
            mean = {v: sum(place[u] for u in beside[v]) / len(beside[v]) if beside[v] else place[v] for v in row}
            row.sort(key=mean.__getitem__)
            for i, v in enumerate(row):
                place[v] = i

    def crossings(self) -> int:
        """How many pairs of lines cross, counted between each two layers by sorted insertion."""
        place, after, total = self.place, self.after, 0
        for row, following in pairwise(self.rows):
            if len(row) == 1 or len(following) == 1:
                continue
            passed: list[int] = []  # where the lines end that are drawn so far
            for u in row:
                ends = [place[v] for v in after[u]]
                if len(ends) > 1:
                    ends.sort()
                known = len(passed)
                for end in ends:  # lines drawn before that end further on are crossed
                    total += known - bisect_right(passed, end, 0, known)
                for end in ends:
                    passed.insert(bisect_right(passed, end), end)
        return total

    # -- 4. breadth -------------------------------------------------------------------

    def spread(self) -> None:
        """``breadth``: the middle of each node across the layers."""
        self.breadth = [0.0] * self.total
        gaps = [self.stack_row(row) for row in self.rows]
        before, after = self.pulls()
        both = [near + far for near, far in zip(before, after, strict=True)]
        early = [[[self.mass(pull[v]) for v in row] for row in self.rows] for pull in (after, before)]
        late = [[self.mass(both[v]) for v in row] for row in self.rows]
        rounds = self.effort(14, 7, 6)
        quiet, tolerance = 0, 0.05 if self.total < SMALL else 0.5
        for step in range(rounds):
            pull = both if step >= rounds // 2 else before if step % 2 else after
            masses = late if step >= rounds // 2 else early[step % 2]
            moved = 0.0
            for r in range(len(self.rows)) if step % 2 else reversed(range(len(self.rows))):
                moved = max(moved, self.settle(self.rows[r], gaps[r], pull, masses[r]))
            quiet = quiet + 1 if moved < tolerance else 0
            if quiet == 2:
                break
        self.straighten(gaps)
        sides = [(b - thick / 2, b + thick / 2) for b, thick in zip(self.breadth, self.thickness, strict=True)]
        top = min((low for low, _ in sides), default=0.0)
        self.breadth = [b - top for b in self.breadth]
        self.span = self.beside = max((high for _, high in sides), default=0.0) - top
        if self.lanes:
            self.beside += BREADTH_GAP
            self.span = self.lane_at(max(self.lanes.values()))

    def lane_at(self, lane: int) -> float:
        """The breadth of a lane."""
        return self.beside + LANE_GAP * lane

    def stack_row(self, row: list[int]) -> list[float]:
        """Put a layer's nodes side by side around 0; returns the least distances between their middles."""
        gaps, at = [], 0.0
        for i, v in enumerate(row):
            if i:
                u = row[i - 1]
                gap = BREADTH_GAP if u < self.count and v < self.count else BEND_GAP
                gaps.append((self.thickness[u] + self.thickness[v]) / 2 + gap)
                at += gaps[-1]
            self.breadth[v] = at
        for v in row:
            self.breadth[v] -= at / 2
        return gaps

    def pulls(self) -> tuple[list[list[tuple[int, float]]], list[list[tuple[int, float]]]]:
        """Neighbours and how strongly they pull: trunks are straight first, then the spine; leaves step aside."""
        source = [not self.before[v] for v in range(self.total)]

        def weight(u: int, v: int) -> float:
            if source[u]:
                return 0.25
            return 8.0 if u >= self.count and v >= self.count else 3.0 if u < self.count and v < self.count else 1.0

        before = [[(u, weight(u, v)) for u in self.before[v]] for v in range(self.total)]
        after = [[(u, weight(v, u)) for u in self.after[v]] for v in range(self.total)]
        return before, after

    @staticmethod
    def mass(pull: list[tuple[int, float]]) -> float:
        """How strongly a node is pulled in all."""
        return sum([weight for _, weight in pull])

    def settle(
        self, row: list[int], gaps: list[float], pull: list[list[tuple[int, float]]], masses: list[float]
    ) -> float:
        """Move a layer's nodes to where their neighbours pull them, as far as order and gaps allow; says how far."""
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
        """Give each chain of neighbours one breadth, where the nodes beside it leave room for that."""
        chains = self.chains()
        lower, upper = [-float("inf")] * self.total, [float("inf")] * self.total  # which node is beside, and how far
        before, after = [-1] * self.total, [-1] * self.total
        for row, between in zip(self.rows, gaps, strict=True):
            for u, v, gap in zip(row, row[1:], between, strict=False):
                after[u], before[v], upper[u], lower[v] = v, u, gap, gap
        for _ in range(3):
            for chain in chains:
                low = max((self.breadth[before[v]] + lower[v] for v in chain if before[v] >= 0), default=-float("inf"))
                high = min((self.breadth[after[v]] - upper[v] for v in chain if after[v] >= 0), default=float("inf"))
                if low <= high + 1e-6:
                    mean = self.wish(chain)
                    place = min(max(mean, low), high)
                    for v in chain:
                        self.breadth[v] = place

    def wish(self, chain: list[int]) -> float:
        """Where a chain wants to be: a trunk as near as can be to the nodes that it serves, others where they are."""
        served = [u for v in chain for u in self.after[v] if u < self.count] if chain[0] >= self.count else []
        members = served or chain
        return sum(self.breadth[v] for v in members) / len(members)

    def chains(self) -> list[list[int]]:
        """Paths that should be straight: trunks, and from each node on to the one that has it as its main input."""
        follows: dict[int, int] = {}
        taken = set()
        for row in self.rows:
            for v in row:
                bend = v >= self.count
                same = [u for u in self.before[v] if u not in taken and (u >= self.count) == bend]
                inputs = [u for u in same if bend or self.before[u]]
                if not bend and not inputs and len(self.before[v]) == 1 and len(self.after[self.before[v][0]]) == 1:
                    inputs = [u for u in self.before[v] if u not in taken]
                if len(inputs) > 1 and len(inputs) == len(self.before[v]) and not bend:
                    continue  # a node with several equal inputs stands between them
                if inputs:
                    follows[inputs[0]] = v
                    taken.add(inputs[0])
        starts = follows.keys() - set(follows.values())
        chains = []
        for v in sorted(starts):
            chain = [v]
            while chain[-1] in follows:
                chain.append(follows[chain[-1]])
            chains.append(chain)
        return chains

    # -- 5. depth -------------------------------------------------------------------

    def stack(self) -> None:
        """``depth``: the middle of each node along the edges; ``starts`` and ``ends`` of the layers."""
        deep = [max((self.sizes[v][0] for v in row if v < self.count), default=2.0) for row in self.rows]
        room = [DEPTH_GAP] * (len(self.rows) + 1)
        for (_, dst), (long, _) in zip(self.edges, self.labels, strict=True):
            if long:
                room[self.layer[dst]] = max(room[self.layer[dst]], min(long, LONGEST_LABEL) + LABEL_ROOM)
        for r, row in enumerate(self.rows[1:], 1):  # steep lines need room to bend
            steep = max((abs(self.breadth[u] - self.breadth[v]) for v in row for u in self.before[v]), default=0.0)
            room[r] = max(room[r], min(DEPTH_GAP + steep / 7, 90.0))
        self.starts, self.ends, at = [], [], 0.0
        for r, size in enumerate(deep):
            at += room[r] if r else 0.0
            self.starts.append(at)
            at += size
            self.ends.append(at)
        self.length = at
        self.depth = [(self.starts[r] + self.ends[r]) / 2 for r in self.layer]
        for v in range(self.count):
            if self.light[v] and self.after[v]:  # leaves and constants stand right before what uses them
                self.depth[v] = self.ends[self.layer[v]] - self.sizes[v][0] / 2

    # -- lines -------------------------------------------------------------------

    def routes(self) -> list[list[Point]]:
        """The points (depth, breadth) of each edge's line, which is straight within layers and curved between them."""
        enters, leaves = self.ports()
        lines, shared = [], self.huge
        for k, (src, dst) in enumerate(self.edges):
            first, last = self.layer[src], self.layer[dst]
            if shared and last - first > 1:  # only the branch: the trunk is drawn once for all
                line = [(self.ends[last - 1], self.passes(src, last - 1))] * 2
            else:
                line = [(self.depth[src] + self.sizes[src][0] / 2, leaves[k]), (self.ends[first], leaves[k])]
                line += self.way(src, last)
            line += [(self.starts[last], enters[k]), (self.depth[dst] - self.sizes[dst][0] / 2, enters[k])]
            lines.append(line)
        return lines

    @cached_property
    def huge(self) -> bool:
        """Whether drawing each long edge whole would be too much."""
        return sum(self.layer[dst] - self.layer[src] for src, dst in self.edges) > 4 * len(self.edges) + 2000

    def passes(self, src: int, layer: int) -> float:
        """The breadth at which the long edges of ``src`` pass a layer."""
        lane = self.lanes.get(src)
        return self.breadth[self.trunk[src][layer - self.layer[src]]] if lane is None else self.lane_at(lane)

    def way(self, src: int, last: int) -> list[Point]:
        """The points between the layers of ``src`` and ``last``."""
        first = self.layer[src] + 1
        if src in self.lanes and first < last:
            lane = self.passes(src, first)
            return [(self.starts[first], lane), (self.ends[last - 1], lane)]
        points: list[Point] = []
        for r in range(first, last):
            at = self.passes(src, r)
            points += [(self.starts[r], at), (self.ends[r], at)]
        return points

    def branches_off(self, k: int) -> bool:
        """Whether edge k shares its way with others."""
        src, dst = self.edges[k]
        return self.layer[dst] - self.layer[src] > 1 and self.travellers[src] > 1

    def trunk_lines(self) -> list[list[Point]]:
        """The lines that several long edges share."""
        lines = []
        reach: dict[int, int] = {}
        for src, dst in self.edges:
            reach[src] = max(reach.get(src, 0), self.layer[dst])
        for src in self.trunk:
            if self.travellers[src] > (not self.huge):  # in a huge drawing, routes are branches only
                start, out = self.depth[src] + self.sizes[src][0] / 2, self.trunk_port.get(src, self.breadth[src])
                lines.append([(start, out), (self.ends[self.layer[src]], out), *self.way(src, reach[src])])
        return lines

    def ports(self) -> tuple[list[float], list[float]]:
        """Where each edge enters its destination and leaves its source, ordered so that lines do not cross there."""
        enters, leaves = [0.0] * len(self.edges), [0.0] * len(self.edges)
        self.trunk_port: dict[int, float] = {}
        arriving: dict[int, list[tuple[float, int]]] = {}
        departing: dict[int, dict[tuple[float, int], list[int]]] = {}
        for k, (src, dst) in enumerate(self.edges):
            long = self.layer[dst] - self.layer[src] > 1
            arriving.setdefault(dst, []).append(
                (self.passes(src, self.layer[dst] - 1) if long else self.breadth[src], k)
            )
            # Long edges leave together, along their trunk.
            way = (self.passes(src, self.layer[src] + 1), -1) if long else (self.breadth[dst], k)
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
        """Places along a side of v for lines to neighbours at ``others``, in order; straight where that can be."""
        half = self.thickness[v] / 2
        if len(others) == 1 and others[0] == self.breadth[v]:
            return others
        gap = min(PORT_GAP, max(2 * half - 16, 0) / max(len(others) - 1, 1))
        middle = self.breadth[v]
        reach = max(half - 14, 0.0) if self.boxy[v] else 0.0  # within which a line may be straight
        near = max(gap * (len(others) - 1) / 2, 9.0)
        wanted = [
            other if abs(other - middle) <= reach else min(max(other, middle - near), middle + near) for other in others
        ]
        weights = [20.0 if abs(place - other) < 1 else 1.0 for place, other in zip(wanted, others, strict=True)]
        placed = isotonic(wanted, weights, [gap] * (len(others) - 1))
        shift = max(placed[-1] - middle - max(half - 8, 0), 0) + min(placed[0] - middle + max(half - 8, 0), 0)
        return [place - shift for place in placed]


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
    blocks: list[tuple[float, float, int]] = []  # sum of weight * place, sum of weight, how many
    for want, weight, offset in zip(wanted, weights, offsets, strict=False):
        force, mass, count = weight * (want - offset), weight, 1
        while blocks and blocks[-1][0] * mass >= force * blocks[-1][1]:
            force, mass, count = force + blocks[-1][0], mass + blocks[-1][1], count + blocks[-1][2]
            blocks.pop()
        blocks.append((force, mass, count))
    places = [force / mass for force, mass, count in blocks for _ in range(count)]
    return [place + offset for place, offset in zip(places, offsets, strict=False)]
