"""The frames of an animation as plain data, and the accumulated state at each of them.

A :class:`Timeline` holds the graphs that ran (its *scenes*) and the steps in the engine's own order. It contains only
text and numbers, so it is JSON, and the player needs no other data.

The forward pass of a recorded graph has the operations in the order in which they ran, and the code beside them: the
part of the cell or file near operations of the graph. For each operation, tracing notes only the calling code object
and instruction; the part of the line is looked up here, for the shown operations only.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any

from nbautograd.viz.capture.chain_rule import ChainStep
from nbautograd.viz.capture.sums import LeafState, LedgerRow, sums_in_view
from nbautograd.viz.escape import clean
from nbautograd.viz.language import say
from nbautograd.viz.read.formulas import Mark
from nbautograd.viz.read.model import GraphModel
from nbautograd.viz.read.naming import lines_of
from nbautograd.viz.read.source_text import place_of
from nbautograd.viz.read.tiles import Tile

__all__ = [
    "Columns", "Equation", "ForwardPass", "Frame", "FrameState", "LeafState", "LedgerRow", "Product", "Timeline",
    "forward_pass", "in_view", "joined", "same_group",
]  # fmt: skip


@dataclass(frozen=True)
class FrameState:
    """The state after a frame: active nodes, finished nodes, and changed texts."""

    active: frozenset[str] = frozenset()
    done: frozenset[str] = frozenset()
    bad: frozenset[str] = frozenset()
    freed: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)
    leaves: Mapping[str, LeafState] = field(default_factory=dict)
    tiles: Sequence[Tile] = ()
    """All tiles of gradients, which the leaves and ``edge_tiles`` name by their numbers."""
    edge_tiles: Mapping[str, int] = field(default_factory=dict)
    """For gradients on edges; -1 for no tile."""
    scale: float = 0.0
    """The upper end of the color scale of the gradients; 0 without gradients."""
    sums: Mapping[str, int] = field(default_factory=dict)
    """For the lines of a folded view with a sum, the number of gradients in it."""

    def seen_in(self, model: GraphModel) -> FrameState:
        """Return the frame in a folded view of the graph: a group for events inside, the latest text of a line."""
        if not model.stands:
            return self
        ids = [frozenset([model.stands.get(key, key) for key in keys]) for keys in
               (self.active, self.done, self.bad, self.freed)]  # fmt: skip
        groups = {node.id for node in model.nodes if node.kind == "group"}
        labels, edge_tiles, tiles, sums = sums_in_view(model, self.labels, self.edge_tiles, self.tiles)
        return replace(self, active=ids[0], done=ids[1], bad=ids[2], freed=ids[3] - groups, labels=labels,
                       edge_tiles=edge_tiles, tiles=tiles, sums=sums)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Equation:
    """One line of a step's formula: as marks, as text, and with the numbers of this pass put in."""

    marks: list[Mark]
    text: str
    numbers: str = ""


@dataclass(frozen=True, slots=True)
class Product:
    """A small vector-Jacobian product with its numbers: ``v`` times the rows of ``matrix`` gives ``result``."""

    title: str
    v: tuple[str, ...]
    matrix: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Frame:
    """One step. What it names as active is done from the next step on; the other fields are changes."""

    kind: str
    """``start``, ``op``, ``accumulate``, ``capture``, ``created``, ``error`` or ``end``"""
    scene: int
    backward: int
    """The number of the pass within the recording, from 1."""
    title: str
    subtitle: str = ""
    caption: str = ""
    words: str = ""
    """The meaning of the step; the caption adds its numbers."""
    node: str = ""
    active: tuple[str, ...] = ()
    received: tuple[str, ...] = ()
    """Active edges of the arriving gradient; the other active edges carry the sent gradient."""
    labels: dict[str, str] = field(default_factory=dict)
    leaves: dict[str, LeafState] = field(default_factory=dict)
    ledger: dict[str, LedgerRow] = field(default_factory=dict)
    bad: tuple[str, ...] = ()
    freed: tuple[str, ...] = ()
    receives: tuple[tuple[str, str], ...] = ()
    equations: tuple[Equation, ...] = ()
    chain: tuple[ChainStep, ...] = ()
    """The equation of each gradient that the node sends: upstream × local = sent."""
    tiles: dict[str, int] = field(default_factory=dict)
    """For gradients on edges, the numbers of their tiles."""
    sends: tuple[tuple[str, str], ...] = ()
    where: str = ""
    source: str = ""
    saved: str = ""
    notes: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()
    """The notes that report a problem."""
    sizes: dict[str, float] = field(default_factory=dict)
    """For the gradient on an edge, log10 of its root mean square."""
    sums: dict[str, tuple[int, tuple[float | None, ...]]] = field(default_factory=dict)
    """For a large graph with groups as steps: for lines that carry a sum, the number of terms and their sizes."""
    hooks: tuple[tuple[str, str], ...] = ()
    """(the id of the node where it acted, its effect)"""
    products: tuple[Product, ...] = ()
    story: tuple[tuple[str, str, str], ...] = ()
    """For an error, its story: (event, details, line of code)."""
    changed: tuple[str, int] | tuple[()] = ()
    """And the cell and the line that wrote to a saved value."""
    count: int = 1
    """The number of steps that this frame replaces: a group of a large graph has one frame."""

    def but(self, **changes: Any) -> Frame:
        """Return the frame with these fields changed, as ``replace`` does in ten times the time."""
        made = object.__new__(Frame)
        made.__dict__.update(self.__dict__, **changes)
        return made


