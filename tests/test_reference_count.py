"""The numbers by which memory is found to be nobody else's: wrong ones overwrite users' arrays, or reuse nothing."""

import sys
from sys import getrefcount

import numpy as np
import pytest

import nbautograd as nb
from nbautograd.arrays import caching_allocator, reference_count as counts
from nbautograd.fusion import lazy_gradient, tiling

N = tiling.MIN_TILED_SIZE
CPYTHON_3_11_TO_3_13 = sys.implementation.name == "cpython" and (3, 11) <= sys.version_info[:2] <= (3, 13)


@pytest.mark.skipif(not CPYTHON_3_11_TO_3_13, reason="the numbers of CPython 3.11, 3.12 and 3.13")
def test_the_measured_counts_are_those_of_cpython():
    assert (counts.HELD_ONCE, counts.PASSED_ONCE, counts.PASSED_TWICE, counts.VIEWED_ONCE) == (3, 3, 4, 3)


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
