"""One step of the chain rule with its numbers: upstream × local = sent, for one edge.

What the equation under the picture shows. Each part is a tile; one element is written out as its terms, so that there
are always numbers to follow: a single product where the Jacobian is diagonal, a sum of products for a row of a matrix
product, and a sum over the broadcast dimensions where an input was smaller than the result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nbautograd.viz.read import jacobians, values
from nbautograd.viz.read.formula_values import Operands, kept_operands
from nbautograd.viz.read.formulas import Mark
from nbautograd.viz.read.jacobians import DIAGONAL, MATRIX, MOVE, OTHER
from nbautograd.viz.read.local_derivative import LocalDerivative, Output, local_derivative
from nbautograd.viz.read.model import Formula, GraphModel
from nbautograd.viz.read.notes import can_be_noted
from nbautograd.viz.read.operations import broadcast_dims
from nbautograd.viz.read.tiles import LARGEST, MOST, Tile, tile

__all__ = ["Arrival", "ChainStep", "Element", "TilePool", "chain_step", "kept_before"]

TERMS = 4  # of a sum that are written out
CELLS = 400_000  # numbers in the tiles of a whole recording
KEPT = 4_000_000  # elements of what PyTorch's nodes have saved that are copied for a pass
EXACT = 4096  # elements of a tensor that is recognised by its numbers


class TilePool:
    """The tiles of a recording, each once: what one step sends, the next one receives."""

    def __init__(self) -> None:
        self.tiles: list[Tile] = []
        self._numbers: dict[Any, int] = {}
        self._cells = 0

    def add(self, value: Any) -> int:
        """The number of the value's tile; -1 where there is none, or no room for more."""
        if value is None or not values.is_near(value, LARGEST):
            return -1
        array = values.host(value)
        key = array.shape, array.dtype.str, array.tobytes() if array.size <= EXACT else id(value)
        number = self._numbers.get(key)
        if number is None or array.size > EXACT:  # of a large one the memory may have been written to since
            made = tile(array) if self._cells < CELLS else None
            if made is None:
                return -1
            number = self._numbers[key] = len(self.tiles)
            self.tiles.append(made)
            self._cells += len(made.cells)
        return number

    def put(self, known: Tile | None, number: int = -1) -> int:
        """The number of a tile that is here already, in the place of another one or at the end."""
        if known is None:
            return -1
        if number < 0:
            number = len(self.tiles)
            self.tiles.append(known)
        self.tiles[number] = known
        return number


@dataclass(frozen=True, slots=True)
class Element:
    """One element that was sent: the sum of ``upstream · local`` over its terms."""

    index: tuple[int, ...]
    terms: tuple[tuple[str, str], ...]
    """(upstream, local), the first few."""
    count: int
    """How many terms there are."""
    sent: str


