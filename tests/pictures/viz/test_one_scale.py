"""One color for one magnitude in a whole picture: gradients, values, what is read as numbers, and the key."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

import nbautograd as nb
import nbautograd.nn.functional as F
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.draw.cells import BOX, EDGE, GRADIENTS, PLAIN, VALUES, Scale, grid_of, largest_of, shade_name
from nbautograd.viz.draw.tensor_card import card_svg
from nbautograd.viz.draw.theme import LIGHT
from nbautograd.viz.notebook.api import Recording
from nbautograd.viz.read.tiles import tile
from tests import needs

from .player_pages import layer, run_module

ORANGE = {LIGHT[name] for name in LIGHT if name.startswith(("tile-plus", "tile-minus"))}
GREY = {LIGHT[name] for name in LIGHT if name.startswith("value-")}

# For a player: [kind, number, color] of each cell with a number, in the drawing and in the strip.
CELLS = """() => {
    const known = [], color = (e) => (e.classList.contains("nb-plain") ? "plain" : e.style.fill || "bad");
    for (const group of document.querySelectorAll(".nb-stage [data-cells]")) {
        const kind = group.dataset.cells.endsWith(":value") ? "values" : "gradients", at = [];
        for (const path of group.querySelectorAll("path")) {
            for (const [, x, y] of (path.getAttribute("d") || "").matchAll(/M([-.\\d]+) ([-.\\d]+)h/g)) {
                at.push([Number(x), Number(y), color(path)]);
            }
        }
        const [left, top, wide, high, columns] = group.dataset.grid.split(" ").map(Number);
        group.querySelectorAll("text").forEach((text) => {
            const across = Math.floor((text.getAttribute("x") - left) / wide);
            const down = Math.floor((text.getAttribute("y") - top) / high);
            const near = ([x, y]) => Math.abs(x - left - across * wide) < 1 && Math.abs(y - top - down * high) < 1;
            known.push([kind, text.textContent, at.find(near)[2]]);
        });
    }
    for (const cell of document.querySelectorAll(".nb-equation-cell")) {
        const kind = cell.classList.contains("nb-is-factor") ? "local"
            : cell.classList.contains("nb-is-value") ? "values" : "gradients";
        const rects = [...cell.querySelectorAll(".nb-tile rect")];
        [...cell.querySelectorAll(".nb-tile text")].forEach((text, i) =>
            known.push([kind, text.textContent, color(rects[i])]));
    }
    return known;
}"""


def masked() -> Recording:
    """Gradients and local derivatives of all sizes, a mask, and labels."""
    with tracing.traced():
        x = nb.tensor([1.0, -2.0, 3.0, -0.5], requires_grad=True)
        m = x > 0
        h = nb.where(m, x * x, x * 0.1)
        ids = nb.tensor([3, 0, 3])
        g = h[ids] * nb.tensor([21.168, 1.0, 2.0])
        y = g.sum()
    return viz.animate(y, namespace={"x": x, "m": m, "h": h, "ids": ids, "g": g, "y": y})


def colors_of(svg: str, kind: str) -> set[str]:
    """The paints of the cells of a kind in a drawing."""
    groups = [g for g in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}g") if "data-cells" in g.attrib]
    mine = [g for g in groups if g.attrib["data-cells"].endswith(":value") == (kind == VALUES)]
    return {path.attrib["stroke"] for g in mine for path in g.iter("{http://www.w3.org/2000/svg}path")} - {
        LIGHT[name] for name in ("tile-zero", "wire", "fg", "bad")
    }


@pytest.mark.browser
@needs.chromium
def test_both_languages_choose_the_same_color(window: Any) -> None:
    numbers = [0.0, -0.0, 1e-9, 0.5, -0.5, 1.0, -3.0, 4.0, 7.0]
    for kind in (GRADIENTS, VALUES):
        for form in ("", "m", "b", "d"):
            there = run_module(
                window,
                "cells",
                "({ shadeOf }, all, form, kind) => JSON.parse(all).map((v) => shadeOf(v, form, { kind, largest: 4 }))",
                *(json.dumps(numbers), form, kind),
            )
            here = [shade_name(v, form, Scale(kind, 4.0)) for v in numbers]
            assert there == ["plain" if name == PLAIN else f"var(--nb-{name})" for name in here]


@pytest.mark.browser
@needs.chromium
def test_a_number_has_one_color_in_all_steps(open_page: Any) -> None:
    page = open_page(masked(), viewport={"width": 1280, "height": 800})
    page.press(".nb-player", "Home")
    found: dict[tuple[str, str], set[str]] = {}
    for _ in range(int(page.locator(".nb-slider").get_attribute("max")) + 1):
        for kind, number, color in page.evaluate(CELLS):
            found.setdefault((kind, number.lstrip("−")), set()).add(color.replace("minus", "plus"))
        page.press(".nb-player", "ArrowRight")
    assert len(found) > 20
    assert {key: colors for key, colors in found.items() if len(colors) > 1 and key[0] == "gradients"} == {}
    assert {color for (kind, _), colors in found.items() if kind == "local" for color in colors} == {"plain"}
    greys = {color for (kind, _), colors in found.items() if kind == "values" for color in colors} - {"plain"}
    assert greys and not [color for color in greys if "plus" in color]
    large, small = found["gradients", "21.168"], found["gradients", "1"]
    assert int(min(large)[-2]) > int(max(small)[-2])


@pytest.mark.browser
@needs.chromium
def test_the_key_is_seen_with_the_first_color_and_never_without(open_page: Any) -> None:
    page = open_page(layer(), viewport={"width": 1280, "height": 800})
    key = page.locator(".nb-key")
    expect(key).to_be_visible()  # of the gradients visible at first
    page.press(".nb-player", "Home")
    expect(key).to_be_hidden()
    page.press(".nb-player", "End")
    expect(key).to_have_count(1)
    expect(key).to_be_visible()


def test_a_still_picture_has_a_key_only_with_gradients() -> None:
    with tracing.traced():
        x = nb.tensor([1.0, -2.0, 3.0], requires_grad=True)
        y = (x * x).sum()
    names = {"x": x, "y": y}
    before = viz.graph(y, namespace=names).svg
    assert "nb-key" not in before and colors_of(before, VALUES) <= GREY and colors_of(before, VALUES)
    y.backward()
    after = viz.graph((x * 1.0).sum(), namespace=names).svg
    assert after.count("nb-key") == 1 and colors_of(after, GRADIENTS) <= ORANGE and colors_of(after, GRADIENTS)


def test_masks_are_squares_and_labels_are_digits() -> None:
    mask, labels, many = tile(np.array([True, False, True])), tile(np.array([3, 0, 3])), tile(np.arange(15))
    grid = grid_of([mask], BOX)
    assert grid is not None and not grid.written
    digits = grid_of([labels], BOX)
    assert digits is not None and digits.written
    assert grid_of([many], EDGE) is None  # which a text says
    assert tile(np.arange(1000)) is None  # means of labels are meaningless
    assert largest_of([labels, many, tile(np.array([0.5]))]) == 0.5
    svg = masked().svg
    assert ">True<" not in svg and ">3<" in svg


def test_a_card_has_the_colors_of_all_pictures() -> None:
    w = nb.tensor([[1.0, -2.0], [0.5, 0.0]], requires_grad=True)
    (w * w).sum().backward()
    used = {part.partition('"')[0] for part in card_svg(w, "w").split('fill="')[1:]}
    assert used & GREY and used & ORANGE


@pytest.mark.browser
@needs.chromium
def test_labels_and_masks_in_the_strip(open_page: Any) -> None:
    with tracing.traced():
        z = nb.tensor([[1.0, 2.0], [3.0, 0.5]], requires_grad=True)
        labels = nb.tensor([1, 0])
        loss = F.cross_entropy(z, labels)
    page = open_page(viz.animate(loss, namespace={"z": z, "labels": labels, "loss": loss}))
    page.press(".nb-player", "Home")
    for _ in range(3):  # the forward half
        page.press(".nb-player", "ArrowRight")
    numbers = [(number, color) for kind, number, color in page.evaluate(CELLS) if kind == "values"]
    assert ("1", "plain") in numbers and ("0", "plain") in numbers
