"""Gathering elements by indices along a dimension, by flat indices, or by a mask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.indices import as_int64, fill
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.arrays.strides import laid_as, row_major
from nbautograd._engine.compiler.op import NATIVE, OPS, composite, no_method, op
from nbautograd._engine.core.batched import refuse_dynamic
from nbautograd._engine.core.inplace import into
from nbautograd._engine.core.sparse import sparse_gradient, stored
from nbautograd._engine.core.tensor import Tensor, array_of, wrap
from nbautograd._engine.ops.creation.from_data import number_in
from nbautograd._engine.ops.indexing.indexing import own
from nbautograd._engine.ops.queries import Number, example
from nbautograd._engine.ops.shape.broadcasting import expand, joint_shape
from nbautograd._engine.ops.shape.shape import reshape
from nbautograd._names.docstrings import described

# -- along one dimension ---------------------------------------------------------------------------------------------


def along(index: Any, dim: int) -> tuple[Any, ...]:
    """Return the NumPy index of ``out[i][j] = x[index[i][j]][j]`` (for dim 0; likewise for others)."""
    grids = [np.arange(n).reshape((1,) * d + (n,) + (1,) * (index.ndim - d - 1)) for d, n in enumerate(index.shape)]
    if index.__class__ is not np.ndarray:
        grids = [np.asarray(grid, like=index) for grid in grids]
    return tuple(index if d == dim else grid for d, grid in enumerate(grids))


def check_along(name: str, a: Any, dim: int, index: Any, src_shape: tuple[int, ...] | None = None) -> int:
    """Check the index of ``gather`` and ``scatter``, and return the non-negative dimension."""
    d = dimension(dim, a.ndim)
    if index.size == 0:
        return d
    if index.dtype.char not in "ilqp":
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index, got {dtypes.of(index.dtype).name}")
    ranks = f"{name}(): Index tensor must have the same number of dimensions as"
    if max(index.ndim, 1) != max(a.ndim, 1):
        raise RuntimeError(f"{ranks} input tensor: {index.ndim} and {a.ndim}")
    shape = a.shape or (1,)
    for i, n in enumerate(index.shape):
        if i != d and n > shape[i] or src_shape is not None and n > src_shape[dimension(i, len(src_shape))]:
            limits = f"self {list(a.shape)}" + ("" if src_shape is None else f" and src {list(src_shape)}")
            raise RuntimeError(
                f"{name}(): Size does not match at dimension {i}: Expected index {list(index.shape)} to be no larger "
                f"than {limits} apart from dimension {d}"
            )
    if src_shape is not None and max(index.ndim, 1) != len(src_shape):
        raise RuntimeError(f"{ranks} src tensor: {index.ndim} and {len(src_shape)}")
    if index.min() < 0 or index.max() >= shape[d]:
        bad = int(index.min() if index.min() < 0 else index.max())
        raise RuntimeError(f"{name}(): index {bad} is out of bounds for dimension {d} with size {shape[d]}")
    return d


@op(
    symbol="gather", out=True, half=NATIVE,
    input="sparse_gather_back(g, input.shape, dim, index) if sparse_grad and input.shape and index.shape else "
    "gather_back(g, input.shape, dim, index)",
)  # fmt: skip
@example("gather([[1, 2], [3, 4]], 1, [[0, 0], [1, 0]]) -> [[1, 1], [4, 3]]")
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Gather elements along ``dim``: ``out[i][j] = input[index[i][j]][j]`` for ``dim=0``.

    :param sparse_grad: return a sparse gradient of ``input``, with the gathered elements.
    :raises RuntimeError: an index is out of bounds, or of another rank or dtype.
    """
    d = check_along("gather", input, dim, index)
    if not index.size:
        return np.zeros_like(input, shape=index.shape)
    if input.ndim == 0:
        return np.broadcast_to(input, index.shape).copy()
    if index.ndim == 0:
        return input[index]
    return row_major(input[along(index, d)])


@no_method(node="GatherBackwardBackward0", symbol="gather", input="gather(g, dim, index)")
def gather_back(input: Tensor, shape: Any, dim: int, index: Tensor) -> Tensor:
    """Compute the transpose of ``gather``: ``input`` added into zeros of ``shape`` at ``index``."""
    output = np.zeros_like(input, shape=shape)
    if not index.size:
        return output
    if not shape:
        return input.sum()
    key = along(index, dimension(dim, len(shape))) if index.ndim else (index,)
    backend.add_at(output, key, input)
    return output


