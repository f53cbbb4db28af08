"""Replace this package's machinery in a program that runs with NumPy alone, in one thread, on the CPU."""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["STAND_INS", "exception_base"]


def parallel_for(task: Callable[[int], None], count: int) -> None:
    """Run the tasks one after the other."""
    for number in range(count):
        task(number)


def run_quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; the whole program runs without NumPy's warnings."""
    return function(*arguments)


class quietly:  # noqa: N801 - as it is called where it stands for a context
    """Calls a function; the whole program runs without NumPy's warnings."""

    run = staticmethod(run_quietly)


def quiet() -> Any:
    """No floating-point warnings from NumPy inside the ``with`` block."""
    return np.errstate(all="ignore")


def scipy(array: Any, name: str) -> Any:
    """SciPy's module ``name``."""
    return importlib.import_module(f"scipy.{name}")


def add_at(array: Any, key: Any, values: Any) -> None:
    """``array[key] += values``, adding up where the key names an element more than once."""
    np.add.at(array, key, values)


def sum_of_rows(index: Any, rows: Any, count: int) -> Any:
    """A matrix of ``count`` rows, zeros at first, to which ``rows`` are added at ``index``."""
    output = np.zeros((count, rows.shape[1]), rows.dtype)
    np.add.at(output, index, rows)
    return output


def sum_on_device(function: Any, operands: Any, axes: Any, keepdims: bool) -> None:
    """There is no device."""


def module(place: Any) -> Any:
    """The library that makes arrays."""
    return np


def device_of(array: Any) -> str:
    """Return the device of an array."""
    return "cpu"


def fetch(array: Any) -> Any:
    """The array's values."""
    return array


class NumpyBackend:
    """NumPy as the library of arrays."""

    type = "cpu"
    strided = staticmethod(lambda a, shape, strides, shift: np.asarray(Memory(a, shape, strides, shift, 1)))
    address = staticmethod(lambda a: a.__array_interface__["data"][0])


def of(array: Any) -> Any:
    """The library that an array belongs to."""
    return NumpyBackend


def elements(t: Any) -> Any:
    """The array."""
    return t


class Tensor:
    """No array is one."""


class SparseTensor:
    """No array is one."""


class BatchedTensor:
    """No array is one."""


def number_like(value: Any, cls: type, array: Any) -> Any:
    """A Python number in the other operand's dtype; None if that needs promotion."""
    if value.__class__ not in (int, float) or array.dtype.char not in "fd":
        return None
    return np.asarray(value, array.dtype) if cls is np.ndarray else array.dtype.type(value)


class Memory:
    """The memory of an array in another geometry, in units of ``size`` bytes."""

    def __init__(self, array: Any, shape: Any, strides: Any, shift: int, size: int) -> None:
        self.array = array
        self.__array_interface__ = {
            "version": 3, "typestr": array.dtype.str, "shape": tuple(shape),
            "strides": tuple(stride * size for stride in strides),
            "data": (array.__array_interface__["data"][0] + shift * size, False),
        }  # fmt: skip


def restride(a: Any, shape: Any, strides: Any, shift: int = 0) -> Any:
    """A view of the memory of ``a``, from ``shift`` elements after its first one on."""
    a = np.asarray(a)
    steps = tuple(stride * a.itemsize for stride in strides)
    if shift >= 0 and a.flags.c_contiguous:
        try:
            return np.ndarray(shape, a.dtype, a, shift * a.itemsize, steps)
        except (ValueError, TypeError):  # it may exceed the array, but not the underlying memory
            pass
    return np.asarray(Memory(a, shape, strides, shift, a.itemsize))


def root(a: Any) -> Any:
    """The array that owns the memory that ``a`` is part of."""
    while isinstance(a.base, np.ndarray | Memory):
        a = a.base.array if isinstance(a.base, Memory) else a.base
    return a


def offset_of(a: Any) -> int:
    """Return the position of the first element, counted from the start of the memory."""
    if isinstance(a, np.generic):
        return 0
    return int((a.__array_interface__["data"][0] - root(a).__array_interface__["data"][0]) // a.itemsize)


def large_product(a: Any, b: Any) -> Any:
    """The product of two matrices."""
    return a.dot(b)


def kind_of(value: Any) -> str:
    """Return the name of a value's type in a message."""
    return type(value).__name__


_BY_MODULE = {
    "_engine.arrays.thread_pool": "parallel_for",
    "_engine.arrays.backend": "run_quietly quietly quiet scipy add_at sum_of_rows module device_of fetch of",
    "_engine.fusion.tiling": "sum_on_device",
    "_engine.arrays.strides": "restride root offset_of",
    "_engine.ops.linalg.matmul": "large_product",
    "errors": "kind_of",
    "_engine.core.tensor": "Tensor",
    "_engine.core.batched": "elements BatchedTensor",
    "_engine.core.sparse": "SparseTensor",
    "_engine.compiler.promotion": "number_like",
}
STAND_INS = {(f"nbautograd.{module}", name) for module, names in _BY_MODULE.items() for name in names.split()}
"""The names in modules for which something of the same name stands here."""


def exception_base(kind: type[BaseException]) -> str:
    """The nearest builtin class of an exception of this package.

    >>> from nbautograd.errors import ShapeError
    >>> exception_base(ShapeError)
    'RuntimeError'
    """
    bases = [base.__name__ for base in kind.__mro__ if getattr(builtins, base.__name__, None) is base]
    return next((name for name in bases if name != "Exception"), "Exception")
