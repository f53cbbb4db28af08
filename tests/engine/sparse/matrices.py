"""Sparse tensors of both libraries for the tests: by name, coordinates, values and shape; what is compared of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import nbautograd as nb
from tests import oracle

CASES: dict[str, tuple[Any, Any, tuple[int, ...]]] = {
    "matrix": ([[0, 1, 1], [2, 0, 2]], [3.0, -4.0, 5.0], (2, 3)),
    "duplicates": ([[0, 1, 1, 0], [2, 0, 2, 2]], [3.0, 4.0, -5.0, 1.0], (2, 3)),
    "unsorted": ([[1, 0, 1], [2, 1, 0]], [1.5, 2.5, 0.5], (2, 3)),
    "empty": (np.zeros((2, 0), np.int64), np.zeros(0), (2, 3)),
    "vector": ([[4, 1, 4]], [1.0, 2.0, 3.0], (5,)),
    "cube": ([[0, 1, 1], [1, 0, 1], [2, 2, 0]], [1.0, -2.0, 3.0], (2, 2, 3)),
    "hybrid": ([[0, 1, 0], [2, 0, 2]], [[1.0, -2.0], [3.0, 4.0], [5.0, 0.5]], (2, 3, 2)),
    "rows": ([[2, 0, 2]], [[1.0, -2.0], [3.0, 4.0], [5.0, 0.5]], (4, 2)),
    "no rows": (np.zeros((2, 0), np.int64), np.zeros(0), (0, 3)),
    "scalar": (np.zeros((0, 1), np.int64), [5.0], ()),
}
MATRICES = ["matrix", "duplicates", "unsorted", "empty", "no rows"]


def make(torch: Any, name: str, dtype: str = "float64", requires_grad: bool = False, coalesced: bool = False) -> Any:
    """A sparse tensor of one of the libraries."""
    indices, values, shape = CASES[name]
    kind = getattr(torch, dtype)
    numbers = torch.tensor(np.asarray(values).tolist(), dtype=kind).reshape(np.asarray(values).shape)
    places = torch.tensor(np.asarray(indices).tolist(), dtype=torch.int64).reshape(np.asarray(indices).shape)
    s = torch.sparse_coo_tensor(places, numbers, shape)
    s = s.coalesce() if coalesced else s
    return s.requires_grad_() if requires_grad else s


def described(value: Any) -> Any:
    """Return the properties on which both libraries must agree: layout and elements."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(described, value)) if type(value) in (tuple, list) else value
    if not hasattr(value, "layout"):
        return value
    dense = value.detach()
    return value.layout, dense.to_dense() if "sparse" in str(value.layout) else dense


def check_where_pytorch_can(program: Callable[..., Any], cases: Iterable[Any]) -> None:
    """Compare a program's results of each case, except for those that PyTorch rejects."""

    def outcomes(T: Any) -> Any:
        found = []
        for case in cases:
            try:
                found.append(described(program(T, *case)))
            except (RuntimeError, IndexError, NotImplementedError) as error:
                found.append(error)
        return found

    cases = list(cases)
    for case, theirs in zip(cases, oracle.answer(outcomes), strict=True):
        if not isinstance(theirs, oracle.Raised):
            oracle.close(described(program(nb, *case)), theirs)
