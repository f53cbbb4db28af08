"""The expression layer: rewrite, substitute and inline syntax trees; ``folding.py`` folds constants.

The compiler, the programs of ``%code`` (``viz/program``) and ``torch.jit.trace`` (``_compat/traced``) write code by it.
Pictures show the expression of the declaration. The compiled expression has the same meaning, by fewer and cheaper
calls, after these rewrites and ``constants_as_arrays`` in ``compiler/elementwise.py``:

- a call of an operation whose body is one expression becomes that expression (inlining);
- a choice between something and zeros, or its multiple, becomes a bit mask, which is computed without branches.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import types
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from nbautograd._engine.compiler.schema import HELPERS, OPS, OpSchema
from nbautograd._engine.compiler.source import copied, expression_of, rewritten, steps_of


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


# -- inlining ---------------------------------------------------------------------------------------------------------


def inlined(tree: ast.expr, scope: dict[str, Any], helpers: bool = False) -> ast.expr:
    """Return a formula over arrays with its calls of operations replaced by their bodies.

    :param scope: the meaning of names in the formula; that of names in the bodies is added.
    :param helpers: likewise for derivative helpers, whose assignments become ``(name := expression)``.
    """
    return _Inliner(scope, helpers).visit(tree)  # type: ignore[no-any-return]


def in_full(formula: str) -> str:
    """Return a formula that is one call of a purely arithmetic operation, with the call expanded: for pictures.

    Over tensors, the unexpanded formula is one node instead of several.

    >>> import nbautograd
    >>> in_full("tanh_slope(g, conj(result))")
    'g * (1 - conj(result) * conj(result))'
    """
    match ast.parse(formula, mode="eval").body:
        case ast.Call(ast.Name(name), arguments, []) if name in OPS:
            op = OPS[name]
            expression = expression_of(op.body)
            calculates = (ast.BinOp, ast.Name, ast.Constant, ast.operator, ast.expr_context)
            if isinstance(expression, ast.BinOp) and all(isinstance(part, calculates) for part in ast.walk(expression)):
                return ast.unparse(substituted(expression, dict(zip(op.positional, arguments, strict=True))))
    return formula


class _Inliner(ast.NodeTransformer):
    def __init__(self, scope: dict[str, Any], helpers: bool) -> None:
        self.scope, self.helpers = scope, helpers
        self.helpers_taken: list[Callable[..., Any]] = []  # each once, as each assigns its names

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node = _as_mask(node)
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        meaning = self.scope.get(name)
        if self.helpers and meaning.__class__ is types.FunctionType and meaning in HELPERS:
            return self._steps(HELPERS[meaning], node) or node
        op = OPS.get(name)
        if op is None or meaning is not op.body:
            return node
        return self._body(op, node) or node

    def _body(self, op: OpSchema, call: ast.Call) -> ast.expr | None:
        """Return the body with the arguments inserted; None if it is no expression, or has an argument twice."""
        expression = expression_of(op.body)
        if expression is None or op.rest or op.keywords or call.keywords or len(call.args) != len(op.positional):
            return None  # the defaults of others are not looked for
        if binds_names(expression):
            return None
        return self._in_place(expression, dict(zip(op.positional, call.args, strict=True)), op.body, op.name)

    def _steps(self, helper: Callable[..., Any], call: ast.Call) -> ast.expr | None:
        """Return the result of a derivative helper, with the assigned expression at the first use of each name."""
        steps, parameters = steps_of(helper), [*inspect.signature(helper).parameters]
        if steps is None or call.keywords or len(call.args) != len(parameters):
            return None
        assignments, result = steps
        own = {name: ast.Name(f"{helper.__name__}_{name}") for name, _ in assignments}
        if len({*own, *parameters}) < len(assignments) + len(parameters) or helper in self.helpers_taken:
            return None
        self.helpers_taken.append(helper)
        for name, value in assignments[::-1]:
            result = _assigned_at_first_use(result, name, value)
        values = {**dict(zip(parameters, call.args, strict=True)), **own}
        changed = self._in_place(result, values, helper, helper.__name__)
        return None if changed is None else self.visit(changed)

    def _in_place(
        self, tree: ast.expr, values: dict[str, ast.expr], body: Callable[..., Any], prefix: str
    ) -> ast.expr | None:
        """Return a function's expression with values for its parameters; other names keep their meaning."""
        if computes_twice(tree, values):
            return None
        for name in {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)} - set(values):
            meaning = body.__globals__.get(name, getattr(builtins, name, None))
            if body in HELPERS.values() and name in OPS:
                meaning = OPS[name].body
            if meaning is not None and self.scope.setdefault(name, meaning) is not meaning:
                alias = f"{prefix}_{name}"
                self.scope[alias] = meaning
                values[name] = ast.Name(alias)
        return specialized(tree, values)  # type: ignore[no-any-return]


def _as_mask(call: ast.Call) -> ast.Call:
    """Return a call, of a bit mask for a choice with zeros or a multiple."""
    match call:
        case ast.Call(ast.Name("where"), [condition, value, ast.Call(ast.Name("zeros_of"))]):
            return ast.Call(ast.Name("zero_where_not"), [value, condition], [])
        case ast.Call(ast.Name("where"), [condition, ast.Call(ast.Name("zeros_of")), value]):
            return ast.Call(ast.Name("zero_where"), [value, condition], [])
        case ast.Call(
            ast.Name("where"), [condition, ast.Name(this) as value, ast.BinOp(ast.Name(again), ast.Mult(), factor)]
        ) if this == again and isinstance(factor, (ast.Name, ast.Constant)):
            return ast.Call(ast.Name("scale_where_not"), [value, condition, factor], [])
    return call


def _assigned_at_first_use(tree: ast.expr, name: str, value: ast.expr) -> ast.expr:
    """Return an expression that assigns a value to a name at its first use, in Python's evaluation order."""
    values = [value]

    def change(part: Any) -> Any:
        is_first = values and isinstance(part, ast.Name) and part.id == name
        return ast.NamedExpr(part, values.pop()) if is_first else part

    return rewritten(tree, change)  # type: ignore[no-any-return]
