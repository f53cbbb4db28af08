"""The frames of a recording, as many as a player can take, the graphs (*scenes*) in which they happen, and their words.

Each step is described in words, below the picture, and by formulas with its numbers, if they give the sent gradient.
Gradients in formulas of a pass with a seed ``v`` are ``vᵀ∂y/∂x``, and ``v`` itself at the root.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from nbautograd.viz.capture.player_data import Reading, Readings
from nbautograd.viz.capture.sums import FoldedSum, LeafAccount, LeafState, text_of, with_rows
from nbautograd.viz.capture.timeline import Equation, Frame, Timeline, forward_pass, in_view, joined, same_group
from nbautograd.viz.language import say
from nbautograd.viz.read import formulas, values
from nbautograd.viz.read.builder import Resolve, build
from nbautograd.viz.read.formulas import Mark, bracketed
from nbautograd.viz.read.model import Formula, GraphModel
from nbautograd.viz.read.values import number_text

__all__ = [
    "MAX_STEPPED_OPS", "FrameLog", "called", "equation", "grad_name", "op_words", "sum_of", "with_seed",
]  # fmt: skip

MAX_FRAMES = 2000
MAX_STEPPED_OPS = 1000  # with a step each; in a larger graph a group is one step
MAX_SCENES = 24
MAX_INPUTS = 3  # that a printed operation names
MAX_GRADIENT_CHARACTERS = 16  # of a printed one
MAX_VARIABLE_LETTERS = 3  # in formulas; longer ones are called v there


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
        before = (last.node, last.kind, last.scene, last.backward) if last is not None else None
        alike = before == (drawn, "op", self.scene, number)
        self.is_inner = alike and self.is_large and scene.by_id[drawn].kind == "group"
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


# -- words -------------------------------------------------------------------------------------------------------------


def op_words(op: str, root: str, sent: Sequence[tuple[str, str]], sums: dict[str, LeafState], model: GraphModel) -> str:
    """Describe the gradients that an operation has sent, as (an input's name, text), and the changed sums."""
    joints = {model.by_id[key].name: state for key, state in sums.items() if state.of > 1 and key in model.by_id}
    told = [_sent_text(name, value, root, name in joints) for name, value in sent]
    for name, state in joints.items():
        left = state.of - state.got
        if left:
            told.append(say("waits_for", name=name, count=left))
        elif "=" in state.arriving:
            told.append(say("summed_up", name=name, sum=state.arriving))
    shown = list(dict.fromkeys(told))
    return say("op_words", op=op, sends="; ".join(shown[: MAX_INPUTS + 1])) if shown else ""


def _sent_text(name: str, value: str, root: str, partly: bool) -> str:
    number = _number(value)
    if number is None:
        return say("moves_gradient", name=name)
    key = "sends_part" if partly else {0.0: "sends_none", 1.0: "sends_same"}.get(number, "sends_number")
    return say(key, root=root, name=name, value=value.removesuffix("."))


def equation(formula: Formula, operands: Sequence[tuple[str, str]], sent: str, receives: Sequence[Any]) -> Equation:
    """Return the equation by which an operation computed a gradient that it sent, with its numbers if they give it.

    :param operands: the values of the names in the formula, where they are single numbers.
    :param sent: the gradient that it sent, as text.
    :param receives: the gradients it had received, by name.
    """
    numbers, number = "", _number(sent) if receives else None
    if number is not None:
        texts = {**dict(operands), "g": receives[0][1].rpartition("= ")[2].rpartition("→ ")[2]}
        amounts = {name: amount for name, text in texts.items() if (amount := _number(text)) is not None}
        known = {name: [["n", f"({texts[name]})" if texts[name].startswith("-") else texts[name]]] for name in amounts}
        put_in = formulas.marks(formula.source, known)
        written = formulas.plain(put_in)
        right = "g" in amounts and _agree(formulas.value(formula.source, amounts), number)
        if right and not _names_left(put_in) and written != sent:
            numbers = f"{written} = {sent}"
    return Equation(formula.marks, formula.text, numbers)


def _agree(result: float | None, sent: float) -> bool:
    """Return whether a formula evaluates to the sent gradient; values that are not finite may differ."""
    if not math.isfinite(sent):
        return result is None or not math.isfinite(result)
    return result is not None and math.isclose(result, sent, rel_tol=2e-3, abs_tol=1e-4)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _names_left(written: list[Mark]) -> bool:
    return any(m[0] == "i" or (m[0] in "fs" and (_names_left(m[1]) or _names_left(m[2]))) for m in written)


# -- gradients by their names ----------------------------------------------------------------------------------------


def called(seed: str) -> str:
    """Return the name of a seed in formulas.

    >>> called("v"), called("gradient"), called("")
    ('v', 'v', '')
    """
    return seed if len(seed) <= MAX_VARIABLE_LETTERS else "v"


@lru_cache(2000)  # a step sends what the next one receives
def grad_name(seed: str, root: str, name: str) -> str:
    """Return the name of the gradient of a result.

    >>> grad_name("", "y", "x"), grad_name("v", "y", "x"), grad_name("v", "y", "y")
    ('∂y/∂x', 'vᵀ∂y/∂x', 'v')
    """
    if not seed:
        return f"∂{bracketed(root)}/∂{bracketed(name)}"
    return called(seed) if name == root else f"{called(seed)}ᵀ{grad_name('', root, name)}"


def sum_of(roots: Sequence[tuple[str, Any]]) -> str:
    """Write the sum that a pass from several results differentiates, from their names and given gradients.

    >>> sum_of([("p", np.float32(1)), ("q", np.float32(2))]), sum_of([("p", np.ones(2)), ("w * 2", np.float32(-1))])
    ('p + 2 q', 'p.sum() − (w * 2)')
    >>> sum_of([("p", np.array([1.0, 3.0])), ("q", np.array([0.5]))])
    '([1., 3.] · p).sum() + 0.5 q'
    """
    written = ""
    for name, gradient in roots:
        part, numbers = formulas.bracketed(name), np.unique(values.host(gradient))
        sign = "+"
        if np.size(values.host(gradient)) == 1 and np.isrealobj(numbers):
            factor = float(numbers[0])
            sign = "−" if factor < 0 else "+"
            part = part if abs(factor) == 1 else f"{number_text(abs(factor))} {part}"
        elif numbers.size == 1 and numbers[0] == 1:
            part = f"{part}.sum()"
        else:
            shown = values.inline(gradient)
            part = f"({shown if len(shown) <= MAX_GRADIENT_CHARACTERS else 'v'} · {part}).sum()"
        written += f" {sign} {part}" if written else f"{'−' * (sign == '−')}{part}"
    return written


def with_seed(model: GraphModel, seed: str) -> GraphModel:
    """The graph with formulas of the gradients that a pass with this seed computes."""
    if len(model.roots) != 1:
        return model
    root, v = model.by_id[model.roots[0]].name, called(seed)

    def written(formula: Formula) -> Formula:
        marks = _with_vector(formula.marks, root, v)
        return replace(formula, marks=marks, text=formulas.plain(marks))

    nodes = tuple(replace(node, formulas=tuple(map(written, node.formulas))) for node in model.nodes)
    whole = None if model.whole is None else with_seed(model.whole, seed)
    return replace(model, nodes=nodes, whole=whole)


def _with_vector(marks: list[Mark], root: str, v: str) -> list[Mark]:
    seeded: list[Mark] = []
    for mark in marks:
        if mark[0] in ("f", "s"):
            seeded.append([mark[0], _with_vector(mark[1], root, v), _with_vector(mark[2], root, v)])
        elif mark[0] == "d" and mark[1] == root:
            seeded += [["i", v]] if mark[2] == root else [["i", f"{v}ᵀ"], mark]
        else:
            seeded.append(mark)
    return seeded
