"""How objects of a class stand in PyTorch's files, where that is not how they are here.

A wing that has such classes registers their form when it is loaded, so that files need not know the wing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Form", "form_of", "register"]


class Form(NamedTuple):
    """Two functions of an object and its attributes that return a dict of attributes."""

    to_pytorch: Callable[[Any, dict[str, Any]], dict[str, Any]]
    from_pytorch: Callable[[Any, dict[str, Any]], dict[str, Any]]


_forms: dict[type, Form] = {}


def register(cls: type, form: Form) -> None:
    """Set the form of a class and of all that are derived from it."""
    _forms[cls] = form


def form_of(cls: type) -> Form | None:
    """Return the form of a class, or None where objects are written as they are."""
    return next((_forms[base] for base in cls.__mro__ if base in _forms), None)
