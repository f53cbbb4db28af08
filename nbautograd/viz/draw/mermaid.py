"""A graph in Mermaid's language, which GitHub, MyST and JupyterLab draw."""

from __future__ import annotations

import re

from nbautograd.viz.escape import clean
from nbautograd.viz.read.model import GraphModel, Node

__all__ = ["label_lines", "to_mermaid"]

LOOKS = {"leaf": "fill:#eaf3fd,stroke:#4a90d9", "output": "fill:#f4efff,stroke:#8b6fd6"}
_SHAPES = {"op": '("{}")', "group": '[["{}"]]', "constant": '(["{}"])'}
_MARKUP = re.compile(r'[#&<>"`]')


def to_mermaid(model: GraphModel, direction: str = "LR") -> str:
    """Return the source of a Mermaid flowchart; every label is text, never markup, and ids are our own.

    :param direction: ``"LR"`` or ``"TB"``.
    """
    names = {node.id: f"n{number}" for number, node in enumerate(model.nodes)}
    lines = [f"flowchart {direction}"]
    for node in model.nodes:
        shape = _SHAPES.get(node.kind, '["{}"]').format(_label(node))
        lines.append(f"  {names[node.id]}{shape}" + (f":::{node.kind}" if node.kind in LOOKS else ""))
    lines += [f"  {names[edge.src]} --> {names[edge.dst]}" for edge in model.edges]
    lines += [f"  classDef {kind} {looks},color:#111" for kind, looks in LOOKS.items()]
    return "\n".join(lines) + "\n"


def _label(node: Node) -> str:
    return "<br>".join(_MARKUP.sub(lambda found: f"#{ord(found[0])};", line) for line in label_lines(node))


def label_lines(node: Node) -> list[str]:
    """The lines of a node's label, also in Graphviz's language."""
    value = node.label if node.kind == "group" else node.value
    parts = [node.symbol, node.name, value, f"{node.dtype} {node.shape}".strip()]
    parts += [f".grad {node.grad}"] if node.kind == "leaf" else []
    return [line for part in parts if part for line in clean(part).split("\n")]
