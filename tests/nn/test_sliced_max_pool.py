"""Max pooling without indices: next to PyTorch, and next to pooling with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import nbautograd as nb
from nbautograd.core import tracing
from tests import needs

torch = needs.package("torch")


@given(
    st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(1, 9), st.integers(1, 9)),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.sampled_from(["numbers", "ties", "nan", "inf", "-inf only"]),
    st.integers(0, 9),
)
@settings(deadline=None, max_examples=150)
def test_maxima_and_gradients_are_those_of_pytorch(
    shape: tuple[int, ...], kernel: tuple[int, int], more: tuple[int, int], kind: str, seed: int
) -> None:
    if any(k > n for k, n in zip(kernel, shape[2:], strict=True)):
        return
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape).astype(np.float32)
    if kind == "ties":
        x = np.maximum(np.round(x), 0)
    elif kind == "-inf only":
        x[0, 0] = -np.inf
    elif kind != "numbers":
        x[rng.random(shape) < 0.2] = float(kind)
    stride = tuple(k + m for k, m in zip(kernel, more, strict=True))
    pair: list[list[Any]] = []
    for library in (nb, torch):
        a = library.tensor(x, requires_grad=True)
        y = library.nn.functional.max_pool2d(a, kernel, stride)
        g = library.tensor(np.random.default_rng(1).normal(size=tuple(y.shape)), dtype=library.float32)
        y.backward(g)
        pair.append([y.detach().numpy(), a.grad.numpy()])
    for ours, theirs in zip(*pair, strict=True):
        np.testing.assert_array_equal(ours, theirs)


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
    gradients = []
    for library in (nb, torch):
        a = library.tensor(x, dtype=getattr(library, dtype), requires_grad=True)
        library.nn.functional.max_pool2d(a, (rows, 2)).backward(library.tensor(g, dtype=getattr(library, dtype)))
        gradients.append(a.grad.numpy())
    np.testing.assert_array_equal(*gradients)
