"""``x[...]`` and ``x[...] = ...``, and choosing elements by their indices or by a mask."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbautograd import backend, dtypes
from nbautograd.declare import KEPT, OPS, VIEW, composite, op
from nbautograd.errors import SCALAR_TYPES, DtypeError, ShapeError
from nbautograd.grad_mode import is_grad_enabled
from nbautograd.inplace import check_writable, into, store
from nbautograd.ops.creation import copy, tensor
from nbautograd.ops.parts import select, slice_
from nbautograd.ops.shape import expand, joint_shape, reshape, unsqueeze, view
from nbautograd.size import dimension
from nbautograd.storage import record_write
from nbautograd.tensor import Tensor, array_of, wrap

__all__ = [
    "gather",
    "index_put",
    "index_put_",
    "index_select",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "nonzero",
    "put",
    "take",
    "take_along_dim",
    "unravel_index",
]

Number = int | float | complex | bool


# -- reading ---------------------------------------------------------------------------------------------------------


def _items(x: Tensor, key: Any) -> list[Any]:
    """The parts of an index, one per dimension (and None for new ones), the ellipsis written out."""
    items = list(key) if isinstance(key, tuple) else [key]
    used = sum(_width(item) for item in items)
    n = x._a.ndim
    if used > n:
        raise IndexError(f"too many indices for tensor of dimension {n}")
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    for i in reversed(dots):  # the first stands for all dimensions that are left, further ones for none
        items[i : i + 1] = [slice(None)] * (n - used if i == dots[0] else 0)
    return items


def _width(item: Any) -> int:
    """How many dimensions a part of an index uses up."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, Tensor):
        return int(item._a.ndim) if item._a.dtype.char in "?B" else 1
    if isinstance(item, np.ndarray) and item.dtype.kind == "b":
        return int(item.ndim)
    return 1


def _as_tuple(key: Any) -> Any:
    """The index, a list of which is read as a tuple where PyTorch does so."""
    several = (Tensor, slice, list, tuple, range, np.ndarray)
    if (
        isinstance(key, list)
        and len(key) < 32
        and any(k is None or k is Ellipsis or isinstance(k, several) for k in key)
    ):
        warnings.warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(key)] instead of "
            "x[key], or x[torch.tensor(key)] where one index of several dimensions is meant.",
            UserWarning,
            stacklevel=3,
        )
        return tuple(key)
    return key


def _is_integer(item: Any) -> bool:
    """Whether a part of an index chooses one slice of a dimension."""
    if isinstance(item, Tensor):
        return item._a.ndim == 0 and item._a.dtype.kind in "iu" and item._a.dtype.char != "B"
    return isinstance(item, (int, np.integer)) and not isinstance(item, bool)


def _index_array(item: Any, like: Tensor) -> Any:
    """A part of an index that chooses elements, as an array on the device of ``like``."""
    if isinstance(item, Tensor):
        found = item._a
        if found.dtype.kind not in "iub":
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if found.dtype.char == "B":
            warnings.warn(
                "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
                UserWarning,
                stacklevel=4,
            )
            found = found.astype(np.bool_)
        if found.dtype.kind == "b" and not found.ndim:
            found = found.reshape((1,))
        here = backend.device_of(found) == like.device
        return found if here else backend.module(like.device).asarray(backend.fetch(found))
    if isinstance(item, (bool, np.bool_)):
        return backend.module(like.device).asarray(np.array([item]))
    if isinstance(item, (list, tuple, range, np.ndarray)):
        found = np.asarray(item)
        if found.size == 0:
            found = found.astype(np.int64)
        if found.dtype.kind not in "iub":
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return backend.module(like.device).asarray(found)
    kind = TypeError if isinstance(item, str) else IndexError
    raise kind(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
        f"(got {type(item).__name__})"
    )


def _get(x: Tensor, key: Any) -> Tensor:
    """``x[key]``: a view for integers, slices, None and the ellipsis, otherwise a copy of the chosen elements."""
    if key.__class__ is int:
        return _select(x, 0, key)
    if key.__class__ is list:
        key = _as_tuple(key)
    part, chosen = (x, None) if key is Ellipsis else _resolve(x, _items(x, key))
    if chosen is not None:
        return index(part, chosen)
    return view_alias(x) if part is x else part


