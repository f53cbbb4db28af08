"""From the engine's events to the frames of an animation.

A :class:`Recorder` is called with each event of a backward pass (see ``protocol``) and writes down at once, as text,
what a picture of that moment needs: arrays are live and will have changed by the time anybody looks. The result, a
:class:`Timeline`, is plain JSON.

Two additions are kept apart, because they are two: the sum over paths, in a buffer and inside one pass (the *arriving*
row of a leaf), and the accumulation into ``.grad``, across passes (its *.grad* row, and a frame of its own).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from nbautograd import protocol
from nbautograd.viz import formulas, values
from nbautograd.viz.escape import one_line
from nbautograd.viz.formulas import Mark
from nbautograd.viz.model import GraphModel, Node, Resolve, build
from nbautograd.viz.svg import LeafState, Moment

__all__ = ["Equation", "Frame", "LedgerRow", "Recorder", "Timeline"]

MOST_FRAMES = 2000
MOST_SCENES = 24
TERMS = 3  # that a leaf's row writes out


@dataclass(frozen=True, slots=True)
class Equation:
    """One line of a step's formula: as marks, as text, and with the numbers of this pass put in."""

    marks: list[Mark]
    text: str
    numbers: str = ""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """What one leaf gets in one pass."""

    before: str
    terms: tuple[tuple[str, str], ...] = ()
    """(gradient, by way of which result)"""
    total: str = ""
    after: str = ""
    expected: int = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """One step. What it names as active is done from the next step on; the other fields are changes."""

    kind: str
    """``start``, ``op``, ``accumulate``, ``capture``, ``error`` or ``end``"""
    scene: int
    backward: int
    """The how manieth pass of the recording this is, from 1."""
    title: str
    subtitle: str = ""
    caption: str = ""
    node: str = ""
    active: tuple[str, ...] = ()
    received: tuple[str, ...] = ()
    """Active edges along which the gradient came; the other active edges carry what the node sends."""
    labels: dict[str, str] = field(default_factory=dict)
    leaves: dict[str, LeafState] = field(default_factory=dict)
    ledger: dict[str, LedgerRow] = field(default_factory=dict)
    bad: tuple[str, ...] = ()
    freed: tuple[str, ...] = ()
    receives: tuple[tuple[str, str], ...] = ()
    equations: tuple[Equation, ...] = ()
    sends: tuple[tuple[str, str], ...] = ()
    where: str = ""
    source: str = ""
    saved: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Timeline:
    """All steps in the engine's own order, and the graphs they happen in: a *scene* for each graph that ran."""

    scenes: tuple[GraphModel, ...]
    frames: tuple[Frame, ...]

    def __len__(self) -> int:
        return len(self.frames)

    def moment(self, index: int, scene: int = -1) -> Moment:
        """The state after ``index`` steps (0: before the first), for the scene that is then shown."""
        active: set[str] = set()
        done: set[str] = set()
        bad: set[str] = set()
        freed: set[str] = set()
        labels: dict[str, str] = {}
        leaves: dict[str, LeafState] = {}
        shown = self.scene_at(index) if scene < 0 else scene
        for frame in self.frames[: max(index, 0)]:
            if frame.scene != shown:
                continue
            done |= active
            if frame.kind == "start":
                done, bad, labels = set(), set(), {}
            active = set(frame.active)
            labels |= frame.labels
            leaves |= frame.leaves
            bad |= set(frame.bad)
            freed |= set(frame.freed)
        return Moment(frozenset(active), frozenset(done), frozenset(bad), frozenset(freed), labels, leaves)

    def final(self, scene: int = -1) -> Moment:
        """The state at the end, with nothing active any more."""
        last = self.moment(len(self.frames), scene)
        return replace(last, active=frozenset(), done=last.done | last.active)

    def scene_at(self, index: int) -> int:
        """Which graph is shown after ``index`` steps."""
        return self.frames[min(max(index, 1), len(self.frames)) - 1].scene if self.frames else 0

    def leaf_states(self, scene: int) -> dict[str, list[LeafState]]:
        """All states of each leaf, which its box must have room for."""
        found: dict[str, list[LeafState]] = {}
        for frame in self.frames:
            if frame.scene == scene:
                for key, state in frame.leaves.items():
                    found.setdefault(key, []).append(state)
        return found

    def label_texts(self, scene: int) -> dict[str, str]:
        """For each edge the longest text that it will carry."""
        found: dict[str, str] = {}
        for frame in self.frames:
            if frame.scene == scene:
                for key, text in frame.labels.items():
                    if len(text) >= len(found.get(key, "")):
                        found[key] = text
        return found

    def ledger(self) -> list[tuple[int, str, LedgerRow]]:
        """(pass, leaf, its row as it was at the end of that pass), in order."""
        rows: dict[tuple[int, str, int], LedgerRow] = {}
        for frame in self.frames:
            for key, row in frame.ledger.items():
                rows[frame.backward, key, frame.scene] = row
        return [(n, self.scenes[scene].by_id[key].name, row) for (n, key, scene), row in rows.items()]

    def to_json(self) -> dict[str, Any]:
        """Dictionaries, lists, strings and numbers only, without what is empty."""
        frames = [{k: v for k, v in asdict(frame).items() if v not in ("", (), {})} for frame in self.frames]
        return {"frames": frames, "scenes": [_scene_json(scene) for scene in self.scenes]}


