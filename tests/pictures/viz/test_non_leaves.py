"""A computed value says at every step whether its gradient is kept; what is never filled is not shown as empty."""

from __future__ import annotations

import re
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.notebook.api import Recording
from tests import needs

FLOWS = "flows through and is not stored: .grad stays None without retain_grad()"


def recorded(T: Any, passes: int = 1) -> tuple[Recording, Any]:
    """h keeps its gradient, g is used twice, y is the root: neither does."""
    with tracing.traced():
        w = T.tensor(2.0, requires_grad=True)
        h = w * 3
        h.retain_grad()
        g = h + 1
        y = g * g
    names = {"w": w, "h": h, "g": g, "y": y}
    shown = viz.animate(y, namespace=names, retain_graph=passes > 1)
    return shown, h


@pytest.mark.parametrize("library", ["nbautograd", "torch"])
def test_a_gradient_that_is_kept_is_seen(library: str) -> None:
    shown, h = recorded(nb if library == "nbautograd" else needs.package("torch"))
    box = next(node for node in shown.scenes[0].nodes if node.name == "h")
    told = [shown.timeline.state_at(step).leaves[box.id].grad for step in range(1, len(shown.timeline) + 1)]
    assert told[0] == "None" and told[-1] == "14." and told == sorted(told, reverse=True)
    assert h.grad.item() == 14.0
    assert re.findall(r"\.grad[\xa0 ]([^<]*)<", shown.svg).count("14.") == 1


@pytest.mark.browser
@needs.chromium
@pytest.mark.parametrize("name", ["g", "y"])
def test_what_is_not_kept_says_so_at_every_step(open_page: Any, name: str) -> None:
    page = open_page(recorded(nb)[0])
    steps = int(page.locator(".nb-slider").get_attribute("max"))
    for step in range(steps + 1):
        page.locator(".nb-slider").fill(str(step))
        page.locator(".nb-node").filter(has=page.locator(".nb-name", has_text=re.compile(f"^{name}$"))).click()
        side = page.locator(".nb-side")
        assert side.locator("dd", has_text=FLOWS).count() == 1
        assert side.locator("dt").all_text_contents().count(".grad") == 0
        page.keyboard.press("Escape")
    assert page.troubles == []


@pytest.mark.browser
@needs.chromium
def test_a_box_fills_what_it_keeps(open_page: Any) -> None:
    page = open_page(recorded(nb)[0])
    box = page.locator(".nb-node").filter(has=page.locator(".nb-name", has_text=re.compile("^h$")))
    slot, seen = box.locator("[data-slot$=':grad']"), []
    for step in range(int(page.locator(".nb-slider").get_attribute("max")) + 1):
        page.locator(".nb-slider").fill(str(step))
        seen.append(slot.text_content().replace("\xa0", " "))
    assert list(dict.fromkeys(seen)) == [".grad None", ".grad 14."]
    box.click()
    assert FLOWS not in page.locator(".nb-side").inner_text()
    assert "14." in page.locator(".nb-side dt:has-text('.grad') + dd").inner_text()


@pytest.mark.browser
@needs.chromium
def test_a_value_without_a_box_says_so_too(open_page: Any) -> None:
    with tracing.traced():
        w = h = nb.tensor(0.5, requires_grad=True)
        for _ in range(30):
            h = nb.tanh(h * w)
    page = open_page(viz.animate(h, namespace={"w": w, "h": h}))
    page.press(".nb-player", "r")
    page.locator(".nb-op").nth(1).click()
    assert FLOWS in page.locator(".nb-side").inner_text()
