"""Test programs of whole models: their text, and the results of their files in a process without nbautograd."""

from __future__ import annotations

import ast
import builtins
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd import nn, viz
from nbautograd._engine.compiler.schema import OPS
from nbautograd._engine.core.tracing import traced
from nbautograd.viz.program.tensor_writer import TENSOR_FORMS
from tests import oracle
from tests.pictures.program.runs import run, same_bits

RUNNER = """
import runpy, sys
for name in ("nbautograd", *sys.argv[3:]):
    sys.modules[name] = None
import numpy as np
for path in sys.argv[1].split(","):
    grads = runpy.run_path(path)["backward"]()
    grads = {name: g.numpy(force=True) if hasattr(g, "detach") else g for name, g in grads.items()}
    np.savez(path + ".grads.npz", **grads)
"""


def seed_one() -> dict[str, Any]:
    w, x = nb.tensor(2.0, requires_grad=True), nb.tensor(3.0, requires_grad=True)
    a = w + x
    b = w + 1
    y = a * b
    return locals()


def seed_two() -> dict[str, Any]:
    w = nb.tensor([[1.0, -2.0]], requires_grad=True)
    x = nb.tensor([[3.0], [4.0]], requires_grad=True)
    y = (w * x).exp().mean() + w.sum() * x.max()
    return locals()


def mlp() -> dict[str, Any]:
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    x, t = nb.randn(6, 4), nb.tensor([0, 1, 2, 0, 1, 2])
    y = nn.functional.cross_entropy(net(x), t)
    return locals()


def rnn() -> dict[str, Any]:
    W, U = nb.randn(5, 5, requires_grad=True), nb.randn(3, 5, requires_grad=True)
    b, h, xs = nb.zeros(5, requires_grad=True), nb.zeros(4, 5), nb.randn(20, 4, 3)
    for step in range(20):
        h = nb.tanh(xs[step] @ U + h @ W + b)
    y = (h * h).mean()
    return locals()


def transformer() -> dict[str, Any]:
    net = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
    x = nb.randn(2, 5, 8)
    y = net(x).pow(2).mean()
    return locals()


def convolutions() -> dict[str, Any]:
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)
    )
    x = nb.randn(2, 1, 8, 8)
    y = net(x).square().sum()
    return locals()


def copied() -> dict[str, Any]:
    x, state = nb.tensor([1.0, -2.0, 3.0], requires_grad=True), nb.zeros(3)
    state.copy_(x * x)
    y = state.sum()
    return locals()


MODELS = (seed_one, seed_two, mlp, rnn, transformer, convolutions, copied)


def built(model: Any) -> dict[str, Any]:
    nb.manual_seed(0)
    with traced():
        return model()  # type: ignore[no-any-return]


def leaves_in(names: dict[str, Any]) -> dict[str, Any]:
    leaves = {name: t for name, t in names.items() if isinstance(t, nb.Tensor) and t.is_leaf and t.requires_grad}
    for name, net in names.items():
        if isinstance(net, nn.Module):
            leaves |= {f"{name}.{own}": p for own, p in net.named_parameters()}
    return leaves


def run_all(folder: Path, library: str, *blocked: str) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """For each model, its leaves with their gradients, and those of the saved file in a separate process."""
    every = {}
    for model in MODELS:
        names = built(model)
        viz.code(names["y"], library=library, namespace=names).save(folder / f"{model.__name__}.py")
        names["y"].backward()
        every[model.__name__] = leaves_in(names)
    paths = ",".join(str(folder / f"{model.__name__}.py") for model in MODELS)
    command = [sys.executable, "-I", "-c", RUNNER, paths, "", *blocked]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return {name: (leaves, dict(np.load(folder / f"{name}.py.grads.npz"))) for name, leaves in every.items()}


@pytest.mark.sweep
def test_saved_files_run_with_numpy_alone_and_give_the_same_bits(tmp_path: Path) -> None:
    for name, (leaves, found) in run_all(tmp_path, "numpy", "scipy", "torch").items():
        assert {*leaves} == {*found}
        assert [key for key in leaves if not same_bits(found[key], leaves[key].grad.numpy())] == [], name


