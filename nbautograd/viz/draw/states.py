"""Say in one table how each part of a drawing looks, by kind and state.

A still picture takes its light colors as attributes, the player the same rows as rules of its style sheet.
"""

from __future__ import annotations

from functools import lru_cache

from nbautograd.viz.draw.theme import LIGHT, PATHS

__all__ = ["LOOKS", "attributes", "css", "look"]

LOOKS = (
    ("shape", "", {"fill": "bg", "stroke": "wire", "stroke-width": "1.5"}),
    ("shape", "op", {"fill": "op-bg"}),
    ("shape", "done", {"stroke": "done"}),
    ("shape", "leaf", {"fill": "leaf-bg", "stroke": "leaf"}),
    ("shape", "output", {"fill": "out-bg", "stroke": "out"}),
    ("shape", "constant", {"fill": "op-bg", "stroke-dasharray": "4 3"}),
    ("shape", "op freed -active -bad", {"fill": "bg", "stroke-width": "1"}),
    ("shape", "active", {"stroke": "grad", "stroke-width": "2.6"}),
    ("shape", "op active", {"fill": "grad-bg"}),
    ("shape", "bad", {"fill": "bad-bg", "stroke": "bad"}),
    ("symbol", "", {"fill": "op"}),
    ("sub", "", {"fill": "muted"}),
    ("name value", "", {"fill": "fg"}),
    ("name symbol", "leaf", {"fill": "leaf"}),
    ("name", "output", {"fill": "out"}),
    ("symbol", "op freed -active -bad", {"fill": "muted"}),
    ("symbol sub", "op active", {"fill": "grad"}),
    ("symbol sub", "bad", {"fill": "bad"}),
    ("value", "constant", {"fill": "muted"}),
    ("value", "op bad", {"fill": "bad"}),
    ("saved", "", {"fill": "op", "stroke": "op", "stroke-width": "1"}),
    ("saved", "freed", {"fill": "bg"}),
    ("edge", "", {"stroke": "wire", "stroke-width": "1.3"}),
    ("edge", "constant", {"stroke-dasharray": "3 3"}),
    ("edge", "used", {"opacity": "0.55"}),
    ("flow", "", {"stroke": "done", "stroke-width": "2.2"}),
    ("flow", "active", {"stroke": "grad", "stroke-width": "3"}),
    ("flow", "bad", {"stroke": "bad"}),
    ("label head-active", "", {"fill": "grad"}),
    ("label", "active", {"font-weight": "700"}),
    ("label", "bad", {"fill": "bad"}),
    ("head-wire", "", {"fill": "wire"}),
    ("head-done", "", {"fill": "done"}),
)  # fmt: skip
"""Parts, the kinds and states in which they look like that (not those after a minus sign), and how. Later rows win."""
LINES = ("edge", "flow", "label")
"""The parts that have the classes of states themselves; those of a node have them around."""


@lru_cache(maxsize=1024)
def look(part: str, states: str = "") -> dict[str, str]:
    """Return the attributes of a part, with the light colors.

    >>> look("flow", "active bad")
    {'stroke': '#b3123f', 'stroke-width': '3'}
    """
    have, found = {*states.split()}, dict[str, str]()
    for parts, when, values in LOOKS:
        if part in parts.split() and all(s[1:] not in have if s[0] == "-" else s in have for s in when.split()):
            found |= values
    return {name: LIGHT.get(value, value) for name, value in found.items()}


@lru_cache(maxsize=1024)
def attributes(part: str, states: str = "") -> str:
    """Return the attributes of a part as text, with a space before each."""
    return "".join([f' {name}="{value}"' for name, value in look(part, states).items()])


def css() -> str:
    """Return the table as rules, of which a later one wins, and the colors of paths and of sizes."""
    rules = [f".nb-player .nb-hue-{i} {{ --nb-hue: var(--nb-{color}); }}" for i, color in enumerate(PATHS)]
    rules += [f'.nb-player [data-size="{i}"] {{ --nb-scale: var(--nb-size-{i}); }}' for i in range(5)]
    for parts, when, values in LOOKS:
        having = "".join(f":not(.nb-{state[1:]})" if state[0] == "-" else f".nb-{state}" for state in when.split())
        paint = "; ".join(f"{name}: {f'var(--nb-{v})' if v in LIGHT else v}" for name, v in values.items())
        for part in parts.split():
            line = f".nb-{part}:where({having})" if part in LINES else f":where({having}) > .nb-{part}"
            rules.append(f".nb-player {line if having else f'.nb-{part}'} {{ {paint}; }}")
    return "\n".join(rules)
