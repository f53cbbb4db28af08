"""Where things were before the modules were sorted into packages, for pickles that were written then.

A pickle names a function or a class by its module. What is pickled today is named by the package alone (see
``nbautograd/__init__.py``), so nothing need be added here when a module is moved again.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["FORMER"]

PACKAGE = __name__.partition(".")[0]
FORMER = dict(
    line.split()
    for line in """
    tensor core.tensor
    returns core.return_types
    generator rng.generator
    dtypes arrays.dtypes
    device arrays.device
    layouts arrays.memory_format
    size arrays.size
    optim.descent optim.sgd_family
    optim.cycles optim.cyclic_schedules
    optim.composed optim.composite_schedules
""".strip().splitlines()
)
"""The present module by the former one, below the package."""


class _Former(ModuleType):
    """Has what the present module has. Stands in ``sys.modules`` only: an import would hide ``nbautograd.tensor``."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # who looks through all modules must not load this one
            raise AttributeError(name)
        return getattr(import_module(f"{PACKAGE}.{FORMER[self.__name__.partition('.')[2]]}"), name)


for _name in FORMER:
    sys.modules.setdefault(f"{PACKAGE}.{_name}", _Former(f"{PACKAGE}.{_name}"))
