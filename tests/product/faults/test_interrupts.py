"""Check that a pass interrupted at any moment changes the ``.grad`` of all leaves or of none, and leaves no mode on.

Used parts of the graph are freed, as in PyTorch: saved tensors of nodes that have run are freed unless
``retain_graph=True``. A leaf with a hook after its accumulation gets its gradient at once; in a pass with such a hook,
the promise holds for each such leaf separately.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd import protocol, viz
from nbautograd.autograd import accumulate as at_leaves, engine
from nbautograd.viz.capture import frame_log

from .fault_injection import failing, interrupt, moments

Leaves = list[nb.Tensor]


def leaves(grads: bool) -> Leaves:
    found = [
        nb.tensor(2.0, requires_grad=True),
        nb.tensor([1.0, 2.0], requires_grad=True),
        nb.ones(2, 2, requires_grad=True),
    ]
    if grads:
        for leaf in found:
            leaf.grad = nb.full(leaf.shape, 10.0)
    return found


def result(found: Leaves) -> nb.Tensor:
    a, b, c = found
    return ((a * b).exp() @ c).sum() + (b * b).sum()


def state(found: Leaves) -> list[tuple[Any, ...]]:
    """All that a pass changes of its leaves."""
    return [
        (None if leaf.grad is None else leaf.grad.tolist(), id(leaf.grad) if leaf.grad is not None else 0)
        for leaf in found
    ]


def values(found: Leaves) -> list[Any]:
    return [None if leaf.grad is None else leaf.grad.tolist() for leaf in found]


def reset(found: Leaves, grads: list[Any]) -> None:
    for leaf, grad in zip(found, grads, strict=True):
        leaf.grad = None if grad is None else nb.tensor(grad)


def modes() -> tuple[Any, ...]:
    return (
        nb.is_grad_enabled(),
        np.geterr(),
        engine.current_graph_task(),
        protocol.observers.get(),
        protocol.current_scope(),
    )


def plainly(y: nb.Tensor) -> None:
    y.backward(retain_graph=True)


@pytest.fixture
def watched(request: pytest.FixtureRequest) -> Iterator[None]:
    """An observer, with which passes run in the engine's other loop."""
    with protocol.observe(lambda event: None) if request.param == "observed" else nullcontext():
        yield


EITHER_WAY = pytest.mark.parametrize("watched", ["plain", "observed"], indirect=True)


BEFORE = pytest.mark.parametrize("before", ["no gradients before", "gradients before"])


@BEFORE
@EITHER_WAY
@pytest.mark.usefixtures("watched")
def test_an_interrupt_at_every_moment(before: str) -> None:
    found = leaves(before == "gradients before")
    plainly(result(found))
    expected = values(found)
    found = leaves(before == "gradients before")
    y = result(found)
    clean, outside = values(found), modes()
    ended = {"before": 0, "after": 0}
    nb.zeros(1).add_(1)  # after which every node checks its saved tensors for writes
    every = moments(lambda: plainly(y))
    reset(found, clean)
    for moment in every[: -150 : 1 if len(every) < 600 else 7] + every[-150:]:
        held = [leaf.grad for leaf in found]
        if interrupt(lambda: plainly(y), moment):
            changed = values(found) != clean
            assert not changed or values(found) == expected, f"moment {moment}: between"
            if held[0] is not None:
                assert all(leaf.grad is grad for leaf, grad in zip(found, held, strict=True))
            ended["after" if changed else "before"] += 1
        assert modes() == outside, f"moment {moment}: a mode stayed"
        reset(found, clean)
    assert ended["before"] > 100 and ended["after"]
    plainly(y)
    assert values(found) == expected


