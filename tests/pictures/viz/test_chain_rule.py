"""Test upstream × local = sent: the value of the shown equation is the sent gradient."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.capture.chain_rule import ChainStep
from nbautograd.viz.capture.player_data import Readings
from nbautograd.viz.capture.timeline import Timeline
from nbautograd.viz.read import formulas
from nbautograd.viz.read.tiles import tile
from tests import needs

LIBRARIES = [nb, needs.package("torch")]


def one(T: Any) -> Any:
    return T.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], requires_grad=True)


def row(T: Any) -> Any:
    return T.tensor([1.0, 2.0, -3.0], requires_grad=True)


DIAGONAL: dict[str, Callable[[Any], Any]] = {
    "mul": lambda T: one(T) * row(T),
    "add": lambda T: one(T) + row(T),
    "sub": lambda T: row(T) - one(T),
    "div": lambda T: one(T) / row(T),
    "pow": lambda T: one(T) ** 3,
    "neg": lambda T: -one(T),
    "exp": lambda T: one(T).exp(),
    "log": lambda T: (one(T) ** 2).log(),
    "sin": lambda T: one(T).sin(),
    "tanh": lambda T: one(T).tanh(),
    "sigmoid": lambda T: one(T).sigmoid(),
    "relu": lambda T: one(T).relu(),
    "abs": lambda T: one(T).abs(),
    "sqrt": lambda T: (one(T) ** 2).sqrt(),
    "column": lambda T: one(T) * T.tensor([[2.0], [3.0]], requires_grad=True),
    "number": lambda T: one(T) * T.tensor(2.0, requires_grad=True),
    "sum": lambda T: one(T).sum(),
    "sum_dim": lambda T: one(T).sum(1),
    "mean": lambda T: one(T).mean(),
    "mean_dim": lambda T: one(T).mean(0),
    "mean_keepdim": lambda T: one(T).mean(1, keepdim=True),
}
MATRIX: dict[str, Callable[[Any], Any]] = {
    "mm": lambda T: one(T) @ one(T).reshape(3, 2),
    "linear": lambda T: T.nn.functional.linear(one(T), one(T).detach().requires_grad_(), T.ones(2, requires_grad=True)),
    "addmm": lambda T: T.addmm(row(T)[:2], one(T), one(T).reshape(3, 2)),
}


def weighted(T: Any, result: Any) -> Any:
    """A root with a different gradient for each element of ``result``."""
    count = math.prod(result.shape)
    return (result * T.arange(1, count + 1, dtype=T.float32).reshape(result.shape)).sum() if count > 1 else result


def recorded(T: Any, make: Callable[[Any], Any]) -> Timeline:
    with tracing.traced():
        return viz.animate(weighted(T, make(T))).timeline


def steps(timeline: Timeline) -> list[tuple[str, ChainStep]]:
    return [(timeline.scenes[0].by_id[f.node].name, step) for f in timeline.frames for step in f.chain]


def numbers(timeline: Timeline, place: int) -> np.ndarray[Any, Any]:
    shown = timeline.tiles[place]
    return np.array(shown.cells, dtype=float).reshape(shown.shape)


def summed(product: np.ndarray[Any, Any], step: ChainStep) -> np.ndarray[Any, Any]:
    for dim, size in step.summed:
        assert product.shape[dim] == size
    return product.sum(axis=tuple(dim for dim, _ in step.summed))


@pytest.mark.parametrize("T", LIBRARIES, ids=lambda T: T.__name__)
@pytest.mark.parametrize("name", DIAGONAL)
def test_a_product_of_elements_comes_to_what_was_sent(T: Any, name: str) -> None:
    timeline = recorded(T, DIAGONAL[name])
    assert timeline.frames[-1].kind != "error"
    for node, step in steps(timeline):
        assert step.kind in ("diagonal", "move"), node
        if step.kind == "move":
            continue
        assert step.factor >= 0 and step.local, node
        sent, factor = numbers(timeline, step.sent), numbers(timeline, step.factor)
        upstream = numbers(timeline, step.upstream)
        if step.summed:
            product = numbers(timeline, step.product)
            np.testing.assert_allclose(np.broadcast_to(upstream, product.shape) * factor, product, rtol=1e-3)
            np.testing.assert_allclose(summed(product, step).reshape(sent.shape), sent, rtol=1e-3, atol=1e-5)
        elif factor.ndim == upstream.ndim:
            np.testing.assert_allclose(upstream * factor, sent, rtol=1e-3, atol=1e-5)
        check_element(step, sent)


@pytest.mark.parametrize("T", LIBRARIES, ids=lambda T: T.__name__)
@pytest.mark.parametrize("name", MATRIX)
def test_a_product_of_matrices_comes_to_what_was_sent(T: Any, name: str) -> None:
    timeline = recorded(T, MATRIX[name])
    matrices = [step for _, step in steps(timeline) if step.kind == "matrix"]
    assert len(matrices) == 2 or name == "linear"
    for step in matrices:
        upstream, factor = numbers(timeline, step.upstream), numbers(timeline, step.factor)
        product = factor @ upstream if step.left else upstream @ factor
        sent = numbers(timeline, step.sent)
        np.testing.assert_allclose(product, sent, rtol=1e-3, atol=1e-5)
        check_element(step, sent)


def check_element(step: ChainStep, sent: np.ndarray[Any, Any]) -> None:
    """The element that is written out is the largest one, and its terms add up to it."""
    element = step.element
    assert element is not None
    assert math.isclose(abs(float(element.sent)), np.abs(sent).max(), rel_tol=1e-3, abs_tol=1e-4)
    if element.count == len(element.terms):
        total = sum(float(upstream) * float(local) for upstream, local in element.terms)
        assert math.isclose(total, float(element.sent), rel_tol=2e-3, abs_tol=2e-3)


@pytest.mark.parametrize("T", LIBRARIES, ids=lambda T: T.__name__)
def test_the_sum_over_broadcast_dimensions_is_written(T: Any) -> None:
    timeline = recorded(T, DIAGONAL["add"])
    written = [f.text for node in timeline.scenes[0].nodes for f in node.formulas]
    assert [text for text in written if "Σ[dim 0]" in text], written
    (step,) = [step for _, step in steps(timeline) if step.summed]
    assert step.summed == ((0, 2),)


def test_softmax_is_no_product() -> None:
    timeline = recorded(nb, lambda T: T.softmax(one(T), 1))
    kinds = {node: step.kind for node, step in steps(timeline)}
    assert kinds["SoftmaxBackward0"] == "other"


def test_the_text_of_somebody_elses_formula_is_not_run() -> None:
    class Loud(nb.autograd.Function):
        formulas = {"x": "g * __import__('os').abort()"}  # noqa: RUF012 - what a node might claim
        inputs = ("x",)

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    timeline = recorded(nb, lambda T: Loud.apply(one(T)))
    assert timeline.frames[-1].kind == "accumulate"


def test_a_hook_changes_what_the_formula_gets() -> None:
    def make(T: Any) -> Any:
        y = one(T) * 3
        y.register_hook(lambda grad: grad * 10)
        return y

    timeline = recorded(nb, make)
    (step,) = [s for _, s in steps(timeline) if formulas.plain(s.local) == "3"]
    np.testing.assert_array_equal(numbers(timeline, step.upstream).reshape(-1), [10, 20, 30, 40, 50, 60])


def test_tiles() -> None:
    assert tile(np.float32(3)).cells == (3.0,)  # type: ignore[union-attr]
    assert tile(np.array([1 + 2j])) is None and tile(np.zeros((0, 3))) is None and tile(object()) is None
    wide = tile(np.arange(40.0 * 50).reshape(40, 50))
    assert wide is not None and wide.block == (3, 4) and len(wide.cells) == 14 * 13 and sum(wide.histogram) == 2000
    assert wide.cells[0] == np.arange(2000.0).reshape(40, 50)[:3, :4].mean() and (wide.low, wide.high) == (0, 1999)
    bad = tile(np.array([np.nan, np.inf, 1.0]))
    assert bad is not None and bad.cells == ("nan", "inf", 1.0) and (bad.nan, bad.inf) == (1, 1)


def test_equal_gradients_share_a_tile_and_memory_is_bounded() -> None:
    pool = Readings()
    assert pool.add(np.ones(3)) == pool.add(np.ones(3)) == 0 and pool.add(np.zeros(3)) == 1
    kept = np.ones(5000)
    first = pool.add(kept)
    kept[:] = 2
    assert pool.add(kept) != first  # written to between them
    for i in range(3000):
        pool.add(np.full((16, 16), float(i)))
    assert sum(len(made.cells) for made in pool.tiles) < 500_000 and pool.add(np.full(7, -1.0)) == -1


def test_a_mean_says_by_what_it_divides() -> None:
    timeline = recorded(nb, DIAGONAL["mean"])
    assert any(f.text.endswith("/ 6") for node in timeline.scenes[0].nodes for f in node.formulas)
    (local,) = [formulas.plain(step.local) for node, step in steps(timeline) if node == "MeanBackward0"]
    assert local == "1 / 6"
