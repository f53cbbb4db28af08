"""What tests for a CUDA device found before they ran on one: ``out=`` elsewhere, traces, many values at one place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd.errors import DeviceError
from tests.strict.strict_array import SYNCS


@pytest.mark.parametrize("there", ["cpu", "strict"])
@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: nb.exp(x, out=out),
        lambda x, out: nb.add(x, x, out=out),
        lambda x, out: nb.matmul(x, x, out=out),
        lambda x, out: nb.cat([x, x], out=out),
        lambda x, out: nb.sum(x, 0, out=out),
    ],
)
def test_out_on_another_device(call: Any, there: str) -> None:
    x = nb.ones(2, 2, device="strict" if there == "cpu" else "cpu")
    for size in ((2, 2), (0,)):
        out = nb.zeros(size, device=there)
        with pytest.raises(DeviceError, match=r"Expected all tensors to be on the same device.*'out'"):
            call(x, out)
        assert (out.shape, out.tolist()) == (size, nb.zeros(size).tolist())


def test_traces() -> None:
    x = nb.tensor([1.0, -2.0, 3.0], device="strict", requires_grad=True)
    function = nb.jit.trace(lambda x: (x.exp() * x).sigmoid().sum(), (x,))
    y = function(x)
    y.backward()
    z = x.detach().cpu().requires_grad_()
    expected = (z.exp() * z).sigmoid().sum()
    expected.backward()
    assert (y.device.type, y.item()) == ("strict", pytest.approx(expected.item(), rel=1e-6))
    np.testing.assert_allclose(x.grad.cpu().numpy(), z.grad.numpy(), rtol=1e-6)


@pytest.mark.parametrize("how", ["amax", "amin", "prod"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("kind", [nb.float64, nb.int64, nb.bool])
def test_many_values_at_one_place(how: str, include_self: bool, kind: nb.dtype) -> None:
    """As many steps as the count has binary digits, and not as many as there are values at a place."""
    random = np.random.default_rng(0)
    index = nb.tensor(random.integers(1, 5, 20_000))
    values = nb.tensor(random.choice([-1, 1, 1.0], 20_000)).to(kind)
    into = nb.tensor([3, 1, -1, 2, 0, 5]).to(kind)
    results = []
    for place in ("cpu", "strict"):
        before = len(SYNCS)
        x, i, v = (t.to(place) for t in (into, index, values))
        results.append(x.scatter_reduce(0, i, v, how, include_self=include_self))
        assert len(SYNCS) - before <= 2  # whether the indices are in range
    assert results[1].dtype == results[0].dtype
    assert results[1].tolist() == results[0].tolist()


def test_no_values() -> None:
    x = nb.ones(3, device="strict")
    nothing = nb.zeros(0, dtype=nb.int64, device="strict")
    assert x.scatter_reduce(0, nothing, nb.zeros(0, device="strict"), "amax").tolist() == [1.0, 1.0, 1.0]