@BEFORE
@pytest.mark.parametrize("what", ["create_graph", "grad"])
def test_an_interrupt_of_a_recorded_pass(what: str, before: str) -> None:
    found = leaves(before == "gradients before")
    y = result(found)
    clean, outside = values(found), modes()

    def run() -> None:
        if what == "grad":
            nb.autograd.grad(y, found, create_graph=True)
        else:
            y.backward(inputs=found, create_graph=True)

    at_leaves._warned = True  # of the cycle below
    run()
    expected = values(found)
    if what == "grad":
        assert expected == clean
    reset(found, clean)
    run()  # after it, nodes hold the arrays that came in place of saved scalars, and runs are equal
    reset(found, clean)
    for moment in moments(run)[::23]:
        reset(found, clean)
        interrupt(run, moment)
        assert values(found) in (clean, expected), f"moment {moment}: between"
        assert modes() == outside


def test_the_version_of_a_gradient_counts_what_was_written() -> None:
    """A saved ``.grad`` shows that it changed, wherever the pass was interrupted."""
    found = leaves(True)
    y = result(found)
    plainly(y)
    for moment in moments(lambda: plainly(y))[-90:]:
        was = [(leaf.grad.tolist(), leaf.grad._version) for leaf in found]
        assert interrupt(lambda: plainly(y), moment)
        for leaf, (grad, version) in zip(found[1:], was[1:], strict=True):  # a 0-d tensor is replaced, not written to
            assert (leaf.grad.tolist() != grad) <= (leaf.grad._version > version)


