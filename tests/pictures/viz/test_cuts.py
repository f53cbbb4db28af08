"""The picture says where a constant was cut off from the graph, and by which call."""

from __future__ import annotations

import linecache
from typing import Any

import pytest

import nbautograd as torch
from nbautograd import viz

START = "w = torch.tensor([1.0, 2.0], requires_grad=True)\ndata = torch.ones(2)\n"


def constants(code: str) -> list[Any]:
    """The constants of the picture of ``y`` in a cell."""
    name = f"<cut {abs(hash(code))}>"
    source = START + code
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {"torch": torch}
    with viz.autograd(tracing=True):
        exec(compile(source, name, "exec"), names)
    picture = viz.graph(names["y"], namespace=names)
    return [node for node in picture.model.nodes if node.kind == "constant"]


@pytest.mark.parametrize(
    ("code", "call", "line"),
    [
        ("c = (w * 2).detach()\ny = (w * c).sum()", "detach()", 3),
        ("h = w * 2\nc = h.detach() * 10\nd = c + 1\ny = (w * d).sum()", "detach()", 4),
        ("c = w.data\ny = (w * c).sum()", ".data", 3),
        ("with torch.no_grad():\n    c = w * 2\ny = (w * c).sum()", "no_grad()", 4),
        ("c = torch.tensor([v.item() for v in w])\ny = (w * c).sum()", "tensor(…)", 3),
        ("y = (w * (w * 2).detach()).sum()", "detach()", 3),
        ("y = w.sum() * w.detach().sum()", "detach()", 3),  # a number, which is shown as a box, too
        ("with torch.no_grad():\n    c = w * 2\ny = (w * (c + 1)).sum()", "no_grad()", 4),
    ],
)
def test_a_cut_is_named(code: str, call: str, line: int) -> None:
    (constant,) = constants(code)
    assert constant.cut == call
    assert any(f"cut off by {call}" in note and f"line {line}:" in note for note in constant.notes)


@pytest.mark.parametrize("code", ["y = (w * data).sum()", "c = data.detach() * 2\ny = (w * c).sum()"])
def test_what_never_had_a_gradient_was_not_cut(code: str) -> None:
    (constant,) = constants(code)
    assert not constant.cut and not constant.notes


def test_a_detached_leaf_shares_its_memory() -> None:
    (constant,) = constants("c = w.detach()\ny = (w * c).sum()")
    assert constant.view_of == "w"
