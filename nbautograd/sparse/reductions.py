"""Sums of sparse tensors, and softmax over their stored elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.core.sparse import stored, wrapped
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops.reduction.softmax import log_softmax as dense_log_softmax, softmax as dense_softmax
from nbautograd.sparse.registry import handles, is_sparse, recompute, record
from nbautograd.sparse.tensors import at_places, build, coalesce, values_of

__all__ = ["sparse_log_softmax", "sparse_softmax", "sparse_sum"]


def _dims(dim: Any, ndim: int) -> tuple[int, ...]:
    return tuple(sorted(dimension(d, ndim) for d in ((dim,) if isinstance(dim, int) else dim)))


def _over(input: Any, dims: tuple[int, ...]) -> Any:
    """Sum over some dimensions, without history: sparse if a sparse dimension is left."""
    array = stored(input)
    sparse = array.sparse_dim
    over_dense = tuple(d - sparse + 1 for d in dims if d >= sparse)
    values = wrap(array.values).sum(over_dense, dtype=input.dtype)._shared_array() if over_dense else array.values
    rest = [d for d in range(sparse) if d not in dims]
    if not rest:
        return wrap(values).sum(0, dtype=input.dtype)
    shape = tuple(n for d, n in enumerate(array.shape) if d not in dims)
    kept = len(rest) == sparse
    at = array.indices if kept else np.stack([array.indices[d] for d in rest])
    return wrapped(array.like(values, indices=at, shape=shape, is_coalesced=array.is_coalesced and kept).coalesced())


def sparse_sum(input: Tensor, dim: Any = None, dtype: dtypes.dtype | None = None) -> Tensor:
    """Compute ``torch.sparse.sum``, over all or some dimensions; gradients are those of stored elements.

    :param input: a sparse tensor.
    :param dim: by default all, and the result is dense; it is sparse if a sparse dimension is left.
    :param dtype: cast to this dtype first.
    :returns: a tensor without the summed dimensions.
    :raises RuntimeError: ``input`` is dense.
    :raises IndexError: ``dim`` is out of range.

    >>> torch.sparse.sum(torch.eye(2).to_sparse(), 0).to_dense()
    tensor([1., 1.])
    """
    if not is_sparse(input):
        raise RuntimeError("torch.sparse.sum(): argument 'input' must be a sparse tensor. Call to_sparse()")
    x: Any = input if dtype is None else input.to(dtype)
    if dim is None:
        return values_of(coalesce(x)).sum()  # type: ignore[no-any-return]
    return _summed(x, dim, "SparseSumBackward0")  # type: ignore[no-any-return]


def _summed(x: Any, dim: Any, node: str) -> Any:
    """Sum over some dimensions."""
    dims = _dims(dim, x.ndim)
    if not dims:
        return x

    def rule(g: Any) -> tuple[Any]:
        own = stored(coalesce(x.detach()))
        return (_spread(g, own.like(own.values, is_coalesced=False), dims),)

    return record(_over(x, dims), node, "Σ", (x,), rule)


def _spread(g: Any, own: Any, dims: tuple[int, ...]) -> Any:
    """Return the gradient of a sum, at the coordinates of the summed elements."""
    sparse = own.sparse_dim
    rest = [d for d in range(sparse) if d not in dims]
    if rest:
        shape = tuple(n for d, n in enumerate(own.shape) if d not in dims)
        zeros = np.zeros_like(own.values, shape=(own.nnz, *shape[len(rest) :]))
        spread = values_of(at_places(g, own.like(zeros, indices=np.stack([own.indices[d] for d in rest]), shape=shape)))
    else:
        spread = g.unsqueeze(0).expand(own.nnz, *g.shape)
    for d in dims:
        if d >= sparse:
            spread = spread.unsqueeze(d - sparse + 1)
    return build(own.indices, spread.expand(own.values.shape), own.shape)


@handles("sum")
def sum_(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, axis: Any = None) -> Any:
    """Sum all elements, which gives a dense result, or over some dimensions; the former has a dense gradient."""
    x = input if dtype is None else input.to(dtype)
    dim = axis if dim is None else dim
    if dim is None or not isinstance(dim, int) and not tuple(dim):
        return record(wrap(stored(x).values).sum(), "SumBackward0", "Σ", (x,), lambda g: (g.expand(x.shape),))
    result = _summed(x, dim, "SumBackward1")
    for d in _dims(dim, x.ndim) if keepdim else ():
        result = result.unsqueeze(d)
    return result


@handles("any")
def any_(input: Any) -> Any:
    """Return whether any value is not zero."""
    return wrap(stored(coalesce(input.detach())).values).any()


@handles("norm")
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Compute the norm of the values, over all dimensions.

    :raises RuntimeError: ``dim`` is given.
    """
    if dim is not None and _dims(dim, input.ndim) != tuple(range(input.ndim)):
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all "
            "dimensions of the input"
        )
    return values_of(coalesce(input)).norm(2 if p in ("fro", None) else p)