def _scene_json(model: GraphModel) -> dict[str, Any]:
    """What the player tells of a graph's nodes."""
    shown = ("kind", "name", "expression", "value", "shape", "dtype", "grad", "where", "source", "notes")
    nodes = {}
    for node in model.nodes:
        about = {key: getattr(node, key) for key in shown if getattr(node, key)}
        if node.formulas:
            about["formulas"] = [formula.marks for formula in node.formulas]
        if node.saved is not None:
            about["saved"] = _saved_text(node)
        nodes[node.id] = about
    leaves = [{"id": leaf.id, "name": leaf.name} for leaf in model.leaves]
    return {"label": model.short_label, "leaves": leaves, "nodes": nodes}


class _Leaf:
    """What has reached one leaf in the current pass."""

    def __init__(self, node: Node, grad: Any) -> None:
        self.node, self.before, self.after = node, values.inline(grad), ""
        self.terms: list[tuple[str, str]] = []
        self.total = ""
        self.sum_text, self.grad_text = "", values.text(grad)  # as the box shows them, perhaps on several lines

    def arrive(self, gradient: Any, via: str, total: Any) -> None:
        """One more term."""
        self.terms.append((values.inline(gradient), via))
        self.total, self.sum_text = values.inline(total), values.text(total)

    def state(self) -> LeafState:
        """The two rows."""
        count = len(self.terms)
        arriving = self.sum_text or "–"
        if count > 1:
            written = " + ".join(gradient for gradient, _ in self.terms[:TERMS]) + f" = {self.total}"
            arriving = written if count <= TERMS and len(written) <= 26 else f"Σ {self.sum_text}".replace("\n", "\n  ")
        expected = max(self.node.arrivals, count)
        return LeafState(arriving, f"{count} of {expected}" if expected else "", self.grad_text)

    def row(self) -> LedgerRow:
        """The line of the ledger."""
        return LedgerRow(
            self.before, tuple(self.terms), self.total, self.after, max(self.node.arrivals, len(self.terms))
        )


