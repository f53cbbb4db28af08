"""The memory that tensors share, as an object of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nbautograd.arrays import backend, dtypes, strides, version_counter

__all__ = ["TypedStorage", "UntypedStorage"]


class _Storage:
    """A piece of memory, read as elements of one dtype."""

    __slots__ = ("_flat", "_root")

    def __init__(self, array: Any, dtype: np.dtype[Any]) -> None:
        root = self._root = strides.root(array)
        flat = strides.restride(root, (root.size,), (1,))
        size = flat.nbytes // dtype.itemsize * dtype.itemsize // root.itemsize
        self._flat = flat[:size].view(dtype)

    def array(self, dtype: np.dtype[Any]) -> Any:
        """The memory as a 1-d array of a dtype."""
        return _Storage(self._root, dtype)._flat

    def __len__(self) -> int:
        return int(self._flat.shape[0])

    def size(self) -> int:
        """How many elements."""
        return len(self)

    def nbytes(self) -> int:
        """How many bytes."""
        return int(self._root.nbytes)

    def element_size(self) -> int:
        """Bytes per element."""
        return int(self._flat.itemsize)

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return backend.of(self._root).address(self._root)

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return backend.device_of(self._root)

    def _place(self, index: Any) -> Any:
        if isinstance(index, int) and not -len(self) <= index < len(self):
            raise IndexError(f"index {index} out of range for storage of size {len(self)}")
        return index

    def __getitem__(self, index: Any) -> Any:
        selected = self._flat[self._place(index)]
        return self._copied(selected) if selected.ndim else selected.item()

    def _copied(self, array: Any) -> Any:
        cls: Any = self.__class__  # UntypedStorage or TypedStorage, which know their dtype
        return cls(array.copy())

    def __setitem__(self, index: Any, value: Any) -> None:
        self._flat[self._place(index)] = value
        version_counter.record_write(self._root)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        numbers: list[Any] = self._flat.tolist()
        return numbers

    def fill_(self, value: Any) -> Any:
        """Write one value everywhere."""
        self._flat[...] = value
        version_counter.record_write(self._root)
        return self

    def clone(self) -> Any:
        """A copy."""
        return self._copied(self._flat)

    def is_shared(self) -> bool:
        """Whether other processes see the memory: never."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Storage) and self._root is other._root

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "".join(f" {value}\n" for value in self.tolist()) + f"[{self._about()} of size {len(self)}]"

    def _about(self) -> str:
        raise NotImplementedError


class UntypedStorage(_Storage):
    """A tensor's memory as bytes: ``tensor.untyped_storage()``."""

    __slots__ = ()

    def __init__(self, array: Any) -> None:
        super().__init__(array, np.dtype(np.uint8))

    def __bytes__(self) -> bytes:
        return backend.fetch(self._flat).tobytes()

    def _about(self) -> str:
        return f"torch.storage.UntypedStorage(device={self.device})"


class TypedStorage(_Storage):
    """A tensor's memory as elements of its dtype: ``tensor.storage()``."""

    __slots__ = ("dtype",)

    def __init__(self, array: Any) -> None:
        super().__init__(array, array.dtype)
        self.dtype = dtypes.of(array.dtype)

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage(self._root)

    def _about(self) -> str:
        return f"torch.storage.TypedStorage(dtype={self.dtype!r}, device={self.device})"
