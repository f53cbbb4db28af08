"""What the frames say: every number of a pass, in the engine's own order."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd import protocol, tracing, viz
from nbautograd.viz import text
from nbautograd.viz.model import build
from nbautograd.viz.recorder import Recorder, Timeline

from .fake import Seed

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
    assert text.ledger_text(timeline) == LEDGER
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
    rows = [row for row in text.ledger_rows(timeline) if row[1] == "w"]
    assert [(row[2], row[4], row[5]) for row in rows] == [
        ("None", "5.", "5."),
        ("5.", "5.", "10."),
        ("10.", "5.", "15."),
        ("15.", "5.", "20."),
    ]


def test_a_moment_has_what_was_active_as_done() -> None:
    timeline = recorded()
    before, after = timeline.moment(2), timeline.moment(3)
    assert before.active - after.active <= after.done
    assert timeline.moment(0).active == frozenset()
    assert timeline.final().active == frozenset()


def test_the_timeline_is_json() -> None:
    data = recorded().to_json()
    assert json.loads(json.dumps(data))["frames"][0]["kind"] == "start"


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
    assert frames[1].notes == ("the first NaN or Inf of this pass arises here",) and "n0" in frames[1].bad
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
    """A hook on the node itself changes what it sends, so the numbers no longer follow from the formula."""
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
    torch = pytest.importorskip("torch")
    w, x = torch.tensor([1.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    a, b = torch.add(w, x), torch.add(w, 1)
    y = torch.mul(a, b)
    return y, {"w": w, "x": x, "a": a, "b": b, "y": y}


@pytest.mark.parametrize("make", [ours, theirs])
def test_animate(make: Any) -> None:
    y, names = make()
    animation = viz.animate(y, namespace=names)
    assert text.ledger_text(animation.timeline) == LEDGER
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
    after = [row[5] for row in text.ledger_rows(passes.timeline) if row[1] == "w"]
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
    assert len(passes.timeline.scenes) == 3  # the numbers differ, so the pictures do
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
