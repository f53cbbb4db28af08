"""A graph, its layout and at most one moment of a backward pass as SVG text.

The picture stands alone: presentation attributes give it the light colours on an opaque card, so that it looks the same
in an ``<img>``, on GitHub and in print. Classes let the player's style sheet give it the colours of the page. Only a
handful of element kinds occur, every text goes through :func:`~nbautograd.viz.escape.escape`, and the same graph gives
the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from nbautograd.viz.draw.layout import Box, Layout, Point, layout
from nbautograd.viz.draw.theme import LIGHT, MONO, SANS
from nbautograd.viz.escape import escape, fit, width
from nbautograd.viz.language import say
from nbautograd.viz.read.builder import GraphModel, Node

__all__ = ["LeafState", "Moment", "draw", "label_size", "measure", "path"]

ROW = 22.0  # height of a leaf's rows
LINE = 16.0  # height of a line of a value
DOWN = 14.0  # from one line of a small text to the next
PAD = 11.0
WIDEST = 330.0
BOLD = 1.1  # by how much bold letters are wider
NAME, GROUP = 200.0, 230.0  # room for the name of a tensor, and for the lines of a group
PILE = 4.0  # by how much the cards of a pile are apart
NOTE = 18.0  # height of a note below the drawing
NBSP = "\u00a0"


@dataclass(frozen=True, slots=True)
class LeafState:
    """What a leaf's two rows say."""

    arriving: str = "–"
    count: str = ""
    grad: str = "None"


@dataclass(frozen=True)
class Moment:
    """One moment of a backward pass: what is active, what has happened, and the texts that have changed."""

    active: frozenset[str] = frozenset()
    done: frozenset[str] = frozenset()
    bad: frozenset[str] = frozenset()
    freed: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)
    leaves: Mapping[str, LeafState] = field(default_factory=dict)

    def seen_in(self, model: GraphModel) -> Moment:
        """What a folded view of the graph shows of it: a group for what happens inside, the latest text of a line."""
        if not model.stands:
            return self
        ids = [frozenset(model.stands.get(key, key) for key in keys) for keys in
               (self.active, self.done, self.bad, self.freed)]  # fmt: skip
        groups = {node.id for node in model.nodes if node.kind == "group"}
        labels = {model.stands.get(key, key): text for key, text in self.labels.items()}
        return Moment(ids[0], ids[1], ids[2], ids[3] - groups, labels, self.leaves)


# -- sizes -----------------------------------------------------------------------


def measure(
    model: GraphModel, states: Mapping[str, Sequence[LeafState]] | None = None
) -> dict[str, tuple[float, float]]:
    """The size of each node's box, wide enough for every state that a leaf will be in."""
    return {node.id: _size(node, (states or {}).get(node.id, ())) for node in model.nodes}


def _size(node: Node, states: Sequence[LeafState]) -> tuple[float, float]:
    if node.kind == "constant" and not node.shape and not node.value:
        return _even(width(node.name, 12, mono=True) + 8), 20.0
    if node.kind in ("group", "pile"):
        return _group_size(node)
    if node.kind == "op":
        wide = max(width(node.name, 9.5), width(node.symbol, 16), width(_cut(node.value, 24), 11, mono=True))
        return _even(max(wide + 24, 60)), 46.0 + 15 * bool(node.value)
    head = BOLD * width(_name(node), 14) + width(_about(node), 10) + 14
    value = width(_cut_lines(_value(node)), 12, mono=True)
    rows, height = 0.0, _head_height(node)
    if node.kind == "leaf":
        every = (LeafState(grad=node.grad, count=say("count_of", n=0, of=9)), *states)
        rows = max(_rows_width(state) for state in every)
        deep = max(max(s.arriving.count("\n"), s.grad.count("\n")) for s in every)
        height += 2 * (ROW + DOWN * deep)
    least = 116.0 if node.kind == "leaf" else 84.0
    return _even(min(max(head, value, rows, least - 2 * PAD) + 2 * PAD, WIDEST + 2 * PAD)), height


