"""On a GPU: compare every operation with the CPU's, forward, backward and twice backward."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import needs
from tests.engine.cuda.on_device import On, agree
from tests.engine.ops.cases import CASES, Case

needs.cuda_device()
pytestmark = pytest.mark.cuda


def uneven(t: nb.Tensor, place: str) -> nb.Tensor:
    return nb.tensor(np.cos(np.arange(t.numel())).reshape(t.shape).astype(t.dtype.numpy), device=place)


def computed(case: Case, place: str, *arrays: Any) -> list[nb.Tensor | None]:
    """The result, its gradients, and the gradients of those."""
    inputs = [nb.tensor(a, device=place, requires_grad=True) for a in arrays]
    out = case.call(On(nb, place), *inputs)
    first = nb.autograd.grad(out, inputs, uneven(out, place), create_graph=True, allow_unused=True)
    terms = [(g * uneven(g, place)).sum() for g in first if g is not None and g.requires_grad]
    second = nb.autograd.grad(sum(terms[1:], terms[0]), inputs, allow_unused=True) if terms else []
    assert {t.device.type for t in (out, *first, *second) if t is not None} == {place}
    return [out, *first, *second]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_on_the_cpu(case: Case) -> None:
    agree(partial(computed, case), *(a.astype(np.float64) for a in case.arrays()))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_in_single_precision(case: Case) -> None:
    def result(place: str, *arrays: Any) -> Any:
        return [case.call(On(nb, place), *(nb.tensor(a, device=place) for a in arrays))]

    arrays = [a.astype(np.float32) for a in case.arrays()]
    try:
        result("cpu", *arrays)
    except RuntimeError as error:
        pytest.skip(f"the case is for double precision: {error}")
    agree(result, *arrays)


CHECKED = [
    lambda x: (x.sin() * x.exp()).sum(),
    lambda x: (x @ x.T).tanh(),
    lambda x: x.softmax(-1),
    lambda x: nb.nn.functional.layer_norm(x, (4,)),
    lambda x: nb.nn.functional.conv2d(x.reshape(1, 1, 4, 4), x[:2, :2].reshape(1, 1, 2, 2)),
    lambda x: x[nb.tensor([0, 0, 2], device="cuda")].cumsum(0),
    lambda x: nb.linalg.solve(x + 5 * nb.eye(4, dtype=x.dtype, device="cuda"), x),
    lambda x: x.logsumexp(0),
]


@pytest.mark.parametrize("function", CHECKED)
def test_gradcheck(function: Any) -> None:
    x = nb.rand(4, 4, dtype=nb.float64, generator=nb.Generator().manual_seed(0)).cuda().requires_grad_()
    assert nb.autograd.gradcheck(function, (x,))
    assert nb.autograd.gradgradcheck(function, (x,))


@pytest.mark.parametrize("kind", [nb.float32, nb.float64, nb.float16, nb.complex64, nb.int8, nb.int64, nb.bool])
def test_adding_up_at_the_same_place(kind: nb.dtype) -> None:
    """Atomic addition knows few dtypes; the others take another way."""
    index = nb.randint(0, 7, (10_000,), generator=nb.Generator().manual_seed(0))
    values = (nb.arange(10_000) % 3 == 0).to(kind)
    agree(lambda p: [nb.zeros(7, dtype=kind, device=p).index_put((index.to(p),), values.to(p), True)])


@pytest.mark.parametrize("size", [(0,), (0, 3), (), (1,), (3, 0, 2)])
def test_few_elements(size: tuple[int, ...]) -> None:
    for call in (
        lambda x: x.sum(),
        lambda x: x.exp() * 2,
        lambda x: x.reshape(-1),
        lambda x: x.cumsum(0) if x.ndim else x,
    ):
        agree(lambda place, x, call=call: [call(nb.tensor(x, device=place))], np.ones(size, np.float32))


def test_special_values() -> None:
    values = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-40, 3e38], np.float32)
    for name in ("exp", "log", "sqrt", "sin", "tanh", "abs", "sign", "relu", "sigmoid", "rsqrt", "isnan", "floor"):
        for value in values:  # each has its own bound
            agree(lambda p, x, name=name: [getattr(nb.tensor(x, device=p), name)()], np.asarray(value))


def test_a_singular_matrix_is_an_error() -> None:
    for call in (nb.linalg.inv, nb.linalg.cholesky, lambda a: nb.linalg.solve(a, a)):
        with pytest.raises(RuntimeError):
            call(nb.zeros(3, 3, device="cuda"))


@pytest.mark.parametrize("index", [[0, 3], [-4, 0]])
def test_an_index_out_of_range_is_an_error(index: list[int]) -> None:
    x = nb.eye(3, device="cuda")
    at = nb.tensor(index, device="cuda")
    for call in (
        lambda: x[at],
        lambda: x.gather(0, at[None]),
        lambda: x.index_select(0, at),
        lambda: x.scatter(0, at[None], 1.0),
    ):
        with pytest.raises((IndexError, RuntimeError)):
            call()
