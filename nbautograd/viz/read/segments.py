"""Arrange the operations, in the order in which they ran, as a tree of segments: those that repeat or have a name.

A step of a loop is named by the turn of the loop in the code: ``t = 4``, as the code itself counts. The notes of
tracing are enough for that: the calling instruction of each operation. A new turn begins where the instructions go
back. The value of the loop's variable is shown if the loop is over a ``range`` of known numbers or an ``enumerate`` of
something known, also backwards or in a ``zip``, and has that many turns; else turns are counted from 0.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby, zip_longest
from typing import Any, NamedTuple

import numpy as np

from nbautograd._engine.base.users_code import MAX_FILE_CHARACTERS, parsed, source_of
from nbautograd.viz.escape import line_of
from nbautograd.viz.language import say

__all__ = ["Segment", "Turn", "Turns", "label_of", "name_of", "number_of", "plan", "turns_of"]

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


# -- turns of the loops in the code ---------------------------------------------------------------------


MAX_OPS = 2000  # of a graph with numbered turns


class Turn(NamedTuple):
    """A turn of a loop: the value of its variable, or without one its number."""

    variable: str
    number: int

    def __str__(self) -> str:
        return f"{self.variable} = {self.number}" if self.variable else say("turn_n", n=self.number)


Turns = Sequence[Mapping[tuple[int, int], Turn]]
"""For each operation and each of its loops, by column and line, the turn."""
_Loop = ast.For | ast.While
_Loops = Mapping[int, Sequence[_Loop]]
"""By line: the enclosing loops, the outermost first."""
_Point = tuple[int, int]
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def _places_in_loops(traces: Sequence[Any]) -> dict[_Loop, dict[int, _Loop | None]]:
    """Return of each loop, outer ones first, the places of the operations in it, with the next inner loop of each."""
    files: dict[str, _Loops] = {}
    ran: dict[_Loop, dict[int, _Loop | None]] = {}
    for place, trace in enumerate(traces):
        if trace is not None and trace.code is not None:
            if trace.filename not in files:
                files[trace.filename] = _loops_around(source_of(trace.filename))
            around = files[trace.filename].get(trace.lineno, ())
            for loop, inner in zip_longest(around, around[1:]):
                ran.setdefault(loop, {})[place] = inner
    return dict(sorted(ran.items(), key=lambda item: (item[0].col_offset, item[0].lineno)))


def turns_of(traces: Sequence[Any], namespace: Mapping[str, Any]) -> Turns:
    """The turns of operations, whose traces are in the order in which they ran.

    :param namespace: variables, for the length of a loop.
    """
    told: list[dict[tuple[int, int], Turn]] = [{} for _ in traces]
    if len(traces) > MAX_OPS:
        return told
    ran = _places_in_loops(traces)
    begins = {loop: min(traces[place].instruction for place in places) for loop, places in ran.items()}
    outer: list[tuple[int, ...]] = [()] * len(traces)  # the turn numbers of the enclosing loops
    for loop, places in ran.items():
        points = {place: _point(traces[place], inner, begins) for place, inner in places.items()}
        variable, values = _values(loop, namespace, traces[min(places)].code)
        own: dict[int, Turn] = {}
        for _, part in groupby(places, outer.__getitem__):
            group = list(part)
            numbers = _numbered([points[place] for place in group], len(values))
            for place, number, turn in zip(group, numbers, _named(numbers, variable, values), strict=True):
                outer[place] += (number,)
                own[place] = turn
        if len({*own.values()}) > 1:  # the graph of a training step has only one turn of its loop
            for place, each in own.items():
                told[place][loop.col_offset, loop.lineno] = each
    return told


def _named(numbers: Sequence[int], variable: str, values: Sequence[int]) -> list[Turn]:
    """The turns with these numbers: named by the loop's variable if it has had all of its values."""
    if not values or (numbers[-1] + 1) % len(values):
        return [Turn("", number) for number in numbers]
    name = variable if variable.strip("_") else ""
    return [Turn(name, values[number % len(values)]) for number in numbers]


def name_of(turns: Turns) -> str:
    """Return the name of a turn that consists of these operations; nothing if unknown.

    >>> one, two = {(0, 3): Turn("t", 1)}, {(0, 3): Turn("t", 2)}
    >>> name_of([one] * 4 + [two]), name_of([one, two])
    ('t = 1', 't = 1 … t = 2')
    """
    several = ""
    for loop in sorted({loop for turn in turns for loop in turn}, reverse=True):  # the innermost first
        counts = Counter([turn[loop] for turn in turns if loop in turn])
        if 2 * counts.total() <= len(turns):
            continue
        turn, count = counts.most_common(1)[0]
        if 3 * count >= 2 * counts.total():  # a turn may begin or end a little off
            return str(turn)
        first, *_, last = counts
        several = f"{first} … {last}"
    return several


