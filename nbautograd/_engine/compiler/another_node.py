"""An operation once more, with another node."""

from __future__ import annotations

from functools import cache
from typing import Any

from nbautograd._engine.compiler.op import op

__all__ = ["as_in_place", "under_node"]


def under_node(function: Any, node: str, name: str) -> Any:
    """Declare an operation once more, with another node: PyTorch names its nodes by the function that is called."""
    declaration = function.__globals__["OP"]
    options = declaration.options | {"node": node, "name": name}
    return op(method=False, inplace_method=False, **options, **declaration.formulas)(declaration.body)


def as_in_place(node: Any) -> Any:
    """Give the node of a new view the name that PyTorch gives it in place, such as ``TBackward1`` for ``t_``."""
    node.__class__ = _in_place(node.__class__)
    return node


@cache
def _in_place(cls: type) -> type:
    name, number = cls.__name__[:-1], int(cls.__name__[-1])
    number += 3 if name == "SqueezeBackward" else 1
    return type(f"{name}{number}", (cls,), {"__slots__": (), "__module__": cls.__module__})
