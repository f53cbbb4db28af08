"""The gradients of a pass that are added up.

Those of a leaf are added up in a buffer and then in ``.grad``, those of a computed value with several users term by
term, or in a ``.grad`` of its own. Several gradients of one value are added up on their way to it, whether a folded
graph draws them as one line or as several.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nbautograd.viz.capture.player_data import Reading, Readings
from nbautograd.viz.language import say
from nbautograd.viz.read import values
from nbautograd.viz.read.introspect import attribute
from nbautograd.viz.read.model import GraphModel, Node
from nbautograd.viz.read.tiles import MAX_EXACT_CELLS, Tile
from nbautograd.viz.read.values import SUMMARY

__all__ = ["FoldedSum", "Joints", "LeafAccount", "added", "sums_in_view", "text_of", "waiting", "with_rows"]

MAX_ROW_TERMS = 3  # of a leaf
MAX_SUM_CHARACTERS = 30  # written out in a box


@dataclass(frozen=True, slots=True)
class LeafState:
    """The row of a leaf; for a computed value that several operations use, the row of its sum."""

    arriving: str = "–"
    count: str = ""
    grad: str = "None"
    arriving_tile: int = -1
    """The number of the tile of the sum; -1 for no tile."""
    grad_tile: int = -1
    got: int = 0
    of: int = 0
    """For a sum over several paths, the number of arrived terms; 0 of 0 for a single path."""
    kept: bool = False
    """True if the sum has been added to ``.grad``."""

    @property
    def waits(self) -> bool:
        """Return whether the row shows gradients that have arrived and are not in ``.grad`` yet."""
        return self.arriving != "–" and not self.kept

    @property
    def held(self) -> str:
        """The text of ``.grad``, with the terms of its sum where it is theirs alone."""
        return self.arriving if self.kept and self.arriving.endswith(f" = {self.grad}") else self.grad


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """The gradients of one leaf in one pass."""

    before: str
    terms: tuple[tuple[str, str], ...] = ()
    """(gradient, by way of which result)"""
    total: str = ""
    after: str = ""
    expected: int = 0
    reset: str = ""
    """The change of ``.grad`` between the last pass and this one: ``zeroed``, ``none``, ``changed`` or nothing."""
    asked: bool = True
    """False for a leaf that ``inputs=`` leaves out."""
    tiles: tuple[int, ...] = ()
    """Of the terms."""
    before_tile: int = -1
    total_tile: int = -1
    after_tile: int = -1


class LeafAccount:
    """The gradients that have reached one leaf in the current pass."""

    def __init__(self, node: Node, tensor: Any, pool: Readings) -> None:
        self.pool, self.node, self.tensor = pool, node, tensor
        self.tiles, self.total_tile, self.after_tile = list[int](), -1, -1
        self.terms: list[tuple[str, str]] = []
        self.total = self.after = self.sum_text = ""  # the last as shown in the box, perhaps on several lines
        grad = pool.read(getattr(tensor, "grad", None))
        self.before, self.grad_text, self.grad_tile = grad.line, grad.text, grad.tile
        self.before_tile = self.grad_tile
        self.reset, self.asked = "", True

    def has_changed(self, was: str) -> bool:
        """Note the change of a ``.grad`` that was ``was`` after the last pass; return whether there is one."""
        if self.before == was:
            return False
        grad = getattr(self.tensor, "grad", None)
        try:
            self.reset = "none" if grad is None else "changed" if values.host(grad).any() else "zeroed"
        except Exception:
            self.reset = "changed"
        return True

    def arrive(self, gradient: Reading, via: str, total: Reading) -> None:
        """Add a term that has arrived."""
        self.terms.append((gradient.line, via))
        self.tiles.append(gradient.tile)
        self.total, self.sum_text, self.total_tile = total.line, total.text, total.tile

    def accumulate(self, before: Reading, incoming: Reading, after: Reading) -> None:
        """Note ``.grad`` before and after the sum was added."""
        self.before, self.before_tile = before.line, before.tile
        self.total, self.sum_text, self.total_tile = incoming.line, incoming.text, incoming.tile
        self.after, self.grad_text, self.after_tile = after.line, after.text, after.tile
        self.grad_tile = self.after_tile

    def look(self) -> None:
        """Read ``.grad`` again: a pass that failed may not have accumulated."""
        grad = self.pool.read(getattr(self.tensor, "grad", None))
        self.grad_text, self.grad_tile = grad.text, grad.tile
        self.after = self.after and grad.line

    def state(self) -> LeafState:
        """The leaf's row."""
        count = len(self.terms)
        arriving = self.sum_text or "–"
        if count > 1:
            written = " + ".join([gradient for gradient, _ in self.terms[:MAX_ROW_TERMS]]) + f" = {self.total}"
            arriving = written if count <= MAX_ROW_TERMS and len(written) <= 26 else self.sum_text
        expected = max(self.node.arrivals, count)
        return LeafState(
            arriving, say("count_of", n=count, of=expected) if expected else "", self.grad_text, self.total_tile,
            self.grad_tile, count if expected > 1 else 0, expected if expected > 1 else 0, bool(self.after),
        )  # fmt: skip

    def summed(self) -> str:
        """The sum with its terms, or with their number."""
        count = len(self.terms)
        if count < 2:
            return self.total
        terms = " + ".join([term for term, _ in self.terms]) if count <= MAX_ROW_TERMS else say("n_terms", n=count)
        return f"{terms} = {self.total}"

    def row(self) -> LedgerRow:
        """The line of the ledger."""
        expected = max(self.node.arrivals, len(self.terms))
        return LedgerRow(
            self.before, tuple(self.terms), self.total, self.after, expected, self.reset, self.asked,
            tuple(self.tiles), self.before_tile, self.total_tile, self.after_tile,
        )  # fmt: skip