def same_group(one: Frame, next_: Frame, model: GraphModel) -> bool:
    """Return whether two successive frames, as ``model`` shows them, are in one group of it."""
    node = model.by_id.get(one.node)
    alike = (one.node, one.kind, one.scene, one.backward) == (next_.node, next_.kind, next_.scene, next_.backward)
    return alike and node is not None and node.kind == "group"


def _drawn(frame: Frame, model: GraphModel) -> dict[str, Any]:
    """Return what a frame has of nodes and edges by the ids under which ``model`` draws them."""
    changes: dict[str, Any] = {}
    for name in ("active", "received", "bad", "freed"):
        changes[name] = tuple(dict.fromkeys(filter(None, [model.stands.get(key, key) for key in getattr(frame, name)])))
    for name in ("labels", "sizes", "tiles"):
        own = getattr(frame, name).items()
        changes[name] = {key: value for k, value in own if (key := model.stands.get(k, k))}
    for name in ("leaves", "ledger"):
        changes[name] = {key: value for key, value in getattr(frame, name).items() if key in model.by_id}
    return changes


def in_view(frame: Frame, model: GraphModel) -> Frame:
    """The frame with the boxes that ``model`` draws in the place of the events inside its groups."""
    changes = _drawn(frame, model)
    seen = frame.but(
        node=model.stands.get(frame.node, frame.node),
        chain=tuple(replace(step, edge=model.stands.get(step.edge, step.edge)) for step in frame.chain),
        hooks=tuple((model.stands.get(key, key), text) for key, text in frame.hooks),
        **changes,
    )
    node = model.by_id.get(seen.node)
    if node is None or node.kind != "group" or frame.kind not in ("op", "accumulate"):
        return seen
    caption = say("group_step", name=node.symbol, what=node.name, n=1)
    return seen.but(
        title=node.symbol, subtitle=node.name, caption=caption, words="", equations=(), chain=(), sends=(), saved="",
        source="",
    )  # fmt: skip


def joined(one: Frame, next_: Frame, model: GraphModel) -> Frame:
    """Two steps inside a group joined into one."""
    count, node = one.count + next_.count, model.by_id[one.node]
    changes: dict[str, Any] = {}
    for name in ("active", "received", "bad", "freed", "notes"):
        changes[name] = tuple(dict.fromkeys((*getattr(one, name), *getattr(next_, name))))
    for name in ("labels", "sizes", "sums", "tiles", "leaves", "ledger"):
        changes[name] = {**getattr(one, name), **getattr(next_, name)}
    changes["labels"] = {key: text for key, text in changes["labels"].items() if key in changes["active"]}
    return one.but(
        **{**changes, "notes": changes["notes"][:20]}, count=count,
        caption=say("group_step", name=node.symbol, what=node.name, n=count), alarms=(*one.alarms, *next_.alarms)[:20],
        hooks=(*one.hooks, *next_.hooks)[:20],
    )  # fmt: skip


