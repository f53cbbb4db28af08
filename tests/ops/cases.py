"""What the tests of operations call: each case works with nbautograd and with PyTorch alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """A call with the shapes of its differentiable inputs."""

    name: str
    call: Callable[..., Any]  # (library, *tensors)
    shapes: tuple[tuple[int, ...], ...]
    low: float = -2.0
    high: float = 2.0
    second: bool = True  # whether a second derivative is defined and not constant nonsense
    seed: int = field(default=0)

    def arrays(self) -> list[np.ndarray]:
        """Inputs that are apart, from 0 and from each other's negatives too, so that none is near a kink or a tie."""
        rng = np.random.default_rng(self.seed)
        total = sum(int(np.prod(s)) for s in self.shapes)
        grid = np.linspace(self.low, self.high, total + 2)[1:-1] + 0.37 * (self.high - self.low) / (total + 2)
        values = rng.permutation(grid)
        found, start = [], 0
        for shape in self.shapes:
            n = int(np.prod(shape))
            found.append(values[start : start + n].reshape(shape))
            start += n
        return found

    def __str__(self) -> str:
        return self.name


def _case(name: str, call: Callable[..., Any], *shapes: tuple[int, ...], **options: Any) -> Case:
    return Case(name, call, shapes, **options)


def _unary(name: str, low: float = -2.0, high: float = 2.0, **options: Any) -> Case:
    return _case(name, lambda T, x: getattr(T, name)(x), (2, 3), low=low, high=high, **options)


INDEX = [[0, 2, 1], [1, 0, 2]]