def with_rows(
    leaves: Mapping[str, LeafAccount], states: Mapping[str, LeafState], rows: Mapping[str, LedgerRow]
) -> dict[str, Any]:
    """Return the changes of a frame of these states and rows: for the rows of leaves, and their lines of the ledger."""
    changed, lines = dict(states), dict(rows)
    for key, leaf in leaves.items():
        changed[key], lines[key] = leaf.state(), leaf.row()
    return {"leaves": changed, "ledger": lines}


class _Joint:
    """The gradients that have reached one computed value in the current pass.

    :param expected: the number of expected terms; one without a sum.
    :param kept: the tensor, if it keeps its gradient and is alive.
    :param grad: the stored gradient when the graph was drawn.
    """

    def __init__(self, expected: int, kept: Any, grad: str) -> None:
        self.expected, self.terms, self.total = expected, list[str](), ""
        self.kept, self.grad = kept, grad

    def state(self) -> LeafState:
        """The rows below the value."""
        got = len(self.terms)
        grad = self.grad if self.kept is None else values.inline(attribute(self.kept, "grad"))
        if self.expected == 1:
            return LeafState(grad=grad)
        written = " + ".join(self.terms) + (f" = {self.total}" if got > 1 else "")
        shown = "–" if not got else written if len(written) <= MAX_SUM_CHARACTERS else ""
        return LeafState(shown, say("count_of", n=got, of=self.expected), grad, got=got, of=self.expected)


class Joints:
    """The sums over paths of one pass at all computed values with several users, and the retained gradients.

    They go by the id of the value's box, or of its operation where the value has no box.
    """

    def __init__(self, model: GraphModel) -> None:
        self.model = model
        uses = Counter([edge.src for edge in model.edges if edge.kind == "flow"])
        self._joints = {
            node.id: _Joint(max(uses[node.id], 1), model.handles.retained.get(node.id), node.grad or "None")
            for node in model.nodes
            if node.kind in ("tensor", "output", "op") and (uses[node.id] > 1 or node.retains)
        }

    def states(self, drawn: Collection[str]) -> dict[str, LeafState]:
        """The states of all that are drawn."""
        return {key: joint.state() for key, joint in self._joints.items() if key in drawn}

    def arrive(self, node: str, index: int, gradient: Reading, total: Reading) -> dict[str, LeafState]:
        """Add a term to the sum for a result of ``node``; ``total`` is the sum so far. Return a new state."""
        result = self.model.results.get((node, index))
        key = node if result is None else result.dst
        joint = self._joints.get(key)
        if joint is None:
            return {}
        joint.terms.append(gradient.line)
        joint.total = total.line
        return {key: joint.state()}

    def complete(self, key: str) -> dict[str, LeafState]:
        """The operation runs: all have come that come in this pass. The new state, where they are fewer than users."""
        joint = self._joints.get(key)
        if joint is None or len(joint.terms) == joint.expected:
            return {}
        joint.expected = len(joint.terms)
        return {key: joint.state()}

    def kept(self, node: str) -> dict[str, LeafState]:
        """The states of the results of an operation that keep their gradients, once it has run."""
        if not self.model.handles.retained:
            return {}
        made = {edge.dst for edge in self.model.edges if edge.src == node}
        return {key: joint.state() for key, joint in self._joints.items() if key in made and joint.kept is not None}


