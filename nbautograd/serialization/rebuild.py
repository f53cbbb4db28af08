"""The functions called by the pickles in PyTorch's files, reimplemented with checks of their arguments."""

from __future__ import annotations

import re
import reprlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, memory_format as formats, strides as stride_tools
from nbautograd._engine.arrays.device import device
from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.node import LEAF
from nbautograd._engine.core.return_types import FIELDS, return_type
from nbautograd._engine.core.storage import STORAGE_TYPES, TypedStorage
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd.serialization.files import UnsafeFileError, device_by_name, hashable
from nbautograd.serialization.names import named_by_pytorch
from nbautograd.serialization.pickler import TENSOR_FLAGS

__all__ = ["NAMES", "Function", "StorageType", "set_numpy_state"]


@dataclass(frozen=True)
class Function:
    """A function that a pickle may name and call."""

    name: str
    call: Callable[..., Any]


@dataclass(frozen=True)
class StorageType:
    """The class of a piece of memory; None for bytes of no particular dtype."""

    dtype: dtypes.dtype | None


MAX_COPY_RATIO = 16
"""The memory of tensors that are copies (conjugate views, or swapped bytes), as a multiple of the file's memory."""


# -- tensors -----------------------------------------------------------------------------------------------------------


def _integers(values: Any) -> tuple[int, ...]:
    if not isinstance(values, tuple) or not all(type(v) is int and 0 <= v < 2**63 for v in values):
        raise ValueError(f"{reprlib.repr(values)} should be a tuple of sizes")
    return tuple(values)


def _tensor(
    machine: Any, storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any = False, hooks: Any = None,
    metadata: Any = None, dtype: dtypes.dtype | None = None,
) -> Tensor:  # fmt: skip
    """Return a tensor in a piece of memory."""
    if not isinstance(storage, TypedStorage):
        raise ValueError("a tensor has no memory")
    dtype = storage.dtype if dtype is None else dtype
    shape, steps, (first,) = _integers(size), _integers(stride), _integers((offset,))
    if len(shape) != len(steps) or hooks or metadata and set(metadata) - {"conj", "neg"}:
        raise UnsafeFileError("load(): the file holds a tensor with hooks, or of an unknown kind")
    array = tensor_in(storage.array(np.dtype(np.uint8)), dtype.numpy, shape, steps, first)
    swapped = machine.big != (np.little_endian is False) and dtype.itemsize > 1
    if swapped or metadata:
        _count_copy(machine, array.nbytes)
    result = wrap(array.byteswap() if swapped else array)
    if metadata:
        result = _resolved(machine, result, metadata)
    return _leaf(result, requires_grad)


def _count_copy(machine: Any, nbytes: int) -> None:
    machine.copied += nbytes
    if machine.copied > MAX_COPY_RATIO * sum(memory.size for memory in machine.storages.values()):
        raise ValueError("its tensors take many times the memory that the file has")


