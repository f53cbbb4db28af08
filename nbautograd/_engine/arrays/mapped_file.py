"""Files as memory: an array whose bytes are those of a file."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np


class _MappedFile(mmap.mmap):
    """A file in memory, which knows its path."""

    path: str
    shared: bool


def mapped_file(array: Any) -> _MappedFile | None:
    """Return the file that an array, which owns its memory, maps; None if it maps none."""
    memory = getattr(array, "base", None)
    memory = memory.obj if isinstance(memory, memoryview) else memory
    return memory if isinstance(memory, _MappedFile) else None


def map_file(path: str | os.PathLike[str], shared: bool = False, nbytes: int = 0) -> np.ndarray[Any, Any]:
    """Return the first bytes of a file as an array, which are read on access.

    :param shared: if True, writes to the array also go to the file, which is created and extended as needed. Otherwise
        the file must exist and be long enough, and is not changed.
    :raises RuntimeError: the file cannot be opened, or is too short.
    """
    name = os.fspath(path)
    flags = (os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(name, flags, 0o600)
    except OSError as error:
        mode = "read-write" if shared else "read-only"
        raise RuntimeError(f"unable to open file <{name}> in {mode} mode: {error.strerror} ({error.errno})") from None
    try:
        size = os.fstat(descriptor).st_size
        if size < nbytes and not shared:
            raise RuntimeError(f"file <{name}> size <{size}> is smaller than the required mapping size <{nbytes}>")
        if size < nbytes:
            os.truncate(descriptor, nbytes)
        if nbytes <= 0:  # which no system can map
            return np.empty(0, np.uint8)
        memory = _MappedFile(descriptor, nbytes, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
    finally:
        os.close(descriptor)
    memory.path, memory.shared = name, shared
    return np.ndarray(nbytes, np.uint8, memory)
