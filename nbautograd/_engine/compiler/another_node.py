"""An operation once more, with another node."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.compiler.op import op

__all__ = ["under_node"]


def under_node(function: Any, node: str, name: str) -> Any:
    """Declare an operation once more, with another node: PyTorch names its nodes by the function that is called."""
    declaration = function.__globals__["OP"]
    options = declaration.options | {"node": node, "name": name}
    return op(method=False, inplace_method=False, **options, **declaration.formulas)(declaration.body)
