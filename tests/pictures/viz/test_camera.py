"""The camera, where a graph is larger than its window: it rests while the active node is in view, then goes far."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest

from nbautograd.viz.notebook.api import Recording
from tests import needs

from .gallery import PROGRAMS
from .player_pages import long_pass, unfold

needs.package("playwright")

pytestmark = [pytest.mark.browser, needs.chromium]

WALK = """() => {
    const root = document.querySelector('.nb-player'), svg = root.querySelector('.nb-stage > svg');
    const view = () => svg.getAttribute('viewBox').split(' ').map(Number), last = root.querySelector('.nb-slider').max;
    const active = () => {
        const boxes = [...svg.querySelectorAll('.nb-node.nb-active')].filter((e) => e.matches('.nb-op, .nb-leaf'));
        return boxes.map((e) => e.querySelector('.nb-shape').getBBox());
    };
    const steps = [];
    for (let k = 0; k < Number(last); k++) {
        root.querySelector('.nb-forward').click();
        steps.push({ view: view(), boxes: active().map((b) => [b.x, b.y, b.width, b.height]) });
    }
    const drawing = svg.getBBox();
    return { steps, wide: drawing.width, high: drawing.height };
}"""


def sees(view: list[float], box: list[float], edge: float) -> bool:
    (x, y, wide, high), (a, b, c, d) = view, box
    return a >= x + edge and b >= y + edge and a + c <= x + wide - edge and b + d <= y + high - edge


PAGES: dict[str, Callable[[], Recording]] = {"recurrent": PROGRAMS["recurrent"], "chain": lambda: long_pass(30)}


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("name", PAGES)
def test_the_camera_moves_once_for_a_window_full_of_steps(open_page: Any, name: str, width: int) -> None:
    page = open_page(PAGES[name](), viewport={"width": width, "height": 720})
    unfold(page)
    page.press(".nb-player", "Home")
    page.press(".nb-player", "ArrowRight")
    walked = page.evaluate(WALK)
    steps, moves = walked["steps"], 0
    for before, after in itertools.pairwise(steps):
        assert all(sees(after["view"], box, 0) for box in after["boxes"])
        moves += before["view"] != after["view"]
    _, _, wide, high = steps[0]["view"]
    windows = math.ceil(walked["wide"] / wide) * math.ceil(walked["high"] / high)
    assert 0 < moves <= windows + page.locator(".nb-leaf").count()  # a leaf may be far from all its users
    assert page.troubles == []
