"""Show points in a plane, by class, and a model's prediction at each place: the regions move during training."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from nbautograd.viz.draw.lines import number, text_element
from nbautograd.viz.draw.theme import LIGHT
from nbautograd.viz.escape import one_line
from nbautograd.viz.language import say
from nbautograd.viz.notebook.in_place import at_once, seen
from nbautograd.viz.notebook.still import LiveDrawing, Still, framed
from nbautograd.viz.read import values

__all__ = ["Scatter", "scatter"]

MAX_KEPT_STATES = 48  # of a training run; above it, every other one is dropped
GRID_CELLS = 60  # per row and per column
INKS = tuple(LIGHT[name] for name in ("leaf", "ochre", "out", "teal"))
SINGLE_PX, IN_ROW_PX = 300, 140  # sides of a picture
LEFT_PX, TOP_PX, GAP_PX, BELOW_PX = 52, 58, 8, 40
LEGEND_PX = 130  # room for a class's name
MAX_POINTS = 2000
CLASSES = len(INKS)

Array = np.ndarray[Any, Any]
Model = Callable[[Any], Any]


@dataclass(frozen=True)
class Plane:
    """Points, their classes, and all names."""

    points: Array
    kinds: Array
    classes: Sequence[str]
    axes: tuple[str, str]

    @cached_property
    def low(self) -> Array:
        """The lower left corner: a little outside of all points."""
        return np.asarray(self.points.min(0) - self._room)

    @cached_property
    def high(self) -> Array:
        """The upper right corner."""
        return np.asarray(self.points.max(0) + self._room)

    @cached_property
    def _room(self) -> Array:
        size = np.ptp(self.points, axis=0)
        return np.asarray(np.where(size > 0, size, 1.0) * 0.06)

    def grid(self) -> Array:
        """Return the middles of the cells, by row from above, as points."""
        part = (np.arange(GRID_CELLS) + 0.5) / GRID_CELLS
        x = self.low[0] + part * (self.high[0] - self.low[0])
        y = self.high[1] - part * (self.high[1] - self.low[1])
        return np.stack([np.tile(x, GRID_CELLS), np.repeat(y, GRID_CELLS)], axis=1)

    def words(self) -> str:
        """Return the number of points of each class."""
        counts = np.bincount(self.kinds, minlength=len(self.classes))
        each = (say("scatter_of", n=n, name=one_line(name, 30)) for n, name in zip(counts, self.classes, strict=True))
        return say("scatter", n=len(self.points), each=say("scatter_and").join(each))


@dataclass(frozen=True)
class Answers:
    """The model's answers at one step: a class for each place of the grid, and the points for which it is wrong."""

    step: int
    regions: Array
    wrong: Array


