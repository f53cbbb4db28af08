"""Names in code: which are global, renaming those, and any text as a name."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any

__all__ = [
    "RESERVED", "bound_by", "bound_outside", "common_start", "global_names", "identifier", "local_names", "renamed",
]  # fmt: skip

RESERVED = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "np", "torch", "data", "plus"}


@lru_cache(2000)
def identifier(text: str) -> str:
    """Any text as an identifier: letters, digits and underscores of it, in the form that Python compares.

    >>> identifier("net.0.weight"), identifier("lambda"), identifier("2x"), identifier("w; import os")
    ('net_0_weight', 'lambda_', 'x2x', 'w_import_os')
    """
    name = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", text)).strip("_") or "x"
    name = "".join(part for part in name if part == "_" or f"a{part}".isidentifier())
    if not name.isidentifier():
        name = f"x{name}"
    if not name.isidentifier():
        name = "x"
    return f"{name}_" if name in RESERVED or name.startswith("__") else name


def common_start(paths: Iterable[Sequence[str]]) -> list[str]:
    """Return the parts with which all of these paths begin."""
    return [parts[0] for parts in takewhile(lambda parts: len({*parts}) == 1, zip(*paths, strict=False))]


# -- global names ------------------------------------------------------------------------------------------------------

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BINDS = {*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef}


def global_names(tree: ast.AST, now: bool = False) -> set[str]:
    r"""The names that a statement of a module, or an expression, takes from outside of it.

    :param now: only those that it looks up when it runs, not those in the functions that it defines.

    >>> sorted(global_names(ast.parse("def f(x):\n    y = x + z\n    return [y for y in g(y)]")))
    ['g', 'z']
    """
    return {name.id for name in bound_outside(tree, now)}


def renamed(tree: Any, names: Mapping[str, str]) -> Any:
    """The tree with other names for its outer variables, and for the function or class that it defines."""
    if not names:
        return tree
    for node in bound_outside(tree):
        node.id = names.get(node.id, node.id)
    if isinstance(tree, (ast.FunctionDef, ast.ClassDef)):
        tree.name = names.get(tree.name, tree.name)
    return tree


def local_names(tree: ast.AST) -> set[str]:
    """All names that functions in a piece of code bind."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            names |= _locals(node)
        elif isinstance(node, ast.comprehension):
            names |= {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
    return names


def bound_outside(tree: ast.AST, now: bool = False) -> list[ast.Name]:
    """Return the names in a statement or an expression that are no variables of a function or comprehension in it."""
    found: list[ast.Name] = []
    _find_globals(tree, (), now, found)
    return found


def _find_globals(node: Any, scopes: tuple[set[str], ...], now: bool, found: list[ast.Name]) -> None:
    kind = node.__class__
    if kind is ast.Name:
        if not any(node.id in scope for scope in scopes):
            found.append(node)
    elif kind not in _BINDS:
        parts = vars(node)
        for name in kind._fields:
            value = parts.get(name)
            for part in value if value.__class__ is list else (value,):
                if isinstance(part, ast.AST) and part._fields:  # an operator or a context has no name
                    _find_globals(part, scopes, now, found)
    elif isinstance(node, _FUNCTIONS):
        _find_in_function(node, scopes, now, found)
    elif isinstance(node, _COMPREHENSIONS):
        _find_in_comprehension(node, scopes, now, found)
    else:
        _find_in_class(node, scopes, now, found)


def _find_in_function(node: Any, scopes: tuple[set[str], ...], now: bool, found: list[ast.Name]) -> None:
    for part in (*node.args.defaults, *filter(None, node.args.kw_defaults), *getattr(node, "decorator_list", ())):
        _find_globals(part, scopes, now, found)
    if not now or isinstance(node, ast.Lambda):
        inner = (*scopes, _locals(node))
        for part in node.body if isinstance(node.body, list) else [node.body]:
            _find_globals(part, inner, now, found)


def _find_in_comprehension(node: Any, scopes: tuple[set[str], ...], now: bool, found: list[ast.Name]) -> None:
    first, *rest = node.generators
    targets = {name.id for part in node.generators for name in ast.walk(part.target) if isinstance(name, ast.Name)}
    inner = (*scopes, targets)
    _find_globals(first.iter, scopes, now, found)  # of the scope around
    results = [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.comprehension)]
    loops = [first.target, *first.ifs, *(child for part in rest for child in (part.target, part.iter, *part.ifs))]
    for part in (*results, *loops):
        _find_globals(part, inner, now, found)


def _find_in_class(node: Any, scopes: tuple[set[str], ...], now: bool, found: list[ast.Name]) -> None:
    for part in (*node.bases, *(k.value for k in node.keywords), *node.decorator_list):
        _find_globals(part, scopes, now, found)
    own = {s.name for s in node.body if isinstance(s, ast.FunctionDef)}
    for statement in node.body:
        if not isinstance(statement, _FUNCTIONS):
            own |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for part in node.body:
        _find_globals(part, scopes if isinstance(part, _FUNCTIONS) else (*scopes, own), now, found)


def _locals(function: Any) -> set[str]:
    """The names that a function binds."""
    arguments = function.args
    names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    names |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None}
    declared_global: set[str] = set()
    waiting: list[ast.AST] = list(function.body) if isinstance(function.body, list) else [function.body]
    while waiting:
        node = waiting.pop()
        names |= bound_by(node)
        if isinstance(node, (ast.Lambda, *_COMPREHENSIONS)):
            names |= {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)}
        elif isinstance(node, ast.Global):
            declared_global |= set(node.names)
        elif not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)
    return names - declared_global


def bound_by(node: ast.AST) -> set[str]:
    """Return the names that a node of a syntax tree binds, without its parts."""
    match node:
        case ast.Name(name, ast.Store()) | ast.FunctionDef(name) | ast.ClassDef(name):
            return {name}
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(str(name)):
            return {name}
        case ast.Import(names) | ast.ImportFrom(names=names):
            return {alias.asname or alias.name.partition(".")[0] for alias in names}
    return set()
