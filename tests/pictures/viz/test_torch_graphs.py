"""Check that an expression has the same model in nbautograd and in PyTorch, without our importing PyTorch."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd.viz.draw.boxes import graph_text
from nbautograd.viz.language import say
from nbautograd.viz.read.builder import build
from tests import needs

torch = needs.package("torch")

LIBRARIES = [nb, torch]


def tutorial(T: Any) -> dict[str, Any]:
    w, x = T.tensor([1.0], requires_grad=True), T.tensor([2.0], requires_grad=True)
    a, b = w + x, w + 1
    y = a * b
    return {"w": w, "x": x, "a": a, "b": b, "y": y}


def layer(T: Any) -> dict[str, Any]:
    x = T.tensor([[1.0, 2.0], [3.0, 4.0]])
    W = T.tensor([[0.5, -1.0], [1.5, 2.0]], requires_grad=True)
    b = T.tensor([0.5, -0.5], requires_grad=True)
    h = T.relu(x @ W + b)
    y = (h * h).mean()
    return {"x": x, "W": W, "b": b, "h": h, "y": y}


def functions(T: Any) -> dict[str, Any]:
    w = T.tensor([0.5, 2.0], requires_grad=True)
    y = (w.exp().log() - w.sin() * w.cos() / w.sqrt()).sum() + w.tanh().sigmoid().mean() + (-w).sum()
    return {"w": w, "y": y}


def views(T: Any) -> dict[str, Any]:
    x = T.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    t = x.t()
    row = t[0]
    y = (row * 2).sum()
    return {"x": x, "t": t, "row": row, "y": y}


def several_outputs(T: Any) -> dict[str, Any]:
    x = T.tensor([1.0, 2.0], requires_grad=True)
    first, second = x.unbind()
    y = first * second
    return {"x": x, "first": first, "second": second, "y": y}


def accumulated(T: Any) -> dict[str, Any]:
    w = T.tensor([3.0], requires_grad=True)
    (w * 2).backward()
    h = w * w
    h.retain_grad()
    y = h.sum()
    y.backward(retain_graph=True)
    return {"w": w, "h": h, "y": y}


def hooked(T: Any) -> dict[str, Any]:
    w = T.tensor([3.0], requires_grad=True)
    w.register_hook(lambda grad: grad)
    y = w * 2
    return {"w": w, "y": y}


def in_place(T: Any) -> dict[str, Any]:
    w = T.tensor([3.0, 4.0], requires_grad=True)
    h = w * 2
    h += 1
    y = h.sum()
    return {"w": w, "h": h, "y": y}


def loop(T: Any) -> dict[str, Any]:
    w, h = T.tensor([0.5], requires_grad=True), T.tensor([1.0])
    for _ in range(20):
        h = (h * w + w).tanh()
    y = h.sum()
    return {"w": w, "h": h, "y": y}


CASES = [tutorial, layer, functions, views, several_outputs, accumulated, hooked, in_place, loop]
UNTOLD = {"operands"}
"""Fields that one of the two does not have without tracing."""


def model(make: Callable[[Any], dict[str, Any]], T: Any, **options: Any) -> dict[str, Any]:
    names = make(T)
    data = build(names["y"], names, **options).to_json()
    data["notes"] = [note for note in data["notes"] if note != say("torch_unwatched")]
    for node in data["nodes"]:
        for key in UNTOLD:
            del node[key]
        node["saved"] = [s for s in node["saved"] or () if s["shape"] != "()"]  # a number is a tensor in PyTorch only
        if node["kind"] == "op":  # PyTorch's nodes know the shapes of their results, ours only if traced
            node["shape"] = node["dtype"] = ""
        for formula in node["formulas"]:
            formula["text"] = re.sub(r"Σ\[.*?\]", "Σ", formula["text"])
            formula["marks"] = [mark[:2] if mark[0] == "b" else mark for mark in formula["marks"]]
    return data


@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize("make", CASES, ids=lambda case: case.__name__)
def test_the_models_are_the_same(make: Callable[[Any], dict[str, Any]], fold: bool) -> None:
    ours, theirs = model(make, nb, fold=fold), model(make, torch, fold=fold)
    for one, other in zip(ours["nodes"], theirs["nodes"], strict=True):
        assert one == other
    assert ours == theirs


@pytest.mark.parametrize("make", CASES, ids=lambda case: case.__name__)
def test_the_words_are_the_same(make: Callable[[Any], dict[str, Any]]) -> None:
    texts = []
    for T in LIBRARIES:
        names = make(T)
        shown = build(names["y"], names)
        lines = [line.partition("  ")[0] for line in graph_text(shown).split("\n")]
        texts.append([line for line in lines if line != say("torch_unwatched")])
    assert texts[0] == texts[1]


@pytest.mark.parametrize("T", LIBRARIES, ids=["ours", "torch"])
def test_what_a_node_tells(T: Any) -> None:
    names = accumulated(T)
    shown = build(names["y"], names)
    leaf, box = shown.leaves[0], next(node for node in shown.nodes if node.name == "h")
    assert (leaf.grad, leaf.nbytes, leaf.arrivals) == ("8.", 4, 2)
    assert (box.retains, box.grad, box.shape) == (True, "1.", "(1,)")
    (mul,) = (node for node in shown.nodes if node.name == "MulBackward0")
    assert [(s.name, s.nbytes, s.shape, s.dtype) for s in mul.saved or ()] == [
        ("input", 4, "(1,)", "f32"),
        ("other", 4, "(1,)", "f32"),
    ]
    names = views(T)
    by_name = {node.name: node for node in build(names["y"], names).nodes}
    assert by_name["t"].view_of == "x" and by_name["row"].view_of == "x"
    names = in_place(T)
    assert {node.name: node for node in build(names["y"], names).nodes}["h"].version == 1
    names = hooked(T)
    assert build(names["y"], names).leaves[0].hooks == (("tensor", 1),)


@pytest.mark.parametrize("T", LIBRARIES, ids=["ours", "torch"])
def test_freed_saved_values(T: Any) -> None:
    names = layer(T)
    names["y"].backward()
    ops = {node.name: node for node in build(names["y"], names).nodes if node.kind == "op"}
    assert ops["MulBackward0"].freed and ops["MulBackward0"].saved == ()


@pytest.mark.parametrize("T", LIBRARIES, ids=["ours", "torch"])
def test_several_roots(T: Any) -> None:
    names = tutorial(T)
    shown = build([names["a"], names["b"]], names)
    assert [shown.by_id[root].name for root in shown.roots] == ["a", "b"]
    assert [node.kind for node in shown.nodes].count("output") == 2


def test_the_animation_of_a_torch_graph() -> None:
    names = tutorial(torch)
    passes = viz.animate(names["y"], namespace=names)
    assert names["w"].grad.tolist() == [5.0] and "w" in passes.text


def test_pytorch_is_never_imported() -> None:
    code = "import sys, nbautograd as nb; from nbautograd import viz; x = nb.ones(1, requires_grad=True)\n"
    code += "viz.graph(x * 2).svg; viz.animate(x * 2).text; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "False"
