"""Tensors from data: numbers, nested sequences, NumPy arrays and array-likes."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.device import as_device, device
from nbautograd._engine.arrays.memory_format import strided
from nbautograd._engine.compiler.argument_errors import check_option, check_options as checked_options, options_of
from nbautograd._engine.core.batched import BatchedTensor
from nbautograd._engine.core.defaults import warn_once
from nbautograd._engine.core.node import LEAF
from nbautograd._engine.core.tensor import Tensor, wrap_known
from nbautograd._engine.ops.queries import example
from nbautograd._names.docstrings import described
from nbautograd.errors import AutogradError, kind_of, name_operation, warn

__all__ = ["as_tensor", "from_numpy", "tensor"]

Device = device | str | int | None
F = TypeVar("F", bound=Callable[..., Any])


def check_options(name: str, dtype: Any, layout: Any = None, pin_memory: bool = False) -> Any:
    """Return the dtype of a creation function, also if given as a Python type; raise for unsupported options."""
    dtype = dtypes.as_dtype(dtype)
    if dtype is not None and not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {kind_of(dtype)}")
    if layout is not None and layout is not strided:
        raise NotImplementedError(f"{name}(): only layout=torch.strided is supported, got {layout!r}")
    if pin_memory:
        raise RuntimeError(f"{name}(): pin_memory=True is not supported: there is no pinned memory without CUDA")
    return dtype


def item(function: str, value: Any) -> Any:
    """Return a fill value; of a 0-d tensor its number."""
    return value if value.__class__ in (int, float) else check_option(function, "fill_value", value, "Number", 1)


def _overflow(prefix: str, value: Any, kind: Any) -> RuntimeError:
    name = dtypes.c_type(kind) if kind.rank > 1 or kind is dtypes.int32 else f"{kind.name}_t"
    return RuntimeError(f"{prefix}value cannot be converted to type {name} without overflow: {value}")


def _integer_in(prefix: str, value: Any, kind: Any) -> Any:
    limits = np.iinfo(kind.numpy)
    is_whole = not isinstance(value, (float, np.floating))
    if not (-limits.max - 1 if is_whole else limits.min) <= value <= limits.max:
        raise _overflow(prefix, value, kind)
    return int(value) % (limits.max + 1) if value < limits.min else value if is_whole else int(value)


def number_in(value: Any, kind: dtypes.dtype, function: str = "", one: bool = False) -> Any:
    """Return a number that fits into a dtype; floats are truncated for integers.

    :param function: named in messages; else the operation is.
    :param one: a single element may be infinity in half precision.
    :raises OverflowError: it is an integer of more than 64 bits.
    :raises RuntimeError: it is complex where the dtype is not, or out of range.
    """
    if kind.rank == 2 and value.__class__ in (int, float) and -65504 <= value <= 65504:
        return value
    prefix = f"{function}(): " if function else ""
    if not isinstance(value, (int, float, complex, np.number, np.bool_)):
        raise TypeError(f"{prefix}expected a number, but got {kind_of(value)}")
    if value.__class__ is int and not -(2**63) <= value < 2**64:
        raise OverflowError(f"{prefix}int too big to convert: {value}")
    if kind.rank == 0:
        return bool(value)
    if isinstance(value, (complex, np.complexfloating)) and not kind.is_complex:
        if value.imag:
            raise _overflow(prefix, value, kind)
        value = value.real
    if kind.rank == 1:
        return _integer_in(prefix, value, kind)
    largest = max(abs(value.real), abs(value.imag))
    if 65504 < largest < math.inf and not (one and kind.itemsize == 2) and largest > dtypes.finfo(kind).max:
        raise _overflow(prefix, value, kind)
    return value


def number_as(value: Any, kind: dtypes.dtype, place: Any) -> Tensor:
    """Return a number as a 0-d tensor of a dtype."""
    return tensor(number_in(value, kind, one=True), dtype=kind, device=place)


def filler(value: Any, a: Any) -> Any:
    """Return the value that fills an array."""
    if value is None:
        raise TypeError("fill_(): argument 'value' must be Number, not NoneType")
    if getattr(value, "ndim", 0):
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return value if hasattr(value, "dtype") else number_in(value, dtypes.of(a.dtype), one=a.size == 1)


def creation(function: F) -> F:
    """Check the options of a function that makes tensors, and name it in errors."""
    unchecked = ("dtype", "requires_grad", "pin_memory", "low", "high", "n", "m")
    options = [each for each in options_of(function) if each[0] not in unchecked]

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        if options:
            args = checked_options(function, options, args, kwargs)
        try:
            return function(*args, **kwargs)
        except (MemoryError, TypeError, ValueError) as error:
            name_operation(error, function.__name__)
            raise

    return described(public)


def finish(array: Any, requires_grad: bool = False) -> Tensor:
    """Return the new tensor of an array; 0-d arrays on the CPU become scalars."""
    if array.__class__ is np.ndarray and array.ndim == 0:
        array = array[()]
    if requires_grad.__class__ is not bool and requires_grad is not None:
        raise TypeError(f"argument 'requires_grad' must be bool, not {kind_of(requires_grad)}")
    if not requires_grad:
        return wrap_known(array)
    if array.dtype.kind not in dtypes.INEXACT:
        raise AutogradError(
            f"Only Tensors of floating point and complex dtype can require gradients, and this one is of dtype "
            f"{dtypes.of(array.dtype)!r}"
        )
    return wrap_known(array, LEAF)


_TAKEN = "expected numbers, sequences of them, tensors or arrays"


def _values(data: Any, dtype: dtypes.dtype | None) -> np.ndarray[Any, Any]:
    """Convert nested sequences, numbers and arrays to an array: in the given dtype, or the smallest that holds all of
    them.

    :raises ValueError: the sequences are ragged, or an integer has more than 64 bits.
    :raises TypeError: an element is not a number.
    :raises RuntimeError: the dtype of an element cannot be inferred, or the value does not fit into the given dtype.
    """
    if data.__class__ is float and dtype is None:  # the most common case
        return backend.run_quietly(np.array(data).astype, dtypes.get_default_dtype().numpy)
    if not isinstance(data, (np.ndarray, np.generic, list, tuple, Tensor)) and hasattr(data, "__array__"):
        data = np.asarray(data)
    if isinstance(data, (np.ndarray, np.generic)):
        dtypes.of(data.dtype)  # raises for strings, objects, dates
        return np.array(data, None if dtype is None else dtype.numpy)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{kind_of(data)}'; {_TAKEN}")
    shape, leaves = _flatten(data)
    if leaves.__class__ is np.ndarray:
        return leaves if dtype is None else backend.run_quietly(leaves.astype, dtype.numpy)
    kind = _common_dtype(leaves) if dtype is None else dtype
    array: np.ndarray[Any, Any] = _CONVERT[kind.rank](leaves, kind)
    return array if array.shape == tuple(shape) else np.array(array.reshape(shape))  # a copy: it owns its memory


def _flatten(data: Any) -> tuple[list[int], Any]:
    """Return the shape of nested sequences, by their first elements, and their contents: a list, or one array."""
    shape: list[int] = []
    level = [data]
    while level and _is_sequence(level[0]):
        if len(shape) == 64:
            raise ValueError("too many dimensions: the sequence holds itself, or is nested more than 64 times")
        first = level[0]
        if isinstance(first, np.ndarray) and all(isinstance(a, np.ndarray) and a.shape == first.shape for a in level):
            kind = functools.reduce(dtypes.promote_types, (dtypes.of(a.dtype) for a in level))
            return shape, np.array(level, kind.numpy).reshape(*shape, *first.shape)
        _check_level(level, len(shape))
        shape.append(len(first))
        level = list(itertools.chain.from_iterable(level))
    if level and isinstance(level[0], (str, bytes)):
        raise ValueError(f"too many dimensions '{kind_of(level[0])}'; {_TAKEN}")
    return shape, [_scalar(item) if isinstance(item, (Tensor, np.ndarray)) else item for item in level]


def _check_level(level: list[Any], dim: int) -> None:
    """Check that all are sequences of one length."""
    count = len(level[0])
    for item in level:
        if not _is_sequence(item):
            raise TypeError(f"not a sequence: an element at dim {dim} is {kind_of(item)} where others are sequences")
        if len(item) != count:
            raise ValueError(f"expected sequence of length {count} at dim {dim} (got {len(item)})")


def _is_sequence(item: Any) -> bool:
    if isinstance(item, np.ndarray):
        return item.ndim > 0
    return isinstance(item, (list, tuple, range)) or (
        hasattr(item, "__len__")
        and hasattr(item, "__getitem__")
        and not isinstance(item, (Tensor, np.generic, str, bytes, dict))
    )


def _scalar(item: Any) -> Any:
    """Return the only element of a tensor or array, with its dtype."""
    if math.prod(item.shape) != 1:
        raise ValueError(
            f"only one element tensors can be converted to Python scalars, and this one has shape {list(item.shape)}: "
            "torch.stack() joins tensors"
        )
    if isinstance(item, BatchedTensor):
        item.item()  # raises the error for an empty array
    array = backend.fetch(item._a) if isinstance(item, Tensor) else item
    return array.reshape(())[()]


def _common_dtype(leaves: list[Any]) -> dtypes.dtype:
    """Return the dtype that the elements promote to: the default one for Python floats, NumPy numbers' own."""
    kinds = {cls: _dtype_of_class(cls) for cls in dict.fromkeys(map(type, leaves))}
    return functools.reduce(dtypes.promote_types, kinds.values()) if kinds else dtypes.get_default_dtype()


