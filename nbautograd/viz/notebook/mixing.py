"""Two libraries by mistake: a cell that takes some names from nbautograd and others from PyTorch is told so, in a line.

After ``import nbautograd as torch``, ``from torch import nn`` gives the real PyTorch's, or fails where that is not
installed. PyTorch is never imported from here: what is there is told by its name.
"""

from __future__ import annotations

import ast
import linecache
import sys
import tokenize
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from IPython.core.error import UsageError

from nbautograd.errors import is_pytorchs
from nbautograd.viz.language import say

__all__ = ["Mixing", "stand_in"]

OURS, THEIRS = __name__.partition(".")[0], "torch"
PICTURES = f"{OURS}.viz"
"""Works with the tensors of both libraries."""
SHORT = {"F": "functional"}
"""Names that everybody gives to modules, beside the modules' own."""


class Mixing:
    """Watches the cells of one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.named: set[str] = set()  # error count before the running cell
        self.told: set[tuple[str, int]] = set()  # names that have been spoken of, with what they stood for

    def before_cell(self, info: Any) -> None:
        """Look at the imports of a cell that is about to run (IPython's event ``pre_run_cell``)."""
        code = getattr(info, "raw_cell", None)
        if not code or info.silent or THEIRS not in code or "import" not in code or _stands_in():
            return
        try:
            tree = ast.parse(self.shell.transform_cell(code))
        except (SyntaxError, ValueError):
            return
        imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
        ours = _is_ours(self.shell.user_ns.get(THEIRS))
        if not ours and not any(ast.unparse(node) == f"import {OURS} as {THEIRS}" for node in imports):
            return
        wrong = [part for node in imports for part in _theirs(node)]
        if wrong:
            names = ", ".join(dict.fromkeys(name for name, _ in wrong))
            print(say("mixed_import", names=names, fix="; ".join(dict.fromkeys(fix for _, fix in wrong))))
            self.named = {name for name, _ in wrong}

    def after_cell(self, result: Any) -> None:
        """Look at what a cell has left behind (IPython's event ``post_run_cell``)."""
        named, self.named = self.named, set()
        error = getattr(result, "error_in_exec", None)
        missing = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else None
        if missing == THEIRS and not named and not _is_installed(THEIRS):
            print(say("no_pytorch"))
            return
        if sys.modules.get(THEIRS) is None or _stands_in() or named:
            self.told |= {(name, id(value)) for name, value in self.mixed() if name in named}
            return
        mixed = [(name, value) for name, value in self.mixed() if (name, id(value)) not in self.told]
        if mixed:
            self.told |= {(name, id(value)) for name, value in mixed}
            ours = _is_ours(self.shell.user_ns[THEIRS])
            fix = "; ".join(_import_of(name, value, OURS if ours else THEIRS) for name, value in mixed)
            print(say("mixed_import" if ours else "mixed_ours", names=", ".join(name for name, _ in mixed), fix=fix))
        elif isinstance(error, Exception) and "PyTorch" not in str(error):
            self.explain(error)

    def mixed(self) -> list[tuple[str, Any]]:
        """The variables that say ``torch`` and are of another library than the variable ``torch``."""
        meant = self.shell.user_ns.get(THEIRS)
        if not isinstance(meant, ModuleType):
            return []
        other = THEIRS if _is_ours(meant) else OURS
        variables = [(name, value) for name, value in list(self.shell.user_ns.items()) if _as_usual(name, value)]
        return [(name, value) for name, value in variables if name != THEIRS and _is_of(value, other)]

    def explain(self, error: Exception) -> None:
        """Say which names of a line that has failed are of which library, if they are of both."""
        trace, cell = error.__traceback__, None
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename in getattr(self.shell.compile, "_filename_map", {}):
                cell = trace
            trace = trace.tb_next
        if cell is None:
            return
        line = linecache.getline(cell.tb_frame.f_code.co_filename, cell.tb_lineno)
        scope = {**cell.tb_frame.f_globals, **cell.tb_frame.f_locals}
        words = [word for word in dict.fromkeys(_names(line)) if word in scope and not _is_of(scope[word], PICTURES)]
        ours, theirs = ([word for word in words if _is_of(scope[word], package)] for package in (OURS, THEIRS))
        if ours and theirs:
            print(say("mixed_line", n=cell.tb_lineno, ours=", ".join(ours), theirs=", ".join(theirs)))


_standing: Any = None


def stand_in(value: str, is_line: bool) -> bool:
    """Let ``import torch`` give nbautograd, or end that.

    :param value: what follows ``%autograd torch``: ``nbautograd`` begins it, as does nothing where PyTorch is not
        installed; ``off`` ends it.
    :param is_line: whether this is a line of its own, rather than the head of a cell.
    :returns: whether ``import torch`` gives nbautograd now.
    :raises UsageError: it is the head of a cell.
    """
    global _standing
    if _standing is None:
        _standing = sys.modules[OURS].standing_in()  # the package imports this module, so it is not imported here
    if value == "off":
        _standing.stop()
    if value != OURS and (value or _is_installed(THEIRS)):
        return False
    if not is_line:
        raise UsageError("%%autograd torch: write %autograd torch nbautograd in a cell before this one")
    if not _stands_in():
        _standing.start()
    print(say("stands_in"))
    return True


def _is_installed(package: str) -> bool:
    """Return whether a package can be imported; it is not imported for that."""
    try:
        return sys.modules.get(package) is not None or find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def _names(line: str) -> Iterator[str]:
    """Yield the names in a line of code; words in a string or a comment are none."""
    with suppress(tokenize.TokenError, SyntaxError):  # the line is a part of a statement
        for token in tokenize.generate_tokens(iter([line.strip()]).__next__):
            if token.type == tokenize.NAME:
                yield token.string


def _stands_in() -> bool:
    """Whether ``import torch`` gives nbautograd."""
    return _is_ours(sys.modules.get(THEIRS))


def _is_ours(module: Any) -> bool:
    return module is sys.modules[OURS]


def _is_of(value: Any, package: str) -> bool:
    """Whether a module, class, function or object is of a library; or of a class that somebody derived from one's."""
    if isinstance(value, ModuleType):
        home = value.__name__
    elif isinstance(value, type) or (callable(value) and not hasattr(type(value), "__torch_function__")):
        home = getattr(value, "__module__", None) or ""
    else:
        home = ""
    home = getattr(home, "ours", home)  # while nbautograd stands in, its names are PyTorch's
    if f"{home}.".startswith(f"{package}."):
        return True
    if isinstance(value, (ModuleType, type)):
        return False
    if package == THEIRS:
        return is_pytorchs(value)
    homes = [getattr(cls.__module__, "ours", cls.__module__) for cls in type(value).__mro__]
    return any(f"{home}.".startswith(f"{package}.") for home in homes)


def _as_usual(name: str, value: Any) -> bool:
    """Whether the name is the one that all programs give it, so that whoever reads it thinks of ``torch``."""
    if not isinstance(value, (ModuleType, type)):
        return False
    own = value.__name__.rpartition(".")[2]
    if SHORT.get(name, name) != own:
        return False
    where = value.__name__ if isinstance(value, ModuleType) else value.__module__
    return where.partition(".")[0] == THEIRS or _has_theirs(value)


def _has_theirs(value: Any) -> bool:
    """Whether PyTorch has a module of the name of one of ours; so nothing of ours alone, such as ``viz``."""
    return isinstance(value, ModuleType) and THEIRS + value.__name__[len(OURS) :] in sys.modules


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
    """The names that an import takes from PyTorch as if they were of ``torch``, each with what to write instead."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            path = node.module or ""
            if path.partition(".")[0] != THEIRS or node.level:
                continue
            bound, own = alias.asname or alias.name, alias.name
            fix = f"from {OURS}{path[len(THEIRS) :]} import {alias.name}"
        else:
            path = alias.name
            if path.partition(".")[0] != THEIRS:
                continue
            bound, own = alias.asname or THEIRS, path.rpartition(".")[2] if alias.asname else THEIRS
            fix = f"import {OURS}{path[len(THEIRS) :]}" + (f" as {THEIRS}" if path == THEIRS else "")
        if SHORT.get(bound, bound) == own:
            yield bound, fix + (f" as {alias.asname}" if alias.asname and path != THEIRS else "")
