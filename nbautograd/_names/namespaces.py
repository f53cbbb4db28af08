"""PyTorch's modules under their public names: the content of ``torch...``, and of ``dir``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from nbautograd._names import absent, refused
from nbautograd._names.table import OWN, TABLE, row

PACKAGE = __name__.partition(".")[0]

MODULES = {path: row.names for path, row in TABLE.items() if row.is_listed}
"""PyTorch's listed modules, with their names that are located elsewhere here."""


class _Names(ModuleType):
    """A PyTorch module that does not exist here: its names are found on access, in a package around it."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{PACKAGE}.{path}", f"The names that PyTorch has in ``torch.{path}``.")
        self.__all__ = MODULES.get(path, "").split()
        self.__path__: list[str] = []  # it may have submodules

    def __getattr__(self, name: str) -> Any:
        path = self.__name__[len(PACKAGE) + 1 :]
        return _look_up(path, name) if name in vars(self)["__all__"] else _absent_name(path, name)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *self.__all__})


def _absent_name(path: str, name: str) -> Any:
    """Return a module below, or a stand-in that raises, for a name missing from a module; or raise an error."""
    below = f"{path}.{name}"
    if is_public(below):
        return module(below)
    if refused.why(path) is not None and name in absent.names(path):
        return refused.stand_in(path, name)
    return absent.fail(path, name)


def _look_up(path: str, name: str) -> Any:
    """Look up a name of one of PyTorch's modules in the nearest enclosing package that has it."""
    while path:
        path = path.rpartition(".")[0]
        value = getattr(module(path), name, None)
        if value is not None:
            return value
    raise AttributeError(f"module {PACKAGE!r} has no attribute {name!r}")


def fill(name: str, prefix: str, modules: str) -> list[str]:
    """Put operations into the module of a namespace, such as ``special_zeta`` as ``zeta``; return all that it lists.

    :param modules: where they are declared, in ``_engine.ops``.
    """
    scope = vars(sys.modules[name])
    for module in modules.split():
        declared = vars(import_module(f"{PACKAGE}._engine.ops.{module}"))
        scope |= {each.removeprefix(prefix): value for each, value in declared.items() if each.startswith(prefix)}
    absent.answer(name)
    return sorted(each for each, value in scope.items() if callable(value) and not each.startswith("_"))


def exists(path: str) -> bool:
    """Return whether a file exists for a module of PyTorch."""
    name = file_of(path)
    if name in sys.modules:
        return True
    try:
        package = import_module(name.rpartition(".")[0])
    except ModuleNotFoundError:
        return False
    return PathFinder.find_spec(name, getattr(package, "__path__", [])) is not None


def is_hidden(path: str) -> bool:
    """Return whether the package around a module has another object of its name: a function, or another module."""
    above, _, leaf = path.rpartition(".")
    if row(path).is_hidden:
        getattr(module(above), leaf, None)  # a function of that name may not have been loaded
    there = vars(module(above)).get(leaf)
    return there is not None and there is not sys.modules.get(file_of(path))


def file_of(path: str) -> str:
    """Return the full name of the file of one of PyTorch's modules here.

    >>> file_of("jit"), file_of("nn.functional")
    ('nbautograd._compat.jit', 'nbautograd.nn.functional')
    """
    if row(path).is_hidden:
        return f"{PACKAGE}.{row(path).lies_in}"
    first, dot, below = path.partition(".")
    return f"{PACKAGE}.{row(first).lies_in or first}{dot}{below}"


def is_public(path: str) -> bool:
    """Return whether the package has a public module of this name, given without the package's own name."""
    return path in MODULES or path in OWN or refused.covers(path)


def children(path: str) -> Iterator[str]:
    """Return the modules of the table directly below one; "" is the package itself."""
    return (each for each in MODULES if each.rpartition(".")[0] == path)


def module(path: str) -> ModuleType:
    """Return the module for one of PyTorch's: ours of that name, with every name of the table, or one of names.

    It is an attribute of the package around it, unless that has the name: a function is kept.

    >>> module("nn.functional").__name__, module("storage").UntypedStorage.__name__
    ('nbautograd.nn.functional', 'UntypedStorage')
    >>> module("nn.modules.flatten").__all__
    ['Flatten', 'Unflatten']
    """
    if not path:
        return sys.modules[PACKAGE]
    above, _, leaf = path.rpartition(".")
    package = module(above)
    result = vars(package).get(leaf)
    if not isinstance(result, ModuleType) or result.__name__ not in (f"{PACKAGE}.{path}", file_of(path)):
        result = import_module(file_of(path)) if exists(path) else _Names(path)
        if not row(path).is_hidden:
            vars(package).setdefault(leaf, result)
    for name in MODULES.get(path, "").split():
        if name not in vars(result) and not hasattr(result, name):
            setattr(result, name, _look_up(path, name))
    if is_public(path) and not isinstance(result, _Names):
        vars(result).setdefault("__getattr__", partial(_absent_name, path))
    if row(path).lies_in:
        vars(result).setdefault("__path__", [])  # it may have submodules
    return result
