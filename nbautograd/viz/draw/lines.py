"""The line of an edge as an SVG path, the line of a gradient beside it, and texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import pairwise
from math import copysign

from nbautograd.viz.draw.labels import LABEL_OFFSET_PX, Point
from nbautograd.viz.draw.theme import MIN_FONT_PX, MONO_MARKUP
from nbautograd.viz.escape import escape

__all__ = ["aside", "number", "path", "text_element"]

CORNER_RADIUS_PX = 16.0
_trimmed = partial(re.compile(r"\.0(?!\d)").sub, "")  # drops the digit of 3.0


def path(line: Sequence[Point], direction: str = "LR", lean: float = 0.0) -> str:
    """The ``d`` of a line: straight within a layer, curved between two, with rounded corners where it turns.

    :param lean: the offset of the steep middle of a curve, so that two lines stay beside each other.
    """
    bends = _straightened(line, direction)
    parts = [f"M{line[0][0]:.1f} {line[0][1]:.1f}"]
    for i, (curved, x0, y0, x1, y1) in enumerate(bends):
        after = bends[i + 1] if i + 1 < len(bends) else None
        if curved and direction == "LR":
            middle = (x0 + x1) / 2 - copysign(lean, y1 - y0)
            parts.append(f"C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} {x1:.1f} {y1:.1f}")
        elif curved:
            middle = (y0 + y1) / 2 - copysign(lean, x1 - x0)
            parts.append(f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}")
        elif after is not None and not after[0] and (x0 == x1) != (after[1] == after[3]):  # a corner
            _, _, _, x2, y2 = after
            radius = min(CORNER_RADIUS_PX, (abs(x1 - x0) + abs(y1 - y0)) / 2, (abs(x2 - x1) + abs(y2 - y1)) / 2)
            (ax, ay), (bx, by) = _towards((x1, y1), (x0, y0), radius), _towards((x1, y1), (x2, y2), radius)
            parts.append(f"L{ax:.1f} {ay:.1f}Q{x1:.1f} {y1:.1f} {bx:.1f} {by:.1f}")
        else:
            parts.append(f"L{x1:.1f} {y1:.1f}")
    return _trimmed("".join(parts))


def _straightened(line: Sequence[Point], direction: str) -> list[tuple[bool, float, float, float, float]]:
    """The pieces of a line, each (whether it is curved, its ends); straight ones that go on as one are joined."""
    pieces: list[tuple[bool, float, float, float, float]] = []
    for i, ((x0, y0), (x1, y1)) in enumerate(pairwise(line)):
        if (x0, y0) == (x1, y1):
            continue
        straight = i % 2 == 0 or x0 == x1 or y0 == y1
        if straight and pieces and not pieces[-1][0]:
            _, ax, ay, bx, by = pieces[-1]
            if (ax == bx == x0 == x1) or (ay == by == y0 == y1):
                pieces.pop()
                x0, y0 = ax, ay
        pieces.append((not straight, x0, y0, x1, y1))
    return pieces


def _towards(start: Point, goal: Point, by: float) -> Point:
    """A point so far from ``start`` on the way to ``goal``, which lies straight across or straight down."""
    (x, y), (gx, gy) = start, goal
    return (x + copysign(by, gx - x), y) if gy == y else (x, y + copysign(by, gy - y))


def aside(line: Sequence[Point], direction: str, *, upright: bool = False) -> list[Point]:
    """Return the line shifted a little to the side, for a gradient beside its value.

    :param upright: a line that runs straight down and across only goes beside itself on both.
    """
    if upright and False not in [x0 == x1 or y0 == y1 for (x0, y0), (x1, y1) in pairwise(line)]:
        return _beside(line)
    if direction != "LR":
        return [(x + LABEL_OFFSET_PX, y) for x, y in line]
    moved = []
    for (x, y), before, after in zip(line, _others(line[::-1])[::-1], _others(line), strict=True):
        came = x - before[0] if before is not None else None
        goes = after[0] - x if after is not None else None
        turns = 0 in (came, goes)
        moved.append((x - LABEL_OFFSET_PX * turns, y + copysign(LABEL_OFFSET_PX, came or goes or 1.0)))
    return moved


def _beside(line: Sequence[Point]) -> list[Point]:
    """Return the line shifted to the right where it runs down, and down where it runs across."""
    bends = range(1, len(line) - 1)
    return [(x + LABEL_OFFSET_PX * (i in bends or _falls(line, i)),
             y + LABEL_OFFSET_PX * (i in bends or not _falls(line, i)))
            for i, (x, y) in enumerate(line)]  # fmt: skip


def _others(line: Sequence[Point]) -> list[Point | None]:
    """Return for each point of a line the next one that is not at the same place."""
    found: list[Point | None] = []
    last, other = None, None
    for point in reversed(line):
        if point != last:
            last, other = point, last
        found.append(other)
    return found[::-1]


def _falls(line: Sequence[Point], end: int) -> bool:
    """Return whether a line runs straight down at its beginning (0) or its end."""
    points = line if end == 0 else line[::-1]
    for x, y in points:
        if (x, y) != points[0]:
            return x == points[0][0]
    return True


@lru_cache(maxsize=4096)
def number(value: float) -> str:
    """A number without needless digits."""
    return f"{value:.1f}".removesuffix(".0")


def text_element(
    x: float, y: float, text: str, ink: str, size: float = MIN_FONT_PX, *, bold: bool = False, anchor: str = "",
    mono: bool = False,
) -> str:  # fmt: skip
    """A ``<text>`` whose baseline is at ``y``; ``size`` in pixels, of which ``MIN_FONT_PX`` is the least.

    >>> text_element(4, 20, "a < b", "#000", bold=True)
    '<text x="4" y="20" font-size="11" fill="#000" font-weight="700">a &lt; b</text>'
    """
    more = ' font-weight="700"' * bold + f' text-anchor="{anchor}"' * bool(anchor)
    more += f' font-family="{MONO_MARKUP}"' * mono
    size = max(size, MIN_FONT_PX)
    return f'<text x="{number(x)}" y="{number(y)}" font-size="{size:g}" fill="{ink}"{more}>{escape(text)}</text>'
