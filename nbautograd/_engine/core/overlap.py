"""Checks of memory overlap before a write: inside the target, and between the target and the operands.

As in PyTorch, operands are compared only if both tensors are dense (their memory has no gaps). Others are read
completely before the write, so an overlap is harmless.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, strides
from nbautograd._engine.core.sparse import SparseTensor, refuse
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd.errors import InplaceError, warn

REPEATABLE = {"fill_", "zero_"}
"""Allowed on expanded tensors: every element gets the same value."""
DISCOURAGED = {"index_fill_", "index_put_", "masked_fill_"}
"""Allowed on expanded tensors, with a warning."""
APART = {
    "cat", "concat", "concatenate", "cross", "gather", "hstack", "index_add_", "index_copy_", "index_put_",
    "index_reduce_", "index_select", "kthvalue", "linalg_cross", "masked_select", "outer", "put_", "scatter",
    "scatter_", "scatter_add_", "scatter_reduce_", "stack", "take", "take_along_dim", "vstack",
}  # fmt: skip
"""These read in another order than they write: no operand may be the target itself."""
UNCHECKED = {
    "addbmm", "addbmm_", "addmm", "addmm_", "addmv", "addmv_", "addr_", "alias_copy", "all", "amax", "amin", "any",
    "argmax", "argmin", "baddbmm", "baddbmm_", "bmm", "cholesky_solve", "detach_copy", "diag", "dot", "histc",
    "inner", "log_softmax", "logsumexp", "masked_scatter_", "matmul", "mean", "mm", "mv",
    "nanmean", "nanquantile", "nansum", "norm", "prod", "quantile", "slice_copy", "softmax", "squeeze_copy", "std",
    "sum", "t_copy", "unsqueeze_copy", "var", "vdot",
}  # fmt: skip
"""Not checked, as in PyTorch: the result is computed in its own memory before it is written."""


def check_overlap(t: Tensor, what: str) -> None:
    """Check that no two elements of ``t`` share memory, as those of an expanded tensor do.

    :param what: the operation.
    :raises InplaceError: some elements share memory.
    :raises UnsupportedError: ``t`` is sparse.
    """
    if t.__class__ is SparseTensor:
        refuse(what, t._sparse.kind)
    a = t._a
    if 0 not in a.strides or not a.size or what in REPEATABLE:
        return
    if any(stride == 0 and size > 1 for stride, size in zip(a.strides, a.shape, strict=True)):
        if what in DISCOURAGED:
            warn(
                f"Use of {what} on expanded tensors is deprecated. Please clone() the tensor before performing this "
                "operation. This also applies to advanced indexing e.g. tensor[indices] = tensor"
            )
            return
        raise InplaceError(
            f"unsupported operation: more than one element of the written-to tensor refers to a single memory location "
            f"(it was expanded). Please clone() the tensor before performing {what}."
        )


def write_each_once(target: Any, result: Any) -> None:
    """Write into an array that may overlap itself: only changed elements, so that each is written once."""
    changed = ~((result == target) | (result != result) & (target != target))
    target[changed] = result[changed]


def check_operands(t: Any, values: Any, what: str) -> None:
    """Check that no operand among ``values`` partially overlaps ``t``, which receives the result."""
    if what in UNCHECKED or not isinstance(t, Tensor) or t.__class__ is SparseTensor:
        return
    for value in values:
        if value.__class__ is Tensor or isinstance(value, Tensor) and value.__class__ is not SparseTensor:
            check_operand(t, value, what)
        elif value.__class__ is list or value.__class__ is tuple:
            check_operands(t, value, what)


def check_operand(t: Tensor, other: Tensor, what: str) -> None:
    """Raise InplaceError if one operand partially overlaps ``t``."""
    a, b = t._a, other._a
    if a is b:
        partly = what in APART and a.size > 0
    else:
        partly = a.base is not b.base or a.base is not None
        partly = partly and _meet(a, b) and (what in APART or a.itemsize != b.itemsize or not _same_places(a, b))
    if partly:
        raise InplaceError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
            f"memory location. Please clone() the tensor before performing the operation ({what})."
        )


def without_ones(x: Tensor) -> Tensor:
    """Return the tensor without leading dimensions of length 1."""
    while x._a.ndim > 1 and x._a.shape[0] == 1:
        x = wrap(x._shared_array()[0])
    return x


def _meet(a: Any, b: Any) -> bool:
    """Return whether two dense arrays share memory."""
    if a.__class__ is np.ndarray is b.__class__ and not np.may_share_memory(a, b):  # at once, in the usual case
        return False
    if not a.size or not b.size or backend.of(a) is not backend.of(b):
        return False
    if (isinstance(a, (np.ndarray, np.generic)) or backend.is_bare(a)) and not np.may_share_memory(a, b):
        return False
    if not (_is_dense(a) and _is_dense(b)):
        return False
    first, second = backend.of(a).address(a), backend.of(b).address(b)
    return bool(first < second + b.nbytes and second < first + a.nbytes)


def _is_dense(a: Any) -> bool:
    return a.flags.c_contiguous or strides.is_dense(a.shape, strides.strides_of(a))


def _same_places(a: Any, b: Any) -> bool:
    address = backend.of(a).address
    return bool(address(a) == address(b) and a.shape == b.shape and a.strides == b.strides)
