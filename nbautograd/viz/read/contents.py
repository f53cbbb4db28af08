"""Find the tensors inside of variables: in lists, dictionaries, modules, and objects of the user's classes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from nbautograd._engine.base.users_code import LIBRARIES
from nbautograd.viz.read.values import is_tensor

__all__ = ["inside", "is_module", "of_variables"]

HISTORY = "Out"
"""IPython's variable of all results: what it holds has better names."""
MAX_DEPTH = 8
"""Steps from a variable to a tensor inside of it: ``net.layers[0].neurons[1].w[2]`` takes six."""
MAX_PARTS = 200  # of a list or a dictionary
PLAIN = (int, float, str, bool, type(None))
MAX_READ = 1000  # lists, objects and tensors inside of a variable


def is_module(value: Any) -> bool:
    """Return whether it looks like a module of networks; asks the class."""
    try:
        return callable(getattr(type(value), "named_parameters", None))
    except Exception:
        return False


def inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the tensors inside of a variable by name, near ones first; only what a module has twice comes twice.

    >>> import nbautograd as torch
    >>> w, b = torch.ones(2), torch.zeros(2)
    >>> [own for own, _ in inside("layers", [{"w": w}, {"w": b, "same": b}])]
    ["layers[0]['w']", "layers[1]['w']"]
    """
    return _inside(name, value, set(), 1 if name == HISTORY else MAX_DEPTH)


def of_variables(namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of public variables and inside of them by name, in the order of the variables."""
    for name, value in list(namespace.items()):
        if isinstance(name, str) and not name.startswith("_") and name != HISTORY:
            yield from [(name, value)] if is_tensor(value) else inside(name, value)


def _inside(name: str, value: Any, seen: set[int], depth: int) -> Iterator[tuple[str, Any]]:
    if not depth or id(value) in seen or len(seen) >= MAX_READ:
        return
    form, parts = _parts(value)
    if parts:
        seen.add(id(value))
    deeper = []
    for key, part in parts:
        if type(part) in PLAIN:
            continue
        own = name + form.format(key)
        if not is_tensor(part):
            deeper.append((own, part))
        elif id(part) not in seen or is_module(value):
            seen.add(id(part))
            yield own, part
    for own, part in deeper:
        yield from _inside(own, part, seen, depth - 1)


def _parts(value: Any) -> tuple[str, Sequence[tuple[Any, Any]]]:
    """Return what a short list or dictionary, a module, or an object of the user's has, and the form of its names."""
    kind = type(value)
    with suppress(Exception):
        if kind in (list, tuple) and len(value) <= MAX_PARTS:
            return "[{}]", list(enumerate(value))
        if kind is dict and len(value) <= MAX_PARTS:
            return "[{!r}]", [item for item in value.items() if isinstance(item[0], (str, int))]
        if is_module(value):
            return ".{}", list(_parameters(value))
        if _is_users(kind) and not is_tensor(value):
            return ".{}", list(object.__getattribute__(value, "__dict__").items())
    return "", ()


def _parameters(module: Any) -> Iterator[tuple[str, Any]]:
    """The parameters of a module; one that it has under two names twice."""
    try:
        return iter(module.named_parameters(remove_duplicate=False))
    except TypeError:
        return iter(module.named_parameters())


def _is_users(kind: type) -> bool:
    """Return whether a class is the user's own: of the notebook, or of a file that is in no library."""
    package = kind.__module__.partition(".")[0]
    if package in sys.stdlib_module_names or package in LIBRARIES:
        return False
    return package == "__main__" or "-packages" not in (getattr(sys.modules.get(package), "__file__", None) or "")
