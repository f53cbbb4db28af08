"""Distances, whose second derivatives PyTorch does not have: first ones against it, all by finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle

P = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")]


def points(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape)


@pytest.mark.parametrize("p", P)
@pytest.mark.parametrize("name", ["cdist", "pdist"])
def test_derivatives_by_finite_differences(name, p):
    x = nb.tensor(points(4, 3), requires_grad=True)
    y = nb.tensor(points(2, 2, 3) * 1.7, requires_grad=True)
    if name == "pdist":
        assert nb.autograd.gradcheck(lambda x: nb.pdist(x, p), (x,))
        assert nb.autograd.gradgradcheck(lambda x: nb.pdist(x, p), (x,))
    else:
        assert nb.autograd.gradcheck(lambda x, y: nb.cdist(x, y + 3, p), (x, y))
        assert nb.autograd.gradgradcheck(lambda x, y: nb.cdist(x, y + 3, p), (x, y))


@pytest.mark.parametrize("p", P)
def test_equal_points_against_torch(p):
    def program(T):
        results = []
        for call in (lambda x: T.cdist(x, x * 1, p), lambda x: T.pdist(x, p)):
            x = T.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]], dtype=T.float64, requires_grad=True)
            d = call(x)
            results += [d, T.autograd.grad(d.sum(), x)[0]]
        return results

    oracle.check(program)


@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
def test_both_ways_to_euclidean_distances(mode):
    x, y = points(2, 30, 4), points(40, 4) + 100
    theirs = oracle.answer(lambda T: T.cdist(T.tensor(x), T.tensor(y)))
    oracle.close(nb.cdist(nb.tensor(x), nb.tensor(y), compute_mode=mode), theirs)
