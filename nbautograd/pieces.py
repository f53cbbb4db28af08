"""Large arrays, piece by piece: what several steps make in between stays in the processor's cache.

An expression such as ``1 / (1 + exp(-x))`` makes an array per step. Of ten million elements each is written to memory
and read back; of a piece it never leaves the cache. What is evaluated so is found by looking at the expression: it must
be elementwise, with more than one step.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container
from typing import Any

import numpy as np

__all__ = ["LARGE", "PIECE", "in_pieces", "several_steps"]

LARGE = 1 << 17
"""From so many elements on it pays."""
PIECE = 1 << 15
"""So many elements at a time."""


def several_steps(tree: ast.expr, elementwise: Container[str]) -> bool:
    """Whether an expression is nothing but elementwise steps, and more than one of them.

    :param elementwise: the functions that are.

    >>> [several_steps(ast.parse(text, mode="eval").body, {"exp"}) for text in ("g * exp(x)", "g * x", "g * x.sum()")]
    [True, False, False]
    """
    steps = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            ufunc = name.startswith("np.") and isinstance(getattr(np, name[3:], None), np.ufunc)
            if node.keywords or not (ufunc or name in elementwise):
                return False
            steps += 1
        elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            steps += 1
        elif isinstance(node, ast.Attribute):
            if not (isinstance(node.value, ast.Name) and node.value.id == "np"):
                return False
        elif not isinstance(node, (ast.Name, ast.Constant, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop)):
            return False
    return steps > 1


def in_pieces(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    """``function(first, *others)``, an elementwise one whose result has the shape of ``first``, piece by piece.

    Arrays of that shape are cut as one long row each; if some are broadcast to it, all are cut between rows. What
    cannot be cut is computed whole.
    """
    values = (first, *others)
    shape, step = (first.size,), PIECE
    parts = [_as_row(value, first.shape) for value in values]
    if any(part is None for part in parts):
        shape, step = first.shape, PIECE * len(first) // first.size
        parts = [_in_rows(value, shape) for value in values]
    cut = [part.__class__ is np.ndarray and part.ndim > 0 and len(part) > 1 for part in parts]
    if not step or not any(cut) or any(part is None for part in parts):
        return function(*values)
    result = None
    for start in range(0, shape[0], step):
        piece = slice(start, start + step)
        computed = function(*(part[piece] if is_cut else part for part, is_cut in zip(parts, cut, strict=True)))
        if result is None:
            result = np.empty(shape, computed.dtype)
        result[piece] = computed
    assert result is not None
    return result.reshape(first.shape)


def _as_row(value: Any, shape: tuple[int, ...]) -> Any:
    """An array as one row, or as one number if all its elements are that; None if it is neither."""
    if value.__class__ is not np.ndarray or not value.ndim:
        return value
    if value.shape != shape:
        return None
    if value.flags.c_contiguous:
        return value.reshape(-1)
    return None if any(value.strides) else value[(0,) * value.ndim]


def _in_rows(value: Any, shape: tuple[int, ...]) -> Any:
    """An array with as many axes as ``shape``, to which it is broadcast; None if it is not."""
    if value.__class__ is not np.ndarray or not value.ndim:
        return value
    if value.ndim > len(shape):
        return None
    value = value.reshape((1,) * (len(shape) - value.ndim) + value.shape)
    return value if all(n in (1, m) for n, m in zip(value.shape, shape, strict=True)) else None
