"""Lowering of elementwise expressions to steps with ``out=``, which run tile by tile: see ``fusion/tiling.py``."""

from __future__ import annotations

import ast
import types
from collections import Counter
from collections.abc import Iterable
from typing import Any

from nbautograd._engine.arrays import masking
from nbautograd._engine.compiler.elementwise import UFUNCS, UfuncCall, elementwise, ufunc_call
from nbautograd._engine.compiler.expressions import inlined
from nbautograd._engine.compiler.schema import OPS, POINTWISE
from nbautograd._engine.compiler.source import compiled, evaluated
from nbautograd._engine.fusion.kernel import ElementwiseKernel

BOUNDS = ("np.maximum", "np.minimum")
"""Ufuncs that are slow with a number."""


class NotElementwise(Exception):  # noqa: N818 - a way out
    """An error for an expression that is not elementwise, or in an unknown way."""


def compile_kernel(expression: str, names: list[str], scope: dict[str, Any]) -> ElementwiseKernel:
    """Return the kernel of an expression of ``names``; without steps if the expression is not elementwise.

    :param scope: the meaning of other names, as in the function that contains the expression.

    >>> import numpy as np
    >>> compile_kernel("1 / (1 + np.exp(-x))", ["x"], {"np": np}).scratch
    1
    """
    parameters = ", ".join(names)
    code = compiled(f"def eager({parameters}):\n    return {expression}", f"<nbautograd {expression}>", "eager")
    eager = types.FunctionType(code, scope)
    tree = inlined(ast.parse(expression, mode="eval").body, scope, helpers=True)
    lowered = lower_to_ufuncs(tree, names, scope)
    if lowered is None and _is_elementwise(tree, scope):
        lowered = [f"out_[...] = {ast.unparse(tree)}"], 0
    if lowered is None:
        return ElementwiseKernel(eager, None, 0, names)
    lines, scratch = lowered
    source = "\n    ".join([f"def steps(out_, scratch_, {parameters}):", *lines])
    code = compiled(source, f"<nbautograd steps {expression}>", "steps")
    cost = sum(1 if line.startswith(_CHEAP) else 3 if line.startswith("CHOICES") else 6 for line in lines)
    steps = types.FunctionType(code, scope | {"CHOICES": masking.CHOICES, "bounded": masking.bounded})
    is_one_pass = not scratch and not lines[0].startswith("CHOICES")
    return ElementwiseKernel(eager, steps, scratch, names, cost, is_one_pass)


def lower_to_ufuncs(tree: ast.expr, names: list[str], scope: dict[str, Any]) -> tuple[list[str], int] | None:
    """Return the lines that compute an expression, the last one into ``out_``, and their number of scratch arrays.

    None if it cannot be lowered. Intermediate results are never in ``out_``: that may be an operand.

    >>> lower_to_ufuncs(ast.parse("g * (1 - r)", mode="eval").body, ["g", "r"], {})
    (['np.subtract(1, r, out=scratch_[0])', 'np.multiply(g, scratch_[0], out=out_)'], 1)
    """
    lowering = _Lowering(names, scope)
    try:
        lowering.count(tree)
        call = lowering.step(tree)
        lowering.emit(call.text, [lowering.operand(part) for part in call.operands], "out_")
    except NotElementwise:
        return None
    return lowering.lines, lowering.scratch


