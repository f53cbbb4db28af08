"""Check the events of a pass for observers, and the lines and operands that tracing notes."""

from __future__ import annotations

import pytest

import nbautograd as nb
from nbautograd import protocol
from nbautograd.protocol import observe
from tests.engine.autograd.example_graph import example_graph


def test_events_tell_the_whole_pass():
    w, _, _, _, y = example_graph(nb)
    events = []
    with observe(events.append):
        y.backward()
    assert [type(e).__name__ for e in events] == [
        "PassStarted",
        *["NodeStarted", "EdgeSent", "EdgeSent", "NodeFinished"],
        *["NodeStarted", "EdgeSent", "NodeFinished"],
        *["NodeStarted", "EdgeSent", "EdgeSent", "NodeFinished"],
        *["NodeStarted", "Accumulated", "NodeFinished"] * 2,
        "PassFinished",
    ]
    to_w = [e for e in events if isinstance(e, protocol.EdgeSent) and getattr(e.to, "variable", None) is w]
    assert [(e.gradient.item(), e.total.item()) for e in to_w] == [(3, 3), (2, 5)]
    (accumulated,) = [e for e in events if isinstance(e, protocol.Accumulated) and e.node.variable is w]
    assert accumulated.before is None and accumulated.incoming.item() == accumulated.after.item() == 5


def test_an_observed_pass_with_create_graph_is_recorded():
    x = nb.tensor(3.0, requires_grad=True)
    h = x * x
    h.register_hook(lambda g: g * x)
    events = []
    with observe(events.append):
        (first,) = nb.autograd.grad(h * x, x, create_graph=True)
    assert events and nb.autograd.grad(first, x)[0].item() == 72  # of 2 x³ + x²; the hook multiplies 2 x by x again


def test_two_observers_are_told_the_same():
    *_, y = example_graph(nb)
    one, two = [], []
    with observe(one.append), observe(two.append):
        y.backward()
    assert len(one) == 19 and list(map(type, one)) == list(map(type, two))


def test_an_error_ends_the_events():
    w, *_, y = example_graph(nb)
    y.backward()
    events = []
    with observe(events.append), pytest.raises(RuntimeError):
        y.backward()
    assert isinstance(events[-1], protocol.PassFinished) and isinstance(events[-1].error, RuntimeError)
    assert w.grad.item() == 5


def test_tracing_notes_line_operands_and_output():
    from nbautograd._engine.core import tracing

    w, x = nb.tensor([1.0], requires_grad=True), nb.tensor([2.0])
    with tracing.traced():
        y = w * x + 3
    trace = y.grad_fn.trace
    assert trace.filename == __file__ and trace.output() is y and trace.value.tolist() == [5]
    assert [(o.name, o.slot) for o in trace.operands[:2]] == [("input", 0), ("other", 1)]
    assert trace.operands[1].value == 3
    mul = y.grad_fn.next_functions[0][0].trace
    assert mul.operands[1].tensor() is x and mul.operands[1].shape == (1,)
    assert (w * x).grad_fn.trace is None
