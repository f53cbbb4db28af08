"""Test ``viz.paths`` and ``%path``: all paths from a result to a tensor; the same for both libraries."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from hypothesis import given, strategies as st

import nbautograd as nb
from nbautograd import viz
from nbautograd.viz.capture.flow import Routes
from nbautograd.viz.notebook.paths import hue
from nbautograd.viz.read.walk import GraphWalk

Noted = Callable[[], AbstractContextManager[None]]


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values[0] if len(values) == 1 else values, requires_grad=True)


def html(answer: Any) -> str:
    text: str = answer._repr_mimebundle_()["text/html"]
    return text


# -- numbers -------------------------------------------------------------------------------------------------------


def test_steps_lines_and_products(torch: Any, noted: Noted) -> None:
    with noted():
        w = leaf(torch, 3.0)
        a, b = w * 2, w + 1
        y = a * b
    found = viz.paths(w, y)
    assert found.label == "∂y/∂w = 14: the sum over 2 paths" and found.count == len(found) == 2
    first, second = found
    assert (first.product, second.product) == (8, 6) and float(first.gradient) == 8
    assert [(step.operation, step.factor, step.is_local) for step in first.steps] == [
        ("mul", 4, True),
        ("mul", 2, True),
    ]
    assert first.steps[0].source == "y = a * b" and "line" in first.steps[0].where
    assert first.text.startswith("8 = mul ×4 (") and first.text.endswith(" → w") and first.text in str(found)
    assert w.grad is None


@given(st.lists(st.tuples(st.sampled_from("+*-"), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=7))
def test_the_sum_of_the_products_is_the_gradient(program: list[tuple[str, int, int]]) -> None:
    """All numbers are integers, so that no rounding hides a path that is missing."""
    w = leaf(nb, 2.0)
    made = [w, w * 1]
    ways = [1, 1]  # to each
    for sign, i, j in program:
        one, other = i % len(made), j % len(made)
        a, b = made[one], made[other]
        made.append(a + b if sign == "+" else a * b if sign == "*" else a - b)
        ways.append(ways[one] + ways[other])
    y = made[-1]
    found = viz.paths(w, y, most=2000, namespace={})
    y.backward()
    products = [path.product for path in found]
    assert found.count == len(products) == ways[-1] and sum(map(float, products)) == float(w.grad)
    assert all(len(path.steps) and path.steps[-1].operation in ("add", "mul", "sub") for path in found)
    sizes = [abs(product) for product in products]
    assert sizes == sorted(sizes, reverse=True)
    some = viz.paths(w, y, most=3, namespace={})  # freed: by formulas, unless nothing was noted
    assert some.count == found.count and len(some) == min(3, found.count)


@pytest.mark.parametrize("ran", [False, True])
def test_of_tensors_the_parts_sum_to_the_gradient(torch: Any, ran: bool, noted: Noted) -> None:
    """The norm of a part is its own, not a share of the norm of the sum."""
    with noted():
        w, x = leaf(torch, 1.0, 2.0), torch.tensor([[1.0, 0.0], [1.0, 3.0], [-2.0, 1.0]])
        h = x @ w
        y = h * h + x @ (w + 1)
    if ran:
        y.sum().backward()
    found = viz.paths(w, y)
    if not ran:
        y.sum().backward()
    assert found.label == "∂y.sum()/∂w = [16., 46.]: the sum over 3 paths"
    parts = [path.gradient for path in found]
    assert sum(parts).tolist() == w.grad.tolist()
    assert [path.product for path in found] == sorted([path.product for path in found], reverse=True)
    assert found.paths[0].text.startswith("norm ") and not any(step.is_local for step in found.paths[0].steps)
    assert "factors of tensors are ratios of norms: after an operation to before it" in found.lines


def test_parts_that_cancel(torch: Any, noted: Noted) -> None:
    """Each path has its product, though nothing arrives where they meet."""
    with noted():
        w = leaf(torch, 3.0)
        h = w * 5
        y = h - h
    found = viz.paths(w, y)
    assert found.label == "∂y/∂w = 0: the sum over 2 paths" and [path.product for path in found] == [5, -5]


def test_a_zero_factor(torch: Any, noted: Noted) -> None:
    with noted():
        w = leaf(torch, -3.0)
        y = torch.relu(w * 2) + w
    found = viz.paths(w, y)
    assert [path.product for path in found] == [1, 0]
    assert [step.factor for step in found.paths[1].steps] == [1, 0, None]


# -- which tensors -------------------------------------------------------------------------------------------------


def test_of_an_intermediate_result_and_in_either_order(torch: Any, noted: Noted) -> None:
    with noted():
        w = leaf(torch, 3.0)
        h = w * 2
        y = h * h + w
    assert viz.paths(h, y).count == 2 and viz.paths(h, y).label == "∂y/∂h = 12: the sum over 2 paths"
    assert viz.paths(w, h).label == viz.paths(h, w).label == "∂h/∂w = 2: the product along one path"
    for one in (y, w):
        same = viz.paths(one, one, namespace={"one": one})
        assert same.label == "∂one/∂one = 1: the product along one path" and same.lines == ("1 = one",)


def test_of_one_of_several_results(torch: Any, noted: Noted) -> None:
    with noted():
        x = leaf(torch, 1.0, 2.0, 3.0, 4.0)
        a, b = x.split(2)
        y = (a * b).sum() + a.sum()
    assert viz.paths(x, y).count == 3 and viz.paths(a, y).count == 2 and viz.paths(b, y).count == 1
    assert viz.paths(b, y).label == "∂y/∂b = [1., 2.]: the product along one path"
    assert sum(path.gradient for path in viz.paths(x, y)).tolist() == [4, 5, 1, 2]
    assert viz.paths(a, b).count == 0


def test_no_path(torch: Any, noted: Noted) -> None:
    with noted():
        w, v = leaf(torch, 1.0), leaf(torch, 2.0)
        h = (w * 2).detach()
        y = h * v
    found = viz.paths(w, y)
    assert not found and found.count == 0 and list(found) == [] and found.picture is not None
    assert found.label == "y does not depend on w: no path leads there"
    assert "cut off by detach(): " in found.lines[0] and "h = (w * 2).detach()" in found.lines[0]
    assert viz.paths(h, y).label == "h.requires_grad is False: no gradient was requested"
    assert viz.paths(w, v).label == "v has no graph at all" and viz.paths(w, v).picture is None
    with pytest.raises(TypeError, match="paths needs two tensors, but was given float"):
        viz.paths(w, 3.0)


def test_hooks_are_not_called(torch: Any, noted: Noted) -> None:
    called: list[Any] = []
    with noted():
        w = leaf(torch, 1.0)
        h = w * 2
        h.register_hook(called.append)
        y = h * h
    assert [path.product for path in viz.paths(w, y)] == [4, 4] and not called


def test_thousands_of_paths(torch: Any) -> None:
    w = leaf(torch, 1.0)
    y = w
    for _ in range(11):
        y = y * 3 - y
    found = viz.paths(w, y, most=2)
    assert found.count == 2048 and [path.product for path in found] == [3**11, -(3**10)]
    assert "… and 2,046 more paths" in found.lines and "… 16 operations …" in found.lines[0]
    for _ in range(20):
        y = y * 3 - y
    assert "the sum over 1,000,000+ paths" in viz.paths(w, y).label


@given(st.lists(st.sampled_from([-3, -1, 0, 1, 3]), min_size=1, max_size=6), st.integers(1, 5))
def test_the_largest_are_found_among_all(factors: list[int], many: int) -> None:
    """No two parts cancel: the factor of a step to which nothing arrives is unknown."""
    w = leaf(nb, 1.0)
    y = w
    for factor in factors:
        y = y * float(factor) + y * 2.0
    every = viz.paths(w, y, most=10**4, namespace={})
    some = viz.paths(w, y, most=many, namespace={})
    assert [abs(path.product or 0) for path in some] == [abs(path.product or 0) for path in every][:many]
    walk = GraphWalk(y, 1000)
    assert len(Routes(walk, w).largest(10**4, lambda node, edge: None)) == Routes(walk, w).count == 2 ** len(factors)


# -- what is shown -------------------------------------------------------------------------------------------------


def test_the_picture(torch: Any, noted: Noted) -> None:
    with noted():
        w, x = leaf(torch, 3.0), leaf(torch, 2.0)
        y = (w * x) * (w + 1)
    found = viz.paths(w, y)
    assert found.picture is not None
    svg = found.picture.svg
    assert svg.count(f'stroke="{hue(0)}" stroke-width="6"') == svg.count(f'stroke="{hue(1)}" stroke-width="6"') == 4 - 1
    assert svg.count("stroke-dasharray=") >= 2 and ">×4</text>" in svg and ">×6</text>" in svg  # a shared edge
    pale = [part for part in svg.split("<g ")[1:] if part.startswith('opacity="0.3"')]
    assert len(pale) == 2 and "x" in pale[0] + pale[1]  # x, and the constant 1
    assert 'opacity="0.3"' not in viz.graph(y).svg and viz.paths(y, y).picture is not None
    shown = html(found)
    assert shown.index("<img") < shown.index("<ul>") and shown.count("list-style:none") == 2


def test_a_folded_graph(torch: Any, noted: Noted) -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(40)])
    with noted():
        y = net(torch.ones(1, 2)).sum()
    found = viz.paths(net[0].weight, y)
    assert found.count == 1 and "… 36 operations …" in found.lines[0] and found.picture is not None
    assert f'stroke="{hue(0)}"' in found.picture.svg


def test_names_are_text(noted: Noted) -> None:
    with noted():
        x = leaf(nb, 2.0)
        y = x * 3
    found = viz.paths(x, y, namespace={"<img src=x>": x, "<b>y": y})
    assert "<img src=x>" in found.lines[0] and "<img src=x>" not in html(found) and "<b>y" not in html(found)


def test_in_chinese(noted: Noted) -> None:
    with noted():
        w = leaf(nb, 3.0)
        y = w * w
    with viz.autograd(language="zh"):
        found = viz.paths(w, y)
        assert found.label == "∂y/∂w = 6：2 条路径之和" and "行" in found.lines[0]
        assert viz.paths(w, y, most=1).lines[1] == "…… 另有 1 条路径"


def test_why_lists_the_same_paths(torch: Any, noted: Noted) -> None:
    with noted():
        w = leaf(torch, 0.5, 2.0)
        y = (w * w + torch.exp(w)).sum()
    lines = [path.text for path in viz.paths(w, y)]
    assert len(lines) == 3 and list(viz.why(w, y).lines[1:]) == lines


def test_the_magic(shell: Any) -> None:
    code = "import nbautograd as torch\nw = torch.tensor(2.0, requires_grad=True)\ny = w * w"
    shell.run_cell(code, store_history=True)
    answer = shell.run_cell("%path w y", store_history=True).result
    assert answer.label == "∂y/∂w = 4: the sum over 2 paths" and "In [" in answer.text
    assert shell.run_cell("%path w, (y * 3)").result.label == "∂y/∂w = 12: the sum over 2 paths"
    assert shell.run_cell("%path w y;").result is None
    assert "%path needs two tensors, but got 1: write for example %path a b" in str(
        shell.run_cell("%path w").error_in_exec
    )
    function = shell.find_line_magic("path")
    assert "%path x y" in function.__doc__ and "two tensors" in function.__doc__