class Scatter(Still):
    """The result of :func:`scatter`: a notebook shows it, ``save`` writes a file.

    While a loop trains the model, use it in a ``with`` block and call it once a step: the regions move, and at the end
    a row of pictures is left, from the first step to the last.

    :param plane: points, classes and names.
    :param model: the function that gives the class of each place; None for points alone.
    :param places: those of the grid and the points, in the form in which the model takes them.
    :param live: whether a widget shows the picture while the loop runs.
    :returns: the picture.
    :raises ValueError: the model returns neither one number nor a score for each class.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> points, labels = torch.tensor([[0., 0.], [1., 1.], [2., 0.]]), torch.tensor([0, 1, 1])
    >>> picture = viz.scatter(points, labels)
    >>> isinstance(picture, viz.Scatter), picture
    (True, 3 points: 1 of 0, 2 of 1)
    """

    def __init__(self, plane: Plane, model: Model | None, places: Any, live: bool | None = None) -> None:
        self.plane, self._model, self._places = plane, model, places
        self._drawing = LiveDrawing(self._newest, live)
        self.states: list[Answers] = []
        self.step, self._stride = 0, 1
        if model is not None:
            self._look()

    def __call__(self) -> None:
        """Note the regions after one more step of training.

        :raises TypeError: there is no model to ask.
        """
        if self._model is None:
            raise TypeError("this scatter has no model to watch; write viz.scatter(points, labels, model)")
        self.step += 1
        if self.step % self._stride == 0:
            self._look()
        self._drawing.renew()

    def _look(self) -> None:
        """Ask the model; of too many states keep every other one, and from now on look half as often."""
        assert self._model is not None
        places = GRID_CELLS * GRID_CELLS
        found = _classes(_asked(self._model, self._places), places + len(self.plane.points))
        wrong = found[places:] != self.plane.kinds
        self.states.append(Answers(self.step, found[:places].reshape(GRID_CELLS, GRID_CELLS), wrong))
        if len(self.states) > MAX_KEPT_STATES:
            self.states, self._stride = self.states[::2], self._stride * 2

    def __enter__(self) -> Scatter:
        self._drawing.open(self.label)
        return self

    def __exit__(self, *exception: Any) -> None:
        """End the live view, also after an error or an interrupt, and show the picture."""
        if self._model is not None and self.states[-1].step != self.step and exception[0] is None:
            self._look()
        self._drawing.close()
        seen(self)

    @property
    def label(self) -> str:
        """Summarize it in one line."""
        words = self.plane.words()
        return say("scatter_now", words=words, said=self._said(self.states[-1])) if self.states else words

    @property
    def svg(self) -> str:
        """The drawing: the points, or a row of pictures of a training."""
        looks = [(state, self._said(state)) for state in _turning(self.states)]
        return drawn(self.plane, looks, self.label, repr(self))

    def _newest(self) -> str:
        return drawn(self.plane, [(state, self._said(state)) for state in self.states[-1:]], self.label, self.label)

    def _said(self, state: Answers) -> str:
        key = "scatter_wrong" if self.step else "scatter_wrong_now"
        return say(key, step=state.step, wrong=int(state.wrong.sum()))

    def __repr__(self) -> str:
        return "\n".join([self.plane.words(), *map(self._said, _turning(self.states))])


@at_once
def scatter(
    points: Any, labels: Any = None, model: Model | None = None, *, axes: Sequence[str] = ("x", "y"),
    classes: Sequence[str] | None = None, live: bool | None = None,
) -> Scatter:  # fmt: skip
    """Draw points of a plane by their class, and behind them the class that a model gives to each place.

    Where the model gives a point another class than its label, the point has a ring. In a ``with`` block, called once a
    step or an epoch, the regions move while the model is trained.

    :param points: a tensor of shape ``(n, 2)``, of this library or PyTorch; or an array or list.
    :param labels: of shape ``(n,)``: the class of each point, from 0; or bools, or numbers of which those above 0.5 are
        class 1. At most four classes. By default all are 0.
    :param model: a module or function of points. It returns one number for each, above 0 for class 1, or a score for
        each class.
    :param axes: the names of the two coordinates.
    :param classes: the names of the classes; by default their numbers.
    :param live: whether a widget shows the regions while a loop runs; by default in a notebook.
    :returns: the picture.
    :raises ValueError: the shapes do not fit, a number is not finite, or there are more than four classes.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> points = torch.tensor([[-1., 0.], [1., 0.], [2., 1.]])
    >>> weight = torch.tensor([1.0, 0.0], requires_grad=True)
    >>> with viz.scatter(points, torch.tensor([0, 1, 0]), lambda p: p @ weight) as look:
    ...     for _ in range(2):
    ...         weight.data -= 1
    ...         look()
    >>> look
    3 points: 2 of 0, 1 of 1
    step 0: 1 wrong
    step 1: 1 wrong
    step 2: 2 wrong
    """
    places = _places(points)
    kinds = np.zeros(len(places), np.int64) if labels is None else _labels(values.host(labels))
    if kinds.shape != (len(places),):
        raise ValueError(f"labels must have the shape ({len(places)},), one for each point, got {kinds.shape}")
    count = max(int(kinds.max()) + 1, len(classes or ()), 2 if model is not None else 1)
    if kinds.min() < 0 or count > CLASSES:
        raise ValueError(f"labels must be classes from 0 to {CLASSES - 1}, got {kinds.min()} to {count - 1}")
    names = [str(name) for name in classes or range(count)]
    plane = Plane(places, kinds, names + [str(number) for number in range(len(names), count)], (axes[0], axes[1]))
    return Scatter(plane, model, _like(np.concatenate([plane.grid(), places]), points), live)


def _places(points: Any) -> Array:
    places = np.asarray(values.host(points), np.float64)
    if places.ndim != 2 or places.shape[1] != 2 or not len(places):
        raise ValueError(f"points must have the shape (n, 2), one row for each point, got {places.shape}")
    if not np.isfinite(places).all():
        raise ValueError("points must be finite, got NaN or infinity")
    return places


