"""``import torch`` gives nbautograd: for tutorials whose cells import PyTorch by name, and parts of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import ModuleType

__all__ = ["standing_in"]

PACKAGE = __name__.partition(".")[0]


class _Finder(MetaPathFinder, Loader):
    """Finds the package's own modules under another name: as they are, or Python would make a second copy of them."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _ours(self, name: str) -> str:
        return PACKAGE + name[len(self.name) :]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the import system asks; None for what is not ours or not there."""
        if not fullname.startswith(f"{self.name}.") or find_spec(self._ours(fullname)) is None:
            return None
        return spec_from_loader(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module that there is."""
        module = import_module(self._ours(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to be done but to give it back its own description."""
        module.__spec__ = module.__spec__.loader_state  # type: ignore[union-attr]


class standing_in:  # noqa: N801 - reads as what it is in a ``with`` statement
    """Let ``import torch``, and of what is below it, give nbautograd: inside a ``with`` block, or after ``start()``.

    PyTorch itself, where it has been imported, is set aside and put back at the end (``stop()``); names that were bound
    before keep what they were bound to. What nbautograd lacks is not found, even where PyTorch is installed.

    >>> import nbautograd
    >>> with nbautograd.standing_in():
    ...     import torch
    ...     from torch.autograd.function import Function
    ...     import torch.nn.functional as F
    >>> torch is nbautograd, Function is nbautograd.autograd.Function
    (True, True)
    """

    def __init__(self, name: str = "torch") -> None:
        self.name = name
        self._finder = _Finder(name)
        self._aside: dict[str, ModuleType] | None = None

    def start(self) -> None:
        """From here on. A second call does nothing."""
        if self._aside is None:
            self._aside = self._remove(self.name)
            sys.meta_path.insert(0, self._finder)
            sys.modules[self.name] = sys.modules[PACKAGE]

    def stop(self) -> None:
        """Until here."""
        if self._aside is not None:
            sys.meta_path.remove(self._finder)
            self._remove(self.name)
            sys.modules.update(self._aside)
            self._aside = None

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @staticmethod
    def _remove(name: str) -> dict[str, ModuleType]:
        """Take the modules of a package out of ``sys.modules``; returns them."""
        return {key: sys.modules.pop(key) for key in list(sys.modules) if f"{key}.".startswith(f"{name}.")}
