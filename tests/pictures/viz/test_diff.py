"""``%diff``: two graphs compared, of one library or of both."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from tests import needs

Noted = Callable[[], AbstractContextManager[None]]


def test_operations_that_only_one_graph_has(torch: Any, noted: Noted) -> None:
    with noted():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        a = (w * 2).exp().sum()
        b = torch.relu(w * 2).exp().sum()
    found = viz.diff(a, b)
    assert found.label == "a and b: 3 operations match, 0 only in a, 1 only in b"
    assert len(found.lines) == 1 and found.lines[0].startswith("only in b: ReluBackward0 (")
    assert "b = torch.relu(w * 2).exp().sum()" in found.text and found
    assert found.picture is not None
    assert [node.name for node in found.picture.model.nodes if node.failed] == ["ReluBackward0"]
    assert "only in a: ReluBackward0" in viz.diff(b, a, namespace={"b": a, "a": b}).text


def test_shapes_values_and_gradients(torch: Any, noted: Noted) -> None:
    with noted():
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        a, same = (w * 2).exp().sum(), (w * 2).exp().sum()
        b = (w * 3).exp().sum()
        c = (torch.cat([w, w]) * 2).exp().sum()
    assert not viz.diff(a, same) and viz.diff(a, same).text == "a and same are alike: 3 operations"
    text = viz.diff(a, b).text
    assert "3 operations have other values, the first [2., 4.] and [3., 6.]: MulBackward0" in text
    assert "the first other gradient of a backward pass, 55.0959 and 403.9285 (norms): MulBackward0" in text
    assert viz.diff(a, b, tolerance=10).lines == ()
    assert "another shape, (2,) and (4,): MulBackward0" in viz.diff(a, c).text
    assert w.grad is None


def test_both_libraries(noted: Noted) -> None:
    theirs = needs.package("torch")
    results = []
    for torch in (nb, theirs):
        with noted():
            w = torch.tensor([[0.5, -1.0], [2.0, 0.25]], requires_grad=True)
            results.append(torch.tanh(w @ w).sum())
    assert viz.diff(*results, namespace={}).text == "a and b are alike: 3 operations"


def test_many_operations(torch: Any) -> None:
    w = torch.ones(1, requires_grad=True)
    results = []
    for n in (3000, 3001):
        h = w
        for _ in range(n):
            h = h.sin()
        results.append(h)
    assert "3,000 operations match, 0 only in a, 1 only in b" in viz.diff(*results, namespace={}).label


def test_the_magic(shell: Any) -> None:
    shell.run_cell("import nbautograd as torch\nw = torch.ones(2, requires_grad=True)\na, b = w * 2, w * 3")
    assert "one operation has another value" in shell.run_cell("%diff a b").result.text
    assert len(shell.run_cell("%diff a, w * 3").result.lines) == len(shell.run_cell("%diff a, b").result.lines)
    assert "<img" in shell.run_cell("%diff a b").result._repr_mimebundle_()["text/html"]
    assert "%diff needs two tensors, but got 1" in str(shell.run_cell("%diff a").error_in_exec)
    shell.run_cell("%autograd --language zh")
    assert "一个运算的值不同" in shell.run_cell("%diff a b").result.text
    with pytest.raises(TypeError, match="diff needs two tensors"):
        viz.diff(nb.ones(1), 3)
