"""The still picture of a training run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from nbautograd.viz.draw.lines import text_element
from nbautograd.viz.draw.theme import LIGHT, MIN_FONT_PX
from nbautograd.viz.escape import one_line, width
from nbautograd.viz.language import say
from nbautograd.viz.notebook.still import WIDTH_PX, card
from nbautograd.viz.read.numbers import SUMMARY, number_text

__all__ = ["MAX_LINES", "drawn", "unstarted"]

MAX_LINES = 8  # leaves with a line each
MAX_LINE_POINTS = 240
HEIGHT_PX = 150  # of one plot
LEFT_PX, RIGHT_PX = 78, 140  # room for the axis, and for the names of the lines
INKS = tuple(LIGHT[name] for name in ("leaf", "grad", "out", "teal", "size-4", "muted", "ochre", "indigo"))
DASHES = ("", "6 3", "2 3", "8 3 2 3")


def drawn(
    title: str, words: str, steps: Sequence[int], losses: Sequence[float], norms: Mapping[str, Sequence[float]]
) -> str:
    """The loss and the norms of gradients over the steps, as SVG."""
    high = 34 + HEIGHT_PX + (HEIGHT_PX + 22 if norms else 0) + 22
    body = _plot(say("loss"), steps, {say("loss"): losses}, 34)
    if norms:
        body += _plot(say("grad_norm"), steps, norms, 34 + HEIGHT_PX + 22)
    return card(title, words, body, high)


def unstarted(title: str, lines: Sequence[str]) -> str:
    """Draw the instructions for a monitor that was not called yet: a sentence, and lines of code."""
    sentence, *code = lines
    body = [text_element(14, 44, sentence, LIGHT["muted"])]
    body += [
        text_element(14 + 8 * (len(line) - len(line.lstrip())), 68 + 18 * i, line.lstrip(), LIGHT["fg"], mono=True)
        for i, line in enumerate(code)
    ]
    return card(title, "\n".join(lines), body, 62 + 18 * len(code))


def _plot(title: str, steps: Sequence[int], lines: Mapping[str, Sequence[float]], top: float) -> list[str]:
    """One set of axes with its lines; a logarithmic axis where the numbers ask for one."""
    finite = {name: [v for v in line if math.isfinite(v)] for name, line in lines.items()}
    levels, log = _axis([*chain(*finite.values())])
    scale = math.log10 if log else float
    bottom = top + HEIGHT_PX - 20
    least, most = (scale(levels[0]), scale(levels[-1])) if levels else (0.0, 1.0)
    if most - least < 1e-12:
        least, most = least - 0.5, most + 0.5
    across = (WIDTH_PX - LEFT_PX - RIGHT_PX) / max((steps[-1] - steps[0]) if steps else 1, 1)

    def x(step: int) -> float:
        return LEFT_PX + (step - steps[0]) * across

    def y(value: float) -> float:
        return bottom - (scale(value) - least) / (most - least) * (HEIGHT_PX - 46)

    out = [text_element(LEFT_PX, top + 12, title + (" (log)" if log else ""), LIGHT["muted"])]
    out += _levels(levels, y)
    if steps:
        out.append(text_element(LEFT_PX, bottom + 15, str(steps[0]), LIGHT["muted"], mono=True))
        last = f"{say('steps_axis')} {steps[-1]}"
        out.append(text_element(WIDTH_PX - RIGHT_PX, bottom + 15, last, LIGHT["muted"], anchor="end", mono=True))
    ends: list[tuple[float, str, str]] = []
    for number, (name, line) in enumerate(lines.items()):
        ink, dash = INKS[number % len(INKS)], DASHES[number % len(DASHES)]
        out += _line(steps, line, x, y, bottom, ink, dash)
        ends += [(y(value), one_line(name, 19), ink) for value in finite[name][-1:]]
    return out + _names(ends)


def _axis(numbers: Sequence[float]) -> tuple[Sequence[float], bool]:
    if not numbers:
        return (), False
    low, high = min(numbers), max(numbers)
    return (low, high) if high > low else numbers[:1], low > 0 and high / low > 30


def _levels(values: Sequence[float], y: Callable[[float], float]) -> list[str]:
    """Draw a line across the axes at each of the values, with its number."""
    out = []
    for value in values:
        at = y(value)
        out.append(f'<path d="M{LEFT_PX} {at:.1f}H{WIDTH_PX - RIGHT_PX}" stroke="{LIGHT["line"]}"/>')
        out.append(
            text_element(LEFT_PX - 6, at + 4, number_text(value, SUMMARY), LIGHT["muted"], anchor="end", mono=True)
        )
    return out


def _names(ends: list[tuple[float, str, str]]) -> list[str]:
    """Write the name of each line at its end, where no two overlap."""
    out, floor = [], -math.inf
    for at, name, ink in sorted(ends):
        floor = max(at, floor + 13)
        if width(name, MIN_FONT_PX) > 0:
            out.append(text_element(WIDTH_PX - RIGHT_PX + 8, floor + 4, name, ink, bold=True))
    return out


def _line(steps: Sequence[int], line: Sequence[float], x: Any, y: Any, bottom: float, ink: str, dash: str) -> list[str]:
    """One line, broken and marked with a cross where a number is not finite."""
    every = max(1, math.ceil(len(line) / MAX_LINE_POINTS))
    parts, out, pen = [], [], "M"
    for i, (step, value) in enumerate(zip(steps, line, strict=True)):
        if not math.isfinite(value):
            if not math.isnan(value) or i:
                at = x(step)
                out.append(f'<path d="M{at - 4:.1f} {bottom - 8}l8 8m0 -8l-8 8" stroke="{LIGHT["bad"]}" fill="none"/>')
            pen = "M"
        elif i % every == 0 or i == len(line) - 1:
            parts.append(f"{pen}{x(step):.1f} {y(value):.1f}")
            pen = "L"
    if len(parts) == 1:
        at = parts[0][1:].split(" ")
        out.append(f'<circle cx="{at[0]}" cy="{at[1]}" r="3" fill="{ink}"/>')
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return [f'<path d="{"".join(parts)}" fill="none" stroke="{ink}" stroke-width="1.8"{dashes}/>', *out[:40]]
