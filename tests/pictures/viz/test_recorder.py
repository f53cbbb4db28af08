"""Check the frames: every number of a pass, in the engine's own order."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd import protocol, viz
from nbautograd._engine.core import tracing
from nbautograd.viz.capture.player_data import frames_json, saved_text
from nbautograd.viz.capture.recorder import Recorder, Timeline
from nbautograd.viz.notebook.recording import ledger_rows, ledger_text
from nbautograd.viz.read.builder import build
from tests import needs

from .fake_graph import Seed

LEDGER = """\
pass  leaf  .grad before  arriving this pass   sum  .grad after
1     w     None          3. via b + 2. via a  5.   5.
1     x     None          2. via a             2.   2."""


def recorded(passes: int = 1) -> Timeline:
    seed = Seed()
    recorder = Recorder(build(seed.y, seed.names, resolve=seed.resolve))
    for _ in range(passes):
        for event in seed.events():
            recorder(event)
        seed.finish()
    return recorder.timeline()


def test_the_seed_pass() -> None:
    timeline = recorded()
    assert [frame.kind for frame in timeline.frames] == ["start", "op", "op", "op", "accumulate", "accumulate"]
    assert ledger_text(timeline) == LEDGER
    w = next(leaf for leaf in timeline.scenes[0].leaves if leaf.name == "w").id
    rows = [(f.leaves[w].arriving, f.leaves[w].count, f.leaves[w].grad) for f in timeline.frames if w in f.leaves]
    assert rows == [
        ("–", "0 of 2", "None"),
        ("3.", "1 of 2", "None"),
        ("3. + 2. = 5.", "2 of 2", "None"),  # the sum over paths is in a buffer; .grad has not changed
        ("3. + 2. = 5.", "2 of 2", "5."),
    ]


def test_a_step_says_what_came_what_was_done_and_what_went() -> None:
    step = recorded().frames[1]
    assert (step.title, step.subtitle) == ("MulBackward0", "y = a × b")
    assert step.receives == (("∂y/∂y", "1."),)
    assert [(e.text, e.numbers) for e in step.equations] == [
        ("∂y/∂a += ∂y/∂y · b", "1. · 2. = 2."),
        ("∂y/∂b += ∂y/∂y · a", "1. · 3. = 3."),
    ]
    assert step.sends == (("a", "2."), ("b", "3."))
    assert (step.where, step.source) == ("In [3], line 5", "y = torch.mul(a, b)")
    assert step.saved == "input (1,), other (1,) · 8 B, now freed"
    assert step.freed == ("n0",)


def test_passes_accumulate() -> None:
    timeline = recorded(4)
    assert len(timeline.scenes) == 1
    rows = [row for row in ledger_rows(timeline) if row[1] == "w"]
    assert [(row[2], row[4], row[5]) for row in rows] == [
        ("None", "5.", "5."),
        ("5.", "5.", "10."),
        ("10.", "5.", "15."),
        ("15.", "5.", "20."),
    ]


def test_a_moment_has_what_was_active_as_done() -> None:
    timeline = recorded()
    before, after = timeline.state_at(2), timeline.state_at(3)
    assert before.active - after.active <= after.done
    assert timeline.state_at(0).active == frozenset()
    assert timeline.final().active == frozenset()


def test_the_timeline_is_json() -> None:
    frames = frames_json(recorded().frames)
    assert json.loads(json.dumps(frames))[0]["kind"] == "start"


def test_nan_is_flagged_where_it_arises() -> None:
    seed = Seed()
    recorder = Recorder(build(seed.y, seed.names))
    nan, one = np.float32([np.nan]), np.float32([1])
    recorder(protocol.PassStarted(((seed.mul, 0),), (one,), False, False))
    recorder(protocol.NodeStarted(seed.mul, (one,)))
    recorder(protocol.EdgeSent(seed.mul, 0, seed.add_a, 0, nan, nan))
    recorder(protocol.NodeFinished(seed.mul, False))
    recorder(protocol.NodeStarted(seed.add_a, (nan,)))
    recorder(protocol.EdgeSent(seed.add_a, 0, seed.acc_w, 0, nan, nan))
    recorder(protocol.NodeFinished(seed.add_a, False))
    recorder(protocol.PassFinished(None))
    frames = recorder.timeline().frames
    arises = "the first NaN or Inf of this pass arises here"
    assert frames[1].notes == (arises, "a gradient of 1. and a = 3. and b = 2. give nan")
    assert frames[1].alarms == frames[1].notes and "n0" in frames[1].bad
    assert frames[2].notes == () and "n0" not in frames[2].bad and frames[2].bad


def test_an_error_is_on_the_picture() -> None:
    seed = Seed()
    recorder = Recorder(build(seed.y, seed.names))
    recorder(protocol.PassStarted(((seed.mul, 0),), (np.float32([1]),), False, False))
    recorder(protocol.NodeStarted(seed.mul, (np.float32([1]),)))
    recorder(protocol.PassFinished(ValueError("no <b>good</b>")))
    last = recorder.timeline().frames[-1]
    assert last.kind == "error" and last.bad == ("n0",) and "ValueError: no <b>good</b>" in last.caption


def test_hooks_are_told() -> None:
    seed = Seed()
    recorder = Recorder(build(seed.y, seed.names))
    events = seed.events()
    for event in events[:2]:
        recorder(event)
    recorder(protocol.HookCalled(seed.mul, "tensor", np.float32([1]), np.float32([2])))
    for event in events[2:]:
        recorder(event)
    step = recorder.timeline().frames[1]
    assert step.notes == ("tensor hook ran: 1. → 2.",)
    assert step.receives == (("∂y/∂y", "1. → 2."),)


def test_no_equation_is_shown_that_does_not_hold() -> None:
    """A hook on the node itself changes the sent gradient, so the numbers no longer follow from the formula."""
    seed = Seed()
    recorder = Recorder(build(seed.y, seed.names))
    one, nine = np.float32([1]), np.float32([9])
    recorder(protocol.PassStarted(((seed.mul, 0),), (one,), False, False))
    recorder(protocol.NodeStarted(seed.mul, (one,)))
    recorder(protocol.EdgeSent(seed.mul, 0, seed.add_a, 0, nine, nine))
    recorder(protocol.NodeFinished(seed.mul, False))
    assert [equation.numbers for equation in recorder.timeline().frames[1].equations] == [""]


def test_a_hook_on_a_tensor_changes_what_its_node_gets() -> None:
    y, names = ours()
    y.register_hook(lambda g: g * 2)
    step = viz.animate(y, namespace=names).timeline.frames[1]
    assert [equation.numbers for equation in step.equations] == ["2. · 2. = 4.", "2. · 3. = 6."]


# -- real engines ------------------------------------------------------------------------------------------------------


def ours() -> tuple[Any, dict[str, Any]]:
    with tracing.traced():
        w, x = nb.tensor([1.0], requires_grad=True), nb.tensor([2.0], requires_grad=True)
        a, b = nb.add(w, x), nb.add(w, 1)
        y = nb.mul(a, b)
    return y, {"w": w, "x": x, "a": a, "b": b, "y": y}


def theirs() -> tuple[Any, dict[str, Any]]:
    torch = needs.package("torch")
    w, x = torch.tensor([1.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    a, b = torch.add(w, x), torch.add(w, 1)
    y = torch.mul(a, b)
    return y, {"w": w, "x": x, "a": a, "b": b, "y": y}


@pytest.mark.parametrize("make", [ours, theirs])
def test_animate(make: Any) -> None:
    y, names = make()
    animation = viz.animate(y, namespace=names)
    assert ledger_text(animation.timeline) == LEDGER
    assert [f.title for f in animation.timeline.frames] == [
        "pass 1",
        "MulBackward0",
        "AddBackward0",
        "AddBackward0",
        "AccumulateGrad",
        "AccumulateGrad",
    ]
    assert names["w"].grad.item() == 5.0


@pytest.mark.parametrize("make", [ours, theirs])
def test_a_second_pass_through_a_freed_graph_fails_as_usual(make: Any) -> None:
    y, names = make()
    y.backward()
    with pytest.raises(RuntimeError, match="second time") as caught:
        viz.animate(y, namespace=names)
    assert caught.value.animation.timeline.frames[-1].kind == "error"


def test_record_keeps_every_pass() -> None:
    y, names = ours()
    with viz.record(namespace=names) as passes:
        for _ in range(4):
            y.backward(retain_graph=True)
    after = [row[5] for row in ledger_rows(passes.timeline) if row[1] == "w"]
    assert after == ["5.", "10.", "15.", "20."]
    assert passes.label == "y → 2 leaves, 3 operations · 24 steps · 4 passes"


def test_record_of_a_training_loop() -> None:
    w = nb.tensor(1.0, requires_grad=True)
    with tracing.traced(), viz.record(namespace={"w": w}) as passes:
        for _ in range(3):
            loss = (w * w - 2) ** 2
            w.grad = None
            loss.backward()
            with nb.no_grad():
                w -= 0.01 * w.grad
    assert len(passes.timeline.scenes) == 3  # the numbers differ, so the pictures differ
    assert passes.html().count("<script") == 2


def test_grad_captures_and_does_not_accumulate() -> None:
    y, names = ours()
    with viz.record(namespace=names) as passes:
        nb.autograd.grad(y, names["w"])
    assert passes.timeline.frames[-1].kind == "capture"
    assert names["w"].grad is None


def test_nothing_recorded() -> None:
    with viz.record() as passes:
        pass
    assert passes.label == "no backward pass"
    assert "text/html" in passes._repr_mimebundle_()
    assert passes.html().startswith("<!doctype html>")


# -- what a recording explains -----------------------------------------------------------------------------------------


def leaf(*values: float) -> Any:
    return nb.tensor(list(values), requires_grad=True)


def traced(make: Any) -> Any:
    with tracing.traced():
        return make()


def test_the_local_derivative_of_the_first_nan() -> None:
    q = leaf(4.0, 0.0, 9.0)
    u = traced(lambda: (nb.sqrt(q) * nb.tensor([1.0, 0.0, 1.0])).sum())
    frames = viz.animate(u, namespace={"q": q, "u": u}).timeline.frames
    frame = next(f for f in frames if f.alarms)
    assert frame.title == "SqrtBackward0"
    assert frame.alarms[1] == "at [1], a gradient of 0. and q = 0. give nan"
    assert frames[-1].kind == "accumulate"
    assert frames[-1].alarms == ("it comes from nb.sqrt(q), where the first NaN or Inf arose",)


def test_a_second_pass_says_what_is_freed_and_what_to_do() -> None:
    w = leaf(2.0)
    y = traced(lambda: w * w * 3)
    y.backward()
    with pytest.raises(RuntimeError) as caught:
        viz.animate(y, namespace={"w": w, "y": y})
    frame = caught.value.animation.timeline.frames[-1]
    assert frame.kind == "error" and frame.freed
    assert "has freed what" in frame.alarms[0]
    cure = '`viz.animate(y, namespace={"w": w, "y": y}, retain_graph=True)`'
    assert cure in frame.alarms[1] and "again before this pass" in frame.alarms[2]
    assert "GraphFreedError" in frame.caption and len(frame.caption) < 400


def test_create_graph_shows_the_graph_that_it_makes() -> None:
    a = leaf(3.0)
    y = traced(lambda: a**3)
    with pytest.warns(UserWarning) if _warns() else _quiet(), tracing.traced():
        animation = viz.animate(y, create_graph=True, namespace={"a": a, "y": y})
    last = animation.timeline.frames[-1]
    assert last.kind == "created" and "a.grad" in last.caption
    graph = animation.timeline.scenes[last.scene]
    assert graph.by_id[graph.roots[0]].name == "a.grad"
    assert animation.label.startswith("y → 1 leaf, 1 operation")


def _warns() -> bool:
    from nbautograd.autograd import accumulate

    return not getattr(accumulate, "_warned", True)


def _quiet() -> Any:
    from contextlib import nullcontext

    return nullcontext()


def test_gradient_shows_the_product_with_the_jacobian() -> None:
    w = leaf(2.0, 3.0)
    z = traced(lambda: w * w)
    animation = viz.animate(z, nb.tensor([1.0, 10.0]), namespace={"w": w, "z": z})
    (product,) = animation.timeline.frames[0].products
    assert (product.v, product.matrix, product.result) == (("1.", "10."), (("4.", "0."), ("0.", "6.")), ("4.", "60."))
    assert product.text == "vᵀJ for w, J = ∂z/∂w: [1., 10.] · [4., 0.; 0., 6.] = [4., 60.]"
    assert w.grad.tolist() == [4.0, 60.0]
    assert animation.timeline.frames[0].receives == (("gradient", "[ 1., 10.]"),)
    v = nb.ones(4)
    w = leaf(1.0, 2.0, 3.0, 4.0)
    start = viz.animate(traced(lambda: w * w), v, namespace={"w": w, "v": v}).timeline.frames[0]
    assert start.receives == (("v", "[1., 1., 1., 1.]"),) and start.subtitle.endswith(".backward(v)")
    assert len(start.products[0].matrix) == 4 and not any("v = v" in note for note in start.notes)


def test_what_an_earlier_pass_has_freed_is_not_nothing() -> None:
    w = leaf(2.0)
    y = traced(lambda: w * w)
    y.backward()
    (node,) = [node for node in viz.graph(y, namespace={"w": w, "y": y}).model.nodes if node.kind == "op"]
    assert saved_text(node) == "freed by an earlier pass"
    (node,) = [node for node in viz.graph(w + 1, namespace={"w": w}).model.nodes if node.kind == "op"]
    assert saved_text(node) == "nothing"


def test_no_jacobian_where_it_would_be_noticed() -> None:
    w = leaf(2.0, 3.0)
    z = traced(lambda: w * w)
    seen: list[Any] = []
    z.register_hook(seen.append)
    assert viz.animate(z, nb.tensor([1.0, 10.0]), namespace={"w": w}).timeline.frames[0].products == ()
    assert len(seen) == 1
    big = leaf(*map(float, range(20)))
    square = traced(lambda: big * big)
    assert viz.animate(square, nb.ones(20)).timeline.frames[0].products == ()


def test_inputs_leave_others_out() -> None:
    w, x = leaf(2.0), leaf(3.0)
    y = traced(lambda: w * x)
    start = viz.animate(y, inputs=[x], namespace={"w": w, "x": x, "y": y}).timeline.frames[0]
    assert "inputs=: only x get a gradient" in start.notes
    assert sorted((row.before, row.asked) for row in start.ledger.values()) == [("None", False), ("None", True)]
    assert w.grad is None and x.grad is not None


def test_zeroing_between_passes_is_seen() -> None:
    w, x = leaf(2.0), leaf(3.0)
    with tracing.traced(), viz.record(namespace={"w": w, "x": x}) as passes:
        for _ in range(2):
            (w * x).backward()
            w.grad = None
            x.grad.zero_()
        (w * x).backward()
        x.grad.mul_(2)
        (w * x).backward()
    starts = [frame for frame in passes.timeline.frames if frame.kind == "start"]
    resets = [sorted(row.reset for row in start.ledger.values()) for start in starts]
    assert resets == [["", ""], ["none", "zeroed"], ["none", "zeroed"], ["", "changed"]]
    assert (
        "w.grad was set to None after pass 1" in starts[1].notes
        and "x.grad was set to zero after pass 1" in starts[1].caption
    )


def test_hooks_are_seen_where_they_act() -> None:
    w = leaf(2.0)
    w.register_hook(lambda g: g * 10)
    y = traced(lambda: w * 3)
    frames = viz.animate(y, namespace={"w": w, "y": y}).timeline.frames
    assert [text for frame in frames for _, text in frame.hooks] == ["3. → 30."]
    assert w.grad.item() == 30


def test_large_gradients_show_shape_and_norm_and_sizes_are_noted() -> None:
    a = nb.ones(64, 32, requires_grad=True)
    y = traced(lambda: (a * 1e-8).sum())
    frame = next(f for f in viz.animate(y, namespace={"a": a, "y": y}).timeline.frames if f.title == "MulBackward0")
    assert [text.split("\n")[0] for text in frame.labels.values()] == ["(64, 32)"]
    assert sorted(frame.sizes.values()) == [-8.0]


def test_every_frame_can_be_read_aloud() -> None:
    w = leaf(2.0)
    with tracing.traced(), viz.record(namespace={"w": w}) as passes:
        (w * w).backward()
        nb.autograd.grad((w * w * 2).sum(), w, create_graph=True)
    assert {frame.kind for frame in passes.timeline.frames} == {"start", "op", "accumulate", "capture", "created"}
    assert all(frame.caption for frame in passes.timeline.frames)


@pytest.mark.sweep
def test_a_folded_graph_plays_operation_by_operation() -> None:
    w = leaf(0.5)
    h = w
    with tracing.traced():
        for _ in range(150):
            h = nb.tanh(h * w)
    animation = viz.animate(h, namespace={"w": w, "h": h})
    ops = [frame for frame in animation.timeline.frames if frame.kind == "op"]
    assert len(ops) == 300 and {frame.title for frame in ops} == {"MulBackward0", "TanhBackward0"}
    scene = animation.timeline.scenes[0]
    inside = [frame for frame in ops if scene.by_id[scene.stands.get(frame.node, frame.node)].kind == "group"]
    assert len(inside) > 200 and all(frame.equations and frame.source for frame in ops)
    assert len(animation.html()) < 1_500_000
    shown = animation.timeline.final().seen_in(scene)
    assert shown.done <= {node.id for node in scene.nodes} | {edge.id for edge in scene.edges} | {""}


@pytest.mark.sweep
def test_of_a_large_graph_a_group_is_one_step() -> None:
    needs.package("anywidget")
    w = leaf(0.5)
    h = w
    with tracing.traced():
        for _ in range(700):
            h = nb.tanh(h * w)
    animation = viz.animate(h, namespace={"w": w, "h": h})
    frames = animation.timeline.frames
    assert len(frames) < 20 and frames[-1].kind == "accumulate"
    (group,) = (frame for frame in frames if frame.count > 1)
    assert group.count == 1396 and group.title == "h ×698" and group.subtitle == "mul · tanh"
    assert group.caption == "h ×698 (mul · tanh): 1396 operations run."
    assert animation.widget is not None and len(animation.html()) < 480_000


# -- what goes wrong around it -----------------------------------------------------------------------------------------


def test_an_interrupt_leaves_everything_as_it_was() -> None:
    w = leaf(2.0)

    def interrupt(g: Any) -> Any:
        raise KeyboardInterrupt

    y = traced(lambda: w * 3)
    y.register_hook(interrupt)
    before = (protocol.observers.get(), tracing.is_on())
    with pytest.raises(KeyboardInterrupt), viz.record(namespace={"w": w}) as passes:
        y.backward()
    assert (protocol.observers.get(), tracing.is_on()) == before
    assert passes.timeline.frames[-1].kind == "error" and "KeyboardInterrupt" in passes.text


class Rude:
    """A variable of the user that raises on any access."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("go away")

    def __repr__(self) -> str:
        raise RuntimeError("go away")


def test_rude_objects_in_the_namespace() -> None:
    w = leaf(2.0)
    y = traced(lambda: w * 3)
    names = {"w": w, "y": y, "rude": Rude(), 5: w}
    assert viz.graph(y, namespace=names).svg
    assert len(viz.animate(y, namespace=names)) == 3


def test_what_the_recorder_cannot_read_does_not_cost_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> str:
        raise ValueError("no text")

    w = leaf(2.0)
    y = traced(lambda: w * 3)
    recorder = Recorder(build(y, {"w": w}))
    monkeypatch.setattr("nbautograd.viz.capture.recorder.values.inline", fail)
    with protocol.observe(recorder):
        y.backward()
    assert w.grad.item() == 3 and recorder.troubles > 0


def test_progress_is_called_once_a_pass() -> None:
    w, count = leaf(2.0), []
    recorder = Recorder(namespace={"w": w}, progress=lambda: count.append(1))
    with protocol.observe(recorder):
        for _ in range(5):
            (w * 3).backward()
    assert len(count) == 5
    with viz.record(progress=True) as passes:  # with tqdm or without
        (w * 3).backward()
    assert len(passes) == 3