def _labels(labels: Array) -> Array:
    """Return the number of each point's class."""
    return np.asarray(labels > 0.5 if labels.dtype.kind == "f" and labels.max(initial=0) <= 1 else labels, np.int64)


def _like(places: Array, points: Any) -> Any:
    """Return places in the form of the points: a model takes these."""
    new = getattr(points, "new_tensor", None)
    return new(places) if callable(new) else sys.modules["nbautograd"].tensor(places.tolist())


def _asked(model: Model, places: Any) -> Array:
    """Return a model's prediction at each place, in evaluation mode and without a graph."""
    trains = bool(getattr(model, "training", False))
    library = sys.modules[type(places).__module__.partition(".")[0]]
    try:
        if trains:
            model.eval()  # type: ignore[attr-defined]
        with library.no_grad():
            return values.host(model(places))
    finally:
        if trains:
            model.train()  # type: ignore[attr-defined]


def _classes(scores: Array, count: int) -> Array:
    """Return the class of each place; raise ValueError for neither one number nor a score for each class."""
    if scores.size == count:
        return np.asarray(scores.reshape(-1) > 0, np.uint8)
    if scores.ndim == 2 and len(scores) == count and scores.shape[1] <= CLASSES:
        return np.asarray(scores.argmax(1), np.uint8)
    got = f"got {scores.shape} for {count} points"
    raise ValueError(f"the model must return one number or at most {CLASSES} scores for each point, {got}")


def _turning(states: Sequence[Answers], most: int = 4) -> list[Answers]:
    """Return the first and the last state, and between them those that share out change and time equally.

    Time counts by its root: most happens at first.

    >>> grids = [np.array([[0, 0]]), np.array([[0, 0]]), np.array([[1, 0]]), np.array([[1, 1]])]
    >>> [state.step for state in _turning([Answers(step, grid, grid) for step, grid in enumerate(grids)], 3)]
    [0, 2, 3]
    """
    if len(states) <= most:
        return list(states)
    moved = np.cumsum([0, *((one.regions != next_.regions).mean() for one, next_ in pairwise(states))])
    way = moved / (moved[-1] or 1) + np.sqrt([state.step / states[-1].step for state in states])
    chosen = {int(np.searchsorted(way, way[-1] * part / (most - 1) - 1e-9)) for part in range(most)}
    return [states[place] for place in sorted(chosen)]


# -- the drawing ------------------------------------------------------------


def drawn(plane: Plane, looks: Sequence[tuple[Answers, str]], label: str, words: str) -> str:
    """Return the picture of points, or a row of pictures for several states of a model.

    :param looks: these states, each with a line about it.
    """
    count = max(len(looks), 1)
    side = SINGLE_PX if count == 1 else IN_ROW_PX
    wide = LEFT_PX + max(count * (side + GAP_PX) + GAP_PX, LEGEND_PX * len(plane.classes))
    body = _legend(plane)
    for place in range(count):
        body += _panel(plane, looks[place] if looks else None, LEFT_PX + place * (side + GAP_PX), side)
    return framed(label, words, (wide, TOP_PX + side + BELOW_PX), "".join(body))


def _legend(plane: Plane) -> list[str]:
    """A mark and a name for each class."""
    out, x = [], float(LEFT_PX)
    for kind, name in enumerate(plane.classes):
        out.append(f'<path d="{_mark(kind, x + 5, 22)}" fill="{INKS[kind]}"/>')
        out.append(text_element(x + 14, 26, one_line(name, 20), LIGHT["fg"]))
        x += LEGEND_PX
    return out


def _panel(plane: Plane, look: tuple[Answers, str] | None, left: float, side: float) -> list[str]:
    """One picture: regions, points, and rings around those in a wrong region."""
    out = [] if look is None else _areas(look[0].regions, left, side)
    out.append(_points(plane, side) if left == LEFT_PX else f'<use href="#nb-points" x="{number(left - LEFT_PX)}"/>')
    if look is not None:
        out.append(text_element(left, TOP_PX - 6, look[1], LIGHT["muted"]))
        across, down, shown, size = _marked(plane, side)
        rings = shown[look[0].wrong[shown]]
        marks = "".join(_circle(left + across[i], down[i], size + 2) for i in rings)
        out += [f'<path d="{marks}" fill="none" stroke="{LIGHT["bad"]}" stroke-width="1.2"/>'] if marks else []
    place = f'x="{number(left)}" y="{TOP_PX}" width="{side}" height="{side}"'
    frame = f'<rect {place} fill="none" stroke="{LIGHT["wire"]}"/>'
    return [*out, frame, *(_axes(plane, left, side) if left == LEFT_PX else ())]


