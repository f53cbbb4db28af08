"""Tiles in a drawing: their sizes, their cells as rectangles, and the colors of cells.

A :class:`Grid` says where the cells of a tile go. It depends on the shape and on the longest number only, so room is
kept for every tile that will ever be shown in a place. The player gets the grids and paints the cells itself; a still
picture has them painted here, all cells of one color as one path. Integers are written or not drawn as a tile.

A picture has one scale of colors for all gradients, one for all values, and none for the rest. Gradients go from blue
below zero to orange above it; values get grayer as they get larger. Local derivatives and integers are read as numbers,
so they have no color; a mask has full and empty cells. The colors are mixed in OKLab, in which equal steps look equal,
and fixed, so that a drawing looks the same in every program. The scales use the square root, so that small numbers
differ from zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import starmap
from typing import NamedTuple

from nbautograd.viz.capture.timeline import FrameState, LeafState
from nbautograd.viz.draw.labels import Point
from nbautograd.viz.draw.lines import number as _n
from nbautograd.viz.draw.theme import LIGHT, MONO_MARKUP
from nbautograd.viz.escape import escape, width
from nbautograd.viz.language import say
from nbautograd.viz.read.model import GraphModel, Node
from nbautograd.viz.read.tiles import Tile, coarser
from nbautograd.viz.read.values import BOOLS, INTEGERS, number_text

__all__ = [
    "ARRIVING", "BOX", "EDGE", "GRADIENTS", "LEVELS", "MINUS_HEIGHT_PX", "PLAIN", "VALUES", "Grid", "PictureTiles",
    "Scale", "cell_number", "grid_of", "largest_of", "level", "level_name", "paint", "scale_key", "shade_name",
]  # fmt: skip

GRADIENTS, VALUES = "gradients", "values"
"""The kinds of scales."""
PLAIN = "tile-plain"
"""The name of a cell with an outline only, which is not a color of the theme."""
FULL = "value-6"  # a cell of a mask

LEVELS = 8
"""Colors on each side of zero; a number can be read on each of them."""


def level(value: float, largest: float) -> int:
    """The number of a color, below zero for numbers below zero.

    :param largest: where the scale ends, on both sides.

    >>> [level(v, 4.0) for v in (-4.0, 0.0, 1e-9, 1.0, 4.0)]
    [-8, 0, 1, 4, 8]
    """
    if not value:
        return 0
    share = math.sqrt(min(abs(value) / (largest or 1.0), 1.0))
    return int(math.copysign(max(math.floor(share * LEVELS + 0.5), 1), value))


class Scale(NamedTuple):
    """The colors that all tensors of one kind have in a picture."""

    kind: str
    """One of the kinds above."""
    largest: float = 1.0
    """The end of the scale, on both sides of zero."""


@lru_cache(maxsize=2048)  # a tile is in several drawings
def shade_name(value: float, form: str, scale: Scale) -> str:
    """Return the theme's name for the color of a cell; only this and ``static/cells.js`` decide it.

    :param form: of the tile's numbers.

    >>> [shade_name(v, "", Scale(GRADIENTS, 4.0)) for v in (-4.0, 0.0, 1.0)]
    ['tile-minus-8', 'tile-zero', 'tile-plus-4']
    >>> [shade_name(3.0, form, Scale(VALUES, 4.0)) for form in ("", INTEGERS, BOOLS)]
    ['value-7', 'tile-plain', 'value-6']
    """
    if form == INTEGERS:
        return PLAIN
    if form == BOOLS:
        return FULL if value >= 0.5 else PLAIN
    return level_name(level(value, scale.largest), scale.kind)


@cache
def level_name(number: int, kind: str = GRADIENTS) -> str:
    """Return the theme's name for a color of a scale.

    >>> level_name(-3), level_name(0), level_name(-8, VALUES)
    ('tile-minus-3', 'tile-zero', 'value-8')
    """
    if number == 0:
        return "tile-zero"
    return f"value-{abs(number)}" if kind == VALUES else f"tile-{'minus' if number < 0 else 'plus'}-{abs(number)}"


FONT_PX = 11.0  # of a number in a cell
CELL_PADDING_PX = 8.0  # of both sides of a number
MIN_WRITTEN_PX = 22.0  # width of a cell with a number
KEY_COLOR_PX = 4.0  # width of a color in the legend
KEY_TEXT = f'<text x="{{}}" y="{{}}" font-size="{FONT_PX:g}" fill="{LIGHT["muted"]}">{{}}</text>'
KEY_COLORS = [LIGHT[level_name(number)] for number in range(-LEVELS, LEVELS + 1)]
MINUS_HEIGHT_PX = 0.9
AROUND = (
    f'<path d="{{}}" fill="{LIGHT["bg"]}" stroke="{LIGHT["wire"]}" stroke-width="0.8"/>',
    f'<path d="{{}}" stroke="{LIGHT["fg"]}" stroke-width="{MINUS_HEIGHT_PX:g}"/>',
    f'<path class="nb-not-finite" d="{{}}" fill="{LIGHT["bad-bg"]}" stroke="{LIGHT["bad"]}" '
    'stroke-width="1.2" stroke-dasharray="2 1.5"/>',
    f'<g font-family="{MONO_MARKUP}" font-size="{FONT_PX:g}" text-anchor="middle" fill="{LIGHT["fg"]}" '
    'stroke="none">{}</g>',
)  # what is around plain cells, minus signs, crossed cells and numbers
CELL_GAP_PX, MIN_GAPPED_PX = 1.0, 5.0  # smaller cells have no gap


class Room(NamedTuple):
    """The room for a tile."""

    side: float
    """The size of the whole, in pixels."""
    cell: tuple[float, float]
    """The least and the greatest side of a cell."""
    rows: int
    """The number of rows of written numbers."""
    wide: float
    """The largest width of all cells together."""
    line: float
    """The height of a row with numbers."""
    down: bool = False
    """True if a vector is written as a column when its numbers are too wide for a row."""


BOX = Room(60.0, (3.75, 10.0), 3, 192.0, 18.0)
"""The value in a node's box."""
ARRIVING = Room(36.0, (2.25, 9.0), 2, 168.0, 15.0)
"""The tiles of a leaf: the arriving gradient, and ``.grad``."""
EDGE = Room(48.0, (3.0, 9.0), 2, 96.0, 15.0, down=True)
"""A gradient on an edge."""
MAX_WRITTEN_CELLS = 9
MAX_WRITTEN_ROW_PX = 72.0  # close to that of its cells
MAX_STILL_CELLS = 6000  # of all tiles of a still picture; larger ones show means
MAX_COLUMN_CELLS = 4  # of a vector written as a column


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells in rows, each of this width and height."""

    columns: int
    rows: int
    wide: float
    high: float
    written: bool
    """True if the cells contain their numbers."""
    size: tuple[float, float] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", (self.columns * self.wide, self.rows * self.high))


@lru_cache(maxsize=256)
def _written_grid(longest: float, room: Room, columns: int, rows: int, always: bool) -> Grid | None:
    """Return the grid of cells with written numbers, if there is room; a vector may be a column."""
    wide = float(max(math.ceil(longest + CELL_PADDING_PX), MIN_WRITTEN_PX))
    most = room.wide if always else MAX_WRITTEN_ROW_PX if rows == 1 else 0.0
    if rows <= room.rows and columns * wide <= most:
        return Grid(columns, rows, wide, room.line, True)
    is_column = room.down and rows == 1 and columns <= MAX_COLUMN_CELLS and wide <= room.wide
    return Grid(1, columns, wide, room.line, True) if is_column else None


def grid_of(tiles: Iterable[Tile | None], room: Room, written: bool = True) -> Grid | None:
    """The grid that has room for each of several tiles, which is that of the largest; None for no tiles.

    :param written: whether few numbers are written; integers, and a short row of them, always are.
    """
    tiled, columns, rows, forms, whole = [], 0, 0, set(), True
    for tile in tiles:
        if tile is not None and len(tile.cells) > 1:
            tiled.append((tile.cells, tile.form))
            columns, rows = max(columns, tile.columns), max(rows, len(tile.cells) // tile.columns)
            forms.add(tile.form)
            whole = whole and tile.block == (1, 1)
    if not tiled:
        return None
    if columns * rows <= MAX_WRITTEN_CELLS and whole and BOOLS not in forms:
        always = written or INTEGERS in forms
        grid = _written_grid(max(starmap(_longest, tiled)), room, columns, rows, always)
        if grid is not None:
            return grid
    if INTEGERS in forms:
        return None  # labels are not sizes: if the digits do not fit, a text shows them
    least, greatest = room.cell
    wide, high = min(max(room.side // columns, least), greatest), min(max(room.side // rows, least), greatest)
    return Grid(columns, rows, wide, high, False)


@lru_cache(maxsize=1024)
def _longest(cells: tuple[float | str, ...], form: str) -> float:
    return max([width(_cell_number(str(cell), form), FONT_PX, mono=True) for cell in cells])


def coarsened(grid: Grid, tile: Tile, most: int) -> tuple[Grid, Tile]:
    """Return a tile in at most this many rows and columns, and the grid that fills the same place with it."""
    fewer = coarser(tile, most) if not grid.written and max(grid.columns, grid.rows) > most else tile
    if fewer is tile:
        return grid, tile
    rows = len(fewer.cells) // fewer.columns
    wide, high = grid.wide * tile.columns / fewer.columns, grid.high * (len(tile.cells) // tile.columns) / rows
    return Grid(fewer.columns, rows, wide, high, False), fewer


def cell_number(value: float | str, form: str = "") -> str:
    """A number of a tile of that form, as all its texts have it.

    >>> [cell_number(v) for v in (0.25, -1234.5, 1.2345e-7, 1e20, "nan")]
    ['0.25', '−1234.5', '1.2345e−7', '1e20', 'nan']
    """
    return _cell_number(str(value), form)


@lru_cache(maxsize=2048)  # by its text, which has the sign of a zero
def _cell_number(value: str, form: str) -> str:
    return number_text(float(value), form).replace("-", "−")


def largest_of(tiles: Iterable[Tile | None]) -> float:
    """Return the end of the scale that tiles share; tiles without colors do not count."""
    colored = [tile.cells for tile in tiles if tile is not None and tile.form not in (BOOLS, INTEGERS)]
    return max([abs(v) for cells in colored for v in cells if not isinstance(v, str)], default=0.0) or 1.0


def _largest(tiles: Iterable[Tile | None]) -> float:
    return largest_of([tile for tile in tiles if tile and len(tile.cells) > 1])


def scale_key(x: float, y: float, largest: float) -> str:
    """Draw the key to the colors of gradients: a name, and the colors between the ends of the scale."""
    parts = []
    for text in (say("scale_gradients"), cell_number(-largest)):
        parts.append(KEY_TEXT.format(_n(x), _n(y), escape(text)))
        x += width(text, FONT_PX) + 7
    for color in KEY_COLORS:
        left = f"{x:.1f}".removesuffix(".0")  # without _n: these places are seldom the same
        parts.append(f'<rect x="{left}" y="{_n(y - 8)}" width="{KEY_COLOR_PX:g}" height="8" fill="{color}"/>')
        x += KEY_COLOR_PX
    parts.append(KEY_TEXT.format(_n(x + 6), _n(y), cell_number(largest)))
    return f'<g class="nb-key">{"".join(parts)}</g>'


def paint(tile: Tile, grid: Grid, x: float, y: float, scale: Scale, backed: bool = False) -> str:
    """Return the cells of a tile as SVG, in the light colors.

    :param scale: that of its picture.
    :param backed: True if a card is behind them, so that no line shows between.
    """
    columns = min(grid.columns, tile.columns)  # a vector may be drawn as a column
    gap = CELL_GAP_PX * (min(grid.wide, grid.high) >= MIN_GAPPED_PX)
    wide, high = grid.wide - gap, grid.high - gap
    across, along = _n(wide), _n(high)
    lines: dict[str, list[str]] = {}
    crossed, plain, below, texts = [], [], [], []
    for i, value in enumerate(tile.cells):
        row, column = divmod(i, columns)
        left, top = column * grid.wide, row * grid.high
        if isinstance(value, str):
            crossed.append(f"M{_n(left)} {_n(top)}h{across}v{along}h-{across}z")
        elif (name := shade_name(value, tile.form, scale)) == PLAIN:
            plain.append(f"M{_n(left + 0.5)} {_n(top + 0.5)}h{_n(wide - 1)}v{_n(high - 1)}h-{_n(wide - 1)}z")
        else:
            lines.setdefault(name, []).append(f"M{_n(left)} {_n(top + high / 2)}h{across}")
            if value < 0 and scale.kind == VALUES and not grid.written:  # which has no color
                below.append(f"M{_n(left + wide / 4)} {_n(top + high / 2)}h{_n(wide / 2)}")
        if grid.written:
            at = _n(left + wide / 2), _n(top + (grid.high / 2) + 3.5)
            texts.append(f'<text x="{at[0]}" y="{at[1]}">{_cell_number(str(value), tile.form)}</text>')
    out = [f'<g transform="translate({_n(x)} {_n(y)})" stroke-width="{along}">']
    if backed:
        whole = columns * grid.wide + 3, math.ceil(len(tile.cells) / columns) * grid.high + 3
        out.append(f'<rect x="-2" y="-2" width="{_n(whole[0])}" height="{_n(whole[1])}" rx="2" fill="{LIGHT["bg"]}"/>')
    for name, parts in lines.items():  # cells of one color form one line, as wide as a cell is high
        out.append(f'<path d="{"".join(parts)}" stroke="{LIGHT[name]}"/>')
    for around, parts in zip(AROUND, (plain, below, crossed, texts), strict=True):
        if parts:
            out.append(around.format("".join(parts)))
    return "".join([*out, "</g>"])


class PictureTiles:
    """The tiles of a picture: how their cells lie, and on which scales."""

    def __init__(self, model: GraphModel, state: FrameState, grids: Mapping[str, Grid], painted: bool) -> None:
        self.model, self.state, self.grids, self.painted = model, state, grids, painted
        self.colored = False
        """True if a gradient with colors was drawn, which a key explains."""
        self.known = dict(enumerate(state.tiles))
        self.of_edge = {key: tile for key, number in state.edge_tiles.items()
                        if (tile := self.known.get(number)) and len(tile.cells) > 1}  # fmt: skip
        """The tiles of the current gradients on edges."""
        if painted:
            self.values = Scale(VALUES, _largest([node.tile for node in model.nodes]))
            self.gradients = Scale(GRADIENTS, state.scale or _largest([leaf.grad_tile for leaf in model.leaves]))
            cells = sum([grid.columns * grid.rows for grid in grids.values()])
            self.finest = next((side for side in (16, 8, 4) if cells * side * side <= MAX_STILL_CELLS * 256), 2)

    def in_rows(self, node: Node, state: LeafState) -> tuple[Tile | None, Tile | None]:
        """Return the tiles of a leaf: what has arrived, and its ``.grad``."""
        came, held = self.known.get(state.arriving_tile), self.known.get(state.grad_tile)
        return came, node.grad_tile if held is None and state.grad == node.grad else held

    def on_edges(self, spots: Mapping[str, Point]) -> list[str]:
        """The groups for gradients on edges, around these places."""
        out: list[str] = []
        for edge in self.model.edges:
            grid, spot = self.grids.get(edge.id), spots.get(edge.id)
            if grid is not None and spot is not None:
                x, y = spot[0] - grid.size[0] / 2, spot[1] - grid.size[1] / 2
                out += self.drawn(edge.id, self.of_edge.get(edge.id), x, y, self.state.labels.get(edge.id))
        return out

    def drawn(self, key: str, tile: Tile | None, x: float, y: float, tip: str | None = None) -> list[str]:
        """The group for the cells of a tile, with the cells in it in a still picture."""
        grid = self.grids.get(key)
        if grid is None:
            return []
        cells, place = "", f"{x:g} {y:g} {grid.wide:g} {grid.high:g} {grid.columns:g} {grid.written:d}"
        if self.painted and tile is not None:
            of_value, back = key.endswith(":value"), ":" not in key  # on an edge, over lines
            scale = self.values if of_value else self.gradients
            grid, tile = coarsened(grid, tile, self.finest)
            self.colored |= not of_value
            cells = (f"<title>{escape(tip)}</title>" if tip else "") + paint(tile, grid, x, y, scale, back)
        return [f'<g class="nb-cells" data-cells="{key}" data-grid="{place}">{cells}</g>']
