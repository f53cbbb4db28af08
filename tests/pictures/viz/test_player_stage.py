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
from nbautograd._engine.core import tracing

from .gallery import PROGRAMS
from .player_pages import WHEN_DRAWN, at_each_step, leaf, long_pass, loop, recording

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
        for (const text of svg.querySelectorAll('[data-label]')) {
            places['text ' + text.dataset.label] = at(text, 'x', 'y');
        }
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
        const written = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        const texts = [...root.querySelectorAll('*')].filter((e) => written(e) && !e.closest('.nb-remark, .nb-hidden')
            && e.checkVisibility({ visibilityProperty: true }));
        const sizes = texts.map((e) => [parseFloat(getComputedStyle(e).fontSize) * (svg.contains(e) ? scale : 1),
            e.textContent]);
        const [x, y, w, h] = rect(stage);
        const lost = [...svg.querySelectorAll('.nb-node.nb-active')].map((node) => [node, rect(node)])
            .filter(([node]) => node.matches(svg.querySelector('.nb-group.nb-active') ? '.nb-op' : '.nb-op, .nb-leaf')
                || k === 1)
            .filter(([, [a, b, c, d]]) => a < x - 1 || b < y - 1 || a + c > x + w + 1 || b + d > y + h + 1)
            .map(([node]) => node.dataset.node);
        steps.push({ moved, lost, smallest: sizes.sort((a, b) => a[0] - b[0])[0], view: svg.getAttribute('viewBox'),
            frame: [root, stage, root.querySelector('.nb-strip')].map(rect) });
    }
    // of the texts on edges, those that lie on boxes or on each other by more than their rims
    const shared = (a, b) => Math.max(0, Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x))
        * Math.max(0, Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y));
    const tiles = [...svg.querySelectorAll('.nb-cells')].filter((e) => !e.dataset.cells.includes(':') && e.firstChild);
    const labels = [...[...svg.querySelectorAll('.nb-label')].filter((e) => e.textContent), ...tiles]
        .map((e) => [e, e.getBBox()]);
    const boxes = [...svg.querySelectorAll('.nb-shape')].map((e) => [e, e.getBBox()]);
    const hidden = labels.filter(([e, box]) => [...boxes, ...labels].some(([other, b]) => other !== e
        && shared(box, b) > 0.12 * box.width * box.height)).map(([e]) => e.textContent);
    return { steps, low: root.getBoundingClientRect().bottom, hidden, labels: labels.length };
}"""


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Any]:
    page = browser.new_page(reduced_motion="reduce")
    page.troubles = []
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    yield page
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_stage(saved: Any, window: Any, name: str, width: int) -> None:
    """Check that nothing moves between two steps, and that everything is readable and on the screen at once."""
    window.set_viewport_size({"width": width, "height": HEIGHT})
    window.goto(saved(PROGRAMS[name]).as_uri())
    window.evaluate(WHEN_DRAWN)
    looked = window.evaluate(LOOK)
    steps = looked["steps"]
    assert len(steps) > 2
    assert [step["moved"] for step in steps] == [[]] * len(steps)
    assert [step["frame"] for step in steps] == [steps[0]["frame"]] * len(steps)
    assert [step["lost"] for step in steps] == [[]] * len(steps)
    smallest = min((step["smallest"] for step in steps), key=lambda found: found[0])
    assert smallest[0] >= SMALLEST - 1e-6, smallest
    assert looked["low"] <= HEIGHT
    assert len(looked["hidden"]) <= 1 <= looked["labels"], looked["hidden"]
    assert window.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if name == "first_seed" and width >= 1280:
        assert len({step["view"] for step in steps}) == 1  # it fits, so the camera does not move
    assert window.troubles == []


def show(window: Any, path: Path, width: int = 1280) -> Any:
    window.set_viewport_size({"width": width, "height": HEIGHT})
    window.goto(path.as_uri())
    window.evaluate(WHEN_DRAWN)
    return window


def test_every_group_shows_that_it_opens(open_page: Any) -> None:
    page = open_page(long_pass(10))
    boxes = page.locator(".nb-openable").evaluate_all("""all => all.map(group => {
        const card = [...group.querySelectorAll('.nb-shape')].at(-1).getBBox();
        const plus = group.querySelector('.nb-plus').getBBox();
        return plus.x > card.x && plus.x + plus.width < card.x + card.width && plus.y > card.y && plus.y < card.y + 20;
    })""")
    assert boxes and all(boxes)


def test_search_finds_what_is_folded_and_opens_its_group(open_page: Any) -> None:
    page = open_page(long_pass(10))
    folded = page.locator(".nb-openable")
    expect(folded).to_have_count(1)
    page.press(".nb-player", "/")
    page.locator(".nb-search").fill("TanhBackward0")
    expect(page.locator(".nb-matches")).to_have_text("1 of 10")
    expect(page.locator(".nb-openable")).to_contain_class("nb-found")
    for _ in range(4):
        page.keyboard.press("Enter")
    expect(page.locator(".nb-closer")).to_have_count(1)
    assert page.troubles == []


@pytest.mark.parametrize("width", [400, 1280])
def test_the_controls_are_in_one_row(saved: Any, window: Any, width: int) -> None:
    page = show(window, saved(PROGRAMS["used_four_times"]), width)
    boxes = [button.bounding_box() for button in page.locator(".nb-strip > .nb-more, .nb-transport .nb-button").all()]
    assert len(boxes) == 4 and len({round(box["y"] + box["height"] / 2) for box in boxes}) == 1
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)


@pytest.mark.parametrize("width", [400, 1280])
def test_a_hook_covers_nothing_and_the_edge_shows_what_passed_it(saved: Any, window: Any, width: int) -> None:
    page = show(window, saved(PROGRAMS["hooked"]), width)
    page.locator(".nb-slider").fill("4")
    expect(page.locator(".nb-hook")).to_have_text("⚓ [ 4., −8., 12.]→ [ 1., −1.,  1.]".replace(" ", "\u00a0"))
    covered = page.evaluate("""() => {
        const hook = document.querySelector('.nb-hook').getBoundingClientRect();
        const labels = [...document.querySelectorAll('.nb-label')].filter(e => e.textContent);
        const drawn = document.querySelectorAll('.nb-node > .nb-shape, .nb-stage [data-cells]');
        return [...labels, ...drawn].map(e => e.getBoundingClientRect())
            .filter(b => b.x < hook.right && hook.x < b.right && b.y < hook.bottom && hook.y < b.bottom).length;
    }""")
    assert covered == 0
    active = set(page.locator(".nb-flow.nb-active").evaluate_all("all => all.map(e => e.dataset.flow)"))
    shown = [page.locator(f'[data-cells="{edge}"] text').all_text_contents() for edge in active]
    assert sorted(shown) == [["1", "−1", "1"], ["3", "−12", "27"]]


def test_freed_constant_and_selected_look_different(open_page: Any) -> None:
    page = open_page(recording())
    page.press(".nb-player", "End")
    look = "e => { const s = getComputedStyle(e); return [s.strokeDasharray, s.fill, s.strokeWidth].join(' | '); }"
    freed = page.locator(".nb-freed > .nb-shape").first.evaluate(look)
    run = page.locator(".nb-op.nb-done:not(.nb-freed) > .nb-shape").first.evaluate(look)
    assert freed != run and freed.startswith("none")
    leaf(page, "w").locator(".nb-name").click()
    assert leaf(page, "w").locator(".nb-shape").evaluate("e => getComputedStyle(e).strokeDasharray") == "none"
    expect(leaf(page, "w").locator(".nb-ring")).to_have_count(1)
    page.press(".nb-player", "Escape")
    expect(page.locator(".nb-ring")).to_have_count(0)


def test_the_arrow_of_the_value_stays_beside_that_of_its_gradient(saved: Any, window: Any) -> None:
    page = show(window, saved(PROGRAMS["second_seed"]))
    page.press(".nb-player", "End")
    apart = page.evaluate("""() => [...document.querySelectorAll('.nb-flow.nb-done, .nb-flow.nb-active')].map(flow => {
        const edge = document.querySelector(`.nb-edge[data-edge="${flow.dataset.flow}"]`);
        if (!getComputedStyle(edge).markerEnd.includes('wire')) return 0;
        const middle = flow.getPointAtLength(flow.getTotalLength() / 2), length = edge.getTotalLength();
        const far = [...Array(200).keys()].map(i => edge.getPointAtLength(length * i / 199));
        return Math.min(...far.map(point => Math.hypot(point.x - middle.x, point.y - middle.y)));
    })""")
    assert len(apart) >= 8 and min(apart) > 3


def test_no_class_is_of_a_button_and_of_a_text(open_page: Any) -> None:
    page = open_page(recording(2))
    classes = "all => [...new Set(all.flatMap(e => [...e.classList]))]"
    buttons = set(page.locator("button").evaluate_all(classes))
    assert not buttons & set(page.locator("text").evaluate_all(classes))


def test_of_an_open_group_the_chip_closes_it(open_page: Any) -> None:
    page = open_page(loop(8))
    page.locator(".nb-group .nb-symbol").click()
    chip = page.locator(".nb-closer")
    expect(chip).to_have_text("h ×8")
    expect(chip.locator("svg")).to_have_count(1)


def test_no_formula_is_cut_off(open_page: Any) -> None:
    with tracing.traced():
        x, w, v = (nb.ones(*shape, requires_grad=True) for shape in ((2, 6), (3,), (2,)))
        product = x.reshape(3, 4).softmax(1).permute(1, 0)[1:] @ w
        y = product.sum() + nb.outer(v, w).var() + nb.mv(x[:, :3], w).logsumexp(0)
    page = open_page(viz.animate(y, namespace={"x": x, "w": w, "v": v}), viewport={"width": 1280, "height": HEIGHT})
    wide = "() => [...document.querySelectorAll('.nb-equation')].map((e) => e.scrollWidth - e.clientWidth)"
    steps = at_each_step(page, wide, first=0)
    assert any(steps) and max(over for step in steps for over in step) <= 0


def test_of_a_graph_that_was_not_traced_the_panel_says_what_is_missing(open_page: Any) -> None:
    w = nb.ones(1, requires_grad=True)
    page = open_page(viz.animate(w * 2 + 1, namespace={"w": w}))
    expect(page.locator(".nb-untraced")).to_contain_text("viz.autograd()")
    with tracing.traced():
        y = w * 2 + 1
    page = open_page(viz.animate(y, namespace={"w": w}))
    expect(page.locator(".nb-untraced")).to_have_count(0)
