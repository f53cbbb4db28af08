"""``save`` and ``load``: tensors, and Python's plain containers of them, in a file that holds nothing to execute.

The file is a zip archive without compression that ``numpy.load`` opens too: ``structure.json`` says how the objects
hang together, and every piece of memory that tensors lie in is one array of bytes, ``memory/0.npy`` and so on. So
tensors that shared memory share it again, with the strides that they had. A path that ends in ``.safetensors`` gives a
file of that format instead, which Hugging Face's library reads and writes.
"""

from __future__ import annotations

import json
import os
import struct
import zipfile
from typing import Any, BinaryIO

import numpy as np

from nbautograd.serialization.archive import FORMAT, STRUCTURE, Reader, Writer, member, open_archive
from nbautograd.serialization.files import (
    FileFormatError,
    MapLocation,
    Path,
    brief,
    open_to_read,
    open_to_write,
    to_location,
)
from nbautograd.serialization.safetensors import (
    is_safetensors_path,
    load_safetensors,
    read_safetensors,
    save_safetensors,
    starts_as_safetensors,
)

__all__ = ["FileFormatError", "load", "load_safetensors", "save", "save_safetensors"]


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
    if isinstance(f, (str, os.PathLike)) and is_safetensors_path(f):
        save_safetensors(obj, f)
        return
    writer = Writer()
    try:
        structure = {"format": FORMAT, "object": writer.encode(obj), "tensors": writer.tensors}
    except RecursionError:
        raise ValueError("save(): the object holds itself, or is nested too deeply") from None
    arrays = writer.arrays()
    with open_to_write(f) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        archive.writestr(member(STRUCTURE), json.dumps(structure))
        for name, array in arrays.items():
            with archive.open(member(name), "w", force_zip64=True) as file_in_archive:
                np.lib.format.write_array(file_in_archive, array, allow_pickle=False)


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
    with open_to_read(f) as file:
        start = file.read(8)
        file.seek(0)
        if not start:
            raise EOFError("load(): Ran out of input: the file is empty")
        if start[:2] != b"PK":
            if starts_as_safetensors(start, file):
                tensors: Any = read_safetensors(file)[0]
                return {name: to_location(t, "cpu", map_location) for name, t in tensors.items()}
            raise FileFormatError(f"load(): {_describe_foreign(start)}")
        try:
            with open_archive(file) as archive:
                return Reader(archive, map_location).object()
        except (zipfile.BadZipFile, struct.error, EOFError, NotImplementedError, OverflowError) as error:
            raise FileFormatError(
                f"load(): the file is damaged or incomplete, as a zip archive: {brief(error)}"
            ) from error


def _describe_foreign(start: bytes) -> str:
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