def waiting(model: GraphModel, leaves: Mapping[str, LeafState]) -> dict[str, LeafState]:
    """Return the states of leaves and joints in a drawn graph, and of joints without a gradient so far."""
    return {**Joints(model.entire).states(model.by_id), **leaves}


# -- lines of a folded graph ---------------------------------------------------------------------


CURVE_POINTS = 48
TILE_ERROR, SUM_ERROR = 5e-5, 1e-3  # of the numbers of a large tile; of a sum, relative to its largest number


@dataclass(slots=True)
class FoldedSum:
    """The sum of the gradients along one line in one pass."""

    count: int = 0
    total: Tile | None = None
    sizes: list[float | None] = field(default_factory=list)
    """log10 of the root mean square of each, in the order in which they came."""

    def add(self, gradient: Tile | None, size: float | None) -> None:
        """One more gradient."""
        self.total = gradient if not self.count else added(self.total, gradient)
        self.count += 1
        self.sizes.append(size)

    def known(self) -> Tile | None:
        """Return the sum, or None if the terms are too imprecise."""
        total = self.total
        if total is None or len(total.cells) <= MAX_EXACT_CELLS or total.block != (1, 1):
            return total
        largest = max(abs(float(cell)) for cell in total.cells)
        return total if self.count * TILE_ERROR <= SUM_ERROR * largest else None

    def curve(self) -> tuple[float | None, ...]:
        """Return the sizes, reduced to the number that a small curve can show."""
        return tuple(self.sizes[:: math.ceil(len(self.sizes) / CURVE_POINTS)])


def added(one: Tile | None, other: Tile | None) -> Tile | None:
    """Return the tile of the sum of two tensors, or None if unknown."""
    if one is None or other is None or (one.shape, one.block) != (other.shape, other.block):
        return None
    numbers = [float(a) + float(b) for a, b in zip(one.cells, other.cells, strict=True)]
    cells = tuple(number if math.isfinite(number) else str(number) for number in numbers)
    bad = [number for number in numbers if not math.isfinite(number)]
    nan = sum(math.isnan(number) for number in bad)
    form = SUMMARY if len(cells) > MAX_EXACT_CELLS else one.form
    return replace(one, cells=cells, histogram=(), low=0.0, high=0.0, norm=0.0, nan=nan, inf=len(bad) - nan, form=form)


def text_of(total: Tile | None) -> str:
    """The sum as text: a number, or a few of them; ``Σ`` where it is not known or large."""
    if total is None or total.block != (1, 1):
        return "Σ"
    return values.text(np.array([float(cell) for cell in total.cells]).reshape(total.shape), 4, brief=True)


def sums_in_view(
    model: GraphModel, labels: Mapping[str, str], edge_tiles: Mapping[str, int], tiles: Sequence[Tile]
) -> tuple[dict[str, str], dict[str, int], Sequence[Tile], dict[str, int]]:
    """Return labels and tiles of a folded view, whose lines stand for several edges, and the gradients per line."""
    known = dict(enumerate(tiles))
    shown = {model.stands.get(key, key): text for key, text in labels.items()}
    numbers = {model.stands.get(key, key): number for key, number in edge_tiles.items()}
    sums: dict[str, FoldedSum] = {}
    expected = model.several
    for drawn in model.mixed & shown.keys():
        shown[drawn], numbers[drawn] = "", -1
    for key in labels:
        if (drawn := model.stands.get(key, key)) in expected:
            sums.setdefault(drawn, FoldedSum()).add(known.get(edge_tiles.get(key, -1)), None)
    more = list(tiles)
    for drawn, one in sums.items():
        if one.count > 1:
            total = one.known()
            shown[drawn], numbers[drawn] = text_of(total), len(more) if total is not None else -1
            more += [total] if total is not None else []
    counts = {drawn: one.count if one.count > 1 else expected[drawn] for drawn, one in sums.items()}
    return shown, numbers, more, counts
