"""Computing a recorded graph again with another value in a leaf: copies only, and never a wrong number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.capture import replay
from nbautograd.viz.notebook.api import Animation
from tests import needs


def animated(make: Callable[..., Any], *leaves: Any, gradient: Any = None) -> Animation:
    with tracing.traced():
        root = make(*leaves)
    return viz.animate(root, gradient, namespace={f"x{i}": leaf for i, leaf in enumerate(leaves)} | {"y": root})


def leaf(*shape: int) -> Any:
    return nb.randn(shape).requires_grad_()


def ask(animation: Animation, name: str, place: int, value: float) -> Any:
    (key,) = (node.id for node in animation.scenes[0].leaves if node.name == name)
    answer = animation.nudged({"leaf": key, "place": place, "value": value, "serial": 1})
    assert answer is not None
    return answer["nudged"] | {"key": key}


GRAPHS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "the seed graph": (lambda w, x: (w + x) * (w + 1), [(), ()]),
    "a layer": (lambda x, w, b: nb.tanh(x @ w + b).pow(2).mean(), [(2, 3), (3, 4), (4,)]),
    "a list": (lambda x: nb.cat([x, x * 2]).sum(0)[1] ** 2, [(2, 2)]),
    "several results": (lambda x: x.unbind(0)[1].exp().sum(), [(2, 2)]),
    "in place": (lambda x: (x * 2).add_(1).tanh().std(), [(3,)]),
    "an index": (lambda x: x.reshape(4)[nb.tensor([0, 1])].mean(), [(2, 2)]),
    "a loss": (lambda x: nb.nn.functional.cross_entropy(x, nb.tensor([0, 1])), [(2, 3)]),
    "options": (lambda x: x.clamp(min=0.1).softmax(dim=1).amax(), [(2, 3)]),
    "a mask": (lambda x: nb.nn.functional.dropout(x, 0.5).sum() + x.sum(), [(3,)]),
    "a convolution": (lambda x, w: nb.nn.functional.conv1d(x, w).sum(), [(1, 2, 5), (1, 2, 3)]),
}


@pytest.mark.parametrize("name", [name for name in GRAPHS if name != "a mask"])
def test_it_comes_to_what_the_code_itself_would(name: str) -> None:
    make, shapes = GRAPHS[name]
    leaves = [leaf(*shape) for shape in shapes]
    animation = animated(make, *leaves)
    place = leaves[0].numel() - 1
    answer = ask(animation, "x0", place, 0.7)
    again = [x.detach().clone() for x in leaves]
    again[0].view(-1)[place] = 0.7
    fresh = [x.requires_grad_() for x in again]
    result = make(*fresh)
    result.backward()
    (root,) = animation.scenes[0].roots
    assert np.array_equal(answer["values"][root], result.detach().numpy().reshape(-1))
    assert np.array_equal(answer["grads"][answer["key"]], fresh[0].grad.numpy().reshape(-1))


def test_a_mask_stays_as_it_was_drawn() -> None:
    make, shapes = GRAPHS["a mask"]
    x = leaf(*shapes[0])
    animation = animated(make, x)
    state = nb.get_rng_state().clone()
    answer = ask(animation, "x0", 0, float(x[0]))
    assert np.array_equal(answer["grads"][answer["key"]], x.grad.numpy())
    assert nb.equal(nb.get_rng_state(), state)


def test_the_users_tensors_and_hooks_have_no_part_in_it() -> None:
    x = leaf(3)
    calls = []
    x.register_hook(lambda g: calls.append(g))
    animation = animated(lambda x: (x * x).sum(), x)
    before, grad, version = x.detach().clone(), x.grad.clone(), x._version
    calls.clear()
    ask(animation, "x0", 1, 5.0)
    assert nb.equal(x, before) and nb.equal(x.grad, grad) and x._version == version and not calls


def test_with_a_gradient_that_was_passed() -> None:
    x = leaf(3)
    animation = animated(lambda x: x * x, x, gradient=nb.tensor([1.0, 10.0, 100.0]))
    answer = ask(animation, "x0", 2, 3.0)
    assert answer["grads"][answer["key"]][2] == 600.0


class Loud(nb.autograd.Function):
    """Somebody's own function, which must not be called again."""

    calls = 0

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        Loud.calls += 1
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


