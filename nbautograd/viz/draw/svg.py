"""A graph, its layout and at most one state of a backward pass as SVG text.

The picture stands alone: presentation attributes give it the light colors on an opaque card, so that it looks the same
in an ``<img>``, on GitHub and in print. Classes let the player's style sheet give it the colors of the page. Only a
handful of element kinds occur, every text goes through :func:`~nbautograd.viz.escape.escape`, and the same graph gives
the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from nbautograd.viz.capture.timeline import FrameState, LeafState
from nbautograd.viz.draw import boxes
from nbautograd.viz.draw.boxes import LEAD_PX, LINE_PX, PAD_PX, PILE_PX, ROW_PX, SMALL_LINE_PX
from nbautograd.viz.draw.cells import Grid, PictureTiles, scale_key
from nbautograd.viz.draw.layout import Box, Layout, Point, layout
from nbautograd.viz.draw.lines import number as _n, path
from nbautograd.viz.draw.states import attributes, look
from nbautograd.viz.draw.theme import LIGHT, MIN_FONT_PX, MONO_MARKUP, SANS_MARKUP
from nbautograd.viz.escape import escape, escape_long, width
from nbautograd.viz.language import say
from nbautograd.viz.read.model import GraphModel, Node
from nbautograd.viz.read.tiles import Tile

__all__ = ["draw"]

NOTE_HEIGHT_PX = 18.0  # below the drawing
KEY_WIDTH_PX = 260.0  # of the color legend
NBSP = "\u00a0"
HIDDEN = ' visibility="hidden"'
MARK_RADIUS_PX = 13.0  # at the box with the largest share
PREFIX = "\0"  # a placeholder for a digest of the whole; texts from outside cannot contain it
MARKERS = [
    f'<marker id="{PREFIX}-{name}" viewBox="0 0 8 8" refX="7.2" refY="4" markerWidth="{size}" '
    f'markerHeight="{size}" markerUnits="userSpaceOnUse" orient="auto">'
    f'<path class="nb-head nb-head-{name}" d="M0 0.6L8 4L0 7.4z"{attributes(f"head-{name}")}/></marker>'
    for name, size in (("wire", 7), ("done", 8), ("active", 9))
]
"""The heads of arrows."""


def draw(
    model: GraphModel, places: Layout | None = None, state: FrameState | None = None, *,
    description: str = "", grids: Mapping[str, Grid] | None = None, painted: bool = True, bare: bool = False,
) -> str:  # fmt: skip
    """The SVG text of a graph.

    :param places: a layout of this graph; made if not given.
    :param state: the state of a backward pass to show; none gives the graph as it was built.
    :param description: the graph in words, for screen readers.
    :param grids: how the cells of the tiles lie, for which the layout was made.
    :param painted: whether the cells are painted; the player paints them itself.
    :param bare: whether the boxes are without numbers that they have in other drawings.
    """
    grids = boxes.grids_of(model) if grids is None else grids
    places = places or layout(model, boxes.measure(model, grids=grids))
    state = state or FrameState()
    tiles = PictureTiles(model, state, grids, painted)
    return _Picture(model, places, state, description, tiles).text(bare)


class _Picture:
    """Writes one SVG, element by element."""

    def __init__(self, model: GraphModel, places: Layout, state: FrameState, words: str, tiles: PictureTiles) -> None:
        self.model, self.places, self.state, self.words, self.tiles = model, places, state, words, tiles
        self.texts = boxes.texts_of(model)
        self.out: list[str] = []

    def text(self, bare: bool) -> str:
        """The SVG text of the whole picture."""
        self.drawing()
        notes = self.model.notes if self.tiles.painted else ()  # a player shows them elsewhere
        keyed = self.tiles.colored
        high = self.places.height + NOTE_HEIGHT_PX * (len(notes) + keyed)
        longest = max([width(note, 11) + 32 for note in notes]) if notes else 0.0
        wide = max(self.places.width, longest, KEY_WIDTH_PX * keyed)
        w, h = _n(wide), _n(high)
        head = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="nb-svg{" nb-bare" * bare}" viewBox="0 0 {w} {h}" '
            f'width="{w}" height="{h}" role="img" aria-labelledby="{PREFIX}-title {PREFIX}-desc" '
            f'font-family="{SANS_MARKUP}" font-size="12">',
            f'<title id="{PREFIX}-title">{escape(say("graph_of", label=self.model.label))}</title>',
            f'<desc id="{PREFIX}-desc">{escape_long(self.words or self.model.label, 20_000)}</desc>',
            "<defs>",
            *MARKERS,
            "</defs>",
            f'<rect class="nb-card" x="0.5" y="0.5" width="{_n(wide - 1)}" '
            f'height="{_n(high - 1)}" rx="8" fill="{LIGHT["bg"]}" stroke="{LIGHT["line"]}"/>',
        ]
        for i, note in enumerate(notes):
            y = self.places.height + NOTE_HEIGHT_PX * i + 2
            self.put(16, y, note, "nb-sub nb-remark", LIGHT["muted"], 11, italic=True)
        if keyed:
            self.out.append(scale_key(16, high - NOTE_HEIGHT_PX + 2, self.tiles.gradients.largest))
        text = "\n".join([*head, *self.out, "</svg>"]) + "\n"
        return text.replace(PREFIX, "nb" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:10])

    def drawing(self) -> None:
        """Lines, boxes and labels."""
        for line in self.places.trunks:
            d = path(line, self.places.direction)
            self.out.append(f'<path class="nb-edge nb-trunk" d="{d}" fill="none"{attributes("edge")}/>')
        self.edges()
        self.loop()
        for node in self.model.nodes:
            self.node(node)
        self.labels()

    def edges(self) -> None:
        """Draw each line once in the direction of the computation, and once against it if it carried a gradient."""
        flows = []
        moving = self.state.active | self.state.done
        for edge in self.model.edges:
            constant = edge.kind == "constant"
            states = " constant" * constant + " used" * (edge.id in moving)
            self.out.append(
                f'<path class="nb-edge{states.replace(" ", " nb-")}" data-edge="{edge.id}" '
                f'd="{self.places.paths[edge.id]}" fill="none"{attributes("edge", states)} '
                f'marker-end="url(#{PREFIX}-wire)"/>'
            )
            if not constant:
                flows.append(self.flow(edge.id))
        self.out += flows

    def flow(self, key: str) -> str:
        """The line of a gradient, drawn from the user of a value to its maker."""
        active, done = key in self.state.active, key in self.state.done
        states = " active" * active + " done" * (done and not active) + " bad" * (key in self.state.bad)
        hidden = "" if active or done else ' visibility="hidden"'
        kind = "active" if active else "done"
        return (
            f'<path class="nb-flow{states.replace(" ", " nb-")}" data-flow="{key}" d="{self.places.flows[key]}" '
            f'fill="none"{attributes("flow", states)} marker-end="url(#{PREFIX}-{kind})"{hidden}/>'
        )

    def loop(self) -> None:
        """For a loop, draw the numbers of its steps, and a bead at each sum with the gradients of later steps."""
        for (x, y), text in self.places.headings:
            self.put(x, y + 8, text, "nb-sub nb-heading", LIGHT["muted"], MIN_FONT_PX, anchor="middle")
        for edge in self.model.edges:
            if edge.id in self.places.joints and edge.kind == "flow":
                x, y = self.places.joints[edge.id]
                done = edge.id in self.state.active | self.state.done
                name = escape(self.model.by_id[edge.src].name)
                self.sum_bead(" nb-joint", f'data-joint="{edge.id}"', say("joint", name=name), x, y, done)

    def labels(self) -> None:
        """The gradients on the edges, with a rim in the color of the card so that lines do not cross them."""
        if not self.places.labels:
            return
        self.out.append(
            f'<g font-family="{MONO_MARKUP}" font-size="11.5" text-anchor="middle" stroke="{LIGHT["bg"]}" '
            'stroke-width="4" stroke-linejoin="round" paint-order="stroke">'
        )
        for edge in self.model.edges:
            spot = self.places.labels.get(edge.id)
            if spot is None:
                continue
            shown = "" if edge.id in self.tiles.of_edge else self.state.labels.get(edge.id, "")
            lines = boxes.markup_lines(shown)
            inside = _lines(lines, spot[0], 0, middle=True) if lines[1:] else lines[0]
            states = " active" * (edge.id in self.state.active) + " bad" * (edge.id in self.state.bad)
            self.out.append(
                f'<text class="nb-label{states.replace(" ", " nb-")}" data-label="{edge.id}" x="{_n(spot[0])}" '
                f'y="{_n(spot[1] + 4)}"{attributes("label", states)}>{inside}</text>'
            )
            if edge.id in self.state.sums:
                self.count(edge.id, spot, shown)
        self.out.append("</g>")
        self.out += self.tiles.on_edges(self.places.labels)

    def count(self, key: str, spot: Point, shown: str) -> None:
        """Draw the number of gradients in a sum: above its tile, or before its text."""
        x, y, anchor = spot[0] - boxes.label_size(shown)[0] / 2 - 4, spot[1] + 4, "end"
        grid = self.tiles.grids.get(key)
        if grid is not None and key in self.tiles.of_edge:
            x, y, anchor = spot[0], spot[1] - grid.size[1] / 2 - 4, "middle"
        said = f"{'Σ ' * (shown != 'Σ')}{self.state.sums[key]:,}"
        self.put(x, y, said, "nb-sum-of", LIGHT["grad"], MIN_FONT_PX, anchor=anchor)

    # -- nodes -------------------------------------------------------------------

    def node(self, node: Node) -> None:
        """A box or a pill."""
        box, now = self.places.boxes[node.id], self.state
        key = node.id
        states = {"group": "op group", "pile": "leaf group"}.get(node.kind, node.kind)
        states += " active" * (key in now.active) + " done" * (key in now.done)
        states += " bad" * (key in now.bad) + " freed" * (key in now.freed)
        self.out.append(f'<g class="nb-node nb-{states.replace(" ", " nb-")}" data-node="{node.id}">')
        self.out.append(f"<title>{escape(self.texts[node.id].tip)}</title>")
        if node.kind == "op":
            self.pill(node, box, states)
        elif node.kind in ("group", "pile"):
            self.group(node, box, states)
        elif node.kind == "constant" and not node.shape and not node.value:
            x, y = box.center
            self.put(x, y + 4, node.name, "nb-value", look("value", states)["fill"], 12, mono=True, anchor="middle")
        else:
            self.box(node, box, states)
        if node.share > 0.002:
            x, r = box.x + box.width - 2 * PILE_PX * (node.kind == "group"), MARK_RADIUS_PX * node.share**0.5
            y = box.y + 1
            self.out.append(
                f'<circle class="nb-share" cx="{_n(x)}" cy="{_n(y)}" r="{_n(max(r, 1.5))}" fill="{LIGHT["teal"]}" '
                f'stroke="{LIGHT["bg"]}" stroke-width="1.5"/>'
            )
        self.out.append("</g>")

    def pill(self, node: Node, box: Box, states: str) -> None:
        states += " bad" * bool(node.failed)
        self.shape(box.x, box.y, box.width, box.height, min(16.0, box.height / 2), states)
        x, y = box.x + box.width / 2, box.y
        self.put(x, y + 21, node.symbol, "nb-symbol", look("symbol", states)["fill"], 16, anchor="middle")
        grid = self.tiles.grids.get(f"{node.id}:value")
        if grid is not None:
            self.out += self.tiles.drawn(f"{node.id}:value", node.tile, x - grid.size[0] / 2, y + 29)
        elif node.value:
            color = look("value", states)["fill"]
            self.put(x, y + 37, boxes.cut(node.value, 24), "nb-value", color, 11, mono=True, anchor="middle")
        if node.saved or node.freed:
            self.saved(node, x, y + box.height)
        if node.id in self.state.leaves:
            self.bead(node, box.x + box.width - 28, box.y + box.height, self.state.leaves[node.id])

    def saved(self, node: Node, middle: float, y: float) -> None:
        """A dot for each saved tensor; hollow when it has been freed."""
        paint = attributes("saved", "freed" * (node.freed or node.id in self.state.freed))
        count = min(len(node.saved or ()) or int(node.freed), 3)
        for i in range(count):
            x = middle + 7 * (i - (count - 1) / 2)
            self.out.append(f'<circle class="nb-saved" cx="{_n(x)}" cy="{_n(y)}" r="2.6"{paint}/>')

    def shape(self, x: float, y: float, wide: float, high: float, radius: float, states: str) -> None:
        self.out.append(
            f'<rect class="nb-shape" x="{_n(x)}" y="{_n(y)}" width="{_n(wide)}" height="{_n(high)}" '
            f'rx="{_n(radius)}"{attributes("shape", states)}/>'
        )

    def group(self, node: Node, box: Box, states: str) -> None:
        """A pile of cards."""
        w, h = box.width - 2 * PILE_PX, box.height - 2 * PILE_PX
        for i in (2, 1, 0):
            self.shape(box.x + PILE_PX * i, box.y + PILE_PX * i, w, h, 9, states)
        y = box.y + 9.0
        for text, size, cls, mono in self.texts[node.id].lines:
            color = look(cls.removeprefix("nb-"), states)["fill"]
            self.put(box.x + w / 2, y + 11, text, cls, color, size, mono=mono, anchor="middle")
            y += 17

    def box(self, node: Node, box: Box, states: str) -> None:
        self.shape(box.x, box.y, box.width, box.height, 8, states)
        size = 13 + (node.kind in ("leaf", "output"))
        color, ink = look("name", states)["fill"] if node.named else LIGHT["muted"], look("value", states)["fill"]
        texts, own = self.texts[node.id], node.named
        self.put(box.x + PAD_PX, box.y + 20, texts.name, "nb-name", color, size, bold=own, italic=not own)
        at, grid, right = box.y + 40, self.tiles.grids.get(f"{node.id}:value"), box.x + box.width - PAD_PX
        state = self.state.leaves.get(node.id)
        beside, text, high = boxes.inside(node, grid, node.grad if state is None else state.grad)
        if beside and grid is not None:
            self.put(box.x + PAD_PX, box.y + 36, texts.about, "nb-about", LIGHT["muted"], MIN_FONT_PX)
            self.out += self.tiles.drawn(f"{node.id}:value", node.tile, right - grid.size[0], box.y + 7)
        else:
            self.put(right, box.y + 20, texts.about, "nb-about", LIGHT["muted"], MIN_FONT_PX, anchor="end")
            if grid is not None:
                self.out += self.tiles.drawn(f"{node.id}:value", node.tile, box.x + PAD_PX, box.y + 31)
                at += grid.size[1] + 7
        if text:
            self.value(node, text, ink, (box.x + PAD_PX, at))
        elif grid is None:
            self.put(box.x + PAD_PX + texts.wide + 8, box.y + 20, node.value, "nb-value", ink, 12, mono=True)
        if node.kind == "leaf":
            self.leaf_row(node, box, box.height - high)
        elif state is not None and state.of:
            self.joint_row(node, box, state)

    def value(self, node: Node, text: str, ink: str, place: Point) -> None:
        """Draw the value of a tensor, below it the gradient that it retains."""
        (x, y), lines = place, boxes.cut_lines(text).split("\n")
        for i, line in enumerate(lines, 1):
            slot = f"{node.id}:grad" if node.retains and i == len(lines) else ""
            self.put(x, y, line, "nb-value", ink, 12, mono=True, slot=slot, indent=6 * bool(slot))
            y += LINE_PX

    def leaf_row(self, node: Node, box: Box, high: float) -> None:
        """Draw the arriving gradient of this pass, then ``.grad``: both in one place, of which one is visible."""
        state = self.state.leaves.get(node.id, LeafState(count=say("count_of", n=0, of=node.arrivals), grad=node.grad))
        top, left, right = box.y + box.height - high, box.x + 0.75, box.x + box.width
        fill = LIGHT["grad-bg" if (waits := state.waits) else "leaf-bg"]
        self.out.append(
            f'<rect class="nb-arriving{" nb-some" * waits}" data-slot="{node.id}:row" x="{_n(left)}" '
            f'y="{_n(top)}" width="{_n(box.width - 1.5)}" height="{_n(high - 0.75)}" rx="7" fill="{fill}"/>'
        )
        self.out.append(
            f'<line class="nb-rule" x1="{_n(left)}" y1="{_n(top)}" x2="{_n(right - 0.75)}" y2="{_n(top)}" '
            f'stroke="{LIGHT["line"]}"/>'
        )
        came, held = self.tiles.in_rows(node, state)
        y, x, at = top + 15, box.x + PAD_PX, box.x + PAD_PX + LEAD_PX
        if waits or not self.tiles.painted:
            self.out.append(f'<g class="nb-arrives"{HIDDEN * (not waits)}>')
            self.arriving(node, state, came, (x, y, right - PAD_PX, at, top, high))
        if waits and self.tiles.painted:
            return
        self.out.append(f'<g class="nb-holds"{HIDDEN * waits}>')
        color = LIGHT["muted"] if state.grad == "None" else LIGHT["fg"]
        grad = ".grad" if held and len(held.cells) > 1 else f".grad {state.held}"
        self.put(x, y, grad, "nb-grad", color, 11.5, mono=True, slot=f"{node.id}:grad", indent=6)
        self.row_tile(f"{node.id}:grad", held, at, top, high)
        self.out.append("</g>")

    def arriving(self, node: Node, state: LeafState, came: Tile | None, places: tuple[float, ...]) -> None:
        """Draw the gradient that has arrived and is not in ``.grad`` yet; in a player, also if it may arrive later."""
        x, y, right, at, top, high = places
        sign = self.bead(node, x - PAD_PX, y, state) + ("" if came and len(came.cells) > 1 else f" {state.arriving}")
        self.put(x, y, sign, "nb-in", LIGHT["grad"], 11.5, mono=True, slot=f"{node.id}:arriving", indent=2)
        self.put(right, y, state.count, "nb-in", LIGHT["grad"], MIN_FONT_PX, anchor="end", slot=f"{node.id}:count")
        self.row_tile(f"{node.id}:arriving", came, at, top, high)
        self.out.append("</g>")

    def row_tile(self, key: str, tile: Tile | None, x: float, top: float, high: float) -> None:
        """The tile of a leaf's row, in its middle."""
        if (grid := self.tiles.grids.get(key)) is not None:
            self.out += self.tiles.drawn(key, tile, x, top + (high - grid.size[1]) / 2)

    def joint_row(self, node: Node, box: Box, state: LeafState) -> None:
        """The sum over paths of a computed value, which several operations use."""
        y = box.y + box.height - ROW_PX
        self.out.append(
            f'<line class="nb-rule" x1="{_n(box.x + 0.75)}" y1="{_n(y)}" x2="{_n(box.x + box.width - 0.75)}" '
            f'y2="{_n(y)}" stroke="{LIGHT["line"]}"/>'
        )
        ink = LIGHT["grad" if state.got else "muted"]
        came = f"{self.bead(node, box.x, y + 15, state)} {state.arriving}"
        self.put(box.x + PAD_PX, y + 15, came, "nb-in", ink, 11.5, mono=True, slot=f"{node.id}:arriving", indent=2)
        right = box.x + box.width - PAD_PX
        self.put(right, y + 15, state.count, "nb-in", ink, MIN_FONT_PX, anchor="end", slot=f"{node.id}:count")

    def bead(self, node: Node, x: float, y: float, state: LeafState) -> str:
        """Return the sign before the arriving gradient: an arrow, or a bead that holds terms until all have arrived."""
        of = state.of or (node.arrivals if node.arrivals > 1 else 0)
        if not of:
            return "⇠"
        x, y = x + PAD_PX + 3.5, y - 4
        ring = f'<circle class="nb-bead-ring" cx="{_n(x)}" cy="{_n(y)}" r="6" fill="none" stroke="{LIGHT["grad"]}" '
        ring += f'stroke-width="1.6" pathLength="{of}" stroke-dasharray="{state.got} {of}"/>'
        self.sum_bead("", f'data-bead="{node.id}"', say("bead", n=of), x, y, state.got >= of, ring)
        return NBSP

    def sum_bead(self, kind: str, what: str, tip: str, x: float, y: float, full: bool, ring: str = "") -> None:
        """Draw the bead of a sum, filled if all terms have come."""
        self.out.append(
            f'<g class="nb-bead{kind}{" nb-full" * full}" {what}><title>{escape(tip)}</title>'
            f'<circle class="nb-bead-ground" cx="{_n(x)}" cy="{_n(y)}" r="6" '
            f'fill="{LIGHT["grad" if full else "bg"]}" stroke="{LIGHT["wire"]}"/>{ring}'
            f'<path class="nb-bead-sign" d="M{_n(x + 2.5)} {_n(y - 3)}h-5l2.9 3l-2.9 3h5" fill="none" '
            f'stroke="{LIGHT["on-grad" if full else "grad"]}" stroke-width="1.4"/></g>'
        )

    def put(
        self, x: float, y: float, text: str, cls: str, color: str, size: float, *, mono: bool = False, anchor: str = "",
        bold: bool = False, italic: bool = False, slot: str = "", indent: int = 0,
    ) -> None:  # fmt: skip
        """Text; further lines below the first, ``indent`` characters to the right."""
        if not text and not slot:
            return
        attributes = f' data-slot="{slot}"' * bool(slot) + f' text-anchor="{anchor}"' * bool(anchor)
        attributes += f' font-family="{MONO_MARKUP}"' * mono
        attributes += ' font-weight="700"' * bold + ' font-style="italic"' * italic
        lines = boxes.markup_lines(text) if mono else ()  # spaces keep their width
        if mono and boxes.is_alarming(text):
            cls, color = f"{cls} nb-bad-text", LIGHT["bad"]
        self.out.append(
            f'<text class="{cls}" x="{_n(x)}" y="{_n(y)}" font-size="{size:g}" fill="{color}"{attributes}>'
            f"{escape(text) if not mono else _lines(lines, x, indent) if lines[1:] else lines[0]}</text>"
        )


def _lines(lines: Sequence[str], x: float, indent: int, middle: bool = False) -> str:
    first, *rest = lines
    lead = -SMALL_LINE_PX / 2 * len(rest) if middle else 0.0
    rows = [(lead, first), *[(SMALL_LINE_PX, NBSP * indent + row) for row in rest]]
    return "".join([f'<tspan x="{_n(x)}" dy="{_n(down)}">{row}</tspan>' for down, row in rows])
