"""Texts of the pictures that are no graphs: large enough to read, inside of the picture, escaped."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import nbautograd as torch
from nbautograd import viz
from nbautograd.viz.draw import tensor_card
from nbautograd.viz.draw.lines import text_element
from nbautograd.viz.draw.theme import MIN_FONT_PX
from nbautograd.viz.escape import width
from nbautograd.viz.notebook.monitor import drawn


def tangent() -> str:
    w = torch.tensor(-2.0, requires_grad=True)
    y = -12345.6 * w * w
    y.backward()
    return viz.tangent(lambda x: -12345.6 * x * x, w).svg


def monitor() -> str:
    norms = {f"layer {i}": [1e-5 * i, 123.0 * i, 1.0] for i in range(1, 4)}
    return drawn("<training>", "", [0, 1, 2], [-12345.6, 1.0, 23456.7], norms)


def card() -> str:
    return tensor_card.card_svg(torch.tensor(np.arange(300.0 * 2).reshape(300, 2)), "wide")


@pytest.mark.parametrize("picture", [tangent, monitor, card])
def test_texts_are_readable_and_inside(picture: Any) -> None:
    root = ElementTree.fromstring(picture())
    wide, high = map(float, root.attrib["viewBox"].split()[2:])
    texts = [each for each in root.iter() if each.tag.endswith("text")]
    assert len(texts) > 2
    for each in texts:
        size, x, y = (float(each.attrib[name]) for name in ("font-size", "x", "y"))
        assert size >= MIN_FONT_PX, each.text
        long = width(each.text or "", size, mono="Mono" in each.attrib.get("font-family", ""))
        left = x - long * {"end": 1.0, "middle": 0.5}.get(each.attrib.get("text-anchor", ""), 0.0)
        assert left >= 0 and left + long <= wide and size <= y <= high - 2, each.text


def test_a_text_is_escaped_and_never_smaller_than_the_least_size() -> None:
    found = text_element(1, 2, '<script>"', "#000", 4, anchor="end", mono=True)
    assert "<script>" not in found and ElementTree.fromstring(found).text == '<script>"'
    assert re.findall('font-size="([^"]*)"', found) == [f"{MIN_FONT_PX:g}"]
