"""Find loops of a program in a drawn graph: the nodes of each step, and the tensors that steps share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nbautograd.viz.language import once, say
from nbautograd.viz.read.model import Edge, GraphModel
from nbautograd.viz.read.segments import Segment, name_of

__all__ = ["Loop", "loop_of"]

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


def loop_of(model: GraphModel) -> Loop | None:
    """The loop that most of a drawing is, if its steps share weights and each hands something on to the next."""
    return once(model.texts, "loop", _found, model)


def _found(model: GraphModel) -> Loop | None:
    spans = _spans(model)
    if not spans:
        return None
    place, count = _columns(model, spans), len(spans)
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
    if model.tree is None:
        return []
    loops = [one for one in model.tree.inner() if one.kind == "loop" and one.times >= MIN_STEPS]
    if not loops:
        return []
    longest = max(loops, key=lambda one: (one.stop - one.start, one.times))
    spans = [(step.start, step.stop) for step in _steps(longest)]
    first, length = spans[0][0], spans[0][1] - spans[0][0]
    names = [model.entire.by_id[key].name for key in model.order[: first + length]]
    begins = max(first - length, 0)
    step, before = Counter(names[first:]), Counter(names[begins:first])
    if first - begins >= MIN_SHARED * length and not before - step and (first <= length or before == step):
        spans.insert(0, (begins, first))  # a first step, which only starts differently
    return spans


def _steps(loop: Segment) -> list[Segment]:
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
