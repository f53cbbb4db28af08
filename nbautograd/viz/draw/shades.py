"""The colours of a tile's cells: from the colour of what is below zero over a pale one to that of what is above.

Mixed in OKLab, in which equal steps look equal, and fixed, so that a drawing looks the same in every program. The
scale is by the square root, so that small numbers are told apart from zero.
"""

from __future__ import annotations

import math
from itertools import pairwise

__all__ = ["LEVELS", "WRITTEN", "level", "mixed", "shade_name", "shades"]

LEVELS = 8
"""Colours on each side of zero."""
WRITTEN = 5
"""The darkest of them on which a number is written."""


def level(value: float, largest: float, written: bool = False) -> int:
    """The number of a value's colour, below zero for values below zero.

    :param largest: where the scale ends, on both sides.

    >>> [level(v, 4.0) for v in (-4.0, 0.0, 1e-9, 1.0, 4.0)]
    [-8, 0, 1, 4, 8]
    """
    if not value:
        return 0
    share = math.sqrt(min(abs(value) / (largest or 1.0), 1.0))
    return int(math.copysign(max(math.floor(share * (WRITTEN if written else LEVELS) + 0.5), 1), value))


def shade_name(number: int) -> str:
    """What the theme calls a colour.

    >>> shade_name(-3), shade_name(0), shade_name(8)
    ('tile-minus-3', 'tile-zero', 'tile-plus-8')
    """
    return "tile-zero" if number == 0 else f"tile-{'minus' if number < 0 else 'plus'}-{abs(number)}"


def shades(minus: str, zero: str, plus: str) -> dict[str, str]:
    """All colours of a scale by their names, from its ends and its middle.

    >>> shades("#0000ff", "#ffffff", "#ff0000")["tile-plus-8"]
    '#ff0000'
    """
    ends = {number: mixed(zero, minus if number < 0 else plus, abs(number) / LEVELS)
            for number in range(-LEVELS, LEVELS + 1)}  # fmt: skip
    return {shade_name(number): colour for number, colour in ends.items()}


def mixed(one: str, other: str, share: float) -> str:
    """A colour between two.

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


def _oklab(colour: str) -> list[float]:
    parts = [int(colour[a:b], 16) / 255 for a, b in pairwise(range(1, 8, 2))]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return _times(_TO_LAB, [max(v, 0.0) ** (1 / 3) for v in _times(_TO_LMS, linear)])


def _linear(*lab: float) -> list[float]:
    return _times(_FROM_LMS, [v**3 for v in _times(_FROM_LAB, list(lab))])


def _channel(linear: float) -> int:
    value = min(max(linear, 0.0), 1.0)
    return round(255 * (12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055))
