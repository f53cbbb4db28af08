"""Where arrays live: NumPy on the CPU, CuPy on CUDA. The only module that names CuPy.

Everything above reaches arrays through their own protocols (operators, methods, ``np.exp(array)`` and the like, which
NumPy hands to the array's own library), so a formula written once runs on both. What is left for this module is
where a new array is made, how one is brought back to the host, and how to keep NumPy from printing warnings.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any, Protocol

import numpy as np

from nbautograd._engine.arrays.device import TYPES, ask_current, device, get_default, set_default
from nbautograd._engine.arrays.late_packages import late
from nbautograd._engine.arrays.scatter import scattered_sums
from nbautograd.errors import CudaUnavailableError, DeviceError, OutOfMemoryError

__all__ = [
    "Backend",
    "quiet",
    "quietly",
    "register",
    "run_quietly",
    "set_quiet",
    "thread_settings",
    "unset_quiet",
]


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

    def kernels(self) -> Any:
        """The library's ``ElementwiseKernel``, ``ReductionKernel`` and ``RawKernel``; None where it has none."""


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
        return late(f"scipy.{name}")

    def kernels(self) -> Any:
        return None


def _how_to_install() -> str:
    from nbautograd._engine.base.installing import extra  # only errors need it

    return f"{extra('cuda12')} (for a driver of CUDA 13: {extra('cuda13')})"


FORKED = (
    "Cannot re-initialize CUDA in forked subprocess. CUDA's state does not survive fork(): start processes by "
    "multiprocessing's 'spawn' method, or use CUDA in the parent only"
)


