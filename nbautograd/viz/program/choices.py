"""Choose how to write an operation that has several forms: the same form for equal computations."""

from __future__ import annotations

from typing import Any

__all__ = ["Choices"]


class Choices:
    """The forms of an operation that gave wrong bits somewhere.

    A sum that is written as NumPy users would gives the same bits by luck in one step of a loop and not in the next.
    What is to be written alike is written once to find out, and then again.

    :ivar changed: whether something became known that would have been written otherwise before.
    """

    def __init__(self) -> None:
        self.wrong: dict[Any, set[Any]] = {}
        self.used: dict[Any, set[Any]] = {}
        self.changed = False

    def ways(self, key: Any, all_ways: tuple[Any, ...]) -> list[Any]:
        """All of them; those that have been wrong for something of the same key come last."""
        return sorted(all_ways, key={*self.wrong.get(key, ())}.__contains__)

    def right(self, key: Any, way: Any) -> None:
        """A form gave the right bits."""
        self.used.setdefault(key, set()).add(way)

    def failed(self, key: Any, way: Any) -> None:
        """A form gave wrong bits, or failed."""
        self.wrong.setdefault(key, set()).add(way)
        self.changed = self.changed or way in self.used.get(key, ())
