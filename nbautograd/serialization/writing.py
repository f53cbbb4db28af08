"""Writing of PyTorch's files: a zip archive, or the stream of pickles of before 1.6."""

from __future__ import annotations

import io
import os
import sys
import zipfile
from typing import Any, BinaryIO

from nbautograd.serialization.files import (
    ALIGNMENT,
    EXTRA_HEADER_BYTES,
    LENGTH,
    LOCAL_HEADER_BYTES,
    MAGIC_NUMBER,
    PROTOCOL_VERSION,
)
from nbautograd.serialization.pickler import Pickler

__all__ = ["folder_of", "write_archive", "write_stream"]

PADDING = b"FB"
"""The kind of the extra field that fills the space before a member."""
ZIP64_EXTRA_BYTES = 20


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
    data = io.BytesIO()
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
    pickler = _dump(obj, file, protocol)
    memory = sorted(pickler.memory.values(), key=lambda each: each.key)
    _dump([each.key for each in memory], file, protocol)
    for each in memory:
        file.write(LENGTH.pack(each.data.size // each.width))
        file.write(each.data.data)


def _dump(value: Any, file: BinaryIO, protocol: int) -> Pickler:
    data = io.BytesIO()
    pickler = Pickler(data, protocol, legacy=True)
    pickler.dump(value)
    file.write(data.getvalue())
    return pickler
