"""Partial evaluation: bodies and formulas for known shapes, strides and dtypes.

A body's conditions on its operands (``if a.ndim == 2 and a.dtype is b.dtype``) are known in a trace. So its statements
are copied without these conditions; likewise in calls of other functions of this package. Calls of NumPy remain. A
function with other constructs (a loop, a condition on values) is called unchanged::

    def mm(a, b):                                    in a trace with two float32 matrices:
        if a.ndim == 1: return vector(a, b)    ──►       t1 = np.matmul(a, b)
        return np.matmul(a, b)

Each line runs as soon as it is written, so that later shapes and dtypes are known by looking, and no rule of
ours has to say which shape ``np.matmul`` gives.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import math
import textwrap
import types
from typing import Any

import numpy as np

from nbautograd._compat.traced.namespace import Namespace
from nbautograd._engine.arrays.precise import Precise
from nbautograd._engine.compiler.source import copied, parsed

METADATA = ("shape", "ndim", "size", "dtype", "strides", "itemsize", "flags", "nbytes", "__class__")
PURE = "len isinstance min max tuple range sorted abs int float bool any all sum list zip enumerate reversed getattr"
PURE_MODULES = (
    "nbautograd._engine.arrays.size",
    "nbautograd._engine.arrays.summation",
    "nbautograd._engine.ops._internal",
    "math",
)
"""Modules with pure functions of shapes and numbers."""
PLAIN = (int, float, str, bool, tuple, list, dict, np.dtype, range, type(None), slice, complex)
MAX_INLINED_CALLS = 8


class _NotInlined(Exception):  # noqa: N818 - a way out
    """The exception for a function that is called unchanged."""


class Specializer:
    """The writer of expressions as lines.

    :param emit: a function that writes a line and runs it.
    :param prefix: the beginning of the temporaries' names.
    :param transposed: variables that are transposes of others.
    """

    def __init__(self, space: Namespace, lines: list[str], prefix: str, transposed: dict[str, str]) -> None:
        self.space, self.lines, self.prefix, self.transposed = space, lines, prefix, transposed
        self.count = 0
        self.depth = 0
        self.views: dict[str, str] = {}
        """Transposed arrays with a name."""

    def emit(self, *lines: str) -> None:
        """Run lines, and write them."""
        self.space.run("\n".join(lines))
        self.lines += lines

    def written(self, text: str) -> str:
        """Return an expression, after writing its lines."""
        return ast.unparse(self.reduced(ast.parse(text, mode="eval").body))

    def assign(self, name: str, text: str) -> str:
        """Write the line that assigns an expression to a name; return the name, which may be an existing one."""
        tree = parsed(text)
        held = self.space.values.get(tree.id) if isinstance(tree, ast.Name) else None
        if isinstance(tree, ast.Name) and isinstance(held, np.ndarray) and tree.id not in self.space.globals:
            return tree.id
        if isinstance(tree, ast.Attribute) and tree.attr == "T":
            inner = self.simple(tree.value)
            if isinstance(inner, ast.Name):
                self.transposed[name] = inner.id
                text = f"{inner.id}.T"
        self.emit(f"{name} = {text}")
        return name

    # -- expressions ---------------------------------------------------------------------------------------------------

    def reduced(self, tree: ast.expr) -> ast.expr:
        """Return an expression in the space's names, with its known parts evaluated."""
        if isinstance(tree, (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.Lambda, ast.NamedExpr)):
            return self.folded(tree)
        if isinstance(tree, ast.IfExp):
            known = self.static(self.reduced(tree.test))
            if known is None:
                return tree
            return self.reduced(tree.body if known[0] else tree.orelse)
        for field, value in ast.iter_fields(tree):
            if isinstance(value, ast.expr):
                setattr(tree, field, self.reduced(value))
            elif isinstance(value, list):
                setattr(tree, field, [self.reduced(part) if isinstance(part, ast.expr) else part for part in value])
        if isinstance(tree, ast.Call):
            tree.keywords = [ast.keyword(k.arg, self.reduced(k.value)) for k in tree.keywords]
            return self.call(tree)
        return self.folded(tree)

    def folded(self, tree: ast.expr) -> ast.expr:
        """Return the known value of an expression."""
        if isinstance(tree, (ast.Constant, ast.Name, ast.Starred, ast.Slice)):
            return tree
        known = self.static(tree)
        if known is not None and isinstance(known[0], types.FunctionType):
            return ast.Name(self.space.constant(known[0]), ast.Load())
        if known is not None and (not callable(known[0]) or isinstance(known[0], type)):
            return parsed(self.space.literal(known[0]))
        match tree:
            case ast.Attribute(ast.Name(name), member) if isinstance(self.space.globals.get(name), types.ModuleType):
                if name != "np":
                    return ast.Name(self.space.constant(getattr(self.space.globals[name], member), member), ast.Load())
            case ast.Attribute(ast.Name(name), "T") if name in self.transposed:
                return ast.Name(self.transposed[name], ast.Load())
            case ast.Subscript(ast.Name(name), index) if isinstance(self.space.globals.get(name), np.ndarray):
                if self.is_static(index, set()):
                    return ast.Name(self.space.constant(self.space.evaluated(ast.unparse(tree))), ast.Load())
        return tree

    def call(self, tree: ast.Call) -> ast.expr:
        """Return a call, or its known result."""
        known = self.static(tree)
        if known is not None:
            return parsed(self.space.literal(known[0]))
        function = self.space.globals.get(tree.func.id) if isinstance(tree.func, ast.Name) else None
        if isinstance(function, Precise):
            return self.precise(function, tree)
        if not isinstance(function, types.FunctionType) or not function.__module__.startswith("nbautograd."):
            return tree
        if any(isinstance(part, ast.Starred) for part in tree.args) or self.depth > MAX_INLINED_CALLS:
            return tree
        before = len(self.lines)
        self.depth += 1
        try:
            return self.inlined(function, copied(tree))
        except Exception:  # any unexpected construct: the function is called unchanged
            del self.lines[before:]
            self.views.clear()
            return tree
        finally:
            self.depth -= 1

    def precise(self, function: Precise, tree: ast.Call) -> ast.expr:
        """Return a call of an elementary function of NumPy, in its precise dtype."""
        values = [self.value(part) for part in tree.args]
        if tree.keywords or not all(isinstance(a, np.ndarray) and a.ndim for a in values) or function.nin > 1:
            return tree
        if values[0].dtype.kind != "f":
            return tree
        wide = function.wider.get(values[0].dtype)
        ufunc = self.space.constant(function.ufunc)
        parts = ", ".join(map(ast.unparse, tree.args))
        if wide is None:
            return parsed(f"{ufunc}({parts})")
        kind = self.space.constant(wide)
        if len(values) == 1:
            return parsed(f"{ufunc}({parts}, dtype={kind}).astype({self.space.constant(values[0].dtype)})")
        return parsed(f"{ufunc}({parts}, dtype={kind}, casting='same_kind')")

    def value(self, tree: ast.expr) -> Any:
        """Return the value of an expression in the compiling call."""
        match tree:  # evaluated by hand, because Python warns for ``is`` between constants
            case ast.Compare(left, [ast.Is() | ast.IsNot() as operator], [right]):
                return (self.value(left) is self.value(right)) == isinstance(operator, ast.Is)
            case ast.BoolOp(operator, values):
                result: Any = None
                for part in values:
                    result = self.value(part)
                    if bool(result) == isinstance(operator, ast.Or):
                        break
                return result
            case ast.UnaryOp(ast.Not(), operand):
                return not self.value(operand)
        return self.space.evaluated(ast.unparse(tree))

    # -- known values --------------------------------------------------------------------------------------------------

    def static(self, tree: ast.expr) -> tuple[Any] | None:
        """Return the value of an expression of metadata, options and constants; None for others."""
        if not self.is_static(tree, set()):
            return None
        try:
            value = self.value(tree)
        except Exception:  # slices outside an index; expressions that an earlier condition guards
            return None
        if inspect.isgenerator(value):
            return None
        if isinstance(value, (np.ndarray, np.generic)) and not isinstance(tree, (ast.Call, ast.Subscript, ast.IfExp)):
            return None
        return (value,)

    def is_array(self, name: str) -> bool:
        """Return whether a name refers to an array, or a NumPy scalar."""
        return isinstance(self.space.values.get(name, self.space.globals.get(name)), (np.ndarray, np.generic))

    def is_static(self, tree: ast.AST, bound: set[str]) -> bool:
        """Return whether an expression depends only on metadata."""
        static = functools.partial(self.is_static, bound=bound)
        match tree:
            case ast.Name(name):
                return name in bound or name in PURE.split() or name in self.space.globals and not self.is_array(name)
            case ast.Attribute(ast.Name(name), attribute) if self.is_array(name) and name not in bound:
                return attribute in METADATA
            case ast.Attribute(value, _):
                return static(value)
            case ast.Compare(ast.Name(name), [ast.Is() | ast.IsNot()], [ast.Constant(None)]) if self.is_array(name):
                return True
            case ast.Call():
                return self.is_static_call(tree, bound)
            case ast.GeneratorExp() | ast.ListComp():
                return self.is_static_comprehension(tree, bound)
            case ast.Lambda() | ast.NamedExpr() | ast.Await() | ast.JoinedStr():
                return False
            case ast.expr():
                return all(static(part) for part in ast.iter_child_nodes(tree) if isinstance(part, ast.expr))
        return True

    def is_static_comprehension(self, tree: ast.GeneratorExp | ast.ListComp, bound: set[str]) -> bool:
        """Return whether a comprehension depends only on metadata, whatever the names that it binds itself."""
        names = [n for g in tree.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]
        parts = [tree.elt, *(part for g in tree.generators for part in (g.iter, *g.ifs))]
        return all(self.is_static(part, bound | {name.id for name in names}) for part in parts)

    def is_static_call(self, tree: ast.Call, bound: set[str]) -> bool:
        """Return whether a call depends only on metadata: also on whether something is an array, and its length."""
        static = functools.partial(self.is_static, bound=bound)
        match tree:
            case ast.Call(ast.Name("len" | "isinstance"), [ast.Name(name), *rest], []) if self.is_array(name):
                return all(map(static, rest))
        return self.is_pure(tree.func, bound) and all(map(static, [*tree.args, *(k.value for k in tree.keywords)]))

    def is_pure(self, function: ast.expr, bound: set[str]) -> bool:
        """Return whether a function of known values has a known value."""
        match function:
            case ast.Name(name) if name in PURE.split():
                return True
            case ast.Name(name):
                called = self.space.globals.get(name)
                if isinstance(called, functools._lru_cache_wrapper):
                    return True
                return getattr(called, "__module__", None) in PURE_MODULES
            case ast.Attribute(owner, _) if self.is_static(owner, bound):
                if any(isinstance(n, ast.Name) and n.id in bound for n in ast.walk(owner)):
                    return False
                return isinstance(self.value(owner), PLAIN) or self.value(owner) is math
        return False

    # -- functions -----------------------------------------------------------------------------------------------------

    def inlined(self, function: Any, call: ast.Call) -> ast.expr:
        """Return the result of a function of this package, after writing the lines that compute it."""
        tree = _source(function)
        scope = _Scope(self, function)
        for name, argument in self.bound(function, tree, call).items():
            scope.names[name] = self.simple(argument)
        result = scope.run(tree.body)
        if result is None:
            raise _NotInlined
        return result

    def bound(self, function: Any, tree: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr]:
        """Return the arguments of a call by parameter."""
        if tree.args.vararg or tree.args.kwarg:
            raise _NotInlined
        names = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args)]
        arguments = dict(zip(names, call.args, strict=False))
        if len(call.args) > len(names):
            raise _NotInlined
        arguments.update({str(k.arg): k.value for k in call.keywords})
        defaults = dict(zip(names[::-1], (function.__defaults__ or ())[::-1], strict=False))
        defaults.update(function.__kwdefaults__ or {})
        for name in (*names, *(a.arg for a in tree.args.kwonlyargs)):
            if name not in arguments:
                arguments[name] = parsed(self.space.literal(defaults[name]))
        return arguments

    def simple(self, tree: ast.expr) -> ast.expr:
        """Return an argument as a name or a constant."""
        if isinstance(tree, (ast.Name, ast.Constant)):
            return tree
        known = self.static(tree)
        if known is not None:
            return parsed(self.space.literal(known[0]))
        if isinstance(tree, (ast.Tuple, ast.List)):
            tree.elts = [self.simple(part) for part in tree.elts]
            return tree
        text = ast.unparse(tree)
        if text in self.views:
            return ast.Name(self.views[text], ast.Load())
        name = f"{self.prefix}{self.count}"
        self.count += 1
        match tree:
            case ast.Attribute(ast.Name(whole), "T") if self.is_array(whole) and not whole.startswith("d"):
                self.views[text] = name
        return ast.Name(self.assign(name, ast.unparse(tree)), ast.Load())


