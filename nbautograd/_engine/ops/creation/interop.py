"""Memory shared with other libraries: the DLPack and buffer protocols."""

from __future__ import annotations

import enum
import os
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, raw_memory
from nbautograd._engine.arrays.device import as_device, device, get_default
from nbautograd._engine.arrays.mapped_file import map_file
from nbautograd._engine.arrays.size import as_int
from nbautograd._engine.compiler.argument_errors import check_option
from nbautograd._engine.core.tensor import Tensor, wrap_known
from nbautograd._engine.ops.creation.from_data import check_options, finish, from_numpy, tensor
from nbautograd._names.docstrings import described
from nbautograd.errors import kind_of

DLDeviceType = enum.IntEnum("DLDeviceType", {"kDLCPU": 1, "kDLCUDA": 2, "kDLCUDAHost": 3, "kDLCUDAManaged": 13})
"""DLPack's device types (``DLDeviceType``)."""


class _Capsule:
    """A wrapper of a capsule in an object with ``__dlpack__``."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLDeviceType.kDLCPU, 0


@described
def asarray(
    data: Any, *, dtype: dtypes.dtype | None = None, device: device | str | None = None, copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:  # fmt: skip
    """Convert ``data`` to a tensor, sharing its memory where possible.

    :param data: a tensor, a NumPy array, an object with ``__dlpack__`` or Python's buffer protocol (its bytes are read
        as elements of ``dtype``), a sequence or a number.
    :param copy: True: always copy; False: never, and raise if a copy is needed; None: copy if needed.
    :param requires_grad: by default that of ``data``. It is set on the result, which may be ``data`` itself.
    :raises ValueError: ``copy=False``, and a copy is needed.

    >>> import numpy as np
    >>> a = np.zeros(2)
    >>> torch.asarray(a)[0] = 1
    >>> a
    array([1., 0.])
    """
    dtype = check_options("asarray", dtype)
    check_option("asarray", "copy", copy, "bool | None")
    result = tensor(data) if copy and isinstance(data, np.ndarray) else _with_memory_of(data, dtype)
    if result is None:
        if copy is False:
            kind = type(data).__name__
            raise ValueError(f"asarray(): can't alias arbitrary sequence into a tensor: {kind}, copy=False")
        return tensor(data, dtype=dtype, device=device, requires_grad=requires_grad or False)
    kind = result.dtype if dtype is None else dtype
    place = result.device if device is None else as_device(device)
    if (kind, place) != (result.dtype, result.device):
        if copy is False:
            raise ValueError(
                f"asarray(): can't alias tensor with dtype {result.dtype!r} on {result.device} into dtype {kind!r} on "
                f"{place}, and copy=False"
            )
        result = result.to(device=place, dtype=kind)
    elif copy:
        result = result.clone()
    if requires_grad is False and not result.is_leaf:
        return result.detach()
    return result if requires_grad is None else result.requires_grad_(requires_grad)


def _with_memory_of(data: Any, dtype: dtypes.dtype | None) -> Tensor | None:
    """Return a tensor of the memory of an array or a buffer; None for other values."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, np.ndarray):
        return from_numpy(data)
    if isinstance(data, np.generic):
        return None
    if hasattr(data, "__dlpack__"):
        return from_dlpack(data)
    try:
        memoryview(data)
    except TypeError:
        return None
    return frombuffer(data, dtype=dtypes.get_default_dtype() if dtype is None else dtype)


@described
def from_dlpack(ext_tensor: Any, *, device: device | str | None = None, copy: bool | None = None) -> Tensor:
    """Create a tensor that shares the memory of another library's array, through the DLPack protocol.

    :param ext_tensor: an object with ``__dlpack__`` (an array of NumPy, CuPy, PyTorch, JAX, ...), or the capsule that
        method returned, of CPU memory, which can be consumed once.
    :param device: the device of the result; a copy if the array is on another.
    :param copy: True: always copy; False: never, and raise if a copy is needed; None: copy if needed.
    :raises RuntimeError: ``ext_tensor`` is neither of these, or its device is not supported.
    :raises TypeError: the dtype is not supported.
    :raises ValueError: strides are negative; or ``copy=False``, and a copy is needed.

    >>> import numpy as np
    >>> a = np.zeros(2)
    >>> torch.from_dlpack(a)[0] = 5
    >>> a
    array([5., 0.])
    """
    if hasattr(ext_tensor, "__dlpack__"):
        kind, index = ext_tensor.__dlpack_device__()
        if kind in (DLDeviceType.kDLCUDA, DLDeviceType.kDLCUDAManaged):
            array = backend.module(as_device(f"cuda:{index}")).from_dlpack(ext_tensor)
        elif kind in (DLDeviceType.kDLCPU, DLDeviceType.kDLCUDAHost):
            array = _from_capsule(_capsule_of(ext_tensor))
        else:
            raise RuntimeError(f"from_dlpack(): DLPack's device type {kind} is not supported, only the CPU and CUDA")
    elif type(ext_tensor).__name__ == "PyCapsule":
        array = _from_capsule(ext_tensor)
    else:
        raise RuntimeError(
            "from_dlpack received an invalid capsule: expected an object with a method __dlpack__, or a capsule, got "
            f"{type(ext_tensor).__name__}"
        )
    dtypes.of(array.dtype)
    if any(stride < 0 for stride in array.strides):
        raise ValueError("from_dlpack(): tensors with negative strides are not supported: copy the array first")
    home = backend.device_of(array)
    place = home if device is None else as_device(device)
    if place != home:
        if copy is False:
            raise ValueError(f"from_dlpack(): cannot move from {home} to {place} without a copy, and copy=False")
        return wrap_known(backend.module(place).asarray(backend.fetch(array)))
    return wrap_known(array.copy() if copy else array)