def _marked(plane: Plane, side: float) -> tuple[Array, Array, Array, float]:
    """Return the positions of the points, seen from the left edge, the indices of the drawn ones, and their size."""
    part = (plane.points - plane.low) / (plane.high - plane.low)
    shown = np.arange(len(part))[:: -(-len(part) // MAX_POINTS)]
    size = (4.0 if side == SINGLE_PX else 2.6) * (1 if len(shown) <= 300 else 0.7)
    return part[:, 0] * side, TOP_PX + (1 - part[:, 1]) * side, shown, size


def _points(plane: Plane, side: float) -> str:
    """The points of the first picture, which the others use again."""
    across, down, shown, size = _marked(plane, side)
    out = []
    for kind, ink in enumerate(INKS):
        own = shown[plane.kinds[shown] == kind]
        marks = "".join(_mark(kind, LEFT_PX + across[i], down[i], size) for i in own)
        look = f'fill="{ink}" stroke="{LIGHT["bg"]}" stroke-width="{0.15 * size:.2g}"'
        out += [f'<path d="{marks}" {look}/>'] if marks else []
    return f'<g id="nb-points">{"".join(out)}</g>'


def _areas(regions: Array, left: float, side: float) -> list[str]:
    """Return one path per class, with adjacent cells of a row as one rectangle."""
    place = f"translate({number(left)} {TOP_PX}) scale({side / GRID_CELLS:.4g})"
    look = f'fill-opacity="0.2" shape-rendering="crispEdges" transform="{place}"'
    out = []
    for kind, ink in enumerate(INKS):
        edges = np.diff(np.pad(regions == kind, ((0, 0), (1, 1))).astype(int), axis=1)
        runs = zip(np.argwhere(edges == 1).tolist(), np.argwhere(edges == -1).tolist(), strict=True)
        path = "".join(f"M{begin} {row}h{end - begin}v1H{begin}z" for (row, begin), (_, end) in runs)
        out += [f'<path d="{path}" fill="{ink}" {look}/>'] if path else []
    return out


def _axes(plane: Plane, left: float, side: float) -> list[str]:
    """The two ends of each axis, and its name."""
    west, south, east, north = (f"{end:.2g}" for end in (*plane.low, *plane.high))
    below, ink, name = TOP_PX + side + 15, LIGHT["muted"], one_line(plane.axes[1], 24)
    up = f"translate({number(left - 8)} {number(TOP_PX + side / 2)}) rotate(-90)"
    return [
        text_element(left, below, west, ink, mono=True),
        text_element(left + side, below, east, ink, anchor="end", mono=True),
        text_element(left + side / 2, below + 14, one_line(plane.axes[0], 24), ink, anchor="middle"),
        text_element(left - 4, TOP_PX + side, south, ink, anchor="end", mono=True),
        text_element(left - 4, TOP_PX + 10, north, ink, anchor="end", mono=True),
        f'<g transform="{up}">{text_element(0, 0, name, ink, anchor="middle")}</g>',
    ]


SHAPES = ((), ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)), ((0, -1.2), (1.2, 0.9), (-1.2, 0.9)),
          ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)))  # fmt: skip
"""The corners of each class's mark: of a disk, a square, a triangle, a diamond."""


def _circle(x: float, y: float, r: float) -> str:
    arc = f"a{number(r)} {number(r)} 0 1 0"
    return f"M{number(x - r)} {number(y)}{arc} {number(2 * r)} 0{arc} {number(-2 * r)} 0z"


def _mark(kind: int, x: float, y: float, r: float = 4.5) -> str:
    """The outline of a class's mark."""
    corners = [f"{number(x + dx * r)} {number(y + dy * r)}" for dx, dy in SHAPES[kind]]
    return f"M{'L'.join(corners)}z" if corners else _circle(x, y, r)
