"""Loops with shared weights are drawn as a grid: a column per step, the same operation in the same row, rails above."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import nn, viz
from nbautograd._engine.core import tracing
from nbautograd.viz.draw.boxes import measure
from nbautograd.viz.draw.layout import Layout
from nbautograd.viz.draw.loop_grid import grid
from nbautograd.viz.notebook import figure
from nbautograd.viz.notebook.api import Recording
from nbautograd.viz.notebook.arranging import arrange
from nbautograd.viz.notebook.figure import LAPTOP
from nbautograd.viz.read.builder import build
from nbautograd.viz.read.levels import loop_of
from nbautograd.viz.read.model import GraphModel
from tests import needs

from .gallery import PROGRAMS
from .test_long_chains import NEAR, steps

STEPS = 5


def recurrent(steps: int = STEPS) -> Recording:
    Wx, Wh = nb.randn(3, 2, requires_grad=True), nb.randn(3, 3, requires_grad=True)
    b, xs, h = nb.zeros(3, requires_grad=True), nb.randn(steps, 2), nb.zeros(3)
    for t in range(steps):
        h = nb.tanh(Wx @ xs[t] + Wh @ h + b)
    return viz.animate((h**2).sum())


def cell(kind: Any) -> Callable[[], Recording]:
    def make() -> Recording:
        module, xs, state = kind(2, 3), nb.randn(STEPS, 2), None
        for t in range(STEPS):
            state = module(xs[t], state)
        h = state[0] if isinstance(state, tuple) else state
        return viz.animate((h**2).sum())

    return make


def scalar() -> Recording:
    w, h = nb.tensor(0.5, requires_grad=True), nb.tensor(1.0, requires_grad=True)
    for _ in range(STEPS):
        h = h * w + 1
    return viz.animate(h)


def loss_of_every_step() -> Recording:
    w, v = nb.randn(3, 3, requires_grad=True), nb.randn(3, requires_grad=True)
    h, outs = nb.ones(3), []
    for _ in range(STEPS):
        h = nb.tanh(w @ h)
        outs.append(h @ v)
    return viz.animate(nb.stack(outs).sum())


LOOPS = {
    "rnn": recurrent,
    "rnn cell": cell(nn.RNNCell),
    "gru cell": cell(nn.GRUCell),
    "lstm cell": cell(nn.LSTMCell),
    "scalar": scalar,
    "outputs": loss_of_every_step,
}


NAMES = {name: [f"t = {t}" for t in range(STEPS)] for name in ("rnn cell", "gru cell", "lstm cell")} | {
    "rnn": [f"turn {t}" for t in range(STEPS)],
    "scalar": [f"turn {t}" for t in range(STEPS)],
    "outputs": [f"turn {t}" for t in range(1, STEPS)],  # the first one differs, without a gradient for h
}


def traced(make: Callable[[], Recording]) -> Recording:
    nb.manual_seed(0)
    with tracing.traced():
        return make()


def overlap(a: Any, b: Any) -> bool:
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


def crossed(places: Layout, model: GraphModel) -> list[tuple[str, str]]:
    """The lines that run straight across or down through a box that is not their end."""
    bad = []
    for edge in model.edges:
        for (x0, y0), (x1, y1) in pairwise(places.routes[edge.id]):
            if x0 != x1 and y0 != y1:
                continue
            for key, box in places.boxes.items():
                wide = min(x0, x1) < box.x + box.width - 1 and max(x0, x1) > box.x + 1
                high = min(y0, y1) < box.y + box.height - 1 and max(y0, y1) > box.y + 1
                if wide and high and key not in (edge.src, edge.dst):
                    bad.append((edge.id, key))
    return bad


@pytest.mark.parametrize("name", LOOPS)
def test_steps_are_columns_of_alike_rows_and_nothing_lies_on_anything(name: str) -> None:
    shown = traced(LOOPS[name])
    model, places = shown.scenes[0], shown.place(0)
    loop = loop_of(model)
    assert loop is not None and loop.steps in (STEPS, STEPS - 1)
    assert [text for _, text in places.headings] == NAMES[name]
    boxes = list(places.boxes.items())
    assert [(a, b) for i, (a, x) in enumerate(boxes) for b, y in boxes[i + 1 :] if overlap(x, y)] == []
    assert all(x.x >= 0 and x.y >= 0 for x in places.boxes.values())
    assert all(x.x + x.width <= places.width and x.y + x.height <= places.height for x in places.boxes.values())
    assert crossed(places, model) == []
    columns = [[n for n in model.nodes if loop.place.get(n.id) == i and n.kind == "op"] for i in range(loop.steps)]
    assert len({len(column) for column in columns[1:-1]}) == 1
    middles = [sorted((n.name, round(places.boxes[n.id].center[1])) for n in column) for column in columns[1:-1]]
    assert all(rows == middles[0] for rows in middles)  # the same operation in the same row
    lefts = [min(places.boxes[n.id].x for n in column) for column in columns]
    rights = [max(places.boxes[n.id].x + places.boxes[n.id].width for n in column) for column in columns]
    assert all(right < left for right, left in zip(rights, lefts[1:], strict=False))
    for edge in model.edges:  # each shared weight has a branch to each step that uses it, which leaves a rail above
        if edge.src in loop.shared:
            x, y = places.joints[edge.id]
            assert y < min(box.y for box in places.boxes.values() if box.x > 200) and x <= places.width
            assert places.branches[edge.id][0] == (x, y)


def test_the_same_places_in_every_window_and_in_the_still(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = traced(recurrent)
    drawn = shown.data()["svgs"][0]
    assert len(drawn) == 1  # one for all windows
    boxes = [line for line in drawn[0].splitlines() if 'class="nb-shape"' in line]
    at = {line.split(' width="')[0] for line in boxes}
    monkeypatch.setattr(figure, "STILL", (9000.0, 9000.0))  # in which the whole is visible, with nothing folded
    still = shown.svg
    assert at <= {line.split(' width="')[0] for line in still.splitlines()}
    assert still.count('data-joint="') == drawn[0].count('data-joint="') == 3 * STEPS
    assert still.count("nb-joint nb-full") == 3 * STEPS and "nb-joint nb-full" not in drawn[0]


def test_an_opened_loop_has_a_column_for_each_folded_step() -> None:
    shown = traced(lambda: recurrent(8))
    folded = shown.view(0, ["L1"])
    assert loop_of(folded) is None  # steps are drawn as one
    opened = [group.id for group in folded.groups if group.closed and group.times >= 7]
    view = shown.view(0, ["L1", *opened])
    loop = loop_of(view)
    assert loop is not None and loop.steps == 8
    assert sum(node.kind == "group" for node in view.nodes) >= 6


@pytest.mark.sweep
def test_no_grid_where_there_is_no_such_loop() -> None:
    for name in ("first_seed", "second_seed", "perceptron", "convolution", "used_four_times", "folded_loop"):
        assert all(loop_of(scene) is None for scene in PROGRAMS[name]().scenes), name

    def layers() -> Recording:  # the same layer several times, each time with its own weights
        net = nn.Sequential(*[nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(6)])
        return viz.animate(net(nb.randn(2, 3)).sum())

    def independent() -> Recording:  # steps that pass nothing on
        w, xs = nb.randn(3, requires_grad=True), nb.randn(6, 3)
        return viz.animate(nb.stack([(xs[i] * w).sin().exp() for i in range(6)]).sum())

    assert loop_of(traced(layers).scenes[0]) is None
    assert loop_of(traced(independent).scenes[0]) is None


@pytest.mark.sweep
def test_labels_have_the_same_places_in_every_process() -> None:
    """Python gives sets another order in each process; of these labels some stand for several values' gradients."""
    code = """
import nbautograd as nb
from nbautograd import viz
nb.manual_seed(0)
with viz.traced():
    words, cell = nb.nn.Embedding(10, 3), nb.nn.LSTM(3, 2)
    z, _ = cell(words(nb.tensor([[1], [2], [3]])))
    y = nb.nn.functional.cross_entropy(z[:, 0], nb.tensor([0, 1, 0]))
print(*(drawing[0] for drawing in viz.animate(y, create_graph=True).data()["svgs"]), sep="\\n")
"""
    told = [
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed},
                       capture_output=True, encoding="utf-8", check=True).stdout
        for seed in ("0", "2")
    ]  # fmt: skip
    assert told[0] == told[1] and told[0].count("<svg") > 1


