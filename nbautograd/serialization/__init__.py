"""``save`` and ``load``: tensors, and Python's plain containers of them, in a file that holds nothing to execute.

The file is a zip archive without compression that ``numpy.load`` opens too: ``structure.json`` says how the objects
hang together, and every piece of memory that tensors lie in is one array of bytes, ``memory/0.npy`` and so on. So
tensors that shared memory share it again, with the strides that they had. A path that ends in ``.safetensors`` gives a
file of that format instead, which Hugging Face's library reads and writes.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import math
import os
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from nbautograd._atomic_file import replacing
from nbautograd.arrays import backend, dtypes, raw_memory, strides
from nbautograd.arrays.device import as_device, device
from nbautograd.arrays.size import Size
from nbautograd.core.node import LEAF
from nbautograd.core.tensor import Tensor, wrap
from nbautograd.errors import CudaUnavailableError, NbautogradError

__all__ = ["FileFormatError", "load", "load_safetensors", "save", "save_safetensors"]

Path = str | os.PathLike[str]
MapLocation = Callable[[Tensor, str], Any] | device | str | Mapping[str, str] | None
STRUCTURE = "structure.json"
FORMAT = "nbautograd 1"


class FileFormatError(NbautogradError, RuntimeError):
    """A file is damaged, or not of the format that it is read as."""


# -- public functions ------------------------------------------------------------------------------------------------


def save(obj: Any, f: Path | BinaryIO, pickle_module: Any = None, pickle_protocol: Any = None) -> None:
    """Write an object to a file, from where :func:`load` brings it back.

    The object is a tensor, None, a bool, int, float, complex, string, bytes, Size, dtype, device, NumPy array or
    number, or a dict, OrderedDict, list, tuple, set or frozenset of these; for a model that is its ``state_dict()``.
    Of tensors are kept: values, dtype, shape, strides, ``requires_grad``, the device, and which of them share memory
    (on CUDA each has its own afterwards).

    A path is written all or nothing: a temporary file next to it takes its place at the end.

    :param f: a path, or an object with a method ``write``.
    :raises TypeError: the object holds something else.
    :raises ValueError: it holds itself, or pickle is asked for, which is never used.

    >>> import nbautograd as torch, io
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2), "steps": 3}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'weight': tensor([1., 1.]), 'steps': 3}
    """
    if pickle_module is not None or pickle_protocol is not None:
        raise ValueError("save(): pickle_module and pickle_protocol are not supported: nothing is pickled")
    if isinstance(f, (str, os.PathLike)) and _is_safetensors(f):
        save_safetensors(obj, f)
        return
    writer = _Writer()
    try:
        structure = {"format": FORMAT, "object": writer.encode(obj), "tensors": writer.tensors}
    except RecursionError:
        raise ValueError("save(): the object holds itself, or is nested too deeply") from None
    arrays = writer.arrays()
    with _opened_to_write(f) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        archive.writestr(_member(STRUCTURE), json.dumps(structure))
        for name, array in arrays.items():
            with archive.open(_member(name), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def load(
    f: Path | BinaryIO,
    map_location: MapLocation = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
) -> Any:
    """Read what :func:`save` wrote, or PyTorch's ``torch.save`` (tensors in plain containers, such as a state_dict).

    Nothing in the file is ever executed, whatever it says.

    :param f: a path, or an object with a method ``read``.
    :param map_location: where tensors are to live: a device; a dict from saved to new devices; or a function of the
        tensor, still on the CPU, and the name of its saved device, that returns the tensor where it is to live or
        None. By default each goes to where it was.
    :param weights_only: accepted as in PyTorch; there is no other way.
    :raises FileFormatError: (a RuntimeError) the file is damaged, or was written by something else.
    :raises FileNotFoundError: there is no such file.
    :raises EOFError: it is empty.
    """
    if pickle_module is not None or mmap:
        raise ValueError("load(): pickle_module and mmap=True are not supported: files are read without pickle, whole")
    with _opened_to_read(f) as file:
        start = file.read(8)
        file.seek(0)
        if not start:
            raise EOFError("load(): Ran out of input: the file is empty")
        if start[:2] != b"PK":
            if _starts_safetensors(start, file):
                tensors: Any = _read_safetensors(file)[0]
                return {name: _moved(t, "cpu", map_location) for name, t in tensors.items()}
            raise FileFormatError(f"load(): {_foreign(start)}")
        try:
            with _archive(file) as archive:
                return _Reader(archive, map_location).object()
        except (zipfile.BadZipFile, struct.error, EOFError, NotImplementedError, OverflowError) as error:
            raise FileFormatError(
                f"load(): the file is damaged or incomplete, as a zip archive: {_brief(error)}"
            ) from error


def save_safetensors(
    tensors: Mapping[str, Tensor], f: Path | BinaryIO, metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors by name to a file of the safetensors format: values, dtypes and shapes, nothing else.

    :param metadata: strings by name, to go into the file too.
    :raises TypeError: ``tensors`` is no dict from strings to tensors.
    :raises ValueError: a dtype that the format lacks (complex128), or a name that it keeps for itself.
    """
    if not isinstance(tensors, Mapping) or not all(isinstance(t, Tensor) for t in tensors.values()):
        raise TypeError("save_safetensors(): expected a dict from names to tensors: the format holds nothing else")
    header: dict[str, Any] = {}
    if metadata is not None:
        header["__metadata__"] = {str(key): str(value) for key, value in metadata.items()}
    position, blocks = 0, []
    for name, t in sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0])):  # so that all are aligned
        if not isinstance(name, str) or name == "__metadata__":
            raise (ValueError if isinstance(name, str) else TypeError)(f"save_safetensors(): {name!r} cannot be a name")
        if t.dtype.name not in _SAFE_NAMES:
            raise ValueError(f"save_safetensors(): the format has no dtype {t.dtype!r}, which {name!r} has")
        block = np.ascontiguousarray(backend.fetch(t._a))
        header[name] = {
            "dtype": _SAFE_NAMES[t.dtype.name],
            "shape": list(t.shape),
            "data_offsets": [position, position + block.nbytes],
        }
        position += block.nbytes
        blocks.append(raw_memory.span(block)[0])
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with _opened_to_write(f) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for data in blocks:
            file.write(data.data)


