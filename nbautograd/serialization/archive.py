"""The archive of ``save``: a JSON structure, and each piece of the tensors' memory as an array of bytes."""

from __future__ import annotations

import base64
import io
import json
import math
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from nbautograd.arrays import backend, dtypes, raw_memory, strides
from nbautograd.arrays.device import device
from nbautograd.arrays.size import Size
from nbautograd.core.node import LEAF
from nbautograd.core.tensor import Tensor, wrap
from nbautograd.serialization.files import (
    FileFormatError,
    MapLocation,
    brief,
    device_by_name,
    dtype_by_name,
    to_location,
)

__all__ = ["Reader", "Writer", "open_archive"]

STRUCTURE = "structure.json"
FORMAT = "nbautograd 1"


def member(name: str) -> zipfile.ZipInfo:
    """A member of the archive, without the time of day: equal objects give equal files."""
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o644 << 16
    return info


def open_archive(file: BinaryIO) -> zipfile.ZipFile:
    """The zip archive that a file is, if it holds no more than its size."""
    try:
        archive = zipfile.ZipFile(file)
    except ValueError as error:  # the zip directory has invalid offsets or names
        raise FileFormatError(f"load(): the directory of the archive is damaged: {brief(error)}") from error
    if sum(info.file_size for info in archive.infolist()) > file.seek(0, io.SEEK_END):
        raise FileFormatError("load(): the file is damaged: it should hold more than it is long")
    return archive


# -- writing ---------------------------------------------------------------------------------------------------------


class Writer:
    """Turns objects into what JSON can hold, and collects the tensors' memory.

    None, bools, strings and ints of up to 64 bits are themselves; everything else is a list of its kind and its parts.
    """

    def __init__(self) -> None:
        self.tensors: list[dict[str, Any]] = []
        self._numbers: dict[int, int] = {}  # of the tensors, by id
        self._kept: list[Any] = []  # keeps objects alive, so that ids stay unique
        self._pieces: dict[int, list[Any]] = {}  # of memory, by the id of the owner
        self._plain: list[np.ndarray[Any, Any]] = []
        self._inside: set[int] = set()

    def encode(self, value: Any) -> Any:
        """An object as JSON can hold it.

        :raises TypeError: it is of a kind that is not saved.
        :raises ValueError: it holds itself.
        """
        kind = type(value)
        if value is None or kind is bool or kind is str or kind is int and -(2**63) <= value < 2**63:
            return value
        if isinstance(value, Tensor):
            return ["tensor", self._tensor(value)]
        if kind in _LEAVES:
            return [kind.__name__, _LEAVES[kind][0](value)]
        if kind in _CONTAINERS:
            if id(value) in self._inside:
                raise ValueError(f"save(): the object holds itself: there is a {kind.__name__} inside of itself")
            self._inside.add(id(value))
            if isinstance(value, dict):
                items = [[self.encode(key), self.encode(item)] for key, item in value.items()]
            else:
                items = [self.encode(item) for item in value]
            self._inside.discard(id(value))
            return [kind.__name__, items]
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc":
            self._plain.append(np.asarray(value))
            return ["array" if isinstance(value, np.ndarray) else "scalar", len(self._plain) - 1]
        hint = "; save its state_dict() instead" if hasattr(value, "state_dict") else ""
        raise TypeError(
            f"save(): a {kind.__module__}.{kind.__qualname__} cannot be saved{hint}: tensors can, numbers, strings, "
            "bytes, and dicts, lists, tuples and sets of them"
        )

    def _tensor(self, t: Tensor) -> int:
        if id(t) in self._numbers:
            return self._numbers[id(t)]
        a = np.asarray(backend.fetch(t._a))
        owner = strides.root(a)
        piece, first = raw_memory.span(a)
        low = raw_memory.address(piece) if a.size else None
        pieces = self._pieces.setdefault(id(owner) if a.size else -1 - len(self.tensors), [])
        self._kept += [t, a, owner]
        entry = {
            "memory": pieces,  # to be replaced by its number and the place there
            "offset": (low, first, piece.size),
            "dtype": t.dtype.name,
            "shape": list(a.shape),
            "strides": list(strides.strides_of(a)),
            "requires_grad": t._fn is not None,
            "device": str(t.device),
            "type": "Tensor" if type(t).__name__ != "Parameter" else "Parameter",
        }
        pieces.append(entry)
        self.tensors.append(entry)
        self._numbers[id(t)] = len(self.tensors) - 1
        return len(self.tensors) - 1

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """The arrays of the archive; what the tensors say about their memory becomes final."""
        result = {f"array/{i}.npy": array for i, array in enumerate(self._plain)}
        for number, entries in enumerate(self._pieces.values()):
            ends = [(low, low + count) for low, _, count in (e["offset"] for e in entries) if low is not None]
            start, end = min((low for low, _ in ends), default=0), max((high for _, high in ends), default=0)
            result[f"memory/{number}.npy"] = raw_memory.bytes_at(start, end - start, self._kept)
            for entry in entries:
                low, first, _ = entry["offset"]
                entry["offset"] = 0 if low is None else low + first - start
                entry["memory"] = number
        return result


