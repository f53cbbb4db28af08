"""Atomic writing and complete reading of files, and the error for damaged ones."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.device import device
from nbautograd._engine.base.atomic_file import replacing
from nbautograd._engine.core.storage import TypedStorage, UntypedStorage
from nbautograd.errors import CudaUnavailableError, DeviceError, NbautogradError

__all__ = [
    "LENGTH", "LOCAL_HEADER_BYTES", "MAGIC_NUMBER", "PROTOCOL_VERSION", "FileFormatError", "MapLocation", "Path",
    "ProgramError", "UnsafeFileError", "call_program", "device_by_name", "hashable", "open_to_read", "open_to_write",
    "to_location",
]  # fmt: skip

LOCAL_HEADER_BYTES = 30
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
LENGTH = struct.Struct("<q")
"""The stream format of before 1.6: its beginning, and the encoding of the length of a piece of memory."""
Path = str | os.PathLike[str]
MapLocation = Callable[[UntypedStorage, str], Any] | device | str | Mapping[str, str] | None


class FileFormatError(NbautogradError, RuntimeError):
    """An error for a file that is damaged, or has another format.

    :param args: the message.
    :param kwargs: none are accepted.
    :returns: the exception, a RuntimeError.
    :raises TypeError: keyword arguments are given.

    >>> import nbautograd as torch, io
    >>> try:
    ...     torch.serialization.load_safetensors(io.BytesIO(b"no tensors"))
    ... except torch.serialization.FileFormatError:
    ...     print("damaged")
    damaged
    """


FileFormatError.__module__ = "nbautograd.serialization"  # its public name


class UnsafeFileError(FileFormatError, pickle.UnpicklingError):
    """An error for a file that names a function or class that is not allowed, or is not supported."""


class ProgramError(Exception):
    """A wrapper that passes an exception of the program's own code through the handlers for damaged files."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def call_program(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of the program: a function for ``map_location``, a class that files may call.

    :raises ProgramError: the function raised.
    """
    try:
        return function(*args, **kwargs)
    except Exception as error:
        raise ProgramError(error) from error


@contextlib.contextmanager
def open_to_write(f: Any) -> Iterator[Any]:
    """Yield a file to write to, which atomically replaces the one at a path when it is complete."""
    if not isinstance(f, (str, os.PathLike)):
        if not hasattr(f, "write"):
            raise TypeError(f"expected a path or an object with a method 'write', got {type(f).__name__}")
        yield f
        return
    with replacing(f) as file:
        yield file


@contextlib.contextmanager
def open_to_read(f: Any) -> Iterator[BinaryIO]:
    """Yield a seekable file, from the current position of a file object on."""
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


def to_location(memory: Any, saved: str, target: MapLocation) -> Any:
    """Return a piece of memory on the CPU, an array of bytes, moved to the device of ``map_location``.

    :param saved: the name of its saved device.
    :raises RuntimeError: the device does not exist.
    """
    if callable(target) and not isinstance(target, device):
        storage = call_program(target, UntypedStorage(memory), saved)
        if isinstance(storage, (UntypedStorage, TypedStorage)):
            return storage.array(memory.dtype)
        if storage is not None:
            kind = type(storage).__name__
            raise ProgramError(
                TypeError(f"load(): map_location(storage, location) must return a storage or None, not {kind}")
            )
        target = None
    if isinstance(target, Mapping):
        target = target.get(saved, saved)
    if isinstance(target, bytes):  # PyTorch also accepts it
        target = target.decode("ascii")
    place = device_by_name(saved if target is None else str(target)) if not isinstance(target, int) else device(target)
    if place.type == "cpu":
        return memory
    try:
        return backend.module(place).asarray(memory)
    except CudaUnavailableError as error:
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            f"storages to the CPU. ({error})"
        ) from error
    except DeviceError as error:
        raise RuntimeError(
            f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {place}): {error}; "
            "say map_location='cpu'"
        ) from error


def device_by_name(name: str) -> device:
    """Return the device with a name from a file.

    :raises ValueError: no such device exists.
    """
    try:
        return device(name)
    except RuntimeError as error:
        raise ValueError(str(error)) from None


MAX_KEY_VALUES = 1000
"""Hashing tuples that contain each other twice over would never finish."""


def hashable(value: Any) -> Any:
    """Return the value itself, if it is small enough to be a key or an element of a set."""
    waiting, count = [value], 0
    while waiting:
        item = waiting.pop()
        count += 1
        if count > MAX_KEY_VALUES:
            raise ValueError(f"a key consists of more than {MAX_KEY_VALUES} values")
        if isinstance(item, tuple):
            waiting += item
    return value
