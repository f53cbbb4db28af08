"""On a GPU: a million additions at the same places, indices of every kind, and what is out of range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import needs
from tests.engine.cuda.on_device import On, agree, host, pytorch

needs.cuda_device()
pytestmark = pytest.mark.cuda
MILLION, PLACES = 10**6, 7


def collisions() -> tuple[Any, Any]:
    """A million values for few places: eighths, of which float32 holds all sums."""
    random = np.random.default_rng(0)
    return random.integers(0, PLACES, MILLION), np.round(random.standard_normal(MILLION) * 8) / 8


ADDING = {
    "index_add": lambda T, i, v: T.zeros(PLACES, dtype=v.dtype).index_add(0, i, v),
    "index_put": lambda T, i, v: T.zeros(PLACES, dtype=v.dtype).index_put((i,), v, accumulate=True),
    "scatter_add": lambda T, i, v: T.zeros(PLACES, dtype=v.dtype).scatter_add(0, i, v),
    "put_": lambda T, i, v: T.zeros(PLACES, dtype=v.dtype).put_(i, v, accumulate=True),
    "scatter_reduce": lambda T, i, v: T.zeros(PLACES, dtype=v.dtype).scatter_reduce(0, i, v, "sum"),
    "bincount": lambda T, i, v: T.bincount(i, v, PLACES),
}


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("name", ADDING)
def test_a_million_collisions(name: str, kind: str) -> None:
    index, values = collisions()
    exact = np.zeros(PLACES)
    np.add.at(exact, index, values)
    v = nb.tensor(values, device="cuda").to(getattr(nb, kind))
    ours = ADDING[name](On(nb, "cuda"), nb.tensor(index, device="cuda"), v)
    assert ours.device.type == "cuda"
    np.testing.assert_array_equal(host(ours).astype(np.float64), exact)


@pytest.mark.parametrize("how", ["amax", "amin", "mean", "prod"])
def test_a_million_reduced(how: str) -> None:
    index, values = collisions()
    values = np.sign(values) if how == "prod" else values

    def reduced(place: str, values: Any) -> Any:
        values = nb.tensor(values, device=place)
        start = nb.zeros(PLACES, dtype=values.dtype, device=place)
        return [start.scatter_reduce(0, nb.tensor(index, device=place), values, how, include_self=False)]

    agree(reduced, values)


@pytest.mark.parametrize(
    "read",
    [
        lambda T, x, i: x[i],
        lambda T, x, i: x.index_select(0, i),
        lambda T, x, i: x.gather(0, i[:, None].expand(-1, 2)),
        lambda T, x, i: T.nn.functional.embedding(i, x),
        lambda T, x, i: x.take(i * 2),
    ],
)
def test_gradients_of_a_million_reads(read: Any) -> None:
    index, _ = collisions()
    x = nb.ones(PLACES, 2, dtype=nb.float64, device="cuda", requires_grad=True)
    result = read(nb, x, nb.tensor(index, device="cuda"))
    (result * 0.5).sum().backward()
    counts = np.bincount(index, minlength=PLACES) * 0.5
    expected = np.stack([counts, counts if result.ndim > 1 else 0 * counts], 1)
    np.testing.assert_array_equal(host(x.grad), expected)


INDEXING = [
    lambda T, x, i: x[i],
    lambda T, x, i: x[:, i],
    lambda T, x, i: x[i, i],
    lambda T, x, i: x[i[:, None], i],
    lambda T, x, i: x[x > 3],
    lambda T, x, i: x[:, x[0] > 1],
    lambda T, x, i: x[1, i],
    lambda T, x, i: x[..., i, None],
    lambda T, x, i: x[-1, ::2],
    lambda T, x, i: T.masked_select(x, x < 9),
    lambda T, x, i: x.take_along_dim(i[None].expand(4, -1), 1),
    lambda T, x, i: T.where(x > 5, x, 0.0),
    lambda T, x, i: x.index_fill(0, i, 7.0),
    lambda T, x, i: x.index_copy(0, T.arange(2), x[2:]),
    lambda T, x, i: x.masked_fill(x > 5, -1.0),
    lambda T, x, i: x.masked_scatter(x > 5, T.arange(16.0)),
    lambda T, x, i: x.roll(1, 0).flip(1),
    lambda T, x, i: x.tril().triu(-1),
    lambda T, x, i: T.nn.functional.one_hot(i, 4).float(),
]


@pytest.mark.parametrize("call", INDEXING)
def test_indices(call: Any) -> None:
    torch, place = pytorch()
    results = []
    for T, where in ((nb, "cuda"), (torch, place)):
        x = T.arange(16.0, device=where).reshape(4, 4).requires_grad_()
        out = call(On(T, where), x, T.tensor([3, 0, 3], device=where))
        if out.requires_grad:
            (out * T.arange(float(out.numel()), device=where).reshape(out.shape)).sum().backward()
        results.append([out, x.grad if x.grad is not None else x])
    for ours, theirs in zip(*results, strict=True):
        assert (tuple(ours.shape), ours.device.type) == (tuple(theirs.shape), "cuda")
        np.testing.assert_array_equal(host(ours), host(theirs))


WRITING = [
    lambda T, x, i: x.__setitem__(i, 5.0),
    lambda T, x, i: x.__setitem__((slice(None), i), T.ones(4, 2)),
    lambda T, x, i: x.__setitem__(x > 8, 0.0),
    lambda T, x, i: x.__setitem__((i, i), T.tensor([1.0, 2.0])),
    lambda T, x, i: x.index_add_(1, i, T.ones(4, 2), alpha=2),
    lambda T, x, i: x.scatter_(1, i[None].expand(4, -1), 3.0),
    lambda T, x, i: x.index_put_((i,), T.ones(4), accumulate=True),
    lambda T, x, i: x.fill_diagonal_(9.0),
    lambda T, x, i: x[1:3].copy_(x[:2].clone()),
]


@pytest.mark.parametrize("write", WRITING)
def test_writing(write: Any) -> None:
    torch, place = pytorch()
    results = []
    for T, where in ((nb, "cuda"), (torch, place)):
        x = T.arange(16.0, device=where).reshape(4, 4)
        view = x[1]
        write(On(T, where), x, T.tensor([3, 0], device=where))
        results.append((host(x), host(view)))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("wrong", [[0, 4], [-5, 0]])
@pytest.mark.parametrize(
    "call",
    [
        lambda x, i: x[i],
        lambda x, i: x[:, i],
        lambda x, i: x.__setitem__(i, 1.0),
        lambda x, i: x.gather(0, i[None]),
        lambda x, i: x.scatter(0, i[None], 1.0),
        lambda x, i: x.scatter_add(0, i[None], x),
        lambda x, i: x.index_select(0, i),
        lambda x, i: x.index_add(0, i, x[:2]),
        lambda x, i: x.index_fill(0, i, 0.0),
        lambda x, i: x.take(i * 100),
        lambda x, i: nb.nn.functional.embedding(i, x),
        lambda x, i: nb.nn.functional.cross_entropy(x[:2], i),
        lambda x, i: nb.nn.functional.one_hot(i, 4),
    ],
)
def test_out_of_range_raises_and_leaves_everything(call: Any, wrong: list[int]) -> None:
    x = nb.arange(16.0, device="cuda").reshape(4, 4)
    with pytest.raises((IndexError, RuntimeError)):
        call(x, nb.tensor(wrong, device="cuda"))
    assert x.flatten().tolist() == [float(i) for i in range(16)]
    assert (x + 1).sum().item() == 136
