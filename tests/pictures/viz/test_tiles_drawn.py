"""Test tiles in still pictures: constant sizes, distinguishable and readable colors, and little text."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.draw import cells
from nbautograd.viz.draw.cells import ARRIVING, BOX, EDGE, grid_of
from nbautograd.viz.draw.theme import DARK, LIGHT, darkened
from nbautograd.viz.read.tiles import coarser, tile

from .colors import TO_LAB, TO_LMS, contrast, mixed, times
from .gallery import PROGRAMS

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])

# G. M. Machado et al., "A physiologically-based model for simulation of color vision deficiency", 2009; linear RGB.
BLINDNESS = {
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


@THEMES
def test_a_number_can_be_read_on_every_color_that_it_gets(theme: dict[str, str]) -> None:
    for kind in (cells.GRADIENTS, cells.VALUES):
        for number in range(-cells.LEVELS, cells.LEVELS + 1):
            assert contrast(theme["fg"], theme[cells.level_name(number, kind)]) >= 4.5
    assert max(abs(cells.level(v, 3.0)) for v in (-3.0, 3.0, 99.0)) == cells.LEVELS


@THEMES
@pytest.mark.parametrize("kind", BLINDNESS)
def test_below_and_above_zero_are_told_apart_by_everybody(kind: str, theme: dict[str, str]) -> None:
    def seen(name: str) -> np.ndarray:
        parts = np.array([int(theme[name][i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        simulated = np.clip(np.array(BLINDNESS[kind]) @ linear, 0, 1)
        return np.array(times(TO_LAB, [v ** (1 / 3) for v in times(TO_LMS, simulated)]))

    for number in range(2, cells.LEVELS + 1):
        apart = np.linalg.norm(seen(cells.level_name(number)) - seen(cells.level_name(-number)))
        assert apart > 0.02 * number


@THEMES
def test_the_colors_of_a_scale_are_mixed_in_equal_steps(theme: dict[str, str]) -> None:
    for name in ("tile-minus", "tile-plus", "value"):
        end = theme[f"{name}-{cells.LEVELS}"]
        for number in range(1, cells.LEVELS + 1):
            assert theme[f"{name}-{number}"] == mixed(theme["tile-zero"], end, number / cells.LEVELS)


def test_a_scale_is_even_and_zero_is_zero() -> None:
    assert [cells.level(v, 8.0) for v in (-8, -2, 0, 2, 8)] == [-8, -4, 0, 4, 8]
    assert cells.level(1e-30, 8.0) == 1 and cells.level(-0.0, 8.0) == 0 and cells.level(5, 0.0) == 8


def test_a_grid_has_room_for_all_tiles_of_its_place() -> None:
    small, large = tile(np.array([1.0, 2.0, 3.0])), tile(np.array([-0.123, 0.456, -0.789]))
    grid = grid_of([small, large], ARRIVING)
    assert grid is not None and grid.written and grid == grid_of([large, None, small], ARRIVING)
    assert grid_of([tile(5.0), None], BOX) is None
    column = grid_of([large], EDGE)
    assert column is not None and (column.columns, column.rows) == (1, 3)
    block = grid_of([tile(np.ones((100, 100)))], BOX)
    assert block is not None and not block.written and max(block.size) <= BOX.side


def test_a_coarser_tile_keeps_what_is_not_finite() -> None:
    known = tile(np.where(np.eye(8) == 1, np.nan, 1.0))
    assert known is not None
    fewer = coarser(known, 4)
    assert fewer.columns == 4 and fewer.block == (2, 2)
    assert [i for i, v in enumerate(fewer.cells) if v == "nan"] == [0, 5, 10, 15]
    assert coarser(fewer, 4) is fewer


def test_a_still_picture_has_cells_a_key_and_both_themes() -> None:
    svg = PROGRAMS["perceptron"]().svg
    assert svg.count('class="nb-cells"') >= 15 and 'class="nb-key"' in svg
    assert "mean" not in re.sub("MeanBackward0|>mean<|<title>.*?</title>|<desc.*?</desc>", "", svg, flags=re.S)
    used = set(re.findall(r'stroke="(#[0-9a-f]{6})"', svg)) & {LIGHT[f"tile-plus-{i}"] for i in range(1, 9)}
    assert used and not used & set(re.findall(r"#[0-9a-f]{6}", darkened(svg)))
    assert 'class="nb-key"' not in PROGRAMS["first_seed"]().svg


def test_a_large_still_picture_has_coarser_tiles() -> None:
    with tracing.traced():
        names: dict[str, nb.Tensor] = {}
        h = w = nb.randn(16, 16, requires_grad=True)
        for i in range(60):
            names[f"h{i}"] = h = h * w
        y = h.sum()
    recording = viz.animate(y, namespace=names | {"w": w, "y": y})
    painted, bare = recording.svg, recording.drawings(0, recording.scenes[0])[0]
    assert len(painted) - len(bare) < 300_000
    assert not re.search(r"<path d=", bare.split("nb-cells", 1)[1].split("</g>")[0])


def test_the_leaves_are_in_the_order_of_their_variables() -> None:
    with tracing.traced():
        a, b, c = (nb.ones(2, requires_grad=True) for _ in range(3))
        y = (c * b).sum() * a.sum()
    recording = viz.animate(y, namespace={"a": a, "b": b, "c": c, "y": y})
    assert [leaf.name for leaf in recording.scenes[0].leaves] == ["a", "b", "c"]
    assert [row[1] for row in recording.timeline.ledger] == ["a", "b", "c"]
    assert [row[0] for row in viz.grads(namespace={"a": a, "b": b, "c": c}).rows] == ["a", "b", "c"]
    assert recording.timeline.scale == 2.0
