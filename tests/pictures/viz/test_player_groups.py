"""Folded groups in the player: they open and close without a kernel, and with one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests import needs

needs.package("playwright")
from playwright.sync_api import expect

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.notebook import scripts
from nbautograd.viz.notebook.api import Picture
from nbautograd.viz.read import fold

from .player_pages import leaf, long_pass, loop, step_of

pytestmark = [pytest.mark.browser, needs.chromium]


def test_groups_fold_and_open_without_a_kernel(open_page: Any) -> None:
    page = open_page(loop(8))
    expect(page.locator(".nb-node.nb-group")).to_have_count(1)  # all turns, as the whole would not fit
    page.focus(".nb-player")
    page.keyboard.press("r")
    expect(page.locator(".nb-node")).to_have_count(18)
    page.keyboard.press("r")
    expect(page.locator(".nb-node")).to_have_count(3)
    page.locator(".nb-node.nb-group .nb-symbol").click()
    expect(page.locator(".nb-node.nb-group")).to_have_count(8)  # the turns
    page.click(".nb-closer")
    expect(page.locator(".nb-node.nb-group")).to_have_count(1)
    assert page.troubles == []


def test_a_pile_of_leaves_beside_a_group_does_not_cut_its_step(open_page: Any) -> None:
    """While the group runs, its leaves get their ``.grad`` one after the other."""
    with tracing.traced():
        weights = [nb.tensor(1.0 + i / 100, requires_grad=True) for i in range(48)]
        x = nb.tensor(1.0, requires_grad=True)
        y = x
        for w in weights:
            y = nb.tanh(y * w)
    page = open_page(viz.animate(y, namespace={"x": x, "y": y}), viewport={"width": 1280, "height": 700})
    expect(page.locator(".nb-leaf.nb-group")).to_have_count(1)
    assert int(page.locator(".nb-slider").get_attribute("max")) <= 12  # not 99
    page.press(".nb-player", "End")
    merged = []
    while step_of(page) > 1:
        page.keyboard.press("ArrowLeft")
        merged.append(page.locator(".nb-caption").text_content())
    several = [said for said in merged if "; leaves with a gradient: " in said]
    assert len(several) == 1 and re.search(r": 9\d operations run; leaves with a gradient: 4\d\.", several[0]), merged


def test_a_group_of_a_pass_is_one_step_and_opens(open_page: Any) -> None:
    page = open_page(long_pass(10))
    few = int(page.locator(".nb-slider").get_attribute("max"))
    assert few < 12
    page.press(".nb-player", "End")
    page.locator(".nb-slider").fill(str(few - 3))
    expect(page.locator(".nb-side .nb-title")).to_have_text("×8")
    assert re.fullmatch(r"×8 \(.*\): 16 operations run\.", page.locator(".nb-caption").text_content())
    expect(page.locator(".nb-group.nb-active")).to_have_count(1)
    page.locator(".nb-group .nb-symbol").first.click()
    expect(page.locator(".nb-chips .nb-closer")).to_have_text(["×8"])
    many = int(page.locator(".nb-slider").get_attribute("max"))
    assert many > few
    page.focus(".nb-player")
    page.keyboard.press("End")
    expect(leaf(page, "w").locator(".nb-in").last).to_have_text("11 of 11")
    page.click(".nb-closer")
    expect(page.locator(".nb-chips .nb-closer")).to_have_count(0)
    assert int(page.locator(".nb-slider").get_attribute("max")) == few
    assert step_of(page) == few
    assert page.troubles == []


def test_groups_open_with_the_keyboard(open_page: Any) -> None:
    page = open_page(loop(8))
    page.focus(".nb-player")
    page.keyboard.press("/")
    page.keyboard.type("×8")
    page.keyboard.press("Enter")
    expect(page.locator(".nb-selected")).to_have_class(re.compile("nb-group"))
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.focus(".nb-player")
    for _ in range(12):
        page.keyboard.press("]")
        if page.locator(".nb-selected.nb-openable").count():
            break
    page.keyboard.press("Enter")
    expect(page.locator(".nb-node.nb-group")).to_have_count(8)  # the turns
    assert page.troubles == []


class FakeWidget:
    """A stand-in for the kernel's answers."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, content: Any) -> None:
        self.sent.append(content)


@pytest.mark.parametrize("make", [loop, long_pass], ids=["graph", "pass"])
def test_the_kernel_draws_what_the_page_does_not_hold(browser: Any, make: Any) -> None:
    shown = make(10)
    shown = Picture(fold.view(shown.model, fold=True), fold=True) if make is loop else shown
    widget, page = FakeWidget(), browser.new_page(viewport={"width": 900, "height": 700}, reduced_motion="reduce")
    script = scripts.bundle(*scripts.PLAYER) + "\nwindow.mount = mount; window.asked = [];"
    page.set_content(f'<style>{scripts.player_css()}</style><main></main><script type="module">{script}</script>')
    page.wait_for_function("!!window.mount")
    page.evaluate(
        "data => { const onopen = (key) => asked.push(key);"
        " window.player = mount(document.querySelector('main'), data, { onopen }); }",
        shown.data(room=0),
    )
    expect(page.locator(".nb-openable")).to_have_count(1)
    page.locator(".nb-openable .nb-symbol").click()
    (key,) = page.evaluate("asked")
    expect(page.locator(".nb-caption")).to_have_text("…")
    shown._asked(widget, {"view": key}, [])
    page.evaluate("answer => player.add(answer)", widget.sent[0])
    expect(page.locator(".nb-chips .nb-closer")).to_have_count(1)
    assert page.locator(".nb-openable").count() >= 8  # the steps
    page.click(".nb-closer")
    expect(page.locator(".nb-openable")).to_have_count(1)
    assert page.evaluate("asked.length") == 1  # it keeps its drawings
    page.close()


def test_a_pass_over_complex_numbers_plays(open_page: Any) -> None:
    """A step whose gradients are complex has no tiles; the strip shows it without them."""
    z = nb.tensor(3 + 4j, requires_grad=True)
    page = open_page(viz.animate(z.abs() ** 2, namespace={"z": z}))
    page.locator(".nb-player").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert page.locator(".nb-player").get_attribute("data-step") == "4" and page.troubles == []