CASES = [
    # pointwise
    _case("add", lambda T, x, y: x + y, (2, 3), (3,)),
    _case("add alpha", lambda T, x, y: T.add(x, y, alpha=2.5), (2, 3), (2, 1)),
    _case("add number", lambda T, x: 3 + x + 1.5, (2, 3)),
    _case("sub", lambda T, x, y: x - y, (2, 3), (2, 3)),
    _case("sub alpha", lambda T, x, y: T.sub(x, y, alpha=0.5), (3,), (2, 3)),
    _case("rsub", lambda T, x: 3 - x, (2, 3)),
    _case("rsub tensor", lambda T, x, y: T.rsub(x, y, alpha=2), (2, 3), (3,)),
    _case("mul", lambda T, x, y: x * y, (2, 3), (1, 3)),
    _case("mul number", lambda T, x: 2 * x * 3.5, (2, 3)),
    _case("mul 0-d", lambda T, x, y: x * y, (2, 3), ()),
    _case("div", lambda T, x, y: x / y, (2, 3), (3,), low=0.5),
    _case("div number", lambda T, x: x / 3, (2, 3)),
    _case("rdiv", lambda T, x: 3 / x, (2, 3), low=0.5),
    _case("remainder", lambda T, x, y: x % y, (2, 3), (3,), low=0.3),
    _case("fmod", lambda T, x, y: T.fmod(x, y), (2, 3), (3,), low=0.3),
    _case("neg", lambda T, x: -x, (2, 3)),
    _unary("abs"),
    _unary("sgn"),
    _unary("sign"),
    _unary("reciprocal", 0.5),
    _case("pow 2", lambda T, x: x**2, (2, 3)),
    _case("pow 3", lambda T, x: x**3, (2, 3)),
    _case("pow 0", lambda T, x: x**0, (2, 3)),
    _case("pow 1", lambda T, x: x**1, (2, 3)),
    _case("pow 0.5", lambda T, x: T.pow(x, 0.5), (2, 3), low=0.5),
    _case("pow -2", lambda T, x: x**-2, (2, 3), low=0.5),
    _case("pow tensor", lambda T, x, y: x**y, (2, 3), (3,), low=0.5),
    _case("pow base", lambda T, x: 2.5**x, (2, 3)),
    _unary("square"),
    _unary("exp"),
    _unary("exp2"),
    _unary("expm1"),
    _unary("log", 0.3),
    _unary("log2", 0.3),
    _unary("log10", 0.3),
    _unary("log1p", -0.5),
    _unary("sqrt", 0.3),
    _unary("rsqrt", 0.3),
    _unary("sin"),
    _unary("cos"),
    _unary("tan", -1, 1),
    _unary("asin", -0.9, 0.9),
    _unary("acos", -0.9, 0.9),
    _unary("atan"),
    _case("atan2", lambda T, x, y: T.atan2(x, y), (2, 3), (3,)),
    _unary("sinh"),
    _unary("cosh"),
    _unary("tanh"),
    _unary("asinh"),
    _unary("acosh", 1.2, 3),
    _unary("atanh", -0.9, 0.9),
    _unary("sigmoid"),
    _unary("relu"),
    _unary("floor"),
    _unary("ceil"),
    _unary("trunc"),
    _unary("round"),
    _case("where", lambda T, x, y: T.where(x > 0, x, y), (2, 3), (3,)),
    _case("where number", lambda T, x: T.where(x > 0, x, 0.5), (2, 3)),
    _case("maximum", lambda T, x, y: T.maximum(x, y), (2, 3), (3,)),
    _case("minimum", lambda T, x, y: T.minimum(x, y), (2, 3), (2, 1)),
    _case("clamp", lambda T, x: T.clamp(x, -0.7, 0.9), (2, 3)),
    _case("clamp min", lambda T, x: x.clamp(min=0.1), (2, 3)),
    _case("lerp", lambda T, x, y: T.lerp(x, y, 0.3), (2, 3), (2, 3)),
    _case("lerp tensor", lambda T, x, y, w: T.lerp(x, y, w), (2, 3), (2, 3), (3,)),
    _case("addcmul", lambda T, x, y, z: T.addcmul(x, y, z, value=2), (2, 3), (3,), (2, 1)),
    _case("addcdiv", lambda T, x, y, z: T.addcdiv(x, y, z, value=2), (2, 3), (3,), (2, 1), low=0.5),
    _case("conj", lambda T, x: T.conj(x) * 2, (3,)),
    # reductions
    _case("sum", lambda T, x: x.sum(), (2, 3)),
    _case("sum 0-d", lambda T, x: x.sum(), ()),
    _case("sum dim", lambda T, x: x.sum(1), (2, 3)),
    _case("sum dims", lambda T, x: T.sum(x, (0, 2), keepdim=True), (2, 3, 2)),
    _case("sum axis", lambda T, x: x.sum(axis=0, keepdims=True), (2, 3)),
    _case("mean", lambda T, x: x.mean(), (2, 3)),
    _case("mean dim", lambda T, x: x.mean(-1, keepdim=True), (2, 3)),
    _case("prod", lambda T, x: x.prod(), (2, 3)),
    _case("prod zero", lambda T, x: (x * (x < 1.5)).prod(), (2, 3)),
    _case("prod dim", lambda T, x: x.prod(1), (2, 3)),
    _case("var", lambda T, x: x.var(), (2, 3)),
    _case("var dim", lambda T, x: x.var(1, unbiased=False), (2, 3)),
    _case("std", lambda T, x: x.std(), (2, 3)),
    _case("std dim", lambda T, x: x.std(0, keepdim=True), (3, 2)),
    _case("norm", lambda T, x: x.norm(), (2, 3)),
    _case("norm 1", lambda T, x: x.norm(1), (2, 3)),
    _case("norm 3", lambda T, x: T.norm(x, 3, dim=1), (2, 3)),
    _case("norm inf", lambda T, x: T.norm(x, float("inf")), (2, 3)),
    _case("max", lambda T, x: x.max(), (2, 3)),
    _case("min", lambda T, x: x.min(), (2, 3)),
    _case("max dim", lambda T, x: x.max(1)[0], (2, 3)),
    _case("min dim", lambda T, x: T.min(x, 0, keepdim=True).values, (2, 3)),
    _case("amax", lambda T, x: x.amax(1), (2, 3)),
    _case("amin", lambda T, x: x.amin((0, 1)), (2, 3)),
    _case("logsumexp", lambda T, x: x.logsumexp(1), (2, 3)),
    # views and shapes
    _case("view", lambda T, x: x.view(3, 2) * 2, (2, 3)),
    _case("reshape", lambda T, x: x.t().reshape(6), (2, 3)),
    _case("flatten", lambda T, x: x.flatten(1), (2, 3, 2)),
    _case("permute", lambda T, x: x.permute(2, 0, 1), (2, 3, 4)),
    _case("transpose", lambda T, x: x.transpose(0, -1), (2, 3, 4)),
    _case("t", lambda T, x: x.t(), (2, 3)),
    _case("T", lambda T, x: x.T, (2, 3)),
    _case("mT", lambda T, x: x.mT, (2, 3, 4)),
    _case("movedim", lambda T, x: T.movedim(x, 0, 2), (2, 3, 4)),
    _case("squeeze", lambda T, x: x.squeeze(), (2, 1, 3)),
    _case("squeeze dim", lambda T, x: x.squeeze(1), (2, 1, 3)),
    _case("unsqueeze", lambda T, x: x.unsqueeze(-1), (2, 3)),
    _case("expand", lambda T, x: x.expand(4, 2, 3), (2, 1)),
    _case("expand_as", lambda T, x, y: x.expand_as(y) * y, (1, 3), (2, 3)),
    _case("select", lambda T, x: x[0], (2, 3)),
    _case("select 2", lambda T, x: x[:, 1], (2, 3)),
    _case("select 0-d", lambda T, x: x[1, 2], (2, 3)),
    _case("slice", lambda T, x: x[1:3, ::2], (4, 3)),
    _case("index none", lambda T, x: x[None, ..., 1], (2, 3)),
    _case("index all", lambda T, x: x[...], (2, 3)),
    _case("index list", lambda T, x: x[[0, 1, 0]], (2, 3)),
    _case("index tensors", lambda T, x: x[T.tensor([0, 1, 1]), T.tensor([2, 0, 0])], (2, 3)),
    _case("index mixed", lambda T, x: x[:, T.tensor([0, 2])], (2, 3)),
    _case("mask", lambda T, x: x[x > 0], (2, 3)),
    _case("narrow", lambda T, x: x.narrow(1, 1, 2), (2, 3)),
    _case("diagonal", lambda T, x: x.diagonal(1), (3, 4)),
    _case("unbind", lambda T, x: x.unbind(1)[1], (2, 3)),
    _case("unbind all", lambda T, x: sum(x.unbind(0)[1:], x.unbind(0)[0] ** 2), (3, 2)),
    _case("iterate", lambda T, x: sum(row**2 for row in x), (3, 2)),
    _case("split", lambda T, x: x.split(2, 1)[1], (2, 3)),
    _case("split sizes", lambda T, x: T.split(x, [1, 2], 1)[1] ** 2, (2, 3)),
    _case("chunk", lambda T, x: x.chunk(2)[0], (5, 2)),
    _case("cat", lambda T, x, y: T.cat([x, y, x]), (2, 3), (1, 3)),
    _case("cat dim", lambda T, x, y: T.cat((x, y), dim=-1), (2, 3), (2, 1)),
    _case("stack", lambda T, x, y: T.stack([x, y], 1), (2, 3), (2, 3)),
    _case("hstack", lambda T, x, y: T.hstack([x, y]), (2, 3), (2, 1)),
    _case("vstack", lambda T, x, y: T.vstack([x, y]), (3,), (3,)),
    _case("clone", lambda T, x: x.clone(), (2, 3)),
    _case("contiguous", lambda T, x: x.t().contiguous(), (2, 3)),
    _case("flip", lambda T, x: T.flip(x, (0, 1)), (2, 3)),
    _case("repeat", lambda T, x: x.repeat(2, 2, 1), (2, 3)),
    _case("tile", lambda T, x: T.tile(x, (2,)), (2, 3)),
    _case("to", lambda T, x: x.to(T.float32).to(T.float64).mul(2), (2, 3)),
    # gathering and scattering
    _case("gather", lambda T, x: x.gather(1, T.tensor(INDEX)), (2, 3)),
    _case("take", lambda T, x: T.take(x, T.tensor([0, 5, 5])), (2, 3)),
    _case("take_along_dim", lambda T, x: T.take_along_dim(x, T.tensor([[1], [0]]), 1), (2, 3)),
    _case("index_select", lambda T, x: x.index_select(0, T.tensor([1, 1, 0])), (2, 3)),
    _case("masked_fill", lambda T, x: x.masked_fill(x > 0, 5.0), (2, 3)),
    _case("masked_select", lambda T, x: x.masked_select(x > 0), (2, 3)),
    _case("scatter", lambda T, x, y: x.scatter(0, T.tensor([[0, 1, 2], [2, 0, 1]]), y), (3, 3), (2, 3)),
    _case("scatter number", lambda T, x: x.scatter(1, T.tensor([[0], [2]]), 9.0), (2, 3)),
    _case("scatter_add", lambda T, x, y: x.scatter_add(0, T.tensor([[0, 0, 1], [0, 2, 1]]), y), (3, 3), (2, 3)),
    # in place
    _case("add_", lambda T, x, y: (x * 1).add_(y), (2, 3), (3,)),
    _case("mul_ twice", lambda T, x, y: (x * 1).mul_(y).mul_(3), (2, 3), (3,)),
    _case("+= ", lambda T, x, y: _augmented(x * 1, y), (2, 3), (2, 3)),
    _case("exp_", lambda T, x: (x * 1).exp_(), (2, 3)),
    _case("zero_", lambda T, x: (x * 1).zero_() + x, (2, 3)),
    _case("fill_", lambda T, x, y: (x * 1).fill_(y), (2, 3), ()),
    _case("copy_", lambda T, x, y: (x * 1).copy_(y), (2, 3), (3,)),
    _case("set row", lambda T, x, y: _assigned(x * 2, 0, y), (2, 3), (3,)),
    _case("set slice", lambda T, x: _assigned(x * 2, (slice(None), slice(1, 3)), 7.0), (2, 3)),
    _case("set list", lambda T, x, y: _assigned(x * 2, [0, 2], y), (3, 2), (2, 2)),
    _case("set mask", lambda T, x: _assigned(x * 2, x > 0, 0.0), (2, 3)),
    _case("set into zeros", lambda T, x: _assigned(T.zeros(2, 3, dtype=T.float64), 1, x * 3), (3,)),
    _case("write to a view", lambda T, x, y: _view_written(x * 2, y), (2, 3), (3,)),
    _case("write to base of a view", lambda T, x: _base_written(x * 2), (2, 3)),
    _case("write to a view of a view", lambda T, x: _view_of_view_written(x * 2), (2, 3)),
    # products
    _case("mm", lambda T, x, y: T.mm(x, y), (2, 3), (3, 4)),
    _case("mv", lambda T, x, y: T.mv(x, y), (2, 3), (3,)),
    _case("dot", lambda T, x, y: T.dot(x, y), (3,), (3,)),
    _case("bmm", lambda T, x, y: T.bmm(x, y), (2, 2, 3), (2, 3, 2)),
    _case("outer", lambda T, x, y: T.outer(x, y), (2,), (3,)),
    _case("inner", lambda T, x, y: T.inner(x, y), (2, 3), (4, 3)),
    _case("matmul 2-2", lambda T, x, y: x @ y, (2, 3), (3, 2)),
    _case("matmul 1-2", lambda T, x, y: x @ y, (3,), (3, 2)),
    _case("matmul 2-1", lambda T, x, y: x @ y, (2, 3), (3,)),
    _case("matmul 3-2", lambda T, x, y: x @ y, (2, 2, 3), (3, 2)),
    _case("matmul 3-1", lambda T, x, y: x @ y, (2, 2, 3), (3,)),
    _case("matmul 1-3", lambda T, x, y: x @ y, (3,), (2, 3, 2)),
    _case("matmul 4-3", lambda T, x, y: x @ y, (2, 1, 2, 3), (3, 3, 2)),
    _case("addmm", lambda T, x, y, z: T.addmm(x, y, z, beta=2, alpha=3), (4,), (2, 3), (3, 4)),
    _case("tensordot", lambda T, x, y: T.tensordot(x, y, ([1, 2], [0, 1])), (2, 3, 2), (3, 2, 2)),
    _case("einsum mm", lambda T, x, y: T.einsum("ij,jk->ik", x, y), (2, 3), (3, 2)),
    _case("einsum trace", lambda T, x: T.einsum("ii", x), (3, 3)),
    _case("einsum diagonal", lambda T, x: T.einsum("ii->i", x), (3, 3)),
    _case("einsum batch", lambda T, x, y: T.einsum("bij,bjk->bik", x, y), (2, 2, 3), (2, 3, 2)),
    _case("einsum dots", lambda T, x, y: T.einsum("...ij,...jk", x, y), (2, 2, 3), (3, 2)),
    _case("einsum three", lambda T, x, y, z: T.einsum("i,ij,j->", x, y, z), (2,), (2, 3), (3,)),
    _case("einsum outer", lambda T, x, y: T.einsum("i,j->ji", x, y), (2,), (3,)),
    # functions of networks
    _case("conv2d", lambda T, x, w: T.nn.functional.conv2d(x, w), (2, 2, 4, 4), (3, 2, 2, 3)),
    _case(
        "conv2d options",
        lambda T, x, w, b: T.nn.functional.conv2d(x, w, b, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
        (1, 4, 5, 5),
        (2, 2, 2, 2),
        (2,),
    ),
    _case("conv2d same", lambda T, x, w: T.nn.functional.conv2d(x, w, padding="same"), (1, 1, 4, 4), (1, 1, 3, 3)),
    _case("conv_transpose2d", lambda T, x, w: T.nn.functional.conv_transpose2d(x, w), (1, 2, 3, 3), (2, 3, 2, 2)),
    _case(
        "conv_transpose2d options",
        lambda T, x, w, b: T.nn.functional.conv_transpose2d(
            x, w, b, stride=2, padding=1, output_padding=1, groups=2, dilation=2
        ),
        (1, 2, 3, 3),
        (2, 2, 2, 2),
        (4,),
    ),
    _case("mse_loss", lambda T, x, y: T.nn.functional.mse_loss(x, y), (2, 3), (2, 3)),
    _case("mse_loss sum", lambda T, x, y: T.nn.functional.mse_loss(x, y, reduction="sum"), (2, 3), (2, 3)),
    _case("l1_loss", lambda T, x, y: T.nn.functional.l1_loss(x, y), (2, 3), (2, 3)),
    _case("linear", lambda T, x, w, b: T.nn.functional.linear(x, w, b), (2, 3), (4, 3), (4,)),
    _case("softmax", lambda T, x: T.nn.functional.softmax(x, dim=1), (2, 3)),
    _case("log_softmax", lambda T, x: T.nn.functional.log_softmax(x, dim=0), (2, 3)),
]


def _augmented(x, y):
    x += y
    x *= 2
    x -= 1
    x /= 3
    x **= 2
    return x


def _assigned(x, key, value):
    x[key] = value
    return x


def _view_written(x, y):
    x[0].mul_(y)
    return x


def _base_written(x):
    v = x[1]
    x.mul_(3)
    return v * 2 + x[0]


def _view_of_view_written(x):
    v, w = x.t(), x[0]
    v[1:3].add_(5).mul_(2)
    return v.sum(1) * w