def _resolve(x: Tensor, items: list[Any]) -> tuple[Tensor, Any]:
    """One view after another for what is basic in an index; then the arrays, if there are any, that choose from it."""
    dim, key, chooses = 0, [], False
    for item in items:
        if item is None:
            x = unsqueeze(x, dim)
        elif isinstance(item, slice):
            if item != slice(None) or len(items) == 1:
                x = slice_(x, dim, *_bounds(item, x._a.shape[dim]))
        elif _is_integer(item):
            x = _select(x, dim, operator.index(item))
            continue
        else:
            found = _index_array(item, x)
            if isinstance(item, (bool, np.bool_)) or isinstance(item, Tensor) and not item._a.ndim:
                x = unsqueeze(x, dim)
            chooses = True
            key.append(found)
            dim += found.ndim if found.dtype.kind == "b" else 1
            continue
        key.append(slice(None))
        dim += 1
    if not chooses:
        return x, None
    chosen = tuple(key)
    _check_bounds(chosen, x._a.shape)
    return x, chosen


def _select(x: Tensor, dim: int, i: int) -> Tensor:
    shape = x._a.shape
    if not shape:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim tensor to a number"
        )
    if not -shape[dim] <= i < shape[dim]:
        raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {shape[dim]}")
    return select(x, dim, i)


def _bounds(item: slice, length: int) -> tuple[int, int, int]:
    step = 1 if item.step is None else operator.index(item.step)
    if step <= 0:
        raise ValueError("step must be greater than zero" if step else "slice step cannot be zero")
    start, stop, _ = slice(*(None if v is None else operator.index(v) for v in (item.start, item.stop))).indices(length)
    return start, max(start, stop), step


def view_alias(x: Tensor) -> Tensor:
    """The tensor under another name, sharing its memory."""
    return _alias(x)


@op(node="AliasBackward0", symbol="alias", kind=VIEW, method=False, input="g")
def _alias(input: Tensor) -> Tensor:
    """The same memory."""
    return input.view()


