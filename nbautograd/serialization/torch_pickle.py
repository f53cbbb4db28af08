"""Reading the weights in PyTorch's own files, ``.pt`` and ``.pth``, without executing anything in them.

Such a file is a zip archive of the tensors' memory and of a pickle that says how they hang together. A pickle is a
program for a small stack machine. Python's own machine lets it call any function; this one knows a handful of
instructions and only the functions in ``FUNCTIONS``, which are ours and check what they get.
"""

from __future__ import annotations

import pickle
import pickletools
import reprlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbautograd.arrays import dtypes
from nbautograd.arrays.device import device
from nbautograd.arrays.size import Size
from nbautograd.core.node import LEAF
from nbautograd.core.tensor import Tensor, wrap
from nbautograd.serialization.files import FileFormatError

__all__ = ["UnsafeFileError", "read"]


class UnsafeFileError(FileFormatError, pickle.UnpicklingError):
    """A pickle names a function or class that tensors in plain containers do not need."""


@dataclass(frozen=True)
class _Function:
    """A function that the pickle may name and call."""

    name: str
    call: Callable[..., Any]


@dataclass(frozen=True)
class _StorageType:
    """The class of a piece of memory; None for bytes of no particular dtype."""

    dtype: dtypes.dtype | None


@dataclass(frozen=True)
class _Storage:
    """A piece of memory, whose name in the archive is ``key``."""

    data: np.ndarray[Any, Any]
    dtype: dtypes.dtype | None
    location: str


STORAGES: dict[str, dtypes.dtype | None] = {
    "BoolStorage": dtypes.bool_,
    "ByteStorage": dtypes.uint8,
    "CharStorage": dtypes.int8,
    "ShortStorage": dtypes.int16,
    "IntStorage": dtypes.int32,
    "LongStorage": dtypes.int64,
    "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16,
    "FloatStorage": dtypes.float32,
    "DoubleStorage": dtypes.float64,
    "ComplexFloatStorage": dtypes.complex64,
    "ComplexDoubleStorage": dtypes.complex128,
    "UntypedStorage": None,
}
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
EMPTY: dict[str, Callable[[], Any]] = {
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_TUPLE": tuple,
    "EMPTY_SET": set,
}
VALUES = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
}
MARK = object()


def read(data: bytes, memory: Callable[[str], bytearray], moved: Callable[[Tensor, str], Tensor], big: bool) -> Any:
    """The object that a pickle describes.

    :param data: the pickle.
    :param memory: gives the bytes of a piece of memory by its name.
    :param moved: brings a tensor to the device that is meant by the name of the one where it was.
    :param big: whether numbers were written highest byte first.
    :raises UnsafeFileError: the pickle holds anything but tensors and plain containers.
    :raises FileFormatError: it is damaged.
    """
    machine = _Machine(memory, moved, big)
    try:
        result = machine.run(data)
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        what = f"{type(error).__name__}: {error!s:.200}"
        raise FileFormatError(f"load(): the pickle in the file is damaged: {what}") from error
    _check_values(result)
    return result


def _check_values(result: Any) -> None:
    """Make sure that no intermediate object of the unpickler is left in the result."""
    seen: set[int] = set()
    waiting = [result]
    while waiting:
        value = waiting.pop()
        if isinstance(value, (_Function, _StorageType, _Storage)) or value is MARK:
            raise UnsafeFileError(f"load(): the file holds a {type(value).__name__[1:]} where a value should be")
        if isinstance(value, (dict, list, tuple, set, frozenset)) and id(value) not in seen:
            seen.add(id(value))
            waiting += [*value.keys(), *value.values()] if isinstance(value, dict) else value
            waiting.append(getattr(value, "_metadata", None))