def load_safetensors(f: Path | BinaryIO, device: device | str = "cpu") -> dict[str, Tensor]:
    """The tensors of a safetensors file by name.

    :raises FileFormatError: (a RuntimeError) the file is damaged, of another format, or of dtypes missing here.
    """
    with _opened_to_read(f) as file:
        tensors, _ = _read_safetensors(file)
    return {name: _moved(t, "cpu", device) for name, t in tensors.items()}


# -- files -----------------------------------------------------------------------------------------------------------


def _is_safetensors(path: Path) -> bool:
    return os.fspath(path).endswith(".safetensors")


def _member(name: str) -> zipfile.ZipInfo:
    """A member of the archive, without the time of day: equal objects give equal files."""
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o644 << 16
    return info


@contextlib.contextmanager
def _opened_to_write(f: Any) -> Iterator[Any]:
    """A file to write to, which takes the place of the one at a path only when all is written."""
    if not isinstance(f, (str, os.PathLike)):
        if not hasattr(f, "write"):
            raise TypeError(f"expected a path or an object with a method 'write', got {type(f).__name__}")
        yield f
        return
    with replacing(f) as file:
        yield file


@contextlib.contextmanager
def _opened_to_read(f: Any) -> Iterator[BinaryIO]:
    """A file that can be searched, from the present position of a file object on."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            yield file
    elif hasattr(f, "read"):
        data = f.read()
        if not isinstance(data, (bytes, bytearray)):
            raise TypeError(f"load(): the file must be opened in binary mode, but read() gave {type(data).__name__}")
        yield io.BytesIO(data)
    else:
        raise TypeError(f"expected a path or an object with a method 'read', got {type(f).__name__}")


def _archive(file: BinaryIO) -> zipfile.ZipFile:
    """The zip archive that a file is, if it holds no more than its size."""
    try:
        archive = zipfile.ZipFile(file)
    except ValueError as error:  # the directory names impossible places or texts
        raise FileFormatError(f"load(): the directory of the archive is damaged: {_brief(error)}") from error
    if sum(info.file_size for info in archive.infolist()) > file.seek(0, io.SEEK_END):
        raise FileFormatError("load(): the file is damaged: it should hold more than it is long")
    return archive


def _brief(error: Exception) -> str:
    """The beginning of a message, which may quote the whole file."""
    return f"{error!s:.200}"


def _foreign(start: bytes) -> str:
    """What a file is that begins like this."""
    if start[:1] == b"\x80":
        return (
            "this is a pickle, such as torch.save of old PyTorch versions wrote. A pickle can execute any code, so it "
            "is never read here. Load it with PyTorch and write it again as safetensors (safetensors.torch.save_file)."
        )
    known = {b"\x93NUMPY": "a NumPy array: use numpy.load", b"\x89HDF": "HDF5", b"\x1f\x8b": "compressed by gzip"}
    for magic, what in known.items():
        if start.startswith(magic):
            return f"this is no file of nbautograd.save, but {what}"
    return "this is no file of nbautograd.save, or its beginning is damaged"


# -- writing ---------------------------------------------------------------------------------------------------------


class _Writer:
    """Turns objects into what JSON can hold, and collects the tensors' memory.

    None, bools, strings and ints of up to 64 bits are themselves; everything else is a list of its kind and its parts.
    """

    def __init__(self) -> None:
        self.tensors: list[dict[str, Any]] = []
        self._numbers: dict[int, int] = {}  # of the tensors, by id
        self._kept: list[Any] = []  # keeps ids taken
        self._pieces: dict[int, list[Any]] = {}  # of memory, by the id of the owner
        self._plain: list[np.ndarray[Any, Any]] = []
        self._inside: set[int] = set()

    def encode(self, value: Any) -> Any:
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
        found = {f"array/{i}.npy": array for i, array in enumerate(self._plain)}
        for number, entries in enumerate(self._pieces.values()):
            ends = [(low, low + count) for low, _, count in (e["offset"] for e in entries) if low is not None]
            start, end = min((low for low, _ in ends), default=0), max((high for _, high in ends), default=0)
            found[f"memory/{number}.npy"] = raw_memory.bytes_at(start, end - start, self._kept)
            for entry in entries:
                low, first, _ = entry["offset"]
                entry["offset"] = 0 if low is None else low + first - start
                entry["memory"] = number
        return found


# -- reading ---------------------------------------------------------------------------------------------------------


class _Reader:
    """Builds the objects of an archive, believing nothing that it says."""

    def __init__(self, archive: zipfile.ZipFile, map_location: MapLocation) -> None:
        self.archive = archive
        self.map_location = map_location
        self._arrays: dict[str, np.ndarray[Any, Any]] = {}
        self._made: dict[int, Tensor] = {}
        self._entries: Any = None

    def object(self) -> Any:
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
            raise FileFormatError(f"load(): the file is damaged: {type(error).__name__}: {_brief(error)}") from error

    def _of_pytorch(self, pickle: str, names: list[str]) -> Any:
        """What PyTorch's ``torch.save`` wrote, of which the pickle is read by a machine of our own."""
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
            return _moved(t, location, self.map_location)

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
            raise FileFormatError(f"load(): the file is damaged: {name:.80} cannot be read: {_brief(error)}") from error
        if len(data) != info.file_size:
            raise FileFormatError(f"load(): the file is incomplete: {name} has {len(data)} of {info.file_size} bytes")
        return data

    def array(self, name: str) -> np.ndarray[Any, Any]:
        if name not in self._arrays:
            data = self._read(name)
            header = io.BytesIO(data[: 1 << 16])
            try:
                version = np.lib.format.read_magic(header)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, by_columns, kind = read(header)
            except Exception as error:  # NumPy parses it as Python, with whatever errors that has
                raise FileFormatError(f"load(): the header of {name} is damaged: {_brief(error)}") from error
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
        if number not in self._made:
            if not 0 <= number < len(self._entries):
                raise ValueError(f"there is no tensor {number!r}")
            entry = self._entries[number]
            flat = self.array(f"memory/{entry['memory']:d}.npy")
            kind = dtypes._by_name(entry["dtype"]).numpy
            shape, strides = tuple(entry["shape"]), tuple(entry["strides"])
            if flat.dtype != np.uint8 or flat.ndim != 1 or min((*shape, *strides, entry["offset"]), default=0) < 0:
                raise ValueError(f"impossible shape, strides or offset of tensor {number}")
            array = np.ndarray(shape, kind, flat, entry["offset"], tuple(s * kind.itemsize for s in strides))
            made = _moved(wrap(array), str(entry["device"]), self.map_location)
            if entry["requires_grad"] is True:
                if made._a.dtype.kind not in dtypes.INEXACT:
                    raise ValueError(f"tensor {number} of dtype {made.dtype!r} cannot require grad")
                made._fn = LEAF
            if entry["type"] == "Parameter":
                from nbautograd.nn.parameter import Parameter

                made.__class__ = Parameter
            self._made[number] = made
        return self._made[number]


