"""The one way in which text from outside gets into markup, and how wide text is when drawn.

Whatever did not come from this package (names of variables and classes, values, source lines, exceptions) goes
through :func:`escape` before it reaches SVG or HTML, and through :func:`clean` before it is measured or stored.
"""

from __future__ import annotations

import html
import re
import unicodedata

__all__ = ["clean", "escape", "one_line", "width"]

LIMIT = 200  # characters of one text in a picture

# C0 and C1 controls except tab and newline, lone surrogates, bidirectional overrides, non-characters.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
_BREAKS = re.compile("[\r\u2028\u2029]")


def clean(text: object, limit: int = LIMIT) -> str:
    r"""Text without control characters, lone surrogates and bidirectional overrides, cut at ``limit`` characters.

    >>> clean("a\x00b\u202ec")
    'abc'
    >>> clean("abcdef", 4)
    'abc…'
    """
    string = text if isinstance(text, str) else str(text)
    string = string[: 4 * limit]  # a text of ten million characters costs no more than one of eight hundred
    string = _FORBIDDEN.sub("", _BREAKS.sub(" ", string)).replace("\t", "    ")
    return string if len(string) <= limit else string[: max(limit - 1, 0)] + "…"


def one_line(text: object, limit: int = LIMIT) -> str:
    r"""The same on one line.

    >>> one_line("a\n  b")
    'a b'
    """
    return " ".join(clean(text, limit).split())


def escape(text: object, limit: int = LIMIT) -> str:
    """Text for SVG or HTML, as content or in a quoted attribute.

    >>> escape('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(clean(text, limit), quote=True)


_NARROW = {**dict.fromkeys("iljtfrI.,:;'|!()[] ", 0.36), **dict.fromkeys("mwMW@%", 0.95)}


def width(text: str, size: float, *, mono: bool = False) -> float:
    """About how wide the longest line of ``text`` is in pixels, at a font size of ``size``.

    East Asian wide characters count as a full em, combining marks as nothing.
    """
    return max((_line(line, mono) for line in text.split("\n")), default=0.0) * size


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