class _Lowering:
    """Three-address code of an expression, and its register allocation: the arrays in ``scratch_``."""

    def __init__(self, names: Iterable[str], scope: dict[str, Any]) -> None:
        self.names, self.scope = set(names), scope
        self.lines: list[str] = []
        self.free: list[str] = []
        self.scratch = 0
        self.assigned: dict[str, str] = {}  # the register of each name
        self.uses: Counter[str] = Counter()  # remaining uses of each register; without any, it is free

    def operand(self, node: ast.expr) -> str:
        """Return the name of an operand, after writing the lines that compute it."""
        match node:
            case ast.Name(name) if name in self.assigned:
                return self.assigned[name]
            case ast.Name() | ast.Constant():
                self.check(node)
                return ast.unparse(node)
            case ast.NamedExpr(ast.Name(name), ast.BinOp() | ast.UnaryOp() | ast.Call() as value):
                register = self.assigned[name] = self.operand(value)
                self.uses[register] += self.loads[name]
                return register
            case ast.NamedExpr():
                raise NotElementwise
        if not any(isinstance(part, ast.Name) and part.id in self.arrays for part in ast.walk(node)):
            return self.number(node)
        call = self.step(node)
        operands = [self.operand(part) for part in call.operands]
        for name in operands:
            if name.startswith("scratch_"):
                self.uses[name] -= 1
                if not self.uses[name]:
                    self.free.append(name)
        register = self.register()
        self.uses[register] = 1
        return self.emit(call.text, operands, register)

    def count(self, tree: ast.expr) -> None:
        """Record which names in a whole expression are arrays, and count the uses of those that it assigns."""
        named = [node.target for node in ast.walk(tree) if isinstance(node, ast.NamedExpr)]
        self.arrays = self.names | {target.id for target in named}
        self.loads = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        self.loads.subtract(target.id for target in named)

    def number(self, node: ast.expr) -> str:
        """Return the value of an expression of numbers."""
        for part in ast.walk(node):
            if isinstance(part, (ast.Name, ast.Constant)):
                self.check(part)
            elif not isinstance(part, (ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)):
                raise NotElementwise
        return repr(evaluated(ast.unparse(node), self.scope, {}))

    def register(self) -> str:
        if not self.free:
            self.free.append(f"scratch_[{self.scratch}]")
            self.scratch += 1
        return self.free.pop()

    def emit(self, function: str, operands: list[str], out: str) -> str:
        call = f"{function}("
        if function in BOUNDS and not all(name in self.names or name.startswith("scratch_") for name in operands):
            call = f"bounded({function}, "
        self.lines.append(f"{call}{', '.join(operands)}, out={out})")
        return out

    def check(self, node: ast.Name | ast.Constant) -> None:
        value = node.value if isinstance(node, ast.Constant) else self.scope.get(node.id)
        if not (isinstance(node, ast.Name) and node.id in self.names) and value.__class__ not in (int, float):
            raise NotElementwise

    def step(self, node: ast.expr) -> UfuncCall:
        """Return the ufunc call of a node that is floating if its operands are."""
        call = self.choice(node) or ufunc_call(node)
        if call is None or not call.keeps_dtype():
            raise NotElementwise
        return call

    def choice(self, node: ast.expr) -> UfuncCall | None:
        """Return a choice by a comparison, as one step; None for anything else."""
        match node:
            case ast.Call(ast.Name(name), [value, ast.Compare(left, [operator], [right]), *rest], []):
                key = name, UFUNCS.get(type(operator), "")
                if key in masking.CHOICES and self.scope.get(name) is getattr(masking, name):
                    return UfuncCall(masking.CHOICES[key], f"CHOICES[{key}]", [value, left, right, *rest], None)
        return None


def _is_elementwise(tree: ast.expr, scope: dict[str, Any]) -> bool:
    """Return whether a floating expression consists only of elementwise steps."""
    # Options such as the dimension of a cross product mean that elements interact.
    bodies = {
        id(op.body)
        for op in OPS.values()
        if op.kind == POINTWISE and not op.keywords and len(op.positional) == len(op.tensors)
    } | {id(masking.scale_where_not), id(masking.zero_where_not), id(masking.zero_where)}
    for node in ast.walk(tree):
        match node:
            case ast.Call(function, _, []):
                is_step = elementwise(function) is not None or id(scope.get(ast.unparse(function))) in bodies
            case ast.Attribute(owner):
                is_step = ast.unparse(owner) in ("np", "precise")
            case _:
                is_step = isinstance(node, _PARTS)
        if not is_step:
            return False
    return True


_CHEAP = ("np.maximum(", "np.minimum(", "bounded(", *(f"np.{name}(" for name in UFUNCS.values()))
_PARTS = (
    ast.BinOp, ast.UnaryOp, ast.Compare, ast.Name, ast.Constant, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop
)  # fmt: skip
