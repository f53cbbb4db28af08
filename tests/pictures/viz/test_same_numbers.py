"""The equation's numbers are those of the picture: what comes in stands on the edge that comes in, what leaves as well.

They are compared in all programs of these tests, in each step of each view: whole, and with its groups closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nbautograd.viz.capture.timeline import in_view
from nbautograd.viz.notebook import scripts
from nbautograd.viz.notebook.api import Recording
from nbautograd.viz.read.model import GraphModel
from tests import needs

from .programs import EVERY


def views(recording: Recording, scene: int) -> list[GraphModel]:
    return [recording.timeline.scenes[scene], *recording.levels(scene).values()]


@pytest.mark.parametrize("name", EVERY)
def test_of_each_step_and_view(name: str) -> None:
    recording = EVERY[name]()
    timeline, sent = recording.timeline, 0
    for scene in range(len(timeline.scenes)):
        for model in views(recording, scene):
            sent += check(timeline, scene, model)
    assert sent or all(not frame.chain for frame in timeline.frames)


def check(timeline: Any, scene: int, model: GraphModel) -> int:
    """Compare the numbers of a view's steps with those of its edges; return how many products were sent."""
    on_edges: dict[str, int] = {}
    sent = 0
    for frame in timeline.frames:
        if frame.scene != scene or frame.kind != "op":
            continue
        shown = in_view(frame, model)
        on_edges.update(shown.tiles)
        node = model.stands.get(frame.node, frame.node)
        edges = [edge.id for edge in model.edges if edge.src == node and edge.kind == "flow"]
        came = {on_edges.get(edge, -1) for edge in edges}
        for step in shown.chain:
            assert step.sent == shown.tiles.get(step.edge, -1), frame.title
            sent += 1
            if len(edges) == 1 and step.upstream >= 0 and not step.more:
                assert {step.upstream} == came, frame.title
            elif step.more:  # an operation with several results
                assert came - {-1} <= {step.upstream, *step.more}, frame.title
    return sent


# Adds to the player's script: all equations of a recording beside the edges that the player itself names for them. A
# tile is read as the colors of its cells and, where they have room, their texts.
READER = """
const place = document.getElementById("nb-place");
const texts = (parts) => [...parts].map(({ textContent }) => textContent.replaceAll("\\u00a0", " "));
const fills = (parts) => parts.map((part) => part.style.fill || part.getAttribute("class"));
const painted = (paths) => paths // all cells of one color are one path
    .flatMap((path) => [...path.getAttribute("d").matchAll(/M(-?[\\d.]+) (-?[\\d.]+)/g)]
        .map(([, x, y]) => [Number(y), Number(x), ...fills([path])]))
    .sort(([y, x], [v, u]) => y - v || x - u).map(([, , fill]) => fill);
const onEdge = (edge) => {
    const tile = place.querySelector(`.nb-stage [data-cells="${edge}"]`);
    const paths = [...tile?.querySelectorAll("path:not(.nb-lights, .nb-below)") || []];
    if (paths.length) return [painted(paths), texts(tile.querySelectorAll("text"))];
    const [text] = texts(place.querySelectorAll(`[data-label="${edge}"]`));
    return text ? [[], [text.replace(/\\.$/, "")]] : null; // without the point that PyTorch writes behind a whole one
};
const inStrip = (part) => [...place.querySelectorAll(`[data-part=${part}] .nb-tile`)]
    .map((tile) => [fills([...tile.querySelectorAll("rect")]), texts(tile.querySelectorAll("text"))]);
const differ = (one, other) => one.length > 0 && other.length > 0 && one.join("|") !== other.join("|");

window.read = (data) => {
    const player = new Player(place, data, {}), { equation, groups } = player, bad = [];
    let compared = 0;
    const compare = (part, edges) => inStrip(part).forEach((cell, i) => {
        const edge = edges[i] && onEdge(edges[i]);
        if (!edge || (!edge[0].length && cell[0].length > 1)) return; // boxes without numbers, or no room for a tile
        compared++;
        if (edge.some((said, k) => differ(said, cell[k]))) {
            bad.push([player.root.dataset.step, part, edges[i], edge, cell]);
        }
    });
    const each = () => {
        for (const stop of player.stops) {
            player.go(stop);
            const { frame } = player.state();
            if (frame?.kind !== "op") continue;
            const { received = [], chain = [], tiles = {} } = frame;
            const came = received.length ? received : [cameAlong(equation)];
            if (!chain.length) {
                compare("upstream", received);
                compare("sent", Object.keys(tiles).filter((id) => !received.includes(id)));
            }
            chain.forEach(({ edge }, i) => {
                equation.choose(i);
                compare("upstream", came);
                compare("sent", [edge]);
            });
        }
    };
    each();
    if (groups.closed.length && player.last < 100) {
        groups.toggleEverything();
        each();
    }
    player.destroy();
    return { bad, compared };
};
"""
ON_SCREEN = {  # and how many of the numbers in the strip have a place on their edge
    "first_seed": 10, "second_seed": 10, "perceptron": 18, "folded_loop": 31, "hooked": 6, "sight_attention": 26,
    "told_words": 42, "told_pieces": 49, "told_reductions": 83, "either_layer": 14, "either_views": 8,
    "either_split": 13, "either_written_slice": 17,
}  # fmt: skip


@pytest.fixture(scope="module")
def reading(browser: Any) -> Iterator[Any]:
    """One page that shows one recording after the other."""
    page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    page.troubles = []
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.set_content(
        f'<!doctype html><style>{scripts.player_css()}</style><main id="nb-place"></main>'
        f'<script type="module">{scripts.bundle(*scripts.PLAYER)}{READER}</script>'
    )
    yield page
    page.close()


@pytest.mark.browser
@needs.chromium
@pytest.mark.parametrize("name", ON_SCREEN)
def test_on_the_screen(reading: Any, name: str) -> None:
    found = reading.evaluate("(data) => read(data)", EVERY[name]().data())
    assert found["bad"] == [] and reading.troubles == []
    assert found["compared"] >= ON_SCREEN[name]