class _CupyBackend:
    """CuPy is imported when CUDA is first asked for, never before.

    CuPy computes on its current device. Making an array on a device makes that the current one, so a program that uses
    one GPU, whichever it is, needs no more; one that uses several sets the device itself.
    """

    type = "cuda"

    def __init__(self) -> None:
        self._cupy: Any = None
        self._count = 0
        self._forked = False
        self._numbers: dict[Any, Any] = {}
        self._places: dict[int, device] = {}
        self.peak: dict[int, int] = {}
        """The most bytes that were in use at once, by device."""

    def load(self) -> Any:
        """CuPy, imported.

        :raises CudaUnavailableError: it cannot be imported.
        """
        if self._cupy is None:
            try:
                import cupy  # type: ignore[import-not-found, unused-ignore]

                array_class = cupy.ndarray
            except Exception as error:  # a broken install raises OSError, RuntimeError, AttributeError and others
                raise CudaUnavailableError(
                    f"CUDA needs CuPy, which cannot be imported here ({error.__class__.__name__}: {error}). "
                    f"Install it with: {_how_to_install()}"
                ) from error
            _BY_CLASS[array_class] = self
            self._cupy = cupy
        return self._cupy

    def start(self) -> Any:
        """CuPy, with at least one device to compute on.

        :raises CudaUnavailableError: something is missing; the message says what.
        """
        if self._forked:
            raise CudaUnavailableError(FORKED)
        if not self._count:
            cupy = self.load()
            try:
                count = cupy.cuda.runtime.getDeviceCount()
            except Exception as error:  # CUDARuntimeError: no driver, an old driver, no device
                raise CudaUnavailableError(
                    f"CuPy is installed, but CUDA cannot be used here: {error}. It takes an NVIDIA GPU and a driver "
                    f"that is not older than CuPy's CUDA. For another CUDA: {_how_to_install()}"
                ) from error
            if not count:
                raise CudaUnavailableError(
                    "CuPy is installed, but CUDA cannot be used here: no device is visible (see CUDA_VISIBLE_DEVICES)"
                )
            try:
                cupy.cuda.nvrtc.getVersion()
                cupy.cuda.cublas  # noqa: B018 - found when it is first named
            except Exception as error:  # CuPy's wheels find CUDA's libraries when these are first used
                raise CudaUnavailableError(
                    "CuPy is installed and there is a GPU, but a library of the CUDA toolkit is missing "
                    f"({error.__class__.__name__}: {error}). Install them with: {_how_to_install()}"
                ) from error
            self._watch_memory(cupy)
            os.register_at_fork(after_in_child=self._after_fork)
            self._count = count
        return self._cupy

    def _after_fork(self) -> None:
        self._forked = True

    def _watch_memory(self, cupy: Any) -> None:
        """Count peaks, and raise PyTorch's class of error (which is CuPy's too) where memory runs out."""
        inner, pool, runtime = cupy.cuda.get_allocator(), cupy.get_default_memory_pool(), cupy.cuda.runtime
        theirs, peak = cupy.cuda.memory.OutOfMemoryError, self.peak

        class Exhausted(OutOfMemoryError, theirs):  # type: ignore[misc, valid-type]  # noqa: N818
            def __init__(self, message: str) -> None:
                MemoryError.__init__(self, message)

            __str__ = MemoryError.__str__

        Exhausted.__name__ = Exhausted.__qualname__ = "OutOfMemoryError"

        def allocate(size: int) -> Any:
            try:
                memory = inner(size)
            except theirs as error:
                raise Exhausted(f"CUDA out of memory. Tried to allocate {size:,} bytes: {error}") from None
            index, used = runtime.getDevice(), pool.used_bytes()
            if used > peak.get(index, 0):
                peak[index] = used
            return memory

        cupy.cuda.set_allocator(allocate)

    def started(self) -> bool:
        """Whether CUDA has been used in this process."""
        return self._count > 0 and not self._forked

    def count(self) -> int:
        """The number of devices."""
        self.start()
        return self._count

    def current(self) -> int:
        """The index of the current device; 0 as long as nothing has been done on any."""
        return int(self._cupy.cuda.runtime.getDevice()) if self.started() else 0

    def check(self, index: int) -> None:
        """Make sure that there is such a device.

        :raises CudaUnavailableError: there is not.
        """
        if not 0 <= index < self.count():
            raise CudaUnavailableError(
                f"CUDA error: invalid device ordinal: there is no cuda:{index}, but {self._count} CUDA "
                f"device{'s' * (self._count != 1)}, numbered from 0"
            )

    def module(self, place: device) -> Any:
        cupy = self.start()
        index = self.current() if place.index is None else place.index
        if index != self.current():
            self.check(index)
            cupy.cuda.Device(index).use()
        return cupy

    def fetch(self, array: Any) -> np.ndarray[Any, Any]:
        result: np.ndarray[Any, Any] = array.get()
        return result

    def place(self, array: Any) -> device:
        index = int(array.device.id)
        cached = self._places.get(index)
        if cached is None:
            cached = self._places[index] = device("cuda", index)
        return cached

    def address(self, array: Any) -> int:
        return int(array.data.ptr)

    def strided(self, array: Any, shape: tuple[int, ...], strides: tuple[int, ...], shift: int) -> Any:
        return array.__class__(shape, array.dtype, array.data + shift, strides)

    def scipy(self, name: str) -> Any:
        self.load()
        return importlib.import_module(f"cupyx.scipy.{name}")

    def kernels(self) -> Any:
        return self.start()

    def number(self, value: Any, dtype: np.dtype[Any], place: device) -> Any:
        """A number as a 0-d array, kept for the next time: to bring one to the device costs more than most kernels."""
        key = (value or repr(value), value.__class__, dtype, place)  # 0.0 equals -0.0
        cached = self._numbers.get(key)
        if cached is None:
            cached = self.module(place).asarray(np.array(value).astype(dtype))
            if value == value:
                if len(self._numbers) > 1000:
                    self._numbers.clear()
                self._cupy.cuda.get_current_stream().synchronize()  # once, so that it is there for every stream
                self._numbers[key] = cached
        return cached

    def pin(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """A copy of a NumPy array in memory that is never paged out."""
        self.start()
        pinned: np.ndarray[Any, Any] = importlib.import_module("cupyx").empty_pinned(array.shape, array.dtype)
        pinned[...] = array
        return pinned

    def is_pinned(self, array: np.ndarray[Any, Any]) -> bool:
        """Whether a NumPy array lies in such memory."""
        if not self.started() or not array.size:
            return False
        runtime = self._cupy.cuda.runtime
        return bool(runtime.pointerGetAttributes(_NUMPY.address(array)).type == runtime.memoryTypeHost)

    def why_not(self) -> str | None:
        """None when CUDA can be used, otherwise the reason why it cannot."""
        try:
            self.start()
        except CudaUnavailableError as error:
            return str(error)
        return None


_NUMPY = _NumpyBackend()
cuda = _CupyBackend()
ask_current(cuda.current)
_BY_TYPE: dict[str, Backend] = {"cpu": _NUMPY, "cuda": cuda}
_BY_CLASS: dict[type, Backend] = {np.ndarray: _NUMPY}


def thread_settings() -> Callable[[], None]:
    """What this thread has set for itself, the default device, CUDA's device and stream, to be set in another."""
    default = get_default()
    if not cuda.started():
        return lambda: set_default(default)
    library, index = cuda.start(), cuda.current()
    stream = library.cuda.get_current_stream()

    def settings() -> None:
        set_default(default)
        library.cuda.Device(index).use()
        stream.use()

    return settings


def register(backend: Backend, array_class: type) -> None:
    """Let tensors live on devices of ``backend.type``, held by arrays of ``array_class``.

    The strict stand-in of the tests comes in by this door.
    """
    TYPES.add(backend.type)
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


def kernels(place: device) -> Any:
    """What makes kernels for arrays on ``place``: CuPy; None on the CPU."""
    return _BY_TYPE[place.type].kernels()


def number(value: Any, dtype: np.dtype[Any], place: device) -> Any:
    """A Python number as a 0-d array on ``place``, to be read only: on CUDA it may be one that was made before."""
    if place.type == cuda.type:
        return cuda.number(value, dtype, place)
    with quiet():
        return module(place).asarray(np.array(value).astype(dtype))


def add_at(array: Any, key: Any, values: Any) -> None:
    """``array[key] += values``, adding up where the key names an element more than once.

    On CUDA the values are sorted by where they go, and added up in that order: the result is the same each time.
    Complex numbers are added in two parts, and small integers and bools as int32.
    """
    kind = array.dtype
    if array.__class__ is np.ndarray:
        index = key[0] if key.__class__ is tuple else key
        rows = array.ndim > 1 and getattr(index, "ndim", 0) == 1 and values.shape == (len(index), *array.shape[1:])
        if rows and (key.__class__ is not tuple or all(item == slice(None) for item in key[1:])) and _adds_rows(values):
            array += sum_of_rows(index, values.reshape(len(values), -1), len(array)).reshape(array.shape)
        else:
            np.add.at(array, key, values)
    elif kind.kind == "c":
        add_at(array.real, key, values.real)
        add_at(array.imag, key, values.imag)
    elif kind.itemsize < 4 and kind.kind in "biu":
        wide = array.astype(np.int32)
        add_at(wide, key, values.astype(np.int32))
        array[...] = wide.astype(kind)
    elif (library := of(array).kernels()) is not None:
        from nbautograd._engine.arrays import segmented_sum

        segmented_sum.add_at(library, array, key, values)
    else:
        module(device_of(array)).add.at(array, key, values)


MIN_ROWS_SIZE = 1 << 12
"""Minimum number of elements that outweighs what it costs to make a sparse matrix."""


def _adds_rows(rows: Any) -> bool:
    return rows.dtype.char in "fd" and rows.size >= MIN_ROWS_SIZE and rows.size >= 8 * len(rows)


def sum_of_rows(index: Any, rows: Any, count: int) -> Any:
    """A matrix of ``count`` rows, zeros at first, to which ``rows`` are added at ``index``, in their order.

    Many are added as the product with a sparse matrix that has a one per row, several times as fast as NumPy's
    ``add.at``; few element by element in the flattened matrix, which NumPy does faster than row by row.

    >>> sum_of_rows(np.array([1, 1]), np.array([[1., 2.], [3., 4.]]), 2).tolist()
    [[0.0, 0.0], [4.0, 6.0]]
    """
    n, width = rows.shape
    if rows.__class__ is np.ndarray and _adds_rows(rows):
        places = np.where(index < 0, index + count, index)
        return scattered_sums(places, rows, count)
    if rows.__class__ is not np.ndarray and n and width and (library := of(rows).kernels()) is not None:
        from nbautograd._engine.arrays import segmented_sum

        if rows.dtype.char in segmented_sum.TYPES:
            output = np.zeros_like(rows, shape=(count, width), order="C")
            segmented_sum.add_rows(library, output, index, rows)
            return output
    output = np.zeros_like(rows, shape=(count * width,), order="C")
    flat = index.astype(np.int64)[:, None] * width + module(device_of(rows)).arange(width)
    add_at(output, (flat.reshape((-1,)),), rows.reshape((-1,)))
    return output.reshape((count, width))


def ones_like(array: Any) -> Any:
    """Ones of the same shape, dtype and device; a scalar for a scalar."""
    if isinstance(array, np.generic):
        return array.__class__(1)
    return np.ones(array.shape, array.dtype) if array.__class__ is np.ndarray else np.ones_like(array)


BUFFER_SIZE = 1 << 10
"""Elements that NumPy buffers inside of operations. It copies what is broadcast, row after row, until a buffer is full;
rows that are longer than the buffer are not copied, and computed in three fifths of the time.
"""
# NumPy warns of overflow, division by zero and invalid values; PyTorch is silent, and so are we. NumPy's own
# ``errstate`` costs more than a small operation does, so operations use the context variable beneath it.
try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    SILENT = _make_extobj(all="ignore", bufsize=BUFFER_SIZE)
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


quietly = Context()
"""``quietly.run(function, *arguments)``: without warnings, at a third of the cost of setting and resetting them.

It is a context in which they are off, empty otherwise; so the function must be of C and look at no context variable.
RuntimeError says that somebody is in it already: another thread in a long operation, or whom a finalizer interrupted.
"""
quietly.run(set_quiet, SILENT)


def run_quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """The same for any function at any time."""
    with quiet():
        return function(*arguments)


@contextmanager
def quiet() -> Iterator[None]:
    """No floating-point warnings from NumPy inside the ``with`` block."""
    token = set_quiet(SILENT)
    try:
        yield
    finally:
        unset_quiet(token)
