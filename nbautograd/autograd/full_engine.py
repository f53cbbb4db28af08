"""The full backward loop: with observers, ``inputs=``, gradients at non-leaves, hooks of leaves, anomaly detection.

It computes the same results as the fast loop in ``autograd/engine.py``, in an order that PyTorch users may rely on: a
node is ready when its in-degree is 0, and the newest ready node runs first, leaves before all others. A node's sequence
number is higher than those of the nodes of its inputs. So descending sequence numbers are a topological order of the
tape; a leaf, whose number is 0, comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any

from nbautograd import protocol
from nbautograd._engine.arrays.version_counter import clock
from nbautograd._engine.core.dispatch_mode import forward_ad_below
from nbautograd._engine.core.node import (
    Node,
    OutputEdge,
    OutputGrads,
    UnrecordedView,
    accumulator,
    gradients_of,
    public_edge,
)
from nbautograd._engine.core.tensor import Tensor, stored
from nbautograd.autograd import accumulate as accumulation, anomaly_mode as anomaly
from nbautograd.autograd.hooks import post_hooks, pre_hooks, retain, tensor_hooks

Key = tuple[Any, int]  # a node, or a leaf, and the index of its output


class FullRun:
    """One backward pass in the full loop, with a method for each of its events.

    A leaf's AccumulateGrad runs as soon as its in-degree is 0, as in PyTorch. But ``.grad`` is written at the end of
    the pass, for all leaves together, unless the leaf has post-accumulation hooks.

    :param roots: pairs of a node or leaf and its gradient.
    :param targets: the places of requested gradients, with their tensors; None for all leaves.
    :param accumulate: if True, add gradients to ``.grad`` instead of capturing them.
    """

    def __init__(
        self, roots: list[tuple[Any, Any]], retain_graph: bool, create_graph: bool, targets: dict[Key, Any] | None,
        accumulate: bool,
    ) -> None:  # fmt: skip
        self.roots, self.targets, self.accumulate = roots, targets, accumulate
        self.retain_graph, self.create_graph = retain_graph, create_graph
        self.all_observers = protocol.observers.get()
        self.observers = [each for each in self.all_observers if not hasattr(each, "of_sums_alone")]
        self.tell = self.observers[0] if len(self.observers) == 1 else partial(_tell, self.observers)
        self.in_degree, order = reachable([target for target, _ in roots])
        self.wanted: dict[Any, list[int]] = {}  # by node, the outputs whose gradients are requested
        for node, index in targets or ():
            self.wanted.setdefault(node, []).append(index)
        self.needed = None if targets is None else leading_to(order, set(self.wanted))
        self.pending: dict[Any, Any] = {}  # by node or leaf, the sum of the gradients that have arrived so far
        self.captured: dict[Key, Any] = {}
        self.arrived: dict[Tensor, Any] = {}  # at the leaves whose .grad changes at the end
        self.ready: list[tuple[float, int, Any]] = []  # heap of (-sequence number, order of arrival, target)
        self.queued: set[Any] = set()

    def run(self) -> dict[Key, Any]:
        """Walk the graph; return the captured gradients."""
        error: BaseException | None = None
        try:
            self.start()
            while self.ready:
                self.step(heappop(self.ready)[2])
            accumulation.finish(self.arrived, self.create_graph)
        except BaseException as caught:
            error = caught
            raise
        finally:
            self.tell(protocol.PassFinished(error))
        return self.captured

    def start(self) -> None:
        """Store the gradients of the roots, and enqueue the roots whose in-degree is 0."""
        nodes = tuple([public_edge(target) for target, _ in self.roots])
        gradients = tuple([g for _, g in self.roots])
        self.tell(protocol.PassStarted(nodes, gradients, self.retain_graph, self.create_graph))
        for target, g in self.roots:
            self.arrive(target, g)
        for target in dict.fromkeys([target for target, _ in self.roots]):
            if not self.in_degree.get(target):
                self.enqueue(target)

    def step(self, target: Any) -> None:
        """Run a node or leaf that is ready, and decrement the in-degree of its targets."""
        g = self.pending.pop(target, None)
        if not isinstance(target, Node):
            if g is not None and (self.targets is None or target in self.wanted):
                self.visit_leaf(target, g)
            return
        if g is not None and (self.needed is None or target in self.needed):
            if anomaly.mode.on:
                with anomaly.watching(target):
                    self.visit_node(target, g)
            else:
                self.visit_node(target, g)
        for after in target.next_nodes():
            if after is not None:
                self.in_degree[after] -= 1
                if not self.in_degree[after] and after not in self.queued:
                    self.enqueue(after)

    def arrive(self, target: Any, d: Any) -> Any:
        """Add a gradient to the pending sum of a node or leaf; return the sum."""
        total = self.pending[target] = self.pending[target] + d if target in self.pending else d
        return total

    def enqueue(self, target: Any) -> None:
        """Add a node or leaf to the ready queue; leaves come first."""
        heappush(self.ready, (-target._seq if target._seq else float("-inf"), len(self.queued), target))
        self.queued.add(target)

    def visit_node(self, node: Node, g: Any) -> None:
        """Run a node: the hooks of its tensor, its own hooks and its vjp; then send the gradients to its targets."""
        outputs = tuple(g.take(node.outputs())) if isinstance(g, OutputGrads) else (g,)
        shown = node.__class__ is not OutputEdge and node.__class__ is not UnrecordedView
        if shown:
            self.tell(protocol.NodeStarted(node, outputs))
        hooks = node.hooks
        g = g if hooks is None else tensor_hooks(node, g)
        self.capture(node, g)
        if self.needed is None or any(target in self.needed for target in node.next_nodes() if target is not None):
            self.send(node, self.compute(node, g if hooks is None else pre_hooks(node, g)), shown)
        if shown:
            self.tell(protocol.NodeFinished(node, node.saves() and not self.retain_graph))

    def compute(self, node: Node, g: Any) -> list[Any]:
        """Return the gradients of the node's inputs, after the version check of its saved tensors."""
        if node._seq < clock.last_write:
            node.check_saved()
        checked = anomaly.mode.check_nan and forward_ad_below.get() is None  # otherwise a tangent is being computed
        values = anomaly.saved(node) if checked else None
        vjp = node.vjp_graph if self.create_graph else node.vjp
        d, d1 = vjp(g, self.retain_graph, self.needed)
        gradients = gradients_of(d, d1, node.arity)
        if node.hooks is not None:
            gradients = post_hooks(node, gradients, g)
        if checked:
            anomaly.check(node, gradients, g, values)
        return gradients

    def send(self, node: Node, gradients: list[Any], shown: bool) -> None:
        """Send the gradients of a node's inputs along its edges."""
        for index, (target, d) in enumerate(zip(node.next_nodes(), gradients, strict=True)):
            if target is None or d is None or (self.needed is not None and target not in self.needed):
                continue
            total = self.arrive(target, d)
            if shown and self.observers:
                public, slot = public_edge(target)
                if target.__class__ is OutputEdge or isinstance(total, OutputGrads):
                    total = d
                self.tell(protocol.EdgeSent(node, index, public, slot, d, total))

    def capture(self, node: Node, g: Any) -> None:
        """Store the gradients of those outputs of a node that are targets of the pass."""
        for index in self.wanted.get(node, ()):
            part = g.by_index.get(index) if isinstance(g, OutputGrads) else g
            if part is None:
                continue
            self.captured[node, index] = part
            self.tell(protocol.Captured(node, index, part))
            tensor = self.targets[node, index] if self.targets is not None and self.accumulate else None
            if tensor is not None and not tensor.retains_grad:
                retain(tensor, part)

    def visit_leaf(self, leaf: Tensor, g: Any) -> None:
        """Run a leaf's AccumulateGrad, or capture its gradient."""
        node = accumulator(leaf)
        self.tell(protocol.NodeStarted(node, (g,)))
        hooks = node.hooks
        g = g if hooks is None else tensor_hooks(node, g)
        if self.accumulate:
            self.accumulate_at(leaf, node, g if hooks is None else pre_hooks(node, g))
        else:
            self.captured[leaf, 0] = g
            self.tell(protocol.Captured(node, 0, g))
        self.tell(protocol.NodeFinished(node, False))

    def accumulate_at(self, leaf: Tensor, node: Node, g: Any) -> None:
        """Add to ``leaf.grad``: now if the leaf has post-accumulation hooks, otherwise at the end of the pass."""
        before = None if leaf._grad is None or not self.all_observers else stored(leaf._grad).copy()
        hooks = leaf._hooks
        if hooks is not None and (hooks.accumulated or hooks.post):
            accumulation.visit(leaf, g, self.create_graph)
            after = leaf._grad  # None if a hook removed it
        else:
            self.arrived[leaf] = g
            after = g if before is None else before + stored(g)
        if after is not None and self.all_observers:
            event = protocol.Accumulated(node, before, g, stored(after))
            for observer in self.all_observers:
                observer(event)


def _tell(observers: Iterable[Callable[[protocol.Event], object]], event: protocol.Event) -> None:
    """Send an event to several observers, or to none."""
    for observer in observers:
        observer(event)


def reachable(roots: Iterable[Any]) -> tuple[dict[Any, int], list[Any]]:
    """Return the in-degrees of all nodes and leaves reachable from ``roots``, and these from newest to oldest."""
    in_degree: dict[Any, int] = {}
    stack = list(dict.fromkeys(roots))
    seen = set(stack)
    while stack:
        node = stack.pop()
        if not node._seq:  # a leaf
            continue
        for target in node.next_nodes():
            if target is not None:
                in_degree[target] = in_degree.get(target, 0) + 1
                if target not in seen:
                    seen.add(target)
                    stack.append(target)
    return in_degree, sorted(seen, key=attrgetter("_seq"), reverse=True)


def leading_to(order: list[Any], targets: set[Any]) -> set[Any]:
    """Return the nodes in the topological ``order`` from which a target is reachable, and the targets."""
    needed = set(targets)
    for node in reversed(order):
        if node._seq and not needed.isdisjoint(node.next_nodes()):
            needed.add(node)
    return needed
