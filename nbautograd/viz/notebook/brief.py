"""Shorten a long text for a terminal or an assistant: keep the beginning and the end of each part."""

from __future__ import annotations

from collections.abc import Sequence

from nbautograd.viz.language import say

__all__ = ["MAX_CHARACTERS", "brief"]

MAX_CHARACTERS = 5_000  # a longer text is shortened
SHORT_CHARACTERS = 2_700  # of a shortened text without its last line: about 900 tokens
MAX_LINE_CHARACTERS = 300


def brief(text: str) -> str:
    r"""Return a text of at most 5,000 characters as it is, and a longer one with less than 3,000.

    Parts, which empty lines separate, get equal shares; a short part leaves room to the others. The end of a part, with
    an error and its cure, gets more of its share than the beginning.

    >>> brief("short")
    'short'
    >>> text = "\n".join(f"{n}. a step" for n in range(1, 1001)) + "\n\nw  5."
    >>> shown = brief(text).splitlines()
    >>> shown[0], shown[-4], shown[-2]
    ('1. a step', '1000. a step', 'w  5.')
    >>> shown[-1]
    'Shortened from 11,899 characters: .text has all of it, .save("pass.txt") writes it.'
    """
    if len(text) <= MAX_CHARACTERS:
        return text
    parts = [part.splitlines() for part in text.split("\n\n")]
    shown = dict.fromkeys(range(len(parts)), "")
    room, left = SHORT_CHARACTERS, len(parts)
    for number in sorted(shown, key=lambda n: sum(map(len, parts[n]))):
        shown[number] = _ends(parts[number], room // left)
        room, left = room - len(shown[number]), left - 1
    return "\n\n".join(part for part in shown.values() if part) + "\n" + say("shortened", n=len(text))


def _ends(lines: Sequence[str], room: int) -> str:
    """Return the first and the last lines that fit, with a line between them that counts the omitted ones."""
    lines = [line if len(line) <= MAX_LINE_CHARACTERS else f"{line[: MAX_LINE_CHARACTERS - 1]}…" for line in lines]
    if sum(map(len, lines)) + len(lines) <= room:
        return "\n".join(lines)
    first, last = _fitting(lines, room // 3), _fitting(lines[::-1], room - room // 3 - 40)
    away = say("more_lines", n=len(lines) - first - last)
    return "\n".join([*lines[:first], away, *lines[len(lines) - last :]])


def _fitting(lines: Sequence[str], room: int) -> int:
    """Return the number of lines that fit."""
    count = 0
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        count += 1
    return count
