"""Test the speed that plays whole ranks of a graph at once: all is visible, and line widths show gradients."""

from __future__ import annotations

from typing import Any

import pytest

from tests import needs

from .gallery import PROGRAMS
from .player_pages import hurry, step_of, unfold

needs.package("playwright")

pytestmark = [pytest.mark.browser, needs.chromium]

WATCH = """() => {
    const root = document.querySelector('.nb-player'), stage = root.querySelector('.nb-stage');
    const names = (kind) => [...stage.querySelectorAll(`.nb-active[data-${kind}]`)].map((e) => e.dataset[kind]).sort();
    Object.assign(window, { steps: new Set(), ranks: [], widths: new Set(), moved: false, whole: true });
    new MutationObserver(() => {
        steps.add(root.dataset.step);
        if (root.dataset.step !== '0') return;
        const [, , wide] = stage.firstChild.getAttribute('viewBox').split(' ').map(Number);
        window.whole &&= wide >= stage.firstChild.getBBox().width - 40;
        const rank = String(names('node'));
        if (rank && rank !== ranks.at(-1)) ranks.push(rank);
        for (const flow of stage.querySelectorAll('[data-flow]')) {
            if (flow.style.strokeWidth) widths.add(flow.style.strokeWidth);
            window.moved ||= flow.style.strokeDashoffset !== '';
        }
    }).observe(root, { subtree: true, attributes: true });
}"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_wave_goes_through_all_ranks_and_ends_at_the_last_step(open_page: Any, motion: str) -> None:
    page = open_page(PROGRAMS["recurrent"], reduced_motion=motion, viewport={"width": 1280, "height": 720})
    unfold(page)
    last = int(page.locator(".nb-slider").get_attribute("max"))
    page.select_option(".nb-speed", "0", force=True)
    hurry(page, 2)
    page.click(".nb-play")
    page.evaluate(WATCH)
    page.wait_for_function("(last) => steps.has(String(last))", arg=last)
    seen = page.evaluate("() => ({ steps: [...steps], ranks, widths: widths.size, moved, whole })")
    assert set(seen["steps"]) == {"0", str(last)}  # steps between them were skipped
    assert 10 < len(seen["ranks"]) < last  # several nodes at once
    assert len(set(seen["ranks"])) == len(seen["ranks"]) and any("," in rank for rank in seen["ranks"])
    assert seen["widths"] > 1 and seen["whole"]
    assert seen["moved"] == (motion == "no-preference")
    page.click(".nb-back")  # step by step again, and large enough to read
    assert step_of(page) == last - 1
    wide = float(page.locator(".nb-stage > svg").get_attribute("viewBox").split()[2])
    assert wide <= page.locator(".nb-stage").bounding_box()["width"] + 1
    assert page.troubles == []
