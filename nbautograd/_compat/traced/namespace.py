"""The names of compiled code: constants and functions get names of their own, and lines run as they are written."""

from __future__ import annotations

import ast
import builtins
import math
from typing import Any

import numpy as np

from nbautograd._compat.traced.runtime import NAMES, WANTED
from nbautograd._engine.compiler.source import evaluated, executed

__all__ = ["Namespace"]


class Namespace:
    """What names mean in the code of one traced function.

    :ivar globals: what the compiled functions have as their globals.
    :ivar values: what variables are in the call that compiles.
    """

    wanted = WANTED

    def __init__(self) -> None:
        self.globals: dict[str, Any] = dict(NAMES)
        self.values: dict[str, Any] = dict(NAMES)
        self._names: dict[int, str] = {id(value): name for name, value in NAMES.items()}

    def constant(self, value: Any, name: str = "") -> str:
        """The name of an object."""
        known = self._names.get(id(value))
        if known is not None:
            return known
        if not name:
            kind = "array" if isinstance(value, np.ndarray) and value.ndim else ""
            kind = "number" if isinstance(value, (np.ndarray, np.generic)) and not kind else kind
            kind = kind or (value.name if isinstance(value, np.dtype) else "")
            name = kind or getattr(value, "__name__", "") or type(value).__name__
        name = "".join(c if c.isalnum() else "_" for c in name).strip("_").lower() or "constant"
        own, number = f"{name}_", 0
        while own in self.globals or hasattr(builtins, own):
            number += 1
            own = f"{name}_{number}"
        self.globals[own] = self.values[own] = value
        self._names[id(value)] = own
        return own

    def literal(self, value: Any) -> str:
        """An option as it is written; as a name where it has no such form."""
        if value is None or value.__class__ in (bool, int, str) or value.__class__ is float and math.isfinite(value):
            return repr(value)
        if value.__class__ is tuple and all(part.__class__ in (bool, int, str) for part in value):
            return repr(value)
        return self.constant(value)

    def resolved(self, tree: Any, scope: dict[str, Any], variables: dict[str, str]) -> Any:
        """An expression of another module with names of this one.

        :param scope: what its names mean.
        :param variables: what its variables are called here.
        """
        return _Resolve(self, scope, variables).visit(tree)

    def run(self, source: str) -> None:
        """Run lines with the values of the call that compiles."""
        executed(source, self.values)

    def evaluated(self, text: str) -> Any:
        """What an expression is in the call that compiles."""
        return evaluated(text, self.values, {})


class _Resolve(ast.NodeTransformer):
    def __init__(self, space: Namespace, scope: dict[str, Any], variables: dict[str, str]) -> None:
        self.space, self.scope, self.variables = space, scope, variables

    def visit_Name(self, node: ast.Name) -> ast.AST:
        name = node.id
        if name in self.variables:
            return ast.parse(self.variables[name], mode="eval").body
        if name in ("np", "temporary") or isinstance(getattr(node, "ctx", None), ast.Store):
            return node
        if name in self.scope:
            return ast.Name(self.space.constant(self.scope[name], name), ast.Load())
        return node