def _check_bounds(key: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    """Make sure that indices are in range, masks fit, and all broadcast.

    :raises IndexError: one is not.
    """
    dim = 0
    arrays = []
    for item in key:
        if item.__class__ is slice:
            dim += 1
        elif item.dtype.kind == "b":
            for i, n in enumerate(item.shape):
                if n != shape[dim + i]:
                    raise IndexError(
                        f"The shape of the mask {list(item.shape)} at index {i} does not match the shape of the "
                        f"indexed tensor {list(shape)} at index {dim + i}"
                    )
            dim += item.ndim
        else:
            if item.size:
                low, high = item.min(), item.max()
                if low < -shape[dim] or high >= shape[dim]:
                    bad = int(high if high >= shape[dim] else low)
                    raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {shape[dim]}")
            arrays.append(item)
            dim += 1
    if len(arrays) > 1:
        try:
            joint_shape([a.shape for a in arrays])
        except ShapeError:
            shapes = ", ".join(str(list(a.shape)) for a in arrays)
            raise IndexError(
                f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
            ) from None


@op(node="IndexBackward0", symbol="index", method=False, half=KEPT, input="index_back(g, input.shape, key)")
def index(input: Tensor, key: Any) -> Tensor:
    """The elements chosen by arrays of indices or a mask, copied."""
    return input[tuple(array_of(item) for item in key)]


@op(node="IndexBackwardBackward0", symbol="index", method=False, input="index(g, key)")
def index_back(input: Tensor, shape: Any, key: Any) -> Tensor:
    """Zeros of ``shape`` to which ``input`` is added where ``index`` looked: its gradient."""
    found = np.zeros_like(input, shape=shape)
    key = tuple(array_of(item) for item in key)
    if all(item.__class__ is slice or item.dtype.kind == "b" for item in key):
        found[key] = input  # a mask names no element twice
    else:
        backend.add_at(found, key, input)
    return found


Tensor.__getitem__ = _get


# -- writing ---------------------------------------------------------------------------------------------------------


def _set(x: Tensor, key: Any, value: Any) -> None:
    """``x[key] = value``, recorded where x or value requires grad."""
    if key.__class__ is list:
        key = _as_tuple(key)
    value = _assigned(x, value)
    whole = key is Ellipsis or isinstance(key, tuple) and not key
    part, chosen = (x, None) if whole else _resolve(x, _items(x, key))
    if chosen is None:
        check_writable(part, "index assignment")
        store(part, copy(part, _fitting(value, part._a.shape)))
        return
    shape = value._a.shape
    if shape and shape[0] == 1:  # leading lengths of 1 may be more than there are dimensions
        extra = next((d for d, n in enumerate(shape) if n != 1), len(shape))
        value = view(value, *shape[extra:])
    if value._a.dtype != part._a.dtype:
        raise DtypeError(_dtypes_differ(part, value))
    check_writable(part, "index assignment")
    if is_grad_enabled() and not (part._fn is None and value._fn is None):
        store(part, put_at(part, value, chosen, False))
        return
    target = part.shared_array()
    _assign(target, chosen, value._a)
    record_write(target)


def _assigned(x: Tensor, value: Any) -> Tensor:
    """What is assigned, as a tensor."""
    if isinstance(value, Tensor):
        return value
    if not isinstance(value, (int, float, complex, np.generic)):
        raise TypeError(
            f"can't assign a {type(value).__name__} to a tensor of dtype {x.dtype!r}: give a number or Tensor"
        )
    return number_as(value, x.dtype, x.device)


def number_as(value: Any, kind: dtypes.dtype, place: Any) -> Tensor:
    """A number as a 0-d tensor of a dtype.

    :raises RuntimeError: it is complex, and the dtype is not.
    """
    if isinstance(value, (complex, np.complexfloating)) and not kind.is_complex:
        raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow: {value}")
    if kind.rank == 1 and isinstance(value, (float, np.floating)):
        value = int(value)
    return tensor(value, dtype=kind, device=place)


def _dtypes_differ(destination: Tensor, source: Tensor) -> str:
    left, right = (SCALAR_TYPES[t.dtype.name] for t in (destination, source))
    return (
        f"Index put requires the source and destination dtypes match, got {left} for the destination and {right} for "
        "the source."
    )


def _fitting(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The value without leading dimensions of length 1 that its target lacks, once it is known to broadcast."""
    have = value._a.shape
    while len(have) > len(shape) and have[0] == 1:
        have = have[1:]
    padded = (1,) * (len(shape) - len(have)) + have
    if len(have) > len(shape) or any(n not in (1, m) for n, m in zip(padded, shape, strict=True)):
        raise ShapeError(
            f"shape mismatch: value tensor of shape {list(value._a.shape)} cannot be broadcast to indexing result of "
            f"shape {list(shape)}: The expanded size must match the existing size at each non-singleton dimension"
        )
    return value if have == value._a.shape else view(value, *have)


def _assign(target: Any, key: Any, values: Any) -> None:
    """``target[key] = values``.

    :raises ShapeError: the values do not broadcast.
    """
    shape = target[key].shape
    padded = (1,) * (len(shape) - values.ndim) + values.shape
    if values.ndim > len(shape) or any(n not in (1, m) for n, m in zip(padded, shape, strict=True)):
        raise ShapeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of "
            f"shape {list(shape)}"
        )
    target[key] = np.broadcast_to(values, shape)


def own(a: Any) -> Any:
    """A copy of an array that can be written to, of a scalar too."""
    return np.array(a) if isinstance(a, np.generic) else a.copy()


@op(
    node="IndexPutBackward0",
    symbol="[…]=",
    method=False,
    input="g if accumulate else zero_at(g, key)",
    values="cast_back(sum_to(index(g, key), values.shape), values.dtype)",
)
def put_at(input: Tensor, values: Tensor, key: Any, accumulate: bool) -> Tensor:
    """A copy of ``input`` with the elements at ``key`` replaced, or added to."""
    found = own(input)
    if accumulate:
        shape = input[key].shape
        joint_shape([shape, values.shape])
        backend.add_at(found, key, np.broadcast_to(values, shape))
    else:
        _assign(found, key, values)
    return found


@op(node="IndexPutBackward0", symbol="[…]=", method=False, half=KEPT, input="zero_at(g, key)")
def zero_at(input: Tensor, key: Any) -> Tensor:
    """A copy of ``input`` with zeros at ``key``."""
    found = own(input)
    found[key] = 0
    return found


Tensor.__setitem__ = _set


def _delete(x: Tensor, key: Any) -> None:
    raise TypeError("Tensor does not support deleting items")


Tensor.__delitem__ = _delete


@composite(inplace_method=True)
def index_put(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with the elements at ``indices`` replaced: ``x[indices] = values``.

    :param indices: integer or bool tensors, one for each of the first dimensions.
    :param accumulate: add instead of replacing, an element that is named twice twice.
    :raises IndexError: an index is out of bounds.
    :raises RuntimeError: the values do not broadcast, or are of another dtype.

    >>> import nbautograd as torch
    >>> torch.zeros(3).index_put((torch.tensor([0, 0]),), torch.tensor([1., 2.]), accumulate=True)
    tensor([3., 0., 0.])
    """
    if isinstance(indices, Tensor) or not isinstance(indices, (tuple, list)):
        raise TypeError(f"index_put(): argument 'indices' must be tuple of Tensors, not {type(indices).__name__}")
    for i, item in enumerate(indices):
        if not isinstance(item, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(item).__name__}")
    if values.dtype is not input.dtype:
        raise DtypeError(_dtypes_differ(input, values))
    key = tuple(_index_array(item, input) for item in indices)
    if sum(_width(item) for item in indices) > input._a.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input._a.ndim} (got {len(indices)})")
    _check_bounds(key, input._a.shape)
    found: Tensor = put_at(input, values, key, accumulate)
    return found


index_put_ = Tensor.index_put_


# -- along one dimension ---------------------------------------------------------------------------------------------


def along(index: Any, dim: int) -> tuple[Any, ...]:
    """The full index of ``out[i][j] = x[index[i][j]][j]`` (for dim 0) and the like."""
    grids = [np.arange(n).reshape((1,) * d + (n,) + (1,) * (index.ndim - d - 1)) for d, n in enumerate(index.shape)]
    if index.__class__ is not np.ndarray:
        grids = [np.asarray(grid, like=index) for grid in grids]
    return tuple(index if d == dim else grid for d, grid in enumerate(grids))


def check_along(name: str, a: Any, dim: int, index: Any, src_shape: tuple[int, ...] | None = None) -> int:
    """The dimension, once the index is known to fit.

    :raises RuntimeError: a dtype, rank, shape or entry does not.
    """
    d = dimension(dim, a.ndim)
    if index.size == 0:
        return d
    if index.dtype.char not in "ilqp":
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index, got {dtypes.of(index.dtype).name}")
    if max(index.ndim, 1) != max(a.ndim, 1):
        raise RuntimeError(
            f"{name}(): Index tensor must have the same number of dimensions as input tensor: {index.ndim} and {a.ndim}"
        )
    if src_shape is not None and max(index.ndim, 1) != max(len(src_shape), 1):
        raise RuntimeError(
            f"{name}(): Index tensor must have the same number of dimensions as src tensor: {index.ndim} and "
            f"{len(src_shape)}"
        )
    shape = a.shape or (1,)
    for i, n in enumerate(index.shape):
        if i != d and n > shape[i] or src_shape is not None and n > (src_shape or (1,))[i]:
            limits = f"self {list(a.shape)}" + ("" if src_shape is None else f" and src {list(src_shape)}")
            raise RuntimeError(
                f"{name}(): Size does not match at dimension {i}: Expected index {list(index.shape)} to be no larger "
                f"than {limits} apart from dimension {d}"
            )
    if index.min() < 0 or index.max() >= shape[d]:
        bad = int(index.min() if index.min() < 0 else index.max())
        raise RuntimeError(f"{name}(): index {bad} is out of bounds for dimension {d} with size {shape[d]}")
    return d


@op(node="GatherBackward0", symbol="gather", out=True, half=KEPT, input="gather_back(g, input.shape, dim, index)")
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """``out[i][j] = input[index[i][j]][j]`` for ``dim=0``, and the like for other dimensions.

    :param sparse_grad: not supported.
    :raises RuntimeError: an index is out of bounds, or of another rank or dtype.

    >>> import nbautograd as torch
    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    if sparse_grad:
        raise NotImplementedError("gather(): sparse_grad=True is not supported: there are no sparse tensors")
    d = check_along("gather", input, dim, index)
    if not index.size:
        return np.zeros_like(input, shape=index.shape)
    if input.ndim == 0:
        return np.broadcast_to(input, index.shape).copy()
    if index.ndim == 0:
        return input[index]
    return input[along(index, d)]


@op(node="GatherBackwardBackward0", symbol="gather", method=False, input="gather(g, dim, index)")
def gather_back(input: Tensor, shape: Any, dim: int, index: Tensor) -> Tensor:
    """Zeros of ``shape`` to which ``input`` is added where ``gather`` looked: its gradient."""
    found = np.zeros_like(input, shape=shape)
    if not index.size:
        return found
    if not shape:
        return input.sum()
    key = along(index, dimension(dim, len(shape))) if index.ndim else (index,)
    backend.add_at(found, key, input)
    return found


def check_vector(name: str, a: Any, dim: int, index: Any, error: type[Exception] = RuntimeError) -> int:
    """The dimension, once an index of slices along it is known to be a vector of integers in range.

    :raises error: an entry is out of range.
    """
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim}")
    if index.dtype.char not in "ilqp":
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index, got {dtypes.of(index.dtype).name}")
    d = dimension(dim, a.ndim)
    n = a.shape[d] if a.ndim else 1
    if index.size and (index.min() < 0 or index.max() >= n):
        bad = int(index.min() if index.min() < 0 else index.max())
        raise error(
            f"{name}(): index out of range in self: index {bad} is out of bounds for dimension {d} with size {n}"
        )
    return d


def at_slices(dim: int, index: Any) -> tuple[Any, ...]:
    """The full index of slices along a dimension."""
    return (*(slice(None),) * dim, index.reshape((-1,)))


@op(
    node="IndexSelectBackward0",
    symbol="index",
    out=True,
    half=KEPT,
    input="index_select_back(g, input.shape, dim, index)",
)
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices at ``index``, a 1-d tensor of indices, along one dimension, copied.

    :raises IndexError: one is out of range, or the index has more dimensions.

    >>> import nbautograd as torch
    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 0, torch.tensor([1, 1]))
    tensor([[3, 4],
            [3, 4]])
    """
    d = check_vector("index_select", input, dim, index, IndexError)
    if not input.ndim:
        if index.size != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        return own(input)
    return np.take(input, index.reshape((-1,)), d)


@op(node="IndexAddBackward0", symbol="index +", method=False, input="index_select(g, dim, index)")
def index_select_back(input: Tensor, shape: Any, dim: int, index: Tensor) -> Tensor:
    """Zeros of ``shape`` to which slices are added at ``index``: the gradient of ``index_select``."""
    if not shape:
        return input.reshape(())
    found = np.zeros_like(input, shape=shape)
    backend.add_at(found, at_slices(dimension(dim, len(shape)), index), input)
    return found


@composite(out=True)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Elements by their place along a dimension, as ``argmax`` and ``argsort`` give it.

    :param dim: by default the place is that in the flattened tensor. An index wraps around.
    :raises RuntimeError: the indices are not int64, or of another number of dimensions.

    >>> import nbautograd as torch
    >>> torch.take_along_dim(torch.tensor([[10, 30, 20]]), torch.tensor([[1]]), dim=1)
    tensor([[30]])
    """
    if indices._a.dtype.char not in "lqp":
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype!r}")
    if dim is None:
        x, where, d = reshape(input, -1), reshape(indices, -1), 0
    else:
        if input._a.ndim != indices._a.ndim:
            raise RuntimeError(
                "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
                f"{input._a.ndim} dimensions for input, and {indices._a.ndim} dimensions for indices"
            )
        d = dimension(dim, input._a.ndim)
        if not input._a.ndim:
            return gather(input, 0, wrap(indices._a * 0))
        ours = joint_shape([_but(s, d) for s in (input._a.shape, indices._a.shape)])
        x = expand(input, *ours[:d], input._a.shape[d], *ours[d + 1 :])
        where = expand(indices, *ours[:d], indices._a.shape[d], *ours[d + 1 :])
    return gather(x, d, wrap(where._a % max(1, x._a.shape[d])))


def _but(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (*shape[:dim], 1, *shape[dim + 1 :])


# -- by a mask -------------------------------------------------------------------------------------------------------


@op(
    node="MaskedFillBackward0",
    symbol="mask",
    inplace_method=True,
    input="sum_to(masked_fill(g, mask, 0), input.shape)",
    value="cast_back(where(mask, g, zeros_of(g)).sum(), numpy_dtype(value))",
)
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number) -> Tensor:
    """``value`` where the bool tensor ``mask``, broadcast, is true; ``input`` elsewhere.

    :param value: a number or a 0-d tensor.
    :raises RuntimeError: the mask is of another dtype, or does not broadcast.

    >>> import nbautograd as torch
    >>> torch.tensor([1., 2.]).masked_fill(torch.tensor([True, False]), -1)
    tensor([-1.,  2.])
    """
    check_mask("masked_fill_", mask)
    if getattr(value, "ndim", 0):
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    kind = value.dtype.kind if hasattr(value, "dtype") else "c" if isinstance(value, complex) else ""
    if kind == "c" and input.dtype.kind != "c":
        raise RuntimeError(f"value cannot be converted to type {dtypes.of(input.dtype).name} without overflow: {value}")
    found = own(np.broadcast_to(input, joint_shape([input.shape, mask.shape])))
    found[np.broadcast_to(mask, found.shape)] = value
    return found


def numpy_dtype(value: Any) -> Any:
    """The NumPy dtype of an array or of a tensor."""
    return array_of(value).dtype


def check_mask(name: str, mask: Any) -> None:
    """Make sure that a mask is of bools.

    :raises RuntimeError: it is not.
    """
    if mask.dtype.kind != "b":
        raise RuntimeError(
            f"{name}: only supports boolean masks (expected BoolTensor for mask), but got mask with dtype "
            f"{dtypes.of(mask.dtype).name}"
        )


@op(node="MaskedSelectBackward0", symbol="mask", out=True, half=KEPT, input="masked_back(g, input.shape, mask)")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the bool tensor ``mask`` is true, in one dimension.

    :raises RuntimeError: the mask is of another dtype, or does not broadcast.

    >>> import nbautograd as torch
    >>> torch.masked_select(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))
    tensor([1, 3])
    """
    check_mask("masked_select", mask)
    shape = joint_shape([input.shape, mask.shape])
    return np.broadcast_to(input, shape)[np.broadcast_to(mask, shape)]


@op(
    node="MaskedSelectBackwardBackward0",
    symbol="mask",
    method=False,
    input="masked_select(expand(g, *joint(shape, mask.shape)), mask)",
)
def masked_back(input: Tensor, shape: Any, mask: Tensor) -> Tensor:
    """Zeros of ``shape`` with ``input`` where the mask chose: the gradient of ``masked_select``."""
    full = joint(shape, mask.shape)
    found = np.zeros_like(input, shape=full)
    found[np.broadcast_to(mask, full)] = input
    return OPS["sum_to"].body(found, shape)


def joint(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that all broadcast to."""
    return joint_shape([tuple(shape) for shape in shapes])


@op(
    node="MaskedScatterBackward0",
    symbol="mask",
    inplace_method=True,
    input="sum_to(masked_fill(g, mask, 0), input.shape)",
    source="first_of(masked_select(g, mask), source.shape)",
)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The elements where the bool tensor ``mask`` is true replaced by those of ``source``, one after the other.

    :raises RuntimeError: ``source`` has fewer elements than are replaced, or another dtype.

    >>> import nbautograd as torch
    >>> torch.zeros(3).masked_scatter(torch.tensor([True, False, True]), torch.tensor([1., 2.]))
    tensor([1., 0., 2.])
    """
    check_mask("masked_scatter_", mask)
    if source.dtype != input.dtype:
        left, right = (SCALAR_TYPES[dtypes.of(a.dtype).name] for a in (input, source))
        raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes but got {left} and {right}")
    found = own(np.broadcast_to(input, joint_shape([input.shape, mask.shape])))
    chosen = np.broadcast_to(mask, found.shape)
    count = int(chosen.sum())
    if count > source.size:
        raise RuntimeError(
            f"masked_scatter: Number of elements of source < number of ones in mask: {source.size} and {count}"
        )
    found[chosen] = source.reshape((-1,))[:count]
    return found


@op(
    node="ConstantPadNdBackward0",
    symbol="pad",
    method=False,
    half=KEPT,
    input="g.reshape(flat(shape))[:input.shape[0]]",
)
def first_of(input: Tensor, shape: Any) -> Tensor:
    """A vector as the first elements of zeros of ``shape``."""
    found = np.zeros_like(input, shape=flat(shape))
    found[: input.shape[0]] = input
    return found.reshape(shape)


# -- by the place in the flattened tensor ----------------------------------------------------------------------------


def _check_places(name: str, a: Any, index: Any) -> None:
    """Make sure that indices into a flattened array are int64 and in range.

    :raises IndexError: one is out of range.
    """
    if index.dtype.char not in "lqp":
        raise RuntimeError(
            f"{name}(): Expected a long tensor for index, but got {SCALAR_TYPES[dtypes.of(index.dtype).name]}"
        )
    if index.size and not a.size:
        raise IndexError(f"{name}(): tried to {name} from an empty tensor")
    if index.size and (index.min() < -a.size or index.max() >= a.size):
        bad = int(index.min() if index.min() < -a.size else index.max())
        raise IndexError(f"{name}(): out of range: tried to access index {bad} on a tensor of {a.size} elements.")


@op(
    node="TakeBackward0",
    symbol="take",
    out=True,
    half=KEPT,
    input="index_back(g, flat(input.shape), (index,)).reshape(input.shape)",
)
def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements by their place in the flattened tensor, in the shape of ``index``.

    :raises IndexError: an index is out of range.

    >>> import nbautograd as torch
    >>> torch.take(torch.tensor([[4, 3], [5, 6]]), torch.tensor([0, 3]))
    tensor([4, 6])
    """
    _check_places("take", input, index)
    return input.reshape((-1,))[index]


def flat(shape: tuple[int, ...]) -> tuple[int]:
    """The shape with all dimensions merged."""
    return (math.prod(shape),)


@op(
    node="PutBackward0",
    symbol="put",
    inplace_method=True,
    input="g if accumulate else put(g, index, zeros_of(take(g, index)))",
    source="take(g, index).reshape(source.shape)",
)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with elements replaced, by their place in the flattened tensor.

    :param accumulate: add instead of replacing, an element that is named twice twice.
    :raises IndexError: an index is out of range, or there are not as many elements in ``source``.

    >>> import nbautograd as torch
    >>> torch.put(torch.tensor([[4, 3], [6, 7]]), torch.tensor([1, 3]), torch.tensor([9, 10]))
    tensor([[ 4,  9],
            [ 6, 10]])
    """
    if source.dtype != input.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{dtypes.of(input.dtype)!r} and source.dtype = {dtypes.of(source.dtype)!r}"
        )
    if source.size != index.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
    _check_places("put", input, index)
    found = own(input).reshape((-1,))
    values, places = source.reshape((-1,)), index.reshape((-1,))
    if accumulate:
        backend.add_at(found, (places,), values)
    else:
        found[places] = values
    return found.reshape(input.shape)


# -- where elements are ----------------------------------------------------------------------------------------------


@composite()
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """The indices of the nonzero elements: one row each, or as a tuple with a tensor per dimension.

    >>> import nbautograd as torch
    >>> torch.nonzero(torch.tensor([0, 5, 0, 7]))
    tensor([[1],
            [3]])
    """
    a = input._a
    found = np.nonzero(a if a.ndim else a.reshape((1,)))
    if as_tuple:
        return tuple(wrap(part) for part in found)
    rows = np.stack(found, 1)
    return into(out, wrap(rows if a.ndim else rows[:, :0]), "nonzero")


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Places in a flattened tensor as indices, one tensor per dimension; out of range, they wrap around.

    :raises TypeError: the indices are no integers.
    :raises ValueError: a length is negative.

    >>> import nbautograd as torch
    >>> torch.unravel_index(torch.tensor([3, 5]), (2, 3))
    (tensor([1, 1]), tensor([0, 2]))
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
    a, found = indices._a, []
    for n in reversed(lengths):
        found.append(wrap(a % max(n, 1)))
        a = a // max(n, 1)
    return tuple(reversed(found))


# -- corners ---------------------------------------------------------------------------------------------------------


@op(node="ConstantPadNdBackward0", symbol="pad", method=False, half=KEPT, input="crop_like(g, input.shape)")
def pad_like(input: Tensor, shape: Any) -> Tensor:
    """``input`` in the first corner of zeros of ``shape``."""
    found = np.zeros_like(input, shape=shape)
    found[tuple(slice(n) for n in input.shape)] = input
    return found


@op(node="SliceBackward0", symbol="slice", method=False, half=KEPT, input="pad_like(g, input.shape)")
def crop_like(input: Tensor, shape: Any) -> Tensor:
    """The first corner of ``input`` in ``shape``."""
    return own(input[tuple(slice(n) for n in shape)])
