"""Unwatched operations of PyTorch: the lines that PyTorch itself keeps are read."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from nbautograd import viz
from nbautograd.viz.read.introspect import line_of, trace_of
from tests import needs
from tests.pictures.viz.torch_programs import PROGRAMS

torch = needs.package("torch")

SAID = "lines: as PyTorch kept them with set_detect_anomaly"


@pytest.fixture(autouse=True)
def kept() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            yield


def helper(w: Any) -> Any:
    return w.exp() * 2  # the line


def test_the_line_outside_of_pytorch_is_shown() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
    y = helper(net(torch.ones(2, 3))).sum()  # the call
    picture = viz.graph(y, namespace={"y": y, "net": net})
    lines = {node.name: node.source for node in picture.model.entire.nodes if node.kind == "op"}
    assert lines["ExpBackward0"] == lines["MulBackward0"] == "return w.exp() * 2  # the line"
    assert lines["ReluBackward0"].endswith("# the call") and lines["AddmmBackward0"].endswith("# the call")
    assert "net.0.weight" in picture.text and SAID in picture.text and "test_torch_lines.py" in picture.text


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_all_graphs_are_drawn(program: Any) -> None:
    with torch.autograd.set_detect_anomaly(False):
        before = viz.graph(*roots(program(torch)), fold=False).model
    names = program(torch)
    shown = viz.graph(*roots(names), namespace=names, fold=False).model
    assert [node.name for node in shown.nodes if node.kind == "op"] == [n.name for n in before.nodes if n.kind == "op"]
    assert all(node.source for node in shown.nodes if node.kind == "op" and node.name not in MADE_IN_BACKWARD)


MADE_IN_BACKWARD = ("CopySlices", "AsStridedBackward0")
"""Nodes that PyTorch makes without keeping a line."""


def roots(names: dict[str, Any]) -> list[Any]:
    return [value for value in names.values() if isinstance(value, torch.Tensor) and value.grad_fn is not None][-1:]


def test_a_line_that_runs_again_and_again_is_named() -> None:
    v, total = torch.ones(3, requires_grad=True), 0.0
    for _ in range(12):
        total = total + (v * v).sum()
    text = viz.memory(total, namespace={"total": total}).text
    assert "this graph spans 12 runs of one line" in text and "total = total + (v * v).sum()" in text


def test_what_was_watched_is_told_by_the_watch() -> None:
    w = torch.ones(2, requires_grad=True)
    with viz.watch():
        y = w.exp()
    node = y.grad_fn
    assert trace_of(node).value.tolist() == y.tolist()
    assert SAID not in viz.graph(y).text and line_of(node)