def sparse_gather_back(g: Any, shape: Any, dim: int, index: Any) -> Any:
    """Return ``g`` at the gathered positions in zeros of ``shape``, as a sparse array, or tensor if ``g`` is one."""
    index, d = stored(index), dimension(dim, len(shape))
    module = backend.module(backend.device_of(index))
    rows = [module.arange(n).reshape((-1,) + (1,) * (index.ndim - i - 1)) for i, n in enumerate(index.shape)]
    rows[d] = index
    places = np.stack([np.broadcast_to(row, index.shape).reshape((-1,)) for row in rows])
    return sparse_gradient(places.astype(np.int64), g.reshape(-1), shape)


def check_vector(name: str, a: Any, dim: int, index: Any, long: bool = False) -> int:
    """Check the shape and dtype of the indices of slices along a dimension, and return the non-negative dimension."""
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim}")
    if index.dtype.char not in ("lqp" if long else "ilqp"):
        kind = "a long tensor" if long else "dtype int32 or int64"
        raise RuntimeError(f"{name}(): Expected {kind} for index, but got {dtypes.scalar_type(index.dtype)}")
    return dimension(dim, a.ndim)


def check_range(name: str, a: Any, d: int, index: Any, error: type[Exception] = IndexError) -> None:
    """Check that the indices of slices along a dimension are within it, or raise ``error``."""
    n = a.shape[d] if a.ndim else 1
    if index.size and (a.size or a.ndim < 2 or name != "index_add_") and (index.min() < 0 or index.max() >= n):
        bad = int(index.min() if index.min() < 0 else index.max())
        raise (error if n or a.ndim < 2 else RuntimeError)(
            f"{name}(): index out of range in self: index {bad} is out of bounds for dimension {d} with size {n}"
        )


def at_slices(dim: int, index: Any) -> tuple[Any, ...]:
    """Return the NumPy index of slices along a dimension."""
    return (*(slice(None),) * dim, index.reshape((-1,)))


@op(symbol="index", out=True, half=NATIVE, input="index_select_back(g, input.shape, dim, index)")
@example("index_select([[1, 2], [3, 4]], 0, [1, 1]) -> [[3, 4], [3, 4]]")
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return the slices at ``index`` along ``dim``, copied.

    :param index: 1-d, int32 or int64.
    :raises IndexError: an index is out of range, or the index has more dimensions.
    """
    d = check_vector("index_select", input, dim, index)
    check_range("index_select", input, d, index)
    if not input.ndim:
        if index.size != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        return own(input)
    return np.take(input, index.reshape((-1,)), d)


@no_method(node="IndexAddBackward0", symbol="index +", input="index_select(g, dim, index)")
def index_select_back(input: Tensor, shape: Any, dim: int, index: Tensor) -> Tensor:
    """Compute the transpose of ``index_select``: slices added into zeros of ``shape`` at ``index``."""
    if not shape:
        return input.reshape(())
    output = np.zeros_like(input, shape=shape)
    backend.add_at(output, at_slices(dimension(dim, len(shape)), index), input)
    return output


@composite(out=True)
@example("take_along_dim([[10, 30, 20]], [[1]], dim=1) -> [[30]]")
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Gather elements by indices along ``dim``, such as those of ``argmax`` and ``argsort``; shapes are broadcast.

    :param dim: by default the tensor is flattened. Along a dimension, negative indices count from the end.
    :raises RuntimeError: the indices are not int64, have another number of dimensions, or are out of range.
    """
    if indices._a.dtype.char not in ("lqp" if dim is not None else "lqpi"):  # without dim, gather's rule holds
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {dtypes.scalar_type(indices.dtype)}"
        )
    if dim is None:
        return gather(reshape(input, -1), 0, reshape(indices, -1))  # PyTorch counts none from the end here
    if input._a.ndim != indices._a.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input._a.ndim} dimensions for input, and {indices._a.ndim} dimensions for indices"
        )
    d = dimension(dim, input._a.ndim)
    if not input._a.ndim:
        raise IndexError(f"take_along_dim(): Dimension specified as {dim} but tensor has no dimensions")
    ours = joint_shape([(*s[:d], 1, *s[d + 1 :]) for s in (input._a.shape, indices._a.shape)])
    x = expand(input, *ours[:d], input._a.shape[d], *ours[d + 1 :])
    where = expand(indices, *ours[:d], indices._a.shape[d], *ours[d + 1 :])
    return gather(x, d, where % max(1, x._a.shape[d]))


# -- by a mask -------------------------------------------------------------------------------------------------------


