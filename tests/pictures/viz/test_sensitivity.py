"""Check the meaning of an edge's number and of the marks, and nudging, in a real browser."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.notebook import export, scripts
from tests import needs

from .player_pages import leaf, open_tab, recording
from .test_paths import layer, seed_graph, to_the_end, used_twice

needs.package("playwright")
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, needs.chromium]

CARD = ".nb-sensitivity"


def edge(page: Any, source: str, target: str) -> Any:
    """The edge between two nodes, by their names in the player's data."""
    found = page.evaluate(
        """([source, target]) => {
            const data = JSON.parse(document.getElementById('nb-data').textContent);
            const { nodes, edges } = data.timeline.scenes[0];
            const called = (id) => [nodes[id].name, nodes[id].expression, nodes[id].symbol];
            return edges.find(([, src, dst]) => called(src).includes(source) && called(dst).includes(target))[0];
        }""",
        [source, target],
    )
    return page.locator(f'[data-hit="{found}"]')


def point(edge: Any) -> None:
    edge.dispatch_event("pointerover", {"bubbles": True, "clientX": 300, "clientY": 200})


# -- the card ---------------------------------------------------------------------------------------------------------


def test_an_edge_says_what_its_number_means(open_page: Any) -> None:
    page = open_page(seed_graph())
    page.press(".nb-player", "Home")
    point(edge(page, "a", "y = a × b"))
    expect(page.locator(CARD)).to_contain_text("The pass has not come here yet.")
    to_the_end(page)
    point(edge(page, "a", "y = a × b"))
    card = page.locator(CARD)
    expect(card.locator("b")).to_have_text("∂y/∂a = 2")
    expect(card).to_contain_text("If a grows by 0.01, y changes by 0.02.")
    expect(card).to_contain_text("y changes 2 times as fast as a.")
    assert card.locator("math").count() > 0
    point(edge(page, "w", "b = w + 1"))
    expect(card).to_contain_text("By this way alone: if w grows by 0.01, y changes by 0.03.")
    expect(card).to_contain_text("w gets gradients from 2 sides, here by way of b; they are summed.")
    page.dispatch_event(".nb-stage", "pointerleave")
    expect(card).to_be_hidden()


def test_of_a_tensor_it_shows_the_tile_and_speaks_of_its_largest_element(open_page: Any) -> None:
    page = open_page(layer())
    to_the_end(page)
    point(edge(page, "b", "h = (x @ w) + b"))
    card = page.locator(CARD)
    expect(card).to_contain_text("∂y/∂b 2")
    expect(card).to_contain_text(re.compile(r"If b\[\d\] grows by 0\.01, y changes by −?[\d.]+\."))
    expect(card).to_contain_text("Σ dim 0: b was broadcast")
    assert card.locator(".nb-tile rect").count() == 2


def test_an_operation_says_by_what_it_multiplies(open_page: Any) -> None:
    page = open_page(seed_graph())
    to_the_end(page)
    page.hover(".nb-op >> nth=0")
    assert page.locator(f"{CARD} .nb-sensitivity-local").all_text_contents() == ["∂y/∂a = b = 2", "∂y/∂b = a = 3"]


def test_a_constant_gets_nothing(open_page: Any) -> None:
    page = open_page(seed_graph())
    to_the_end(page)
    point(edge(page, "1", "b = w + 1"))
    expect(page.locator(CARD)).to_contain_text("no gradient goes this way")


@pytest.mark.parametrize("seed", ["v", "weights_of_rows"])
def test_where_a_gradient_was_passed_what_flows_has_its_name(open_page: Any, seed: str) -> None:
    with tracing.traced():
        x = nb.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x.exp()
        z = y * 2
    v = nb.tensor([1.0, 10.0, 100.0])
    page = open_page(viz.animate(z, v, namespace={"x": x, "y": y, "z": z, seed: v}))
    page.click(".nb-forward")
    page.click(".nb-forward")
    expect(page.locator(".nb-is-upstream b")).to_have_text("v")
    expect(page.locator(".nb-is-factor b")).to_have_text("∂z/∂y")
    expect(page.locator(".nb-is-sent b")).to_have_text("vᵀ∂z/∂y")
    expect(page.locator(".nb-equation-words")).to_contain_text("If y[2] grows by 0.01, vᵀz changes by 2.")
    assert "∂z∂z" not in page.locator(".nb-side math").first.text_content()
    page.click(".nb-forward")
    expect(page.locator(".nb-side")).to_contain_text("vᵀ∂z/∂y =")


