"""Check that type checkers and editors see declarations: the stubs are current, and wrong calls are errors."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nbautograd
from nbautograd._names.lazy import AbsentMethod
from tests import needs

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import stubs

sys.path.pop(0)

USER_CODE = """
import nbautograd as torch
from nbautograd import Tensor, nn, optim

x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


def right(x: Tensor) -> Tensor:
    total: Tensor = x.sum() + x.sum(0) + x.sum(dim=(0, 1), keepdim=True) + x.sum(axis=0)
    total += torch.sum(x, 0, dtype=torch.int64)
    largest: Tensor = x.max() + torch.max(x, 0).values + x.max(dim=1, keepdim=True)[0] + torch.max(x, x)
    values, indices = torch.sort(x, descending=True)
    best: Tensor = x.topk(2).indices + torch.kthvalue(x, 1).values + x.mode().values + x.median() + x.median(0).values
    parts: tuple[Tensor, ...] = x.split(1) + torch.split(x, [1, 1], dim=0) + x.chunk(2) + x.unbind()
    chosen: Tensor = torch.where(x > 0, x, 0.0) + x.where(x > 0, x)
    places: tuple[Tensor, ...] = torch.where(x > 0) + x.nonzero(as_tuple=True)
    table: Tensor = x.nonzero()
    kinds, counts = torch.unique(x, return_counts=True)
    kinds = torch.unique(x)
    moved: Tensor = x.to(torch.float64).to("cpu").to(x).view(-1).view(2, 2).reshape((4,)).permute(0).expand(2, -1)
    made: Tensor = torch.zeros(2, 3) + torch.zeros((2, 3), dtype=torch.int64) + torch.rand(2, 3) + x.new_zeros(2, 3)
    mixed: Tensor = 2 * x + x / 3 - (1 - x) ** 2 @ x
    mixed += 1
    same: Tensor = x == 1
    running: Tensor = x.cumsum(0) + x.cumsum(axis=0) + torch.softmax(x, dim=1)
    sign, log = torch.linalg.slogdet(x)
    decomposed: Tensor = torch.svd(x).U + x.qr().R + torch.linalg.eigh(x, UPLO="U").eigenvectors
    decomposed += torch.fft.fft(x, dim=0).real + torch.special.erf(x) + torch.linalg.norm(x, axis=0)
    y = x.detach().clone()
    y.add_(1).mul_(2.0).clamp_(min=0).t_()
    y[0, 1:] = x.detach()[..., None].squeeze(-1).T[0, 1:]
    out: Tensor = torch.exp(y, out=torch.empty_like(y))
    for row in x:
        row.mean().backward(retain_graph=True)
    layers = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    optim.SGD(layers.parameters(), lr=0.1).step()
    with torch.no_grad():
        number: float = float(x.norm())
    shape: torch.Size = x.size()
    rows: int = x.size(0) + x.size(dim=-1) + x.stride(0) + x.stride(dim=-1)
    strides: tuple[int, ...] = x.stride()
    loss: float = x.sum().item()
    number += loss * rows * len(shape) * len(strides)
    result: torch.return_types.max = torch.max(x, 0)
    return result.values.detach() if number and torch.float32.is_floating_point else layers(x)


