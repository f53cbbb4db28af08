"""Writing of PyTorch's files: pickles, with tensors by their shared memory and classes by PyTorch's names."""

from __future__ import annotations

import os
import pickle
import sys
import zipfile
from collections import OrderedDict
from io import BytesIO
from types import FunctionType
from typing import Any, BinaryIO

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, raw_memory, strides
from nbautograd._engine.arrays.device import device
from nbautograd._engine.arrays.memory_format import layout, memory_format, sparse_coo
from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.file_forms import FileForm, form_of
from nbautograd._engine.core.hooks import warn_of_hooks
from nbautograd._engine.core.return_types import Results
from nbautograd._engine.core.sparse import SparseTensor
from nbautograd._engine.core.storage import STORAGE_TYPES, TypedStorage, UntypedStorage
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd.serialization.files import LENGTH, LOCAL_HEADER_BYTES, MAGIC_NUMBER, PROTOCOL_VERSION
from nbautograd.serialization.names import pytorch_name

__all__ = ["TENSOR_FLAGS", "Pickler", "folder_of", "write_archive", "write_stream"]

TENSOR_FLAGS = {"is_parameter": "_is_param", "is_buffer": "_is_buffer"}
"""Attributes of tensors with other names in PyTorch."""


PICKLED: Any = Tensor.__reduce_ex__
"""The method of tensor classes that do not define how they are pickled."""


class _Global:
    """A class or function of PyTorch's, to be written by its name."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self, *args: Any) -> Any:
        """Raise: a pickled callable must be callable, but is never called here."""
        raise NotImplementedError(f"{self.module}.{self.name} is PyTorch's")


REBUILD_TENSOR = _Global("torch._utils", "_rebuild_tensor_v2")
REBUILD_BARE = _Global("torch._utils", "_rebuild_meta_tensor_no_storage")
REBUILD_TENSOR_OF_DTYPE = _Global("torch._utils", "_rebuild_tensor_v3")
REBUILD_PARAMETER = _Global("torch._utils", "_rebuild_parameter")
REBUILD_PARAMETER_WITH_STATE = _Global("torch._utils", "_rebuild_parameter_with_state")
REBUILD_SPARSE = _Global("torch._utils", "_rebuild_sparse_tensor")
REBUILD_FROM_TYPE = _Global("torch._tensor", "_rebuild_from_type_v2")
_TENSOR = _Global("torch", "Tensor")
SIZE, DEVICE = _Global("torch", "Size"), _Global("torch", "device")
LAYOUT = _Global("torch.serialization", "_get_layout")
UNTYPED = _Global("torch.storage", "UntypedStorage")
STORAGE_CLASSES = {dtype.name: _Global("torch", name) for name, dtype in STORAGE_TYPES.items()}


class Reference:
    """A reference to a piece of memory in the pickle: its type, its key in the file, its device and its length."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts


class Memory:
    """The memory of tensors, as bytes on the host."""

    def __init__(self, key: str, array: Any, dtype: dtypes.dtype | None) -> None:
        self.key, self.dtype, self.device = key, dtype, str(backend.device_of(array))
        self._root = strides.root(array)
        if isinstance(self._root, np.ndarray):
            self.data, _ = raw_memory.span(self._root)
        else:  # a NumPy scalar, or an array on another device
            self.data = np.array(backend.fetch(UntypedStorage(array).array(np.dtype(np.uint8))))

    @property
    def width(self) -> int:
        """Bytes per element, according to the first reference to the memory."""
        return 1 if self.dtype is None or self.dtype.name not in STORAGE_CLASSES else self.dtype.itemsize

    def place(self, array: Any) -> int:
        """Return the offset in bytes of an array's first element in the memory."""
        if not array.size:
            return 0
        if isinstance(self._root, np.ndarray) and isinstance(array, np.ndarray):
            return raw_memory.address(array) - raw_memory.address(self.data)
        return strides.offset_of(array) * int(array.itemsize)


_PurePythonPickler: Any = pickle._Pickler  # unlike the C version, it calls save_global for classes


