"""Reading of PyTorch's files: a zip archive without compression, of a pickle and of the tensors' memory."""

from __future__ import annotations

import io
import zipfile
from typing import Any, BinaryIO

import numpy as np

from nbautograd.serialization import torch_pickle
from nbautograd.serialization.files import LOCAL_HEADER_BYTES, FileFormatError, MapLocation, brief, to_location

__all__ = ["open_archive", "read_archive"]


def open_archive(file: BinaryIO) -> zipfile.ZipFile:
    """Return the zip archive of a file, after checking that its contents do not exceed its size."""
    try:
        archive = zipfile.ZipFile(file)
    except ValueError as error:  # the zip directory has invalid offsets or names
        raise FileFormatError(f"load(): the directory of the archive is damaged: {brief(error)}") from error
    if sum(info.file_size for info in archive.infolist()) > file.seek(0, io.SEEK_END):
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

    return torch_pickle.read(bytes(_read(archive, folder + "data.pkl")), memory, big=order == b"big", **options)


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
        raise FileFormatError(f"load(): the file is damaged: {name:.80} cannot be read: {brief(error)}") from error
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
