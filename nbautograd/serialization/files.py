"""Atomic writing and whole reading of files, and the error for damaged ones."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

from nbautograd._atomic_file import replacing
from nbautograd.arrays import backend, dtypes
from nbautograd.arrays.device import as_device, device
from nbautograd.core.tensor import Tensor, wrap
from nbautograd.errors import CudaUnavailableError, NbautogradError

__all__ = [
    "FileFormatError",
    "MapLocation",
    "Path",
    "brief",
    "device_by_name",
    "dtype_by_name",
    "open_to_read",
    "open_to_write",
    "to_location",
]

Path = str | os.PathLike[str]
MapLocation = Callable[[Tensor, str], Any] | device | str | Mapping[str, str] | None


class FileFormatError(NbautogradError, RuntimeError):
    """A file is damaged, or not of the format that it is read as."""


FileFormatError.__module__ = "nbautograd.serialization"  # its public name


@contextlib.contextmanager
def open_to_write(f: Any) -> Iterator[Any]:
    """A file to write to, which replaces the one at a path atomically when it is complete."""
    if not isinstance(f, (str, os.PathLike)):
        if not hasattr(f, "write"):
            raise TypeError(f"expected a path or an object with a method 'write', got {type(f).__name__}")
        yield f
        return
    with replacing(f) as file:
        yield file


@contextlib.contextmanager
def open_to_read(f: Any) -> Iterator[BinaryIO]:
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


def brief(error: Exception) -> str:
    """The beginning of an error message, which might quote the whole file."""
    return f"{error!s:.200}"


def to_location(t: Tensor, saved: str, target: MapLocation) -> Tensor:
    """A tensor loaded on the CPU, moved as ``map_location`` says."""
    if callable(target) and not isinstance(target, device):
        result = target(t, saved)
        if result is not None:
            return result if isinstance(result, Tensor) else to_location(t, saved, getattr(result, "device", result))
        target = None
    if isinstance(target, Mapping):
        target = target.get(saved)
    place = device_by_name(saved) if target is None else as_device(target)
    if place.type == "cpu":
        return t
    try:
        return wrap(backend.module(place).asarray(t._a))
    except CudaUnavailableError as error:
        raise RuntimeError(
            f"Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False: a tensor was "
            f"saved on or is wanted on {place}. Use load(..., map_location='cpu'). ({error})"
        ) from error


def device_by_name(name: str) -> device:
    """The device of a name in a file.

    :raises ValueError: there is none.
    """
    try:
        return device(name)
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def dtype_by_name(name: str) -> dtypes.dtype:
    """The dtype of a name in a file.

    :raises ValueError: there is none.
    """
    return dtypes._by_name(name)
