"""Terms of gradients: ``g = term`` begins a sum, ``g += term`` and ``g = g + term`` go on with it.

If the same statement begins a sum in one step or call and continues it in others, it is ``g = plus(g, term)``, and sums
begin as None.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection

from nbautograd._engine.compiler.source import copied
from nbautograd.viz.program.statements import Statement

__all__ = ["EITHER", "FIRST", "PLUS", "Term", "kind_of_all", "term_of"]

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
