"""A text in an SVG picture, escaped, and never too small to read."""

from __future__ import annotations

from nbautograd.viz.draw.lines import number
from nbautograd.viz.draw.theme import MONO_MARKUP, SMALLEST
from nbautograd.viz.escape import escape

__all__ = ["text_element"]


def text_element(
    x: float,
    y: float,
    text: str,
    ink: str,
    size: float = SMALLEST,
    *,
    bold: bool = False,
    anchor: str = "",
    mono: bool = False,
) -> str:
    """A ``<text>`` whose baseline is at ``y``; ``size`` in pixels, of which ``SMALLEST`` is the least.

    >>> text_element(4, 20, "a < b", "#000", bold=True)
    '<text x="4" y="20" font-size="11" fill="#000" font-weight="700">a &lt; b</text>'
    """
    more = ' font-weight="700"' * bold + f' text-anchor="{anchor}"' * bool(anchor)
    more += f' font-family="{MONO_MARKUP}"' * mono
    size = max(size, SMALLEST)
    return f'<text x="{number(x)}" y="{number(y)}" font-size="{size:g}" fill="{ink}"{more}>{escape(text)}</text>'
