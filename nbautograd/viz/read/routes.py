"""Find the paths from a result to a tensor: their nodes, their number, and the largest of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd.viz.read.introspect import attribute
from nbautograd.viz.read.walk import GraphWalk

__all__ = ["Path", "Routes", "product"]

MAX_PATHS = 10**6  # limit of the counted paths
Path = tuple[tuple[Any, int], ...]
"""Return the nodes from the result on, each with its next edge."""


class Routes:
    """All ways through a graph to one tensor.

    :param walk: the graph.
    :param target: a leaf or a result.
    """

    def __init__(self, walk: GraphWalk, target: Any) -> None:
        self.walk = walk
        own = attribute(target, "grad_fn")
        self.target = next(
            (n for n in walk.next if (n is own if own is not None else attribute(n, "variable") is target)), None
        )
        self.counts: dict[Any, int] = {}
        if self.target is not None:
            self.counts[self.target] = 1
            for node in walk.order:
                if node is not self.target:
                    count = sum(self.counts.get(to, 0) for to, _ in walk.next[node])
                    if count:
                        self.counts[node] = min(count, MAX_PATHS)

    @property
    def count(self) -> int:
        """The number of paths."""
        return sum(self.counts.get(node, 0) for node, _, _ in self.walk.roots)

    def edges(self, node: Any) -> list[int]:
        """Return the edges of a node that lead to the tensor."""
        if node is self.target:
            return []
        return [i for i, (to, _) in enumerate(self.walk.next[node]) if to in self.counts]

    def largest(self, many: int, size: Callable[[Any, int], float]) -> list[Path]:
        """Return some paths; at each node, those along larger edges come first."""
        found: list[Path] = []
        roots = [node for node, _, _ in self.walk.roots if node in self.counts]
        stack: list[tuple[Any, tuple[Any, ...] | None]] = [(node, None) for node in reversed(roots)]
        while stack and len(found) < many:
            node, before = stack.pop()
            if node is self.target:
                steps: list[tuple[Any, int]] = []
                while before is not None:
                    before, step = before
                    steps.append(step)
                found.append(tuple(reversed(steps)))
                continue
            edges = sorted(self.edges(node), key=lambda edge: size(node, edge))
            stack += [(self.walk.next[node][edge][0], (before, (node, edge))) for edge in edges]
        return found


def product(path: Path, factors: Callable[[Any, int], float | None], start: float) -> float | None:
    """Return the product of the factors along a path; None if one is not known."""
    for node, edge in path:
        factor = factors(node, edge)
        if not factor:
            return factor
        start *= factor
    return start
