"""The forward half of the timeline: values fill in, operation by operation, with the code beside them."""

from __future__ import annotations

import linecache
import sys
import textwrap
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.capture.timeline import columns, forward_pass, listing
from nbautograd.viz.read.builder import build
from tests import needs

from .player_pages import hurry, long_pass, open_tab, recording, step_of

needs.package("playwright")
from playwright.sync_api import expect

browser = [pytest.mark.browser, needs.chromium]
CELL = """
w = nb.tensor(3.0, requires_grad=True)
x = nb.tensor(2.0, requires_grad=True)

a = w + 0.5
ä = 1; b = w * x; y = a * (
    b * 2)
"""


def run_cell(name: str, code: str = CELL) -> dict[str, Any]:
    """Run code as a notebook's cell: its lines are known to linecache."""
    code = textwrap.dedent(code)
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    names: dict[str, Any] = {"nb": nb}
    with tracing.traced():
        exec(compile(code, name, "exec"), names)
    return names


def played(name: str = "a_cell", code: str = CELL, root: str = "y", **options: Any) -> Any:
    names = run_cell(name, code)
    return viz.animate(names[root], namespace=names, **options)


# -- what is known of the code ----------------------------------------------------------------------


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code tells its columns from Python 3.11 on")
def test_each_operation_has_its_part_of_the_line() -> None:
    names = run_cell("columns")
    model = build(names["y"], names)
    ran = forward_pass(model)
    assert [key for key, _ in ran.steps] == list(model.order)
    parts = [(model.by_id[key].line, part) for key, part in ran.steps]
    lines = dict(ran.cells["columns"])
    assert [lines[line][slice(*part)] for line, part in parts if part] == ["w + 0.5", "w * x", "b * 2", "a * ("]


def test_code_without_columns_has_lines_only() -> None:
    code = CELL.strip()
    names: dict[str, Any] = {"nb": nb}
    with tracing.traced():
        exec(compile(code, "gone", "exec"), names)
    assert columns(names["y"].grad_fn.trace) is None  # no text in which to find a column
    assert columns(names["y"].grad_fn.trace._replace(instruction=-1)) is None
    assert columns(names["y"].grad_fn.trace._replace(code=None)) is None
    assert listing("gone", {1}) == ()


def test_the_listing_is_the_whole_cell_and_part_of_a_long_file() -> None:
    run_cell("whole")
    assert [n for n, _ in listing("whole", {5})] == [2, 3, 4, 5, 6, 7]  # without its leading empty line
    linecache.cache["long"] = (1, None, [f"line {n}\n" for n in range(1, 1001)], "long")
    assert [n for n, _ in listing("long", {500, 505})] == list(range(488, 518))


def test_what_has_no_trace_has_steps_without_code() -> None:
    x = nb.tensor(2.0, requires_grad=True)
    with tracing.traced(False):
        y = (x * 2).sin()
    ran = forward_pass(build(y, {"x": x, "y": y}))
    assert len(ran.steps) == 2 and {part for _, part in ran.steps} == {None} and ran.cells == {}


# -- the player ----------------------------------------------------------------------


def shown(page: Any, kind: str = "") -> list[str]:
    """The symbols of the operations that have run."""
    return page.locator(f".nb-op:not(.nb-future){kind} .nb-symbol").all_text_contents()


