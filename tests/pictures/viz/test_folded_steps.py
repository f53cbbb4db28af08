"""Each number of each step of folded programs beside sums over the members that PyTorch computed.

The same program runs under PyTorch, where a hook at every operation notes the gradients sent along its edges. Both
compute in float64, so a number of the picture is exactly the text of PyTorch's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.notebook.api import Recording
from nbautograd.viz.read.model import GraphModel
from nbautograd.viz.read.values import number_text
from tests import needs

from .player_pages import at_each_step
from .test_numbers import shown

torch = needs.package("torch")

Program = Callable[[Any], tuple[Any, dict[str, Any]]]


def loop(steps: int, shape: tuple[int, ...] = ()) -> Program:
    def made(T: Any) -> tuple[Any, dict[str, Any]]:
        x = T.full(shape, 0.3, dtype=T.float64, requires_grad=True)
        w = T.full(shape, 1.01, dtype=T.float64, requires_grad=True)
        h = x
        for _ in range(steps):
            h = T.sin(h * w) + x * 0.1
        return (h.sum() if shape else h), {"x": x, "w": w}

    return made


def layers(T: Any) -> tuple[Any, dict[str, Any]]:
    T.manual_seed(0)
    parts = [part for _ in range(3) for part in (T.nn.Linear(2, 2, dtype=T.float64), T.nn.Tanh())]
    net, x = T.nn.Sequential(*parts), T.tensor([[0.5, -1.0]], dtype=T.float64, requires_grad=True)
    return (net(x) ** 2).sum(), {"x": x, "net": net}


def branches(T: Any) -> tuple[Any, dict[str, Any]]:
    """A block passes two values to the next one, and one of them twice."""

    class Both(T.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            a = T.sin(x)
            return a * 2, T.exp(a)

    class Mix(T.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, a: Any, b: Any) -> Any:
            return T.tanh(a * b) + a

    class Again(T.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x * T.cos(x)

    class Net(T.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.both, self.mix, self.again = Both(), Mix(), Again()

        def forward(self, x: Any) -> Any:
            return self.again(self.mix(*self.both(x)))

    x, net = T.tensor(0.7, dtype=T.float64, requires_grad=True), Net()
    return net(x) * 1.5, {"x": x, "net": net}


PROGRAMS: dict[str, Program] = {
    "loop_16": loop(16), "loop_48": loop(48), "loop_300": loop(300), "loop_1000": loop(1000),
    "vector_12": loop(12, (2,)), "layers": layers, "branches": branches,
}  # fmt: skip


def contributions(program: Program) -> tuple[list[str], dict[tuple[int, int], Any], dict[int, Any]]:
    """PyTorch's operations in running order, with the gradients sent along each edge and those that arrived."""
    y, _ = program(torch)
    nodes, todo = set(), [y.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in nodes:
            nodes.add(node)
            todo += [other for other, _ in node.next_functions]
    ops = sorted((node for node in nodes if not hasattr(node, "variable")), key=lambda node: node._sequence_nr())
    sent: dict[tuple[int, int], Any] = {}
    came: dict[int, Any] = {}
    for number, node in enumerate(ops):

        def note(into: Any, out: Any, number: int = number) -> None:
            sent.update({(number, slot): grad for slot, grad in enumerate(into) if grad is not None})
            came[number] = out[0]

        node.register_hook(note)
    y.backward()
    return [node.name() for node in ops], sent, came


def folded(program: Program) -> Recording:
    with tracing.traced():
        y, names = program(nb)
    return viz.animate(y, namespace={**names, "y": y}, fold=True)


def numbers_of(value: Any) -> list[Any]:
    return [shown(number_text(v))[0] for v in value.reshape(-1).tolist()]


class Oracle:
    """The expected texts of lines after some operations have run."""

    def __init__(self, program: Program, model: GraphModel) -> None:
        self.names, self.sent, self.came = contributions(program)
        whole = self.whole = model.entire
        assert [whole.by_id[key].name for key in whole.order] == self.names
        self.order = {key: i for i, key in enumerate(whole.order)}
        self.members: dict[str, list[Any]] = {}
        for edge in whole.edges:
            line = model.stands.get(edge.id, edge.id)
            if edge.kind == "flow" and line:
                self.members.setdefault(line, []).append(edge)

    def terms(self, line: str, ran: set[str]) -> list[Any]:
        return [self.sent[self.order[edge.dst], edge.slot] for edge in self.members[line] if edge.dst in ran]

    def total(self, line: str, ran: set[str]) -> Any:
        return torch.stack(self.terms(line, ran)).sum(0)


READ = """() => {
    const text = (e) => e.textContent.replaceAll('\\u00a0', ' ');
    const player = document.querySelector('.nb-player'), cells = {};
    for (const group of document.querySelectorAll('.nb-stage [data-cells]')) {
        if (group.childElementCount) cells[group.dataset.cells] = [...group.querySelectorAll('text')].map(text);
    }
    const labels = [...player.querySelectorAll('[data-label]')].filter((e) => e.textContent);
    const all = (selector) => [...player.querySelectorAll(selector)].map(text);
    const bar = (part) => [...player.querySelectorAll(`.nb-is-${part}`)].map((e) =>
        [text(e.querySelector('.nb-equation-head b')), [...e.querySelectorAll('text')].map(text)]);
    const wide = [...player.querySelectorAll('.nb-tile text, .nb-cells text')].filter((e) => {
        const room = e.parentNode.querySelector('rect:not(.nb-cells-back)').getBoundingClientRect().width;
        return e.getBoundingClientRect().width > room + 0.5;
    });
    return { labels: Object.fromEntries(labels.map((e) => [e.dataset.label, text(e)])), cells, title: all('.nb-title'),
        upstream: bar('upstream'), sent: bar('sent'), factor: bar('factor'), pairs: all('.nb-side .nb-pair'),
        words: all('.nb-equation-words'), whole: player.innerText, wide: wide.map(text) };
}"""


def drawn_numbers(read: dict[str, Any], line: str) -> list[Any] | None:
    """Return the numbers on a line: its cells or its text; nothing if it has neither."""
    if line in read["cells"]:  # which hide numbers without room
        return [shown(text)[0] for text in read["cells"][line]] or None
    text = read["labels"].get(line, "")
    return shown(text) if text and text != "Σ" else None


@pytest.mark.browser
@needs.chromium
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_number_of_every_step_is_a_sum_over_members(open_page: Any, name: str) -> None:
    program = PROGRAMS[name]
    recording = folded(program)
    model, frames = recording.scenes[0], recording.timeline.frames
    oracle, lines = Oracle(program, model), [edge for edge in model.edges if edge.kind == "flow"]
    large = any(frame.count > 1 for frame in frames)
    page = open_page(recording, viewport={"width": 2400, "height": 1400})  # where the whole graph is visible
    groups, sums, compared = 0, 0, 0
    at = 0
    ran: set[str] = set()
    for step, read in enumerate(at_each_step(page, READ), 1):
        node = model.by_id.get(title_node(model, frames, at) or "")
        end = at + 1
        while end < len(frames) and node is not None and node.kind == "group" and together(model, frames, end):
            end += 1
        active = {model.stands.get(key, key) for frame in frames[at:end] for key in frame.active}
        for frame in frames[at:end]:
            if frame.kind == "op":
                ran |= members(model, frame.node) if large else {frame.node}
        at = end
        assert read["wide"] == []
        assert re.findall(r"∂[\\d,]+ operations", read["whole"]) == []
        for line in lines:
            numbers = drawn_numbers(read, line.id)
            if numbers is None:
                continue
            assert line.id not in model.mixed
            assert numbers == numbers_of(oracle.total(line.id, ran)), (step, line)
            compared += 1
            sums += len(oracle.terms(line.id, ran)) > 1
        if node is not None and node.kind == "op" and read["sent"]:
            (_, came_cells), (_, sent_cells) = read["upstream"][0], read["sent"][0]
            leaving = [drawn_numbers(read, e.id) for e in lines if e.dst == node.id]
            assert not came_cells or [shown(text)[0] for text in came_cells] == numbers_of(
                oracle.came[oracle.order[node.id]]
            )
            assert not sent_cells or [shown(text)[0] for text in sent_cells] in leaving or None in leaving
        if node is None or node.kind != "group":
            continue
        groups += 1
        assert not read["factor"] and "grows" not in " ".join(read["words"])
        came = [n for e in lines if e.src == node.id and (n := drawn_numbers(read, e.id)) is not None]
        own = [e for e in lines if e.dst == node.id and e.id in active and e.id not in model.mixed]
        went = [n for e in own if (n := drawn_numbers(read, e.id)) is not None]
        told = {part: [[shown(text)[0] for text in cells] for _, cells in read[part]] for part in ("upstream", "sent")}
        sent = [numbers_of(oracle.total(e.id, ran)) for e in own]
        assert all(numbers in came for numbers in told["upstream"] if numbers)
        assert all(numbers in sent for numbers in told["sent"] if numbers)
        assert all(numbers in told["sent"] or [] in told["sent"] or read["pairs"] for numbers in went)
        for pair in read["pairs"]:  # nodes without a tile
            assert [shown(pair)[-1]] in [*came, *went]
    assert at == len(frames) and compared and groups
    assert sums or not model.several
    assert page.troubles == []


def title_node(model: GraphModel, frames: Any, at: int) -> str:
    key = frames[at].node
    return model.stands.get(key, key)


def together(model: GraphModel, frames: Any, end: int) -> bool:
    """Return whether a frame belongs to the step of the one before it, with the additions to leaves."""
    if "start" in (frames[end - 1].kind, frames[end].kind):
        return False

    def near(at: int, by: int) -> str:
        def node() -> str:
            return title_node(model, frames, at)

        while 0 <= at < len(frames) and frames[at].kind == "accumulate" and model.by_id[node()].kind == "leaf":
            at += by
        return node() if 0 <= at < len(frames) else ""

    return near(end - 1, -1) == near(end, 1)


def members(model: GraphModel, key: str) -> set[str]:
    """The operations that are drawn as one node."""
    return {op for op in model.entire.order if model.stands.get(op, op) == key}


def test_lines_with_several_values_have_no_number() -> None:
    recording = folded(branches)
    model = recording.scenes[0]
    both = [edge for edge in model.edges if edge.id in model.mixed]
    assert len(both) == 1 and both[0].count == 3
    state = recording.timeline.final(0).seen_in(model)
    assert state.labels[both[0].id] == "" and state.edge_tiles[both[0].id] == -1
    assert np.isfinite([float(text) for key, text in state.labels.items() if key != both[0].id]).all()