def _moved(t: Tensor, saved: str, target: MapLocation) -> Tensor:
    """A tensor, so far on the CPU, on the device where it was or is wanted."""
    if callable(target) and not isinstance(target, device):
        found = target(t, saved)
        if found is not None:
            return found if isinstance(found, Tensor) else _moved(t, saved, getattr(found, "device", found))
        target = None
    if isinstance(target, Mapping):
        target = target.get(saved)
    place = _device(saved) if target is None else as_device(target)
    if place.type == "cpu":
        return t
    try:
        return wrap(backend.module(place).asarray(t._a))
    except CudaUnavailableError as error:
        raise RuntimeError(
            f"Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False: a tensor was "
            f"saved on or is wanted on {place}. Use load(..., map_location='cpu'). ({error})"
        ) from error


def _device(name: str) -> device:
    try:
        return device(name)
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def _dtype(name: str) -> dtypes.dtype:
    return dtypes._by_name(name)


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
    device: (str, _device),
}
for _cls in {type(d) for d in dtypes.ALL}:
    _LEAVES[_cls] = (lambda d: d.name, _dtype)
_LEAVES_BY_NAME = {kind.__name__: decode for kind, (_, decode) in _LEAVES.items()}
_CONTAINERS = (dict, OrderedDict, list, tuple, set, frozenset, Size)
_CONTAINERS_BY_NAME: dict[str, Any] = {kind.__name__: kind for kind in _CONTAINERS}