def _name(node: Node) -> str:
    """As much of a tensor's name as there is room for beside its type."""
    room = min(NAME, WIDEST - width(_about(node), 10) - 14) / BOLD
    return fit(node.name, room, 14)


def _head_height(node: Node) -> float:
    """Of name and value."""
    lines = _cut_lines(_value(node)).count("\n") + 1 if _value(node) else 0
    return 30 + LINE * lines + (6 if lines else 0)


def _value(node: Node) -> str:
    """What stands below the name: the value, and the gradient that a computed tensor was told to keep."""
    return "\n".join([node.value] * bool(node.value) + [f".grad {node.grad}"] * node.retains)


def _group_lines(node: Node) -> list[tuple[str, float, str, bool]]:
    """(text, size, class, in the font of code) of the lines of a group."""
    about = " · ".join(part for part in (node.label, _about(node)) if part)
    lines = [
        (fit(node.symbol, GROUP, 15), 15.0, "nb-symbol", False),
        (fit(node.name, GROUP, 11), 11.0, "nb-sub", False),
        (fit(node.source, GROUP, 10.5, mono=True), 10.5, "nb-value", True),
        (fit(about if about != node.symbol else "", GROUP, 10), 10.0, "nb-sub", False),
    ]
    return [line for line in lines if line[0]]


def _group_size(node: Node) -> tuple[float, float]:
    lines = _group_lines(node)
    wide = max(width(text, size, mono=mono) for text, size, _, mono in lines)
    sign = 16.0 if node.kind == "group" else 0.0  # of a player, which opens it
    wide = max(wide, width(lines[0][0], 15) + 2 * sign)
    return _even(wide + 2 * PAD + 2 * PILE), 12.0 + 17 * len(lines) + 2 * PILE


def _rows_width(state: LeafState) -> float:
    arriving = width(_cut_lines(state.arriving), 11.5, mono=True) + 2 * 7.1 + width(state.count, 10) + 14
    return max(arriving, width(_cut_lines(state.grad), 11.5, mono=True) + 6 * 7.1)


def label_size(text: str) -> tuple[float, float]:
    """The size of a text on an edge."""
    return width(_cut_lines(text), 11.5, mono=True) + 4, DOWN * (_cut_lines(text).count("\n") + 1)


def _even(number: float) -> float:
    return float(2 * round(number / 2))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _cut_lines(text: str) -> str:
    return "\n".join(_cut(line, 46) for line in text.split("\n")[:4])


def _about(node: Node) -> str:
    parts = [node.dtype, _cut(node.shape, 18), _cut(node.device, 10)]
    parts += [f"v{node.version}"] * (node.version > 0 and node.kind != "leaf") + [
        say("view_of_n", name=_cut(node.view_of, 12))
    ] * bool(node.view_of)
    return " ".join(part for part in parts if part)


# -- drawing -----------------------------------------------------------------------


def draw(
    model: GraphModel,
    places: Layout | None = None,
    moment: Moment | None = None,
    *,
    direction: str = "LR",
    title: str = "",
    description: str = "",
) -> str:
    """The SVG text of a graph.

    :param places: a layout of this graph; made if not given.
    :param moment: the moment of a backward pass to show; none gives the graph as it was built.
    :param description: the graph in words, for screen readers.
    """
    places = places or layout(model, measure(model), direction=direction)
    return _Picture(model, places, moment or Moment(), title or say("graph_of", label=model.label), description).text()


