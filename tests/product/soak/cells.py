"""A notebook that never ends: cells that build, differentiate, draw, play, train, fail, and start over."""

from __future__ import annotations

from typing import NamedTuple


class Cell(NamedTuple):
    """One cell, and how it should end."""

    name: str
    code: str
    error: str = ""
    interrupt: bool = False


START = Cell("start", "import nbautograd as torch\nfrom nbautograd import viz, nn, optim\n%load_ext nbautograd")

CELLS = (
    Cell("leaves", "w = torch.tensor([1.], requires_grad=True)\nx = torch.tensor([2.], requires_grad=True)"),
    Cell("build", "a = torch.add(w, x)\nb = torch.add(w, 1)\ny = torch.mul(a, b)\ny"),
    Cell("graph", "%graph y"),
    Cell("animate", "%backward y"),
    Cell("again", "y.backward()", "GraphFreedError"),
    Cell("again, played", "%backward y", "GraphFreedError"),
    Cell("grads", "%grads"),
    Cell("zero", "%zero_grads"),
    Cell("cell magic", "%%autograd\nz = (w * x).exp()\nz.backward()\nz"),
    Cell("settings", "%autograd --theme dark --language 中文\n(w * 2)"),
    Cell("settings back", "%autograd --theme auto --language en"),
    Cell("names", "%graph nothing_of_that_name", "UsageError"),
    Cell("shapes", "torch.ones(2, 3) @ torch.ones(2, 3)", "ShapeError"),
    Cell("in place", "v = x.exp()\nv.add_(1)\nv.backward()", "InplaceError"),
    Cell("freed by hand", "big = torch.ones(100_000, requires_grad=True)\n(big * big).sum().backward()\ndel big"),
    Cell("hook", "h = x.register_hook(lambda g: g * 2)\n(x * x).backward()\nh.remove()"),
    Cell("bad hook", "h = x.register_hook(lambda g: 1 / 0)\n(x * x).backward()", "ZeroDivisionError"),
    Cell("bad hook goes", "h.remove()"),
    Cell(
        "second order", "(g,) = torch.autograd.grad(x ** 3, x, create_graph=True)\ng.backward()\nx.grad = None\ndel g"
    ),
    Cell(
        "record",
        "with viz.record() as passes:\n    for _ in range(3):\n        (w * x).sum().backward()\npasses",
    ),
    Cell("record fails", "with viz.record() as passes:\n    (w * x).backward()\n    1 / 0", "ZeroDivisionError"),
    Cell("shown twice", "passes"),
    Cell("pictures", "page = viz.graph(w * x).html()\nstill = viz.graph(w * x).svg\nlen(page) > len(still)"),
    Cell(
        "saved",
        "import tempfile, pathlib\nwith tempfile.TemporaryDirectory() as d:\n"
        "    _ = viz.graph(w * x).save(pathlib.Path(d) / 'a.html')\n"
        "    torch.save({'w': w}, pathlib.Path(d) / 'a.pt')\n"
        "    torch.load(pathlib.Path(d) / 'a.pt')",
    ),
    Cell(
        "train",
        "torch.manual_seed(0)\nmodel = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))\n"
        "step = optim.Adam(model.parameters())\nfor _ in range(3):\n    step.zero_grad()\n"
        "    loss = (model(torch.ones(2, 4)) ** 2).mean()\n    loss.backward()\n    step.step()\nloss",
    ),
    Cell("monitor", "with viz.monitor(*model.parameters()) as watch:\n    for i in range(4):\n        watch(float(i))"),
    Cell("interrupted", "print('on')\nwhile True:\n    (w * x).sum().backward()", "KeyboardInterrupt", True),
    Cell(
        "interrupted recording",
        "print('on')\nwith viz.record() as passes:\n    while True:\n        (w * x).sum().backward()",
        "KeyboardInterrupt",
        True,
    ),
    Cell("what was recorded", "told = passes.text[:1000]\ndel passes  # how much it holds is chance\ntold"),
    Cell("reload", "%reload_ext nbautograd"),
    Cell("unload", "%unload_ext nbautograd"),
    Cell("load", "%load_ext nbautograd"),
    Cell(
        "function",
        "class Twice(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, t):\n"
        "        ctx.save_for_backward(t)\n        return t * 2\n    @staticmethod\n    def backward(ctx, g):\n"
        "        return g * 2\nTwice.apply(x).backward()",
    ),
    Cell("modes", "with torch.no_grad():\n    w.add_(0.0)\nwith torch.inference_mode():\n    w * 2"),
    Cell("a long graph", "y = w\nfor _ in range(300):\n    y = y * 1.0 + x\ny"),
    Cell("folded", "%graph y"),
    Cell("text", "%autograd --tensors card"),
    Cell("card", "w * x"),
    Cell("graph again", "%autograd --tensors graph"),
    Cell("table of passes", "(w * x).backward()\n%grads w, x"),
    Cell("reset", "%reset -f"),
)
"""One run through the notebook; after it the namespace is empty, and the next begins with ``START``."""
