"""The equation under the graph in a real browser: upstream × local = sent, with numbers, for the element pointed at."""

from __future__ import annotations

import re
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from tests import needs
from tests.waiting import expect_to_appear

from .player_pages import layer, open_tab, recording

needs.package("playwright")
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, needs.chromium]


def square() -> Any:
    """A product of a vector with itself."""
    with tracing.traced():
        w = nb.tensor([1.0, 2.0], requires_grad=True)
        y = (w * w).sum()
    return viz.animate(y, namespace={"w": w, "y": y})


def go_to(page: Any, title: str) -> None:
    for _ in range(20):
        page.click(".nb-forward")
        if page.locator(".nb-side .nb-title").inner_text() == title:
            return
    raise AssertionError(f"no step {title}")


def text(page: Any, selector: str) -> str:
    return " ".join(page.locator(selector).all_text_contents())


def test_numbers_of_a_scalar_step(open_page: Any) -> None:
    page = open_page(recording())
    page.click(".nb-forward")
    expect(page.locator(".nb-equation-bar")).to_contain_text("with this 1 the chain rule begins")
    expect(page.locator(".nb-equation-bar .nb-pre")).to_have_text("1.")
    expect(page.locator(".nb-side")).not_to_contain_text("∂y/∂y")  # no text appears twice
    page.click(".nb-forward")
    expect(page.locator(".nb-equation-parts .nb-tile")).to_have_text(["1", "2", "2"])
    expect(page.locator(".nb-equation-element")).to_have_count(0)  # no text appears twice
    expect(page.locator(".nb-equation-words")).to_contain_text("If a grows by 0.01, y changes by 0.02.")
    expect(page.locator(".nb-is-factor .nb-equation-head b")).to_have_text("∂y/∂a")
    page.click(".nb-edge-tab:not(.nb-pressed)")
    expect(page.locator(".nb-equation-parts .nb-tile")).to_have_text(["1", "3", "3"])
    expect(page.locator(".nb-edge-tab.nb-pressed")).to_be_focused()
    page.click(".nb-forward")
    page.click(".nb-forward")
    page.click(".nb-forward")
    assert "5" in text(page, ".nb-is-after text") and "None" in text(page, ".nb-equation-parts")
    assert page.troubles == []


def test_the_element_that_is_pointed_at(open_page: Any) -> None:
    page = open_page(layer())
    go_to(page, "TanhBackward0")
    first = text(page, ".nb-equation-element")
    assert re.fullmatch(r"−?[\d.]+ × [\d.]+ = −?[\d.]+", first)
    page.hover(".nb-is-sent rect >> nth=0")
    expect(page.locator(".nb-equation-words")).to_contain_text("[0, 0]")
    expect(page.locator(".nb-is-upstream rect.nb-lit")).to_have_attribute("data-cell", "0")
    page.hover(".nb-is-upstream rect >> nth=3")
    expect(page.locator(".nb-equation-words")).to_contain_text("[1, 1]")
    page.hover(".nb-more")
    assert text(page, ".nb-equation-element") == first  # the largest again
    page.click(".nb-is-sent rect >> nth=2")
    page.hover(".nb-more")
    expect(page.locator(".nb-equation-words")).to_contain_text("[1, 0]")  # the clicked one
    page.focus(".nb-is-sent .nb-tile")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".nb-equation-words")).to_contain_text("[0, 0]")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".nb-equation-words")).to_contain_text("[1, 0]")
    assert int(page.locator(".nb-player").get_attribute("data-step")) > 0


def test_the_sum_that_undoes_broadcasting(open_page: Any) -> None:
    page = open_page(layer())
    go_to(page, "AddBackward0")
    page.click(".nb-edge-tab >> nth=1")
    assert "Σ dim 0" in text(page, ".nb-equation-sign")
    expect(page.locator(".nb-aside")).to_contain_text("summed over dim 0: b was broadcast")
    page.hover(".nb-is-sent rect >> nth=1")
    cells = page.locator(".nb-is-upstream rect.nb-lit")
    assert [cell.get_attribute("data-cell") for cell in cells.all()] == ["1", "3"]  # a column


def test_a_row_and_a_column_of_a_product(open_page: Any) -> None:
    page = open_page(layer())
    go_to(page, "MmBackward0")
    assert text(page, ".nb-equation-sign").split() == ["@", "="]
    page.hover(".nb-is-sent rect >> nth=3")  # W[1, 1]: row 1 of Xᵀ, column 1 of the upstream
    lit = {part: [cell.get_attribute("data-cell") for cell in page.locator(f".nb-is-{part} rect.nb-lit").all()]
           for part in ("factor", "upstream")}  # fmt: skip
    assert lit == {"factor": ["2", "3"], "upstream": ["1", "3"]}
    expect(page.locator(".nb-aside")).to_contain_text("a sum of 2 products")
    first, second, total = re.findall(r"−?[\d.]+(?= = )|\(.*?\)|(?<== )−?[\d.]+", text(page, ".nb-equation-element"))[
        -3:
    ]
    assert first and second and total


