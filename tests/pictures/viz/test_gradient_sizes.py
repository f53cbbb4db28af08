"""Gradients drawn as wide, and of the color, that the logarithm of their size asks for."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests import needs

needs.package("playwright")
from playwright.sync_api import expect

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.notebook.api import Recording

from .player_pages import open_tab, recording, unfold

pytestmark = [pytest.mark.browser, needs.chromium]


def vanishing(steps: int, factor: float = 0.1) -> Recording:
    with tracing.traced():
        w = nb.tensor(factor, requires_grad=True)
        x = nb.tensor(1.0, requires_grad=True)
        h = x
        for _ in range(steps):
            h = h * w
    return viz.animate(h, namespace={"w": w, "x": x, "h": h})


CHAIN = """() => [...document.querySelectorAll('.nb-flow.nb-done[data-size]')]
    .map(flow => [Number(flow.dataset.size), parseFloat(getComputedStyle(flow).strokeWidth),
        getComputedStyle(flow).stroke, getComputedStyle(flow).vectorEffect])"""


def test_from_twenty_operations_on_sizes_are_drawn(open_page: Any) -> None:
    page = open_page(vanishing(19))
    open_tab(page, "tools")
    expect(page.locator(".nb-legend")).to_be_hidden()
    page = open_page(vanishing(20))
    unfold(page)  # unfolded
    open_tab(page, "tools")
    expect(page.locator(".nb-legend")).to_be_visible()
    expect(page.locator(".nb-scale")).to_have_attribute("aria-pressed", "true")
    page.press(".nb-player", "End")
    flows = page.evaluate(CHAIN)
    assert {size for size, *_ in flows} == {0, 1, 2}  # gradients of 1, 0.1, 0.01, ...; the last have vanished
    widths = [width for _, width, _, _ in flows]
    assert max(widths) == 3.6 and min(widths) == pytest.approx(1.1)
    assert len(set(widths)) > 5  # not only by class
    assert len({color for _, _, color, _ in flows}) == 3
    assert {effect for *_, effect in flows} == {"non-scaling-stroke"}  # the same width at any scale of the drawing
    page.keyboard.press("m")
    assert page.evaluate(CHAIN) == []
    expect(page.locator(".nb-legend")).to_be_hidden()
    assert page.troubles == []


def test_the_dots_of_the_pass_show_where_gradients_vanish(open_page: Any) -> None:
    page = open_page(vanishing(20), viewport={"width": 700, "height": 720})
    unfold(page)  # unfolded
    sizes = page.locator(".nb-tick[data-size]").evaluate_all("all => all.map((dot) => Number(dot.dataset.size))")
    assert len(sizes) >= 20 and set(sizes) == {0, 1, 2} and sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("width", [400, 1280])
def test_each_number_of_the_legend_stands_between_the_classes_that_it_bounds(open_page: Any, width: int) -> None:
    page = open_page(vanishing(20), viewport={"width": width, "height": 720})
    open_tab(page, "tools")
    row = page.locator(".nb-legend").evaluate(
        "legend => [...legend.querySelectorAll('i, b')].map(e => [e.textContent || Number(e.dataset.size),"
        " e.getBoundingClientRect().left, e.getBoundingClientRect().right])"
    )
    assert [part for part, *_ in row] == [0, "10⁻⁶", 1, "10⁻³", 2, "10²", 3, "10⁵", 4]
    assert all(before[2] <= after[1] for before, after in itertools.pairwise(row))
    legend = page.locator(".nb-legend").bounding_box()
    small, large = (page.locator(".nb-legend span").nth(i).bounding_box() for i in (-2, -1))
    assert legend["x"] <= small["x"] and small["x"] + small["width"] <= row[0][1] and row[-1][2] <= large["x"]
    assert large["x"] + large["width"] <= legend["x"] + legend["width"]


def test_below_twenty_operations_a_key_shows_sizes(open_page: Any) -> None:
    page = open_page(recording())
    page.press(".nb-player", "End")
    assert page.evaluate(CHAIN) == []
    page.keyboard.press("m")
    assert {size for size, *_ in page.evaluate(CHAIN)} == {2}
