"""``x[...]`` and ``x[...] = ...``."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.indices import in_order, takes_rows
from nbautograd._engine.arrays.strides import copied
from nbautograd._engine.compiler.op import NATIVE, VIEW, composite, no_method
from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.core.batched import BatchedTensor, checks_values, elements
from nbautograd._engine.core.grad_mode import is_grad_enabled
from nbautograd._engine.core.inplace import check_writable, copy_into
from nbautograd._engine.core.overlap import check_operand, without_ones
from nbautograd._engine.core.tensor import Tensor, array_of
from nbautograd._engine.core.views import record_unrecorded_write
from nbautograd._engine.ops.creation.conversion import brought, copied_from_anywhere, in_dtype_of
from nbautograd._engine.ops.creation.from_data import number_as
from nbautograd._engine.ops.queries import method_of_tensor
from nbautograd._engine.ops.shape.broadcasting import joint_shape
from nbautograd._engine.ops.shape.shape import unsqueeze, view
from nbautograd._engine.ops.shape.slicing import select, slice_
from nbautograd.errors import ShapeError, kind_of, warn

__all__ = ["index_put", "index_put_"]

Key = Sequence[Any]  # the rest of an index after views are taken: slices, and arrays of indices or masks


# -- reading ---------------------------------------------------------------------------------------------------------


def _items(x: Tensor, key: Any) -> list[Any]:
    """Return the items of an index, one per dimension (or None), the ellipsis expanded to slices."""
    items = list(key) if isinstance(key, tuple) else [key]
    used = sum(_width(item) for item in items)
    n = x._a.ndim
    if used > n:
        raise IndexError(f"too many indices for tensor of dimension {n} (got {used})")
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    for i in reversed(dots):  # the first ellipsis is expanded to all missing dimensions, further ones to none
        items[i : i + 1] = [slice(None)] * (n - used if i == dots[0] else 0)
    return items


def _width(item: Any) -> int:
    """Return the number of dimensions that an item of an index consumes."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, Tensor):
        return int(item._a.ndim) if item._a.dtype.char in "?B" else 1
    if isinstance(item, np.ndarray) and item.dtype.kind == "b":
        return int(item.ndim)
    return 1


def _as_tuple(key: list[Any]) -> Any:
    """Return a list as a tuple where PyTorch treats it so."""
    several = (Tensor, slice, list, tuple, range, np.ndarray)
    if len(key) < 32 and any(k is None or k is Ellipsis or isinstance(k, several) for k in key):
        warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(key)] instead of "
            "x[key], or x[torch.tensor(key)] where one index of several dimensions is meant."
        )
        return tuple(key)
    return key


def _is_integer(item: Any) -> bool:
    """Return whether an item of an index is an integer."""
    if isinstance(item, Tensor):
        single = item._a.ndim == 0 and item._a.dtype.kind in "iu" and item._a.dtype.char != "B"
        return single and item.__class__ is not BatchedTensor
    if isinstance(item, np.ndarray):
        return not item.ndim and item.dtype.kind in "iu"
    return isinstance(item, (int, np.integer)) and not isinstance(item, bool)


def _index_array(item: Any, like: Tensor) -> Any:
    """Return an item of advanced indexing as an array on the device of ``like``."""
    if isinstance(item, Tensor):
        result = item._a
        if result.dtype.char == "B":
            warn("indexing with dtype torch.uint8 is now deprecated, use torch.bool.")
            result = result.astype(np.bool_)
    elif isinstance(item, (bool, list, tuple, range, np.ndarray)):
        result = np.asarray(item)
        if result.size == 0:
            result = result.astype(np.int64)
    else:
        kind = TypeError if isinstance(item, str) else IndexError
        raise kind(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {kind_of(item)})"
        )
    if result.dtype.kind not in "iub":
        raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, not {result.dtype}")
    is_mask = result.dtype.kind == "b"
    if is_mask and not result.ndim:
        result = result.reshape((1,))
    here = backend.device_of(result) == like.device
    if here or is_mask and like.is_meta and isinstance(item, Tensor):  # a mask on the host has a length
        return result
    return backend.module(like.device).asarray(backend.fetch(result))


