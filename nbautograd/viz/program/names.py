"""Names of variables in a program: the users' names of their tensors, if those can be names of Python."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile

__all__ = ["Names", "common_start", "identifier"]

RESERVED = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "np", "torch", "data", "plus"}


@lru_cache(2000)
def identifier(text: str) -> str:
    """Any text as an identifier: letters, digits and underscores of it, in the form that Python compares.

    >>> identifier("net.0.weight"), identifier("lambda"), identifier("2x"), identifier("w; import os")
    ('net_0_weight', 'lambda_', 'x2x', 'w_import_os')
    """
    name = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", text)).strip("_") or "x"
    name = "".join(part for part in name if part == "_" or f"a{part}".isidentifier())
    if not name.isidentifier():
        name = f"x{name}"
    if not name.isidentifier():
        name = "x"
    return f"{name}_" if name in RESERVED or name.startswith("__") else name


def common_start(paths: Iterable[Sequence[str]]) -> list[str]:
    """Return the parts with which all of these paths begin."""
    return [parts[0] for parts in takewhile(lambda parts: len({*parts}) == 1, zip(*paths, strict=False))]


class Names:
    """Gives each thing a name of its own."""

    def __init__(self) -> None:
        self.taken = set(RESERVED)
        self._next: dict[str, int] = {}

    def new(self, wanted: str) -> str:
        """Return an unused name: the requested one, or with a number."""
        name = plain = identifier(wanted)
        number = self._next.get(plain, 2)
        while name in self.taken:
            name, number = f"{plain}_{number}", number + 1
        self._next[plain] = number
        self.taken.add(name)
        return name