@pytest.mark.parametrize("model", MODELS)
def test_programs_in_tensors(model: Any) -> None:
    names = built(model)
    program = viz.code(names["y"], library="torch", namespace=names).program
    theirs = dict(oracle.answer(lambda T: run(program, T)).parts)
    found = run(program, nb)
    names["y"].backward()
    leaves = leaves_in(names)
    assert {*leaves} == {*found} == {*theirs}
    for key, leaf in leaves.items():
        oracle.close(found[key], theirs[key])
        oracle.close(leaf.grad, theirs[key])


def test_a_form_in_tensors_names_parameters_of_its_operation() -> None:
    wrong = set()
    for name, form in TENSOR_FORMS.items():
        names = {node for node in ast.walk(ast.parse(form)) if isinstance(node, ast.Name)}
        made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        known = {"torch", *dir(builtins), *made, *inspect.signature(OPS[name].body).parameters} if name in OPS else {}
        wrong |= {(name, node.id) for node in names if known and node.id not in known}
    assert wrong == set()


@pytest.mark.sweep
def test_saved_files_in_tensors_run_in_pytorch(tmp_path: Path) -> None:
    oracle.live()
    every = run_all(tmp_path, "torch")
    for model in MODELS:
        names = built(model)
        program = viz.code(names["y"], library="torch", namespace=names).program
        theirs = dict(oracle.ask(lambda T, program=program: run(program, T)).parts)
        leaves, found = every[model.__name__]
        assert {*leaves} == {*found} == {*theirs}
        for key, leaf in leaves.items():
            oracle.close(nb.tensor(found[key]), theirs[key])
            oracle.close(leaf.grad, theirs[key])


def test_the_seeds_program() -> None:
    names = built(seed_one)
    text = viz.code(names["y"], namespace=names).text
    lines = [line.partition("  #")[0].rstrip() for line in text.split("\n")]
    assert [line for line in lines if line and not line.startswith("#")] == [
        "import numpy as np",
        "w = np.float32(2.0)",
        "x = np.float32(3.0)",
        "a = w + x",
        "b = w + 1",
        "y = a * b",
        "g_y = np.float32(1.0)",
        "g_a = g_y * b",
        "g_b = g_y * a",
        "g_w = g_b",
        "g_w += g_a",
        "g_x = g_a",
        "w_grad = g_w",
        "x_grad = g_x",
    ]
    assert "test_programs.py, line" in text and "# MulBackward0" in text and "# AddBackward0, path 2 of 2" in text
    exec(compile(text, "<program>", "exec"), scope := {})
    assert (scope["w_grad"], scope["x_grad"]) == (8.0, 3.0)


def test_broadcasting_and_promotion_are_written() -> None:
    w = nb.tensor([1.0, 2.0], requires_grad=True)
    x = nb.tensor([[1.0], [2.0]], dtype=nb.float64, requires_grad=True)
    with traced():
        y = (w * x).sum()
    text = viz.code(y, namespace={"w": w, "x": x, "y": y}).text
    assert "t1 = w.astype(np.float64) * x" in text
    assert "g_w = (g_t1 * x).sum(axis=0).astype(np.float32)" in text
    assert "g_x = (g_t1 * w.astype(np.float64)).sum(axis=1, keepdims=True)" in text


def test_a_gradient_that_is_there_is_added_to() -> None:
    w = nb.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(2):
        with traced():
            y = (w * w).sum()
        code = viz.code(y, namespace={"w": w, "y": y})
        y.backward()
    assert "w_grad = w_grad + g_w" in code.text
    exec(compile(code.text, "<program>", "exec"), scope := {})
    assert scope["w_grad"].tolist() == w.grad.tolist()


def test_a_graph_that_was_used_up_can_still_be_written() -> None:
    names = built(mlp)
    before = viz.code(names["y"], namespace=names).text
    names["y"].backward()
    for leaf in leaves_in(names).values():
        leaf.grad = None
    assert viz.code(names["y"], namespace=names).text == before


@pytest.mark.parametrize("value", [-0.0, float("inf"), float("nan"), 1e-45, 0.1])
def test_numbers_come_back_bit_for_bit(value: float) -> None:
    w = nb.tensor([value, 1.0], requires_grad=True)
    with traced():
        y = (w * 0.1).sum()
    code = viz.code(y, namespace={"w": w})
    exec(compile(code.text, "<program>", "exec"), scope := {})
    assert scope["w"].tobytes() == w.detach().numpy().tobytes()
