"""The strip has room for all that any step says: no sentence is cut, and no step moves what is above it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbautograd as nb
import nbautograd.nn.functional as F
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.notebook.api import Recording
from tests import needs

from .player_pages import KEYS, layer

pytestmark = [pytest.mark.browser, needs.chromium]

# Parts of the strip that are cut off or need scrolling; a long name above a tile may be cut if its title has all of it.
CUT = """() => [...document.querySelectorAll(".nb-equation-bar, .nb-equation-bar *, .nb-has-caption .nb-caption")]
    .filter((e) => !e.closest("svg, math, .nb-story, .nb-equation-head[title]")
        && e.checkVisibility({ visibilityProperty: true })
        && e.clientHeight && getComputedStyle(e).overflow !== "visible"
        && (e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1))
    .map((e) => [e.className, e.textContent.slice(0, 60)])"""
HEIGHTS = """() => [".nb-stage", ".nb-strip"].map((name) => document.querySelector(name).getBoundingClientRect())
    .map(({ top, height }) => `${top} ${height}`).join()"""


WALK = f"""async () => {{
    {KEYS}
    const cutNow = {CUT}, heightsNow = {HEIGHTS}, cut = cutNow(), heights = new Set();
    player.focus();
    for (const key of ["Home", "Home"]) press(key);
    const slider = player.querySelector(".nb-slider"), steps = Number(slider.max) - Number(slider.min) + 1;
    for (let step = 0; step < steps; step++) {{
        await laidOut();
        cut.push(...cutNow());
        if (player.querySelector(".nb-strip:not(.nb-has-caption)")) heights.add(heightsNow());
        press("ArrowRight");
    }}
    return [cut, [...heights], steps];
}}"""


def looked_up() -> Recording:
    """Rows that are used twice, products of the same tensor twice, and a label in the words of cross-entropy."""
    with tracing.traced():
        E = nb.tensor([[0.5, -1.5, 0.25], [1.0, 2.0, -0.5], [0.1, 0.2, 0.3]], requires_grad=True)
        ids, labels = nb.tensor([1, 0, 1]), nb.tensor([0, 2, 1])
        rows = E[ids]
        z = rows * rows + rows
        loss = F.cross_entropy(z, labels)
    return viz.animate(loss, namespace={"E": E, "ids": ids, "labels": labels, "rows": rows, "z": z, "loss": loss})


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [400, 700, 1280])
@pytest.mark.parametrize("make", [layer, looked_up], ids=["layer", "rows"])
def test_no_sentence_is_cut_and_nothing_moves(
    open_page: Any, make: Callable[[], Recording], width: int, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viz.settings, "language", language)
    page = open_page(make(), viewport={"width": width, "height": 900})
    cut, heights, steps = page.evaluate(WALK)
    assert cut == [] and steps >= 8
    assert len(heights) == 1
    assert page.troubles == []


def test_it_is_measured_again_where_it_is_narrower(open_page: Any) -> None:
    page = open_page(looked_up(), viewport={"width": 1280, "height": 900})
    page.press(".nb-player", "End")
    wide = page.locator(".nb-equation-bar").bounding_box()["height"]
    page.set_viewport_size({"width": 400, "height": 900})
    page.wait_for_function("(high) => document.querySelector('.nb-equation-bar').offsetHeight !== high", arg=wide)
    assert page.evaluate(CUT) == []
    assert page.locator(".nb-bar-room").count() == 0


def test_the_strip_stays_in_view_where_playing_makes_it_higher(open_page: Any) -> None:
    page = open_page(looked_up(), viewport={"width": 1280, "height": 650})
    # The player ends where the window ends, as after a cell that was just run.
    page.evaluate("""() => {
        const { height } = document.querySelector(".nb-player").getBoundingClientRect();
        document.body.style.padding = `${innerHeight - height}px 0 600px`;
        scrollTo(0, document.querySelector(".nb-player").getBoundingClientRect().top + scrollY + height - innerHeight);
    }""")
    bottom = "() => Math.round(document.querySelector('.nb-player').getBoundingClientRect().bottom - innerHeight)"
    height = "() => document.querySelector('.nb-player').offsetHeight"
    rests, below = page.evaluate(height), page.evaluate(bottom)
    page.press(".nb-player", "ArrowRight")
    assert abs(below) <= 1 and page.evaluate(height) > rests  # else nothing is tested
    assert page.evaluate(bottom) <= 0


def test_the_strip_stays_in_view_where_a_key_selects_a_leaf(open_page: Any) -> None:
    page = open_page(looked_up(), viewport={"width": 1280, "height": 650})
    page.press(".nb-player", "ArrowRight")
    low = page.evaluate("""() => {
        const { height } = document.querySelector(".nb-player").getBoundingClientRect();
        document.body.style.padding = `${innerHeight - height}px 0 600px`;
        scrollTo(0, document.querySelector(".nb-player").getBoundingClientRect().top + scrollY + height - innerHeight);
        return height;
    }""")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.nb-handle')"):
            break
    page.keyboard.press("ArrowRight")
    after = page.evaluate("() => document.querySelector('.nb-player').getBoundingClientRect().toJSON()")
    assert after["height"] > low and after["bottom"] <= 651
