"""On a GPU: compare every operation with PyTorch's on the same device, in double and in single precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import needs
from tests.engine.cuda.on_device import On, host, pytorch
from tests.engine.ops.cases import CASES, Case

needs.cuda_device()
pytestmark = pytest.mark.cuda
KNOWN = [case for case in CASES if case.oracle]


def computed(library: Any, place: str, case: Case, kind: type[np.floating[Any]]) -> list[Any]:
    """The result and its gradients."""
    arrays = [a.astype(kind) for a in case.arrays()]
    inputs = [library.tensor(a, device=place, requires_grad=True) for a in arrays]
    out = case.call(On(library, place), *inputs)
    cotangent = np.random.default_rng(1).standard_normal(tuple(out.shape)).astype(host(out).dtype)
    if not out.requires_grad:
        return [out]
    return [out, *library.autograd.grad(out, inputs, library.tensor(cotangent, device=place), allow_unused=True)]


@pytest.mark.parametrize("kind", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("case", KNOWN, ids=str)
def test_as_pytorch(case: Case, kind: type[np.floating[Any]]) -> None:
    torch, place = pytorch()
    if case.name.startswith("F.binary_cross_entropy") and kind is np.float32:
        pytest.skip("the case is for double precision: its weights are")
    try:
        expected = computed(torch, place, case, kind)
    except (RuntimeError, NotImplementedError) as error:
        pytest.skip(f"PyTorch cannot: {str(error).partition(chr(10))[0][:90]}")
    for index, (ours, theirs) in enumerate(zip(computed(nb, "cuda", case, kind), expected, strict=True)):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert ours.device.type == "cuda"
            assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
            assert tuple(ours.shape) == tuple(theirs.shape)
            scale = max(float(np.abs(host(theirs)).max(initial=0)), 1e-3) if host(theirs).dtype.kind in "fc" else 0
            rtol, atol = (1e-8, 1e-10) if kind is np.float64 else (1e-3, 2e-5 * scale)
            np.testing.assert_allclose(host(ours), host(theirs), rtol, atol, err_msg=f"result {index}")