@pytest.mark.parametrize(
    "make",
    [
        lambda x: Loud.apply(x).sum(),
        lambda x: nb.bernoulli(x.sigmoid()).sum() + x.sum(),
        lambda x: nb.normal(x, 1.0).sum(),
    ],
    ids=["a Function", "random numbers", "a random sample"],
)
def test_what_has_side_effects_is_not_computed_again(make: Callable[..., Any]) -> None:
    animation = animated(make, leaf(3))
    before, state = Loud.calls, nb.get_rng_state().clone()
    assert animation.replay is None and "values" not in ask(animation, "x0", 0, 1.0)
    assert Loud.calls == before and nb.equal(nb.get_rng_state(), state)


def test_without_a_trace_or_with_too_much_of_it_there_is_nothing() -> None:
    x = leaf(3)
    assert viz.animate((x * x).sum(), namespace={"x": x}).replay is None
    assert animated(lambda x: (x * x).sum(), leaf(2000)).replay is None


def test_a_leaf_written_to_since_does_not_matter_a_value_that_does_not_agree_does() -> None:
    x = leaf(3)
    animation = animated(lambda x: (x * x).sum(), x)
    x.data.fill_(0.0)
    assert animation.replay is not None and animation.replay.agrees
    call = animation.replay.calls[0]
    assert call.result is not None
    call.result[0] += 1
    del animation.replay.agrees
    assert "values" not in ask(animation, "x0", 0, 1.0)


@pytest.mark.parametrize(
    "asked",
    [None, [], {}, {"leaf": "n1"}, {"leaf": "n1", "place": 0, "value": "1", "serial": 1},
     {"leaf": 3, "place": 0, "value": 1.0, "serial": 1}, {"leaf": "n1", "place": 0, "value": math.nan, "serial": 1}],
)  # fmt: skip
def test_questions_that_make_no_sense_are_not_answered(asked: Any) -> None:
    assert animated(lambda x: x * x, leaf()).nudged(asked) is None


def test_elements_and_leaves_that_there_are_not() -> None:
    animation = animated(lambda x: (x * x).sum(), leaf(3))
    (key,) = (node.id for node in animation.scenes[0].leaves)
    for wrong in ({"leaf": key, "place": 3}, {"leaf": key, "place": -1}, {"leaf": "n99", "place": 0}):
        answer = animation.nudged({"value": 1.0, "serial": 7} | wrong)
        assert answer is not None and "values" not in answer["nudged"] and answer["nudged"]["serial"] == 7


def test_a_large_graph_is_not_copied() -> None:
    def deep(x: Any) -> Any:
        for _ in range(replay.MAX_OPS + 1):
            x = x * 1.0
        return x

    assert animated(deep, leaf()).replay is None


def test_the_widget_answers() -> None:
    needs.package("anywidget")
    animation = animated(
        lambda w, x: (w + x) * (w + 1), nb.tensor(1.0).requires_grad_(), nb.tensor(2.0).requires_grad_()
    )
    widget, sent = animation.widget, []
    widget.send = sent.append
    (key, *_) = (node.id for node in animation.scenes[0].leaves if node.name == "x0")
    animation._asked(widget, {"nudge": {"leaf": key, "place": 0, "value": 1.5, "serial": 4}}, [])
    animation._asked(widget, {"nudge": "nonsense"}, [])
    ((answer),) = sent
    (root,) = animation.scenes[0].roots
    assert answer["nudged"]["values"][root] == [8.75] and answer["nudged"]["grads"][key] == [6.0]