def _bare_tensor(machine: Any, dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    """Return a tensor on the device ``meta``."""
    shape, steps = _integers(size), _integers(stride)
    if not isinstance(dtype, dtypes.dtype) or len(shape) != len(steps):
        raise ValueError("a tensor has no dtype, or not as many strides as sizes")
    bare = backend.module(device("meta")).empty(0, dtype.numpy)
    return _leaf(wrap(stride_tools.empty(bare, shape, steps)), requires_grad)


def tensor_in(memory: Any, kind: np.dtype[Any], shape: tuple[int, ...], steps: tuple[int, ...], first: int) -> Any:
    """Return the array of a tensor in a piece of memory, an array of bytes that has to be large enough."""
    end = 0 if 0 in shape else first + 1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
    if end * kind.itemsize > memory.size:
        raise ValueError(f"a tensor of shape {shape} does not fit into its memory")
    if isinstance(memory, np.ndarray):
        in_bytes = tuple(s * kind.itemsize for s in steps)
        return np.ndarray(shape, kind, memory, first * kind.itemsize if end else 0, in_bytes)
    elements = memory[: memory.size // kind.itemsize * kind.itemsize].view(kind)
    return stride_tools.restride(elements, shape, steps, first)


def _resolved(machine: Any, tensor: Tensor, metadata: Any) -> Tensor:
    """Return the values of a conjugate or negative view, which has its own memory here."""
    result = wrap(tensor._a.copy())

    def compute() -> None:
        values = tensor.conj_physical() if metadata.get("conj") else tensor
        result._a[...] = (-values if metadata.get("neg") else values)._a

    compute()
    machine.late.append(compute)
    return result


def _leaf(tensor: Tensor, requires_grad: Any) -> Tensor:
    if requires_grad:
        if tensor._a.dtype.kind not in dtypes.INEXACT:
            raise ValueError(f"a tensor of dtype {tensor.dtype!r} cannot require grad")
        tensor._fn = LEAF
    return tensor


def _tensor_of_dtype(
    machine: Any, storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, dtype: Any,
    metadata: Any = None,
) -> Tensor:  # fmt: skip
    """Return a tensor of a dtype that differs from that of its memory."""
    if not isinstance(dtype, dtypes.dtype):
        raise ValueError("a tensor has no dtype")
    return _tensor(machine, storage, offset, size, stride, requires_grad, hooks, metadata, dtype)


def _parameter(machine: Any, data: Any, requires_grad: Any, hooks: Any) -> Tensor:
    if not isinstance(data, Tensor) or hooks:
        raise UnsafeFileError("load(): the file holds a parameter with hooks, or without a tensor")
    result: Tensor = named_by_pytorch("torch.nn", "Parameter")(data.detach(), requires_grad=bool(requires_grad))
    return result


def _ordered_dict(machine: Any, pairs: Any = ()) -> OrderedDict[Any, Any]:
    return OrderedDict((hashable(key), value) for key, value in _listed(pairs))


def _listed(values: Any) -> Any:
    if type(values) not in (list, tuple):
        raise ValueError(f"a container is made of a {type(values).__name__}")
    return values


def _size(machine: Any, values: Any) -> Size:
    return Size(_integers(tuple(_listed(values))))


def _device(machine: Any, kind: Any, index: Any = None) -> device:
    if type(kind) is not str or type(index) not in (int, type(None)):
        raise ValueError("a device has no name")
    return device_by_name(kind if index is None else f"{kind}:{index}")


def _encoded(machine: Any, text: Any, encoding: Any) -> bytes:
    """Return bytes, encoded as in old protocols."""
    if type(text) is not str or encoding != "latin1":
        raise ValueError("bytes are not in Latin-1")
    return text.encode("latin1")


def _bytearray(machine: Any, data: Any = b"", encoding: Any = None) -> bytearray:
    return bytearray(data if type(data) is bytes else _encoded(machine, data, encoding))


def _refused(machine: Any, *args: Any) -> Any:
    raise UnsafeFileError("load(): the pickle calls a class that is only named by others")


def _complex(machine: Any, real: Any, imag: Any) -> complex:
    if type(real) is not float or type(imag) is not float:
        raise ValueError("a complex number has other parts than floats")
    return complex(real, imag)


def _parameter_with_state(machine: Any, data: Any, requires_grad: Any, hooks: Any, state: Any) -> Tensor:
    return _with_attributes(_parameter(machine, data, requires_grad, hooks), state)


def _from_type(machine: Any, function: Any, cls: Any, args: Any, state: Any) -> Tensor:
    """Return a tensor with attributes, or of its own class, which must be allowed like other classes."""
    if not isinstance(function, Function) or type(args) is not tuple or not isinstance(cls, type):
        raise UnsafeFileError("load(): the file holds a tensor of an unknown class")
    result = function.call(machine, *args)
    if not isinstance(result, Tensor) or not issubclass(cls, Tensor):
        raise UnsafeFileError(f"load(): the file holds a tensor of the class {cls.__name__}, not a tensor class")
    if type(result) is not cls:
        result = result.as_subclass(cls)
    return _with_attributes(result, state)


def _sparse(machine: Any, kind: Any, parts: Any) -> Tensor:
    """Return a sparse tensor, whose indices are checked."""
    if type(parts) is not tuple or not all(isinstance(part, (Tensor, Size, bool)) for part in parts):
        raise ValueError("a sparse tensor has no parts")
    for part in parts[: 1 if kind is formats.sparse_coo else 2]:
        if isinstance(part, Tensor) and part.numel() > stride_tools.length_of(part._a):
            raise ValueError("indices of a sparse tensor that are more than their memory holds")
    if kind is formats.sparse_coo:
        indices, values, size, *coalesced = parts
        options = {"is_coalesced": bool(coalesced and coalesced[0])}
        name, parts = "sparse_coo_tensor", (indices, values, size)
    elif kind is formats.sparse_csr:
        name, options = "sparse_csr_tensor", {}
    else:
        raise UnsafeFileError(f"load(): the file holds a tensor of the layout {kind!r:.40}, which is not supported")
    result: Tensor = named_by_pytorch("torch", name)(*parts, **options, check_invariants=True)
    return result


def _with_attributes(tensor: Tensor, state: Any) -> Tensor:
    if type(state) is tuple and len(state) == 2 and not state[1]:
        state = state[0] or {}
    if not isinstance(state, dict) or not all(type(name) is str for name in state):
        raise UnsafeFileError("load(): the attributes of a tensor are not a dict")
    ours: dict[Any, str] = {theirs: name for name, theirs in TENSOR_FLAGS.items()}
    for name, value in state.items():
        own = str(ours.get(name, name))
        if own.startswith("_") or callable(getattr(type(tensor), own, None)):
            raise UnsafeFileError(f"load(): the file sets the attribute {own:.80} of a tensor")
        vars(tensor)[own] = value
    return tensor


# -- NumPy's arrays and numbers ----------------------------------------------------------------------------------------


def _numpy_dtype(machine: Any, name: Any, *flags: Any) -> np.dtype[Any]:
    if type(name) is not str or not re.fullmatch("[<>=|]?[biufc][0-9]{1,2}", name):
        raise UnsafeFileError(f"load(): the file holds NumPy arrays of {name!r:.40}, and only numbers are read")
    return np.dtype(name, False, True)


def _numpy_array(machine: Any, cls: Any, shape: Any, kind: Any) -> np.ndarray[Any, Any]:
    return np.empty(0, np.int8)


def _numpy_scalar(machine: Any, kind: Any, data: Any) -> Any:
    if not isinstance(kind, np.dtype) or type(data) is not bytes or len(data) != kind.itemsize:
        raise ValueError("a NumPy number has no value")
    return np.frombuffer(data, kind)[0]


def set_numpy_state(target: Any, state: Any) -> None:
    """Set the state of a new NumPy dtype or array.

    :raises ValueError: the state is invalid.
    """
    if isinstance(target, np.dtype):
        if type(state) is not tuple or len(state) < 8 or state[1] not in ("<", ">", "=", "|") or any(state[2:5]):
            raise ValueError("a NumPy dtype has an unknown state")
    else:
        _, shape, kind, by_columns, data = state
        if not isinstance(kind, np.dtype) or kind.kind not in "biufc" or type(data) is not bytes:
            raise ValueError("a NumPy array holds no numbers")
        state = (1, _integers(shape), kind, bool(by_columns), data)
    target.__setstate__(state)


def _layout(machine: Any, name: Any) -> Any:
    known = {str(each): each for each in vars(formats).values() if isinstance(each, formats.layout)}
    if name not in known:
        raise ValueError(f"the layout {name!r:.40} does not exist")
    return known[name]


FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {
    ("torch._utils", "_rebuild_tensor"): _tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_tensor_v3"): _tensor_of_dtype,
    ("torch._utils", "_rebuild_meta_tensor_no_storage"): _bare_tensor,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): _parameter_with_state,
    ("torch._utils", "_rebuild_sparse_tensor"): _sparse,
    ("torch._tensor", "_rebuild_from_type_v2"): _from_type,
    ("torch.serialization", "_get_layout"): _layout,
    ("torch", "Size"): _size,
    ("torch", "device"): _device,
    ("collections", "OrderedDict"): _ordered_dict,
    ("collections", "Counter"): lambda machine, counts=(): Counter(dict(counts)),
    ("_codecs", "encode"): _encoded,
    **{
        (module, kind.__name__): lambda machine, values=(), kind=kind: kind(map(hashable, _listed(values)))
        for module in ("builtins", "__builtin__")
        for kind in (set, frozenset, bytes)
    },
    **{(module, "bytearray"): _bytearray for module in ("builtins", "__builtin__")},
    **{
        (f"numpy.{core}.multiarray", name): function
        for core in ("core", "_core")
        for name, function in (("_reconstruct", _numpy_array), ("scalar", _numpy_scalar))
    },
    ("numpy", "dtype"): _numpy_dtype,
    ("numpy", "ndarray"): _refused,
    **{(module, "complex"): _complex for module in ("builtins", "__builtin__")},
}


def _names() -> Iterator[tuple[tuple[str, str], Any]]:
    """Return the names that a pickle may use."""
    for key, function in FUNCTIONS.items():
        yield key, Function(".".join(key), function)
    for name in FIELDS:
        kind = return_type(name)
        yield ("torch.return_types", name), Function(name, lambda machine, values, state=None, kind=kind: kind(values))
    for name, dtype in {**STORAGE_TYPES, "UntypedStorage": None}.items():
        for module in ("torch", "torch.storage"):
            yield (module, name), StorageType(dtype)
    for constant in (*dtypes.ALL, *vars(formats).values()):
        if isinstance(constant, (dtypes.dtype, formats.memory_format)):
            yield ("torch", repr(constant).partition(".")[2]), constant
    yield ("torch", "Tensor"), Tensor


NAMES = dict(_names())
