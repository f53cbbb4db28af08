"""Tensors from data: numbers, nested sequences, NumPy arrays and array-likes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd.arrays import backend, dtypes
from nbautograd.arrays.device import as_device, device
from nbautograd.arrays.memory_format import strided
from nbautograd.core.node import LEAF
from nbautograd.core.tensor import Tensor, wrap
from nbautograd.errors import AutogradError, kind_of

__all__ = ["as_tensor", "from_numpy", "tensor"]

Device = device | str | int | None


def check_options(name: str, dtype: Any, layout: Any = None, pin_memory: bool = False) -> None:
    """Check that the options of a creation function are supported; unsupported ones raise and are never ignored."""
    if dtype is not None and not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {kind_of(dtype)}")
    if layout is not None and layout is not strided:
        raise NotImplementedError(f"{name}(): only layout=torch.strided is supported, got {layout!r}")
    if pin_memory:
        raise RuntimeError(f"{name}(): pin_memory=True is not supported: there is no pinned memory without CUDA")


def number_in(value: Any, kind: dtypes.dtype, function: str = "") -> Any:
    """A number that fits into a dtype; floats are truncated for integers.

    :param function: what a message begins with; by default the operation says its name.
    :raises RuntimeError: it is complex where the dtype is not, or an integer out of range.
    """
    prefix = f"{function}(): " if function else ""
    if isinstance(value, (complex, np.complexfloating)) and not kind.is_complex:
        raise RuntimeError(f"{prefix}value cannot be converted to type {kind.name} without overflow: {value}")
    if kind.rank == 1:
        limits = np.iinfo(kind.numpy)
        if isinstance(value, (float, np.floating)):
            value = int(value) if math.isfinite(value) else limits.max + 1
        if not limits.min - (limits.max + 1) * (limits.min == 0) <= value <= limits.max:
            raise RuntimeError(f"{prefix}value cannot be converted to type {kind.name} without overflow: {value}")
        return int(value) % (limits.max + 1) if value < limits.min else value
    return value


def finish(array: Any, requires_grad: bool = False) -> Tensor:
    """The new tensor of an array; 0-d arrays on the CPU become scalars."""
    if array.__class__ is np.ndarray and array.ndim == 0:
        array = array[()]
    if not requires_grad:
        return wrap(array)
    if array.dtype.kind not in dtypes.INEXACT:
        raise AutogradError(
            f"Only Tensors of floating point and complex dtype can require gradients, and this one is of dtype "
            f"{dtypes.of(array.dtype)!r}"
        )
    return wrap(array, LEAF)


_TAKEN = "expected numbers, sequences of them, tensors or arrays"


def _values(data: Any, dtype: dtypes.dtype | None) -> np.ndarray[Any, Any]:
    """Nested sequences, numbers and arrays as an array of the inferred dtype.

    :raises ValueError: the sequences are ragged.
    :raises TypeError: an element is no number.
    """
    if isinstance(data, (np.ndarray, np.generic)):
        dtypes.of(data.dtype)  # refuses strings, objects, dates
        return np.array(data, None if dtype is None else dtype.numpy)
    if isinstance(data, (list, tuple, range)):
        _check_nested(data)
        data = _plain(data)
    elif isinstance(data, (str, bytes)) or not isinstance(data, (int, float, complex)):
        if not hasattr(data, "__array__") and not hasattr(data, "__len__"):
            raise TypeError(f"new(): invalid data type '{kind_of(data)}'; {_TAKEN}")
        if isinstance(data, (str, bytes)):
            raise TypeError(f"new(): invalid data type '{kind_of(data)}'; {_TAKEN}")
    if dtype is not None:
        return backend.run_quietly(np.array, data, dtype.numpy)
    result = np.array(data)
    if result.dtype.kind == "f" and not _has_typed(data):
        return backend.run_quietly(result.astype, dtypes.get_default_dtype().numpy)
    if result.dtype.kind == "c" and not _has_typed(data):
        return backend.run_quietly(result.astype, dtypes.get_default_dtype().to_complex().numpy)
    if result.dtype.kind in "iu" and not _has_typed(data):
        return result.astype(np.int64)
    if result.size == 0 and not _has_typed(data):
        return result.astype(dtypes.get_default_dtype().numpy)
    dtypes.of(result.dtype)
    return result


def _has_typed(data: Any) -> bool:
    """Whether the first element carries a dtype of its own (a NumPy scalar or array)."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, (np.ndarray, np.generic)) and not isinstance(data, float)