class _Scope:
    """The names and statements of an inlined function."""

    def __init__(self, to: Specializer, function: Any) -> None:
        self.to, self.function = to, function
        self.names: dict[str, ast.expr] = {}

    def expression(self, tree: ast.expr) -> ast.expr:
        """Return an expression of the function in the names of the space."""
        return self.to.reduced(_NamesInSpace(self).visit(copied(tree)))

    def run(self, statements: list[ast.stmt]) -> ast.expr | None:
        """Write statements; return their result, or None without a return statement."""
        for statement in statements:
            result = self.statement(statement)
            if result is not None:
                return result
        return None

    def statement(self, statement: ast.stmt) -> ast.expr | None:
        match statement:
            case ast.Return(None):
                return ast.Constant(None)
            case ast.Return(value):
                assert value is not None
                return self.expression(value)
            case ast.If(test, body, orelse):
                known = self.to.static(self.expression(test))
                if known is None:
                    raise _NotInlined
                return self.run(body if known[0] else orelse)
            case ast.Assign([target], value):
                self.assign(target, value)
            case ast.AugAssign(ast.Name(name), operator, value):
                self.augment(name, operator, value)
            case ast.Expr(ast.Constant()) | ast.Pass() | ast.Assert():
                pass
            case ast.Expr(value):
                self.to.emit(ast.unparse(self.expression(value)))
            case ast.Try(body, _, orelse, []):
                result = self.run(body)
                return result if result is not None else self.run(orelse)
            case _:
                raise _NotInlined
        return None

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """Give names, or elements of an array, the value."""
        match target:
            case ast.Name(name):
                self.names[name] = self.to.simple(self.expression(value))
            case ast.Tuple(targets):
                parts = self.expression(value)
                if not isinstance(parts, ast.Tuple) or len(parts.elts) != len(targets):
                    raise _NotInlined
                simple = [self.to.simple(part) for part in parts.elts]
                for each, part in zip(targets, simple, strict=True):
                    if not isinstance(each, ast.Name):
                        raise _NotInlined
                    self.names[each.id] = part
            case ast.Subscript():
                text = ast.unparse(self.expression(value))
                self.to.emit(f"{ast.unparse(self.expression(target))} = {text}")
            case _:
                raise _NotInlined

    def augment(self, name: str, operator: ast.operator, value: ast.expr) -> None:
        """Write ``name += value``, in place for arrays."""
        target, text = self.names[name], ast.unparse(self.expression(value))
        if not isinstance(target, ast.Name):
            raise _NotInlined
        held = self.to.value(target)
        symbol = ast.unparse(ast.AugAssign(ast.Name("x"), operator, ast.Name("y")))[2:-2]
        if isinstance(held, np.ndarray):
            self.to.emit(f"{target.id} {symbol} {text}")
        else:
            self.names[name] = self.to.simple(parsed(f"{target.id} {symbol[:-1]} ({text})"))


