"""Operations on unusual shapes and layouts, against PyTorch: 0-d, sizes of 0, any strides."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests import oracle
from tests.engine.ops.drawn import LAYOUTS, Draws, laid_out


def agree(call, arrays, draws):
    """Compare a result and the gradients of its operands, whose memory layouts are drawn."""

    def program(T):
        leaves, operands = zip(*(laid_out(T, a, layout) for a, layout in pairs), strict=True)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "(var|std)..: degrees of freedom")
            out = call(T, *operands)
        if not out.requires_grad:
            return out
        cotangent = T.tensor(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)))
        return out, *T.autograd.grad(out, leaves, cotangent, allow_unused=True)

    pairs = [(a, draws.choice(LAYOUTS)) for a in arrays]
    oracle.check_either(program)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "maximum", "minimum", "atan2"])
def test_two_operands(name):
    for draws in Draws.many(25):
        arrays = [draws.array(shape) for shape in draws.broadcast(2)]
        agree(lambda T, x, y: getattr(T, name)(x, y), arrays, draws)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "var", "logsumexp", "norm"])
def test_reductions(name):
    for draws in Draws.many(25):
        array, dim, keepdim = (
            draws.array(draws.shape()),
            draws.choice([None, *range(-3, 4)]),
            draws.choice([False, True]),
        )

        def call(T, x, dim=dim, keepdim=keepdim):
            if dim is None:
                return T.logsumexp(x, tuple(range(x.ndim)), keepdim) if name == "logsumexp" else getattr(T, name)(x)
            return getattr(T, name)(x, dim=dim, keepdim=keepdim)

        agree(call, [array], draws)


def part_of_a_key(draws):
    """Draw one part of an index."""

    def end():
        return draws.choice([None, *range(-5, 6)])

    kind = draws.integer(0, 3)
    return (
        draws.integer(-4, 4), None, Ellipsis, slice(end(), end(), draws.choice([None, 1, 2, 3]))
    )[kind]  # fmt: skip


def test_basic_indexing():
    for draws in Draws.many(150):
        array, parts = draws.array(draws.shape(side=4)), [part_of_a_key(draws) for _ in range(draws.integer(0, 4))]
        while parts.count(Ellipsis) > 1:
            parts.remove(Ellipsis)
        agree(lambda T, x, key=tuple(parts): x[key] * 2, [array], draws)


@pytest.mark.parametrize("name", ["view", "reshape"])
def test_shapes_of_views(name):
    for draws in Draws.many(75):
        array = draws.array(draws.shape(1, 3, 4, 1))
        shape = [draws.choice([-1, 0, 1, 2, 3, 4, 6, 8]) for _ in range(draws.integer(0, 3))]
        agree(lambda T, x, shape=shape: getattr(x, name)(shape) * 2, [array], draws)


def test_matmul():
    for draws in Draws.many(150):
        a, b = draws.shape(1), draws.shape(1)
        if len(b) > 1 and draws.choice([False, True]):
            b = (*b[:-2], a[-1], b[-1])
        agree(lambda T, x, y: x @ y, [draws.array(a), draws.array(b)], draws)
