"""The expression layer: read, rewrite, substitute and inline syntax trees; ``folding.py`` folds constants.

The compiler, the programs of ``%code`` (``viz/program``) and ``torch.jit.trace`` (``_compat/traced``) write code by it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from typing import Any

from nbautograd._engine.compiler.source import copied, rewritten

__all__ = ["binds_names", "computes_twice", "specialized", "substituted", "without_conj"]


def substituted(tree: Any, trees: Mapping[Any, ast.expr]) -> Any:
    """Return a tree with expressions, each time a copy, in the place of names.

    :param trees: the expressions, by name; or of certain parts, by their ``id``.

    >>> ast.unparse(substituted(ast.parse("a * b + a", mode="eval"), {"a": ast.Name("x")}))
    'x * b + x'
    """

    def change(part: Any) -> Any:
        found = trees.get(part.id) if part.__class__ is ast.Name else None
        found = trees.get(id(part)) if found is None else found
        if found is None:
            return part
        value: Any = copied(found)
        if "ctx" in value._fields:  # what is assigned to stays so
            value.ctx = getattr(part, "ctx", ast.Load())
        return value

    return rewritten(tree, change)


def specialized(tree: Any, names: Mapping[str, Any], constants: Mapping[str, Any] | None = None) -> Any:
    """Return an expression with other names, expressions or constants in the place of names, and folded.

    >>> ast.unparse(specialized(ast.parse("a if alpha == 1 else b", mode="eval").body, {"a": "x"}, {"alpha": 1}))
    'x'
    """
    from nbautograd._engine.compiler.folding import folded  # loaded when the first operation is compiled

    trees = {old: ast.Name(new) if isinstance(new, str) else new for old, new in names.items()}
    trees |= {name: ast.Constant(value) for name, value in (constants or {}).items()}
    return folded(substituted(tree, trees))


def without_conj(tree: Any) -> Any:
    """Return a formula for real values.

    >>> ast.unparse(without_conj(ast.parse("g * conj(other)", mode="eval").body))
    'g * other'
    """

    def change(part: Any) -> Any:
        match part:
            case ast.Call(ast.Name("conj"), [value]):
                return value
        return part

    return rewritten(tree, change)


def binds_names(tree: ast.AST) -> bool:
    """Return whether an expression binds names itself, which could capture the names in an argument."""
    return any(isinstance(part, (ast.comprehension, ast.Lambda, ast.NamedExpr)) for part in ast.walk(tree))


def computes_twice(tree: ast.AST, arguments: Mapping[str, ast.expr]) -> bool:
    """Return whether an expression with arguments in the place of parameters would compute one of them twice."""
    used = Counter(part.id for part in ast.walk(tree) if isinstance(part, ast.Name))
    return any(used[name] > 1 and not _is_simple(part) for name, part in arguments.items())


def _is_simple(tree: ast.expr) -> bool:
    """Return whether an expression costs nothing: ``x``, ``2``, ``x.shape``."""
    if isinstance(tree, ast.Attribute):
        return isinstance(tree.value, ast.Name)
    return isinstance(tree, (ast.Name, ast.Constant))
