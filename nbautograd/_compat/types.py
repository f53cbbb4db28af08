"""``torch.types``: types for annotations."""

from __future__ import annotations

import builtins
import os
from typing import IO, Any

from nbautograd._compat.symbolic import SymBool, SymFloat, SymInt
from nbautograd._engine.arrays.device import device
from nbautograd._engine.arrays.dtypes import dtype
from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.storage import TypedStorage, UntypedStorage
from nbautograd._engine.core.tensor import Tensor

__all__ = ["Device", "FileLike", "Number", "Size", "Storage", "Tensor"]

_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex
_str, _bytes = builtins.str, builtins.bytes
_device, _dtype = device, dtype
Number = int | float | bool
_Number = (int, float, bool)
Device = device | str | int | None
FileLike = str | os.PathLike[str] | IO[bytes]
Storage = UntypedStorage | TypedStorage
py_sym_types: tuple[Any, ...] = (SymInt, SymFloat, SymBool)
