"""The names of compiled code: constants and functions get their own names, and lines run when they are written."""

from __future__ import annotations

import ast
import builtins
import math
from typing import Any

import numpy as np

from nbautograd._compat.traced.runtime import NAMES, WANTED
from nbautograd._engine.compiler.source import evaluated, executed, parsed, rewritten

__all__ = ["Namespace"]


class Namespace:
    """The values of the names in one traced function's code.

    :ivar globals: the globals of the compiled functions.
    :ivar values: the values of variables in the compiling call.
    """

    wanted = WANTED

    def __init__(self) -> None:
        self.globals: dict[str, Any] = dict(NAMES)
        self.values: dict[str, Any] = dict(NAMES)
        self._names: dict[int, str] = {id(value): name for name, value in NAMES.items()}

    def constant(self, value: Any, name: str = "") -> str:
        """Return the name of an object."""
        known = self._names.get(id(value))
        if known is not None:
            return known
        name = name or _called(value)
        name = "".join(c if c.isalnum() else "_" for c in name).strip("_").lower() or "constant"
        own, number = f"{name}_", 0
        while own in self.globals or hasattr(builtins, own):
            number += 1
            own = f"{name}_{number}"
        self.globals[own] = self.values[own] = value
        self._names[id(value)] = own
        return own

    def literal(self, value: Any) -> str:
        """Return an option as a literal, or as a name if it has no literal form."""
        if value is None or value.__class__ in (bool, int, str) or value.__class__ is float and math.isfinite(value):
            return repr(value)
        if value.__class__ is tuple and all(part.__class__ in (bool, int, str) for part in value):
            return repr(value)
        return self.constant(value)

    def resolved(self, tree: Any, scope: dict[str, Any], variables: dict[str, str]) -> Any:
        """Return an expression of another module in the names of this namespace.

        :param scope: the values of its names.
        :param variables: the names of its variables in this namespace.
        """

        def change(part: Any) -> Any:
            if not isinstance(part, ast.Name):
                return part
            if part.id in variables:
                return parsed(variables[part.id])
            if part.id in ("np", "temporary") or isinstance(getattr(part, "ctx", None), ast.Store):
                return part
            known = part.id in scope
            return ast.Name(self.constant(scope[part.id], part.id), ast.Load()) if known else part

        return rewritten(tree, change)

    def run(self, source: str) -> None:
        """Run lines with the values of the compiling call."""
        executed(source, self.values)

    def evaluated(self, text: str) -> Any:
        """Return the value of an expression in the compiling call."""
        return evaluated(text, self.values, {})


def _called(value: Any) -> str:
    if isinstance(value, (np.ndarray, np.generic)):
        return "array" if value.ndim else "number"
    return (value.name if isinstance(value, np.dtype) else "") or getattr(value, "__name__", "") or type(value).__name__
