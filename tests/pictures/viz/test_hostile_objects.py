"""Objects that lie, raise or are enormous: there is always a picture, and quickly."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.viz.draw.boxes import graph_text, measure, table
from nbautograd.viz.draw.layout import layout
from nbautograd.viz.draw.svg import draw
from nbautograd.viz.escape import columns, fit, ordered, width
from nbautograd.viz.notebook.output import graph_table
from nbautograd.viz.read.builder import build

from .fake_graph import HOSTILE, AccumulateGrad, Add, Node, Tensor


class RaisingError(Exception):
    def __str__(self) -> str:
        raise ValueError("even this")


class Lying(Tensor):
    """Every question is answered with an exception."""

    def __repr__(self) -> str:
        raise RaisingError

    def numpy(self) -> Any:
        raise RaisingError

    @property
    def shape(self) -> Any:
        raise RaisingError

    @property
    def dtype(self) -> Any:
        raise RaisingError

    @property
    def _version(self) -> Any:
        raise RaisingError

    @property
    def _base(self) -> Any:
        raise RaisingError

    @property
    def retains_grad(self) -> Any:
        raise RaisingError


class Mean(Add):
    """A node whose every part raises."""

    def name(self) -> str:
        raise RaisingError

    def saved_values(self) -> Any:
        raise RaisingError

    def _sequence_nr(self) -> int:
        raise RaisingError


def drawn(root: Any, names: dict[str, Any] | None = None) -> str:
    model = build(root, names or {})
    svg = draw(model, layout(model, measure(model)))
    ET.fromstring(svg)
    assert graph_text(model) and graph_table(model)
    return svg


def test_objects_that_raise() -> None:
    leaf = Lying([1.0])
    root = Lying([1.0], Mean("x", ((AccumulateGrad(leaf), 0),)))
    assert "Mean" in drawn(root, {"leaf": leaf, "root": root})


def test_a_namespace_that_lies() -> None:
    class Module:
        def named_parameters(self) -> Any:
            raise RaisingError

    x = nb.ones(1, requires_grad=True)
    odd = {"x": x, 3: x, "m": Module(), "d": {RaisingError(): x, "k": x}, "l": [x, object()], "c": Tensor, "n": None}
    assert "x" in drawn(x * 2, odd)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_in_tables_and_groups(name: str) -> None:
    leaf = Tensor([1.0])
    kind = type("Hostile", (Add,), {"symbol": name})
    last: Any = AccumulateGrad(leaf)
    for _ in range(6):
        last = kind(name or "empty", ((last, 0),))
    root = Tensor([1.0], last)
    model = build(root, {name: leaf, name + "2": root}, fold=True, resolve=lambda f, n: (name, name))
    svg = draw(model, layout(model, measure(model)))
    ET.fromstring(svg)
    shown = graph_table(model)
    assert "<script" not in shown.lower() and "<img" not in shown.lower() and len(shown) + len(svg) < 60_000


@pytest.mark.parametrize("name", ["W" * 10_000, "变" * 10_000, "ש" * 10_000, "e" + "\u0301" * 10_000, "👩‍🚀" * 3000])
def test_long_names_stay_in_their_boxes(name: str) -> None:
    leaf = Tensor([1.0])
    root = Tensor([1.0], Add("AddBackward0", ((AccumulateGrad(leaf), 0), (None, 0))))
    model = build(root, {name: leaf, "y": root})
    sizes = measure(model)
    assert all(wide <= 360 for wide, _ in sizes.values())
    (leaf_node,) = model.leaves
    assert width(fit(leaf_node.name, 200, 14), 14) <= 201
    assert len(draw(model)) < 12_000


def test_wide_and_right_to_left_names_in_tables() -> None:
    shown = table([("变量", "x"), ("ab", "y"), ("e\u0301", "z")])
    assert [columns(line.partition("x")[0].partition("y")[0].partition("z")[0]) for line in shown.split("\n")] == [
        6
    ] * 3
    assert ordered("שלום") == "שלום\u200e" and ordered("变量") == "变量"


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(0, np.float32),
        np.zeros((0, 3)),
        np.full(3, np.nan),
        np.full((40, 40), np.inf),
        np.array(1j),
        np.array([True]),
    ],
    ids=["empty", "empty matrix", "nan", "inf", "complex", "bool"],
)
def test_odd_values(array: Any) -> None:
    leaf = Tensor(array)
    drawn(Tensor(array, Add("AddBackward0", ((AccumulateGrad(leaf), 0), (None, 0)))), {"leaf": leaf})


@pytest.mark.sweep
def test_a_million_nodes_answer_at_once() -> None:
    leaf = AccumulateGrad(Tensor([1.0]))
    last: Any = leaf
    for _ in range(1_000_000):
        last = Node("AddBackward0", ((last, 0), (leaf, 0)))
    root = Tensor([1.0], last)
    model = build(root, {"y": root})
    assert len(model.nodes) < 300
    assert model.notes[0] == "of a larger graph, the 5,000 nodes nearest to the result were read"
    assert "⋯ more" in graph_text(model)
    while last is not leaf:  # otherwise it recurses through the interpreter's stack
        following = last.next_functions[0][0]
        last.next_functions = ()
        last = following


def test_nothing_has_an_address() -> None:
    with tracing.traced():
        x = nb.ones(3, requires_grad=True)
        y = (x[1:] * 2).sum()
    shown = viz.graph(y, namespace={"x": x, "y": y})
    assert "0x" not in shown.svg + shown.text + shown.dot + str(shown.model.to_json())
