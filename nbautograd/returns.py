"""The named tuples that functions with several results return, such as ``torch.return_types.max(values, indices)``."""

from __future__ import annotations

import operator
from typing import Any

__all__ = ["return_type"]


class _Results(tuple):  # type: ignore[type-arg]
    """Several tensors that have names, too."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __new__(cls, values: Any) -> _Results:
        return super().__new__(cls, values)

    def __repr__(self) -> str:
        parts = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{parts})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self).__name__, self._fields, tuple(self))


_made: dict[tuple[str, tuple[str, ...]], type[_Results]] = {}


def return_type(name: str, *fields: str) -> type[_Results]:
    """The class of the results of ``name``: made from a sequence, with an attribute for each of ``fields``.

    >>> from nbautograd.returns import return_type
    >>> pair = return_type("max", "values", "indices")((3, 1))
    >>> pair.indices
    1
    >>> print(pair)
    torch.return_types.max(
    values=3,
    indices=1)
    """
    found = _made.get((name, fields))
    if found is None:
        members: dict[str, Any] = {"__slots__": (), "_fields": fields, "__module__": "torch.return_types"}
        members.update({field: property(operator.itemgetter(i)) for i, field in enumerate(fields)})
        found = _made[name, fields] = type(name, (_Results,), members)
    return found


def _rebuild(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> _Results:
    return return_type(name, *fields)(values)