def _dtype_of_class(cls: type) -> dtypes.dtype:
    if issubclass(cls, np.generic):
        return dtypes.of(np.dtype(cls))
    for number, kind in ((bool, dtypes.bool_), (int, dtypes.int64), (float, dtypes.get_default_dtype())):
        if issubclass(cls, number):
            return kind
    if issubclass(cls, complex):
        return dtypes.get_default_dtype().to_complex()
    if cls.__name__ == "bfloat16":
        return dtypes.bfloat16
    if issubclass(cls, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{cls.__name__}'; {_TAKEN}")
    if issubclass(cls, (list, tuple, range)):
        raise TypeError(f"'{cls.__name__}' object cannot be interpreted as an integer: sequences are nested unevenly")
    raise RuntimeError(f"Could not infer dtype of {cls.__name__}; {_TAKEN}")


def _as_bools(leaves: list[Any], kind: dtypes.dtype) -> np.ndarray[Any, Any]:
    _check_kinds(leaves, ("__complex__", "__float__"), "'{}' object cannot be interpreted as an integer")
    return np.array([bool(value) for value in leaves], bool)


def _as_integers(leaves: list[Any], kind: dtypes.dtype) -> np.ndarray[Any, Any]:
    if not {*map(type, leaves)} <= {int, bool}:
        leaves = [_integer(value, kind) for value in leaves]
    try:
        wide = np.array(leaves, np.uint64 if kind is dtypes.uint64 else np.int64)
    except OverflowError:
        if kind is dtypes.uint64 and min(leaves) < 0:
            raise OverflowError(f"can't convert negative int to unsigned: {min(leaves)}") from None
        raise ValueError("Overflow when unpacking long long: an integer has more than 64 bits") from None
    limits = np.iinfo(kind.numpy)
    lowest = limits.min - limits.max * (limits.min == 0)  # an unsigned integer accepts negative ones, wrapped around
    if wide.size and (wide.min() < lowest or wide.max() > limits.max):
        wrong = next(value for value in leaves if not lowest <= value <= limits.max)
        raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow: {wrong}")
    return wide.astype(kind.numpy)


def _integer(value: Any, kind: dtypes.dtype) -> int:
    """Return an element as an integer; a float is truncated."""
    if isinstance(value, np.bool_):
        return int(value)
    if isinstance(value, (float, np.floating)):
        value = float(value)
        lowest = 0 if kind is dtypes.uint8 else -(2.0**63)
        if not lowest <= math.trunc(value) < 2.0**63 if math.isfinite(value) else True:
            raise _overflow("", value, kind)
        return int(value)
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"'{kind_of(value)}' object cannot be interpreted as an integer; {_TAKEN}") from None


