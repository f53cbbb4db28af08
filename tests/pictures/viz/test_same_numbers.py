"""The equation's numbers are those of the picture: what comes in stands on the edge that comes in, what leaves as well.

They are compared in all programs of these tests, in each step of each view: whole, and with its groups closed.
"""

from __future__ import annotations

from typing import Any

import pytest

from nbautograd.viz.capture.timeline import in_view
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


READ = """() => {
    const slider = document.querySelector('.nb-slider'), found = [];
    const texts = (e) => [...e?.querySelectorAll('text') || []].map((text) => text.textContent).join(' ');
    const shown = (edge) => texts(document.querySelector(`.nb-stage [data-cells="${edge}"]`))
        || document.querySelector(`[data-label="${edge}"]`)?.textContent.replaceAll('\\u00a0', ' ') || '';
    for (let step = 1; step <= Number(slider.max); step++) {
        slider.value = step;
        slider.dispatchEvent(new Event('input'));
        const edges = {};
        for (const flow of document.querySelectorAll('.nb-flow.nb-active')) {
            edges[flow.dataset.flow] = shown(flow.dataset.flow);
        }
        const tabs = document.querySelectorAll('.nb-edge-tab').length || 1;
        for (let tab = 0; tab < tabs; tab++) {
            document.querySelectorAll('.nb-edge-tab')[tab]?.click();
            const part = (name) => [...document.querySelectorAll(`[data-part=${name}]`)].map(texts);
            const node = document.querySelector('.nb-stage .nb-active[data-node]')?.dataset.node;
            found.push({ step, node, edges, came: part('upstream'), sent: part('sent') });
        }
    }
    return found;
}"""
ON_SCREEN = ("first_seed", "second_seed", "perceptron", "folded_loop")


def plain(text: str) -> str:
    """A number as cells have it: without the point that PyTorch writes behind a whole one."""
    return text.replace(". ", " ").removesuffix(".")


def wrong(recording: Recording, found: list[dict[str, Any]]) -> tuple[list[Any], int]:
    """The equations whose numbers are not on the edges, and how many numbers were compared."""
    ends: dict[str, tuple[set[str], set[str]]] = {}  # of all views: a closed group stands for its members
    for scene in range(len(recording.scenes)):
        for edge in [edge for model in views(recording, scene) for edge in model.edges]:
            own = ends.setdefault(edge.id, (set(), set()))
            own[0].add(edge.src)
            own[1].add(edge.dst)
    bad, compared = [], 0
    for read in found:
        for part, end in (("came", 0), ("sent", 1)):
            near = [plain(text) for edge, text in read["edges"].items() if text and read["node"] in ends[edge][end]]
            drawn = [plain(text) for text in read[part] if text]
            if not near or not drawn or len(near) < len(drawn):
                continue  # boxes without room for numbers
            compared += len(drawn)
            if not set(drawn) <= set(near):
                bad.append((read["step"], part, drawn, near))
    return bad, compared


@pytest.mark.browser
@needs.chromium
@pytest.mark.parametrize("name", ON_SCREEN)
def test_on_the_screen(open_page: Any, name: str) -> None:
    recording = EVERY[name]()
    page = open_page(recording, viewport={"width": 1280, "height": 800})
    bad, compared = wrong(recording, page.evaluate(READ))
    assert bad == []
    assert compared and page.troubles == []
