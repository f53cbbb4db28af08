"""Place the texts of edges: beside their lines, over as little else as possible."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["MAX_OVERLAP_PX", "Box", "Point", "Size", "deepest", "is_turn", "label_spots"]

Point = tuple[float, float]
Size = tuple[float, float]
Area = tuple[float, float, float, float]  # left, top, right, bottom

MAX_OVERLAP_PX = 2.0  # of a label's margin with a box or another label
LABEL_OFFSET_PX = 4.5  # from the line of a value to the line of its gradient
_TRIES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)
_STARTS = [9 * abs(t - 0.5) for t in _TRIES]  # their costs
_CELL_PX = 80.0  # of the grid for finding obstacles
_SIDES = ((0, -1), (0, 1), (1, 0), (-1, 0), (1, -1), (1, 1), (-1, -1), (-1, 1))
_NEAR = [(dx, dy, 0.0) for dx, dy in _SIDES]
_FURTHER = [(dx, dy, far) for far in (0.0, 14.0, 28.0) for dx in (0.0, -0.5, 0.5) for dy in (-1, 1) if far or dx]
_GOOD_COST = 100.0  # of a place that ends the search
_EDGE_PX, _OUTSIDE_COST = 4.0, 30.0  # margin of labels at the edges, and cost of crossing it
_MAX_PUSHES = 4  # of a label that lies over something
_MANY_LABELS, _CROWDED_LABELS = 60, 250  # more try fewer places; more are put in the middle


@dataclass(frozen=True, slots=True)
class Box:
    """A node's place: the top left corner and the size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def center(self) -> Point:
        """The middle."""
        return self.x + self.width / 2, self.y + self.height / 2


def is_turn(line: Sequence[Point]) -> tuple[Point, Point] | None:
    """Return the ends of the turn to another row at the end of a line, if it has one."""
    if len(line) > 4 and line[-4][0] == line[-3][0] != line[-2][0] and line[-3][1] == line[-2][1] != line[-4][1]:
        return line[-4], line[-3]
    return None


def curve_points(line: Sequence[Point], places: Sequence[float], across: bool) -> list[Point]:
    """Points of the last curved piece of a line, between the layer before its end and the end's layer."""
    (x0, y0), (x1, y1) = (is_turn(line) if across else None) or (line[-3], line[-2])
    if not across:
        (x0, y0), (x1, y1) = (y0, x0), (y1, x1)
    middle, points = (x0 + x1) / 2, []
    for t in places:
        x = x0 * (1 - t) ** 3 + 3 * middle * t * (1 - t) + x1 * t**3
        y = y0 + (y1 - y0) * (3 * t**2 - 2 * t**3)
        points.append((x, y) if across else (y, x))
    return points


def label_spots(
    routes: Mapping[str, tuple[Point, ...]], labels: Mapping[str, Size], boxes: Mapping[str, Box], across: bool
) -> dict[str, Point]:
    """A place beside each labelled line where it covers as little as possible of boxes, lines and other labels."""
    if not labels:
        return {}
    if len(labels) > _CROWDED_LABELS:
        middles = {key: curve_points(routes[key], (0.5,), across)[0] for key in labels}
        return {key: (x, round(y - 10, 1)) for key, (x, y) in middles.items()}
    taken = _obstacles(routes, boxes, across)
    ends = [b.x + b.width for b in boxes.values()] + [x for line in routes.values() for x, _ in line]
    right = max(ends) + 2 * _EDGE_PX
    sides = (_NEAR, _FURTHER) if len(labels) <= _MANY_LABELS else (_NEAR,)
    spots = {}
    for key, (w, h) in labels.items():
        points = [*zip(_STARTS, curve_points(routes[key], _TRIES, across), strict=True)]
        x, y = _spot(points, (w, h), taken, right, sides)
        spots[key] = round(x, 1), round(y, 1)
        taken.add((x - w / 2, y - h / 2, x + w / 2, y + h / 2), 12.0)  # labels that come later keep off it
    return _pushed_apart(spots, labels, boxes) if len(labels) <= _MANY_LABELS else spots


def deepest(spots: Mapping[str, Point], labels: Mapping[str, Size], boxes: Iterable[Box]) -> float:
    """Return how deep a label lies over a box or another label at most, in pixels."""
    areas, fixed = _areas(spots, labels, boxes)
    return max([_way_off(area, areas[:i] + areas[i + 1 :] + fixed)[0] for i, area in enumerate(areas)], default=0.0)


def _pushed_apart(spots: Mapping[str, Point], labels: Mapping[str, Size], boxes: Mapping[str, Box]) -> dict[str, Point]:
    """The places of labels after each that lies over a box or another label has been moved off it, if there is room."""
    areas, fixed = _areas(spots, labels, boxes.values())
    for i, area in enumerate(areas):
        others = areas[:i] + areas[i + 1 :] + fixed
        least, across, down = _way_off(area, others)
        for _ in range(_MAX_PUSHES if least > MAX_OVERLAP_PX else 0):
            area = area[0] + across, area[1] + down, area[2] + across, area[3] + down
            depth, across, down = _way_off(area, others)
            if depth < least:
                least, areas[i] = depth, area
    return {
        key: (round((left + right) / 2, 1), round((top + low) / 2, 1))
        for key, (left, top, right, low) in zip(spots, areas, strict=True)
    }


def _areas(
    spots: Mapping[str, Point], labels: Mapping[str, Size], boxes: Iterable[Box]
) -> tuple[list[Area], list[Area]]:
    sized = [(*spot, *labels[key]) for key, spot in spots.items()]
    return (
        [(x - wide / 2, y - high / 2, x + wide / 2, y + high / 2) for x, y, wide, high in sized],
        [(box.x, box.y, box.x + box.width, box.y + box.height) for box in boxes],
    )


