"""Check that a number has one text in Python, in JavaScript, and everywhere on a page."""

from __future__ import annotations

import json
import math
import random
import re
from decimal import Decimal
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.draw.cells import cell_number
from nbautograd.viz.notebook.api import Recording
from nbautograd.viz.read import values
from nbautograd.viz.read.tiles import tile
from nbautograd.viz.read.values import BOOLS, INTEGERS, SUMMARY, number_text, printed
from tests import needs

from .player_pages import run_module

NUMBER = re.compile(r"[-−]?(?:\d[\d,]*\.?\d*(?:e[-−+]?\d+)?|inf|nan)")


def shown(text: str) -> list[Any]:
    """The numbers of a text: decimals as they are written, so that zeros at their ends say nothing; NaN as a text."""
    found = [part.replace("−", "-").replace(",", "") for part in NUMBER.findall(text)]
    return [
        part if part.lstrip("-") in ("nan", "inf") else (Decimal(part).normalize(), part.startswith("-"))
        for part in found
    ]


def magnitudes() -> list[float]:
    random.seed(0)
    some = [random.choice((-1, 1)) * random.uniform(1, 10) * 10.0**power for power in range(-40, 39) for _ in range(8)]
    between = [m / 32 for m in range(-65, 66)]  # exactly between two numbers of four decimals
    ends = [0.0, -0.0, 1e-4, 99999999.5, 1e8, 1e8 + 1, 123456.789, 0.00005, 9.99995e-05, 0.99995, 1e6, 1e6 + 0.5]
    return [*some, *between, *ends, *range(-20, 20), math.nan, math.inf, -math.inf]


@pytest.mark.parametrize("form", ["", SUMMARY, INTEGERS, BOOLS])
@pytest.mark.browser
@needs.chromium
def test_both_languages_have_one_rule(window: Any, form: str) -> None:
    numbers = [v for v in magnitudes() if form != SUMMARY or v % 0.03125 or v == int(v)]  # created by Python only
    if form in (INTEGERS, BOOLS):
        numbers = [float(int(v)) for v in numbers if abs(v) < 2**53]
    told = json.dumps([v if math.isfinite(v) else str(v) for v in numbers])
    there = run_module(
        window,
        "numbers",
        "({ shortNumber }, all, form) => JSON.parse(all).map((v) => shortNumber(v, form))",
        told,
        form,
    )
    assert there == [cell_number(v, form) for v in numbers]


def test_it_is_pytorchs_number() -> None:
    torch = needs.package("torch")
    for value in magnitudes():
        alone = repr(torch.tensor(value, dtype=torch.float64)).removeprefix("tensor(").partition(",")[0].rstrip(")")
        assert printed(value) == alone
        assert shown(number_text(value))[0] == shown(alone)[0] or value == 0
        assert values.inline(torch.tensor(value, dtype=torch.float64)) == alone


def test_ints_bools_and_complex_are_written_as_they_are() -> None:
    torch = needs.package("torch")
    ints = tile(torch.tensor([1, -20, 2**53]))
    assert [cell_number(v, ints.form) for v in ints.cells] == ["1", "−20", "9007199254740992"]
    assert tile(torch.tensor([2**53 + 1])) is None  # a float would be another number
    masks = tile(torch.tensor([True, False]))
    assert [cell_number(v, masks.form) for v in masks.cells] == ["True", "False"]
    z = torch.tensor([1 / 3 - 2.5j])
    assert values.inline(z) == "0.3333-2.5000j" and values.inline(1 / 3 - 2.5j) == "0.3333-2.5j" and tile(z) is None


EVERYWHERE = """() => {
    const all = (selector) => [...document.querySelectorAll(selector)].map((e) => [selector, e.textContent]);
    return [".nb-is-factor text", ".nb-is-sent text", ".nb-formula .nb-numbers",
        ".nb-sum b", ".nb-leaf .nb-slot"].flatMap(all);
}"""

VALUES = [123456.7891, 1 / 3, 0.15625, 1.23456e-5, -2.8626e-16, 7.0, 0.0, -0.0, 1.5e9, 0.0012345, 30000.5,
          math.nan, math.inf, -math.inf]  # fmt: skip


@pytest.mark.browser
@needs.chromium
@pytest.mark.parametrize("value", VALUES)
def test_every_text_of_a_gradient_is_the_same(open_page: Any, value: float) -> None:
    """y = w · x: the gradient of x, what is sent, the local derivative, the sum and .grad are all w's number."""
    with tracing.traced():
        w = nb.tensor(value)
        x = nb.tensor(1.0, requires_grad=True)
        y = x * w
    recording = viz.animate(y, namespace={"w": w, "x": x, "y": y})
    page = open_page(recording)
    page.locator(".nb-slider").fill("2")  # the product
    one = shown(values.inline(nb.tensor(value)))[0]
    edge = next(e.id for e in recording.scenes[0].edges if e.kind == "flow")
    places = [("label", page.locator(f'[data-label="{edge}"]').text_content()), *page.evaluate(EVERYWHERE)]
    page.locator(f'[data-hit="{edge}"]').dispatch_event("pointerover")
    places.append(("card", page.locator(".nb-sensitivity-head b").inner_text().partition(" = ")[2]))
    wrong = [(place, text) for place, text in places if text and shown(text) and shown(text)[-1] != one]
    assert wrong == []
    read = {place for place, text in places if text and shown(text)}
    assert {"label", "card", ".nb-is-factor text", ".nb-is-sent text", ".nb-sum b"} <= read
    page.press(".nb-player", "End")  # .grad
    told = {name: page.locator(name).last.text_content() for name in (".nb-is-after text", "td.nb-after b")}
    told["bucket"] = page.locator(".nb-bucket").get_attribute("aria-label").rpartition("; ")[2].partition(": ")[2]
    told["still"] = re.search(r'data-slot="[^"]*:grad"[^>]*>([^<]*)<', recording.svg)[1]
    told["words"] = recording.timeline.ledger[0][2].after
    assert {name: shown(text)[-1] for name, text in told.items()} == dict.fromkeys(told, one)
    assert page.troubles == []


