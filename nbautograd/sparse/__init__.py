"""``torch.sparse``: tensors that store only some elements, and their operations.

This package may import all of ``autograd`` and below; nothing there imports it. It is loaded with the first sparse
tensor (``_engine/core/sparse.py``). ``registry.py`` collects the sparse versions of operations, by name, and
records them; ``tensors.py`` builds and decomposes sparse tensors; ``elementwise.py``, ``products.py``,
``reductions.py`` and ``shapes.py`` compute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.core.defaults import warn_once
from nbautograd._engine.core.sparse import SparseTensor
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._names import absent
from nbautograd._names.docstrings import import_in_examples
from nbautograd.sparse.invariants import check_sparse_tensor_invariants
from nbautograd.sparse.products import (
    hspmm as hspmm,
    smm as smm,
    sparse_addmm as addmm,
    sparse_mm as mm,
    sspaddmm as sspaddmm,
)
from nbautograd.sparse.reductions import sparse_log_softmax as log_softmax, sparse_softmax as softmax, sparse_sum as sum
from nbautograd.sparse.registry import OPERATIONS as OPERATIONS
from nbautograd.sparse.shapes import attach_properties
from nbautograd.sparse.tensors import (
    build,
    sparse_coo_tensor as sparse_coo_tensor,
    sparse_csr_tensor as sparse_csr_tensor,
)

__all__ = ["addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "softmax", "spdiags", "sum"]

attach_properties(SparseTensor)

FORMER = (
    "torch.sparse.SparseTensor(indices, values, shape, *, device=) is deprecated.  Please use "
    "torch.sparse_coo_tensor(indices, values, shape, dtype=, device=)."
)


def _former_constructor(name: str, kind: dtypes.dtype) -> Callable[..., Tensor]:
    def make(*parts: Any) -> Tensor:
        warn_once(FORMER)
        if len(parts) < 2 or all(isinstance(part, int) for part in parts):
            return sparse_coo_tensor(size=parts[0] if len(parts) == 1 else parts, dtype=kind)
        return sparse_coo_tensor(*parts, dtype=kind)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A sparse tensor of {kind!r}, in the deprecated form: from indices and values, or from a size."
    return make


for _name, _kind in dtypes.TENSOR_TYPES.items():
    if _kind.rank in (1, 2):  # not bool, not complex
        globals()[_name] = _former_constructor(_name, _kind)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """Return a sparse matrix with the given diagonals.

    :param diagonals: shape (count, length); column j of the matrix takes its elements from column j.
    :param offsets: shape (count,): above the main diagonal positive, below negative.
    :param shape: the shape of the matrix.
    :param layout: the layout of the result; COO by default.
    :returns: a sparse tensor of ``shape``.
    :raises RuntimeError: an offset occurs twice, or the shapes do not match.

    >>> torch.sparse.spdiags(torch.tensor([[1., 2.]]), torch.tensor([0]), (2, 2)).to_dense()
    tensor([[1., 0.],
            [0., 2.]])
    """
    d = diagonals if diagonals.ndim == 2 else diagonals.unsqueeze(0)
    steps = np.atleast_1d(np.asarray(offsets.tolist()))
    if len(set(steps.tolist())) < len(steps):
        raise RuntimeError("Offset tensor contains duplicate values")
    if len(steps) != d.shape[0]:
        raise RuntimeError(f"Number of diagonals ({d.shape[0]}) does not match the number of offsets ({len(steps)})")
    column = np.broadcast_to(np.arange(min(d.shape[1], shape[1])), (len(steps), min(d.shape[1], shape[1])))
    row = column - steps[:, None]
    which, place = np.nonzero((row >= 0) & (row < shape[0]))
    module = backend.module(d.device)
    values = d[wrap(module.asarray(which)), wrap(module.asarray(place))]
    places = module.asarray(np.stack((row[which, place], column[which, place])))
    result: Any = build(places, values, tuple(shape))
    return result if layout is None else result.to_sparse(layout=layout)  # type: ignore[no-any-return]


import_in_examples([*(globals()[name] for name in __all__), hspmm, sparse_coo_tensor, sparse_csr_tensor])
del import_in_examples
absent.answer(__name__)
