"""Still pictures: a frame around a drawing, how it is shown and saved; and a drawing that changes as a loop runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from nbautograd.viz.draw import theme
from nbautograd.viz.draw.lines import text_element
from nbautograd.viz.draw.theme import LIGHT, SANS_MARKUP
from nbautograd.viz.escape import escape, escape_long
from nbautograd.viz.notebook import export, output
from nbautograd.viz.settings import settings

__all__ = ["WIDTH_PX", "LiveDrawing", "Still", "card", "framed"]

WIDTH_PX = 640
REFRESH_SECONDS = 0.25  # between two drawings of a running loop


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


class LiveDrawing:
    """Shows the latest drawing below a running loop, where a widget can, from ``open`` to ``close``.

    :param draw: makes the drawing, an SVG in the light colors.
    :param wanted: whether a widget shows it; by default in a kernel, unless the settings forbid widgets.
    """

    def __init__(self, draw: Callable[[], str], wanted: bool | None = None) -> None:
        self.wanted = output.in_kernel() and settings.widget if wanted is None else wanted
        self._draw, self._drawn = draw, 0.0
        self._view: Any = None
        self._place: Any = None

    @property
    def is_open(self) -> bool:
        """Return whether a widget shows it now."""
        return self._view is not None

    def open(self, label: str) -> None:
        """Display the widget, if a front end can show it."""
        if self.wanted and output.has_front_end():
            try:
                from IPython.display import display

                from nbautograd.viz.notebook.widget import LiveView
            except ImportError:
                return
            self._view = LiveView(svg=self._colored(), label=label)
            self._place = display(self._view, display_id=True)  # type: ignore[no-untyped-call]

    def renew(self) -> None:
        """Draw again, at most every quarter of a second."""
        now = time.monotonic()
        if self._view is not None and now - self._drawn > REFRESH_SECONDS:
            self._drawn = now
            self._view.svg = self._colored()

    def close(self) -> None:
        """Take the widget away, from the cell's output too: where it is opened again, nothing asks for its model."""
        if self._view is not None:
            self._view.svg = ""
            self._view.close()
            self._view = None
            self._place.update({"text/plain": ""}, raw=True)

    def _colored(self) -> str:
        svg = self._draw()
        return theme.adaptive(svg) if settings.theme == "auto" else output.colored(svg)