def _check_nested(data: Any) -> None:
    """Make sure that nested sequences have equal lengths and hold numbers only."""
    level, dim = [data], 0
    while level and any(_is_sequence(item) for item in level):
        length = next(len(item) for item in level if _is_sequence(item))
        for item in level:
            if not _is_sequence(item):
                raise TypeError(
                    f"not a sequence: an element at dim {dim} is {type(item).__name__} where others are sequences"
                )
            if len(item) != length:
                raise ValueError(f"expected sequence of length {length} at dim {dim} (got {len(item)})")
        level = [inner for item in level for inner in item]
        dim += 1
    for item in level:
        if not isinstance(item, (int, float, complex, np.generic, Tensor)) and not hasattr(item, "__array__"):
            raise TypeError(f"new(): invalid data type '{kind_of(item)}'; {_TAKEN}")


def _is_sequence(item: Any) -> bool:
    return (
        isinstance(item, (list, tuple, range))
        or isinstance(item, np.ndarray)
        and item.ndim > 0
        or (isinstance(item, Tensor) and item._a.ndim > 0)
    )


def _plain(data: Any) -> Any:
    """Nested sequences with tensors replaced by their values."""
    if isinstance(data, Tensor):
        return backend.fetch(data._a)
    return [_plain(item) for item in data] if isinstance(data, (list, tuple)) else data


def tensor(
    data: Any,
    *,
    dtype: dtypes.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor that holds a copy of ``data``: a number, nested lists, a NumPy array, or a tensor.

    :param dtype: by default float32 (see ``set_default_dtype``) for Python floats, int64 for ints, bool for bools, and
        the dtype of an array.
    :param device: the device of the result.
    :param requires_grad: whether operations on it are recorded.
    :raises ValueError: nested lists of unlike lengths.
    :raises TypeError: an element is no number.

    >>> import nbautograd as torch
    >>> torch.tensor([[1., -1.], [1., -1.]])
    tensor([[ 1., -1.],
            [ 1., -1.]])
    """
    check_options("tensor", dtype, None, pin_memory)
    if isinstance(data, Tensor):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        place = data.device if device is None else as_device(device)
        values = data._a if dtype is None else data._a.astype(dtype.numpy)
        return finish(backend.module(place).array(values), requires_grad)
    return finish(backend.module(as_device(device)).asarray(_values(data, dtype)), requires_grad)


def as_tensor(data: Any, dtype: dtypes.dtype | None = None, device: Device = None) -> Tensor:
    """``data`` as a tensor, without a copy if it is an array or tensor of that dtype on that device.

    >>> import nbautograd as torch
    >>> torch.as_tensor([1, 2])
    tensor([1, 2])
    """
    check_options("as_tensor", dtype)
    if isinstance(data, Tensor):
        return data.to(device=data.device if device is None else device, dtype=data.dtype if dtype is None else dtype)
    if (
        isinstance(data, np.ndarray)
        and (dtype is None or dtype.numpy == data.dtype)
        and as_device(device).type == "cpu"
    ):
        return from_numpy(data)
    return tensor(data, dtype=dtype, device=device)


def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares the memory of a NumPy array.

    :raises TypeError: ``ndarray`` is no NumPy array, or its dtype is not supported.

    >>> import nbautograd as torch
    >>> import numpy as np
    >>> torch.from_numpy(np.array([1., 2.]))
    tensor([1., 2.], dtype=torch.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {kind_of(ndarray)})")
    dtypes.of(ndarray.dtype)
    if not ndarray.dtype.isnative:
        raise ValueError(f"given numpy array has byte order different from the native byte order: {ndarray.dtype}")
    if any(stride % ndarray.itemsize for stride in ndarray.strides):
        raise ValueError(
            f"given numpy array strides {ndarray.strides} not a multiple of the element byte size {ndarray.itemsize}: "
            "make a copy of it, such as array.copy(), first."
        )
    if any(stride < 0 for stride in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "supported: make a copy of it, such as array.copy(), first."
        )
    return wrap(ndarray.view(np.ndarray))
