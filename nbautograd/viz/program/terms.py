"""Terms of gradients, and leaves of a statement: what may differ between equivalent statements.

``g = term`` begins a sum, ``g += term`` and ``g = g + term`` go on with it. If the same statement begins a sum in one
step or call and continues it in others, it is ``g = plus(g, term)``, and sums begin as None.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

from nbautograd._engine.compiler.expressions import substituted
from nbautograd._engine.compiler.source import copied
from nbautograd.viz.program.names import bound_outside
from nbautograd.viz.program.statements import Statement

__all__ = ["EITHER", "FIRST", "PLUS", "Form", "Place", "Term", "Value", "kind_of_all", "term_of"]

FIRST, INTO, NEW, EITHER = "first", "into", "new", "plus"
PLUS = '''def plus(total, term):
    """The sum so far, which is None at first, and a term."""
    return term if total is None else total + term
'''


class Term:
    """The term that a statement adds, and its target."""

    def __init__(self, kind: str, target: ast.expr, value: ast.expr) -> None:
        self.kind, self.target, self.value = kind, target, value

    def change(self, by: Callable[[ast.expr], ast.expr]) -> None:
        """Change both."""
        self.target, self.value = by(self.target), by(self.value)

    def written(self, kind: str) -> ast.stmt:
        """The statement."""
        if kind == INTO:
            return ast.AugAssign(self.target, ast.Add(), self.value)  # type: ignore[arg-type]
        before = copied(self.target)
        before.ctx = ast.Load()  # type: ignore[attr-defined]
        value = self.value
        if kind == NEW:
            value = ast.BinOp(before, ast.Add(), value)
        elif kind == EITHER:
            value = ast.Call(ast.Name("plus", ast.Load()), [before, value], [])
        return ast.Assign([self.target], value, lineno=0)


def term_of(statement: Statement) -> Term | None:
    """The term that a statement adds; None for any other."""
    if not statement.adds:
        return None
    match statement.tree:
        case ast.AugAssign(target, ast.Add(), value):
            return Term(INTO, target, value)
        case ast.Assign([target], ast.BinOp(left, ast.Add(), value)) if ast.unparse(left) == ast.unparse(target):
            return Term(NEW, target, value)
        case ast.Assign([target], ast.Call(ast.Name("plus"), [_, value])):
            return Term(EITHER, target, value)
        case ast.Assign([target], value):
            return Term(FIRST, target, value)
    return None


def kind_of_all(kinds: Collection[str]) -> str:
    """Return the form in which statements of all these kinds can be written."""
    alike = {*kinds}
    if len(alike) == 1:
        return alike.pop()
    return EITHER if alike & {FIRST, EITHER} else NEW


Place = tuple[str, int]
"""An element: the common name, and its number."""
Value = str | int | Place
"""A leaf: a variable, a whole number, or an element."""


class Form:
    """A statement with its leaves: variables and whole numbers, which may differ from step to step.

    :ivar shape: the part that must be equal in each.
    """

    def __init__(self, statement: Statement, variables: Collection[str], families: Collection[str]) -> None:
        self.statement = statement
        self.term: Term | None = term_of(statement)
        trees = [statement.tree] if self.term is None else [self.term.target, self.term.value]
        self.leaves: list[ast.expr] = []
        self.values: list[Any] = []
        self.targets: list[bool] = []
        own = statement.writes()
        shape: list[Any] = [self.term is not None, statement.part]
        for tree in trees:
            reader = _Leaves(tree, variables, families)
            shape.append(reader.text(tree))
            self.leaves += reader.leaves
            self.values += reader.values
        for leaf in self.leaves:
            self.targets.append(isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store) and leaf.id in own)
        self.shape = tuple(shape)

    @property
    def target(self) -> str:
        """The variable that a term is added to."""
        assert self.term is not None
        return next(iter(self.statement.writes()))

    def written(self, leaves: Iterable[ast.expr | None], kind: str) -> ast.stmt:
        """Return the statement with other leaves, where they are not None, and with its term of a kind."""
        trees = {id(old): new for old, new in zip(self.leaves, leaves, strict=True) if new is not None}
        if self.term is None:
            return substituted(self.statement.tree, trees)  # type: ignore[no-any-return]
        self.term.change(partial(substituted, trees=trees))
        return self.term.written(kind)


class _Leaves:
    """Writes code with a mark in the place of each leaf."""

    def __init__(self, tree: ast.AST, variables: Collection[str], families: Collection[str]) -> None:
        self.variables, self.families = variables, families
        self.outside = {id(node) for node in bound_outside(tree)}
        self.leaves: list[Any] = []
        self.values: list[Value] = []

    def text(self, node: Any) -> str:
        """The code of a node."""
        value: Value | None = None
        match node:
            case ast.Name(name) if id(node) in self.outside and name in self.variables:
                value = name
            case ast.Constant(int(number)) if number.__class__ is int:
                value = number
            case ast.Subscript(ast.Name(name), ast.Constant(int(number))) if name in self.families:
                value = name, number
        if value is not None:
            self.leaves.append(node)
            self.values.append(value)
            return "0" if isinstance(value, int) else "_"
        if isinstance(node, ast.AST):
            parts = [self.text(getattr(node, field, None)) for field in node._fields]
            return f"{type(node).__name__}({', '.join(parts)})"
        return f"[{', '.join(map(self.text, node))}]" if isinstance(node, list) else repr(node)
