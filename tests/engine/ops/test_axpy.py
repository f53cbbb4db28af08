"""``y += a · x``, and its like for rows, by SciPy and, where that is not worth loading, by NumPy: the same numbers."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle

axpy = importlib.import_module("nbautograd._engine.arrays.axpy")
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
    axpy._sparse.cache_clear()
    yield
    axpy._sparse.cache_clear()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, axpy.MIN_SIZE - 1, axpy.MIN_SIZE, 3 * axpy.MIN_SIZE + 5])
def test_numbers(dtype: Any, count: int) -> None:
    random = np.random.default_rng(0)
    x, y = (random.standard_normal(count).astype(dtype) for _ in range(2))
    before, work = x.copy(), np.empty_like(x)

    def added(x: Any, y: Any) -> Any:
        axpy.axpy(-0.3, x, y, work)
        np.testing.assert_array_equal(x, before)
        return y

    oracle.agree(added, lambda x, y: y + x.dtype.type(-0.3) * x, x, y)
    for value in (np.inf, np.nan):
        if count:
            x[-1] = value
            axpy.axpy(1.0, x, y, work)
            np.testing.assert_array_equal(y[-1], dtype(value))


def test_the_buffer_may_be_what_is_added() -> None:
    for count in (5, axpy.MIN_SIZE):
        x, y = np.ones(count, np.float32), np.zeros(count, np.float32)
        axpy.axpy(0.5, x, y, x)
        assert (y == 0.5).all()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_step_alike_in_one_pass(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    sparse = axpy._sparse()
    assert sparse is not None

    class Counted:
        @staticmethod
        def csr_matvecs(*arguments: Any) -> None:
            calls.append(arguments)
            sparse.csr_matvecs(*arguments)

    def stepped(T: Any) -> Any:
        random = np.random.default_rng(1)
        w = T.tensor(random.standard_normal((7, 9)).astype(np.float32), requires_grad=True)
        optimizer = getattr(T.optim, name)([w], **OPTIMIZERS[name])
        for _ in range(5):
            w.grad = T.tensor(random.standard_normal((7, 9)).astype(np.float32))
            optimizer.step()
        return w

    theirs = oracle.answer(stepped)
    for smallest in (1, sys.maxsize):
        monkeypatch.setattr(axpy, "MIN_SIZE", smallest)
        monkeypatch.setattr(axpy, "_sparse", lambda: Counted)
        before = len(calls)
        oracle.close(stepped(nb), theirs)
        assert (len(calls) > before) is (smallest == 1)


ROWS = {
    "axpy_rows": lambda f, x, y: y + f[:, None] * x,
    "shift_rows": lambda f, x, y: y + f[:, None],
    "scale_rows": lambda f, x, y: y * f[:, None],
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 4), (5000, 7), (1, 40_000), (40_000, 1), (600, 64), (40, 2000), (7, 0), (0, 7)])
@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str, shape: tuple[int, int], dtype: Any) -> None:
    random = np.random.default_rng(0)
    x, memory = (random.standard_normal(shape).astype(dtype) for _ in range(2))
    numbers = random.standard_normal(2 * shape[0]).astype(dtype)[::2].copy()

    def in_place(numbers: Any, x: Any, memory: Any) -> Any:
        around = np.full((shape[0] + 2, shape[1]), 7, dtype)
        y = around[1:-1]
        y[...] = memory
        arguments = (numbers, x, y) if name == "axpy_rows" else (numbers, y)
        getattr(axpy, name)(*arguments)
        assert (around[0] == 7).all() and (around[-1] == 7).all()
        return y

    oracle.agree(in_place, ROWS[name], numbers, x, memory)


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_what_is_no_number(name: str) -> None:
    for rows in (4, 8000):
        y = np.ones((rows, 5), np.float32)
        numbers = np.full(rows, np.nan, np.float32)
        numbers[1] = np.inf
        getattr(axpy, name)(*((numbers, y.copy(), y) if name == "axpy_rows" else (numbers, y)))
        assert np.isnan(y[0]).all() and np.isinf(y[1]).all() and np.isnan(y[2:]).all()


def test_a_browser_does_not_fetch_scipy_for_it(anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(name: str) -> Any:
        raise AssertionError(name)

    monkeypatch.setattr(axpy, "late", refused)
    monkeypatch.setattr(sys, "platform", "emscripten")
    _check_large()


def test_without_those_functions_of_scipy(anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(axpy, "late", lambda name: object())
    _check_large()


def _check_large() -> None:
    x, y = np.ones(axpy.MIN_SIZE), np.zeros(axpy.MIN_SIZE)
    axpy.axpy(2.0, x, y, np.empty_like(x))
    assert (y == 2).all()
    rows = y.reshape(-1, 8)
    factors = np.full(len(rows), 3.0)
    axpy.axpy_rows(factors, x.reshape(-1, 8), rows)
    axpy.shift_rows(factors, rows)
    axpy.scale_rows(factors, rows)
    assert (y == 24).all()
