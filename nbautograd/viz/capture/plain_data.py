"""Dataclasses as dictionaries, for JSON."""

from __future__ import annotations

from typing import Any

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """Dataclasses as dictionaries, all the way down. Lists stay as they are: ``asdict`` would copy formulas.

    >>> from dataclasses import make_dataclass
    >>> Point = make_dataclass("Point", ["x", "more"])
    >>> plain((Point(1, {"a": Point(2, ())}),))
    ({'x': 1, 'more': {'a': {'x': 2, 'more': ()}}},)
    """
    kind = type(value)
    if (names := getattr(kind, "__dataclass_fields__", None)) is not None:
        return {name: plain(getattr(value, name)) for name in names}
    if kind is tuple:
        return tuple(map(plain, value)) if value else value
    return {key: plain(part) for key, part in value.items()} if kind is dict else value
