"""Check the errors that tests for a CUDA device found before they ran on one: copies between devices, ``out=``,
collisions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd.errors import DeviceError
from tests.engine.strict.strict_array import SYNCS


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


@pytest.mark.parametrize(("here", "there"), [("cpu", "strict"), ("strict", "cpu")])
def test_copies_from_another_device(here: str, there: str) -> None:
    """Check the tensors that PyTorch copies to the device of the tensor that is written to, for example on loading a
    state.
    """
    y = nb.arange(4.0, device=there).reshape(2, 2)
    for write, expected in (
        (lambda x: x.copy_(y), [[0, 1], [2, 3]]),
        (lambda x: x.__setitem__(slice(None), y), [[0, 1], [2, 3]]),
        (lambda x: x[0].copy_(y[1]), [[2, 3], [0, 0]]),
        (lambda x: x.__setitem__(1, y[1]), [[0, 0], [2, 3]]),
        (lambda x: x.__setitem__((0, 0), y[1, 1]), [[3, 0], [0, 0]]),
        (lambda x: x.__setitem__(x == 0, y[1, 1]), [[3, 3], [3, 3]]),
        (lambda x: x.__setitem__(nb.tensor([0]), y[1, 1]), [[3, 3], [0, 0]]),
        (lambda x: x.copy_(y[0], True), [[0, 1], [0, 1]]),
    ):
        x = nb.zeros(2, 2, device=here)
        write(x)
        assert (x.device.type, x.tolist()) == (here, expected)
    with pytest.raises(DeviceError, match="same device"):
        nb.zeros(2, 2, device=here)[nb.tensor([0, 1], device=here)] = y
    model, other = nb.nn.BatchNorm1d(3).to(here), nb.nn.BatchNorm1d(3).to(there)
    with nb.no_grad():
        other.weight.fill_(5)
    model.load_state_dict(other.state_dict())
    assert (model.weight.device.type, model.weight.tolist()) == (here, [5.0] * 3)


def test_traces_are_for_the_cpu() -> None:
    """A function over tensors of a device raises, and is not compiled for arrays of NumPy's."""
    x = nb.tensor([1.0, -2.0, 3.0], device="strict", requires_grad=True)
    with pytest.raises(nb.errors.TracingError, match="a tensor on strict"):
        nb.jit.trace(lambda x: x.exp().sum(), (x,))
    function = nb.jit.trace(lambda x: x.exp().sum(), (nb.ones(3),))
    with pytest.raises(nb.errors.TracingError, match="traced for the CPU"):
        function(x)
    module = nb.nn.Linear(3, 2).to("strict")
    with pytest.raises((nb.errors.TracingError, DeviceError)):
        nb.jit.trace(module, (nb.ones(1, 3),))


def test_a_copy_from_another_device_is_recorded() -> None:
    x, y = nb.ones(2, device="strict", requires_grad=True), nb.ones(2, requires_grad=True)
    z = x * 1
    z.copy_(y * 3)
    z.sum().backward()
    assert (x.grad.tolist(), x.grad.device.type) == ([0.0, 0.0], "strict")
    assert (y.grad.tolist(), y.grad.device.type) == ([3.0, 3.0], "cpu")


def test_a_mask_filled_with_a_number_from_the_cpu() -> None:
    x = nb.zeros(3, device="strict")
    mask = nb.tensor([True, False, True], device="strict")
    assert x.masked_fill(mask, nb.tensor(-np.inf)).tolist() == [-np.inf, 0.0, -np.inf]


@pytest.mark.parametrize("how", ["amax", "amin", "prod"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("kind", [nb.float64, nb.int64, nb.bool])
def test_many_values_at_one_place(how: str, include_self: bool, kind: nb.dtype) -> None:
    """The number of steps is the number of binary digits of the count, not the number of values at a place."""
    random = np.random.default_rng(0)
    index = nb.tensor(random.integers(1, 5, 20_000))
    values = nb.tensor(random.choice([-1, 1, 1.0], 20_000)).to(kind)
    into = nb.tensor([3, 1, -1, 2, 0, 5]).to(kind)
    results = []
    for place in ("cpu", "strict"):
        before = len(SYNCS)
        x, i, v = (t.to(place) for t in (into, index, values))
        results.append(x.scatter_reduce(0, i, v, how, include_self=include_self))
        assert len(SYNCS) - before <= 2  # True if the indices are in range
    assert results[1].dtype == results[0].dtype
    assert results[1].tolist() == results[0].tolist()


def test_no_values() -> None:
    x = nb.ones(3, device="strict")
    nothing = nb.zeros(0, dtype=nb.int64, device="strict")
    assert x.scatter_reduce(0, nothing, nb.zeros(0, device="strict"), "amax").tolist() == [1.0, 1.0, 1.0]