class Pickler(_PurePythonPickler):  # type: ignore[misc]
    """A pickler of PyTorch's files, which collects the memory for the same file.

    :param legacy: for a file that is not a zip archive, whose references have an additional part.
    """

    def __init__(self, file: BytesIO, protocol: int, legacy: bool = False) -> None:
        super().__init__(file, protocol)
        self.legacy = legacy
        self.memory: dict[int, Memory] = {}  # by the id of its owner

    # -- names and references ----------------------------------------------------------------------------------------

    def persistent_id(self, obj: Any) -> Any:
        """Return the parts of a reference, which represents a storage; None for everything else."""
        if isinstance(obj, (UntypedStorage, TypedStorage)):
            obj = self._storage(obj)
        return obj.parts if obj.__class__ is Reference else None

    def save_global(self, obj: Any, name: Any = None) -> None:
        """Write a class or function by its PyTorch name."""
        if obj.__class__ is _Global:
            named: tuple[str, str] | None = (obj.module, obj.name)
        elif isinstance(obj, (dtypes.dtype, memory_format)):
            named = ("torch", name)
        else:
            named = pytorch_name(obj)
        if named is None:
            super().save_global(obj, name)
        elif self.proto >= 4:
            for part in named:
                self.save(part)
            self.write(pickle.STACK_GLOBAL)
            self.memoize(obj)
        else:
            self.write(pickle.GLOBAL + "{}\n{}\n".format(*named).encode())
            self.memoize(obj)

    dispatch = {**_PurePythonPickler.dispatch, FunctionType: save_global}  # noqa: RUF012 - as in the class above

    # -- objects -----------------------------------------------------------------------------------------------------

    def reducer_override(self, obj: Any) -> Any:
        """Return the reconstruction of an object of this library, by PyTorch's names; ``NotImplemented`` for others."""
        kind = type(obj)
        if isinstance(obj, SparseTensor):
            return REBUILD_SPARSE, (obj.layout, _parts_of(obj))
        if isinstance(obj, Tensor):
            return self._tensor(obj) if getattr(kind, "__reduce_ex__", None) is PICKLED else NotImplemented
        if isinstance(obj, (_Global, dtypes.dtype)):
            return obj.name
        if isinstance(obj, memory_format):
            return obj.__reduce__()
        if kind is Size:
            return SIZE, (tuple(obj),)
        if isinstance(obj, device):
            return DEVICE, (obj.type,) if obj.index is None else (obj.type, obj.index)
        if isinstance(obj, layout):
            return LAYOUT, (str(obj),)
        if isinstance(obj, Results):
            return _Global("torch.return_types", kind.__name__), (tuple(obj), {})
        form = form_of(kind)
        return NotImplemented if form is None else self._in_form(obj, form)

    def _in_form(self, obj: Any, form: FileForm) -> Any:
        """Return the class of an object, such as a module, and its attributes in PyTorch's form."""
        reduced = obj.__reduce_ex__(2)
        if not isinstance(reduced, tuple) or len(reduced) < 3 or not isinstance(reduced[2], dict):
            return reduced
        function, args, state, *rest = reduced
        return function, args, form.to_pytorch(obj, state), *rest

    def _tensor(self, tensor: Tensor) -> Any:
        """Return a tensor's reconstruction: a function and its arguments."""
        kind = type(tensor)
        attributes = {
            TENSOR_FLAGS.get(name, name): value for name, value in vars(tensor).items() if not name.startswith("_")
        }
        if kind is Tensor:
            warn_of_hooks(tensor._hooks)
        if vars(kind).get("_own_flag") == "is_parameter":  # not a derived class
            args: tuple[Any, ...] = (wrap(tensor._a), tensor._fn is not None, OrderedDict())
            if attributes:
                return REBUILD_PARAMETER_WITH_STATE, (*args, attributes)
            return REBUILD_PARAMETER, args
        function, arguments = self._plain(tensor)
        if kind is Tensor and not attributes:
            return function, arguments
        return REBUILD_FROM_TYPE, (function, _TENSOR if kind is Tensor else kind, arguments, attributes)

    def _plain(self, tensor: Tensor) -> tuple[Any, tuple[Any, ...]]:
        """Return the reconstruction of a tensor's elements: a function and its arguments."""
        requires_grad = tensor._fn is not None
        a, dtype = tensor._a, tensor.dtype
        if backend.is_bare(a):
            return REBUILD_BARE, (dtype, tuple(a.shape), strides.strides_of(a), requires_grad)
        memory = self._memory(a, dtype)
        place = memory.place(a)
        if place % dtype.itemsize:  # PyTorch counts in elements
            a = a.copy()
            memory, place = self._memory(a, dtype), 0
        where: Any = place // dtype.itemsize, tuple(a.shape), strides.strides_of(a), requires_grad, OrderedDict()
        if memory.dtype is not dtype or dtype.name not in STORAGE_CLASSES:
            return REBUILD_TENSOR_OF_DTYPE, (self._reference(memory, None), *where, dtype)
        return REBUILD_TENSOR, (self._reference(memory, dtype), *where)

    # -- memory ------------------------------------------------------------------------------------------------------

    def _memory(self, array: Any, dtype: dtypes.dtype | None) -> Memory:
        root = strides.root(array)
        memory = self.memory.get(id(root))
        if memory is None:
            memory = self.memory[id(root)] = Memory(str(len(self.memory)), array, dtype)
        return memory

    def _reference(self, memory: Memory, dtype: dtypes.dtype | None) -> Reference:
        """Return a reference to a piece of memory in the pickle; as bytes if the dtype is None."""
        kind = UNTYPED if dtype is None else STORAGE_CLASSES[dtype.name]
        count = memory.data.size if dtype is None else memory.data.size // dtype.itemsize
        return Reference("storage", kind, memory.key, memory.device, count, *[None] * self.legacy)

    def _storage(self, storage: Any) -> Reference:
        dtype = storage.dtype if isinstance(storage, TypedStorage) else None
        return self._reference(self._memory(storage.array(np.dtype(np.uint8)), dtype), dtype)


