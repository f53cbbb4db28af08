"""Write ``nbautograd/_absent_names.txt``: PyTorch's public names that are not here, by which errors say so.

python docs/absent_names.py   # PyTorch has to be installed
"""

from __future__ import annotations

import importlib
import sys
import types
import warnings
from pathlib import Path

FILE = Path(__file__).parent.parent / "nbautograd" / "_absent_names.txt"


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
        if not path or listed is None or name in listed or isinstance(value, types.ModuleType):
            names.add(name)
    return names - {"F", "Tensor", "Any", "T", "torch"}


def main() -> int:
    warnings.simplefilter("ignore")
    importlib.import_module("torch")
    from nbautograd import _namespaces

    FILE.touch()  # which errors read
    lines = []
    for path in ["", *_namespaces.MODULES]:
        try:
            theirs = importlib.import_module(f"torch.{path}".rstrip("."))
        except ImportError:
            continue
        ours = _namespaces.module(path)
        names = sorted(name for name in public(path, theirs) if not hasattr(ours, name))
        if names:
            lines.append(f"{path or '.'}: {' '.join(names)}")
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
