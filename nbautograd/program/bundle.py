"""The source of functions with everything that they use: what a program needs beside NumPy, in its own file.

A name in a module of this package stands for the statement there that binds it. That statement is taken over, then the
statements of the names in it, and so on; names from other packages become imports. Annotations and decorators that
declare operations are left out; of a docstring, its first line stays.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
import sys
from typing import Any

from nbautograd.compiler.registry import OPS
from nbautograd.program import stand_ins
from nbautograd.program.scopes import global_names, local_names, renamed
from nbautograd.program.stand_ins import STAND_INS, exception_base

__all__ = ["Bundle", "NotBundled"]

PACKAGE = "nbautograd"
DECLARING = ("op", "derivative_helper", "looks_at_elements")
"""Decorators of this package; without them a function is its body over arrays."""
FOR_TENSORS = ("composite", "with_numpy_names", "with_argument_errors")
"""Decorators of functions that no array reaches: bodies that know tensors, too, name them."""

_OUTSIDE = "import"

Key = tuple[str, str]
"""A module and a name in it; or ``"import"`` and the statement that imports something of another package."""


class NotBundled(Exception):  # noqa: N818 - a way out
    """The source of something cannot be taken over: it was made when the program ran."""


class _Definition:
    """A statement in the program: what it binds, and which other definitions it needs."""

    def __init__(self, text: str, now: set[str], later: set[str], runs: bool) -> None:
        self.text, self.runs = text, runs
        self.now = now
        """Names that are looked up when the statement itself runs: in a base class, a default, an assigned value."""
        self.later = later
        """Names that are looked up when a function that it defines runs."""


class Bundle:
    """Definitions that a program needs, each under a name of its own, in an order in which they can run."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        """Names that are not free."""
        self.names: dict[Key, str] = {}
        self.definitions: dict[str, _Definition] = {}
        self.imports: dict[str, str] = {}
        """The import that binds each name."""

    def function(self, function: Any) -> str:
        """The name of a function or class of this package in the program."""
        return self.name(function.__module__, function.__qualname__)

    def name(self, module: str, name: str) -> str:
        """The name in the program of what ``name`` is in ``module``; its source is taken over if that is not done yet.

        :raises NotBundled: it has no source that could be taken over.
        """
        key = _resolved(module, name)
        if key not in self.names:
            before = self.snapshot()
            try:
                self._add(key)
            except NotBundled:
                self.restore(before)
                raise
        return self.names[key]

    def snapshot(self) -> Any:
        """What there is now, for ``restore``."""
        return dict(self.names), dict(self.definitions), dict(self.imports)

    def restore(self, snapshot: Any) -> None:
        """Forget what has been added since."""
        added = {*self.names.values(), *self.definitions} - {*snapshot[0].values(), *snapshot[1]}
        self.taken -= added - {"np"}
        self.names, self.definitions, self.imports = map(dict, snapshot)

    def source(self) -> str:
        """All definitions, each after those that it needs when it runs."""
        order: dict[str, None] = {}
        waiting: set[str] = set()

        def visit(name: str) -> None:
            definition = self.definitions.get(name)
            if definition is None or name in order or name in waiting:
                return
            waiting.add(name)
            for needed in sorted(definition.now):
                visit(needed)
            if definition.runs:  # it may call functions, which look up what they need
                for needed in self._reached(name):
                    if not self._needs_now(needed) & waiting:
                        visit(needed)
            waiting.discard(name)
            order[name] = None

        for name in self.definitions:
            visit(name)
        return "\n".join(dict.fromkeys(self.definitions[name].text for name in order))

    def _reached(self, name: str) -> list[str]:
        """All definitions that one needs, also by way of others."""
        known: dict[str, None] = {}
        stack = [name]
        while stack:
            definition = self.definitions.get(stack.pop())
            if definition is not None:
                new = sorted((definition.now | definition.later) - {*known})
                known.update(dict.fromkeys(new))
                stack += new
        return [other for other in known if other != name]

    def _needs_now(self, name: str) -> set[str]:
        """A definition and those that must run before it."""
        known, stack = {name}, [name]
        while stack:
            definition = self.definitions.get(stack.pop())
            new = definition.now - known if definition is not None else set()
            known |= new
            stack += new
        return known

    def _add(self, key: Key) -> None:
        module, name = key
        if module == _OUTSIDE:
            self._import(key)
            return
        own = name if name not in self.taken else f"{module.rpartition('.')[2].lstrip('_')}_{name.lstrip('_')}"
        while own in self.taken:
            own += "_"
        self.taken.add(own)
        self.names[key] = own
        value = getattr(sys.modules.get(module), name, None)
        if inspect.isclass(value) and issubclass(value, BaseException) and module == f"{PACKAGE}.errors":
            text = f"class {own}({exception_base(value)}):\n    pass\n"
            self.definitions[own] = _Definition(text, set(), set(), False)
            return
        statement = _bindings(module).get(name)
        if statement is None:
            raise NotBundled(f"{module}.{name}")
        if any(_has_decorator(statement, d) for d in FOR_TENSORS):
            text = f"def {own}(*arguments):\n    raise TypeError('for tensors only')\n"
            self.definitions[own] = _Definition(text, set(), set(), False)
            return
        self._take_over(module, statement, name, own)

    def _import(self, key: Key) -> None:
        """Something of another package, under the name that modules here give it."""
        statement = key[1]
        name = statement.rpartition(" ")[2].partition(".")[0]
        if statement != "import numpy as np":
            own = name
            while own in self.taken:
                own += "_"
            self.taken.add(own)
            self.imports[own] = statement if own == name else f"{statement.partition(' as ')[0]} as {own}"
            name = own
        self.names[key] = name

    def _take_over(self, module: str, statement: ast.stmt, name: str, own: str) -> None:
        """A statement of a module, with the names that other statements have in the program."""
        tree: Any = _Bare().visit(ast.parse(ast.unparse(statement)).body[0])
        bound = _bound(tree)
        as_formula = _has_decorator(statement, "derivative_helper")
        meanings: dict[str, str] = {name: own}
        for other in sorted(bound - {name}):  # a statement that binds several names, such as a tuple of them
            meanings[other] = self.names[module, other] = other if other not in self.taken else f"{other}_{len(self.taken)}"
            self.taken.add(meanings[other])
        tree = _Flat(self, module).visit(tree)
        definition = _Definition("", set(), set(), not isinstance(statement, ast.FunctionDef))
        for other in meanings.values():
            self.definitions[other] = definition
        for used in sorted(global_names(tree) - bound):
            if used.startswith(_FLAT):
                meanings[used] = used.removeprefix(_FLAT)
            elif as_formula and used in OPS:
                meanings[used] = self.function(OPS[used].body)
            elif used in _bindings(module):
                meanings[used] = self.name(module, used)
            elif not hasattr(builtins, used):
                raise NotBundled(f"{module}.{used}")
        taken_inside = local_names(tree)
        for used, meaning in meanings.items():
            if meaning in taken_inside and used not in bound:  # a variable of the function would hide it
                meanings[used] = self._alias(meaning)
        renamed(tree, meanings)
        own_names = {meanings[n] for n in bound}
        definition.now = (global_names(tree, now=True) & self.definitions.keys()) - own_names
        definition.later = (global_names(tree) & self.definitions.keys()) - own_names
        definition.text = ast.unparse(tree) + "\n"


    def _alias(self, name: str) -> str:
        """Another name for a definition."""
        alias = f"{name}_"
        while alias in self.taken and alias not in self.definitions:
            alias += "_"
        self.taken.add(alias)
        self.definitions[alias] = _Definition(f"{alias} = {name}\n", {name}, set(), True)
        return alias


_FLAT = "__flat__"


class _Flat(ast.NodeTransformer):
    """``precise.exp`` of a module of this package, and ``OPS["sum_to"].body``, as one name."""

    def __init__(self, bundle: Bundle, module: str) -> None:
        self.bundle, self.module = bundle, module

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: D102 - ast's name
        match node:
            case ast.Attribute(ast.Subscript(ast.Name("OPS"), ast.Constant(name)), "body"):
                return ast.Name(_FLAT + self.bundle.function(OPS[name].body), node.ctx)
            case ast.Attribute(ast.Name(name), "__wrapped__"):
                return ast.Name(name, node.ctx)
            case ast.Attribute(ast.Name(name), attribute):
                inner = module_of(self.module, name)
                if inner is not None:
                    return ast.Name(_FLAT + self.bundle.name(inner, attribute), node.ctx)
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: D102
        body: list[ast.stmt] = []
        for statement in node.body:
            if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith(PACKAGE):
                for alias in statement.names:
                    name = alias.asname or alias.name
                    inner = _submodule(statement.module or "", alias.name)
                    if inner is not None:
                        raise NotBundled(inner)
                    value = ast.Name(_FLAT + self.bundle.name(statement.module or "", alias.name), ast.Load())
                    body.append(ast.Assign([ast.Name(name, ast.Store())], value))
            else:
                body.append(statement)
        node.body = body
        self.generic_visit(node)
        return ast.fix_missing_locations(node)


class _Bare(ast.NodeTransformer):
    """Definitions without annotations, without decorators that declare, and with one line of their docstrings."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: D102
        node.returns = None
        node.decorator_list = [d for d in node.decorator_list if _decorator(d) not in DECLARING]
        _shorten(node)
        self.generic_visit(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:  # noqa: D102
        _shorten(node)
        if not any(_decorator(d) == "dataclass" for d in node.decorator_list) and not any(
            isinstance(base, ast.Name) and base.id == "NamedTuple" for base in node.bases
        ):
            self.generic_visit(node)
        else:
            for part in node.body:
                if isinstance(part, ast.AnnAssign):
                    part.annotation = ast.Constant("object")
                else:
                    self.visit(part)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:  # noqa: D102
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:  # noqa: D102
        if node.value is None:
            return ast.Pass()
        self.generic_visit(node)
        return ast.Assign([node.target], node.value, lineno=node.lineno)


def _shorten(node: ast.FunctionDef | ast.ClassDef) -> None:
    """Leave the first line of a docstring."""
    text = ast.get_docstring(node)
    if text is not None:
        node.body[0] = ast.Expr(ast.Constant(text.partition("\n")[0].rstrip()))


def _decorator(tree: ast.expr) -> str:
    while isinstance(tree, ast.Call):
        tree = tree.func
    return tree.attr if isinstance(tree, ast.Attribute) else getattr(tree, "id", "")


def _has_decorator(statement: ast.stmt, name: str) -> bool:
    return name in map(_decorator, getattr(statement, "decorator_list", ()))


# -- modules ---------------------------------------------------------------------------------------------------------


@functools.cache
def _bindings(module: str) -> dict[str, ast.stmt]:
    """For each name of a module the statement that binds it, at any depth outside of functions and classes."""
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
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    if isinstance(statement, ast.Expr):
        return set()
    bound: set[str] = set()
    own = {
        id(name)
        for part in ast.walk(statement)
        if isinstance(part, ast.comprehension)
        for name in ast.walk(part.target)
    }
    for part in ast.walk(statement):
        if id(part) in own:
            continue
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            bound.add(part.id)
        elif isinstance(part, (ast.FunctionDef, ast.ClassDef)):
            bound.add(part.name)
        elif isinstance(part, (ast.Import, ast.ImportFrom)):
            bound |= {alias.asname or alias.name.partition(".")[0] for alias in part.names}
    return bound


def _submodule(package: str, name: str) -> str | None:
    path = f"{package}.{name}"
    return path if path in sys.modules else None


def module_of(module: str, name: str) -> str | None:
    """The module of this package that a name of a module stands for; None if it stands for something else."""
    statement = _bindings(module).get(name)
    if not isinstance(statement, ast.ImportFrom) or not (statement.module or "").startswith(PACKAGE):
        return None
    for alias in statement.names:
        if (alias.asname or alias.name) == name:
            return _submodule(statement.module or "", alias.name)
    return None


@functools.cache
def _resolved(module: str, name: str) -> Key:
    """Where in this package a name is defined that a module imports."""
    seen = set()
    while (module, name) not in seen and module != _OUTSIDE:
        seen.add((module, name))
        if (module, name) in STAND_INS:
            return stand_ins.__name__, STAND_INS[module, name]
        if "." in name:
            raise NotBundled(f"{module}.{name}")
        statement = _bindings(module).get(name)
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            break
        for alias in statement.names:
            if (alias.asname or alias.name.partition(".")[0]) != name:
                continue
            if isinstance(statement, ast.Import):
                return _OUTSIDE, f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
            if not (statement.module or "").startswith(PACKAGE):
                renaming = f" as {alias.asname}" if alias.asname else ""
                return _OUTSIDE, f"from {statement.module} import {alias.name}{renaming}"
            module, name = statement.module or "", alias.name
    return module, name
