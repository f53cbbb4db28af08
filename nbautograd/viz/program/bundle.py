"""Collect the source of functions with all their dependencies in one file, for programs that need only NumPy.

A name in a module of this package stands for the statement there that binds it. That statement is taken over, then the
statements of the names in it, and so on; names from other packages become imports. Annotations and decorators that
declare operations are left out; of a docstring, its first line stays. What a statement takes from outside of it is
known by module and name: ``precise.exp``, ``OPS["sum_to"].body`` and what a function imports are such names, too.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
import re
import sys
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from nbautograd._engine.compiler.schema import OPS
from nbautograd.viz.program import stand_ins
from nbautograd.viz.program.names import bound_by, global_names, local_names, renamed
from nbautograd.viz.program.stand_ins import STAND_INS, exception_base

__all__ = ["PARTS", "Bundle", "NotBundled", "module_of"]

PACKAGE = "nbautograd"
PARTS = ("names", "statements", "imports")
"""The tables of a bundle, which only grow."""
DECLARING = (
    "op", "elementwise", "no_method", "special", "real_function", "pointwise", "derivative_helper",
    "looks_at_elements", "example", "seeded",
)  # fmt: skip
"""Decorators of this package; without them a function is its body over arrays."""
FOR_TENSORS = ("composite", "with_numpy_names", "with_argument_errors")
"""Decorators of functions without array arguments: also named by bodies that know tensors."""
OUTSIDE = "import"
Key = tuple[str, str]
"""A module and a name in it; or ``"import"`` and the statement that imports something of another package."""


class NotBundled(Exception):  # noqa: N818 - a way out
    """The source of something cannot be taken over: it was made when the program ran."""


@dataclass(frozen=True)
class Definition:
    """A statement, in which ``__name_0__`` and so on stand for names that it binds or takes from elsewhere."""

    text: str
    names: dict[str, Key]
    """The definitions that those names refer to."""
    bound: tuple[str, ...]
    """The names that it binds."""
    now: frozenset[str]
    """The names that it looks up when it runs: in a base class, a default, an assigned value."""
    local: frozenset[str]
    """Variables of the functions in it."""
    runs: bool
    """True if it does more than define a function."""


@functools.cache
def definition(key: Key) -> Definition:
    """Return the definition of a name; raise NotBundled if it has none in the source."""
    module, name = key
    value = getattr(sys.modules.get(module), name, None)
    if inspect.isclass(value) and issubclass(value, BaseException) and module == f"{PACKAGE}.errors":
        return _simple(f"class __name_0__({exception_base(value)}):\n    pass\n", key)
    statement = _bindings(module).get(name)
    if statement is None:
        raise NotBundled(f"{module}.{name}")
    decorators = {*map(_decorator, getattr(statement, "decorator_list", ()))}
    if decorators & {*FOR_TENSORS}:
        return _simple("def __name_0__(*arguments):\n    raise TypeError('for tensors only')\n", key)
    flat = _Flat(module)
    tree: Any = flat.visit(_Bare().visit(ast.parse(ast.unparse(statement)).body[0]))
    bound = _bound(tree)
    keys: dict[str, Key] = {other: (module, other) for other in sorted(bound)}
    keys |= flat.used(global_names(tree) - bound, OPS if "derivative_helper" in decorators else {})
    marks = {used: f"__name_{i}__" for i, used in enumerate(keys)}
    renamed(tree, marks)
    return Definition(
        ast.unparse(tree) + "\n", {marks[used]: other for used, other in keys.items()},
        tuple(marks[used] for used in sorted(bound)),
        frozenset(global_names(tree, now=True) & {*marks.values()}) - {marks[used] for used in bound},
        frozenset(local_names(tree)), not isinstance(statement, ast.FunctionDef),
    )  # fmt: skip


def _simple(text: str, key: Key) -> Definition:
    return Definition(text, {"__name_0__": key}, ("__name_0__",), frozenset(), frozenset(), False)


class _Flat(ast.NodeTransformer):
    """``precise.exp`` of a module of this package, and ``OPS["sum_to"].body``, as one name each."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.keys: dict[str, Key] = {}

    def name(self, key: Key) -> ast.Name:
        name = f"__flat_{len(self.keys)}__"
        self.keys[name] = key
        return ast.Name(name, ast.Load())

    def used(self, names: set[str], operations: Mapping[str, Any]) -> dict[str, Key]:
        """Return the definitions of the names that a statement takes from outside, but for Python's own."""
        keys: dict[str, Key] = {}
        for name in sorted(names):
            if name in self.keys:
                keys[name] = self.keys[name]
            elif name in operations:
                body = operations[name].body
                keys[name] = resolved(body.__module__, body.__qualname__)
            elif name in _bindings(self.module):
                keys[name] = resolved(self.module, name)
            elif not hasattr(builtins, name):
                raise NotBundled(f"{self.module}.{name}")
        return keys

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        match node:
            case ast.Attribute(ast.Subscript(ast.Name("OPS"), ast.Constant(str(name))), "body"):
                body = OPS[name].body
                return self.name(resolved(body.__module__, body.__qualname__))
            case ast.Attribute(ast.Name() as name, "__wrapped__"):
                return name
            case ast.Attribute(ast.Name(name), attribute) if (inner := module_of(self.module, name)) is not None:
                return self.name(resolved(inner, attribute))
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        body: list[ast.stmt] = []
        statement: Any
        for statement in node.body:
            if _is_import_of_ours(statement):
                for alias in statement.names:
                    if _submodule(statement.module, alias.name) is not None:
                        raise NotBundled(f"{statement.module}.{alias.name}")
                    value = self.name(resolved(statement.module, alias.name))
                    body.append(ast.Assign([ast.Name(alias.asname or alias.name, ast.Store())], value))
            else:
                body.append(statement)
        node.body = body
        self.generic_visit(node)
        return ast.fix_missing_locations(node)


