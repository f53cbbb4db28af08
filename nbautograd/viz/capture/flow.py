"""Gradients along every edge of a graph: by a pass that changes no ``.grad``, or from notes if the graph is freed.

And the paths from a result to a tensor: their nodes, their number, and the largest of them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from heapq import nlargest
from operator import itemgetter
from typing import Any

import numpy as np

from nbautograd import protocol
from nbautograd.viz.capture import torch_events
from nbautograd.viz.read import introspect, values
from nbautograd.viz.read.introspect import attribute, is_pytorchs_node, trace_of
from nbautograd.viz.read.local_derivative import evaluation
from nbautograd.viz.read.walk import GraphWalk

__all__ = ["Flow", "Parts", "Route", "Routes", "flow_of", "size_of"]

MAX_REPEATED_OPS = 20_000  # of a freed graph whose gradients are computed again
MAX_KEPT_ELEMENTS = 1000  # of a part


@dataclass(slots=True)
class Flow:
    """Sizes of gradients: a number with its sign if there is one element, else the Euclidean norm."""

    received: dict[Any, float] = field(default_factory=dict)
    """By node: the size of the sum of its arriving gradients."""
    sent: dict[tuple[Any, int], float] = field(default_factory=dict)
    """By node and edge."""
    gradients: list[Any] = field(default_factory=list)
    """For each target; None if no gradient arrived."""
    several: set[Any] = field(default_factory=set)
    """Nodes with gradients at several outputs, for which no factor can be computed."""
    told: str = ""
    """Why there are no sizes: ``freed``, ``hooks`` or the error of the pass."""
    noted: bool = False
    """True if they come from noted values, as no pass could run."""

    def factor(self, node: Any, edge: int) -> float | None:
        """Return the ratio of the gradient along an edge to the gradient of its node."""
        came, sent = self.received.get(node), self.sent.get((node, edge))
        return None if came is None or sent is None or not came or node in self.several else sent / came

    def __call__(self, event: protocol.Event) -> None:
        """Note one event of a pass."""
        if type(event) is protocol.NodeStarted:
            self.received[event.node] = sum_of(event.gradients)
            if sum(g is not None for g in event.gradients) > 1:
                self.several.add(event.node)
        elif type(event) is protocol.EdgeSent:
            self.sent[event.node, event.index] = size_of(event.gradient)


def size_of(value: Any) -> float:
    """Return the number of a gradient with one element, else its norm.

    >>> size_of(np.float32([-2.0])), size_of(np.float32([3.0, 4.0]))
    (-2.0, 5.0)
    """
    array = values.host(value)
    if array.size == 1 and array.dtype.kind != "c":
        return float(array.reshape(-1)[0])
    return float(np.linalg.norm(np.abs(array).astype(np.float64).reshape(-1)))


def sum_of(gradients: Sequence[Any]) -> float:
    """Return the size of the total gradient of a node."""
    sizes = [size_of(g) for g in gradients if g is not None]
    return sizes[0] if len(sizes) == 1 else float(np.linalg.norm(sizes)) if sizes else 0.0


def flow_of(root: Any, targets: Sequence[Any], walk: GraphWalk) -> Flow:
    """Compute the gradients of the sum of a result's elements at all edges that lead to the targets."""
    flow = Flow(gradients=[None] * len(targets))
    if any(introspect.saved_of(node)[1] for node in walk.order):
        return _from_notes(flow, root, targets, walk, "freed")
    if any(_has_hooks(node) for node in walk.next):
        return _from_notes(flow, root, targets, walk, "hooks")
    library = sys.modules[type(root).__module__.partition(".")[0]]
    ones = library.ones_like(root.detach())
    token = protocol.observers.set((flow,))
    try:
        arguments = [root], list(targets), [ones]
        place = ((root.grad_fn, root.output_nr),)
        theirs = torch_events.watch(place, (ones,), flow, retain_graph=True) if is_pytorchs_node(root.grad_fn) else None
        with theirs or nullcontext():
            flow.gradients = list(library.autograd.grad(*arguments, retain_graph=True, allow_unused=True))
    except Exception as error:  # any error: the graph itself still answers
        flow.told = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    finally:
        protocol.observers.reset(token)
    return flow


def _has_hooks(node: Any) -> bool:
    """Return whether a pass would call a function of the user's at a node."""
    trace, tensor = trace_of(node), attribute(node, "variable")
    tensor = trace.output() if tensor is None and trace is not None else tensor
    return bool(introspect.hooks_of(node, tensor))


