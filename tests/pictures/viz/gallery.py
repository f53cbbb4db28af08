"""Programs of a teacher's notebook as recordings, for looking at the player: small, long, folded, failed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.nn import functional as F
from nbautograd.viz.notebook.api import Recording

__all__ = ["PROGRAMS", "once"]

PROGRAMS: dict[str, Callable[[], Recording]] = {}


def once(make: Callable[[], Recording]) -> Callable[[], Recording]:
    """Return a function that records what this one records, once for all tests."""
    recorded = cache(make)

    @wraps(make)
    def known() -> Recording:
        return recorded()

    return known


def program(make: Callable[[], Recording]) -> Callable[[], Recording]:
    """One of the gallery; its operations are traced."""

    @once
    def traced() -> Recording:
        nb.manual_seed(0)
        with tracing.traced():
            return make()

    PROGRAMS[make.__name__] = traced
    return traced


@program
def first_seed() -> Recording:
    w = nb.tensor([1.0], requires_grad=True)
    x = nb.tensor([2.0], requires_grad=True)
    a = nb.add(w, x)
    b = nb.add(w, 1)
    y = nb.mul(a, b)
    return viz.animate(y)


@program
def second_seed() -> Recording:
    x = nb.ones(2, 2, requires_grad=True)
    y = x + 2
    z = y * y * 3
    out = z.mean()
    return viz.animate(out)


@program
def recurrent() -> Recording:
    Wx = nb.randn(3, 2, requires_grad=True)
    Wh = nb.randn(3, 3, requires_grad=True)
    b = nb.zeros(3, requires_grad=True)
    xs = nb.randn(5, 2)
    h = nb.zeros(3)
    for t in range(5):
        h = nb.tanh(Wx @ xs[t] + Wh @ h + b)
    loss = (h**2).sum()
    return viz.animate(loss)


@program
def perceptron() -> Recording:
    X, target = nb.randn(4, 3), nb.randn(4, 1)
    W = nb.randn(3, 4, requires_grad=True)
    b = nb.zeros(4, requires_grad=True)
    v = nb.randn(4, 1, requires_grad=True)
    h = nb.tanh(X @ W + b)
    loss = ((h @ v - target) ** 2).mean()
    return viz.animate(loss)


@program
def convolution() -> Recording:
    image = nb.randn(1, 1, 5, 5)
    kernel = nb.randn(2, 1, 3, 3, requires_grad=True)
    bias = nb.zeros(2, requires_grad=True)
    out = F.max_pool2d(F.conv2d(image, kernel, bias).relu(), 3)
    loss = (out**2).sum()
    return viz.animate(loss)


@program
def changed_in_place() -> Recording:
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    h = x.exp()
    y = (h * h).sum()
    with nb.no_grad():
        h.add_(1)
    try:
        return viz.animate(y)
    except RuntimeError as error:
        recording: Any = error.animation  # type: ignore[attr-defined]
        return recording


@program
def folded_loop() -> Recording:
    w = nb.tensor(1.0001, requires_grad=True)
    x = nb.tensor(1.0, requires_grad=True)
    h = x
    for _ in range(1000):
        h = h * w + x * 0.0001
    return viz.animate(h)


@program
def used_four_times() -> Recording:
    x = nb.tensor([0.5, 1.0, 2.0], requires_grad=True)
    y = (x * x + x * x.log()).sum()
    with viz.record() as passes:
        for _ in range(3):
            y.backward(retain_graph=True)
    return passes


class Cube(nb.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradient * 3 * x**2


@program
def hooked() -> Recording:
    x = nb.tensor([1.0, -2.0, 3.0], requires_grad=True)
    c = Cube.apply(x)
    c.register_hook(lambda gradient: gradient.clamp(-1, 1))
    y = (c * nb.tensor([4.0, -8.0, 12.0])).sum()
    return viz.animate(y)