# -- reading ---------------------------------------------------------------------------------------------------------


class Reader:
    """Builds the objects of an archive; validates everything, since the file is untrusted."""

    def __init__(self, archive: zipfile.ZipFile, map_location: MapLocation) -> None:
        self.archive = archive
        self.map_location = map_location
        self._arrays: dict[str, np.ndarray[Any, Any]] = {}
        self._tensors: dict[int, Tensor] = {}
        self._entries: Any = None

    def object(self) -> Any:
        """The object that was saved.

        :raises FileFormatError: the archive is damaged, or of another kind.
        """
        names = self.archive.namelist()
        if STRUCTURE not in names:
            pickles = [name for name in names if name.rpartition("/")[2] == "data.pkl" and name.count("/") < 2]
            if pickles:
                return self._of_pytorch(pickles[0], names)
            arrays = bool(names) and all(name.endswith(".npy") for name in names)
            what = "NumPy's savez: use numpy.load" if arrays else "something else"
            raise FileFormatError(f"load(): this is a zip archive, but not of nbautograd.save; it was made by {what}")
        try:
            structure = json.loads(self._read(STRUCTURE).decode())
            if structure["format"] != FORMAT:
                raise FileFormatError(
                    f"load(): the file says that its format is {structure['format']!r}, and only {FORMAT!r} is known"
                )
            self._entries = structure["tensors"]
            return self.decode(structure["object"])
        except RecursionError:
            raise FileFormatError("load(): the object is nested too deeply") from None
        except (KeyError, ValueError, TypeError, IndexError, AttributeError, UnicodeError) as error:
            raise FileFormatError(f"load(): the file is damaged: {type(error).__name__}: {brief(error)}") from error

    def _of_pytorch(self, pickle: str, names: list[str]) -> Any:
        """The object that PyTorch's ``torch.save`` wrote; the pickle is read by our own unpickler."""
        from nbautograd.serialization import torch_pickle

        folder = pickle.removesuffix("data.pkl")
        order = bytes(self._read(folder + "byteorder")) if folder + "byteorder" in names else b"little"
        if order not in (b"little", b"big"):
            raise FileFormatError(f"load(): the file is damaged: its byte order is {order!r:.20}")

        def memory(key: str) -> bytearray:
            if f"{folder}data/{key}" not in names:
                raise FileFormatError(f"load(): the file is damaged: memory {key!r:.40} is missing")
            return self._read(f"{folder}data/{key}")

        def moved(t: Tensor, location: str) -> Tensor:
            return to_location(t, location, self.map_location)

        return torch_pickle.read(bytes(self._read(pickle)), memory, moved, order == b"big")

    def _read(self, name: str) -> bytearray:
        """A member's bytes; its checksum is verified on the way."""
        info = self.archive.getinfo(name)
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size or info.flag_bits & 1:
            raise FileFormatError(f"load(): {name} is compressed or encrypted, which no save() does")
        try:
            with self.archive.open(info) as member:
                data = bytearray(member.read())
        except ValueError as error:
            raise FileFormatError(f"load(): the file is damaged: {name:.80} cannot be read: {brief(error)}") from error
        if len(data) != info.file_size:
            raise FileFormatError(f"load(): the file is incomplete: {name} has {len(data)} of {info.file_size} bytes")
        return data

    def array(self, name: str) -> np.ndarray[Any, Any]:
        """The array of a member, read once.

        :raises FileFormatError: it is none, or holds Python objects.
        """
        if name not in self._arrays:
            data = self._read(name)
            header = io.BytesIO(data[: 1 << 16])
            try:
                version = np.lib.format.read_magic(header)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, by_columns, kind = read(header)
            except Exception as error:  # NumPy parses the header as Python, which raises various errors
                raise FileFormatError(f"load(): the header of {name} is damaged: {brief(error)}") from error
            if kind.kind not in "biufc":
                what = "Python objects" if kind.hasobject else f"{kind!s:.80}"
                raise FileFormatError(f"load(): {name} holds {what}, and only numbers are read")
            count = math.prod(shape)
            if min(shape, default=0) < 0 or count * kind.itemsize != len(data) - header.tell():
                raise FileFormatError(f"load(): {name} does not have the length that its header says")
            flat: np.ndarray[Any, Any] = np.ndarray(count, kind, data, header.tell())
            self._arrays[name] = flat.reshape(shape, order="F" if by_columns else "C")
        return self._arrays[name]

    def decode(self, value: Any) -> Any:
        """The object that :meth:`Writer.encode` turned into ``value``.

        :raises ValueError: there is none.
        """
        if not isinstance(value, list):
            if isinstance(value, (dict, float)):
                raise ValueError(f"unexpected {value!r:.50}")
            return value
        kind, content = value
        if kind == "tensor":
            return self._tensor(content)
        if kind in ("array", "scalar"):
            array = self.array(f"array/{content:d}.npy")
            return array if kind == "array" else array[()]
        if kind in _LEAVES_BY_NAME:
            return _LEAVES_BY_NAME[kind](content)
        container = _CONTAINERS_BY_NAME[kind]
        if issubclass(container, dict):
            return container((self.decode(key), self.decode(item)) for key, item in content)
        return container(self.decode(item) for item in content)

    def _tensor(self, number: int) -> Tensor:
        if number not in self._tensors:
            if not 0 <= number < len(self._entries):
                raise ValueError(f"there is no tensor {number!r}")
            entry = self._entries[number]
            flat = self.array(f"memory/{entry['memory']:d}.npy")
            kind = dtypes._by_name(entry["dtype"]).numpy
            shape, strides = tuple(entry["shape"]), tuple(entry["strides"])
            if flat.dtype != np.uint8 or flat.ndim != 1 or min((*shape, *strides, entry["offset"]), default=0) < 0:
                raise ValueError(f"impossible shape, strides or offset of tensor {number}")
            array = np.ndarray(shape, kind, flat, entry["offset"], tuple(s * kind.itemsize for s in strides))
            tensor = to_location(wrap(array), str(entry["device"]), self.map_location)
            if entry["requires_grad"] is True:
                if tensor._a.dtype.kind not in dtypes.INEXACT:
                    raise ValueError(f"tensor {number} of dtype {tensor.dtype!r} cannot require grad")
                tensor._fn = LEAF
            if entry["type"] == "Parameter":
                from nbautograd.nn.parameter import Parameter

                tensor.__class__ = Parameter
            self._tensors[number] = tensor
        return self._tensors[number]


def _floats(texts: Any) -> complex:
    return complex(*map(float.fromhex, texts))


_LEAVES: dict[type, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    int: (hex, lambda text: int(text, 16)),
    float: (float.hex, float.fromhex),
    complex: (lambda z: [z.real.hex(), z.imag.hex()], _floats),
    bytes: (lambda data: base64.b64encode(data).decode(), lambda text: base64.b64decode(text, validate=True)),
    bytearray: (
        lambda data: base64.b64encode(data).decode(),
        lambda text: bytearray(base64.b64decode(text, validate=True)),
    ),
    device: (str, device_by_name),
}

for _cls in {type(d) for d in dtypes.ALL}:
    _LEAVES[_cls] = (lambda d: d.name, dtype_by_name)

_LEAVES_BY_NAME = {kind.__name__: decode for kind, (_, decode) in _LEAVES.items()}
_CONTAINERS = (dict, OrderedDict, list, tuple, set, frozenset, Size)
_CONTAINERS_BY_NAME: dict[str, Any] = {kind.__name__: kind for kind in _CONTAINERS}
