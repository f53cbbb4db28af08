"""Check that a mistake in a magic's line is reported in one line, and errors of libraries by the user's lines alone."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from nbautograd import viz
from tests import needs

needs.package("IPython")

CELL = """
import nbautograd as torch
from nbautograd import nn, viz
weight = torch.tensor([2.], requires_grad=True)
v = torch.tensor([1., 2.])
y = weight * 3
def broken(x):
    raise ValueError("mine")
class Net(nn.Module):
    def forward(self, x):
        return x @ torch.ones(7)
net = Net()
"""
MAGICS = ("graph", "backward", "code", "grads", "zero_grads")
ONE = ("backward", "code")
EVERY = {
    "a misspelt name": ("{m} weigth", "name 'weigth' is not defined; did you mean 'weight'?"),
    "a name like none": ("{m} qqqqqq", "name 'qqqqqq' is not defined; tensors here: v, weight, y"),
    "another name": ("{m} nte(v)", "did you mean 'net'?"),
    "a name in a call": ("{m} weight.exp(zz)", "name 'zz' is not defined"),
    "a name in a comprehension": ("{m} sum(zz * e for e in weight)", "name 'zz' is not defined"),
    "a number": ("{m} 3", "needs a tensor, but '3' gives int"),
    "no tensor": ("{m} broken", "needs a tensor, but 'broken' gives function"),
    "a text": ("{m} 'y'", "gives str"),
    "no tensor among tensors": ("{m} [y, 3]", "gives int"),
    "nothing in brackets": ("{m} ()", "but '()' gives 0"),
    "half an expression": ("{m} y +", "'y +' is none: invalid syntax"),
    "an open bracket": ("{m} (y * 2", "was never closed"),
    "an open quotation": ("{m} y'", "unterminated string literal"),
    "an open quotation after a space": ("{m} y 'a", "quotation"),
    "an assignment": ("{m} z = y * 2", "is none"),
    "two statements": ("{m} y; y", "is none"),
    "an unknown option": ("{m} --color y", "unrecognized arguments: --color"),
    "an unknown letter": ("{m} -q y", "unrecognized arguments: -q"),
    "silenced": ("{m} weigth;", "did you mean 'weight'?"),
}
OWN = {
    "%graph": "%graph needs a tensor: write for example %graph y",
    "%backward": "%backward needs a tensor: write for example %backward y",
    "%code": "%code needs a tensor: write for example %code y",
    "%backward --retain-graph": "%backward needs a tensor",
    "%backward y v": "'y v' are 2; a gradient is given by -g: %backward -g v y",
    "%code y v": "a gradient is given by -g: %code -g v y",
    "%backward y, v": "'y, v' gives 2; a gradient is given by -g: %backward -g v y",
    "%backward y v weight": "'y v weight' are 3",
    "%graph y v": "write commas between tensors: %graph y, v",
    "%grads y v": "write commas between tensors: %grads y, v",
    "%zero_grads y v": "write commas between tensors: %zero_grads y, v",
    "%backward y retain_graph=True": "options have dashes: write %backward --retain-graph y",
    "%backward y, gradient=v": "options have dashes: write %backward --gradient v y",
    "%backward y retain_graph": "options have dashes: write %backward --retain-graph y",
    "%graph y fold=True": "options have dashes: write %graph --fold y",
    "%backward y.backward()": "backward() gives none: write %backward y",
    "%code net": "net is a module: write %code net(x)",
    "%backward --inputs zz y": "%backward --inputs: name 'zz' is not defined",
    "%backward --inputs 3 y": "%backward --inputs needs a tensor, but '3,' gives int",
    "%backward --inputs weight": "%backward needs a tensor",
    "%backward --inputs weight y v": "'y v' are 2",
    "%backward -g zz y": "%backward --gradient: name 'zz' is not defined",
    "%backward -g 3 y": "%backward --gradient needs a tensor, but '3' gives int",
    "%backward y -g": "expected one argument",
    "%code -g zz y": "%code --gradient: name 'zz' is not defined",
    "%code --in jax y": "invalid choice: 'jax'",
    "%code --flat --fold y": "exclude each other",
    "%graph --fold --no-fold y": "exclude each other",
    "%graph --depth y": "invalid int value: 'y'",
    "%graph --depth -1 y": "must not be negative",
    "%graph --opne Linear y": "did you mean --open?",
    "%backward --retian-graph y": "did you mean --retain-graph?",
    "%autograd --theme pink": "'pink' does not fit; theme can be auto, light, dark",
    "%autograd --depth -1": "'-1' does not fit",
    "%autograd --color red": "unrecognized arguments: --color",
    "%autograd nothing": "does not know 'nothing'",
    "%autograd torch perhaps": "does not know 'torch perhaps'; write one of %autograd torch, ",
    "%autograd language=zh": "write %autograd --language zh",
    "%autograd theme dark": "write %autograd --theme dark",
    "%autograd theme": "write %autograd --theme auto",
    "%autograd dark": "write %autograd --theme dark",
    "%autograd off": "does not know 'off'; write one of %autograd torch,",
    "%graph y.grad_fn": "needs a tensor, but grad_fn gives none: write %graph y",
    "%backward y.sum().item()": "needs a tensor, but item() gives none: write %backward y.sum()",
    "%why y weight": "'y weight' are 2; a result is given by --of: %why weight --of y",
    "%why v weight": "'v weight' are 2",
    "%path y": "%path needs two tensors, but got 1: write for example %path a b",
    "%path y wieght": "did you mean 'weight'?",
    "%graph net v": "net is a module: write %graph net(v)",
    "%memory net, v": "net is a module: write %memory net(v)",
    "%autograd --theme": "expected one argument",
}
LINES = list(OWN) + [line.format(m=f"%{m}") for m in MAGICS for line, _ in EVERY.values()]


@pytest.fixture(scope="module")
def loaded(app: Any) -> Iterator[Any]:
    app.run_line_magic("load_ext", "nbautograd")
    app.run_cell(CELL).raise_error()
    yield app
    app.run_line_magic("unload_ext", "nbautograd")


@pytest.fixture
def shell(loaded: Any, capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    return loaded


def said(shell: Any, capsys: pytest.CaptureFixture[str], cell: str) -> tuple[str, str]:
    """Return the output of a cell that fails, without colors: to stdout, and to stderr."""
    before = shell.user_ns["weight"].grad
    assert not shell.run_cell(cell).success
    assert shell.user_ns["weight"].grad is before
    out, err = capsys.readouterr()
    return re.sub(r"\x1b\[[\d;]*m", "", out), err


def expected(line: str) -> str:
    if line in OWN:
        return OWN[line]
    magic = line.split()[0]
    return next(text for template, text in EVERY.values() if template.format(m=magic) == line)


@pytest.mark.parametrize("line", LINES)
def test_a_mistake_is_one_line(shell: Any, capsys: pytest.CaptureFixture[str], line: str) -> None:
    for cell in (line, f"print('', end='')\n{line}\nprint('after')", f"%%autograd\n{line}", f"if True:\n    {line}"):
        out, err = said(shell, capsys, cell)
        assert out == "" and err.count("\n") == 1 and err.startswith("UsageError: %"), (cell, out, err)
        assert expected(line) in err
    assert viz.settings.theme == "auto" and viz.settings.depth == 0


def test_what_is_not_installed_is_named(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["nbautograd.viz.settings"], "find_spec", lambda name: None)
    out, err = said(shell, capsys, "%autograd --image png")
    assert out == "" and err.count("\n") == 1 and "--image: png needs resvg_py" in err


def test_a_minus_is_no_option(shell: Any) -> None:
    for line in ("%graph -y", "%graph (y * -weight).sum()", "%graph --no-values -y", "%graph -1 * y"):
        result = shell.run_cell(line)
        result.raise_error()
        assert "Neg" in result.result.text or "× " in result.result.text


def frames(out: str) -> list[str]:
    """The places that a traceback names: cells and files."""
    return [line for line in out.split("\n") if line.startswith(("Cell ", "File "))]


USERS = {
    "%graph broken(y)": ("ValueError: mine", 2),
    "%backward broken(y)": ("ValueError: mine", 2),
    "%grads broken(y)": ("ValueError: mine", 2),
    "%backward -g broken(y) y": ("ValueError: mine", 2),
    "%graph 1 / 0": ("ZeroDivisionError: division by zero", 1),
    "%graph y.absent": ("AttributeError: ", 1),
    "%graph {'a': y}['b']": ("KeyError: 'b'", 1),
    "%graph net(v)": ("ShapeError: ", 2),
    "%%autograd\nnet(v)": ("ShapeError: ", 3),
    "net(v)": ("ShapeError: ", 2),
    "weight.numpy()": ("RuntimeError: Can't call numpy() on Tensor that requires grad", 1),
    "v.item()": ("RuntimeError: a Tensor with 2 elements cannot be converted to Scalar", 1),
    "v[7]": ("IndexError: ", 1),
    "torch.add(v, 'a')": ("TypeError: ", 1),
    "torch.absent": ("AttributeError: module 'nbautograd' has no attribute 'absent'", 1),
    "net.absent": ("AttributeError: ", 1),
    "viz.animate(3)": ("TypeError: animate needs a tensor, but was given int", 1),
    "viz.tangent(lambda x: 'a', (1., 2.))": ("TypeError: tangent draws functions of one number", 1),
    "(weight * v).backward()": ("NonScalarError: ", 1),
    "%backward weight * v": ("NonScalarError: ", 1),
    "try:\n    v.item()\nexcept RuntimeError:\n    raise ValueError('mine')": ("ValueError: mine", 2),
}


@pytest.mark.parametrize("cell", USERS)
def test_an_error_is_shown_by_the_users_lines(shell: Any, capsys: pytest.CaptureFixture[str], cell: str) -> None:
    message, lines = USERS[cell]
    out, _ = said(shell, capsys, cell)
    assert message in out and len(frames(out)) == lines and all(f.startswith("Cell ") for f in frames(out)), out


def test_errors_of_pytorch_are_shown_so_too(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    needs.package("torch")
    shell.run_cell("import torch as T\na = T.ones(2, requires_grad=True)\nb = (a * a).sum()\nb.backward()")
    cells = {
        "b.backward()": ("second time", 1),
        "%backward b": ("second time", 1),
        "(a * a).backward()": ("scalar outputs", 1),
        "a.numpy()": ("Can't call numpy()", 1),
        "T.nn.Linear(2, 3)(T.ones(4))": ("mat1 and mat2", 1),
        "T.nn.Linear(2, 3).absent": ("no attribute 'absent'", 1),
        "class N(T.nn.Module):\n    def forward(self, x):\n        return x[9]\nN()(a)": ("out of bounds", 2),
    }
    for cell, (message, lines) in cells.items():
        out, _ = said(shell, capsys, cell)
        assert message in out and len(frames(out)) == lines and all(f.startswith("Cell ") for f in frames(out)), out
    out, err = said(shell, capsys, "%code b")
    assert out == "" and err.count("\n") == 1 and "%code writes programs of nbautograd's tensors" in err


def test_tb_shows_the_whole(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    said(shell, capsys, "v.item()")
    shell.run_line_magic("tb", "")
    assert "tensor_conversions.py" in capsys.readouterr().out


def test_a_mistake_in_the_library_is_shown_whole(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbautograd.viz.notebook import api

    monkeypatch.setattr(api, "Picture", lambda *args, **kwargs: None.absent)  # type: ignore[attr-defined]
    assert "api.py" in said(shell, capsys, "%graph y")[0]
    monkeypatch.setattr(api, "build", lambda *args, **kwargs: {}["absent"])
    assert "api.py" in said(shell, capsys, "viz.graph(y)")[0]


@pytest.mark.parametrize(
    ("cell", "line"),
    [("1 +", 1), ("%%autograd\n1 +", 2), ("%%autograd\nx = 1\nreturn 3", 3), ("  1\n 2", 1), ("x = 1\n  y = 2", 2)],
)
def test_a_syntax_error_is_shown_as_ever(shell: Any, capsys: pytest.CaptureFixture[str], cell: str, line: int) -> None:
    out, _ = said(shell, capsys, cell)
    assert len(frames(out.replace("  Cell", "Cell"))) == 1 and f", line {line}\n" in out and "Error: " in out
    assert ".py" not in out


def test_other_errors_are_left_alone(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(shell, capsys, "import json\njson.loads('{')")
    assert "JSONDecodeError" in out and "decoder.py" in out
    out, _ = said(shell, capsys, "1 / 0")
    assert frames(out) == frames(out)[:1] and "ZeroDivisionError: division by zero" in out
