"""What a line of code is called, in messages and pictures."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable

__all__ = ["SourceLocator"]


def _file_place(filename: str, lineno: int) -> tuple[str, str]:
    return filename.rpartition("/")[2], linecache.getline(filename, lineno).strip()


class SourceLocator:
    """How a line of code is called, in messages and pictures: a notebook's extension knows its cells by number.

    :returns: an object without state: ``locate`` is called on the class.

    >>> SourceLocator.locate("/home/somebody/train.py", 3)
    ('train.py', '')
    """

    locate: Callable[[str, int], tuple[str, str]] = staticmethod(_file_place)
    """From a file name and a line number to what the file is called and the text of the line."""
    earlier: Callable[[str], Iterable[str]] = staticmethod(lambda filename: ())
    """From a file name to those of the cells that ran before, the last one first."""
