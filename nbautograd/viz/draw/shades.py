"""Colors of a tile's cells: in a picture, one scale for all gradients, one for all values, none for the rest.

Gradients go from blue below zero to orange above it; values get grayer as they get larger. Local derivatives and
integers are read as numbers, so they have no color; a mask has full and empty cells. The colors are mixed in OKLab, in
which equal steps look equal, and fixed, so that a drawing looks the same in every program. The scales use the square
root, so that small numbers differ from zero.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from nbautograd.viz.read.numbers import BOOLS, INTEGERS

__all__ = ["GRADIENTS", "LEVELS", "PLAIN", "VALUES", "Scale", "level", "level_name", "mixed", "shade_name",
           "shades"]  # fmt: skip

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


def shades(minus: str, zero: str, plus: str, value: str) -> dict[str, str]:
    """All colors of both scales by their names, from their ends and their beginning.

    >>> shades("#0000ff", "#ffffff", "#ff0000", "#777777")["tile-plus-8"]
    '#ff0000'
    """
    levels = range(1, LEVELS + 1)
    ends = {"tile-minus": minus, "tile-plus": plus, "value": value}
    mixtures = {f"{name}-{i}": mixed(zero, end, i / LEVELS) for name, end in ends.items() for i in levels}
    return {"tile-zero": zero, **mixtures}


def mixed(one: str, other: str, share: float) -> str:
    """A color between two.

    >>> mixed("#000000", "#ffffff", 0.5)
    '#636363'
    """
    lab = [a + (b - a) * share for a, b in zip(_oklab(one), _oklab(other), strict=True)]
    return "#" + "".join(f"{_channel(linear):02x}" for linear in _linear(*lab))


# B. Ottosson, "A perceptual color space for image processing", 2020.
_TO_LMS = (
    (0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)  # fmt: skip
_TO_LAB = (
    (0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)  # fmt: skip
_FROM_LAB = (
    (1.0, 0.3963377774, 0.2158037573), (1.0, -0.1055613458, -0.0638541728), (1.0, -0.0894841775, -1.2914855480),
)  # fmt: skip
_FROM_LMS = (
    (4.0767416621, -3.3077115913, 0.2309699292), (-1.2684380046, 2.6097574011, -0.3413193965),
    (-0.0041960863, -0.7034186147, 1.7076147010),
)  # fmt: skip


def _times(matrix: tuple[tuple[float, ...], ...], vector: list[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def _oklab(color: str) -> list[float]:
    parts = [int(color[a:b], 16) / 255 for a, b in pairwise(range(1, 8, 2))]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return _times(_TO_LAB, [max(v, 0.0) ** (1 / 3) for v in _times(_TO_LMS, linear)])


def _linear(*lab: float) -> list[float]:
    return _times(_FROM_LMS, [v**3 for v in _times(_FROM_LAB, list(lab))])


def _channel(linear: float) -> int:
    value = min(max(linear, 0.0), 1.0)
    return round(255 * (12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055))
