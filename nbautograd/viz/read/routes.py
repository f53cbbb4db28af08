"""Find the paths from a result to a tensor: their nodes, their number, and the largest of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import nlargest
from operator import itemgetter
from typing import Any

from nbautograd.viz.read.introspect import attribute
from nbautograd.viz.read.walk import GraphWalk

__all__ = ["Route", "Routes"]

MAX_PATHS = 10**6  # that are counted
LOG_OF_INFINITY = 1e4  # stands for 0 too, with a minus
Route = tuple[tuple[Any, int], ...]
"""The nodes of a path from the result on, each with its next edge."""


class Routes:
    """All ways through a graph to one tensor.

    :param walk: the graph.
    :param target: a leaf or a result.
    """

    def __init__(self, walk: GraphWalk, target: Any) -> None:
        self.walk = walk
        own = attribute(target, "grad_fn")
        self.output = 0 if own is None else attribute(target, "output_nr", 0) or 0
        self.target = next(
            (n for n in walk.next if (n is own if own is not None else attribute(n, "variable") is target)), None
        )
        self.counts: dict[Any, int] = {}
        if self.target is not None:
            self.counts[self.target] = 1
            for node in walk.order:
                if node is not self.target:
                    count = sum(self.counts[to] for to, output in walk.next[node] if self._leads(to, output))
                    if count:
                        self.counts[node] = min(count, MAX_PATHS)

    def _leads(self, node: Any, output: int) -> bool:
        """Return whether a result of an operation depends on the tensor; the other results of its own do not."""
        return node in self.counts and (node is not self.target or output == self.output)

    @property
    def count(self) -> int:
        """The number of paths."""
        return sum(self.counts[node] for node, output, _ in self.walk.roots if self._leads(node, output))

    def edges(self, node: Any) -> list[int]:
        """Return the edges of a node that lead to the tensor."""
        return [i for i, edge in enumerate(self.walk.next[node]) if node is not self.target and self._leads(*edge)]

    def largest(self, many: int, size: Callable[[Any, int], float | None]) -> list[Route]:
        """Return the paths with the largest products of sizes, the largest one first.

        :param size: of a factor; None where it is not known, which counts as 1.
        """
        best = {self.target: [(0.0, 0, 0)]}  # by node: logarithm of the product, next edge, rank of the rest there
        for node in self.walk.order:
            if node in self.counts and node is not self.target:
                ways = [
                    (_log(size(node, edge)) + rest, edge, rank)
                    for edge in self.edges(node)
                    for rank, (rest, _, _) in enumerate(best[self.walk.next[node][edge][0]])
                ]
                best[node] = nlargest(many, ways, key=itemgetter(0))  # equal ones in the order of the edges
        starts = [node for node, output, _ in self.walk.roots if self._leads(node, output)]
        firsts = [(way[0], node, rank) for node in starts for rank, way in enumerate(best[node])]
        return [self._route(best, node, rank) for _, node, rank in nlargest(many, firsts, key=itemgetter(0))]

    def _route(self, best: dict[Any, list[tuple[float, int, int]]], node: Any, rank: int) -> Route:
        steps = []
        while node is not self.target:
            _, edge, rank = best[node][rank]
            steps.append((node, edge))
            node = self.walk.next[node][edge][0]
        return tuple(steps)


def _log(size: float | None) -> float:
    """Return the logarithm of a factor, within limits, so that a sum of some is a number."""
    if size is None or math.isnan(size):
        return 0.0
    return -LOG_OF_INFINITY if not size else min(math.log(abs(size)), LOG_OF_INFINITY)
