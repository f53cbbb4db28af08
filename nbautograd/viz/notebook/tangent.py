"""The curve of a function of one number, with its tangent at a point, and the steps that a descent takes on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from nbautograd.viz.draw.lines import text_element
from nbautograd.viz.draw.theme import LIGHT
from nbautograd.viz.escape import one_line
from nbautograd.viz.language import say
from nbautograd.viz.notebook.in_place import at_once, callers_names, name_in
from nbautograd.viz.notebook.still import WIDTH_PX, Still, card
from nbautograd.viz.read.values import SUMMARY, number_text

__all__ = ["Tangent", "tangent"]

HEIGHT_PX = 260
LEFT_PX, RIGHT_PX, TOP_PX, BOTTOM_PX = 72, 14, 40, 30  # room for axes and title
CURVE_POINTS = 160
MAX_SHOWN_POINTS = 60
STAY_FRAMES, GLIDE_FRAMES = 4, 6  # at a point, and between two
GLIDE_SECONDS = 0.6  # from point to point


class Tangent(Still):
    """The result of :func:`tangent`: a notebook shows it, ``save`` writes a file.

    :param f: the function; it is called with numbers.
    :param points: pairs of numbers: place and slope.
    :param low: where the curve begins.
    :param high: where it ends.
    :param name: of the variable.
    :returns: the picture.
    :raises TypeError: ``f`` returns something that is not one number.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> viz.Tangent(lambda w: w * w, [(3.0, 6.0)], 0.0, 4.0, "w")
    w = 3, height 9, slope 6
    """

    def __init__(
        self, f: Callable[[float], Any], points: Sequence[tuple[float, float]], low: float, high: float, name: str
    ) -> None:
        self.points, self.name = list(points), one_line(name, 20)
        self.low, self.high = low, high
        self._xs = [low + (high - low) * i / CURVE_POINTS for i in range(CURVE_POINTS + 1)]
        self._ys = [_number(f(x)) for x in self._xs]
        self._heights = [_number(f(x)) for x, _ in self.points]
        self._way = [(x, slope, _number(f(x))) for x, slope in _frames(self.points)]

    @property
    def label(self) -> str:
        """Summarize it in one line."""
        (first, _), (x, slope) = self.points[0], self.points[-1]
        y = number_text(self._heights[-1])
        known = {"name": self.name, "x": number_text(x), "y": y, "slope": number_text(slope)}
        if len(self.points) == 1:
            return say("tangent", **known)
        return say("tangent_steps", n=len(self.points) - 1, first=number_text(first), **known)

    @property
    def svg(self) -> str:
        """The drawing. Where there are several points, the last one walks over all of them."""
        finite = [y for y in (*self._ys, *self._heights) if math.isfinite(y)]
        least, most = (min(finite), max(finite)) if finite else (0.0, 1.0)
        margin = (most - least) * 0.06 or 0.5
        least, most = least - margin, most + margin

        def across(x: float) -> float:
            return LEFT_PX + (x - self.low) / (self.high - self.low) * (WIDTH_PX - LEFT_PX - RIGHT_PX)

        def down(y: float) -> float:
            return HEIGHT_PX - BOTTOM_PX - (y - least) / (most - least) * (HEIGHT_PX - TOP_PX - BOTTOM_PX)

        def at(x: float, y: float) -> str:
            return f"{across(x):.1f} {down(min(max(y, least - 9 * margin), most + 9 * margin)):.1f}"

        def along(xs: Iterable[float], ys: Sequence[float]) -> list[str]:
            return [at(x, y) for x, y in zip(xs, ys, strict=True) if math.isfinite(y)]

        body = []
        for y in {least + margin, most - margin}:
            body.append(f'<path d="M{LEFT_PX} {down(y):.1f}H{WIDTH_PX - RIGHT_PX}" stroke="{LIGHT["line"]}"/>')
            end = number_text(0.0 if abs(y) < margin / 60 else y, SUMMARY)
            body.append(text_element(LEFT_PX - 6, down(y) + 4, end, LIGHT["muted"], anchor="end", mono=True))
        for x, anchor in ((self.low, "start"), (self.high, "end")):
            end = number_text(x, SUMMARY)
            body.append(text_element(across(x), HEIGHT_PX - 10, end, LIGHT["muted"], anchor=anchor, mono=True))
        middle = (LEFT_PX + WIDTH_PX - RIGHT_PX) / 2
        body.append(text_element(middle, HEIGHT_PX - 10, self.name, LIGHT["muted"], anchor="middle"))
        curve = "L".join(along(self._xs, self._ys))
        body.append(f'<path d="M{curve}" fill="none" stroke="{LIGHT["leaf"]}" stroke-width="2"/>')

        def line(x: float, slope: float, y: float) -> str:
            """Return the visible part of the tangent, so that a steep one keeps its slope."""
            ends = []
            for end in (self.low, self.high):
                rise = slope * (end - x)
                seen = min(max(y + rise, least - margin), most + margin) - y
                ends.append(at(end if seen == rise else x + seen / slope, y + seen))
            return f"M{ends[0]}L{ends[1]}"

        frames = [(at(x, y), line(x, slope, y)) for x, slope, y in self._way if math.isfinite(y + slope)]
        walked = along((x for x, _ in self.points), self._heights)
        body.append(f'<g clip-path="url(#nb-plot)">{self._marks(walked, frames)}</g>')
        below = (
            "<style>@media (prefers-reduced-motion:reduce){.nb-walk{display:none}.nb-end{display:inline}}</style>"
            f'<clipPath id="nb-plot"><rect x="{LEFT_PX}" y="{TOP_PX - 8}" width="{WIDTH_PX - LEFT_PX - RIGHT_PX}" '
            f'height="{HEIGHT_PX - TOP_PX - BOTTOM_PX + 16}"/></clipPath>'
        )
        return card(self.label, repr(self), body, HEIGHT_PX, below)

    @staticmethod
    def _marks(walked: list[str], frames: list[tuple[str, str]]) -> str:
        """The tangent and its point; of several points their traces, and one that walks."""
        if not frames:
            return ""
        ink, (last, touching) = LIGHT["grad"], frames[-1]
        line = f'<path d="{touching}" stroke="{ink}" stroke-width="1.6" fill="none"'
        cx, cy = last.split(" ")
        dot = f'<circle r="5.5" cx="{cx}" cy="{cy}" fill="{ink}"'
        if len(walked) == 1:
            return f"{line}/>{dot}/>"
        traces = "".join(f'<circle r="3.5" cx="{x}" cy="{y}" fill="{LIGHT["done"]}" opacity="0.55"/>'
                         for x, y in (place.split(" ") for place in walked))  # fmt: skip
        values = zip(*((*place.split(" "), line) for place, line in frames), strict=True)
        lasts = f'dur="{GLIDE_SECONDS * len(walked):.1f}s" repeatCount="indefinite"'
        x, y, d = (f'<animate attributeName="{name}" values="{";".join(each)}" {lasts}/>'
                   for name, each in zip(("cx", "cy", "d"), values, strict=True))  # fmt: skip
        walk = f'<g class="nb-walk">{line}>{d}</path>{dot}>{x}{y}</circle></g>'
        return f'{traces}<g class="nb-end" display="none">{line}/>{dot}/></g>{walk}'

    def __repr__(self) -> str:
        rows = [f"{self.name} = {number_text(x)}: {say('tangent_row', y=number_text(y), slope=number_text(slope))}"
                for (x, slope), y in zip(self.points, self._heights, strict=True)]  # fmt: skip
        return "\n".join((self.label, *rows)) if len(self.points) > 1 else self.label


@at_once
def tangent(
    f: Callable[[float], Any], *points: Any, low: float | None = None, high: float | None = None, name: str = ""
) -> Tangent:
    """The curve of a function of one number, and the straight line that ``.grad`` says is its tangent.

    The slope of the line is not computed here: it is the result of the backward pass, so that one sees whether it is
    the slope of the curve.

    :param f: the function; it is called with numbers.
    :param points: where: leaves of one element that have a gradient, or pairs of numbers (place, slope). Of several
        points, as those of a descent, each leaves a trace, and one walks over all of them.
    :param low: where the curve begins; by default a little before the points.
    :param high: where it ends; by default a little after the points.
    :param name: of the variable; by default that of the leaf where this is called.
    :returns: the picture.
    :raises TypeError: a point is neither a leaf with a gradient nor a pair of numbers.
    :raises ValueError: there is no point, or ``low`` is not less than ``high``.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor(3.0, requires_grad=True)
    >>> (w * w).backward()
    >>> viz.tangent(lambda w: w * w, w, name="w")
    w = 3, height 9, slope 6
    """
    if not points:
        raise ValueError("tangent needs at least one point: a leaf with a gradient, or a pair (place, slope)")
    pairs = [_place_and_slope(point) for point in points[-MAX_SHOWN_POINTS:]]
    places = [x for x, _ in pairs if math.isfinite(x)] or [0.0]
    room = (max(places) - min(places)) * 0.35 or max(abs(places[0]), 1.0) * 2
    low, high = min(places) - room if low is None else low, max(places) + room if high is None else high
    if not low < high:
        raise ValueError(f"low must be less than high, got low={low} and high={high}")
    return Tangent(f, pairs, low, high, name or name_in(callers_names(), points[-1]) or "x")


def _place_and_slope(point: Any) -> tuple[float, float]:
    if isinstance(point, tuple | list) and len(point) == 2:
        return _number(point[0]), _number(point[1])
    slope = getattr(point, "grad", None)
    if slope is None:
        what = "a leaf without a gradient; run backward() first" if hasattr(point, "grad") else type(point).__name__
        raise TypeError(f"a point must be a leaf with a gradient, or a pair (place, slope), got {what}")
    return _number(point), _number(slope)


def _number(value: Any) -> float:
    try:
        return float(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"tangent draws functions of one number, got {type(value).__name__}: {error}") from error


def _frames(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Place and slope in each frame of a walk: a stay at each point, then the way to the next one."""
    frames = []
    for (x, slope), (next_x, next_slope) in pairwise(points):
        frames += [(x, slope)] * STAY_FRAMES
        parts = [i / GLIDE_FRAMES for i in range(1, GLIDE_FRAMES)]
        frames += [(x + (next_x - x) * part, slope + (next_slope - slope) * part) for part in parts]
    return frames + [points[-1]] * STAY_FRAMES
