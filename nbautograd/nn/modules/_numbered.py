"""The base of list-like containers, whose modules are numbered from 0."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any, Self

from nbautograd.errors import kind_of
from nbautograd.nn.modules.module import Module

__all__ = ["Numbered", "checked_position"]


def checked_position(index: Any, length: int) -> int:
    """Return an index, counted from the end where it is negative."""
    result = operator.index(index)
    if not -length <= result < length:
        raise IndexError(f"index {result} is out of range of {length}")
    return result % length


class Numbered(Module):
    """Modules by index; the keys in ``_modules`` are the indices as strings."""

    def _keys(self) -> list[str]:
        return list(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def _replace(self, modules: Iterable[Any]) -> None:
        self._modules = {str(i): m for i, m in enumerate(modules)}

    def __getitem__(self, index: Any) -> Any:
        keys = self._keys()
        if isinstance(index, slice):
            return self._part(keys[index])
        return self._modules[keys[checked_position(index, len(keys))]]

    def _part(self, keys: list[str]) -> Any:
        raise NotImplementedError

    def __setitem__(self, index: int, module: Module) -> None:
        keys = self._keys()
        setattr(self, keys[checked_position(index, len(keys))], module)

    def __delitem__(self, index: Any) -> None:
        keys = self._keys()
        gone = keys[index] if isinstance(index, slice) else [keys[checked_position(index, len(keys))]]
        self._replace([m for key, m in self._modules.items() if key not in gone])

    def append(self, module: Module) -> Self:
        """Add a module at the end.

        :raises TypeError: ``module`` is not a Module.
        """
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Insert a module before an index.

        :raises TypeError: ``module`` is not a Module.
        """
        _check(module)
        modules = list(self)
        modules.insert(index, module)
        self._replace(modules)
        return None

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end.

        :raises TypeError: one is not a Module, or ``modules`` is not iterable.
        """
        if not isinstance(modules, Iterable):
            name = type(self).__name__
            raise TypeError(f"{name}.extend should be called with an iterable, but got {kind_of(modules)}")
        added = list(modules)
        for module in added:
            _check(module)
        for module in added:
            self.append(module)
        return self

    def pop(self, key: Any) -> Module:
        """Remove a module and return it."""
        result: Module = self[key]
        del self[key]
        return result


def _check(module: Any) -> None:
    if module is not None and not isinstance(module, Module):
        raise TypeError(f"{kind_of(module)} is not a Module subclass")
