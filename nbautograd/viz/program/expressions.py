"""Formulas and bodies as expressions of a program: with its variables, and as short as they can be read."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbautograd._engine.arrays import masking, precise
from nbautograd._engine.compiler.expressions import binds_names, computes_twice, substituted, without_conj
from nbautograd._engine.compiler.folding import decided, folded, is_constant
from nbautograd._engine.compiler.schema import METADATA, OPS, OpSchema
from nbautograd._engine.compiler.source import copied, expression_of, parsed, rewritten
from nbautograd.viz.program.bundle import Bundle, NotBundled, module_of
from nbautograd.viz.program.names import global_names, renamed

__all__ = [
    "EXACT", "OTHERWISE", "PLAIN", "READABLE", "Expressions", "Operand", "arguments_of", "formula_of", "with_names",
    "with_options", "with_shapes",
]  # fmt: skip

READABLE, OTHERWISE, EXACT, PLAIN = "readable", "otherwise", "exact", "plain"
"""The ways to write an expression: as NumPy users would, in one of two ways; with bodies in the place of operations;
with calls of those."""


FORMS: dict[str, str] = {
    "zeros_of": "np.zeros_like(input)",
    "conj": "np.conjugate(input)",
    "where": "np.where(condition, input, other)",
    **dict.fromkeys(("view", "unsafe_view"), "input.reshape(shape)"),
    "reshape_copy": "input.reshape(shape).copy()",
    "unsqueeze": "np.expand_dims(input, dim)",
    "expand": "np.broadcast_to(input, size)",
    "t": "input.T",
    "transpose": "input.swapaxes(dim0, dim1)",
    "permute": "input.transpose(dims)",
    "cat_same": "np.concatenate(tensors, axis=dim)",
    "stack_same": "np.stack(tensors, axis=dim)",
    "clone": "input.copy()",
    **dict.fromkeys(("mm", "bmm"), "input @ mat2"),
    "mv": "input @ vec",
    "dot": "input @ tensor",
    "vdot": "np.vdot(input, other)",
    "outer_product": "np.outer(input, vec2)",
    "addmm": "mat1 @ mat2 + input",
    "addmv": "mat @ vec + input",
    **dict.fromkeys(("move", "cast"), "input.astype(dtype)"),
    "real": "input.real.copy()",
    "imag": "input.imag.copy()",
}
"""By operation: its form in NumPy, shorter to read than the body and of the same bits."""
GUESSED: dict[str, tuple[str, ...]] = {
    "sum_all": ("input.sum()",),
    "sum_over": ("input.sum(axis=dim, keepdims=keepdim)",),
    "sum_along": ("input.sum(axis=dim, keepdims=True)",),
    "mean_all": ("input.mean()",),
    "mean_over": ("input.mean(axis=dim, keepdims=keepdim)",),
    "select": ("input[index] if dim == 0 else input[..., index]",),
    "cast_back": ("input",),
    "spread": ("np.broadcast_to(input, shape)",),
    "sum_to": ("input.sum(axis=0)", "input.copy()"),
    "mm_like": ("input @ mat2", "(mat2.T @ input.T).T"),
}
"""Forms of operations that may add up in another order than NumPy does: tried, and used if they agree."""


@dataclass(slots=True, eq=False)
class Operand:
    """The meaning of a name in a formula: an expression, and its value."""

    tree: ast.expr
    value: Any
    short: ast.expr | None = None
    """A shorter expression of the same value in most places, such as a number without its dtype."""


class Expressions:
    """Writes expressions, and takes over the functions that they call into ``bundle``.

    ``scope`` maps the names in expressions to functions and variables, for computing them.
    """

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.scope: dict[str, Any] = {"np": np}
        self.written: dict[Any, ast.expr] = {}
        """Bodies and formulas in which operands still have the names of the declaration, by all that they depend on:
        those that call functions of this program; others are shared by all programs."""
        self.calls = False
        """True if the expression that is being written calls a function of this package."""

    def function(self, function: Any, style: str = READABLE) -> str:
        """The name of a function of this package in the program."""
        return self.named(function.__module__, function.__qualname__, function, style)

    def named(self, module: str, name: str, value: Any, style: str) -> str:
        """Return the program's name for ``name`` of ``module``; as a last resort the program imports it."""
        try:
            own = self.bundle.name(module, name)
        except NotBundled:
            held = getattr(sys.modules[module], name, None)
            is_body = getattr(held, "__wrapped__", None) is value and held is not value
            if style != PLAIN or not is_body and held is not value:
                raise
            own = self.bundle.imported(module, name, is_body)
        self.scope[own], self.calls = value, True
        return own

    def constant(self, module: str, value: Any) -> str:
        """The name in the program of a constant of a module."""
        name = next(name for name, other in vars(sys.modules[module]).items() if other is value)
        own = self.bundle.name(module, name)
        self.scope[own] = value
        return own

    def body_call(self, op: OpSchema, operands: Mapping[str, Operand], style: str, dtype: Any) -> ast.expr:
        """The result of an operation."""
        key = _key((op.body, None, style, dtype), operands)

        def write() -> ast.expr:
            return _Writer(self, op.body.__module__, {*operands}, style, dtype).operation(op, own_call(op))

        return self.known(key, operands, style, write)

    def formula(self, text: str, op: OpSchema, operands: Mapping[str, Operand], style: str, dtype: Any) -> ast.expr:
        """A formula of an operation's declaration, for a computation in a dtype."""
        key = _key((op.body, text, style, dtype), operands)

        def write() -> Any:
            tree = formula_of(text, operands, dtype is not None and dtype.kind == "c")
            return _Writer(self, op.body.__module__, {*operands}, style, dtype).visit(tree)

        return self.known(key, operands, style, write)

    def known(self, key: Any, operands: Mapping[str, Operand], style: str, write: Callable[[], ast.expr]) -> ast.expr:
        """An expression with the variables of the program: a known one, or what ``write`` returns."""
        tree = self.written.get(key) or _shared.get(key)
        if tree is None:
            self.calls = False
            tree = write()
            if key is not None:
                (self.written if self.calls or len(_shared) >= MAX_SHARED else _shared)[key] = tree
        return with_names(tree, operands, style)  # type: ignore[no-any-return]