@lru_cache(50)  # as ``parsed``
def _loops_around(code: str) -> _Loops:
    """Return the loops around each line of a file, within its function; empty for a text that is not Python."""
    around: dict[int, Sequence[_Loop]] = {}

    def visit(node: ast.AST, loops: tuple[_Loop, ...]) -> None:
        inside = () if isinstance(node, SCOPES) else loops
        for child in ast.iter_child_nodes(node):
            within = (*inside, node) if isinstance(node, (ast.For, ast.While)) and child in node.body else inside
            if within or isinstance(node, SCOPES):
                for line in range(getattr(child, "lineno", 1), (getattr(child, "end_lineno", 0) or 0) + 1):
                    around[line] = within
            visit(child, within)

    if len(code) <= MAX_FILE_CHARACTERS and (tree := parsed(code)) is not None:
        visit(tree, ())
    return around


def _point(trace: Any, inner: _Loop | None, begins: Mapping[_Loop, int]) -> _Point:
    """Return the point in a loop's body, and the module's call, that ran an operation; an inner loop is one point."""
    if inner is not None:
        return begins[inner], 0
    return int(trace.instruction), trace.scope[0].number if trace.scope else 0


def _numbered(points: Sequence[_Point], wanted: int) -> list[int]:
    """The number of the turn of each operation; ``wanted`` is the expected number of turns, 0 if it is unknown."""
    if len(set(points)) == 1:  # one call per turn, which may be of several operations; of a module, one call
        each, rest = divmod(len(points), wanted or 1)
        even = wanted and each and not rest and not points[0][1]
        return [place // each if even else 0 for place in range(len(points))]
    numbers, turn = [], 0
    for i, (place, call) in enumerate(points):
        before, former = points[i - 1] if i else (place, call)
        turn += place < before or (place == before and call != former)
        numbers.append(turn)
    return numbers


def _values(loop: _Loop, namespace: Mapping[str, Any], code: Any) -> tuple[str, Sequence[Any]]:
    """The loop's variable and its values; nothing where they are not plain numbers."""
    if isinstance(loop, ast.While):
        return "", ()
    known = {name: value for name, value in namespace.items() if name not in code.co_varnames}
    return _counted_values(loop.target, loop.iter, known) or ("", ())


def _counted_values(target: ast.expr, over: ast.expr, known: Mapping[str, Any]) -> tuple[str, Sequence[Any]] | None:
    match target, over:
        case ast.Name(name), ast.Call(ast.Name("range"), [_, *_] as bounds, []):
            numbers = [number_of(bound, known) for bound in bounds]
            if all(number is not None for number in numbers) and len(numbers) <= 3 and numbers[2:] != [0]:
                return name, range(*numbers)  # type: ignore[arg-type]
        case ast.Name(), ast.Call(ast.Name("reversed"), [inner], []):
            counted = _counted_values(target, inner, known)
            return None if counted is None else (counted[0], counted[1][::-1])
        case ast.Tuple([ast.Name(name), *_]), ast.Call(ast.Name("enumerate"), [inner, *rest], []):
            count, first = _length(inner, known), number_of(rest[0], known) if rest else 0
            return None if count is None or first is None else (name, range(first, first + count))
        case ast.Tuple(targets), ast.Call(ast.Name("zip"), parts, []):
            each = (_counted_values(one, part, known) for one, part in zip(targets, parts, strict=False))
            return next(filter(None, each), None)
    return None


def number_of(tree: ast.AST, known: Mapping[str, Any]) -> int | None:
    """Return the whole number that an expression of known variables is; None if it is none, or not certain."""
    match tree:
        case ast.Constant(int() as value):
            return int(value)
        case ast.Name(name) if type(known.get(name)) is int:
            return int(known[name])
        case ast.UnaryOp(ast.USub(), operand) if (number := number_of(operand, known)) is not None:
            return -number
        case ast.BinOp(left, ast.Add() | ast.Sub() as sign, right):
            a, b = number_of(left, known), number_of(right, known)
            return None if a is None or b is None else a + b if isinstance(sign, ast.Add) else a - b
        case ast.Call(ast.Name("len"), [operand], []):
            return _length(operand, known)
        case ast.Subscript(ast.Attribute(ast.Name(name), "shape"), ast.Constant(int() as dim)) | ast.Call(
            ast.Attribute(ast.Name(name), "size"), [ast.Constant(int() as dim)], []
        ):
            shape: tuple[Any, ...] = tuple(getattr(known.get(name), "shape", ()))
            return int(shape[dim]) if -len(shape) <= dim < len(shape) else None
    return None


def _length(tree: ast.expr, known: Mapping[str, Any]) -> int | None:
    value: Any = known.get(tree.id) if isinstance(tree, ast.Name) else None
    if type(value) in (list, tuple, range, str):
        return len(value)
    shape: tuple[Any, ...] = tuple(getattr(value, "shape", ()))
    return int(shape[0]) if shape else None
