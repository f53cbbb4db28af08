"""Make large graphs small: draw repeated, named or consecutive operations as one node.

Operations are taken in running order. Any segment of that order may be drawn as one node, because no path leads out of
a segment and back into it: all operations between two others ran between them. So the drawing never gets a cycle,
whatever is folded.

1. ``segments.plan`` makes a tree of segments: blocks with a name (``scope``), loops (the same structure several
   times in succession), their steps.
2. :func:`choose` closes segments: layers, where there are some, so that they are seen first; then, until a number of
   nodes is not exceeded, all but the last step of each loop, inner blocks before outer ones, whatever follows.
3. :func:`collapse` draws closed segments as one node each, and leaves that go to the same groups as one pile.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from nbautograd.viz.escape import one_line
from nbautograd.viz.language import say
from nbautograd.viz.read import formulas
from nbautograd.viz.read.model import Edge, GraphModel, Group, Node
from nbautograd.viz.read.segments import Segment, plan

__all__ = ["MAX_DRAWN_NODES", "Kept", "Segment", "allowed", "choose", "collapse", "nearest", "plan", "view"]

MAX_DRAWN_NODES = 200
"""Nodes of a graph that is drawn whole; one with more folds by itself."""
MAX_TITLE_NAMES = 4  # variables in the title of a group
MAX_DRAWN_LAYERS = 24
"""Layers, and operations between them, that are all drawn; beyond it, the steps of a loop are folded as well."""
_DIGITS = re.compile("[0-9]+")
_ID = re.compile("g([0-9]{1,9})_([0-9]{1,9})")


# -- 2. what to close -----------------------------------------------------------------------


def choose(
    tree: Segment, budget: int = MAX_DRAWN_NODES, opened: Collection[str] = (), *, fold: bool | None = False
) -> Segment:
    """The tree with segments closed so that at most ``budget`` are drawn, or not many more.

    :param opened: ids or labels of segments that stay open, and all around them with them.
    :param fold: True closes layers and loops also where the graph is small; None only layers, if there are several.
    """
    everything = tree.inner()
    for segment in everything:
        segment.closed = False
    kept = Kept(everything, opened)
    if fold is not False:
        _close_layers(tree, kept)
    layered = fold is None and any(segment.closed for segment in everything)
    if not fold and tree.size() <= (min(budget, MAX_DRAWN_LAYERS) if layered else budget):
        return tree
    _close_early_steps(everything, kept)
    _close_inner(tree, budget, kept)
    return tree if tree.size() <= budget else _in_runs(tree, budget, kept)


def _close_early_steps(segments: Sequence[Segment], kept: Kept) -> None:
    """Close all steps of loops except the last."""
    for segment in segments:
        if segment.kind == "loop" and (rest := segment.children[0]).kind == "loop" and rest.times == segment.times - 1:
            _close([rest], kept)
            if not rest.closed:
                _close(rest.children, kept)


def _close_inner(tree: Segment, budget: int, kept: Kept) -> None:
    """Close inner segments before outer ones until at most ``budget`` nodes are drawn."""
    drawn = tree.size()
    inner = [(depth, segment) for depth, segment in _visible(tree) if depth and segment not in kept]
    for _, segment in sorted(inner, key=lambda item: (-item[0], item[1].start)):
        if drawn <= budget:
            break
        drawn -= segment.size() - 1
        segment.closed = True


class Kept:
    """Which segments stay open: those that were asked for, and those around them."""

    def __init__(self, segments: Sequence[Segment], opened: Collection[str]) -> None:
        asked = map(_ID.fullmatch, opened)
        self.segments = {(int(match[1]), int(match[2])) for match in asked if match}
        self.segments |= {(one.start, one.stop) for one in segments if one.label and one.label in opened}

    def __contains__(self, segment: Segment) -> bool:
        return any(segment.start <= start and stop <= segment.stop for start, stop in self.segments)


def _close(segments: Iterable[Segment], kept: Kept) -> None:
    for segment in segments:
        segment.closed = bool(segment.children) and segment not in kept


def _close_layers(tree: Segment, kept: Kept) -> None:
    """Close the layers of a segment; of one that stays open, those inside it."""
    layers = _layers(tree)
    _close(layers, kept)
    for layer in layers:
        if not layer.closed:
            _close_layers(layer, kept)


def _layers(tree: Segment) -> list[Segment]:
    """The outermost blocks with names; of a single one, those inside it; none if there are not several."""
    blocks = _blocks(tree)
    while len(blocks) == 1:
        blocks = _blocks(blocks[0])
    return blocks


def _blocks(segment: Segment) -> list[Segment]:
    blocks: list[Segment] = []
    for child in segment.children:
        blocks += [child] if child.kind == "scope" else _blocks(child)
    return blocks


def allowed(ops: int, leaves: int, budget: int) -> int:
    """Return the number of operations to draw of a graph with this many operations and leaves."""
    return max(ops, budget) if ops + leaves <= budget else budget * 2 // 3


def _visible(segment: Segment, depth: int = 0) -> Iterator[tuple[int, Segment]]:
    if segment.children and not segment.closed:
        yield depth, segment
        for child in segment.children:
            yield from _visible(child, depth + 1)


def _in_runs(tree: Segment, budget: int, kept: Kept) -> Segment:
    """Fold the rest into segments of equal length; the end, next to the result, and ``kept`` stay as they are."""
    atoms = list(_units(tree, kept))
    last = min(24, budget // 4)
    first, end = (atoms[:-last], atoms[-last:]) if last else (atoms, [])
    length = max(-(-len(first) // max(min(budget - last, 12), 1)), 2)
    units: list[Segment] = []
    run: list[Segment] = []
    for atom in [*first, None]:
        if run and (atom is None or atom in kept or len(run) == length):
            segment = Segment(run[0].start, run[-1].stop, "run", children=run)
            segment.closed = segment not in kept
            units += run if len(run) == 1 else [segment]
            run = []
        if atom is not None:
            (units if atom in kept else run).append(atom)
    large = [one for one in [*units, *end] if one.size() > budget and one.children != atoms]  # else nothing changes
    divided = [_in_runs(one, budget * 2 // 3, kept) if one in large else one for one in [*units, *end]]
    return Segment(tree.start, tree.stop, tree.kind, tree.label, tree.times, tree.code, divided)


def _units(tree: Segment, kept: Kept) -> Iterator[Segment]:
    """Yield the segments that are drawn for a segment, unless they are inside of one that stays open."""
    for child in tree.children:
        if child.closed or not child.children or child in kept:
            yield child
        else:
            yield from _units(child, kept)


# -- 3. the folded graph -----------------------------------------------------------------------


def view(
    model: GraphModel, budget: int = MAX_DRAWN_NODES, opened: Collection[str] = (), *, fold: bool | None = False
) -> GraphModel:
    """A model with other groups open or closed; of a folded one, its whole is taken.

    :param opened: ids or labels of groups that stay open.
    :param fold: as for :func:`choose`.
    """
    whole = model.entire
    if whole.tree is None:
        return whole
    ops = allowed(len(whole.order), len(whole.leaves), budget)
    return collapse(whole, choose(whole.tree, ops, opened, fold=fold), budget)


def nearest(model: GraphModel, depth: int) -> GraphModel:
    """The part of a graph that is at most ``depth`` operations from its roots; ``⋯`` stands for the rest.

    Groups count as one operation. What is left out cannot be opened.
    """
    kept = _near(model, depth)
    nodes = [node for node in model.nodes if node.id in kept]
    edges = []
    for edge in model.edges:
        if edge.dst in kept and edge.src in kept:
            edges.append(edge)
        elif edge.dst in kept:
            nodes.append(Node(f"m{edge.id}", "constant", "⋯"))
            edges.append(replace(edge, src=f"m{edge.id}", kind="constant"))
    groups = tuple(group for group in model.groups if group.id in kept or not group.closed and kept & {*group.members})
    said = (say("nearest", n=depth),) if len(nodes) < len(model.nodes) else ()
    return replace(
        model, nodes=tuple(nodes), edges=tuple(edges), groups=groups, notes=(*model.notes, *said), counts=model.counted,
        handles=model.handles, whole=None, tree=None, stands={},
    )  # fmt: skip


def _near(model: GraphModel, depth: int) -> set[str]:
    """Return the nodes with at most ``depth`` operations between them and the roots."""
    into: dict[str, list[str]] = {}
    for edge in model.edges:
        into.setdefault(edge.dst, []).append(edge.src)
    near, now = dict.fromkeys(model.roots, 0), list(model.roots)
    while now:
        later = []
        for key in now:
            for src in into.get(key, ()) if near[key] <= depth else ():
                steps = near[key] + (model.by_id[src].kind in ("op", "group"))
                if steps < near.get(src, sys.maxsize):
                    near[src] = steps
                    later.append(src)
        now = later
    return {key for key, steps in near.items() if steps <= depth}


def groups_of(tree: Segment, order: Sequence[str]) -> tuple[Group, ...]:
    """The tree as plain data."""
    groups: list[Group] = []

    def write(segment: Segment, parent: str) -> None:
        for one in segment.children if not segment.closed else ():
            if one.children:
                members = tuple(order[one.start : one.stop])
                groups.append(Group(one.id, one.kind, one.label, one.times, members, parent, one.closed))
                write(one, one.id)

    write(tree, "")
    return tuple(groups)


def collapse(model: GraphModel, tree: Segment, budget: int = MAX_DRAWN_NODES) -> GraphModel:
    """The model with each closed segment of the tree as one node."""
    closed = tree.folded()
    groups = groups_of(tree, model.order)
    if not closed:
        return model if groups == model.groups else replace(model, groups=groups, handles=model.handles)
    stands: dict[str, str] = {}
    inner: dict[str, str] = {}
    for segment in closed:
        stands |= dict.fromkeys(model.order[segment.start : segment.stop], segment.id)
        inner |= dict.fromkeys([one.id for one in segment.inner()[1:]], segment.id)
    hidden = _hide_boxes(model, stands)
    parameters = _parameters(model, stands)
    stands |= parameters
    piled = _pile(model, stands, max(24, budget // 4))
    stands |= piled
    leaves, results = _leaves_of(model), _results_of(model)
    held, piles = Counter(parameters.values()), Counter(piled.values())
    about = {one.id: replace(_group_node(model, one, leaves, results), parameters=held[one.id]) for one in closed}
    nodes = _drawn_nodes(model, hidden, stands, about, piles)
    edges, lines = _merged_edges(model, stands, nodes, about, piles)
    drawn_for = {key: stands[key] if stands.get(key) in nodes else "" for key in model.by_id if key not in nodes}
    ops = sum(node.kind == "op" for node in nodes.values())
    said = say("folded", ops=len(model.order), n=ops, groups=say("in_groups", n=len(closed)))
    return GraphModel(
        tuple(nodes.values()), edges, tuple(stands.get(root, root) for root in model.roots), model.handles, groups,
        (*model.notes, said), model, model.counted, order=model.order, tree=tree, stands=inner | drawn_for | lines,
    )  # fmt: skip


def _drawn_nodes(
    model: GraphModel, hidden: set[str], stands: Mapping[str, str], about: Mapping[str, Node], piles: Counter[str]
) -> dict[str, Node]:
    """The nodes of the folded graph by id, each at the place of the first that it stands for."""
    nodes: dict[str, Node] = {}
    for node in model.nodes:
        key = stands.get(node.id, node.id)
        if node.id in hidden or key in nodes:
            continue
        known = node if key == node.id else about.get(key)
        nodes[key] = _pile_node(model, key, stands, piles) if known is None else known
    return nodes


def _merged_edges(
    model: GraphModel, stands: Mapping[str, str], nodes: Collection[str], groups: Collection[str],
    piles: Collection[str],
) -> tuple[tuple[Edge, ...], dict[str, str]]:  # fmt: skip
    """The edges of the folded graph, and for each edge that is not among them the one that is drawn for it, or nothing.

    Parallel edges into a group, or out of a pile, are drawn as one.
    """
    edges: dict[Any, Edge] = {}
    drawn_for: dict[str, str] = {}
    made = {edge.dst: stands[edge.src] for edge in model.edges if edge.kind == "result" and edge.src in stands}
    for edge in model.edges:
        # Users of a root that a group created use the group.
        src, dst = made.get(edge.src, stands.get(edge.src, edge.src)), stands.get(edge.dst, edge.dst)
        if src == dst or src not in nodes or dst not in nodes:
            drawn_for[edge.id] = ""
            continue
        merges = dst in groups or src in piles
        same = (src, dst) if merges else (src, dst, edge.slot, edge.kind)
        if same in edges:
            edges[same] = replace(edges[same], count=edges[same].count + edge.count)
            drawn_for[edge.id] = edges[same].id
        else:  # slots of groups use numbers that no operation has
            slot = 10_000 + len(edges) if merges else edge.slot
            edges[same] = replace(edge, src=src, dst=dst, slot=slot)
    return tuple(edges.values()), drawn_for


def _hide_boxes(model: GraphModel, stands: dict[str, str]) -> set[str]:
    """Boxes that are not drawn: results inside groups, which the group represents, and constants used only there."""
    uses: dict[str, bool] = {}
    for edge in model.edges:
        if edge.kind == "result" and edge.src in stands and model.by_id[edge.dst].kind == "tensor":
            stands[edge.dst] = stands[edge.src]
        if edge.kind == "constant":
            uses[edge.src] = uses.get(edge.src, False) or edge.dst not in stands
    more = {edge.src for edge in model.edges if model.by_id[edge.src].symbol == "⋯"}
    return {key for key, used in uses.items() if not used and key not in more}


def _users(model: GraphModel, stands: Mapping[str, str]) -> dict[str, dict[str, None]]:
    """Return the users of each leaf that is no root and not inside of a group."""
    leaves = [node.id for node in model.leaves if node.id not in model.roots and node.id not in stands]
    users: dict[str, dict[str, None]] = {key: {} for key in leaves}
    for edge in model.edges:
        if edge.src in users:
            users[edge.src][stands.get(edge.dst, edge.dst)] = None
    return users


def _parameters(model: GraphModel, stands: Mapping[str, str]) -> dict[str, str]:
    """The parameters of modules that only one group uses, with that group: they are drawn inside of it."""
    groups = set(stands.values())
    owners = {key: next(iter(own)) for key, own in _users(model, stands).items() if len(own) == 1}
    inner = {leaf.id for leaf in model.leaves if leaf.parameters and "." in leaf.name}
    return {key: own for key, own in owners.items() if own in groups and key in inner}


def _pile(model: GraphModel, stands: dict[str, str], most: int) -> dict[str, str]:
    """Return the leaves that are drawn as one: those used only by the same groups and, if too many are left, others."""
    users = _users(model, stands)
    groups = set(stands.values())
    piles: dict[str, str] = {}
    for by_name in (True, False):
        alike: dict[tuple[str, ...], list[str]] = {}
        for key in users:
            if key not in piles and groups.issuperset(users[key]):
                name = model.by_id[key].name
                stem = _DIGITS.sub("", name) if by_name and "." not in name else ""  # parameters are grouped by module
                alike.setdefault((stem, *sorted(users[key])), []).append(key)
        for keys in alike.values():
            if len(keys) > 3:
                piles |= dict.fromkeys(keys, f"{keys[0]}s")
    return piles | _neighbors([key for key in users if key not in piles], most)


def _neighbors(leaves: list[str], most: int) -> dict[str, str]:
    """Return leaves, in drawing order, as piles of equal sizes; nothing if there are not too many."""
    length = -(-len(leaves) // most)
    starts = range(0, len(leaves), length) if length > 1 else ()
    return {key: f"{leaves[start]}s" for start in starts for key in leaves[start : start + length]}


def _pile_node(model: GraphModel, key: str, stands: Mapping[str, str], piles: Counter[str]) -> Node:
    own = [model.by_id[node] for node, pile in stands.items() if pile == key]
    names = [node.name for node in own]
    ends = (names[0], names[-1])  # in the order of the walk; by number, if they are numbered
    low, high = sorted(ends, key=lambda name: [int(n) for n in _DIGITS.findall(name)[:4] if len(n) < 10])
    return Node(
        key, "pile", one_line(_owner(names) or f"{low} … {high}", 60), symbol=say("leaf_count", n=piles[key]),
        shape=_common([node.shape for node in own]), dtype=_common([node.dtype for node in own]),
        arrivals=sum(node.arrivals for node in own), members=piles[key], nbytes=sum(node.nbytes for node in own),
        notes=(", ".join(names[:12] + ["…"] * (len(names) > 12)),),
    )  # fmt: skip


def _common(texts: Sequence[str]) -> str:
    return texts[0] if len({*texts}) == 1 else ""


def _leaves_of(model: GraphModel) -> dict[str, list[str]]:
    """The names of the leaves that each operation uses."""
    names: dict[str, list[str]] = {}
    for edge in model.edges:
        if model.by_id[edge.src].kind == "leaf":
            names.setdefault(edge.dst, []).append(model.by_id[edge.src].name)
    return names


def _owner(names: Iterable[str]) -> str:
    """Return the module that has all these leaves as its parameters.

    >>> _owner(["net.0.weight", "net.0.bias"]), _owner(["w", "net.0.bias"])
    ('net.0', '')
    """
    return _within(name.rpartition(".")[0].split(" ")[-1] for name in names)


def _within(modules: Iterable[str]) -> str:
    """The module that all these are parts of, or are.

    >>> _within(["net.0.norm", "net.0"]), _within(["net.0", ""])
    ('net.0', '')
    """
    ends = sorted(set(modules)) or [""]
    both = zip(ends[0].split("."), ends[-1].split("."), strict=False)
    return ".".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], both))


def _results_of(model: GraphModel) -> dict[str, list[str]]:
    """The variables that hold the results of each operation."""
    names = {node.id: [node.label] for node in model.nodes if node.kind == "op" and node.named and node.label}
    for edge in model.edges:
        result = model.by_id[edge.dst]
        if edge.kind == "result" and result.named and result.name not in names.setdefault(edge.src, []):
            names[edge.src].append(result.name)
    return names


def _title(segment: Segment, step: Sequence[Node], results: dict[str, list[str]]) -> str:
    """The variables of a line, or of a turn without its number; a result without one has the operation's name."""
    found = [(name, node) for node in step for name in results.get(node.id, ())]
    if segment.kind in ("loop", "turns"):
        turns = [(name.rstrip("₀₁₂₃₄₅₆₇₈₉"), formulas.called(node.name)) for name, node in found]
        names = list(dict.fromkeys([name for name, operation in turns if name.isidentifier() and name != operation]))
    else:
        names = [name for name, _ in found] if segment.kind in ("line", "stretch") else [segment.label]
    named = ", ".join(names if len(names) <= MAX_TITLE_NAMES else [names[0], "…", *names[2 - MAX_TITLE_NAMES :]])
    return f"{named} ×{segment.times:,}".lstrip() if segment.kind in ("loop", "turns") else named


