"""Distances, whose second derivatives PyTorch does not have: first ones against it, all by finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import nbautograd as nb
from tests import needs

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
    torch = needs.package("torch")
    a = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    for call in (lambda T, x: T.cdist(x, x * 1, p), lambda T, x: T.pdist(x, p)):
        found = []
        for T in (nb, torch):
            x = T.tensor(a, requires_grad=True)
            d = call(T, x)
            found.append((d.detach().numpy(), T.autograd.grad(d.sum(), x)[0].numpy()))
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
def test_both_ways_to_euclidean_distances(mode):
    torch = needs.package("torch")
    x, y = points(2, 30, 4), points(40, 4) + 100
    ours = nb.cdist(nb.tensor(x), nb.tensor(y), compute_mode=mode).numpy()
    np.testing.assert_allclose(ours, torch.cdist(torch.tensor(x), torch.tensor(y)).numpy(), rtol=1e-9)
