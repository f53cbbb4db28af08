"""Two libraries by mistake, in a notebook: said in a line, once, and intended mixtures stay without a word."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tests import needs

needs.package("IPython")

from IPython.core.error import UsageError

import nbautograd as nb
from nbautograd.viz import settings
from tests.pictures.viz.shells import empty

SOURCE = """
class Linear:
    __module__ = "torch.nn.modules.linear"
    def __call__(self, x):
        raise TypeError("linear(): argument 'input' (position 1) must be Tensor, not Tensor")
"""


@pytest.fixture
def shell(app, monkeypatch):
    monkeypatch.setattr(app.InteractiveTB, "mode", "Minimal")  # no one reads the tracebacks, which take the most time
    empty(app)
    app.run_line_magic("load_ext", "nbautograd")
    yield app
    app.run_line_magic("unload_ext", "nbautograd")
    empty(app)


@pytest.fixture
def pytorch(monkeypatch):
    """A library named torch, whether PyTorch is installed or not."""
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
    """Return the messages about a cell, apart from its error."""

    def run(code):
        shell.run_cell(code, store_history=True)
        lines = capsys.readouterr().out.split("\n")
        return [
            line for line in lines if line.startswith(("torch is ", "line ", "这里", "PyTorch is ", "`import torch`"))
        ]

    return run


def test_an_import_is_told_of_before_it_runs(said, pytorch):
    assert said("import nbautograd as torch") == []
    (line,) = said("from torch import nn\nimport torch.nn.functional as F")
    assert line == (
        "torch is nbautograd here, and PyTorch's are: nn, F. Write `from nbautograd import nn; "
        "import nbautograd.nn.functional as F`, or `%autograd torch nbautograd` before the import"
    )
    assert said("nn") == [] and said("nn.Linear()") == []  # and no more afterwards
    (line,) = said("from torch.utils.data import DataLoader")
    assert "Write `from nbautograd.utils.data import DataLoader`," in line
    assert len(said("from torch import nn")) == 1  # the same mistake again


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
    assert f"Write `{fix}" in line


def test_both_in_one_cell(said, pytorch):
    (line,) = said("import nbautograd as torch\nfrom torch import nn, optim")
    assert "nn, optim. Write `from nbautograd import nn; from nbautograd import optim`," in line


@pytest.fixture
def no_pytorch(monkeypatch):
    """A system without PyTorch, whether it is installed or not."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)


IMPORTS = [
    "import torch",
    "import torch as t2",
    "from torch import nn",
    "import torch.nn as nn\nimport torch.nn.functional as F",
    "from torch.utils.data import (\n    DataLoader,\n    TensorDataset,\n)",
    "x = 1\n\ndef f():\n    import torch\n    return torch.ones(x)\n\nf()",
    "%time import torch",
    "import importlib; importlib.import_module('torch.nn')",
]


@pytest.mark.parametrize("code", IMPORTS)
@pytest.mark.parametrize("before", ["", "import nbautograd as torch"])
def test_without_pytorch_every_import_is_answered_by_a_line_to_type(shell, said, no_pytorch, code, before):
    said(before or "pass")
    (line,) = said(code)
    assert line.startswith("PyTorch is not installed. Type `%autograd torch`, run this cell again")
    assert said("%autograd torch") == ["`import torch` gives nbautograd now, until `%autograd torch off`"]
    result = shell.run_cell(code, store_history=True)
    assert result.success and sys.modules["torch"] is nb
    assert said("%autograd torch") == ["`import torch` gives nbautograd now, until `%autograd torch off`"]
    assert said("%autograd torch off") == [] and sys.modules["torch"] is None
    assert len(said(code)) == 1


def test_an_error_that_is_caught_or_another_one_is_left_alone(said, no_pytorch):
    assert said("try:\n    import torch\nexcept ImportError:\n    torch = None") == []
    assert said("import no_such_package") == [] and said("1 / 0") == []


def test_where_pytorch_is_installed_it_stays_unless_nbautograd_is_named(shell, said, pytorch):
    theirs = sys.modules["torch"]
    (line,) = said("%autograd torch")
    assert "PyTorch is installed: `import torch` gives PyTorch" in line and sys.modules["torch"] is theirs
    assert said("%autograd torch nbautograd") == ["`import torch` gives nbautograd now, until `%autograd torch off`"]
    said("import torch")
    assert shell.user_ns["torch"] is nb and settings.torch
    said("%autograd torch off")
    assert sys.modules["torch"] is theirs and not settings.torch
    said("%autograd torch on")
    assert settings.torch and sys.modules["torch"] is theirs
    said("%autograd torch nbautograd")
    shell.run_line_magic("unload_ext", "nbautograd")
    assert sys.modules["torch"] is theirs
    shell.run_line_magic("load_ext", "nbautograd")


def test_an_unknown_word_names_the_known_ones(shell):
    known = r"write one of %autograd torch, %autograd torch nbautograd, .* torch off; %autograd\? lists the options$"
    with pytest.raises(UsageError, match=known):
        shell.run_line_magic("autograd", "torch yes")


def test_what_comes_without_an_import_statement_is_found_afterwards(said, pytorch):
    said("import nbautograd as torch")
    (line,) = said("import importlib; F = importlib.import_module('torch.nn.functional')")
    assert "PyTorch's are: F. Write `from nbautograd.nn import functional as F`," in line
    assert said("F") == []


def test_the_other_way_round(said, pytorch):
    said("import torch")
    (line,) = said("from nbautograd import nn, viz")
    assert line == (
        "torch is PyTorch here, and nbautograd's are: nn. Write `from torch import nn`, or `import nbautograd as torch`"
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


def test_the_package_beside_pytorch_is_meant(said, pytorch):
    assert said("import torch, nbautograd") == []
    assert said("import nbautograd.viz") == []


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


@pytest.mark.parametrize(
    "code",
    [
        "monitor.step(loss)",
        "monitor(loss, net, 1, 2, 3)",
        "viz.graph(loss.no_such_name)",
        "nb.viz.graph(loss, no_such_argument=net)",
        "print(x, net.no_such_name)",
        "(x, loss.no_such_name)",
        "assert x is loss",
        "no_such_name(x, loss)",
        "{}[x, loss]",
    ],
)
def test_pictures_beside_pytorch_are_no_mixture(said, code):
    needs.package("torch")
    said("import torch as pytorch, nbautograd as nb\nfrom nbautograd import viz\nnet = pytorch.nn.Linear(2, 1)")
    said("loss = net(pytorch.ones(2)).sum()\nmonitor = viz.monitor(net)\nx = nb.ones(2)")
    assert said(code) == []


def test_tensors_of_both_that_meet_are(said):
    needs.package("torch")
    said("import torch as pytorch, nbautograd as nb\nnet = nb.nn.Linear(2, 1)\nt, x = pytorch.ones(2), nb.ones(2)")
    assert said("y = [1,\n  pytorch.optim.SGD(net.parameters())]") == [
        "line 2 mixes two libraries: net of nbautograd and pytorch.optim.SGD of PyTorch; take both from one of them"
    ]
    assert said("t.add(x)") == said("net(t)") == []  # the errors themselves say so


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
