"""Storages: the memory that tensors share, as objects."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, strides, version_counter
from nbautograd._engine.arrays.device import as_device, device
from nbautograd._engine.arrays.mapped_file import map_file, mapped_file
from nbautograd._engine.arrays.reference_count import getrefcount
from nbautograd.errors import name_operation

UINT8 = np.dtype(np.uint8)


class _Storage:
    """A piece of memory, read as elements of one dtype."""

    __slots__ = ("_flat", "_root")

    def __init__(self, array: Any, dtype: np.dtype[Any]) -> None:
        root = self._root = strides.root(array)
        flat = strides.restride(root, (root.size,), (1,))
        size = flat.nbytes // dtype.itemsize * dtype.itemsize // root.itemsize
        self._flat = flat[:size].view(dtype)

    def array(self, dtype: np.dtype[Any]) -> Any:
        """Return the memory as a 1-d array of a dtype."""
        return _Storage(self._root, dtype)._flat

    def _like_me(self, array: Any) -> Any:
        """Return a storage of the same class over the memory of an array."""
        raise NotImplementedError

    # -- properties --------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return int(self._flat.shape[0])

    def size(self) -> int:
        """Return the number of elements."""
        return len(self)

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return int(self._root.nbytes)

    def element_size(self) -> int:
        """Return the bytes per element."""
        return int(self._flat.itemsize)

    def data_ptr(self) -> int:
        """Return the address of the first byte."""
        return backend.of(self._root).address(self._root)

    @property
    def device(self) -> Any:
        """The device of the memory."""
        return backend.device_of(self._root)

    @property
    def is_cuda(self) -> bool:
        """True if the memory is on a CUDA device."""
        return bool(self.device.type == "cuda")

    is_sparse: ClassVar[bool] = False

    def get_device(self) -> int | None:
        """Return the index of the CUDA device; None on the CPU."""
        return self.device.index  # type: ignore[no-any-return]

    @property
    def filename(self) -> str | None:
        """The path of the mapped file, if writes go there."""
        file = mapped_file(self._root)
        return None if file is None or not file.shared else file.path

    def is_shared(self) -> bool:
        """Return whether a file is mapped."""
        return mapped_file(self._root) is not None

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Return whether the memory is page-locked: never."""
        return False

    def resizable(self) -> bool:
        """Return whether :meth:`resize_` is supported: not if a file is mapped."""
        return mapped_file(self._root) is None

    # -- elements ----------------------------------------------------------------------------------------------------

    def _place(self, index: Any) -> Any:
        if isinstance(index, int) and not -len(self) <= index < len(self):
            raise IndexError(f"index {index} out of range for storage of size {len(self)}")
        return index

    def __getitem__(self, index: Any) -> Any:
        selected = self._flat[self._place(index)]
        return self._like_me(selected.copy()) if selected.ndim else selected.item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._flat[self._place(index)] = value
        version_counter.record_write(self._root)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """Return the elements as Python numbers."""
        flat = self._flat.astype(np.float32) if self._flat.dtype.kind == "V" else self._flat
        return flat.tolist()  # type: ignore[no-any-return]

    def fill_(self, value: Any) -> Any:
        """Write one value to all elements."""
        self._flat[...] = value
        version_counter.record_write(self._root)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Any:
        """Write the elements of another storage of the same length.

        :raises RuntimeError: the lengths differ.
        """
        if len(self) != len(source):
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        values = source._flat
        alike = self.device == source.device
        self._flat[...] = values if alike else backend.module(self.device).asarray(backend.fetch(values))
        version_counter.record_write(self._root)
        return self

    def resize_(self, size: int) -> Any:
        """Change the number of elements; the first ones are kept.

        :raises RuntimeError: a file is mapped, or a tensor uses the memory: tensors keep theirs.
        """
        if size == len(self):
            return self
        if not self.resizable():
            raise RuntimeError("Trying to resize storage that is not resizable")
        alone = self.clone()
        if getrefcount(self._root) > getrefcount(alone._root):
            raise RuntimeError(
                "resize_(): tensors or other storages share this memory, which must stay in place. Resize a "
                "clone() of the storage and create tensors from it"
            )
        resized = backend.module(self.device).zeros(size, self._flat.dtype)
        common = min(size, len(self))
        resized[:common] = self._flat[:common]
        _Storage.__init__(self, resized, resized.dtype)
        return self

    def clone(self) -> Any:
        """Return a copy."""
        return self._like_me(self._flat.copy())

    def new(self) -> Any:
        """Return a storage of the same kind without elements."""
        return self._like_me(self._flat[:0].copy())

    def __copy__(self) -> Any:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = self.clone()
        return memo[id(self)]

    # -- devices and dtypes ------------------------------------------------------------------------------------------

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """Return the storage on a device: itself if it is already there."""
        place = as_device(device)
        if place == self.device or place.type == self.device.type == "cpu":
            return self
        array = self._flat if place.type != "cpu" else backend.fetch(self._flat)
        return self._like_me(backend.module(place).asarray(array))

    def cpu(self) -> Any:
        """Return the storage on the CPU."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """Return the storage on a CUDA device, by default the current one."""
        return self.to(device="cuda" if device is None else device)

    def as_type(self, dtype: Any) -> TypedStorage:
        """Return a storage over the same memory with elements of a dtype."""
        return TypedStorage._of(self.array(dtype.numpy), dtype)

    def _cast(self, dtype: Any) -> TypedStorage:
        """Return the elements converted to a dtype."""
        return TypedStorage._of(self._flat.astype(dtype.numpy), dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Storage) and self._root is other._root

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = "..." if backend.is_bare(self._root) else " " + "\n ".join(map(str, self.tolist()))
        return f"{values}\n[{self._about()} of size {len(self)}]"

    def _about(self) -> str:
        raise NotImplementedError


class UntypedStorage(_Storage):
    """A tensor's memory as bytes: ``tensor.untyped_storage()``.

    :param data: the number of bytes, all 0, or their values; by default none.
    :param device: the device of the memory.

    >>> import nbautograd as torch
    >>> torch.UntypedStorage([1, 2]).tolist()
    [1, 2]
    """

    __slots__ = ()

    def __init__(self, data: Any = 0, *, device: Any = None) -> None:
        super().__init__(_new_memory(data, UINT8, device), UINT8)

    @classmethod
    def from_file(cls, filename: str | os.PathLike[str], shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """Map the first bytes of a file into memory.

        :param shared: if True, writes go to the file, which is created if missing. Otherwise the file is not changed.
        :param nbytes: the number of bytes.
        :raises RuntimeError: the file cannot be opened, or is too short.
        """
        return cls(map_file(filename, bool(shared), nbytes))

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str = "native", count: int = -1, offset: int = 0, *, dtype: Any = dtypes.uint8
    ) -> UntypedStorage:
        """Copy the bytes of an object with the buffer protocol, in this computer's byte order.

        :param byte_order: ``native``, ``little`` or ``big``: the byte order of the numbers of ``dtype`` in the buffer.
        :param count: the number of numbers; all by default.
        :param offset: the number of bytes to skip.
        :raises ValueError: the order is unknown, or the buffer has too few bytes.
        """
        orders = {"native": "=", "little": "<", "big": ">"}
        if byte_order not in orders:
            raise ValueError(f"byte_order must be 'native', 'little' or 'big', not {byte_order!r}")
        kind = dtype.numpy
        swapped = dtype.itemsize > 1 and byte_order not in ("native", "little" if np.little_endian else "big")
        values = np.frombuffer(buffer, kind, count, offset).copy()
        return cls((values.byteswap() if swapped else values).view(UINT8))

    def _like_me(self, array: Any) -> UntypedStorage:
        return UntypedStorage(array)

    def untyped(self) -> UntypedStorage:
        """Return the storage itself."""
        return self

    def byteswap(self, dtype: Any) -> None:
        """Reverse the bytes of each number of a dtype."""
        numbers = self.array(dtype.numpy)
        numbers[...] = numbers.byteswap()
        version_counter.record_write(self._root)

    def type(self) -> str:
        """Return the name of the class in PyTorch."""
        return "torch.storage.UntypedStorage"

    def __bytes__(self) -> bytes:
        return backend.fetch(self._flat).tobytes()

    def _about(self) -> str:
        return f"torch.storage.UntypedStorage(device={self.device})"


class TypedStorage(_Storage):
    """A tensor's memory as elements of its dtype: ``tensor.storage()``.

    :param data: the number of elements, all 0, or their values; by default none.
    :param dtype: by default the default dtype.
    :param wrap_storage: an ``UntypedStorage`` whose memory is used instead of new memory.

    >>> import nbautograd as torch
    >>> torch.TypedStorage([1, 2], dtype=torch.float64).tolist()
    [1.0, 2.0]
    """

    __slots__ = ("dtype",)

    def __init__(
        self, data: Any = 0, *, wrap_storage: UntypedStorage | None = None, dtype: Any = None, device: Any = None
    ) -> None:
        if wrap_storage is not None:
            data = wrap_storage.array(UINT8)
        elif not hasattr(data, "dtype"):
            data = _new_memory(data, (dtype or dtypes.get_default_dtype()).numpy, device)
        self.dtype = dtype or dtypes.of(data.dtype)
        super().__init__(data, self.dtype.numpy)

    @classmethod
    def _of(cls, array: Any, dtype: Any) -> TypedStorage:
        return cls(array, dtype=dtype)

    def _like_me(self, array: Any) -> TypedStorage:
        return TypedStorage(array, dtype=self.dtype)

    def untyped(self) -> UntypedStorage:
        """Return the same memory as bytes."""
        return UntypedStorage(self._root)

    def type(self) -> str:
        """Return the name of PyTorch's class for elements of this dtype."""
        return f"torch{'.cuda' * self.is_cuda}.{self.pickle_storage_type()}"

    def pickle_storage_type(self) -> str:
        """Return the name of PyTorch's class in files."""
        return next(name for name, dtype in STORAGE_TYPES.items() if dtype is self.dtype)

    def _about(self) -> str:
        return f"torch.storage.TypedStorage(dtype={self.dtype!r}, device={self.device})"


