"""Every operation's tangent, and that of its gradient, against PyTorch where that has forward mode for it."""

from __future__ import annotations

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle
from tests.engine.ops import cases
from tests.engine.ops.test_against_torch import shown

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")

CASES = [case for case in cases.CASES if case.oracle]
WRONG_IN_PYTORCH = {  # reverse mode differs, and agrees with finite differences
    "cholesky_inverse": "takes the tangent for lower triangular",
    "cholesky_inverse upper": "takes the tangent for upper triangular",
    "scatter_reduce prod": "the tangent of a product is 0",
    "scatter_reduce prod itself": "the tangent of a product is 0",
}
NO_FORWARD_MODE = "PyTorch has no forward mode for it"


def duals(T, case, requires_grad):
    """The inputs of a case with a random tangent each, complex where they are."""
    rng = np.random.default_rng(2)
    inputs = []
    for a in case.arrays():
        v = rng.standard_normal(a.shape) + (1j * rng.standard_normal(a.shape) if a.dtype.kind == "c" else 0)
        primal = T.tensor(a, requires_grad=requires_grad)
        inputs.append(T.autograd.forward_ad.make_dual(primal, T.tensor(v.astype(a.dtype))))
    return inputs


def tangent(T, case):
    """The result's value, its tangent, and whether both have the same memory layout."""
    with T.autograd.forward_ad.dual_level():
        try:
            out = case.call(T, *duals(T, case, False))
        except NotImplementedError as error:
            if "Trying to use forward AD with" in str(error):
                return NO_FORWARD_MODE
            raise
        value, direction = T.autograd.forward_ad.unpack_dual(out)
        strides = zip(value.shape, value.stride(), () if direction is None else direction.stride(), strict=False)
        alike = not out.numel() or all(s in (0, t) for n, s, t in strides if n > 1)
        direction = T.zeros_like(value) if direction is None else direction.clone()
        return [*shown(T, case, [value.clone(), direction]), alike]


def gradients(T, case):
    """The gradients of an uneven sum of the result, and their tangents: a product of the Hessian with a vector."""
    with T.autograd.forward_ad.dual_level():
        try:
            inputs = duals(T, case, True)
            out = case.call(T, *inputs)
            weights = np.cos(1 + np.arange(out.numel())).reshape(tuple(out.shape))
            cotangent = T.tensor(weights.astype(str(out.dtype).removeprefix("torch.")))
            # PyTorch's formulas of determinants and solvers are correct in a recorded pass only.
            found = T.autograd.grad(out, inputs, cotangent, allow_unused=True, create_graph=T is not nb)
        except NotImplementedError as error:
            if "Trying to use forward AD with" in str(error):
                return NO_FORWARD_MODE
            raise
        results = []
        for x, g in zip(inputs, found, strict=True):
            pair = (None, None) if g is None else T.autograd.forward_ad.unpack_dual(g)
            zeros = T.zeros(tuple(x.shape), dtype=x.dtype)
            results += [zeros if part is None else part.detach().clone() for part in pair]
        return shown(T, case, results)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_tangents_and_forward_over_reverse(case):
    if case.name in WRONG_IN_PYTORCH:
        pytest.skip(f"PyTorch is wrong: {WRONG_IN_PYTORCH[case.name]}")
    for function in (tangent, gradients):
        theirs = oracle.answer(function, case)
        if theirs == NO_FORWARD_MODE:
            pytest.skip(theirs)
        ours = function(nb, case)
        if function is tangent:
            assert ours.pop()
            theirs = theirs[:-1]
        oracle.close(ours, theirs)
