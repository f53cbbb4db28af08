"""A part of a drawing looks the same in a still picture and in the player, in each kind and state."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

import pytest

from nbautograd.viz.draw.states import LINES, LOOKS, look
from nbautograd.viz.draw.theme import PATHS
from nbautograd.viz.notebook.scripts import player_css, static
from tests import needs

KINDS = ("op", "leaf", "output", "constant", "variable", "op group", "leaf group")
STATES = {"edge": ("constant", "used"), "flow": ("active", "done", "bad"), "label": ("active", "bad")}
STATES_OF_NODES = ("active", "done", "bad", "freed")
PARTS = {part for parts, *_ in LOOKS for part in parts.split()}


def subsets(states: tuple[str, ...]) -> list[str]:
    """Return all combinations of states, as text."""
    every = chain.from_iterable(combinations(states, n) for n in range(len(states) + 1))
    return [" ".join(some) for some in every]


def every_look() -> list[tuple[str, str]]:
    """Return each part in each kind and state."""
    lines = [(part, states) for part in LINES for states in subsets(STATES[part])]
    in_nodes = sorted(PARTS.difference(LINES, {"head-done"}))  # which has the color of its line in the player
    return lines + [
        (part, f"{kind} {states}") for part in in_nodes for kind in KINDS for states in subsets(STATES_OF_NODES)
    ]


def element(part: str, states: str) -> str:
    classes = "".join(f" nb-{state}" for state in states.split())
    if part in LINES:
        return f'<path class="nb-{part}{classes}" data-look=""/>'
    return f'<g class="nb-node{classes}"><rect class="nb-{part}" data-look=""/></g>'


def as_computed(name: str, value: str) -> str:
    """Write a value as a browser does."""
    if value.startswith("#"):
        return f"rgb({', '.join(str(int(value[i : i + 2], 16)) for i in (1, 3, 5))})"
    return {"stroke-width": f"{value}px", "stroke-dasharray": ", ".join(f"{n}px" for n in value.split())}.get(
        name, value
    )


@pytest.mark.browser
@needs.chromium
def test_the_style_sheet_says_what_the_attributes_say(browser: Any) -> None:
    page = browser.new_page(reduced_motion="reduce", color_scheme="light")
    looks = every_look()
    drawn = "".join(element(part, states) for part, states in looks)
    page.set_content(
        f'<!doctype html><style>{player_css()}</style><div class="nb-player" data-nb-theme="light">'
        f'<div class="nb-stage"><svg>{drawn}</svg></div></div>'
    )
    shown = page.evaluate("""() => [...document.querySelectorAll("[data-look]")].map((e) => {
        const look = getComputedStyle(e);
        return Object.fromEntries(["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-weight"]
            .map((name) => [name, look.getPropertyValue(name)]));
    })""")
    page.close()
    wrong = [
        (part, states, name, seen[name], value)
        for (part, states), seen in zip(looks, shown, strict=True)
        for name, value in look(part, states).items()
        if seen[name] != as_computed(name, value)
    ]
    assert len(looks) > 500 and wrong == []


def test_every_state_of_the_table_is_one_that_is_tried() -> None:
    tried = {*STATES_OF_NODES, *chain(*STATES.values()), *" ".join(KINDS).split()}
    assert {state.lstrip("-") for _, when, _ in LOOKS for state in when.split()} <= tried
    assert {*LINES, "shape"} < PARTS


def test_the_player_repeats_the_colors_of_paths_as_a_still_picture_does() -> None:
    assert f"const HUES = {len(PATHS)};" in static("paths.js")
    assert player_css().count("--nb-hue: ") == len(PATHS)
