"""Constant folding: syntax trees in which is decided what constants decide."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from nbautograd._engine.compiler.source import evaluated, parsed, rewritten


def folded(tree: Any, is_array: Callable[[str], bool] = lambda name: False) -> Any:
    """Return an expression in which is decided what constants decide.

    :param is_array: tells of which names it is known that they are not None.

    >>> ast.unparse(folded(parsed("(x if 'sum' == 'mean' else y.T.T)[(2, 1)[1] + 1]")))
    'y[2]'
    """
    return rewritten(tree, lambda part: decided(part, is_array))


def decided(part: Any, is_array: Callable[[str], bool]) -> Any:
    """Return what constants make of a part of an expression whose own parts are decided already; the part, if nothing.

    :param is_array: tells of which names it is known that they are not None.
    """
    match part:
        case ast.IfExp(test, body, orelse):
            holds = _holds(test)
            return part if holds is None else body if holds else orelse
        case ast.Subscript(ast.List(parts) | ast.Tuple(parts), ast.Constant(int(index))):
            return parts[index] if -len(parts) <= index < len(parts) else part
        case ast.Compare(ast.Constant(value), [ast.Is() | ast.IsNot() as operator], [ast.Constant(None)]):
            return ast.Constant((value is None) == isinstance(operator, ast.Is))
        case ast.Compare(ast.Name(name), [ast.Is() | ast.IsNot() as operator], [ast.Constant(None)]):
            return ast.Constant(isinstance(operator, ast.IsNot)) if is_array(name) else part
        case ast.Attribute(ast.Attribute(twice, "T"), "T"):
            return twice
        case ast.BinOp(ast.Constant(left), ast.Add() | ast.Sub() | ast.Mult(), ast.Constant(right)):
            if type(left) is int and type(right) is int:
                return parsed(repr(_value(part)))
    return part


_CONSTANT_PARTS = (
    ast.Constant, ast.Tuple, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context, ast.BinOp, ast.Compare,
    ast.BoolOp, ast.boolop, ast.cmpop,
)  # fmt: skip


def is_constant(tree: ast.expr) -> bool:
    """Return whether an expression consists of constants only."""
    return all(isinstance(part, _CONSTANT_PARTS) for part in ast.walk(tree))


def _holds(test: ast.expr) -> bool | None:
    """Return whether a condition of constants holds; None if it depends on variables."""
    if not is_constant(test):
        return None
    try:
        return bool(_value(test))
    except Exception:  # a comparison of unlike constants in a branch that another condition excludes
        return None


def _value(tree: ast.expr) -> Any:
    return evaluated(ast.unparse(tree), {"__builtins__": {}}, {})
