"""PyTorch's names for classes and functions of this package in files, and the reverse mapping."""

from __future__ import annotations

import sys
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from nbautograd._names import namespaces, refused

__all__ = ["named_by_pytorch", "pytorch_name"]

PACKAGE = __name__.partition(".")[0]
FUNCTIONS_IN = ("nn.functional", "")
"""The namespaces in which PyTorch's functions are looked up; "" is ``torch`` itself."""


@cache
def _listed() -> dict[str, list[str]]:
    """Return the modules in which the table of PyTorch's modules lists a name."""
    places: dict[str, list[str]] = {}
    for path, names in namespaces.MODULES.items():
        for name in names.split():
            places.setdefault(name, []).append(path)
    return places


def pytorch_name(value: Any) -> tuple[str, str] | None:
    """Return PyTorch's module and name for a class or function of this package; None for others.

    >>> import nbautograd as torch
    >>> pytorch_name(torch.nn.Flatten), pytorch_name(torch.nn.functional.relu)
    (('torch.nn.modules.flatten', 'Flatten'), ('torch.nn.functional', 'relu'))
    """
    home = getattr(value, "__module__", None)
    home = str(getattr(home, "ours", home))
    name = getattr(value, "__name__", "")
    if home.partition(".")[0] != PACKAGE or not isinstance(value, (type, FunctionType)):
        return None
    own = home.partition(".")[2]
    for path in (*_listed().get(name, ()), *([own] if own in namespaces.MODULES else []), *FUNCTIONS_IN):
        if getattr(namespaces.module(path), name, None) is value:
            return f"torch.{path}".rstrip("."), name
    return home, value.__qualname__


def named_by_pytorch(module: str, name: str) -> Any:
    """Return our class or function with a name from PyTorch or from our own files; None if it does not exist."""
    package, _, path = module.partition(".")
    if package not in ("torch", PACKAGE) or "__" in name or refused.refuses(path, name):
        return None
    if path in namespaces.MODULES or not path:
        value = getattr(namespaces.module(path), name, None)
    else:
        value = getattr(sys.modules.get(f"{PACKAGE}.{path}"), name, None)
    return None if isinstance(value, ModuleType) else value
