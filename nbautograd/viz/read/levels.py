"""Levels of a graph: how it is drawn from further away, one level of segments closed after the other.

The levels nest. From level ``n`` on segments are closed that lie ``n`` deep, counted from the outermost: level 1 draws
whole modules, whole loops and whole lines of code, of many of them a few stretches; each further level opens one more,
and what is left are operations.
Modules that hold no others are closed at each of them.
A loop counts once, with all of its turns, also where the first or the last is a little different.

Loops of a program are found in a drawn graph: the nodes of each step, and the tensors that steps share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any

from nbautograd.viz.language import once, say
from nbautograd.viz.read import fold
from nbautograd.viz.read.model import Edge, GraphModel
from nbautograd.viz.read.segments import Segment, Turns, label_of, name_of

__all__ = ["Loop", "count", "divide", "loop_of", "view"]

MIN_ALIKE_LAYERS = 3  # that form one segment
MIN_UNITS, MIN_OPS = 3, 6  # a graph with this many has its units joined in stretches
MAX_STRETCHES = 4
LOOPS = ("loop", "turns")  # of equal steps, and of all turns of a loop in the code
Key = tuple[int, int]


# -- loops and lines of the code -----------------------------------------------------------------------


def divide(tree: Segment, turns: Turns, lines: Sequence[Any], scopes: Sequence[tuple[Any, ...]]) -> None:
    """Add the structure of the code to the tree: all turns of a loop as one segment, and the operations of one line.

    :param turns: of each operation, in which turns of which loops it ran, see ``segments``.
    :param lines: for each operation its file and line; None if unknown.
    :param scopes: of each operation that uses a parameter the blocks in which it ran; of the others nothing.
    """
    if turns:
        _join_turns(tree, turns, frozenset())
    _join_layers(tree, scopes, 0)
    _join_lines(tree, lines)


def _join_layers(segment: Segment, scopes: Sequence[tuple[Any, ...]], depth: int) -> None:
    """A layer of one operation as a segment, so that its parameters are in it; equal layers one after the other."""
    for i, child in enumerate(segment.children):
        if child.children:
            _join_layers(child, scopes, depth + (child.kind == "scope"))
        elif len(scopes[child.start]) > depth:
            label = label_of(scopes[child.start][-1])
            segment.children[i] = Segment(child.start, child.stop, "scope", label, children=[child])
    if segment.kind in LOOPS:
        return
    children: list[Segment] = []
    for name, run in groupby(segment.children, _layer_of):
        parts = list(run)
        times = sum([part.times or 1 for part in parts])
        if name and times >= MIN_ALIKE_LAYERS and 1 < len(parts) < len(segment.children):
            parts = [Segment(parts[0].start, parts[-1].stop, "turns", f"×{times}", times, children=parts)]
        children += parts
    segment.children = children


def _layer_of(segment: Segment) -> str:
    """The class of a layer, or of all layers of a loop; nothing without one."""
    if segment.kind in LOOPS:
        own = {_layer_of(child) for child in segment.children}
        return own.pop() if len(own) == 1 else ""
    return segment.label if segment.kind == "scope" else ""


def _join_turns(segment: Segment, turns: Turns, done: frozenset[Key]) -> None:
    children: list[Segment] = []
    for key, run in groupby(segment.children, lambda child: _loop_of(child, turns, done)):
        parts = list(run)
        names = _turns_in(parts, turns, key) if key is not None else []
        inside = done
        if key is not None and len(names) > 1:
            inside = done | {key}
            if len(parts) > 1 or parts[0].kind != "loop":
                steps = list(_steps(parts, turns, key))
                if segment.kind != "run" and (parts[0].start, parts[-1].stop) == (segment.start, segment.stop):
                    parts = steps
                elif len(steps) > 1:
                    label = f"×{len(names)}"
                    parts = [Segment(steps[0].start, steps[-1].stop, "turns", label, len(names), children=steps)]
        for part in parts:
            if part.children:
                _join_turns(part, turns, inside)
        children += parts
    segment.children = children


def _loop_of(segment: Segment, turns: Turns, done: frozenset[Key]) -> Key | None:
    """The outermost loop in which most of a segment ran, without those that are known around it."""
    own = turns[segment.start : segment.stop]
    counts = Counter([key for turn in own for key in turn if key not in done])
    return min((key for key, count in counts.items() if 2 * count > len(own)), default=None)


def _turns_in(parts: Sequence[Segment], turns: Turns, key: Key) -> list[str]:
    own = turns[parts[0].start : parts[-1].stop]
    return [str(turn) for turn in dict.fromkeys([turn[key] for turn in own if key in turn])]


def _steps(parts: Sequence[Segment], turns: Turns, key: Key) -> Iterator[Segment]:
    """Loops as they are; what is beside them, such as a first turn that is a little different, as steps."""

    def turn(part: Segment) -> str | None:
        names = _turns_in([part], turns, key)
        return names[0] if names and part.kind != "loop" else None

    for name, run in groupby(parts, turn):
        own = list(run)
        if name is None or len(own) == 1:
            yield from own
        else:
            yield Segment(own[0].start, own[-1].stop, "step", name, children=own)


def _join_lines(segment: Segment, lines: Sequence[Any]) -> None:
    def line(child: Segment) -> Any:
        own = set(lines[child.start : child.stop] if child.kind in ("op", "scope") else ())
        return own.pop() if len(own) == 1 else None

    for child in segment.children:
        if child.children:
            _join_lines(child, lines)
    if segment.kind in LOOPS:
        return
    runs = [(key, list(run)) for key, run in groupby(segment.children, line)]
    if len(runs) > 1:
        segment.children = []
        for key, run in runs:
            joins = key is not None and len(run) > 1 and any(not child.children for child in run)
            segment.children += [Segment(run[0].start, run[-1].stop, "line", children=run)] if joins else run


# -- levels -----------------------------------------------------------------------


def _deep(segment: Segment, depth: int = 0) -> list[tuple[int, Segment]]:
    """All segments of several operations with how deep they lie; of a loop in a loop, all turns but one, as its own."""
    found: list[tuple[int, Segment]] = []
    for child in segment.children:
        if child.children:
            own = depth + (not (depth and child.kind == "loop" and segment.kind in LOOPS))
            found += [(own, child), *_deep(child, own)]
    return found


def count(model: GraphModel) -> int:
    """Return the number of levels, without the one at which all operations are drawn."""
    tree = model.entire.tree
    return max((depth for depth, _ in _deep(tree)), default=0) + _is_long(tree) if tree is not None else 0


def _is_long(tree: Segment) -> bool:
    return len(tree.children) >= MIN_UNITS and tree.stop >= MIN_OPS


def _in_stretches(tree: Segment) -> Segment:
    """A tree whose units are joined in a few stretches, so that the coarsest level is always small."""
    units = tree.children
    count = min(MAX_STRETCHES, max(len(units) // 2, 2))
    runs = [units[a:b] for a, b in pairwise(i * len(units) // count for i in range(count + 1))]
    joined = [run[0] if len(run) == 1 else Segment(run[0].start, run[-1].stop, "stretch", children=run) for run in runs]
    return replace(tree, children=joined)


def view(model: GraphModel, level: int, opened: Collection[str] = (), *, alone: bool = False) -> GraphModel:
    """Return the graph at a level, with some of its closed groups open.

    :param opened: ids or labels of those groups; inside of them the next level is seen.
    :param alone: draw all that is before and after the innermost of them as one box each.
    """
    whole = model.entire
    tree = whole.tree
    if _is_long(tree):
        tree, level = (_in_stretches(tree), 1) if level == 1 else (tree, level - 1)
    segments = tree.inner()
    kept = fold.Kept(segments, opened)
    _close(tree, segments, kept, level)
    if alone:
        inner = [segment for segment in segments if segment in kept and segment is not tree]
        if inner:
            tree = _beside(tree, min(inner, key=lambda one: one.stop - one.start))
    seen = fold.collapse(whole, tree)
    known = {**whole.stands, **seen.stands}
    others: dict[str, str] = {}  # a box drawn for several nodes, which steps may refer to
    for key, stand in model.stands.items():
        if stand and stand not in whole.by_id:
            others.setdefault(stand, known.get(key, key))
    return replace(seen, stands={**others, **seen.stands}, handles=seen.handles)


def _close(tree: Segment, segments: Sequence[Segment], kept: fold.Kept, level: int) -> None:
    """Close the groups of a level, and the innermost ones."""
    for segment in segments:
        segment.closed = False
    for depth, segment in _deep(tree):
        innermost = segment.kind == "scope" and not any(child.children for child in segment.children)
        segment.closed = (depth >= level or innermost) and segment not in kept
    for segment in segments:
        if segment.kind in LOOPS and not segment.closed:
            for child in segment.children:
                child.closed = child.closed and child.kind != "loop"  # which is not a level of its own


def _beside(tree: Segment, own: Segment) -> Segment:
    """A segment with all that is before it as one, and all that is after it."""
    units = tree.shown()
    parts = [[unit for unit in units if unit.stop <= own.start], [unit for unit in units if unit.start >= own.stop]]
    rails = []
    for name, part in zip(("rail_before", "rail_after"), parts, strict=True):
        closed = len(part) > 1
        rails.append([Segment(part[0].start, part[-1].stop, "rail", say(name), children=part, closed=True)]
                     if closed else part)  # fmt: skip
    return replace(tree, children=[*rails[0], own, *rails[1]])


# -- loops of a program ---------------------------------------------------------------------


MIN_STEPS = 3  # that are drawn
MIN_SHARED = 0.75  # of the steps pass tensors on and use a shared weight
MIN_INSIDE = 0.5  # of the drawn operations are inside the loop

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop with shared weights: ``place`` has of each node its step, -1 before the first, ``steps`` after the last.

    What several steps use, and no step makes, is one of the ``shared``, which have no place.
    """

    steps: int
    place: Mapping[str, int]
    shared: tuple[str, ...]
    names: tuple[str, ...] = ()
    """The names of the turns, as the code counts them."""


