"""Reading of files of any format, recognized by their beginning.

PyTorch's files are a zip archive without compression, of a pickle and of the tensors' memory; those from before 1.6 are
consecutive pickles, then the tensors' memory.
"""

from __future__ import annotations

import os
import pickletools
import struct
import zipfile
from typing import Any, BinaryIO

import numpy as np

from nbautograd._engine.arrays.mapped_file import map_file
from nbautograd.serialization.files import (
    LENGTH,
    LOCAL_HEADER_BYTES,
    MAGIC_NUMBER,
    PROTOCOL_VERSION,
    FileFormatError,
    MapLocation,
    UnsafeFileError,
    open_to_read,
    to_location,
)
from nbautograd.serialization.safetensors import read_safetensors, starts_as_safetensors
from nbautograd.serialization.torch_pickle import _Machine

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
                    f"load(): the file is damaged or incomplete, as a zip archive: {error!s:.200}"
                ) from error
        if mmap:
            raise RuntimeError(
                f"mmap can only be used with files saved with `torch.save({f}, _use_new_zipfile_serialization=True), "
                "please torch.save your checkpoint with this option in order to use mmap."
            )
        if start[:1] == b"\x80":
            return read_stream(file, map_location, **options)
        if starts_as_safetensors(start, file):
            return read_safetensors(file, map_location)
        raise UnsafeFileError(f"load(): {_describe_foreign(start)}")


def _describe_foreign(start: bytes) -> str:
    """Describe a file that begins like this."""
    known = {b"\x93NUMPY": "a NumPy array: use numpy.load", b"\x89HDF": "HDF5", b"\x1f\x8b": "compressed by gzip"}
    for magic, what in known.items():
        if start.startswith(magic):
            return f"this file is not from torch.save, but {what}"
    return "invalid load key: this file is not from torch.save, or its beginning is damaged"


# -- zip archives ------------------------------------------------------------------------------------------------------


def open_archive(file: BinaryIO) -> zipfile.ZipFile:
    """Return the zip archive of a file, after checking that its contents do not exceed its size."""
    try:
        archive = zipfile.ZipFile(file)
    except ValueError as error:  # the zip directory has invalid offsets or names
        raise FileFormatError(f"load(): the directory of the archive is damaged: {error!s:.200}") from error
    if sum(info.file_size for info in archive.infolist()) > file.seek(0, os.SEEK_END):
        raise FileFormatError("load(): the file is damaged: its contents exceed its size")
    return archive


def read_archive(archive: zipfile.ZipFile, map_location: MapLocation, mapped: Any = None, **options: Any) -> Any:
    """Return the object in an archive.

    :param mapped: the whole file as an array of bytes, for tensors that are views of it; by default they are read.
    :param options: options of the unpickler.
    :raises FileFormatError: the file is damaged, or of another kind.
    """
    names = set(archive.namelist())
    pickles = [name for name in names if name.rpartition("/")[2] == "data.pkl" and name.count("/") < 2]
    if not pickles:
        arrays = bool(names) and all(name.endswith(".npy") for name in names)
        what = "NumPy's savez: use numpy.load" if arrays else "something else"
        raise FileFormatError(f"load(): this is a zip archive, but not from torch.save; it was made by {what}")
    folder = min(pickles).removesuffix("data.pkl")
    if folder + "constants.pkl" in names:
        raise FileFormatError("load(): this is a TorchScript archive, which only torch.jit.load of PyTorch reads")
    order = _read(archive, folder + "byteorder") if folder + "byteorder" in names else b"little"
    if order not in (b"little", b"big"):
        raise FileFormatError(f"load(): the file is damaged: its byte order is {bytes(order)!r:.20}")

    def memory(key: str, count: int, location: str) -> Any:
        name = f"{folder}data/{key}"
        if name not in names:
            raise FileFormatError(f"load(): the file is damaged: memory {key!r:.40} is missing")
        if mapped is None:
            content = _read(archive, name)
            data = np.ndarray(len(content), np.uint8, content)
        else:
            data = _mapped(archive, name, mapped)
        return to_location(data, location, map_location)

    return _Machine(memory, order == b"big", **options).read(bytes(_read(archive, folder + "data.pkl")))


def _info(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size or info.flag_bits & 1:
        raise FileFormatError(f"load(): {name} is compressed or encrypted, unlike files of save()")
    return info


def _read(archive: zipfile.ZipFile, name: str) -> bytearray:
    """Return a member's bytes, after verifying its checksum."""
    info = _info(archive, name)
    try:
        with archive.open(info) as member:
            data = bytearray(member.read())
    except ValueError as error:
        raise FileFormatError(f"load(): the file is damaged: {name:.80} cannot be read: {error!s:.200}") from error
    if len(data) != info.file_size:
        raise FileFormatError(f"load(): the file is incomplete: {name} has {len(data)} of {info.file_size} bytes")
    return data


def _mapped(archive: zipfile.ZipFile, name: str, whole: Any) -> np.ndarray[Any, Any]:
    """Return a member's bytes in a memory-mapped file; nothing is read, so its checksum is not verified."""
    info = _info(archive, name)
    with archive.open(info) as member:  # checks the name in the local header
        member.close()
    header = whole[info.header_offset : info.header_offset + LOCAL_HEADER_BYTES].tobytes()
    start = info.header_offset + LOCAL_HEADER_BYTES
    start += int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    if start + info.file_size > whole.size:
        raise FileFormatError(f"load(): the file is incomplete: {name} should end after it")
    return np.ndarray(info.file_size, np.uint8, whole.base, start)


# -- streams of pickles ------------------------------------------------------------------------------------------------


def read_stream(file: BinaryIO, map_location: MapLocation, **options: Any) -> Any:
    """Return the object in a file.

    :param options: options of the unpickler.
    :raises FileFormatError: the file is damaged, or of another kind.
    """
    size = file.seek(0, os.SEEK_END)
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

    if machine().read(_next_pickle(file)) != MAGIC_NUMBER:
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