x.summ()  # E: "Tensor" has no attribute "summ"  [attr-defined]
x.sum(dm=0)  # E: Unexpected keyword argument "dm" for "sum" of "TensorMethods"  [call-arg]
torch.max(x, 0).valuess  # E: "max" has no attribute "valuess"  [attr-defined]
torch.linalg.eigh(x).vectors  # E: "linalg_eigh" has no attribute "vectors"  [attr-defined]
torch.fft.fft(x, axes=0)  # E: Unexpected keyword argument "axes" for "fft"  [call-arg]
torch.summ(x)  # E: Module has no attribute "summ"  [attr-defined]
torch.sum(x, dim="rows")  # E: Argument "dim" to "sum" has incompatible type "str"  [arg-type]
x.max().value  # E: "Tensor" has no attribute "value"  [attr-defined]
x.topk()  # E: Missing positional argument "k" in call to "topk" of "TensorMethods"  [call-arg]
x.add([1, 2])  # E: Argument 1 to "add" of "TensorMethods" has incompatible type "list[int]"  [arg-type]
x.reshape("2")  # E: Argument 1 to "reshape" of "TensorMethods" has incompatible type "str"  [arg-type]
torch.exp("1")  # E: Argument 1 to "exp" has incompatible type "str"; expected "Tensor"  [arg-type]
torch.rand(2, dtpe=torch.float32)  # E: No overload variant of "rand" matches argument types  [call-overload]
one: Tensor = x.split(1)  # E: Incompatible types in assignment  [assignment]
x.nonzero(as_tuple=True).shape  # E: "tuple[Tensor, ...]" has no attribute "shape"  [attr-defined]
x + "1"  # E: Unsupported operand types for + ("Tensor" and "str")  [operator]
x.size(0).numel()  # E: "int" has no attribute "numel"  [attr-defined]
x.size().nummel()  # E: "Size" has no attribute "nummel"  [attr-defined]
x.size("0")  # E: No overload variant of "size" of "TensorProperties" matches argument type "str"  [call-overload]
stride: int = x.stride()  # E: Incompatible types in assignment  [assignment]
x.item().detach()  # E: has no attribute "detach"  [union-attr]
x.retain_grad(True)  # E: Too many arguments for "retain_grad" of "Tensor"  [call-arg]
nn.Linear("2", 3)  # E: Argument 1 to "Linear" has incompatible type "str"; expected "int"  [arg-type]
flat: nn.Linear = nn.BatchNorm2d(3)  # E: expression has type "BatchNorm2d", variable has type "Linear"  [assignment]
flat = nn.LazyConv2d(3, 1)  # E: expression has type "LazyConv2d", variable has type "Linear"  [assignment]
nn.Liner(2, 3)  # E: Module has no attribute "Liner"  [attr-defined]
"""


def test_the_stored_stubs_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "docs/stubs.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.sweep
def test_mypy_accepts_right_calls_and_names_wrong_ones(tmp_path: Path) -> None:
    needs.package("mypy")
    file = tmp_path / "user_code.py"
    file.write_text(USER_CODE, encoding="utf-8")
    # Strict, and with its cache of the package.
    command = [sys.executable, "-m", "mypy", "--no-pretty", "--no-color-output", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    pattern = re.compile(r"user_code\.py:(\d+): error: (.*)")
    said = {int(line): text for line, text in pattern.findall(done.stdout)}
    lines = dict(enumerate(USER_CODE.split("\n"), 1))
    expected = {line: text.partition("  # E: ")[2] for line, text in lines.items() if "  # E: " in text}
    assert {*said} == {*expected}, done.stdout
    for line, text in expected.items():
        sentence, _, code = text.rpartition("  ")
        assert sentence in said[line] and said[line].endswith(code), f"{lines[line]}\n{said[line]}"


def test_right_calls_run() -> None:
    """Check that the functions accept each call that the type checker accepts."""
    scope: dict[str, Any] = {}
    exec(compile(USER_CODE.partition("x.summ()")[0], "user_code.py", "exec"), scope)
    assert scope["right"](scope["x"]).tolist() == [3.0, 4.0]


def test_every_attached_method_and_every_function_has_a_signature_in_the_stubs() -> None:
    files = (stubs.METHODS, "__init__.pyi")  # another test compares them with the functions
    methods, package = ((stubs.PACKAGE / name).read_text(encoding="utf-8") for name in files)
    scope = vars(nbautograd.Tensor)
    there = {name for name, value in scope.items() if name[:2] != "__" and not isinstance(value, AbsentMethod)}
    attached = there - stubs.own_names(nbautograd.Tensor)
    assert [name for name in sorted(attached) if f" def {name}(" not in methods] == [] and len(attached) > 450
    functions = [name for name in dir(nbautograd) if inspect.isfunction(getattr(nbautograd, name)) and name[0] != "_"]
    assert [name for name in functions if f"\ndef {name}(" not in package] == [] and len(functions) > 400


@pytest.mark.parametrize("of", [None, nbautograd.Tensor])
def test_hand_written_signatures_name_parameters_that_there_are(of: type | None) -> None:
    """Of an operation; of a function with ``*args`` there is nothing to compare with."""
    for name, found in stubs.overloads(of).items():
        function = vars(of)[name] if of else getattr(nbautograd, name)
        own = inspect.signature(function).parameters
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in own.values()):
            continue
        known = {*own, "out", "rest"}
        for signature in found:
            named = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
            first = 1 if of else 0
            assert [p.name for p in named[first:] if p.name not in known] == [], name
