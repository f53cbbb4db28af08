"""Arrange the operations, in the order in which they ran, as a tree of segments: those that repeat or have a name."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nbautograd.viz.escape import line_of
from nbautograd.viz.language import say

__all__ = ["Segment", "label_of", "plan"]

MAX_SEGMENTS = 600  # of one step of a loop
MAX_SCOPES = 30  # nested


@dataclass(slots=True, eq=False)
class Segment:
    """A segment of operations, by their places in the order in which they ran."""

    start: int
    stop: int
    kind: str = "op"
    label: str = ""
    times: int = 0
    code: int = 0
    children: list[Segment] = field(default_factory=list)
    closed: bool = False

    @property
    def id(self) -> str:
        """The identity of the segment, equal for the same segment of the same graph."""
        return f"g{self.start}_{self.stop}"

    def size(self) -> int:
        """Return the number of nodes that are drawn for it."""
        return len(self.shown())

    def shown(self) -> list[Segment]:
        """Return the parts that are drawn for it: closed segments and single operations."""
        parts, waiting = list[Segment](), [self]
        while waiting:
            segment = waiting.pop()
            if segment.closed or not segment.children:
                parts.append(segment)
            else:
                waiting += segment.children[::-1]
        return parts

    def folded(self) -> list[Segment]:
        """Return the closed segments that are drawn for it."""
        return [segment for segment in self.shown() if segment.closed]

    def inner(self) -> list[Segment]:
        """Return itself and all segments in it that hold several operations, outer ones first."""
        found, waiting = list[Segment](), [self]
        while waiting:
            segment = waiting.pop()
            if segment.children:
                found.append(segment)
                waiting += segment.children[::-1]
        return found


def plan(signatures: Sequence[Hashable], scopes: Sequence[tuple[Any, ...]], inputs: Sequence[Sequence[int]]) -> Segment:
    """The tree of segments of a graph.

    :param signatures: for each operation the key that makes it equal to another one.
    :param scopes: for each operation the blocks in which it ran, outermost first.
    :param inputs: for each operation the places of those that made its inputs.
    """
    known: dict[Hashable, int] = {}
    single = [Segment(i, i + 1, code=known.setdefault(s, len(known))) for i, s in enumerate(signatures)]
    cuts = np.zeros(len(single) + 1, np.int64)  # number of live results before each position
    last = {source: place for place, sources in enumerate(inputs) for source in sources}
    for source, use in last.items():
        cuts[source + 1] += 1
        cuts[min(use + 1, len(single))] -= 1
    carried = np.cumsum(cuts).tolist()
    return Segment(0, len(single), "run", children=_level(single, list(scopes), 0, known, carried))


def _level(
    segments: list[Segment], scopes: list[tuple[Any, ...]], depth: int, known: dict[Hashable, int], carried: list[int]
) -> list[Segment]:
    """Segments of one level: those in the same block make one, then loops are found."""
    level: list[Segment] = []
    at = 0
    while at < len(segments):
        scope = scopes[at][depth] if depth < min(len(scopes[at]), MAX_SCOPES) else None
        end = at + 1
        while scope is not None and end < len(segments) and len(scopes[end]) > depth and scopes[end][depth] == scope:
            end += 1
        if scope is None or end - at == 1:
            level.append(segments[at])
        else:
            inner = _level(segments[at:end], scopes[at:end], depth + 1, known, carried)
            level.append(_segment("scope", label_of(scope), inner, known))
        at = end
    return _loops(level, known, carried)


def label_of(scope: Any) -> str:
    """Return the label of a block."""
    return line_of(scope[0] if isinstance(scope, tuple) and scope else scope, 40)


def _segment(kind: str, label: str, children: list[Segment], known: dict[Hashable, int], times: int = 0) -> Segment:
    code = known.setdefault((kind, tuple(child.code for child in children)), len(known))
    return Segment(children[0].start, children[-1].stop, kind, label, times, code, children)


def _loops(segments: list[Segment], known: dict[Hashable, int], carried: list[int]) -> list[Segment]:
    """Return the segments with each loop as one segment, inner loops first."""
    for _ in range(4):
        before, period = len(segments), 1
        codes = np.array([segment.code for segment in segments])
        while period <= min(len(segments) // 3, MAX_SEGMENTS):
            repeats = _repeats(codes, period)
            if repeats:
                segments = _rolled(segments, period, repeats, known, carried)
                codes = np.array([segment.code for segment in segments])
            period += 1
        if len(segments) == before:
            break
    return segments


def _repeats(codes: np.ndarray[Any, Any], period: int) -> list[tuple[int, int]]:
    """Return the start and end of each range in which the codes repeat with this period often enough."""
    same = codes[period:] == codes[:-period]
    if not same.any():
        return []
    steps = np.flatnonzero(np.diff(np.concatenate(([0], same.view(np.int8), [0]))))
    least = (4 if period == 1 else 3) * period
    runs = zip(steps[::2].tolist(), (steps[1::2] + period).tolist(), strict=True)
    return [(start, stop) for start, stop in runs if stop - start >= least]


def _rolled(
    segments: list[Segment], period: int, repeats: list[tuple[int, int]], known: dict[Hashable, int], carried: list[int]
) -> list[Segment]:
    rolled: list[Segment] = []
    at = 0
    for start, stop in repeats:
        start = max(start, at)
        if stop - start < (4 if period == 1 else 3) * period:
            continue
        most = (stop - start) // period
        # A step begins where the fewest tensors are passed on; else the last one ends with the segment, as the first
        # step of a loop is often a little different.
        phases = [start + p for p in range(period) if (stop - start - p) // period == most]
        start = min(phases, key=lambda i: (carried[segments[i + period].start], (stop - i) % period))
        rolled += segments[at:start]
        at = start + most * period
        steps = [segments[i : i + period] for i in range(start, at, period)]
        whole = [_segment("step", say("turn_n", n=i), s, known) if period > 1 else s[0] for i, s in enumerate(steps)]
        rest = _segment("loop", f"×{most - 1}", whole[:-1], known, most - 1)
        rolled.append(_segment("loop", f"×{most}", [rest, whole[-1]], known, most))
    return rolled + segments[at:]
