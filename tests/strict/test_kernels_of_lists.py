"""Kernels over lists: of parameters, which an optimizer updates, and of places, where values are added up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd.arrays import backend, segmented_sum
from nbautograd.fusion import multi_tensor
from tests import needs
from tests.strict import kernels
from tests.strict.backend import _Add
from tests.strict.kernels import COMPILED, KERNELS

from .kernel_programs import OPTIMIZERS, agree, both, compiled_kernels, on_device, rules_of, trained

pytestmark = needs.compiler


@pytest.fixture(autouse=True, scope="module")
def compiled(strict_backend: None) -> Iterator[None]:
    """The strict device with kernels, those of optimizers compiled together."""
    with compiled_kernels():
        for make in OPTIMIZERS.values():
            for rule, count in rules_of(make):
                for kind in map(np.dtype, ("float32", "float64", "float16")):
                    multi_tensor._kernel(rule, multi_tensor._cells(rule), kind, count, KERNELS)
        COMPILED.compile()
        yield


# -- parameters --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [nb.float32, nb.float64, nb.float16], ids=str)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_update_all_parameters_by_one_kernel(name: str, dtype: nb.dtype) -> None:
    launches, kept = kernels.RawKernel.launches, len(multi_tensor._kernels)
    on_strict = trained("strict", OPTIMIZERS[name], dtype)
    assert kernels.RawKernel.launches - launches == 4  # one for each step
    assert len(multi_tensor._kernels) - kept <= 4  # step sizes are arguments, not code
    for ours, theirs in zip(on_strict, trained("cpu", OPTIMIZERS[name], dtype), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-6)


def test_other_parameters_are_updated_as_before() -> None:
    """Those whose gradients lie in memory in another order, complex ones, and parameters of several groups."""

    def values(place: str) -> list[Any]:
        rng = np.random.default_rng(1)
        first = nb.tensor(rng.normal(size=(2, 3)), device=place).t().requires_grad_()
        second = nb.tensor(rng.normal(size=3) + 1j, device=place, requires_grad=True)
        third = nb.tensor(rng.normal(size=3), device=place, requires_grad=True)
        optimizer = nb.optim.Adam([{"params": [first, second]}, {"params": [third], "lr": 0.5}])
        ((first * first).sum() + (second * second.conj()).real.sum() + third.exp().sum()).backward()
        first.grad = nb.tensor(rng.normal(size=(3, 2)), device=place)
        optimizer.step()
        copy = nb.optim.Adam([{"params": [first, second]}, {"params": [third]}])
        copy.load_state_dict(optimizer.state_dict())
        copy.step()
        return [t.detach().cpu().numpy() for t in (first, second, third)]

    for ours, theirs in zip(values("strict"), values("cpu"), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-12)


# -- places ------------------------------------------------------------------------------------------------------------

PLACES: dict[str, tuple[tuple[int, ...], Any]] = {
    "elements": ((7,), lambda rng: (rng.integers(-7, 7, 50),)),
    "many to few": ((5, 3), lambda rng: (rng.integers(0, 5, 9000),)),
    "columns": ((5, 3, 2), lambda rng: (slice(None), rng.integers(0, 3, 9))),
    "two indices": ((5, 3, 2), lambda rng: (rng.integers(0, 5, (4, 1)), rng.integers(0, 3, 6))),
    "a mask": ((6,), lambda rng: rng.random(6) < 0.5),
    "rows": ((4, 3), lambda rng: (rng.integers(0, 4, 8), slice(None))),
    "nothing": ((4, 3), lambda rng: (rng.integers(0, 4, 0),)),
}


@pytest.mark.parametrize("char", "fdeilQ?bBFD")
@pytest.mark.parametrize("name", PLACES)
def test_adding_at_indices(name: str, char: str) -> None:
    rng = np.random.default_rng(0)
    shape, places = PLACES[name]
    key = places(rng)
    start = (rng.normal(size=shape) * 3).astype(char)
    values = rng.integers(0, 3, start[key].shape).astype(char)
    exact = start.astype("D" if char in "FD" else "d" if char in "fde" else start.dtype)
    np.add.at(exact, key, values.astype(exact.dtype))
    found = kernels.StrictArray(start.copy())
    strict_key: Any = tuple(kernels.StrictArray(part) if isinstance(part, np.ndarray) else part for part in key)
    backend.add_at(found, kernels.StrictArray(key) if isinstance(key, np.ndarray) else strict_key, on_device(values))
    tolerance = {"f": 1e-5, "F": 1e-5, "e": 2e-3, "d": 1e-12, "D": 1e-12}.get(char, 0)
    assert found.dtype == start.dtype
    np.testing.assert_allclose(found._v.astype(exact.dtype), exact, tolerance, tolerance)


def test_long_segments_and_wide_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread adds up few values, so that the error hardly grows; and wide rows go some columns at a time."""
    rng = np.random.default_rng(1)
    rows = rng.random((70_000, 1)).astype(np.float32)
    index = np.repeat([2, 0], [65_000, 5_000])
    found = backend.sum_of_rows(kernels.StrictArray(index), kernels.StrictArray(rows), 4)._v
    exact = np.zeros((4, 1))
    np.add.at(exact, index, rows.astype(np.float64))
    np.testing.assert_allclose(found, exact, 2e-6)
    monkeypatch.setattr(segmented_sum, "MAX_PARTIAL_SUMS", 1000)
    rows, index = rng.normal(size=(300, 7)).astype(np.float32), rng.integers(-4, 4, 300)
    found = backend.sum_of_rows(kernels.StrictArray(index), kernels.StrictArray(rows), 4)._v
    np.testing.assert_allclose(found, backend.sum_of_rows(index, rows, 4), 1e-5, 1e-5)


def test_gradients_of_indexing_are_added_up_without_atomics(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: Any) -> None:
        raise AssertionError("an atomic addition")

    monkeypatch.setattr(_Add, "at", refused)
    index = np.array([0, 2, 2, 1, 2])
    for program in (
        lambda x: x[nb.tensor(index, device=x.device)],
        lambda x: x.index_select(0, nb.tensor(index, device=x.device)),
        lambda x: x.gather(0, nb.tensor(index, device=x.device)[:, None]),
        lambda x: nb.nn.functional.embedding(nb.tensor(index, device=x.device), x),
        lambda x: nb.take(x, nb.tensor(index, device=x.device)),
        lambda x: nb.zeros_like(x).index_add(0, nb.tensor(index[:3], device=x.device), x),
        lambda x: nb.zeros_like(x).scatter_add(1, nb.tensor(index[:3, None], device=x.device), x),
        lambda x: x.max(1).values + x[:, 0],
    ):
        agree(both(program, (3, 3)))
