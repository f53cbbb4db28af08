"""Test folding: repeats, named parts, consecutive operations; never a cycle, always the same, with words."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.draw.boxes import graph_text, measure
from nbautograd.viz.draw.layout import layout
from nbautograd.viz.draw.svg import draw
from nbautograd.viz.read import fold
from nbautograd.viz.read.builder import build
from nbautograd.viz.read.model import GraphModel

from .fake_graph import AccumulateGrad, Add, Node, Tensor


def recurrent(steps: int) -> tuple[Any, dict[str, Any]]:
    W, U, b = (nb.ones(2, 2, requires_grad=True) for _ in range(3))
    x, h = nb.ones(2, 2), nb.zeros(2, 2)
    for _ in range(steps):
        h = nb.tanh(x @ U + h @ W + b)
    loss = h.sum()
    return loss, {"W": W, "U": U, "b": b, "h": h, "loss": loss}


def stack(layers: int) -> tuple[Any, dict[str, Any]]:
    x = nb.ones(2, 2)
    Ws = [nb.ones(2, 2, requires_grad=True) for _ in range(layers)]
    for W in Ws:
        x = nb.relu(x @ W)
    loss = x.sum()
    return loss, {"Ws": Ws, "loss": loss}


def symbols(model: GraphModel) -> list[str]:
    return [node.symbol for node in model.nodes if node.kind == "group"]


def is_sound(model: GraphModel) -> bool:
    """Every edge between existing nodes, and no cycle (a layout rejects one)."""
    assert len(model.by_id) == len(model.nodes) and len({e.id for e in model.edges}) == len(model.edges)
    layout(model, {node.id: (40.0, 20.0) for node in model.nodes})
    return all(edge.src in model.by_id and edge.dst in model.by_id for edge in model.edges)


@pytest.mark.parametrize("traced", [False, True])
def test_the_steps_of_a_loop_fold_and_the_last_one_stays(traced: bool) -> None:
    with tracing.traced(traced):
        loss, names = recurrent(12)
    model = build(loss, names, fold=True)
    assert is_sound(model)
    assert symbols(model) == ["×10"]
    (group,) = (node for node in model.nodes if node.kind == "group")
    assert group.name == "mm · mm · add · add · tanh" and group.members == 50 and group.times == 10
    assert (group.source == "h = nb.tanh(x @ U + h @ W + b)") == traced
    assert sum(node.name == "TanhBackward0" for node in model.nodes) == 2  # of the first and the last step
    assert model.label == "loss → 3 leaves, 61 operations"
    assert model.notes == ("folded: of 61 operations 11 are drawn one by one, the others in one group",)
    assert [(node.name, node.arrivals) for node in model.leaves] == [("W", 12), ("U", 12), ("b", 12)]


def test_leaves_that_go_to_one_group_are_a_pile() -> None:
    loss, names = stack(12)
    model = build(loss, names, fold=True)
    assert is_sound(model)
    piles = [node for node in model.nodes if node.kind == "pile"]
    assert [(node.symbol, node.name, node.members) for node in piles] == [("10 leaves", "Ws[1] … Ws[10]", 10)]
    assert [node.name for node in model.leaves] == ["Ws[0]", "Ws[11]"]


def test_a_small_graph_is_not_folded_unless_asked() -> None:
    loss, names = stack(12)
    model = build(loss, names)
    assert symbols(model) == [] and model.notes == () and model.whole is None
    assert [(g.kind, g.label, g.times, len(g.members)) for g in model.groups][:2] == [
        ("loop", "×11", 11, 22),
        ("loop", "×10", 10, 20),
    ]
    assert fold.view(model, fold=True).to_json() == build(loss, names, fold=True).to_json()


def test_beyond_the_budget_it_folds_by_itself_and_says_so() -> None:
    loss, names = recurrent(400)
    model = build(loss, names)
    assert len(model.nodes) < 30 and is_sound(model)
    assert "folded: of 2,001 operations" in model.notes[0]
    assert model.notes[0] in graph_text(model) and model.notes[0] in draw(model)


def test_a_group_opens_and_closes() -> None:
    loss, names = recurrent(12)
    model = build(loss, names, fold=True)
    (closed,) = (group for group in model.groups if group.closed)
    opened = fold.view(model, opened=[closed.id], fold=True)
    assert is_sound(opened) and set(symbols(opened)) == {f"turn {i}" for i in range(10)}
    again = fold.view(opened, fold=True)
    assert again.to_json() == model.to_json()
    assert fold.view(model).notes == ()  # all of it, because it is small


def test_what_is_opened_beyond_the_budget_stays_open() -> None:
    """Other groups make room for it, and what is too much inside is divided again."""
    loss, names = recurrent(400)
    model = build(loss, names)
    (loop,) = (group for group in model.groups if group.closed)
    opened = build(loss, names, opened=[loop.id])
    assert is_sound(opened) and len(opened.nodes) < 300
    inner = [group for group in opened.groups if group.closed and set(group.members) < set(loop.members)]
    assert len(inner) > 5
    deeper = fold.view(opened, opened=[loop.id, inner[0].id])
    assert is_sound(deeper) and inner[0].id not in {group.id for group in deeper.groups if group.closed}
    assert symbols(fold.view(deeper)) == symbols(model)


def network(depth: int = 3) -> tuple[Any, dict[str, Any]]:
    nb.manual_seed(0)
    layers = [nb.nn.Linear(2, 2) for _ in range(depth)]
    net = nb.nn.Sequential(layers[0], nb.nn.Tanh(), *layers[1:])
    with tracing.traced():
        loss = net(nb.ones(4, 2)).sum()
    return loss, {"net": net, "loss": loss}


def test_layers_come_first() -> None:
    loss, names = network()
    model = viz.graph(loss, namespace=names).model
    assert is_sound(model) and symbols(model) == ["Linear"] * 3
    assert [node.name for node in model.nodes if node.kind == "op"] == ["SumBackward0", "TanhBackward0"]
    everything = viz.graph(loss, namespace=names, fold=False).model
    assert symbols(everything) == [] and len(everything.nodes) > len(model.nodes)
    assert fold.view(model).to_json() == everything.to_json()


def test_layers_open_by_name_and_by_id() -> None:
    loss, names = network()
    model = viz.graph(loss, namespace=names).model
    first = model.groups[1]
    assert (first.label, first.closed) == ("Linear", True)
    assert symbols(viz.graph(loss, namespace=names, opened=[first.id]).model) == ["Linear"] * 2
    assert symbols(viz.graph(loss, namespace=names, opened="Linear").model) == []
    with pytest.raises(TypeError, match="opened must hold names of layers or ids of groups, got int"):
        viz.graph(loss, namespace=names, opened=[3])  # type: ignore[list-item]


def test_one_layer_is_not_folded() -> None:
    loss, names = network(1)
    assert symbols(viz.graph(loss, namespace=names).model) == []


def test_each_part_of_the_whole_has_something_that_stands_for_it() -> None:
    loss, names = recurrent(60)
    model = build(loss, names)
    whole = model.entire
    drawn = {node.id for node in model.nodes} | {edge.id for edge in model.edges}
    for part in (*whole.nodes, *whole.edges):
        assert model.stands.get(part.id, part.id) in drawn | {""}
    inside = [edge for edge in whole.edges if model.stands.get(edge.src) == model.stands.get(edge.dst, "-")]
    assert inside and all(model.stands[edge.id] == "" for edge in inside)


def test_the_nearest_operations_keep_notes_and_groups() -> None:
    loss, names = recurrent(60)
    model = build(loss, names)
    near = fold.nearest(model, 3)
    assert is_sound(near) and near.notes == (*model.notes, "only what is at most 3 operations from the result is drawn")
    assert near.label == model.label and len(near.nodes) < len(model.nodes)
    far = fold.nearest(model, 100)
    assert far.groups == model.groups and symbols(far) == symbols(model) and far.notes == model.notes
    ET.fromstring(draw(near))


def test_a_loop_in_a_loop() -> None:
    w = nb.tensor(1.0, requires_grad=True)
    y = w
    for _ in range(6):
        for _ in range(5):
            y = (y * w).sin()
        y = y.exp()
    model = build(y, {"y": y, "w": w}, fold=True)
    assert is_sound(model)
    outer = [group for group in model.groups if group.kind == "loop"]
    assert {group.label for group in outer} >= {"×4"} and len(model.nodes) < 25


class Traced:
    """The trace of an operation that ran in a named block."""

    filename, lineno, code, operands, value, shape, dtype = "f", 1, None, (), None, (1,), "float32"

    def __init__(self, scope: tuple[Any, ...]) -> None:
        self.scope = scope

    def output(self) -> None:
        return None


class Scoped(Add):
    """An operation with a name for the block it ran in."""


def scoped(names: list[tuple[str, ...]]) -> Tensor:
    leaf = Tensor([1.0])
    last: Any = AccumulateGrad(leaf)
    for scope in names:
        node = Scoped("AddBackward0", ((last, 0), (None, 0)))
        node.trace = Traced(scope)
        last = node
    return Tensor([1.0], last)


def test_named_blocks_are_groups() -> None:
    root = scoped([("net", "first")] * 3 + [("net", "second")] * 2 + [()] * 2)
    model = build(root, {"y": root})
    assert [(g.kind, g.label, len(g.members)) for g in model.groups] == [
        ("scope", "net", 5),
        ("scope", "first", 3),
        ("scope", "second", 2),
    ]
    assert [g.parent for g in model.groups] == ["", model.groups[0].id, model.groups[0].id]
    assert [node.scope for node in model.nodes if node.kind == "op"][-1] == ("net", "first")
    folded = fold.view(model, budget=5)
    assert is_sound(folded) and "net" in symbols(folded)


def test_the_same_block_entered_again_is_another_group() -> None:
    root = scoped([(("cell", 1),)] * 2 + [(("cell", 2),)] * 2)
    assert [(g.label, len(g.members)) for g in build(root, {}).groups] == [("cell", 2), ("cell", 2)]


def test_events_of_hidden_operations_find_their_group() -> None:
    loss, names = recurrent(400)
    model = build(loss, names)
    node = loss.grad_fn
    found = set()
    while node is not None and hasattr(node, "next_functions") and node.next_functions:
        found.add(model.handles.of(node))
        node = next((to for to, _ in node.next_functions if to is not None and not hasattr(to, "variable")), None)
    assert None not in found and {model.stands.get(key, key) for key in found} <= set(model.by_id)


def test_a_recording_of_a_folded_graph() -> None:
    loss, names = recurrent(60)
    passes = viz.animate(loss, namespace=names)
    assert names["W"].grad is not None
    assert "×58" in passes.text and "×59" in passes.svg  # one level higher, so that the whole is visible
    ET.fromstring(passes.svg)


@st.composite
def dags(draw: st.DrawFn) -> Tensor:
    leaves: list[Any] = [AccumulateGrad(Tensor([1.0])) for _ in range(draw(st.integers(1, 4)))]
    made, count = list(leaves), draw(st.integers(1, 60))
    for choice in draw(st.lists(st.integers(0, 2 * 3 * 12**4 - 1), min_size=count, max_size=count)):
        choice, is_product = divmod(choice, 2)  # one number is drawn for each node, which is faster than one for each
        choice, inputs = divmod(choice, 3)  # of its properties
        choice, near = divmod(choice, 12)
        backs = [choice // 12**i % 12 % min(near + 1, len(made)) for i in range(inputs + 1)]
        name = "MulBackward0" if is_product else "AddBackward0"
        made.append(Node(name, tuple((made[-1 - back], 0) for back in backs)))
    return Tensor([1.0], made[-1])


@pytest.mark.sweep
@given(dags(), st.integers(3, 30))
@settings(max_examples=100)
def test_any_graph_folds_without_a_cycle(root: Tensor, budget: int) -> None:
    for fold_it in (False, True):
        model = build(root, {}, budget=budget, fold=fold_it)
        assert is_sound(model) and model == build(root, {}, budget=budget, fold=fold_it)
        ops = sum(node.members or 1 for node in model.nodes if node.kind == "op" or (node.symbol and not node.dtype))
        assert model.counts is None or ops >= 1
        hidden = {key for group in model.groups if group.closed for key in group.members}
        assert not hidden & {node.id for node in model.nodes}


@pytest.mark.parametrize("steps", [200, 2000])
def test_the_first_picture_of_a_long_loop_is_small(steps: int) -> None:
    """Check that placing and drawing depend on the visible boxes, not on the steps."""
    with tracing.traced():
        loss, names = recurrent(steps)
    model = build(loss, names)
    svg = draw(model, layout(model, measure(model)))
    assert len(model.nodes) < 100 and len(svg) < 100_000


@pytest.mark.parametrize("budget", [2, 10, 20])
def test_open_layers_that_are_larger_than_the_budget_are_drawn(budget: int) -> None:
    net = nb.nn.Sequential(*[nb.nn.Sequential(nb.nn.Linear(2, 2), nb.nn.ReLU(), nb.nn.Linear(2, 2)) for _ in range(9)])
    with tracing.traced():
        y = net(nb.ones(1, 2)).sum()
    model = build([y], {"net": net, "y": y}, opened=("Sequential",), budget=budget)
    assert is_sound(model) and len(model.nodes) > budget


@pytest.mark.parametrize(
    ("names", "written"),
    [
        (["mul"] * 8, "mul · mul · mul · mul · mul · mul · mul · mul"),
        (["mul"] * 6 + ["add"] * 2 + ["exp"], "mul ×6 · add ×2 · exp"),
        (["mul"] * 6 + ["add", "exp", "neg"], "mul ×6 · add · exp · neg"),
        (["mul"] * 6 + ["add", "exp", "neg", "sin"], "mul ×6 · add · exp · neg · …"),
    ],
)
def test_of_more_than_eight_operations_the_words_of_a_group_are_counts(names: list[str], written: str) -> None:
    assert fold._operations(names) == written


def test_constants_are_hidden_inside_of_a_closed_group_only() -> None:
    with tracing.traced():
        w = nb.tensor([0.5, 1.0], requires_grad=True)
        inner, outer = nb.tensor([2.0, 3.0]), nb.tensor([4.0, 5.0])
        h = w
        for _ in range(12):
            h = nb.tanh(h * inner)
        y = (h * outer).sum()
    model = build(y, {"w": w, "inner": inner, "outer": outer, "y": y}, fold=True)
    assert [(node.name, node.symbol) for node in model.nodes if node.kind == "group"] == [("mul · tanh", "×10")]
    shown = [node.name for node in model.nodes if node.kind == "constant"]
    assert sorted(shown) == ["inner", "inner", "outer"]  # of the first and the last step, which are open
