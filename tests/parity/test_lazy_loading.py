"""Check modules that are loaded on first use: each way of access finds them, and they are listed."""

from __future__ import annotations

import ast
import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

import nbautograd
from nbautograd._engine.compiler.schema import OPS
from nbautograd._engine.core.tensor import Tensor
from nbautograd._names import lazy
from tests.package_sources import SOURCES, imports

ROOT = Path(__file__).parents[2]


def fresh(code: str) -> str:
    """Return the output of a new interpreter, in which the package and ``tests`` are those of this folder."""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    return done.stdout.strip()


def test_every_name_is_listed_as_it_is() -> None:
    for module, names in lazy.FAMILIES.items():
        source = sys.modules[f"nbautograd.{module}"]
        for name in names.split():
            assert getattr(nbautograd, name) is getattr(source, name)


def test_every_method_that_a_late_module_attaches_is_listed() -> None:
    code = """
from nbautograd._names import lazy
from nbautograd._engine.core.tensor import Tensor
names = set(vars(Tensor))
stand_ins = {name for name, value in vars(Tensor).items() if isinstance(value, lazy._Method)}
lazy.load()
print(sorted(set(vars(Tensor)) - names), [n for n in stand_ins if isinstance(vars(Tensor)[n], lazy._Method)], end=" ")
print(sorted({n for names in lazy.METHODS.values() for n in names.split()} ^ stand_ins))
"""
    assert fresh(code) == "[] [] []"


def test_a_method_outlives_a_reload_and_a_patch() -> None:
    code = """
import importlib
from unittest import mock
import nbautograd as torch
with mock.patch.object(torch.Tensor, "norm"):
    torch.norm(torch.ones(4))
print(torch.ones(4).norm().item(), end=" ")
torch.ones(4).sort()
importlib.reload(torch)
print(torch.ones(4).sort().values.tolist()[0])
"""
    assert fresh(code) == "2.0 1.0"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a process that has imported no late module")
def test_a_late_module_can_come_first() -> None:
    """After the package itself, which Python imports before any module of it."""
    code = f"""
import importlib, os, sys
import nbautograd, scipy
wrong = []
for module in {[*lazy.FAMILIES, *lazy.NAMESPACES]}:
    child = os.fork()
    if not child:
        try:
            importlib.import_module("nbautograd." + module)
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(child, 0)[1]:
        wrong.append(module)
print(wrong)
"""
    assert fresh(code) == "[]"


@pytest.mark.sweep
def test_what_is_there_at_once_needs_nothing_late() -> None:
    code = """
import builtins, sys
import nbautograd
from nbautograd._engine.compiler.schema import OPS
from tests.package_sources import GENERATED, compiled_method, global_names
before = {name for name in sys.modules if name.startswith("nbautograd")}
for op in [op for op in OPS.values() if op.formulas]:
    for flavour in ("real", "complex", "half"):
        for method in (compiled_method(op.node(flavour), name) for name in ("vjp", "vjp_graph")):
            unknown = global_names(method.__code__) - set(method.__globals__) - GENERATED - set(vars(builtins))
            assert not unknown, (op.name, unknown)
print(sorted({name for name in sys.modules if name.startswith("nbautograd")} - before))
"""
    assert fresh(code) == "['nbautograd._engine.compiler.folding']"  # which compiles, but does not run


@functools.cache
def with_imports(module: str) -> frozenset[str]:
    """Return the modules that come with a module: it, its packages, and what they import at once."""
    found, waiting = set[str](), [module]
    while waiting:
        name = waiting.pop()
        if name and name not in found:
            found.add(name)
            waiting += [name.rpartition(".")[0], *imports(name, inside_functions=False, types=False)]
    return frozenset(found)


def test_a_formula_names_operations_that_come_with_its_module() -> None:
    lazy.load()
    missing = {
        (op.name, part.id)
        for op in OPS.values()
        if op.body.__module__ in SOURCES
        for formula in (op.formulas or {}).values()
        for part in ast.walk(ast.parse(formula))
        if isinstance(part, ast.Name) and part.id in OPS and part.id not in op.body.__code__.co_varnames
        if OPS[part.id].body.__module__ not in with_imports(op.body.__module__) | with_imports("nbautograd")
    }
    assert missing == set()


def test_every_way_of_asking() -> None:
    code = """
import inspect, pickle, sys
import nbautograd as torch
late = ("nbautograd._engine.ops.indexing.scatter", "nbautograd._engine.ops.linalg.solvers")
late += ("nbautograd._engine.ops.reduction.statistics", "nbautograd._engine.ops.linalg.einsum")
late += ("nbautograd.nn", "nbautograd.linalg", "nbautograd.utils.allocator", "nbautograd.autograd.functional")
assert not set(late) & set(sys.modules)
assert {"det", "bincount", "linalg", "nn", "optim"} <= set(dir(torch)) and "scatter_add_" in dir(torch.Tensor)
assert not set(late) & set(sys.modules)
class Mine(torch.Tensor):
    def det(self):
        return super().det()
x = torch.eye(2, requires_grad=True)
x.det().backward()
assert x.grad.tolist() == [[1, 0], [0, 1]] and torch.Tensor.bincount(torch.tensor([0, 1, 1])).tolist() == [1, 2]
assert Mine([[2.0, 0.0], [0.0, 1.0]]).det().item() == 2
assert hasattr(torch.Tensor, "scatter_add_") and "other" in inspect.signature(torch.inner).parameters
assert torch.linalg is sys.modules["nbautograd.linalg"] and torch.utils.allocator and torch.autograd.functional
assert pickle.loads(pickle.dumps(torch.einsum)) is torch.einsum
scope = {}
exec("from nbautograd import *", scope)
assert {"tensor", "fft", "stft", "conv2d", "Tensor", "nn"} <= set(scope) and scope["stft"] is torch.stft
try:
    torch.nothing_of_the_kind
except AttributeError as error:
    print(error)
"""
    assert fresh(code) == (
        "module 'nbautograd' has no attribute 'nothing_of_the_kind': it is not part of nbautograd, and PyTorch "
        "documents no torch.nothing_of_the_kind"
    )


def test_a_module_that_cannot_be_loaded_says_why_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = lazy._Method(Tensor, "nowhere", "nbautograd._engine.ops.nowhere")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="nowhere"):
            stand_in.__get__(None, Tensor)
    monkeypatch.setattr(
        Tensor, "nowhere", lazy._Method(Tensor, "nowhere", "nbautograd._engine.ops.elementwise.bessel"), raising=False
    )
    with pytest.raises(AttributeError, match="nowhere"):
        Tensor.nowhere  # noqa: B018
