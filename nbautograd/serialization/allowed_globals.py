"""The classes and functions that a file may name and call, as allowed by the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd.serialization.names import pytorch_name

__all__ = ["add_safe_globals", "by_name", "clear_safe_globals", "get_safe_globals", "is_safe", "safe_globals"]

Entry = Callable[..., Any] | tuple[Callable[..., Any], str]
_allowed: list[Entry] = []


def add_safe_globals(safe_globals: list[Entry]) -> None:
    """Allow files to name and call these classes and functions, as with Python's own unpickler.

    :param safe_globals: classes and functions, or pairs of one and its full name in files.
    :returns: None.
    :raises TypeError: the argument is not a list of these.

    >>> import nbautograd as torch, io, collections
    >>> Point = collections.namedtuple("Point", "x y")
    >>> Point.__module__ = "geometry"
    >>> torch.serialization.add_safe_globals([Point])
    >>> torch.serialization.get_safe_globals()
    [<class 'geometry.Point'>]
    >>> torch.serialization.clear_safe_globals()
    """
    _allowed.extend(entry for entry in _checked_entries(safe_globals) if entry not in _allowed)


def get_safe_globals() -> list[Entry]:
    """Return the classes and functions allowed by :func:`add_safe_globals`.

    :returns: a new list.

    >>> import nbautograd as torch
    >>> torch.serialization.get_safe_globals()
    []
    """
    return list(_allowed)


def clear_safe_globals() -> None:
    """Remove everything allowed by :func:`add_safe_globals`.

    :returns: None.

    >>> import nbautograd as torch
    >>> torch.serialization.clear_safe_globals()
    >>> torch.serialization.get_safe_globals()
    []
    """
    _allowed.clear()


class safe_globals:  # noqa: N801 - PyTorch's name
    """A ``with`` block in which files may also name and call these classes and functions.

    :param safe_globals: see :func:`add_safe_globals`.
    :returns: a context manager that restores the former state at its end.
    :raises TypeError: the argument is not a list of these.

    >>> import nbautograd as torch, datetime
    >>> with torch.serialization.safe_globals([datetime.date]):
    ...     torch.serialization.get_safe_globals()
    [<class 'datetime.date'>]
    >>> torch.serialization.get_safe_globals()
    []
    """

    def __init__(self, safe_globals: list[Entry]) -> None:
        self._entries = _checked_entries(safe_globals)
        self._former: list[Entry] = []

    def __enter__(self) -> None:
        self._former = list(_allowed)
        add_safe_globals(self._entries)

    def __exit__(self, *exception: object) -> None:
        _allowed[:] = self._former


def by_name() -> dict[str, Any]:
    """Return the allowed classes and functions, by their full names in files."""
    named = {}
    for entry in _allowed:
        if isinstance(entry, tuple):
            named[entry[1]] = entry[0]
        else:
            module = getattr(entry.__module__, "ours", entry.__module__)
            named[f"{module}.{entry.__qualname__}"] = entry
            if (names := pytorch_name(entry)) is not None:
                named[".".join(names)] = entry
    return named


def is_safe(value: Any) -> bool:
    """Return whether a class or function has been allowed."""
    return any(value is (entry[0] if isinstance(entry, tuple) else entry) for entry in _allowed)


def _checked_entries(entries: Any) -> list[Entry]:
    if not isinstance(entries, (list, tuple)):
        raise TypeError(f"add_safe_globals(): expected a list of classes and functions, got {type(entries).__name__}")
    for entry in entries:
        pair = isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[1], str)
        if not callable(entry[0] if pair else entry):
            raise TypeError(
                "add_safe_globals(): each item must be a class or function, or a tuple of one and its full name in "
                f"files, not {entry!r:.80}"
            )
    return list(entries)
