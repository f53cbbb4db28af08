"""The files of PyTorch before 1.6, as they are read: pickles one after the other, and then the tensors' memory."""

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
    """The object in a file.

    :param options: of the unpickler.
    :raises FileFormatError: it is damaged, or of another kind.
    """
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    on_host: dict[str, np.ndarray[Any, Any]] = {}
    moved: dict[str, Any] = {}

    def memory(key: str, count: int, location: str) -> Any:
        if count + sum(map(len, on_host.values())) > size:
            raise FileFormatError("load(): the file is damaged: it should hold more than it is long")
        on_host[key] = np.zeros(count, np.uint8)
        moved[key] = to_location(on_host[key], location, map_location)
        return moved[key]

    def machine() -> _Machine:
        return _Machine(memory, False, **options)

    magic = machine().read(_next_pickle(file))
    if magic != MAGIC_NUMBER:
        raise UnsafeFileError("load(): Invalid magic number; corrupt file? It is a pickle, but none of torch.save")
    version = machine().read(_next_pickle(file))
    if version != PROTOCOL_VERSION:
        raise FileFormatError(f"load(): Invalid protocol version: {version!r:.40}")
    machine().read(_next_pickle(file))  # the sizes of the types of the system's C
    reader = machine()
    result = reader.read(_next_pickle(file))
    for key in machine().read(_next_pickle(file)):
        data = on_host.get(key)
        length = file.read(LENGTH.size)
        if data is None or len(length) < LENGTH.size:
            raise FileFormatError("load(): the file is damaged: its memory does not fit to its tensors")
        if LENGTH.unpack(length)[0] not in (data.size, *(data.size // width for width in (2, 4, 8, 16))):
            raise FileFormatError("load(): the file is damaged: its memory is of another length than its tensors say")
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
    """The bytes of the pickle that begins where the file is read next."""
    start = file.tell()
    try:
        for _ in pickletools.genops(file):
            pass
    except (ValueError, IndexError, UnicodeError) as error:
        raise UnsafeFileError(f"load(): the pickle in the file is damaged: {error!s:.200}") from error
    end = file.tell()
    file.seek(start)
    return file.read(end - start)
