"""Questions that people ask in public, each as a program: the command's text names the cause and the line.

The threads are in the issue trackers of the projects that the comments name; the programs are the smallest that show
the same.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests import needs

needs.package("IPython")

QUESTIONS: dict[str, tuple[list[str], str, list[str]]] = {
    # "Trying to backward through the graph a second time": nn-zero-to-hero#31, gsplat#710
    "second backward": (
        ["w = leaf(2.0)\ny = (w * w).sum()", "y.backward()\ny.backward()"],
        "",
        [r"second time", r"retain_graph=True|retain_graph"],
    ),
    # one convolution before the loop: denoising-diffusion#109
    "made before the loop": (
        ["w = leaf(2.0)\nh = w * w", "for _ in range(2):\n    y = (h * 3).sum()\n    %backward y"],
        "",
        [r"h = w \* w|h = w × w", r"In \[\d+\], line 2"],
    ),
    # "Good luck!": pytorch#15803
    "in place": (
        ["w = leaf(2.0)\nh = w * 1\ny = (h * h).sum()\nh += 1", "%backward y"],
        "",
        [r"modified by an inplace operation|in place|inplace", r"h \+= 1"],
    ),
    # ".grad of a non-leaf is None": tutorials#3186, #3652
    "not a leaf": (
        ["w = leaf(2.0) * 2\ny = w.sum()\ny.backward()"],
        "%why w",
        [r"w is no leaf: mul computed it", r"line 1: w = leaf\(2.0\) \* 2", r"w.retain_grad\(\)"],
    ),
    "detached": (
        ["w, v = leaf(2.0), leaf(1.0)\nh = (w * 2).detach()\ny = (h * v).sum()\ny.backward()"],
        "%why w --of y",
        [r"w.grad is None", r"cut off by detach\(\)", r"line 2: h = "],
    ),
    ".data": (
        ["w, v = leaf(2.0), leaf(1.0)\nh = w.data * 2\ny = (h * v).sum()"],
        "%why w",
        [r"cut off by \.data", r"line 2: h = w\.data"],
    ),
    "no_grad": (
        ["w, v = leaf(2.0), leaf(1.0)\nwith torch.no_grad():\n    h = w * 2\ny = (h * v).sum()"],
        "%why w",
        [r"cut off by no_grad\(\)", r"line 3: h = w \* 2"],
    ),
    "item": (
        ["w, v = leaf(2.0), leaf(1.0)\nscale = w.item()\ny = (v * scale).sum()"],
        "%why w",
        [r"cut off by item\(\)", r"line 2: scale = "],
    ),
    "made anew by torch.tensor": (
        ["w, v = leaf(2.0), leaf(1.0)\nh = torch.tensor([float(w * 3)])\ny = (v * h).sum()"],
        "%why w",
        [r"cut off by tensor\(…\)", r"line 2: h = torch\.tensor"],
    ),
    "accuracy is no loss": (
        ["w = leaf(0.2, 0.7)\nhits = (w > 0.5).float()\nv = leaf(1.0)\ny = (v * hits).sum()"],
        "%why w",
        [r"w > 0\.5 gives integers or bools", r"line 2"],
    ),
    "a branch": (
        ["w, v = leaf(2.0), leaf(1.0)\ntrain = False\ny = v * 1\nif train:\n    y = y * w\nz = y.sum()"],
        "%why w --of z",
        [r"a branch with w did not run", r"line 4: if train"],
    ),
    "requires_grad forgotten": (
        ["w = torch.tensor([1.0])\ny = w * 2"],
        "%why w",
        [r"requires_grad is False", r"line 1: w = torch\.tensor", r"requires_grad=True"],
    ),
    "backward was not called": (
        ["w = leaf(2.0)\ny = (w * w).sum()"],
        "%why w",
        [r"no pass has run: y\.backward\(\) would add 4"],
    ),
    # copies of one question in English, Chinese and Korean
    "zero_grad": (
        ["w = leaf(2.0)\nfor _ in range(3):\n    y = (w * w).sum()\n    y.backward()"],
        "%why w",
        [r"3 passes were summed: one gives 4;", r"zero_grad\(\)"],
    ),
    # "raise on any NaN … toggleable option to raise on infinity": pytorch#160016, #143658
    "nan forward": (
        ["%autograd --stop nan", "w = leaf(1.0, 3.0)\nh = w - 2\ny = h.log()"],
        "",
        [r"log\(\) returned nan at \[0\]", r"line 3: y = h\.log\(\)", r"h = -1", r"w → sub", r"clamp"],
    ),
    "infinity forward": (
        ["%autograd --stop inf", "a, b = leaf(1.0), torch.tensor([0.0])\ny = a / b"],
        "",
        [r"returned inf", r"line 2: y = a / b", r"b = 0", r"divisor away from 0"],
    ),
    # the branch that where does not select: pytorch#86362 and the FAQ
    "nan backward": (
        ["%autograd --stop nan", "w = leaf(0.0, 4.0)\ny = torch.where(w > 0, w.sqrt(), w).sum()\ny.backward()"],
        "",
        [
            r"SqrtBackward0.* returned nan",
            r"line 2: y = torch\.where",
            r"where\(x > 0, x, 1\.\), not its results after",
        ],
    ),
    # total_loss += loss: brax#152, horovod#641, pytorch#17568
    "memory grows": (
        ["w, total = leaf(2.0), 0.0", "for _ in range(12):\n    loss = (w * w).sum()\n    total += loss"],
        "%memory total",
        [r"spans 12 runs of one line: In \[\d+\], line 3: total \+= loss", r"total \+= loss\.item\(\)"],
    ),
    "hidden state": (
        ["w, h = leaf(0.5), torch.tensor([1.0])", "for _ in range(15):\n    h = torch.tanh(h * w)"],
        "%memory h",
        [r"spans 15 runs of one line: In \[\d+\], line 2: h = torch\.tanh", r"h = h\.detach\(\)"],
    ),
    # tensors kept for backward: torchlens#28, pytorch#91692
    "what is kept": (
        ["w = torch.ones(1000, requires_grad=True)\ny = (w * 1).exp().sum()"],
        "%memory y",
        [r"y keeps 4\.0 kB", r"line 2: y = \(w \* 1\)\.exp\(\)\.sum\(\)", r"ExpBackward0"],
    ),
    "vanishing": (
        ["w = leaf(1.0)\nh = w\nfor _ in range(25):\n    h = torch.sigmoid(h)\ny = h.sum()\ny.backward()"],
        "%why w",
        [r"w\.grad is tiny", r"25 operations of one line multiply it by 10\^-\d+", r"line 4: h = torch\.sigmoid"],
    ),
    "exploding": (
        ["w = leaf(1.0)\nh = w\nfor _ in range(8):\n    h = h * 10\ny = h.sum()\ny.backward()"],
        "%why w",
        [r"w\.grad is huge", r"8 operations of one line multiply it by 10\^8", r"line 4: h = h \* 10"],
    ),
    "dead relu": (
        ["w = leaf(-1.0, -2.0)\nh = torch.relu(w)\ny = h.sum()\ny.backward()"],
        "%why w",
        [r"w\.grad is 0", r"becomes 0 at relu", r"line 2: h = torch\.relu", r"dead ReLU"],
    ),
    # parameters and FLOPs on the graph: torchvista#26
    "parameters and FLOPs": (
        [
            "net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))",
            "x = torch.ones(3, 4)",
        ],
        "%cost net(x).sum()",
        [r"58 parameters, 288 FLOP forward, 384 FLOP backward", r"net\.0 .*40 +192 +192 ", r"net\.2 .*18 +96 +192 "],
    ),
    "which line takes the time": (
        [
            "w = torch.ones(40, 40, requires_grad=True)",
            "def f(x):\n    a = x.exp()\n    b = a @ w @ w\n    return b.sum()",
        ],
        "%cost f(w)",
        [r"In \[\d+\], line 3: b = a @ w @ w +2 .*256 k +512 k", r"ms forward +ms backward"],
    ),
    "a Function without a gradient": (
        [
            "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x * 2\n"
            "    @staticmethod\n    def backward(ctx, g):\n        return None\nw = leaf(1.0)\ny = F.apply(w).sum()"
        ],
        "%why w",
        [r"f gets a gradient and sends none toward w", r"line 9: y = F\.apply\(w\)\.sum\(\)"],
    ),
    "detached in a helper": (
        ["def target(q):\n    return q.detach() * 2\nw, v = leaf(1.0), leaf(1.0)\ny = (target(w) * v).sum()"],
        "%why w --of y",
        [r"cut off by detach\(\)", r"line 2: return q\.detach\(\) \* 2"],
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_text_names_the_cause_and_the_line(run: Any, question: str, capsys: pytest.CaptureFixture[str]) -> None:
    cells, command, wanted = QUESTIONS[question]
    results = [run(cell) for cell in (*cells, *([command] if command else []))]
    last = results[-1]
    error = last.error_in_exec
    assert (error is None) == bool(command), error
    animation = getattr(error, "animation", None)
    text = "\n".join([repr(last.result), str(error), repr(animation) if animation is not None else ""])
    missing = [pattern for pattern in wanted if not re.search(pattern, text)]
    assert not missing, text


def test_an_unwatched_graph(run: Any, torch: Any, recwarn: pytest.WarningsRecorder) -> None:
    """Which forward line made this backward operation: lightning-thunder#306."""
    run("%autograd --torch off --tracing off")
    run("torch.autograd.set_detect_anomaly(True, check_nan=False)\nw = leaf(1.0, 2.0)\ny = (w * 2).exp().sum()")
    run("torch.autograd.set_detect_anomaly(False)")
    text = repr(run("%graph y").result)
    assert ("In [" in text) == (torch.__name__ == "torch"), text
    run("%autograd --torch on --tracing on")
