"""Check the player's local derivatives against the Jacobian, for every operation, traced and not."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd import protocol, viz
from nbautograd._engine.core import tracing
from nbautograd.viz.capture import chain_rule
from nbautograd.viz.capture.chain_rule import ChainStep
from nbautograd.viz.capture.timeline import Timeline
from nbautograd.viz.read import jacobians, local_derivative
from nbautograd.viz.read.local_derivative import MAX_ELEMENTS
from nbautograd.viz.read.model import Formula
from nbautograd.viz.read.tiles import Tile
from nbautograd.viz.translations.player import TEXTS
from tests import needs
from tests.engine.ops.cases import CASES, Case
from tests.pictures.viz.test_chain_rule import LIBRARIES

Array = np.ndarray[Any, Any]
UNTOLD = {"F.embedding_bag sum", "F.embedding_bag mean", "slice_scatter"}
"""Untraced, these do not keep the values in their formulas, so no element can be written out."""


def weights(count: int) -> Array:
    """A gradient whose elements are all different and not 0."""
    return np.asarray(np.cos(np.arange(count)) + 1.5)


def seed_of(root: Any) -> Any:
    return nb.tensor(weights(root.numel()).reshape(tuple(root.shape))).to(root.dtype)


def root_of(case: Case) -> Any:
    inputs = [nb.tensor(array, requires_grad=True) for array in case.arrays()]
    made = case.call(nb, *inputs)
    several = made if isinstance(made, (tuple, list)) else (made,)
    return next(part for part in several if isinstance(part, nb.Tensor) and part.grad_fn is not None)


@lru_cache(8)  # untraced and traced one after the other
def true_jacobians(case: Case) -> list[list[Array | None]]:
    """For each node of a case's pass, in order, a Jacobian for each edge; None if complex gradients arrived.

    Its rows are the elements of all gradients that came.
    """
    root, events = root_of(case), list[Any]()
    seed = seed_of(root)
    with protocol.observe(events.append):
        root.backward(seed, retain_graph=True)
    found = []
    for event in events:
        if not isinstance(event, protocol.NodeStarted) or hasattr(event.node, "variable"):
            continue
        came = {i: np.asarray(g) for i, g in enumerate(event.gradients) if g is not None}
        size = sum(g.size for g in came.values())
        edges = range(len(event.node.next_functions))
        if any(g.dtype.kind == "c" for g in came.values()) or not size:
            found.append([None for _ in edges])
            continue
        rows: list[list[Array | None]] = []
        for unit in np.eye(size):
            parts = iter(np.split(unit, np.cumsum([g.size for g in came.values()])))
            given = [
                nb.tensor(next(parts).reshape(came[i].shape).astype(came[i].dtype)) if i in came else None
                for i in range(len(event.gradients))
            ]
            sent = event.node(*given)
            rows.append([array(part) for part in (sent if isinstance(sent, (tuple, list)) else (sent,))])
        found.append([None if any(row[e] is None for row in rows) else np.stack([r[e] for r in rows]) for e in edges])
    return found


def array(sent: Any) -> Array | None:
    return None if sent is None or sent.is_complex() else sent.detach().numpy().reshape(-1)


def array_of(tile: Tile) -> Array:
    return np.array(tile.cells, dtype=float).reshape(tile.shape)


def predicted(step: ChainStep, factor: Array, g: Array) -> Array:
    """Return the product of a shown factor and a gradient, before the sums that undo broadcasting."""
    if step.kind == jacobians.OUTER:
        return np.multiply.outer(g, factor)
    if step.kind == jacobians.MATRIX:
        return np.asarray(factor @ g if step.left else g @ factor)
    came = g.reshape(-1)[list(step.places)].reshape(factor.shape) if step.places else np.broadcast_to(g, factor.shape)
    return np.asarray(came * factor)


UNIT = 10.0 ** (1 - jacobians.SIGNIFICANT_DIGITS)  # of the last kept digit of a local derivative


def agree(told: Any, known: Any, near: float, step: ChainStep) -> None:
    """Check that a shown value equals the known one, up to the last digit that is kept of each factor."""
    comparable = np.shape(told) == np.shape(known) and np.isfinite(told).all() and np.isfinite(known).all()
    if comparable and (np.abs(np.subtract(told, known)) <= near + UNIT * np.abs(known)).all():
        return  # NumPy's function says the same, but takes longer
    try:
        np.testing.assert_allclose(told, known, UNIT, near)
    except AssertionError as error:
        raise AssertionError(step) from error  # to write the step takes longer than to compare


def check_rows(step: ChainStep, timeline: Timeline, jacobian: Array, g: Array, sent: Array) -> None:
    """The terms of each element are the Jacobian's entries that are not 0, and they give the sent gradient."""
    rows = step.rows
    assert rows is not None
    for place in range(jacobian.shape[1]) if rows.only < 0 else [rows.only]:
        ups, factors = rows.of(place)  # type: ignore[misc]
        column, told = jacobian[:, place], np.zeros(len(jacobian))
        told[ups] = factors
        assert len(set(ups)) == len(ups)
        near = UNIT * np.abs(column[np.isfinite(column)]).max(initial=0.0)
        known = slice(None) if rows.only < 0 or rows.count == len(ups) else ups
        agree(told[known], column[known], near, step)
        if rows.only < 0 or rows.count == len(ups):
            products = g[ups] * factors
            rounded = UNIT * np.abs(products[np.isfinite(products)]).sum()
            near = rounded + float(np.finfo(sent.dtype).eps) * np.abs(g).sum()
            agree(products.sum(), sent[place], near, step)


