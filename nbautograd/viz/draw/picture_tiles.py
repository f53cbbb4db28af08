"""The tiles of one picture: which one is where at a moment, and their groups of cells."""

from __future__ import annotations

from collections.abc import Mapping

from nbautograd.viz.capture.timeline import FrameState, LeafState
from nbautograd.viz.draw.cells import Grid, coarsened, largest_of, paint
from nbautograd.viz.draw.shades import GRADIENTS, VALUES, Scale
from nbautograd.viz.escape import escape
from nbautograd.viz.read.model import GraphModel, Node
from nbautograd.viz.read.tiles import Tile, is_tiled

__all__ = ["PictureTiles"]

STILL_CELLS = 6000  # limit of the tiles of a still picture; larger ones show means


class PictureTiles:
    """The tiles of a picture: how their cells lie, and on which scales."""

    def __init__(self, model: GraphModel, state: FrameState, grids: Mapping[str, Grid], painted: bool) -> None:
        self.model, self.state, self.grids, self.painted = model, state, grids, painted
        self.colored = False
        """True if a gradient with colors was drawn, which a key explains."""
        on_edges = [(key, state.tiles[number]) for key, number in state.edge_tiles.items() if number >= 0]
        self.of_edge = {key: tile for key, tile in on_edges if is_tiled(tile)}
        """The tiles of the current gradients on edges."""
        if painted:
            self.values = Scale(VALUES, largest_of([node.tile for node in model.nodes if is_tiled(node.tile)]))
            held = [node.grad_tile for node in model.nodes if is_tiled(node.grad_tile)]
            self.gradients = Scale(GRADIENTS, state.scale or largest_of(held))
            cells = sum([grid.columns * grid.rows for grid in grids.values()])
            self.finest = next((side for side in (16, 8, 4) if cells * side * side <= STILL_CELLS * 256), 2)

    def numbered(self, number: int) -> Tile | None:
        """Return a tile by its number, if it exists."""
        return self.state.tiles[number] if 0 <= number < len(self.state.tiles) else None

    def in_rows(self, node: Node, state: LeafState) -> tuple[Tile | None, Tile | None]:
        """Return the tiles of a leaf: the arriving gradient, and its ``.grad``."""
        held = self.numbered(state.grad_tile)
        if held is None and state.grad == node.grad:
            held = node.grad_tile
        return self.numbered(state.arriving_tile), held

    def drawn(self, key: str, tile: Tile | None, x: float, y: float, tip: str | None = None) -> list[str]:
        """The group for the cells of a tile, with the cells in it in a still picture."""
        grid = self.grids.get(key)
        if grid is None:
            return []
        cells, columns = "", f"{grid.columns:g} {grid.written:d}"
        place = f"{x:g} {y:g} {grid.wide:g} {grid.high:g} {columns}"  # as the player reads it
        if self.painted and tile is not None:
            of_value, back = key.endswith(":value"), ":" not in key  # on an edge, over lines
            scale = self.values if of_value else self.gradients
            grid, tile = coarsened(grid, tile, self.finest)
            self.colored |= not of_value
            cells = (f"<title>{escape(tip)}</title>" if tip else "") + paint(tile, grid, x, y, scale, back)
        return [f'<g class="nb-cells" data-cells="{key}" data-grid="{place}">{cells}</g>']