@method_of_tensor("__getitem__")
def _get(x: Tensor, key: Any) -> Tensor:
    """Return ``x[key]``: a view for basic indexing (integers, slices, None, ellipsis), a copy for advanced indexing.

    :param x: the tensor.
    :param key: an index, or a tuple of several: integers, slices, None, an ellipsis, lists or tensors.
    :returns: a tensor whose shape depends on the indices.
    :raises IndexError: an index is out of range, or there are too many.
    :raises TypeError: an index has an unsupported type.

    >>> x = torch.tensor([[1, 2], [3, 4]])
    >>> x[0], x[:, 1], x[x > 2]
    (tensor([1, 2]), tensor([2, 4]), tensor([3, 4]))
    """
    if key.__class__ is int:
        return _select(x, 0, key)
    if key.__class__ is list:
        key = _as_tuple(key)
    part, chosen = (x, None) if key is Ellipsis else _resolve(x, key)
    if chosen is not None:
        return index(part, chosen)
    return view_alias(x) if part is x else part


def _resolve(x: Tensor, index: Any) -> tuple[Tensor, Any]:
    """Apply the basic items as views; return the view and the arrays of advanced indexing, if any."""
    dim, key, chooses = 0, [], False
    for item in _items(x, index):
        if item is None:
            x = unsqueeze(x, dim)
        elif isinstance(item, slice):
            bounds = _bounds(item, x._a.shape[dim])
            if bounds != (0, x._a.shape[dim], 1) or item.start or index is item:
                x = slice_(x, dim, *bounds)
        elif _is_integer(item):
            x = _select(x, dim, operator.index(item))
            continue
        else:
            index_array = _index_array(item, x)
            if index_array.dtype.kind == "b" and _width(item) < index_array.ndim:
                x = unsqueeze(x, dim)
            chooses = True
            key.append(index_array)
            dim += index_array.ndim if index_array.dtype.kind == "b" else 1
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
        raise ValueError(f"step must be greater than zero, got {step}" if step else "slice step cannot be zero")
    start, stop, _ = slice(*(None if v is None else operator.index(v) for v in (item.start, item.stop))).indices(length)
    return start, max(start, stop), step


@no_method(symbol="alias", kind=VIEW, input="g")
def _alias(input: Tensor) -> Tensor:
    """Return an array with the same memory."""
    return input.view()


Tensor._alias = view_alias = _alias


@checks_values
def _check_bounds(key: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    """Check that indices are in range, masks have the right shape, and all broadcast."""
    dim = 0
    arrays = []
    for shown in key:
        item = shown
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
            item = elements(item)
            if item.size:
                low, high = item.min(), item.max()
                if low < -shape[dim] or high >= shape[dim]:
                    bad = int(high if high >= shape[dim] else low)
                    raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {shape[dim]}")
            arrays.append(shown)
            dim += 1
    if len(arrays) > 1:
        _check_broadcast([a.shape for a in arrays])


def _check_broadcast(shapes: list[tuple[int, ...]]) -> None:
    """Check that the shapes of several arrays of indices broadcast."""
    try:
        joint_shape(shapes)
    except ShapeError:
        text = ", ".join(str(list(shape)) for shape in shapes)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {text}"
        ) from None


@no_method(symbol="index", half=NATIVE, input="index_back(g, input.shape, key)")
def index(input: Tensor, key: Key) -> Tensor:
    """Return the elements at arrays of indices or a mask, copied (advanced indexing)."""
    key = tuple(array_of(item) for item in key)
    if key[0].__class__ is not slice and input.flags.c_contiguous:
        return input[key]
    # NumPy puts the indexed dimensions first in memory; PyTorch keeps the order of the dimensions.
    picked = [d for d, item in enumerate(key) if item.__class__ is not slice]
    if len(picked) == 1 and input.flags.c_contiguous and key[picked[0]].dtype.kind == "i":
        return input.take(key[picked[0]], picked[0])
    return in_order(input[key], input, key, picked)


@no_method(node="IndexBackwardBackward0", symbol="index", input="index(g, key)")
def index_back(input: Tensor, shape: Any, key: Key) -> Tensor:
    """Compute the transpose of ``index``: ``input`` added into zeros of ``shape`` at the indices."""
    key = tuple(array_of(item) for item in key)
    if takes_rows(key, shape):
        (index, *_), width = key, math.prod(shape[1:])
        return backend.sum_of_rows(index.reshape((-1,)), input.reshape((index.size, width)), shape[0]).reshape(shape)
    output = np.zeros_like(input, shape=shape)
    if all(item.__class__ is slice or item.dtype.kind == "b" for item in key):
        output[key] = input  # a mask selects no element twice
    else:
        backend.add_at(output, key, input)
    return output


