"""Cumulative sums of large rows, which are products with triangles of ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nbautograd._engine.arrays import masking, summation
from tests import oracle

SHAPES = [(64, 64), (4, 1024), (3, 7, 320), (128, 33), (70, 1040), (4096,), (2, 4096)]


@pytest.mark.parametrize("kind", ["numbers", "inf", "nan", "-0", "huge"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_and_gradients_are_those_of_pytorch(shape: tuple[int, ...], kind: str) -> None:
    rng = np.random.default_rng(0)
    x, g = (rng.normal(size=shape).astype(np.float32) for _ in range(2))
    if kind == "-0":
        x[:] = -0.0
    elif kind == "huge":
        x *= 1e36
    elif kind != "numbers":
        x.reshape(-1)[rng.integers(x.size)] = float(kind)

    def program(T: Any) -> Any:
        a = T.tensor(x, requires_grad=True)
        y = a.cumsum(-1)
        y.backward(T.tensor(g))
        return y, a.grad

    sums, _ = oracle.check(program)
    if kind == "-0":
        assert not np.signbit(sums.detach().numpy()).any()


def test_the_error_does_not_grow_with_the_length() -> None:
    x = np.random.default_rng(0).random((2, 1 << 17), np.float32)
    exact = np.cumsum(x, 1, np.float64)
    for reverse in (False, True):
        sums = summation.cumulative_sums(np.flip(x, 1).copy() if reverse else x, reverse)
        sums = np.flip(sums, 1) if reverse else sums
        assert (np.abs(sums - exact) / exact).max() < 3e-7


@given(
    st.sampled_from([np.maximum, np.minimum]),
    st.sampled_from([0, 0.5, -np.inf, np.nan, 1e30]),
    st.sampled_from([(1,), (7,), (masking.PIECE_SIZE + 3,), (5, 9), (3, masking.PIECE_SIZE)]),
    st.booleans(),
)
def test_bounded_arrays_are_those_of_numpy(ufunc: Any, number: float, shape: tuple[int, ...], swapped: bool) -> None:
    for dtype in (np.float32, np.float64):
        x = np.random.default_rng(0).normal(size=shape).astype(dtype)
        x.reshape(-1)[0] = np.nan
        operands = (x, number) if swapped else (number, x)
        np.testing.assert_array_equal(masking.bounded(ufunc, *operands, np.empty_like(x)), ufunc(x, number))
        operands = (x.T, number) if swapped else (number, x.T)
        np.testing.assert_array_equal(masking.bounded(ufunc, *operands, np.empty_like(x).T), ufunc(x, number).T)
