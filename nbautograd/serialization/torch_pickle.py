"""Reading the pickle in PyTorch's files without executing anything in it.

A pickle is a program for a small stack machine. Python's own machine lets it import any module and call any function.
This one supports a few instructions, imports nothing, and calls only our own functions in ``rebuild.py``, which check
their arguments, and those that the program has allowed by ``add_safe_globals``. It builds objects of other classes only
if :func:`nbautograd.load` is called with ``weights_only=False``: see ``objects.py``.
"""

from __future__ import annotations

import pickletools
import reprlib
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from functools import partialmethod
from typing import Any

import numpy as np

from nbautograd._engine.core.storage import TypedStorage
from nbautograd.serialization import allowed_globals, objects
from nbautograd.serialization.files import FileFormatError, UnsafeFileError, call_program, hashable
from nbautograd.serialization.rebuild import NAMES, Function, StorageType, set_numpy_state

__all__: list[str] = []

Memory = Callable[[str, int, str], Any]
"""Returns a piece of memory, as an array of bytes on its new device, by its key, least length and saved device."""

CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple, "EMPTY_SET": set}
VALUES = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    "BYTEARRAY8",
}
TEXTS = {"STRING", "BINSTRING", "SHORT_BINSTRING"}
"""The strings of Python 2, whose encoding only the reader knows."""
MARK = object()


def _check_values(result: Any) -> None:
    """Check that no intermediate object of the unpickler is left in the result."""
    seen: set[int] = set()
    waiting = [result]
    while waiting:
        value = waiting.pop()
        if isinstance(value, (Function, StorageType)) or value is MARK:
            raise UnsafeFileError(f"load(): the file holds a {type(value).__name__} where a value should be")
        if isinstance(value, (dict, list, tuple, set, frozenset)) and id(value) not in seen:
            seen.add(id(value))
            waiting += [*value.keys(), *value.values()] if isinstance(value, dict) else value
            waiting.append(getattr(value, "_metadata", None))


