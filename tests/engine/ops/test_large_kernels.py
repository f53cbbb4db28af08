"""Compare kernels that differ for large sizes with PyTorch's, at sizes on both sides of the limit."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.fusion import tiling
from tests import oracle


def normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


def agree(program: Callable[..., Any], *arrays: Any) -> None:
    """Result and gradients of a program are the same under both libraries."""

    def differentiated(T: Any) -> Any:
        operands = [T.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
        result = program(T, *operands)
        result.backward(T.tensor(normal(*result.shape, seed=1).astype(arrays[0].dtype)))
        return result, *(t.grad for t in operands if t.requires_grad)

    oracle.check(differentiated)


@pytest.mark.parametrize("rows", [3, 700])
def test_normalisation(rows: int) -> None:
    w, b = normal(24, seed=2), normal(24, seed=3)
    x = normal(rows, 24, 3) * 2 + 5

    def function(library: Any, name: str) -> Any:
        return getattr(library.nn.functional, name)

    agree(lambda T, x, w, b: function(T, "batch_norm")(x, None, None, w, b, True), x, w, b)
    agree(lambda T, x: function(T, "batch_norm")(x, None, None, None, None, True), x)
    agree(lambda T, x, w, b: function(T, "group_norm")(x, 4, w, b), x, w, b)
    agree(lambda T, x: function(T, "group_norm")(x, 1), x)
    y = normal(rows, 3, 24) * 2 + 5
    agree(lambda T, x, w, b: function(T, "layer_norm")(x, (24,), w, b), y, w, b)
    agree(lambda T, x: function(T, "layer_norm")(x, (3, 24)), y)
    agree(lambda T, x, w: function(T, "layer_norm")(x, (3, 24), w), y, normal(3, 24, seed=4))


@pytest.mark.parametrize("rows", [3, 700])
def test_softmax(rows: int) -> None:
    for dim in (-1, 0):
        agree(lambda T, x, dim=dim: x.softmax(dim), normal(rows, 50) * 5)
        agree(lambda T, x, dim=dim: x.log_softmax(dim), normal(rows, 50) * 5)


def test_the_error_function_and_gelu() -> None:
    special = pytest.importorskip("scipy.special")
    x = np.concatenate([np.linspace(-9, 9, 200_001), [0.0, -0.0, 1e-30, -1e-40, 3e38, -3e38]]).astype(np.float32)
    wide = x.astype(np.float64)
    true = special.erf(wide)
    found = nb.tensor(x).erf().numpy()
    assert (np.abs(found - true) <= 0.54 * np.spacing(np.abs(true).astype(np.float32)) + 1e-46).all()
    t = nb.tensor(x, requires_grad=True)
    result = nb.nn.functional.gelu(t)
    result.sum().backward()
    error = np.abs(result.detach().numpy() - wide * special.ndtr(wide))
    assert error[wide <= 0].max() < 2e-7
    assert (error <= 4 * np.spacing(np.abs(wide * special.ndtr(wide)).astype(np.float32)))[wide > 0].all()
    slope = special.ndtr(wide) + wide * np.exp(-wide * wide / 2) / np.sqrt(2 * np.pi)
    assert np.abs(t.grad.numpy() - slope).max() < 4e-7
    assert result[-2:].tolist() == [float(x[-2]), 0.0]
    assert t.grad[-2:].tolist() == [1.0, 0.0]
    assert bool(nb.nn.functional.gelu(nb.full((300,), float("nan"))).isnan().all())


def test_rows_added_at_indices() -> None:
    random = np.random.default_rng(0)
    index = random.integers(-30, 30, 500)
    for kind in (np.float32, np.float64):
        x = normal(30, 64).astype(kind)
        agree(lambda T, x, i: x[i], x, index)
        agree(lambda T, x, i: x[i.reshape(50, 10)], x, index)
        agree(lambda T, x, i: T.nn.functional.embedding(i.abs() % 30, x), x, index)
        agree(lambda T, x, i: T.zeros(30, 64, dtype=x.dtype).index_add(0, i % 30, x[i]), x, index)


def test_maxima_of_windows_and_their_places() -> None:
    def pooled(T: Any, x: Any, *options: int) -> Any:
        return tuple(T.nn.functional.max_pool2d(T.tensor(x), *options, return_indices=True))

    values = {
        "numbers": normal(2, 3, 7, 8),
        "ties": np.round(normal(2, 3, 7, 8)),
        "nan": np.where(normal(2, 3, 7, 8) > 1, np.nan, normal(2, 3, 7, 8)),
        "infinite": np.where(normal(2, 3, 7, 8) > -0.5, -np.inf, 1.0),
        "integers": (normal(2, 3, 7, 8) * 3).astype(np.int64),
    }
    for kernel, stride, padding, dilation in itertools.product((1, 2, 3), (1, 2, 3), (0, 1), (1, 2)):
        if padding <= (dilation * (kernel - 1) + 1) // 2:
            for x in values.values():
                oracle.check(pooled, x, kernel, stride, padding, dilation, exact=True)


def test_convolutions_of_short_and_long_rows() -> None:
    for (c, o, height, width), padding, dilation in itertools.product(
        [(2, 3, 5, 6), (5, 4, 9, 30), (40, 40, 6, 5)], (0, 1), (1, 2)
    ):
        options = {"padding": padding, "dilation": dilation}
        arrays = normal(3, c, height, width), normal(o, c, 2, 3, seed=2), normal(o, seed=3)
        agree(lambda T, x, w, b, o=options: T.nn.functional.conv2d(x, w, b, **o), *arrays)
    agree(lambda T, x, w: T.nn.functional.conv3d(x, w, padding=1), normal(2, 3, 4, 5, 6), normal(2, 3, 2, 2, 2, seed=2))


def test_a_filter_for_each_channel() -> None:
    for stride, padding, dilation in itertools.product((1, 2), (0, 1), (1, 2)):
        agree(
            lambda T, x, w, b, o=(stride, padding, dilation): T.nn.functional.conv2d(x, w, b, *o, groups=5),
            *(normal(3, 5, 7, 8), normal(5, 1, 3, 2, seed=2), normal(5, seed=3)),
        )
        agree(
            lambda T, x, w, b, o=(stride, padding, dilation): T.nn.functional.conv2d(x, w, b, *o, groups=5),
            *(normal(300, 5, 7, 8), normal(10, 1, 3, 2, seed=2), normal(10, seed=3)),
        )
    agree(lambda T, x, w: T.nn.functional.conv1d(x, w, groups=5), normal(300, 5, 40), normal(5, 1, 3, seed=2))


def test_repeated_pixels() -> None:
    for options in ({"scale_factor": 2}, {"scale_factor": 3}, {"size": (7, 9)}, {"size": (2, 3)}, {"size": (8, 5)}):
        agree(lambda T, x, o=options: T.nn.functional.interpolate(x, **o), normal(2, 3, 4, 5))


def test_leaky_relu_of_special_values() -> None:
    x = [float("inf"), -float("inf"), float("nan"), -0.0, 0.0, -2.0]
    for slope in (0.0, 0.1, 1.0, 1.5, -0.5):

        def program(T: Any, slope: float) -> Any:
            y = T.nn.functional.leaky_relu(T.tensor(x), slope)
            return y, y[3:].signbit()

        oracle.check(program, slope, exact=True)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("size", [6, 300, tiling.MIN_TILED_SIZE + 6, 5 * tiling.TILE_SIZE])
def test_gradients_that_are_chosen(kind: type, size: int) -> None:
    x = np.resize(np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, -2.0, 3.0, 1e-40], kind), size)
    g = np.resize(np.array([1.0, -2.0, np.inf, np.nan, 0.0, -0.0, -np.inf, 0.1, 7.0], kind), size)
    for slope in (0.0, 0.1, 1.0, -0.5, None):

        def program(T: Any, slope: float | None) -> Any:
            t = T.tensor(x, requires_grad=True)
            (T.relu(t) if slope is None else T.nn.functional.leaky_relu(t, slope)).backward(T.tensor(g))
            grad = t.grad.where(~t.grad.isnan(), T.tensor(5.0, dtype=t.grad.dtype))  # a NaN's bits are arbitrary
            return t.grad.isnan(), grad, grad.signbit()

        oracle.check(program, slope, exact=True)
