"""Graphs as data: of hand-made nodes, of nbautograd, and of real PyTorch tensors."""

from __future__ import annotations

import json
from typing import Any

import pytest

import nbautograd as nb
from nbautograd._engine.core import tracing
from nbautograd.viz.draw.boxes import graph_text
from nbautograd.viz.read.builder import build
from tests import needs

from .fake_graph import AccumulateGrad, Node, Seed, Tensor

SEED_TEXT = """\
y → 2 leaves, 3 operations
y = a × b  MulBackward0  6.  f32 (1,)  In [3], line 5
├─ a = w + x  AddBackward0  3.  f32 (1,)  In [3], line 3
│  ├─ w  leaf  1.  f32 (1,)  .grad None
│  └─ x  leaf  2.  f32 (1,)  .grad None
└─ b = w + 1  AddBackward0  2.  f32 (1,)  In [3], line 4
   ├─ w  see above
   └─ 1"""


def seed_model() -> Any:
    seed = Seed()
    return build(seed.y, seed.names, resolve=seed.resolve)


def test_the_seed_graph_as_text() -> None:
    assert graph_text(seed_model()) == SEED_TEXT


def test_the_model_is_plain_data_and_the_same_every_time() -> None:
    one, two = seed_model(), seed_model()
    assert one == two
    assert one.plain().handles.ops == {}
    assert json.loads(json.dumps(one.to_json())) == json.loads(json.dumps(two.to_json()))
    assert [n.kind for n in one.nodes].count("leaf") == 2
    assert {n.name for n in one.nodes if n.kind == "constant"} == {"1"}


def test_formulas_name_what_the_picture_shows() -> None:
    model = seed_model()
    mul = next(n for n in model.nodes if n.name == "MulBackward0")
    assert [f.text for f in mul.formulas] == ["∂y/∂a += ∂y/∂y · b", "∂y/∂b += ∂y/∂y · a"]
    assert mul.saved is not None and [(s.name, s.nbytes) for s in mul.saved] == [("input", 4), ("other", 4)]
    assert (mul.where, mul.source) == ("In [3], line 5", "y = torch.mul(a, b)")


def test_several_names_and_private_ones() -> None:
    seed = Seed()
    names = {"w": seed.w, "weight": seed.w, "_hidden": seed.w, "_x": seed.x}
    found = [(n.name, n.names) for n in build(seed.y, names).nodes if n.kind == "leaf"]
    assert found == [("w", "w = weight"), ("_x", "")]


def test_a_leaf_and_a_constant_as_roots() -> None:
    leaf = build(Tensor([1.0]), {})
    assert [n.kind for n in leaf.nodes] == ["leaf"]
    constant = build(Tensor([1.0], requires_grad=False), {})
    assert constant.nodes[0].notes == ("requires_grad=False: there is no graph",)


@pytest.mark.sweep
def test_a_long_chain_is_read_without_recursion() -> None:
    leaf = Tensor([1.0])
    node: Any = AccumulateGrad(leaf)
    for _ in range(10_000):
        node = Node("AddBackward0", ((node, 0),))
    assert len(build(Tensor([1.0], node), {}, budget=20_000).nodes) == 10_002


@pytest.mark.sweep
def test_of_a_huge_graph_the_part_nearest_to_the_root_is_read() -> None:
    x = nb.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y * x
    model = build(y, {"x": x, "y": y})
    assert len(model.nodes) < 100
    assert [n.name for n in model.nodes if n.kind == "leaf"] == ["x"]
    assert "⋯ more" in {n.name for n in model.nodes}
    assert graph_text(model).count("\n") < 500
    assert model.notes[0] == "of a larger graph, the 5,000 nodes nearest to the result were read"


