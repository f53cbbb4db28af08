"""The safetensors format, which Hugging Face's library reads and writes: tensors by name."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, raw_memory
from nbautograd._engine.arrays.device import device
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd.serialization.files import FileFormatError, MapLocation, Path, open_to_read, open_to_write, to_location

__all__ = ["load_safetensors", "save_safetensors"]


def save_safetensors(
    tensors: Mapping[str, Tensor], f: Path | BinaryIO, metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors by name to a safetensors file: only values, dtypes and shapes.

    :param tensors: the tensors by name.
    :param f: a path, or a binary file open for writing.
    :param metadata: strings by name, also stored in the file.
    :returns: None.
    :raises TypeError: ``tensors`` is not a dict from strings to tensors.
    :raises ValueError: the format does not support a dtype (complex128), or reserves a name.

    >>> import nbautograd as torch, io
    >>> file = io.BytesIO()
    >>> torch.serialization.save_safetensors({"weight": torch.ones(2)}, file)
    >>> len(file.getvalue()) % 8
    0
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
        end = position + block.nbytes
        header[name] = {"dtype": _SAFE_NAMES[t.dtype.name], "shape": list(t.shape), "data_offsets": [position, end]}
        position = end
        blocks.append(raw_memory.span(block)[0])
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open_to_write(f) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for data in blocks:
            file.write(data.data)


def load_safetensors(f: Path | BinaryIO, device: device | str = "cpu") -> dict[str, Tensor]:
    """Return the tensors of a safetensors file by name.

    :param f: a path, or a binary file open for reading.
    :param device: the device of the tensors.
    :returns: a dict from names to tensors.
    :raises FileFormatError: (a RuntimeError) the file is damaged, of another format, or has unsupported dtypes.
    :raises FileNotFoundError: the file does not exist.

    >>> import nbautograd as torch, io
    >>> file = io.BytesIO()
    >>> torch.serialization.save_safetensors({"weight": torch.ones(2)}, file)
    >>> torch.serialization.load_safetensors(io.BytesIO(file.getvalue()))
    {'weight': tensor([1., 1.])}
    """
    with open_to_read(f) as file:
        return read_safetensors(file, device)


_SAFE_NAMES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint16": "U16",
    "uint32": "U32", "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
    "complex64": "C64",
}  # fmt: skip
MAX_DIMENSIONS = 64  # NumPy's limit
MAX_HEADER_BYTES = 100_000_000  # as in the format's own library


def starts_as_safetensors(start: bytes, file: BinaryIO) -> bool:
    """Return whether a file begins with a plausible length and the brace of a header."""
    if len(start) < 8 or not 2 <= struct.unpack("<Q", start)[0] <= MAX_HEADER_BYTES:
        return False
    file.seek(8)
    brace = file.read(1)
    file.seek(0)
    return brace == b"{"


def read_safetensors(file: BinaryIO, map_location: MapLocation = None) -> dict[str, Tensor]:
    data = bytearray(file.read())
    try:
        length = struct.unpack_from("<Q", data)[0]
        if length > min(MAX_HEADER_BYTES, len(data) - 8):
            raise ValueError(f"its header should have {length} bytes, more than the file has or the format allows")
        header = json.loads(bytes(data[8 : 8 + length]).decode(), object_pairs_hook=_without_repeats)
        header.pop("__metadata__", None)
        tensors, position = {}, 0
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            begin, end = entry["data_offsets"]
            if entry["dtype"] not in _SAFE_DTYPES:
                raise ValueError(f"dtype {entry['dtype']!r} of {name!r} is not supported")
            kind = dtypes._by_name(_SAFE_DTYPES[entry["dtype"]]).numpy
            shape = tuple(entry["shape"])
            _check_shape(name, shape, kind.itemsize)
            if type(begin) is not int or type(end) is not int:
                raise ValueError(f"{name!r} has the offsets {begin} and {end}, which are not integers")
            count = math.prod(shape) * kind.itemsize
            if begin != position or end - begin != count:
                raise ValueError(f"{name!r} of {count} bytes cannot be at bytes {begin} to {end} after {position}")
            position = end
            tensors[name] = (shape, kind, begin)
        if 8 + length + position != len(data):
            raise ValueError(f"it has {len(data)} bytes instead of {8 + length + position}")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, struct.error) as error:
        raise FileFormatError(f"this is not a safetensors file, or a damaged one: {error!s:.200}") from error
    start = 8 + length
    values = {}
    for name, (shape, kind, begin) in tensors.items():
        # Copied, so that each tensor is aligned in memory and none keeps the memory of others alive.
        count = math.prod(shape) * kind.itemsize
        memory = to_location(np.frombuffer(data, np.uint8, count, start + begin).copy(), "cpu", map_location)
        values[name] = wrap(memory.view(kind).reshape(shape))
    return {name: values[name] for name in header}


_SAFE_DTYPES = {short: name for name, short in _SAFE_NAMES.items()}


def _check_shape(name: str, shape: tuple[Any, ...], itemsize: int) -> None:
    """Check that an array can have the shape in the header."""
    if any(type(n) is not int or n < 0 for n in shape):
        raise ValueError(f"{name!r} has the impossible shape {shape}")
    if len(shape) > MAX_DIMENSIONS or math.prod(n or 1 for n in shape) * itemsize >= 1 << 63:
        raise ValueError(f"{name!r} has the impossible shape {shape!s:.80}: no memory is that large")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name occurs twice in its header")
    return result