def _way_off(area: Area, others: Iterable[Area]) -> tuple[float, float, float]:
    """(depth, way across, way down) off that one of the others over which the area lies deepest; zeros for none."""
    left, top, right, low = area
    most = 0.0, 0.0, 0.0
    for a, b, c, d in others:
        if a < right and c > left and b < low and d > top:
            ways = (c - left, 1, 0), (right - a, -1, 0), (d - top, 0, 1), (low - b, 0, -1)
            depth, across, down = min(ways)
            most = max(most, (depth, depth * across, depth * down))
    return most


def _spot(
    points: Sequence[tuple[float, Point]],
    size: Size,
    taken: _Obstacles,
    right: float,
    sides: Sequence[Sequence[tuple[float, float, float]]],
) -> Point:
    """The place for one label: beside one of the points of its line, where it costs least.

    The cheap places are tried first, before anything is covered, so that most are never looked at::

             3   1   2          1, 2, 3: the middle of the line first, then nearer to its ends; at each point
        ─────●───●───●─────►    above, below, right, left, and diagonally; only where nothing of that is good
                                enough, further away

    :param points: (the cost of being there, the point), the cheapest one first.
    :param right: the right edge of the drawing.
    """
    (w, h), best, least = size, (0.0, 0.0), float("inf")
    for ways in sides:
        for start, (x, y) in points:
            if start >= least:
                break
            for dx, dy, further in ways:
                middle = x + dx * (w / 2 + 8), y + dy * (h / 2 + 7 + further)
                area = (middle[0] - w / 2, middle[1] - h / 2, middle[0] + w / 2, middle[1] + h / 2)
                outside = max(_EDGE_PX - area[0], area[2] - right, 0) * h + max(_EDGE_PX - area[1], 0) * w
                cost = _OUTSIDE_COST * outside + start + 3 * further + 40 * abs(dx) * (dy != 0)
                if cost < least:
                    cost += taken.covered(area, least - cost)
                if cost < least - 1e-9:  # not for a rounding error: the same picture on every processor
                    best, least = middle, cost
        if least < _GOOD_COST:
            break
    return best


def _obstacles(routes: Mapping[str, Sequence[Point]], boxes: Mapping[str, Box], across: bool) -> _Obstacles:
    """Boxes, and the lines as rows of small rectangles: covering a box is three times as bad."""
    taken = _Obstacles()
    for b in boxes.values():
        taken.add((b.x, b.y, b.x + b.width, b.y + b.height), 12.0)
    both = 2 + LABEL_OFFSET_PX  # the gradient's line is beside it
    wide, high = (2, both) if across else (both, 2)
    samples: dict[Point, None] = {}
    for line in routes.values():
        samples |= dict.fromkeys(_samples(line, across))
    taken.add_all([(x - wide, y - high, x + wide, y + high) for x, y in samples], 4.0)
    return taken


class _Obstacles:
    """Rectangles that labels should not cover, in a grid.

    A drawing has thousands of them, and each label is tried in dozens of places: a place is compared only with those in
    the cells of the grid that it touches.
    """

    def __init__(self) -> None:
        self.cells: defaultdict[tuple[int, int], list[tuple[Area, float]]] = defaultdict(list)

    def add(self, area: Area, weight: float) -> None:
        """Add a rectangle; covering it costs its weight per square pixel."""
        self.add_all([area], weight)

    def add_all(self, areas: Iterable[Area], weight: float) -> None:
        """Add rectangles of one weight."""
        cells = self.cells
        for area in areas:
            left, top, right, low = area
            known = area, weight
            first, last = int(left // _CELL_PX), int(right // _CELL_PX)
            upper, lower = int(top // _CELL_PX), int(low // _CELL_PX)
            cells[first, upper].append(known)
            if first != last or upper != lower:
                for column in range(first, last + 1):
                    for row in range(upper + (column == first), lower + 1):
                        cells[column, row].append(known)

    def covered(self, area: Area, limit: float) -> float:
        """The cost of covering this area; the sum stops early once it exceeds ``limit``."""
        left, top, right, bottom = area
        first, last = int(left // _CELL_PX), int(right // _CELL_PX)
        upper, lower = int(top // _CELL_PX), int(bottom // _CELL_PX)
        is_one = first == last and upper == lower
        seen: set[int] = set()  # a rectangle in several cells counts once
        cost = 0.0
        for column in range(first, last + 1):
            for row in range(upper, lower + 1):
                for known in self.cells.get((column, row), ()):
                    (a, b, c, d), weight = known
                    if a < right and c > left and b < bottom and d > top and (is_one or id(known) not in seen):
                        seen.add(id(known))
                        wide = (right if right < c else c) - (left if left > a else a)
                        cost += wide * ((bottom if bottom < d else d) - (top if top > b else b)) * weight
                        if cost > limit:
                            return cost
        return cost


def _samples(line: Sequence[Point], across: bool) -> list[Point]:
    """Return points along a line, dense enough that no text fits between."""
    (x0, y0), (x1, y1) = line[-3], line[-2]
    count = min(int((abs(x1 - x0) + abs(y1 - y0)) / 7) + 2, 80)
    points = curve_points(line, [i / count for i in range(count + 1)], across)
    for (ax, ay), (bx, by) in pairwise(line[:-2]):
        steps = min(int((abs(bx - ax) + abs(by - ay)) / 9) + 1, 60)
        points += [(ax + (bx - ax) * i / steps, ay + (by - ay) * i / steps) for i in range(steps + 1)]
    return [(round(x), round(y)) for x, y in points]
