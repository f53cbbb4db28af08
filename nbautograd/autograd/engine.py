"""The backward pass: a loop over the graph, newest node first.

A node's inputs are always older than the node, so visiting nodes by descending sequence number visits each after all
that feed it. Gradients wait in ``pending``, keyed by edge, and are summed there: that is the sum over paths inside one
pass. What has gathered at the leaves is then added to their ``.grad``: the accumulation across passes.

There are two loops. ``_run`` is the fast one, without a test per node for anything that is rare. ``_run_observed`` does
the same with everything: observers, ``inputs=``, gradients taken at non-leaves, hooks of leaves, anomaly detection.
``execute`` picks one at its start. What they do at a leaf is in ``autograd/accumulate.py``, with hooks in ``hooks.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar, copy_context
from heapq import heappop, heappush
from operator import attrgetter, itemgetter
from typing import Any

from numpy import ndarray

from nbautograd import protocol
from nbautograd.arrays import backend
from nbautograd.arrays.version_counter import clock
from nbautograd.autograd import accumulate as accumulation, anomaly_mode as anomaly, forward_ad
from nbautograd.autograd.hooks import as_tensor, post_hooks, pre_hooks, retain, tensor_hooks
from nbautograd.core.grad_mode import grad_enabled
from nbautograd.core.node import MANY, LeafHooks, Node, Port, Slots, accumulator, alive, public_edge
from nbautograd.core.tensor import Tensor, array_of
from nbautograd.fusion.lazy_gradient import add_gradients, materialize, materialize_pending, pending_gradients
from nbautograd.fusion.tiling import MIN_TILED_SIZE

__all__ = ["Pass", "accumulate", "apply", "capture", "current_pass", "execute"]

Key = tuple[Any, int]  # a node, or a leaf, and which of its outputs


class Pass:
    """One backward pass while it runs."""

    __slots__ = ("__weakref__", "_visited", "roots", "targets")
    roots: list[tuple[Any, Any]]
    targets: Iterable[Key] | None
    _visited: set[Any]

    def visits(self, edge: Any) -> bool:
        """Whether a node or leaf gets a gradient in this pass."""
        if not hasattr(self, "_visited"):
            _, order = _reachable(root for root, _ in self.roots)
            self._visited = set(order)
            if self.targets is not None:
                self._visited &= _leading_to(order, {node for node, _ in self.targets})
        return edge in self._visited


_current: ContextVar[Pass | None] = ContextVar("current_pass", default=None)
current_pass = _current.get
"""The pass that runs now; None outside."""


def _begin(create: bool, roots: list[tuple[Any, Any]] | None = None, targets: Iterable[Key] | None = None) -> None:
    """Set the modes of a pass: recorded or not, without NumPy's floating-point warnings.

    It is called in a copy of the context, which is dropped at the end of the pass. So no mode stays behind, wherever it
    is interrupted: between two calls of Python code that set and reset one, a KeyboardInterrupt might come.
    """
    grad_enabled.set(create)
    backend.set_quiet(backend.SILENT)
    this = None
    if roots is not None:
        this = Pass()
        this.roots, this.targets = roots, targets
    _current.set(this)


def execute(roots: list[tuple[Any, Any]], keep: bool, create: bool, into: dict[Key, Any] | None = None) -> None:
    """Run backward from ``roots``, pairs of an edge and its gradient (an array), and accumulate into the leaves.

    :param keep: keep the saved tensors for another pass.
    :param create: record the pass itself; gradients are then tensors.
    :param into: accumulate into these only: by node and output, the tensor; None for all leaves.
    """
    copy_context().run(_execute, roots, keep, create, into)


def _execute(roots: list[tuple[Any, Any]], keep: bool, create: bool, into: dict[Key, Any] | None) -> None:
    _begin(create, roots, into)
    roots, create = _given(roots, create)
    if into is None and _plain():
        accumulation.finish(_run(roots, keep, create), create)
    else:
        _run_observed(roots, keep, create, into, accumulate=True)


def _given(roots: list[tuple[Any, Any]], create: bool) -> tuple[list[tuple[Any, Any]], bool]:
    """The roots with their gradients as arrays, or tensors if gradients have to be; and whether they have."""
    if create or forward_ad.is_active():  # gradients then carry tangents
        return [(edge, as_tensor(g)) for edge, g in roots], True
    return [(edge, array_of(g)) for edge, g in roots], False


def capture(roots: list[tuple[Any, Any]], keep: bool, create: bool, keys: list[Key]) -> dict[Key, Any]:
    """Run backward and return the gradients at ``keys``, accumulating nothing."""
    found: dict[Key, Any] = copy_context().run(_capture, roots, keep, create, dict.fromkeys(keys))
    return found


def _capture(roots: list[tuple[Any, Any]], keep: bool, create: bool, targets: dict[Key, Any]) -> dict[Key, Any]:
    _begin(create, roots, targets)
    roots, create = _given(roots, create)
    if _plain() and not any(isinstance(target, Node) for target, _ in targets):
        needed = _between(roots, {leaf for leaf, _ in targets})
        pending = _run(roots, keep, create, needed)
        return {(leaf, 0): materialize(pending[leaf]) for leaf, _ in targets if leaf in pending}
    return _run_observed(roots, keep, create, targets, accumulate=False)


def _plain() -> bool:
    """Whether nobody looks on who would have to be told of every step."""
    return not LeafHooks.alive and not anomaly.mode.on and not protocol.observers.get()


def apply(node: Node, gradients: tuple[Any, ...]) -> Any:
    """The gradients of a node's inputs for the given ones of its outputs (tensors or None), as tensors.

    They are recorded where gradients are, and hooks of the node run.
    """
    create = grad_enabled.get() and any(isinstance(g, Tensor) and g._fn is not None for g in gradients)
    return copy_context().run(_apply, node, gradients, create)


def _apply(node: Node, gradients: tuple[Any, ...], create: bool) -> Any:
    _begin(create)
    given = [g if create else array_of(g) for g in gradients]
    g = given[0] if node.outputs() == 1 else Slots({i: a for i, a in enumerate(given) if a is not None})
    if node.hooks is not None:
        g = pre_hooks(node, g)
    node.check_saved()
    d, d1 = node.vjp_graph(g, True) if create else node.vjp(g, True)
    found = [None if d is None else as_tensor(d) for d in post_hooks(node, d, d1, g)]
    return found[0] if len(found) == 1 else tuple(found)


def accumulate(leaf: Tensor, g: Tensor | None) -> None:
    """Add a gradient to ``leaf.grad`` as a pass would, with all hooks but those of the tensor."""
    if g is not None:
        copy_context().run(_accumulate, leaf, g._a)


def _accumulate(leaf: Tensor, g: Any) -> None:
    _begin(False)
    accumulation.visit(leaf, pre_hooks(accumulator(leaf), g), False)


def _run(roots: list[tuple[Any, Any]], keep: bool, create: bool, needed: set[Any] | None = None) -> dict[Any, Any]:
    """The fast loop; returns the sums that arrived at the leaves.

    :param needed: the edges to follow; None for all.
    """
    pending_gradients.set([])
    pending: dict[Any, Any] = {}  # edge -> sum of the gradients that have arrived so far
    summed: set[Any] | None = None if create else set()  # the edges whose sum may be added to in place
    ready: list[tuple[int, Any]] = []  # heap of (-seq, node); leaves, whose seq is 0, never enter it
    for edge, g in roots:
        if needed is not None and edge not in needed:
            continue
        if edge in pending:
            pending[edge] = pending[edge] + g
        else:
            pending[edge] = g
            if edge.seq:
                heappush(ready, (-edge.seq, edge))
    if not ready:
        return pending
    node = heappop(ready)[1]
    g = pending.pop(node)
    seq = node.seq
    while True:
        hooked = alive.count and node.hooks is not None
        if hooked:
            materialize_pending()
            g = pre_hooks(node, tensor_hooks(node, materialize(g)))
        if seq < clock.last_write:
            node.check_saved()
        d, d1 = node.vjp_graph(g, keep, needed) if create else node.vjp(g, keep, needed)
        # An only successor is handed its gradient directly, without going through the heap: the heir.
        if d1 is None and not ready and d is not None and not hooked:
            edge = node.f0
            seq = edge.seq
            if seq and edge not in pending:
                node, g, d = edge, d, None
                continue
        heir = None
        if hooked or d is MANY:
            parts = post_hooks(node, d, d1, g) if hooked else d1
            for edge, d in zip(node.edges(), parts, strict=True):
                if d is None or edge is None or (needed is not None and edge not in needed):
                    continue
                if edge.relays and not alive.count:
                    d, _ = edge.vjp_graph(d, keep) if create else edge.vjp(d, keep)
                    edge = edge.f0
                if edge is heir:
                    g = g + d
                elif edge in pending:
                    _add(edge, d, pending, summed)
                elif not edge.seq:
                    pending[edge] = d
                elif heir is None:
                    heir, g = edge, d
                else:
                    if edge.seq > heir.seq:
                        edge, heir, d, g = heir, edge, g, d
                    pending[edge] = d
                    heappush(ready, (-edge.seq, edge))
        else:
            edge = node.f0
            while True:  # send d along f0, then d1 along f1
                if d is not None:
                    if edge is heir:
                        g = add_gradients(g, d) if d.__class__ is ndarray and d.size >= MIN_TILED_SIZE else g + d
                    elif edge in pending:
                        _add(edge, d, pending, summed)
                    elif heir is None and edge.seq:
                        heir, g = edge, d
                    else:
                        if heir is not None and edge.seq > heir.seq:
                            edge, heir, d, g = heir, edge, g, d
                        pending[edge] = d
                        if edge.seq:
                            heappush(ready, (-edge.seq, edge))
                if d1 is None:
                    break
                edge, d, d1 = node.f1, d1, None
        if ready and (heir is None or -heir.seq > ready[0][0]):  # somebody newer is waiting
            if heir is not None:
                pending[heir] = g
                heappush(ready, (-heir.seq, heir))
            heir = heappop(ready)[1]
            g = pending.pop(heir)
        if heir is None:
            return pending
        node, seq, d = heir, heir.seq, None  # so that nobody but g holds the gradient


def _add(edge: Any, d: Any, pending: dict[Any, Any], summed: set[Any] | None) -> None:
    """Add to what has arrived at an edge; in place where the sum is an array of our own."""
    if d.__class__ is ndarray and d.size >= MIN_TILED_SIZE:
        sum_ = pending.pop(edge)
        pending[edge] = add_gradients(sum_, d)
    elif summed is None:
        pending[edge] = pending[edge] + d
    elif edge in summed:
        pending[edge] += d
    else:
        pending[edge] = pending[edge] + d
        summed.add(edge)


# -- the loop with everything ----------------------------------------------------------------------------------------


def _reachable(roots: Iterable[Any]) -> tuple[dict[Any, int], list[Any]]:
    """For each edge that a pass from ``roots`` reaches, how many edges lead to it; and all of them, newest first."""
    counts: dict[Any, int] = {}
    stack = list(dict.fromkeys(roots))
    seen = set(stack)
    while stack:
        edge = stack.pop()
        if not edge.seq:  # a leaf
            continue
        for to in edge.edges():
            if to is not None:
                counts[to] = counts.get(to, 0) + 1
                if to not in seen:
                    seen.add(to)
                    stack.append(to)
    return counts, sorted(seen, key=_age, reverse=True)


_age = attrgetter("seq")


def _between(roots: list[tuple[Any, Any]], leaves: set[Any]) -> set[Any]:
    """The edges on the ways from the roots to some leaves: what the two functions above and below find, for less."""
    stack = [edge for edge, _ in roots]
    seen = set()
    found = []
    while stack:
        node = stack.pop()
        seq = node.seq
        if not seq or node in seen:
            continue
        seen.add(node)
        f0, f1 = node.f0, node.f1
        if f0 is None and f1 is None:
            edges = node.edges()
            stack += [to for to in edges if to is not None]
        else:
            edges = (f0, f1)
            if f0 is not None:
                stack.append(f0)
            if f1 is not None:
                stack.append(f1)
        found.append((seq, node, edges))
    needed = set(leaves)
    for _, node, edges in sorted(found, key=itemgetter(0)):
        for to in edges:
            if to in needed:
                needed.add(node)
                break
    return needed


def _leading_to(order: list[Any], targets: set[Any]) -> set[Any]:
    """The edges from which one of the targets can be reached."""
    needed = set(targets)
    for edge in reversed(order):
        if edge.seq:
            for to in edge.edges():
                if to in needed:
                    needed.add(edge)
                    break
    return needed


def _run_observed(
    roots: list[tuple[Any, Any]], keep: bool, create: bool, targets: dict[Key, Any] | None, accumulate: bool
) -> dict[Key, Any]:
    """The loop with everything; returns the gradients at the targets.

    A leaf's AccumulateGrad runs as soon as all edges to it have been used, as PyTorch's does; but ``.grad`` of a leaf
    whose hooks do not wait for it changes at the end, together with all others.
    """
    observers = protocol.observers.get()

    def tell(event: protocol.Event) -> None:
        for observer in observers:
            observer(event)

    counts, order = _reachable(edge for edge, _ in roots)
    wanted: dict[Any, list[int]] = {}  # by node, the outputs whose gradients are to be taken
    for node, index in targets or ():
        wanted.setdefault(node, []).append(index)
    needed = None if targets is None else _leading_to(order, set(wanted))
    pending: dict[Any, Any] = {}
    captured: dict[Key, Any] = {}
    arrived: dict[Tensor, Any] = {}  # at the leaves whose .grad changes at the end
    ready: list[tuple[float, int, Any]] = []  # heap of (-seq, order of arrival, edge); leaves go first

    def arrive(edge: Any, d: Any) -> Any:
        total = pending[edge] = pending[edge] + d if edge in pending else d
        return total

    def enqueue(edge: Any) -> None:
        heappush(ready, (-edge.seq if edge.seq else float("-inf"), len(queued), edge))
        queued.add(edge)

    def take(edge: Any, g: Any) -> None:
        for index in wanted.get(edge, ()):
            part = g.by_index.get(index) if isinstance(g, Slots) else g
            if part is None:
                continue
            captured[edge, index] = part
            tell(protocol.Captured(edge, index, part))
            tensor = targets[edge, index] if targets is not None and accumulate else None
            if tensor is not None and not tensor.retains_grad:
                retain(tensor, part)

    def visit(edge: Node, g: Any) -> None:
        outputs = tuple(g.take(edge.outputs())) if isinstance(g, Slots) else (g,)
        shown = edge.__class__ is not Port
        if shown:
            tell(protocol.NodeStarted(edge, outputs))
        g = tensor_hooks(edge, g)
        take(edge, g)
        if needed is None or any(to in needed for to in edge.edges() if to is not None):
            g = pre_hooks(edge, g)
            if edge.seq < clock.last_write:
                edge.check_saved()
            d, d1 = edge.vjp_graph(g, keep, needed) if create else edge.vjp(g, keep, needed)
            found = post_hooks(edge, d, d1, g)
            if anomaly.mode.check_nan:
                anomaly.check(edge, found)
            for index, (to, part) in enumerate(zip(edge.edges(), found, strict=True)):
                if to is not None and part is not None and (needed is None or to in needed):
                    total = arrive(to, part)
                    if shown and observers:
                        node, slot = public_edge(to)
                        if to.__class__ is Port or isinstance(total, Slots):
                            total = part
                        tell(protocol.EdgeSent(edge, index, node, slot, part, total))
        if shown:
            tell(protocol.NodeFinished(edge, edge.saves() and not keep))

    def visit_leaf(leaf: Tensor, g: Any) -> None:
        if targets is not None and leaf not in wanted:
            return
        node = accumulator(leaf)
        tell(protocol.NodeStarted(node, (g,)))
        g = tensor_hooks(node, g)
        if accumulate:
            g = pre_hooks(node, g)
            before = None if leaf._grad is None or not observers else array_of(leaf._grad).copy()
            hooks = leaf._hooks
            if hooks is not None and (hooks.accumulated or hooks.post):
                with accumulation.lock:
                    accumulation.visit(leaf, g, create)
                    after = leaf._grad  # None if a hook took it away
            else:
                arrived[leaf] = g
                after = g if before is None else before + array_of(g)
            if after is not None and observers:
                tell(protocol.Accumulated(node, before, g, array_of(after)))
        else:
            captured[leaf, 0] = g
            tell(protocol.Captured(node, 0, g))
        tell(protocol.NodeFinished(node, False))

    queued: set[Any] = set()
    error: BaseException | None = None
    try:
        tell(protocol.PassStarted(tuple(public_edge(e) for e, _ in roots), tuple(g for _, g in roots), keep, create))
        for edge, g in roots:
            arrive(edge, g)
        for edge in dict.fromkeys(e for e, _ in roots):
            if not counts.get(edge):
                enqueue(edge)
        while ready:
            edge = heappop(ready)[2]
            g = pending.pop(edge, None)
            if not isinstance(edge, Node):
                if g is not None:
                    visit_leaf(edge, g)
                continue
            if g is not None and (needed is None or edge in needed):
                if anomaly.mode.on:
                    with anomaly.watching(edge):
                        visit(edge, g)
                else:
                    visit(edge, g)
            for to in edge.edges():
                if to is not None:
                    counts[to] -= 1
                    if not counts[to] and to not in queued:
                        enqueue(to)
        accumulation.finish(arrived, create)
    except BaseException as caught:
        error = caught
        raise
    finally:
        tell(protocol.PassFinished(error))
    return captured