# -- writing ---------------------------------------------------------------------------------------------------------


@method_of_tensor("__setitem__")
def _set(x: Tensor, key: Any, value: Any) -> None:
    """Assign ``x[key] = value``, recorded if x or value requires grad.

    :param x: the tensor.
    :param key: an index, or a tuple of several: integers, slices, None, an ellipsis, lists or tensors.
    :param value: a number or a tensor, which is broadcast.
    :returns: None.
    :raises RuntimeError: the value does not broadcast to the part, or the tensor is a leaf that requires grad.
    :raises IndexError: an index is out of range, or there are too many.
    :raises TypeError: an index has an unsupported type.

    >>> x = torch.zeros(3)
    >>> x[1:] = 5
    >>> x
    tensor([0., 5., 5.])
    """
    key, value = _as_tuple(key) if key.__class__ is list else key, _assigned(x, value)
    if key is False:
        return
    key = None if key is True else key  # a view with a new dimension, too
    part, chosen = (x, None) if _is_whole(key, x) else _resolve(x, key)
    if chosen is None:
        check_writable(part, "index assignment")
        if value._a.size == part._a.size:  # not repeated by broadcasting
            check_operand(without_ones(part), without_ones(value), "index assignment")
        copy_into(part, copied_from_anywhere(part, _fitting(value, part._a.shape)))
        return
    shape = value._a.shape
    if shape and shape[0] == 1:  # it may have more leading dimensions of size 1 than x[key] has dimensions
        extra = next((d for d, n in enumerate(shape) if n != 1), len(shape))
        value = view(value, *shape[extra:])
    _put(part, chosen, brought("index_put_", in_dtype_of(part, value, _masks(key, chosen)), part))


def _put(part: Tensor, chosen: Any, value: Tensor) -> None:
    """Assign ``part[chosen] = value`` by advanced indexing, recorded if either requires grad."""
    check_writable(part, "index_put_")
    check_operand(part, value, "index_put_")
    if dispatch_mode.is_on() or is_grad_enabled() and not (part._fn is None and value._fn is None):
        copy_into(part, put_at(part, value, chosen, False))
        return
    target = part._shared_array()
    if not part.is_meta:
        _assign(target, chosen, value._a)
    record_unrecorded_write(part)


def _masks(key: Any, chosen: Any) -> Any:
    """Return the chosen arrays, beside one of which PyTorch casts; none beside True, or what stands in its place."""
    items = key if key.__class__ is tuple else (key,)
    return () if any(not _width(item) and item is not None and item is not ... for item in items) else chosen


def _is_whole(key: Any, x: Tensor) -> bool:
    """Return whether an index covers ``x`` unchanged: PyTorch then writes to ``x`` itself, without a view."""
    if key.__class__ is not slice:
        return key is ... or key.__class__ is tuple and not key
    start, stop, step = key.start, key.stop, key.step
    if not x._a.ndim or stop is not None and (stop.__class__ is not int or stop < x._a.shape[0]):
        return False
    starts = start is None or start.__class__ is int and start == 0
    return starts and (step is None or step.__class__ is int and step == 1)


def _assigned(x: Tensor, value: Any) -> Tensor:
    """Return the assigned value as a tensor."""
    if isinstance(value, Tensor):
        return value
    if not isinstance(value, (int, float, complex, np.integer)):
        raise TypeError(f"can't assign a {kind_of(value)} to a tensor of dtype {x.dtype!r}: use a number or Tensor")
    return number_as(value, x.dtype, x.device)


def _first_mismatch(shape: tuple[int, ...], have: tuple[int, ...]) -> str:
    """Return the message of ``expand`` for a shape that does not fit."""
    sizes = f"Target sizes: {list(shape)}.  Tensor sizes: {list(have)}"
    for d in range(len(shape)):
        n = have[d - len(shape)] if len(shape) - d <= len(have) else 1
        if len(have) <= len(shape) and n not in (1, shape[d]):
            return (
                f"The expanded size of the tensor ({shape[d]}) must match the existing size ({n}) at non-singleton "
                f"dimension {d}.  {sizes}"
            )
    return f"The expanded size must match the existing size at each non-singleton dimension.  {sizes}"


