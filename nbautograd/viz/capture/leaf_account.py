"""Follow the gradients of one leaf in one backward pass: the sum over paths in a buffer, then the sum in ``.grad``."""

from __future__ import annotations

from typing import Any

from nbautograd.viz.capture.chain_rule import TilePool
from nbautograd.viz.capture.timeline import LeafState, LedgerRow
from nbautograd.viz.language import say
from nbautograd.viz.read import values
from nbautograd.viz.read.model import Node

__all__ = ["TERMS", "LeafAccount"]

TERMS = 3  # limit of the terms in a leaf's row


class LeafAccount:
    """The gradients that have reached one leaf in the current pass."""

    def __init__(self, node: Node, tensor: Any, pool: TilePool) -> None:
        grad = getattr(tensor, "grad", None)
        self.pool, self.tiles, self.total_tile, self.after_tile = pool, list[int](), -1, -1
        self.before_tile = self.grad_tile = pool.add(grad)
        self.node, self.tensor, self.before, self.after = node, tensor, values.inline(grad), ""
        self.terms: list[tuple[str, str]] = []
        self.total = ""
        self.sum_text, self.grad_text = "", values.text(grad)  # as shown in the box, perhaps on several lines
        self.reset, self.asked = "", True

    def arrive(self, gradient: Any, via: str, total: Any) -> None:
        """Add a term that has arrived."""
        self.terms.append((values.inline(gradient), via))
        self.total, self.sum_text = values.inline(total), values.text(total)
        self.tiles.append(self.pool.add(gradient))
        self.total_tile = self.pool.add(total)

    def accumulate(self, before: Any, incoming: Any, after: Any) -> None:
        """Note ``.grad`` before and after the sum was added."""
        self.before, self.total, self.after = [values.inline(value) for value in (before, incoming, after)]
        self.sum_text, self.grad_text = values.text(incoming), values.text(after)
        self.before_tile, self.total_tile = self.pool.add(before), self.pool.add(incoming)
        self.after_tile = self.grad_tile = self.pool.add(after)

    def look(self) -> None:
        """Read ``.grad`` again: a pass that failed may not have accumulated."""
        grad = getattr(self.tensor, "grad", None)
        self.grad_text, self.after = values.text(grad), self.after and values.inline(grad)
        self.grad_tile = self.pool.add(grad)

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