@op(
    symbol="mask", half=NATIVE, inplace_method=True,
    input="sum_to(masked_fill(g, mask, 0), input.shape)",
    value="cast_back(where(mask, g, zeros_of(g)).sum(), numpy_dtype(value))",
)  # fmt: skip
@example("[1., 2.].masked_fill([True, False], -1) -> [-1.,  2.]")
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number) -> Tensor:
    """Return ``input`` with ``value`` where ``mask`` is true.

    :param mask: a bool tensor, broadcast with ``input``.
    :param value: a number or a 0-d tensor.
    :raises RuntimeError: the mask is of another dtype, or does not broadcast.
    """
    if not hasattr(value, "dtype"):
        value = number_in(value, dtypes.of(input.dtype))
    check_mask("masked_fill_", mask)
    if getattr(value, "ndim", 0):
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if getattr(value, "dtype", input.dtype).kind == "c" and input.dtype.kind != "c":
        raise RuntimeError(f"value cannot be converted to type {dtypes.c_type(input.dtype)} without overflow: {value}")
    output = own(np.broadcast_to(input, joint_shape([input.shape, mask.shape])))
    fill(output, np.broadcast_to(mask, output.shape), value)
    return output


def numpy_dtype(value: Any) -> Any:
    """Return the NumPy dtype of an array or of a tensor."""
    return array_of(value).dtype


def check_mask(name: str, mask: Any) -> None:
    """Check that a mask is of dtype bool."""
    if mask.dtype.kind != "b":
        raise RuntimeError(
            f"{name} only supports boolean masks, but got mask with dtype {dtypes.c_type(mask.dtype)} ({name}: "
            "expected BoolTensor for mask)"
        )


@op(symbol="mask", out=True, half=NATIVE, input="masked_back(g, input.shape, mask)")
@example("masked_select([1, 2, 3], [True, False, True]) -> [1, 3]")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Return the elements where the bool tensor ``mask`` is true, as a 1-d tensor.

    :raises RuntimeError: the mask is of another dtype, or does not broadcast.
    """
    check_mask("masked_select", mask)
    shape = joint_shape([input.shape, mask.shape])
    return np.broadcast_to(input, shape)[np.broadcast_to(mask, shape)]


@no_method(
    node="MaskedSelectBackwardBackward0",
    symbol="mask",
    input="masked_select(expand(g, *joint(shape, mask.shape)), mask)",
)
def masked_back(input: Tensor, shape: Any, mask: Tensor) -> Tensor:
    """Compute the transpose of ``masked_select``: ``input`` in zeros of ``shape`` where the mask is true."""
    full = joint(shape, mask.shape)
    output = np.zeros_like(input, shape=full)
    output[np.broadcast_to(mask, full)] = input
    return OPS["sum_to"].body(output, shape)


def joint(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which all broadcast."""
    return joint_shape([tuple(shape) for shape in shapes])


