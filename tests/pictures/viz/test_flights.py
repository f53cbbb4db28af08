"""Numbers that fly between the drawing and the equation: each leaves from its edge or its cell, and lands at the other.

The page notes the start and end of each flight in its layout at that time, and compares them with the text of the edge
after the step.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests import needs

from .gallery import PROGRAMS
from .player_pages import hurry, layer, unfold

needs.package("playwright")

pytestmark = [pytest.mark.browser, needs.chromium]

NEAR = 30.0  # pixels between two matching positions

PASS = """async () => {
    const root = document.querySelector(".nb-player"), flights = [];
    const middle = (element) => {
        const { x, y, width, height } = element.getBoundingClientRect();
        return [x + width / 2, y + height / 2];
    };
    const animate = Element.prototype.animate;
    Element.prototype.animate = function (...args) {
        const flight = animate.apply(this, args);
        if (!this.classList.contains("nb-flying")) return flight;
        const { duration } = flight.effect.getComputedTiming(), at = (time) => {
            flight.currentTime = time;
            return middle(this);
        };
        const cells = Object.fromEntries(["upstream", "sent"].map((part) =>
            [part, middle(document.querySelector(`.nb-is-${part} .nb-tile`))]));
        flights.push({ edge: this.dataset.edge, starts: at(0), ends: at(duration - 0.001), cells,
            text: this.textContent });
        flight.currentTime = duration - 1;
        return flight;
    };
    const request = window.requestAnimationFrame.bind(window), cancel = window.cancelAnimationFrame.bind(window);
    const asked = new Set(); // callbacks of the next animation frame: of what moves in steps
    window.requestAnimationFrame = (callback) => {
        const id = request((now) => { asked.delete(id); callback(now); });
        asked.add(id);
        return id;
    };
    window.cancelAnimationFrame = (id) => { cancel(id); asked.delete(id); };
    const place = (edge) => {
        const shown = [`[data-label="${edge}"]`, `[data-cells="${edge}"]`].map((s) => document.querySelector(s));
        return middle(shown.find((element) => element?.getBoundingClientRect().width));
    };
    const last = Number(root.querySelector(".nb-slider").max);
    let seen = [], equations = 0;
    while (Number(root.dataset.step) < last) {
        flights.length = 0;
        root.querySelector(".nb-forward").click();
        do { await new Promise(request); } while (asked.size || root.querySelector(".nb-flying"));
        seen = seen.concat(flights.map((flight) => ({ ...flight, label: place(flight.edge) })));
        equations += root.querySelectorAll(".nb-is-sent .nb-tile").length;
    }
    return [seen, equations];
}"""


def flights_of(page: Any) -> tuple[list[dict[str, Any]], int]:
    """Return all flights of the pass with the position of their edge's text, and the number of equations."""
    unfold(page)  # in a folded step, nothing moves
    page.select_option(".nb-speed", "4", force=True)
    hurry(page, 10)
    flights, equations = page.evaluate(PASS)
    return flights, equations


PAGES = {"seed": PROGRAMS["first_seed"], "recurrent": PROGRAMS["recurrent"], "broadcast": layer}
OTHERS = ("second_seed", "perceptron", "convolution", "used_four_times", "hooked")
SIZES = [*((name, width) for name in PAGES for width in (400, 1280)), *((name, 1280) for name in OTHERS)]


@pytest.mark.parametrize(("name", "width"), SIZES)
def test_every_number_flies_between_its_edge_and_its_cell(open_page: Any, name: str, width: int) -> None:
    page = open_page((PAGES | PROGRAMS)[name], viewport={"width": width, "height": 900}, reduced_motion="no-preference")
    if page.locator(".nb-openable").count():
        page.press(".nb-player", "r")
    flights, equations = flights_of(page)
    wrong = []
    for flight in flights:
        leaves = math.dist(flight["starts"], flight["label"]) < math.dist(flight["ends"], flight["label"])
        label, cell = (flight["starts"], flight["ends"])[:: 1 if leaves else -1]
        own = flight["cells"]["upstream" if leaves else "sent"]
        if math.dist(label, flight["label"]) > NEAR or math.dist(cell, own) > NEAR:
            wrong.append(flight)
    assert wrong == []
    assert len(flights) >= equations > 0  # most steps have two: one arrives, one leaves
    assert page.troubles == []
