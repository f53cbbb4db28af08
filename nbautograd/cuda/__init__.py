"""``torch.cuda``: the devices, their memory, streams and events, and the reason if CUDA is not available.

As in PyTorch, queries and cleanup (``is_available``, ``device_count``, ``memory_allocated``, ``empty_cache``,
``manual_seed``, ...) also work on a machine without CUDA; all other functions raise an error that says what is missing.
"""

# ruff: noqa: F403

from __future__ import annotations

from importlib import import_module
from typing import Any

from nbautograd._names import absent
from nbautograd._names.docstrings import add_example, fill, import_in_examples, packages
from nbautograd.cuda import devices, memory, random, streams
from nbautograd.cuda.devices import *
from nbautograd.cuda.memory import *
from nbautograd.cuda.random import *
from nbautograd.cuda.streams import *
from nbautograd.errors import OutOfMemoryError

__all__ = ["OutOfMemoryError", *devices.__all__, *memory.__all__, *random.__all__, *streams.__all__]

for name, statement in packages.CUDA_EXAMPLES.items():
    add_example(globals()[name], f">>> if torch.cuda.is_available():\n...     {statement}")
import_in_examples(globals()[name] for name in __all__)
for name, family in packages.CUDA.items():
    if __doc__ is not None:  # not with python -OO
        globals()[name].__doc__ = fill(globals()[name].__doc__, family[0], *family)
del name, family, statement, add_example, import_in_examples


def __getattr__(name: str) -> Any:
    if name == "_initialized":
        return devices.is_initialized()
    if name == "amp":  # it imports this package
        return import_module("nbautograd.cuda.amp")
    return absent.fail("cuda", name)
