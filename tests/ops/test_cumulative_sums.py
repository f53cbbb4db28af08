"""Cumulative sums of large rows, which are products with triangles of ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import nbautograd as nb
from nbautograd.arrays import masking, summation
from tests import needs


@given(
    st.sampled_from([(64, 64), (4, 1024), (3, 7, 320), (128, 33), (70, 1040), (4096,), (2, 4096)]),
    st.sampled_from(["numbers", "inf", "nan", "-0", "huge"]),
    st.integers(0, 99),
)
@settings(deadline=None)
def test_sums_and_gradients_are_those_of_pytorch(shape: tuple[int, ...], kind: str, seed: int) -> None:
    torch = needs.package("torch")
    rng = np.random.default_rng(seed)
    x, g = (rng.normal(size=shape).astype(np.float32) for _ in range(2))
    if kind == "-0":
        x[:] = -0.0
    elif kind == "huge":
        x *= 1e36
    elif kind != "numbers":
        x.reshape(-1)[rng.integers(x.size)] = float(kind)
    pair: list[list[Any]] = []
    for library in (nb, torch):
        a = library.tensor(x, requires_grad=True)
        y = a.cumsum(-1)
        y.backward(library.tensor(g))
        pair.append([y.detach().numpy(), a.grad.numpy()])
    for ours, theirs in zip(*pair, strict=True):
        size = np.abs(theirs[np.isfinite(theirs)]).max(initial=1)
        np.testing.assert_allclose(ours, theirs, 1e-6, 3e-7 * size)
    if kind == "-0":
        assert not np.signbit(pair[0][0]).any()


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
    st.sampled_from([(1,), (7,), (masking.PIECE + 3,), (5, 9), (3, masking.PIECE)]),
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
