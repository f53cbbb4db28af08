"""List the calls that would wait for the device, and the checks that it does not make by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests.engine.strict.strict_array import FETCHED, SYNCS, StrictArray

from .comparison import agree


@pytest.mark.parametrize(
    "call",
    [
        lambda T, x, y: (x * 2 + y / 3 - 1).exp().sin().mean(),
        lambda T, x, y: T.relu(x @ y.T).softmax(-1).sum(),
        lambda T, x, y: T.nn.functional.layer_norm(x, (4,)).pow(2).mean(),
        lambda T, x, y: T.nn.functional.gelu(x).std(0).sum() + y.var(1).sum(),
        lambda T, x, y: T.cat([x, y]).reshape(2, -1).T[1:].sum(),
        lambda T, x, y: T.where(x > y, x, y).max(1).values.sum() + x.amax() + y.logsumexp(0).sum(),
        lambda T, x, y: T.nn.functional.mse_loss(x, y) + T.nn.functional.smooth_l1_loss(x, y),
        lambda T, x, y: T.stack([x, y]).transpose(0, 1).cumsum(0).clamp(-1, 1).prod(),
        lambda T, x, y: T.nn.functional.conv2d(x.reshape(1, 1, 4, 4), y[:2, :2].reshape(1, 1, 2, 2)).sum(),
        lambda T, x, y: T.nn.functional.max_pool2d(x.reshape(1, 1, 4, 4), 2).sum() + y.abs().sqrt().sum(),
        lambda T, x, y: T.einsum("ij,kj->ik", x, y).tril().sum(),
        lambda T, x, y: x.log_softmax(1).diagonal().sum() + T.nn.functional.dropout(y, 0.0).sum(),
    ],
)
def test_nothing_waits_for_the_device(call: Any) -> None:
    """Neither the forward nor the backward pass of the operations of a training step."""
    values = np.random.default_rng(0).random((2, 4, 4)) + 0.1
    x, y = (nb.tensor(a, device="strict", requires_grad=True) for a in values)
    SYNCS.clear()
    call(nb, x, y).backward()
    assert SYNCS == []
    assert x.grad is not None


OUT = [
    lambda T, x, i: x[i],
    lambda T, x, i: x[:, i],
    lambda T, x, i: x[i, i],
    lambda T, x, i: x.__setitem__(i, 1.0),
    lambda T, x, i: x.index_select(0, i),
    lambda T, x, i: x.gather(0, i[None].expand(2, 2)),
    lambda T, x, i: T.take(x, i * 100),
    lambda T, x, i: T.take_along_dim(x, i[None], 0),
    lambda T, x, i: x.scatter(0, i[None], 1.0),
    lambda T, x, i: x.scatter_add(0, i[None], x),
    lambda T, x, i: x.index_add(0, i, x[:2]),
    lambda T, x, i: x.index_copy(0, i, x[:2]),
    lambda T, x, i: x.index_fill(0, i, 1.0),
    lambda T, x, i: x.index_put((i,), x[0]),
    lambda T, x, i: x.put_(i * 100, x[0, :2]),
    lambda T, x, i: T.nn.functional.embedding(i, x),
    lambda T, x, i: T.nn.functional.nll_loss(x[:2], i),
    lambda T, x, i: T.nn.functional.cross_entropy(x[:2], i),
    lambda T, x, i: T.nn.functional.one_hot(i, 3),
]


@pytest.mark.parametrize("call", OUT)
@pytest.mark.parametrize("index", [[0, 3], [0, -4]])
def test_an_index_out_of_range_is_an_error(call: Any, index: list[int]) -> None:
    """CuPy wraps it around silently; the stand-in does so too, and the operations must check before."""
    for place in ("cpu", "strict"):
        x = nb.arange(9.0, device=place).reshape(3, 3)
        with pytest.raises((IndexError, RuntimeError, ValueError)):
            call(nb, x, nb.tensor(index, device=place))


def test_the_stand_in_wraps_indices_as_cupy_does() -> None:
    a, i = StrictArray(np.arange(6.0).reshape(2, 3)), StrictArray(np.array([3, -4]))
    assert a[i].tolist() == [[3.0, 4.0, 5.0], [0.0, 1.0, 2.0]]
    assert a[:, i].tolist() == [[0.0, 2.0], [3.0, 5.0]]
    assert a[..., i].tolist() == [[0.0, 2.0], [3.0, 5.0]]
    assert np.take(a, i).tolist() == [3.0, 2.0]
    with pytest.raises(IndexError):
        a[2]


def test_pictures_fetch_summaries_only() -> None:
    """Check that neither recording nor drawing copies a whole tensor to the host: it reads some 1000 elements."""
    from nbautograd import viz

    w = nb.ones(500, 400, device="strict", requires_grad=True)
    FETCHED.clear()
    with viz.record():
        loss = ((w * 2).exp() @ w.T).mean()
        loss.backward()
    drawn = viz.graph(((w * 2).exp() @ w.T).mean())
    drawn._repr_mimebundle_()
    repr(w)
    assert max(FETCHED) <= 4096


@pytest.mark.parametrize("kind", [nb.bool, nb.int8, nb.int16, nb.uint8, nb.int64, nb.float16, nb.float64, nb.complex64])
def test_adding_up_at_the_same_place(kind: nb.dtype) -> None:
    """Atomic addition knows few dtypes."""

    def program(place: Any) -> Any:
        index = nb.tensor([0, 2, 2, 0, 2], device=place)
        values = nb.tensor([1, 0, 1, 1, 1], device=place).to(kind)
        into = nb.zeros(3, device=place, dtype=kind)
        return into.index_put((index,), values, True), into.scatter_add(0, index, values)

    agree(program)
