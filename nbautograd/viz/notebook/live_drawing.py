"""A drawing below a running loop, in the notebooks where a widget can show it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from nbautograd.viz.draw import theme
from nbautograd.viz.notebook import output
from nbautograd.viz.settings import settings

__all__ = ["LiveDrawing"]

REFRESH_SECONDS = 0.25  # between two drawings


class LiveDrawing:
    """Shows the latest drawing from ``open`` to ``close``.

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
