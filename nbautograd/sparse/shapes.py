"""Transposing, joining and slicing of sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.memory_format import sparse_coo
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.core.sparse import refuse, stored, wrapped
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd.sparse.registry import handles, is_sparse, recompute, record
from nbautograd.sparse.tensors import build, coalesce, values_of

__all__ = ["cat", "permute", "stack", "t"]


def _of_coordinates(name: str, input: Any) -> Any:
    array = stored(input)
    if array.kind is not sparse_coo:
        refuse(name, array.kind)
    return array


# -- transposed --------------------------------------------------------------------------------------------------------


def _permuted(input: Any, order: Sequence[int], node: str) -> Any:
    """Return the tensor with its dimensions in another order; sparse ones stay in front."""
    array = stored(input)
    sparse = array.sparse_dim
    if sorted(order[:sparse]) != list(range(sparse)):
        raise RuntimeError(
            f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {sparse}, order: {list(order)}"
        )
    dense = [0, *(d - sparse + 1 for d in order[sparse:])]
    unchanged = list(order[:sparse]) == list(range(sparse))
    result = array.like(
        array.values.transpose(dense),
        indices=array.indices if unchanged else np.stack([array.indices[d] for d in order[:sparse]]),
        shape=tuple(array.shape[d] for d in order),
        is_coalesced=array.is_coalesced and unchanged,
        kind=sparse_coo,
    )
    back = np.argsort(order).tolist()

    def rule(g: Any) -> tuple[Any]:
        return (_permuted(g, back, node) if is_sparse(g) else g.permute(back),)

    return record(wrapped(result), node, "ᵀ", (input,), rule)


@handles("t")
def t(input: Any) -> Any:
    """Return the transpose of a matrix.

    :raises RuntimeError: the tensor has more dimensions, or a dense one.
    """
    array = stored(input)
    if array.sparse_dim > 2 or array.dense_dim:
        raise RuntimeError(
            "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
            f"{array.sparse_dim} sparse and {array.dense_dim} dense dimensions"
        )
    return _permuted(input, range(input.ndim)[::-1], "TBackward0")


@handles("transpose swapaxes swapdims")
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Swap two dimensions, both sparse or both dense."""
    order = list(range(input.ndim))
    first, second = dimension(dim0, input.ndim), dimension(dim1, input.ndim)
    if (first < input.sparse_dim()) != (second < input.sparse_dim()) or first != second and first >= input.sparse_dim():
        raise RuntimeError(
            "sparse transpose: transposed dimensions must be sparse Got sparse_dim: "
            f"{input.sparse_dim()}, d0: {first}, d1: {second}"
        )
    order[first], order[second] = second, first
    return _permuted(input, order, "TransposeBackward0")


@handles("permute")
def permute(input: Any, *dims: Any) -> Any:
    """Return the tensor with its dimensions in another order."""
    order = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    return _permuted(input, [dimension(d, input.ndim) for d in order], "PermuteBackward0")


def _property(node: str, conjugate: bool) -> Any:
    def transposed(self: Any) -> Any:
        order = [*range(self.ndim - 2), self.ndim - 1, self.ndim - 2] if self.ndim > 1 else [0] * self.ndim
        return _permuted(self.conj() if conjugate else self, order, node)

    return property(transposed, doc="The transpose.")


def attach_properties(cls: Any) -> None:
    """Give the class of sparse tensors ``T``, ``mT``, ``H`` and ``mH``."""
    cls.T = _property("PermuteBackward0", False)
    cls.mT = _property("TransposeBackward0", False)
    cls.H = cls.mH = _property("TransposeBackward0", True)


# -- another dimension, joined -----------------------------------------------------------------------------------------


@handles("unsqueeze")
def unsqueeze(input: Any, dim: int) -> Any:
    """Return the tensor with an additional dimension of length 1."""
    array = _of_coordinates("unsqueeze", input)
    d, sparse = dimension(dim, input.ndim + 1), array.sparse_dim
    shape = (*array.shape[:d], 1, *array.shape[d:])
    if d <= sparse:
        zero = np.zeros_like(array.indices, shape=(1, array.nnz))
        indices = np.concatenate((array.indices[:d], zero, array.indices[d:]))
        result = array.like(array.values, indices=indices, shape=shape, is_coalesced=False)
    else:
        result = array.like(np.expand_dims(array.values, d - sparse + 1), shape=shape)

    def rule(g: Any) -> tuple[Any]:
        return (select(g, d, 0) if is_sparse(g) else g.squeeze(d),)

    return record(wrapped(result), "UnsqueezeBackward0", "unsqueeze", (input,), rule)


