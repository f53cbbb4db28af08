"""The table of many leaves: the one that changes is in view, and no two names look the same."""

from __future__ import annotations

from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from tests import needs

from .player_pages import open_tab, unfold

needs.package("playwright")

pytestmark = [pytest.mark.browser, needs.chromium]

LIT = """async () => {
    const [player, list, forward] = ['.nb-player', '.nb-leaves', '.nb-forward'].map((s) => document.querySelector(s));
    const frame = () => new Promise(requestAnimationFrame), seen = [];
    while (player.dataset.step !== player.querySelector('.nb-slider').max) {
        forward.click();
        await frame().then(frame); // the list follows when the page is laid out
        const row = list.querySelector('.nb-lit');
        if (!row) continue;
        const [own, room] = [row, list].map((e) => e.getBoundingClientRect());
        const head = list.querySelector('thead').offsetHeight;
        seen.push(own.top >= room.top + head - 1 && own.bottom <= room.bottom + 1);
    }
    return seen;
}"""
"""For each step at which a line changes, whether that is in view."""


@pytest.fixture(scope="module")
def layers() -> Any:
    names: dict[str, Any] = {}
    with tracing.traced():
        h = nb.ones(3)
        for k in range(12):
            for part in ("in_proj_weight", "out_proj.weight"):
                w = nb.full((3,), 0.5, requires_grad=True)
                names[f"model.encoder.layers.{k}.self_attn.{part}"] = w
                h = h * w
        names["y"] = h.sum()
    return viz.animate(names["y"], namespace=names)


@pytest.mark.parametrize("width", [400, 700, 1280])
def test_the_line_that_changes_is_in_view_and_names_differ(open_page: Any, layers: Any, width: int) -> None:
    page = open_page(layers, viewport={"width": width, "height": 800})
    unfold(page)
    open_tab(page, "leaves")
    names = page.locator(".nb-ledger tbody th")
    texts = names.all_text_contents()
    assert len(set(texts)) == len(texts) == 24
    assert names.evaluate_all("all => all.filter((e) => e.scrollWidth > e.clientWidth).length") == 0
    page.press(".nb-player", "Home")
    seen = page.evaluate(LIT)
    assert len(seen) >= 24 and all(seen)
    assert page.troubles == []