STORAGE_TYPES: dict[str, dtypes.dtype] = {
    "BoolStorage": dtypes.bool_, "ByteStorage": dtypes.uint8, "CharStorage": dtypes.int8, "ShortStorage": dtypes.int16,
    "IntStorage": dtypes.int32, "LongStorage": dtypes.int64, "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16, "FloatStorage": dtypes.float32, "DoubleStorage": dtypes.float64,
    "ComplexFloatStorage": dtypes.complex64, "ComplexDoubleStorage": dtypes.complex128,
}  # fmt: skip
"""PyTorch's classes of storages, by the dtype of their elements."""
CONVERSIONS = {
    **{name: name for name in ("bool", "half", "bfloat16", "float", "double", "short", "int", "long")},
    "byte": "uint8",
    "char": "int8",
    "complex_float": "complex64",
    "complex_double": "complex128",
}


def _conversion_method(name: str, dtype: dtypes.dtype) -> Any:
    def convert(self: _Storage) -> TypedStorage:
        return self._cast(dtype)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"Return the elements converted to {dtype!r}."
    return convert


for _name, _kind in CONVERSIONS.items():
    setattr(_Storage, _name, _conversion_method(_name, dtypes.ALIASES.get(_kind) or dtypes._by_name(_kind)))


def _new_memory(data: Any, kind: np.dtype[Any], place: Any) -> Any:
    """Return memory of this number of elements, or of these values; an array is copied."""
    if hasattr(data, "dtype"):
        return data
    module = backend.module(as_device(place) if place is not None else device("cpu"))
    if isinstance(data, int):
        try:
            return module.zeros(data, kind)
        except (MemoryError, ValueError) as error:
            name_operation(error, "UntypedStorage")
            raise RuntimeError(f"UntypedStorage(): negative number of elements: {data}") from None
    return module.asarray(np.array(list(data), kind))