@pytest.mark.browser
@needs.chromium
def test_every_text_of_an_element_is_the_same(open_page: Any) -> None:
    """Test vectors with numbers of all sizes: in cells, in the equation, at the pointer, for a screen reader."""
    numbers = [1234.56789, -0.00123456, 1.5e-7]
    with tracing.traced():
        w = nb.tensor(numbers)
        x = nb.ones(3, requires_grad=True)
        y = (x * w).sum()
    page = open_page(viz.animate(y, namespace={"w": w, "x": x, "y": y}), viewport={"width": 1600, "height": 800})
    page.locator(".nb-slider").fill("3")
    wanted = [shown(number_text(v))[0] for v in w.tolist()]
    for part in ("factor", "sent"):
        texts = page.locator(f".nb-is-{part} text").all_text_contents()
        assert [shown(text)[0] for text in texts] == wanted
    for i, want in enumerate(wanted):
        page.locator(f".nb-is-sent rect[data-cell='{i}']").hover()
        assert shown(page.locator(".nb-equation-element b").inner_text()) == [want]
    drawn = page.locator(".nb-stage [data-cells] text").all_text_contents()
    assert {shown(text)[0] for text in drawn} >= set(wanted)
    assert [shown(part)[0] for part in values.inline(w).strip("[]").split(",")] == wanted
    wide = page.evaluate("""() => [...document.querySelectorAll('.nb-tile text')].filter((e) =>
        e.getBoundingClientRect().width > e.parentNode.querySelector('rect').getBoundingClientRect().width).length""")
    assert wide == 0


SAID = """() => {
    const numbers = (e) => [...e.querySelectorAll("text")].map((one) => one.textContent).join(" ");
    const all = (selector, text) => [...document.querySelectorAll(selector)].map(text);
    const edges = all(".nb-stage .nb-label", (e) => e.textContent);
    const tiled = all(".nb-stage [data-cells]:not([data-cells*=':'])", numbers);
    const sums = all("[data-slot$=':arriving']", (e) => e.textContent.split("=").at(-1)); // of what has two ways
    return { edges: [...edges, ...tiled, ...sums].filter(Boolean),
        strip: all(".nb-is-upstream .nb-tile, .nb-is-sent .nb-tile", numbers).filter(Boolean),
        after: all(".nb-is-after .nb-tile", numbers).filter(Boolean),
        leaf: all(".nb-node.nb-active [data-slot$=':grad']", (e) => e.textContent.slice(5).split("=").at(-1)),
        cells: all(".nb-node.nb-active [data-cells$=':grad']", numbers),
        table: all("tr.nb-lit .nb-after b", (e) => e.textContent),
        rows: all("tr.nb-lit .nb-after svg", numbers) };
}"""


def scalars() -> Recording:
    with tracing.traced():
        x = nb.tensor(123456.7891, requires_grad=True)
        w = nb.tensor(1 / 3, requires_grad=True)
        a = w * x
        y = a * 0.001 + w * x * 7
    return viz.animate(y, namespace={"x": x, "w": w, "a": a, "y": y})


def vectors() -> Recording:
    with tracing.traced():
        x = nb.tensor([1234.56789, -0.00123456, 1.5e-7], requires_grad=True)
        w = nb.tensor([2 / 3, 30000.5, -7.0], requires_grad=True)
        h = w * x
        y = (h * h).sum()
    return viz.animate(y, namespace={"x": x, "w": w, "h": h, "y": y})


@pytest.mark.browser
@needs.chromium
@pytest.mark.parametrize("make", [scalars, vectors])
def test_in_every_step_a_number_has_the_same_digits_everywhere(open_page: Any, make: Any) -> None:
    """Compare gradients on edges and in the strip, and a leaf's .grad in its row, the strip and the table."""
    page = open_page(make(), viewport={"width": 1600, "height": 800})
    page.press(".nb-player", "Home")
    compared = 0
    for _ in range(int(page.locator(".nb-slider").get_attribute("max"))):
        page.press(".nb-player", "ArrowRight")
        said = {place: [shown(text) for text in texts] for place, texts in page.evaluate(SAID).items()}
        strip = [numbers for numbers in said["strip"] if numbers]
        for numbers in strip if said["edges"] else []:
            assert numbers in said["edges"], (numbers, said["edges"])
            compared += 1
        for place in ("leaf", "cells", "table", "rows"):
            for numbers in said[place]:
                if said["after"] and numbers:
                    assert numbers == said["after"][0], place
                    compared += 1
    assert compared >= 6
