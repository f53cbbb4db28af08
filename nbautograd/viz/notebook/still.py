"""Still pictures: a frame around a drawing, how a notebook shows it, and how it is saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbautograd.viz.draw.lines import text_element
from nbautograd.viz.draw.theme import LIGHT, SANS_MARKUP
from nbautograd.viz.escape import escape, escape_long
from nbautograd.viz.notebook import export, output

__all__ = ["WIDTH_PX", "Still", "card", "framed"]

WIDTH_PX = 640


class Still:
    """A drawing, its ``svg``, and its ``label``: a notebook shows it as an image, ``save`` writes a file."""

    def save(self: Any, path: Any) -> Any:
        """Write ``.svg``, ``.html``, ``.txt``, ``.png`` or ``.pdf``.

        :return: the path.
        """
        return export.save(path, {".svg": lambda: self.svg, ".html": self.html, ".txt": lambda: repr(self)})

    def html(self: Any) -> str:
        """A page of its own."""
        return export.page(self.label, output.image(output.colored(self.svg), self.label))

    def _repr_mimebundle_(self: Any, include: Any = None, exclude: Any = None) -> Any:
        svg = output.colored(self.svg)
        return {"text/plain": repr(self), "text/html": output.image(svg, self.label), **output.images(svg)}


def card(title: str, words: str, body: Sequence[str], high: int, below: str = "") -> str:
    """Put a frame and a title around the elements of a picture."""
    head = text_element(14, 22, title, LIGHT["fg"], 13.5, bold=True)
    return framed(title, words, (WIDTH_PX, high), head + "".join(body), below)


def framed(title: str, words: str, size: tuple[int, int], inside: str, below: str = "") -> str:
    """Put a frame around elements, and ``below`` it others; a title and words are for who does not see them."""
    wide, high = size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        f'role="img" font-family="{SANS_MARKUP}"><title>{escape(title)}</title><desc>{escape_long(words, 2000)}</desc>'
        f'{below}<rect x="0.5" y="0.5" width="{wide - 1}" height="{high - 1}" rx="8" fill="{LIGHT["bg"]}" '
        f'stroke="{LIGHT["line"]}"/>{inside}</svg>\n'
    )
