"""Where arrays live: NumPy on the CPU, CuPy on CUDA. The only module that names CuPy.

Everything above reaches arrays through their own protocols (operators, methods, ``np.exp(array)`` and the like, which
NumPy hands to the array's own library), so a formula written once runs on both. What is left for this module is
where a new array is made, how one is brought back to the host, and how to keep NumPy from printing warnings.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from nbautograd.device import device
from nbautograd.errors import CudaUnavailableError, DeviceError

__all__ = ["Backend", "quiet", "register", "set_quiet", "unset_quiet"]


class Backend(Protocol):
    """What a library of arrays must offer to hold tensors on one kind of device."""

    type: str

    def module(self, place: device) -> Any:
        """The namespace that makes arrays (``empty``, ``asarray``, ...) on ``place``."""

    def fetch(self, array: Any) -> np.ndarray[Any, Any]:
        """The array's values as a NumPy array on the host."""

    def place(self, array: Any) -> device:
        """Where the array lives."""

    def address(self, array: Any) -> int:
        """Where in memory its first element is."""

    def strided(self, array: Any, shape: tuple[int, ...], strides: tuple[int, ...], shift: int) -> Any:
        """The memory of an array from ``shift`` bytes after its first element on, at these strides in bytes."""

    def scipy(self, name: str) -> Any:
        """SciPy's module ``name`` (``special``, ``linalg``, ...) for this library's arrays."""


CPU = device("cpu")


class Shown:
    """Memory in another geometry, on its way to being a NumPy array."""

    def __init__(self, base: np.ndarray[Any, Any], interface: dict[str, Any]) -> None:
        self.base = base
        self.__array_interface__ = {key: value for key, value in interface.items() if key != "descr"}


class _NumpyBackend:
    type = "cpu"

    def module(self, place: device) -> Any:
        return np

    def fetch(self, array: Any) -> np.ndarray[Any, Any]:
        return np.asarray(array)

    def place(self, array: Any) -> device:
        return CPU

    def address(self, array: Any) -> int:
        return int(array.__array_interface__["data"][0])

    def strided(self, array: Any, shape: tuple[int, ...], strides: tuple[int, ...], shift: int) -> Any:
        address = self.address(array) + shift
        interface = {**array.__array_interface__, "data": (address, False), "shape": shape, "strides": strides}
        return np.asarray(Shown(array, interface)).view(array.dtype)

    def scipy(self, name: str) -> Any:
        return importlib.import_module(f"scipy.{name}")


class _CupyBackend:
    """CuPy is imported when CUDA is first asked for, never before."""

    type = "cuda"

    def __init__(self) -> None:
        self._cupy: Any = None

    def load(self) -> Any:
        if self._cupy is None:
            try:
                import cupy  # type: ignore[import-not-found, unused-ignore]
            except Exception as error:  # a broken install raises OSError, RuntimeError, AttributeError and others
                raise CudaUnavailableError(
                    "CUDA needs CuPy, which cannot be imported here "
                    f"({type(error).__name__}: {error}). Install it with: pip install 'nbautograd[cuda12]' "
                    "(or 'nbautograd[cuda13]' for CUDA 13)."
                ) from error
            self._cupy = cupy
            _BY_CLASS[cupy.ndarray] = self
        return self._cupy

    def module(self, place: device) -> Any:
        cupy = self.load()
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except Exception as error:  # CUDARuntimeError: no driver, an old driver, no device
            raise CudaUnavailableError(f"CuPy is installed, but CUDA cannot be used here: {error}") from error
        index = place.index or 0
        if index >= count:
            raise CudaUnavailableError(f"invalid device {place}: there are {count} CUDA devices, numbered from 0")
        cupy.cuda.Device(index).use()
        return cupy

    def fetch(self, array: Any) -> np.ndarray[Any, Any]:
        result: np.ndarray[Any, Any] = array.get()
        return result

    def place(self, array: Any) -> device:
        return device("cuda", int(array.device.id))

    def address(self, array: Any) -> int:
        return int(array.data.ptr)

    def strided(self, array: Any, shape: tuple[int, ...], strides: tuple[int, ...], shift: int) -> Any:
        return array.__class__(shape, array.dtype, array.data + shift, strides)

    def scipy(self, name: str) -> Any:
        self.load()
        return importlib.import_module(f"cupyx.scipy.{name}")

    def why_not(self) -> str | None:
        """None when CUDA can be used, otherwise the reason why it cannot."""
        try:
            self.module(device("cuda", 0))
        except CudaUnavailableError as error:
            return str(error)
        return None


_NUMPY = _NumpyBackend()
cuda = _CupyBackend()
_BY_TYPE: dict[str, Backend] = {"cpu": _NUMPY, "cuda": cuda}
_BY_CLASS: dict[type, Backend] = {np.ndarray: _NUMPY}


def register(backend: Backend, array_class: type) -> None:
    """Let tensors live on devices of ``backend.type``, held by arrays of ``array_class``.

    The strict stand-in of the tests comes in by this door.
    """
    _BY_TYPE[backend.type] = backend
    _BY_CLASS[array_class] = backend


def of(array: Any) -> Backend:
    """The backend that an array belongs to."""
    return _BY_CLASS.get(array.__class__, _NUMPY)


def module(place: device) -> Any:
    """The namespace that makes arrays on ``place``.

    :raises CudaUnavailableError: CUDA is asked for and cannot be used.
    :raises DeviceError: no backend knows devices of this type.
    """
    backend = _BY_TYPE.get(place.type)
    if backend is None:
        raise DeviceError(f"no tensors on devices of type {place.type!r}: expected one of {', '.join(_BY_TYPE)}")
    return backend.module(place)


def device_of(array: Any) -> device:
    """Where an array lives."""
    return of(array).place(array)


def fetch(array: Any) -> np.ndarray[Any, Any]:
    """The array's values as a NumPy array on the host (the array itself when it is one)."""
    return of(array).fetch(array)


def scipy(array: Any, name: str) -> Any:
    """SciPy's module ``name`` for arrays like this one: SciPy's own or CuPy's. Imported when first used."""
    return of(array).scipy(name)


def add_at(array: Any, key: Any, values: Any) -> None:
    """``array[key] += values``, adding up where the key names an element more than once."""
    module(device_of(array)).add.at(array, key, values)


def ones_like(array: Any) -> Any:
    """Ones of the same shape, dtype and device; a scalar for a scalar."""
    if isinstance(array, np.generic):
        return array.__class__(1)
    return np.ones(array.shape, array.dtype) if array.__class__ is np.ndarray else np.ones_like(array)


# NumPy warns of overflow, division by zero and invalid values; PyTorch is silent, and so are we. NumPy's own
# ``errstate`` costs more than a small operation does, so operations use the context variable beneath it.
try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    SILENT = _make_extobj(all="ignore")
    set_quiet = _extobj_contextvar.set
    unset_quiet = _extobj_contextvar.reset
except ImportError:  # another NumPy: the public, slower way
    SILENT = None  # type: ignore[assignment]

    def set_quiet(_: Any) -> Any:
        """Begin a stretch without floating-point warnings; returns what ends it."""
        state = np.errstate(all="ignore")
        state.__enter__()
        return state

    def unset_quiet(state: Any) -> None:
        """End the stretch that ``set_quiet`` began."""
        state.__exit__(None, None, None)


@contextmanager
def quiet() -> Iterator[None]:
    """No floating-point warnings from NumPy inside the ``with`` block."""
    token = set_quiet(SILENT)
    try:
        yield
    finally:
        unset_quiet(token)
