"""Sparse tensors on the strict device: the same as on the CPU, without a copy in between."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import nbautograd as nb

from .comparison import STRICT, agree

PROGRAMS: dict[str, Any] = {
    "to_dense": lambda s, d: s.to_dense(),
    "coalesce": lambda s, d: s.coalesce().values(),
    "sum": lambda s, d: s + s * 2,
    "dense and sparse": lambda s, d: d + s,
    "product": lambda s, d: s.coalesce() * d,
    "of two": lambda s, d: s * (s + s),
    "sine": lambda s, d: s.sin(),
    "softmax": lambda s, d: nb.sparse.softmax(s, 1),
    "sum over rows": lambda s, d: nb.sparse.sum(s, 0),
    "transposed": lambda s, d: s.t(),
    "joined": lambda s, d: nb.cat([s, s], 1),
    "stacked": lambda s, d: nb.stack([s, s]),
    "row": lambda s, d: s[1],
    "rows": lambda s, d: s.index_select(0, nb.tensor([1, 0, 1], device=s.device)),
    "mask": lambda s, d: d.sparse_mask(s.coalesce()),
    "from dense": lambda s, d: d.to_sparse(),
    "csr": lambda s, d: s.to_sparse_csr().crow_indices(),
    "embedding": lambda s, d: nb.nn.functional.embedding(nb.tensor([1, 1], device=s.device), d, 0, sparse=True),
    "bag": lambda s, d: nb.nn.functional.embedding_bag(nb.tensor([[1, 1]], device=s.device), d, sparse=True),
    "gather": lambda s, d: nb.gather(d, 1, nb.tensor([[1, 1]], device=s.device), sparse_grad=True),
}


def outcome(program: Any, device: Any, values: Any, dense: Any) -> list[Any]:
    """The result and the gradients, dense."""
    places = nb.tensor([[0, 1, 1, 0], [2, 0, 2, 2]], device=device)
    s = nb.sparse_coo_tensor(places, nb.tensor(values, device=device), (2, 3)).requires_grad_()
    d = nb.tensor(dense, device=device).requires_grad_()
    result = program(s, d)
    assert str(result.device) == str(s.device)
    found = [result.detach()]
    if result.requires_grad:
        result.to_dense().sum().backward()
        found += [leaf.grad for leaf in (s, d) if leaf.grad is not None]
    return [each.to_dense() for each in found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_on_the_strict_device(name: str) -> None:
    agree(partial(outcome, PROGRAMS[name]), np.array([3.0, 4.0, 5.0, 1.0]), np.arange(1.0, 7).reshape(2, 3))


def test_a_sparse_tensor_prints_where_it_is() -> None:
    s = nb.sparse_coo_tensor([[1]], [2.0], (3,), device=STRICT)
    assert f"device='{STRICT}'" in repr(s) and repr(s.cpu()) == repr(nb.sparse_coo_tensor([[1]], [2.0], (3,)))


def test_steps_of_optimizers() -> None:
    def trained(device: Any) -> Any:
        w = nb.ones(3, 2, device=device).requires_grad_()
        optimizer = nb.optim.SparseAdam([w], lr=0.1)
        nb.nn.functional.embedding(nb.tensor([1, 1], device=device), w, sparse=True).sum().backward()
        optimizer.step()
        return w.detach().cpu().tolist()

    assert trained(STRICT) == trained("cpu")
