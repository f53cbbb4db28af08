"""A line of a folded graph that stands for several gradients of one value shows their sum, number and sizes."""

from __future__ import annotations

from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.capture.sums import added, text_of
from nbautograd.viz.notebook.api import Recording
from nbautograd.viz.read.tiles import tile
from tests import needs


def growth(steps: int, shape: tuple[int, ...] = (), **options: Any) -> tuple[Recording, Any, Any]:
    with tracing.traced():
        w = nb.full(shape, 1.0001, requires_grad=True)
        x = nb.ones(shape, requires_grad=True)
        h = x
        for _ in range(steps):
            h = h * w + x * 0.0001
        y = h.sum() if shape else h
    return viz.animate(y, namespace={"w": w, "x": x, "h": h, "y": y}, **options), w, x


def arriving(shown: Recording, name: str) -> list[float]:
    """Return the scalars on the lines into a leaf in the still picture at the end."""
    model, timeline = shown.scenes[0], shown.timeline
    state = timeline.final(0).seen_in(model)
    leaf = next(node.id for node in model.nodes if node.name == name)
    return [float(state.labels[edge.id]) for edge in model.edges if edge.src == leaf and edge.kind == "flow"]


@pytest.mark.parametrize("steps", [12, 1000])  # a step for each operation; in a large graph, for each group
def test_the_lines_into_a_leaf_add_up_to_its_gradient(steps: int) -> None:
    shown, w, x = growth(steps, fold=True)
    for name, leaf in (("w", w), ("x", x)):
        terms = arriving(shown, name)
        assert len(terms) < 12
        assert sum(terms) == pytest.approx(leaf.grad.item(), rel=1e-3)
    model = shown.scenes[0]
    lines = model.several
    assert set(lines.values()) == {steps - 2} and len(lines) == 2
    assert shown.timeline.final(0).seen_in(model).sums == dict.fromkeys(lines, steps - 2)
    assert f"Σ {steps - 2:,}<" in shown.svg


def test_tensors_are_summed_element_by_element() -> None:
    shown, w, _ = growth(12, (2, 3), fold=True)
    model, timeline = shown.scenes[0], shown.timeline
    state = timeline.final(0).seen_in(model)
    leaf = next(node.id for node in model.nodes if node.name == "w")
    tiles = [state.tiles[state.edge_tiles[edge.id]] for edge in model.edges if edge.src == leaf and edge.kind == "flow"]
    total = [sum(float(one.cells[i]) for one in tiles) for i in range(6)]
    assert total == pytest.approx(w.grad.numpy().reshape(-1).tolist(), rel=1e-3)


def test_what_cannot_be_added_is_not() -> None:
    one, other, large = tile(nb.ones(2)), tile(nb.ones(3)), tile(nb.ones(40, 40))
    assert added(one, other) is None and added(one, None) is None
    assert added(one, one).cells == (2.0, 2.0)
    bad = added(tile(nb.tensor([float("inf"), 1.0])), tile(nb.tensor([-float("inf"), 1.0])))
    assert bad.cells == ("nan", 2.0) and bad.nan == 1
    assert text_of(None) == text_of(added(large, large)) == "Σ"


@pytest.mark.browser
@needs.chromium
@pytest.mark.parametrize("steps", [12, 1000])
def test_the_player_shows_sum_number_and_curve(open_page: Any, steps: int) -> None:
    from playwright.sync_api import expect

    shown, _, _ = growth(steps, fold=True)
    page = open_page(shown)
    page.press(".nb-player", "End")
    sums = page.locator(".nb-sum-of")
    expect(sums).to_have_count(2)
    assert sums.locator("text").all_text_contents() == [f"Σ {steps - 2:,}"] * 2
    curves = sums.locator("path").evaluate_all("all => all.map(path => path.getAttribute('d').split('L').length)")
    assert all(min(steps - 2, 20) <= points <= 48 for points in curves)
    lines = shown.scenes[0].several
    said = {key: page.locator(f'[data-label="{key}"]').text_content() for key in lines}
    drawn = shown.timeline.final(0).seen_in(shown.scenes[0]).labels
    assert {key: float(text) for key, text in said.items()} == pytest.approx(
        {key: float(drawn[key]) for key in lines}, rel=1e-3
    )
    page.press(".nb-player", "Home")
    expect(sums).to_have_count(0)
    assert page.troubles == []


@pytest.mark.browser
@needs.chromium
def test_an_opened_group_has_its_single_gradients_again(open_page: Any) -> None:
    from playwright.sync_api import expect

    shown, _, _ = growth(12, fold=True)
    page = open_page(shown)
    page.press(".nb-player", "End")
    expect(page.locator(".nb-sum-of")).to_have_count(2)
    page.keyboard.press(">")
    expect(page.locator(".nb-closer")).to_have_count(1)
    expect(page.locator(".nb-sum-of")).to_have_count(0)
