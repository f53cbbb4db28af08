"""Place the texts of edges: beside their lines, over as little else as possible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["MAX_OVERLAP_PX", "Box", "Point", "Size", "deepest", "is_turn", "label_spots"]

Point = tuple[float, float]
Size = tuple[float, float]
Area = tuple[float, float, float, float]  # left, top, right, bottom
Array = np.ndarray[Any, Any]

MAX_OVERLAP_PX = 2.0  # of a label's margin with a box or another label
LABEL_OFFSET_PX = 4.5  # from the line of a value to the line of its gradient
_TRIES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)
_STARTS = np.array([[9 * abs(t - 0.5)] for t in _TRIES])  # their costs
_SIDES = ((0, -1), (0, 1), (1, 0), (-1, 0), (1, -1), (1, 1), (-1, -1), (-1, 1))
_NEAR = np.array([(dx, dy, 0.0) for dx, dy in _SIDES]).T
_FAR = np.array([(dx, dy, by) for by in (0.0, 14.0, 28.0) for dx in (0.0, -0.5, 0.5) for dy in (-1, 1) if by or dx]).T
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
    taken = _obstacles(routes, boxes, across, len(labels))
    ends = [b.x + b.width for b in boxes.values()] + [x for line in routes.values() for x, _ in line]
    right = max(ends) + 2 * _EDGE_PX
    sides = (_NEAR, _FAR) if len(labels) <= _MANY_LABELS else (_NEAR,)
    spots = {}
    for key, (w, h) in labels.items():
        x, y = _spot(curve_points(routes[key], _TRIES, across), (w, h), taken, right, sides)
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


def _spot(points: Sequence[Point], size: Size, taken: _Obstacles, right: float, sides: Sequence[Array]) -> Point:
    """The place for one label: beside one of the points of its line, where it costs least; of equal places the first.

    Only where nothing is good enough there, places further away are looked at::

             3   1   2          1, 2, 3: the middle of the line first, then nearer to its ends; at each point
        ─────●───●───●─────►    above, below, right, left, and diagonally

    :param points: the ones that cost least first.
    :param right: the right edge of the drawing.
    """
    (w, h), best, least = size, (0.0, 0.0), float("inf")
    xs, ys = np.array(points).T[:, :, None]
    for dx, dy, further in sides:
        x, y = xs + dx * (w / 2 + 8), ys + dy * (h / 2 + 7 + further)
        left, top, end, _ = areas = np.array((x - w / 2, y - h / 2, x + w / 2, y + h / 2))
        outside = np.maximum(np.maximum(_EDGE_PX - left, end - right), 0) * h + np.maximum(_EDGE_PX - top, 0) * w
        costs = _OUTSIDE_COST * outside + _STARTS + 3 * further + 40 * abs(dx) * (dy != 0)
        costs += taken.covered(areas.reshape(4, -1)).reshape(costs.shape)
        for i, cost in enumerate(costs.ravel().tolist()):
            if cost < least - 1e-9:  # not for a rounding error: the same picture on every processor
                best, least = (float(x.flat[i]), float(y.flat[i])), cost
        if least < _GOOD_COST:
            break
    return best


def _obstacles(routes: Mapping[str, Sequence[Point]], boxes: Mapping[str, Box], across: bool, more: int) -> _Obstacles:
    """Boxes, and the lines as rows of small rectangles, with room for more: covering a box is three times as bad."""
    both = 2 + LABEL_OFFSET_PX  # the gradient's line is beside it
    wide, high = (2, both) if across else (both, 2)
    samples = np.array([point for line in routes.values() for point in _samples(line, across)])
    rounded = np.unique(np.rint(samples) @ (1, 1j))  # each place once
    x, y = rounded.real, rounded.imag
    taken = _Obstacles(len(rounded) + len(boxes) + more)
    taken.add((x - wide, y - high, x + wide, y + high), 4.0, len(rounded))
    for b in boxes.values():
        taken.add((b.x, b.y, b.x + b.width, b.y + b.height), 12.0)
    return taken


class _Obstacles:
    """So many rectangles that labels should not cover, each with its weight: what a covered square pixel costs."""

    def __init__(self, room: int) -> None:
        self.sides, self.weights, self.count = np.empty((4, room)), np.empty(room), 0

    def add(self, area: Any, weight: float, count: int = 1) -> None:
        """Add one or several rectangles: their left, top, right and bottom sides."""
        for side, values in zip(self.sides, area, strict=True):
            side[self.count : self.count + count] = values
        self.weights[self.count : self.count + count] = weight
        self.count += count

    def covered(self, areas: Array) -> Array:
        """The cost of covering each of these areas."""
        a, b, c, d = self.sides[:, : self.count]
        left, top, right, low = areas
        near = ((a < right.max()) & (c > left.min()) & (b < low.max()) & (d > top.min())).nonzero()[0]
        a, b, c, d = self.sides[:, near]
        wide = np.minimum(right[:, None], c) - np.maximum(left[:, None], a)
        high = np.minimum(low[:, None], d) - np.maximum(top[:, None], b)
        found: Array = (np.maximum(wide, 0) * np.maximum(high, 0) * self.weights[near]).sum(1)
        return found


def _samples(line: Sequence[Point], across: bool) -> list[Point]:
    """Return points along a line, dense enough that no text fits between."""
    (x0, y0), (x1, y1) = line[-3], line[-2]
    count = min(int((abs(x1 - x0) + abs(y1 - y0)) / 7) + 2, 80)
    points = curve_points(line, [i / count for i in range(count + 1)], across)
    for (ax, ay), (bx, by) in pairwise(line[:-2]):
        steps = min(int((abs(bx - ax) + abs(by - ay)) / 9) + 1, 60)
        points += [(ax + (bx - ax) * i / steps, ay + (by - ay) * i / steps) for i in range(steps + 1)]
    return points
