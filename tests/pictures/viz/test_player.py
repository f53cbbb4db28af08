"""The exported page in a real browser: it plays without a network, by buttons and by keys, in both themes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests import needs
from tests.waiting import expect_to_appear, wait_in_page

from .player_pages import hurry, leaf, loop, open_tab, recording, step_of

needs.package("playwright")
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, needs.chromium]


def test_stepping_with_buttons(open_page: Any) -> None:
    page = open_page(recording())
    assert step_of(page) == 0
    expect(page.locator(".nb-node.nb-active")).to_have_count(0)
    page.click(".nb-forward")
    page.click(".nb-forward")
    expect(page.locator(".nb-op.nb-active .nb-symbol")).to_have_text("×")
    expect(page.locator(".nb-flow.nb-active")).to_have_count(3)  # one arrives, two leave
    expect(page.locator(".nb-label.nb-active")).to_have_text(["1.", "2.", "3."])
    expect(page.locator(".nb-numbers")).to_have_text(["1. · 2. = 2.", "1. · 3. = 3."])
    page.click(".nb-forward")
    expect(leaf(page, "w").locator(".nb-in").first).to_have_text("3.")
    expect(leaf(page, "w").locator(".nb-in").last).to_have_text("1 of 2")
    expect(page.locator(".nb-ledger tbody tr").first).to_have_text(
        "wNone3. via b3. 1 of 2–empty"
    )  # no more than has arrived
    page.click(".nb-forward")
    expect(leaf(page, "w").locator(".nb-in").first).to_have_text("3. + 2. = 5.")
    expect(leaf(page, "w").locator(".nb-grad")).to_have_text(".grad None")  # the buffer is not .grad yet
    page.click(".nb-forward")
    expect(leaf(page, "w").locator(".nb-grad")).to_have_text(".grad 3. + 2. = 5.")
    page.click(".nb-back")
    expect(leaf(page, "w").locator(".nb-grad")).to_have_text(".grad None")
    page.press(".nb-player", "End")
    assert step_of(page) == 6
    expect(page.locator(".nb-ledger tbody tr").first).to_contain_text("3. via b + 2. via a")
    page.press(".nb-player", "Home")
    assert step_of(page) == 0
    expect(page.locator(".nb-done")).to_have_count(0)
    assert page.troubles == []
    assert [url for url in page.requests if not url.startswith("data:")] == [page.url]


def test_stepping_with_keys(open_page: Any) -> None:
    page = open_page(recording())
    page.evaluate("window.heard = 0; document.addEventListener('keydown', () => { window.heard += 1; })")
    page.focus(".nb-player")
    for key, step in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 6), ("Home", 0)):
        page.keyboard.press(key)
        assert step_of(page) == step
    expect(page.locator(".nb-caption")).to_have_text("Before the backward pass.")
    assert page.evaluate("window.heard") == 0  # these keys do not reach the notebook
    assert page.locator(".nb-player").get_attribute("data-lm-suppress-shortcuts") is not None


def test_space_plays_to_the_end_and_pauses(open_page: Any) -> None:
    page = open_page(recording(), reduced_motion="no-preference")
    page.select_option(".nb-speed", "4", force=True)
    page.focus(".nb-player")
    hurry(page, 2)
    with expect_to_appear(page, ".nb-token"):  # a number is moving
        page.keyboard.press("Space")
        expect(page.locator(".nb-play")).to_have_attribute("aria-label", "Pause (space)")
    expect(page.locator(".nb-player")).to_have_attribute("data-step", "6", timeout=60_000)
    expect(leaf(page, "w").locator(".nb-grad")).to_have_text(".grad 3. + 2. = 5.")
    expect(page.locator(".nb-play")).to_have_attribute("aria-label", "Play (space)", timeout=60_000)
    expect(page.locator(".nb-token")).to_have_count(0)


def test_the_slider_and_what_is_read_aloud(open_page: Any) -> None:
    page = open_page(recording())
    page.locator(".nb-slider").fill("4")
    assert step_of(page) == 4
    shown = page.locator(".nb-slider").get_attribute("aria-valuetext")
    assert shown == "step 4 of 6: AddBackward0, a = w + x, receives ∂y/∂a = 2. and sends w ← 2., x ← 2."
    assert page.locator(".nb-caption").get_attribute("aria-live") == "polite"


def test_nothing_moves_for_who_asks_for_rest(open_page: Any) -> None:
    page = open_page(recording())
    page.click(".nb-forward")
    page.click(".nb-forward")
    assert page.locator(".nb-token").count() == 0
    assert page.locator(".nb-flow.nb-active").count() == 3


def test_a_click_on_a_node_tells_about_it(open_page: Any) -> None:
    page = open_page(recording())
    leaf(page, "w").locator(".nb-shape").click()
    expect(page.locator(".nb-side .nb-title")).to_have_text("w")
    expect(page.locator(".nb-selected")).to_have_count(1)
    page.click(".nb-close")
    expect(page.locator(".nb-drawer")).to_be_hidden()  # it was opened for this node only
    expect(page.locator(".nb-selected")).to_have_count(0)
    leaf(page, "w").locator(".nb-shape").click()
    page.click(".nb-forward")
    expect(page.locator(".nb-selected")).to_have_count(0)


def test_hover_lights_what_belongs_together(open_page: Any) -> None:
    page = open_page(recording())
    page.click(".nb-forward")
    page.click(".nb-forward")
    open_tab(page, "step")
    page.locator(".nb-equation").first.hover()
    expect(page.locator(".nb-node.nb-near")).to_have_count(2)
    expect(page.locator(".nb-edge.nb-near")).to_have_count(1)
    page.locator(".nb-op .nb-symbol").first.hover()
    expect(page.locator(".nb-code li.nb-near code")).to_have_text("y = torch.mul(a, b)")
    page.locator(".nb-code li").first.hover()
    expect(page.locator(".nb-op.nb-near .nb-symbol")).to_have_text("+")


def test_search_finds_nodes_by_name_operation_and_value(open_page: Any) -> None:
    page = open_page(recording())
    page.focus(".nb-player")
    page.keyboard.press("/")
    page.keyboard.type("add")
    expect(page.locator(".nb-matches")).to_have_text("1 of 2")
    expect(page.locator(".nb-found")).to_have_count(2)
    page.keyboard.press("Enter")
    expect(page.locator(".nb-selected .nb-symbol")).to_have_text("+")
    page.keyboard.press("Enter")
    expect(page.locator(".nb-matches")).to_have_text("2 of 2")
    page.press(".nb-player", "/")
    page.locator(".nb-search").fill("6.")
    expect(page.locator(".nb-found .nb-name")).to_have_text("y")
    page.press(".nb-player", "/")
    page.locator(".nb-search").fill("<img src=x onerror=alert(1)>")
    expect(page.locator(".nb-matches")).to_have_text("nothing found")
    page.keyboard.press("Escape")
    expect(page.locator(".nb-found")).to_have_count(0)
    assert step_of(page) == 0 and page.troubles == []


def test_what_a_node_is_made_from_folds_and_unfolds(open_page: Any) -> None:
    page = open_page(recording())
    page.locator(".nb-op .nb-symbol").first.click()  # the product
    page.keyboard.press("c")
    expect(page.locator(".nb-node.nb-away")).to_have_count(7)
    expect(page.locator(".nb-fold text")).to_have_text("▸ 7")
    expect(page.locator(".nb-caption")).to_have_text("folded: 7")
    page.locator(".nb-fold").click()
    expect(page.locator(".nb-away")).to_have_count(0)


def test_zoom_keys_and_fit(open_page: Any) -> None:
    page = open_page(recording())
    page.focus(".nb-player")
    view = page.locator(".nb-stage > svg")
    page.keyboard.press("f")
    before = view.get_attribute("viewBox")
    page.keyboard.press("+")
    assert view.get_attribute("viewBox") != before
    page.keyboard.press("f")
    assert view.get_attribute("viewBox") == before


def test_saved_tensors_are_full_and_then_hollow(open_page: Any) -> None:
    page = open_page(recording())
    saved = page.locator(".nb-node:has(.nb-saved)")
    expect(saved).to_have_count(1)
    expect(page.locator(".nb-saved")).to_have_count(2)
    expect(page.locator(".nb-saved title").first).to_have_text("input (1,) 4 B")
    page.press(".nb-player", "Home")
    expect(saved).not_to_have_class(re.compile("nb-freed"))
    page.press(".nb-player", "End")
    expect(saved).to_have_class(re.compile("nb-freed"))


def test_sizes_of_gradients_as_colors(open_page: Any) -> None:
    page = open_page(recording())
    page.press(".nb-player", "End")
    assert page.locator(".nb-flow[data-size]").count() == 0
    page.keyboard.press("m")
    open_tab(page, "tools")
    expect(page.locator(".nb-legend")).to_be_visible()
    assert page.locator(".nb-flow[data-size]").count() == page.locator(".nb-flow.nb-done, .nb-flow.nb-active").count()
    assert page.locator(".nb-scale").get_attribute("aria-pressed") == "true"


def test_loop_begins_again(open_page: Any) -> None:
    page = open_page(recording())
    page.select_option(".nb-speed", "4", force=True)
    hurry(page, 2)
    page.press(".nb-player", "l")
    page.locator(".nb-slider").fill("5")
    page.evaluate("""() => {
        const player = document.querySelector('.nb-player');
        window.steps = [];
        new MutationObserver(() => window.steps.push(player.dataset.step)).observe(player, { attributes: true });
    }""")
    page.click(".nb-play")
    page.wait_for_function("() => steps.includes('6') && steps.lastIndexOf('0') > steps.indexOf('6')")
    expect(page.locator(".nb-play")).to_have_attribute("aria-label", "Pause (space)")


def test_nothing_plays_by_itself(open_page: Any) -> None:
    page = open_page(recording())
    wait_in_page(page, 600)
    assert step_of(page) == 0


def test_jump_to_a_pass(open_page: Any) -> None:
    page = open_page(recording(3))
    page.get_by_role("tab", name="pass 3").click()
    expect(page.locator(".nb-title")).to_have_text("pass 3")
    assert step_of(page) == 13


def test_a_graph_is_walked_with_the_keys(open_page: Any) -> None:
    page = open_page(loop(2))
    expect(page.locator(".nb-ledger, .nb-transport, .nb-slider")).to_have_count(0)
    page.focus(".nb-player")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".nb-side .nb-title")).to_have_text("h")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".nb-side .nb-title")).to_have_text("TanhBackward0")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".nb-caption")).to_contain_text("h · output")
    page.keyboard.press("Escape")
    expect(page.locator(".nb-selected")).to_have_count(0)
    assert page.troubles == [] and [u for u in page.requests if not u.startswith("data:")] == [page.url]


def test_several_passes(open_page: Any) -> None:
    page = open_page(recording(3))
    page.press(".nb-player", "End")
    expect(leaf(page, "w").locator(".nb-grad")).to_have_text(".grad 10. + 5. = 15.")
    expect(page.locator(".nb-ledger tbody tr").first.locator(".nb-each")).to_have_attribute("title", "5. → 10. → 15.")
