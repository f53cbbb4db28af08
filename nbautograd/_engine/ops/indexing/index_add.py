"""Adding, copying, filling and reducing slices at indices along a dimension: ``index_add`` and similar functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.arrays.strides import copied
from nbautograd._engine.compiler.op import NATIVE, composite, no_method, op
from nbautograd._engine.core.batched import looks_at_elements
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.from_data import number_in
from nbautograd._engine.ops.indexing.gather import at_slices, check_range, check_vector, numpy_dtype  # noqa: F401 - formulas name some
from nbautograd._engine.ops.indexing.indexing import own
from nbautograd._engine.ops.indexing.scatter import EXTREME, MEAN, PROD, REDUCTIONS, refuse_complex_gradient
from nbautograd._engine.ops.queries import Number, example
from nbautograd.errors import UnsupportedDtypeError


def _check_slices(name: str, input: Any, dim: int, index: Any, source: Any, error: type[Exception] = IndexError) -> int:
    """Check that slices and their indices match, and return the non-negative dimension."""
    copies = name == "index_copy_"
    d = check_vector(name, input, dim, index, long=copies)
    if source.dtype != input.dtype:
        left, right = (dtypes.scalar_type(a.dtype) for a in (input, source))
        raise RuntimeError(
            f"{name}(): self and source expected to have the same dtype: self ({left}) and source ({right}) must have "
            "the same scalar type"
        )
    if not copies and 0 < source.ndim <= d:
        raise RuntimeError(f"{name}(): Indexing dim {d} is out of bounds of the source tensor with dim {source.ndim}")
    count = source.shape[d] if source.ndim > d else 1
    ours, theirs = ((*a.shape[:d], *a.shape[d + 1 :]) for a in (input, source))
    if count != index.size and (ours == theirs or not copies or not source.ndim):
        kind = IndexError if copies or not source.ndim else RuntimeError
        raise kind(
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): ({count}), for dim: {d}"
        )
    if ours != theirs or not copies and source.ndim != input.ndim:
        kind = IndexError if copies and input.ndim != source.ndim != 0 != input.ndim else RuntimeError
        raise kind(
            f"{name}(): source tensor shape must match self tensor shape, excluding the specified dimension. Got "
            f"self.shape = {list(input.shape)} source.shape = {list(source.shape)}"
        )
    check_range(name, input, d, index, error)
    return d


def _lines(a: Any) -> Any:
    """Return an array with at least one dimension."""
    return a if a.ndim else a.reshape((1,))


@op(
    symbol="index +", inplace_method=True, out=True,
    input="g",
    source="index_select(g, dim, index).reshape(source.shape) * alpha",
)  # fmt: skip
@example("zeros(2, 2).index_add(0, [1, 1], torch.ones(2, 2)) -> [[0., 0.], [2., 2.]]")
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
    """Return a copy of ``input`` with ``alpha * source`` added to the slices at ``index`` along ``dim``.

    :raises RuntimeError: an index is out of bounds, or a shape or a dtype differs.
    """
    d = _check_slices("index_add_", input, dim, index, source, IndexError if input.ndim < 2 else RuntimeError)
    if isinstance(alpha, float) and input.dtype.kind in "iub":
        raise RuntimeError(
            f"index_add_(): For integral input tensors, argument alpha must not be a floating point number, got {alpha}"
        )
    output = own(input)
    values = source if alpha == 1 else source * source.dtype.type(number_in(alpha, dtypes.of(source.dtype)))
    if output.size:
        backend.add_at(_lines(output), at_slices(d, index), _lines(values))
    return output


@op(
    symbol="index =", inplace_method=True, out=True, half=NATIVE,
    input="index_fill(g, dim, index, 0)",
    source="index_select(g, dim, index).reshape(source.shape)",
)  # fmt: skip
@example("zeros(2, 2).index_copy(0, [1], torch.ones(1, 2)) -> [[0., 0.], [1., 1.]]")
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Return a copy of ``input`` with the slices at ``index`` along ``dim`` replaced by those of ``source``.

    :raises IndexError: an index is out of bounds, or the number of slices differs.
    """
    d = _check_slices("index_copy_", input, dim, index, source)
    output = own(input)
    _lines(output)[at_slices(d, index)] = _lines(source)
    return output


