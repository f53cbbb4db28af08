"""Large graphs made small: what repeats, what has a name and what merely follows is drawn as one node.

Operations are taken in the order in which they ran. Any stretch of that order may be drawn as one node, because no path
leads out of a stretch and back into it: what comes between two operations ran between them. So the drawing never gets a
cycle, whatever is folded.

1. :func:`plan` makes a tree of stretches: blocks with a name (``scope``), loops (the same structure several times in
   succession), their steps.
2. :func:`choose` closes stretches until a number of nodes is not exceeded: first all but the last step of each loop,
   then inner blocks before outer ones, then whatever follows each other.
3. :func:`collapse` draws closed stretches as one node each, and leaves that go to the same groups as one pile.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nbautograd.viz import formulas
from nbautograd.viz.escape import one_line
from nbautograd.viz.parts import Edge, GraphModel, Group, Node

__all__ = ["BUDGET", "Piece", "allowed", "choose", "collapse", "plan", "view"]

BUDGET = 200
"""Nodes of a drawing; a graph with more folds by itself."""
LONGEST = 600  # pieces of one step of a loop
DEEPEST = 30  # nested scopes
_DIGITS = re.compile("[0-9]+")


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


# -- 1. the tree -----------------------------------------------------------------------


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
        whole = [_piece("step", f"step {i}", s, known) if period > 1 else s[0] for i, s in enumerate(steps, 1)]
        rest = _piece("loop", f"×{most - 1}", whole[:-1], known, most - 1)
        made.append(_piece("loop", f"×{most}", [rest, whole[-1]], known, most))
    return made + pieces[at:]


# -- 2. what to close -----------------------------------------------------------------------


def choose(tree: Piece, budget: int = BUDGET, opened: Collection[str] = (), *, fold: bool = False) -> Piece:
    """The tree with pieces closed so that at most ``budget`` are drawn, or not many more.

    :param opened: ids of pieces that stay open.
    :param fold: close loops also where the graph is small.
    """
    everything = list(tree.inner())
    for _, piece in everything:
        piece.closed = False
    if not fold and tree.stop - tree.start <= budget:
        return tree
    for _, piece in everything:  # of each loop, all steps but the last
        if piece.kind == "loop" and piece.children[0].kind == "loop" and piece.children[0].times == piece.times - 1:
            piece.children[0].closed = piece.children[0].id not in opened
            if piece.children[0].id in opened:
                for step in piece.children[0].children:
                    step.closed = bool(step.children) and step.id not in opened
    drawn = tree.size()
    if drawn > budget:
        inner = [(depth, piece) for depth, piece in _visible(tree) if piece.id not in opened and depth]
        for _, piece in sorted(inner, key=lambda item: (-item[0], item[1].start)):
            drawn -= piece.size() - 1
            piece.closed = True
            if drawn <= budget:
                break
    return tree if drawn <= budget else _in_runs(tree, budget, opened)


def allowed(ops: int, leaves: int, budget: int) -> int:
    """How many operations may be drawn of a graph with so many operations and leaves."""
    return max(ops, budget) if ops + leaves <= budget else budget * 2 // 3


def _visible(piece: Piece, depth: int = 0) -> Iterator[tuple[int, Piece]]:
    if piece.children and not piece.closed:
        yield depth, piece
        for child in piece.children:
            yield from _visible(child, depth + 1)


def _in_runs(tree: Piece, budget: int, opened: Collection[str]) -> Piece:
    """What is left, in stretches of equal length; the end, next to the result, stays as it is."""
    atoms = list(tree.shown())
    kept = min(24, budget // 4)
    first, last = atoms[:-kept] if kept else atoms, atoms[-kept:] if kept else []
    length = -(-len(first) // max(min(budget - kept, 12), 1))
    made: list[Piece] = []
    for i in range(0, len(first), length):
        run = first[i : i + length]
        piece = Piece(run[0].start, run[-1].stop, "run", children=run)
        piece.closed = piece.id not in opened
        made.append(piece)
    return Piece(tree.start, tree.stop, "run", children=made + last)


# -- 3. the folded graph -----------------------------------------------------------------------


def view(model: GraphModel, budget: int = BUDGET, opened: Collection[str] = (), *, fold: bool = False) -> GraphModel:
    """A model with other groups open or closed; of a folded one, its whole is taken.

    :param opened: ids of groups that stay open.
    :param fold: close loops also where the graph is small.
    """
    whole = model.whole or model
    if whole.tree is None:
        return whole
    ops = allowed(len(whole.order), len(whole.leaves), budget)
    return collapse(whole, choose(whole.tree, ops, opened, fold=fold), budget)


def groups_of(tree: Piece, order: Sequence[str]) -> tuple[Group, ...]:
    """The tree as plain data."""
    found: list[Group] = []

    def write(piece: Piece, parent: str, root: bool) -> None:
        if not root:
            members = tuple(order[piece.start : piece.stop])
            found.append(Group(piece.id, piece.kind, piece.label, piece.times, members, parent, piece.closed))
        for child in piece.children if not piece.closed else ():
            if child.children:
                write(child, "" if root else piece.id, False)

    write(tree, "", True)
    return tuple(found)


def collapse(model: GraphModel, tree: Piece, budget: int = BUDGET) -> GraphModel:
    """The model with each closed piece of the tree as one node."""
    order = model.order
    closed = [piece for piece in tree.shown() if piece.closed]
    groups = groups_of(tree, order)
    if not closed:
        return replace(model, groups=groups, handles=model.handles)
    stands = {key: piece.id for piece in closed for key in order[piece.start : piece.stop]}
    hidden = _hide_boxes(model, stands)
    stands |= _pile(model, stands, max(24, budget // 4))
    piles = Counter(key for node, key in stands.items() if model.by_id[node].kind == "leaf")
    about = {piece.id: _group_node(model, piece) for piece in closed}
    nodes: dict[str, Node] = {}
    for node in model.nodes:
        key = stands.get(node.id, node.id)
        if node.id in hidden or key in nodes:
            continue
        nodes[key] = node if key == node.id else about[key] if key in about else _pile_node(model, key, stands, piles)
    edges: dict[Any, Edge] = {}
    for edge in model.edges:
        src, dst = stands.get(edge.src, edge.src), stands.get(edge.dst, edge.dst)
        if src == dst or src not in nodes or dst not in nodes:
            continue
        folded = dst in about or src in piles
        same = (src, dst) if folded else (src, dst, edge.slot, edge.kind)
        if same in edges:
            edges[same] = replace(edges[same], count=edges[same].count + edge.count)
        else:  # slots of groups are numbers that no operation has
            edges[same] = replace(edge, src=src, dst=dst, slot=10_000 + len(edges) if folded else edge.slot)
    handles = model.handles
    live = replace(handles, ops={node: stands.get(key, key) for node, key in handles.ops.items()})
    live.leaves = {number: stands.get(key, key) for number, key in handles.leaves.items()}
    drawn = sum(node.kind == "op" for node in nodes.values())
    many = f"{len(closed)} groups" if len(closed) > 1 else "one group"
    said = f"folded: of {len(order):,} operations {drawn:,} are drawn one by one, the others in {many}"
    return GraphModel(
        tuple(nodes.values()),
        tuple(edges.values()),
        tuple(stands.get(root, root) for root in model.roots),
        live,
        groups,
        (*model.notes, said),
        model,
        model.counts or (len(model.leaves), len(order)),
        order=model.order,
        tree=tree,
    )


def _hide_boxes(model: GraphModel, stands: dict[str, str]) -> set[str]:
    """Boxes that are not drawn: results inside groups, which the group stands for, and constants that only go there."""
    hidden: set[str] = set()
    uses: dict[str, bool] = {}
    for edge in model.edges:
        if edge.kind == "result" and edge.src in stands and model.by_id[edge.dst].kind == "tensor":
            stands[edge.dst] = stands[edge.src]
        if edge.kind == "constant":
            uses[edge.src] = uses.get(edge.src, False) or edge.dst not in stands
    more = {edge.src for edge in model.edges if model.by_id[edge.src].symbol == "⋯"}
    return hidden | {key for key, used in uses.items() if not used and key not in more}


def _pile(model: GraphModel, stands: dict[str, str], most: int) -> dict[str, str]:
    """Which leaves are drawn as one: those that only go to the same groups and, where that leaves too many, others."""
    leaves = [node.id for node in model.leaves if node.id not in model.roots]
    users: dict[str, dict[str, None]] = {key: {} for key in leaves}
    for edge in model.edges:
        if edge.src in users:
            users[edge.src][stands.get(edge.dst, edge.dst)] = None
    groups = set(stands.values())
    found: dict[str, str] = {}
    for by_name in (True, False):
        alike: dict[tuple[str, ...], list[str]] = {}
        for key in leaves:
            if key not in found and groups.issuperset(users[key]):
                stem = _DIGITS.sub("", model.by_id[key].name) if by_name else ""
                alike.setdefault((stem, *sorted(users[key])), []).append(key)
        for keys in alike.values():
            if len(keys) > 3:
                found |= dict.fromkeys(keys, f"{keys[0]}s")
    alone = [key for key in leaves if key not in found]
    if len(alone) > most:  # then by neighbourhood, in the order of the drawing
        length = -(-len(alone) // most)
        for i in range(0, len(alone), length):
            found |= dict.fromkeys(alone[i : i + length], f"{alone[i]}s")
    return found


def _pile_node(model: GraphModel, key: str, stands: dict[str, str], piles: Counter[str]) -> Node:
    own = [model.by_id[node] for node, pile in stands.items() if pile == key]
    arrivals = sum(node.arrivals for node in own)
    ends = (own[0].name, own[-1].name)  # as the walk met them; in the order of their numbers where they have some
    low, high = sorted(ends, key=lambda name: [int(n) for n in _DIGITS.findall(name)[:4] if len(n) < 10])
    names = f"{low} … {high}"
    shapes = {node.shape for node in own}
    return Node(
        key,
        "group",
        one_line(names, 40),
        label="leaves",
        symbol=f"{piles[key]:,} leaves",
        shape=shapes.pop() if len(shapes) == 1 else "",
        dtype=own[0].dtype if len({node.dtype for node in own}) == 1 else "",
        arrivals=arrivals,
        members=piles[key],
        nbytes=sum(node.nbytes for node in own),
        notes=(", ".join(node.name for node in own[:12]) + (", …" if len(own) > 12 else ""),),
    )


def _group_node(model: GraphModel, piece: Piece) -> Node:
    own = [model.by_id[key] for key in model.order[piece.start : piece.stop]]
    step = own[-(len(own) // piece.times) :] if piece.times else own
    names = [formulas.base(node.name).lower() for node in step]
    kinds = Counter(names)
    if len(names) <= 8:
        shown = " · ".join(names)
    else:
        shown = " · ".join(f"{name} ×{count}" if count > 1 else name for name, count in kinds.most_common(4))
        shown += " · …" * (len(kinds) > 4)
    places = list(dict.fromkeys((node.where, node.source) for node in step if node.where))
    many = f"{len(own):,} operation{'s' * (len(own) != 1)}"
    return Node(
        piece.id,
        "group",
        one_line(shown, 60),
        label=many,
        symbol={"loop": f"×{piece.times:,}", "scope": piece.label, "step": piece.label}.get(piece.kind, many),
        where=places[-1][0] if places else "",
        source=places[-1][1] if len(places) == 1 else "",
        saved=None,
        scope=own[0].scope,
        members=len(own),
        times=piece.times,
    )