def check(step: ChainStep, timeline: Timeline, jacobian: Array, g: Array, sent: Array) -> None:
    """Compare what is said of one step with the Jacobian."""
    tiles, count = timeline.tiles, len(jacobian)
    if step.story == "story_places":
        assert ((jacobian == 1).sum(0) == 1).all() and ((jacobian != 0).sum(0) == 1).all(), step
        assert ((jacobian != 0).sum(1) <= 1).all(), step
    elif step.story == "story_places_some":
        assert ((jacobian == 0) | (jacobian == 1)).all(), step
    if step.told == "no_elements":
        assert not jacobian.size
    if step.rows is not None:
        check_rows(step, timeline, jacobian, g, sent)
    if step.factor >= 0 and tiles[step.factor].block == (1, 1) == tiles[step.upstream].block:
        other = np.sin(np.arange(count) + 1.0).reshape(tiles[step.upstream].shape)
        product = predicted(step, array_of(tiles[step.factor]), other)
        summed = product.sum(axis=tuple(dim for dim, _ in step.summed)) if step.summed else product
        near = UNIT * np.abs(product).sum()
        agree(summed.reshape(-1), other.reshape(-1) @ jacobian, near, step)
    if step.element is not None:
        sent_shape = tiles[step.sent].shape if step.sent >= 0 else None
        assert sent_shape is None or len(step.element.index) == len(sent_shape)