@op(
    symbol="index =", half=NATIVE, inplace_method=True,
    input="index_fill(g, dim, index, 0)",
    value="cast_back(index_select(g, dim, once(index, input.shape, dim)).sum(), numpy_dtype(value))",
)  # fmt: skip
@example("zeros(2, 2).index_fill(0, [1], 5) -> [[0., 0.], [5., 5.]]")
def index_fill(input: Tensor, dim: int, index: Tensor, value: Tensor | Number) -> Tensor:
    """Return a copy of ``input`` with the slices at ``index`` along ``dim`` filled with one value.

    :param value: a number or a 0-d tensor.
    :raises IndexError: an index is out of bounds.
    """
    if getattr(value, "ndim", 0):
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if index.dtype.char not in "lqp":
        raise IndexError(f"index_fill_(): Expected dtype int64 for index, got {dtypes.of(index.dtype).name}")
    if index.ndim > 1:
        raise RuntimeError(f"index_fill_(): Index has to be a vector/scalar, got one of {index.ndim} dimensions")
    kind = value.dtype.kind if hasattr(value, "dtype") else "c" if isinstance(value, complex) else ""
    if kind == "c" and input.dtype.kind != "c":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    d = dimension(dim, input.ndim)
    n = input.shape[d] if input.ndim else 1
    if index.size and (index.min() < -n or index.max() >= n):
        raise IndexError(f"index {int(index.max())} is out of bounds for dimension {d} with size {n}")
    output = copied(input)
    _lines(output)[at_slices(d, index)] = value if kind else number_in(value, dtypes.of(input.dtype))
    return output


@no_method()
def once(index: Tensor, shape: Any, dim: int) -> Tensor:
    """Return the distinct indices along a dimension, as non-negative numbers."""
    return np.unique(index.reshape((-1,)) % (shape[dim] if shape else 1))


@no_method()
def spread_index(index: Tensor, shape: Any, dim: int) -> Tensor:
    """Return a vector of indices along a dimension, expanded to the index of ``scatter``."""
    return np.broadcast_to(index.reshape((-1,) + (1,) * (len(shape) - dim - 1)), shape) if shape else index.reshape(())


INDEX_REDUCTIONS = {
    reduce: op(node="IndexReduceBackward0", symbol=f"scatter_{reduce}", name=f"index_{reduce}", method=False, **back)(
        REDUCTIONS[reduce].__wrapped__
    )
    for reduce, back in (("prod", PROD), ("mean", MEAN), ("amax", EXTREME), ("amin", EXTREME))
}


@looks_at_elements
def _index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor) -> int:
    return _check_slices("index_reduce", input._a, dim, index._a, source._a)


@composite(inplace_method=True, out=True)
@example('ones(2).index_reduce(0, [0, 0], [2., 3.], "prod") -> [6., 1.]')
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Return a copy of ``input`` with the slices of ``source`` reduced into those at ``index`` along ``dim``.

    :param reduce: ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
    :param include_self: include the slices of ``input`` in the reduction.
    :raises RuntimeError: a shape or a dtype differs, or ``reduce`` is unknown.
    :raises IndexError: an index is out of bounds.
    """
    if reduce not in INDEX_REDUCTIONS:
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    d = _index_reduce(input, dim, index, source)
    if input.is_complex() and reduce in ("amax", "amin") and source.numel():
        name = "maximum" if reduce == "amax" else "minimum"
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{dtypes.scalar_type(input.dtype)}'")
    if input._a.dtype.kind == "b":
        raise NotImplementedError("\"index_func_\" not implemented for 'Bool'")
    if input.is_complex() and input._a.ndim < 2 and source._a.size:
        raise UnsupportedDtypeError("index_reduce", input.dtype, "bif")
    refuse_complex_gradient("index_reduce", input, source)
    if input.is_complex() and not include_self:
        raise UnsupportedDtypeError("index_reduce", input.dtype, "bif")
    return INDEX_REDUCTIONS[reduce](input, d, spread_index(index, source._a.shape, d), source, include_self)
