"""Choose the result of ``import torch`` in a notebook, and explain cells that use names of both libraries.

``%autograd torch`` puts nbautograd in PyTorch's place where PyTorch is not installed; where it is, only ``%autograd
torch nbautograd`` does. After ``import nbautograd as torch``, ``from torch import nn`` gives the real PyTorch's, or
fails if it is not installed. This module never imports PyTorch: it recognizes its objects by name.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from nbautograd._engine.base.users_code import failed_expression
from nbautograd.errors import is_pytorchs
from nbautograd.viz.language import say

__all__ = ["CHOICES", "Mixing", "choose", "stop"]

OURS, THEIRS = __name__.partition(".")[0], "torch"
PICTURES = f"{OURS}.viz"
"""Functions that show tensors of both libraries, meant to be used beside PyTorch."""
SHORT = {"F": "functional"}
"""Names that everybody gives to modules, beside the modules' own."""
EXPLAINED = (TypeError, RuntimeError, AttributeError, ValueError)


class Mixing:
    """Watches the cells of one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.named: set[str] = set()  # error count before the running cell
        self.told: set[tuple[str, int]] = set()  # names in a message, with their objects

    def before_cell(self, info: Any) -> None:
        """Look at the imports of a cell that is about to run (IPython's event ``pre_run_cell``)."""
        code = getattr(info, "raw_cell", None) or ""
        if THEIRS not in code or "import" not in code or info.silent or stands_in():
            return
        if not is_installed():  # the import will fail, and its error explains why
            return
        imports = self._imports(code)
        ours = _is_ours(self.shell.user_ns.get(THEIRS))
        if not ours and f"import {OURS} as {THEIRS}" not in map(ast.unparse, imports):
            return
        wrong = [part for node in imports for part in _theirs(node)]
        if wrong:
            names, fixes = map(dict.fromkeys, zip(*wrong, strict=True))
            print(say("mixed_import", names=", ".join(names), fix="; ".join(fixes)))
            self.named = {*names}

    def _imports(self, code: str) -> list[ast.Import | ast.ImportFrom]:
        """Return the imports of a cell; none of one that cannot be parsed."""
        try:
            tree = ast.parse(self.shell.transform_cell(code))
        except (SyntaxError, ValueError):
            return []
        return [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]

    def after_cell(self, result: Any) -> None:
        """Check the variables that a cell has left (IPython's event ``post_run_cell``)."""
        named, self.named = self.named, set()
        error = getattr(result, "error_in_exec", None)
        missing = explain_missing(error)
        if missing:
            print(missing)
        if sys.modules.get(THEIRS) is None or stands_in() or named:
            self.told |= {(name, id(value)) for name, value in self.mixed() if name in named}
            return
        mixed = [(name, value) for name, value in self.mixed() if (name, id(value)) not in self.told]
        if mixed:
            self._tell(mixed)
        elif isinstance(error, EXPLAINED) and "PyTorch" not in str(error):
            self.explain(error)

    def _tell(self, mixed: list[tuple[str, Any]]) -> None:
        self.told |= {(name, id(value)) for name, value in mixed}
        ours = _is_ours(self.shell.user_ns[THEIRS])
        fix = "; ".join(_import_of(name, value, OURS if ours else THEIRS) for name, value in mixed)
        print(say("mixed_import" if ours else "mixed_ours", names=", ".join(dict(mixed)), fix=fix))

    def mixed(self) -> list[tuple[str, Any]]:
        """The variables that say ``torch`` and are of another library than the variable ``torch``."""
        meant = self.shell.user_ns.get(THEIRS)
        if not isinstance(meant, ModuleType):
            return []
        other = THEIRS if _is_ours(meant) else OURS
        variables = [(name, value) for name, value in list(self.shell.user_ns.items()) if _as_usual(name, value)]
        return [(name, value) for name, value in variables if name not in (THEIRS, OURS) and _is_of(value, other)]

    def explain(self, error: Exception) -> None:
        """Say which names of a call or an operator that has failed are of which library, if they are of both."""
        trace, cell = error.__traceback__, None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename in getattr(self.shell.compile, "_filename_map", {}):
                cell = trace
            trace = trace.tb_next
        met = None if cell is None else failed_expression(cell)
        if cell is None or not isinstance(met, (ast.Call, ast.BinOp, ast.Compare)):
            return
        scope = {**cell.tb_frame.f_globals, **cell.tb_frame.f_locals}
        named = dict(_named(met, scope))
        ours, theirs = ([name for name, value in named.items() if _is_of(value, one)] for one in (OURS, THEIRS))
        if ours and theirs:
            print(say("mixed_line", n=cell.tb_lineno, ours=", ".join(ours), theirs=", ".join(theirs)))


def _named(tree: ast.AST, scope: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Return the names in an expression that refer to an object, such as ``F.relu`` or a member of a module."""
    if isinstance(tree, ast.Name) and tree.id in scope:
        yield tree.id, scope[tree.id]
    elif isinstance(tree, ast.Attribute):
        for name, value in _named(tree.value, scope):
            if name == ast.unparse(tree.value) and isinstance(value, ModuleType):
                yield f"{name}.{tree.attr}", getattr(value, tree.attr, None)
            else:
                yield name, value
    else:
        for child in ast.iter_child_nodes(tree):
            yield from _named(child, scope)


def _is_ours(module: Any) -> bool:
    return module is sys.modules[OURS]


def _is_of(value: Any, package: str) -> bool:
    """Return whether a module, class, function or object is of a library, or of a class derived from one of its."""
    if isinstance(value, ModuleType):
        home = value.__name__
    elif isinstance(value, type) or (callable(value) and not hasattr(type(value), "__torch_function__")):
        home = getattr(value, "__module__", None) or ""
    else:
        home = ""
    home = getattr(home, "ours", home)  # while nbautograd stands in, its names are PyTorch's
    if home.partition(".")[0] == package:
        return not home.startswith(PICTURES)
    if isinstance(value, (ModuleType, type)):
        return False
    if package == THEIRS:
        return is_pytorchs(value)
    homes = [getattr(cls.__module__, "ours", cls.__module__) for cls in type(value).__mro__]
    return any(home.partition(".")[0] == package and not home.startswith(PICTURES) for home in homes)


def _as_usual(name: str, value: Any) -> bool:
    """Return whether the name is the usual one of all programs, so that readers take it for ``torch``."""
    if not isinstance(value, (ModuleType, type)):
        return False
    own = value.__name__.rpartition(".")[2]
    if SHORT.get(name, name) != own:
        return False
    if not isinstance(value, ModuleType):
        return value.__module__.partition(".")[0] == THEIRS
    theirs = THEIRS + value.__name__[len(OURS) :]  # PyTorch has none of the name of ours alone, such as ``viz``
    return value.__name__.partition(".")[0] == THEIRS or theirs in sys.modules


def _import_of(name: str, value: Any, package: str) -> str:
    """The import statement that gets the same from another library."""
    if not isinstance(value, ModuleType):
        path = value.__module__.split(".")
        public = [part for part in path[1:] if part in ("nn", "optim", "utils", "data", "autograd", "func")]
        return f"from {'.'.join([package, *public])} import {name}"
    above, _, own = value.__name__.rpartition(".")
    renamed = "" if name == own else f" as {name}"
    return f"from {package}{above.partition('.')[1]}{above.partition('.')[2]} import {own}{renamed}"


def _theirs(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """The names that an import takes from PyTorch as if they were of ``torch``, each with its replacement."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            path = "" if node.level else str(node.module)
            bound, own = alias.asname or alias.name, alias.name
            fix = f"from {OURS}{path[len(THEIRS) :]} import {alias.name}"
        else:
            path = alias.name
            bound, own = alias.asname or THEIRS, path.rpartition(".")[2] if alias.asname else THEIRS
            fix = f"import {OURS}{path[len(THEIRS) :]}" + (f" as {THEIRS}" if path == THEIRS else "")
        if path.partition(".")[0] == THEIRS and SHORT.get(bound, bound) == own:
            yield bound, fix + (f" as {alias.asname}" if alias.asname and path != THEIRS else "")


CHOICES = ("", "nbautograd", "on", "off")
"""The arguments of ``%autograd torch``."""
_stand_in = import_module(OURS).standing_in(THEIRS)
stop: Callable[[], None] = _stand_in.stop
"""Restores the state of ``import torch`` before :func:`choose`."""


def stands_in() -> bool:
    """Return whether ``import torch`` gives nbautograd."""
    return sys.modules.get(THEIRS) is sys.modules[OURS]


def is_installed() -> bool:
    """Return whether ``import torch`` finds PyTorch."""
    try:
        return find_spec(THEIRS) is not None
    except ValueError:  # a module without a spec
        return True


def choose(word: str) -> str:
    """Carry out ``%autograd torch WORD``; return the line to print, if any.

    :param word: one of ``CHOICES``.
    """
    if word == "off":
        stop()
    if word in ("on", "off") or (not word and stands_in()):
        return say("torch_is_ours") if stands_in() else ""
    if not word and is_installed():
        return say("torch_is_theirs")
    if not stands_in():
        _stand_in.start()
    return say("torch_is_ours")


def explain_missing(error: BaseException | None) -> str:
    """The line to print where a cell failed because PyTorch is not installed; nothing for other errors."""
    missing = isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == THEIRS
    return say("torch_missing") if missing and not stands_in() and not is_installed() else ""