def test_an_error_in_every_formula() -> None:
    """Each node in turn fails where its formula runs: no leaf has changed, and the same graph then gives the result."""
    found = leaves(True)
    y = result(found)
    clean = state(found)
    nodes, stack = [], [y.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and not hasattr(node, "variable") and node not in nodes:
            nodes.append(node)
            stack += [to for to, _ in node.next_functions]
    assert len(nodes) >= 6
    for number, node in enumerate(nodes):
        kind = type(node)
        broken = type(kind.__name__, (kind,), {"__slots__": (), "vjp": failing(kind.vjp, 0, ArithmeticError(number))})
        node.__class__ = broken
        with pytest.raises(ArithmeticError):
            y.backward(retain_graph=True)
        node.__class__ = kind
        assert state(found) == clean
    y.backward()
    assert values(found)[0] > 10


@EITHER_WAY
@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("kind", ["tensor", "pre", "post", "leaf"])
def test_an_error_in_every_hook(kind: str) -> None:
    found = leaves(True)
    middle = found[0] * found[1]
    y = (middle.exp() @ found[2]).sum() + found[1].sum()
    clean, outside = state(found), modes()

    def hook(*_: Any) -> None:
        raise ArithmeticError(kind)

    register = {
        "tensor": middle.register_hook,
        "pre": middle.grad_fn.register_prehook,
        "post": middle.grad_fn.register_hook,
        "leaf": found[1].register_hook,
    }[kind]
    handle = register(hook)
    with pytest.raises(ArithmeticError):
        plainly(y)
    assert state(found) == clean and modes() == outside
    handle.remove()
    plainly(y)
    assert values(found)[1][0] > 11


def test_an_error_in_an_accumulation() -> None:
    """The gradient of one leaf cannot be copied: no other leaf has got its own."""
    for number in range(3):
        found = leaves(False)
        y = sum(leaf.sum() for leaf in found)
        new, at_leaves.new = at_leaves.new, failing(at_leaves.new, number, MemoryError("no room"))
        try:
            with pytest.raises(MemoryError):
                y.backward()
        finally:
            at_leaves.new = new
        assert values(found) == [None] * 3


def test_a_leaf_with_a_hook_after_its_accumulation_keeps_what_it_got() -> None:
    """As in PyTorch: the hook may already have used the gradient, so it is not taken back."""
    found = leaves(False)
    seen: list[Any] = []

    def after(leaf: nb.Tensor) -> None:
        seen.append(leaf.grad.tolist())
        raise KeyboardInterrupt

    found[0].register_post_accumulate_grad_hook(after)
    y = result(found)
    with pytest.raises(KeyboardInterrupt):
        y.backward()
    assert found[0].grad.tolist() == seen[0]
    assert values(found)[1:] == [None, None]


def test_the_graph_is_used_up_as_far_as_the_pass_came() -> None:
    """The nodes that ran have freed their saved tensors, and a second pass says so; with retain_graph they have not."""
    x = nb.ones(2, requires_grad=True)
    middle = x.exp()
    y = (middle * middle).sum()
    handle = middle.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.backward()
    handle.remove()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    assert x.grad is None


def test_an_interrupted_recording_keeps_what_it_saw() -> None:
    """The timeline can be drawn and is right about ``.grad``, wherever the pass was interrupted."""

    def fresh() -> tuple[nb.Tensor, ...]:
        x, w = (nb.tensor([n], requires_grad=True) for n in (2.0, 3.0))
        return x, w, (x * w + x).sum()

    passes = None

    def run() -> None:
        nonlocal passes
        with viz.record(namespace={}) as passes:
            y.backward()

    x, w, y = fresh()
    run()  # what is read of the classes at first
    x, w, y = fresh()
    every, failed = moments(run), 0
    for moment in every[:: len(every) // 40]:
        x, w, y = fresh()
        passes = None
        outside = protocol.observers.get()
        ended = interrupt(run, moment)
        protocol.observers.set(outside)  # if the block was about to begin or end
        assert (x.grad is None) == (w.grad is None)
        if passes is not None and len(passes):
            assert passes.text and passes.svg.startswith("<svg")
            if ended and x.grad is None and passes.timeline.frames[-1].kind == "error":
                failed += 1
                assert all(row.after in ("", "None") for row in passes.timeline.frames[-1].ledger.values())
    assert failed > 3


def test_an_interrupted_recording_of_many_graphs_can_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first graphs and steps make room for the next, wherever that is interrupted."""
    monkeypatch.setattr(frame_log, "MAX_SCENES", 2)
    monkeypatch.setattr(frame_log, "MAX_FRAMES", 8)
    w, passes = nb.ones(2, requires_grad=True), None

    def run() -> None:
        nonlocal passes
        with viz.record(namespace={}) as passes:
            for factor in (1.0, 2.0, 3.0):
                (w * factor).sum().backward()

    run()  # what is read of the classes at first
    for moment in moments(run, frame_log.FrameLog.add):
        assert interrupt(run, moment)
        assert passes is not None and (passes.text or not len(passes))


LAYERS = nb.nn.Sequential(
    nb.nn.Linear(2, 3), nb.nn.BatchNorm1d(3), nb.nn.GELU(), nb.nn.Dropout(0.5), nb.nn.LayerNorm(3)
)
TABLE = nb.nn.Embedding(3, 2, max_norm=0.5)
NAMES = ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adamax", "NAdam", "Rprop", "Adafactor", "Muon"]
WEIGHTS = [nb.nn.Parameter(nb.ones(2, 2)), nb.nn.Parameter(nb.ones(2, 2))]
RUNS = {
    "forward": lambda: LAYERS(TABLE(nb.tensor([0, 2]))),
    "functions": lambda: nb.linspace(0, 1, 3).exp().softmax(0).std().log(),
    **{name: getattr(nb.optim, name)(WEIGHTS, lr=0.1).step for name in NAMES},
}


@pytest.mark.parametrize("what", RUNS)
def test_an_interrupt_of_layers_and_steps_leaves_no_mode(what: str) -> None:
    """Neither recording nor NumPy's warnings stay off, as after Ctrl+C in the loop of a training that goes on."""
    for weight in WEIGHTS:
        weight.grad = nb.ones(2, 2)
    run, outside = RUNS[what], modes()
    run()  # what is compiled at first
    every = moments(run)
    for moment in every[:: max(1, len(every) // 400)]:
        interrupt(run, moment)
        assert modes() == outside, f"moment {moment}"