@pytest.mark.parametrize("width", [400, 700, 1280])
def test_its_height_never_changes(open_page: Any, width: int) -> None:
    page = open_page(layer(), viewport={"width": width, "height": 900})
    heights = set()
    for _ in range(10):
        page.click(".nb-forward")
        heights.add(page.locator(".nb-equation-bar").bounding_box()["height"])
    assert len(heights) == 1
    sizes = page.evaluate("""() => [...document.querySelectorAll('.nb-equation-bar *')]
        .filter((e) => e.childNodes.length && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()))
        .map((e) => parseFloat(getComputedStyle(e).fontSize))""")
    assert min(sizes) >= 11


def test_names_are_text(open_page: Any) -> None:
    page = open_page(recording(names={"w": "<img src=x onerror=alert(1)>", "a": "<b>a</b>"}))
    for _ in range(6):
        page.click(".nb-forward")
    assert page.locator(".nb-equation-bar img").count() == 0 and page.troubles == []


def test_numbers_fly_where_motion_is_wanted(open_page: Any) -> None:
    page = open_page(recording(), reduced_motion="no-preference")
    page.click(".nb-forward")
    with expect_to_appear(page, ".nb-flying"):
        page.click(".nb-forward")
    page.wait_for_function("() => document.querySelector('.nb-equation-bar').dataset.phase === undefined")
    expect(page.locator(".nb-equation-words")).to_be_visible()
    page.wait_for_selector(".nb-flying", state="detached")


def test_nothing_is_said_twice(open_page: Any) -> None:
    page = open_page(square())
    said = "() => ['.nb-caption', '.nb-side', '.nb-equation-bar'].map(name => document.querySelector(name).innerText)"
    for _ in range(int(page.locator(".nb-slider").get_attribute("max") or 0)):
        page.click(".nb-forward")
        caption, panel, bar = page.evaluate(said)
        assert caption not in panel and caption not in bar
        assert "receives" not in panel and "sends" not in panel  # the bar shows the numbers
    assert page.locator(".nb-bad-text").count() == 0 and page.troubles == []


def test_an_input_that_is_used_twice_has_two_equations(open_page: Any) -> None:
    page = open_page(square())
    while page.locator(".nb-edge-tab").count() == 0:
        page.click(".nb-forward")
    expect(page.locator(".nb-edge-tab")).to_have_text(["for w (1)", "for w (2)"])


def test_what_only_moves_shows_what_came_and_what_went(open_page: Any) -> None:
    with tracing.traced():
        x = nb.arange(16.0).reshape(1, 1, 4, 4).requires_grad_()
        y = nb.nn.functional.max_pool2d(x, 2)
        z = y.sum()
    page = open_page(viz.animate(z, namespace={"x": x, "y": y, "z": z}))
    page.locator(".nb-slider").fill("3")
    assert "MaxPool" in page.locator(".nb-side .nb-title").inner_text()
    cells = page.locator(".nb-equation-cell")
    expect(cells).to_have_count(2)
    expect(cells.locator("svg.nb-tile")).to_have_count(2)
    expect(page.locator(".nb-equation-words")).to_contain_text("Only the winner of each window gets its gradient")


def test_what_is_not_finite_is_red(open_page: Any) -> None:
    with tracing.traced():
        x = nb.tensor(0.0, requires_grad=True)
        y = x.log()
        z = y * x
    page = open_page(viz.animate(z, namespace={"x": x, "y": y, "z": z}))
    red = page.locator(".nb-stage text.nb-bad-text")
    page.press(".nb-player", "Home")
    expect(red.filter(visible=True)).to_have_text(["nan", "−inf"])
    assert red.first.evaluate("text => getComputedStyle(text).fill") == "rgb(179, 18, 63)"
    page.press(".nb-player", "End")
    open_tab(page, "leaves")
    expect(page.locator(".nb-ledger td.nb-bad-text").first).to_be_visible()


def test_the_scale_is_that_of_gradients_though_factors_have_their_numbers() -> None:
    w, x = nb.tensor([1.0, 2.0], requires_grad=True), nb.tensor([1.0, 3.0])
    recording = viz.animate((w * x).sum(), namespace={"w": w, "x": x})  # the gradient of w is x, which is a factor
    assert recording.timeline.scale == 3.0


def test_numbers_that_have_no_cells_stop_nothing(open_page: Any) -> None:
    """Complex numbers have no tile, and tensors that are too large have none."""
    with tracing.traced():
        z = nb.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        y = (z * z.conj()).real.sum()
    page = open_page(viz.animate(y, namespace={"z": z, "y": y}))
    for _ in range(int(page.locator(".nb-slider").get_attribute("max"))):
        page.press(".nb-player", "ArrowRight")
        expect(page.locator(".nb-active")).not_to_have_count(0)
    assert page.troubles == []