def path(line: Sequence[Point], direction: str = "LR") -> str:
    """The ``d`` of a line: straight within a layer, curved between two."""
    parts = [f"M{_n(line[0][0])} {_n(line[0][1])}"]
    ahead: Point | None = None  # where the last piece began, if that was straight
    for i, ((x0, y0), (x1, y1)) in enumerate(pairwise(line)):
        if (x0, y0) == (x1, y1):
            continue
        straight = i % 2 == 0 or x0 == x1 or y0 == y1
        if straight and ahead is not None and (ahead[0] == x0 == x1 or ahead[1] == y0 == y1):
            parts.pop()  # it goes straight on
        ahead = (x0, y0) if straight else None
        if i % 2 == 0 or x0 == x1 or y0 == y1:
            parts.append(f"L{_n(x1)} {_n(y1)}")
        elif direction == "LR":
            middle = (x0 + x1) / 2
            parts.append(f"C{_n(middle)} {_n(y0)} {_n(middle)} {_n(y1)} {_n(x1)} {_n(y1)}")
        else:
            middle = (y0 + y1) / 2
            parts.append(f"C{_n(x0)} {_n(middle)} {_n(x1)} {_n(middle)} {_n(x1)} {_n(y1)}")
    return "".join(parts)


def _n(number: float) -> str:
    """A number without needless digits."""
    return f"{number:.1f}".removesuffix(".0")