def _as_floats(leaves: list[Any], kind: dtypes.dtype) -> np.ndarray[Any, Any]:
    _check_kinds(leaves, ("__float__",), "must be real number, not {}")
    return backend.run_quietly(np.array([*map(float, leaves)]).astype, kind.numpy)


def _as_complexes(leaves: list[Any], kind: dtypes.dtype) -> np.ndarray[Any, Any]:
    _check_kinds(leaves, ("__complex__", "__float__"), "must be real number, not {}")
    return backend.run_quietly(np.array([*map(complex, leaves)], complex).astype, kind.numpy)


def _check_kinds(leaves: list[Any], methods: tuple[str, ...], message: str) -> None:
    """Check that every element is a number that can be converted, by one of the methods or as an integer."""
    for cls in dict.fromkeys(map(type, leaves)):
        is_complex = issubclass(cls, (complex, np.complexfloating)) and "__complex__" not in methods
        if is_complex or issubclass(cls, (str, bytes)) or not any(hasattr(cls, m) for m in (*methods, "__index__")):
            raise TypeError(f"{message.format(cls.__name__)}; {_TAKEN}")


_CONVERT = (_as_bools, _as_integers, _as_floats, _as_complexes)
"""Conversion functions, by the rank of the dtype."""


@described
@example("[[1., -1.], [1., -1.]] -> [[ 1., -1.], [ 1., -1.]]")
def tensor(
    data: Any, *, dtype: dtypes.dtype | None = None, device: Device = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Create a tensor that holds a copy of ``data``: a number, nested lists, a NumPy array, or a tensor.

    :param dtype: by default float32 (see ``set_default_dtype``) for Python floats, int64 for ints, bool for bools, and
        the dtype of an array.
    :param device: the device of the result.
    :param requires_grad: if True, operations on it are recorded.
    :raises ValueError: nested lists of unequal lengths, an integer of more than 64 bits, or a tensor of several
        elements in a list.
    :raises TypeError: an element is not a number.
    :raises RuntimeError: the dtype of an element cannot be inferred, or the value does not fit into ``dtype``.
    """
    dtype = check_options("tensor", dtype, None, pin_memory)
    if isinstance(data, Tensor):
        warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tensor(sourceTensor)."
        )
        if isinstance(data, BatchedTensor):
            return data.detach().to(dtype=data.dtype if dtype is None else dtype).clone()
        place = data.device if device is None else as_device(device)
        values = data._a if dtype is None else data.detach().to(dtype)._a
        return finish(backend.module(place).array(values), requires_grad)
    return finish(backend.module(as_device(device)).asarray(_values(data, dtype)), requires_grad)


@described
def as_tensor(data: Any, dtype: dtypes.dtype | None = None, device: Device = None) -> Tensor:
    """Convert ``data`` to a tensor, without a copy if it is an array or tensor of that dtype on that device.

    >>> torch.as_tensor([1, 2])
    tensor([1, 2])
    """
    dtype = check_options("as_tensor", dtype)
    if isinstance(data, Tensor):
        return data.to(device=data.device if device is None else device, dtype=data.dtype if dtype is None else dtype)
    if (
        isinstance(data, np.ndarray)
        and (dtype is None or dtype.numpy == data.dtype)
        and as_device(device).type == "cpu"
    ):
        return from_numpy(data)
    return tensor(data, dtype=dtype, device=device)


@described
def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """Create a tensor that shares the memory of a NumPy array.

    :raises TypeError: ``ndarray`` is not a NumPy array, or its dtype is not supported.

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
    if not ndarray.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, so writing to the tensor raises an error: copy the array to get a "
            "writable tensor."
        )
    return wrap_known(ndarray.view(np.ndarray))