class _Machine:
    """A restricted unpickler: the stack machine, with one method per group of opcodes.

    :param memory: a function that returns the bytes of a piece of memory.
    :param big: True if numbers are big-endian.
    :param weights_only: if True, raise for objects of the program's own classes.
    :param encoding: the encoding of the strings of Python 2.
    """

    def __init__(self, memory: Memory, big: bool, weights_only: bool, encoding: str) -> None:
        self.memory, self.big, self.weights_only, self.encoding = memory, big, weights_only, encoding
        self.allowed = allowed_globals.by_name()
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.storages: dict[str, Any] = {}
        self.copied = 0  # bytes of tensors that could not be views of their memory
        self.late: list[Callable[[], None]] = []  # to call when the memory has its values

    def read(self, data: bytes) -> Any:
        """Return the object that a pickle describes; raise if it is damaged, or names what is not allowed."""
        try:
            result = self.run(data)
        except (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            what = f"{type(error).__name__}: {error!s:.200}"
            raise FileFormatError(f"load(): the pickle in the file is damaged: {what}") from error
        _check_values(result)
        return result

    def run(self, data: bytes) -> Any:
        """Execute the opcodes up to STOP."""
        stack = self.stack
        for opcode, argument, _ in pickletools.genops(data):
            name = opcode.name
            if name in VALUES:
                stack.append(argument)
            elif name in TEXTS:
                stack.append(self.text(argument))
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

    def text(self, argument: Any) -> Any:
        """Return a string of Python 2, decoded."""
        data = argument.encode("latin-1")
        return data if self.encoding == "bytes" else data.decode(self.encoding)

    def marked(self) -> list[Any]:
        """Pop everything above the last mark, and the mark, off the stack."""
        for position in range(len(self.stack) - 1, -1, -1):
            if self.stack[position] is MARK:
                result = self.stack[position + 1 :]
                del self.stack[position:]
                return result
        raise ValueError("the mark is missing")

    # -- containers --------------------------------------------------------------------------------------------------

    def do_mark(self, _: Any) -> None:
        self.stack.append(MARK)

    def do_tuple(self, _: Any) -> None:
        self.stack.append(tuple(self.marked()))

    def _tuple_of(self, count: int, _: Any) -> None:
        if len(self.stack) < count:
            raise ValueError("the stack is empty")
        self.stack[-count:] = [tuple(self.stack[-count:])]

    do_tuple1 = partialmethod(_tuple_of, 1)
    do_tuple2 = partialmethod(_tuple_of, 2)
    do_tuple3 = partialmethod(_tuple_of, 3)

    def do_frozenset(self, _: Any) -> None:
        self.stack.append(frozenset(map(hashable, self.marked())))

    def do_list(self, _: Any) -> None:
        self.stack.append(self.marked())

    def do_append(self, _: Any) -> None:
        self._extend([self.stack.pop()])

    def do_appends(self, _: Any) -> None:
        self._extend(self.marked())

    def _extend(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is deque:
            target.extend(values)
        elif type(target) is list or self._is_built(target, list):
            list.extend(target, values)
        else:
            raise UnsafeFileError(f"load(): the pickle appends to a {type(target).__name__}")

    def do_additems(self, _: Any) -> None:
        values = self.marked()
        if type(self.stack[-1]) is not set:
            raise UnsafeFileError(f"load(): the pickle adds to a {type(self.stack[-1]).__name__}")
        self.stack[-1].update(map(hashable, values))

    def _is_built(self, value: Any, kind: type) -> bool:
        """Return whether a value is of a class derived from ``kind`` that the file may build."""
        return isinstance(value, kind) and (allowed_globals.is_safe(type(value)) or not self.weights_only)

    def do_dict(self, _: Any) -> None:
        values = self.marked()
        self.stack.append({})
        self._set_items(values)

    def do_setitem(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._set_items([key, value])

    def do_setitems(self, _: Any) -> None:
        self._set_items(self.marked())

    def _set_items(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) not in (dict, OrderedDict, Counter) and not self._is_built(target, dict):
            raise UnsafeFileError(f"load(): the pickle sets items of a {type(target).__name__}")
        plain = OrderedDict if isinstance(target, OrderedDict) else dict
        for key, value in zip(values[::2], values[1::2], strict=True):
            plain.__setitem__(target, hashable(key), value)

    # -- what may be named, called and built -------------------------------------------------------------------------

    def do_global(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self._push_named(module, name)

    def do_stack_global(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self._push_named(module, name)

    def _push_named(self, module: Any, name: Any) -> None:
        if type(module) is not str or type(name) is not str:
            raise UnsafeFileError("load(): the pickle names a function by an object that is not text")
        full = f"{module}.{name}"
        if full in self.allowed:
            self.stack.append(self.allowed[full])
        elif not self.weights_only:
            self.stack.append(objects.resolve(module, name))
        elif (module, name) in NAMES:
            self.stack.append(NAMES[module, name])
        else:
            raise UnsafeFileError(WEIGHTS_ONLY.format(full.removeprefix("builtins.")[:160]))

    def do_reduce(self, _: Any) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if type(arguments) is not tuple:
            raise UnsafeFileError(f"load(): the pickle calls with a {type(arguments).__name__}")
        if isinstance(function, Function):
            self.stack.append(function.call(self, *arguments))
        elif allowed_globals.is_safe(function):
            self.stack.append(call_program(function, *arguments))
        elif self.weights_only:
            raise UnsafeFileError(f"load(): the pickle calls a {type(function).__name__}")
        else:
            self.stack.append(objects.called(function, arguments))

    def do_newobj(self, _: Any) -> None:
        arguments, cls = self.stack.pop(), self.stack.pop()
        self._push_new(cls, arguments, {})

    def do_newobj_ex(self, _: Any) -> None:
        keywords, arguments, cls = self.stack.pop(), self.stack.pop(), self.stack.pop()
        self._push_new(cls, arguments, keywords)

    def _push_new(self, cls: Any, arguments: Any, keywords: Any) -> None:
        if type(arguments) is not tuple or type(keywords) is not dict:
            raise UnsafeFileError(f"load(): the pickle makes an object of a {type(arguments).__name__}")
        if isinstance(cls, type) and allowed_globals.is_safe(cls):
            self.stack.append(call_program(cls.__new__, cls, *arguments, **keywords))
        elif self.weights_only or keywords:
            what = cls.__name__ if isinstance(cls, type) else type(cls).__name__
            raise UnsafeFileError(
                "load(): Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` "
                f"but got {what}"
            )
        else:
            self.stack.append(objects.new(cls, arguments))

    def do_build(self, _: Any) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if type(target) is OrderedDict and type(state) is dict:
            if set(state) - {"_metadata"} and self.weights_only:
                raise UnsafeFileError("load(): the pickle sets attributes of an OrderedDict")
            vars(target).update(state)
        elif isinstance(target, (np.ndarray, np.dtype)):
            set_numpy_state(target, state)
        elif allowed_globals.is_safe(type(target)) or not self.weights_only:
            objects.build(target, state)
        else:
            raise UnsafeFileError(
                "load(): Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {type(target).__name__}"
            )

    def do_binpersid(self, _: Any) -> None:
        reference = self.stack.pop()
        if type(reference) is tuple and len(reference) == 4 and reference[0] == "module" and not self.weights_only:
            self.stack.append(reference[1])  # a class, with its source, in files of old versions
            return
        what, kind, key, location, count, *view = reference
        if what != "storage" or not isinstance(kind, StorageType) or type(key) is not str or type(location) is not str:
            raise UnsafeFileError(
                f"load(): the pickle refers to an object that is not memory: {reprlib.repr(reference)}"
            )
        width = 1 if kind.dtype is None else kind.dtype.numpy.itemsize
        if type(count) is not int or count < 0:
            raise FileFormatError(f"load(): memory {key!r:.40} has the impossible length {count!r:.40}")
        if key not in self.storages:
            self.storages[key] = self.memory(key, count * width, location)
        data = self.storages[key]
        if not 0 <= data.size - count * width < width:
            raise FileFormatError(f"load(): memory {key!r} has {data.size} bytes instead of {count} times {width}")
        if view and view[0] is not None:
            _, start, length = view[0]
            data = data[start * width : (start + length) * width]
        storage = TypedStorage(data)
        self.stack.append(storage if kind.dtype is None else storage.as_type(kind.dtype))


WEIGHTS_ONLY = (
    "Weights only load failed. WeightsUnpickler error: Unsupported global: GLOBAL {0} was not an allowed global by "
    "default. Please use `torch.serialization.add_safe_globals([{0}])` or the "
    "`torch.serialization.safe_globals([{0}])` context manager to allowlist this global if you trust this "
    "class/function. With `weights_only=False`, load() builds objects of classes that the program has imported, and "
    "calls nothing else that the file names."
)
"""The beginning is PyTorch's."""