class _Picture:
    """Writes one SVG, element by element."""

    def __init__(self, model: GraphModel, places: Layout, moment: Moment, title: str, description: str) -> None:
        self.model, self.places, self.moment = model, places, moment
        self.title, self.description = title, description
        self.prefix = "\0"  # a placeholder, which no text from outside can hold, for a digest of the whole
        self.out: list[str] = []

    def text(self) -> str:
        """The whole."""
        high = self.places.height + NOTE * len(self.model.notes)
        longest = max((width(note, 11) + 32 for note in self.model.notes), default=0.0)
        wide = max(self.places.width, longest)
        w, h = _n(wide), _n(high)
        p = self.prefix
        self.out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="nb-svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" '
            f'role="img" aria-labelledby="{p}-title {p}-desc" font-family="{escape(SANS)}" font-size="12">',
            f'<title id="{p}-title">{escape(self.title)}</title>',
            f'<desc id="{p}-desc">{escape(self.description or self.model.label, 20_000)}</desc>',
            "<defs>",
            self.marker("wire", LIGHT["wire"], 7),
            self.marker("done", LIGHT["done"], 8),
            self.marker("active", LIGHT["grad"], 9),
            "</defs>",
            f'<rect class="nb-card" x="0.5" y="0.5" width="{_n(wide - 1)}" '
            f'height="{_n(high - 1)}" rx="8" fill="{LIGHT["bg"]}" stroke="{LIGHT["line"]}"/>',
        ]
        for line in self.places.trunks:
            d = path(line, self.places.direction)
            self.out.append(
                f'<path class="nb-edge nb-trunk" d="{d}" fill="none" stroke="{LIGHT["wire"]}" stroke-width="1.3"/>'
            )
        self.edges()
        for node in self.model.nodes:
            self.node(node)
        self.labels()
        for i, note in enumerate(self.model.notes):
            self.put(16, self.places.height + NOTE * i + 2, note, "nb-sub nb-remark", LIGHT["muted"], 11, italic=True)
        self.out.append("</svg>")
        text = "\n".join(self.out) + "\n"
        return text.replace(p, "nb" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:10])

    def marker(self, name: str, colour: str, size: int) -> str:
        return (
            f'<marker id="{self.prefix}-{name}" viewBox="0 0 8 8" refX="7.2" refY="4" markerWidth="{size}" '
            f'markerHeight="{size}" markerUnits="userSpaceOnUse" orient="auto">'
            f'<path class="nb-head nb-head-{name}" d="M0 0.6L8 4L0 7.4z" fill="{colour}"/></marker>'
        )

    def edges(self) -> None:
        """Each line once in the direction of the computation, and once, if a gradient went there, against it."""
        flows = []
        moving = self.moment.active | self.moment.done
        for edge in self.model.edges:
            line = self.places.routes[edge.id]
            own = self.places.branches.get(edge.id, line)
            used = edge.id in moving
            constant = edge.kind == "constant"
            dash = ' stroke-dasharray="3 3"' if constant else ""
            end = "" if used else f' marker-end="url(#{self.prefix}-wire)"'
            self.out.append(
                f'<path class="nb-edge{" nb-constant" * constant}{" nb-used" * used}" data-edge="{edge.id}" '
                f'd="{path(own, self.places.direction)}" fill="none" stroke="{LIGHT["wire"]}" '
                f'stroke-width="1.3"{dash}{end}/>'
            )
            if not constant:
                flows.append(self.flow(edge.id, line))
        self.out += flows

    def flow(self, key: str, line: Sequence[Point]) -> str:
        """The line of a gradient, drawn from the user of a value to its maker."""
        active, done = key in self.moment.active, key in self.moment.done
        colour = LIGHT["bad"] if key in self.moment.bad else LIGHT["grad"] if active else LIGHT["done"]
        state = " nb-active" * active + " nb-done" * (done and not active) + " nb-bad" * (key in self.moment.bad)
        hidden = "" if active or done else ' visibility="hidden"'
        kind = "active" if active else "done"
        return (
            f'<path class="nb-flow{state}" data-flow="{key}" d="{_reversed(line, self.places.direction)}" fill="none" '
            f'stroke="{colour}" stroke-width="{"3" if active else "2.2"}" '
            f'marker-end="url(#{self.prefix}-{kind})"{hidden}/>'
        )

    def labels(self) -> None:
        """The gradients on the edges, with a rim in the colour of the card so that lines do not cross them."""
        for edge in self.model.edges:
            spot = self.places.labels.get(edge.id)
            if spot is None:
                continue
            active, shown = edge.id in self.moment.active, self.moment.labels.get(edge.id, "")
            bad = edge.id in self.moment.bad
            colour = LIGHT["bad"] if bad else LIGHT["grad"]
            weight = ' font-weight="700"' if active else ""
            state = " nb-active" * active + " nb-bad" * bad
            self.out.append(
                f'<text class="nb-label{state}" data-label="{edge.id}" x="{_n(spot[0])}" y="{_n(spot[1] + 4)}" '
                f'text-anchor="middle" font-family="{escape(MONO)}" font-size="11.5" fill="{colour}"{weight} '
                f'stroke="{LIGHT["bg"]}" stroke-width="4" stroke-linejoin="round" paint-order="stroke">'
                f"{_lines(shown, spot[0], 0, middle=True)}</text>"
            )

    # -- nodes -------------------------------------------------------------------

    def node(self, node: Node) -> None:
        """A box or a pill."""
        box, moment = self.places.boxes[node.id], self.moment
        states = {"active": moment.active, "done": moment.done, "bad": moment.bad, "freed": moment.freed}
        state = "".join(f" nb-{name}" for name, ids in states.items() if node.id in ids)
        kind = {"group": "op nb-group", "pile": "leaf nb-group"}.get(node.kind, node.kind)
        self.out.append(f'<g class="nb-node nb-{kind}{state}" data-node="{node.id}">')
        self.out.append(f"<title>{escape(_tip(node))}</title>")
        if node.kind == "op":
            self.pill(node, box)
        elif node.kind in ("group", "pile"):
            self.group(node, box)
        elif node.kind == "constant" and not node.shape and not node.value:
            x, y = box.center
            self.put(x, y + 4, node.name, "nb-value", LIGHT["muted"], 12, mono=True, anchor="middle")
        else:
            self.box(node, box)
        self.out.append("</g>")

    def pill(self, node: Node, box: Box) -> None:
        active, bad = node.id in self.moment.active, node.id in self.moment.bad
        done = node.id in self.moment.done
        stroke = "bad" if bad else "grad" if active else "done" if done else "wire"
        fill, ink = ("bad-bg", "bad") if bad else ("grad-bg", "grad") if active else ("op-bg", "op")
        self.out.append(
            f'<rect class="nb-shape" x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}" '
            f'rx="{_n(min(23.0, box.height / 2))}" fill="{LIGHT[fill]}" stroke="{LIGHT[stroke]}" '
            f'stroke-width="{"2.4" if active else "1.5"}"/>'
        )
        x, y = box.center[0], box.y
        self.put(x, y + 21, node.symbol, "nb-symbol", LIGHT[ink], 16, anchor="middle")
        self.put(x, y + 36, node.name, "nb-sub", LIGHT[ink if active or bad else "muted"], 9.5, anchor="middle")
        if node.value:
            self.put(x, y + 51, _cut(node.value, 24), "nb-value", LIGHT["fg"], 11, mono=True, anchor="middle")
        self.saved(node, box)

    def saved(self, node: Node, box: Box) -> None:
        """A dot for each saved tensor; hollow when it has been given up."""
        gone = node.freed or node.id in self.moment.freed
        count = min(len(node.saved or ()) or int(node.freed), 3)
        for i in range(count):
            x = box.center[0] + 7 * (i - (count - 1) / 2)
            fill = LIGHT["bg"] if gone else LIGHT["op"]
            self.out.append(
                f'<circle class="nb-saved" cx="{_n(x)}" cy="{_n(box.y + box.height)}" r="2.6" fill="{fill}" '
                f'stroke="{LIGHT["op"]}" stroke-width="1"/>'
            )

    def group(self, node: Node, box: Box) -> None:
        """A pile of cards."""
        leaves, active, bad = node.kind == "pile", node.id in self.moment.active, node.id in self.moment.bad
        done = node.id in self.moment.done
        fill, stroke, ink = ("leaf-bg", "leaf", "leaf") if leaves else ("op-bg", "wire", "op")
        stroke = "bad" if bad else "grad" if active else "done" if done else stroke
        w, h = box.width - 2 * PILE, box.height - 2 * PILE
        for i in (2, 1, 0):
            self.out.append(
                f'<rect class="nb-shape" x="{_n(box.x + PILE * i)}" y="{_n(box.y + PILE * i)}" width="{_n(w)}" '
                f'height="{_n(h)}" rx="9" fill="{LIGHT[fill]}" stroke="{LIGHT[stroke]}" '
                f'stroke-width="{"2.4" if active and not i else "1.2"}"/>'
            )
        y = box.y + 9.0
        for text, size, cls, mono in _group_lines(node):
            colour = LIGHT[ink] if cls == "nb-symbol" else LIGHT["fg" if mono else "muted"]
            self.put(box.x + w / 2, y + 11, text, cls, colour, size, mono=mono, anchor="middle")
            y += 17

    def box(self, node: Node, box: Box) -> None:
        paint = {"leaf": ("leaf-bg", "leaf", "leaf"), "output": ("out-bg", "out", "out")}
        fill, stroke, ink = paint.get(node.kind, ("bg", "wire", "fg"))
        if node.kind == "constant":
            fill, stroke, ink = "op-bg", "line", "muted"
        active = node.id in self.moment.active
        if active:
            stroke = "grad"
        self.out.append(
            f'<rect class="nb-shape" x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}" '
            f'rx="8" fill="{LIGHT[fill]}" stroke="{LIGHT[stroke]}" stroke-width="{"2.4" if active else "1.5"}"'
            + (' stroke-dasharray="4 3"' if node.kind == "constant" else "")
            + "/>"
        )
        strong = node.kind in ("leaf", "output")
        size = 14 if strong else 13
        colour = LIGHT[ink] if node.named else LIGHT["muted"]
        name, own = _name(node), node.named
        self.put(box.x + PAD, box.y + 20, name, "nb-name", colour, size, bold=own, italic=not own)
        self.put(box.x + box.width - PAD, box.y + 20, _about(node), "nb-about", LIGHT["muted"], 10, anchor="end")
        at = box.y + 40
        for line in _cut_lines(_value(node)).split("\n") if _value(node) else ():
            self.put(box.x + PAD, at, line, "nb-value", LIGHT["fg"], 12, mono=True)
            at += LINE
        if node.kind == "leaf":
            self.leaf_rows(node, box)

    def leaf_rows(self, node: Node, box: Box) -> None:
        """What is arriving in this pass, and what ``.grad`` holds: two sums, two rows."""
        state = self.moment.leaves.get(node.id, LeafState(count=say("count_of", n=0, of=node.arrivals), grad=node.grad))
        high = (box.height - _head_height(node)) / 2
        top = box.y + box.height - 2 * high
        waiting = state.arriving == "–"
        ink = LIGHT["muted"] if waiting else LIGHT["grad"]
        fill = LIGHT["leaf-bg"] if waiting else LIGHT["grad-bg"]
        left, right, inner = _n(box.x + 0.75), box.x + box.width, _n(box.width - 1.5)
        self.out.append(
            f'<rect class="nb-arriving{"" if waiting else " nb-some"}" data-slot="{node.id}:row" '
            f'x="{left}" y="{_n(top)}" width="{inner}" height="{_n(high)}" fill="{fill}"/>'
        )
        for y in (top, top + high):
            self.out.append(
                f'<line class="nb-rule" x1="{left}" y1="{_n(y)}" x2="{_n(right - 0.75)}" y2="{_n(y)}" '
                f'stroke="{LIGHT["line"]}"/>'
            )
        y = top + 15
        came = f"⇠ {state.arriving}"
        self.put(box.x + PAD, y, came, "nb-in", ink, 11.5, mono=True, slot=f"{node.id}:arriving", indent=2)
        self.put(right - PAD, y, state.count, "nb-in", ink, 10, anchor="end", slot=f"{node.id}:count")
        colour = LIGHT["muted"] if state.grad == "None" else LIGHT["fg"]
        grad = f".grad {state.grad}"
        self.put(box.x + PAD, y + high, grad, "nb-grad", colour, 11.5, mono=True, slot=f"{node.id}:grad", indent=6)

    def put(
        self,
        x: float,
        y: float,
        text: str,
        cls: str,
        colour: str,
        size: float,
        *,
        mono: bool = False,
        anchor: str = "",
        bold: bool = False,
        italic: bool = False,
        slot: str = "",
        indent: int = 0,
    ) -> None:
        """Text; further lines below the first, ``indent`` characters to the right."""
        if not text and not slot:
            return
        attributes = f' data-slot="{slot}"' * bool(slot) + f' text-anchor="{anchor}"' * bool(anchor)
        attributes += f' font-family="{escape(MONO)}"' * mono
        attributes += ' font-weight="700"' * bold + ' font-style="italic"' * italic
        self.out.append(
            f'<text class="{cls}" x="{_n(x)}" y="{_n(y)}" font-size="{size:g}" fill="{colour}"{attributes}>'
            f"{_lines(text, x, indent) if mono else escape(text)}</text>"
        )