# -- softmax -----------------------------------------------------------------------------------------------------------


def _softmax(name: str, input: Any, dim: int, dtype: Any, log: bool) -> Any:
    if not is_sparse(input):
        raise RuntimeError(f"torch.sparse.{name}(): argument 'input' must be a sparse tensor. Call to_sparse()")
    x = input if dtype is None else input.to(dtype)
    d = dimension(dim, x.ndim)

    def compute(s: Any) -> Any:
        own = coalesce(s)
        array, v = stored(own), values_of(own)
        if d >= array.sparse_dim:
            values = (dense_log_softmax if log else dense_softmax)(v, d - array.sparse_dim + 1)
        else:
            values = _of_groups(v, _groups(array, d), log)
        return build(array.indices, values, array.shape, True)

    return recompute("SparseLogSoftmaxBackward0" if log else "SparseSoftmaxBackward0", name, (x,), compute)


def _groups(a: Any, d: int) -> Any:
    """Return, for each value, the number of its group: values that share all coordinates except one."""
    rest = a.like(a.values, indices=np.delete(a.indices, d, 0), shape=(*a.shape[:d], *a.shape[d + 1 :]))
    return np.unique(rest.keys(), return_inverse=True)[1].reshape((-1,))


def _of_groups(v: Any, group: Any, log: bool) -> Any:
    """Compute softmax of each group of values."""
    if not len(group):
        return v * 1
    count, where = int(group.max()) + 1, wrap(group)
    rows = where.reshape(-1, *(1,) * (v.ndim - 1)).expand(v.shape)
    largest = v.detach().new_full((count, *v.shape[1:]), -math.inf).scatter_reduce(0, rows, v.detach(), "amax")
    shifted = v - largest.index_select(0, where)
    total = shifted.exp().new_zeros((count, *v.shape[1:])).index_add(0, where, shifted.exp()).index_select(0, where)
    return shifted - total.log() if log else shifted.exp() / total


def sparse_softmax(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Compute ``torch.sparse.softmax`` over the stored elements along a dimension; the others are minus infinity.

    :param input: a sparse tensor of floating dtype.
    :param dim: the dimension, counted from the end if negative.
    :param dtype: cast to this dtype first.
    :returns: a sparse tensor of the shape of ``input``, with the same stored elements.
    :raises RuntimeError: ``input`` is dense, or the dtype is not floating.
    :raises IndexError: ``dim`` is out of range.

    >>> torch.sparse.softmax(torch.tensor([[1., 0.], [2., 2.]]).to_sparse(), 1).to_dense()
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])
    """
    return _softmax("softmax", input, dim, dtype, log=False)  # type: ignore[no-any-return]


def sparse_log_softmax(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Compute ``torch.sparse.log_softmax``: the logarithm of ``softmax``.

    :param input: a sparse tensor of floating dtype.
    :param dim: the dimension, counted from the end if negative.
    :param dtype: cast to this dtype first.
    :returns: a sparse tensor of the shape of ``input``, with the same stored elements.
    :raises RuntimeError: ``input`` is dense, or the dtype is not floating.
    :raises IndexError: ``dim`` is out of range.

    >>> torch.sparse.log_softmax(torch.tensor([[1., 0.], [2., 2.]]).to_sparse(), 1).to_dense()
    tensor([[ 0.0000,  0.0000],
            [-0.6931, -0.6931]])
    """
    return _softmax("log_softmax", input, dim, dtype, log=True)  # type: ignore[no-any-return]
