"""Kernels over lists: of parameters, which an optimizer updates, and of places, where values are added up."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.arrays import backend, segmented_sum
from nbautograd._engine.fusion import multi_tensor
from tests import needs, oracle
from tests.engine.strict import comparison, kernels
from tests.engine.strict.backend import _Add
from tests.engine.strict.kernels import COMPILED, KERNELS

from .kernel_programs import (
    OPTIMIZERS,
    SHAPES,
    STEPS,
    agree,
    arrays_of,
    compiled_kernels,
    on_device,
    rules_of,
    trained,  # fmt: skip
)

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
    arrays = arrays_of(np.random.default_rng(0), dtype, *SHAPES * (1 + STEPS))
    comparison.agree(partial(trained, OPTIMIZERS[name]), *arrays)
    assert kernels.RawKernel.launches - launches == STEPS
    assert len(multi_tensor._kernels) - kept <= STEPS  # step sizes are arguments, not constants in code


def test_other_parameters_are_updated_as_before() -> None:
    """Parameters whose gradients have another memory layout, complex ones, and several groups."""

    def values(place: Any, *arrays: Any) -> list[Any]:
        first = nb.tensor(arrays[0], device=place).t().requires_grad_()
        second, third = (nb.tensor(array, device=place, requires_grad=True) for array in arrays[1:3])
        optimizer = nb.optim.Adam([{"params": [first, second]}, {"params": [third], "lr": 0.5}])
        ((first * first).sum() + (second * second.conj()).real.sum() + third.exp().sum()).backward()
        first.grad = nb.tensor(arrays[3], device=place)
        optimizer.step()
        copy = nb.optim.Adam([{"params": [first, second]}, {"params": [third]}])
        copy.load_state_dict(optimizer.state_dict())
        copy.step()
        return [first, second, third]

    rng = np.random.default_rng(1)
    shapes = (2, 3), (3,), (3,), (3, 2)
    first, second, third, gradient = (rng.normal(size=shape) for shape in shapes)
    comparison.agree(values, first, second + 1j, third, gradient)


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
    key: Any = places(rng)
    start = (rng.normal(size=shape) * 3).astype(char)
    values = rng.integers(0, 3, start[key].shape).astype(char)

    def on_strict(start: Any, values: Any) -> Any:
        found = kernels.StrictArray(start)
        strict_key: Any = tuple(kernels.StrictArray(part) if isinstance(part, np.ndarray) else part for part in key)
        backend.add_at(
            found, kernels.StrictArray(key) if isinstance(key, np.ndarray) else strict_key, on_device(values)
        )
        return found._v

    def at_once(start: Any, values: Any) -> Any:
        wide = start.astype("D" if start.dtype.kind == "c" else "d" if start.dtype.kind == "f" else start.dtype)
        np.add.at(wide, key, values.astype(wide.dtype))
        return wide.astype(start.dtype)

    oracle.agree(on_strict, at_once, start, values)


def test_long_segments_and_wide_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread adds up few values, so that the error hardly grows; and wide rows go some columns at a time."""
    rng = np.random.default_rng(1)
    rows = rng.random((70_000, 1)).astype(np.float32)
    index = np.repeat([2, 0], [65_000, 5_000])

    def on_strict(rows: Any) -> Any:
        return backend.sum_of_rows(kernels.StrictArray(index), kernels.StrictArray(rows), 4)._v

    def at_once(rows: Any) -> Any:
        exact = np.zeros((4, 1))
        np.add.at(exact, index, rows.astype(np.float64))
        return exact.astype(rows.dtype)

    oracle.agree(on_strict, at_once, rows)
    monkeypatch.setattr(segmented_sum, "MAX_PARTIAL_SUMS", 1000)
    rows, index = rng.normal(size=(300, 7)).astype(np.float32), rng.integers(-4, 4, 300)
    oracle.agree(on_strict, lambda rows: backend.sum_of_rows(index, rows, 4), rows)


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
        agree(program, (3, 3))
