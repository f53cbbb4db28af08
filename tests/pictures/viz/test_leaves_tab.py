"""The table of many leaves: the one that changes is in view, and no two names look the same."""

from __future__ import annotations

from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from tests import needs
from tests.waiting import wait_for_layout

from .player_pages import open_tab, unfold

needs.package("playwright")

pytestmark = [pytest.mark.browser, needs.chromium]

LIT = """() => {
    const row = document.querySelector('.nb-ledger .nb-lit'), list = document.querySelector('.nb-leaves');
    if (!row) return null;
    const [own, room] = [row, list].map((e) => e.getBoundingClientRect());
    const head = document.querySelector('.nb-ledger thead').offsetHeight;
    return own.top >= room.top + head - 1 && own.bottom <= room.bottom + 1;
}"""


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
    seen = []
    for _ in range(int(page.locator(".nb-slider").get_attribute("max"))):
        page.click(".nb-forward")
        wait_for_layout(page)
        seen.append(page.evaluate(LIT))
    assert seen.count(True) >= 24 and False not in seen
    assert page.troubles == []