class _Bare(ast.NodeTransformer):
    """Definitions without annotations, without decorators that declare, and with one line of their docstrings."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        node.decorator_list = [d for d in node.decorator_list if _decorator(d) not in DECLARING]
        _shorten(node)
        self.generic_visit(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        _shorten(node)
        if {"dataclass", "NamedTuple"} & {*map(_decorator, (*node.decorator_list, *node.bases))}:  # it has fields
            for part in node.body:
                if isinstance(part, ast.AnnAssign):
                    part.annotation = ast.Constant("object")
                else:
                    self.visit(part)
            return node
        node.body = [s for s in node.body if not isinstance(s, ast.AnnAssign) or s.value is not None] or [ast.Pass()]
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        return ast.Pass() if node.value is None else ast.Assign([node.target], node.value, lineno=node.lineno)


def _shorten(node: ast.FunctionDef | ast.ClassDef) -> None:
    """Leave the first line of a docstring."""
    text = ast.get_docstring(node)
    if text is not None:
        node.body[0] = ast.Expr(ast.Constant(text.partition("\n")[0].rstrip()))


def _decorator(tree: ast.expr) -> str:
    """Return the name of a decorator, or of a base class."""
    while isinstance(tree, ast.Call):
        tree = tree.func
    return tree.attr if isinstance(tree, ast.Attribute) else getattr(tree, "id", "")


# -- modules ---------------------------------------------------------------------------------------------------------


@functools.cache
def _bindings(module: str) -> dict[str, ast.stmt]:
    """For each name of a module the statement that binds it."""
    source = inspect.getsource(importlib.import_module(module))
    bindings: dict[str, ast.stmt] = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            continue
        for name in _bound(statement):
            if isinstance(statement, ast.AugAssign) and name in bindings:  # both belong to the definition
                bindings[name] = ast.If(ast.Constant(True), [bindings[name], statement], [])
            else:
                bindings[name] = statement
    return bindings


def _bound(statement: ast.AST) -> set[str]:
    """The names that a statement of a module binds."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, ast.Expr):
        return set()
    comprehensions = (part for part in ast.walk(statement) if isinstance(part, ast.comprehension))
    own = {id(name) for part in comprehensions for name in ast.walk(part.target)}
    return set[str]().union(*(bound_by(part) for part in ast.walk(statement) if id(part) not in own))


def _submodule(package: str, name: str) -> str | None:
    path = f"{package}.{name}"
    return path if path in sys.modules else None


def _is_import_of_ours(statement: Any) -> bool:
    return isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith(PACKAGE)


def _imported(statement: Any, name: str) -> ast.alias:
    """Return the part of an import statement that binds a name."""
    aliases: list[ast.alias] = statement.names
    return next(alias for alias in aliases if (alias.asname or alias.name.partition(".")[0]) == name)


def module_of(module: str, name: str) -> str | None:
    """The module of this package that a name of a module stands for; None if it stands for something else."""
    statement: Any = _bindings(module).get(name)
    return _submodule(statement.module, _imported(statement, name).name) if _is_import_of_ours(statement) else None


@functools.cache
def resolved(module: str, name: str) -> Key:
    """Return the place that defines an imported name, or its stand-in."""
    seen = set()
    while (module, name) not in seen:
        seen.add((module, name))
        if (module, name) in STAND_INS:
            return stand_ins.__name__, name
        if "." in name:
            raise NotBundled(f"{module}.{name}")
        statement: Any = _bindings(module).get(name)
        if type(statement) not in (ast.Import, ast.ImportFrom):
            break
        alias = _imported(statement, name)
        if not _is_import_of_ours(statement):
            statement = copy(statement)
            statement.names = [alias]
            return OUTSIDE, ast.unparse(statement)
        module, name = statement.module, alias.name
    return module, name


# -- the bundle ------------------------------------------------------------------------------------------------------

_MARK = re.compile(r"__name_\d+__")


@dataclass
class _Taken:
    """A statement in the program: its text, and the names of others that it needs."""

    text: str
    runs: bool
    now: set[str] = field(default_factory=set)
    """The names that it looks up when it runs."""
    later: set[str] = field(default_factory=set)
    """The names that its functions look up when they run."""


