"""Test names in pictures: those of the user's variables; a graph of gradients names its pass."""

from __future__ import annotations

import linecache
import warnings
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import nn, viz
from nbautograd._engine.core import tracing
from nbautograd.viz.notebook.api import Recording
from nbautograd.viz.read.builder import build
from tests import needs


def test_an_element_of_a_sequence_is_called_by_its_index() -> None:
    with tracing.traced():
        W = nb.ones(3, 2, requires_grad=True)
        xs, wide = nb.randn(5, 2), nb.randn(2, 3, 2)
        y = sum((W @ xs[t]).sum() for t in range(3)) + (W * wide[1]).sum() + (W @ wide[0][1]).sum()
    model = viz.graph(y, namespace={"W": W, "xs": xs, "wide": wide, "y": y}).model
    names = {node.name for node in model.nodes if node.kind == "constant" and node.shape}
    assert names == {"xs[0]", "xs[1]", "xs[2]", "wide[1]", "wide[0][1]"}
    said = " ".join(node.expression for node in model.nodes)
    assert "W @ xs[2]" in said


def test_a_variable_that_an_operation_reshapes_keeps_its_name() -> None:
    with tracing.traced():
        x, S, X = nb.randn(3), nb.randn(2, 3, 4), nb.randn(5, 3)
        W, q = nb.ones(3, 4, requires_grad=True), nb.ones(4, requires_grad=True)
        results = {
            "x": x @ W,
            "S": S @ q,
            "X": nb.einsum("ij,jk->ik", X, W),
            "X.T": X.T @ nb.ones(5, 1, requires_grad=True),
            "X.reshape(15, 1)": X.reshape(15, 1) * q,
        }
    for name, y in results.items():
        model = viz.graph(y, namespace={"x": x, "S": S, "X": X, "W": W, "q": q}).model
        assert [node.name for node in model.nodes if node.kind == "constant"] == [name]


@pytest.mark.parametrize("library", ["nbautograd", "torch"])
@pytest.mark.parametrize(
    "code", ["y = T.nn.functional.dropout(x)", "net = T.nn.Sequential(T.nn.Dropout())\ny = net(x)"]
)
def test_the_numbers_that_dropout_multiplies_by_are_its_mask(library: str, code: str) -> None:
    source, name = f"x = T.ones(3, requires_grad=True)\n{code}\n", f"<{library}: {code}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    namespace = {"T": needs.package(library), "__name__": "a_cell"}
    with tracing.traced(), viz.watch(namespace=namespace):
        exec(compile(source, name, "exec"), namespace)
    model = viz.graph(namespace["y"], namespace=namespace).model
    assert [node.name for node in model.nodes if node.kind == "constant"] == ["mask"]


FUNCTION = """
class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, *more):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return (g * w, (g * x).sum(), *[None] * (len(ctx.needs_input_grad) - 2))

step, w, rest = Step.apply, leaf(0.5), (1, 2)
"""


@pytest.mark.parametrize("call", ["Step.apply(x, w, 0.1)", "step(x, w)", "Step.apply(x, w, *rest)"])
def test_results_of_a_function_in_a_loop_are_called_by_their_variable(run: Any, app: Any, call: str) -> None:
    run(FUNCTION).raise_error()
    run(f"x = torch.tensor([1., 2.])\nfor i in range(3):\n    x = {call}\ny = x.sum()").raise_error()
    model = viz.graph(app.user_ns["y"], namespace=app.user_ns).model
    assert [node.name for node in model.nodes if node.kind == "constant" and node.shape] == ["x₀"]
    named = [node.label for node in model.nodes if node.name == "StepBackward"]
    assert sorted(named) == ["x", "x₁", "x₂"]


@pytest.mark.parametrize(("argument", "name"), [("torch.rand(2)", "torch.rand(2)"), ("*rest", "input 0")])
def test_an_argument_of_a_function_is_called_as_the_code_calls_it(run: Any, app: Any, argument: str, name: str) -> None:
    run(FUNCTION).raise_error()
    run(f"rest = [torch.tensor([1., 2.])]\ny = Step.apply({argument}, w).sum()").raise_error()
    model = viz.graph(app.user_ns["y"], namespace={"w": app.user_ns["w"]}).model
    assert [node.name for node in model.nodes if node.kind == "constant"] == [name]


def test_a_module_s_name_comes_before_that_of_the_last_output() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    y = (net[0].weight * 2).sum()
    for namespace in ({"_": net[0].weight, "net": net}, {"net": net, "_": net[0].weight, "_12": net[0].weight}):
        leaves = [node.name for node in viz.graph(y, namespace=namespace).model.nodes if node.kind == "leaf"]
        assert leaves == ["net.0.weight"]


def twice(differentiate: Any) -> Recording:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the cycle that create_graph makes
        with tracing.traced():
            x = nb.tensor(3.0, requires_grad=True)
            y = x**3
            with viz.record(namespace={"x": x, "y": y}) as passes:
                differentiate(x, y)
        x.grad = None
    return passes


def by_grad(x: Any, y: Any) -> None:
    y.backward(create_graph=True)
    x.grad.backward()


def by_function(x: Any, y: Any) -> None:
    (gradient,) = nb.autograd.grad(y, x, create_graph=True)
    (gradient * 2).backward()


