"""Check the results of custom functions, and the inputs that they write to."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import nbautograd
from tests import oracle
from tests.parity.differences.both import agrees, differs


def leaf(torch: Any, n: int = 4) -> Any:
    return torch.arange(1.0, n + 1).requires_grad_()


def function(torch: Any, forward: Any) -> Any:
    class Made(torch.autograd.Function):
        @staticmethod
        def backward(ctx: Any, *g: Any) -> Any:
            return g[0]

    Made.forward = staticmethod(forward)
    return Made


FORWARDS = {
    "input": lambda ctx, x: x,
    "view": lambda ctx, x: x.view(-1),
    "written": lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1],
    "written, two": lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2), (x, x.sum()))[2],
    "fixed input": lambda ctx, x: (ctx.mark_non_differentiable(x), x)[1],
    "two views": lambda ctx, x: (x.view(-1), x.view(-1)),
}
INPUTS = {
    "plain": lambda torch: torch.arange(4.0),
    "leaf": leaf,
    "computed": lambda torch: leaf(torch) * 1,
    "view": lambda torch: (leaf(torch, 5) * 1)[1:],
    "view of a leaf": lambda torch: leaf(torch, 5)[1:],
    "one of several views": lambda torch: (leaf(torch, 8) * 1).split(4)[0],
}


def flags(t: Any, x: Any) -> Any:
    return t.requires_grad, t.is_leaf, t.grad_fn is None, t._is_view(), t is x, t._version, t.tolist()


@pytest.mark.parametrize("forward", FORWARDS)
@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("then", ["nothing", "result written", "input written"])
def test_what_a_function_returns(forward: str, given: str, recorded: bool, then: str) -> None:
    def program(torch: Any) -> Any:
        x = INPUTS[given](torch)
        try:
            with torch.set_grad_enabled(recorded):
                results = function(torch, FORWARDS[forward]).apply(x)
            results = results if isinstance(results, tuple) else (results,)
            if then == "result written":
                results[0].add_(leaf(torch))
            if then == "input written":
                x.add_(1)
            return [flags(t, x) for t in (*results, x)]
        except RuntimeError as error:
            return next((words for words in REFUSALS if words in str(error)), "other words")

    theirs = oracle.answer(program, exact=True)
    if given == "one of several views" and then == "result written" and theirs == REFUSALS[0]:
        assert program(
            nbautograd
        )  # a write through a tensor detached from one of several views: see docs/differences.md
    else:
        oracle.same(program(nbautograd), theirs)


REFUSALS = (
    "This view is the output of a function that returns multiple views",
    "This view was created inside a custom Function",
    "your Function cannot return more than one Tensor",
    "a view of a leaf Variable that requires grad",
    "a leaf Variable that requires grad",
)


@agrees
def test_marking_what_is_no_input(torch: Any) -> Any:

    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.mark_dirty(y)
        return y

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(torch, forward).apply(leaf(torch))
    return ["received a tensor that was not an input" in str(warning.message) for warning in caught]


@agrees
def test_a_custom_function_that_writes_drops_the_former_gradient(torch: Any) -> Any:
    y = leaf(torch, 2) * 1
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    function(torch, FORWARDS["written"]).apply(y)
    former = y.grad
    y.sum().backward()
    return former, y.grad


@differs("A rejected custom function leaves gradients as they are", pytorch=None, here=[1.0, 1.0])
def test_refused_write(torch: Any) -> Any:
    v = leaf(torch, 2).view(2)
    v.retain_grad()
    v.sum().backward()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        function(torch, FORWARDS["written"]).apply(v)
    return None if v.grad is None else v.grad.tolist()
