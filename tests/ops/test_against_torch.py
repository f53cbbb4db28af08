"""Every operation against PyTorch: values, dtypes, shapes, first and second derivatives, with uneven cotangents."""

from __future__ import annotations

import numpy as np
import pytest

import nbautograd as nb
from tests import needs
from tests.ops import cases

torch = needs.package("torch")

CASES = [case for case in cases.CASES if case.oracle]
RTOL = 1e-9  # float64 throughout: a few rounding errors, amplified by at most 10^4

# One declaration serves overloads that PyTorch numbers apart, or the last step of a composite is another one.
NAMED_OTHERWISE = {
    "pad circular 3d": "CircularPad3DBackward0",
    "rsub tensor": "RsubBackward1",
    "remainder": "RemainderBackward0",
    "fmod": "FmodBackward0",
    "lerp tensor": "LerpBackward0",
    "fill_": "FillBackward0",
    "matmul 1-2": "SqueezeBackward1",
    "matmul 3-1": "SqueezeBackward1",
    "matmul 1-3": "SqueezeBackward1",
    "einsum trace": "SumBackward1",
    "einsum mm": "ViewBackward0",
    "einsum diagonal": "DiagonalBackward0",
    "einsum outer": "PermuteBackward0",
    "einsum lists": "PermuteBackward0",
    "linalg.tensorinv": "ViewBackward0",
    "sum_to_size": "SumToSizeBackward0",
    "dist": "LinalgVectorNormBackward0",
    "dist 3": "LinalgVectorNormBackward0",
    "renorm": "MulBackward0",
    "trapezoid": "MulBackward0",
    "trapezoid places": "DivBackward0",
    "trapz": "MulBackward0",
    "cumulative_trapezoid places": "DivBackward0",
    "quantile": "SqueezeBackward1",
    "quantile several": "PermuteBackward0",
    "quantile lower": "SqueezeBackward1",
    "quantile midpoint": "SqueezeBackward1",
    "nanquantile": "SqueezeBackward1",
    "F.pairwise_distance": "LinalgVectorNormBackward0",
    "F.cross_entropy probabilities mean": "DivBackward0",
    "F.pad circular (1, 3)": "CircularPad1DBackward0",
    "F.pad circular (1, 2, -1, 1)": "CircularPad2DBackward0",
}


def gradients(library, case, arrays):
    """The result, its gradients, those of a random combination of them, and the gradients by a pass over arrays."""
    inputs = [library.tensor(a, requires_grad=True) for a in arrays]
    out = case.call(library, *inputs)
    rng = np.random.default_rng(1)
    cotangent = library.tensor(rng.standard_normal(tuple(out.shape)).astype(str(out.dtype).removeprefix("torch.")))
    first = library.autograd.grad(out, inputs, cotangent, create_graph=True, allow_unused=True)
    combined = None
    for g in first:
        if g is not None and g.requires_grad:
            weights = library.tensor(rng.standard_normal(tuple(g.shape)))
            combined = (g * weights).sum() + (0 if combined is None else combined)
    second = [None] * len(inputs)
    if combined is not None:
        second = library.autograd.grad(combined, inputs, allow_unused=True, retain_graph=True)
    over_arrays = library.autograd.grad(out, inputs, cotangent, allow_unused=True) if library is nb else None
    for x, a in zip(inputs, case.arrays(), strict=True):
        np.testing.assert_array_equal(x.detach().numpy(force=True), a)
    return out, first, second, over_arrays


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_names_and_derivatives(case):
    arrays = case.arrays()
    ours, theirs = gradients(nb, case, arrays), gradients(torch, case, arrays)
    assert str(ours[0].dtype) == str(theirs[0].dtype)
    assert tuple(ours[0].shape) == tuple(theirs[0].shape)
    np.testing.assert_allclose(
        ours[0].detach().numpy(force=True), theirs[0].detach().numpy(force=True), rtol=RTOL, atol=1e-12
    )
    for a, b in zip([*ours[1], *ours[2]], [*theirs[1], *theirs[2]], strict=True):
        zero = (a is None or not a.detach().numpy(force=True).any()) and (
            b is None or not b.detach().numpy(force=True).any()
        )
        if not zero:
            np.testing.assert_allclose(
                a.detach().numpy(force=True), b.detach().numpy(force=True), rtol=RTOL, atol=1e-10
            )
    assert ours[0].grad_fn.name() == NAMED_OTHERWISE.get(case.name, theirs[0].grad_fn.name())
    for a, b in zip(ours[3], ours[1], strict=True):  # the same formula, compiled over arrays and over tensors
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a.numpy(), b.detach().numpy(force=True), rtol=1e-12, atol=1e-14)