def _parts_of(tensor: SparseTensor) -> tuple[Any, ...]:
    """Return the dense tensors of a sparse one, and its size."""
    plain: Any = tensor.detach()
    if tensor.layout is sparse_coo:
        return plain._indices(), plain._values(), tensor.shape, plain.is_coalesced()
    return plain.crow_indices(), plain.col_indices(), plain.values(), tensor.shape


# -- files -------------------------------------------------------------------------------------------------------------

PADDING = b"FB"
"""The kind of the extra field that fills the space before a member."""
ALIGNMENT = 64
"""Alignment in bytes of each member of an archive, so that it can be mapped into memory unchanged."""
EXTRA_HEADER_BYTES, ZIP64_EXTRA_BYTES = 4, 20


def folder_of(f: Any) -> str:
    """Return the name of the folder in an archive: that of the file, as in PyTorch, or ``archive``."""
    if isinstance(f, (str, os.PathLike)):
        return os.path.splitext(os.path.basename(os.fspath(f)))[0] or "archive"
    return "archive"


def write_archive(obj: Any, file: BinaryIO, name: str, protocol: int) -> None:
    """Write an object to a file.

    :param name: the name of the top folder in the archive.
    :raises pickle.PicklingError: the object cannot be pickled.
    """
    data = BytesIO()
    pickler = Pickler(data, protocol)
    pickler.dump(obj)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        _add(archive, f"{name}/data.pkl", data.getvalue())
        _add(archive, f"{name}/.format_version", b"1")
        _add(archive, f"{name}/.storage_alignment", str(ALIGNMENT).encode())
        _add(archive, f"{name}/byteorder", sys.byteorder.encode())
        for memory in pickler.memory.values():
            _add(archive, f"{name}/data/{memory.key}", memory.data.data)
        _add(archive, f"{name}/version", b"3\n")


def _add(archive: zipfile.ZipFile, name: str, content: Any) -> None:
    """Add a member without a timestamp, so that equal objects give equal files."""
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o644 << 16
    size = len(content)
    start = archive.start_dir + LOCAL_HEADER_BYTES + len(name.encode()) + EXTRA_HEADER_BYTES
    if size * 1.05 > zipfile.ZIP64_LIMIT:
        start += ZIP64_EXTRA_BYTES
    padding = -start % ALIGNMENT
    info.extra = PADDING + padding.to_bytes(2, "little") + b"Z" * padding
    archive.writestr(info, content)
    info.extra = b""  # the directory at the end needs no alignment


def write_stream(obj: Any, file: BinaryIO, protocol: int) -> None:
    """Write an object as a stream of pickles, followed by the tensors' memory."""
    sizes = {"short": 2, "int": 4, "long": 4}
    system = {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little", "type_sizes": sizes}
    for value in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        _dump(value, file, protocol)
    memory = sorted(_dump(obj, file, protocol).memory.values(), key=lambda each: each.key)
    _dump([each.key for each in memory], file, protocol)
    for each in memory:
        file.write(LENGTH.pack(each.data.size // each.width))
        file.write(each.data.data)


def _dump(value: Any, file: BinaryIO, protocol: int) -> Pickler:
    data = BytesIO()
    pickler = Pickler(data, protocol, legacy=True)
    pickler.dump(value)
    file.write(data.getvalue())
    return pickler
