"""The stage over a gallery of programs, at four widths of a window as high as a laptop's: still, legible, in view."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs

needs.package("playwright")
from playwright.sync_api import expect

import nbautograd as nb
from nbautograd import viz
from nbautograd.core import tracing

from .gallery import PROGRAMS
from .player_pages import leaf, long_pass, recording, step_of

pytestmark = [pytest.mark.browser, needs.chromium]

WIDTHS, HEIGHT = (400, 700, 1280, 1600), 720
SMALLEST = 11  # pixels of a text

LOOK = """() => {
    const root = document.querySelector('.nb-player'), stage = root.querySelector('.nb-stage');
    const rect = (e) => { const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; };
    const svg = stage.querySelector('svg');
    const placesOf = () => {
        const places = {}, at = (e, ...names) => names.map((name) => e.getAttribute(name));
        for (const node of svg.querySelectorAll('[data-node]')) {
            const parts = [...node.querySelectorAll('.nb-shape, .nb-arriving, .nb-rule')].map((e) => e.getBBox());
            places[node.dataset.node] = parts.map((b) => [b.x, b.y, b.width, b.height]);
        }
        for (const edge of svg.querySelectorAll('[data-edge], [data-flow]')) {
            places[edge.dataset.edge || 'to ' + edge.dataset.flow] = at(edge, 'd');
        }
        for (const text of svg.querySelectorAll('[data-label]')) places['text ' + text.dataset.label] = at(text, 'x', 'y');
        return places;
    };
    const places = placesOf();
    const slider = root.querySelector('.nb-slider'), steps = [];
    for (let k = 0; k <= Number(slider.max); k++) {
        slider.value = k;
        slider.dispatchEvent(new Event('input'));
        const now = placesOf();
        const moved = Object.keys(places).filter((key) => JSON.stringify(places[key]) !== JSON.stringify(now[key]));
        const scale = stage.clientWidth / Number(svg.getAttribute('viewBox').split(' ')[2]);
        const texts = [...root.querySelectorAll('*')].filter((e) => e.checkVisibility({ visibilityProperty: true })
            && !e.closest('.nb-remark, .nb-hidden') && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()));
        const sizes = texts.map((e) => [parseFloat(getComputedStyle(e).fontSize) * (svg.contains(e) ? scale : 1),
            e.textContent]);
        const [x, y, w, h] = rect(stage);
        const lost = [...svg.querySelectorAll('.nb-node.nb-active')].map((node) => [node, rect(node)])
            .filter(([node]) => node.matches('.nb-op, .nb-leaf') || k === 1)
            .filter(([, [a, b, c, d]]) => a < x - 1 || b < y - 1 || a + c > x + w + 1 || b + d > y + h + 1)
            .map(([node]) => node.dataset.node);
        steps.push({ moved, lost, smallest: sizes.sort((a, b) => a[0] - b[0])[0], view: svg.getAttribute('viewBox'),
            frame: [rect(root), rect(stage), ...['.nb-equation-bar', '.nb-ledger', '.nb-side'].map(
                (name) => rect(root.querySelector(name)))] });
    }
    const low = Math.max(...['.nb-bar', '.nb-stage', '.nb-equation-bar', '.nb-ledger'].map(
        (name) => root.querySelector(name).getBoundingClientRect().bottom));
    return { steps, low };
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The gallery as files, made once."""
    folder = tmp_path_factory.mktemp("gallery")
    return {name: make().save(folder / f"{name}.html") for name, make in PROGRAMS.items()}


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Any]:
    page = browser.new_page(reduced_motion="reduce")
    page.troubles = []
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    yield page
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_stage(pages: dict[str, Path], window: Any, name: str, width: int) -> None:
    """Between two steps nothing moves, all can be read, the active node is seen, and all is on the screen at once."""
    window.set_viewport_size({"width": width, "height": HEIGHT})
    window.goto(pages[name].as_uri())
    expect(window.locator(".nb-slider")).to_be_visible()
    looked = window.evaluate(LOOK)
    steps = looked["steps"]
    assert len(steps) > 2
    assert [step["moved"] for step in steps] == [[]] * len(steps)
    assert [step["frame"] for step in steps] == [steps[0]["frame"]] * len(steps)
    assert [step["lost"] for step in steps] == [[]] * len(steps)
    smallest = min((step["smallest"] for step in steps), key=lambda found: found[0])
    assert smallest[0] >= SMALLEST - 1e-6, smallest
    assert looked["low"] <= HEIGHT
    assert window.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if name == "first_seed" and width >= 1280:
        assert len({step["view"] for step in steps}) == 1  # it fits, so the camera rests
    assert window.troubles == []
