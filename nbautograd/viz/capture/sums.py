"""Follow the gradients of a pass that are added up: those of a leaf, in a buffer and then in ``.grad``, and those of a
computed value with several users, term by term, or with a ``.grad`` of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from nbautograd.viz.capture.readings import Reading, Readings
from nbautograd.viz.capture.timeline import Frame, LeafState, LedgerRow
from nbautograd.viz.language import say
from nbautograd.viz.read import values
from nbautograd.viz.read.introspect import attribute
from nbautograd.viz.read.model import GraphModel, Node

__all__ = ["Joints", "LeafAccount", "waiting", "with_rows"]

MAX_ROW_TERMS = 3  # of a leaf
MAX_SUM_CHARACTERS = 30  # written out in a box


class LeafAccount:
    """The gradients that have reached one leaf in the current pass."""

    def __init__(self, node: Node, tensor: Any, pool: Readings) -> None:
        grad = getattr(tensor, "grad", None)
        self.pool, self.node, self.tensor = pool, node, tensor
        self.tiles, self.total_tile, self.after_tile = list[int](), -1, -1
        self.terms: list[tuple[str, str]] = []
        self.total = self.after = self.sum_text = ""  # the last as shown in the box, perhaps on several lines
        self.before, self.grad_text, self.before_tile = pool.read(grad).shown
        self.grad_tile = self.before_tile
        self.reset, self.asked = "", True

    def arrive(self, gradient: Reading, via: str, total: Reading) -> None:
        """Add a term that has arrived."""
        term = gradient.shown
        self.terms.append((term[0], via))
        self.tiles.append(term[2])
        self.total, self.sum_text, self.total_tile = total.shown

    def accumulate(self, before: Reading, incoming: Reading, after: Reading) -> None:
        """Note ``.grad`` before and after the sum was added."""
        self.before, _, self.before_tile = before.shown
        self.total, self.sum_text, self.total_tile = incoming.shown
        self.after, self.grad_text, self.after_tile = after.shown
        self.grad_tile = self.after_tile

    def look(self) -> None:
        """Read ``.grad`` again: a pass that failed may not have accumulated."""
        after, self.grad_text, self.grad_tile = self.pool.read(getattr(self.tensor, "grad", None)).shown
        self.after = self.after and after

    def state(self) -> LeafState:
        """The leaf's row."""
        count = len(self.terms)
        arriving = self.sum_text or "–"
        if count > 1:
            written = " + ".join([gradient for gradient, _ in self.terms[:MAX_ROW_TERMS]]) + f" = {self.total}"
            arriving = written if count <= MAX_ROW_TERMS and len(written) <= 26 else self.sum_text
        expected = max(self.node.arrivals, count)
        return LeafState(
            arriving,
            say("count_of", n=count, of=expected) if expected else "",
            self.grad_text,
            self.total_tile,
            self.grad_tile,
            count if expected > 1 else 0,
            expected if expected > 1 else 0,
            bool(self.after),
        )

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


def with_rows(frame: Frame, leaves: Mapping[str, LeafAccount]) -> dict[str, Any]:
    """Return the changes of a frame for the rows of leaves, and for their lines of the ledger."""
    return {
        "leaves": {**frame.leaves, **{key: leaf.state() for key, leaf in leaves.items()}},
        "ledger": {**frame.ledger, **{key: leaf.row() for key, leaf in leaves.items()}},
    }


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

    def __init__(self, model: GraphModel | None = None) -> None:
        self.model = model
        self._joints = dict(_joints_of(model)) if model is not None else {}
        self._kept = {key: joint for key, joint in self._joints.items() if joint.kept is not None}

    def states(self, drawn: Collection[str]) -> dict[str, LeafState]:
        """The states of all that are drawn."""
        return {key: joint.state() for key, joint in self._joints.items() if key in drawn}

    def arrive(self, node: str, index: int, gradient: Reading, total: Reading) -> dict[str, LeafState]:
        """Add a term to the sum for a result of ``node``; ``total`` is the sum so far. Return a new state."""
        key = self._place(node, index)
        joint = self._joints.get(key)
        if joint is None:
            return {}
        joint.terms.append(gradient.line)
        joint.total = total.line
        return {key: joint.state()}

    def complete(self, node: str, index: int) -> dict[str, LeafState]:
        """The operation runs: all have come that come in this pass. The new state, where they are fewer than users."""
        key = self._place(node, index)
        joint = self._joints.get(key)
        if joint is None or len(joint.terms) == joint.expected:
            return {}
        joint.expected = len(joint.terms)
        return {key: joint.state()}

    def kept(self, node: str) -> dict[str, LeafState]:
        """The states of the results of an operation that keep their gradients, once it has run."""
        if self.model is None or not self._kept:
            return {}
        made = {edge.dst for edge in self.model.edges if edge.src == node}
        return {key: joint.state() for key, joint in self._kept.items() if key in made}

    def _place(self, node: str, index: int) -> str:
        assert self.model is not None
        result = self.model.results.get((node, index))
        return node if result is None else result.dst


def waiting(model: GraphModel, leaves: Mapping[str, LeafState]) -> dict[str, LeafState]:
    """Return the states of leaves and joints, and of joints without a gradient so far.

    :param model: as it is drawn, perhaps folded.
    """
    return {**Joints(model.entire).states(model.by_id), **leaves}


def _joints_of(model: GraphModel) -> Iterator[tuple[str, _Joint]]:
    uses = Counter([edge.src for edge in model.edges if edge.kind == "flow"])
    for node in model.nodes:
        if node.kind in ("tensor", "output", "op") and (uses[node.id] > 1 or node.retains):
            yield node.id, _Joint(max(uses[node.id], 1), model.handles.retained.get(node.id), node.grad or "None")
