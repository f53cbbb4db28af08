"""Test tensors as tiles in a real browser: in boxes, on edges, in the ledger; an element highlights its sources."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import protocol, viz
from nbautograd._engine.core import tracing
from nbautograd.nn import functional as F
from nbautograd.viz.capture.recorder import Recorder
from nbautograd.viz.notebook.api import Recording
from nbautograd.viz.read.builder import build
from tests import needs

from .gallery import PROGRAMS
from .player_pages import open_tab, recording, unfold

needs.package("playwright")
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, needs.chromium]

SVG = "{http://www.w3.org/2000/svg}"
LIT = """() => Object.fromEntries([...document.querySelectorAll('.nb-stage .nb-lights')].map((lights) => {
    const [, , w, h, columns] = lights.parentNode.dataset.grid.split(' ').map(Number);
    const [x, y] = lights.parentNode.dataset.grid.split(' ').map(Number);
    const cells = [...lights.getAttribute('d').matchAll(/M([-\\d.]+) ([-\\d.]+)/g)];
    return [lights.parentNode.dataset.cells, cells.map(([, a, b]) =>
        Math.round((b - y) / h) * columns + Math.round((a - x) / w)).sort((a, b) => a - b)];
}))"""


def named(page: Any) -> dict[str, str]:
    """The ids of the nodes by their names."""
    return dict(page.locator(".nb-node").evaluate_all(
        "all => all.map(e => [e.querySelector('.nb-name')?.textContent || '', e.dataset.node])"))  # fmt: skip


def to(page: Any, step: int) -> None:
    page.locator(".nb-slider").fill(str(step))


def last(page: Any) -> int:
    return int(page.locator(".nb-slider").get_attribute("max"))


def point(page: Any, key: str, cell: int) -> dict[str, list[int]]:
    """Point at a cell of a tile of the drawing; return the highlighted cells."""
    tile = page.locator(f'.nb-stage [data-cells="{key}"]')
    w, h, columns = (float(part) for part in tile.get_attribute("data-grid").split()[2:5])
    page.mouse.move(1, 1)
    tile.locator(".nb-cells-hit").hover(position={"x": (cell % columns + 0.5) * w, "y": (cell // columns + 0.5) * h})
    expect(page.locator(".nb-tile-card")).to_be_visible()
    lit: dict[str, list[int]] = page.evaluate(LIT)
    return lit


def layer() -> Any:
    """A layer with a bias: a product of matrices, a broadcast sum, an elementwise function, a mean."""
    nb.manual_seed(0)
    with tracing.traced():
        X, W, b = nb.randn(4, 3), nb.randn(3, 4, requires_grad=True), nb.zeros(4, requires_grad=True)
        p = X @ W
        s = p + b
        h = nb.tanh(s)
        y = (h * h).mean()
    return viz.animate(y, namespace={"X": X, "W": W, "b": b, "p": p, "s": s, "h": h, "y": y})


WIDE = {"width": 1900, "height": 1000}


def test_boxes_and_edges_hold_tiles(open_page: Any) -> None:
    page = open_page(layer(), viewport=WIDE)
    page.press(".nb-player", "Home")
    ids = named(page)
    expect(page.locator(f'[data-cells="{ids["W"]}:value"] path')).not_to_have_count(0)
    assert page.locator(f'[data-cells="{ids["b"]}:value"] text').all_text_contents() == ["0"] * 4
    expect(page.locator(f'[data-node="{ids["W"]}"] .nb-value')).to_have_count(0)
    expect(page.locator(f'[data-cells="{ids["W"]}:grad"] path')).to_have_count(0)
    page.press(".nb-player", "End")
    assert page.locator(f'[data-cells="{ids["W"]}:grad"] path').count() > 0
    expect(page.locator(f'[data-node="{ids["W"]}"] .nb-grad')).to_have_text(".grad")
    edges = page.locator(".nb-stage [data-cells]:not([data-cells*=':'])")
    assert edges.count() >= 7 and all(edge.locator("path").count() for edge in edges.all())
    assert page.locator(".nb-label").evaluate_all("all => all.map(e => e.textContent).filter(Boolean)") == ["1."]
    assert page.troubles == []


def test_an_element_lights_what_it_came_from(open_page: Any) -> None:
    page = open_page(layer(), viewport=WIDE)
    page.press(".nb-player", "End")
    ids = named(page)
    p, s = ids["p"], ids["s"]
    assert point(page, f"{p}:value", 6) == {
        f"{p}:value": [6], f"{ids['X']}:value": [3, 4, 5], f"{ids['W']}:value": [2, 6, 10],
    }  # fmt: skip
    expect(page.locator(".nb-tile-card")).to_contain_text("p[1, 2] = ")
    assert point(page, f"{s}:value", 6) == {f"{s}:value": [6], f"{p}:value": [6], f"{ids['b']}:value": [2]}
    assert point(page, f"{ids['h']}:value", 5) == {f"{ids['h']}:value": [5], f"{s}:value": [5]}
    lit = point(page, f"{ids['b']}:grad", 1)
    assert lit[f"{ids['b']}:arriving"] == [1] and len(lit) == 3
    expect(page.locator(".nb-ledger .nb-lights")).not_to_have_count(0)
    (edge,) = set(lit) - {f"{ids['b']}:arriving", f"{ids['b']}:grad"}
    lit = point(page, edge, 1)
    assert lit.pop(edge) == [1] and all(cells == [1, 5, 9, 13] for cells in lit.values()) and len(lit) == 2
    page.mouse.move(1, 1)
    expect(page.locator(".nb-lights")).to_have_count(0)
    expect(page.locator(".nb-tile-card")).to_be_hidden()


def test_a_sum_lights_all_and_a_move_lights_one(open_page: Any) -> None:
    with tracing.traced():
        x = nb.arange(6.0).reshape(2, 3).requires_grad_()
        t = x.t()
        s = t.sum(1)
        y = (s * nb.tensor([1.0, 2.0, 3.0])).sum()
    page = open_page(viz.animate(y, namespace={"x": x, "t": t, "s": s, "y": y}), viewport=WIDE)
    page.press(".nb-player", "End")
    ids = named(page)
    assert point(page, f"{ids['s']}:value", 1) == {f"{ids['s']}:value": [1], f"{ids['t']}:value": [2, 3]}
    assert point(page, f"{ids['t']}:value", 1) == {f"{ids['t']}:value": [1], f"{ids['x']}:value": [3]}


def test_a_graph_that_was_not_run_backwards_tells_by_its_shapes(open_page: Any) -> None:
    with tracing.traced():
        A, B = nb.ones(2, 3, requires_grad=True), nb.ones(3, 2, requires_grad=True)
        p = A @ B
        q = p * nb.tensor([1.0, 2.0])
        y = q.mean()
    page = open_page(viz.graph(y, namespace={"A": A, "B": B, "p": p, "q": q, "y": y}), viewport=WIDE)
    ids = named(page)
    assert point(page, f"{ids['p']}:value", 3) == {
        f"{ids['p']}:value": [3], f"{ids['A']}:value": [3, 4, 5], f"{ids['B']}:value": [1, 3, 5],
    }  # fmt: skip
    lit = point(page, f"{ids['q']}:value", 3)
    assert sorted(lit.values()) == [[1], [3], [3]]


def test_a_large_tensor_shows_means_and_a_histogram(open_page: Any) -> None:
    with tracing.traced():
        w = nb.linspace(-1, 1, 64 * 40).reshape(64, 40).requires_grad_()
        y = (w * w).sum()
    page = open_page(viz.animate(y, namespace={"w": w, "y": y}), viewport=WIDE)
    page.press(".nb-player", "End")
    key = f"{named(page)['w']}:value"
    assert point(page, key, 0) == {key: [0]}
    card = page.locator(".nb-tile-card")
    expect(card).to_contain_text("means of blocks of 4 × 3 elements")
    expect(card.locator(".nb-histogram rect")).to_have_count(24)
    expect(card).to_contain_text("all elements, from −1 to 1")


def test_nan_and_infinity_are_marked(open_page: Any) -> None:
    with tracing.traced():
        x = nb.tensor([[0.0, 1.0], [4.0, -1.0]], requires_grad=True)
        y = x.sqrt().sum()
    page = open_page(viz.animate(y, namespace={"x": x, "y": y}), viewport=WIDE)
    page.press(".nb-player", "End")
    leaf = named(page)["x"]
    tile = page.locator(f'.nb-stage [data-cells="{leaf}:grad"]')
    expect(tile.locator(".nb-not-finite")).to_have_count(1)
    assert tile.locator("text").all_text_contents() == [
        "inf",
        "0.5",
        "0.25",
        "nan",
    ]
    point(page, f"{leaf}:grad", 3)
    expect(page.locator(".nb-tile-card")).to_contain_text("1 NaN, 1 infinite")
    expect(page.locator(".nb-ledger .nb-not-finite")).not_to_have_count(0)


def test_the_ledger_holds_tiles_in_the_order_of_the_variables(open_page: Any) -> None:
    page = open_page(layer(), viewport=WIDE)
    page.press(".nb-player", "End")
    names = page.locator(".nb-ledger tbody th").all_text_contents()
    assert names == ["W", "b"]
    open_tab(page, "leaves")
    for column in ("terms", "sum", "after"):
        expect(page.locator(f".nb-ledger tbody .nb-{column} .nb-inline-tile")).to_have_count(2)
    assert "[" not in " ".join(page.locator(".nb-ledger tbody").all_text_contents())
    page.locator(".nb-ledger .nb-after .nb-cells-hit").first.hover()
    expect(page.locator(".nb-tile-card")).to_contain_text(re.compile(r"W\.grad\[1, [12]\] = "))


def test_in_the_panel_the_arrow_keys_walk_through_a_tile(open_page: Any) -> None:
    page = open_page(layer(), viewport=WIDE)
    page.press(".nb-player", "End")
    ids = named(page)
    page.locator(f'[data-node="{ids["p"]}"] .nb-name').click()
    page.locator(".nb-side .nb-tile").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    lit = page.evaluate(LIT)
    assert lit == {f"{ids['p']}:value": [4], f"{ids['X']}:value": [3, 4, 5], f"{ids['W']}:value": [0, 4, 8]}
    page.locator(f'[data-node="{ids["W"]}"] .nb-name').click()
    expect(page.locator(".nb-side .nb-tile")).to_have_count(3)  # the value, the arriving gradient, and .grad


def test_the_player_and_the_still_picture_show_the_same(open_page: Any) -> None:
    shown = PROGRAMS["second_seed"]()
    page = open_page(shown, viewport=WIDE)
    page.press(".nb-player", "End")
    written = dict(
        page.locator(".nb-stage [data-cells]").evaluate_all(
            "all => all.map(e => [e.dataset.cells, [...e.querySelectorAll('text')].map(t => t.textContent)])"
        )
    )
    groups = [group for group in ET.fromstring(shown.svg).iter(f"{SVG}g") if "data-cells" in group.attrib]
    drawn = {group.attrib["data-cells"]: [text.text for text in group.iter(f"{SVG}text")] for group in groups}
    same = drawn.keys() & written.keys()  # the arriving gradient is shown only while a pass is played
    assert len(same) >= len(drawn) - 3 and sum(bool(drawn[key]) for key in same) > 8
    assert {key: drawn[key] for key in same} == {key: written[key] for key in same}


def test_numbers_alone_stay_texts(open_page: Any) -> None:
    page = open_page(recording())
    page.press(".nb-player", "End")
    expect(page.locator(".nb-cells")).to_have_count(0)
    expect(page.locator(".nb-key")).to_be_hidden()


def test_the_colors_have_a_key_and_follow_the_theme(open_page: Any) -> None:
    fills = []
    for scheme in ("light", "dark"):
        page = open_page(layer(), viewport=WIDE, color_scheme=scheme)
        page.press(".nb-player", "End")
        expect(page.locator(".nb-strip .nb-key")).to_contain_text("gradients")
        fills.append(page.locator(".nb-key rect").first.evaluate("e => getComputedStyle(e).fill"))
    assert fills[0] != fills[1]


def test_a_tile_travels_where_motion_is_wanted(open_page: Any) -> None:
    page = open_page(layer(), reduced_motion="no-preference", viewport=WIDE)
    page.click(".nb-forward")
    page.click(".nb-forward")
    page.wait_for_function("() => document.querySelector('.nb-token .nb-cells path')")
    page.wait_for_function("() => !document.querySelector('.nb-token')")
    assert page.locator(".nb-stage [data-cells]:not([data-cells*=':']) path").count() > 0 and page.troubles == []


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("name", ["perceptron", "recurrent", "convolution"])
def test_the_smallest_number_in_a_cell_can_be_read(open_page: Any, name: str, width: int) -> None:
    page = open_page(PROGRAMS[name], viewport={"width": width, "height": 720})
    page.press(".nb-player", "End")
    sizes = page.locator(".nb-cells text").evaluate_all(
        "all => all.map(e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)")  # fmt: skip
    assert sizes and min(sizes) >= 11 - 0.01
    outside = page.locator(".nb-stage .nb-cells text").evaluate_all("""all => all.filter(e => {
        const cell = e.parentNode.dataset.grid.split(' ').map(Number)[2];
        return e.getBBox().width > cell;
    }).length""")
    assert outside == 0


def chain(boxes: int, side: int) -> Any:
    """Record a pass through this many boxes, each a matrix."""
    nb.manual_seed(0)
    names: dict[str, Any] = {}
    with tracing.traced():
        names["w"] = w = nb.randn(side, side, requires_grad=True)
        h = nb.randn(side, side)
        for i in range(boxes // 2):
            names[f"h{i}"] = h = nb.tanh(h @ w)
        y = h.sum()
    names["y"] = y
    recorder = Recorder(build(y, names, budget=1000), namespace=names)
    with protocol.observe(recorder):
        y.backward()
    return Recording(recorder.timeline())


def test_a_page_of_a_hundred_operations_is_small() -> None:
    for side in (4, 16):
        assert len(chain(100, side).html()) <= 1_200_000


def test_a_large_page_is_compressed_and_plays(open_page: Any) -> None:
    page = open_page(chain(100, 4))
    expect(page.locator(".nb-slider")).to_be_visible()
    unfold(page)
    assert last(page) > 100 and page.troubles == []


def test_a_step_is_quick(open_page: Any, record_property: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Printed, not asserted: the machine that tests may be busy."""
    page = open_page(chain(300, 16))
    nodes = page.locator(".nb-node").count()
    times = page.evaluate("""() => {
        const times = [], button = document.querySelector('.nb-forward');
        for (let k = 0; k < 60; k++) {
            performance.mark('begin');
            button.click();
            times.push(performance.measure('step', 'begin').duration);
        }
        return times.sort((a, b) => a - b);
    }""")
    told = {"boxes": nodes, "median": round(times[30], 2), "most": round(times[-1], 2)}
    record_property("milliseconds of script in a step", json.dumps(told))
    with capsys.disabled():
        print(f" [a step takes {told['median']} ms of script, at most {told['most']}, at {nodes} boxes]", end="")
    assert nodes >= 250 and page.troubles == []


def test_a_convolution_is_drawn_and_not_lit_wrongly(open_page: Any) -> None:
    with tracing.traced():
        image = nb.ones(1, 1, 4, 4, requires_grad=True)
        kernel = nb.ones(1, 1, 2, 2, requires_grad=True)
        out = F.conv2d(image, kernel)
        y = out.sum()
    page = open_page(viz.animate(y, namespace={"image": image, "kernel": kernel, "out": out, "y": y}), viewport=WIDE)
    page.press(".nb-player", "End")
    ids = named(page)
    lit = point(page, f"{ids['out']}:value", 4)
    assert lit[f"{ids['image']}:value"] == [5, 6, 9, 10] and lit[f"{ids['kernel']}:value"] == [0, 1, 2, 3]
    assert re.search(r"out\[0, 0, 1, 1\] = 4", page.locator(".nb-tile-card").inner_text())
