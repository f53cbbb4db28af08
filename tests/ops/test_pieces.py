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


@pytest.mark.parametrize(
    "shapes", [[(700, 300), (700, 1)], [(700, 300), (300,)], [(700, 300), (1, 300)], [(700, 300), ()]]
)
@pytest.mark.parametrize("order", [1, -1])
def test_broadcast_operands_are_cut_between_rows(shapes, order):
    random = np.random.default_rng(0)
    arrays = [random.uniform(1, 2, shape) for shape in shapes]
    x, y = (T.tensor(array, requires_grad=True) for array in arrays)
    cotangent = random.uniform(1, 2, shapes[0])
    numerator, denominator = (x, y)[::order]
    (numerator / denominator).backward(T.tensor(cotangent))
    a, b = arrays[::order]
    down, up = cotangent / b, -cotangent * a / b**2
    for t, g in zip((numerator, denominator), (down, up), strict=True):
        axes = tuple(d for d in range(2) if t.ndim == 0 or (1, *t.shape)[-2:][d] != g.shape[d])
        np.testing.assert_allclose(t.grad.numpy(), g.sum(axes).reshape(t.shape), rtol=1e-12)


def test_what_cannot_be_cut_is_computed_whole():
    calls = []

    def product(x, y):
        calls.append(x.shape)
        return x * y

    flat = np.ones((1, SIZE), np.float32)  # one row that is too long
    np.testing.assert_array_equal(pieces.in_pieces(product, flat, np.ones((1, 1), np.float32)), flat)
    column = np.ones((SIZE, 1), np.float32)
    np.testing.assert_array_equal(pieces.in_pieces(product, column, np.ones((1, 4), np.float32)), np.ones((SIZE, 4)))
    assert calls == [flat.shape, column.shape]


def test_what_is_elementwise():
    def several(text):
        return pieces.several_steps(ast.parse(text, mode="eval").body, {"sin"})

    assert several("g * sin(x)")
    assert several("np.exp(x) if x > 0 else -x") is False  # a choice depends on the whole
    assert several("g * x.shape[0]") is False
    assert several("total(g) * x") is False
