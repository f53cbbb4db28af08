"""Source code of functions: read back as an expression, and compiled from text."""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import linecache
import textwrap
import types
from collections.abc import Callable
from typing import Any, TypeVar

Tree = TypeVar("Tree")


def parsed(text: str) -> ast.expr:
    """Return the tree of an expression."""
    return ast.parse(text, mode="eval").body


def expression_of(body: Callable[..., Any]) -> ast.expr | None:
    """Return the expression of a body that is only ``return expression``; the caller may change it."""
    statements = _read(body)
    return copied(statements[0].value) if statements is not None and len(statements) == 1 else None


def steps_of(body: Callable[..., Any]) -> tuple[list[tuple[str, ast.expr]], ast.expr] | None:
    """Return names with the expressions assigned to them, and the result, if a function consists only of these."""
    statements = copied(_read(body))
    if statements is None:
        return None
    return [(s.targets[0].id, s.value) for s in statements[:-1]], statements[-1].value


def copied(tree: Tree) -> Tree:
    """Copy a syntax tree: its fields and positions, without the attributes that other tools attach.

    Through the ``parent`` of ``executing``, by which IPython finds lines, ``copy.deepcopy`` would copy a whole file.
    """
    if isinstance(tree, list):
        return [copied(part) for part in tree]  # type: ignore[return-value]
    if not isinstance(tree, ast.AST) or not (tree._fields or tree._attributes):
        return tree
    values, kind = vars(tree), type(tree)
    made = kind.__new__(kind)
    parts = vars(made)
    for name in (*tree._fields, *tree._attributes):
        if name in values:
            part = values[name]
            is_tree = part.__class__ is list or isinstance(part, ast.AST) and part._fields
            parts[name] = copied(part) if is_tree else part
    return made


def rewritten(tree: Any, change: Callable[[Any], Any], outside_in: bool = False) -> Any:
    """Return a tree, changed in place, in which each part is what ``change`` returns for it.

    :param change: gets a part after the parts in it, and returns another tree or the part itself.
    :param outside_in: ``change`` gets a part before the parts in it, which it gets only if it returned the part itself.

    >>> tree = parsed("conj(x) * 2")
    >>> ast.unparse(rewritten(tree, lambda part: ast.Constant(3) if isinstance(part, ast.Constant) else part))
    'conj(x) * 3'
    """
    if outside_in:
        part = change(tree)
        if part is not tree:
            return part
    for name in tree._fields:
        part = getattr(tree, name, None)
        if part.__class__ is list:
            part[:] = [rewritten(p, change, outside_in) if isinstance(p, ast.AST) else p for p in part]
        elif isinstance(part, ast.AST) and part._fields:  # ast.Load() and such have none
            setattr(tree, name, rewritten(part, change, outside_in))
    return tree if outside_in else change(tree)


@functools.cache  # an operation's body is needed for its function, its in-place method, and other formulas
def _read(body: Callable[..., Any]) -> list[Any] | None:
    """Return a function's statements: assignments to one name each, and the returned value; None if it has others."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(body))).body[0]
    except (OSError, SyntaxError):
        return None  # no source available: the body is called instead of inlined
    if not isinstance(tree, ast.FunctionDef) or not _is_source_of(tree, body):
        return None  # the file has changed since it was imported: an upgrade under a running kernel
    statements = [s for s in tree.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    for statement in statements[:-1]:
        match statement:
            case ast.Assign([ast.Name()], _):
                continue
        return None
    if not statements or not isinstance(statements[-1], ast.Return) or statements[-1].value is None:
        return None
    return statements


def _is_source_of(tree: ast.FunctionDef, body: Callable[..., Any]) -> bool:
    """Return whether a function in the file is the one in memory."""
    if tree.name != body.__name__:
        return False
    bare = ast.FunctionDef(tree.name, tree.args, tree.body, [], None, lineno=1, col_offset=0)
    for part in ast.walk(bare.args):
        if isinstance(part, ast.arg):
            part.annotation = None
    module = compile(ast.Module([bare], []), "<source>", "exec", dont_inherit=True)
    code_in_file = next(constant for constant in module.co_consts if isinstance(constant, types.CodeType))
    return _essence(code_in_file) == _essence(body.__code__)


def _essence(code: types.CodeType) -> tuple[Any, ...]:
    """Return a code object's contents without its name lookups, which depend on the rest of the module."""
    operators = ("BINARY", "COMPARE", "UNARY", "IS_", "CONTAINS")
    done = [(i.opname, i.argrepr) for i in dis.get_instructions(code) if i.opname.startswith(operators)]
    constants = [_essence(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    return code.co_names, code.co_varnames, constants, done


def evaluated(expression: str, scope: dict[str, Any], names: dict[str, Any]) -> Any:
    """Return the value of an expression of a declaration, with ``names`` before those of ``scope``."""
    everything = {**scope, **names} if names else scope  # a large scope is not copied for each of many expressions
    return eval(_expression(expression), everything)  # as globals: a generator inside sees no other names


def evaluated_in(scope: Callable[[], dict[str, Any]], expression: str, names: dict[str, Any]) -> Any:
    """Return the value of an expression in the scope that ``scope`` returns."""
    return evaluated(expression, scope(), names)


def executed(lines: str, names: dict[str, Any]) -> None:
    """Run generated lines, which read and set ``names``."""
    exec(lines, names)


@functools.lru_cache(2000)
def _expression(text: str) -> types.CodeType:
    return compile(text, "<formula>", "eval")


def compiled(source: str, filename: str, name: str) -> types.CodeType:
    """Return the code of the only function in ``source``; debuggers and tracebacks call it ``filename``."""
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), {}, namespace)
    return namespace[name].__code__  # type: ignore[no-any-return]
