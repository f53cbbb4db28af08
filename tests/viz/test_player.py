"""The exported page in a real browser: it plays without a network, by buttons and by keys, in both themes."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright", reason="needs playwright")
from playwright import sync_api as playwright
from playwright.sync_api import expect

from nbautograd.viz.api import Recording
from nbautograd.viz.model import build
from nbautograd.viz.recorder import Recorder

from .fake import HOSTILE, Seed

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync"
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as api:
        browser = api.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS.split())
        yield browser
        browser.close()


def recording(passes: int = 1, names: dict[str, str] | None = None) -> Recording:
    seed = Seed()
    shown = {(names or {}).get(name, name): value for name, value in seed.names.items()}
    recorder = Recorder(build(seed.y, shown, resolve=seed.resolve))
    for _ in range(passes):
        for event in seed.events():
            recorder(event)
        seed.finish()
    return Recording(recorder.timeline())


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    contexts = []

    def open_(shown: Recording, **options: Any) -> Any:
        context = browser.new_context(
            **{"reduced_motion": "reduce", "viewport": {"width": 1000, "height": 800}} | options
        )
        contexts.append(context)
        page = context.new_page()
        page.troubles, page.requests = [], []
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        page.on("console", lambda m: page.troubles.append(m.text) if m.type in ("error", "warning") else None)
        page.on("request", lambda request: page.requests.append(request.url))
        path = shown.save(tmp_path / "page.html")
        page.goto(path.as_uri())
        expect(page.locator(".nb-player")).to_be_visible()
        return page

    yield open_
    for context in contexts:
        context.close()


def step_of(page: Any) -> int:
    return int(page.locator(".nb-player").get_attribute("data-step"))


def leaf(page: Any, name: str) -> Any:
    has = page.locator(".nb-name", has_text=re.compile(f"^{name}$"))
    return page.locator(".nb-leaf").filter(has=has)


def test_stepping_with_buttons(open_page: Any) -> None:
    page = open_page(recording())
    assert step_of(page) == 0
    expect(page.locator(".nb-node.nb-active")).to_have_count(0)
    page.click(".nb-forward")
    page.click(".nb-forward")
    expect(page.locator(".nb-node.nb-active .nb-sub")).to_have_text("MulBackward0")
    expect(page.locator(".nb-flow.nb-active")).to_have_count(3)  # one comes, two go
    expect(page.locator(".nb-label.nb-active")).to_have_text(["1.", "2.", "3."])
    expect(page.locator(".nb-numbers")).to_have_text(["1. · 2. = 2.", "1. · 3. = 3."])
    page.click(".nb-forward")
    expect(leaf(page, "w").locator(".nb-in").first).to_have_text("⇠ 3.")
    expect(leaf(page, "w").locator(".nb-in").last).to_have_text("1 of 2")
    page.click(".nb-forward")
    expect(leaf(page, "w").locator(".nb-in").first).to_have_text("⇠ 3. + 2. = 5.")
    expect(leaf(page, "w").locator(".nb-grad")).to_have_text(".grad None")  # the buffer is not yet .grad
    page.click(".nb-forward")
    expect(leaf(page, "w").locator(".nb-grad")).to_have_text(".grad 5.")
    page.click(".nb-back")
    expect(leaf(page, "w").locator(".nb-grad")).to_have_text(".grad None")
    page.click(".nb-last")
    assert step_of(page) == 6
    expect(page.locator(".nb-ledger tbody tr").first).to_contain_text("3. via b + 2. via a")
    page.click(".nb-first")
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
    assert page.evaluate("window.heard") == 0  # the notebook does not hear these keys
    assert page.locator(".nb-player").get_attribute("data-lm-suppress-shortcuts") == "true"


def test_space_plays_to_the_end_and_pauses(open_page: Any) -> None:
    page = open_page(recording(), reduced_motion="no-preference")
    page.select_option(".nb-speed", "4")
    page.focus(".nb-player")
    page.keyboard.press("Space")
    expect(page.locator(".nb-play")).to_have_attribute("aria-label", "Pause (space)")
    expect(page.locator(".nb-token").first).to_be_attached(timeout=5000)  # a number is on its way
    expect(page.locator(".nb-player")).to_have_attribute("data-step", "6", timeout=10_000)
    expect(leaf(page, "w").locator(".nb-grad")).to_have_text(".grad 5.")
    expect(page.locator(".nb-play")).to_have_attribute("aria-label", "Play (space)", timeout=5000)
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
    expect(page.locator(".nb-selected")).to_have_count(0)
    leaf(page, "w").locator(".nb-shape").click()
    page.click(".nb-forward")
    expect(page.locator(".nb-selected")).to_have_count(0)


def test_several_passes(open_page: Any) -> None:
    page = open_page(recording(3))
    page.click(".nb-last")
    expect(leaf(page, "w").locator(".nb-grad")).to_have_text(".grad 15.")
    expect(page.locator(".nb-ledger tbody tr").first).to_contain_text("5. 10. 15.")


@pytest.mark.parametrize("width", [1000, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off(open_page: Any, width: int, scheme: str) -> None:
    page = open_page(recording(), viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.click(".nb-last")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    side, main = page.locator(".nb-side").bounding_box(), page.locator(".nb-main").bounding_box()
    assert (side["y"] >= main["y"] + main["height"]) == (width == 400)
    for button in page.locator(".nb-button").all():
        box = button.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
    background = page.locator(".nb-player").evaluate("e => getComputedStyle(e).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(17, 20, 24)")


def test_jupyterlab_says_which_theme(open_page: Any) -> None:
    page = open_page(recording(), color_scheme="light")
    page.evaluate("document.body.setAttribute('data-jp-theme-light', 'false')")
    assert page.locator(".nb-player").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(17, 20, 24)"


def test_texts_fit_into_their_boxes(open_page: Any) -> None:
    page = open_page(recording(2))
    page.click(".nb-last")
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


def test_hostile_names_do_nothing(open_page: Any) -> None:
    for name in (n for n in HOSTILE if n and "\ud800" not in n and len(n) < 1000):
        page = open_page(recording(names={"w": name, "a": name + "1"}))
        for _ in range(6):
            page.click(".nb-forward")
        page.locator(".nb-symbol").first.click()
        assert page.evaluate("window.__pwn") is None
        assert page.locator("script").count() == 2 and page.locator(".nb-player :is(img, iframe, a)").count() == 0
        assert page.troubles == []
        page.context.close()


def test_ids_are_the_players_own(open_page: Any) -> None:
    page = open_page(recording())
    ids = page.evaluate("[...document.querySelectorAll('.nb-stage [id]')].map(e => e.id)")
    assert len(ids) == len(set(ids)) >= 5
    assert not any(i in recording().svg for i in ids)  # renamed, so that a second copy cannot clash