def _check_alike(arrays: list[Any], d: int) -> None:
    first = arrays[0]
    for position, array in enumerate(arrays):
        if array.sparse_dim != first.sparse_dim:
            raise RuntimeError(
                f"All tensors must have the same sparse_dim and dense_dim: tensor {position} has {array.sparse_dim}"
            )
        if (*array.shape[:d], *array.shape[d + 1 :]) != (*first.shape[:d], *first.shape[d + 1 :]):
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension), "
                f"but found shape: {list(array.shape)}  at position {position}."
            )


@handles("cat concat concatenate")
def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Join sparse tensors along a dimension.

    :raises RuntimeError: a tensor is dense, or shapes differ in another dimension.
    """
    for position, each in enumerate(tensors):
        if not is_sparse(each):
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {position}.")
    arrays = [_of_coordinates("cat", each) for each in tensors]
    first = arrays[0]
    d = dimension(dim, first.ndim)
    lengths = [array.shape[d] for array in arrays]
    shape = (*first.shape[:d], sum(lengths), *first.shape[d + 1 :])
    _check_alike(arrays, d)
    begins = np.cumsum([0, *lengths]).tolist()
    if d < first.sparse_dim:
        moved = [a.indices.copy() for a in arrays]
        for rows, begin in zip(moved, begins, strict=False):
            rows[d] += begin
        values = [a.values for a in arrays]
    else:
        moved = [a.indices for a in arrays]
        values = [np.zeros_like(a.values, shape=(a.nnz, *shape[first.sparse_dim :])) for a in arrays]
        for target, a, begin in zip(values, arrays, begins, strict=False):
            target[(slice(None),) * (d - first.sparse_dim + 1) + (slice(begin, begin + a.shape[d]),)] = a.values
    result = first.like(np.concatenate(values), indices=np.concatenate(moved, 1), shape=shape, is_coalesced=False)

    def rule(g: Any) -> list[Any]:
        parts = zip(begins, lengths, strict=False)
        return [_between(g, d, begin, count) if is_sparse(g) else g.narrow(d, begin, count) for begin, count in parts]

    return record(wrapped(result), "CatBackward0", "cat", tuple(tensors), rule)


def _between(g: Any, d: int, begin: int, length: int) -> Any:
    """Return a slice of a sparse tensor along a dimension."""
    own = coalesce(g)
    array = stored(own)
    shape = (*array.shape[:d], length, *array.shape[d + 1 :])
    if d >= array.sparse_dim:
        return build(array.indices, values_of(own).narrow(d - array.sparse_dim + 1, begin, length), shape, True)
    (kept,) = np.nonzero((array.indices[d] >= begin) & (array.indices[d] < begin + length))
    indices = array.indices[:, kept]
    indices[d] -= begin
    return build(indices, values_of(own).index_select(0, wrap(kept)), shape, True)


@handles("stack")
def stack(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Join sparse tensors along a new dimension."""
    return cat([unsqueeze(each, dim) if is_sparse(each) else each for each in tensors], dim)


# -- parts -------------------------------------------------------------------------------------------------------------