def _capsule_of(array: Any) -> Any:
    """Return the capsule of an object; a versioned one, which has a read-only flag, if the library supports it."""
    try:
        return array.__dlpack__(max_version=(1, 0))
    except TypeError:
        return array.__dlpack__()


def _from_capsule(capsule: Any) -> np.ndarray[Any, Any]:
    try:
        array = np.from_dlpack(_Capsule(capsule))
    except ValueError as error:  # already consumed
        raise RuntimeError(f"from_dlpack received an invalid capsule (each can be consumed once): {error}") from None
    if array.flags.writeable or '"used_dltensor"' not in repr(capsule):
        return array
    flat, offset = raw_memory.span(array)  # no read-only flag: writable, as in PyTorch
    return np.ndarray(array.shape, array.dtype, flat, offset, array.strides)


def to_dlpack(tensor: Tensor) -> Any:
    """Return a DLPack capsule of the tensor's memory, which another library can consume once.

    >>> import nbautograd as torch
    >>> torch.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2)))
    tensor([1., 1.])
    """
    return tensor.detach().__dlpack__()


@described
def frombuffer(
    buffer: Any, *, dtype: dtypes.dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """Create a 1-d tensor that shares the memory of an object with the buffer protocol, such as a bytearray.

    The tensor of a read-only buffer, such as bytes, is read-only.

    :param count: the number of elements; all by default.
    :param offset: the number of bytes to skip.
    :raises ValueError: there is no buffer protocol, the buffer is empty, or too short for ``count`` and ``offset``.

    >>> torch.frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    dtype = check_options("frombuffer", dtype)
    if dtype is None:
        raise TypeError("frombuffer(): argument 'dtype' must be torch.dtype, not NoneType")
    count, offset = as_int(count, "frombuffer(): argument 'count'"), as_int(offset, "frombuffer(): argument 'offset'")
    try:
        length = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError(f"{type(buffer).__name__} object does not implement Python buffer protocol.") from None
    size = dtype.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({size})"
        )
    if count > 0 and count * size > length - offset:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({length} bytes)"
        )
    return finish(np.frombuffer(buffer, dtype.numpy, count, offset), requires_grad)


@described
def from_file(
    filename: str, shared: bool | None = None, size: int = 0, *, dtype: dtypes.dtype | None = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Create a 1-d tensor whose memory is a file; its values are read on access.

    :param shared: if True, writes go to the file, which is created or extended as needed. Otherwise the file must hold
        ``size`` elements, and is not changed.
    :param size: the number of elements.
    :param dtype: by default the default dtype.
    :raises RuntimeError: the file cannot be opened or is too short, or the device is not the CPU.

    >>> import nbautograd as torch, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "numbers")
    ...     torch.from_file(path, shared=True, size=2).fill_(3)
    ...     os.path.getsize(path)
    tensor([3., 3.])
    8
    """
    dtype = check_options("from_file", dtype, layout, pin_memory)
    if not isinstance(filename, (str, os.PathLike)):
        raise TypeError(f"from_file(): argument 'filename' (position 1) must be str, not {kind_of(filename)}")
    place = as_device(device) if device is not None else get_default()
    if place.type != "cpu":
        raise RuntimeError(f"from_file(): only tensors on the CPU can be mapped to files, not on {place}")
    size = as_int(size, "from_file(): argument 'size'")
    kind = (dtype or dtypes.get_default_dtype()).numpy
    return finish(map_file(filename, bool(shared), size * kind.itemsize).view(kind), requires_grad)
