"""Max pooling without indices: next to PyTorch, and next to pooling with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.core import tracing
from tests import oracle


@pytest.mark.parametrize("kind", ["numbers", "ties", "nan", "inf", "-inf only"])
def test_maxima_and_gradients_are_those_of_pytorch(kind: str) -> None:
    def program(T: Any, x: Any, kernel: Any, stride: Any) -> Any:
        a = T.tensor(x, requires_grad=True)
        y = T.nn.functional.max_pool2d(a, kernel, stride)
        y.backward(T.tensor(np.random.default_rng(1).normal(size=tuple(y.shape)), dtype=T.float32))
        return y, a.grad

    rng = np.random.default_rng(0)
    for _ in range(30):
        shape = tuple(map(int, rng.integers(1, (4, 3, 10, 10))))
        kernel = tuple(int(min(k, n)) for k, n in zip(rng.integers(1, 5, 2), shape[2:], strict=True))
        stride = tuple(int(k + m) for k, m in zip(kernel, rng.integers(0, 3, 2), strict=True))
        x = rng.normal(size=shape).astype(np.float32)
        if kind == "ties":
            x = np.maximum(np.round(x), 0)
        elif kind == "-inf only":
            x[0, 0] = -np.inf
        elif kind != "numbers":
            x[rng.random(shape) < 0.2] = float(kind)
        oracle.check(program, x, kernel, stride, exact=True)


def test_it_is_taken_where_windows_lie_side_by_side_and_nobody_looks() -> None:
    x, pool = nb.ones(1, 1, 6, 6, requires_grad=True), nb.nn.functional.max_pool2d

    names = {type(pool(x, *options).grad_fn).__name__ for options in ((2,), (2, 1), (2, 2, 1), (3, 3, 1, 1))}
    assert names == {"MaxPool2DWithIndicesBackward0"}
    assert pool(x, 2, return_indices=True)[1].tolist() == [[[[0, 2, 4], [12, 14, 16], [24, 26, 28]]]]
    with tracing.traced():
        assert type(pool(x, 2).grad_fn).__name__ == "MaxPool2DWithIndicesBackward0"
    assert nb.func.vmap(lambda a: pool(a, 2))(nb.ones(3, 1, 4, 4)).shape == (3, 1, 2, 2)


@pytest.mark.parametrize("shape", [(2, 1, 4, 6), (1, 5, 5)], ids=str)
def test_derivatives_are_those_of_finite_differences(shape: tuple[int, ...]) -> None:
    x = nb.randn(*shape, dtype=nb.float64, requires_grad=True)
    assert nb.autograd.gradcheck(lambda t: nb.nn.functional.max_pool2d(t, 2), x)
    assert nb.autograd.gradgradcheck(lambda t: nb.nn.functional.max_pool2d(t, 2) ** 2, x)


@pytest.mark.parametrize("rows", range(1, 6))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_windows_of_two_columns_are_those_of_pytorch(rows: int, dtype: str) -> None:
    """Which cover the image; those of float32 are written two columns at a time."""
    rng = np.random.default_rng(rows)
    x, g = np.round(rng.normal(size=(3, 2, 3 * rows, 8))), rng.normal(size=(3, 2, 3, 4))
    g[0, 0, 0] = np.nan, np.inf, -0.0, 0

    def program(T: Any) -> Any:
        a = T.tensor(x, dtype=getattr(T, dtype), requires_grad=True)
        T.nn.functional.max_pool2d(a, (rows, 2)).backward(T.tensor(g, dtype=getattr(T, dtype)))
        return a.grad

    oracle.check(program, exact=True)