@dataclass(frozen=True, slots=True)
class ChainStep:
    """How the gradient came about that went along one edge; tiles by their numbers, -1 where there is none."""

    edge: str
    kind: str
    """How the gradient enters: ``diagonal``, ``matrix``, ``move`` or ``other`` (see ``read.jacobians``)."""
    upstream_name: str
    sent_name: str
    local: list[Mark]
    """The local derivative as a formula; empty where it is no factor."""
    upstream: int = -1
    factor: int = -1
    product: int = -1
    """Before the sums that undo broadcasting, where there are any."""
    sent: int = -1
    left: bool = False
    """Whether the matrix stands on the left."""
    summed: tuple[tuple[int, int], ...] = ()
    """(dimension, its size) of each broadcast dimension that was summed over."""
    element: Element | None = None
    told: str = ""
    """Which of the player's sentences says what the local derivative is, where no element can be written out."""
    places: tuple[int, ...] = ()
    """For each element of the product the one of the upstream gradient that it is made from, where that is another
    one; of what is moved for each element that was sent, -1 where it is from nowhere and zero."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """The one gradient that a node received, and what its formulas name, copied before the node runs and frees it."""

    gradient: Any = None
    output: Output = (0, 1)
    """For which of how many results it came."""
    known: Operands | None = field(default_factory=dict)
    """None: it was too much to be kept."""

    @classmethod
    def at(cls, node: Any, gradients: Sequence[Any], kept: Mapping[Any, Operands]) -> Arrival:
        """What arrived at a node that is about to run; nothing where gradients came for several results.

        :param kept: what ``kept_before`` gave at the start of the pass.
        """
        came = [(i, gradient) for i, gradient in enumerate(gradients) if gradient is not None]
        if len(came) != 1:
            return cls()
        (index, gradient), known = came[0], kept.get(node)
        if known is None and not hasattr(node, "variable") and not can_be_noted(node):
            known = _kept(node)
        return cls(gradient, (index, len(gradients)), known)


def kept_before(model: GraphModel) -> dict[Any, Operands]:
    """What the formulas of PyTorch's nodes name, copied before a pass, as far as it is not too much.

    Within the pass nobody but the pass may ask a node for what it saved: a checkpoint computes that once.
    """
    kept: dict[Any, Operands] = {}
    size = 0
    for node, key in model.handles.ops.items():
        if can_be_noted(node) and not hasattr(node, "variable") and model.by_id[key].formulas and size < KEPT:
            kept[node] = _kept(node)
            size += sum(np.size(value) for value in kept[node].values() if isinstance(value, np.ndarray))
    return kept


def _kept(node: Any) -> Operands:
    try:
        return kept_operands(node)
    except Exception:  # a picture is drawn also of objects that cannot be read
        return {}


def chain_step(
    node: Any, formula: Formula, edge: str, names: tuple[str, str], came: Arrival, sent: Any, pool: TilePool
) -> ChainStep:
    """The step along one edge.

    :param node: the live node.
    :param names: of the gradient that came, and of the one that was sent.
    """
    upstream = came.gradient
    derivative = local_derivative(
        node, formula.input, formula.source, upstream, sent, came.known, came.output, formula.slot
    )
    shape, went = values.shape(upstream), values.shape(sent)
    summed: tuple[tuple[int, int], ...] = ()
    if derivative.kind == DIAGONAL and jacobians.sums_over(formula.source):
        wide = derivative.product.shape if derivative.product is not None else shape
        summed = tuple((dim, wide[dim]) for dim in broadcast_dims(wide, went))
    element = _element(derivative, upstream, sent, summed)
    return ChainStep(
        edge,
        derivative.kind,
        *names,
        formula.local,
        pool.add(upstream),
        pool.add(derivative.factor),
        pool.add(derivative.product) if summed else -1,
        pool.add(sent),
        derivative.left,
        summed,
        element,
        "" if element is not None else _told(derivative, sent),
        _places(derivative, shape),
    )


_UNKNOWN = {
    "large": "numbers_large", "unsaved": "numbers_unsaved", "complex": "numbers_complex", "foreign": "numbers_foreign",
}  # fmt: skip


def _told(derivative: LocalDerivative, sent: Any) -> str:
    """The sentence about a local derivative of which no element is written out."""
    if derivative.unknown == "differs":
        return "numbers_differ"
    if derivative.kind == MOVE:
        return "only_moves" if derivative.permutes else "moves_some"
    if not math.prod(values.shape(sent)):
        return "no_elements"
    return "all_at_once" if derivative.kind == OTHER else _UNKNOWN.get(derivative.unknown, "all_at_once")


def _places(derivative: LocalDerivative, came: tuple[int, ...]) -> tuple[int, ...]:
    places = derivative.places
    stays = derivative.kind == DIAGONAL and places is not None and places.shape == came
    if places is None or stays or places.size > MOST * MOST:
        return ()
    return tuple(places.reshape(-1).tolist())


def _element(
    derivative: LocalDerivative, upstream: Any, sent: Any, summed: tuple[tuple[int, int], ...]
) -> Element | None:
    """The largest element that was sent, written out; None where the local derivative is not known."""
    if derivative.factor is None and derivative.jacobian is None:
        return None
    wanted = values.host(sent)
    if wanted.dtype.kind not in "biuf" or not wanted.size:
        return None
    flat = np.abs(wanted.astype(np.float64)).reshape(-1)
    largest = int(np.argmax(np.where(np.isnan(flat), np.inf, flat)))
    index = np.unravel_index(largest, wanted.shape)
    place = tuple(int(i) for i in index)
    if derivative.jacobian is not None:
        ups, factors = values.host(upstream).reshape(-1), derivative.jacobian[:, largest]
        ups, factors = ups[factors != 0], factors[factors != 0]
    else:
        ups, factors = _terms_at(derivative, values.host(upstream), place, summed)
    if not len(ups):
        return None
    terms = tuple((values.inline(u), values.inline(f)) for u, f in zip(ups[:TERMS], factors[:TERMS], strict=True))
    return Element(place, terms, len(ups), values.inline(wanted[index]))


def _terms_at(
    derivative: LocalDerivative, upstream: np.ndarray[Any, Any], place: tuple[int, ...], summed: tuple[Any, ...]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The upstream gradients and the local derivatives of which the element is the sum of products."""
    factor, spread = derivative.factor, derivative.upstream
    assert factor is not None
    if derivative.kind == MATRIX:
        *batch, row, column = place
        came, matrix = upstream[tuple(batch)], factor[tuple(batch)]
        return (came[:, column], matrix[row]) if derivative.left else (came[row], matrix[:, column])
    assert spread is not None
    dims = {dim for dim, _ in summed}
    extra = spread.ndim - len(place)
    where = tuple(slice(None) if dim in dims else place[dim - extra] for dim in range(spread.ndim))
    return np.asarray(spread[where]).reshape(-1), np.asarray(factor[where]).reshape(-1)