@dataclass
class Bundle:
    """Definitions that a program needs, each under a name of its own, in an order in which they can run."""

    taken: set[str]
    """Names that are not free."""
    named_only: bool = False
    """True if functions get names, and no source is copied."""
    names: dict[Key, str] = field(default_factory=dict)
    statements: dict[str, _Taken] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    """The import that binds each name."""

    def name(self, module: str, name: str) -> str:
        """Return the program's name for ``name`` of ``module``, and copy its source; raise NotBundled without it."""
        return self._name(resolved(module, name))

    def imported(self, module: str, name: str, is_body: bool) -> str:
        """The name of something whose source cannot be taken over: it is imported from this package."""
        key = (module, name)
        if key not in self.names:
            own = self.names[key] = self._free(name)
            self.imports[own] = f"from {module} import {name}" + (f" as {own}" if own != name else "")
            if is_body:  # in the package, this name is the operation on tensors
                self.statements[own] = _Taken(f"{own} = {own}.__wrapped__\n", True)
        return self.names[key]

    def _name(self, key: Key) -> str:
        if key not in self.names and self.named_only:
            self.names[key] = self._free(key[1].rpartition(" ")[2])
        if key not in self.names:
            before = {part: len(getattr(self, part)) for part in PARTS}
            try:
                self._import(key) if key[0] == OUTSIDE else self._take_over(definition(key))
            except Exception:
                self.restore(before)
                raise
        return self.names[key]

    def restore(self, sizes: Mapping[str, int]) -> None:
        """Forget what has been added since ``PARTS`` had these sizes; nothing in them is ever replaced."""
        before = {*self.names.values(), *self.statements}
        for part, size in sizes.items():
            while len(getattr(self, part)) > size:
                getattr(self, part).popitem()
        self.taken -= before - {*self.names.values(), *self.statements, "np"}

    def _free(self, name: str, module: str = "") -> str:
        own = name if name not in self.taken or not module else f"{module}_{name.lstrip('_')}"
        while own in self.taken:
            own += "_"
        self.taken.add(own)
        return own

    def _import(self, key: Key) -> None:
        """An object of another package, under its name in these modules."""
        statement = key[1]
        name = statement.rpartition(" ")[2].partition(".")[0]
        if statement != "import numpy as np":
            own = self._free(name)
            self.imports[own] = statement if own == name else f"{statement.partition(' as ')[0]} as {own}"
            name = own
        self.names[key] = name

    def _take_over(self, source: Definition) -> None:
        """A statement of a module, with the names that other statements have in the program."""
        statement = _Taken("", source.runs)
        names: dict[str, str] = {}
        for mark in source.bound:
            other = source.names[mark]
            names[mark] = self.names[other] = self._free(other[1], other[0].rpartition(".")[2].lstrip("_"))
            self.statements[names[mark]] = statement
        for mark, other in source.names.items():
            if mark not in names:
                names[mark] = self._name(other)
                if names[mark] in source.local:  # a variable of the function would hide it
                    names[mark] = self._alias(names[mark])
        own = {names[mark] for mark in source.bound}
        statement.now = {names[mark] for mark in source.now}
        statement.later = {*names.values()} - own
        statement.text = _MARK.sub(lambda mark: names[mark[0]], source.text)

    def _alias(self, name: str) -> str:
        """Another name for a definition."""
        alias = f"{name}_"
        while alias in self.taken:
            if alias in self.statements and self.statements[alias].text == f"{alias} = {name}\n":
                return alias
            alias += "_"
        self.taken.add(alias)
        self.statements[alias] = _Taken(f"{alias} = {name}\n", True, {name})
        return alias

    # -- order ---------------------------------------------------------------------------------------------------------

    def source(self) -> str:
        """All definitions, each after those that it needs when it runs."""
        order: dict[str, None] = {}
        waiting: set[str] = set()

        def visit(name: str) -> None:
            statement = self.statements.get(name)
            if statement is None or name in order or name in waiting:
                return
            waiting.add(name)
            for needed in sorted(statement.now):
                visit(needed)
            if statement.runs:  # it may call functions, which look up their names
                for needed in self._reached(name):
                    if waiting.isdisjoint([needed, *self._reached(needed, later=False)]):
                        visit(needed)
            waiting.discard(name)
            order[name] = None

        for name in self.statements:
            visit(name)
        return "\n".join(dict.fromkeys(self.statements[name].text for name in order))

    def _reached(self, name: str, later: bool = True) -> list[str]:
        """Return all definitions that one needs, directly or indirectly: when it runs, or ``later``, too."""
        known: dict[str, None] = {}
        stack = [name]
        while stack:
            statement = self.statements.get(stack.pop())
            if statement is not None:
                new = sorted((statement.now | statement.later if later else statement.now) - {*known})
                known.update(dict.fromkeys(new))
                stack += new
        return [other for other in known if other != name]
