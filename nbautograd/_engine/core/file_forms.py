"""Registered file formats of classes whose objects differ from PyTorch's in files.

A wing with such classes registers their format when it is loaded, so that file code need not know the wing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class FileForm(NamedTuple):
    """Two functions of an object and its attributes that return a dict of attributes."""

    to_pytorch: Callable[[Any, dict[str, Any]], dict[str, Any]]
    from_pytorch: Callable[[Any, dict[str, Any]], dict[str, Any]]


_forms: dict[type, FileForm] = {}


def register(cls: type, form: FileForm) -> None:
    """Set the form of a class and its subclasses."""
    _forms[cls] = form


def form_of(cls: type) -> FileForm | None:
    """Return the form of a class, or None if objects are written unchanged."""
    return next((_forms[base] for base in cls.__mro__ if base in _forms), None)
