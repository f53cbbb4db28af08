"""Large arrays are computed in pieces; the results and gradients must be those of computing them whole."""

import ast

import numpy as np
import pytest

import nbautograd as T
from nbautograd import pieces
from nbautograd.registry import OPS, POINTWISE

SIZE = pieces.LARGE + 7 * pieces.PIECE // 2 + 3
UNARY = sorted(
    name
    for name, op in OPS.items()
    if op.kind == POINTWISE and len(op.tensors) == 1 == len(op.positional) and not op.keywords and "f" in op.accepts
)


def result_and_gradient(name, values):
    x = T.tensor(values, requires_grad=True)
    y = OPS[name].function(x)
    if not y.requires_grad:
        return [y.numpy()]
    y.backward(T.full_like(y, 0.75))
    return [y.detach().numpy(), x.grad.numpy()]


@pytest.mark.parametrize("name", UNARY)
def test_pieces_give_what_the_whole_gives(name):
    values = np.random.default_rng(0).uniform(-3, 3, SIZE).astype(np.float32)
    small = [result_and_gradient(name, part) for part in np.array_split(values, SIZE // (pieces.LARGE // 2) + 1)]
    for whole, *parts in zip(result_and_gradient(name, values), *small, strict=True):
        np.testing.assert_array_equal(whole, np.concatenate(parts))


def test_a_gradient_that_is_the_same_everywhere():
    x = T.randn(SIZE, requires_grad=True)
    x.sigmoid().sum().backward()
    s = x.detach().sigmoid()
    np.testing.assert_allclose(x.grad.numpy(), ((1 - s) * s).numpy(), rtol=1e-6)


def test_what_cannot_be_cut_is_computed_whole():
    calls = []

    def double(x, y):
        calls.append(x.shape)
        return x * y

    wide = np.ones((4, SIZE), np.float32)
    np.testing.assert_array_equal(pieces.in_pieces(double, wide.T, wide.T), wide.T)
    np.testing.assert_array_equal(pieces.in_pieces(double, wide, np.ones(SIZE, np.float32)), wide)
    assert calls == [(SIZE, 4), (4, SIZE)]


def test_what_is_elementwise():
    def several(text):
        return pieces.several_steps(ast.parse(text, mode="eval").body, {"sin"})

    assert several("g * sin(x)")
    assert several("np.exp(x) if x > 0 else -x") is False  # a choice depends on the whole
    assert several("g * x.shape[0]") is False
    assert several("total(g) * x") is False