class _NamesInSpace(ast.NodeTransformer):
    def __init__(self, scope: _Scope, bound: frozenset[str] = frozenset()) -> None:
        self.scope, self.bound = scope, bound

    def visit_Name(self, node: ast.Name) -> ast.AST:
        name = node.id
        if name in self.bound or isinstance(node.ctx, ast.Store) and name not in self.scope.names:
            return node
        if name in self.scope.names:
            return parsed(ast.unparse(self.scope.names[name]))
        space = self.scope.to.space
        if name in self.scope.function.__globals__:
            value = self.scope.function.__globals__[name]
            return node if value is np else ast.Name(space.constant(value, name), ast.Load())
        if hasattr(builtins, name):
            return node
        raise _NotInlined

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id not in self.scope.names:
            value = self.scope.function.__globals__.get(node.value.id)
            if isinstance(value, types.ModuleType) and value is not np:
                return ast.Name(self.scope.to.space.constant(getattr(value, node.attr), node.attr), ast.Load())
        self.generic_visit(node)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Return the known result of the first operands without evaluating the others, which may fail."""
        decides = isinstance(node.op, ast.Or)
        values: list[ast.expr] = []
        for part in node.values:
            visited: ast.expr = self.visit(part)
            known = None if isinstance(visited, ast.NamedExpr) else self.scope.to.static(visited)
            if known is not None and bool(known[0]) == decides and not values:
                return visited
            if known is None or part is node.values[-1]:
                values.append(visited)
        return values[0] if len(values) == 1 else ast.BoolOp(node.op, values)

    def visit_GeneratorExp(self, node: Any) -> ast.AST:
        own = {n.id for part in node.generators for n in ast.walk(part.target) if isinstance(n, ast.Name)}
        return ast.NodeTransformer.generic_visit(_NamesInSpace(self.scope, self.bound | own), node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp  # noqa: N815 - ast's names

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        raise _NotInlined

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        value = self.scope.expression(node.value)
        if self.scope.to.static(value) is None:
            raise _NotInlined
        self.scope.names[node.target.id] = value = self.scope.to.simple(value)
        return value


@functools.cache
def _source(function: Any) -> ast.FunctionDef:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if not isinstance(tree, ast.FunctionDef) or tree.name != function.__name__ or function.__closure__:
        raise _NotInlined
    return tree
