"""Forward mode: for every operation, alone and mixed with reverse mode; levels, errors, in-place writes, functions."""

from __future__ import annotations

import numpy as np
import pytest

import nbautograd as nb
import nbautograd.autograd.forward_ad as ours
from tests.ops.cases import CASES

try:
    import torch
    import torch.autograd.forward_ad as theirs
except ImportError:
    torch = theirs = None
both = pytest.mark.parametrize(
    ("T", "F"), [(nb, ours)] if torch is None else [(nb, ours), (torch, theirs)], ids=lambda value: value.__name__
)


def mixed(case, how):
    """A derivative of ⟨w, f⟩ in the direction v: first order, or the gradient's, by one of three ways."""
    rng = np.random.default_rng(3)
    arrays = case.arrays()
    directions = [nb.tensor(rng.standard_normal(a.shape)) for a in arrays]

    def weighted(xs):
        out = case.call(nb, *xs)
        parts = out if isinstance(out, (tuple, list)) else [out]
        total = 0
        for part in parts:
            weights = np.cos(1 + np.arange(part.numel())).reshape(part.shape)
            product = part * nb.tensor(weights)
            total = total + (product.real if product.is_complex() else product).sum()
        return total

    xs = [nb.tensor(a, requires_grad=how != "forward") for a in arrays]
    if how == "forward":
        with ours.dual_level():
            return [ours.unpack_dual(weighted([ours.make_dual(x, v) for x, v in zip(xs, directions)])).tangent]
    if how == "reverse":
        found = nb.autograd.grad(weighted(xs), xs, allow_unused=True)
        return [sum((g * v).sum() for g, v in zip(found, directions) if g is not None)]
    if how == "forward over reverse":
        with ours.dual_level():
            duals = [ours.make_dual(x, v) for x, v in zip(xs, directions)]
            found = nb.autograd.grad(weighted(duals), duals, create_graph=True, allow_unused=True)
            return [None if g is None else ours.unpack_dual(g).tangent for g in found]
    if how == "reverse over forward":
        with ours.dual_level():
            tangent = ours.unpack_dual(weighted([ours.make_dual(x, v) for x, v in zip(xs, directions)])).tangent
        if tangent is None or not tangent.requires_grad:
            return [None] * len(xs)
        return nb.autograd.grad(tangent, xs, allow_unused=True)
    first = nb.autograd.grad(weighted(xs), xs, create_graph=True, allow_unused=True)
    along = [(g * v).sum() for g, v in zip(first, directions) if g is not None and g.requires_grad]
    return nb.autograd.grad(along, xs, allow_unused=True) if along else [None] * len(xs)


def same(found, expected):
    for a, b in zip(found, expected, strict=True):
        a, b = (np.zeros(()) if t is None else np.asarray(t.detach().numpy(), float) for t in (a, b))
        np.testing.assert_allclose(*np.broadcast_arrays(a, b), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_forward_agrees_with_reverse(case):
    same(mixed(case, "forward"), mixed(case, "reverse"))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_second_derivatives_agree_all_three_ways(case):
    expected = mixed(case, "reverse over reverse")
    same(mixed(case, "forward over reverse"), expected)
    same(mixed(case, "reverse over forward"), expected)
