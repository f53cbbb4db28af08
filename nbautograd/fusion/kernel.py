"""An elementwise expression as a sequence of NumPy's functions that write where they are told."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from nbautograd.arrays import masking
from nbautograd.compiler.registry import OPS, POINTWISE
from nbautograd.compiler.rewrite import UFUNCS, elementwise, inlined
from nbautograd.compiler.source import compiled

__all__ = ["ElementwiseKernel", "lower_to_ufuncs"]


class ElementwiseKernel(NamedTuple):
    """What is to be computed: as a function of operands, and step by step."""

    eager: Callable[..., Any]
    steps: Callable[..., None] | None
    """``steps(out, scratch, *operands)``: ``scratch`` are arrays for what is in between."""
    scratch: int
    names: list[str]
    cost: int = 0
    """How many passes over memory the steps are worth: functions that take long count for several."""

    @classmethod
    def of(cls, expression: str, names: list[str], scope: dict[str, Any]) -> ElementwiseKernel:
        """The work that an expression of ``names`` is; without steps if it is not elementwise.

        :param scope: what other names mean, as in the function that the expression was written in.

        >>> import numpy as np
        >>> ElementwiseKernel.of("1 / (1 + np.exp(-x))", ["x"], {"np": np}).scratch
        1
        """
        given = ", ".join(names)
        whole = compiled(f"def eager({given}):\n    return {expression}", f"<nbautograd {expression}>", "eager")
        eager = types.FunctionType(whole, scope)
        tree = inlined(ast.parse(expression, mode="eval").body, scope)
        written = lower_to_ufuncs(tree, names, scope)
        if written is None and _is_elementwise(tree, scope):
            written = [f"out_[...] = {ast.unparse(tree)}"], 0
        if written is None:
            return cls(eager, None, 0, names)
        lines, scratch = written
        source = "\n    ".join([f"def steps(out_, scratch_, {given}):", *lines])
        code = compiled(source, f"<nbautograd steps {expression}>", "steps")
        cost = sum(1 if line.startswith(_CHEAP) else 6 for line in lines)
        return cls(eager, types.FunctionType(code, scope), scratch, names, cost)


def _is_elementwise(tree: ast.expr, scope: dict[str, Any]) -> bool:
    """Whether an expression, a floating one, is nothing but elementwise steps."""
    # Options such as the dimension of a cross product mean that elements are looked at together.
    bodies = {
        id(op.body)
        for op in OPS.values()
        if op.kind == POINTWISE and not op.keywords and len(op.positional) == len(op.tensors)
    } | {id(masking.zero_where_not), id(masking.zero_where)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            known = elementwise(node.func) is not None or id(scope.get(ast.unparse(node.func))) in bodies
            if node.keywords or not known:
                return False
        elif isinstance(node, ast.Attribute):
            if not (isinstance(node.value, ast.Name) and node.value.id in ("np", "precise")):
                return False
        elif not isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Name, ast.Constant, *_SYNTAX)):
            return False
    return True


_CHEAP = tuple(f"np.{name}(" for name in UFUNCS.values())
_SYNTAX = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop)


class NotElementwise(Exception):  # noqa: N818 - a way out
    """The expression is not elementwise, or not in a way that is known here."""


class _Writer:
    def __init__(self, names: Iterable[str], scope: dict[str, Any]) -> None:
        self.names, self.scope = set(names), scope
        self.lines: list[str] = []
        self.free: list[str] = []
        self.scratch = 0

    def operand(self, node: ast.expr) -> str:
        """How an operand is called, once the lines that compute it are written."""
        if isinstance(node, (ast.Name, ast.Constant)):
            self.check(node)
            return ast.unparse(node)
        if not any(isinstance(part, ast.Name) and part.id in self.names for part in ast.walk(node)):
            raise NotElementwise
        function, parts = self.called(node)
        given = [self.operand(part) for part in parts]
        self.free += [name for name in given if name.startswith("scratch_")]
        return self.line(function, given, self.buffer())

    def buffer(self) -> str:
        if not self.free:
            self.free.append(f"scratch_[{self.scratch}]")
            self.scratch += 1
        return self.free.pop()

    def line(self, function: str, given: list[str], to: str) -> str:
        self.lines.append(f"{function}({', '.join(given)}, out={to})")
        return to

    def check(self, node: ast.Name | ast.Constant) -> None:
        value = node.value if isinstance(node, ast.Constant) else self.scope.get(node.id)
        if not (isinstance(node, ast.Name) and node.id in self.names) and value.__class__ not in (int, float):
            raise NotElementwise

    def called(self, node: ast.expr) -> tuple[str, list[ast.expr]]:
        """The function of a step and its operands."""
        match node:
            case ast.BinOp(left, operator, right) if type(operator) in UFUNCS:
                return f"np.{UFUNCS[type(operator)]}", [left, right]
            case ast.UnaryOp(ast.USub(), operand):
                return "np.negative", [operand]
            case ast.Call(called, parts, []) if (function := elementwise(called)) is not None:
                if "f" * len(parts) + "->f" in function.types and function.nout == 1:
                    return ast.unparse(called), parts
        raise NotElementwise


def lower_to_ufuncs(tree: ast.expr, names: list[str], scope: dict[str, Any]) -> tuple[list[str], int] | None:
    """The lines that compute an expression, the last one into ``out_``, and how many scratch they need; None: it cannot
    be written so.

    What is in between never lies in ``out_``: that may be an operand.

    >>> lower_to_ufuncs(ast.parse("g * (1 - r)", mode="eval").body, ["g", "r"], {})
    (['np.subtract(1, r, out=scratch_[0])', 'np.multiply(g, scratch_[0], out=out_)'], 1)
    """
    writer = _Writer(names, scope)
    try:
        function, parts = writer.called(tree)
        writer.line(function, [writer.operand(part) for part in parts], "out_")
    except NotElementwise:
        return None
    return writer.lines, writer.scratch
