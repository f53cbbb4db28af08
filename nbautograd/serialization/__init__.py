"""``save`` and ``load``: objects in PyTorch's files, which PyTorch reads too, and of which nothing is executed.

A path that ends in ``.safetensors`` gives a file of that format instead, which Hugging Face's library reads and writes.
"""

from __future__ import annotations

import os
import pickle
from typing import TYPE_CHECKING, Any, BinaryIO

from nbautograd._names import lazy
from nbautograd.serialization.files import (
    FileFormatError as FileFormatError,
    MapLocation,
    Path,
    ProgramError,
    is_safetensors_path,
    open_to_write,
)
from nbautograd.serialization.writing import folder_of, write_archive, write_stream

if TYPE_CHECKING:
    from nbautograd.serialization.allowed_globals import (
        add_safe_globals as add_safe_globals,
        clear_safe_globals as clear_safe_globals,
        get_safe_globals as get_safe_globals,
        safe_globals as safe_globals,
    )
    from nbautograd.serialization.safetensors import (
        load_safetensors as load_safetensors,
        save_safetensors as save_safetensors,
    )

__all__ = [
    "FileFormatError",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "load_safetensors",
    "safe_globals",
    "save",
    "save_safetensors",
]

DEFAULT_PROTOCOL = 2
MAP_LOCATION = MapLocation
"""The type of ``map_location``, by the name under which other libraries import it."""


def save(
    obj: Any,
    f: Path | BinaryIO,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write an object to a file, from where :func:`load` brings it back, and PyTorch's ``torch.load`` too.

    The file is PyTorch's: a zip archive of a pickle and of the memory of the tensors. Memory that tensors share is
    written once, as a whole, and shared again afterwards; their dtype, shape, strides and ``requires_grad`` are kept.
    Classes of this library are written by PyTorch's names, so that PyTorch reads not only tensors in plain containers
    (a ``state_dict``) but whole modules, too.

    A path is written all or nothing: a temporary file next to it takes its place at the end.

    :param obj: a tensor, a module, or whatever else can be pickled.
    :param f: a path, or an object with a method ``write``.
    :param pickle_module: ``pickle``, and no other.
    :param pickle_protocol: the version of the pickle; PyTorch reads tensors without reservation (``weights_only=True``)
        of version 2 only.
    :raises pickle.PicklingError: the object holds something that cannot be pickled.
    :raises ValueError: another module is to pickle it.

    >>> import nbautograd as torch, io
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2), "steps": 3}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'weight': tensor([1., 1.]), 'steps': 3}
    """
    _check_pickle_module("save", pickle_module)
    if isinstance(f, (str, os.PathLike)) and is_safetensors_path(f):
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
    """Read what :func:`save` or PyTorch's ``torch.save`` wrote, also of PyTorch's versions before 1.6.

    Nothing that the file says is executed as Python's pickle would. With ``weights_only=True``, which is the default,
    these are read: tensors, parameters and storages, numbers, strings, bytes, NumPy's arrays of numbers, dtypes,
    devices, sizes, and dicts, lists, tuples and sets of them; and objects of the classes that
    :func:`nbautograd.serialization.add_safe_globals` allows.

    With ``weights_only=False`` objects of other classes are read too, such as whole modules. A class is looked up among
    those that the program has imported, or PyTorch's class of the same name is found in this library; nothing is
    imported. The object gets its attributes from the file without a call of its class. Functions are read only if they
    are operations of this library, and are not called. An object that would need more is refused.

    :param f: a path, or an object with a method ``read``.
    :param map_location: where the memory of tensors is to live: a device; a dict from saved to new devices; or a
        function of the storage, still on the CPU, and the name of its saved device, that returns the storage where it
        is to live or None. By default each goes to where it was.
    :param pickle_module: ``pickle``, and no other, with ``weights_only=False``.
    :param mmap: map the file into memory, so that the values of a tensor are read when they are looked at. What is
        written to the tensors is not written to the file.
    :param pickle_load_args: ``encoding``, of the strings of Python 2.
    :raises FileFormatError: (a RuntimeError) the file is damaged, or was written by something else; and, as
        ``pickle.UnpicklingError`` too, it holds what is not allowed.
    :raises FileNotFoundError: there is no such file.
    :raises EOFError: it is empty.
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
    from nbautograd.serialization.reading import read  # which the many programs that only save do without

    try:
        return read(f, map_location, bool(mmap), options)
    except ProgramError as error:
        raise error.error from error.error.__cause__


def _check_pickle_module(function: str, module: Any) -> None:
    if module not in (None, pickle):
        raise ValueError(
            f"{function}(): pickle_module must be pickle: nbautograd writes and reads its files itself, and "
            f"knows nothing of {getattr(module, '__name__', module)!s:.80}"
        )


LATE = {
    **dict.fromkeys(("add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"), "allowed_globals"),
    **dict.fromkeys(("load_safetensors", "save_safetensors"), "safetensors"),
}
"""The functions that are found in a module below when they are asked for."""
__getattr__, __dir__ = lazy.attributes(__name__, LATE)
