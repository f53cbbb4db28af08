"""Run all operations over arrays as strict as CuPy's: dispatch is right, whatever CUDA then computes.

See ``strict_array.py`` for the limits of this proof.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests.engine.ops.cases import CASES, Case
from tests.engine.strict.strict_array import StrictArray

from .comparison import STRICT, OnStrict, agree, on, uneven


@pytest.mark.parametrize("case", CASES, ids=str)
def test_forward_and_both_kinds_of_backward(case: Case) -> None:
    def program(place: Any, *arrays: Any) -> Any:
        _, inputs, out = on(place, case, *arrays)
        assert out.device == place
        assert isinstance(out._a, StrictArray) == (place is STRICT)
        out.backward(uneven(out, place), retain_graph=True)
        assert {x.grad.device for x in inputs if x.grad is not None} <= {place}
        first = nb.autograd.grad(out, inputs, uneven(out, place), create_graph=True, allow_unused=True)
        terms = [(g * uneven(g, place)).sum() for g in first if g is not None and g.requires_grad]
        second = (
            nb.autograd.grad(sum(terms[1:], terms[0]), inputs, allow_unused=True) if terms else [None] * len(inputs)
        )
        assert {g.device for g in (*first, *second) if g is not None} <= {place}
        return [out, *(x.grad for x in inputs), *first, *second]

    agree(program, *case.arrays())


def test_a_gradient_goes_back_to_the_device_of_its_leaf() -> None:
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    y = x.to("strict")
    assert y.device == STRICT
    assert y.requires_grad
    (y * y).sum().backward()
    assert x.grad.device == nb.device("cpu")
    assert x.grad.tolist() == [2.0, 4.0]

    def there_and_back(place: Any, value: Any) -> Any:
        z = nb.tensor(value, requires_grad=True)
        z.to(place).exp().to("cpu").log().backward()
        return [z.grad]

    agree(there_and_back, np.array(3.0))


def test_a_second_derivative_goes_back_too() -> None:
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    (g,) = nb.autograd.grad((x.to("strict") ** 3).sum(), x, create_graph=True)
    assert g.device == nb.device("cpu")
    g.sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]
    assert x.grad.device == nb.device("cpu")


@pytest.mark.parametrize(
    "call",
    [
        lambda T, x: x > 1,
        lambda T, x: (x == 1) | (x < 0) ^ (x >= 2),
        lambda T, x: ~(x != 2),
        lambda T, x: x.argmax(1),
        lambda T, x: x.argmin(),
        lambda T, x: (x > 1).any(),
        lambda T, x: (x > 1).all(0),
        lambda T, x: (x > 0).sum(),
        lambda T, x: x.max(1).indices,
        lambda T, x: x.long() // 2,
        lambda T, x: -x.int() % 3,
        lambda T, x: T.isnan(x / 0),
        lambda T, x: T.isinf(x / 0),
        lambda T, x: T.isfinite(x),
        lambda T, x: T.nonzero(x > 1),
        lambda T, x: x.double().half().bool(),
        lambda T, x: T.floor_divide(x, 0.7),
        lambda T, x: T.logical_not(x),
        lambda T, x: x.long() + 1.5,
        lambda T, x: x.long() / 2,
        lambda T, x: x.long().float().mean(),
        lambda T, x: T.zeros_like(x) + T.ones_like(x) + T.full_like(x, 3),
        lambda T, x: x.new_zeros(2, 2),
        lambda T, x: T.exp(x, out=T.zeros_like(x)),
        lambda T, x: x.to(T.complex64).conj() * 1j,
        lambda T, x: x.data.clone(),
        lambda T, x: T.bernoulli(T.zeros_like(x)),
        lambda T, x: T.rand_like(x) * 0,
        lambda T, x: T.randn_like(x) * 0,
        lambda T, x: x.clone().uniform_(0, 1) * 0,
        lambda T, x: T.empty_like(x).normal_(0, 0),
        lambda T, x: x.double().sum(dtype=T.float32),
    ],
)
def test_what_has_no_derivative(call: Any) -> None:
    def program(place: Any, values: Any) -> Any:
        out = call(OnStrict() if place is STRICT else nb, nb.tensor(values, device=place))
        assert out.device == place
        return [out]

    agree(program, np.array([[0.0, 1.0, 2.0], [3.0, 1.5, -1.0]], np.float32))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x[nb.tensor([0, 2])],  # an index from the CPU is allowed
        lambda x: x[nb.tensor([True, False, True])],
        lambda x: (x.__setitem__(nb.tensor([0, 2]), 7.0), x)[1],
        lambda x: nb.empty_strided((2, 2), (1, 2), device=x.device).fill_(3),
        lambda x: nb.tensor([x[1:].data_ptr() - x.data_ptr()], device=x.device),
    ],
)
def test_what_has_a_way_of_its_own_on_each_device(call: Any) -> None:
    there, here = (call(nb.tensor([1.0, 2.0, 3.0], device=device)) for device in ("strict", "cpu"))
    assert there.device == STRICT
    assert (there.tolist(), there.stride(), there.dtype) == (here.tolist(), here.stride(), here.dtype)


def test_versions_are_counted_through_views() -> None:
    x = nb.ones(2, 3, device="strict", requires_grad=True) * 1
    y = x.exp()
    y[0].mul_(2)
    assert y._version == 1
    z = x * x
    x[0, 0] = 5
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    d = x.detach()
    d.add_(1)
    assert x._version == 2


def test_training() -> None:
    def program(place: Any, kind: Any) -> Any:
        dtype = nb.tensor(np.zeros(0, kind)).dtype
        data = nb.linspace(-1, 1, 8, dtype=dtype).reshape(4, 2).to(place)
        w = nb.full((2, 3), 0.5, dtype=dtype, device=place, requires_grad=True)
        b = nb.zeros(3, dtype=dtype, device=place, requires_grad=True)
        for _ in range(5):
            loss = nb.nn.functional.mse_loss(nb.tanh(data @ w + b), nb.ones(4, 3, dtype=dtype, device=place))
            loss.backward()
            with nb.no_grad():
                for parameter in (w, b):
                    parameter -= 0.1 * parameter.grad
                    parameter.grad.zero_()
        return [loss, w, b]

    agree(program, np.dtype(np.float32))


def test_the_stand_in_refuses_what_cupy_refuses() -> None:
    """The double is worth something only as long as it says no."""
    a, n = StrictArray(np.ones((2, 3))), np.ones((2, 3))
    for forbidden in (
        lambda: np.asarray(a),
        lambda: a + n,
        lambda: n * a,
        lambda: a @ n.T,
        lambda: np.exp(a, where=n > 0),
        lambda: np.add(a, [1, 2, 3]),
        lambda: np.add.reduce(a),
        lambda: a.sum(initial=0),
        lambda: np.sum(a, where=True),
        lambda: np.clip(a, min=0, max=1),
        lambda: np.spacing(a),
        lambda: np.stack([a, n]),
        lambda: np.where(True, a, a),
        lambda: a[[0, 1]],
        lambda: a[n > 0],
        lambda: a.__setitem__(0, n[0]),
        lambda: range(5)[a.sum()],
        lambda: a.flags.writeable,
        lambda: hash(a),
        lambda: a.setflags(write=False),
    ):
        with pytest.raises((TypeError, AttributeError, IndexError, ValueError)):
            forbidden()
    assert isinstance(a.sum(), StrictArray)
    assert isinstance(a[0, 0], StrictArray)
    assert isinstance(np.exp(a), StrictArray)
    assert isinstance(2 * a, StrictArray)
    assert isinstance(np.float64(2) * a, StrictArray)
    assert a[0].base is a
    assert a[0][1:].base is a
