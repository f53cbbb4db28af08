"""A line of a program, and how lines are put together as text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["BACKWARD", "DATA", "FORWARD", "GRADS", "Line", "text_of"]

DATA, FORWARD, BACKWARD, GRADS = "data", "forward", "backward", "grads"
"""The parts of a program."""
HEADINGS = {DATA: "leaves and constants", FORWARD: "forward", BACKWARD: "backward", GRADS: "what the leaves get"}
COMMENT_COLUMN = 40
"""The column where comments begin, unless the line is longer."""


@dataclass(eq=False)
class Line:
    """One statement: ``g_a = g_y * b``."""

    text: str
    comment: str
    """The node's name, and the line of the notebook."""
    part: str
    name: str = ""
    """The variable that gets a value."""
    node: Any = None
    """The operation of the line."""
    slot: int | None = None
    """In the backward pass: the number of the input that gets the line's gradient."""

    origin: tuple[Any, ...] = ()
    """The source of the line, for a writer in another vocabulary: a kind, and its data."""

    scope: tuple[tuple[str, int], ...] = ()
    """The modules and named blocks in which the operation ran, outermost first, each with the number of its call."""

    def __str__(self) -> str:
        return f"{self.text:<{COMMENT_COLUMN}}  # {_remark(self.comment)}" if self.comment else self.text


def _remark(text: str) -> str:
    """Return any text on one line, so that user text cannot continue as code."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def text_of(lines: Iterable[Line]) -> list[str]:
    """The lines, with a heading for each part, and one for each module in it."""
    texts: list[str] = []
    part = ""
    scope: tuple[tuple[str, int], ...] = ()
    for line in sorted(lines, key=lambda line: list(HEADINGS).index(line.part)):
        if line.part != part:
            part, scope = line.part, ()
            texts += [""] * bool(texts) + [f"# {HEADINGS[part]}"]
        if line.scope != scope and line.part in (FORWARD, BACKWARD):
            scope = line.scope
            if texts[-1] == f"# {HEADINGS[part]}":
                del texts[-2:]
            inside = _remark(" / ".join(str(name)[:40] for name, *_ in scope)) or "outside of modules"
            texts += ["", f"# {HEADINGS[part]}: {inside}"]
        texts.append(str(line))
    return texts