MAX_SHARED = 2000  # expressions
_shared: dict[Any, ast.expr] = {}
_put_in: dict[Any, tuple[Any, Any]] = {}
"""Expressions with the variables of a program, each with the one without them; neither is changed after that."""


def _key(about: tuple[Any, ...], operands: Mapping[str, Operand]) -> Any:
    """Return the facts on which a written expression depends before variables are put in; None if unknown."""
    parts = []
    for name, operand in operands.items():
        value, tree = operand.value, operand.tree
        if isinstance(value, (np.ndarray, np.generic)):
            known: Any = value.shape, value.dtype, value.strides
        elif value is None or type(value) in (bool, int, float, str):
            known = type(value), repr(value)
        else:
            return None
        if not isinstance(tree, (ast.Name, ast.Call)):
            if not isinstance(tree, ast.Constant):
                return None
            known = known, type(tree.value), repr(tree.value)
        parts.append((name, type(tree), known))
    return *about, tuple(parts)


class _Writer(ast.NodeTransformer):
    """Gives the names in a formula, or in the expression of a body, their meaning in the program."""

    def __init__(self, to: Expressions, module: str, variables: set[str], style: str, dtype: Any, body: bool = False):
        self.to, self.module, self.variables, self.style, self.dtype = to, module, variables, style, dtype
        self.in_body, self.is_readable = body, style in (READABLE, OTHERWISE)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node.func:
            case ast.Name(name) if name in self.variables:
                pass
            case ast.Name(name) if name in OPS and not self.in_body:
                node.args, node.keywords = self.visit_each(node.args), self.visit_each(node.keywords)
                return self.operation(OPS[name], node)
            case ast.Name("times") if self.is_readable:
                alpha, array = self.visit_each(node.args)
                return ast.BinOp(alpha, ast.Mult(), array)
            case ast.Name("bitwise_where") if self.style != PLAIN:
                return ast.Call(parsed("np.where"), self.visit_each(node.args), [])
            case ast.Attribute(ast.Name("precise"), name) if self.module_named("precise") == precise.__name__:
                return self.precise(name, self.visit_each(node.args))
        self.generic_visit(node)
        return node

    def visit_each(self, parts: Sequence[ast.AST]) -> list[Any]:
        return [self.visit(part) for part in parts]

    def module_named(self, name: str) -> str | None:
        return None if name in self.variables else module_of(self.module, name)

    def precise(self, name: str, arguments: list[ast.expr]) -> ast.expr:
        """Return an elementary function as computed by the precise one: in float64 and rounded."""
        function = precise.FUNCTIONS[name]
        kind = self.dtype.char if self.dtype is not None else ""
        wide = function.wider.get(self.dtype) if kind else None
        if self.style != PLAIN and kind in "fd" and kind and (wide is None or wide == np.float64):
            plain = parsed(f"np.{name}")
            if wide is None:
                return ast.Call(plain, arguments, [])
            computed = ast.Call(plain, arguments, [ast.keyword("dtype", parsed("np.float64"))])
            return ast.Call(ast.Attribute(computed, "astype", ast.Load()), [parsed("np.float32")], [])
        return ast.Call(ast.Name(self.refer(precise.__name__, name), ast.Load()), arguments, [])

    def operation(self, op: OpSchema, call: ast.Call) -> ast.expr:
        """A call of an operation, whose arguments are written already."""
        form = self.form(op.name)
        if form and (tree := self.inlined(op, call, parsed(form))) is not None:
            return tree
        made = "<locals>" in op.body.__qualname__  # created by a function, so its own source is missing
        expression = expression_of(op.body) if self.style != PLAIN or made else None
        is_helper = isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name)
        # of one call the operation's own name says more
        if expression is not None and not is_helper and (tree := self.inlined(op, call, expression, in_body=True)):
            return tree
        call.func = ast.Name(self.to.function(op.body, self.style), ast.Load())
        return call

    def form(self, name: str) -> str:
        """Return NumPy's words for an operation; nothing if it has none in this style."""
        guessed = GUESSED.get(name, ("",)) if self.is_readable else ("",)
        form = FORMS.get(name) or guessed[-1 if self.style == OTHERWISE else 0]
        return form if self.style != PLAIN else ""

    def inlined(self, op: OpSchema, call: ast.Call, expression: ast.expr, in_body: bool = False) -> ast.expr | None:
        """The expression with the arguments of a call in it; None where that cannot be."""
        arguments = arguments_of(op, call)
        if arguments is None or binds_names(expression) or computes_twice(expression, arguments):
            return None
        known = {n: Operand(p, None) for n, p in arguments.items() if not isinstance(p, ast.List)}
        marked = {name: ast.Name(f"__argument__{name}", ast.Load()) for name in arguments}
        names = {mark.id for mark in marked.values()}
        inner = _Writer(self.to, op.body.__module__, names, self.style, self.dtype, in_body)
        expression = inner.visit(substituted(with_options(expression, known), marked))
        return substituted(expression, {mark.id: arguments[name] for name, mark in marked.items()})  # type: ignore[no-any-return]

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        match node:
            case ast.Attribute(ast.Name(name), "__wrapped__") if name not in self.variables:
                return ast.Name(self.to.function(getattr(sys.modules[self.module], name).__wrapped__), ast.Load())
            case ast.Attribute(ast.Name(name), attribute) if (inner := self.module_named(name)) is not None:
                return ast.Name(self.refer(inner, attribute), ast.Load())
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        name = node.id
        if name in self.variables or name == "np" or name.startswith(_VARIABLE):
            return node
        if name in OPS and not self.in_body:
            return ast.Name(self.to.function(OPS[name].body, self.style), ast.Load())
        if name in ("scale_where_not", "zero_where", "zero_where_not"):
            return ast.Name(self.refer(masking.__name__, name), ast.Load())
        if not hasattr(sys.modules[self.module], name) and hasattr(builtins, name):
            return node
        return ast.Name(self.refer(self.module, name), ast.Load())

    def visit_GeneratorExp(self, node: Any) -> ast.AST:
        """Names that a comprehension binds are its own."""
        own = {n.id for part in node.generators for n in ast.walk(part.target) if isinstance(n, ast.Name)}
        inner = _Writer(self.to, self.module, self.variables | own, self.style, self.dtype, self.in_body)
        return ast.NodeTransformer.generic_visit(inner, node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp  # noqa: N815 - ast's names

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        names = {*global_names(node)} - self.variables
        return renamed(node, {name: self.visit(ast.Name(name)).id for name in names})  # type: ignore[no-any-return]

    def refer(self, module: str, name: str) -> str:
        return self.to.named(module, name, getattr(sys.modules[module], name), self.style)


def own_call(op: OpSchema) -> ast.Call:
    """The call of an operation with its own parameters."""
    return parsed(f"{op.name}({op.passed({})})")  # type: ignore[return-value]


def arguments_of(op: OpSchema, call: ast.Call | None = None) -> dict[str, ast.expr] | None:
    """Return a call's arguments by parameter, with defaults; None if unknown. By default the call of its parameters."""
    call = own_call(op) if call is None else call
    count = len(op.positional)
    first, rest = call.args[:count], call.args[count:]
    arguments: dict[Any, ast.expr] = {keyword.arg: keyword.value for keyword in call.keywords}
    arguments |= zip(op.positional, first, strict=False)
    match rest:
        case [ast.Starred(value)] if op.rest:
            arguments[op.rest], rest = value, []
        case _ if op.rest:
            arguments[op.rest] = ast.Tuple(rest, ast.Load())
        case [_, *_]:
            return None
    if None in arguments or any(isinstance(part, ast.Starred) for part in (*first, *rest)):
        return None
    defaults = {name: op.defaults.get(name, ...) for name in (*op.positional, *op.keywords) if name not in arguments}
    if not all(isinstance(value, (int, float, str, type(None))) for value in defaults.values()):
        return None
    return arguments | {name: ast.Constant(value) for name, value in defaults.items()}


_VARIABLE = "__variable__"
"""The beginning of a variable of the program among the names of a formula."""


def formula_of(text: str, operands: Mapping[str, Operand], is_complex: bool) -> Any:
    """Return a formula with its shapes and constant options put in, so that no false statement is written."""
    tree = parsed(text) if is_complex else without_conj(parsed(text))
    return with_options(with_shapes(tree, operands), operands)


def with_shapes(tree: Any, operands: Mapping[str, Operand]) -> Any:
    """Return a formula with the shape itself for ``input.shape``."""

    def change(part: Any) -> Any:
        if not isinstance(part, ast.Attribute) or part.attr not in METADATA or not isinstance(part.value, ast.Name):
            return part
        operand = operands.get(part.value.id)
        if operand is None:
            return part
        if isinstance(operand.value, list):
            several = [getattr(value, part.attr) for value in operand.value]
            return parsed(repr(several)) if part.attr != "dtype" else part
        known = getattr(operand.value, part.attr, None)
        if part.attr == "dtype" and known is not None and known.kind != "V":
            return parsed(f"np.dtype('{known.name}')")
        return part if known is None else parsed(repr(known))

    return rewritten(tree, change)


def with_options(tree: Any, operands: Mapping[str, Operand]) -> Any:
    """Return a formula with constant options, and with the parts that depend only on them decided."""
    constants = {name: o.tree for name, o in operands.items() if isinstance(o.tree, ast.List) or is_constant(o.tree)}
    return folded(substituted(tree, {name: _marked(tree) for name, tree in constants.items()}), _is_gradient)


def _marked(tree: ast.expr) -> ast.expr:
    """Return an expression whose names are marked as variables of the program, which no name in a formula is."""

    def change(part: Any) -> Any:
        if not isinstance(part, ast.Name) or part.id.startswith(("__argument__", _VARIABLE)):
            return part
        return ast.Name(_VARIABLE + part.id, part.ctx)

    return rewritten(copied(tree), change)  # type: ignore[no-any-return]


def with_names(tree: Any, operands: Mapping[str, Operand], style: str = READABLE) -> Any:
    """Return a copy of a formula with the variables of the program, in which is decided what constants decide."""
    readable = style in (READABLE, OTHERWISE)
    trees = {name: o.short if readable and o.short is not None else o.tree for name, o in operands.items()}
    key = id(tree), *[(name, part.__class__, part.id if isinstance(part, ast.Name) else repr(part.value))
                      for name, part in trees.items() if isinstance(part, (ast.Name, ast.Constant))]  # fmt: skip
    if key in _put_in and len(key) > len(trees) and _put_in[key][0] is tree:
        return _put_in[key][1]

    def written(part: Any) -> Any:
        kind = part.__class__
        if kind is list:
            return [written(each) for each in part]
        if kind is ast.Name:
            own = part.id.removeprefix(_VARIABLE)
            return trees.get(own, part) if own == part.id else ast.Name(own, part.ctx)
        if kind is ast.Constant or not isinstance(part, ast.AST) or not part._fields:
            return part
        parts = {name: written(one) if getattr(one, "_fields", one) else one for name, one in ast.iter_fields(part)}
        return decided(kind(**parts), _is_gradient)

    made = written(tree)
    if len(key) > len(trees):
        if len(_put_in) >= MAX_SHARED:
            _put_in.clear()
        _put_in[key] = tree, made
    return made


def _is_gradient(name: str) -> bool:
    """Return whether a name is that of a gradient, which is never None."""
    return name.startswith("g_")
