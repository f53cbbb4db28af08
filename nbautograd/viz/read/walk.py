"""A walk over an autograd graph from its roots: which nodes there are, and in which order they ran.

Walks without recursion. Dictionaries keep the nodes alive and in order, as PyTorch creates its wrappers of nodes on
demand.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from nbautograd.viz.read import introspect
from nbautograd.viz.read.introspect import attribute, node_name, of_each, trace_of
from nbautograd.viz.read.model import Saved
from nbautograd.viz.read.segments import Turns, turns_of
from nbautograd.viz.read.values import is_tensor

__all__ = ["GraphWalk", "sequence"]

MAX_READ_NODES = 100_000  # of a larger graph, only those nearest to the roots
MAX_NEAREST_NODES = 5000  # read of a graph that is too large
NEAR_OPS = 16  # going back, in which inputs distinguish steps of a loop
MIN_TURNS = 3  # of a loop


class GraphWalk:
    """The nodes reachable from ``roots``, and their edges.

    ``next`` has the edges of each node towards its inputs, ``variables`` the tensors of the leaves, ``ops`` the nodes
    that are no leaves, ``used`` the outputs that others of them use, and ``order`` the operations in topological
    order, as they ran.

    :param most: a graph of more nodes is ``cut`` to the part nearest to the roots.
    """

    def __init__(self, roots: Any, most: int = MAX_READ_NODES) -> None:
        several = isinstance(roots, (list, tuple)) and not (len(roots) == 2 and isinstance(roots[1], int))
        self.roots = list(map(_root_of, roots if several else [roots]))
        self.next: dict[Any, tuple[tuple[Any, int], ...]] = {}
        self.cut = not self.read_all(most)
        if self.cut:
            self.read_nearest(min(MAX_NEAREST_NODES, most))
        ends = [node for node, edges in self.next.items() if not edges]
        self.variables = {node: leaf for node in ends if (leaf := attribute(node, "variable")) is not None}
        self.ops = [node for node in self.next if node not in self.variables]
        self.used = {edge for edges in self.next.values() for edge in edges if edge[0] in self.next}
        self.order = self.in_sequence() or self.sorted_topologically()
        self.rank = {node: i for i, node in enumerate(self.order)}
        self._turns: Turns | None = None
        self._saved: dict[Any, Any] = {}

    @cached_property
    def names(self) -> dict[Any, str]:
        """The names of the operations."""
        return of_each(node_name, self.ops)

    @cached_property
    def traces(self) -> dict[Any, Any]:
        """The trace of each operation; None if none was noted."""
        return of_each(trace_of, self.ops)

    @cached_property
    def declared(self) -> dict[Any, Any]:
        """The class with the symbol, the inputs and the formulas of each operation."""
        return of_each(introspect.declared, self.ops)

    def saved(self, node: Any) -> tuple[tuple[Saved, ...] | None, bool, dict[str, Any]]:
        """Return what an operation keeps for a backward pass (see ``introspect.saved_of``), read once."""
        if node not in self._saved:
            self._saved[node] = introspect.saved_of(node)
        known: tuple[tuple[Saved, ...] | None, bool, dict[str, Any]] = self._saved[node]
        return known

    def read_all(self, most: int) -> bool:
        """Find all nodes, depth first; False if there are too many."""
        stack = [node for node, _, _ in reversed(self.roots) if node is not None]
        while stack:
            node = stack.pop()
            if node in self.next:
                continue
            if len(self.next) >= most:
                return False
            edges = self.next[node] = _edges_of(node)
            stack += [to for to, _ in reversed(edges) if to is not None and to not in self.next]
        return True

    def read_nearest(self, most: int) -> None:
        """Find the nodes that are the fewest steps from the roots, breadth first."""
        self.next.clear()
        waiting = deque(node for node, _, _ in self.roots if node is not None)
        while waiting and len(self.next) < most:
            node = waiting.popleft()
            if node not in self.next:
                edges = self.next[node] = _edges_of(node)
                waiting += [to for to, _ in edges if to is not None and to not in self.next]

    @cached_property
    def shared(self) -> set[Any]:
        """The operations before a loop: each turn uses their results, so that how far back they ran differs."""
        uses = Counter((to, self.names[node]) for node in self.ops for to, _ in self.next[node] if to in self.rank)
        return {to for (to, _), count in uses.items() if count >= MIN_TURNS}

    def in_sequence(self) -> list[Any]:
        """The operations by the numbers that they got when they ran; nothing where those are missing or wrong."""
        known: dict[Any, int] = {}
        for node in self.ops:
            number = sequence(node)
            if number is None:
                return []
            known[node] = number
        for node, number in known.items():
            for to, _ in self.next[node]:
                if to in known and known[to] >= number:
                    return []
        return sorted(self.ops, key=known.__getitem__)

    def sorted_topologically(self) -> list[Any]:
        """The operations, each after those whose results it uses, by in-degree (Kahn's algorithm)."""
        in_degree = dict.fromkeys(self.ops, 0)
        for node in self.ops:
            for to, _ in self.next[node]:
                if to in in_degree:
                    in_degree[to] += 1
        ready = [node for node, degree in in_degree.items() if not degree]
        order = []
        while ready:
            node = ready.pop()
            order.append(node)
            for to, _ in self.next[node]:
                if to in in_degree:
                    in_degree[to] -= 1
                    if not in_degree[to]:
                        ready.append(to)
        return order[::-1]

    def signature(self, node: Any) -> Any:
        """A key that is equal for operations that are the same step of a loop."""
        trace, rank, inputs = self.traces[node], self.rank, []
        for to, _ in self.next[node]:  # the steps back: 0 to far results, and to shared ones
            steps = rank[node] - rank[to] if to in rank and to not in self.shared else 0
            inputs.append(-1 if to is None else steps if steps <= NEAR_OPS else 0)
        return self.names[node], tuple(inputs), (trace.filename, trace.lineno) if trace is not None else None

    def scopes(self) -> list[tuple[Any, ...]]:
        """The named blocks of each operation, if its trace has them."""
        traces = [self.traces[node] for node in self.order]
        return [() if trace is None else tuple(trace.scope) for trace in traces]

    def lines(self) -> list[tuple[str, int] | None]:
        """Return the file and the line of each operation; None if unknown."""
        traces = map(self.traces.get, self.order)
        return [None if trace is None or not trace.lineno else (trace.filename, trace.lineno) for trace in traces]

    def turns(self, namespace: Mapping[str, Any]) -> Turns:
        """Return the turns of the operations in the loops of the code, which is read once.

        :param namespace: variables, for the length of a loop.
        """
        if self._turns is None:
            self._turns = turns_of([self.traces[node] for node in self.order], namespace)
        return self._turns

    def inputs(self) -> list[list[int]]:
        """For each operation the ranks of those whose results it uses."""
        return [[self.rank[to] for to, _ in self.next[node] if to in self.rank] for node in self.order]


def _edges_of(node: Any) -> tuple[tuple[Any, int], ...]:
    """Return the nodes and outputs to which the edges of a node lead."""
    try:
        return tuple(node.next_functions or ())
    except Exception:  # any object gets a picture
        return ()


def _root_of(root: Any) -> tuple[Any, int, Any]:
    """(node or None, index of its output, tensor or None)."""
    if is_tensor(root):
        return root.grad_fn, attribute(root, "output_nr", 0) or 0, root
    if isinstance(root, tuple) and len(root) == 2:
        return root[0], root[1], None
    return root, 0, None


def sequence(node: Any) -> int | None:
    """The number of the operation in the order in which they ran, where the library counts them."""
    try:
        return int(node._sequence_nr())
    except Exception:
        return None
