"""Choose the layout of a view for a window: of all directions and numbers of rows the one that shows most."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from nbautograd.viz.draw.labels import MAX_OVERLAP_PX, Size, deepest
from nbautograd.viz.draw.layout import Arranged, Layout, labelled
from nbautograd.viz.read.levels import Loop, loop_of
from nbautograd.viz.read.model import Edge, GraphModel, Node, Outline, outline_of
from nbautograd.viz.settings import settings

__all__ = ["MAX_ROW_NODES", "PHONE_WIDTH_PX", "Arrangements", "arrange", "beyond"]

PHONE_WIDTH_PX = 560
NARROW_SHARE = 0.75  # of a narrow window, where beside its boxes there are lines and texts
BETTER_SHARE = 0.95  # of the size of a drawing, where another one is better
MAX_ROWS, MAX_ROW_NODES = 4, 60  # of a drawing that is cut into rows; larger ones are drawn for wide windows only


class Arrangements:
    """The layouts of a view, each made once: for a window of any size the one that shows most in it.

    What is mostly a loop is a grid of its steps in every window, unless a direction is asked for.

    :param direction: the only one; None: any, and in several rows.
    :param loop: the grid of the steps of a loop.
    """

    def __init__(
        self, outline: Outline, sizes: Mapping[str, Size], direction: str | None = None,
        labels: Mapping[str, Size] | None = None, loop: Layout | None = None,
    ) -> None:  # fmt: skip
        self.outline, self.sizes, self.labels = outline, sizes, labels or {}
        self.direction, self.loop = direction, loop
        self.arranged: dict[tuple[str, float], Arranged] = {}
        self.complete: dict[tuple[str, int, float], Layout] = {}
        self.chosen: dict[Size, Layout] = {}
        self.clear: dict[Size, bool] = {}

    def places(self, window: Size) -> Layout:
        """The layout for a window."""
        if window not in self.chosen:
            self.chosen[window] = self.loop or self.choose(window)
        return self.chosen[window]

    def seen(self, window: Size) -> tuple[Layout, bool]:
        """Return the layout, and whether no text or tile of an edge lies over a box or another one; margins may."""
        at = self.places(window)
        if window not in self.clear:
            self.clear[window] = deepest(at.labels, self.labels, at.boxes.values()) <= MAX_OVERLAP_PX
        return at, self.clear[window]

    def choose(self, window: Size) -> Layout:
        """Make the layout for a window.

        Only sizes are compared, which are known before lines and texts have places; these take most of the time, and
        are made for the chosen layout alone. One that fits is taken at once: the first ones are the easiest to read.
        """
        if self.direction is not None:
            return self.made(self.direction, 1, 0.0)
        has_few = len(self.outline.nodes) <= MAX_ROW_NODES
        shapes = [("LR", 1, 0.0), ("TB", 1, 0.0), *[("LR", rows, 0.0) for rows in range(2, MAX_ROWS + 1) if has_few]]
        if has_few and window[0] < PHONE_WIDTH_PX:
            shapes += [("TB", 1, window[0]), ("TB", 1, NARROW_SHARE * window[0])]
        best, least = shapes[0], beyond(self.extent(*shapes[0]), window)
        for shape in shapes[1:]:
            if least <= 1:
                break
            if (needed := beyond(self.extent(*shape), window)) <= 1 or needed < least * BETTER_SHARE:
                best, least = shape, needed
        return self.made(*best)

    def of(self, direction: str, widest: float) -> Arranged:
        """The graph in a direction."""
        shape = direction, widest
        if shape not in self.arranged:
            self.arranged[shape] = Arranged(self.outline, self.sizes, direction, self.labels, widest=widest)
        return self.arranged[shape]

    def extent(self, direction: str, rows: int, widest: float) -> Size:
        """The size of a layout before its texts are placed."""
        return self.of(direction, widest).extent(rows)

    def made(self, direction: str, rows: int, widest: float) -> Layout:
        """A whole layout."""
        shape = direction, rows, widest
        if shape not in self.complete:
            self.complete[shape] = labelled(self.of(direction, widest).in_rows(rows), self.labels)
        return self.complete[shape]


def arrange(
    model: GraphModel, sizes: Mapping[str, Size], direction: str | None = None, labels: Mapping[str, Size] | None = None
) -> Arrangements:
    """Return the layouts of a view: the known ones, where a small graph of the same boxes has been laid out before.

    :param direction: the only one; None: any, unless the settings ask for one.
    """
    direction = settings.direction if direction is None and settings.direction != "auto" else direction
    outline, labels = outline_of(model), labels or {}
    is_small = len(outline.nodes) <= MAX_ROW_NODES
    if direction is None and (loop := loop_of(model)) is not None:
        if not is_small:
            return _of_loop(outline, model, loop, sizes, labels)
        steps = loop.steps, tuple(loop.place.items()), loop.shared, loop.names
        return _known_loop(outline, model.edges, steps, tuple(sizes.items()), tuple(labels.items()))
    if not is_small:
        return Arrangements(outline, sizes, direction, labels)
    return _known(outline, tuple(sizes.items()), direction, tuple(labels.items()))


Sizes = tuple[tuple[str, Size], ...]
Steps = tuple[int, tuple[tuple[str, int], ...], tuple[str, ...], tuple[str, ...]]


@lru_cache(maxsize=16)
def _known(outline: Outline, sizes: Sizes, direction: str | None, labels: Sizes) -> Arrangements:
    return Arrangements(outline, dict(sizes), direction, dict(labels))


@lru_cache(maxsize=16)
def _known_loop(outline: Outline, edges: tuple[Edge, ...], steps: Steps, sizes: Sizes, labels: Sizes) -> Arrangements:
    """Return the grid of a loop with the fields ``steps``."""
    count, place, shared, names = steps
    boxes = tuple([Node(key, kind, "") for key, kind in outline.nodes])  # of which a grid reads nothing else
    loop = Loop(count, dict(place), shared, names)
    return _of_loop(outline, GraphModel(boxes, edges, ()), loop, dict(sizes), dict(labels))


def _of_loop(
    outline: Outline, model: GraphModel, loop: Loop, sizes: Mapping[str, Size], labels: Mapping[str, Size]
) -> Arrangements:
    from nbautograd.viz.draw.loop_grid import grid  # only loops need it

    return Arrangements(outline, sizes, None, labels, labelled(grid(model, loop, sizes, labels), labels))


def beyond(size: Size, window: Size) -> float:
    """Return the number of windows that a drawing fills the longer way; in narrow ones, sideways counts more."""
    sideways, down = max(size[0] / window[0], 1.0), max(size[1] / window[1], 1.0)
    return down * sideways**4 if window[0] < PHONE_WIDTH_PX else max(down, sideways)
