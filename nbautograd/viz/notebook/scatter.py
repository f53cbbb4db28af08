"""Show points in a plane, by class, and a model's prediction at each place: the regions move during training."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from nbautograd.viz.language import say
from nbautograd.viz.notebook.in_place import at_once, seen
from nbautograd.viz.notebook.live_drawing import LiveDrawing
from nbautograd.viz.notebook.scatter_picture import GRID_CELLS, INKS, Look, Plane, drawn
from nbautograd.viz.notebook.still import Still
from nbautograd.viz.read import values

__all__ = ["Scatter", "scatter"]

MAX_KEPT_STATES = 48  # of a training run; above it, every other one is dropped
CLASSES = len(INKS)

Array = np.ndarray[Any, Any]
Model = Callable[[Any], Any]


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
        return drawn(self.plane, self._looks(_turning(self.states)), self.label, repr(self))

    def _looks(self, states: Sequence[Answers]) -> list[Look]:
        return [Look(state.regions, state.wrong, self._said(state)) for state in states]

    def _newest(self) -> str:
        return drawn(self.plane, self._looks(self.states[-1:]), self.label, self.label)

    def _said(self, state: Answers) -> str:
        key = "scatter_wrong" if self.step else "scatter_wrong_now"
        return say(key, step=state.step, wrong=int(state.wrong.sum()))

    def __repr__(self) -> str:
        shown = _turning(self.states)
        return "\n".join([self.plane.words(), *map(self._said, shown)])


@at_once
def scatter(
    points: Any,
    labels: Any = None,
    model: Model | None = None,
    *,
    axes: Sequence[str] = ("x", "y"),
    classes: Sequence[str] | None = None,
    live: bool | None = None,
) -> Scatter:
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
    """Return the class of each place.

    :raises ValueError: a model returns neither one number nor a score for each class.
    """
    if scores.size == count:
        return np.asarray(scores.reshape(-1) > 0, np.uint8)
    if scores.ndim == 2 and len(scores) == count and scores.shape[1] <= CLASSES:
        return np.asarray(scores.argmax(1), np.uint8)
    raise ValueError(
        f"the model must return one number or at most {CLASSES} scores for each point, got {scores.shape} "
        f"for {count} points"
    )


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