def _operations(names: list[str]) -> str:
    if len(names) <= 8:
        return " · ".join(names)
    shown = [f"{name} ×{count}" if count > 1 else name for name, count in Counter(names).most_common()]
    return " · ".join(shown if len(shown) <= 4 else [*shown[:4], "…"])


def _group_node(
    model: GraphModel, segment: Segment, leaves: dict[str, list[str]], results: dict[str, list[str]]
) -> Node:
    own = [model.by_id[key] for key in model.order[segment.start : segment.stop]]
    step = own[-(len(own) // segment.times) :] if segment.times else own
    shown = "" if segment.kind == "stretch" else _operations([formulas.called(node.name) for node in step])
    module = owner = ""
    if segment.kind == "scope":
        module = _within([node.module for node in own])
        owner = module or _owner([name for node in own for name in leaves.get(node.id, ())])
    places = list(dict.fromkeys([(n.where, n.source, n.cell, n.line) for n in step if n.where]))
    where, source, cell, at = places[-1] if places else ("", "", "", 0)
    many = say("op_count", n=len(own))
    told = len(places) == 1 and segment.kind not in ("line", "scope", "rail", "stretch")
    name = one_line(source if segment.kind == "line" else f"{owner}: {shown}" if owner else shown, 60)
    return Node(
        segment.id, "group", name, label=many, symbol=_title(segment, step, results) or many, where=where, cell=cell,
        line=at, source=source if told else "", scope=own[0].scope, module=module, members=len(own),
        times=segment.times,
    )  # fmt: skip
