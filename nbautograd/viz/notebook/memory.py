"""``%memory y``: the memory that a graph keeps, by line, operation and module, and its rise and fall as a picture."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from nbautograd.protocol import SourceLocator
from nbautograd.viz.capture.player_data import bytes_text
from nbautograd.viz.draw.lines import text_element
from nbautograd.viz.draw.theme import LIGHT
from nbautograd.viz.escape import escape_long, one_line
from nbautograd.viz.language import headings, say
from nbautograd.viz.notebook import output
from nbautograd.viz.notebook.answers import marked, place_text
from nbautograd.viz.notebook.in_place import at_once, callers_names, name_in
from nbautograd.viz.notebook.picture import Picture
from nbautograd.viz.notebook.still import WIDTH_PX, card
from nbautograd.viz.notebook.tables import Table
from nbautograd.viz.read.costs import GraphMemory, Runs, read_kept
from nbautograd.viz.read.introspect import node_name, remarks, settle
from nbautograd.viz.read.values import is_tensor
from nbautograd.viz.read.walk import GraphWalk

__all__ = ["MemoryReport", "memory"]

MAX_TABLE_ROWS = 8
MAX_CURVE_POINTS = 300
TOP_PX, HEIGHT_PX, LEFT_PX, RIGHT_PX = 40, 120, 78, 16


class MemoryReport:
    """A report by :func:`memory`: a notebook shows it as a picture and tables, a terminal as text.

    :param kept: the memory, as it was read.
    :param name: of the tensor.
    :param notes: lines below.
    :param picture: the graph, on which the area of each mark is the memory that a box keeps; or None.
    :returns: the report.
    :raises TypeError: an argument is missing.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.ones(1000, requires_grad=True)
    >>> report = viz.memory((w * 2).exp().sum(), namespace={"w": w})
    >>> report.total  # the results of exp, and the number 2
    4004
    """

    def __init__(self, kept: GraphMemory, name: str, notes: Sequence[str] = (), picture: Picture | None = None) -> None:
        self.kept, self.name, self.picture = kept, one_line(name, 40), picture
        self.notes = (*_told(kept), *notes)

    @property
    def total(self) -> int:
        """Bytes that are freed with the graph."""
        return self.kept.total

    @property
    def peak(self) -> tuple[int, int]:
        """Estimates of the largest number of bytes in the forward and in the backward pass."""
        return max(self.kept.forward, default=0), max(self.kept.backward, default=0)

    @property
    def label(self) -> str:
        """Summarize it in one line."""
        return say("memory_kept", name=self.name, size=bytes_text(self.total), n=self.kept.operations)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The ranking by line, by operation and by module."""
        groups: dict[str, dict[str, list[int]]] = {"memory_line": {}, "memory_op": {}, "memory_module": {}}
        for one in [one for one in self.kept.storages if not one.alive]:
            told = place_text(one.line), one.operation, one.module
            for rows, what in zip(groups.values(), told, strict=True):
                rows.setdefault(what or "–", []).append(one.nbytes)
        return tuple(self._table(key, rows) for key, rows in groups.items() if set(rows) - {"–"})

    def _table(self, key: str, rows: dict[str, list[int]]) -> Table:
        ranked = sorted(rows.items(), key=lambda item: -sum(item[1]))
        shown = [(one_line(what, 100), str(len(sizes)), bytes_text(sum(sizes)), f"{sum(sizes) / (self.total or 1):.0%}")
                 for what, sizes in ranked[:MAX_TABLE_ROWS]]  # fmt: skip
        note = say("memory_more", n=len(ranked) - MAX_TABLE_ROWS) if len(ranked) > MAX_TABLE_ROWS else ""
        return Table(say(key), ("", *headings("memory_tensors", "memory_bytes", "memory_share")), tuple(shown), note)

    @property
    def text(self) -> str:
        """All of it in words."""
        return "\n".join([self.label, *self.notes, *(repr(table) for table in self.tables)])

    def __repr__(self) -> str:
        return self.text

    @property
    def svg(self) -> str:
        """The memory over the forward and the backward pass, with its peak."""
        curve = [*self.kept.forward, *self.kept.backward]
        body: list[str] = []
        bottom, right = TOP_PX + HEIGHT_PX, WIDTH_PX - RIGHT_PX
        if len(curve) > 1:
            most, middle = max(curve) or 1, len(self.kept.forward)
            step = (right - LEFT_PX) / (len(curve) - 1)

            def at(i: int) -> str:
                return f"{LEFT_PX + i * step:.1f} {bottom - curve[i] / most * (HEIGHT_PX - 14):.1f}"

            every, top = max(1, len(curve) // MAX_CURVE_POINTS), curve.index(most)
            line = "L".join(map(at, sorted({*range(0, len(curve), every), top, len(curve) - 1})))
            area = f"M{LEFT_PX} {bottom}L{line}L{right} {bottom}Z"
            body.append(f'<path d="{area}" fill="{LIGHT["leaf-bg"]}" stroke="none"/>')
            body.append(f'<path d="M{line}" fill="none" stroke="{LIGHT["leaf"]}" stroke-width="1.8"/>')
            turn = LEFT_PX + (middle - 0.5) * step
            body.append(f'<path d="M{turn:.1f} {TOP_PX}V{bottom}" stroke="{LIGHT["wire"]}" stroke-dasharray="3 3"/>')
            body.append(f'<path d="M{LEFT_PX} {bottom}H{right}" stroke="{LIGHT["line"]}"/>')
            x, y = map(float, at(top).split())
            body.append(f'<circle cx="{x}" cy="{y}" r="3.5" fill="{LIGHT["grad"]}"/>')
            body.append(text_element(LEFT_PX - 6, y + 4, bytes_text(most), LIGHT["grad"], anchor="end", mono=True))
            body.append(text_element(LEFT_PX, bottom + 16, say("memory_forward"), LIGHT["muted"]))
            body.append(text_element(right, bottom + 16, say("memory_backward"), LIGHT["muted"], anchor="end"))
        return card(self.label, self.text, body, bottom + 26)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        notes = "".join(f"<p>{escape_long(note, 400)}</p>" for note in self.notes)
        tables = "".join(table._repr_html_() for table in self.tables)
        graph = output.image(self.picture.svg, self.picture.label) if self.picture is not None else ""
        curve = output.image(output.colored(self.svg), self.label)
        return {"text/plain": self.text, "text/html": curve + notes + graph + tables}


def _told(kept: GraphMemory) -> list[str]:
    """The sentences below the heading."""
    lines = []
    if kept.runs is not None:
        lines += _lines_of_runs(kept.runs)
    if kept.freed:
        lines.append(say("memory_freed", n=kept.freed, of=kept.operations))
    if kept.storages:
        pieces = say("memory_pieces", n=len(kept.storages))
        lines.append(say("memory_count", n=kept.savings, pieces=pieces, size=bytes_text(kept.shared)))
    if kept.backward and kept.total:
        at = node_name(kept.peak_at)
        forward, backward = bytes_text(max(kept.forward)), bytes_text(max(kept.backward))
        lines.append(say("memory_peak", forward=forward, backward=backward, at=at))
    if kept.segments is not None and kept.segments[2] < kept.total:
        kind, count, size = kept.segments
        key = "memory_checkpoint" if kind else "memory_checkpoint_steps"
        lines.append(say(key, kind=kind, count=count, size=bytes_text(size), total=bytes_text(kept.total)))
    return lines


def _lines_of_runs(runs: Runs) -> list[str]:
    lines = [say("memory_runs", n=runs.count, line=place_text(runs.line))]
    if runs.freed:
        lines[0] += say("memory_runs_freed", n=runs.freed)
    _, text = SourceLocator.locate(*runs.line)
    name, is_sum = _carried(text)
    if name:
        key, line = ("memory_fix_item", _itemed(text)) if is_sum else ("memory_fix_detach", "")
        lines.append(say(key, name=name, line=line))
    return lines


def _carried(line: str) -> tuple[str, bool]:
    """The variable that a line carries from one run to the next, and whether the line sums it up.

    >>> _carried("total += loss"), _carried("h = torch.tanh(h @ w)"), _carried("y = f(x)")
    (('total', True), ('h', False), ('', False))
    """
    try:
        (tree,) = ast.parse(line.strip()).body
    except (SyntaxError, ValueError):
        return "", False
    match tree:
        case ast.AugAssign(target=ast.Name(id=name)):
            return name, isinstance(tree.op, ast.Add)
        case ast.Assign(targets=targets, value=value):
            used = _names(value)
            name = next((name for target in targets for name in _names(target) if name in used), "")
            match value:
                case ast.BinOp(left=ast.Name(id=left), op=ast.Add()):
                    return name, left == name
            return name, False
    return "", False


def _names(tree: ast.AST) -> list[str]:
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]


