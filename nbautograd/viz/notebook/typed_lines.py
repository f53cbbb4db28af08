"""The lines of a cell as they were typed: where that is a magic, IPython runs ``get_ipython().run_line_magic(...)``."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import dropwhile
from typing import Any

__all__ = ["as_typed", "typed_lines"]

GENERATED = "get_ipython()"
_MAGIC = re.compile(r"\s*(?:[\w\s.,]+=\s*)?[%!?]")  # a line, perhaps an assignment, that is not Python


def as_typed(ran: Sequence[str], typed: Sequence[str]) -> list[str]:
    r"""The lines that ran, where IPython has generated one with the text that it stands for.

    A magic typed on several lines runs as one line, so the line numbers stay those of errors.

    >>> as_typed(["y = x * 2\n", "get_ipython().run_line_magic('backward', 'y')\n"], ["y = x * 2", "%backward y"])
    ['y = x * 2\n', '%backward y\n']
    """
    body = ran[:1] == ["\n"] and "".join(typed[:1]).startswith("%%")  # of a cell that a magic ran itself
    if not body:
        if GENERATED not in "".join(ran):
            return list(ran)
        typed = list(dropwhile(lambda line: not line.strip(), typed))  # IPython drops leading empty lines
    whole = ["\n".join(typed).rstrip()] if len(ran) == 1 else list(_joined(typed))
    known = [*whole, *[""] * len(ran)]
    return [
        f"{text}\n" if (GENERATED in line or (body and not i)) and any(sign in text for sign in "%!?") else line
        for i, (line, text) in enumerate(zip(ran, known, strict=False))
    ]


def _joined(typed: Iterable[str]) -> Iterator[str]:
    r"""The lines, a magic and the lines on which it goes on, behind a ``\``, as one."""
    before: list[str] = []
    for line in typed:
        before.append(line)
        if not (_MAGIC.match(before[0]) and line.rstrip().endswith("\\")):
            yield "\n".join(before)
            before = []
    if before:
        yield "\n".join(before)


@contextmanager
def typed_lines(lines: Callable[[str], list[str]], files: Iterable[str]) -> Iterator[None]:
    """A block in which readers of the lines of these files, such as tracebacks, get the typed text.

    :param lines: the lines of a file as they were typed.
    """
    cache: dict[str, Any] = linecache.cache  # an unread entry has another length
    former = {name: cache[name] for name in files if len(cache.get(name, ())) == 4}
    try:
        for name, (size, when, _, full) in former.items():
            cache[name] = size, when, lines(name), full
        yield
    finally:
        cache.update(former)
