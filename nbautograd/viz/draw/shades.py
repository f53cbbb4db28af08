"""Colors of a tile's cells: in a picture, one scale for all gradients, one for all values, none for the rest.

Gradients go from blue below zero to orange above it; values get grayer as they get larger. Local derivatives and
integers are read as numbers, so they have no color; a mask has full and empty cells. The colors are mixed in OKLab, in
which equal steps look equal, and fixed, so that a drawing looks the same in every program. The scales use the square
root, so that small numbers differ from zero.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import NamedTuple

from nbautograd.viz.read.numbers import BOOLS, INTEGERS

__all__ = ["GRADIENTS", "LEVELS", "PLAIN", "VALUES", "Scale", "level", "level_name", "shade_name", "shades"]

GRADIENTS, VALUES = "gradients", "values"
"""The kinds of scales."""
PLAIN = "tile-plain"
"""The name of a cell with an outline only, which is not a color of the theme."""
FULL = "value-6"  # a cell of a mask

LEVELS = 8
"""Colors on each side of zero; a number can be read on each of them."""


def level(value: float, largest: float) -> int:
    """The number of a color, below zero for numbers below zero.

    :param largest: where the scale ends, on both sides.

    >>> [level(v, 4.0) for v in (-4.0, 0.0, 1e-9, 1.0, 4.0)]
    [-8, 0, 1, 4, 8]
    """
    if not value:
        return 0
    share = math.sqrt(min(abs(value) / (largest or 1.0), 1.0))
    return int(math.copysign(max(math.floor(share * LEVELS + 0.5), 1), value))


class Scale(NamedTuple):
    """The colors that all tensors of one kind have in a picture."""

    kind: str
    """One of the kinds above."""
    largest: float = 1.0
    """The end of the scale, on both sides of zero."""


@lru_cache(maxsize=2048)  # a tile is in several drawings
def shade_name(value: float, form: str, scale: Scale) -> str:
    """Return the theme's name for the color of a cell; only this and ``static/cells.js`` decide it.

    :param form: of the tile's numbers.

    >>> [shade_name(v, "", Scale(GRADIENTS, 4.0)) for v in (-4.0, 0.0, 1.0)]
    ['tile-minus-8', 'tile-zero', 'tile-plus-4']
    >>> [shade_name(3.0, form, Scale(VALUES, 4.0)) for form in ("", INTEGERS, BOOLS)]
    ['value-7', 'tile-plain', 'value-6']
    """
    if form == INTEGERS:
        return PLAIN
    if form == BOOLS:
        return FULL if value >= 0.5 else PLAIN
    return level_name(level(value, scale.largest), scale.kind)


@cache
def level_name(number: int, kind: str = GRADIENTS) -> str:
    """Return the theme's name for a color of a scale.

    >>> level_name(-3), level_name(0), level_name(-8, VALUES)
    ('tile-minus-3', 'tile-zero', 'value-8')
    """
    if number == 0:
        return "tile-zero"
    return f"value-{abs(number)}" if kind == VALUES else f"tile-{'minus' if number < 0 else 'plus'}-{abs(number)}"


def shades(zero: str, minus: str, plus: str, value: str) -> dict[str, str]:
    """Return all colors of both scales by their names; of each side of a scale they are given in one text.

    >>> len(shades("#ffffff", *["#112233 " * LEVELS] * 3))
    25
    """
    sides = {"tile-minus": minus, "tile-plus": plus, "value": value}
    colors = {f"{name}-{i}": color for name, each in sides.items() for i, color in enumerate(each.split(), 1)}
    return {"tile-zero": zero, **colors}
