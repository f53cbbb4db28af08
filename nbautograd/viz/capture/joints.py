"""Where gradients from several users of a value meet: their sum over paths, term by term."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from nbautograd.viz.capture.timeline import LeafState
from nbautograd.viz.language import say
from nbautograd.viz.read import values
from nbautograd.viz.read.model import GraphModel

__all__ = ["Joint", "joints_of", "waiting"]

LONG = 30  # characters of a sum that is written out in a box


class Joint:
    """What has reached one computed value in the current pass."""

    def __init__(self, expected: int) -> None:
        self.expected, self.terms, self.total = expected, list[str](), ""

    def arrive(self, gradient: Any, total: Any) -> None:
        """Add a term that has arrived; ``total`` is the sum so far."""
        self.terms.append(values.inline(gradient))
        self.total = values.inline(total)

    def complete(self) -> bool:
        """All have come that come in this pass; whether fewer than expected."""
        fewer, self.expected = len(self.terms) < self.expected, len(self.terms)
        return fewer

    def state(self) -> LeafState:
        """The row below the value."""
        got = len(self.terms)
        written = " + ".join(self.terms) + (f" = {self.total}" if got > 1 else "")
        shown = "–" if not got else written if len(written) <= LONG else ""
        return LeafState(shown, say("count_of", n=got, of=self.expected), got=got, of=self.expected)


def joints_of(model: GraphModel) -> dict[str, Joint]:
    """For each computed value that several operations use, the sum that is yet to come.

    By the id of the value's box, or of its operation where the value has no box.
    """
    return {key: Joint(count) for key, count in _uses(model).items()}


def waiting(model: GraphModel, leaves: Mapping[str, LeafState]) -> dict[str, LeafState]:
    """The states of leaves and joints, and of joints that nothing has been told of yet: none has come.

    :param model: as it is drawn, perhaps folded.
    """
    uses = _uses(model.entire)
    expected = {key: Joint(count).state() for key, count in uses.items() if key in model.by_id}
    return {**expected, **leaves}


def _uses(model: GraphModel) -> dict[str, int]:
    computed = {node.id for node in model.nodes if node.kind in ("tensor", "output", "op")}
    uses = Counter(edge.src for edge in model.edges if edge.kind == "flow" and edge.src in computed)
    return {key: count for key, count in uses.items() if count > 1}
