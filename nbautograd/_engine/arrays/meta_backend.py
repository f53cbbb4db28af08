"""The backend of the device ``meta``: what makes arrays without memory, and what stands for SciPy's modules."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from nbautograd._engine.arrays.device import device
from nbautograd._engine.arrays.late_packages import late
from nbautograd._engine.arrays.meta import NO_DATA, Ints, MetaArray, blank, shown
from nbautograd._engine.arrays.meta_functions import transforms
from nbautograd._engine.arrays.meta_shapes import (
    FUNCTIONS,
    broadcast,
    grown,
    like,
    run,
    small,
    strided,
    wrapped,
    written,
)


def _arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> MetaArray:
    if stop is None:
        start, stop = 0, start
    kind = np.dtype(dtype) if dtype is not None else np.result_type(start, stop, step)
    return blank((max(math.ceil((stop - start) / step), 0),), kind)


class _Add:
    """``add``, with the method that adds at indices."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return np.add(*args, **kwargs)

    @staticmethod
    def at(array: Any, key: Any, values: Any) -> None:
        """Do nothing."""


class _Namespace:
    """A stand-in for the module ``numpy``."""

    ndarray = MetaArray
    add = _Add()
    lib = SimpleNamespace(
        stride_tricks=SimpleNamespace(as_strided=lambda x, shape, strides: strided(x, tuple(shape), tuple(strides), 0))
    )
    arange = staticmethod(_arange)

    @staticmethod
    def asarray(values: Any, dtype: Any = None, copy: Any = None) -> MetaArray:
        return shown(values, dtype)

    @staticmethod
    def array(values: Any, dtype: Any = None, copy: Any = True) -> MetaArray:
        result = shown(values, dtype)
        return like(result, result.dtype, "K") if result is values else result

    ascontiguousarray = asarray

    @staticmethod
    def empty(shape: Any, dtype: Any = np.float64, order: str = "C") -> MetaArray:
        return blank(shape, dtype)

    zeros = ones = empty

    @staticmethod
    def full(shape: Any, fill_value: Any, dtype: Any = None) -> MetaArray:
        return blank(shape, np.asarray(fill_value).dtype if dtype is None else dtype)

    @staticmethod
    def eye(n: int, m: int | None = None, k: int = 0, dtype: Any = float) -> MetaArray:
        return blank((n, n if m is None else m), dtype)

    tri = eye

    @staticmethod
    def identity(n: int, dtype: Any = float) -> MetaArray:
        return blank((n, n), dtype)

    @staticmethod
    def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None) -> MetaArray:
        return blank((num,), np.result_type(start, stop, np.float64) if dtype is None else dtype)

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        if not callable(function) or isinstance(function, type):
            return function
        return lambda *args, **kwargs: wrapped(function(*args, **kwargs))


NAMESPACE = _Namespace()


class Scipy:
    """A stand-in for a module of SciPy: its elementwise functions of twins, its others of small arrays."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name in ("get_lapack_funcs", "get_blas_funcs"):  # these take NumPy's arrays only
            raise AttributeError(name)
        function = getattr(late(f"scipy.{self._name}"), name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if isinstance(function, np.ufunc):
                out = kwargs.pop("out", None)
                return written(grown(run(function, args, kwargs), broadcast(*args)), out)
            if self._name == "fft" and f"fft.{name}" in FUNCTIONS:
                return transforms(function, args, kwargs)
            return small(function, args, kwargs)

        return call


class MetaBackend:
    """Tensors on the device ``meta``."""

    type = "meta"

    def module(self, place: device) -> Any:
        return NAMESPACE

    def fetch(self, array: Any) -> Any:
        raise NotImplementedError(NO_DATA)

    def place(self, array: Any) -> device:
        return META

    def address(self, array: Any) -> int:
        """Return how many bytes after the start of its memory the first element would be."""
        if array.base is None:
            return 0
        first, start = (a._v.__array_interface__["data"][0] for a in (array, array.base))
        return int(first - start)

    def strided(self, array: Any, shape: Ints, strides: Ints, shift: int) -> Any:
        return strided(array, shape, strides, shift)

    def scipy(self, name: str) -> Any:
        return Scipy(name)

    def kernels(self) -> Any:
        return None


META = device("meta")
