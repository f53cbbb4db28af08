"""The stand-in for the module ``cupy``, and for the backend that keeps CuPy's arrays: of ``StrictArray``."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.device import device
from tests.engine.strict.strict_array import (
    AT_DTYPES,
    DOORS,
    FUNCTIONS,
    TABLE,
    UFUNCS,
    StrictArray,
    _call_scipy,
    _deep,
    _flat,
    _host,
    _index,
    _made,
)


def _array(copy: bool) -> Callable[..., Any]:
    """``array`` and ``asarray``, the only entries for values from the host."""

    def make(values: Any, dtype: Any = None, copy: bool = copy) -> StrictArray:
        if isinstance(values, StrictArray):
            changed = dtype is not None and np.dtype(dtype) != values.dtype
            return _made(values._v.astype(dtype or values.dtype)) if changed or copy else values
        return StrictArray(np.array(values, dtype))  # to another device it always copies

    return make


def _maker(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        return StrictArray(np.asarray(function(*_deep(args, function.__name__), **kwargs)))

    return make


class _Add:
    """``cupy.add``, with the only ``at`` that a GPU offers: atomic, and for few dtypes."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return np.add(*args, **kwargs)

    @staticmethod
    def at(array: StrictArray, key: Any, values: Any) -> None:
        """``array[key] += values``, repeated indices adding up."""
        if array.dtype.char not in AT_DTYPES and array.dtype.char not in "lL":
            raise TypeError(f"cupy.add.at does not know {array.dtype}")
        np.add.at(array._v, _index(key, array.shape), _host(values, "add.at"))


def _as_strided(x: StrictArray, shape: Any = None, strides: Any = None) -> StrictArray:
    return StrictArray(np.lib.stride_tricks.as_strided(x._v, shape, strides))


class _Module:
    """A stand-in for the module ``cupy``: functions that make arrays, and NumPy's functions by CuPy's names."""

    add = _Add()
    ndarray = StrictArray

    def __init__(self) -> None:
        self.array, self.asarray = _array(True), _array(False)
        self.ascontiguousarray = self.asarray
        self.lib = SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=_as_strided))
        for name in DOORS:
            if name not in ("array", "asarray"):
                setattr(self, name, _maker(getattr(np, name)))

    def __getattr__(self, name: str) -> Any:
        if name in UFUNCS or name in FUNCTIONS:

            def function(*args: Any, **kwargs: Any) -> Any:
                if not any(isinstance(a, StrictArray) for a in _flat((*args, *kwargs.values()))):
                    raise TypeError(f"cupy.{name} without an array of CuPy's among its arguments")
                return getattr(np, name)(*args, **kwargs)

            return function
        raise AttributeError(f"module 'cupy' has no attribute {name!r}, or cupy_names.json does not list it")


_MODULE = _Module()


class StrictBackend:
    """Tensors on the device "strict", held by :class:`StrictArray`: dispatch is proved, CUDA's results are not."""

    type = "strict"
    compiled: Any = None
    """The maker of kernels, if a test has a compiler: see ``kernels.py``."""

    def kernels(self) -> Any:
        """The stand-ins for CuPy's classes of kernels, or None."""
        return self.compiled

    def module(self, place: device) -> Any:
        """The stand-in for ``cupy``."""
        return _MODULE

    def scipy(self, name: str) -> Any:
        """The stand-in for a module of ``cupyx.scipy``."""
        module = importlib.import_module(f"scipy.{name}")
        return SimpleNamespace(
            **{
                found: functools.partial(_call_scipy, f"{name}.{found}", getattr(module, found), parameters)
                for found, parameters in TABLE[name].items()
            }
        )

    def address(self, array: Any) -> int:
        """Return where in memory the first element is."""
        return int(array.data.ptr)

    def strided(self, array: Any, shape: tuple[int, ...], strides: tuple[int, ...], shift: int) -> Any:
        """A view at these strides, which like CuPy's does not know its base."""
        made = backend._NUMPY.strided(array._v, shape, strides, shift)
        return StrictArray(made)

    def fetch(self, array: Any) -> np.ndarray[Any, Any]:
        """A copy on the host."""
        return array.get()

    def place(self, array: Any) -> device:
        """The one strict device."""
        return device("strict")


@contextmanager
def installed() -> Iterator[StrictBackend]:
    """Register the backend, and remove it at the end so that other tests use the default."""
    strict = StrictBackend()
    backend.register(strict, StrictArray)
    try:
        yield strict
    finally:
        backend._BY_TYPE.pop(strict.type, None)
        backend._BY_CLASS.pop(StrictArray, None)
