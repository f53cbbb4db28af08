"""A graph as text: for terminals, ``text/plain`` outputs and screen readers."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from nbautograd.viz.capture.player_data import bytes_text
from nbautograd.viz.escape import columns, one_line, ordered
from nbautograd.viz.language import once, say
from nbautograd.viz.read.model import GraphModel, Node

__all__ = ["graph_rows", "graph_text", "table"]

MAX_LINES = 400


@once
def graph_text(model: GraphModel) -> str:
    """The graph as a tree from the roots, a line per operation; what is used twice is written once.

    ::

        y → 2 leaves, 3 operations
        y = a × b  MulBackward0  6.  f32 (1,)  In [3], line 5
        ├─ a = w + x  AddBackward0  3.  f32 (1,)  In [3], line 3
        │  ├─ w  leaf  1.  f32 (1,)  .grad None
        ...
    """
    inputs, makers, results = _links(model)
    rows: list[tuple[str, list[str]]] = []
    seen: set[str] = set()
    stack = [(root, "", "") for root in reversed(model.roots)]
    while stack and len(rows) < MAX_LINES:
        shown, lead, indent = stack.pop()
        key = makers.get(shown, shown)
        node, made = model.by_id[key], results.get(key, [])
        if key in seen:
            rows.append((f"{lead}{ordered(_short(model.by_id[shown]))}", [say("see_above")]))
            continue
        if node.kind != "constant":
            seen.add(key)
        box = model.by_id[shown] if shown != key else made[0] if made else None
        rows.append((f"{lead}{ordered(_head(node, made))}", _columns(node, box)))
        below = inputs.get(key, [])
        deeper = len(below) == 1 and len(indent) > 60  # a long chain goes down instead of further to the right
        for i, child in reversed(list(enumerate(below))):
            branch, under = ("", "") if deeper else ("└─ ", "   ") if i == len(below) - 1 else ("├─ ", "│  ")
            stack.append((child, indent + branch, indent + under))
    lines = [model.label, *model.notes] + [f"{head}  {'  '.join(filter(None, about))}".rstrip() for head, about in rows]
    if stack:
        lines.append(say("more_nodes", n=len(model.nodes) - len(seen)))
    return "\n".join(lines)


def _links(model: GraphModel) -> tuple[dict[str, list[str]], dict[str, str], dict[str, list[Node]]]:
    """Return the inputs of nodes, the makers of results, and the results of makers."""
    inputs: dict[str, list[str]] = {}
    makers = {edge.dst: edge.src for edge in model.edges if edge.kind == "result"}
    results: dict[str, list[Node]] = {}
    for result, maker in makers.items():
        results.setdefault(maker, []).append(model.by_id[result])
    for edge in sorted(model.edges, key=attrgetter("slot")):
        if edge.kind != "result":
            inputs.setdefault(edge.dst, []).append(edge.src)
    return inputs, makers, results


def _short(node: Node) -> str:
    return f"{node.symbol} {node.name}" if node.kind in ("group", "pile") else node.label or node.name


def _head(node: Node, made: Sequence[Node]) -> str:
    if node.kind in ("group", "pile"):
        return _short(node)
    if len(made) > 1:
        names = ", ".join([each.name for each in made])
        return one_line(f"{names} = {node.expression.removeprefix(f'{made[0].name} = ')}", 100)
    return one_line(node.expression or node.name, 100) if node.kind == "op" else node.names or node.name


def _columns(node: Node, box: Node | None) -> list[str]:
    shown = box if box is not None else node
    value = one_line(shown.value, 80)
    about = f"{shown.dtype} {shown.shape}".strip()
    more = [say("version_n", n=shown.version)] if shown.version else []
    more = [say("version_written", n=shown.version, now=shown.now)] if shown.now else more
    more += [say("view_of_n", name=shown.view_of)] if shown.view_of else []
    more += [f".grad {shown.grad}"] if shown.retains else []
    if node.kind == "op":
        return [node.name, value, about, node.where, *more]
    if node.kind in ("group", "pile"):
        held = say("parameter_count", n=node.parameters) if node.parameters else ""
        return [say(f"kind_{node.kind}"), node.label, held, about, node.where, node.source]
    if node.kind == "leaf":
        return [say("leaf"), value, about, f".grad {node.grad}", *more]
    return [say("constant") if about or not node.named else "", value, about, *node.notes]


def graph_rows(model: GraphModel) -> list[tuple[str, ...]]:
    """Every node of the graph, from the result on: name, kind, value, type and shape, memory, place in the code."""
    rows: list[tuple[str, ...]] = []
    for node in model.nodes[:MAX_LINES]:
        kind = node.name if node.kind == "op" else say(f"kind_{node.kind}")
        name = node.expression or node.label or node.name if node.kind == "op" else _short(node)
        kept = sum([saved.nbytes for saved in node.saved]) if node.saved else 0
        size = bytes_text(kept or node.nbytes) if kept or node.nbytes else ""
        memory = say("saves_bytes", size=size) if kept else size
        about = f"{node.dtype} {node.shape}".strip()
        rows.append((one_line(name, 100), kind, one_line(node.value, 80), about, memory, node.where))
    return rows


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns, each as wide as it needs to be."""
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    lines = [[text + " " * (wide - columns(text)) for text, wide in zip(row, widths, strict=True)] for row in rows]
    return "\n".join(["  ".join(line).rstrip() for line in lines])