@once
def loop_of(model: GraphModel) -> Loop | None:
    """The loop that most of a drawing is, if its steps share weights and each hands something on to the next."""
    spans = _spans(model)
    place, count = _columns(model, spans) if spans else None, len(spans)
    if place is None:
        return None
    drawn = [node.id for node in model.nodes if node.kind in ("op", "group")]
    if sum(0 <= place.get(key, -1) < count for key in drawn) < MIN_INSIDE * len(drawn):
        return None
    shared = _place_others(model, place, count)
    turns = model.entire.turns
    names = tuple(name_of(turns[start:stop]) or say("turn_n", n=n) for n, (start, stop) in enumerate(spans))
    return Loop(count, place, tuple(shared), names) if _hangs_together(model, place, shared, count) else None


def _spans(model: GraphModel) -> list[Span]:
    """Return the start and end of each step of the longest loop, in the order of operations."""
    segments = () if model.tree is None else model.tree.inner()
    loops = [one for one in segments if one.kind == "loop" and one.times >= MIN_STEPS]
    if not loops:
        return []
    longest = max(loops, key=lambda one: (one.stop - one.start, one.times))
    spans = [(step.start, step.stop) for step in _steps_of(longest)]
    first, length = spans[0][0], spans[0][1] - spans[0][0]
    names = [model.entire.by_id[key].name for key in model.order[: first + length]]
    begins = max(first - length, 0)
    step, before = Counter(names[first:]), Counter(names[begins:first])
    if first - begins >= MIN_SHARED * length and not before - step and (first <= length or before == step):
        spans.insert(0, (begins, first))  # a first step, which only starts differently
    return spans


