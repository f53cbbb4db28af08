"""Names of results without a variable, by the user's code; a tensor of two names has one of them."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from typing import Any

import pytest

import nbautograd as torch
from nbautograd import nn, viz
from nbautograd._engine.core import tracing
from nbautograd.nn import functional as F
from nbautograd.viz.read.model import GraphModel
from tests import needs

from .player_pages import press

NAMES = {"__name__": "words", "torch": torch, "F": F, "nn": nn}


@pytest.fixture(autouse=True)
def traced() -> Iterator[None]:
    with tracing.traced():
        yield


def ran(code: str, name: str = "<words>", shown: str | None = None) -> dict[str, Any]:
    """The variables after running code, of which a file of this name has the lines."""
    variables = dict(NAMES)
    lines = (code if shown is None else shown).splitlines(keepends=True)
    linecache.cache[name] = len(code), None, lines, name
    exec(compile(code, name, "exec"), variables)
    return variables


def drawn(code: str, **options: Any) -> GraphModel:
    variables = ran(code, **options)
    return viz.graph(variables["y"], namespace=variables).model.entire


def labels(model: GraphModel) -> list[str]:
    """Return the names of results, in the order in which they ran."""
    return [model.by_id[key].label for key in model.order]


def constants(model: GraphModel) -> set[str]:
    return {node.name for node in model.nodes if node.kind == "constant"}


LEAVES = "w = torch.tensor([1., 2.], requires_grad=True)\nd = torch.tensor([3., 4.])\n"
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(2, 3), nn.Linear(3, 2)
    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))
net = Net()
"""


CALLED = {
    "y = (w * (d * 2) + 1.).sum()": (["w * (d * 2)", "w * (d * 2) + 1.", "y"], {"d * 2", "1"}),
    "y = torch.where(w > 1, w, d * 2)": (["y"], {"w > 1", "d * 2"}),
    "y = w.masked_fill(w > 1, 0.).exp()": (["w.masked_fill(…)", "y"], {"w > 1", "0"}),
    "y = w.gather(0, torch.tensor([1]))": (["y"], {"torch.tensor([1])"}),
    "y = w[1:].exp().sum()": (["w[1:]", "w[1:].exp()", "y"], set()),
    "y = torch.stack([w, d * 2]).sum()": (["torch.stack(…)", "y"], {"d * 2"}),
    "y = (w\n     * (d + 1)).sum()": (["w * (d + 1)", "y"], {"d + 1"}),
    "y = w * 2\ny *= d + 1\ny = y.sum()": (["y₁", "y₂", "y"], {"2", "d + 1"}),
    "def f(x):\n    z = x * d\n    return z * (x > 1)\ny = f(w).sum()": (["z", "z * (x > 1)", "y"], {"d", "x > 1"}),
    "y = sum([w * 2, w * 3])": (["w * 2", "w * 3", "add", "y"], {"2", "3", "0"}),
}
UNCERTAIN = {
    "alike on a line": (
        "y = torch.exp(w * d) + torch.tanh(w * d)",
        ["mul₁", "torch.exp(w * d)", "mul₂", "torch.tanh(…)", "y"],
    ),
    "a loop": ("h = w\nfor _ in range(2):\n    h = (h * d).exp()\ny = h.sum()", ["mul₁", "h₁", "mul₂", "h", "y"]),
    "a function called twice": ("def f(x):\n    return (x * d).exp()\ny = f(f(w))", ["mul₁", "exp", "mul₂", "y"]),
    "several results": ("a, b = torch.max(w.reshape(1, 2), dim=1)\ny = a.exp()", ["w.reshape(1, 2)", "a", "y"]),
    "a function of Python's": ("y = next(map(torch.exp, [w])).sum()", ["exp", "y"]),
}


@pytest.mark.parametrize("line", CALLED)
def test_the_text_of_the_expression(line: str) -> None:
    results, arguments = CALLED[line]
    model = drawn(LEAVES + line)
    assert labels(model) == results
    assert constants(model) == arguments


@pytest.mark.parametrize("what", UNCERTAIN)
def test_what_is_not_certain_is_called_by_its_operation(what: str) -> None:
    line, results = UNCERTAIN[what]
    assert labels(drawn(LEAVES + line)) == results


def test_a_file_that_has_changed_tells_nothing() -> None:
    line = f"{LEAVES}y = (w * d).exp().sum()"
    assert labels(drawn(line)) == ["w * d", "(w * d).exp()", "y"]
    assert labels(drawn(line, shown=line.replace("(w", "(v"))) == ["mul", "exp", "y"]
    assert labels(drawn(line, shown="")) == ["mul", "exp", "y"]


def test_layers_and_losses() -> None:
    for loss in ("F.cross_entropy", "nn.CrossEntropyLoss()"):
        model = drawn(f"{NET}labels = torch.tensor([0, 1])\ny = {loss}(net(torch.ones(2, 2)), labels + 0)")
        assert labels(model) == [
            "net.fc1.weightᵀ", "self.fc1(x)", "torch.relu(…)", "net.fc2.weightᵀ", "self.fc2(…)", "log_softmax", "y"
        ]  # fmt: skip
        assert constants(model) == {"x", "labels + 0"}


def test_a_layer_with_the_users_module_in_it_is_not_what_its_first_layer_gave() -> None:
    model = drawn(f"{NET}net = nn.Sequential(nn.Linear(2, 2), net, nn.Tanh())\ny = net(torch.ones(1, 2)).sum()")
    assert not any(name.startswith("net(") for name in labels(model))
    whole = drawn("net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())\ny = net(torch.ones(1, 2)).sum()")
    assert labels(whole)[-2:] == ["net(…)", "y"]


