"""``import torch`` loads nbautograd: for tutorials whose cells import PyTorch, and parts of it, by name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, ClassVar, cast

from nbautograd._names import identity, namespaces

PACKAGE = __name__.partition(".")[0]


class _Finder:
    """An importer that finds the package's public modules under another name, as Python would make a second copy.

    It is a finder and a loader by its methods; importing the abstract classes of ``importlib.abc`` would take 10 ms.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module for the import system; None if the package has no such public module.

        :raises ModuleNotFoundError: the module is internal. Otherwise Python would find its file.
        """
        package, _, below = fullname.partition(".")
        if package != self.name or not below:
            return None
        there = namespaces.exists(below)
        if there and not namespaces.is_public(below):
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return ModuleSpec(fullname, cast(Any, self)) if there or namespaces.is_public(below) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the package's own module, not a new one."""
        module = namespaces.module(spec.name.partition(".")[2])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own ``__spec__``, and register its submodules."""
        spec = module.__spec__
        module.__spec__ = spec.loader_state  # type: ignore[union-attr]
        self.make_known(spec.name.partition(".")[2], module)  # type: ignore[union-attr]
        if self.name == "torch":
            identity.rename()

    def make_known(self, path: str, module: ModuleType) -> None:
        """Register the modules below one that imports would not find, or would find in the wrong place.

        Python sets an imported module as an attribute of its package. If the package has a function of that name, as
        ``torch.autograd`` has ``gradcheck``, the function is kept, as in PyTorch.
        """
        for child in namespaces.children(path):
            if namespaces.is_hidden(child) or not namespaces.exists(child):
                child_module = sys.modules[f"{self.name}.{child}"] = namespaces.module(child)
                self.make_known(child, child_module)


OWN = _Finder(PACKAGE)
"""The importer of ``import nbautograd.x``, which ``lazy.Importer`` asks."""


class standing_in:  # noqa: N801 - reads as what it is in a ``with`` statement
    """A hook that makes ``import torch`` and its submodules return nbautograd, in a ``with`` block or after
    ``start()``.

    An already imported PyTorch is set aside and restored at the end (``stop()``); names bound before keep their values.
    Modules missing from nbautograd are not found, even if PyTorch is installed.

    >>> import nbautograd
    >>> with nbautograd.standing_in():
    ...     import torch
    ...     from torch.autograd.function import Function
    ...     import torch.nn.functional as F
    >>> torch is nbautograd, Function is nbautograd.autograd.Function
    (True, True)
    """

    _replaced: ClassVar[dict[str, dict[str, ModuleType]]] = {}
    """By name, the modules that the first active hook set aside."""
    _on: ClassVar[dict[str, list[standing_in]]] = {}
    """By name, the active hooks; the last one to end restores the modules."""

    def __init__(self, name: str = "torch") -> None:
        self.name = name

    def start(self) -> None:
        """Install the import hook; a second call does nothing."""
        on = self._on.setdefault(self.name, [])
        if self in on:
            return
        on.append(self)
        if len(on) == 1:
            finder = _Finder(self.name)
            self._replaced[self.name] = self._remove(self.name)
            sys.meta_path.insert(0, finder)
            sys.modules[self.name] = sys.modules[PACKAGE]
            finder.make_known("", sys.modules[PACKAGE])
            if self.name == "torch":
                identity.adopt()

    def stop(self) -> None:
        """Remove the import hook, unless another one of this name is on."""
        on = self._on.get(self.name, [])
        if self not in on:
            return
        on.remove(self)
        if not on:
            if self.name == "torch":
                identity.give_back()
            sys.meta_path[:] = [f for f in sys.meta_path if not (isinstance(f, _Finder) and f.name == self.name)]
            self._remove(self.name)
            sys.modules.update(self._replaced.pop(self.name))

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @staticmethod
    def _remove(name: str) -> dict[str, ModuleType]:
        """Remove the modules of a package from ``sys.modules`` and return them."""
        return {key: sys.modules.pop(key) for key in list(sys.modules) if f"{key}.".startswith(f"{name}.")}