def _lines(text: str, x: float, indent: int, middle: bool = False) -> str:
    """The inside of a text element with as many lines as the text has; spaces keep their width."""
    rows = [row.replace(" ", "\u00a0") for row in _cut_lines(text).split("\n")]
    if len(rows) == 1:
        return escape(rows[0])
    first = -DOWN / 2 * (len(rows) - 1) if middle else 0.0
    rows = [rows[0], *(NBSP * indent + row for row in rows[1:])]
    lead = [first, *[DOWN] * (len(rows) - 1)]
    parts = (f'<tspan x="{_n(x)}" dy="{_n(d)}">{escape(row)}</tspan>' for d, row in zip(lead, rows, strict=True))
    return "".join(parts)


def _tip(node: Node) -> str:
    """What a node says when the pointer rests on it."""
    lines = [node.expression or node.name, node.name if node.expression else "", node.value, _about(node)]
    if node.kind in ("group", "pile"):
        lines = [node.symbol, node.name, node.label, _about(node)]
    kept = ", ".join(f"{s.name} {s.nbytes:,} B" for s in (node.saved or ())[:6])
    lines += [" / ".join(node.scope), node.where, node.source, say("tip_saves", what=kept) if kept else ""]
    lines += [say("tip_version", n=node.version)] if node.version else []
    lines += [say("tip_freed")] if node.freed else []
    lines += [say("tip_hooks", kind=say(f"hook_kind_{kind}"), n=n) for kind, n in node.hooks]
    return "\n".join(line for line in (*lines, *node.notes) if line)


def _reversed(line: Sequence[Point], direction: str) -> str:
    return path(tuple(reversed(line)), direction)