def _itemed(line: str) -> str:
    """Return the line with ``.item()`` at the number that it adds.

    >>> _itemed("total += loss  # so far"), _itemed("total = total + a * b")
    ('total += loss.item()', 'total += (a * b).item()')
    """
    (tree,) = ast.parse(line.strip()).body
    added: ast.expr = tree.value.right if isinstance(tree, ast.Assign) else tree.value  # type: ignore[attr-defined]
    text = ast.unparse(added)
    text = text if isinstance(added, (ast.Name, ast.Attribute, ast.Call)) else f"({text})"
    return f"{_carried(line)[0]} += {text}.item()"


@at_once
def memory(tensor: Any, *, namespace: Mapping[str, Any] | None = None) -> MemoryReport:
    """Report the memory that the graph of a tensor keeps for its backward pass.

    Saved tensors are ranked by line, operation and module. Shared memory is counted once; parameters and data are
    listed separately, since they stay. The peaks of both passes, and the gain of checkpoints, are estimates from
    shapes. A line that runs repeatedly within one graph (``total += loss``) is named.

    :param tensor: a result, of nbautograd or of PyTorch.
    :param namespace: variables whose names are to be shown; by default those where this is called.
    :returns: the report.
    :raises TypeError: it is no tensor.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.ones(1000, requires_grad=True)
    >>> with viz.traced():
    ...     y = (w * 2).exp().sum()
    >>> print(viz.memory(y, namespace={"w": w, "y": y}).text.splitlines()[0])
    y keeps 4.0 kB for its backward pass (3 operations)
    """
    if not is_tensor(tensor):
        raise TypeError(f"memory needs a tensor, but was given {type(tensor).__name__}")
    namespace = namespace if namespace is not None else callers_names()
    settle(namespace)
    walk = GraphWalk(tensor)
    name = name_in(namespace, tensor) or "out"
    cut = (say("cut", count=len(walk.next)),) if walk.cut else ()
    kept = read_kept(walk, namespace)

    def label(nodes: Sequence[Any]) -> str:
        size = int(sum(kept.first.get(node, 0) for node in nodes))
        return bytes_text(size) if size else ""

    picture = marked(tensor, namespace, kept.first, label, say("mark_memory")) if kept.first else None
    return MemoryReport(kept, name, (*cut, *remarks(walk.ops)), picture)
