"""``torch.sparse``: tensors of which only some elements are stored, and what is computed with them.

This package may import all of ``autograd`` and below; nothing there imports it. It is loaded with the first sparse
tensor (``core/sparse.py``). ``registry.py`` collects what each operation is for sparse tensors, by name; ``node.py``
records it; ``tensors.py`` makes and takes apart; ``elementwise.py``, ``products.py``, ``reductions.py`` and
``shapes.py`` compute.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd import _absent
from nbautograd.core.sparse import SparseTensor
from nbautograd.core.tensor import Tensor, wrap
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


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """A sparse matrix with given diagonals.

    :param diagonals: shape (count, length); column j of the matrix takes from column j.
    :param offsets: shape (count,): above the main diagonal positive, below negative.
    :param shape: that of the matrix.
    :raises RuntimeError: an offset occurs twice, or the shapes do not fit.

    >>> import nbautograd as torch
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
    values = d[wrap(which), wrap(place)]
    result: Any = build(np.stack((row[which, place], column[which, place])), values, tuple(shape))
    return result if layout is None else result.to_sparse(layout=layout)  # type: ignore[no-any-return]


_absent.answer(__name__)
