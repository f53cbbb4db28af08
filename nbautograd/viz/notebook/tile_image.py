"""Gradients in HTML tables: images of their tiles, which untrusted notebooks show, too, and which follow a dark one."""

from __future__ import annotations

from nbautograd.viz.draw.cells import BOX, grid_of, paint, scale_key
from nbautograd.viz.draw.shades import GRADIENTS, Scale
from nbautograd.viz.draw.theme import SANS_MARKUP
from nbautograd.viz.escape import escape
from nbautograd.viz.language import say
from nbautograd.viz.notebook import output
from nbautograd.viz.read.tiles import Tile

__all__ = ["drawing", "gradient_image", "key_image"]


def gradient_image(text: str, tile: Tile | None, largest: float) -> str:
    """Return a gradient as an image of its tile, with its numbers in words; as text if it is one number."""
    grid = None if tile is None else grid_of([tile], BOX)
    if tile is None or grid is None:
        return escape(text)
    wide, high = grid.size
    drawn = drawing(wide, high, paint(tile, grid, 0, 0, Scale(GRADIENTS, largest)))
    return output.image(drawn, text)


def key_image(largest: float) -> str:
    """Draw the key of the colors."""
    name = say("scale_gradients")
    return output.image(drawing(300, 14, scale_key(2, 11, largest)), name)


def drawing(wide: float, high: float, inside: str) -> str:
    """Elements as an SVG of this size.

    :param inside: SVG elements.
    """
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:g}" height="{high:g}" viewBox="0 0 {wide:g} {high:g}" '
        f'font-family="{SANS_MARKUP}">{inside}</svg>'
    )