def _steps_of(loop: Segment) -> list[Segment]:
    rest = loop.children[0]
    if rest.kind == "loop" and rest.times == loop.times - 1:
        return [*rest.children, *loop.children[1:]]
    return loop.children


def _columns(model: GraphModel, spans: Sequence[Span]) -> dict[str, int] | None:
    """The step of each operation that is drawn; None where steps are drawn together."""
    stands, order = model.stands, model.order
    place: dict[str, int] = {}
    for number, (start, stop) in enumerate(spans):
        ids = {drawn for key in order[start:stop] if (drawn := stands.get(key, key))}
        if not ids or any(key in place for key in ids):  # a group stands for several steps
            return None
        place.update(dict.fromkeys(ids, number))
    for outside, where in ((order[: spans[0][0]], -1), (order[spans[-1][1] :], len(spans))):
        for key in outside:
            drawn = stands.get(key, key)
            if place.setdefault(drawn, where) != where:
                return None  # a group with operations inside and outside
    return place


def _place_others(model: GraphModel, place: dict[str, int], count: int) -> list[str]:
    """Places for nodes that are no operations; return those that several steps share."""
    users: dict[str, set[int]] = {}
    for edge in model.edges:
        if edge.kind == "result" and edge.dst not in place:
            place[edge.dst] = place.get(edge.src, count)
    for edge in model.edges:
        if edge.src not in place or model.by_id[edge.src].kind in ("leaf", "pile", "constant"):
            users.setdefault(edge.src, set()).add(place.get(edge.dst, count))
    shared = []
    for node in model.nodes:
        if node.id in place:
            continue
        own = users.get(node.id, {count})
        if len(own) > 1:
            shared.append(node.id)
        else:
            place[node.id] = next(iter(own))
    return shared


def _hangs_together(model: GraphModel, place: Mapping[str, int], shared: Sequence[str], count: int) -> bool:
    """Return whether most steps share a weight, and most pass something to the next one or to the code that follows."""
    handed: set[int] = set()
    uses: dict[str, set[int]] = {key: set() for key in shared}
    for edge in model.edges:
        to = place[edge.dst]
        if edge.src in uses:
            uses[edge.src].add(to)
            continue
        at = place[edge.src]
        if 0 <= at < count and to != at:
            if to not in (at + 1, count):
                return False
            if to < count:
                handed.add(at)
        elif at > to:
            return False
    weights = [len(own - {-1, count}) for key, own in uses.items() if model.by_id[key].kind in ("leaf", "pile")]
    return len(handed) >= MIN_SHARED * (count - 1) and max(weights, default=0) >= max(MIN_STEPS, MIN_SHARED * count)


def inside(edge: Edge, loop: Loop) -> bool:
    """Return whether an edge stays within one step, or before or after them."""
    return edge.src not in loop.shared and loop.place[edge.src] == loop.place[edge.dst]
