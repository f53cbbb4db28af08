"""``%cost``: floating-point operations by PyTorch's counter and by hand, times, memory; the same for both libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd.autograd import profiler
from nbautograd.viz.capture.torch_watch import watching
from tests import needs


def programs(T: Any) -> dict[str, Callable[[], Any]]:
    """Computations with products, by name."""

    def w(*shape: int) -> Any:
        return T.ones(*shape, requires_grad=True)

    call, ones = T.nn.functional, T.ones
    return {
        "linear": lambda: call.linear(ones(5, 3), w(4, 3), w(4)),
        "linear of three dimensions": lambda: call.linear(w(2, 5, 3), w(4, 3)),
        "batches": lambda: w(6, 2, 3) @ w(6, 3, 4),
        "convolution": lambda: call.conv2d(ones(2, 4, 8, 8), w(6, 4, 3, 3), w(6), padding=1),
        "convolution with stride": lambda: call.conv1d(w(2, 4, 9), w(4, 4, 3), stride=2),
        "transposed convolution": lambda: call.conv_transpose1d(w(2, 4, 8), w(4, 3, 3)),
        "added batches": lambda: T.baddbmm(w(2, 3, 5), w(2, 3, 4), w(2, 4, 5)),
        "attention of several heads": lambda: T.nn.MultiheadAttention(4, 2)(w(3, 2, 4), w(3, 2, 4), w(3, 2, 4))[0],
        "einsum": lambda: T.einsum("bij,bjk->bik", w(2, 3, 4), w(2, 4, 5)),
        "recurrence": lambda: T.nn.GRU(3, 4)(w(5, 2, 3))[0],
    }


@pytest.mark.parametrize("name", programs(nb))
def test_flops_are_those_of_pytorchs_counter(name: str) -> None:
    theirs = needs.package("torch")
    counter = needs.package("torch.utils.flop_counter").FlopCounterMode
    with counter(display=False) as forward:
        y = programs(theirs)[name]()
    with counter(display=False) as backward:
        y.sum().backward()
    for T in (theirs, nb):
        total = viz.cost(programs(T)[name], namespace={}).total
        assert (total.flops, total.backward_flops) == (forward.get_total_flops(), backward.get_total_flops()), T


def test_flops_by_hand(torch: Any) -> None:
    def w(*shape: int) -> Any:
        return torch.ones(*shape, requires_grad=True)

    call = torch.nn.functional
    for compute, forward, backward in (
        (lambda: w(7) @ w(7), 2 * 7, 4 * 7),
        (lambda: w(3, 7) @ torch.ones(7), 2 * 3 * 7, 2 * 3 * 7),
        (lambda: call.conv2d(w(1, 4, 5, 5), w(6, 2, 3, 3), groups=2), 2 * 9 * 6 * 2 * 9, 4 * 9 * 6 * 2 * 9),
        (lambda: (w(3) * w(3)).exp(), 0, 0),
    ):
        total = viz.cost(compute, namespace={}).total
        assert (total.flops, total.backward_flops) == (forward, backward)
    attention = viz.cost(lambda: call.scaled_dot_product_attention(*(w(2, 3, 5, 4) for _ in range(3))), namespace={})
    assert attention.total.flops == 2 * 2 * (2 * 3 * 5 * 5 * 4)


def test_parameters_times_and_memory(torch: Any) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 1))
    x, runs = torch.ones(8, 20), []

    def loss() -> Any:
        runs.append(1)
        return (net(x) ** 2).mean()  # the loss

    answer = viz.cost(loss, namespace={"net": net, "x": x})
    assert runs == [1] and all(p.grad is None for p in net.parameters())
    assert answer.total.parameters == sum(p.numel() for p in net.parameters()) == 661
    by_name = {node.name(): step for node, step in answer.steps.items() if step.parameters}
    assert set(by_name) == {"AddmmBackward0"}
    assert all(step.seconds > 0 and step.backward_seconds > 0 for node, step in answer.steps.items())
    assert answer.total.nbytes == viz.memory(loss(), namespace={"net": net, "x": x}).total
    rows = {row[0]: row for row in answer.table.rows}
    assert rows["net.0"][2:5] == ("630", "9.6 k", "9.6 k") and rows["net.2"][2:5] == ("31", "480", "960")
    assert any(row.endswith("# the loss") for row in rows) and "661 parameters" in answer.label


def test_labels_and_marks_of_the_picture(torch: Any) -> None:
    w, v = torch.ones(100, 200, requires_grad=True), torch.ones(200, 300, requires_grad=True)
    answer = viz.cost(lambda: ((w @ v).exp() * 2).sum(), namespace={"w": w, "v": v})
    shares = {node.name: node.share for node in answer.picture.model.nodes if node.kind == "op"}
    assert max(shares.values()) == 1 and min(shares.values()) >= 0
    (product,) = (node for node in answer.picture.model.nodes if node.name == "MmBackward0")
    assert (
        product.value.endswith("36 M FLOP") and " ms · " in product.value and 'class="nb-share"' in answer.picture.svg
    )
    report = viz.memory(((w @ v).exp() * 2).sum(), namespace={"w": w, "v": v})
    marked = {node.name: node.value for node in report.picture.model.nodes if node.share > 0.01}
    assert marked == {"ExpBackward0": "120.0 kB"} and "120.0 kB" in report.picture.text


def test_what_is_not_known_is_said(torch: Any) -> None:
    w = torch.ones(3, 3, requires_grad=True)
    y = (w @ w).sum()
    before = viz.cost(y, namespace={"y": y})
    assert before.label.startswith("y: 2 operations, 9 parameters, 54 FLOP forward, 108 FLOP backward")
    assert "forward: no times, since it ran before" in before.text and "ms in its operations" in before.text
    head = before.table.head
    assert head[:5] == ("", "operations", "parameters", "FLOP forward", "FLOP backward") and "ms forward" not in head
    y.backward()
    assert "a pass has freed the graph" in viz.cost(y).text and float(w.grad.sum()) == 54
    called = []
    z = (w * 2).sum()
    w.register_hook(called.append)
    assert "would call the hooks" in viz.cost(z).text and not called
    assert "there is no graph" in viz.cost(lambda: torch.ones(2)).text
    with pytest.raises(TypeError, match="returned int"):
        viz.cost(lambda: 3)
    with pytest.raises(TypeError, match="given str"):
        viz.cost("y")
    with profiler.profile(), pytest.raises(RuntimeError, match="already enabled"):
        viz.cost(lambda: w)
    assert watching() is None


def test_the_magic(run: Any) -> None:
    run("w, x = torch.ones(4, 5, requires_grad=True), torch.ones(3, 4)\nnet = torch.nn.Linear(4, 5)")
    result = run("%cost (x @ w).sum()").result
    assert result.label.startswith("out: 2 operations, 20 parameters, 120 FLOP") and "forward: no" not in result.text
    assert "<table>" in result._repr_mimebundle_()["text/html"]
    run("y = (x @ w).sum()")
    assert "forward: no times" in run("%cost y").result.text
    assert "net is a module: write %cost net(x)" in str(run("%cost net").error_in_exec)
    assert "needs a tensor" in str(run("%cost").error_in_exec) and run("%cost y;").result is None
    run("%autograd --language zh")
    assert "个参数，前向" in run("%cost y").result.label
