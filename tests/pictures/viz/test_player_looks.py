"""Check the look of the player: themes, languages, widths; nothing is cut off, texts fit, hostile names do nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import needs

needs.package("playwright")
from playwright.sync_api import expect

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing

from .fake_graph import HOSTILE
from .player_pages import KEYS, WHEN_DRAWN, open_tab, recording

pytestmark = [pytest.mark.browser, needs.chromium]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_embedded_player_fits_its_page(browser: Any, scheme: str) -> None:
    """It is as high as its content, has the colors of the page around it, and requests nothing."""
    with viz.autograd(embed=True):
        html = recording()._repr_mimebundle_()["text/html"]
    page = browser.new_page(viewport={"width": 900, "height": 700}, reduced_motion="reduce", color_scheme="light")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.set_content(f'<!doctype html><html data-theme="{scheme}"><body>{html}</body></html>')
    frame = page.frame_locator("iframe")
    frame.locator(".nb-forward").click()
    expect(frame.locator(".nb-player")).to_have_attribute("data-step", "1")
    expect(page.locator(".nb-still")).to_be_hidden()
    high = page.locator("iframe").bounding_box()["height"]
    assert abs(high - frame.locator(".nb-player").bounding_box()["height"]) < 3
    background = frame.locator(".nb-player").evaluate("e => getComputedStyle(e).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(17, 20, 24)")
    assert [url for url in requests if not url.startswith(("data:", "about:"))] == []
    page.close()


def test_chinese(open_page: Any) -> None:
    before = viz.settings.language
    viz.settings.language = "zh"
    try:
        page = open_page(recording(2))
    finally:
        viz.settings.language = before
    expect(page.get_by_role("button", name="播放（空格）")).to_be_visible()
    page.press(".nb-player", "End")
    assert page.locator(".nb-player").get_attribute("lang") == "zh-Hans"
    shown = page.locator(".nb-slider").get_attribute("aria-valuetext")
    assert shown == "第 12 步，共 12 步: x.grad 原为 2.；加上 2.；现在是 4."
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_users_theme_wins(open_page: Any) -> None:
    viz.settings.theme = "dark"
    try:
        page = open_page(recording(), color_scheme="light")
    finally:
        viz.settings.theme = "auto"
    assert page.locator(".nb-player").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(17, 20, 24)"


def test_print_is_light_and_has_no_buttons(open_page: Any) -> None:
    page = open_page(recording(), own=True, color_scheme="dark")  # the medium stays
    page.press(".nb-player", "End")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator(".nb-player").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(255, 255, 255)"
    expect(page.locator(".nb-play")).to_be_hidden()
    expect(page.locator(".nb-ledger tbody tr")).to_have_count(2)


@pytest.mark.parametrize("width", [1000, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off(open_page: Any, width: int, scheme: str) -> None:
    page = open_page(recording(), viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.press(".nb-player", "End")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    open_tab(page, "leaves")
    side, main = page.locator(".nb-drawer").bounding_box(), page.locator(".nb-main").bounding_box()
    assert (side["y"] >= main["y"] + main["height"]) == (width == 400)
    for button in page.locator(".nb-button:visible").all():
        box = button.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
    background = page.locator(".nb-player").evaluate("e => getComputedStyle(e).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(17, 20, 24)")


def test_jupyterlab_says_which_theme(open_page: Any) -> None:
    page = open_page(recording(), color_scheme="light")
    page.evaluate("document.body.setAttribute('data-jp-theme-light', 'false')")
    assert page.locator(".nb-player").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(17, 20, 24)"


def tall() -> nb.Tensor:
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    with tracing.traced():
        for _ in range(9):
            x = x.sin() + 1
        return x.sum()


@pytest.mark.parametrize("make", [viz.animate, viz.graph], ids=["pass", "graph"])
def test_a_tall_graph_opens_where_the_pass_begins(open_page: Any, make: Any) -> None:
    page = open_page(make(tall(), namespace={}, direction="TB"))
    page.focus(".nb-player")
    page.keyboard.press("r")  # nothing is folded
    stage, root = page.locator(".nb-stage").bounding_box(), page.locator(".nb-output").bounding_box()
    assert stage["y"] < root["y"] and root["y"] + root["height"] < stage["y"] + stage["height"]
    expect(page.locator(".nb-rim:visible")).to_have_class("nb-rim nb-rim-top")
    page.focus(".nb-player")
    page.keyboard.press("f")
    expect(page.locator(".nb-rim:visible")).to_have_count(0)


def test_of_two_results_the_last_is_seen_first(open_page: Any) -> None:
    one = tall()
    with tracing.traced():
        two = one.exp()
        for _ in range(6):
            two = two.cos() + 1
    page = open_page(viz.graph(one, two, namespace={"one": one, "two": two}, direction="TB"))
    stage, root = page.locator(".nb-stage").bounding_box(), page.locator(".nb-output").last.bounding_box()
    expect(page.locator(".nb-output").last).to_contain_text("two")
    assert stage["y"] < root["y"] and root["y"] + root["height"] < stage["y"] + stage["height"]


def test_a_graph_that_is_a_little_higher_than_wide_is_seen_whole(open_page: Any) -> None:
    x = nb.ones(2, requires_grad=True)
    page = open_page(viz.graph((x * 2).sum(), namespace={}, direction="TB"))
    expect(page.locator(".nb-rim:visible")).to_have_count(0)


def test_a_long_formula_goes_on_on_the_next_line(open_page: Any) -> None:
    weight = nb.tensor([-1.0, 0.0], requires_grad=True)
    name = "decoder.layers.self_attention.weight"
    page = open_page(viz.animate((weight * 2).sum(), namespace={name: weight}))
    page.press(".nb-player", "End")
    over = page.locator(".nb-equation").evaluate_all("all => all.map(e => e.scrollWidth - e.clientWidth)")
    assert over and max(over) <= 0


def test_a_long_name_leaves_room_for_its_type(open_page: Any) -> None:
    names = ("attention.out_proj.bias", "M" * 40)
    leaves = {name: nb.ones(4, requires_grad=True) for name in names}
    page = open_page(viz.graph(sum(leaves.values()), namespace=leaves))
    gaps = page.locator(".nb-leaf").evaluate_all("""all => all.map(e => {
        const name = e.querySelector('.nb-name').getBBox();
        return e.querySelector('.nb-about').getBBox().x - name.x - name.width;
    })""")
    assert len(gaps) == 2 and min(gaps) > 4


def test_texts_fit_into_their_boxes(open_page: Any) -> None:
    page = open_page(recording(2))
    page.press(".nb-player", "End")
    sticking_out = page.evaluate("""() => [...document.querySelectorAll('.nb-stage .nb-node')].flatMap(node => {
        const shape = node.querySelector('.nb-shape');
        if (!shape) return [];
        const box = shape.getBBox();
        return [...node.querySelectorAll('text')].filter(t => {
            const b = t.getBBox();
            return b.x < box.x || b.x + b.width > box.x + box.width || b.y + b.height > box.y + box.height + 2;
        }).map(t => t.textContent);
    })""")
    assert sticking_out == []


FORWARD = """() => {
    for (let step = 0; step < 6; step++) document.querySelector(".nb-forward").click();
    const { x, y, width, height } = document.querySelector(".nb-symbol").getBoundingClientRect();
    return [x + width / 2, y + height / 2];
}"""
SEARCH = f"""async (text) => {{
    {KEYS}
    player.focus();
    press("/");
    const field = player.querySelector(".nb-search");
    field.value = text;
    field.dispatchEvent(new Event("input", {{ bubbles: true }}));
    await laidOut();
    const shown = ["script", ".nb-player :is(img, iframe, a)"].map((e) => document.querySelectorAll(e).length);
    const searches = field === document.activeElement, chosen = player.querySelectorAll(".nb-ring").length;
    return [window.__pwn ?? null, searches, chosen, ...shown];
}}"""
"""Searches for a text; returns what a hostile one did, whether it searches, what is selected, and what is there."""


def test_hostile_names_do_nothing(new_page: Any, tmp_path: Path) -> None:
    page = new_page()
    hostile = [n for n in HOSTILE if n and "\ud800" not in n and len(n) < 1000]
    for i in range(0, len(hostile), 4):
        shown = recording(names=dict(zip("wxab", hostile[i : i + 4], strict=False)))
        page.goto(shown.save(tmp_path / "page.html").as_uri())
        page.evaluate(WHEN_DRAWN)
        page.mouse.click(*page.evaluate(FORWARD))
        assert page.evaluate(SEARCH, hostile[i]) == [None, True, 1, 2, 0]
        assert page.troubles == []


def test_ids_are_the_players_own(open_page: Any) -> None:
    page = open_page(recording())
    ids = page.evaluate("[...document.querySelectorAll('.nb-stage [id]')].map(e => e.id)")
    assert len(ids) == len(set(ids)) >= 5
    assert not any(i in recording().svg for i in ids)  # renamed, so that a second copy cannot clash