# -- safetensors -----------------------------------------------------------------------------------------------------

_SAFE_NAMES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
}
LONGEST_HEADER = 100_000_000  # bytes, as in the format's own library


def _starts_safetensors(start: bytes, file: BinaryIO) -> bool:
    """Whether a file begins with a plausible length and the brace of a header."""
    if len(start) < 8 or not 2 <= struct.unpack("<Q", start)[0] <= LONGEST_HEADER:
        return False
    file.seek(8)
    brace = file.read(1)
    file.seek(0)
    return brace == b"{"


def _read_safetensors(file: BinaryIO) -> tuple[dict[str, Tensor], dict[str, str]]:
    data = bytearray(file.read())
    try:
        length = struct.unpack_from("<Q", data)[0]
        if length > min(LONGEST_HEADER, len(data) - 8):
            raise ValueError(f"its header should have {length} bytes, more than there are or may be")
        header = json.loads(bytes(data[8 : 8 + length]).decode(), object_pairs_hook=_without_repeats)
        metadata = header.pop("__metadata__", {})
        tensors, position = {}, 0
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            begin, end = entry["data_offsets"]
            if entry["dtype"] not in _SAFE_DTYPES:
                raise ValueError(f"dtype {entry['dtype']!r} of {name!r} does not exist here")
            kind = _dtype(_SAFE_DTYPES[entry["dtype"]]).numpy
            shape = tuple(entry["shape"])
            count = kind.itemsize
            for n in shape:
                if type(n) is not int or n < 0:
                    raise ValueError(f"{name!r} has the impossible shape {shape}")
                count *= n
            if begin != position or end - begin != count:
                raise ValueError(f"{name!r} of {count} bytes cannot lie at bytes {begin} to {end} after {position}")
            position = end
            tensors[name] = (shape, kind, begin)
        if 8 + length + position != len(data):
            raise ValueError(f"it has {len(data)} bytes instead of {8 + length + position}")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, struct.error) as error:
        raise FileFormatError(f"this is no safetensors file, or a damaged one: {_brief(error)}") from error
    start = 8 + length
    values = {
        # Copied, so that each tensor is aligned in memory and none keeps the others' alive.
        name: wrap(np.frombuffer(data, kind, _count(shape), start + begin).reshape(shape).copy())
        for name, (shape, kind, begin) in tensors.items()
    }
    return {name: values[name] for name in header}, metadata


_SAFE_DTYPES = {short: name for name, short in _SAFE_NAMES.items()}


def _count(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice in its header")
    return found
