"""The parts that the answers to ``%why``, ``%path``, ``%diff`` and others share: lines, picture, names, places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nbautograd.protocol import SourceLocator
from nbautograd.viz.escape import escape, escape_long, one_line
from nbautograd.viz.language import say
from nbautograd.viz.notebook import output
from nbautograd.viz.notebook.picture import Picture
from nbautograd.viz.notebook.tables import Table
from nbautograd.viz.read.builder import build
from nbautograd.viz.read.introspect import attribute

__all__ = ["Answer", "marked", "picture_of", "place_text"]


class Answer:
    """An answer of one line and its reasons: a notebook shows it with a graph, a terminal as text."""

    picture_first = False

    def __init__(
        self, label: str, lines: Sequence[str], picture: Picture | None = None, table: Table | None = None
    ) -> None:
        self.label, self.lines, self.picture, self.table = label, tuple(lines), picture, table

    @property
    def text(self) -> str:
        """All of it in words."""
        table = [repr(self.table)] if self.table is not None else []
        return "\n".join([self.label, *(f"  {line}" for line in self.lines), *table])

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        lines = "".join(f"<li{self.mark(i)}{escape_long(line, 600)}</li>" for i, line in enumerate(self.lines))
        parts = [f"<ul>{lines}</ul>", self.table._repr_html_() if self.table is not None else ""]
        picture = "" if self.picture is None else output.image(self.picture.svg, self.picture.label)
        parts.insert(0 if self.picture_first else 2, picture)
        return {"text/plain": self.text, "text/html": f"<p><b>{escape(self.label)}</b></p>{''.join(parts)}"}

    def mark(self, place: int) -> str:
        """Return HTML before a line: the end of its tag, and a mark."""
        return ">"


def place_text(place: tuple[str, int] | None, short: bool = False) -> str:
    """Return the cell or file of a line, its number and, unless ``short``, its code; nothing for an unknown line."""
    if place is None:
        return ""
    label, text = SourceLocator.locate(*place)
    told = say("memory_place", cell=one_line(label, 40), n=place[1], text="" if short else one_line(text, 80))
    return told.rstrip(": ：")


def picture_of(root: Any, names: Mapping[str, Any], blame: Any = None, message: str = "") -> Picture | None:
    """Return the graph of a result; None if it cannot be drawn.

    :param blame: the node that is drawn red, with this message.
    """
    try:
        model = build(root, names, fold=None)
    except Exception:  # answer without a picture
        return None
    key = model.entire.handles.of(blame) if blame is not None else None
    key = model.stands.get(key, key) if key is not None else None
    nodes = tuple(replace(node, failed=message) if node.id == key else node for node in model.nodes)
    return Picture(replace(model, nodes=nodes))


def marked(
    root: Any, names: Mapping[str, Any], sizes: Mapping[Any, float], text: Callable[[Sequence[Any]], str], note: str
) -> Picture | None:
    """Return the graph of a result with shapes only, and on each box a mark whose area is its size.

    :param sizes: by operation; nothing for those that have none.
    :param text: the label of a box that stands for some operations.
    :param note: the line below the picture that explains the marks.
    """
    try:
        model = build(root, names, fold=None).without_values()
    except Exception:  # answer without a picture
        return None
    members: dict[str, list[Any]] = {}
    for node, key in model.entire.handles.ops.items():
        if attribute(node, "variable") is None:
            members.setdefault(model.stands.get(key) or key, []).append(node)
    total = {key: sum(sizes.get(node, 0.0) for node in nodes) for key, nodes in members.items()}
    most = max(total.values(), default=0.0) or 1.0
    nodes = []
    for node in model.nodes:
        if node.id in members:
            label = text(members[node.id])
            group: dict[str, Any] = {"label": label or node.label, "parameters": 0}
            kept = {"value": label} if node.kind == "op" else group
            node = replace(node, share=total[node.id] / most, tile=None, **kept)
        nodes.append(node)
    return Picture(replace(model, nodes=tuple(nodes), notes=(*model.notes, note)))
