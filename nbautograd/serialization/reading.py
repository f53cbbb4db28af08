"""Reading of files of any format, recognized by their beginning."""

from __future__ import annotations

import os
import struct
import zipfile
from typing import Any

from nbautograd._engine.arrays.mapped_file import map_file
from nbautograd.serialization.files import FileFormatError, MapLocation, UnsafeFileError, brief, open_to_read
from nbautograd.serialization.safetensors import read_safetensors, starts_as_safetensors
from nbautograd.serialization.stream_format import read_stream
from nbautograd.serialization.zip_format import open_archive, read_archive

__all__ = ["read"]


def read(f: Any, map_location: MapLocation, mmap: bool, options: dict[str, Any]) -> Any:
    """Read a file of any format."""
    with open_to_read(f) as file:
        start = file.read(8)
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if not start:
            raise EOFError("load(): Ran out of input: the file is empty")
        if start[:2] == b"PK":
            try:
                with open_archive(file) as archive:
                    return read_archive(archive, map_location, map_file(f, False, size) if mmap else None, **options)
            except (zipfile.BadZipFile, struct.error, EOFError, NotImplementedError, OverflowError) as error:
                raise FileFormatError(
                    f"load(): the file is damaged or incomplete, as a zip archive: {brief(error)}"
                ) from error
        if mmap:
            raise RuntimeError(
                f"mmap can only be used with files saved with `torch.save({f}, _use_new_zipfile_serialization=True), "
                "please torch.save your checkpoint with this option in order to use mmap."
            )
        if start[:1] == b"\x80":
            return read_stream(file, map_location, **options)
        if starts_as_safetensors(start, file):
            return read_safetensors(file, map_location)[0]
        raise UnsafeFileError(f"load(): {_describe_foreign(start)}")


def _describe_foreign(start: bytes) -> str:
    """Describe a file that begins like this."""
    known = {b"\x93NUMPY": "a NumPy array: use numpy.load", b"\x89HDF": "HDF5", b"\x1f\x8b": "compressed by gzip"}
    for magic, what in known.items():
        if start.startswith(magic):
            return f"this file is not from torch.save, but {what}"
    return "invalid load key: this file is not from torch.save, or its beginning is damaged"