def test_edges_by_keyboard(open_page: Any) -> None:
    page = open_page(seed_graph())
    page.focus(".nb-player")
    page.keyboard.press("End")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    texts = set()
    for _ in range(3):
        page.keyboard.press("e")
        texts.add(page.locator(f"{CARD} b").inner_text())
    assert texts == {"∂y/∂y = 1", "∂y/∂a = 2", "∂y/∂b = 3"}
    assert page.locator(CARD).get_attribute("role") == "status"
    page.keyboard.press("Shift+E")
    expect(page.locator(CARD)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(CARD)).to_be_hidden()
    expect(page.locator(".nb-player")).to_have_attribute("data-step", "2")


def test_by_touch(open_page: Any) -> None:
    page = open_page(seed_graph(), has_touch=True)
    to_the_end(page)
    page.locator(".nb-label", has_text="1.").first.tap()
    expect(page.locator(CARD)).to_contain_text("∂y/∂y = 1")
    page.locator(".nb-stage").tap(position={"x": 5, "y": 5})
    expect(page.locator(CARD)).to_be_hidden()


@pytest.mark.parametrize("width", [400, 1280])
def test_the_card_stays_inside(open_page: Any, width: int) -> None:
    page = open_page(used_twice(), viewport={"width": width, "height": 720})
    to_the_end(page)
    for hit in page.locator("[data-hit]").all():
        hit.dispatch_event("pointerover", {"bubbles": True, "clientX": width - 30, "clientY": 500})
        around, card = page.locator(".nb-player").bounding_box(), page.locator(CARD).bounding_box()
        assert card["x"] >= around["x"] and card["x"] + card["width"] <= around["x"] + around["width"]


# -- the marks --------------------------------------------------------------------------------------------------------


def test_a_button_tells_what_the_marks_mean(open_page: Any) -> None:
    page = open_page(recording())
    open_tab(page, "tools")
    page.click(".nb-marks-button")
    marks = page.locator(".nb-marks")
    assert marks.locator("li").count() == 13
    for text in (
        "saved for the backward pass",
        "freed after use",
        "no gradient goes there",
        "0 of 2",
        "several operations",
    ):
        expect(marks).to_contain_text(text)
    expect(page.locator(".nb-marks-button")).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    expect(marks).to_be_hidden()
    expect(page.locator(".nb-marks-button")).to_be_focused()
    page.keyboard.press("i")
    expect(marks).to_be_visible()


def test_a_graph_alone_has_no_marks_of_a_pass(open_page: Any) -> None:
    x = nb.tensor(2.0, requires_grad=True)
    page = open_page(viz.graph(x * x, namespace={"x": x}))
    page.press(".nb-player", "i")
    assert page.locator(".nb-marks li").count() == 9


# -- nudging ----------------------------------------------------------------------------------------------------------


def nudge(page: Any, name: str, steps: int) -> None:
    leaf(page, name).click()
    page.focus(".nb-nudge-range")
    for _ in range(steps):
        page.keyboard.press("ArrowRight")


def ghosts(page: Any) -> list[str]:
    return page.locator(".nb-ghost text").all_text_contents()


def test_a_saved_page_predicts_by_the_recorded_linear_map(open_page: Any) -> None:
    page = open_page(seed_graph())
    to_the_end(page)
    nudge(page, "w", 10)
    assert ghosts(page) == ["→ 6.5", "linear prediction", "→ 3.1", "→ 1.1", "→ 2.1"]
    expect(page.locator(".nb-nudge-told")).to_contain_text("y: 6.5 predicted")
    expect(page.locator(".nb-nudge-told")).to_contain_text("Linear prediction, by the recorded gradients")
    assert page.locator(".nb-player").get_attribute("data-step") == "6"  # arrows moved the value, not the step
    page.keyboard.press("Escape")
    assert ghosts(page) == [] and page.locator(".nb-nudge-range").input_value() == "1"
    page.mouse.move(1, 1)  # no card is open
    expect(page.locator(".nb-path")).to_have_count(2)  # other visible parts stay
    page.keyboard.press("Escape")
    expect(page.locator(".nb-path")).to_have_count(0)


