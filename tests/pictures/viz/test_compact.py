"""Check what makes a player small on its way: images in fewer bytes, and drawings of which each shape is sent once."""

from __future__ import annotations

import gzip
import html
import json
import re
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd.viz.draw import raster, theme
from nbautograd.viz.notebook import output
from nbautograd.viz.notebook.compact import address, compact, packed_pass
from tests import needs

from .programs import EVERY

SOME = ["second_seed", "sight_recurrent", "told_attention", "either_layer", "either_complex_numbers"]


def words(svg: str) -> list[str]:
    """Return the texts of a drawing in order; of tiles that are drawn several times, once."""
    return list(
        dict.fromkeys("".join(text.itertext()) for text in ET.fromstring(svg).iter() if text.tag[-4:] == "text")
    )


@pytest.mark.parametrize("name", SOME)
def test_a_compact_drawing_has_the_same_words_and_half_the_bytes(name: str) -> None:
    svg = theme.adaptive(EVERY[name]().svg)
    small = compact(EVERY[name]().svg, follows=True)
    assert [word for word in words(small) if word] == [word for word in words(svg) if word]
    assert len(small) < 0.62 * len(svg)


def test_a_compact_drawing_is_the_same_picture() -> None:
    needs.package("resvg_py")
    w = nb.tensor(3.0, requires_grad=True)
    svg = viz.animate((w + 2) * (w + 1)).svg  # without a key of colors, which becomes a smooth one
    try:
        whole = raster.raster(svg, ".png")
    except RuntimeError as error:
        pytest.skip(str(error))
    small = compact(svg, follows=False)
    assert raster.raster(small, ".png") == whole and "data-" not in small and "<title" not in small


def test_equal_tiles_are_drawn_once() -> None:
    a = nb.ones(2, 2, requires_grad=True)
    small = compact(viz.animate(((a + 1) + (a * 2)).sum()).svg, follows=True)
    used = re.findall(r'<use transform="[^"]*" href="#(\w+)"/>', small)
    assert used and all(small.count(f'id="{name}"') == 1 for name in used)


def test_an_address_holds_every_text() -> None:
    said = "50% & <b> \"quoted\" 'and' #1 ∂ 梯度"
    w = nb.ones(1, requires_grad=True)
    svg = viz.graph(w * 2, namespace={"w": w}).svg.replace(">w<", f">{html.escape(said)}<")
    where = address(svg, follows=True)
    assert '"' not in where and "\n" not in where and "#" not in where
    drawn = unquote(html.unescape(where).partition(",")[2])
    assert said in words(drawn)


def test_images_are_compact_in_the_block_only() -> None:
    svg = '<svg><rect fill="#ffffff"/></svg>'
    before = output.image(svg, "y")
    with output.compact_images():
        assert "data:image/svg+xml,%3Csvg" in output.image(svg, "y")
    assert output.image(svg, "y") == before and "base64" in before


def drawings(data: dict[str, Any]) -> list[list[str]]:
    """Return the drawings of sent data, as the player does it."""
    made: list[list[str]] = []
    for same in data["svgs"]:
        made.append([])
        for shape, name, numbers in same:
            between, given = data["shapes"][shape].replace("\2", name).split("\1"), numbers.split("|")
            made[-1].append("".join([text + number for text, number in zip(between, [*given, ""], strict=True)]))
    return made


@pytest.mark.parametrize("name", SOME)
def test_drawings_that_are_sent_come_back(name: str) -> None:
    data = EVERY[name]().data()
    sent = json.loads(gzip.decompress(packed_pass(data)))
    assert drawings(sent) == data["svgs"]
    assert sent["timeline"] == json.loads(json.dumps(data["timeline"]))
