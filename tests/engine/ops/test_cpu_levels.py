"""Elementary functions give the same numbers on every processor: exact ones where there are, the nearest elsewhere."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.arrays import precise
from tests import one_cpu, oracle
from tests.engine.ops.precision import EXACT, INSIDE, points

ROOT = Path(__file__).parents[3]


def at(environment: dict[str, str], module: str) -> str:
    """Return the output of a module that runs in an environment."""
    command = [sys.executable, "-m", module]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@functools.cache
def levels() -> dict[str, dict[str, str]]:
    """The variables by which NumPy takes the kernels of each level."""
    return json.loads(at(one_cpu.given_environment(), "benchmarks.levels"))  # type: ignore[no-any-return]


@pytest.mark.parametrize("level", ["all", "no AVX-512", "baseline"])
def test_every_level_of_this_processor(level: str) -> None:
    if level not in levels():
        pytest.skip(f"NumPy has no kernels for a level {level!r} below this processor's: there are {[*levels()]}")
    assert at({**one_cpu.given_environment(), **levels()[level]}, "tests.engine.ops.precision") == ""


@pytest.mark.parametrize("name", sorted(precise.FUNCTIONS))
@pytest.mark.filterwarnings("ignore:invalid value")  # the inverse functions of 1.5
def test_arrays_pieces_scalars_and_out_are_the_same(name: str) -> None:
    function = precise.FUNCTIONS[name]
    rng = np.random.default_rng(0)
    for kind in "f", "d", "F", "D":
        if kind * function.nin + "->" not in "".join(t[: function.nin + 2] for t in function.types):
            continue
        operands = [rng.uniform(1, 2, 50).astype(kind) for _ in range(function.nin)]
        whole = function(*operands)
        assert whole.dtype == function.ufunc(*operands).dtype
        out = np.empty_like(whole)
        assert function(*operands, out=out) is out
        np.testing.assert_array_equal(out, whole)
        np.testing.assert_array_equal(function(*operands, out), whole)
        one = [function(*at) for at in zip(*operands, strict=True)]
        assert all(value.dtype == whole.dtype for value in one)
        np.testing.assert_array_equal(np.array(one), whole)


@pytest.mark.parametrize(
    "name", [name for name in EXACT if name in INSIDE or name in ("exp", "sin", "tanh", "sigmoid")]
)
def test_no_further_off_than_torch(name: str) -> None:
    x = points(name, np.float32)

    def some(T: Any) -> Any:
        return [getattr(T, name)(T.tensor(value, dtype=T.float64)) for value in x[::50].tolist()]

    def units_off(T: Any) -> float:
        true = getattr(T, name)(T.tensor(x.astype(np.float64))).numpy()
        fine = np.isfinite(true) & (np.abs(true) > 1e-30) & (np.abs(true) < 1e30)
        unit = np.spacing(np.abs(true[fine]).astype(np.float32)).astype(np.float64)
        return float(np.max(np.abs(getattr(T, name)(T.tensor(x)).numpy()[fine] - true[fine]) / unit))

    oracle.check(some)  # the exact values in float64
    assert units_off(nb) <= max(oracle.answer(units_off, exact=True), 1)


@pytest.mark.parametrize("value", [0.3, 1.7])
def test_in_place_and_large_arrays(value: float) -> None:
    """Check that computing in place, and piece by piece, gives the same result."""
    for name in ("exp", "log", "sin", "tanh", "log10", "sigmoid"):
        function = getattr(nb, name)
        expected = function(nb.tensor(value)).item()
        assert getattr(nb.full((3,), value), name + "_")().tolist() == [expected] * 3
        assert function(nb.full((200_000,), value)).unique().tolist() == [expected]
