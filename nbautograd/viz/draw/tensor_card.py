"""Draw a tensor as a card: shape, dtype, smallest, mean and largest value, non-finite elements, and heat maps.

The card is an ordinary drawing, so it shows in every notebook, trusted or not. Its colors are those of all pictures:
values are gray, gradients blue below zero and orange above. A cell that is not finite is crossed out as well, so color
is not the only sign.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np

from nbautograd.viz.draw.cells import GRADIENTS, MINUS_HEIGHT_PX, VALUES, Scale, shade_name
from nbautograd.viz.draw.lines import text_element
from nbautograd.viz.draw.theme import LIGHT, MIN_FONT_PX, SANS_MARKUP
from nbautograd.viz.escape import escape, one_line, width
from nbautograd.viz.language import say
from nbautograd.viz.read import values
from nbautograd.viz.read.introspect import attribute
from nbautograd.viz.read.values import SUMMARY, number_text

__all__ = ["card_svg", "heat_cells"]

MAX_ROWS, MAX_COLUMNS = 16, 32  # of a heat map
MIN_CELL_PX, MAX_CELL_PX, MAX_MAP_PX = 9, 22, 200


def card_svg(tensor: Any, name: str = "") -> str:
    """The card of a tensor as SVG, with its name if it has one."""
    title = " ".join(part for part in (one_line(name, 40), _about(tensor)) if part)
    lines = [_numbers(tensor)]
    maps = [("", tensor, VALUES)]
    grad = attribute(tensor, "grad") if _tracked_leaf(tensor) else None
    if grad is not None:
        maps.append((say("card_grad"), grad, GRADIENTS))
        lines.append(f"{say('card_grad')}: {_numbers(grad)}")
    elif _tracked_leaf(tensor):
        lines.append(say("card_no_grad"))
    elif not attribute(tensor, "requires_grad"):
        lines.append(say("card_no_tracking"))
    body, x, high, lead = [], 12.0, 0.0, 14.0 * (len(maps) > 1)
    top = 34.0 + 17 * len(lines)
    for head, value, kind in maps:
        drawn, wide, tall = _heat(value, kind, x, top + lead)
        if head:
            body.append(text_element(x, top + 8, head, LIGHT["muted"]))
        body += drawn
        x += wide + 18
        high = max(high, tall + lead * bool(tall))
    whole = max(x - 6, 24 + max(width(title, 13.5), *(width(line, 11.5, mono=True) for line in lines)))
    height = top + high + (10 if high else 0)
    top_lines = [text_element(12, 22, title, LIGHT["fg"], 13.5, bold=True)]
    top_lines += [text_element(12, 41 + 17 * i, line, LIGHT["fg"], 11.5, mono=True) for i, line in enumerate(lines)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole:.0f} {height:.0f}" width="{whole:.0f}" '
        f'height="{height:.0f}" role="img" font-family="{SANS_MARKUP}">'
        f"<title>{escape(say('card_of', name=title))}</title><desc>{escape('. '.join(lines))}</desc>"
        f'<rect x="0.5" y="0.5" width="{whole - 1:.0f}" height="{height - 1:.0f}" rx="8" fill="{LIGHT["bg"]}" '
        f'stroke="{LIGHT["line"]}"/>{"".join([*top_lines, *body])}</svg>\n'
    )


def _about(tensor: Any) -> str:
    device = "cpu"
    with suppress(Exception):  # of a class of its own
        device = str(tensor.device)
    parts = [values.dtype_text(attribute(tensor, "dtype", "")), values.shape_text(tensor)]
    return " ".join([*parts, *([one_line(device, 20)] if device != "cpu" else [])])


def _tracked_leaf(tensor: Any) -> bool:
    return bool(attribute(tensor, "requires_grad")) and attribute(tensor, "grad_fn", "") is None


def _numbers(value: Any) -> str:
    """Return the smallest, mean and largest value, and the number of elements that are not finite."""
    try:
        array = values.host(value)
        if array.size == 0:
            return say("card_empty")
        if array.dtype.kind == "c":
            return values.text(value, 0)
        shown = []
        if array.dtype.kind == "f":
            tests = (("card_nan", np.isnan), ("card_inf", np.isinf))
            shown = [say(key, n=int(n)) for key, test in tests if (n := test(array).sum())]
            array = array[np.isfinite(array)]
        if array.size:
            wide = array.astype(np.float64)
            mean = values.above_rounding(wide.mean(), np.sqrt((wide**2).mean()), array.dtype.name)
            numbers = (("card_min", wide.min(), ""), ("card_mean", mean, SUMMARY), ("card_max", wide.max(), ""))
            shown[:0] = [f"{say(key)} {number_text(value, form)}" for key, value, form in numbers]
        return " · ".join(shown)
    except Exception as error:
        return f"<{type(error).__name__}>"


def heat_cells(value: Any) -> tuple[np.ndarray[Any, Any], int]:
    """Return the means of at most 16 × 32 blocks of a tensor seen as a matrix, and the number of elements per block.

    >>> heat_cells(np.ones((2, 3)))[0].shape
    (2, 3)
    >>> heat_cells(np.ones((100, 64)))[1]
    14
    """
    array = values.host(value)
    array = np.abs(array) if array.dtype.kind == "c" else array.astype(np.float64)
    matrix = array.reshape(-1, array.shape[-1] if array.ndim else 1) if array.size else np.zeros((0, 0))
    down, across = (max(1, math.ceil(n / most)) for n, most in zip(matrix.shape, (MAX_ROWS, MAX_COLUMNS), strict=True))
    if down * across == 1 or not matrix.size:
        return matrix, 1
    with np.errstate(invalid="ignore"):
        rows = np.add.reduceat(matrix, range(0, matrix.shape[0], down), axis=0)
        sums = np.add.reduceat(rows, range(0, matrix.shape[1], across), axis=1)
    ones = [np.diff([*range(0, n, by), n]) for n, by in zip(matrix.shape, (down, across), strict=True)]
    return sums / np.outer(*ones), down * across


def _heat(value: Any, kind: str, x: float, y: float) -> tuple[list[str], float, float]:
    """A heat map as elements, and its size."""
    try:
        cells, each = heat_cells(value)
    except Exception:
        return [], 0.0, 0.0
    if not cells.size:
        return [], 0.0, 0.0
    finite = np.abs(cells[np.isfinite(cells)])
    scale = Scale(kind, float(finite.max()) if finite.size else 0.0)
    side = max(MIN_CELL_PX, min(MAX_CELL_PX, MAX_MAP_PX // max(cells.shape)))
    out = []
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            left, top = x + j * side, y + i * side
            color = LIGHT[shade_name(cell, "", scale) if math.isfinite(cell) else "bad-bg"]
            size = f'width="{side - 1}" height="{side - 1}"'
            out.append(f'<rect x="{left:g}" y="{top:g}" {size} fill="{color}"/>')
            if cell < 0 and kind == VALUES:  # which has no color
                sign = f"M{left + side / 4:g} {top + side / 2 - 0.5:g}h{side / 2 - 1:g}"
                out.append(f'<path d="{sign}" stroke="{LIGHT["fg"]}" stroke-width="{MINUS_HEIGHT_PX:g}"/>')
            if not math.isfinite(cell):
                out.append(
                    f'<path d="M{left:g} {top:g}l{side - 1} {side - 1}m0 -{side - 1}l-{side - 1} {side - 1}" '
                    f'stroke="{LIGHT["bad"]}" stroke-width="1.4" fill="none"/>'
                )
    rows, columns = cells.shape
    tall = rows * side
    if each > 1:
        note = say("card_every", n=each)
        out.append(text_element(x, y + tall + 12, note, LIGHT["muted"]))
        return out, max(columns * side, width(note, MIN_FONT_PX)), tall + 15.0
    return out, float(columns * side), float(tall)