def test_a_direction_that_is_asked_for_is_kept() -> None:
    shown = traced(recurrent)
    model = shown.scenes[0]
    sizes = {node.id: (80.0, 40.0) for node in model.nodes}
    asked, free = (arrange(model, sizes, direction).places(LAPTOP) for direction in ("LR", None))
    assert asked.direction == "LR"
    assert not asked.headings and free.headings


def test_pytorchs_cell_in_a_loop_is_a_grid() -> None:
    torch = needs.package("torch")
    module, h = torch.nn.RNNCell(2, 3), torch.zeros(1, 3)
    for x in torch.randn(STEPS, 1, 2):
        h = module(x, h)
    shown = viz.animate((h**2).sum(), namespace={"module": module})
    loop = loop_of(shown.scenes[0])
    assert loop is not None and loop.steps == STEPS


def test_a_grid_of_twice_the_steps_takes_twice_the_work() -> None:
    """A search through all nodes for each column makes it more than three times the work."""

    def work(length: int) -> int:
        w, h = nb.tensor(0.5, requires_grad=True), nb.tensor(1.0, requires_grad=True)
        for _ in range(length):
            h = h * w + 1
        model = build(h, {"w": w, "h": h}, budget=10 * length)
        loop = loop_of(model)
        assert loop is not None and loop.steps >= length - 1
        sizes = measure(model)
        return steps(lambda: grid(model, loop, sizes, {}))

    assert work(200) < NEAR * work(100)