@handles("index_select")
def index_select(input: Any, dim: int, index: Tensor) -> Any:
    """Return the slices at ``index`` along a dimension.

    :raises IndexError: an index is out of range.
    """
    array = _of_coordinates("index_select", input)
    d = dimension(dim, input.ndim)
    module = backend.module(input.device)
    chosen = index.to(input.device)._a.reshape((-1,))
    length = array.shape[d]
    if chosen.size and (int(chosen.min()) < -length or int(chosen.max()) >= length):
        raise IndexError(
            f"index_select(): index contains {int(chosen.min())} to {int(chosen.max())}, that is out of range for "
            f"tensor of size {list(array.shape)} at dimension {d}"
        )
    chosen = np.where(chosen < 0, chosen + length, chosen)
    shape = (*array.shape[:d], len(chosen), *array.shape[d + 1 :])

    def compute(s: Any) -> Any:
        own = coalesce(s) if s._fn is not None else s
        a = stored(own)
        if d >= a.sparse_dim:
            values = values_of(own).index_select(d - a.sparse_dim + 1, wrap(chosen))
            return build(a.indices, values, shape, a.is_coalesced)
        order = np.argsort(a.indices[d], kind="stable")
        ordered = a.indices[d][order]
        begin, end = np.searchsorted(ordered, chosen), np.searchsorted(ordered, chosen, side="right")
        counts = end - begin
        repeats = counts.tolist()
        target = np.repeat(module.arange(len(chosen)), repeats)
        place = order[np.repeat(begin - np.cumsum(counts) + counts, repeats) + module.arange(len(target))]
        indices = a.indices[:, place]
        indices[d] = target
        return build(indices, values_of(own).index_select(0, wrap(place)), shape)

    return recompute("IndexSelectBackward0", "index", (input,), compute)


@handles("select")
def select(input: Any, dim: int, index: int) -> Any:
    """Return one slice along a dimension, which is removed; dense if no sparse dimension is left."""
    array = _of_coordinates("select", input)
    d, at = dimension(dim, input.ndim), int(index)
    length = array.shape[d]
    if not -length <= at < length:
        raise IndexError(f"select(): index {at} out of range for tensor of size {list(array.shape)} at dimension {d}")
    at %= length
    shape = (*array.shape[:d], *array.shape[d + 1 :])

    def compute(s: Any) -> Any:
        own = coalesce(s) if s._fn is not None else s
        a = stored(own)
        if d >= a.sparse_dim:
            return build(a.indices, values_of(own).select(d - a.sparse_dim + 1, at), shape, a.is_coalesced)
        (kept,) = np.nonzero(a.indices[d] == at)
        values = values_of(own).index_select(0, wrap(kept))
        if a.sparse_dim == 1:
            return values.sum(0, dtype=values.dtype)
        return build(np.concatenate((a.indices[:d], a.indices[d + 1 :]))[:, kept], values, shape, a.is_coalesced)

    return recompute("SelectBackward0", "select", (input,), compute)


@handles("unbind")
def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """Return all slices along a dimension."""
    return tuple(select(input, dim, i) for i in range(input.shape[dimension(dim, input.ndim)]))


def _in_full(keys: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    place = next((i for i, k in enumerate(keys) if k is Ellipsis), None)
    if place is None:
        return keys
    missing = ndim - sum(k is not Ellipsis and k is not None for k in keys)
    return (*keys[:place], *(slice(None),) * missing, *keys[place + 1 :])


@handles("__getitem__")
def getitem(input: Any, key: Any) -> Any:
    """Index by integers, ``...``, ``None`` and whole slices; a slice of the first dimensions is selected by index."""
    d = 0
    for each in _in_full(key if isinstance(key, tuple) else (key,), input.ndim):
        if each is None:
            input, d = unsqueeze(input, d), d + 1
        elif isinstance(each, (int, np.integer)) and not isinstance(each, bool):
            input = (select if is_sparse(input) else Tensor.select)(input, d, int(each))
        elif isinstance(each, slice):
            begin, end, step = each.indices(input.shape[d])
            if (begin, end, step) != (0, input.shape[d], 1):
                input = index_select(input, d, wrap(np.arange(begin, end, step)))
            d += 1
        elif isinstance(each, Tensor) and each.ndim == 0 and not each.is_floating_point():
            input = select(input, d, int(each))
        else:
            refuse("index", stored(input).kind)
    return input


@handles("narrow")
def narrow(input: Any, dim: int, start: int, length: int) -> Any:
    """Return a slice along a dimension."""
    return index_select(input, dim, wrap(np.arange(start, start + length)))


@handles("narrow_copy")
def narrow_copy(input: Any, dim: int, start: int, length: int) -> Any:
    """Return a slice along a dimension."""
    return narrow(input, dim, start, length)
