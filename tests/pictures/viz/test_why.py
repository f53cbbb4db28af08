"""Test ``%why``: a gradient by its paths, and the reason for a missing one; the same words for both libraries."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd.viz.read.unreached import stops

Noted = Callable[[], AbstractContextManager[None]]


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


@pytest.mark.parametrize("ran", [False, True])
def test_the_paths_and_their_products(torch: Any, ran: bool, noted: Noted) -> None:
    with noted():
        w, x = leaf(torch, 3.0), torch.tensor([2.0])
        a, b = w * x, w + 1
        y = (a * b).sum()
    if ran:
        y.backward()  # which frees the graph: the numbers come from the notes
    answer = viz.why(w)
    if ran:
        assert answer.label == "w.grad = 14: the sum over 2 paths from y"
    else:
        assert answer.label == "w.grad is None" and answer.lines[0] == "no pass has run: y.backward() would add 14"
    assert [line.split(" ")[0] for line in answer.lines[-2:]] == ["8", "6"]
    assert "mul ×6 " in answer.text and "add ×1 " in answer.text and "mul ×4 " in answer.text
    assert w.grad is None or float(w.grad) == 14  # nothing was added


def test_the_sum_of_the_products_is_the_gradient(torch: Any, noted: Noted) -> None:
    with noted():
        w = leaf(torch, 0.5)
        y = (w.sin() * w.exp() + w * w).sum()
    products = [float(line.split(" = ")[0]) for line in viz.why(w).lines if " = " in line]
    y.backward()
    assert len(products) == 4 and abs(sum(products) - float(w.grad)) < 0.01


def test_passes_that_were_summed(torch: Any, noted: Noted) -> None:
    with noted():
        w = leaf(torch, 1.0, 2.0)
        for _ in range(3):
            y = (w * w).sum()
            y.backward()
    answer = viz.why(w, y)
    assert answer.label == "w.grad = [ 6., 12.]" and "3 passes were summed: one gives [2., 4.]" in answer.lines[0]


def test_a_gradient_that_was_reset(torch: Any) -> None:
    w = leaf(torch, 1.0)
    y = (w * w).sum()
    y.backward()
    w.grad = None
    assert "set to None since then" in viz.why(w, y).text


def test_the_factor_by_which_it_vanishes_or_explodes(torch: Any, noted: Noted) -> None:
    with noted():
        w = leaf(torch, 1.0)
        h = w
        for _ in range(30):
            h = torch.sigmoid(h)  # many
        y = h.sum()
    y.backward()
    answer = viz.why(w, y)
    assert (
        answer.label.startswith("w.grad is tiny") and "30 operations of one line multiply it by 10^-20" in answer.text
    )
    assert "h = torch.sigmoid(h)" in answer.text and "its derivative is at most 1/4" in answer.text
    with noted():
        w = leaf(torch, 10.0)
        y = (w**9).sum()
    y.backward()
    answer = viz.why(w, y)
    assert answer.label.startswith("w.grad is huge") and "the decisive factor is 9e8, at pow" in answer.text


def test_where_it_becomes_zero_or_nan(torch: Any, noted: Noted) -> None:
    with noted():
        w = leaf(torch, -1.0, -2.0)
        y = torch.relu(w * 3).sum()
    y.backward()
    answer = viz.why(w, y)
    assert (
        answer.label == "w.grad is 0" and "the gradient becomes 0 at relu" in answer.text and "dead ReLU" in answer.text
    )
    assert answer.picture is not None
    assert [node.name for node in answer.picture.model.nodes if node.failed] == ["ReluBackward0"]
    with noted():
        w = leaf(torch, 0.0, 4.0)
        y = torch.where(w > 0, w.sqrt(), w * 0).sum()
    y.backward()
    assert "the first NaN or infinity arises at sqrt" in viz.why(w, y).text


def test_what_cuts_it_off(torch: Any, noted: Noted) -> None:
    with noted():
        w, v = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 2.0)
        h = (w * 2).detach()
        y = (h * v).sum()
    assert "cut off by detach()" in viz.why(w, y).text and "h = (w * 2).detach()" in viz.why(w, y).text
    with noted():
        u = leaf(torch, 1.0)
        with torch.no_grad():
            k = u * 2
        y = (v * k).sum()
    assert "cut off by no_grad()" in viz.why(u, y).text
    with noted():
        r = leaf(torch, 1.0, 3.0)
        best = r.argmax()
        y = (v * best).sum()
    assert "argmax() gives integers or bools" in viz.why(r, y).text
    with noted():
        s = leaf(torch, 1.0)
        y = (v * s.item()).sum()
    assert "cut off by item()" in viz.why(s, y).text


def test_a_branch_that_did_not_run(torch: Any, noted: Noted) -> None:
    flag = False
    with noted():
        w, v = leaf(torch, 1.0), leaf(torch, 1.0)
        out = v * 1
        if flag:
            out = out * w
        y = out.sum()
    assert "a branch with w did not run" in viz.why(w, y).text and "if flag" in viz.why(w, y).text


def test_no_leaf_and_no_request(torch: Any, noted: Noted) -> None:
    with noted():
        w = leaf(torch, 1.0, 2.0) * 2
        y = w.sum()
    y.backward()
    assert "w is no leaf: mul computed it" in viz.why(w, y).text and "w.retain_grad()" in viz.why(w, y).text
    plain = torch.tensor([1.0, 2.0])
    answer = viz.why(plain, namespace={"plain": plain})
    assert "plain.requires_grad is False" in answer.text
    bare = plain * 2
    assert "bare has no graph at all" in viz.why(leaf(torch, 1.0), bare).text


def test_hooks_are_not_called(torch: Any, noted: Noted) -> None:
    called: list[Any] = []
    with noted():
        w = leaf(torch, 1.0)
        h = w * 2
        h.register_hook(called.append)
        y = h.sum()
    answer = viz.why(w, y)
    assert not called and "2 = " in answer.text  # by the noted values


def test_a_module(torch: Any, noted: Noted) -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    net.add_module("spare", torch.nn.Linear(1, 1))
    net[2].bias.requires_grad_(False)
    with noted():
        with torch.no_grad():
            net[0].bias.fill_(-100)
        y = net[2](net[1](net[0](torch.ones(16, 4)))).mean()
    answer = viz.why(net, namespace={"net": net, "y": y})
    assert answer.label.startswith("gradients of the 6 parameters of net") and answer.table is not None
    states = {row[0]: row[3] for row in answer.table.rows}
    assert states["net.0.weight"] == "zero" and states["net.2.bias"] == "requires_grad is False"
    assert "its module was not called" in states["net.spare.weight"]
    assert "dead ReLU: 8 of 8 units" in answer.text


def test_the_layer_where_the_norm_falls(torch: Any, noted: Noted) -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sigmoid(), torch.nn.Linear(4, 1))
    with noted():
        y = net(torch.ones(8, 4) * 300).mean()
    text = viz.why(net, y, namespace={"net": net, "y": y}).text
    assert "from net.2.weight to net.0.weight, toward the input, the gradient falls" in text
    assert "of the results of sigmoid are saturated" in text


def test_a_column_without_notes_is_left_out(torch: Any) -> None:
    net = torch.nn.Linear(2, 1)
    answer = viz.why(net, net(torch.ones(1, 2)).sum(), namespace={"net": net})
    assert (answer.table.head, len(answer.table.rows[0])) == (("leaf", "norm", "share"), 3)


def test_many_operations(torch: Any) -> None:
    w = leaf(torch, 1.0, 2.0)
    h = w
    for _ in range(3000):
        h = h * 1.0001
    y = h.sum()
    answer = viz.why(w, y)
    assert "2,995 operations" in answer.text and len(answer.text) < 2000


def test_bad_arguments() -> None:
    with pytest.raises(TypeError, match="why needs a tensor or a module, but was given int"):
        viz.why(3)
    with pytest.raises(TypeError, match="of must be a tensor"):
        viz.why(nb.ones(1, requires_grad=True), 3)
    assert stops("w", {}, set()) == []


def helper(a: Any, b: Any) -> Any:
    c = a.detach() * 2  # in the helper
    return c * b


def test_the_cut_is_inside_of_a_helper(torch: Any, noted: Noted) -> None:
    with noted():
        w, v = leaf(torch, 2.0), leaf(torch, 3.0)
        y = torch.exp(helper(v, w * 1)).sum()
    assert "cut off by detach(): " in viz.why(v, y).text and "# in the helper" in viz.why(v, y).text
    assert "no pass has run" in viz.why(w, y).text


def test_the_cut_is_inside_of_a_module(torch: Any, noted: Noted) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.body, self.gate, self.frozen = (torch.nn.Linear(2, 2) for _ in range(3))

        def forward(self, x: Any) -> Any:
            h = self.body(x)
            with torch.no_grad():
                d = self.frozen(x)  # without a graph
            return helper(self.gate(x), h) + d

    with noted():
        net = Net()
        y = net(torch.ones(1, 2)).sum()
    assert "cut off by detach(): " in viz.why(net.gate.weight, y).text
    assert "cut off by no_grad(): " in viz.why(net.frozen.weight, y).text
    answer = viz.why(net, y)
    assert [line.split(":")[0] for line in answer.lines if "cut off" in line] == ["net.gate", "net.frozen"]


def test_functions_of_the_users(torch: Any, noted: Noted) -> None:
    class Two(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, z: Any) -> Any:
            return x * z, x + z

        @staticmethod
        def backward(ctx: Any, *g: Any) -> Any:
            return g[0] + g[1], None

    with noted():
        w, v = leaf(torch, 2.0), leaf(torch, 3.0)
        a, b = Two.apply(w, v)
        y = (a * 3 + b).sum()
    assert "two gets a gradient and sends none toward v: its backward() returns None" in viz.why(v, y).text
    answer = viz.why(w, y)
    assert answer.lines[0] == "no pass has run: y.backward() would add 4"
    products = [line.split(" ")[0] for line in answer.lines[1:]]
    assert products == (["3", "1"] if torch is nb else ["sum", "sum"])  # PyTorch does not tell of one result alone
    y.backward()
    answer = viz.why(w, y)
    assert answer.label == "w.grad = 4" and "mul ×3 " in answer.text  # by the noted values


def test_the_magic_across_cells(shell: Any) -> None:
    shell.run_cell("import nbautograd as torch\nw = torch.tensor([2.0], requires_grad=True)", store_history=True)
    shell.run_cell("h = w.detach() * 3", store_history=True)
    shell.run_cell("v = torch.ones(1, requires_grad=True)\ny = h * v\ny.backward()", store_history=True)
    answer = shell.run_cell("%why w --of y", store_history=True).result
    assert "cut off by detach(): In [" in answer.text and "h = w.detach() * 3" in answer.text
    assert shell.run_cell("%why v").result.label == "v.grad = 6: the product along one path from y"
    assert "<img" in answer._repr_mimebundle_()["text/html"] and "%why needs a tensor" in str(
        shell.run_cell("%why").error_in_exec
    )
    shell.run_cell("net = torch.nn.Linear(1, 1)\nz = net(w)")
    assert shell.run_cell("%why net").result.table is not None
    shell.run_cell("%autograd --language zh")
    assert "从 y 出发的一条路径上的乘积" in repr(shell.run_cell("%why v").result)