@dataclass(frozen=True)
class Timeline:
    """All steps in the engine's own order, and the graphs they happen in: a *scene* for each graph that ran."""

    scenes: tuple[GraphModel, ...]
    frames: tuple[Frame, ...]
    tiles: tuple[Tile, ...] = ()
    """Gradients as matrices of numbers, which frames name by their place here."""
    forward: tuple[ForwardPass, ...] = ()
    """For each scene, its story."""

    def __len__(self) -> int:
        return len(self.frames)

    @cached_property
    def texts(self) -> dict[tuple[str, str], str]:
        """Texts about the passes, by their kind and language."""
        return {}

    def state_at(self, index: int, scene: int = -1) -> FrameState:
        """The state after ``index`` steps (0: before the first), for the scene that is then shown.

        It includes every operation; ``FrameState.seen_in`` returns the part that a folded view shows.
        """
        active, done, bad, freed = set[str](), set[str](), set[str](), set[str]()
        labels, leaves, edge_tiles = dict[str, str](), dict[str, LeafState](), dict[str, int]()
        shown = self.scene_at(index) if scene < 0 else scene
        for frame in self.frames[: max(index, 0)]:
            if frame.scene != shown:
                continue
            done |= active
            if frame.kind == "start":
                done, bad, labels = set(), set(), {}
            active = set(frame.active)
            for key, text in frame.labels.items():  # in order of time: in a folded view several edges are one line
                labels.pop(key, None)
                labels[key] = text
                edge_tiles.pop(key, None)
                edge_tiles[key] = frame.tiles.get(key, -1)
            leaves |= frame.leaves
            bad |= set(frame.bad)
            freed |= set(frame.freed)
        return FrameState(frozenset(active), frozenset(done), frozenset(bad), frozenset(freed), labels, leaves,
                          self.tiles, edge_tiles, self.scale)  # fmt: skip

    def final(self, scene: int = -1) -> FrameState:
        """The state at the end, with nothing active any more."""
        last = self.state_at(len(self.frames), scene)
        return replace(last, active=frozenset(), done=last.done | last.active)

    def scene_at(self, index: int) -> int:
        """Which graph is shown after ``index`` steps."""
        return self.frames[min(max(index, 1), len(self.frames)) - 1].scene if self.frames else 0

    def leaf_states(self, scene: int) -> dict[str, list[LeafState]]:
        """All states of each leaf, which its box must have room for."""
        states: dict[str, list[LeafState]] = {}
        for frame in self.frames:
            if frame.scene == scene:
                for key, state in frame.leaves.items():
                    states.setdefault(key, []).append(state)
        return states

    def label_texts(self, scene: int, model: GraphModel) -> dict[str, str]:
        """For each edge of ``model``, a view of this scene: the longest text that it will carry; a tile is no text."""
        longest: dict[str, str] = dict.fromkeys(model.mixed, "")
        without = set(longest)
        for frame in self.frames:
            if frame.scene == scene:
                for edge, text in frame.labels.items():
                    key, written = model.stands.get(edge, edge), "" if frame.tiles.get(edge) in self.tiled else text
                    if key and key not in without and len(written) >= len(longest.get(key, "")):
                        longest[key] = written
        return longest

    def label_tiles(self, scene: int, model: GraphModel) -> dict[str, list[int]]:
        """For each edge of ``model``, a view of this scene: the tiles that it will carry."""
        tiles: dict[str, dict[int, None]] = {}
        without = model.mixed
        for frame in self.frames:
            if frame.scene == scene:
                for edge, number in frame.tiles.items():
                    key = model.stands.get(edge, edge)
                    if key and key not in without and number in self.tiled:
                        tiles.setdefault(key, {})[number] = None
        return {key: list(numbers) for key, numbers in tiles.items()}

    @cached_property
    def tiled(self) -> set[int]:
        """The numbers of the tiles that are drawn as such."""
        return {number for number, tile in enumerate(self.tiles) if len(tile.cells) > 1}

    @cached_property
    def scale(self) -> float:
        """The largest gradient: all tiles of gradients have one scale; 0 for no gradients."""
        numbers: set[int] = set()  # of gradients: a factor may have the same numbers, and one tile with them
        for frame in self.frames:
            numbers.update(frame.tiles.values())
            for row in frame.ledger.values():
                numbers.update((row.before_tile, row.total_tile, row.after_tile, *row.tiles))
            for step in frame.chain:
                numbers.update((step.upstream, step.product, step.sent))
        sizes = [abs(v) for n in numbers & self.tiled for v in self.tiles[n].cells if not isinstance(v, str)]
        return max(sizes, default=0.0)

    @cached_property
    def ledger(self) -> list[tuple[int, str, LedgerRow]]:
        """(pass, leaf, its row as it was at the end of that pass), in order."""
        rows = {(f.backward, key, f.scene): row for f in self.frames for key, row in f.ledger.items()}
        return [(n, self.scenes[scene].entire.by_id[key].name, row) for (n, key, scene), row in rows.items()]


