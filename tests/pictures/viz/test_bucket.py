"""Test ``.grad`` as a stack of passes: the part of each and its paths, zeroing, and the comparison of passes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.capture.player_data import tile_json
from nbautograd.viz.read.tiles import tile
from tests import needs

from .player_pages import leaf, open_tab, step_of

needs.package("playwright")
from playwright.sync_api import expect

browser_test = [pytest.mark.browser, needs.chromium]


def passes(count: int, zeroed: tuple[int, ...] = (), how: str = "none") -> viz.Recording:
    """``y = w * w * i + w * b`` for i from 1, with ``.grad`` emptied before the passes in ``zeroed``."""
    w, b = nb.tensor(2.0, requires_grad=True), nb.tensor([1.0, -3.0], requires_grad=True)
    names: dict[str, Any] = {"w": w, "b": b}
    with tracing.traced(), viz.record(namespace=names) as recorded:
        for i in range(1, count + 1):
            if i in zeroed:
                for leaf in (w, b):
                    leaf.grad = None if how == "none" else leaf.grad * 0
            names["y"] = w * w * float(i) + (w * b).sum()
            names["y"].backward()
    return recorded


def test_a_tile_of_means_has_the_norm_of_all_elements() -> None:
    array = np.arange(400, dtype=np.float32).reshape(20, 20)
    shown = tile_json(tile(array))
    assert shown["norm"] == pytest.approx(np.linalg.norm(array), rel=1e-4)
    assert "norm" not in tile_json(tile(array[:3, :3]))  # its cells are the elements
    json.dumps(shown)


class TestInABrowser:
    pytestmark = browser_test

    def bar(self, page: Any, leaf: str) -> Any:
        return page.locator(".nb-ledger tr", has=page.locator(f'th[title="{leaf}"]')).locator(".nb-each")

    def end(self, page: Any) -> None:
        page.focus(".nb-player")
        page.keyboard.press("End")

    def test_leaves_of_two_checkpoints_are_two_though_neither_has_a_name(self, open_page: Any) -> None:
        x = nb.tensor([0.5, 1.0], requires_grad=True)
        with tracing.traced(), viz.record(namespace={"x": x}) as recorded:
            h = x
            for _ in range(3):
                h = nb.utils.checkpoint.checkpoint(nb.sin, h, use_reentrant=True)
            h.sum().backward()
        page = open_page(recorded, viewport={"width": 1280, "height": 900})
        expect(page.get_by_role("tab", name="pass 4")).to_have_count(1)
        assert "not zeroed" not in page.locator(".nb-player").inner_text()

    def test_forgetting_to_zero_is_a_growing_stack(self, open_page: Any) -> None:
        page = open_page(passes(3), viewport={"width": 1280, "height": 900})
        open_tab(page, "leaves")
        page.press(".nb-player", "Home")
        expect(self.bar(page, "w")).to_contain_text("empty")
        counts = []
        for n in (1, 2, 3):
            page.get_by_role("tab", name=f"pass {n}").click()
            counts.append(self.bar(page, "w").locator(".nb-bucket-pass").count())
        assert counts == [0, 1, 2]
        self.end(page)
        expect(self.bar(page, "w")).to_contain_text("3 passes, not zeroed")
        expect(page.locator(".nb-bucket-note")).to_contain_text("backward() adds to .grad and never empties it")
        # w.grad = 4 i - 2 in pass i; its segments are that wide
        bars = self.bar(page, "w").locator(".nb-bucket-pass").all()
        widths = [bar.bounding_box()["width"] for bar in bars]
        assert [width / sum(widths) for width in widths] == pytest.approx([2 / 18, 6 / 18, 10 / 18], abs=0.02)
        fills = [bar.evaluate("e => e.style.fill") for bar in bars]
        assert len(set(fills)) == 3  # the tint darkens
        assert self.bar(page, "b").locator(".nb-bucket-pass").count() == 3
        assert page.troubles == []

    def test_in_its_box_the_terms_stack_on_what_was_there(self, open_page: Any) -> None:
        with tracing.traced():
            w, x = nb.tensor(1.0, requires_grad=True), nb.tensor(2.0, requires_grad=True)
            w.grad = nb.tensor(5.0)
            y = (w + x) * (w + 1)
        page = open_page(viz.animate(y, namespace={"w": w, "x": x, "y": y}), viewport={"width": 1280, "height": 720})
        bars = leaf(page, "w").locator(".nb-pour > path")
        look = "all => all.map((e) => [e.getAttribute('class'), e.getBBox().width, e.textContent])"
        stacks = []
        for step in range(int(page.locator(".nb-slider").get_attribute("max")) + 1):
            page.locator(".nb-slider").fill(str(step))
            shown = [(kind[8:], wide, said) for kind, wide, said in bars.evaluate_all(look)]
            if not stacks or stacks[-1] != shown:
                stacks.append(shown)
        assert [[kind for kind, _, _ in shown] for shown in stacks] == [
            [], ["was"], ["was", "came"], ["was", "came", "came"]
        ]  # fmt: skip
        _, widths, said = zip(*stacks[-1], strict=True)
        assert [round(10 * wide / sum(widths)) for wide in widths] == [5, 3, 2]
        assert said == ("from before: 5", "3 via w + 1", "2 via w + x")
        assert leaf(page, "x").locator(".nb-pour").count() == 0  # one term, and .grad was empty
        expect(leaf(page, "w").locator(".nb-grad")).to_have_text(".grad 5. + 5. = 10.")

    def test_terms_of_both_signs_stay_on_the_floor_of_their_box(self, open_page: Any) -> None:
        with tracing.traced():
            w = nb.tensor(1.0, requires_grad=True)
            y = w * 0.96 - w * 1.2
        page = open_page(viz.animate(y, namespace={"w": w, "y": y}), viewport={"width": 1280, "height": 720})
        self.end(page)
        bars = leaf(page, "w").locator(".nb-pour > path[class^=nb-pour]")
        low, high = (
            leaf(page, "w").locator("rect").first.evaluate("e => [e.getBBox().x, e.getBBox().x + e.getBBox().width]")
        )
        ends = bars.evaluate_all("all => all.map((e) => [e.getBBox().x, e.getBBox().x + e.getBBox().width])")
        assert len(ends) == 2 and all(low < left < right < high for left, right in ends)

    @pytest.mark.parametrize(("how", "word"), [("none", "set to None"), ("zero", "zeroed")])
    def test_zeroing_empties_it_before_ones_eyes(self, open_page: Any, how: str, word: str) -> None:
        page = open_page(passes(3, zeroed=(3,), how=how), viewport={"width": 1280, "height": 900})
        page.get_by_role("tab", name="pass 3").click()
        expect(self.bar(page, "w")).to_contain_text(f"↺ {word}")
        assert self.bar(page, "w").locator(".nb-bucket-was").count() == 2
        assert self.bar(page, "w").locator(".nb-bucket-pass").count() == 0
        expect(page.locator(".nb-bucket-note")).to_contain_text("emptied before this pass")
        self.end(page)
        expect(self.bar(page, "w")).to_contain_text("pass 3 only")
        assert self.bar(page, "w").locator(".nb-bucket-pass, .nb-bucket-was").count() == 1

    def test_terms_wait_until_all_have_come(self, open_page: Any) -> None:
        page = open_page(passes(1))
        seen = []
        for _ in range(9):
            page.click(".nb-forward")
            seen.append((self.bar(page, "w").locator(".nb-bucket-waits").count(),
                         self.bar(page, "w").locator(".nb-bucket-pass").count()))  # fmt: skip
        assert (1, 0) in seen and seen[-1] == (0, 1) and seen == sorted(seen, key=lambda s: (s[1], s[0]))
        assert self.bar(page, "w").locator(".nb-bucket-joint").count() == 2  # three paths
        expect(page.locator(".nb-bucket-note, .nb-pass-tab")).to_have_count(0)  # one pass

    def test_a_segment_says_its_numbers_by_pointer_and_by_key(self, open_page: Any) -> None:
        page = open_page(passes(2), viewport={"width": 1280, "height": 900})
        self.end(page)
        open_tab(page, "leaves")
        self.bar(page, "w").locator(".nb-bucket-pass").first.hover()
        card = page.locator(".nb-bucket-card")
        expect(card).to_contain_text("pass 1: 2 = ")
        page.hover(".nb-more")
        expect(card).to_be_hidden()
        step = step_of(page)
        self.bar(page, "b").locator(".nb-bucket").focus()
        page.keyboard.press("ArrowLeft")
        expect(card).to_contain_text("pass 2: ‖2.83‖")
        expect(card.locator(".nb-tile rect")).to_have_count(2)
        page.keyboard.press("ArrowLeft")
        expect(card).to_contain_text("pass 1")
        assert step_of(page) == step  # the player ignored the key

    def test_tabs_by_keyboard(self, open_page: Any) -> None:
        page = open_page(passes(3))
        page.focus(".nb-player")
        page.keyboard.press("Home")
        page.keyboard.press("PageDown")
        expect(page.get_by_role("tab", name="pass 2")).to_have_attribute("aria-selected", "true")
        page.get_by_role("tab", name="pass 2").focus()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="pass 3")).to_be_focused()
        expect(page.get_by_role("tab", name="pass 3")).to_have_attribute("aria-selected", "true")
        page.keyboard.press("PageUp")
        expect(page.get_by_role("tab", name="pass 2")).to_have_attribute("aria-selected", "true")

    def test_two_passes_compared(self, open_page: Any) -> None:
        page = open_page(passes(2), viewport={"width": 1280, "height": 900})
        self.end(page)
        page.keyboard.press("g")
        expect(page.locator(".nb-against")).to_have_value("1")
        row = page.locator(".nb-ledger tr", has=page.locator('th[title="w"]'))
        expect(row.locator(".nb-delta")).to_have_text(" Δ +4")
        assert self.bar(page, "w").locator(".nb-bucket-ghost").count() == 1
        labels = [text.replace("\xa0", " ") for text in page.locator(".nb-stage .nb-label").all_text_contents()]
        assert any("Δ +2" in label for label in labels) and not any("Δ 0" in label for label in labels)
        page.keyboard.press("g")
        expect(page.locator(".nb-delta")).to_have_count(0)
        assert not any("Δ" in label for label in page.locator(".nb-stage .nb-label").all_text_contents())

    @pytest.mark.parametrize("width", [400, 700, 1600])
    def test_it_fits_and_does_not_move(self, open_page: Any, width: int) -> None:
        page = open_page(passes(2, zeroed=(2,)), viewport={"width": width, "height": 900})
        heights = set()
        for _ in range(14):
            page.click(".nb-forward")
            heights.add(page.locator(".nb-player").bounding_box()["height"])
        assert len(heights) == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        open_tab(page, "leaves")
        box = self.bar(page, "w").locator(".nb-bucket").bounding_box()
        assert box["width"] >= 60 and box["x"] + box["width"] <= width