@pytest.mark.parametrize(("differentiate", "name"), [(by_grad, "x.grad"), (by_function, "∂y/∂x")])
def test_a_pass_through_gradients_tells_which_pass_computed_them(differentiate: Any, name: str) -> None:
    shown = twice(differentiate)
    second = [frame for frame in shown.timeline.frames if frame.kind == "start" and frame.backward == 2]
    assert len(second) == 1
    assert f"{name} is what pass 1 computed: its operations are those of that backward pass" in second[0].notes
    made = shown.scenes[1]
    assert name in {made.by_id[root].name for root in made.roots}
    seeds = [node.name for node in made.nodes if node.kind == "constant" and node.value == "1."]
    assert seeds and set(seeds) == {"∂y/∂y"}  # the seed of the first pass


def test_a_first_pass_tells_nothing_of_the_kind() -> None:
    x = nb.tensor(2.0, requires_grad=True)
    shown = viz.animate(x * x, namespace={"x": x})
    assert not any("computed" in note for frame in shown.timeline.frames for note in frame.notes)


SCRATCH = """
class Linear:
    def __init__(self, size):
        self.weight = torch.ones(size, size, requires_grad=True)

    def __call__(self, x):
        self.out = x @ self.weight
        return self.out

class Net:
    def __init__(self):
        self.layers = [Linear(2), Linear(2)]
        self.parameters = [layer.weight for layer in self.layers]
        self.me = self

net = Net()
y = net.layers[1](net.layers[0](torch.ones(1, 2))).sum()
"""


def test_what_objects_hold_is_called_by_the_way_to_it(run: Any, app: Any) -> None:
    run(SCRATCH).raise_error()
    model = viz.graph(app.user_ns["y"], namespace=app.user_ns).model
    assert {node.name for node in model.nodes if node.kind == "leaf"} == {
        "net.layers[0].weight",
        "net.layers[1].weight",
    }
    results = {node.label for node in model.nodes if node.name == "MmBackward0"}
    assert results == {"net.layers[0].out", "net.layers[1].out"}


def test_what_objects_hold_is_drawn_beside_the_groups_that_use_it(run: Any, app: Any) -> None:
    run(SCRATCH).raise_error()
    model = build([app.user_ns["y"]], app.user_ns, budget=2)
    assert [node.parameters for node in model.nodes if node.kind == "group"] == [0]
    assert [node.name for node in model.leaves] == ["net.layers[0].weight", "net.layers[1].weight"]


def test_gradients_of_what_objects_hold_are_shown_and_zeroed(run: Any, app: Any) -> None:
    run(SCRATCH).raise_error()
    run("y.backward()").raise_error()
    names = ["net.layers[0].weight", "net.layers[1].weight"]
    for magic in ("%grads net", "%grads net.parameters", "%grads", "%zero_grads net"):
        run(f"table = {magic}").raise_error()
        assert [row[0] for row in app.user_ns["table"].rows if row[0] != "y"] == names
    assert app.user_ns["net"].layers[0].weight.grad is None
    assert [*viz.monitor(app.user_ns["net"], namespace=app.user_ns).leaves] == names
    assert run("why = %why net.layers[1].out").success
    assert run("why = %why net.layers[0].weight").success
    assert app.user_ns["why"].label.startswith("net.layers[0].weight.grad is None")


def test_a_tensor_of_the_users_own_class_is_itself(run: Any, app: Any) -> None:
    run("class Mine(torch.Tensor): pass\nw = leaf(1.)").raise_error()
    run("mine = torch.tensor([2.]).as_subclass(Mine).requires_grad_()\nmine.other = w").raise_error()
    run("(mine * w).sum().backward()\ntable = %grads mine").raise_error()
    assert [row[0] for row in app.user_ns["table"].rows] == ["mine"]


def test_objects_of_libraries_are_not_searched() -> None:
    from nbautograd.viz.read.walk import inside

    w = nb.ones(2, requires_grad=True)
    optimizer = nb.optim.SGD([w], lr=1.0)
    deep: Any = w
    for _ in range(9):
        deep = [deep]
    for value in (optimizer, deep, [0] * 201, type(optimizer), warnings, object()):
        assert [*inside("value", value)] == []


@pytest.mark.parametrize(
    ("turn", "names"),
    [
        ("h = torch.tanh(h + X[t] * 2)", ["X[0]", "X[1]", "X[2]"]),
        ("h = torch.tanh(h + X[:, 1 - t].sum())", ["X[:, -1]", "X[:, 0]", "X[:, 1]"]),
        ("e = X[t]; h = h + e * 2", ["e", "e₁", "e₂"]),
    ],
)
def test_elements_in_a_loop_are_called_by_their_turn(run: Any, app: Any, turn: str, names: list[str]) -> None:
    program = f"X, h = leaf([1., 2.], [3., 4.], [5., 6.]), torch.ones(2)\nfor t in range(3):\n    {turn}\ny = h.sum()"
    run(program).raise_error()
    model = viz.graph(app.user_ns["y"], namespace=app.user_ns).model
    assert sorted(node.label for node in model.nodes if node.name == "SelectBackward0") == names
