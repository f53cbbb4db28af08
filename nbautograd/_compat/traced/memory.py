"""The last pass over compiled lines: it removes unused lines, and reuses memory.

A step writes its result into an operand without further uses, if the operand has the same shape, dtype and strides.
The arrays of the compiling call show which variables share memory.
"""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from typing import Any

import numpy as np

from nbautograd._engine.arrays import version_counter
from nbautograd._engine.compiler.elementwise import UFUNCS
from nbautograd._engine.compiler.source import rewritten

MIN_REUSED_BYTES = 1024
"""Smaller arrays are not reused: a new one is as fast."""


def reusing(lines: list[str], space: Any, kept: set[str], foreign: set[str]) -> list[str]:
    """Return the lines, with ``out=`` where that is possible.

    :param kept: variables with later uses.
    :param foreign: variables with memory from outside.
    """
    statements = _without_unused([ast.parse(line).body for line in lines], kept)
    reads = list(map(_names, statements))
    written = Counter(itertools.chain(*map(_assigned_names, statements)))
    once = {name for name, times in written.items() if times == 1}
    owners = {name: _owner(space.values.get(name)) for name in kept.union(foreign, written, *reads)}
    bound = {owners[name] for name in (*kept, *foreign)} | _bound(owners, statements, space)
    alive = {owners[name]: index for index, names in enumerate(reads) for name in names}  # to the last read
    result = []
    for index, statement in enumerate(statements):
        free = {n for n in reads[index] & once if owners[n] not in bound and alive[owners[n]] == index}
        result += _lines(statement, free, space)
    return result


def _lines(statement: list[ast.stmt], free: set[str], space: Any) -> list[str]:
    """Return a statement's lines, with results in the memory of the variables ``free``."""
    for part in statement:
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
            part.value = _into(part.value, part.targets[0].id, free, space)
    return "\n".join(ast.unparse(_with_own_names(part, space)) for part in statement).splitlines()


def _owner(array: Any) -> int:
    return id(version_counter.owner(array)) if isinstance(array, np.ndarray) else 0


def _into(value: ast.expr, target: str, free: set[str], space: Any) -> ast.expr:
    """Return a ufunc call with an unused operand as ``out``."""
    array = space.values.get(target)
    if not isinstance(array, np.ndarray) or not array.ndim or array.nbytes < MIN_REUSED_BYTES:
        return value
    name, operands = _ufunc(value)
    for operand in operands:
        if isinstance(operand, ast.Name) and operand.id in free:
            held = space.values[operand.id]
            if (held.shape, held.dtype, held.strides) == (array.shape, array.dtype, array.strides):
                function = ast.Attribute(ast.Name("np"), name)
                if name in ("maximum", "minimum"):  # other functions are faster without the keyword
                    return ast.Call(function, operands, [ast.keyword("out", operand)])
                return ast.Call(function, [*operands, operand], [])
    return value


def _ufunc(value: ast.expr) -> tuple[str, list[ast.expr]]:
    """Return a ufunc call's name and operands; none for another expression."""
    match value:
        case ast.BinOp(left, operator, right) if type(operator) in UFUNCS:
            return UFUNCS[type(operator)], [left, right]
        case ast.Call(ast.Attribute(ast.Name("np"), name), operands, []):
            if isinstance(ufunc := getattr(np, name), np.ufunc) and ufunc.nin == len(operands):
                return name, operands
    return "", []


def _without_unused(statements: list[list[ast.stmt]], kept: set[str]) -> list[list[ast.stmt]]:
    """Remove assignments of views and other names that are never read."""
    needed, result = set(kept), []
    for statement in reversed(statements):
        match statement:
            case [ast.Assign([ast.Name(name)], value)] if name not in needed and _has_no_effect(value):
                continue
        needed |= _names(statement)
        result.append(statement)
    return result[::-1]


def _has_no_effect(value: ast.expr) -> bool:
    match value:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(inner, "T"):
            return _has_no_effect(inner)
    return False


def _is_plain(statement: list[ast.stmt]) -> bool:
    """Return whether the functions that a statement calls do not keep their operands."""
    for part in statement:
        if not isinstance(part, (ast.Assign, ast.AugAssign, ast.Expr, ast.If)):
            return False
        if isinstance(part, ast.Assign) and not isinstance(part.targets[0], (ast.Name, ast.Subscript)):
            return False
        for call in ast.walk(part):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("call", "fill"):
                return False
    return True


def _assigned_names(statement: list[ast.stmt]) -> list[str]:
    nodes = [node for part in statement if not isinstance(part, ast.AugAssign) for node in ast.walk(part)]
    return [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _bound(owners: dict[str, int], statements: list[list[ast.stmt]], space: Any) -> set[int]:
    """Return the memory that nothing may be written to: constants, and all that other statements read."""
    constants = {_owner(value) for value in space.globals.values() if isinstance(value, np.ndarray)}
    return constants | {owners[name] for s in statements if not _is_plain(s) for name in _names(s)}


def _names(statement: list[ast.stmt]) -> set[str]:
    """Return the names that a statement reads."""
    names = {
        n.id for part in statement for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }
    return names | {
        part.target.id for part in statement if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name)
    }


def _with_own_names(statement: ast.stmt, space: Any) -> ast.stmt:
    """Return a statement in which NumPy's functions have their own names, for fast lookup."""

    def change(part: Any) -> Any:
        text = ast.unparse(part) if isinstance(part, ast.Attribute) else ""
        if text.startswith("np.") and text.replace(".", "").replace("_", "").isalnum():
            return ast.Name(space.constant(space.evaluated(text), text.replace(".", "_")), ast.Load())
        return part

    return rewritten(statement, change, outside_in=True)  # type: ignore[no-any-return]
