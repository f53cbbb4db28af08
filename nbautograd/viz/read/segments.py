"""What repeats in a graph, what has a name: the operations, in the order in which they ran, as a tree of stretches."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nbautograd.viz.escape import one_line
from nbautograd.viz.language import say

__all__ = ["Piece", "plan"]

LONGEST = 600  # pieces of one step of a loop
DEEPEST = 30  # nested scopes


@dataclass(slots=True, eq=False)
class Piece:
    """A stretch of operations, by their places in the order in which they ran."""

    start: int
    stop: int
    kind: str = "op"
    label: str = ""
    times: int = 0
    code: int = 0
    children: list[Piece] = field(default_factory=list)
    closed: bool = False

    @property
    def id(self) -> str:
        """The same for the same stretch of the same graph."""
        return f"g{self.start}_{self.stop}"

    def size(self) -> int:
        """How many nodes are drawn for it."""
        return 1 if self.closed or not self.children else sum(child.size() for child in self.children)

    def shown(self) -> Iterator[Piece]:
        """What is drawn for it: closed pieces and single operations."""
        if self.closed or not self.children:
            yield self
        else:
            for child in self.children:
                yield from child.shown()

    def inner(self, depth: int = 0) -> Iterator[tuple[int, Piece]]:
        """Itself and all pieces in it that hold several operations, with how deep they lie, outer ones first."""
        if self.children:
            yield depth, self
            for child in self.children:
                yield from child.inner(depth + 1)


def plan(signatures: Sequence[Hashable], scopes: Sequence[tuple[Any, ...]], inputs: Sequence[Sequence[int]]) -> Piece:
    """The tree of stretches of a graph.

    :param signatures: for each operation what makes it equal to another one.
    :param scopes: for each operation the blocks in which it ran, outermost first.
    :param inputs: for each operation the places of those that made its inputs.
    """
    known: dict[Hashable, int] = {}
    single = [Piece(i, i + 1, code=known.setdefault(s, len(known))) for i, s in enumerate(signatures)]
    cuts = np.zeros(len(single) + 1, np.int64)  # how many results are handed on from before each place
    last = {source: place for place, sources in enumerate(inputs) for source in sources}
    for source, use in last.items():
        cuts[source + 1] += 1
        cuts[min(use + 1, len(single))] -= 1
    carried = np.cumsum(cuts).tolist()
    return Piece(0, len(single), "run", children=_level(single, list(scopes), 0, known, carried))


def _level(
    pieces: list[Piece], scopes: list[tuple[Any, ...]], depth: int, known: dict[Hashable, int], carried: list[int]
) -> list[Piece]:
    """Pieces of one level: those in the same block make one, then loops are found."""
    made: list[Piece] = []
    at = 0
    while at < len(pieces):
        scope = scopes[at][depth] if depth < min(len(scopes[at]), DEEPEST) else None
        end = at + 1
        while scope is not None and end < len(pieces) and len(scopes[end]) > depth and scopes[end][depth] == scope:
            end += 1
        if scope is None or end - at == 1:
            made.append(pieces[at])
        else:
            inner = _level(pieces[at:end], scopes[at:end], depth + 1, known, carried)
            label = one_line(scope[0] if isinstance(scope, tuple) and scope else scope, 40)
            made.append(_piece("scope", label, inner, known))
        at = end
    return _loops(made, known, carried)


def _piece(kind: str, label: str, children: list[Piece], known: dict[Hashable, int], times: int = 0) -> Piece:
    code = known.setdefault((kind, tuple(child.code for child in children)), len(known))
    return Piece(children[0].start, children[-1].stop, kind, label, times, code, children)


def _loops(pieces: list[Piece], known: dict[Hashable, int], carried: list[int]) -> list[Piece]:
    """The same with each loop as one piece, inner loops first."""
    for _ in range(4):
        before, period = len(pieces), 1
        codes = np.array([piece.code for piece in pieces])
        while period <= min(len(pieces) // 3, LONGEST):
            found = _repeats(codes, period)
            if found:
                pieces = _rolled(pieces, period, found, known, carried)
                codes = np.array([piece.code for piece in pieces])
            period += 1
        if len(pieces) == before:
            break
    return pieces


def _repeats(codes: np.ndarray[Any, Any], period: int) -> list[tuple[int, int]]:
    """Where, from and to, the codes repeat with this period often enough."""
    same = codes[period:] == codes[:-period]
    if not same.any():
        return []
    steps = np.flatnonzero(np.diff(np.concatenate(([0], same.view(np.int8), [0]))))
    least = (4 if period == 1 else 3) * period
    runs = zip(steps[::2].tolist(), (steps[1::2] + period).tolist(), strict=True)
    return [(start, stop) for start, stop in runs if stop - start >= least]


def _rolled(
    pieces: list[Piece], period: int, found: list[tuple[int, int]], known: dict[Hashable, int], carried: list[int]
) -> list[Piece]:
    made: list[Piece] = []
    at = 0
    for start, stop in found:
        start = max(start, at)
        if stop - start < (4 if period == 1 else 3) * period:
            continue
        most = (stop - start) // period
        # A step begins where the least is handed on; else such that the last one ends with the stretch, as the first
        # step of a loop is often a little different.
        phases = [start + p for p in range(period) if (stop - start - p) // period == most]
        start = min(phases, key=lambda i: (carried[pieces[i + period].start], (stop - i) % period))
        made += pieces[at:start]
        at = start + most * period
        steps = [pieces[i : i + period] for i in range(start, at, period)]
        whole = [_piece("step", say("step_n", n=i), s, known) if period > 1 else s[0] for i, s in enumerate(steps, 1)]
        rest = _piece("loop", f"×{most - 1}", whole[:-1], known, most - 1)
        made.append(_piece("loop", f"×{most}", [rest, whole[-1]], known, most))
    return made + pieces[at:]