def test_dragging_a_value_in_the_drawing(open_page: Any) -> None:
    page = open_page(seed_graph())
    to_the_end(page)
    box = leaf(page, "w").locator(".nb-value").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 10, y)
    page.mouse.move(x + 40, y, steps=4)
    page.mouse.up()
    assert "→ 1.2" in ghosts(page)
    page.click(".nb-nudge-back")
    assert ghosts(page) == []
    page.keyboard.press("Escape")
    page.mouse.click(x, y)  # a click without dragging selects
    expect(page.locator(".nb-path")).to_have_count(2)


def test_a_number_in_a_box_is_a_slider(open_page: Any) -> None:
    page = open_page(seed_graph())
    caption = page.locator(".nb-caption").text_content()
    handle = leaf(page, "w").get_by_role("slider")
    expect(page.get_by_role("slider", name=re.compile("^Nudge"))).to_have_count(2)
    handle.hover()
    expect(page.locator(".nb-caption")).to_have_text("Drag w's number: what would change?")
    page.mouse.move(1, 1)
    expect(page.locator(".nb-caption")).to_have_text(caption)
    handle.focus()
    for key in (*["ArrowRight"] * 5, "PageUp", *["ArrowLeft"] * 5):
        page.keyboard.press(key)
    expect(handle).to_have_attribute("aria-valuenow", "1.1")
    expect(handle).to_have_attribute("aria-valuetext", "1.1; y: 6.5 predicted")
    assert ghosts(page) == ["→ 6.5", "linear prediction", "→ 3.1", "→ 1.1", "→ 2.1"]
    expect(handle).to_be_focused()
    page.keyboard.press("Escape")
    expect(handle).to_have_attribute("aria-valuenow", "1")
    page.keyboard.press("Escape")
    page.mouse.move(1, 1)
    handle.hover()
    expect(page.locator(".nb-caption")).not_to_have_text(re.compile("^Drag"))  # it was found
    assert page.troubles == []


def test_an_element_is_dragged_and_all_values_between_move(open_page: Any) -> None:
    with tracing.traced():
        w = nb.tensor([1.0, 2.0], requires_grad=True)
        y = (w * 3 + 1).sum()
    page = open_page(viz.animate(y, namespace={"w": w, "y": y}), viewport={"width": 1280, "height": 720})
    between = page.locator(".nb-op > .nb-cells")
    shown = between.all_text_contents()
    assert shown == ["47", "36"]
    box = leaf(page, "w").locator(".nb-cells-hit").first.bounding_box()
    x, y_ = box["x"] + 0.75 * box["width"], box["y"] + box["height"] / 2
    page.mouse.move(x, y_)
    page.mouse.down()
    page.mouse.move(x + 100, y_, steps=4)
    page.mouse.up()
    expect(page.locator(".nb-nudge-line span")).to_have_text("Nudge w[1]")
    assert between.all_text_contents() == ["48.5", "37.5"]  # three times 0.5 more
    assert "→ 12.5" in ghosts(page)
    expect(leaf(page, "w").locator(".nb-cells.nb-nudged")).to_have_text("12.5")
    page.keyboard.press("Escape")
    assert between.all_text_contents() == shown
    page.keyboard.press("Escape")
    page.mouse.click(x, y_)  # without dragging it selects
    expect(leaf(page, "w").locator(".nb-ring")).to_have_count(1)


