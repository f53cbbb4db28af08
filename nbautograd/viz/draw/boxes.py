"""The texts of a graph: in the boxes of its nodes, whose sizes they give; and in words, for terminals, ``text/plain``
outputs and screen readers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from nbautograd.viz.capture.player_data import bytes_text
from nbautograd.viz.capture.timeline import LeafState
from nbautograd.viz.draw.cells import ARRIVING, BOX, EDGE, Grid, grid_of
from nbautograd.viz.draw.theme import MIN_FONT_PX
from nbautograd.viz.escape import columns, escape, fit, fit_path, one_line, ordered, width
from nbautograd.viz.language import once, say
from nbautograd.viz.read.model import GraphModel, Node
from nbautograd.viz.read.tiles import Tile
from nbautograd.viz.read.values import drawn

__all__ = [
    "LEAD_PX", "about_text", "cut", "cut_lines", "graph_rows", "graph_text", "grids_of", "inside", "is_alarming",
    "label_size", "markup_lines", "measure", "name_text", "table", "texts_of",
]  # fmt: skip

ROW_PX = 22.0  # of a leaf
LINE_PX = 16.0  # of a value
SMALL_LINE_PX = 14.0  # of a small text
PAD_PX = 11.0
ROW_PAD_PX = 4.0  # around a tile in a leaf's row
LEAD_PX = 6 * 7.1  # room for the words before it
MAX_WIDTH_PX = 330.0
BOLD_RATIO = 1.1  # of the width of regular letters
NAME_PX, GROUP_PX = 200.0, 230.0  # of a tensor's name; of the lines of a group
PILE_PX = 4.0  # between the cards of a pile
USUAL = "f32"
MAX_SHORT_CHARACTERS = 12  # of a value beside its name


def grids_of(
    model: GraphModel, states: Mapping[str, Sequence[LeafState]] | None = None, tiles: Sequence[Tile] = (),
    on_edges: Mapping[str, Sequence[int]] | None = None, *, written: bool = True, down: bool = True,
) -> dict[str, Grid]:  # fmt: skip
    """Return the grid of cells of each tile: ``n1:value``, ``n1:arriving``, ``n1:grad``, ``e2``.

    :param states: all states of each leaf, which name tiles by their numbers.
    :param on_edges: of each edge the numbers of its tiles.
    :param written: whether a tile of few cells holds its numbers in a box; without them the box is much smaller.
    :param down: whether few wide numbers are written on an edge, one below the other.
    """
    known = dict(enumerate(tiles))
    grids: dict[str, Grid | None] = {}
    for node in model.nodes:
        if node.tile is not None:
            grids[f"{node.id}:value"] = grid_of([node.tile], ARRIVING if node.kind == "op" else BOX, written)
        if node.kind == "leaf":
            every = (states or {}).get(node.id, ())
            numbers = dict.fromkeys([number for state in every for number in (state.arriving_tile, state.grad_tile)])
            rows = grid_of([node.grad_tile, *map(known.get, numbers)], ARRIVING, written)
            grids[f"{node.id}:arriving"] = grids[f"{node.id}:grad"] = rows
    room = EDGE._replace(down=down)
    for edge, numbers_of_edge in (on_edges or {}).items():
        grids[edge] = grid_of(map(known.get, numbers_of_edge), room)
    return {key: grid for key, grid in grids.items() if grid is not None}


def measure(
    model: GraphModel, states: Mapping[str, Sequence[LeafState]] | None = None, grids: Mapping[str, Grid] | None = None,
) -> dict[str, tuple[float, float]]:  # fmt: skip
    """The size of each node's box, wide enough for every state of a leaf; ``grids`` are by default the graph's."""
    grids = grids_of(model, states) if grids is None else grids
    texts = texts_of(model)
    return {node.id: _size(node, texts[node.id], (states or {}).get(node.id, ()), grids) for node in model.nodes}


def _size(node: Node, texts: BoxTexts, states: Sequence[LeafState], grids: Mapping[str, Grid]) -> tuple[float, float]:
    if node.kind == "constant" and not node.shape and not node.value:
        return _even(width(node.name, 12, mono=True) + 8), 20.0
    if node.kind in ("group", "pile"):
        return _group_size(node, texts.lines)
    grid = grids.get(f"{node.id}:value")
    if node.kind == "op":
        wide, high = width(cut(node.value, 24), 11, mono=True), 15.0 * bool(node.value)
        if grid is not None:
            wide, high = grid.size[0] + 6, grid.size[1] + 6
        return _even(max(max(width(node.symbol, 16), wide) + 16, 44)), 32 + high
    beside, text, high = inside(node, grid, node.grad)
    head = _head_width(node, texts, grid, beside)
    value = max(width(cut_lines(text), 12, mono=True), grid.size[0] if grid is not None else 0.0)
    if node.retains:
        value = max([value, *[width(cut_lines(f".grad {state.grad}"), 12, mono=True) for state in states]])
    row, row_high = _row_size(node, states, grids.get(f"{node.id}:grad"))
    least = 96.0 if node.kind == "leaf" else 56.0
    wide = min(max(head, value, row, least - 2 * PAD_PX), MAX_WIDTH_PX)
    return _even(wide + 2 * PAD_PX), high + row_high


def _row_size(node: Node, states: Sequence[LeafState], grid: Grid | None) -> tuple[float, float]:
    """Return the size of the row of arriving gradients; zeros for none."""
    if node.kind == "leaf":
        states = LeafState(grad=node.grad, count=say("count_of", n=0, of=9)), *states
        if grid is None:
            high = ROW_PX + SMALL_LINE_PX * max([max(s.arriving.count("\n"), s.grad.count("\n")) for s in states])
        else:
            high = max(ROW_PX, grid.size[1] + 2 * ROW_PAD_PX)
        return max([_rows_width(state, grid) for state in states]), high
    if any(state.of for state in states):
        return max(_rows_width(state) for state in states), ROW_PX
    return 0.0, 0.0


class BoxTexts(NamedTuple):
    """The texts of a box that are the same in each drawing."""

    name: str
    wide: float
    """The width of the name."""
    about: str
    tip: str
    lines: list[tuple[str, float, str, bool]]  # of a group


@once
def texts_of(model: GraphModel) -> dict[str, BoxTexts]:
    """Return the texts of each box, in the current language."""
    made = {}
    for node in model.nodes:
        about = about_text(node)
        lines = group_lines(node, about) if node.kind in ("group", "pile") else []
        name = name_text(node, about)
        made[node.id] = BoxTexts(name, BOLD_RATIO * width(name, 14), about, _tip(node, about), lines)
    return made


def name_text(node: Node, about: str) -> str:
    """Return the part of a tensor's name that fits beside its type."""
    room = min(NAME_PX, MAX_WIDTH_PX - width(about, MIN_FONT_PX) - 14) / BOLD_RATIO
    return node.names if node.names and width(node.names, 14) <= room else fit_path(node.name, room, 14)


