"""Two libraries by mistake, in a notebook: said in a line, once, and nothing is said of what is meant."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import pytest

from tests import needs

needs.package("IPython")

import nbautograd as nb
from nbautograd.viz import settings
from nbautograd.viz.notebook import mixing

SOURCE = """
class Linear:
    __module__ = "torch.nn.modules.linear"
    def __call__(self, x):
        raise TypeError("linear(): argument 'input' (position 1) must be Tensor, not Tensor")
"""


@pytest.fixture
def shell(app):
    app.run_line_magic("reset", "-f")
    app.run_line_magic("load_ext", "nbautograd")
    yield app
    app.run_line_magic("unload_ext", "nbautograd")
    app.run_line_magic("reset", "-f")


@pytest.fixture
def pytorch(monkeypatch):
    """A library that is called torch, whether there is one or not."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.utils", "torch.utils.data"):
        module = ModuleType(name)
        module.__path__ = []
        monkeypatch.setitem(sys.modules, name, module)
        above, _, leaf = name.rpartition(".")
        if above:
            setattr(sys.modules[above], leaf, module)
    exec(SOURCE, vars(sys.modules["torch.nn"]))
    sys.modules["torch.utils.data"].DataLoader = type("DataLoader", (), {"__module__": "torch.utils.data.dataloader"})


@pytest.fixture
def said(shell, capsys):
    """What is said about a cell, apart from its error."""

    def run(code):
        shell.run_cell(code, store_history=True)
        lines = capsys.readouterr().out.split("\n")
        return [line for line in lines if line.startswith(("torch is ", "line ", "这里"))]

    return run


def test_an_import_is_told_of_before_it_runs(said, pytorch):
    assert said("import nbautograd as torch") == []
    (line,) = said("from torch import nn\nimport torch.nn.functional as F")
    assert line == (
        "torch is nbautograd here, and PyTorch's are: nn, F. Write from nbautograd import nn; "
        "import nbautograd.nn.functional as F, or run %autograd torch nbautograd before the import"
    )
    assert said("nn") == [] and said("nn.Linear()") == []  # and then no more
    (line,) = said("from torch.utils.data import DataLoader")
    assert "Write from nbautograd.utils.data import DataLoader," in line
    assert len(said("from torch import nn")) == 1  # it is the mistake again


@pytest.mark.parametrize(
    ("code", "fix"),
    [
        ("import torch.optim as optim", "import nbautograd.optim as optim"),
        ("import torch.utils.data", "import nbautograd.utils.data"),
        ("import torch", "import nbautograd as torch"),
        ("if True:\n    from torch.nn import Linear", "from nbautograd.nn import Linear"),
        ("%time from torch import optim", ""),
        ("import nbautograd as torch\nfrom torch import nn", "from nbautograd import nn"),
    ],
)
def test_what_to_write_instead(said, pytorch, code, fix):
    said("import nbautograd as torch")
    (line,) = said(code)
    assert f"Write {fix}" in line


def test_both_in_one_cell(said, pytorch):
    (line,) = said("import nbautograd as torch\nfrom torch import nn, optim")
    assert "nn, optim. Write from nbautograd import nn; from nbautograd import optim," in line


