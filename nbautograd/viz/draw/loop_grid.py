"""Draw a loop as a grid: a column per step, equal operations in the same row, and rails for shared tensors above them.

Columns are laid out from top to bottom by the layered layout, each separately, and placed side by side in rows of one
height. A tensor passed to the next step leaves on the right and enters on the left. A shared weight is on the far left;
its rail has a branch to each step that uses it. Where a branch leaves the rail, its gradient joins those of the later
steps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from nbautograd.viz.draw.labels import Box, Point, Size
from nbautograd.viz.draw.layout import MARGIN_PX, Arranged, Layout
from nbautograd.viz.read.levels import Loop, inside
from nbautograd.viz.read.model import Edge, GraphModel, Node, outline_of

__all__ = ["grid"]

RAIL_GAP_PX = 20.0
HEAD_HEIGHT_PX = 18.0  # of the line of step numbers
SLOT_GAP_PX, SIDE_GAP_PX = 15.0, 20.0  # distance of two lines in a gutter, and of a line to the columns
PORT_OFFSET_PX = 20.0  # from the corner of a box to the first line at its top
PORT_GAP_PX = 12.0  # between two lines at one side of a box
MIN_ROW_GAP_PX = 40.0
BELOW_GAP_PX = 14.0  # between two lines below the columns


@dataclass(slots=True)
class _Block:
    """A column, or the part before or after the columns: it has its own layout, of which only rows are moved."""

    places: Layout
    rows: list[list[str]]
    boxes: dict[str, Box]
    x: float = 0.0

    @property
    def width(self) -> float:
        return max([box.x + box.width for box in self.boxes.values()], default=0.0)


def grid(model: GraphModel, loop: Loop, sizes: Mapping[str, Size], labels: Mapping[str, Size]) -> Layout:
    """The layout of a graph that is mostly a loop; places for labels are not yet chosen."""
    return _Grid(model, loop, sizes, labels).layout()


class _Grid:
    """Blocks from left to right: 0 is the part before the first step, the last one the part after the last step."""

    def __init__(self, model: GraphModel, loop: Loop, sizes: Mapping[str, Size], labels: Mapping[str, Size]) -> None:
        self.model, self.loop, self.sizes, self.labels = model, loop, sizes, labels
        self.nodes: defaultdict[int | None, list[Node]] = defaultdict(list)  # by their place
        self.inner: defaultdict[int, list[Edge]] = defaultdict(list)  # by the place that they are in
        self.into: defaultdict[str, list[Edge]] = defaultdict(list)
        for node in model.nodes:
            self.nodes[loop.place.get(node.id)].append(node)
        for edge in model.edges:
            self.into[edge.dst].append(edge)
            if inside(edge, loop):
                self.inner[loop.place[edge.dst]].append(edge)
        self.blocks = [self.block(place) for place in range(-1, loop.steps + 1)]
        self.mirror()
        self.align()
        self.rails = self.find_rails()
        self.slots: list[list[tuple[str, str]]] = [[] for _ in range(len(self.blocks) + 1)]
        self.below: list[str] = []
        self.drops: dict[str, float] = {}  # from the left of its block, where a branch goes straight down
        self.ports: dict[tuple[str, str], list[str]] = {}
        self.routes: dict[str, tuple[Point, ...]] = {}
        self.branches: dict[str, tuple[Point, ...]] = {}
        self.beads: dict[str, Point] = {}

    # -- blocks ----------------------------------------------------------------------------

    def block(self, place: int) -> _Block:
        """The nodes of one place, laid out from top to bottom."""
        nodes = self.nodes[place]
        part = GraphModel(tuple(nodes), tuple(self.inner[place]), ())
        arranged = Arranged(outline_of(part), self.sizes, "TB", self.labels, 0.0)
        places, depth = arranged.in_rows(), max(arranged.graph.layer[: len(nodes)], default=-1)
        rows: list[list[str]] = [[] for _ in range(depth + 1)]
        for node, layer in zip(nodes, arranged.graph.layer, strict=False):  # from the end, where all columns are equal
            rows[depth - layer].append(node.id)
        return _Block(places, rows, dict(places.boxes))

    def align(self) -> None:
        """Let the last operation of each column be in one row, whether its result has a box or not."""
        tails = [_tail(block, self.model) for block in self.blocks[1:-1]]
        for block, tail in zip(self.blocks[1:-1], tails, strict=True):
            block.rows[:0] = [[] for _ in range(max(tails) - tail)]

    def mirror(self) -> None:
        """Mirror columns if the values for the next step would otherwise leave on the far side."""
        sides = [0, 0]
        for edge in self.crossing:
            if 0 < self.loop.place[edge.dst] < self.loop.steps and edge.src not in self.loop.shared:
                block = self.blocks[self.loop.place[edge.dst] + 1]
                for right in (False, True):
                    sides[right] += self.clear(block, edge.dst, right)
        if sides[1] <= sides[0]:
            return
        for block in self.blocks[1:-1]:
            wide = block.width
            turned = {key: Box(wide - box.x - box.width, box.y, box.width, box.height)
                      for key, box in block.boxes.items()}  # fmt: skip
            routes = {key: tuple((wide - x, y) for x, y in line) for key, line in block.places.routes.items()}
            block.boxes, block.places = turned, replace(block.places, boxes=dict(turned), routes=routes)

    def find_rails(self) -> list[str]:
        """Return the nodes with a rail: those that the steps share, and earlier ones that lead to later steps."""
        place = self.loop.place
        early = [edge.src for edge in self.model.edges if place.get(edge.src) == -1 and place[edge.dst] > 0]
        return [*dict.fromkeys((*self.loop.shared, *early))]

    # -- rows, and ways out of them -----------------------------------------------------------------

    def set_rows(self, top: float) -> None:
        """Give each row one height over all columns, and each box its place from the top."""
        depth = max(len(block.rows) for block in self.blocks)
        high, gap = [0.0] * depth, [MIN_ROW_GAP_PX] * depth
        for block in self.blocks:
            starts, ends = _extents(block)
            for row, ids in enumerate(block.rows):
                high[row] = max([high[row], *(block.boxes[key].height for key in ids)])
                if ids and row and block.rows[row - 1]:
                    gap[row] = max(gap[row], starts[row - 1] - ends[row])
        at, self.tops = top, [0.0] * depth
        for row in reversed(range(depth)):
            self.tops[row] = at
            at += high[row] + gap[row]
        self.high, self.bottom = high, at - gap[0]
        for block in self.blocks:
            for row, ids in enumerate(block.rows):
                for key in ids:
                    box = block.boxes[key]
                    block.boxes[key] = replace(box, y=self.tops[row] + (high[row] - box.height) / 2)

    def clear(self, block: _Block, key: str, right: bool) -> bool:
        """Return whether one side of a box is free of other boxes of its column."""
        own = block.boxes[key]
        level = [box for other, box in block.boxes.items()
                 if other != key and box.y < own.y + own.height and own.y < box.y + box.height]  # fmt: skip
        return right not in [box.x > own.x for box in level]

    def straight(self, block: _Block, edge: Edge) -> float | None:
        """Return the position at which a branch of a rail reaches a box straight from above; None if it cannot."""
        own, others = block.boxes[edge.dst], self.into[edge.dst]
        taken = [self.routes_in(block, other)[-1][0] for other in others if other.id in block.places.routes]
        taken += [self.drops[other.id] for other in others if other.id in self.drops]
        for x in (own.x + PORT_OFFSET_PX, own.x + own.width - PORT_OFFSET_PX, own.x + own.width / 2):
            over = [box.y < own.y and box.x - 8 < x < box.x + box.width + 8 for box in block.boxes.values()]
            if True not in over and min([abs(x - other) for other in taken], default=PORT_GAP_PX) >= PORT_GAP_PX:
                return x
        return None

    def make_room(self) -> None:
        """Move a constant directly above its user aside, so that a branch can pass beside it."""
        wanted = {edge.dst for edge in self.model.edges if edge.src in self.rails}
        for edge in self.model.edges:
            if edge.kind != "constant" or edge.dst not in wanted or not inside(edge, self.loop):
                continue
            block = self.blocks[self.loop.place[edge.dst] + 1]
            box, user = block.boxes[edge.src], block.boxes[edge.dst]
            x = user.x + 2 * PORT_OFFSET_PX
            if self.clear(block, edge.src, True) and box.x < x:
                block.boxes[edge.src] = replace(box, x=x)

    def routes_in(self, block: _Block, edge: Edge) -> list[Point]:
        """The line of an edge within a block, from the left of the block."""
        line = block.places.routes[edge.id]
        src, dst = block.boxes[edge.src], block.boxes[edge.dst]
        rows = {key: row for row, ids in enumerate(block.rows) for key in ids}
        moved = src.x - block.places.boxes[edge.src].x
        first, last = rows[edge.src], rows[edge.dst]
        points = [(line[0][0] + moved, src.y + src.height), (line[1][0] + moved, self.tops[first] + self.high[first])]
        for row in range(first - 1, last, -1):
            i = 2 + 2 * (first - 1 - row)
            if i + 1 < len(line) - 2:
                points += [(line[i][0], self.tops[row]), (line[i + 1][0], self.tops[row] + self.high[row])]
        return [*points, (line[-2][0], self.tops[last]), (line[-1][0], dst.y)]

    # -- lines between blocks ------------------------------------------------------------------------

    def plan(self) -> None:
        """Decide for each line between blocks on which sides it leaves and enters, and in which gutters it runs."""
        self.ends = {edge.id: edge for edge in self.model.edges}
        for edge in self.crossing:
            to = self.loop.place[edge.dst] + 1
            block = self.blocks[to]
            if edge.src in self.rails:
                if (x := self.straight(block, edge)) is not None:
                    self.drops[edge.id] = x
                else:
                    right = self.clear(block, edge.dst, True)
                    self.enter(edge, to + 1 if right else to, "right" if right else "left", block)
                if edge.src not in self.loop.shared and not any(key == edge.src for key, _ in self.slots[1]):
                    self.slots[1].append((edge.src, "rail"))
                continue
            at = self.loop.place[edge.src] + 1
            side = "right" if self.clear(self.blocks[at], edge.src, True) else "bottom"
            self.ports.setdefault((edge.src, side), []).append(edge.id)
            if to != at + 1:
                self.slots[at + 1].append((edge.id, "down"))
                self.below.append(edge.id)
            self.enter(edge, to, "left", block)

    def enter(self, edge: Edge, gutter: int, side: str, block: _Block) -> None:
        """Note the gutter of the end of a line."""
        self.slots[gutter].append((edge.id, "in"))
        side = side if self.clear(block, edge.dst, side == "right") else "top"
        self.ports.setdefault((edge.dst, side), []).append(edge.id)

    @cached_property
    def crossing(self) -> list[Edge]:
        """The edges from one block to another."""
        return [edge for edge in self.model.edges if not inside(edge, self.loop)]

    def spread(self) -> None:
        """Give each block its place from the left; all columns are equally wide."""
        stack = max((self.sizes[key][0] for key in self.loop.shared), default=0.0)
        self.risers = {key: MARGIN_PX + stack + SIDE_GAP_PX + 9 * i for i, key in enumerate(self.loop.shared)}
        at = max(self.risers.values(), default=MARGIN_PX - SIDE_GAP_PX) + SIDE_GAP_PX
        rooms = [2 * SIDE_GAP_PX + SLOT_GAP_PX * max(len(slots) - 1, 0) for slots in self.slots]
        rooms[2:-2] = [max(rooms[2:-2], default=0.0)] * len(rooms[2:-2])
        wide = max(block.width for block in self.blocks[1:-1])
        self.lines: dict[tuple[str, str], float] = {}
        for i, slots in enumerate(self.slots):
            room = rooms[i] if slots else SIDE_GAP_PX if 0 < i < len(rooms) - 1 else 0.0
            for k, slot in enumerate(slots):
                self.lines[slot] = at + (room - SLOT_GAP_PX * (len(slots) - 1)) / 2 + SLOT_GAP_PX * k
            at += room
            if i < len(self.blocks):
                block = self.blocks[i]
                room = wide if 0 < i < len(self.blocks) - 1 else block.width
                block.x = at + (room - block.width) / 2
                at += room
        self.width = at + MARGIN_PX

    def port(self, edge: Edge, end: str, side: str) -> Point | None:
        """Return the point where a line meets one side of its end; None if it does not meet that side."""
        ids = self.ports.get((end, side), ())
        if edge.id not in ids:
            return None
        box, shift = self.box(end), PORT_GAP_PX * (ids.index(edge.id) - (len(ids) - 1) / 2)
        if side in ("top", "bottom"):
            return box.x + box.width / 2 + shift, box.y + box.height * (side == "bottom")
        shift = max(min(shift, box.height / 2 - 8), 8 - box.height / 2)
        return box.x + box.width * (side == "right"), box.y + box.height / 2 + shift

    def box(self, key: str) -> Box:
        if key in self.stack:
            return self.stack[key]
        block = self.blocks[self.loop.place[key] + 1]
        box = block.boxes[key]
        return Box(round(block.x + box.x, 1), round(box.y, 1), box.width, box.height)

    def way_out(self, edge: Edge, x: float) -> list[Point]:
        """Draw from the beginning of a line to a gutter."""
        if (at := self.port(edge, edge.src, "right")) is not None:
            return [at, (x, at[1])]
        at = self.port(edge, edge.src, "bottom") or (0.0, 0.0)
        return [at, (at[0], at[1] + 12), (x, at[1] + 12)]

    def way_in(self, edge: Edge, start: float) -> list[Point]:
        """Return the way from a gutter, reached from ``start``, to a line's end; its last piece but one has a label."""
        x = self.lines[edge.id, "in"]
        for side in ("left", "right"):
            if (at := self.port(edge, edge.dst, side)) is not None:
                near = self.box(edge.dst).height / 2 + 24
                between = max(start, at[1] - near) if start < at[1] else min(start, at[1] + near)
                return [(x, start), (x, between), (x, at[1]), at]
        at = self.port(edge, edge.dst, "top") or (0.0, 0.0)
        return [(x, start), (x, at[1] - 12), (at[0], at[1] - 12), at]

    def route(self) -> None:
        """The lines between blocks, and within them."""
        deep = {key: self.bottom + BELOW_GAP_PX * (i + 1) for i, key in enumerate(self.below)}
        for edge in self.crossing:
            if edge.src in self.rails:
                self.branch(edge)
            elif edge.id in deep:
                x = self.lines[edge.id, "down"]
                self.routes[edge.id] = _line([*self.way_out(edge, x), (x, deep[edge.id]),
                                              *self.way_in(edge, deep[edge.id])])  # fmt: skip
            else:
                out = self.way_out(edge, self.lines[edge.id, "in"])
                self.routes[edge.id] = _line([*out[:-1], *self.way_in(edge, out[-1][1])])
        for block in self.blocks:
            for key in block.places.routes:
                self.routes[key] = _line([(block.x + x, y) for x, y in self.routes_in(block, self.ends[key])])

    def branch(self, edge: Edge) -> None:
        """The line from a shared value along its rail and down to a step."""
        y = self.heights[edge.src]
        if edge.id in self.drops:
            x, end = self.blocks[self.loop.place[edge.dst] + 1].x + self.drops[edge.id], self.box(edge.dst).y
            down = [(x, y), (x, end - 10), (x, end)]
        else:
            down = self.way_in(edge, y)
        self.routes[edge.id] = _line([*self.way_up(edge.src), *down])
        self.branches[edge.id] = _line(down)
        self.beads[edge.id] = round(down[0][0], 1), y

    def way_up(self, key: str) -> list[Point]:
        """Draw from a shared node to the beginning of its rail."""
        box, y = self.box(key), self.heights[key]
        x = self.risers[key] if key in self.risers else self.lines[key, "rail"]
        middle = box.y + box.height / 2
        return [(box.x + box.width, middle), (x, middle), (x, y)]

    # -- the whole ----------------------------------------------------------------------------------

    def layout(self) -> Layout:
        """Everything at its place."""
        self.heights = {key: MARGIN_PX + HEAD_HEIGHT_PX + RAIL_GAP_PX * (i + 0.5) for i, key in enumerate(self.rails)}
        room = max([self.labels[edge.id][1] for edge in self.crossing if edge.id in self.labels], default=0.0)
        self.set_rows(MARGIN_PX + HEAD_HEIGHT_PX + RAIL_GAP_PX * len(self.rails) + max(30.0, min(room, 80.0) + 14))
        self.make_room()
        self.plan()
        self.spread()
        self.stack = self.stacked()
        self.route()
        boxes = {node.id: self.box(node.id) for node in self.model.nodes}
        low = max([self.bottom + BELOW_GAP_PX * (len(self.below) + 1), *(box.y + box.height for box in boxes.values())])
        routes = {edge.id: self.routes[edge.id] for edge in self.model.edges}
        return Layout(round(self.width, 1), round(low + MARGIN_PX, 1), boxes, routes, {}, "TB",
                      tuple(self.rail_lines()), self.branches, self.beads, tuple(self.headings()))  # fmt: skip

    def stacked(self) -> dict[str, Box]:
        """Return the boxes that the steps share, one below the other at the far left."""
        boxes, y = {}, self.tops[-1]
        for key in self.loop.shared:
            wide, high = self.sizes[key]
            right = MARGIN_PX + max(self.sizes[other][0] for other in self.loop.shared)
            boxes[key] = Box(round(right - wide, 1), round(y, 1), wide, high)
            y += high + 16
        return boxes

    def rail_lines(self) -> list[tuple[Point, ...]]:
        """Each rail up to its last branch."""
        ends: dict[str, float] = {}
        for key, (x, _) in self.beads.items():
            src = self.ends[key].src
            ends[src] = max(ends.get(src, 0.0), x)
        return [_line([*self.way_up(key), (end, self.heights[key])]) for key, end in ends.items()]

    def headings(self) -> list[tuple[Point, str]]:
        columns = zip(self.loop.names, self.blocks[1:-1], strict=True)
        return [((round(block.x + block.width / 2, 1), MARGIN_PX + 6), name) for name, block in columns]


def _tail(block: _Block, model: GraphModel) -> int:
    """Return the number of rows at the end that have no operation."""
    kinds = [any(model.by_id[key].kind in ("op", "group") for key in ids) for ids in block.rows]
    return kinds.index(True) if True in kinds else 0


def _extents(block: _Block) -> tuple[list[float], list[float]]:
    """Return the old and new positions of each row of a block; the last row first."""
    boxes = block.places.boxes
    starts = [min((boxes[key].y for key in ids), default=0.0) for ids in block.rows]
    return starts, [max((boxes[key].y + boxes[key].height for key in ids), default=0.0) for ids in block.rows]


def _line(points: Sequence[Point]) -> tuple[Point, ...]:
    return tuple([(round(x, 1), round(y, 1)) for x, y in points])
