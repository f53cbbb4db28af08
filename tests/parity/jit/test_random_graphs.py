"""Random graphs: a traced function, eager, and the saved program give the same bits, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import nbautograd as torch
from nbautograd.errors import ProgramError
from tests.parity.jit.comparing import copies, same, silently
from tests.pictures.program import runs
from tests.product.fuzz.guard import LONG

UNARY: tuple[Callable[[Any], Any], ...] = (
    lambda a: a.tanh(),
    lambda a: a.sigmoid(),
    lambda a: a.relu(),
    lambda a: (a * 0.1).exp(),
    lambda a: (a * a + 1).sqrt(),
    lambda a: (a * a).log1p(),
    lambda a: a.sin() * 2,
    lambda a: -a.abs(),
    lambda a: a + a.sum(0, keepdim=True),
    lambda a: a - a.mean(1, keepdim=True),
    lambda a: a.softmax(-1),
    lambda a: a.cumsum(0),
    lambda a: a.flip(0),
    lambda a: a.t().t() + 1,
    lambda a: a.reshape(-1).view(a.shape),
    lambda a: a.detach() * 2 + a,
    lambda a: a.clone(),
    lambda a: torch.cat([a, a], 0)[1 : 1 + len(a)],
    lambda a: a.clamp(-0.5, 0.7),
    lambda a: torch.nn.functional.layer_norm(a, a.shape[1:]),
)
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, b: a + b,
    lambda a, b: a - 2 * b,
    lambda a, b: a * b,
    lambda a, b: a / (b.abs() + 1),
    lambda a, b: a @ (b.t() @ a) * 0.1,
    lambda a, b: torch.where(a > 0, a, b),
    lambda a, b: torch.maximum(a, b),
    lambda a, b: torch.stack([a, b]).sum(0),
    lambda a, b: a.lerp(b, 0.3),
    lambda a, b: a * b[0] + b[:, :1],
)
WRITES: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, b: a.add_(b),
    lambda a, b: a.mul_(0.5),
    lambda a, b: a[:, 1:].mul_(2),
    lambda a, b: a[:, 0].zero_(),
    lambda a, b: a.__setitem__(0, b[0]),
    lambda a, b: a.t().sub_(b.t()),
)
STEP = st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
GRAPHS = st.tuples(st.lists(STEP, min_size=2, max_size=12), st.sampled_from([(3, 4), (4, 4), (2, 5), (1, 3)]))


def function_of(steps: list[tuple[int, int, int]], writes: bool) -> Callable[..., Any]:
    """Return a function with these steps; each uses the results of earlier ones."""

    def function(x: Any, y: Any) -> Any:
        values = [x * 1, y * 1, x + y]
        for kind, first, second in steps:
            a, b = values[first % len(values)], values[second % len(values)]
            if kind % 10 < 5:
                values.append(UNARY[kind % len(UNARY)](a))
            elif kind % 10 < 8 or not writes:
                values.append(BINARY[kind % len(BINARY)](a, b))
            else:
                WRITES[kind % len(WRITES)](a.clone() if a is b else a, b)
        return values[-1].sum() + (values[len(values) // 2] * 0.5).sum()

    return function


def leaves(shape: tuple[int, int], seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    return [torch.tensor(random.standard_normal(shape, np.float32), requires_grad=True) for _ in range(2)]


def check(steps: list[tuple[int, int, int]], shape: tuple[int, int]) -> None:
    """Traced, eager and, without in-place writes, the saved program."""
    for writes in (False, True):
        function = function_of(steps, writes)
        x, y = leaves(shape, 1)
        try:
            function(x, y).backward()
        except RuntimeError:  # a saved tensor was written to: no gradient exists
            continue
        traced = silently(function, *leaves(shape, 0))
        u, v = leaves(shape, 1)
        result = traced(u, v)
        result.backward()
        same(result, function(*copies([x, y])))
        same(u.grad, x.grad)
        same(v.grad, y.grad)
        if writes:
            continue
        try:
            program, _ = runs.written(function, leaves(shape, 1))
        except ProgramError:
            continue
        gradients = runs.run(program)
        for name, leaf in (("x0", u), ("x1", v)):
            if name in gradients:
                assert runs.same_bits(np.asarray(gradients[name]), np.asarray(leaf.grad._a))


@pytest.mark.sweep
@settings(max_examples=25)
@given(GRAPHS)
def test_random_graphs(graph: Any) -> None:
    check(*graph)


@pytest.mark.sweep
@settings(max_examples=500 if LONG else 100)
@given(GRAPHS)
def test_many_random_graphs(graph: Any) -> None:
    check(*graph)
