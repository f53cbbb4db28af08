"""Modules that hold other modules or parameters, as sequences and dicts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Self

from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import kind_of
from nbautograd.nn.modules._numbered import Numbered, checked_position
from nbautograd.nn.modules.module import Module
from nbautograd.nn.parameter import Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Sequential(Numbered):
    """Modules applied in order, each to the output of the previous one.

    ``Sequential(first, second)`` or, with names, ``Sequential(OrderedDict(...))``.

    >>> m = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Flatten(0))
    >>> m(torch.tensor([[-1., 2.]]))
    tensor([0., 2.])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        """Apply the modules in order, each to the output of the previous one."""
        for module in self:
            input = module(input)
        return input

    def _part(self, keys: list[str]) -> Any:
        return type(self)(OrderedDict((key, self._modules[key]) for key in keys))

    def insert(self, index: int, module: Module) -> Any:
        """Insert a module before an index; returns the container.

        :raises AssertionError: ``module`` is not a Module.
        :raises IndexError: ``index`` is out of range.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}, got {kind_of(module)}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index} of {len(self)}")
        super().insert(index, module)
        return self

    def __add__(self, other: Any) -> Sequential:
        result = Sequential(*self)
        result += other
        return result

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        for module in list(other):
            self.append(module)
        return self

    def _times(self, count: Any) -> list[Any]:
        if not isinstance(count, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(count)}")
        if count <= 0:
            raise ValueError(f"Non-positive multiplication factor {count} for {type(self)}")
        return list(self) * count

    def __mul__(self, count: int) -> Sequential:
        return Sequential(*self._times(count))

    __rmul__ = __mul__

    def __imul__(self, count: int) -> Self:
        for module in self._times(count)[len(self) :]:
            self.append(module)
        return self


class ModuleList(Numbered):
    """A list whose modules are registered.

    >>> torch.nn.ModuleList([torch.nn.ReLU() for _ in range(3)])
    ModuleList(
      (0-2): 3 x ReLU()
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _part(self, keys: list[str]) -> Any:
        return type(self)([self._modules[key] for key in keys])

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        first, lines = 0, []
        for text, run in groupby(map(repr, self)):  # equal neighbors are shown once
            count = len(list(run))
            last = first + count - 1
            shown = f"({first}): {text}" if count == 1 else f"({first}-{last}): {count} x {text}"
            lines.append(shown.replace("\n", "\n  "))
            first += count
        inside = "\n  ".join(lines)
        return f"{self._get_name()}(\n  {inside}\n)" if lines else f"{self._get_name()}()"


class ModuleDict(Module):
    """A dict whose modules are registered.

    >>> torch.nn.ModuleDict({"act": torch.nn.ReLU()})
    ModuleDict(
      (act): ReLU()
    )
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove a module and return it.

        :raises KeyError: the name does not exist.
        """
        module: Module = self._modules.pop(key)
        return module

    def keys(self) -> Any:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Return the names and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules by name, from a mapping or from pairs.

        :raises TypeError: they are neither, or one is not a Module.
        :raises ValueError: a pair does not have two members.
        """
        for key, module in _pairs("ModuleDict", modules):
            self[key] = module


def _pairs(kind: str, items: Any) -> Iterable[tuple[str, Any]]:
    if not isinstance(items, Iterable):
        raise TypeError(f"{kind}.update should be called with an iterable of key/value pairs, but got {kind_of(items)}")
    if isinstance(items, (Mapping, ModuleDict, ParameterDict)):
        return list(items.items())
    results = []
    for i, pair in enumerate(items):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{kind} update sequence element #{i} should be Iterable; is {type(pair).__name__}")
        members = tuple(pair)
        if len(members) != 2:
            raise ValueError(f"{kind} update sequence element #{i} has length {len(members)}; 2 is required")
        results.append(members)
    return results


def _as_member(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _shown(name: Any, value: Any, kind: Any) -> str:
    """Return a line about a value; ``kind`` is the text of its dtype."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    where = "" if value.is_cpu or value.is_meta else f" ({value.device})"
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({name}): {what} containing: [{kind} of size {'x'.join(str(n) for n in value.shape)}{where}]"


class ParameterList(Module):
    """A list whose parameters are registered; tensors become parameters.

    >>> torch.nn.ParameterList([torch.ones(2, 3)])
    ParameterList(  (0): Parameter containing: [torch.float32 of size 2x3])
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(len(self)))])
        return getattr(self, str(checked_position(index, len(self))))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(checked_position(index, len(self))), _as_member(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def append(self, value: Any) -> Self:
        """Add a parameter, or any other value, at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several at the end.

        :raises TypeError: ``values`` is not iterable, or is a single tensor.
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {kind_of(values)}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """Return a line for each value."""
        return "\n".join(_shown(i, value, getattr(value, "dtype", None)) for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: a container of parameters is not callable."""
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict whose parameters are registered; tensors become parameters.

    >>> torch.nn.ParameterDict({"w": torch.ones(2)})
    ParameterDict(  (w): Parameter containing: [torch.FloatTensor of size 2])
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    @staticmethod
    def _checked(key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type is {type(key)})."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        if self._checked(key) not in self._keys:  # PyTorch's type of error
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{key}': there is no such key")
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[self._checked(key)] = None
        setattr(self, key, _as_member(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[self._checked(key)]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return another dict of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of a key; if it is missing, store and return the default."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all values."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove a value and return it.

        :raises AttributeError: the name does not exist.
        """
        result = self[key]
        del self[key]
        return result

    def popitem(self) -> tuple[str, Any]:
        """Remove the last key and value and return them.

        :raises KeyError: the dict is empty.
        """
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or the default."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a new dict with one value for all keys."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """Return the names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the names and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """Return the values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add parameters by name, from a mapping or from pairs.

        :raises TypeError: they are neither.
        :raises ValueError: a pair does not have two members.
        """
        pairs = _pairs("ParameterDict", parameters)
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = sorted(pairs)  # as in PyTorch, for dicts without an order
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        """Return a line for each value."""
        return "\n".join(_shown(k, v, v.type() if isinstance(v, Tensor) else None) for k, v in self.items())

    def __call__(self, input: Any) -> Any:
        """Raise: a container of parameters is not callable."""
        raise RuntimeError("ParameterDict should not be called.")

    def _merged(self, left: Any, right: Any) -> ParameterDict:
        result = ParameterDict()
        result.update(left)
        result.update(right)
        return result

    def __or__(self, other: Any) -> ParameterDict:
        return self._merged(self, other)

    def __ror__(self, other: Any) -> ParameterDict:
        return self._merged(other, self)

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self
