"""Reading of PyTorch's files from before 1.6: consecutive pickles, then the tensors' memory."""

from __future__ import annotations

import io
import pickletools
from typing import Any, BinaryIO

import numpy as np

from nbautograd.serialization.files import (
    LENGTH,
    MAGIC_NUMBER,
    PROTOCOL_VERSION,
    FileFormatError,
    MapLocation,
    UnsafeFileError,
    to_location,
)
from nbautograd.serialization.torch_pickle import _Machine

__all__ = ["read_stream"]


def read_stream(file: BinaryIO, map_location: MapLocation, **options: Any) -> Any:
    """Return the object in a file.

    :param options: options of the unpickler.
    :raises FileFormatError: the file is damaged, or of another kind.
    """
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    on_host: dict[str, np.ndarray[Any, Any]] = {}
    moved: dict[str, Any] = {}

    def memory(key: str, count: int, location: str) -> Any:
        if count + sum(map(len, on_host.values())) > size:
            raise FileFormatError("load(): the file is damaged: its contents exceed its size")
        on_host[key] = np.zeros(count, np.uint8)
        moved[key] = to_location(on_host[key], location, map_location)
        return moved[key]

    def machine() -> _Machine:
        return _Machine(memory, False, **options)

    magic = machine().read(_next_pickle(file))
    if magic != MAGIC_NUMBER:
        raise UnsafeFileError("load(): Invalid magic number; corrupt file? It is a pickle, but not from torch.save")
    version = machine().read(_next_pickle(file))
    if version != PROTOCOL_VERSION:
        raise FileFormatError(f"load(): Invalid protocol version: {version!r:.40}")
    machine().read(_next_pickle(file))  # the sizes of the system's C types
    reader = machine()
    result = reader.read(_next_pickle(file))
    for key in machine().read(_next_pickle(file)):
        data = on_host.get(key)
        length = file.read(LENGTH.size)
        if data is None or len(length) < LENGTH.size:
            raise FileFormatError("load(): the file is damaged: its memory does not match its tensors")
        if LENGTH.unpack(length)[0] not in (data.size, *(data.size // width for width in (2, 4, 8, 16))):
            raise FileFormatError("load(): the file is damaged: the length of its memory does not match its tensors")
        content = file.read(data.size)
        if len(content) < data.size:
            raise FileFormatError("load(): the file is incomplete")
        data[...] = np.frombuffer(content, np.uint8)
        if moved[key] is not data:
            moved[key][...] = to_location(data, str(moved[key].device), None)
    for compute in reader.late:
        compute()
    return result


def _next_pickle(file: BinaryIO) -> bytes:
    """Return the bytes of the pickle at the current position of the file."""
    start = file.tell()
    try:
        for _ in pickletools.genops(file):
            pass
    except (ValueError, IndexError, UnicodeError) as error:
        raise UnsafeFileError(f"load(): the pickle in the file is damaged: {error!s:.200}") from error
    end = file.tell()
    file.seek(start)
    return file.read(end - start)