def test_it_is_told_where_pytorch_is_not_there(said, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    said("import nbautograd as torch")
    assert "from nbautograd import nn" in said("from torch import nn")[0]


@pytest.fixture
def no_pytorch(monkeypatch):
    """A Python that has no PyTorch, and a shell that ends what stands in for it."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    yield
    mixing.stand_in("off", is_line=True)


@pytest.mark.parametrize(
    "code",
    ["import torch", "import torch as t2", "from torch import nn", "import torch.nn as nn", "x = 1\nimport torch.optim",
     "def f():\n    import torch\nf()"],
)  # fmt: skip
def test_a_tutorial_without_pytorch_runs_after_the_line_that_the_hint_names(shell, capsys, no_pytorch, code):
    shell.run_cell(code, store_history=True)
    (hint,) = [line for line in capsys.readouterr().out.split("\n") if line.startswith("PyTorch is not installed.")]
    (line,) = re.findall(r"run (%autograd [a-z]+) before", hint)
    assert shell.run_cell(line, store_history=True).success
    assert capsys.readouterr().out == "import torch now gives nbautograd. To end this: %autograd torch off\n"
    assert shell.run_cell(code, store_history=True).success
    assert shell.run_cell("import torch; w = torch.ones(1, requires_grad=True); (w * 3).backward()").success
    assert shell.user_ns["torch"] is nb and shell.user_ns["w"].grad.item() == 3
    capsys.readouterr()
    assert shell.run_cell("%autograd torch off\ndel torch").success
    assert not shell.run_cell(code, store_history=True).success
    assert "PyTorch is not installed." in capsys.readouterr().out


def test_nbautograd_takes_the_place_of_a_pytorch_that_is_there_only_if_it_is_named(shell, capsys, pytorch):
    there = sys.modules["torch"]
    assert shell.run_cell("%autograd torch").success  # PyTorch's operations are watched
    assert sys.modules["torch"] is there and capsys.readouterr().out == ""
    try:
        assert shell.run_cell("%autograd torch nbautograd").success
        assert sys.modules["torch"] is nb and "import torch now gives nbautograd" in capsys.readouterr().out
    finally:
        assert shell.run_cell("%autograd torch off").success
    assert sys.modules["torch"] is there


def test_the_head_of_a_cell_puts_nothing_in_pytorchs_place(shell, capsys, no_pytorch):
    shell.run_cell("%%autograd torch\n1")
    assert "write %autograd torch nbautograd in a cell before this one" in "".join(capsys.readouterr())
    assert sys.modules["torch"] is None


def test_pictures_beside_pytorch_are_no_mixture(said, pytorch):
    """Both are in the line, as they are to be; its error is another one's."""
    said("import torch\nfrom nbautograd import viz\nlayer = torch.nn.Linear()\nm = viz.monitor(None)")
    assert said("m.no_such_name(layer)") == []
    assert said("'nb'.no_such_name(layer)") == []


def test_what_comes_without_an_import_statement_is_found_afterwards(said, pytorch):
    said("import nbautograd as torch")
    (line,) = said("import importlib; F = importlib.import_module('torch.nn.functional')")
    assert "PyTorch's are: F. Write from nbautograd.nn import functional as F," in line
    assert said("F") == []


def test_the_other_way_round(said, pytorch):
    said("import torch")
    (line,) = said("from nbautograd import nn, viz")
    assert line == (
        "torch is PyTorch here, and nbautograd's are: nn. Write from torch import nn, or import nbautograd as torch"
    )
    assert said("nn") == []


@pytest.mark.parametrize(
    "code",
    [
        "import torch as pytorch",
        "from torch import nn as their_nn",
        "import nbautograd",
        "'import torch'",
        "from torch import (",
        "import nbautograd as nb; from nbautograd import nn; from nbautograd import optim",
    ],
)
def test_what_is_meant_is_left_alone(said, pytorch, code):
    said("import nbautograd as torch")
    assert said(code) == []


def test_pytorch_alone_and_standing_in_are_left_alone(said, pytorch):
    assert said("import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader") == []
    with nb.standing_in():
        assert said("import torch\nfrom torch import nn\nimport torch.nn.functional as F") == []
        assert said("from torch.nn import Linear\nimport nbautograd as nb\nlayer, x = Linear(1, 1), nb.ones(1)") == []


def test_a_line_that_hands_on_to_the_other_is_explained(said, pytorch):
    assert said("import torch as pytorch\nimport nbautograd as nb\nx = nb.ones(2)\nlayer = pytorch.nn.Linear()") == []
    (line,) = said("y = 1\n\nlayer(x)")
    assert line == "line 3 mixes two libraries: x of nbautograd and layer of PyTorch; take both from one of them"
    assert said("x.nothing") == []


def test_it_speaks_chinese_and_unloads(shell, said, pytorch):
    said("import nbautograd as torch")
    before = settings.change(language="zh")
    try:
        assert "这里的 torch 是 nbautograd" in said("from torch import nn")[0]
    finally:
        settings.change(**before)
    count = len(shell.events.callbacks["pre_run_cell"])
    shell.run_line_magic("unload_ext", "nbautograd")
    assert len(shell.events.callbacks["pre_run_cell"]) < count and said("from torch import nn") == []
    shell.run_line_magic("load_ext", "nbautograd")