def test_results_are_called_as_the_lines_that_made_them_say() -> None:
    with tracing.traced():
        w = nb.tensor(2.0, requires_grad=True)
        h = w
        for _ in range(3):
            h = nb.tanh(h * w + 1)
        scaled = h * 2
        y = scaled.exp()
        del scaled
    model = build(y, {"w": w, "h": h, "y": y})
    made = [node.label for node in model.nodes if node.kind == "op"]
    assert made == ["y", "scaled", "h", "add₃", "mul₃", "h₂", "add₂", "mul₂", "h₁", "add₁", "mul₁"]
    assert next(n for n in model.nodes if n.label == "h₂").expression == "h₂ = tanh(add₂)"


def test_a_number_minus_a_tensor_is_written_in_that_order() -> None:
    with tracing.traced():
        x = nb.tensor(0.25, requires_grad=True)
        y = 1 - x
    assert "y = 1 − x  RsubBackward1" in graph_text(build(y, {"x": x, "y": y}))


def test_tensors_in_lists_dictionaries_and_modules_have_names() -> None:
    class Net:
        def named_parameters(self) -> Any:
            return [("first.weight", c)]

    a, b, c = (nb.tensor(1.0, requires_grad=True) for _ in range(3))
    model = build(a * b * c, {"layers": [a, None], "sizes": {"b": b}, "net": Net(), "alias": b})
    assert sorted(node.name for node in model.leaves) == ["alias", "layers[0]", "net.first.weight"]


def test_without_values() -> None:
    bare = seed_model().without_values()
    assert {node.value for node in bare.nodes} == {""} and bare.edges == seed_model().edges


def test_values_that_fail_are_drawn() -> None:
    class Broken(Tensor):
        def numpy(self) -> Any:
            raise OSError("gone")

    assert build(Broken([1.0]), {}).nodes[0].value == "<unavailable: OSError>"


def test_torch() -> None:
    torch = needs.package("torch")
    w, x = torch.tensor([1.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    a, b = w + x, w + 1
    y = a * b
    model = build(y, {"w": w, "x": x, "a": a, "b": b, "y": y})
    lines = graph_text(model).split("\n")
    assert lines[0] == "y → 2 leaves, 3 operations"
    assert lines[1].startswith("PyTorch keeps no lines and values") and lines[2].startswith(
        "y = a × b  MulBackward0  6."
    )
    assert lines[6] == "└─ b = w + …  AddBackward0  2.  f32 (1,)"


def test_nodes_with_several_outputs() -> None:
    with tracing.traced():
        x = nb.tensor([1.0, 2.0], requires_grad=True)
        first, second = x.unbind()
        y = first * second
    model = build(y, {"x": x, "first": first, "second": second, "y": y})
    assert {n.name for n in model.nodes if n.kind == "tensor"} == {"first", "second"}


@pytest.mark.parametrize("library", ["nbautograd", "torch"])
def test_a_function_may_keep_something_as_variable(library: str) -> None:
    """As the nodes of leaves do, which have no edges."""
    T = needs.package(library)

    class Doubled(T.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.variable = x.detach()
            return x * 2

    w = T.tensor([1.0, 2.0], requires_grad=True)
    model = build(Doubled.apply(w).sum(), {"w": w})
    assert [node.name for node in model.nodes if node.kind == "op"] == ["SumBackward0", "DoubledBackward"]
    assert [leaf.name for leaf in model.leaves] == ["w"]


def test_untraced_graphs_have_names_only_where_variables_have() -> None:
    x = nb.tensor(2.0, requires_grad=True)
    y = (x * 3 + 1).exp()
    model = build(y, {"x": x})
    assert [n.name for n in model.nodes if n.kind in ("leaf", "output", "tensor")] == ["out", "x"]


def test_each_of_several_outputs_has_its_name_in_the_text() -> None:
    with tracing.traced():
        x = nb.arange(4.0, requires_grad=True)
        a, b = x.split(2)
        y = a * b
    lines = graph_text(build(y, {"x": x, "a": a, "b": b, "y": y})).splitlines()
    assert lines[2].startswith("├─ a, b = split(x, [2, 2])  SplitBackward0  [0., 1.]") and lines[4] == "└─ b  see above"