def _from_notes(flow: Flow, root: Any, targets: Sequence[Any], walk: GraphWalk, why: str) -> Flow:
    """Compute the gradients by the formulas, with the noted values; ``why`` is the reason why no pass can run."""
    flow.told, flow.noted = why, True
    if len(walk.order) > MAX_REPEATED_OPS:
        return flow
    node, index, _ = walk.roots[0]
    came: dict[tuple[Any, int], Any] = {(node, index): np.ones(tuple(root.shape), _dtype(root))}
    try:
        for node in reversed(walk.order):
            g = came.get((node, 0))
            if g is None:
                continue
            flow.received[node] = size_of(g)
            _one(flow, came, node, g, walk)
    except Exception:  # some value was not noted
        return flow  # the sizes so far
    flow.told = ""
    for place, target in enumerate(targets):
        for to in walk.next:
            if attribute(to, "variable") is target or (target.grad_fn is not None and to is target.grad_fn):
                flow.gradients[place] = came.get((to, attribute(target, "output_nr", 0) or 0))
    return flow


def _one(flow: Flow, came: dict[tuple[Any, int], Any], node: Any, g: Any, walk: GraphWalk) -> None:
    """Send a node's gradients along its edges."""
    for slot, (to, to_index) in enumerate(walk.next[node]):
        if to is None:
            continue
        sent = _by_formula(node, slot, g, introspect.result_shape(to, to_index))
        flow.sent[node, slot] = size_of(sent)
        came[to, to_index] = sent if (to, to_index) not in came else came[to, to_index] + sent
        if attribute(to, "variable") is not None:
            flow.received[to] = size_of(came[to, to_index])


def _by_formula(node: Any, slot: int, g: Any, shape: tuple[int, ...] | None) -> Any:
    """Return what a node sends along an edge to a result of this shape, by its formula and the noted values."""
    declared = introspect.declared(node)
    name, formulas = tuple(attribute(declared, "inputs"))[slot], attribute(declared, "formulas")
    evaluated = evaluation(node, name, formulas[name], shape)
    if evaluated is None:
        raise LookupError(name)
    value, known = evaluated
    with np.errstate(all="ignore"):
        sent = np.asarray(value(formulas[name], {**known, "g": g}))
    return sent if shape is None or sent.shape == shape else _brought_back(sent, shape)


class Parts:
    """The parts of a gradient that go along single paths; small ones are kept for paths with the same beginning."""

    def __init__(self, root: Any, walk: GraphWalk, flow: Flow) -> None:
        self.walk, self.flow, self.library = walk, flow, sys.modules[type(root).__module__.partition(".")[0]]
        self.first = np.ones(tuple(root.shape), _dtype(root)) if flow.noted else self.library.ones_like(root.detach())
        self.known: dict[tuple[int, Any, int], tuple[int, Any]] = {}  # by number of the part before, node and edge

    def along(self, route: Route) -> tuple[list[tuple[float, int]], Any]:
        """Return the size and the number of elements of the part at the result and after each operation, and the last.

        The list ends before an operation that cannot be asked.
        """
        number, index, part = 0, self.walk.roots[0][1], self.first
        sizes = [(size_of(part), math.prod(part.shape))]
        try:
            for node, edge in route:
                key = number, node, edge
                if key in self.known:
                    number, part = self.known[key]
                else:
                    part = self._sent(node, edge, index, part)
                    number = len(self.known) + 1 if number >= 0 and math.prod(part.shape) <= MAX_KEPT_ELEMENTS else -1
                    if number > 0:
                        self.known[key] = number, part
                sizes.append((size_of(part), math.prod(part.shape)))
                index = self.walk.next[node][edge][1]
            return sizes, self.library.as_tensor(part)
        except Exception:  # a value that was not noted, a function of the user's
            return sizes, None

    def _sent(self, node: Any, edge: int, index: int, part: Any) -> Any:
        """Return what a node sends along an edge, if a part alone comes to its result of this index."""
        shape = introspect.result_shape(*self.walk.next[node][edge])
        if self.flow.noted:
            return _by_formula(node, edge, part, shape)
        count = len(attribute(node, "_input_metadata") or ()) or node.outputs()
        run = node if callable(node) else node.apply  # of PyTorch's, users' functions have only that
        with self.library.no_grad():
            sent = run(*[part if i == index else None for i in range(count)])
        sent = sent[edge] if isinstance(sent, tuple) else sent
        return sent if shape is None else sent.sum_to_size(shape)


def _brought_back(sent: Any, shape: tuple[int, ...]) -> Any:
    """Return a gradient summed over the dimensions that were broadcast."""
    while sent.ndim > len(shape):
        sent = sent.sum(0)
    dims = tuple(d for d, n in enumerate(shape) if n == 1 and sent.shape[d] != 1)
    return sent.sum(dims, keepdims=True) if dims else sent


def _dtype(tensor: Any) -> Any:
    return values.host(tensor).dtype


# -- paths ---------------------------------------------------------------------


MAX_PATHS = 10**6  # that are counted
LOG_OF_INFINITY = 1e4  # stands for 0 too, with a minus
Route = tuple[tuple[Any, int], ...]
"""The nodes of a path from the result on, each with its next edge."""


class Routes:
    """All ways through a graph, ``walk``, to one tensor: a leaf or a result."""

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
        """Return the paths with the largest products of sizes, the largest first; a size of None counts as 1."""
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
