"""The reference counts of memory without other owners: wrong ones overwrite users' arrays, or reuse nothing."""

import json
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from sys import getrefcount
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.arrays import caching_allocator, reference_count as counts
from nbautograd._engine.fusion import lazy_gradient, tiling
from tests.product.wasm import programs

N = tiling.MIN_TILED_SIZE
NEVER = (counts.NEVER,) * 4


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="the numbers of CPython")
@pytest.mark.skipif(sys.version_info >= (3, 16), reason="the numbers of versions that were tried")
@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="the numbers with a GIL")
def test_the_measured_counts_are_those_of_cpython():
    expected = (3, 3, 4, 3) if sys.version_info < (3, 14) else (2, 1, 1, 2)
    assert expected == (counts.HELD_ONCE, counts.PASSED_ONCE, counts.PASSED_TWICE, counts.VIEWED_ONCE)
    assert counts.measure() == expected


def array():
    return caching_allocator.empty((N,), np.dtype(np.float64))


def of_argument(a):
    return getrefcount(a)


class Through:
    def method(self, a):
        return of_argument(a)


def test_one_holder_more_is_seen():
    for held in [array()]:
        assert getrefcount(held) == counts.HELD_ONCE
        other = held
        assert getrefcount(held) == counts.HELD_ONCE + 1
        del other
    local = array()
    assert of_argument(local) == counts.PASSED_ONCE
    assert Through().method(local) == counts.PASSED_TWICE
    other = local
    assert of_argument(local) > counts.PASSED_ONCE and Through().method(local) > counts.PASSED_TWICE
    del other
    view = np.ones(3)[:]
    assert caching_allocator.is_whole(view)
    second = view.base[1:]
    assert not caching_allocator.is_whole(view) and second.base is view.base


def test_gradients_are_added_into_the_one_that_nobody_else_holds():
    a, b = array(), array()
    a.fill(1)
    b.fill(2)
    where = a.ctypes.data
    assert lazy_gradient.add_gradients(a, b).ctypes.data == where
    kept, b_too = array(), b
    kept.fill(1)
    kept_too = kept
    total = lazy_gradient.add_gradients(kept, b)
    assert total.ctypes.data not in (kept.ctypes.data, b.ctypes.data)
    assert kept_too[0] == 1 and b_too[0] == 2 and total[0] == 3


def test_a_gradient_that_the_engine_alone_holds_is_written_over_and_no_other():
    x = nb.rand(N, requires_grad=True)
    g = nb.ones(N)
    seen = []
    y = x * 2
    y.register_hook(lambda grad: seen.append(grad))
    (y * 3).backward(g)
    assert g.tolist() == [1] * N and seen[0].tolist() == [3] * N and x.grad.tolist() == [6] * N


def drifting() -> Callable[[Any], int]:
    """A count that falls by one after some calls, as if faster instructions no longer held the object."""
    calls = count()
    return lambda thing: getrefcount(thing) - (next(calls) > 20)


@pytest.mark.parametrize("make", [lambda: lambda thing: 1 << 30, lambda: lambda thing: 3, drifting])
def test_counts_that_cannot_be_relied_on_are_never_reached(make: Callable[[], Callable[[Any], int]]):
    assert counts.measure(make()) == NEVER != counts.measure(lambda thing: getrefcount(thing))


def test_without_a_gil_no_count_is_relied_on(monkeypatch):
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    assert counts.measure() == NEVER


@pytest.mark.sweep
def test_without_counts_results_are_the_same_and_no_memory_is_used_again(tmp_path):
    """The other families of programs have small arrays, of which no count is read."""
    code = f"""
import sys
sys.getrefcount = lambda thing: 1 << 30
from nbautograd._engine.arrays import caching_allocator, reference_count
from nbautograd.utils.allocator import keep_large_arrays
assert reference_count.HELD_ONCE == reference_count.NEVER
assert keep_large_arrays(64) == keep_large_arrays(64) == 0
from tests.product.wasm import programs
programs.main({str(tmp_path / "without.json")!r}, "memory", "training")
assert not caching_allocator.pool.blocks
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300, cwd=Path(__file__).parents[2])
    without = json.loads((tmp_path / "without.json").read_text("utf-8"))
    here = json.loads(json.dumps(programs.results(["memory", "training"])))
    assert len(here["memory"]) > 2
    here.pop("seconds"), without.pop("seconds")
    relied_on = "counts are relied on"
    assert here["memory"].pop(relied_on) is True and without["memory"].pop(relied_on) is False
    assert here == without
