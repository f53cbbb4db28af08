"""Large arrays are computed in pieces; the results and gradients must be those of computing them whole."""

import numpy as np
import pytest

import nbautograd as T
import nbautograd.nn.functional
from nbautograd._engine.compiler.backward import formula_kernels
from nbautograd._engine.compiler.lowering import compile_kernel
from nbautograd._engine.compiler.schema import OPS, POINTWISE
from nbautograd._engine.fusion import tiling
from tests import oracle

SIZE = tiling.MIN_TILED_SIZE + 7 * tiling.TILE_SIZE // 2 + 3
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
def test_pieces_give_what_the_whole_gives(name, monkeypatch):
    """Smaller tiles make as many pieces of fewer elements, some of which take a microsecond each."""
    monkeypatch.setattr(tiling, "TILE_SIZE", tiling.TILE_SIZE // 8)
    size = tiling.MIN_TILED_SIZE + 7 * tiling.TILE_SIZE // 2 + 3
    assert size > tiling.TILES_PER_TASK * tiling.TILE_SIZE
    values = np.random.default_rng(0).uniform(-3, 3, size).astype(np.float32)
    small = [result_and_gradient(name, part) for part in np.array_split(values, size * 2 // tiling.MIN_TILED_SIZE + 1)]
    for whole, *parts in zip(result_and_gradient(name, values), *small, strict=True):
        np.testing.assert_array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize("name", ["silu", "_gelu", "_gelu_tanh", "relu", "leaky_relu"])
def test_formulas_of_several_steps_are_cut(name):
    assert all(kernel.steps is not None for kernel in formula_kernels(OPS[name]).values())


def test_a_gradient_that_is_the_same_everywhere():
    values = np.random.default_rng(0).standard_normal(SIZE, np.float32)

    def program(T):
        x = T.tensor(values, requires_grad=True)
        x.sigmoid().sum().backward()
        return x.grad

    oracle.check(program)


@pytest.mark.parametrize(
    "shapes", [[(700, 300), (700, 1)], [(700, 300), (300,)], [(700, 300), (1, 300)], [(700, 300), ()]]
)
@pytest.mark.parametrize("order", [1, -1])
def test_broadcast_operands_are_cut_between_rows(shapes, order):
    random = np.random.default_rng(0)
    arrays = [random.uniform(1, 2, shape) for shape in shapes]
    cotangent = random.uniform(1, 2, shapes[0])

    def program(T):
        x, y = (T.tensor(array, requires_grad=True) for array in arrays)
        numerator, denominator = (x, y)[::order]
        (numerator / denominator).backward(T.tensor(cotangent))
        return x.grad, y.grad

    oracle.check(program)


def work(expression, *names):
    return compile_kernel(expression, list(names), {"np": np, "sin": OPS["sin"].body})


@pytest.mark.parametrize("shapes", [[(SIZE, 1), (1, 4)], [(1, SIZE), (1, 1)], [(700, 300), (300, 700)]])
def test_what_cannot_be_cut_is_computed_whole(shapes):
    x, y = (np.random.default_rng(0).uniform(1, 2, shape).astype(np.float32) for shape in shapes)
    if shapes[0][0] == 700:
        y = y.T  # in another memory layout
    found = tiling.compute(work("x * y + x", "x", "y"), (x, y))
    np.testing.assert_array_equal(found, x * y + x)
    assert found.strides == (x * y + x).strides


def test_what_is_elementwise():
    assert work("g * sin(x)", "g", "x").scratch == 1
    assert work("(x > 0) * g", "g", "x").steps is not None
    assert work("np.exp(x) if x > 0 else -x", "x").steps is None  # a choice depends on all elements
    assert work("g * x.shape[0]", "g", "x").steps is None
    assert work("total(g) * x", "g", "x").steps is None


@pytest.mark.parametrize("to", [(300,), (1, 300), (700, 1), (), (1, 1)])
@pytest.mark.parametrize("expression", ["g * x", "-g * (x / x / x)"])
def test_the_sum_of_what_was_broadcast_is_taken_piece_by_piece(to, expression):
    g, x = np.random.default_rng(0).uniform(1, 2, (2, 700, 300))

    def in_pieces(g, x):
        return tiling.compute(work(expression, "g", "x"), (g, x), None, (to,))

    oracle.agree(in_pieces, lambda g, x: T.tensor(eval(expression)).sum_to_size(to).numpy(), g, x)


def test_a_gradient_that_others_hold_is_not_overwritten():
    values = np.random.default_rng(0).standard_normal(SIZE, np.float32)

    def program(T):
        x = T.tensor(values, requires_grad=True)
        seen = []
        y = x.exp()
        y.register_hook(seen.append)
        y.retain_grad()
        cotangent = T.full_like(y, 0.5)
        z = y.tanh() + y.sin()
        z.backward(cotangent, retain_graph=True)
        held = seen[0].clone(), y.grad.clone(), x.grad.clone()
        x.grad = None
        z.backward(cotangent)  # no saved tensor has been written to
        assert (x.grad == held[2]).all()
        assert (cotangent == 0.5).all()
        return held

    oracle.check(program)