@pytest.mark.parametrize("traced", [False, True], ids=["untraced", "traced"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_said_is_true_of_the_jacobian(case: Case, traced: bool) -> None:
    with warnings.catch_warnings(), tracing.traced() if traced else nullcontext():
        warnings.simplefilter("ignore")
        wanted, root, events = true_jacobians(case), root_of(case), list[Any]()
        with protocol.observe(events.append):
            timeline = viz.animate(root, seed_of(root), namespace={}).timeline
    frames = [frame for frame in timeline.frames if frame.kind == "op"]
    assert len(frames) == len(wanted)
    for frame, known, (came, sent) in zip(frames, wanted, flowed(events), strict=True):
        slots = {edge.id: edge.slot for edge in timeline.scenes[0].edges}
        for step in frame.chain:
            assert (not step.told) == (step.element is not None) and (not step.told or step.told in TEXTS)
            assert not step.story or step.story in chain_rule.STORIES
            assert step.story or step.kind in (jacobians.DIAGONAL, jacobians.MATRIX), step
            jacobian = known[slots[step.edge]]
            if jacobian is not None:
                untold = "numbers_unsaved" if not traced and str(case) in UNTOLD else "no_elements"
                assert step.element is not None or step.told == untold, step
                check(step, timeline, jacobian, came, sent[slots[step.edge]])
            else:
                assert step.told in ("numbers_complex", "no_elements") or step.element is not None, step


def flowed(events: list[Any]) -> list[tuple[Array, dict[int, Array]]]:
    """For each operation that ran all elements that came, and those that it sent along each edge."""
    steps: list[tuple[Array, dict[int, Array]]] = []
    for event in events:
        if isinstance(event, protocol.NodeStarted) and not hasattr(event.node, "variable"):
            came = [np.asarray(g).reshape(-1) for g in event.gradients if g is not None]
            steps.append((np.concatenate(came), {}))
        elif isinstance(event, protocol.EdgeSent) and not hasattr(event.node, "variable"):
            steps[-1][1][event.index] = np.array(event.gradient).reshape(-1)
    return steps


# -- where numbers are known, and why where they are not ---------------------------------------------------------------


def steps_of(root: Any, seed: Any = None) -> list[ChainStep]:
    return [step for frame in viz.animate(root, seed).timeline.frames for step in frame.chain]


@pytest.mark.parametrize("T", LIBRARIES, ids=lambda T: T.__name__)
def test_a_pass_that_frees_what_is_saved_shows_its_numbers(T: Any) -> None:
    x = T.tensor([1.0, 2.0], requires_grad=True)
    (step,) = steps_of(x**2, T.tensor([1.0, 10.0]))  # as in a plain script, untraced
    assert step.element is not None and step.element.terms == (("10.", "4."),) and step.factor >= 0 and not step.told


@pytest.mark.parametrize("T", LIBRARIES, ids=lambda T: T.__name__)
def test_some_elements_of_select_and_max_get_nothing(T: Any) -> None:
    x = T.tensor([[1.0, 5.0], [4.0, 2.0]], requires_grad=True)
    told = {
        "part": x[1], "winner": x.max(dim=1).values, "masked": x.masked_fill(x > 4.5, 0.0),
        "taken": x[T.tensor([0, 0])], "places": x.t(),
    }  # fmt: skip
    for story, root in told.items():
        step = steps_of(root.sum())[-1]
        assert (step.kind, step.story) == ("move", f"story_{story}"), root
        assert step.rows is not None and step.rows.factors == () and step.element is not None


@pytest.mark.parametrize("T", LIBRARIES, ids=lambda T: T.__name__)
def test_the_winner_of_max_is_told_by_its_place(T: Any) -> None:
    x = T.tensor([[1.0, 5.0], [4.0, 2.0]], requires_grad=True)
    rows = steps_of(x.max(dim=1).values.sum())[-1].rows
    assert rows is not None and [rows.of(place) for place in range(4)] == [
        ([], []),
        ([0], [1.0]),
        ([1], [1.0]),
        ([], []),
    ]


def test_why_there_are_no_numbers() -> None:
    class Own:
        formulas = {"x": "g * g2"}  # noqa: RUF012 - what a node might claim

        def name(self) -> str:
            return "OwnBackward0"

    g = np.ones(3)
    formula = Formula(0, "x", "g * g2", "", [])
    assert local_derivative.local_derivative(Own(), formula, {0: g}, g, {}).unknown == "foreign"
    many = nb.ones(MAX_ELEMENTS + 1, requires_grad=True)
    assert steps_of(many.exp().sum())[-1].told == "numbers_large"
    hooked = nb.ones(3, requires_grad=True).exp()
    hooked.grad_fn.register_hook(lambda given, came: (given[0] + 1,))
    assert steps_of(hooked.sum())[-1].told == "numbers_differ"
    z = nb.tensor([1 + 2j], requires_grad=True)
    assert steps_of((z * z).abs().sum())[-1].told == "numbers_complex"
    assert steps_of(nb.ones(0, requires_grad=True).exp().sum())[-1].told == "no_elements"


def test_what_pytorch_did_not_save_is_not_known() -> None:
    torch = needs.package("torch")
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    steps = steps_of(torch.nn.functional.smooth_l1_loss(x, torch.zeros(2), reduction="none").sum())
    assert all(step.element is not None or step.told in TEXTS for step in steps)


def test_matrices_of_a_batch_are_multiplied_one_by_one() -> None:
    a = nb.arange(12.0).reshape(2, 2, 3).requires_grad_()
    steps = steps_of((a @ nb.ones(2, 3, 2)).sum())
    (step,) = [step for step in steps if step.kind == "matrix"]
    assert step.factor >= 0 and step.element is not None and step.element.count == 2


def test_a_checkpoint_is_not_asked_twice_for_what_it_computes() -> None:
    torch = needs.package("torch")
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(lambda x: (x.exp() * x).sin(), x, use_reentrant=False).sum()
    assert [step for step in steps_of(y) if step.element is None] == [] and x.grad is not None
