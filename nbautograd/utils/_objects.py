"""Swapping two tensors, and setting the module of an object."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.core.swapping import swap_tensors

__all__ = ["set_module", "swap_tensors"]


def set_module(obj: Any, mod: str) -> None:
    """Set the module name of an object.

    :param obj: the object, such as a class or a function.
    :param mod: the name.
    :returns: None.
    :raises TypeError: the name is not a string.

    >>> class Point: ...
    >>> set_module(Point, "geometry")
    >>> Point
    <class 'geometry.Point'>
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