def inside(node: Node, grid: Grid | None, grad: str) -> tuple[bool, str, float]:
    """Return whether a value is drawn beside the name (a tile without numbers, or a short text), the text below it with
    the gradient that a computed tensor retains, and the height of all.
    """
    if grid is not None and not grid.written:
        return True, "", max(44.0, grid.size[1] + 14)
    if grid is None and 0 < len(node.value) <= MAX_SHORT_CHARACTERS and "\n" not in node.value and not node.retains:
        return True, "", 30.0
    text = "\n".join([node.value] * (bool(node.value) and grid is None) + [f".grad {grad}"] * node.retains)
    tile = grid.size[1] + 7 if grid is not None else 0.0
    return False, text, 30 + tile + (LINE_PX * (cut_lines(text).count("\n") + 1) + 6 if text else 0)


def _head_width(node: Node, texts: BoxTexts, grid: Grid | None, beside: bool) -> float:
    """The width of a box's name with the texts beside it."""
    name, about = texts.wide, width(texts.about, MIN_FONT_PX)
    if not beside:
        return name + about + 14
    if grid is not None:
        return max(name, about) + 10 + grid.size[0]
    return name + 8 + width(node.value, 12, mono=True) + about + 14 * bool(about)


def group_lines(node: Node, about: str) -> list[tuple[str, float, str, bool]]:
    """(text, size, class, in the font of code) of the lines of a group."""
    many = say("parameter_count", n=node.parameters) if node.parameters else node.label
    about = " · ".join(filter(None, (many, about)))
    named = fit(node.name, GROUP_PX, MIN_FONT_PX)
    if node.module or node.kind == "pile":  # the members of a module are read when it is opened
        named = fit_path(node.module or node.name, GROUP_PX, MIN_FONT_PX)
    lines = [
        (fit(node.symbol, GROUP_PX, 15), 15.0, "nb-symbol", False),
        (named, MIN_FONT_PX, "nb-sub", False),
        (fit(node.source, GROUP_PX, MIN_FONT_PX, mono=True), MIN_FONT_PX, "nb-value", True),
        (fit(about if about != node.symbol else "", GROUP_PX, MIN_FONT_PX), MIN_FONT_PX, "nb-sub", False),
    ]
    return [line for line in lines if line[0]]