# -- the forward pass ---------------------------------------------------------------------


Columns = tuple[int, int]
"""The first character of a line that runs, and the one after the last."""
NEAR_LINES = 12  # listed above and below an operation of a long file
MAX_WHOLE_LINES = 60  # of a file that is listed whole
MAX_LINE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class ForwardPass:
    """The operations of one graph, as they ran."""

    steps: tuple[tuple[str, Columns | None], ...] = ()
    """(the operation's id, which part of its line called it, where that is known)"""
    cells: Mapping[str, tuple[tuple[int, str], ...]] = field(default_factory=dict)
    """By name of the cell or file: its lines with their numbers."""

    def to_json(self) -> dict[str, Any]:
        """Return lists and dictionaries."""
        return {"steps": [[key, *(columns or ())] for key, columns in self.steps],
                "cells": {name: [list(line) for line in lines] for name, lines in self.cells.items()}}  # fmt: skip


def forward_pass(model: GraphModel, *, by_group: bool = False) -> ForwardPass:
    """The forward pass of a graph whose nodes are alive.

    :param by_group: merge consecutive operations of a closed group into one step, for very large graphs.
    """
    whole = model.entire
    if by_group:
        drawn = filter(None, (model.stands.get(key, key) for key in whole.order))
        return ForwardPass(tuple((key, None) for key, _ in groupby(drawn)))
    read = {whole.handles.ops[node]: trace for node, trace in whole.handles.traces.items()}
    traces = {key: read.get(key) for key in whole.order}
    steps = tuple([(key, columns(traces[key])) for key in whole.order])
    files: dict[str, tuple[str, set[int]]] = {}
    for key, trace in traces.items():
        node = whole.by_id[key]
        if trace is not None and node.cell:
            files.setdefault(node.cell, (trace.filename, set()))[1].add(node.line)
    return ForwardPass(steps, {cell: lines for cell, about in files.items() if (lines := listing(*about))})


def columns(trace: Any) -> Columns | None:
    """Return the part of the line, or of the first of several, that called an operation; None if it is unknown."""
    line, last, start, stop = place_of(trace) or (None, None, None, None)
    if line is None or line != trace.lineno:
        return None
    return _characters(linecache.getline(trace.filename, line), start, stop if last == line else None)


@lru_cache(2000)
def _characters(line: str, start: int, stop: int | None) -> Columns | None:
    """Return the characters of a line as it is shown between two of its bytes; None without any."""
    text = line.rstrip("\n").encode()
    first, end = [len(clean(text[:n].decode(errors="ignore"), MAX_LINE_CHARACTERS)) for n in (start, stop)]
    return (first, end) if first < end else None


def listing(filename: str, used: Iterable[int]) -> tuple[tuple[int, str], ...]:
    """The lines of a cell, or of a long file those near the lines that are used; without empty ones at the ends."""
    lines = lines_of(filename)
    near = {n for line in used for n in range(line - NEAR_LINES, line + NEAR_LINES + 1)}
    chosen = [(n, line) for n, line in enumerate(lines, 1) if len(lines) <= MAX_WHOLE_LINES or n in near]
    return _as_listed(tuple(chosen))


@lru_cache(100)
def _as_listed(lines: tuple[tuple[int, str], ...]) -> tuple[tuple[int, str], ...]:
    chosen = [(n, line.strip() and clean(line.rstrip(), MAX_LINE_CHARACTERS)) for n, line in lines]
    while chosen and not chosen[0][1]:
        del chosen[0]
    while chosen and not chosen[-1][1]:
        del chosen[-1]
    return tuple(chosen)
