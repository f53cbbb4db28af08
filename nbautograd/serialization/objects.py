"""Objects of the program's own classes, loaded from files with ``weights_only=False``.

A class must already have been imported; nothing is imported for a file. An object is made without a call of its class:
it gets its attributes from the file. Calls are limited to a few Python classes that only hold data, to the
``__setstate__`` of modules, optimizers and others of this library, and to classes and functions in
``add_safe_globals``. Functions are those of this library, and are not called.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import decimal
import enum
import fractions
import functools
import pathlib
import sys
import types
import uuid
from typing import Any

from nbautograd._engine.core.file_forms import form_of
from nbautograd._engine.core.tensor import Tensor
from nbautograd.serialization import allowed_globals
from nbautograd.serialization.files import UnsafeFileError, call_program
from nbautograd.serialization.names import named_by_pytorch, pytorch_name
from nbautograd.serialization.rebuild import NAMES, Function

__all__ = ["build", "called", "new", "resolve"]

PACKAGE = __name__.partition(".")[0]
DATA: tuple[type, ...] = (
    *(bool, bytearray, bytes, complex, dict, float, frozenset, int, list, object, range, set, slice, str, tuple),
    *(collections.Counter, collections.OrderedDict, collections.defaultdict, collections.deque),
    *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone),
    *(decimal.Decimal, fractions.Fraction, functools.partial, types.SimpleNamespace, argparse.Namespace, uuid.UUID),
    *(pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath),
)
"""Python classes that hold data: they may be called with the content of a file."""
FORMER = {"__builtin__": "builtins", "copy_reg": "copyreg", "UserDict": "collections", "pathlib._local": "pathlib"}
"""Modules of Python 2 and of other versions, with the names used in files."""
PYTHON_2 = {("__builtin__", "xrange"): "range", ("__builtin__", "unicode"): "str", ("__builtin__", "long"): "int"}
"""Python 2 names, which pickles of the protocols up to 2 still use."""
BASES: tuple[Any, ...] = (dict, list, set, frozenset, tuple, str, bytes, int, float, complex)
"""Base classes that keep their values outside their attributes."""
TRUSTED = (
    "If you trust the file, allow it by torch.serialization.add_safe_globals([...]): it is then called as Python's "
    "pickle would"
)


def resolve(module: str, name: str) -> Any:
    """Return the class or function that a file names.

    :raises UnsafeFileError: the name is unknown or not allowed.
    """
    name = PYTHON_2.get((module, name), name)
    data = {(cls.__module__, cls.__qualname__): cls for cls in DATA}
    place = FORMER.get(module, module)
    if (place, name) in data:
        return data[place, name]
    if (module, name) in NAMES:
        return NAMES[module, name]
    if place in ("copyreg", "builtins") and name in HELPERS:
        return HELPERS[name]
    if (module, name) in OWNERS:
        return OWNERS[module, name]
    ours = named_by_pytorch("torch.nn.functional" if module == "torch._C._nn" else module, name)
    if pytorch_name(ours) is not None and (isinstance(ours, type) or _is_operation(ours)):
        return ours
    return _class_of_program(module, name)


def _is_operation(function: Any) -> bool:
    """Return whether a function of this library only computes."""
    return str(function.__module__.partition(".")[2]).startswith(("_engine.ops.", "nn."))


def _class_of_program(module: str, name: str) -> type:
    full = f"{module:.80}.{name:.80}"
    if module.partition(".")[0] == "torch":
        raise UnsafeFileError(f"load(): the file holds an object of PyTorch's {full}, which nbautograd does not have")
    if module not in sys.modules:
        raise UnsafeFileError(
            f"load(): the file names {full}, and no module {module:.80} has been imported. Nothing is imported for a "
            "file. Import it first"
        )
    value: Any = sys.modules[module]
    for part in name.split("."):
        value = vars(value).get(part) if isinstance(value, (types.ModuleType, type)) else None
    if value is None:
        raise UnsafeFileError(f"load(): the file names {full}, but the module {module:.80} has no {name:.80}")
    if not isinstance(value, type):
        raise UnsafeFileError(f"load(): the file names {full}, not a class: a file's functions are not called. "
                              f"{TRUSTED}")  # fmt: skip
    if module.partition(".")[0] in sys.stdlib_module_names and not issubclass(value, enum.Enum):
        raise UnsafeFileError(f"load(): the file names {full}, a Python class that does more than hold data. {TRUSTED}")
    return value


def _is_longer_than_said(function: type, value: Any) -> bool:
    """Return whether an argument makes more data than it takes in a file: a size, a range, an exponent."""
    if isinstance(value, range):
        return function not in (range, slice, functools.partial, types.SimpleNamespace)
    if function is fractions.Fraction:
        return isinstance(value, str) and "e" in value.lower()
    return function in (bytes, bytearray) and isinstance(value, int)


def called(function: Any, arguments: tuple[Any, ...]) -> Any:
    """Return the result of a call that a file describes.

    :raises UnsafeFileError: such a call is not allowed.
    """
    if isinstance(function, type) and (function in DATA or issubclass(function, enum.Enum)):
        if any(_is_longer_than_said(function, value) for value in arguments):
            raise UnsafeFileError(f"load(): the file asks for more than it holds: {function.__name__}{arguments!r:.80}")
        return function(*arguments)
    name = getattr(function, "__qualname__", type(function).__name__)
    raise UnsafeFileError(
        f"load(): the file calls {name:.80}, and a file's functions and classes are not called. {TRUSTED}"
    )


def new(cls: Any, arguments: tuple[Any, ...]) -> Any:
    """Return an uninitialized object of a class; its constructors are not called.

    :raises UnsafeFileError: that is not possible without a call.
    """
    if not isinstance(cls, type):
        raise UnsafeFileError(f"load(): the file makes an object of a {type(cls).__name__}")
    if cls in DATA:
        return cls.__new__(cls, *arguments)
    if hasattr(cls, "__del__") or issubclass(cls, Tensor):
        raise UnsafeFileError(f"load(): the file holds a {cls.__qualname__}, which acts when it is deleted. {TRUSTED}")
    for base in BASES:
        if issubclass(cls, base):
            values = (arguments,) if base is tuple and hasattr(cls, "_fields") else arguments
            return base.__new__(cls, *values)
    try:
        return object.__new__(cls, *arguments)
    except TypeError:
        raise UnsafeFileError(
            f"load(): a {cls.__qualname__} cannot be made without a call of its class. {TRUSTED}"
        ) from None


def build(target: Any, state: Any) -> None:
    """Set an object's attributes.

    :raises UnsafeFileError: its class has its own method for it, and is not allowed.
    """
    cls = type(target)
    form = form_of(cls)
    if form is not None and type(state) is dict:
        state = form.from_pytorch(target, state)
    method = getattr(cls, "__setstate__", None)
    if method is not None:
        known = cls in DATA or form is not None or allowed_globals.is_safe(cls)
        if not known and getattr(method, "__module__", "").partition(".")[0] != PACKAGE:
            raise UnsafeFileError(f"load(): {cls.__qualname__} has a method __setstate__ of its own. {TRUSTED}")
        call_program(target.__setstate__, state)
    else:
        _set_attributes(target, *(state if type(state) is tuple and len(state) == 2 else (state, None)))


def _set_attributes(target: Any, attributes: Any, slots: Any) -> None:
    for values in (attributes, slots):
        if values is not None and (type(values) is not dict or not all(type(name) is str for name in values)):
            raise ValueError(f"the attributes of a {type(target).__qualname__} are no dict")
    if attributes:
        vars(target).update(attributes)
    for name, value in (slots or {}).items():
        object.__setattr__(target, name, value)


def _attribute(machine: Any, owner: Any, name: Any) -> Any:
    """Return a nested class, a member of an enumeration, or a function where PyTorch's pickles look it up."""
    if type(name) is not str or name.startswith("__"):
        raise UnsafeFileError(f"load(): the file asks for the attribute {name!r:.80} of a {type(owner).__name__}")
    if owner is FUNCTIONS:
        return resolve("torch", name)
    value = vars(owner).get(name) if isinstance(owner, type) else None
    if isinstance(owner, type) and issubclass(owner, enum.Enum) and name in owner.__members__:
        return owner.__members__[name]
    if isinstance(value, type) or owner is Tensor and isinstance(value, types.FunctionType) and _is_operation(value):
        return value
    raise UnsafeFileError(f"load(): the file asks for the attribute {name!r:.80} of a {type(owner).__name__}")


def _reconstructed(machine: Any, cls: Any, base: Any, state: Any) -> Any:
    """Return an object as created by protocols 0 and 1."""
    return new(cls, () if base is object else (state,))


HELPERS = {"getattr": Function("getattr", _attribute), "_reconstructor": Function("_reconstructor", _reconstructed)}
FUNCTIONS = Function("torch", _attribute)
"""A stand-in for the object in which PyTorch's pickles look functions up."""
OWNERS: dict[tuple[str, str], Any] = {
    ("torch._C", "_VariableFunctionsClass"): FUNCTIONS,
    ("torch._C", "TensorBase"): Tensor,
}
