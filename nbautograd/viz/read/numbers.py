"""A number as text: one rule for all that a picture says, whether Python writes it or ``static/tile.js`` does.

Each number is rounded as PyTorch prints it alone: to four decimals, whole if it is an integer, with a power of ten if
it is very small or very large. So it is the same on an edge, in a cell, in an equation, in a table, and in the output
of ``print``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from itertools import repeat

__all__ = ["BOOLS", "INTEGERS", "SUMMARY", "column", "drawn", "number_text", "printed", "printed_rows", "summary"]

INTEGERS, BOOLS, SUMMARY = "d", "b", "m"
"""The forms of a tile's numbers that are no floating elements: a mean or a norm has three digits."""
_PRINTED = re.compile(r"(?<![\w.)\]-])(-?)(\d+\.?\d*)(e[+-]\d+)?(?![\w.])|(?<![\w.)\]])-(?=inf)")
_COMPLEX = re.compile(r"\dj")
MIN_PLAIN, MAX_PLAIN = 1e-4, 1e8  # range without a power of ten
MAX_WHOLE = 1e6  # means and norms up to this are not rounded if they are whole


def printed(value: float, decimals: bool = False) -> str:
    """As PyTorch prints it alone.

    :param decimals: whether a whole number has decimals, as it has beside others that are not whole.

    >>> [printed(v) for v in (5.0, 0.25, 123456.789, 1.23456e-5, math.inf)]
    ['5.', '0.2500', '123456.7890', '1.2346e-05', 'inf']
    """
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    if size > MAX_PLAIN or (size < MIN_PLAIN and size):
        return f"{value:.4e}"
    return f"{value:.4f}" if decimals or value != int(value) else f"{value:.0f}."


def printed_rows(rows: Iterable[list[float]]) -> list[list[str]]:
    """Return the numbers of some rows, printed."""
    texts = []
    for row in rows:  # a comprehension in 3.11 is a call per row
        texts.append(list(map(printed, row)))
    return texts


def column(numbers: list[float]) -> list[str]:
    """Return the numbers as PyTorch prints them together, padded to one width; beside a fraction all have decimals."""
    finite = list(filter(math.isfinite, numbers))
    shown = list(map(printed, numbers, repeat([*map(math.ceil, finite)] != finite)))
    longest = max([len(s) for s, v in zip(shown, numbers, strict=True) if v and math.isfinite(v)], default=1)
    return list(map(str.rjust, shown, repeat(longest)))


def number_text(value: float | str, form: str = "") -> str:
    """Return the number without the zeros at its end.

    >>> [number_text(v) for v in (5.0, 0.25, 1 / 3, 123456.789, 1.23e-5, -0.0, "nan")]
    ['5', '0.25', '0.3333', '123456.789', '1.23e-5', '-0', 'nan']
    >>> number_text(1.0, BOOLS), number_text(3e9, INTEGERS), number_text(0.000123456, SUMMARY)
    ('True', '3000000000', '0.000123')
    """
    if isinstance(value, str) or not math.isfinite(value):
        return str(value)
    if form in (BOOLS, INTEGERS):
        return str(bool(value) if form == BOOLS else int(value))
    text = f"{value:.2e}" if form == SUMMARY and not _whole(value) else printed(value)
    shown = Decimal(text).normalize()
    if not shown or MIN_PLAIN <= abs(float(shown)) <= (MAX_WHOLE if form == SUMMARY else MAX_PLAIN):
        return f"{shown:f}"
    return f"{shown:e}".replace("e+", "e")


@lru_cache(maxsize=1024)
def drawn(text: str) -> str:
    """Rewrite numbers as PyTorch prints them for a picture: without zeros at the end, with a minus sign.

    >>> drawn("[-0.0430, 1.0000]"), drawn("-1. + 2.5e-05 = -inf"), drawn("0.2500-1.0000j")
    ('[−0.043, 1.]', '−1. + 2.5e−5 = −inf', '0.2500-1.0000j')
    >>> drawn("1.0000e-04")
    '0.0001'
    """
    return text if _COMPLEX.search(text) else _PRINTED.sub(_as_drawn, text)


def _as_drawn(number: re.Match[str]) -> str:
    sign, digits, power = number.groups()
    if digits is None:
        return "−"
    if power and MIN_PLAIN <= abs(value := float(digits + power)) <= MAX_PLAIN:  # rounded to a number that has no power
        return f"{'−' * bool(sign)}{number_text(value)}{'.' * value.is_integer()}"
    short = digits.rstrip("0") if len(digits.partition(".")[2]) == 4 else digits
    size = f"e{int(power[1:])}".replace("-", "−") if power else ""
    return f"{'−' * bool(sign)}{short}{size}"


def summary(value: float | complex) -> str:
    """A mean or a norm: three digits are enough to compare it.

    >>> [summary(v) for v in (2.0, 31.6227766, 0.000488, 63245.5)]
    ['2.', '31.6', '0.000488', '63200']
    """
    if isinstance(value, complex):
        imaginary = summary(value.imag)
        return f"{summary(value.real)}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
    value = float(value)
    return number_text(value, SUMMARY) + "." * (math.isfinite(value) and _whole(value))


def _whole(value: float) -> bool:
    return value == int(value) and abs(value) < MAX_WHOLE
