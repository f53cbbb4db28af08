"""``save`` and ``load``: objects in PyTorch's file format, readable by PyTorch, without executing their content.

A path ending in ``.safetensors`` uses that format instead, which Hugging Face's library reads and writes.
"""

from __future__ import annotations

import os
import pickle
from typing import TYPE_CHECKING, Any, BinaryIO

from nbautograd._names import lazy
from nbautograd.serialization.files import FileFormatError, MapLocation, Path, ProgramError, open_to_write
from nbautograd.serialization.pickler import folder_of, write_archive, write_stream

if TYPE_CHECKING:
    from nbautograd.serialization.allowed_globals import (
        add_safe_globals as add_safe_globals,
        clear_safe_globals as clear_safe_globals,
        get_safe_globals as get_safe_globals,
        safe_globals as safe_globals,
    )
    from nbautograd.serialization.safetensors import load_safetensors, save_safetensors

__all__ = [
    "FileFormatError", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "load_safetensors",
    "safe_globals", "save", "save_safetensors",
]  # fmt: skip

DEFAULT_PROTOCOL = 2
MAP_LOCATION = MapLocation
"""The type of ``map_location``, under the name that other libraries import."""


def save(
    obj: Any,
    f: Path | BinaryIO,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write an object to a file that :func:`load` and PyTorch's ``torch.load`` read.

    The file is PyTorch's: a zip archive of a pickle and of the memory of the tensors. Memory that tensors share is
    written once, as a whole, and is shared again after loading; dtype, shape, strides and ``requires_grad`` are kept.
    Classes of this library are written by PyTorch's names, so that PyTorch reads tensors in plain containers (a
    ``state_dict``), and also whole modules.

    A path is written atomically: a temporary file next to it replaces it at the end.

    :param obj: a tensor, a module, or any other object that can be pickled.
    :param f: a path, or an object with a method ``write``.
    :param pickle_module: must be ``pickle``.
    :param pickle_protocol: the version of the pickle; with ``weights_only=True``, PyTorch reads only version 2.
    :raises pickle.PicklingError: the object holds something that cannot be pickled.
    :raises ValueError: ``pickle_module`` is another module.

    >>> import nbautograd as torch, io
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2), "steps": 3}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'weight': tensor([1., 1.]), 'steps': 3}
    """
    _check_pickle_module("save", pickle_module)
    if isinstance(f, (str, os.PathLike)) and os.fspath(f).endswith(".safetensors"):
        from nbautograd.serialization.safetensors import save_safetensors

        save_safetensors(obj, f)
        return
    with open_to_write(f) as file:
        if _use_new_zipfile_serialization:
            write_archive(obj, file, folder_of(f), pickle_protocol)
        else:
            write_stream(obj, file, pickle_protocol)


def load(
    f: Path | BinaryIO,
    map_location: MapLocation = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read a file of :func:`save` or PyTorch's ``torch.save``, also from PyTorch versions before 1.6.

    Nothing in the file is executed, unlike with Python's pickle. With ``weights_only=True``, the default, these are
    read: tensors, parameters and storages, numbers, strings, bytes, NumPy's arrays of numbers, dtypes, devices, sizes,
    and dicts, lists, tuples and sets of them; and objects of the classes that
    :func:`nbautograd.serialization.add_safe_globals` allows.

    With ``weights_only=False`` objects of other classes are also read, such as whole modules. A class is looked up
    among those that the program has imported, or in this library for PyTorch's classes; nothing is imported. The object
    gets its attributes from the file without a call of its class. Functions are read only if they are operations of
    this library, and are not called. Any other object raises an error.

    :param f: a path, or an object with a method ``read``.
    :param map_location: the device of the tensors' memory: a device; a dict from saved to new devices; or a function of
        the storage, still on the CPU, and the name of its saved device, that returns the storage on its new device, or
        None. By default each returns to its saved device.
    :param pickle_module: must be ``pickle``, with ``weights_only=False``.
    :param mmap: map the file into memory, so that the values of a tensor are read on access. Writes to the tensors do
        not change the file.
    :param pickle_load_args: ``encoding``: that of the strings of Python 2.
    :raises FileFormatError: (a RuntimeError) the file is damaged or has another format; or, also as
        ``pickle.UnpicklingError``, has content that is not allowed.
    :raises FileNotFoundError: the file does not exist.
    :raises EOFError: the file is empty.
    """
    if weights_only is None:
        weights_only = pickle_module is None
    elif weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    _check_pickle_module("load", pickle_module)
    encoding = pickle_load_args.pop("encoding", "utf-8")
    if pickle_load_args:
        raise TypeError(f"load() got an unexpected keyword argument {next(iter(pickle_load_args))!r}")
    options = {"weights_only": bool(weights_only), "encoding": encoding}
    if mmap and not isinstance(f, (str, os.PathLike)):
        raise ValueError("f must be a file path in order to use the mmap argument")
    from nbautograd.serialization.reading import read  # not loaded by programs that only save

    try:
        return read(f, map_location, bool(mmap), options)
    except ProgramError as error:
        raise error.error from error.error.__cause__


def _check_pickle_module(function: str, module: Any) -> None:
    if module not in (None, pickle):
        raise ValueError(
            f"{function}(): pickle_module must be pickle: nbautograd writes and reads its files itself, and "
            f"does not support {getattr(module, '__name__', module)!s:.80}"
        )


LATE = {
    **dict.fromkeys(("add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"), "allowed_globals"),
    **dict.fromkeys(("load_safetensors", "save_safetensors"), "safetensors"),
}
"""Functions of submodules that are imported on first use."""
__getattr__, __dir__ = lazy.attributes(__name__, LATE)