@op(
    symbol="mask",
    inplace_method=True,
    input="sum_to(masked_fill(g, mask, 0), input.shape)",
    source="first_of(masked_select(g, mask), source.shape)",
)
@example("zeros(3).masked_scatter([True, False, True], [1., 2.]) -> [1., 0., 2.]")
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Return a copy of ``input`` whose elements where ``mask`` is true are replaced by those of ``source``, in order.

    :raises RuntimeError: ``source`` has fewer elements than the mask selects, or another dtype.
    """
    check_mask("masked_scatter_", mask)
    if source.dtype != input.dtype:
        left, right = (dtypes.scalar_type(a.dtype) for a in (input, source))
        raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes but got {left} and {right}")
    output = own(np.broadcast_to(input, joint_shape([input.shape, mask.shape])))
    chosen = np.broadcast_to(mask, output.shape)
    count = int(chosen.sum())
    if count > source.size:
        raise RuntimeError(
            f"masked_scatter: Number of elements of source < number of ones in mask: {source.size} and {count}"
        )
    output[chosen] = source.reshape((-1,))[:count]
    return output


@no_method(node="ConstantPadNdBackward0", symbol="pad", half=NATIVE, input="g.reshape(flat(shape))[:input.shape[0]]")
def first_of(input: Tensor, shape: Any) -> Tensor:
    """Return a vector as the first elements of a tensor of zeros of ``shape``."""
    output = np.zeros_like(input, shape=flat(shape))
    output[: input.shape[0]] = input
    return output.reshape(shape)


# -- by flat index ---------------------------------------------------------------------------------------------------


def _check_places(name: str, a: Any, index: Any) -> None:
    """Check that indices into a flattened array are int64 and in range."""
    if index.dtype.char not in "lqp":
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {dtypes.scalar_type(index.dtype)}")
    if index.size and not a.size:
        raise IndexError(f"{name}(): tried to {name} from an empty tensor")
    if index.size and (index.min() < -a.size or index.max() >= a.size):
        bad = int(index.min() if index.min() < -a.size else index.max())
        raise IndexError(f"{name}(): out of range: tried to access index {bad} on a tensor of {a.size} elements.")


@op(symbol="take", out=True, half=NATIVE, input="index_back(g, flat(input.shape), (index,)).reshape(input.shape)")
@example("take([[4, 3], [5, 6]], [0, 3]) -> [4, 6]")
def take(input: Tensor, index: Tensor) -> Tensor:
    """Return elements at flat indices: ``input.flatten()[index]``, in the shape of ``index``.

    :raises IndexError: an index is out of range.
    """
    _check_places("take", input, index)
    return row_major(input.reshape((-1,))[index])


def flat(shape: tuple[int, ...]) -> tuple[int]:
    """Return the shape of the flattened tensor."""
    return (math.prod(shape),)


@op(
    symbol="put",
    inplace_method=True,
    input="g if accumulate else put(g, index, zeros_of(take(g, index)))",
    source="take(g, index).reshape(source.shape)",
)
@example("put([[4, 3], [6, 7]], [1, 3], [9, 10]) -> [[ 4,  9], [ 6, 10]]")
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Return a copy with the elements at flat indices replaced by those of ``source``.

    :param accumulate: add instead of replacing; indices that occur twice are added twice.
    :raises IndexError: an index is out of range, or ``source`` has another number of elements.
    """
    if source.dtype != input.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{dtypes.scalar_type(input.dtype)} and source.dtype = {dtypes.scalar_type(source.dtype)}"
        )
    _check_places("put", input, index)
    if source.size != index.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
    output = own(input).reshape((-1,))
    values, places = source.reshape((-1,)), index.reshape((-1,))
    if accumulate:
        backend.add_at(output, (places,), values)
    else:
        output[places] = values
    return laid_as(output.reshape(input.shape), input)


# -- nonzero elements ------------------------------------------------------------------------------------------------


@composite()
@example("nonzero([0, 5, 0, 7]) -> [[1], [3]]")
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """Return the indices of the nonzero elements, shape (count, ndim); or a tuple with one tensor per dimension."""
    if as_tuple and out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    refuse_dynamic("nonzero", input)
    a = input._a
    result = as_int64(np.stack(np.nonzero(a if a.ndim else a.reshape((1,)))))
    if as_tuple:
        return tuple(wrap(part) for part in result)
    return into(out, wrap((result if a.ndim else result[:0]).T), "nonzero")  # as in PyTorch


@described
@example("unravel_index([3, 5], (2, 3)) -> ([1, 1], [0, 2])")
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Convert flat indices to a tuple of index tensors, one per dimension; indices out of range wrap around.

    :raises TypeError: the indices are not integers.
    :raises ValueError: a length is negative.
    """
    if not isinstance(indices, Tensor) or indices._a.dtype.kind not in "iu":
        kind = indices.dtype if isinstance(indices, Tensor) else type(indices).__name__
        raise TypeError(f"expected 'indices' to be integer dtype, but got {kind}")
    if not isinstance(shape, (int, Tensor, tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in lengths:
        if not isinstance(n, (int, np.integer)):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if min(lengths, default=0) < 0:
        raise ValueError(f"'shape' cannot have negative values, but got {lengths}")
    a = indices._a.astype(np.int64)
    places = np.empty_like(a, shape=(*a.shape, len(lengths)))
    for d in range(len(lengths) - 1, -1, -1):
        places[..., d] = a % max(lengths[d], 1)
        a = a // max(lengths[d], 1)
    return tuple(wrap(places[..., d]) for d in range(len(lengths)))


# -- corners ---------------------------------------------------------------------------------------------------------


@no_method(node="ConstantPadNdBackward0", symbol="pad", half=NATIVE, input="crop_like(g, input.shape)")
def pad_like(input: Tensor, shape: Any) -> Tensor:
    """Return ``input`` followed by zeros along each dimension, to ``shape``."""
    output = np.zeros_like(input, shape=shape)
    output[tuple(slice(n) for n in input.shape)] = input
    return output


@no_method(node="SliceBackward0", symbol="slice", half=NATIVE, input="pad_like(g, input.shape)")
def crop_like(input: Tensor, shape: Any) -> Tensor:
    """Return the first elements of ``input`` along each dimension, of ``shape``."""
    return own(input[tuple(slice(n) for n in shape)])
