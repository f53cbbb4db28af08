"""Every operation against PyTorch: values, dtypes, shapes, first and second derivatives, with uneven cotangents."""

from __future__ import annotations

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle
from tests.engine.ops import cases

CASES = [case for case in cases.CASES if case.oracle]

# One declaration serves overloads with separate numbers in PyTorch, or the last step of a composite differs.
NAMED_OTHERWISE = {
    "pad circular 3d": "CircularPad3DBackward0",
    "rsub tensor": "RsubBackward1",
    "remainder": "RemainderBackward0",
    "fmod": "FmodBackward0",
    "lerp tensor": "LerpBackward0",
    "fill_": "FillBackward0",
    "einsum trace": "SumBackward1",
    "einsum mm": "ViewBackward0",
    "einsum diagonal": "DiagonalBackward0",
    "einsum lists": "PermuteBackward0",
    "linalg.tensorinv": "ViewBackward0",
    "sum_to_size": "SumToSizeBackward0",
    "dist": "LinalgVectorNormBackward0",
    "dist 3": "LinalgVectorNormBackward0",
    "trapezoid": "MulBackward0",
    "trapezoid places": "DivBackward0",
    "trapz": "MulBackward0",
    "cumulative_trapezoid places": "DivBackward0",
    "quantile several": "PermuteBackward0",
    "F.pairwise_distance": "LinalgVectorNormBackward0",
    "F.cross_entropy probabilities mean": "DivBackward0",
    "F.pad circular (1, 3)": "CircularPad1DBackward0",
    "F.pad circular (1, 2, -1, 1)": "CircularPad2DBackward0",
}
INEXACT = {
    **dict.fromkeys(
        ("digamma", "digamma negative", "lgamma", "mvlgamma 1", "mvlgamma 4", "polygamma 0", "polygamma 1"),
        "PyTorch's trigamma has nine digits",
    ),
    "special.multigammaln": "as mvlgamma",
    **dict.fromkeys(
        ("F.binary_cross_entropy mean", "F.binary_cross_entropy sum", "F.binary_cross_entropy none"),
        "PyTorch adds 1e-12 to what its second derivative is divided by",
    ),
    "logcumsumexp": "PyTorch's tangent has twelve digits",
}
"""Cases whose derivatives in float64 are less exact than float64 in PyTorch: they are compared in float32."""


def shown(T, case, derivatives):
    """The derivatives in the precision that PyTorch's have."""
    return [g.detach().to(T.float32) if case.name in INEXACT else g.detach() for g in derivatives]


def gradients(T, case, recorded):
    """The result, its gradients, those of a random combination of them, and the class of the result's node.

    :param recorded: True for a pass that can be differentiated; otherwise it runs over arrays here.
    """
    arrays = case.arrays()
    inputs = [T.tensor(a, requires_grad=True) for a in arrays]
    out = case.call(T, *inputs)
    rng = np.random.default_rng(1)
    cotangent = T.tensor(rng.standard_normal(tuple(out.shape)).astype(str(out.dtype).removeprefix("torch.")))
    first = T.autograd.grad(out, inputs, cotangent, create_graph=recorded, allow_unused=True)
    combined = None
    for g in first:
        if g is not None and g.requires_grad:
            weights = T.tensor(rng.standard_normal(tuple(g.shape)))
            combined = (g * weights).sum() + (0 if combined is None else combined)
    second = [None] * len(inputs)
    if combined is not None:
        second = T.autograd.grad(combined, inputs, allow_unused=True)
    for x, a in zip(inputs, case.arrays(), strict=True):
        np.testing.assert_array_equal(x.detach().numpy(force=True), a)
    found = [T.zeros_like(x) if g is None else g for x, g in zip([*inputs] * 2, [*first, *second], strict=True)]
    value = out.to(T.float32) if case.name == "polygamma 1" else out
    return value, shown(T, case, found), out.grad_fn.name()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_names_and_derivatives(case):
    out, found, name = oracle.answer(gradients, case, True).parts
    name = NAMED_OTHERWISE.get(case.name, name)
    oracle.close(gradients(nb, case, True), oracle.Named("tuple", [out, found, name]))
    # the same formula, compiled over arrays and over tensors
    over_arrays = gradients(nb, case, False)[1][: len(case.shapes)]
    oracle.close(over_arrays, found[: len(case.shapes)])