def _fitting(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the value without surplus leading dimensions of size 1; raise if it does not broadcast to ``shape``."""
    have = value._a.shape
    while len(have) > len(shape) and have[0] == 1:
        have = have[1:]
    padded = (1,) * (len(shape) - len(have)) + have
    if len(have) > len(shape) or any(n not in (1, m) for n, m in zip(padded, shape, strict=True)):
        raise ShapeError(
            f"shape mismatch: value tensor of shape {list(value._a.shape)} cannot be broadcast to indexing result of "
            f"shape {list(shape)}: {_first_mismatch(shape, have)}"
        )
    return value if have == value._a.shape else view(value, *have)


def _assign(target: Any, key: Any, values: Any) -> None:
    """Assign ``target[key] = values``."""
    shape = target[key].shape
    padded = (1,) * (len(shape) - values.ndim) + values.shape
    if values.ndim > len(shape) or any(n not in (1, m) for n, m in zip(padded, shape, strict=True)):
        raise ShapeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of "
            f"shape {list(shape)}"
        )
    target[key] = np.broadcast_to(values, shape)


def own(a: Any) -> Any:
    """Return a writable copy of an array or scalar, row-major."""
    return np.array(a) if isinstance(a, np.generic) else a.copy()


@no_method(
    node="IndexPutBackward0",
    symbol="[…]=",
    input="g if accumulate else zero_at(g, key)",
    values="cast_back(sum_to(index(g, key), values.shape), values.dtype)",
)
def put_at(input: Tensor, values: Tensor, key: Key, accumulate: bool) -> Tensor:
    """Return a copy of ``input`` with the elements at ``key`` replaced, or accumulated."""
    output = copied(input)
    if accumulate:
        shape = input[key].shape
        if joint_shape([shape, values.shape]) != shape:
            raise ShapeError(
                f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of "
                f"shape {list(shape)}"
            )
        backend.add_at(output, key, np.broadcast_to(values, shape))
    else:
        _assign(output, key, values)
    return output


@no_method(node="IndexPutBackward0", symbol="[…]=", half=NATIVE, input="zero_at(g, key)")
def zero_at(input: Tensor, key: Key) -> Tensor:
    """Return a copy of ``input`` with zeros at ``key``."""
    output = own(input)
    output[key] = 0
    return output


@method_of_tensor("__delitem__")
def _delete(x: Tensor, key: Any) -> None:
    """Raise: the elements of a tensor cannot be deleted.

    :param x: the tensor.
    :param key: anything.
    :returns: never.
    :raises TypeError: always.

    >>> x = torch.zeros(3)
    >>> del x[0]
    Traceback (most recent call last):
    TypeError: Tensor does not support deleting items
    """
    raise TypeError("Tensor does not support deleting items")


@composite(inplace_method=True)
def index_put(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """Return a copy of ``input`` with ``copy[indices] = values``.

    :param indices: integer or bool tensors, one for each of the first dimensions.
    :param accumulate: add instead of replacing; indices that occur twice are added twice.
    :raises IndexError: an index is out of bounds.
    :raises RuntimeError: the values do not broadcast, or are of another dtype.

    >>> torch.zeros(3).index_put((torch.tensor([0, 0]),), torch.tensor([1., 2.]), accumulate=True)
    tensor([3., 0., 0.])
    """
    if not isinstance(indices, (tuple, list)):
        raise TypeError(f"index_put(): argument 'indices' must be tuple of Tensors, not {kind_of(indices)}")
    for i, item in enumerate(indices):
        if not isinstance(item, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {kind_of(item)}")
    if not isinstance(values, Tensor):
        raise TypeError(f"index_put(): argument 'values' (position 3) must be Tensor, not {kind_of(values)}")
    key = tuple(_index_array(item, input) for item in indices)
    values = in_dtype_of(input, values, () if accumulate else key)
    if sum(_width(item) for item in indices) > input._a.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input._a.ndim} (got {len(indices)})")
    _check_bounds(key, input._a.shape)
    return put_at(input, values, key, accumulate)


index_put_ = Tensor.index_put_