class Recorder:
    """Call it with events; ask it for the timeline.

    :param model: the graph that will run; graphs that it does not hold are built when a pass through them starts.
    """

    def __init__(
        self,
        model: GraphModel | None = None,
        *,
        namespace: Mapping[str, Any] | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        self.scenes = [model] if model is not None else []
        self.namespace, self.resolve = namespace, resolve
        self.frames: list[Frame] = []
        self.passes = 0
        self.dropped = 0
        self.scene = 0
        self.open: Frame | None = None
        self.leaves: dict[str, _Leaf] = {}
        self.arrived: dict[tuple[str, int], list[str]] = {}
        self.finite = True
        self.seen_bad = False

    def __call__(self, event: protocol.Event) -> None:
        """Write down one event. What cannot be drawn is left out; the pass goes on."""
        handler = getattr(self, f"_on_{type(event).__name__}", None)
        if handler is not None:
            handler(event)

    def timeline(self) -> Timeline:
        """What has been recorded so far."""
        frames = list(self.frames)
        if self.dropped:
            frames.append(Frame("end", self.scene, self.passes, f"{self.dropped} more steps", caption="not recorded"))
        return Timeline(tuple(scene.plain() for scene in self.scenes), tuple(frames))

    # -- helpers -------------------------------------------------------------------

    @property
    def model(self) -> GraphModel:
        """The graph that is running."""
        return self.scenes[self.scene]

    def _emit(self, frame: Frame) -> None:
        if len(self.frames) < MOST_FRAMES:
            self.frames.append(frame)
        else:
            self.dropped += 1

    def _key(self, node: Any) -> str | None:
        return self.model.handles.of(node)

    def _choose_scene(self, roots: tuple[tuple[Any, int], ...]) -> None:
        for number, scene in enumerate(self.scenes):
            if all(scene.handles.of(node) is not None for node, _ in roots):
                self.scene = number
                return
        new = build(list(roots), self.namespace, resolve=self.resolve)
        for number, scene in enumerate(self.scenes):
            if _comparable(scene) == _comparable(new):  # the same computation with the same numbers, run again
                self.scenes[number] = replace(scene, handles=new.handles)
                self.scene = number
                return
        if len(self.scenes) >= MOST_SCENES:  # start over: the newest graphs are the interesting ones
            self.frames = [replace(f, scene=f.scene - 1) for f in self.frames if f.scene]
            self.scenes.pop(0)
        self.scenes.append(new)
        self.scene = len(self.scenes) - 1

    # -- events -------------------------------------------------------------------

    def _on_PassStarted(self, event: protocol.PassStarted) -> None:  # noqa: N802 - named after the event
        self._choose_scene(event.roots)
        self.passes += 1
        self.arrived, self.finite, self.seen_bad, self.open = {}, True, False, None
        model = self.model
        grads = self._grads_now()
        self.leaves = {leaf.id: _Leaf(leaf, grads.get(leaf.id)) for leaf in model.leaves}
        seeds = []
        for (node, index), gradient in zip(event.roots, event.gradients, strict=True):
            key = self._key(node)
            if key is None:
                continue
            name, shown = self._result_name(key, index), values.inline(gradient)
            seeds.append((f"∂{name}/∂{name}", shown))
            if key in self.leaves:
                self.leaves[key].arrive(gradient, "the start", gradient)
            self.finite = self.finite and values.is_finite(gradient)
        roots = ", ".join(name.partition("/")[0][1:] for name, _ in seeds)
        kept = "keeps" if event.retain_graph else "frees"
        which = f"Backward pass {self.passes}" if self.passes > 1 else "The backward pass"
        notes = (f"the pass {kept} saved values",) + (("the pass records itself",) if event.create_graph else ())
        self._emit(
            Frame(
                "start",
                self.scene,
                self.passes,
                f"pass {self.passes}",
                subtitle=f"{roots}.backward()",
                caption=f"{which} starts at {roots}; its gradient is {', '.join(v for _, v in seeds)}",
                node=model.roots[0] if model.roots else "",
                active=tuple(model.roots),
                leaves={key: leaf.state() for key, leaf in self.leaves.items()},
                ledger={key: leaf.row() for key, leaf in self.leaves.items()},
                receives=tuple(seeds),
                notes=notes,
            )
            if seeds
            else Frame("start", self.scene, self.passes, f"pass {self.passes}", caption=f"{which} starts.")
        )

    def _grads_now(self) -> dict[str, Any]:
        """``.grad`` of each leaf at this moment."""
        handles = self.model.handles
        return {
            handles.leaves[id(tensor)]: getattr(tensor, "grad", None)
            for tensor in handles.kept
            if id(tensor) in handles.leaves
        }

    def _result_name(self, key: str, index: int = 0) -> str:
        """What the picture calls a node's result."""
        node, model = self.model.by_id[key], self.model
        if node.kind != "op":
            return node.name
        result = model.results.get((key, index))
        return model.by_id[result.dst].name if result is not None else node.label or node.name

    def _on_NodeStarted(self, event: protocol.NodeStarted) -> None:  # noqa: N802
        key = self._key(event.node)
        if key is None:
            return
        node, model = self.model.by_id[key], self.model
        if node.kind == "leaf":
            self.open = Frame("accumulate", self.scene, self.passes, "AccumulateGrad", node=key, active=(key,))
            return
        root = model.by_id[model.roots[0]].name if len(model.roots) == 1 else "L"
        received, labels, receives, active = [], {}, [], [key]
        for index, gradient in enumerate(event.gradients):
            if gradient is None:
                continue
            shown, terms = values.text(gradient), self.arrived.get((key, index), [])
            result = model.results.get((key, index))
            if result is not None:
                received.append(result.id)
                labels[result.id] = values.text(gradient, 4, brief=True)
                active.append(result.dst)
            sums = f"{' + '.join(terms)} = {shown}" if 1 < len(terms) <= 4 and "\n" not in shown else shown
            receives.append((f"∂{root}/∂{self._result_name(key, index)}", sums))
        self.open = Frame(
            "op",
            self.scene,
            self.passes,
            node.name,
            subtitle=node.expression,
            node=key,
            active=(*active, *received),
            received=tuple(received),
            labels=labels,
            receives=tuple(receives),
            where=node.where,
            source=node.source,
            saved=_saved_text(node),
        )

    def _on_EdgeSent(self, event: protocol.EdgeSent) -> None:  # noqa: N802
        key, target = self._key(event.node), self._key(event.to)
        if key is None or target is None:
            return
        edge = self.model.flows.get((key, event.index))
        shown, name = values.text(event.gradient), self._result_name(target, event.to_index)
        changes: dict[str, Any] = {}
        if edge is not None and self.open is not None:
            changes = {
                "active": (*self.open.active, edge.id),
                "labels": {**self.open.labels, edge.id: values.text(event.gradient, 4, brief=True)},
                "sends": (*self.open.sends, (name, shown)),
                "equations": (*self.open.equations, *self._equations(key, event.index, shown)),
            }
        if target in self.leaves:
            leaf = self.leaves[target]
            leaf.arrive(event.gradient, self._result_name(key), event.total)
            if self.open is not None:
                changes["leaves"] = {**self.open.leaves, target: leaf.state()}
                changes["ledger"] = {**self.open.ledger, target: leaf.row()}
        else:
            self.arrived.setdefault((target, event.to_index), []).append(shown)
        if self.open is not None:
            self.open = replace(self.open, **changes)
            self._check_finite(key, edge.id if edge is not None else "", event.gradient)

    def _check_finite(self, key: str, edge: str, gradient: Any) -> None:
        """Mark the first node that turns finite gradients into NaN or Inf, and every edge that carries them on."""
        if self.open is None or values.is_finite(gradient):
            return
        first = self.finite and not self.seen_bad
        self.seen_bad = True
        note = ("the first NaN or Inf of this pass arises here",) if first else ()
        bad = (*self.open.bad, *((key,) if first else ()), edge)
        self.open = replace(self.open, bad=bad, notes=(*self.open.notes, *note))

    def _equations(self, key: str, slot: int, sent: str) -> list[Equation]:
        node = self.model.by_id[key]
        incoming = self.open.receives if self.open is not None else ()
        found = []
        for formula in node.formulas:
            if formula.slot != slot:
                continue
            numbers = ""
            texts = dict(node.operands)
            if incoming:
                texts["g"] = incoming[0][1].rpartition("= ")[2].rpartition("→ ")[2]
            if all(_is_number(text) for text in (sent, texts.get("g", ""))):
                known = {name: [["n", _signed(text)]] for name, text in texts.items() if _is_number(text)}
                put_in = formulas.marks(formula.source, known)
                written = formulas.plain(put_in)
                amounts = {name: float(text) for name, text in texts.items() if _is_number(text)}
                result = formulas.value(formula.source, amounts)
                right = result is not None and math.isclose(result, float(sent), rel_tol=2e-3, abs_tol=1e-4)
                if right and not _names_left(put_in) and written != sent:
                    numbers = f"{written} = {sent}"
            found.append(Equation(formula.marks, formula.text, numbers))
        return found

    def _on_HookCalled(self, event: protocol.HookCalled) -> None:  # noqa: N802
        if self.open is None:
            return
        kinds = {"tensor": "tensor hook", "pre": "prehook", "post": "hook", "accumulate": "post-accumulate hook"}
        what = kinds.get(event.kind, one_line(event.kind, 20))
        before, after = values.inline(event.before), values.inline(event.after)
        changed = "" if event.before is None or event.after is None or before == after else f": {before} → {after}"
        self.open = replace(self.open, notes=(*self.open.notes, f"{what} ran{changed}"))
        if changed and len(self.open.receives) == 1:  # what the formula gets is what the hook made of it
            name, came = self.open.receives[0]
            self.open = replace(self.open, receives=((name, f"{came} → {values.text(event.after)}"),))

    def _on_Accumulated(self, event: protocol.Accumulated) -> None:  # noqa: N802
        key = self._key(event.node)
        if key is None or key not in self.leaves:
            return
        leaf = self.leaves[key]
        before, incoming, after = (values.inline(v) for v in (event.before, event.incoming, event.after))
        if not leaf.terms:
            leaf.arrive(event.incoming, "the start", event.incoming)
        leaf.before, leaf.after, leaf.total = before, after, incoming
        leaf.sum_text, leaf.grad_text = values.text(event.incoming), values.text(event.after)
        name = leaf.node.name
        numbers = f"{before} + {incoming} = {after}" if event.before is not None else f"None → {after}"
        marks: list[Mark] = [["i", f"{name}.grad"], ["o", "+="], ["n", incoming]]
        terms = " + ".join(g for g, _ in leaf.terms) if len(leaf.terms) <= TERMS else f"{len(leaf.terms)} terms"
        opened = self.open if self.open is not None and self.open.node == key else None
        self.open = None
        self._emit(
            Frame(
                "accumulate",
                self.scene,
                self.passes,
                "AccumulateGrad",
                subtitle=f"{name}.grad",
                caption=f"{name}.grad was {before}; {incoming} is added to it; now it is {after}",
                node=key,
                active=(key,),
                leaves={key: leaf.state()},
                ledger={key: leaf.row()},
                receives=((f"sum for {name}", f"{terms} = {incoming}" if len(leaf.terms) > 1 else incoming),),
                equations=(Equation(marks, f"{name}.grad += {incoming}", numbers),),
                sends=((f"{name}.grad", after),),
                notes=opened.notes if opened is not None else (),
            )
        )

    def _on_Captured(self, event: protocol.Captured) -> None:  # noqa: N802
        key = self._key(event.node)
        if key is None:
            return
        name, shown = self._result_name(key, event.index), values.inline(event.gradient)
        if self.open is not None and self.open.kind == "op":
            self.open = replace(self.open, notes=(*self.open.notes, f"grad() takes {shown} for {name}"))
            return
        self.open = None
        leaf = self.leaves.get(key)
        self._emit(
            Frame(
                "capture",
                self.scene,
                self.passes,
                "grad()",
                subtitle=f"takes the gradient for {name}",
                caption=f"autograd.grad takes {shown} for {name}; nothing is added to .grad.",
                node=key,
                active=(key,),
                leaves={key: leaf.state()} if leaf is not None else {},
                receives=((f"sum for {name}", shown),),
                notes=("nothing is added to .grad",),
            )
        )

    def _on_NodeFinished(self, event: protocol.NodeFinished) -> None:  # noqa: N802
        frame, self.open = self.open, None
        if frame is None or frame.kind != "op":
            return
        if event.freed:
            frame = replace(frame, freed=(frame.node,), saved=frame.saved and f"{frame.saved}, now freed")
        sends = ", ".join(f"{name} ← {one_line(value)}" for name, value in frame.sends) or "nothing"
        receives = ", ".join(f"{name} = {one_line(value)}" for name, value in frame.receives)
        notes = "".join(f" (Note: {note})" for note in frame.notes)
        self._emit(
            replace(frame, caption=f"{frame.title}, {frame.subtitle}, receives {receives} and sends {sends}{notes}")
        )

    def _on_PassFinished(self, event: protocol.PassFinished) -> None:  # noqa: N802
        frame, self.open = self.open, None
        if event.error is None:
            return
        what = f"{type(event.error).__name__}: {one_line(event.error, 500)}"
        base = frame if frame is not None else Frame("error", self.scene, self.passes, "backward")
        self._emit(
            replace(
                base,
                kind="error",
                bad=(*base.bad, *((base.node,) if base.node else ())),
                caption=f"The pass ended early at {base.title}. {what}",
                notes=(*base.notes, what),
            )
        )


def _comparable(model: GraphModel) -> tuple[Any, ...]:
    return tuple(replace(n, grad="", saved=None) for n in model.nodes), model.edges, model.roots


def _saved_text(node: Node) -> str:
    """What a node keeps for the backward pass, in words."""
    if node.saved is None:
        return ""
    total = sum(saved.nbytes for saved in node.saved)
    names = ", ".join(f"{saved.name} {saved.shape}".rstrip() for saved in node.saved) or "nothing"
    return f"{names} · {_bytes(total)}"


def _bytes(count: int) -> str:
    size, unit = float(count), "B"
    for bigger in ("kB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, bigger
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _signed(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _names_left(written: list[Mark]) -> bool:
    return any(
        mark[0] == "i" or (mark[0] in "fs" and (_names_left(mark[1]) or _names_left(mark[2]))) for mark in written
    )
