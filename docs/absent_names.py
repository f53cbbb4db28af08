"""Write ``nbautograd/_names/absent_names.txt``: PyTorch's public names that are not here, by which errors say so.

python docs/absent_names.py   # PyTorch has to be installed
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent.parent / "nbautograd" / "_names" / "absent_names.txt"


def public(path: str, module: types.ModuleType) -> set[str]:
    """The public names of a module that are its own, and those of the modules below it."""
    listed = getattr(module, "__all__", None)
    names = set()
    for name in dir(module):
        value = getattr(module, name, None)
        home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None) or "torch"
        own = (
            home.startswith("torch.") if isinstance(value, types.ModuleType) else home.startswith(("torch", "builtins"))
        )
        if name.startswith("_") or not own or isinstance(value, types.ModuleType) and home == "torch":
            continue
        everything = path in ("", "jit") or listed is None
        if everything or name in listed or isinstance(value, types.ModuleType):
            names.add(name)
    return names - {"F", "Tensor", "Any", "T", "torch"}


DEPTHS = {"_dynamo": 0, "_inductor": 0, "ao": 3, "distributed": 2, "fx": 2}
"""The number of levels of modules below an absent one that are listed: 1 by default."""


def below(path: str, depth: int) -> Iterator[str]:
    """A module of PyTorch's and the public ones below it."""
    yield path
    module = importlib.import_module(f"torch.{path}")
    for each in pkgutil.iter_modules(getattr(module, "__path__", [])) if depth else ():
        if not each.name.startswith("_") and each.name != "benchmarks":
            try:
                yield from below(f"{path}.{each.name}", depth - 1)
            except Exception:  # PyTorch's own modules with missing dependencies
                continue


def is_its_own(name: str, module: types.ModuleType) -> bool:
    """Return whether a module of PyTorch's has a name for others: it lists it, or has it from its own part of
    PyTorch.
    """
    value = getattr(module, name, None)
    root = ".".join(module.__name__.split(".")[:2])
    home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None) or ""
    return name in getattr(module, "__all__", ()) or f"{home}.".startswith((f"{root}.", "torch._C", "torch.ao."))


def main() -> int:
    warnings.simplefilter("ignore")
    importlib.import_module("torch")
    from nbautograd._names import namespaces, refused
    from nbautograd._names.table import TABLE

    FILE.touch()  # which errors read
    refusing = (path for root, row in TABLE.items() if row.refuses for path in below(root, DEPTHS.get(root, 1)))
    lines: dict[str, str] = {}
    for path in itertools.chain(["", *namespaces.MODULES], refusing):  # the first before the others are imported
        try:
            theirs = importlib.import_module(f"torch.{path}".rstrip("."))
        except ImportError:
            continue
        names = public(path, theirs)
        if refused.why(path) is not None:
            names = {name for name in names if is_its_own(name, theirs)}
        if path in namespaces.MODULES or not path:  # a name that only raises an error does not count
            ours = namespaces.module(path)
            here = {*vars(ours), *getattr(ours, "__all__", ())} if refused.why(path) is not None else dir(ours)
            names = {name for name in names if name not in here and (refused.why(path) or not hasattr(ours, name))}
        if names or refused.why(path):
            lines[path] = f"{path or '.'}: {' '.join(sorted(names))}".rstrip()
    ours = namespaces.module("").Tensor
    absent = [name for name in dir(theirs_of("Tensor")) if not name.startswith("_") and not hasattr(ours, name)]
    FILE.write_text("\n".join([*lines.values(), f"Tensor: {' '.join(absent)}"]) + "\n", encoding="utf-8")
    return 0


def theirs_of(name: str) -> Any:
    """Return PyTorch's object of a name."""
    return getattr(importlib.import_module("torch"), name)


if __name__ == "__main__":
    sys.exit(main())
