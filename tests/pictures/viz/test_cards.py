"""Test cards that cover none of their nodes, the bubble of a hook, matrices in brackets."""

from __future__ import annotations

from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from tests import needs

from .player_pages import open_tab, recording

pytestmark = [pytest.mark.browser, needs.chromium]

# For each edge with a card: the pixels of its two nodes that the card covers.
COVERED = """() => {
    const card = document.querySelector(".nb-sensitivity"), found = [];
    for (const hit of document.querySelectorAll(".nb-stage [data-hit]")) {
        const at = hit.getBoundingClientRect();
        const place = { clientX: at.x + at.width / 2, clientY: at.y + at.height / 2, bubbles: true };
        hit.dispatchEvent(new PointerEvent("pointerover", place));
        if (card.hidden || document.querySelector(`.nb-constant[data-edge="${hit.dataset.hit}"]`)) continue;
        const own = card.getBoundingClientRect();
        const line = document.querySelector(`[data-edge="${hit.dataset.hit}"]`), length = line.getTotalLength();
        const ends = [0, length].map((part) => line.getPointAtLength(part))
            .map(({ x, y }) => new DOMPoint(x, y).matrixTransform(line.getScreenCTM()));
        const near = ends.map((end) => [...document.querySelectorAll(".nb-stage .nb-shape")]
            .map((shape) => shape.getBoundingClientRect()).reduce((a, b) => (away(a, end) <= away(b, end) ? a : b)));
        found.push(Math.max(...near.map((node) => shared(node, own))));
    }
    return found;
    function away({ left, right, top, bottom }, { x, y }) {
        return Math.hypot(Math.max(left - x, x - right, 0), Math.max(top - y, y - bottom, 0));
    }
    function shared(a, b) {
        return Math.max(Math.min(a.right, b.right) - Math.max(a.left, b.left), 0)
            * Math.max(Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top), 0);
    }
}"""


def test_a_card_covers_no_node_that_it_speaks_of(open_page: Any) -> None:
    page = open_page(recording(), viewport={"width": 1280, "height": 800})
    page.press(".nb-player", "End")
    covered = page.evaluate(COVERED)
    assert len(covered) >= 4 and max(covered) == 0


def test_the_card_of_one_number_has_no_shape(open_page: Any) -> None:
    """A shape of (1,) looked like another number: "∂y/∂a = 2 1"."""
    with tracing.traced():
        a = nb.tensor([3.0], requires_grad=True)
        y = (a * 2).sum()
    page = open_page(viz.animate(y, namespace={"a": a, "y": y}))
    page.press(".nb-player", "End")
    heads = set()
    for hit in page.locator("[data-hit]").all():
        hit.dispatch_event("pointerover")
        heads.add(page.locator(".nb-sensitivity-head").text_content().strip())
    assert "∂y/∂a = 2" in heads and "∂y/∂a = 2 1" not in heads


def test_a_hooks_bubble_is_tied_to_its_node(open_page: Any) -> None:
    with tracing.traced():
        w = nb.tensor(2.0, requires_grad=True)
        a = w * 3
        a.register_hook(lambda gradient: gradient * 10)
        y = a * a
    page = open_page(viz.animate(y, namespace={"w": w, "a": a, "y": y}))
    page.press(".nb-player", "Home")
    for _ in range(int(page.locator(".nb-slider").get_attribute("max"))):
        page.press(".nb-player", "ArrowRight")
        if page.locator(".nb-hook").count():
            break
    reached = page.locator(".nb-hook-tail").evaluate("""(tail) => {
        const end = tail.getPointAtLength(tail.getTotalLength()), start = tail.getPointAtLength(0);
        const at = new DOMPoint(end.x, end.y).matrixTransform(tail.getScreenCTM());
        const bubble = document.querySelector(".nb-hook").getBoundingClientRect();
        const from = new DOMPoint(start.x, start.y).matrixTransform(tail.getScreenCTM());
        const within = (r, p) => r.left <= p.x && p.x <= r.right && r.top <= p.y && p.y <= r.bottom;
        const nodes = [...document.querySelectorAll(".nb-stage .nb-node .nb-shape")];
        return [within(bubble, from), nodes.some((node) => within(node.getBoundingClientRect(), at))];
    }""")
    assert reached == [True, True]


def test_brackets_enclose_all_rows_of_a_matrix(open_page: Any) -> None:
    with tracing.traced():
        w = nb.tensor([2.0, 3.0, 5.0], requires_grad=True)
        z = w * w
    page = open_page(viz.animate(z, nb.tensor([1.0, 10.0, 100.0]), namespace={"w": w, "z": z}))
    page.press(".nb-player", "Home")
    page.press(".nb-player", "ArrowRight")
    open_tab(page, "step")
    heights = page.locator(".nb-side mtable").evaluate_all("""(all) => all.filter((one) => one.children.length > 1)
        .map((one) => [one, one.previousElementSibling, one.nextElementSibling]
            .map((part) => part.getBoundingClientRect().height))""")
    assert heights and all(bracket >= table - 2 for table, *brackets in heights for bracket in brackets)