def test_what_cannot_be_told_has_no_handle(open_page: Any) -> None:
    with tracing.traced():
        big, w = nb.ones(40, 40, requires_grad=True), nb.tensor(2.0, requires_grad=True)
        y = (big * w).sum()
    page = open_page(viz.animate(y, namespace={"big": big, "w": w, "y": y}))
    assert leaf(page, "w").locator(".nb-handle").count() == 1
    assert leaf(page, "big").locator(".nb-handle").count() == 0
    graph = open_page(viz.graph(y, namespace={"big": big, "w": w, "y": y}))
    assert graph.locator(".nb-handle").count() == 0


def test_tensors_are_nudged_element_by_element(open_page: Any) -> None:
    page = open_page(used_twice())
    to_the_end(page)
    leaf(page, "x").click()
    page.mouse.move(1, 1)  # the drawer moves the drawing, and an element under the pointer would be the one
    expect(page.locator(".nb-nudge-line span")).to_have_text("Nudge x[1, 1]")
    page.click(".nb-path >> nth=0 >> rect >> nth=0")
    expect(page.locator(".nb-nudge-line span")).to_have_text("Nudge x[0, 0]")
    page.focus(".nb-nudge-range")
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    # ∂z/∂x[0, 0] = 6 · 3 / 4
    expect(page.locator(".nb-nudge-told")).to_contain_text(re.compile(r"z: 64\.95 predicted"))


def test_a_step_further_puts_everything_back(open_page: Any) -> None:
    page = open_page(seed_graph())
    to_the_end(page)
    nudge(page, "x", 3)
    assert ghosts(page)
    page.click(".nb-back")
    assert ghosts(page) == []


@pytest.fixture
def open_widget(new_page: Any, tmp_path: Any) -> Any:
    """The widget's own entry with a kernel behind it: the recording itself answers its requests."""

    def open_(shown: Any, answers: bool = True) -> Any:
        page = new_page(own=True)  # exposed boxes stay
        page.asked = []

        def kernel(text: str) -> str:
            page.asked.append(json.loads(text)["nudge"])
            return json.dumps(shown.nudged(page.asked[-1]) if answers else None)

        page.expose_function("kernel", kernel)
        script = scripts.bundle(*scripts.PLAYER) + """
            const data = JSON.parse(document.getElementById("nb-data").textContent), listeners = {};
            const model = { get: (name) => ({ index: 0, selected: "" })[name], set() {}, save_changes() {},
              on: (name, f) => { listeners[name] = f; }, off() {},
              send: async (message) => {
                const answer = JSON.parse(await window.kernel(JSON.stringify(message)));
                if (answer) listeners["msg:custom"](answer);
              } };
            render(model, document.getElementById("nb-place"), data.texts, data);
        """  # fmt: skip
        payload = export.json_for_script(shown.data())
        body = (
            f'<main id="nb-place"></main><script type="application/json" id="nb-data">{payload}</script>'
            f'<script type="module">{script}</script>'
        )
        path = tmp_path / "widget.html"
        path.write_text(f"<!doctype html><meta charset=utf-8><style>{scripts.player_css()}</style>{body}", "utf-8")
        page.goto(path.as_uri())
        expect(page.locator(".nb-player")).to_be_visible()
        return page

    return open_


def test_a_kernel_computes_anew(open_widget: Any) -> None:
    page = open_widget(seed_graph())
    to_the_end(page)
    nudge(page, "w", 50)  # 1 → 1.5
    told = page.locator(".nb-nudge-told")
    expect(told).to_contain_text("y: 8.5 predicted, 8.75 computed again")
    expect(told).to_contain_text("∂y/∂w there: 6")
    assert "→ 8.75" in ghosts(page) and "linear prediction 8.5" in ghosts(page) and "∂ 6" in ghosts(page)
    assert len(page.asked) < 50  # not at every step
    page.keyboard.press("Escape")
    assert ghosts(page) == [] and page.troubles == []


def test_a_kernel_that_does_not_answer_leaves_the_prediction(open_widget: Any) -> None:
    page = open_widget(seed_graph(), answers=False)
    to_the_end(page)
    nudge(page, "w", 5)
    expect(page.locator(".nb-nudge-told")).to_contain_text("Linear prediction, by the recorded gradients")
    assert "linear prediction" in ghosts(page)
