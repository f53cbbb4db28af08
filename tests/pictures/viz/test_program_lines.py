"""The program below the player: the lines that run are marked, and a click on one goes to its step."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core.tracing import traced
from nbautograd.viz.notebook import compact, scripts
from tests import needs

needs.package("playwright")
from playwright.sync_api import expect

from tests.waiting import wait_for_layout

from .player_pages import open_tab

browser = [pytest.mark.browser, needs.chromium]


def played(**options: Any) -> Any:
    w = nb.tensor(2.0, requires_grad=True)
    with traced():
        a = w + 1
        y = a * w
    return viz.animate(y, namespace={"w": w, "a": a, "y": y}, **options)


def kept(widget: Any) -> Any:
    """Return what a saved notebook has of a player."""
    (content,) = compact.pass_bundle(widget._kept()).values()
    return json.loads(gzip.decompress(base64.b64decode(content["packed"])))


def test_lines_know_their_boxes() -> None:
    animation = played()
    lines = animation.data()["program"]
    ids = {node.name: node.id for node in animation.scenes[0].nodes}
    assert [(text, part, box) for text, _, part, box in lines if part != "data"] == [
        ("a = w + 1", "forward", ids["AddBackward0"]),
        ("y = a * w", "forward", ids["MulBackward0"]),
        ("g_y = np.float32(1.0)", "backward", ""),
        ("g_a = g_y * w", "backward", ids["MulBackward0"]),
        ("g_w = g_y * a", "backward", ids["MulBackward0"]),
        ("g_w += g_a", "backward", ids["AddBackward0"]),
        ("w_grad = g_w", "grads", ids["w"]),
    ]


def test_the_program_of_a_long_pass_is_written_when_it_is_asked_for() -> None:
    def shown() -> tuple[Any, Any]:
        w = nb.tensor([0.5, 0.2], requires_grad=True)
        h = nb.ones(2)
        with traced():
            for _ in range(20):
                h = (h * w).tanh()
            y = h.sum()
        return w, viz.animate(y, namespace={"w": w, "h": h, "y": y})

    w, later = shown()
    with nb.no_grad():
        w.mul_(3.0)
        w.grad.zero_()
    widget = later.widget
    assert widget.program is kept(widget)["program"] is True and widget.written is None
    later._asked(widget, {"program": True}, [])
    assert len(widget.program) > 60 and widget.program == later.data()["program"] == shown()[1].data()["program"]
    assert widget.written == widget.program and kept(widget)["program"] == [[*line] for line in widget.program]
    assert played().widget.program == played().data()["program"]  # of a short one the notebook keeps it


def test_what_cannot_be_written_is_played_without() -> None:
    w = nb.tensor(2.0, requires_grad=True)
    y = w * w
    y.register_hook(lambda g: g)
    assert "program" not in viz.animate(y, namespace={"w": w}).data()
    big = nb.ones(200, 200, requires_grad=True)
    with traced():
        y = (big * 2).sum()
    assert "program" not in viz.animate(y).data()


def played_loop() -> Any:
    w = nb.tensor([0.5, 0.2], requires_grad=True)
    h = nb.ones(2)
    with traced():
        for _ in range(20):
            h = (h * w).tanh()
        y = h.sum()
    return viz.animate(y, namespace={"w": w, "h": h, "y": y})


class TestInTheBrowser:
    pytestmark = browser

    def test_the_running_line_of_a_long_program_is_in_sight(self, open_page: Any) -> None:
        page = open_page(played_loop())
        open_tab(page, "program")
        for text in ("h15 = ", "g_t3 = ", "w_grad = "):
            line = page.locator(".nb-program-line", has_text=text).first
            line.click()
            page.locator(".nb-program-lines").evaluate("lines => { lines.scrollTop = 0; }")
            page.keyboard.press("ArrowLeft")
            page.keyboard.press("ArrowRight")
            expect(line).to_have_class("nb-program-line nb-runs")
            above, below = page.locator(".nb-program-lines").evaluate(
                "lines => { const own = lines.getBoundingClientRect(), its = lines.querySelector('.nb-runs')"
                ".getBoundingClientRect(); return [its.top - own.top, own.bottom - its.bottom]; }"
            )
            assert above >= 0 and below >= 0

    def test_a_kernel_is_asked_once_when_the_tab_opens(self, browser: Any) -> None:
        shown = played_loop()
        page = browser.new_page()
        page.set_content("<main></main>")
        page.add_style_tag(content=scripts.player_css())
        page.add_script_tag(
            content=scripts.bundle(*scripts.PLAYER) + "\nwindow.mount = mount; window.asked = [];", type="module"
        )
        page.wait_for_function("window.mount !== undefined")
        page.evaluate(
            "data => { const onprogram = () => asked.push('program');"
            " window.player = mount(document.querySelector('main'), data, { onprogram }); }",
            shown.data() | {"program": True},
        )
        open_tab(page, "step")
        assert page.evaluate("asked") == []
        open_tab(page, "program")
        expect(page.locator(".nb-program")).to_have_text("This view needs a running kernel.")
        page.press(".nb-player", "ArrowRight")
        assert page.evaluate("asked") == ["program"]
        page.evaluate("lines => player.written(lines)", shown.data()["program"])
        page.locator(".nb-program-line", has_text="w_grad = ").first.click()
        expect(page.locator(".nb-program-line.nb-runs")).to_contain_text("w_grad = ")
        page.evaluate("player.written(false)")
        expect(page.locator(".nb-program")).to_contain_text("%code")
        page.close()

    def test_the_tab_is_as_wide_as_its_lines_where_there_is_room(self, open_page: Any) -> None:
        with traced():
            weights = nb.tensor([1.0, 2.0], requires_grad=True)
            y = (weights * weights).sum()
        shown = viz.animate(y, namespace={"weights": weights, "y": y})
        page = open_page(shown, viewport={"width": 1280, "height": 800})
        wide = {}
        for tab in ("step", "program", "leaves"):
            open_tab(page, tab)
            wide[tab] = page.locator(".nb-drawer").evaluate("drawer => drawer.clientWidth")
        assert wide["step"] == wide["leaves"] < wide["program"] <= 0.45 * 1280
        open_tab(page, "program")
        rows = page.locator(".nb-program-line", has_text="g_").evaluate_all(
            "rows => rows.map((row) => row.getBoundingClientRect().right)"
        )
        edge = page.locator(".nb-drawer").evaluate("drawer => drawer.getBoundingClientRect().right")
        assert max(rows) <= edge
        page.set_viewport_size({"width": 420, "height": 800})
        wait_for_layout(page)
        assert page.locator(".nb-drawer").evaluate("drawer => drawer.clientWidth") > 380

    def test_the_running_line_is_marked_and_a_click_goes_there(self, open_page: Any) -> None:
        page = open_page(played())
        player = page.locator(".nb-player")
        open_tab(page, "program")
        marked = page.locator(".nb-program-line.nb-runs")
        expect(marked).to_have_count(0)
        page.locator(".nb-program-line", has_text="g_w += g_a").click()
        expect(marked).to_have_count(1)
        expect(marked).to_contain_text("g_w += g_a")
        expect(marked).to_have_attribute("aria-current", "step")
        page.locator(".nb-program-line", has_text="a = w + 1").click()
        expect(marked).to_contain_text("a = w + 1")
        page.locator(".nb-program-line", has_text="w_grad = g_w").click()
        expect(marked).to_contain_text("w_grad = g_w")
        player.focus()
        page.keyboard.press("ArrowLeft")
        expect(marked).to_contain_text("g_w += g_a")
