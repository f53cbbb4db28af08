"""Array libraries by device: NumPy on the CPU, CuPy on CUDA. The only module that names CuPy.

All code above uses arrays through their own protocols (operators, methods, functions such as ``np.exp(array)``), so a
formula runs on both. This module creates new arrays, copies arrays to the host, and silences NumPy's warnings.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from nbautograd._engine.arrays.device import TYPES, ask_current, device, get_default, set_default
from nbautograd._engine.arrays.late_packages import late
from nbautograd._engine.arrays.quiet import SILENT, get_quiet, quiet, quietly, run_quietly, set_quiet
from nbautograd.errors import CudaUnavailableError, DeviceError, OutOfMemoryError

__all__ = [
    "SILENT", "Backend", "get_quiet", "quiet", "quietly", "register", "run_quietly", "set_quiet", "thread_settings",
]  # fmt: skip


if TYPE_CHECKING:

    class Backend(Protocol):
        """The interface of an array library that holds tensors on one kind of device."""

        type: str

        def module(self, place: device) -> Any:
            """Return the namespace that makes arrays (``empty``, ``asarray``, ...) on ``place``."""

        def fetch(self, array: Any) -> np.ndarray[Any, Any]:
            """Return the array's values as a NumPy array on the host."""

        def place(self, array: Any) -> device:
            """Return the device of an array."""

        def address(self, array: Any) -> int:
            """Return the memory address of an array's first element."""

        def strided(self, array: Any, shape: tuple[int, ...], strides: tuple[int, ...], shift: int) -> Any:
            """Return an array's memory from ``shift`` bytes after its first element, with strides in bytes."""

        def scipy(self, name: str) -> Any:
            """Return SciPy's module ``name`` (``special``, ``linalg``, ...) for this library's arrays."""

        def kernels(self) -> Any:
            """Return the library's ``ElementwiseKernel``, ``ReductionKernel``, ``RawKernel``; None if it has none."""


CPU = device("cpu")


class Shown:
    """Memory in another geometry, to be wrapped as a NumPy array."""

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


FUSED = "NBAUTOGRAD_FUSED_CUDA"
"""The environment variable that enables fused kernels."""


