"""Escape text from outside for markup, and measure the width of drawn text.

Text from outside this package (names of variables and classes, values, source lines, exceptions) passes through
:func:`escape` before it reaches SVG or HTML, and through :func:`clean` before it is measured or stored.
"""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache

__all__ = ["clean", "columns", "escape", "escape_long", "fit", "fit_path", "line_of", "one_line", "ordered", "width"]

MAX_TEXT_CHARACTERS = 200  # in a picture

# C0 and C1 controls except tab and newline, lone surrogates, bidirectional overrides, non-characters.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
_BREAKS = re.compile("[\r\u2028\u2029]")


def clean(text: object, limit: int = MAX_TEXT_CHARACTERS) -> str:
    r"""Text without control characters, lone surrogates and bidirectional overrides, cut at ``limit`` characters.

    >>> clean("a\x00b\u202ec")
    'abc'
    >>> clean("abcdef", 4)
    'abc…'
    """
    string = text if isinstance(text, str) else str(text)
    if len(string) <= limit and string.isascii() and string.isprintable():
        return string
    string = string[: 4 * limit]  # a text of ten million characters costs no more than one of eight hundred
    string = _FORBIDDEN.sub("", _BREAKS.sub(" ", string)).replace("\t", "    ")
    return string if len(string) <= limit else string[: max(limit - 1, 0)] + "…"


@lru_cache(maxsize=2048)  # a name is in many places
def one_line(text: str, limit: int = MAX_TEXT_CHARACTERS) -> str:
    r"""Return the text on one line. Texts that may be long are cut by :func:`clean` before.

    >>> one_line("a\n  b")
    'a b'
    """
    return " ".join(clean(text, limit).split())


def line_of(value: object, limit: int) -> str:
    """Return the text of any object on one line of at most ``limit`` characters."""
    return one_line((value if isinstance(value, str) else str(value))[: 4 * limit], limit)


@lru_cache(maxsize=2048, typed=True)  # a text is in several drawings and tables
def escape(text: str) -> str:
    """Text for SVG or HTML, as content or in a quoted attribute.

    >>> escape('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return escape_long(text, MAX_TEXT_CHARACTERS)


def escape_long(text: object, limit: int) -> str:
    """Return a text of up to ``limit`` characters for SVG or HTML."""
    return html.escape(clean(text, limit), quote=True)


_NARROW = {**dict.fromkeys("iljtfrI.,:;'|!()[] ", 0.36), **dict.fromkeys("mwMW@%", 0.95)}


@lru_cache(maxsize=4096)
def width(text: str, size: float, *, mono: bool = False) -> float:
    """Estimate the width of the longest line of ``text`` in pixels, at a font size of ``size``.

    East Asian wide characters count as a full em, combining marks as nothing.
    """
    return max([_line(line, mono) for line in text.split("\n")]) * size


def _line(text: str, mono: bool) -> float:
    if text.isascii():
        return 0.615 * len(text) if mono else sum(_NARROW.get(c, 0.7 if c.isupper() else 0.62) for c in text)
    total = 0.0
    for c in text:
        if unicodedata.combining(c):
            continue
        if unicodedata.east_asian_width(c) in "WF":
            total += 1.02
        else:
            total += 0.615 if mono else _NARROW.get(c, 0.7 if c.isupper() else 0.64)
    return total


def fit(text: str, room: float, size: float, *, mono: bool = False) -> str:
    """The text, cut so that it is about as wide as ``room`` pixels.

    >>> fit("a name that is long", 60, 12), fit("变量变量变量变量", 60, 12)
    ('a name …', '变量变量…')
    """
    if len(text) * size * 1.02 <= room or width(text, size, mono=mono) <= room:
        return text
    left, count = room - width("…", size, mono=mono), 0
    for c in text:
        left -= width(c, size, mono=mono)
        if left < 0:
            break
        count += 1
    return text[:count] + "…"


@lru_cache(maxsize=2048)
def fit_path(path: str, room: float, size: float) -> str:
    """Shorten a dotted name such as ``model.layers.0.bias`` like :func:`fit`, but keep its distinctive end.

    >>> fit_path("model.layers.0.bias", 90, 12), fit_path("a_name_of_one_part", 60, 12)
    ('…0.bias', 'a_name…')
    """
    if len(path) * size * 1.02 <= room or width(path, size) <= room:
        return path
    parts = path.split(".")
    for start in range(1, len(parts)):
        end = "…" + ".".join(parts[start:])
        if width(end, size) <= room:
            return end
    return fit(path, room, size)


@lru_cache(maxsize=2048)
def columns(text: str) -> int:
    """Return the number of terminal columns that the text takes.

    >>> columns("abc"), columns("变量"), columns("e\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    wide = [2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
            if not unicodedata.combining(c) and unicodedata.category(c) not in ("Mn", "Me", "Cf")]  # fmt: skip
    return sum(wide)


@lru_cache(maxsize=2048)
def ordered(text: str) -> str:
    """Return the text, followed by a mark that keeps the order of later text if it is written from right to left."""
    if text.isascii() or not any(unicodedata.bidirectional(c) in ("R", "AL") for c in text):
        return text
    return text + "\u200e"
