"""Rounding errors of sums, measured in long double, beside those of PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.ops._internal import pairwise_sum
from tests import oracle

SHAPES = {
    "flat": ((200_000,), 0),
    "rows": ((1000, 200), 0),
    "columns": ((200, 1000), 1),
    "long and thin": ((50_000, 4), 0),
    "short rows": ((20_000, 10), 1),
    "first of three": ((60, 50, 70), 0),
    "middle of three": ((60, 50, 70), 1),
    "two of three": ((60, 50, 70), (0, 2)),
    "first two": ((60, 50, 70), (0, 1)),
    "all of three": ((60, 50, 70), (0, 1, 2)),
}
LAYOUTS = {
    "contiguous": lambda a: a,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "every other": lambda a: np.repeat(a, 2, -1)[..., ::2],
    "backwards": lambda a: np.ascontiguousarray(np.flip(a)),
}
CALLS = {
    "sum": (lambda T, x, d: x.sum(d), lambda a, d: a.sum(d)),
    "mean": (lambda T, x, d: x.mean(d), lambda a, d: a.mean(d)),
    "var": (lambda T, x, d: x.var(d), lambda a, d: a.var(d, ddof=1)),
    "std": (lambda T, x, d: x.std(d), lambda a, d: a.std(d, ddof=1)),
    "norm": (lambda T, x, d: x.norm(2, d), lambda a, d: np.sqrt((a * a).sum(d))),
    "norm 3": (lambda T, x, d: x.norm(3, d), lambda a, d: np.cbrt((abs(a) ** 3).sum(d))),
    "logsumexp": (lambda T, x, d: x.logsumexp(d), lambda a, d: np.log(np.exp(a).sum(d))),
    "nansum": (lambda T, x, d: x.nansum(d), lambda a, d: a.sum(d)),
}


def error(result: np.ndarray, exact: np.ndarray, eps: float) -> float:
    """The largest relative error, in units of the dtype's precision."""
    return float(np.max(np.abs((result.astype(exact.dtype) - exact) / exact))) / eps


def check_error(function, reference, a, dim):
    """Our error is at most twice PyTorch's, or 4 units."""
    exact, eps = reference(a.astype(np.longdouble), dim), float(np.finfo(a.dtype).eps)

    def of(T):
        return error(function(T, T.tensor(a), dim).numpy(), exact, eps)

    assert of(nb) <= max(2 * oracle.answer(of, exact=True), 4)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_errors_beside_those_of_torch(call, shape, dtype):
    size, dim = SHAPES[shape]
    a = np.random.default_rng(0).random(size).astype(dtype)
    if dtype == "float16":
        a = a[:2000] if a.ndim == 1 else a[:1000]  # whose sums are below 65504
    check_error(*CALLS[call], a, dim)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_sums_in_every_layout(shape, layout, dtype):
    size, dim = SHAPES[shape]
    a = LAYOUTS[layout](np.random.default_rng(0).random(size).astype(dtype))
    axes = (dim,) if isinstance(dim, int) else dim
    exact = a.astype(np.clongdouble if a.dtype.kind == "c" else np.longdouble).sum(axes)
    assert error(pairwise_sum(a, axes), exact, float(np.finfo(dtype).eps)) < 4
    assert pairwise_sum(a, axes, True).shape == tuple(1 if d in axes else n for d, n in enumerate(a.shape))


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 64, 65, 511, 512, 513, 5000])
@pytest.mark.parametrize("width", [1, 3, 600, 2000])
def test_blocks_of_every_length(n, width):
    a = np.random.default_rng(0).integers(-100, 100, (2, n, width)).astype(np.float64)
    np.testing.assert_array_equal(pairwise_sum(a, (1,)), a.astype(np.int64).sum(1))
    np.testing.assert_array_equal(pairwise_sum(a, (0, 1)), a.astype(np.int64).sum((0, 1)))


@pytest.mark.parametrize("n", [1, 2, 15, 17, 63, 64, 65, 97, 100, 128, 997, 1000, 4096, 5000, 300_000, 600_001])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_every_length(n, dtype):
    rows = max(1, 40_000 // n)
    a = np.random.default_rng(0).integers(-20, 20, (rows, n)).astype(dtype)  # whose sums are exact
    for each in (a, a[0], a.reshape(rows, 1, n), np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2]):
        exact = each.astype(np.int64)
        np.testing.assert_array_equal(pairwise_sum(each, (each.ndim - 1,)), exact.sum(-1))
        np.testing.assert_array_equal(pairwise_sum(each, (each.ndim - 1,), True), exact.sum(-1, keepdims=True))
        np.testing.assert_array_equal(pairwise_sum(each), exact.sum())


@pytest.mark.parametrize("n", [300, 5000, 100_003, 1_000_000])
@pytest.mark.parametrize("kind", ["layer_norm", "group_norm"])
def test_norms_of_long_rows(n, kind):
    random = np.random.default_rng(0)
    a, g = ((random.random((3, n)) + 0.5).astype(np.float32) for _ in range(2))

    def run(T, dtype):
        x = T.tensor(a.astype(dtype), requires_grad=True)
        if kind == "layer_norm":
            y = T.nn.functional.layer_norm(x, (n,))
        else:
            y = T.nn.functional.group_norm(x.reshape(3, 1, n), 1).reshape(3, n)
        y.backward(T.tensor(g.astype(dtype)))
        return y.detach().numpy(), x.grad.numpy()

    # A row of up to 4096 numbers is a product, whose order is the processor's: its rounding errors are a random walk.
    walk = n**0.5 if n <= 4096 else 0
    eps = float(np.finfo(np.float32).eps)
    for ours, exact, most in zip(run(nb, np.float32), run(nb, np.float64), (4 + walk, 50), strict=True):
        assert np.abs(ours - exact).max() / np.abs(exact).max() < most * eps


@pytest.mark.sweep
def test_ones_are_counted():
    assert nb.ones(5000, 8, dtype=nb.float16).sum(0)[0].item() == 5000
    assert nb.ones(70_000, 2, dtype=nb.float16).mean(0)[0].item() == 1
    assert nb.ones(2**24 + 8).cumsum(0)[-1].item() == 2**24 + 8
    assert nb.ones(5000, dtype=nb.float16).cumsum(0)[2999].item() == 3000
    assert nb.ones(2**22, 2).sum_to_size(1, 2)[0, 0].item() == 2**22


def test_mean_far_from_zero_keeps_the_variance():
    a = (np.random.default_rng(0).random((5000, 3)) + 1e4).astype(np.float32)
    check_error(*CALLS["var"], a, 0)


def test_cumulative_sums_against_fsum():
    a = np.random.default_rng(0).standard_normal(20_000).astype(np.float32)
    exact = math.fsum(a.astype(np.float64))
    assert abs(nb.tensor(a).cumsum(0)[-1].item() - exact) <= abs(exact) * 1e-7


def test_infinite_and_empty_logsumexp():
    inf = math.inf
    x = nb.tensor([[-inf, -inf], [1.0, -inf], [inf, 1.0]])
    assert x.logsumexp(1).tolist() == [-inf, 1.0, inf]
    assert nb.zeros(2, 0).logsumexp(1).tolist() == [-inf, -inf]
    assert nb.tensor([-inf, 0.0, -inf]).logcumsumexp(0).tolist() == [-inf, 0.0, 0.0]
