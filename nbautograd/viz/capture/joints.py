"""Where gradients from several users of a value meet: their sum over paths, term by term."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from nbautograd.viz.capture.timeline import LeafState
from nbautograd.viz.language import say
from nbautograd.viz.read import values
from nbautograd.viz.read.model import GraphModel

__all__ = ["Joints", "waiting"]

LONG = 30  # characters of a sum that is written out in a box


class _Joint:
    """What has reached one computed value in the current pass."""

    def __init__(self, expected: int) -> None:
        self.expected, self.terms, self.total = expected, list[str](), ""

    def state(self) -> LeafState:
        """The row below the value."""
        got = len(self.terms)
        written = " + ".join(self.terms) + (f" = {self.total}" if got > 1 else "")
        shown = "–" if not got else written if len(written) <= LONG else ""
        return LeafState(shown, say("count_of", n=got, of=self.expected), got=got, of=self.expected)


class Joints:
    """The sums over paths of one pass at all computed values that several operations use.

    They go by the id of the value's box, or of its operation where the value has no box.
    """

    def __init__(self, model: GraphModel | None = None) -> None:
        self.model = model
        self._joints = {key: _Joint(count) for key, count in _uses(model).items()} if model is not None else {}

    def states(self, drawn: Collection[str]) -> dict[str, LeafState]:
        """The states of all that are drawn."""
        return {key: joint.state() for key, joint in self._joints.items() if key in drawn}

    def arrive(self, node: str, index: int, gradient: Any, total: Any) -> dict[str, LeafState]:
        """Add a term to the sum for a result of ``node``; ``total`` is the sum so far. The new state, if it is one."""
        key = self._place(node, index)
        joint = self._joints.get(key)
        if joint is None:
            return {}
        joint.terms.append(values.inline(gradient))
        joint.total = values.inline(total)
        return {key: joint.state()}

    def complete(self, node: str, index: int) -> dict[str, LeafState]:
        """The operation runs: all have come that come in this pass. The new state, where they are fewer than users."""
        key = self._place(node, index)
        joint = self._joints.get(key)
        if joint is None or len(joint.terms) == joint.expected:
            return {}
        joint.expected = len(joint.terms)
        return {key: joint.state()}

    def _place(self, node: str, index: int) -> str:
        assert self.model is not None
        result = self.model.results.get((node, index))
        return node if result is None else result.dst


def waiting(model: GraphModel, leaves: Mapping[str, LeafState]) -> dict[str, LeafState]:
    """The states of leaves and joints, and of joints that nothing has been told of yet: none has come.

    :param model: as it is drawn, perhaps folded.
    """
    return {**Joints(model.entire).states(model.by_id), **leaves}


def _uses(model: GraphModel) -> dict[str, int]:
    computed = {node.id for node in model.nodes if node.kind in ("tensor", "output", "op")}
    uses = Counter(edge.src for edge in model.edges if edge.kind == "flow" and edge.src in computed)
    return {key: count for key, count in uses.items() if count > 1}