def test_pytorchs_operations_too() -> None:
    needs.package("torch")
    variables = ran(f"import torch\n{LEAVES}from nbautograd import viz\nwith viz.watch():\n    y = (w * (d * 2)).sum()")
    model = viz.graph(variables["y"], namespace=variables).model
    assert labels(model) == ["w * (d * 2)", "y"] and constants(model) == {"d * 2"}


def test_brackets_around_an_expression_in_a_formula() -> None:
    model = drawn(f"{LEAVES}y = (w * (d > 3)).exp().sum()")
    times = next(node for node in model.nodes if node.symbol == "×")
    assert [formula.text for formula in times.formulas] == ["∂y/∂w += ∂y/∂(w * (d > 3)) · (d > 3)"]
    assert times.expression == "w * (d > 3)"


def test_programs_keep_names_that_can_be_assigned() -> None:
    variables = ran(f"{LEAVES}y = (w * (d * 2)).exp().sum()")
    program = viz.code(variables["y"], namespace=variables)
    compile(program.text, "program", "exec")
    assert "t1 = " in program.text


def test_each_turn_of_a_loop_has_its_names() -> None:
    code = f"{LEAVES}y = 0\nfor k in range(3):\n    q, p = w * k, w + k\n    q += p\n    y = y + q.sum()\n"
    assert {"q₁", "q₂", "q₃", "p₁", "p₂", "y₁", "y₂"} <= set(labels(drawn(code)))


def test_two_names_of_one_tensor() -> None:
    variables = ran(f"{LEAVES}y = (w * 3).sum()\nh = y\nweight = w")
    picture = viz.graph(variables["y"], namespace=variables)
    model = picture.model
    assert {(node.name, node.names) for node in model.nodes if node.names} == {("y", "y = h"), ("w", "w = weight")}
    said = [node.expression for node in model.nodes] + [f.text for node in model.nodes for f in node.formulas]
    assert "h" not in "".join(said)
    assert ">y = h</text>" in picture.svg and ">w = weight</text>" in picture.svg


def test_tied_weights_have_both_names() -> None:
    code = """
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.out = nn.Embedding(4, 3), nn.Linear(3, 4, bias=False)
        self.out.weight = self.emb.weight
    def forward(self, i):
        return self.out(self.emb(i))
net = Tied()
y = net(torch.tensor([0, 2])).sum()
"""
    (leaf,) = [node for node in drawn(code).nodes if node.kind == "leaf"]
    assert (leaf.name, leaf.names) == ("net.emb.weight", "emb.weight = out.weight")


ROOTS = "w = torch.tensor(1., requires_grad=True)\np, q = w * 2, w * w\n"


def several_roots() -> Any:
    variables = ran(ROOTS)
    with viz.record(namespace=variables) as recording:
        torch.autograd.backward([variables["p"], variables["q"]], [torch.tensor(1.0), torch.tensor(2.0)])
    return recording


def test_what_is_differentiated_of_several_roots() -> None:
    frame = next(frame for frame in several_roots().timeline.frames if frame.kind == "start")
    assert frame.words.startswith("L = p + 2 q") and "L = p + 2 q" in frame.caption
    assert [name for name, _ in frame.receives] == ["∂L/∂p", "∂L/∂q"]


@pytest.mark.sweep
def test_the_player_says_it(open_page: Any) -> None:
    page = open_page(several_roots())
    page.focus(".nb-player")
    press(page, "ArrowRight")
    assert "L = p + 2 q" in page.locator(".nb-equation-bar").inner_text()
    assert "∂L/∂q" in page.locator(".nb-equation-bar").inner_text()


@pytest.mark.sweep
def test_names_in_the_players_equation(open_page: Any) -> None:
    variables = ran(f"{LEAVES}y = (w * (d > 3)).exp().sum()\nh = y")
    page = open_page(viz.animate(variables["y"], namespace=variables))
    page.focus(".nb-player")
    heads: set[str] = set()
    for _ in range(6):
        press(page, "ArrowRight")
        heads |= {head.strip() for head in page.locator(".nb-equation-head b").all_inner_texts()}
    assert {"∂y/∂(w * (d > 3))", "∂(w * (d > 3))/∂w", "∂(…).exp()/∂(w * (d > 3))"} <= heads
    assert not any("=" in head for head in heads)


def test_a_transposed_matrix_is_called_so() -> None:
    """Check it where nothing is known of the code, and for the layers of a library."""
    with tracing.traced(False):
        k, q = torch.ones(2, 3, requires_grad=True), torch.ones(2, 3)
        y = (q @ (k.T + k.transpose(0, 1)) * k.permute(1, 0).sum()).sum()
    model = viz.graph(y, namespace={"k": k, "q": q, "y": y}).model
    turned = [node for node in model.nodes if node.name in ("PermuteBackward0", "TransposeBackward0")]
    assert [(node.symbol, node.label) for node in turned if node.name == "PermuteBackward0"] == [("xᵀ", "kᵀ")] * 2
    assert next(node.expression for node in model.nodes if node.name == "MmBackward0").startswith("mm = ")


def test_results_without_code_are_numbered_by_operation() -> None:
    with tracing.traced(False):
        w = torch.ones(2, requires_grad=True)
        tanh = torch.tanh(w)
        y = torch.tanh(torch.tanh(tanh) * 2).exp().sum()
    model = viz.graph(y, namespace={"w": w, "y": y, "tanh": tanh}).model
    assert labels(model) == ["tanh", "tanh₁", "mul", "tanh₂", "exp", "y"]
    assert [model.by_id[key].expression for key in model.order][-2:] == ["exp(tanh₂)", "y = sum(exp)"]