class _Machine:
    """A restricted unpickler: the stack machine, with one method per group of opcodes."""

    def __init__(self, memory: Callable[[str], bytearray], moved: Callable[[Tensor, str], Tensor], big: bool) -> None:
        self.memory, self.moved, self.big = memory, moved, big
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.storages: dict[str, np.ndarray[Any, Any]] = {}
        self.copied = 0  # bytes of tensors that could not be views of their memory

    def run(self, data: bytes) -> Any:
        """Execute the opcodes up to STOP."""
        stack = self.stack
        for opcode, argument, _ in pickletools.genops(data):
            name = opcode.name
            if name in VALUES:
                stack.append(argument)
            elif name in CONSTANTS:
                stack.append(CONSTANTS[name])
            elif name in EMPTY:
                stack.append(EMPTY[name]())
            elif name in ("BINPUT", "LONG_BINPUT", "PUT", "MEMOIZE"):
                self.memo[len(self.memo) if name == "MEMOIZE" else int(str(argument))] = stack[-1]
            elif name in ("BINGET", "LONG_BINGET", "GET"):
                stack.append(self.memo[int(str(argument))])
            elif name == "STOP":
                (result,) = stack
                return result
            elif name not in ("PROTO", "FRAME"):
                handler = getattr(self, "do_" + name.lower(), None)
                if handler is None:
                    raise UnsafeFileError(f"load(): the pickle has the instruction {name}, which weights do not need")
                handler(argument)
        raise ValueError("it ends too early")

    def marked(self) -> list[Any]:
        """Pop everything above the last mark, and the mark, off the stack."""
        for position in range(len(self.stack) - 1, -1, -1):
            if self.stack[position] is MARK:
                result = self.stack[position + 1 :]
                del self.stack[position:]
                return result
        raise ValueError("there is no mark")

    # -- containers --------------------------------------------------------------------------------------------------

    def do_mark(self, _: Any) -> None:
        self.stack.append(MARK)

    def do_tuple(self, _: Any) -> None:
        self.stack.append(tuple(self.marked()))

    def _tuple_of(self, count: int) -> None:
        if len(self.stack) < count:
            raise ValueError("the stack is empty")
        self.stack[-count:] = [tuple(self.stack[-count:])]

    def do_tuple1(self, _: Any) -> None:
        self._tuple_of(1)

    def do_tuple2(self, _: Any) -> None:
        self._tuple_of(2)

    def do_tuple3(self, _: Any) -> None:
        self._tuple_of(3)

    def do_frozenset(self, _: Any) -> None:
        self.stack.append(frozenset(map(_hashable, self.marked())))

    def do_list(self, _: Any) -> None:
        self.stack.append(self.marked())

    def do_append(self, _: Any) -> None:
        self._extend([self.stack.pop()])

    def do_appends(self, _: Any) -> None:
        self._extend(self.marked())

    def _extend(self, values: list[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise UnsafeFileError(f"load(): the pickle appends to a {type(self.stack[-1]).__name__}")
        self.stack[-1].extend(values)

    def do_additems(self, _: Any) -> None:
        values = self.marked()
        if type(self.stack[-1]) is not set:
            raise UnsafeFileError(f"load(): the pickle adds to a {type(self.stack[-1]).__name__}")
        self.stack[-1].update(map(_hashable, values))

    def do_dict(self, _: Any) -> None:
        values = self.marked()
        self.stack.append({})
        self._set(values)

    def do_setitem(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._set([key, value])

    def do_setitems(self, _: Any) -> None:
        self._set(self.marked())

    def _set(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) not in (dict, OrderedDict):
            raise UnsafeFileError(f"load(): the pickle sets items of a {type(target).__name__}")
        for key, value in zip(values[::2], values[1::2], strict=True):
            target[_hashable(key)] = value

    # -- what may be named, called and built -------------------------------------------------------------------------

    def do_global(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self._named(module, name)

    def do_stack_global(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self._named(module, name)

    def _named(self, module: Any, name: Any) -> None:
        if type(module) is not str or type(name) is not str:
            raise UnsafeFileError("load(): the pickle names a function by something that is no text")
        value = NAMES.get((module, name), MARK)
        if value is MARK:
            raise UnsafeFileError(
                f"load(): the file names {module:.80}.{name:.80}, and only tensors, numbers, strings and plain "
                "containers of them are read. If you trust it, load it with PyTorch and save its state_dict()"
            )
        self.stack.append(value)

    def do_reduce(self, _: Any) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if not isinstance(function, _Function) or type(arguments) is not tuple:
            raise UnsafeFileError(f"load(): the pickle calls a {type(function).__name__}")
        self.stack.append(function.call(self, *arguments))

    def do_build(self, _: Any) -> None:
        state = self.stack.pop()
        if type(self.stack[-1]) is not OrderedDict or type(state) is not dict or set(state) - {"_metadata"}:
            raise UnsafeFileError(f"load(): the pickle sets attributes of a {type(self.stack[-1]).__name__}")
        if state:
            vars(self.stack[-1])["_metadata"] = state["_metadata"]

    def do_binpersid(self, _: Any) -> None:
        reference = self.stack.pop()
        what, kind, key, location, count = reference
        if what != "storage" or not isinstance(kind, _StorageType) or type(key) is not str or type(location) is not str:
            raise UnsafeFileError(
                f"load(): the pickle refers to something that is no memory: {reprlib.repr(reference)}"
            )
        if key not in self.storages:
            content = self.memory(key)
            self.storages[key] = np.ndarray(len(content), np.uint8, content)
        data = self.storages[key]
        width = 1 if kind.dtype is None else kind.dtype.numpy.itemsize
        if type(count) is not int or count * width != data.size:
            raise FileFormatError(f"load(): memory {key!r} has {data.size} bytes instead of {count} times {width}")
        self.stack.append(_Storage(data, kind.dtype, location))


COPIES = 16
"""How many times the memory in a file its tensors may take that are copies: a conjugate view, or swapped bytes."""
NESTED = 1000
"""How many values a key may consist of: tuples that hold each other twice over would take for ever to be hashed."""


def _hashable(value: Any) -> Any:
    """The value itself, if it is small enough to be a key or an element of a set."""
    waiting, count = [value], 0
    while waiting:
        item = waiting.pop()
        count += 1
        if count > NESTED:
            raise ValueError(f"a key consists of more than {NESTED} values")
        if isinstance(item, tuple):
            waiting += item
    return value


# -- the functions -----------------------------------------------------------------------------------------------------


def _integers(values: Any) -> tuple[int, ...]:
    if not isinstance(values, tuple) or not all(type(v) is int and 0 <= v < 2**63 for v in values):
        raise ValueError(f"{reprlib.repr(values)} should be a tuple of sizes")
    return tuple(values)


def _tensor(
    machine: _Machine,
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any = False,
    hooks: Any = None,
    metadata: Any = None,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """A tensor in a piece of memory."""
    if not isinstance(storage, _Storage):
        raise ValueError("a tensor has no memory")
    dtype = storage.dtype if dtype is None else dtype
    if dtype is None:
        raise ValueError("a tensor has no dtype")
    shape, strides, (first,) = _integers(size), _integers(stride), _integers((offset,))
    if len(shape) != len(strides) or hooks or metadata and set(metadata) - {"conj", "neg"}:
        raise UnsafeFileError("load(): the file holds a tensor with hooks, or of an unknown kind")
    kind = dtype.numpy
    end = first + 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    if 0 in shape:
        array = np.empty(shape, kind)
    elif end * kind.itemsize > storage.data.size:
        raise ValueError(f"a tensor of shape {shape} does not fit into its memory")
    else:
        in_bytes = tuple(s * kind.itemsize for s in strides)
        array = np.ndarray(shape, kind, storage.data, first * kind.itemsize, in_bytes)
    swapped = machine.big != (np.little_endian is False) and kind.itemsize > 1
    if swapped or metadata:
        machine.copied += array.nbytes
        if machine.copied > COPIES * sum(memory.size for memory in machine.storages.values()):
            raise ValueError("its tensors take many times the memory that the file has")
    if swapped:
        array = array.byteswap()
    result = machine.moved(wrap(array), storage.location)
    if metadata and metadata.get("conj"):
        result = result.conj_physical()
    if metadata and metadata.get("neg"):
        result = -result
    return _leaf(result, requires_grad)


def _leaf(tensor: Tensor, requires_grad: Any) -> Tensor:
    if requires_grad:
        if tensor._a.dtype.kind not in dtypes.INEXACT:
            raise ValueError(f"a tensor of dtype {tensor.dtype!r} cannot require grad")
        tensor._fn = LEAF
    return tensor


def _tensor_of_dtype(
    machine: _Machine,
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Tensor:
    """A tensor of a dtype that its memory does not tell."""
    if not isinstance(dtype, dtypes.dtype):
        raise ValueError("a tensor has no dtype")
    return _tensor(machine, storage, offset, size, stride, requires_grad, hooks, metadata, dtype)


def _parameter(machine: _Machine, data: Any, requires_grad: Any, hooks: Any) -> Tensor:
    from nbautograd.nn.parameter import Parameter

    if not isinstance(data, Tensor) or hooks:
        raise UnsafeFileError("load(): the file holds a parameter with hooks, or without a tensor")
    return Parameter(data.detach(), requires_grad=bool(requires_grad))


def _ordered_dict(machine: _Machine, pairs: Any = ()) -> OrderedDict[Any, Any]:
    return OrderedDict((_hashable(key), value) for key, value in _listed(pairs))


def _listed(values: Any) -> Any:
    if type(values) not in (list, tuple):
        raise ValueError(f"a container is made of a {type(values).__name__}")
    return values


def _size(machine: _Machine, values: Any) -> Size:
    return Size(_integers(tuple(_listed(values))))


def _device(machine: _Machine, kind: Any, index: Any = None) -> device:
    if type(kind) is not str or type(index) not in (int, type(None)):
        raise ValueError("a device has no name")
    return device(kind) if index is None else device(kind, index)


def _encoded(machine: _Machine, text: Any, encoding: Any) -> bytes:
    """Bytes, as old protocols write them."""
    if type(text) is not str or encoding != "latin1":
        raise ValueError("bytes are not in Latin-1")
    return text.encode("latin1")


def _complex(machine: _Machine, real: Any, imag: Any) -> complex:
    if type(real) is not float or type(imag) is not float:
        raise ValueError("a complex number has other parts than floats")
    return complex(real, imag)


FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {
    ("torch._utils", "_rebuild_tensor"): _tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_tensor_v3"): _tensor_of_dtype,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    ("torch", "Size"): _size,
    ("torch", "device"): _device,
    ("collections", "OrderedDict"): _ordered_dict,
    ("_codecs", "encode"): _encoded,
    **{
        (module, kind.__name__): lambda machine, values=(), kind=kind: kind(map(_hashable, _listed(values)))
        for module in ("builtins", "__builtin__")
        for kind in (set, frozenset, bytes)
    },
    **{(module, "complex"): _complex for module in ("builtins", "__builtin__")},
}


def _names() -> Iterator[tuple[tuple[str, str], Any]]:
    """What a pickle may name."""
    for key, function in FUNCTIONS.items():
        yield key, _Function(".".join(key), function)
    for name, dtype in STORAGES.items():
        for module in ("torch", "torch.storage"):
            yield (module, name), _StorageType(dtype)
    for dtype in dtypes.ALL:
        yield ("torch", dtype.name), dtype


NAMES = dict(_names())
