"""Convert the engine's events to the frames of an animation.

A :class:`Recorder` gets each event of a backward pass (see ``protocol``) and stores at once, as text, what a picture of
that moment shows, since arrays change later. The result, a :class:`Timeline`, is plain JSON. A leaf has two sums: over
the paths of one pass (its *arriving* row), and over passes into ``.grad`` (its *.grad* row, and a frame of its own).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from nbautograd import protocol
from nbautograd.viz.capture.chain_rule import Arrival, chain_step, kept_before
from nbautograd.viz.capture.frame_log import MAX_STEPPED_OPS, FrameLog, called, equation, grad_name, op_words, sum_of
from nbautograd.viz.capture.player_data import Reading, saved_text
from nbautograd.viz.capture.sums import Joints, LeafAccount, with_rows
from nbautograd.viz.capture.timeline import Equation, Frame, LeafState, Product, Timeline
from nbautograd.viz.escape import line_of, one_line
from nbautograd.viz.language import say
from nbautograd.viz.read import values
from nbautograd.viz.read.formulas import Mark
from nbautograd.viz.read.model import Edge, GraphModel
from nbautograd.viz.read.naming import Resolve

if TYPE_CHECKING:
    from nbautograd.viz.capture.failures import Failure

__all__ = ["MAX_STEPPED_OPS", "Recorder", "Timeline"]

MAX_NUMBER_CHARACTERS = 16  # in a formula


class Recorder:
    """Call it with events; ask it for the timeline.

    :param model: the graph that will run; graphs that it does not hold are built when a pass through them starts.
    :param inputs: the tensors that alone get a gradient, where ``backward(inputs=...)`` says so.
    :param seed: the name of the pass's `gradient` argument, if known.
    :param products: the vector-Jacobian products that the first pass computes, if known.
    :param progress: is called at the end of every pass.
    """

    def __init__(
        self, model: GraphModel | None = None, *, namespace: Mapping[str, Any] | None = None,
        resolve: Resolve | None = None, inputs: Collection[Any] | None = None, seed: str = "",
        products: tuple[Product, ...] = (), progress: Callable[[], object] | None = None,
    ) -> None:  # fmt: skip
        self.log = FrameLog(model, namespace, resolve)
        self.inputs = None if inputs is None else {id(tensor) for tensor in inputs}
        self.seed, self.products, self.progress = seed, products, progress
        self.passes = 0
        self.open: Frame | None = None
        self.leaves: dict[str, LeafAccount] = {}
        self.arrived: dict[tuple[str, int], list[str]] = {}
        self.came = Arrival()  # at the running node, while it runs
        self.began: tuple[Reading | None, ...] = ()  # the inputs of that node
        self.kept: dict[Any, Any] = {}  # the saved tensors of the nodes of this pass, see kept_before
        self.finite, self.seen_bad, self.creates = True, False, False
        self.bad_from = ""
        self.created: dict[str, Any] = {}  # by name: the gradients made by a recorded pass, or their leaves
        self.seeds: tuple[Any, ...] = ()  # the seeds of a pass that records itself
        self.made_by: list[tuple[Any, str, int]] = []  # (node, name of its result, the pass that created it)
        self.last: dict[int, tuple[Any, str]] = {}  # by id() of each leaf: the leaf, and .grad after the last pass
        self.troubles = 0

    def __call__(self, event: protocol.Event) -> None:
        """Record one event. Events that cannot be drawn are omitted; the pass continues."""
        handler = getattr(self, f"_on_{type(event).__name__}", None)
        if handler is None:
            return
        try:
            handler(event)
        except Exception:  # an error in the picture must not stop the user's pass
            self.troubles += 1

    def timeline(self) -> Timeline:
        """Return everything recorded so far."""
        return self.log.timeline(self.passes)

    @property
    def frames(self) -> list[Frame]:
        """The frames so far."""
        return self.log.frames

    # -- helpers -------------------------------------------------------------------

    _ids: Mapping[Any, str]
    """The ids of the nodes of the running graph that the picture has read."""
    _key: Callable[[Any], str | None]
    """Returns the id of a node of the running graph."""
    joints: Joints
    """The sums of the running pass at computed values."""
    _root: str
    """The name of the differentiated value: the root's name, or L for several roots."""

    def _append(self, kind: str, title: str, **fields: Any) -> None:
        self.log.append(Frame(kind, self.log.scene, self.passes, title, **fields))

    # -- events -------------------------------------------------------------------

    def _begin(self, event: protocol.PassStarted) -> None:
        """Turn to the graph of a pass, and forget the last pass."""
        self.log.enter(event.roots)
        self.log.pool.begin()
        model = self.log.model
        self._ids, self._key = model.handles.ops, model.handles.of
        self._root = model.by_id[model.roots[0]].name if len(model.roots) == 1 else "L"
        self.passes += 1
        self.arrived, self.finite, self.seen_bad, self.open, self.bad_from = {}, True, False, None, ""
        self.creates, self.created = event.create_graph, {}
        self.seeds = event.gradients if event.create_graph else ()
        self.joints, self.kept = Joints(model), kept_before(model)

    def _on_PassStarted(self, event: protocol.PassStarted) -> None:  # noqa: N802 - named after the event
        self._begin(event)
        resets = self._meet_leaves()
        given, seeds = self._seeds(event)
        several = say("several_roots", sum=sum_of(given)) if given[1:] else ""
        which = say("which_nth", n=self.passes) if self.passes > 1 else say("which_only")
        products, self.products = self.products, ()
        start = say("pass_n", n=self.passes)
        frame = Frame("start", self.log.scene, self.passes, start, caption=say("starts", which=which))
        if seeds:
            roots, gradients = ", ".join([name for name, _ in given]), ", ".join([shown for _, shown in seeds])
            starts = say("starts_at", which=which, roots=roots, gradient=gradients)
            drawn = self.log.told.by_id
            changes = with_rows({key: leaf for key, leaf in self.leaves.items() if key in drawn}, {}, {})
            changes["leaves"] |= self.joints.states(drawn)
            frame = frame.but(
                subtitle=f"{roots}.backward({self.seed})", words=several,
                caption=". ".join(filter(None, [starts, several, *resets, *[product.text for product in products]])),
                node=self.log.model.roots[0] if self.log.model.roots else "", active=tuple(self.log.model.roots),
                receives=tuple(seeds), notes=(*self._notes(event, roots, seeds[0][0], products), *resets),
                products=products, **changes,
            )  # fmt: skip
        self.log.append(frame)

    def _seeds(self, event: protocol.PassStarted) -> tuple[list[tuple[str, Any]], list[tuple[str, str]]]:
        """The names of the roots with their gradients, and the names of those with their numbers."""
        given, seeds = [], []
        for (node, index), gradient in zip(event.roots, event.gradients, strict=True):
            key = self._key(node)
            if key is None:
                continue
            name = self._result_name(key, index)
            given.append((name, gradient))
            read = self.log.pool.read(gradient)
            seeds.append((self._seed_name(name, gradient), read.line))
            if key in self.leaves:
                self.leaves[key].arrive(read, say("the_start"), read)
            self.finite = self.finite and read.is_finite
        return given, seeds

    def _notes(self, event: protocol.PassStarted, roots: str, seed: str, products: tuple[Product, ...]) -> list[str]:
        notes = [say("keeps_saved" if event.retain_graph else "frees_saved")]
        if event.create_graph:
            notes.append(say("records_itself"))
        notes += [say("made_by_pass", name=name, n=n) for node, name, n in self.made_by if self._key(node) is not None]
        if self.inputs is not None:
            asked = ", ".join(leaf.node.name for leaf in self.leaves.values() if leaf.asked)
            notes.append(say("inputs_only", names=asked or "…"))
        if products:
            named = say("vjp_seed", name=seed) if seed != "v" else ""
            notes.append(say("vjp_note", root=roots, n=len(products[0].v)) + named)
        return notes

    def _seed_name(self, root: str, gradient: Any) -> str:
        """Return the name of the gradient that a pass starts with: of the given one, or of the default."""
        if self.seed:
            return self.seed
        if len(self.log.model.roots) > 1:
            return grad_name("", "L", root)
        return "gradient" if math.prod(getattr(gradient, "shape", ())) > 1 else grad_name("", root, root)

    def _meet_leaves(self) -> list[str]:
        """Start the rows of this pass's leaves, and describe the changes of their ``.grad`` since the last pass."""
        self.leaves, said, tensors = {}, [], self.log.model.handles.tensors()
        for node in self.log.model.leaves:
            tensor = tensors.get(node.id)
            leaf = self.leaves[node.id] = LeafAccount(node, tensor, self.log.pool)
            leaf.asked = self.inputs is None or id(tensor) in self.inputs
            if id(tensor) in self.last and leaf.has_changed(self.last[id(tensor)][1]):
                said.append(say(f"was_{leaf.reset}", name=node.name, n=self.passes - 1))
        return said

    def _result_name(self, key: str, index: int = 0) -> str:
        """Return the name of a node's result in the picture."""
        node, model = self.log.model.by_id[key], self.log.model
        if node.kind != "op":
            return node.symbol if node.kind == "group" else node.name
        result = model.results.get((key, index))
        return model.by_id[result.dst].name if result is not None else node.label or node.name

    def _on_NodeStarted(self, event: protocol.NodeStarted) -> None:  # noqa: N802
        key = self._ids.get(event.node) or self._key(event.node)
        if key is None:
            return
        node, model = self.log.model.by_id[key], self.log.model
        if node.kind == "leaf":
            self.open = Frame("accumulate", self.log.scene, self.passes, "AccumulateGrad", node=key, active=(key,))
            return
        self.log.begin(key, self.passes)
        received, active, read = dict[str, Reading](), [key], self.log.pool.read
        self.began = tuple([None if gradient is None else read(gradient) for gradient in event.gradients])
        short: dict[str, LeafState] = {}
        for index, gradient in enumerate(self.began):
            if gradient is None:
                continue
            result = model.results.get((key, index))
            if result is not None:
                received[result.id] = gradient
                active.append(result.dst)
            short |= self.joints.complete(key if result is None else result.dst)
        self.came = Arrival.at(event.node, self.began, self.kept, model.handles, bool(node.formulas))
        frame = Frame(
            "op", self.log.scene, self.passes, node.name, node.expression, node=key, active=(*active, *received),
            received=tuple(received), receives=() if self.log.is_inner else self._receives(key), where=node.where,
            source=node.source, saved=saved_text(node), leaves=short,
        )  # fmt: skip
        for edge, gradient in received.items():
            frame = frame.but(**self.log.with_gradient(frame, edge, gradient))
        self.open = frame

    def _receives(self, key: str) -> tuple[tuple[str, str], ...]:
        """Return the gradients that reached an operation, by name, with the terms of their sums."""
        receives = []
        for index, gradient in enumerate(self.began):
            if gradient is not None:
                shown, terms = gradient.text, self.arrived.get((key, index), [])
                sums = f"{' + '.join(terms)} = {shown}" if 1 < len(terms) <= 4 and "\n" not in shown else shown
                receives.append((grad_name(self.seed, self._root, self._result_name(key, index)), sums))
        return tuple(receives)

    def _on_EdgeSent(self, event: protocol.EdgeSent) -> None:  # noqa: N802
        key = self._ids.get(event.node) or self._key(event.node)
        target = self._ids.get(event.to) or self._key(event.to)
        if key is None or target is None:
            return
        edge = self.log.model.flows.get((key, event.index))
        sent = self.log.pool.read(event.gradient)
        changes = {} if edge is None or self.open is None else self._along(edge, event, self.open, sent, target)
        changes |= self._add_to_sum(event, key, target, sent)
        if self.open is not None:
            self.open = self.open.but(**changes)
            if not sent.is_finite:
                self._mark_bad(event.node, key, edge.id if edge is not None else "", sent.value)

    def _along(self, edge: Edge, event: protocol.EdgeSent, frame: Frame, sent: Reading, target: str) -> dict[str, Any]:
        """Return the changes of a frame for a gradient on an edge, and for its formulas."""
        changes = self.log.with_gradient(frame, edge.id, sent)
        changes["active"] = (*frame.active, edge.id)
        if not self.log.is_inner:
            name = self._result_name(target, event.to_index)
            names = (frame.receives[0][0] if frame.receives else "", grad_name(self.seed, self._root, name))
            changes["sends"] = (*frame.sends, (name, sent.text))
            model, written, steps = self.log.model, list(frame.equations), list(frame.chain)
            node = model.by_id[edge.dst]
            for formula in node.formulas:
                if formula.slot == edge.slot:
                    written.append(equation(formula, node.operands, sent.text, frame.receives))
                    if self.came.gradients:
                        about = event.node, formula, names, self.came, sent, self.log.pool
                        steps.append(chain_step(model, edge, *about))
            changes |= {"equations": tuple(written), "chain": tuple(steps)}
        return changes

    def _add_to_sum(self, event: protocol.EdgeSent, key: str, target: str, sent: Reading) -> dict[str, Any]:
        """Add a gradient to the sum at its target, and return the changes of the running step."""
        total = sent if event.total is event.gradient else self.log.pool.read(event.total)
        leaf, frame = self.leaves.get(target), self.open
        if leaf is None:
            self.arrived.setdefault((target, event.to_index), []).append(sent.text)
            met = self.joints.arrive(target, event.to_index, sent, total)
            return {"leaves": {**frame.leaves, **met}} if frame is not None and met else {}
        leaf.arrive(sent, self._result_name(key), total)
        if self.log.is_inner:
            self.log.owed[target] = leaf
        return {} if frame is None or self.log.is_inner else with_rows({target: leaf}, frame.leaves, frame.ledger)

    def _mark_bad(self, node: Any, key: str, edge: str, gradient: Any) -> None:
        """Mark the first node that turns finite gradients into NaN or Inf, and every edge that carries them on."""
        if self.open is None:
            return
        first = self.finite and not self.seen_bad
        self.seen_bad = True
        alarms: tuple[str, ...] = ()
        if first:
            from nbautograd.viz.capture import failures

            alarms = (say("first_bad"),)
            names = failures.operand_names(self.log.model, key)
            why = failures.first_bad(node, self.came.gradient, gradient, names)
            notes = (why,) if why else ()
            self.bad_from = self.log.model.by_id[key].expression or self.log.model.by_id[key].name
            self.open = self.open.but(notes=(*self.open.notes, *alarms, *notes), alarms=(*alarms, *notes))
        self.open = self.open.but(bad=(*self.open.bad, *((key,) if first else ()), edge))

    def _on_HookCalled(self, event: protocol.HookCalled) -> None:  # noqa: N802
        if self.open is None:
            return
        known = event.kind in ("tensor", "pre", "post", "accumulate")
        what = say(f"hook_{event.kind}") if known else line_of(event.kind, 20)
        before, after = values.inline(event.before), values.inline(event.after)
        changed = "" if event.before is None or event.after is None or before == after else f": {before} → {after}"
        acted = (self.open.node, changed.removeprefix(": ") or what)
        ran = say("hook_ran", what=what, change=changed)
        self.open = self.open.but(notes=(*self.open.notes, ran), hooks=(*self.open.hooks, acted))
        if event.kind in ("tensor", "pre") and self.came.gradient is not None and event.after is not None:
            self.came = self.came.changed(self.log.pool.read(event.after))
        if changed and len(self.open.receives) == 1:  # the formula gets the gradient that the hook returned
            name, came = self.open.receives[0]
            went = self.log.pool.read(event.after)  # it also goes on along the edges
            received = self.open.received
            self.open = self.open.but(
                receives=((name, f"{came} → {went.text}"),),
                labels=self.open.labels | dict.fromkeys(received, went.label),
                tiles=self.open.tiles | dict.fromkeys(received, went.tile),
            )

    def _on_Accumulated(self, event: protocol.Accumulated) -> None:  # noqa: N802
        key = self._key(event.node)
        if key is None or key not in self.leaves:
            return
        self.log.settle()
        leaf, is_first = self.leaves[key], event.after is event.incoming
        came, had, *new = self.log.pool.read_all(event.incoming, event.before, *[event.after] * (not is_first))
        if not leaf.terms:
            leaf.arrive(came, say("the_start"), came)
        leaf.accumulate(had, came, came if is_first else new[0])
        before, incoming, after = leaf.before, leaf.total, leaf.after
        tensor, name = event.node.variable, leaf.node.name
        self.last[id(tensor)] = tensor, after
        if self.creates:
            self.created[f"{name}.grad"] = tensor
        numbers = f"{before} + {incoming} = {after}" if event.before is not None else f"None → {after}"
        added: Mark = ["n", incoming] if len(incoming) <= MAX_NUMBER_CHARACTERS else ["d", self._root, name]
        marks: list[Mark] = [["i", f"{name}.grad"], ["o", "+="], added]
        opened, self.open = self.open, None
        notes, hooks = (opened.notes, opened.hooks) if opened is not None and opened.node == key else ((), ())
        alarms = (say("bad_came_from", what=self.bad_from),) if self.bad_from and not came.is_finite else ()
        self._append(
            "accumulate", "AccumulateGrad", subtitle=f"{name}.grad",
            caption=say("was_added", name=name, before=before, incoming=incoming, after=after),
            words=say("leaf_ends", name=name), node=key, active=(key,),
            receives=((say("sum_for", name=name), leaf.summed()),),
            equations=(Equation(marks, f"{name}.grad += {incoming}", numbers),), sends=((f"{name}.grad", after),),
            notes=(*notes, *alarms), alarms=alarms, hooks=hooks, **with_rows({key: leaf}, {}, {}),
        )  # fmt: skip

    def _on_Captured(self, event: protocol.Captured) -> None:  # noqa: N802
        key = self._key(event.node)
        if key is None:
            return
        name, shown = self._result_name(key, event.index), values.inline(event.gradient)
        if self.creates:
            self.created[grad_name("", self._root, name)] = event.gradient
        if self.open is not None and self.open.kind == "op":
            self.open = self.open.but(notes=(*self.open.notes, say("takes_note", value=shown, name=name)))
            return
        self.log.settle()
        self.open = None
        leaf = self.leaves.get(key)
        self._append(
            "capture", "grad()", subtitle=say("takes_for", name=name),
            caption=say("takes_caption", value=shown, name=name), node=key, active=(key,),
            leaves={key: leaf.state()} if leaf is not None else {}, receives=((say("sum_for", name=name), shown),),
            notes=(say("nothing_added"),),
        )  # fmt: skip

    def _on_NodeFinished(self, event: protocol.NodeFinished) -> None:  # noqa: N802
        frame, self.open, self.came = self.open, None, Arrival()
        if frame is None or frame.kind != "op":
            return
        changes: dict[str, Any] = {"leaves": frame.leaves | self.joints.kept(frame.node)}
        if event.freed:
            changes |= {"freed": (frame.node,), "saved": frame.saved and say("now_freed", saved=frame.saved)}
        if self.log.is_inner:
            self.log.append(frame.but(**changes))
            return
        sends = ", ".join([f"{name} ← {one_line(value)}" for name, value in frame.sends]) or say("nothing")
        receives = ", ".join([f"{name} = {one_line(value)}" for name, value in frame.receives])
        notes = "".join([say("note_in_caption", note=note) for note in frame.notes]) if frame.notes else ""
        told = {"title": frame.title, "subtitle": frame.subtitle, "receives": receives, "sends": sends, "notes": notes}
        quantity = f"{called(self.seed)}ᵀ{self._root}" if self.seed else self._root
        words = op_words(self.log.model.by_id[frame.node].symbol, quantity, frame.sends, frame.leaves, self.log.model)
        self.log.append(frame.but(caption=say("op_caption", **told), words=words, **changes))

    def _on_PassFinished(self, event: protocol.PassFinished) -> None:  # noqa: N802
        frame, self.open, self.came, self.kept = self.open, None, Arrival(), {}
        if frame is not None and frame.kind == "op" and event.error is not None:
            frame = frame.but(receives=frame.receives or self._receives(frame.node))
        self.log.settle()
        if self.progress is not None:
            self.progress()
        if event.error is not None:
            self._fail(frame, event.error)
        elif self.creates:
            self._show_created()

    def _fail(self, frame: Frame | None, error: BaseException) -> None:
        """The last frame of a pass that an error ended, with its cures."""
        from nbautograd.viz.capture import failures  # loaded when a pass fails

        base = frame or Frame("error", self.log.scene, self.passes, "backward")
        root = self._result_name(self.log.model.roots[0]) if self.log.model.roots else "…"
        failure = failures.of_pass(error, self.log.model.by_id.get(base.node), self.log.model, root, self.log.resolve)
        self._append_failure(base, failure)

    def refuse(self, error: BaseException, tensor: Any) -> None:
        """The only frame of a pass that did not begin, because of its arguments."""
        from nbautograd.viz.capture import failures

        self.passes += 1
        failure = failures.refused(error, tensor, self.log.model, self.log.namespace or {}, self.log.resolve)
        if failure.drawn is not None:
            self.log.scenes[self.log.scene] = failure.drawn
            self.log.run(self.log.scene)
        root = self.log.model.roots[0]
        asked = f"{self.log.model.by_id[root].name}.backward()"
        base = Frame("error", self.log.scene, self.passes, "backward", asked, node=root, active=(root,))
        self._append_failure(base, failure)

    def _append_failure(self, base: Frame, failure: Failure) -> None:
        met = {key: leaf for key, leaf in self.leaves.items() if leaf.after}
        for leaf in met.values():
            leaf.look()
            self.last[id(leaf.tensor)] = leaf.tensor, leaf.after
        self.log.append(failure.shown(base, met))

    def _show_created(self) -> None:
        """A scene for the graph that a recorded pass has made."""
        gradients = {name: tensor.grad if tensor.is_leaf else tensor for name, tensor in self.created.items()}
        recorded = {name: tensor for name, tensor in gradients.items() if getattr(tensor, "grad_fn", None) is not None}
        if not recorded:
            return
        seeds = {grad_name("", self._root, self._root): seed for seed in self.seeds[:1]}
        names = {**dict(self.log.namespace or {}), **seeds, **recorded}
        self.made_by += [(tensor.grad_fn, name, self.passes) for name, tensor in recorded.items()]
        before, self.created = self.log.scene, {}
        self.log.add(self.log.build(list(recorded.values()), names))
        shown = ", ".join(recorded)
        self._append(
            "created", say("created"), subtitle=shown, caption=say("created_caption", names=shown),
            active=tuple(self.log.model.roots), notes=(say("records_itself"),),
        )  # fmt: skip
        self.log.run(min(before, len(self.log.scenes) - 1))
