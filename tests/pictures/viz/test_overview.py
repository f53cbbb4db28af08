"""The overview map of a drawing that does not fit its window."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests import needs

needs.package("playwright")
from playwright.sync_api import expect

from .gallery import PROGRAMS
from .player_pages import recording

pytestmark = [pytest.mark.browser, needs.chromium]

COVERED = """() => {
    const root = document.querySelector('.nb-player'), map = root.querySelector('.nb-overview');
    const slider = root.querySelector('.nb-slider'), bad = [];
    for (let k = 0; k <= Number(slider.max); k++) {
        slider.value = k;
        slider.dispatchEvent(new Event('input'));
        const a = map.getBoundingClientRect(), node = root.querySelector('.nb-node.nb-active:is(.nb-op, .nb-leaf)');
        if (!node || !a.width) continue;
        const b = node.getBoundingClientRect(), dots = map.querySelectorAll('.nb-overview-dot').length;
        const apart = b.right <= a.left || b.left >= a.right || b.bottom <= a.top || b.top >= a.bottom;
        if (!apart || !dots) bad.push([k, dots]);
    }
    return bad;
}"""


def open_page_of(browser: Any, tmp_path: Path, name: str, width: int) -> Any:
    page = browser.new_page(viewport={"width": width, "height": 720}, reduced_motion="reduce")
    page.troubles = []
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.goto(PROGRAMS[name]().save(tmp_path / f"{name}.html").as_uri())
    expect(page.locator(".nb-player")).to_be_visible()
    return page


def view(page: Any) -> list[float]:
    return [float(part) for part in page.locator(".nb-svg").get_attribute("viewBox").split()]


@pytest.mark.parametrize("width", [400, 1280])
def test_the_map_is_never_over_the_active_node_and_has_a_dot_for_it(browser: Any, tmp_path: Path, width: int) -> None:
    page = open_page_of(browser, tmp_path, "recurrent", width)
    shown = page.locator(".nb-overview")
    expect(shown).to_be_visible()
    box, stage = shown.bounding_box(), page.locator(".nb-stage").bounding_box()
    assert stage["x"] <= box["x"] and box["x"] + box["width"] <= stage["x"] + stage["width"]
    assert stage["y"] <= box["y"] and box["y"] + box["height"] <= stage["y"] + stage["height"]
    assert page.evaluate(COVERED) == []
    assert page.troubles == []
    page.close()


def test_the_window_of_the_map_is_dragged_clicked_and_moved_by_keys(browser: Any, tmp_path: Path) -> None:
    page = open_page_of(browser, tmp_path, "recurrent", 1280)
    svg = page.locator(".nb-overview > svg").bounding_box()
    start = view(page)
    page.mouse.click(svg["x"] + svg["width"] * 0.3, svg["y"] + svg["height"] / 2)
    clicked = view(page)
    whole = page.evaluate("Number(document.querySelector('.nb-card').getAttribute('width'))")
    assert abs(clicked[0] + clicked[2] / 2 - 0.3 * whole) < 0.02 * whole < abs(clicked[0] - start[0])
    held = page.locator(".nb-overview-window").bounding_box()
    x, y = held["x"] + held["width"] / 2, held["y"] + held["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y, steps=3)
    page.mouse.up()
    dragged = view(page)
    assert dragged[0] - clicked[0] == pytest.approx(30 / svg["width"] * whole, rel=0.05)
    page.focus(".nb-overview")
    page.keyboard.press("ArrowRight")
    assert view(page)[0] - dragged[0] == pytest.approx(dragged[2] / 3, rel=0.01)
    assert page.locator(".nb-player").get_attribute("data-step") == "0"  # the key was not for the player
    page.keyboard.press("Enter")
    assert view(page)[0] > dragged[0]  # back where the pass begins
    assert page.troubles == []
    page.close()


def test_the_map_is_toggled_by_button_and_key_and_stays_so(browser: Any, tmp_path: Path) -> None:
    page = open_page_of(browser, tmp_path, "recurrent", 1280)
    shown, button = page.locator(".nb-overview"), page.locator(".nb-map")
    expect(button).to_have_attribute("aria-pressed", "true")
    button.click()
    expect(shown).to_be_hidden()
    page.locator(".nb-slider").fill("5")
    page.set_viewport_size({"width": 700, "height": 720})
    expect(shown).to_be_hidden()
    page.focus(".nb-player")
    page.keyboard.press("o")
    expect(shown).to_be_visible()
    expect(button).to_have_attribute("aria-pressed", "true")
    page.close()


def test_where_everything_fits_there_is_no_map(open_page: Any) -> None:
    page = open_page(recording(), viewport={"width": 1280, "height": 720})
    expect(page.locator(".nb-overview")).to_be_hidden()
    expect(page.locator(".nb-map")).to_be_hidden()
    page.focus(".nb-player")
    for _ in range(4):
        page.keyboard.press("+")
    expect(page.locator(".nb-overview")).to_be_visible()
    page.keyboard.press("f")
    expect(page.locator(".nb-overview")).to_be_hidden()


def test_the_map_shows_what_failed_in_red(browser: Any, tmp_path: Path) -> None:
    page = open_page_of(browser, tmp_path, "changed_in_place", 1280)
    page.focus(".nb-player")
    for _ in range(6):
        page.keyboard.press("+")
    expect(page.locator(".nb-overview-bad")).to_have_attribute("d", re.compile("^M"))
    expect(page.locator(".nb-overview-dot")).to_have_class("nb-overview-dot nb-bad")
    page.close()
