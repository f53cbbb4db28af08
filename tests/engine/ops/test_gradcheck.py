"""Every operation against finite differences, first and second derivatives: an oracle that needs no other library."""

from __future__ import annotations

import pytest

import nbautograd as nb
from tests.engine.ops.cases import CASES


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradcheck(case):
    inputs = [nb.tensor(a, requires_grad=True) for a in case.arrays()]
    tolerance = {"atol": 1e-2, "rtol": 1e-2, "eps": 1e-2} if case.name == "to" else {}  # goes through float32
    assert nb.autograd.gradcheck(lambda *xs: case.call(nb, *xs), inputs, **tolerance)
    if case.second:
        assert nb.autograd.gradgradcheck(lambda *xs: case.call(nb, *xs), inputs, **tolerance)