class _StorageType(type):
    """A class whose instances are all storages of elements of one dtype."""

    dtype: dtypes.dtype

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype and not instance.is_cuda

    def __call__(cls, data: Any = 0, *, wrap_storage: UntypedStorage | None = None) -> TypedStorage:
        """Create a storage of this number of elements, all 0, or of these values."""
        return TypedStorage(data, wrap_storage=wrap_storage, dtype=cls.dtype)

    __call__.__qualname__ = "TypedStorage.__new__"

    def from_file(cls, filename: str | os.PathLike[str], shared: bool = False, size: int = 0) -> TypedStorage:
        """Map the first ``size`` elements of a file into memory; see :meth:`UntypedStorage.from_file`."""
        untyped = UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize)
        return TypedStorage(wrap_storage=untyped, dtype=cls.dtype)

    def from_buffer(cls, buffer: Any, byte_order: str = "native", count: int = -1, offset: int = 0) -> TypedStorage:
        """Copy the elements of an object with the buffer protocol; see :meth:`UntypedStorage.from_buffer`."""
        untyped = UntypedStorage.from_buffer(buffer, byte_order, count, offset, dtype=cls.dtype)
        return TypedStorage(wrap_storage=untyped, dtype=cls.dtype)


def storage_type(name: str) -> Any:
    """Return the class of storages with PyTorch's name, such as ``FloatStorage``."""
    dtype = STORAGE_TYPES[name]
    doc = f"A storage of elements of {dtype!r}: ``{name}(3)``, ``{name}([0, 1])``, ``{name}.from_file(path)``."
    return _StorageType(name, (), {"dtype": dtype, "__doc__": doc, "__module__": "nbautograd"})
