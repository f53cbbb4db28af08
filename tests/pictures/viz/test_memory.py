"""``%memory``: the memory that a graph keeps, by our library and by PyTorch; the line that runs again and again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from nbautograd import viz
from nbautograd.viz.notebook.memory import _carried

Noted = Callable[[], AbstractContextManager[None]]


def test_shared_memory_is_counted_once(torch: Any, noted: Noted) -> None:
    with noted():
        w, x = torch.ones(100, requires_grad=True), torch.ones(100)
        h = (w * x).exp()  # saved by exp, and twice by the product, once as a view
        y = (h * h.view(100)).sum()
    report = viz.memory(y, namespace={"w": w, "x": x, "y": y})
    assert report.total == 400 and report.kept.shared == 400  # only x, since w's partner needs no gradient
    assert report.kept.savings == 4 and len(report.kept.storages) == 2
    (line,) = report.tables[0].rows
    assert line[1:] == ("1", "400 B", "100%") and "h = (w * x).exp()" in line[0]
    assert report.tables[1].rows[0][0] == "ExpBackward0"


def test_peaks_of_a_chain(torch: Any, noted: Noted) -> None:
    with noted():
        w = torch.ones(1000, requires_grad=True)
        y = w.exp().exp().exp().sum()
    forward, backward = viz.memory(y, namespace={"w": w}).peak
    assert (forward, backward) == (
        12_004,
        12_000 + 2 * 4000,
    )  # two gradients at the last exp, which still has its result


def test_modules_and_checkpoints(torch: Any, noted: Noted) -> None:
    with noted():
        parts = [torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Sigmoid(), torch.nn.Tanh()) for _ in range(4)]
        net, x = torch.nn.Sequential(*parts), torch.ones(1000, requires_grad=True)
        y = net(x).sum()
    report = viz.memory(y, namespace={"net": net, "x": x})
    assert report.total == 12 * 4000
    assert report.kept.segments is not None and report.kept.segments[:2] == ("Sequential", 4)
    assert report.kept.segments[2] == 3 * 4000 + 3 * 4000  # non-leaf inputs, and the saved tensors of one
    assert "checkpoint around each Sequential (4)" in report.text
    assert [row[0] for row in report.tables[2].rows][:3] == ["net.0.0", "net.0.1", "net.0.2"]


def test_a_sum_that_keeps_every_graph_is_named(torch: Any, noted: Noted) -> None:
    with noted():
        w, total = torch.ones(3, requires_grad=True), 0.0
        for _ in range(20):
            loss = (w * w).sum()
            loss.backward()
            total += loss  # the leak
    report = viz.memory(total, namespace={"w": w, "total": total})
    assert report.kept.runs is not None and report.kept.runs.count == 20
    assert "this graph spans 20 runs of one line" in report.text and "total += loss" in report.text
    assert "`total += loss.item()`" in report.text and "already freed" in report.text


def test_a_state_that_was_never_detached_is_named_even_after_few_passes(torch: Any, noted: Noted) -> None:
    with noted():
        u, h = torch.ones(2, 2, requires_grad=True), torch.zeros(1, 2)
        for step in range(3):
            h = torch.tanh(h @ u)
            if step < 2:
                h.sum().backward(retain_graph=step == 0)
    report = viz.memory(h, namespace={"u": u, "h": h})
    assert report.kept.runs is not None and report.kept.runs.count == 3 and 0 < report.kept.runs.freed < 3
    assert "`h = h.detach()`" in report.text


def test_layers_of_one_call_are_no_runs(torch: Any, noted: Noted) -> None:
    with noted():
        net = torch.nn.Sequential(*[torch.nn.Tanh() for _ in range(15)])
        y = net(torch.ones(3, requires_grad=True))
    assert viz.memory(y, namespace={"net": net}).kept.runs is None
    with noted():
        rnn = torch.nn.LSTM(2, 2)
        y = rnn(torch.ones(20, 1, 2))[0].sum()
    assert viz.memory(y, namespace={"rnn": rnn}).kept.runs is None


def test_calls_of_a_module_are_runs(torch: Any, noted: Noted) -> None:
    with noted():
        cell, h = torch.nn.RNNCell(2, 2), torch.zeros(1, 2)
        for _ in range(12):
            h = cell(torch.ones(1, 2), h)
    report = viz.memory(h, namespace={"cell": cell, "h": h})
    assert report.kept.runs is not None and report.kept.runs.count == 12 and "`h = h.detach()`" in report.text


def test_a_graph_without_notes_is_read_too(torch: Any) -> None:
    w = torch.ones(100, requires_grad=True)
    report = viz.memory(w.exp().sum(), namespace={"w": w})
    assert report.total == 400 and [table.title for table in report.tables] == ["by operation"]
    assert viz.memory(w, namespace={"w": w}).total == 0


def test_many_operations(torch: Any) -> None:
    h = w = torch.ones(1, requires_grad=True)
    for _ in range(3000):
        h = h.sin()
    report = viz.memory(h, namespace={"w": w})
    assert report.kept.operations == 3000 and len(report.svg) < 20_000


def test_lines() -> None:
    assert _carried("total = total + loss") == ("total", True) and _carried("x = x * 2") == ("x", False)
    assert _carried("for x in y:") == ("", False)
    with pytest.raises(TypeError, match="memory needs a tensor, but was given int"):
        viz.memory(3)


def test_the_magic_and_its_picture(shell: Any) -> None:
    shell.run_cell("import nbautograd as torch\nw = torch.ones(10, requires_grad=True)\ny = w.exp().sum()")
    report = shell.run_cell("%memory y", store_history=True).result
    assert report.label == "y keeps 40 B for its backward pass (2 operations)"
    bundle = report._repr_mimebundle_()
    assert "<img" in bundle["text/html"] and "<table>" in bundle["text/html"] and "ExpBackward0" in bundle["text/plain"]
    assert "<path" in report.svg and report.label in report.svg
    assert "%memory needs one tensor" in str(shell.run_cell("%memory y, w").error_in_exec)
    shell.run_cell("%autograd --language zh")
    assert "为反向传播保留 40 B" in repr(shell.run_cell("%memory y").result)
