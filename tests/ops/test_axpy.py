"""``y += a · x`` in one pass, and in two where SciPy is not worth loading: the same numbers."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbautograd as nb

axpy = importlib.import_module("nbautograd.arrays.axpy")
OPTIMIZERS = {
    "SGD": {"lr": 0.05, "momentum": 0.9, "dampening": 0.3},
    "Adam": {"amsgrad": True, "weight_decay": 0.1},
    "NAdam": {},
    "RAdam": {},
    "Adamax": {},
    "RMSprop": {"centered": True, "momentum": 0.5},
    "Adagrad": {},
    "Adadelta": {},
    "ASGD": {"t0": 1},
}


@pytest.fixture
def anew() -> Iterator[None]:
    axpy._sparse_product.cache_clear()
    yield
    axpy._sparse_product.cache_clear()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, axpy.SMALLEST - 1, axpy.SMALLEST, 3 * axpy.SMALLEST + 5])
def test_numbers(dtype: Any, count: int) -> None:
    random = np.random.default_rng(0)
    x, y = (random.standard_normal(count).astype(dtype) for _ in range(2))
    expected, before, work = y + dtype(-0.3) * x, x.copy(), np.empty_like(x)
    axpy.axpy(-0.3, x, y, work)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(y, expected, rtol=0, atol=4 * eps)  # some processors round once
    np.testing.assert_array_equal(x, before)
    for value in (np.inf, np.nan):
        if count:
            x[-1] = value
            axpy.axpy(1.0, x, y, work)
            np.testing.assert_array_equal(y[-1], dtype(value))


def test_the_buffer_may_be_what_is_added() -> None:
    for count in (5, axpy.SMALLEST):
        x, y = np.ones(count, np.float32), np.zeros(count, np.float32)
        axpy.axpy(0.5, x, y, x)
        assert (y == 0.5).all()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_step_alike_in_one_pass(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    product = axpy._sparse_product()
    assert product is not None

    def counted(*arguments: Any) -> None:
        calls.append(arguments)
        product(*arguments)

    results = []
    for smallest in (1, sys.maxsize):
        monkeypatch.setattr(axpy, "SMALLEST", smallest)
        monkeypatch.setattr(axpy, "_sparse_product", lambda: counted)
        random = np.random.default_rng(1)
        w = nb.tensor(random.standard_normal((7, 9)).astype(np.float32), requires_grad=True)
        optimizer = getattr(nb.optim, name)([w], **OPTIMIZERS[name])
        before = len(calls)
        for _ in range(5):
            w.grad = nb.tensor(random.standard_normal((7, 9)).astype(np.float32))
            optimizer.step()
        assert (len(calls) > before) is (smallest == 1)
        results.append(w.detach().numpy())
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-6)


def test_a_browser_does_not_fetch_scipy_for_it(anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(name: str) -> Any:
        raise AssertionError(name)

    monkeypatch.setattr(axpy, "late", refused)
    monkeypatch.setattr(sys, "platform", "emscripten")
    x, y = np.ones(axpy.SMALLEST), np.zeros(axpy.SMALLEST)
    axpy.axpy(2.0, x, y, np.empty_like(x))
    assert (y == 2).all()


def test_without_that_function_of_scipy(anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(axpy, "late", lambda name: object())
    x, y = np.ones(axpy.SMALLEST), np.zeros(axpy.SMALLEST)
    axpy.axpy(2.0, x, y, np.empty_like(x))
    assert (y == 2).all()
