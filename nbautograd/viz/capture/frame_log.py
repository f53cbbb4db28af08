"""The frames of a recording, as many as a player can take, and the graphs (*scenes*) in which they happen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nbautograd.viz.capture.player_data import Reading, Readings
from nbautograd.viz.capture.sums import FoldedSum, LeafAccount, text_of, with_rows
from nbautograd.viz.capture.timeline import Frame, Timeline, forward_pass, in_view, joined, same_group
from nbautograd.viz.language import say
from nbautograd.viz.read.builder import Resolve, build
from nbautograd.viz.read.model import GraphModel

__all__ = ["MAX_STEPPED_OPS", "FrameLog"]

MAX_FRAMES = 2000
MAX_STEPPED_OPS = 1000  # with a step each; in a larger graph a group is one step
MAX_SCENES = 24


class FrameLog:
    """Frames are appended to it; ``scene`` is the number of the graph that runs now.

    :param model: the first graph; others are built when a pass through them starts.
    """

    def __init__(self, model: GraphModel | None, namespace: Mapping[str, Any] | None, resolve: Resolve | None) -> None:
        self.scenes = [model] if model is not None else []
        self.namespace, self.resolve = namespace, resolve
        self.frames: list[Frame] = []
        self.pool = Readings()
        self.dropped = 0
        self.several: tuple[GraphModel | None, dict[str, int]] = (None, {})
        self.mixed: tuple[str, ...] = ()
        self.sums: dict[str, FoldedSum] = {}
        if model is not None:
            self.run(0)
        self.is_inner = False  # True if the running step will be joined with the last one
        self.owed: dict[str, LeafAccount] = {}  # leaves whose gradients the last step does not show yet

    scene = 0
    drawn: GraphModel
    """The graph that is running, as the picture shows it."""
    model: GraphModel
    """The running graph with all its operations; the picture decides which of them to draw."""
    told: GraphModel
    """The graph whose nodes the steps refer to; for a large graph, the drawn part."""

    def run(self, scene: int) -> None:
        """Make a graph the one that runs."""
        self.scene, self.drawn = scene, self.scenes[scene]
        self.model = self.drawn.entire
        self.is_large = is_large(self.drawn)
        self.told = self.drawn if self.is_large else self.model

    def timeline(self, passes: int) -> Timeline:
        """Return the timeline of these passes."""
        self.settle()
        frames = list(self.frames)
        if self.dropped:
            left = say("left_out", n=self.dropped)
            frames.append(Frame("end", self.scene, passes, left, caption=left))
        forward = tuple([forward_pass(scene, by_group=is_large(scene)) for scene in self.scenes])
        return Timeline(tuple([scene.plain() for scene in self.scenes]), tuple(frames), tuple(self.pool.tiles), forward)

    def append(self, frame: Frame) -> None:
        """Append a frame; successive frames inside one group of a large graph are joined."""
        if self.is_large:
            scene = self.drawn
            raw, frame = frame, in_view(frame, scene)
            joins = bool(self.frames) and same_group(self.frames[-1], frame, scene)
            frame = self.summed(raw, frame, scene, joins)
            if joins:
                self.frames[-1] = joined(self.frames[-1], frame, scene)
                return
        if len(self.frames) < MAX_FRAMES:
            self.frames.append(frame)
        else:
            self.dropped += 1

    def begin(self, key: str, number: int) -> None:
        """Find whether the step of an operation will be joined with the last one, which a group stands for."""
        scene, last = self.drawn, self.frames[-1] if self.frames else None
        drawn = scene.stands.get(key, "")
        here = drawn, "op", self.scene, number
        self.is_inner = (
            last is not None
            and here == (last.node, last.kind, last.scene, last.backward)
            and (self.is_large and scene.by_id[drawn].kind == "group")
        )
        if not self.is_inner and self.owed:
            self.settle()

    def settle(self) -> None:
        """Report the new gradients of leaves in the step of a group: once, since each report writes the whole row."""
        self.is_inner = False
        if not self.owed:
            return
        got = {key: leaf for key, leaf in self.owed.items() if key in self.drawn.by_id}
        self.owed = {}
        if got:
            last = self.frames[-1]
            self.frames[-1] = last.but(**with_rows(got, last.leaves, last.ledger))

    def with_gradient(self, frame: Frame, edge: str, gradient: Reading) -> dict[str, Any]:
        """Return the changes of a frame for the gradient on an edge; none where the edge is not drawn."""
        if self.is_inner and not self.drawn.stands.get(edge, edge):
            return {}
        size = gradient.size
        return {
            "labels": {**frame.labels, edge: gradient.label},
            "sizes": frame.sizes if size is None else {**frame.sizes, edge: size},
            "tiles": {**frame.tiles, edge: gradient.tile},
        }

    def summed(self, raw: Frame, frame: Frame, scene: GraphModel, joins: bool) -> Frame:
        """The frame with the gradients of this pass along each line that stands for several gradients."""
        if raw.kind == "start" or self.several[0] is not scene:
            self.several, self.mixed, self.sums = (scene, scene.several), scene.mixed, {}
        labels, tiles, sums = dict(frame.labels), dict(frame.tiles), dict(frame.sums)
        for line in self.mixed & labels.keys():
            labels[line], tiles[line] = "", -1
        for edge in raw.labels:
            drawn = scene.stands.get(edge, edge)
            if drawn not in self.several[1]:
                continue
            one = self.sums.setdefault(drawn, FoldedSum())
            number = raw.tiles.get(edge, -1)
            one.add(self.pool.tiles[number] if number >= 0 else None, raw.sizes.get(edge))
            sums[drawn] = one.count, one.curve()
            if one.count > 1:
                known = self.frames[-1].tiles.get(drawn, -1) if joins and one.count > 2 else -1
                total = one.known()
                labels[drawn], tiles[drawn] = text_of(total), self.pool.put(total, known)
        return frame.but(labels=labels, tiles=tiles, sums=sums)

    def enter(self, roots: tuple[tuple[Any, int], ...]) -> None:
        """Make the graph of these roots the one that runs: a known one, one that was built again, or a new one."""
        for number, scene in enumerate(self.scenes):
            if all(scene.handles.of(node) is not None for node, _ in roots):
                if scene is not self.drawn:
                    self.run(number)
                return
        new = self.build(list(roots), self.namespace)
        for number, scene in enumerate(self.scenes):
            if _is_same(scene, new):  # the same computation with the same numbers ran again
                whole = scene.whole and replace(scene.whole, handles=new.handles)
                self.scenes[number] = replace(scene, handles=new.handles, whole=whole)
                self.run(number)
                return
        self.add(new)

    def build(self, roots: list[Any], namespace: Mapping[str, Any] | None) -> GraphModel:
        """Return the graph of these roots, with descriptions of the nodes in the steps."""
        model = build(roots, namespace, resolve=self.resolve, described=MAX_STEPPED_OPS)
        model.entire.handles.names = None  # a recording keeps no variables alive
        return model

    def add(self, new: GraphModel) -> None:
        """Add a graph as a new scene, which becomes the current one."""
        scenes, frames = [*self.scenes, new], self.frames
        if len(scenes) > MAX_SCENES:  # the newest graphs are the interesting ones
            scenes, frames = scenes[1:], [f.but(scene=f.scene - 1) for f in frames if f.scene]
        last = len(scenes) - 1
        self.scenes, self.frames, self.scene = scenes, frames, last  # no interrupt comes in between
        self.run(last)


def is_large(model: GraphModel) -> bool:
    """Return whether a pass has a step for each group of the graph instead of each operation."""
    return len(model.order) + len(model.entire.leaves) > MAX_STEPPED_OPS


def _is_same(one: GraphModel, other: GraphModel) -> bool:
    """Return whether two graphs show the same numbers: of a loop only the first nodes are compared."""
    if (len(one.nodes), one.edges, one.roots) != (len(other.nodes), other.edges, other.roots):
        return False
    pairs = zip(one.nodes, other.nodes, strict=True)
    return all(replace(a, grad="", saved=None) == replace(b, grad="", saved=None) for a, b in pairs)
