"""``import torch`` gives nbautograd: for tutorials whose cells import PyTorch by name, and parts of it."""

from __future__ import annotations

import sys
from types import ModuleType

__all__ = ["standing_in"]


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
        self._aside: dict[str, ModuleType] | None = None

    def start(self) -> None:
        """From here on. A second call does nothing."""
        if self._aside is None:
            self._aside = self._remove(self.name)
            package = __name__.partition(".")[0]
            ours = {key: module for key, module in sys.modules.items() if f"{key}.".startswith(f"{package}.")}
            sys.modules.update({self.name + key[len(package) :]: module for key, module in ours.items()})

    def stop(self) -> None:
        """Until here."""
        if self._aside is not None:
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
