"""Every operation's tangent, and that of its gradient, against PyTorch where that has forward mode for it."""

from __future__ import annotations

import numpy as np
import pytest

import nbautograd as nb
from tests import needs
from tests.ops import cases

torch = needs.package("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")

CASES = [case for case in cases.CASES if case.oracle]
WRONG_IN_PYTORCH = {  # reverse mode says otherwise, and agrees with finite differences
    "cholesky_inverse": "takes the tangent for lower triangular",
    "cholesky_inverse upper": "takes the tangent for upper triangular",
    "scatter_reduce prod": "the tangent of a product is 0",
    "scatter_reduce prod itself": "the tangent of a product is 0",
}


def duals(library, case, requires_grad):
    """The inputs of a case with a random tangent each, complex where they are."""
    rng = np.random.default_rng(2)
    inputs = []
    for a in case.arrays():
        v = rng.standard_normal(a.shape) + (1j * rng.standard_normal(a.shape) if a.dtype.kind == "c" else 0)
        primal = library.tensor(a, requires_grad=requires_grad)
        inputs.append(library.autograd.forward_ad.make_dual(primal, library.tensor(v.astype(a.dtype))))
    return inputs


def tangent(library, case):
    """The dtype, shape and tangent of the result, and how the tangent lies in memory."""
    with library.autograd.forward_ad.dual_level():
        out = case.call(library, *duals(library, case, False))
        value, direction = library.autograd.forward_ad.unpack_dual(out)
        strides = zip(value.shape, value.stride(), () if direction is None else direction.stride(), strict=False)
        alike = not out.numel() or all(s in (0, t) for n, s, t in strides if n > 1)
        return str(value.dtype), tuple(value.shape), alike, None if direction is None else direction.numpy(force=True)


def gradients(library, case):
    """The gradients of an uneven sum of the result, and their tangents: a product of the Hessian with a vector."""
    with library.autograd.forward_ad.dual_level():
        inputs = duals(library, case, True)
        out = case.call(library, *inputs)
        weights = np.cos(1 + np.arange(out.numel())).reshape(tuple(out.shape))
        cotangent = library.tensor(weights.astype(str(out.dtype).removeprefix("torch.")))
        # PyTorch's formulas of determinants and solvers are right in a recorded pass only.
        found = library.autograd.grad(out, inputs, cotangent, allow_unused=True, create_graph=library is torch)
        pairs = [(None, None) if g is None else library.autograd.forward_ad.unpack_dual(g) for g in found]
        return [None if part is None else part.numpy(force=True) for pair in pairs for part in pair]


def supported(function, case):
    """What a function of the library comes to under PyTorch; skips the test where PyTorch has no forward mode."""
    if case.name in WRONG_IN_PYTORCH:
        pytest.skip(f"PyTorch is wrong: {WRONG_IN_PYTORCH[case.name]}")
    try:
        return function(torch, case)
    except NotImplementedError as error:
        if "Trying to use forward AD with" in str(error):
            pytest.skip("PyTorch has no forward mode for it")
        raise


def close(ours, theirs):
    zeros = [part is None or not part.any() for part in (ours, theirs)]
    if not all(zeros):
        a, b = (np.zeros(()) if part is None else part for part in (ours, theirs))
        np.testing.assert_allclose(*np.broadcast_arrays(a, b), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_tangents_and_forward_over_reverse(case):
    theirs, ours = supported(tangent, case), tangent(nb, case)
    assert ours[:3] == (*theirs[:2], True)
    close(ours[3], theirs[3])
    theirs, ours = supported(gradients, case), gradients(nb, case)
    for a, b in zip(ours, theirs, strict=True):
        close(a, b)