class TestPlayer:
    pytestmark = browser

    def test_it_opens_before_the_backward_pass(self, open_page: Any) -> None:
        page = open_page(played())
        assert step_of(page) == 0
        expect(page.locator(".nb-future")).to_have_count(0)
        expect(page.locator(".nb-slider")).to_have_attribute("max", "7")
        expect(page.locator(".nb-slider")).to_have_attribute("min", "-5")
        page.locator(".nb-slider").fill("4")
        assert step_of(page) == 4  # numbers count steps of the backward pass, as always

    def test_back_to_the_beginning_and_forward_again(self, open_page: Any) -> None:
        page = open_page(played())
        page.focus(".nb-player")
        page.keyboard.press("End")
        for step in (0, -5):
            page.keyboard.press("Home")
            assert step_of(page) == step
        assert shown(page) == []
        expect(page.locator(".nb-leaf.nb-future")).to_have_count(0)  # leaves have their values
        expect(page.locator(".nb-caption")).to_contain_text("Nothing has been computed yet")
        expect(page.locator(".nb-count")).to_have_text("forward 0 of 4 · y → 2 leaves")
        symbols = []
        for step in (-4, -3, -2, -1):
            page.keyboard.press("ArrowRight")
            assert step_of(page) == step
            symbols += shown(page, ".nb-active")
        assert symbols == ["+", "×", "×", "×"]
        page.keyboard.press("ArrowRight")
        assert step_of(page) == 0
        expect(page.locator(".nb-caption")).to_have_text("Before the backward pass.")
        page.keyboard.press("ArrowLeft")
        assert step_of(page) == -1
        expect(page.locator(".nb-slider")).to_have_attribute("aria-valuetext", "forward 4 of 4: MulBackward0, "
                                                             "y = a × (b * 2) → 42. · Saved for backward: "
                                                             "input () 4 B, other () 4 B")  # fmt: skip
        assert page.troubles == []

    def test_values_and_saved_tensors_come_with_their_operation(self, open_page: Any) -> None:
        page = open_page(played())
        page.press(".nb-player", "Home")
        page.press(".nb-player", "Home")
        value = page.locator(".nb-node", has_text="6.").locator(".nb-value")
        expect(value).to_be_hidden()
        expect(page.locator(".nb-saved:visible")).to_have_count(0)
        page.click(".nb-forward")
        expect(page.locator(".nb-saved:visible")).to_have_count(0)  # a sum needs none
        page.click(".nb-forward")
        expect(value).to_be_visible()
        expect(page.locator(".nb-saved:visible")).to_have_count(2)
        expect(page.locator(".nb-equation-parts text")).to_have_text(["3", "2", "6"])

    @pytest.mark.skipif(sys.version_info < (3, 11), reason="code tells its columns from Python 3.11 on")
    def test_the_whole_cell_and_what_runs(self, open_page: Any) -> None:
        page = open_page(played())
        expect(page.locator(".nb-code li")).to_have_count(6)
        expect(page.locator(".nb-code li").first).to_have_text("w = nb.tensor(3.0, requires_grad=True)")
        page.press(".nb-player", "Home")
        page.press(".nb-player", "Home")
        parts = []
        for _ in range(4):
            page.click(".nb-forward")
            parts += page.locator(".nb-code li.nb-lit u").all_text_contents()
        assert parts == ["w + 0.5", "w * x", "b * 2", "a * ("]
        page.click(".nb-forward")
        page.click(".nb-forward")
        page.click(".nb-forward")
        expect(page.locator(".nb-code li.nb-lit u")).to_have_text("a * (")  # also of the backward step

    def test_a_loop_is_listed_as_it_is_written(self, open_page: Any) -> None:
        code = "w = nb.tensor(0.5, requires_grad=True)\nh = w\nfor _ in range(3):\n    h = nb.tanh(h * w)\n"
        page = open_page(played("loop_cell", code, "h"))
        expect(page.locator(".nb-code li")).to_have_count(4)
        expect(page.locator(".nb-code li").nth(3).locator("code")).to_have_css("white-space", "pre-wrap")
        page.press(".nb-player", "Home")
        page.press(".nb-player", "Home")
        for _ in range(6):
            page.click(".nb-forward")
            expect(page.locator(".nb-code li.nb-lit")).to_have_attribute("value", "4")

    def test_its_button_plays_it_and_goes_on(self, open_page: Any) -> None:
        page = open_page(played(), reduced_motion="no-preference")
        page.select_option(".nb-speed", "2", force=True)
        hurry(page, 2)
        page.evaluate("""() => new MutationObserver(() => {
            if (document.querySelector('.nb-goes .nb-token')) window.seen = true;
        }).observe(document.querySelector('.nb-stage'), { childList: true, subtree: true })""")
        open_tab(page, "tools")
        page.click(".nb-half-forward")
        assert step_of(page) < -2
        page.wait_for_function("() => Number(document.querySelector('.nb-player').dataset.step) > 0")
        assert page.evaluate("window.seen") is True  # values were moving
        page.press(".nb-player", "Home")
        assert step_of(page) == 0

    def test_ticks_flags_and_what_they_are(self, open_page: Any) -> None:
        page = open_page(played())
        expect(page.locator(".nb-tick")).to_have_count(12)  # none before the backward pass
        expect(page.locator(".nb-flag-accumulate")).to_have_count(2)
        box = page.locator(".nb-slider").bounding_box()
        page.mouse.move(box["x"] + 7 + (box["width"] - 14) * 6 / 12, box["y"] + 8)
        expect(page.locator(".nb-tip")).to_have_text("step 1 of 7: pass 1 · y.backward()")
        page.mouse.move(box["x"] + 7 + (box["width"] - 14) * 2 / 12, box["y"] + 8)
        expect(page.locator(".nb-tip")).to_have_text("forward 2 of 4: MulBackward0 · b = w × x")
        expect(page.locator(".nb-op.nb-near .nb-symbol")).to_have_text("×")
        page.mouse.move(0, 0)
        expect(page.locator(".nb-tip")).to_be_hidden()
        assert page.troubles == []

    def test_a_nan_and_a_hook_have_flags(self, open_page: Any) -> None:
        with tracing.traced():
            x = nb.tensor(0.0, requires_grad=True)
            h = x * 2
            h.register_hook(lambda gradient: gradient)
            y = h.sqrt() * 0
        page = open_page(viz.animate(y, namespace={"x": x, "h": h, "y": y}))
        expect(page.locator(".nb-flag-hook, .nb-flag-bad").first).to_be_attached()
        assert page.locator(".nb-flag-bad").count() > 0
        page.press(".nb-player", "?")
        expect(page.locator(".nb-flag-bad")).to_have_count(0)  # it would reveal an answer

    @pytest.mark.parametrize("width", [400, 1280])
    def test_nothing_moves(self, open_page: Any, width: int) -> None:
        page = open_page(played(), viewport={"width": width, "height": 900})
        page.focus(".nb-player")
        heights = set()
        for key in ("Home", "Home", *["ArrowRight"] * 8):
            page.keyboard.press(key)
            heights.add(page.locator(".nb-player").bounding_box()["height"])
        assert len(heights) == 1

    def test_groups_run_as_one(self, open_page: Any) -> None:
        page = open_page(long_pass(60))
        page.focus(".nb-player")
        page.keyboard.press("Home")
        page.keyboard.press("Home")
        steps = 0
        while step_of(page) < 0:
            page.keyboard.press("ArrowRight")
            steps += 1
        assert 2 <= steps < 60 and page.troubles == []

    def test_a_graph_without_code(self, open_page: Any) -> None:
        page = open_page(recording())
        page.press(".nb-player", "Home")
        page.press(".nb-player", "Home")
        assert step_of(page) == -4
        page.click(".nb-forward")
        expect(page.locator(".nb-code li.nb-lit")).to_have_count(1)
        assert page.troubles == []