def _group_size(node: Node, lines: Sequence[tuple[str, float, str, bool]]) -> tuple[float, float]:
    wide = max([width(text, size, mono=mono) for text, size, _, mono in lines])
    sign = 16.0 if node.kind == "group" else 0.0  # by the player, which opens it
    wide = max(wide, width(lines[0][0], 15) + 2 * sign)
    return _even(wide + 2 * PAD_PX + 2 * PILE_PX), 12.0 + 17 * len(lines) + 2 * PILE_PX


def _rows_width(state: LeafState, grid: Grid | None = None) -> float:
    """Return the width of a leaf's row in a state: a tile, or else a text."""
    tiled = LEAD_PX + grid.size[0] if grid is not None else 0.0
    arriving, grad = width(cut_lines(state.arriving), 11.5, mono=True), width(cut_lines(state.held), 11.5, mono=True)
    came = tiled if grid is not None and state.arriving_tile >= 0 else arriving + 2 * 7.1
    held = tiled if grid is not None and state.grad != "None" else grad + LEAD_PX
    return max(came + width(state.count, MIN_FONT_PX) + 14, held)


@lru_cache(maxsize=2048)  # a number is in each drawing of a pass
def markup_lines(text: str) -> tuple[str, ...]:
    """Return the lines of a text as an SVG has them."""
    return tuple([escape(row.replace(" ", "\u00a0")) for row in drawn(cut_lines(text)).split("\n")])


def label_size(text: str) -> tuple[float, float]:
    """The size of a text on an edge."""
    return width(cut_lines(text), 11.5, mono=True) + 4, SMALL_LINE_PX * (cut_lines(text).count("\n") + 1)


def _even(number: float) -> float:
    return float(2 * round(number / 2))


@lru_cache(maxsize=2048)
def cut(text: str, limit: int) -> str:
    """Return a text of at most this many characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


@lru_cache(maxsize=2048)
def cut_lines(text: str) -> str:
    """The first lines of a text, each cut where it is long."""
    return "\n".join([cut(line, 46) for line in text.split("\n")[:4]])


def about_text(node: Node) -> str:
    """Type, shape, device, version and base of a tensor, in a line, without the type that PyTorch's printing omits."""
    parts = [node.dtype if node.dtype != USUAL else "", cut(node.shape, 18), cut(node.device, 10)]
    if node.version + node.now and node.kind != "leaf":
        parts.append(f"v{node.version}")
    if node.view_of.isidentifier() and not node.cut:
        parts.append(say("view_of_n", name=cut(node.view_of, 12)))
    elif node.view_of and node.cut:
        parts.append(say("memory_of", name=cut(node.view_of, 12)) + ",")
    if node.cut:
        parts.append(say("cut_by", call=cut(node.cut, 16)))
    return " ".join(filter(None, parts))


def _tip(node: Node, about: str) -> str:
    """Return the tooltip of a node, with its ``about_text``."""
    about = f"{USUAL} {about}".rstrip() if node.dtype == USUAL else about
    lines = [node.expression, node.name, node.value, about]
    if node.kind in ("group", "pile"):
        lines = [node.symbol, node.name, node.label, about]
    lines += [node.module or " / ".join(node.scope), node.where, node.source]
    if node.saved:
        lines.append(say("tip_saves", what=", ".join([f"{s.name} {s.nbytes:,} B" for s in node.saved[:6]])))
    lines += [say("tip_version", n=node.now or node.version)] if node.version + node.now else []
    lines += [say("tip_freed")] if node.freed else []
    if node.hooks:
        lines += [say("tip_hooks", kind=say(f"hook_kind_{kind}"), n=n) for kind, n in node.hooks]
    return "\n".join(filter(None, (*lines, *node.notes)))


_NOT_FINITE = re.compile(r"(?<![^\W\d_])(nan|inf)(?!\w)", re.IGNORECASE)


@lru_cache(maxsize=2048)
def is_alarming(text: str) -> bool:
    """Return whether a text contains a number that is not finite.

    >>> [is_alarming(text) for text in ("[ nan, 1.]", "-inf", "info", "nance = 2.")]
    [True, True, False, False]
    """
    return _NOT_FINITE.search(text) is not None


# -- in words ----------------------------------------------------------------------------------------------------------


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
