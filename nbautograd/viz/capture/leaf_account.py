"""Follow the gradients of one leaf in one backward pass: the sum over paths in a buffer, then the sum in ``.grad``."""

from __future__ import annotations

from typing import Any

from nbautograd.viz.capture.readings import Reading, Readings
from nbautograd.viz.capture.timeline import LeafState, LedgerRow
from nbautograd.viz.language import say
from nbautograd.viz.read.model import Node

__all__ = ["TERMS", "LeafAccount"]

TERMS = 3  # limit of the terms in a leaf's row


class LeafAccount:
    """The gradients that have reached one leaf in the current pass."""

    def __init__(self, node: Node, tensor: Any, pool: Readings) -> None:
        grad = getattr(tensor, "grad", None)
        self.pool, self.node, self.tensor = pool, node, tensor
        self.tiles, self.total_tile, self.after_tile = list[int](), -1, -1
        self.terms: list[tuple[str, str]] = []
        self.total = self.after = self.sum_text = ""  # the last as shown in the box, perhaps on several lines
        self.before, self.grad_text, self.before_tile = self.shown(pool.read(grad))
        self.grad_tile = self.before_tile
        self.reset, self.asked = "", True

    def shown(self, value: Reading) -> tuple[str, str, int]:
        """Return a gradient on one line, as in the box, and the number of its tile."""
        return value.line, value.text, value.tile

    def arrive(self, gradient: Reading, via: str, total: Reading) -> None:
        """Add a term that has arrived."""
        term = self.shown(gradient)
        self.terms.append((term[0], via))
        self.tiles.append(term[2])
        self.total, self.sum_text, self.total_tile = term if total is gradient else self.shown(total)

    def accumulate(self, before: Reading, incoming: Reading, after: Reading) -> None:
        """Note ``.grad`` before and after the sum was added."""
        self.before, _, self.before_tile = self.shown(before)
        came = self.total, self.sum_text, self.total_tile = self.shown(incoming)
        self.after, self.grad_text, self.after_tile = came if after is incoming else self.shown(after)
        self.grad_tile = self.after_tile

    def look(self) -> None:
        """Read ``.grad`` again: a pass that failed may not have accumulated."""
        after, self.grad_text, self.grad_tile = self.shown(self.pool.read(getattr(self.tensor, "grad", None)))
        self.after = self.after and after

    def state(self) -> LeafState:
        """The leaf's row."""
        count = len(self.terms)
        arriving = self.sum_text or "–"
        if count > 1:
            written = " + ".join([gradient for gradient, _ in self.terms[:TERMS]]) + f" = {self.total}"
            arriving = written if count <= TERMS and len(written) <= 26 else self.sum_text
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

    def row(self) -> LedgerRow:
        """The line of the ledger."""
        expected = max(self.node.arrivals, len(self.terms))
        return LedgerRow(
            self.before, tuple(self.terms), self.total, self.after, expected, self.reset, self.asked,
            tuple(self.tiles), self.before_tile, self.total_tile, self.after_tile,
        )  # fmt: skip