class _CupyBackend:
    """The CuPy backend. CuPy is imported when CUDA is first requested, never before.

    CuPy computes on its current device. Creating an array on a device makes that device current, which suffices for a
    program that uses one GPU; a program that uses several sets the device itself.
    """

    type = "cuda"

    def __init__(self) -> None:
        self.fused = os.environ.get(FUSED) == "1"
        """True if our own kernels compute chains of operations, sums and updates: they never ran on a device."""
        self._cupy: Any = None
        self._count = 0
        self._forked = False
        self._numbers: dict[Any, Any] = {}
        self._places: dict[int, device] = {}
        self.peak: dict[int, int] = {}
        """Peak number of allocated bytes, by device."""

    def load(self) -> Any:
        """Import and return CuPy; raise CudaUnavailableError if it cannot be imported."""
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
        """Return CuPy if at least one device is usable; raise CudaUnavailableError, which says what is missing."""
        if self._forked:
            raise CudaUnavailableError(FORKED)
        if not self._count:
            cupy = self.load()
            try:
                count = cupy.cuda.runtime.getDeviceCount()
            except Exception as error:  # CUDARuntimeError: no driver, an old driver, no device
                raise CudaUnavailableError(
                    f"CuPy is installed, but CUDA cannot be used here: {error}. It requires an NVIDIA GPU and a driver "
                    f"that is not older than CuPy's CUDA. For another CUDA: {_how_to_install()}"
                ) from error
            if not count:
                raise CudaUnavailableError(
                    "CuPy is installed, but CUDA cannot be used here: no device is visible (see CUDA_VISIBLE_DEVICES)"
                )
            try:
                cupy.cuda.nvrtc.getVersion()
                cupy.cuda.cublas  # noqa: B018 - found when it is first named
            except Exception as error:  # CuPy's wheels find CUDA's libraries on first use
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
        """Record memory peaks, and raise PyTorch's error class (a subclass of CuPy's) when memory runs out."""
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
        """Return whether CUDA has been used in this process."""
        return self._count > 0 and not self._forked

    def count(self) -> int:
        self.start()
        return self._count

    def current(self) -> int:
        """Return the index of the current device; 0 before first use."""
        return int(self._cupy.cuda.runtime.getDevice()) if self.started() else 0

    def check(self, index: int) -> None:
        """Raise CudaUnavailableError if there is no such device."""
        if not 0 <= index < self.count():
            raise CudaUnavailableError(
                f"CUDA error: invalid device ordinal: cuda:{index} does not exist, only {self._count} CUDA "
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
        return array.get()  # type: ignore[no-any-return]

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
        return self.start() if self.fused else None

    def number(self, value: Any, dtype: np.dtype[Any], place: device) -> Any:
        """Return a number as a 0-d array, cached: copying one to the device costs more than most kernels."""
        key = (value or repr(value), value.__class__, dtype, place)  # 0.0 equals -0.0
        cached = self._numbers.get(key)
        if cached is None:
            cached = self.module(place).asarray(np.array(value).astype(dtype))
            if value == value:
                if len(self._numbers) > 1000:
                    self._numbers.clear()
                self._cupy.cuda.get_current_stream().synchronize()  # once, so that every stream sees it
                self._numbers[key] = cached
        return cached

    def pin(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return a copy of a NumPy array in memory that is never paged out."""
        self.start()
        pinned: np.ndarray[Any, Any] = importlib.import_module("cupyx").empty_pinned(array.shape, array.dtype)
        pinned[...] = array
        return pinned

    def is_pinned(self, array: np.ndarray[Any, Any]) -> bool:
        """Return whether a NumPy array is in such memory."""
        if not self.started() or not array.size:
            return False
        runtime = self._cupy.cuda.runtime
        return bool(runtime.pointerGetAttributes(_NUMPY.address(array)).type == runtime.memoryTypeHost)

    def why_not(self) -> str | None:
        """Return None if CUDA is available, otherwise the reason why not."""
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
    """Return this thread's settings to apply in another: the default device, CUDA's device and stream."""
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
    """Register a backend for devices of ``backend.type`` with arrays of ``array_class``; tests add a strict one."""
    TYPES.add(backend.type)
    _BY_TYPE[backend.type] = backend
    _BY_CLASS[array_class] = backend


def of(array: Any) -> Backend:
    """Return the backend that an array belongs to."""
    return _BY_CLASS.get(array.__class__, _NUMPY)


def module(place: device) -> Any:
    """Return the namespace that makes arrays on ``place``.

    :raises CudaUnavailableError: CUDA is requested but not available.
    :raises DeviceError: no backend supports devices of this type.
    """
    backend = _BY_TYPE.get(place.type)
    if backend is None and place.type == "meta":
        from nbautograd._engine.arrays.meta import MetaArray  # few programs need it
        from nbautograd._engine.arrays.meta_backend import MetaBackend

        backend = MetaBackend()
        register(backend, MetaArray)
    if backend is None:
        raise DeviceError(f"unsupported device type {place.type!r}: expected one of {', '.join(_BY_TYPE)}")
    return backend.module(place)


def device_of(array: Any) -> device:
    """Return the device of an array."""
    return of(array).place(array)


def is_bare(array: Any) -> bool:
    """Return whether an array has no memory: that of a tensor on the device ``meta``."""
    return of(array).type == "meta"


def fetch(array: Any) -> np.ndarray[Any, Any]:
    """Return the array's values as a NumPy array on the host (the array itself if it is one)."""
    return of(array).fetch(array)


def scipy(array: Any, name: str) -> Any:
    """Return SciPy's module ``name`` for arrays like this one: SciPy's own or CuPy's. Imported on first use."""
    return of(array).scipy(name)


def kernels(place: device) -> Any:
    """Return the kernel compiler for arrays on ``place``: CuPy, if the variable in ``FUSED`` is 1; else None."""
    return _BY_TYPE[place.type].kernels()


def number(value: Any, dtype: np.dtype[Any], place: device) -> Any:
    """Return a Python number as a read-only 0-d array on ``place``, which is cached on CUDA."""
    if place.type == cuda.type:
        return cuda.number(value, dtype, place)
    with quiet():
        return module(place).asarray(np.array(value).astype(dtype))


def add_at(array: Any, key: Any, values: Any) -> None:
    """Compute ``array[key] += values``; repeated indices accumulate.

    On CUDA complex numbers are added in two parts, small integers and bools as int32. A fused kernel sorts the values
    by destination, which makes sums reproducible; with CuPy's own, last digits may differ between calls.
    """
    kind = array.dtype
    if array.__class__ is np.ndarray:
        index = _row_index(array, key, values) if _adds_rows(values) else None
        if index is None:
            np.add.at(array, key, values)
        else:
            array += sum_of_rows(index, values.reshape(len(values), -1), len(array)).reshape(array.shape)
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


def _row_index(array: Any, key: Any, values: Any) -> Any:
    index, *others = key if key.__class__ is tuple else (key,)
    rows = array.ndim > 1 and getattr(index, "ndim", 0) == 1 and values.shape == (len(index), *array.shape[1:])
    return index if rows and all(item == slice(None) for item in others) else None


MIN_ROWS_SIZE = 1 << 12
"""Minimum number of elements that outweighs the cost of creating a sparse matrix."""


def _adds_rows(rows: Any) -> bool:
    return rows.dtype.char in "fd" and rows.size >= MIN_ROWS_SIZE and rows.size >= 8 * len(rows)


def sum_of_rows(index: Any, rows: Any, count: int) -> Any:
    """Return a matrix of ``count`` rows, initially zeros, to which ``rows`` are added at ``index``, in their order.

    Many rows are added as the product with a sparse matrix that has a one per row, several times as fast as NumPy's
    ``add.at``; few rows element by element in the flattened matrix, which NumPy does faster than row by row.

    >>> sum_of_rows(np.array([1, 1]), np.array([[1., 2.], [3., 4.]]), 2).tolist()
    [[0.0, 0.0], [4.0, 6.0]]
    """
    n, width = rows.shape
    if rows.__class__ is np.ndarray and _adds_rows(rows):
        places = np.where(index < 0, index + count, index)
        from nbautograd._engine.arrays.scatter import scattered_sums

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
    """Return ones of the same shape, dtype and device; a scalar for a scalar."""
    if isinstance(array, np.generic):
        return array.__class__(1)
    return np.ones(array.shape, array.dtype) if array.__class__ is np.ndarray else np.ones_like(array)
