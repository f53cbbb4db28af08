"""The backward pass, reverse-mode automatic differentiation: a walk over the tape in topological order.

The tape is the graph of recorded nodes. A node's inputs are always older than the node, so descending sequence numbers
are a topological order: each node is visited after all its consumers. Gradients (cotangents) are summed in ``pending``,
by their target, a node or leaf: that is the sum over paths inside one pass. At the end the sums at the leaves are added
to their ``.grad``: the accumulation across passes.

There are two loops. ``_run_fast`` takes nodes from a heap by sequence number instead of counting in-degrees, and does
not check for rare features at each node. ``_run_full`` (``autograd/full_engine.py``) counts in-degrees and supports all
of them: observers, ``inputs=``, gradients captured at non-leaves, hooks of leaves, anomaly detection. ``execute``
chooses between them. Before a node runs, the version counters of its saved tensors are compared if any in-place write
has happened since. Leaves are handled in ``autograd/accumulate.py``, hooks in ``autograd/hooks.py``.
"""

from __future__ import annotations

from _heapq import heappop, heappush, heappushpop
from collections.abc import Callable, Iterable
from contextvars import ContextVar, copy_context
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from numpy import ndarray

from nbautograd import protocol
from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.version_counter import clock
from nbautograd._engine.core.batched import BatchedTensor, levels
from nbautograd._engine.core.dispatch_mode import is_forward_ad_active
from nbautograd._engine.core.grad_mode import anomaly, grad_enabled
from nbautograd._engine.core.hooks import LeafHooks, alive
from nbautograd._engine.core.node import MULTIPLE, AccumulateGrad, Node, OutputGrads, accumulator, gradients_of
from nbautograd._engine.core.tensor import Tensor, stored
from nbautograd._engine.fusion.lazy_gradient import add_gradients, materialize, materialize_pending, pending_gradients
from nbautograd._engine.fusion.tiling import MIN_TILED_SIZE
from nbautograd.autograd import accumulate as accumulation
from nbautograd.autograd.hooks import as_tensor, post_hooks, pre_hooks, tensor_hooks
from nbautograd.errors import AutogradError, kind_of

if TYPE_CHECKING:
    from nbautograd.autograd.full_engine import Key

MIN_LISTED = 16
"""Targets of one node that enter the heap as one list."""
Roots = list[tuple[Any, Any]]  # the start of a pass: nodes or leaves, each with its gradient


class GraphTask:
    """A running backward pass, for hooks that must distinguish passes."""

    __slots__ = ("__weakref__", "_visited", "callbacks", "roots", "targets")
    callbacks: list[Callable[[], Any]] | None
    roots: Roots
    targets: Iterable[Key] | None
    _visited: set[Any]

    def visits(self, target: Any) -> bool:
        """Return whether a node or leaf gets a gradient in this pass."""
        if not hasattr(self, "_visited"):
            from nbautograd.autograd.full_engine import leading_to, reachable

            _, order = reachable(root for root, _ in self.roots)
            self._visited = set(order)
            if self.targets is not None:
                self._visited &= leading_to(order, {node for node, _ in self.targets})
        return target in self._visited


_current: ContextVar[GraphTask | None] = ContextVar("current_graph_task", default=None)
current_graph_task = _current.get
"""Returns the running pass; None outside a pass."""


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call ``callback()`` at the end of the running pass, after its gradients have been accumulated.

    A pass that fails calls none. A callback may queue others.

    :raises RuntimeError: no pass runs.
    """
    task = _current.get()
    if task is None:
        raise AutogradError("Final callbacks can only be installed during backward pass.")
    if task.callbacks is None:
        task.callbacks = []
    task.callbacks.append(callback)


def _set_modes(create_graph: bool) -> None:
    """Set the modes of a pass: recorded or not, without NumPy's floating-point warnings.

    It is called in a copy of the context, which is dropped at the end of the pass. So the modes need no reset, which a
    KeyboardInterrupt could skip.
    """
    grad_enabled.set(create_graph)
    backend.set_quiet(backend.SILENT)


def enter_task(create_graph: bool, roots: Roots, targets: Iterable[Key] | None) -> GraphTask:
    """Set the modes of a pass, and make it the current one."""
    _set_modes(create_graph)
    task = GraphTask()
    task.roots, task.targets, task.callbacks = roots, targets, None
    _current.set(task)
    return task


def execute(
    roots: Roots, retain_graph: bool, create_graph: bool, accumulate_into: dict[Key, Any] | None = None
) -> None:
    """Run backward from ``roots``, pairs of a node or leaf and its gradient, and accumulate into the leaves.

    :param retain_graph: keep the saved tensors for another pass.
    :param create_graph: record the pass itself; gradients are then tensors.
    :param accumulate_into: accumulate only into these: by node and output, the tensor; None for all leaves.
    """
    _runner()(_execute, roots, retain_graph, create_graph, accumulate_into)


def _runner() -> Any:
    """Return what runs a pass in a copy of the context; inside another pass it may need its own thread."""
    if _current.get() is None:
        return copy_context().run
    from nbautograd.autograd.reentrant import run_nested

    return run_nested


def _execute(roots: Roots, retain_graph: bool, create_graph: bool, accumulate_into: dict[Key, Any] | None) -> None:
    if create_graph:
        accumulation.warn_of_cycle()
    task = enter_task(create_graph, roots, accumulate_into)
    roots, create_graph = _as_arrays(roots, create_graph)
    if accumulate_into is None and _plain():
        accumulation.finish(_run_fast(roots, retain_graph, create_graph), create_graph)
    else:
        _run_full(roots, retain_graph, create_graph, accumulate_into, accumulate=True)
    for callback in task.callbacks or ():  # also those that they queue
        callback()


def _as_arrays(roots: Roots, create_graph: bool) -> tuple[Roots, bool]:
    """Return the roots with gradients as arrays, or as tensors if the pass is recorded; and whether it is."""
    # In forward mode gradients have tangents; inside vmap they may be batched tensors.
    if create_graph or is_forward_ad_active() or levels() and any(g.__class__ is BatchedTensor for _, g in roots):
        return [(target, as_tensor(g)) for target, g in roots], True
    return [(target, stored(g)) for target, g in roots], False


def capture(roots: Roots, retain_graph: bool, create_graph: bool, keys: list[Key]) -> dict[Key, Any]:
    """Run backward and return the gradients at ``keys``, without accumulation."""
    gradients: dict[Key, Any] = _runner()(_capture, roots, retain_graph, create_graph, dict.fromkeys(keys))
    return gradients


def _nodes_between(roots: list[tuple[Any, Any]], leaves: set[Any]) -> set[Any]:
    """Return the nodes on paths from the roots to some leaves, and these; quicker than ``reachable``."""
    stack = list(map(itemgetter(0), roots))
    seen = set()
    visited = []
    while stack:
        node = stack.pop()
        sequence_nr = node._seq
        if not sequence_nr or node in seen:
            continue
        seen.add(node)
        next0, next1 = node.next0, node.next1
        if next0 is None and next1 is None:
            targets = node.next_nodes()
            stack += [target for target in targets if target is not None]
        else:
            targets = (next0, next1)
            if next0 is not None:
                stack.append(next0)
            if next1 is not None:
                stack.append(next1)
        visited.append((sequence_nr, node, targets))
    needed = set(leaves)
    for _, node, targets in sorted(visited, key=itemgetter(0)):
        if not needed.isdisjoint(targets):
            needed.add(node)
    return needed


def _capture(roots: Roots, retain_graph: bool, create_graph: bool, targets: dict[Key, Any]) -> dict[Key, Any]:
    task = enter_task(create_graph, roots, targets)
    roots, create_graph = _as_arrays(roots, create_graph)
    if _plain() and not any(isinstance(target, Node) for target, _ in targets):
        pending = _run_fast(roots, retain_graph, create_graph, _nodes_between(roots, {leaf for leaf, _ in targets}))
        gradients = {(leaf, 0): materialize(pending[leaf]) for leaf, _ in targets if leaf in pending}
    else:
        gradients = _run_full(roots, retain_graph, create_graph, targets, accumulate=False)
    for callback in task.callbacks or ():
        callback()
    return gradients


def _plain() -> bool:
    """Return whether the fast loop suffices: no hooks of leaves, no anomaly detection, no observers."""
    return not LeafHooks.alive and not anomaly.on and not protocol.observers.get()


def apply(node: Node, *gradients: Any, **keywords: Any) -> Any:
    """Compute ``grad_fn(*gradients)``: the gradients of the node's inputs, from those of its outputs (tensors or None).

    They are recorded if gradient mode is on, and hooks of the node run. Nothing is accumulated.

    :raises TypeError: the number of gradients differs from that of the outputs, or a gradient is neither a tensor nor
        None.
    """
    _check_arguments(gradients, keywords, node.outputs())
    from nbautograd.autograd.function_ctx import FunctionCtx

    if not isinstance(node, FunctionCtx) and all(g is None for g in gradients):
        nothing = [None] * len(node.next_nodes())
        return nothing[0] if len(nothing) == 1 else tuple(nothing)
    return copy_context().run(_apply, node, gradients, grad_enabled.get())


def _check_arguments(gradients: tuple[Any, ...], keywords: dict[str, Any], expected: int) -> None:
    if keywords:
        raise TypeError("keyword arguments are not supported")
    if len(gradients) != expected:
        raise TypeError(f"expected {expected} arguments, got {len(gradients)} instead")
    for i, g in enumerate(gradients):
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"argument {i} is not a Variable, but {kind_of(g)}")


def _apply(node: Node, gradients: tuple[Any, ...], create_graph: bool) -> Any:
    _set_modes(create_graph)
    incoming = [g if g is None or create_graph else stored(g) for g in gradients]
    g = incoming[0] if len(incoming) == 1 else OutputGrads({i: a for i, a in enumerate(incoming) if a is not None})
    if node.hooks is not None:
        g = pre_hooks(node, g)
    node.check_saved()
    d, d1 = node.vjp_graph(g, True) if create_graph else node.vjp(g, True)
    parts = post_hooks(node, gradients_of(d, d1, node.arity), g)
    results = [None if d is None else as_tensor(materialize(d)) for d in parts]
    return results[0] if len(results) == 1 else tuple(results)


def accumulate(node: AccumulateGrad, *gradients: Any, **keywords: Any) -> tuple[()]:
    """Add a gradient to ``variable.grad`` like a pass, with all hooks except those of the tensor."""
    _check_arguments(gradients, keywords, 1)
    if gradients[0] is not None:
        copy_context().run(_accumulate, node.variable, stored(gradients[0]))
    return ()


def _accumulate(leaf: Tensor, g: Any) -> None:
    _set_modes(False)
    accumulation.visit(leaf, pre_hooks(accumulator(leaf), g), False)


Node.__call__ = apply  # type: ignore[method-assign]
AccumulateGrad.__call__ = accumulate  # type: ignore[method-assign]


def _run_fast(roots: Roots, retain_graph: bool, create_graph: bool, needed: set[Any] | None = None) -> dict[Any, Any]:
    """Run the fast loop; return the sums that arrived at the leaves.

    ``d`` and ``d1`` are the gradients of the node's first and second input, which go to ``next0`` and ``next1``. The
    newest node with a gradient runs next: the newest target of this node, ``successor``, whose gradient is ``g``, or
    the top of the heap. So every node runs once, after all that use its result, and needs no count of its users::

        w ──► 2: a ──► 4: c     4 sends to 3 and 2: 3 is the successor, 2 goes into the heap with its gradient.
        └───► 3: b ─────┘       3 sends to w, a leaf: pending. Then 2, from the heap, whose gradient is added to w's.

    It is one long function on purpose: a call per node would take as long as the arithmetic of a small node.

    :param needed: the nodes and leaves to visit; None for all.
    """
    pending_gradients.set([])
    pending: dict[Any, Any] = {}  # by node or leaf: the sum of the gradients that have arrived so far
    summed: set[Any] | None = None if create_graph else set()  # those whose sum may be added to in place
    ready: list[int] = []  # heap of negative sequence numbers, as numbers are compared fast; leaves never enter it
    waiting: dict[int, Any] = {}  # by number: its node, or a list of nodes (see _push)
    for target, g in roots:
        if needed is not None and target not in needed:
            continue
        if target in pending:
            pending[target] = pending[target] + g
        else:
            pending[target] = g
            if target._seq:
                waiting[-target._seq] = target
                heappush(ready, -target._seq)
    if not ready:
        return pending
    node = waiting.pop(heappop(ready))
    g = pending.pop(node)
    sequence_nr = node._seq
    while True:
        hooked = alive.count and node.hooks is not None
        if hooked:
            materialize_pending()
            g = pre_hooks(node, tensor_hooks(node, materialize(g)))
        if sequence_nr < clock.last_write:
            node.check_saved()
        d, d1 = node.vjp_graph(g, retain_graph, needed) if create_graph else node.vjp(g, retain_graph, needed)
        # A chain: an only successor gets its gradient directly, without going through the heap.
        if d1 is None and not ready and d is not None and not hooked:
            target = node.next0
            sequence_nr = target._seq
            if sequence_nr and target not in pending:
                node, g, d = target, d, None
                continue
        successor = None  # the newest successor so far; the others go into the heap
        if hooked or d is MULTIPLE:
            parts = post_hooks(node, gradients_of(d, d1, node.arity), g) if hooked else d1
            entering: list[Any] = []  # all other targets that become ready
            for target, d in zip(node.next_nodes(), parts, strict=True):
                if d is None or target is None or (needed is not None and target not in needed):
                    continue
                if target._relays and not alive.count:
                    d, _ = target.vjp_graph(d, retain_graph) if create_graph else target.vjp(d, retain_graph)
                    target = target.next0
                if target is successor:
                    g = g + d
                elif target in pending:
                    _add(target, d, pending, summed)
                elif not target._seq:
                    pending[target] = d
                elif successor is None:
                    successor, g = target, d
                else:
                    if target._seq > successor._seq:
                        target, successor, d, g = successor, target, g, d
                    pending[target] = d
                    entering.append(target)
            if entering:
                _push(ready, waiting, entering)
        else:
            target = node.next0
            while True:  # send d to next0, then d1 to next1
                if d is not None:
                    if target is successor:
                        g = add_gradients(g, d) if d.__class__ is ndarray and d.size >= MIN_TILED_SIZE else g + d
                    elif target in pending:
                        _add(target, d, pending, summed)
                    elif successor is None and target._seq:
                        successor, g = target, d
                    else:
                        if successor is not None and target._seq > successor._seq:
                            target, successor, d, g = successor, target, g, d
                        pending[target] = d
                        if number := -target._seq:
                            waiting[number] = target
                            heappush(ready, number)
                if d1 is None:
                    break
                target, d, d1 = node.next1, d1, None
        if ready and (successor is None or -successor._seq > ready[0]):  # the heap has a newer node
            if successor is not None:
                pending[successor] = g
                number = -successor._seq
                waiting[number] = successor
                number = heappushpop(ready, number)
            else:
                number = heappop(ready)
            successor = waiting.pop(number)
            if successor.__class__ is list:
                entering = successor
                successor = entering.pop()
                if entering:
                    number = -entering[-1]._seq
                    waiting[number] = entering
                    heappush(ready, number)
            g = pending.pop(successor)
        if successor is None:
            return pending
        node, sequence_nr, d = successor, successor._seq, None  # so that g is the only reference to the gradient


def _push(ready: list[int], waiting: dict[int, Any], nodes: list[Any]) -> None:
    """Push the targets of one node; many of them as one entry, a list with the newest last.

    A heap of one entry for the million inputs of a sum takes constant time per node, not twenty comparisons.
    """
    if len(nodes) < MIN_LISTED:
        for node in nodes:
            waiting[-node._seq] = node
            heappush(ready, -node._seq)
    else:
        nodes = sorted(nodes, key=attrgetter("_seq"))
        waiting[-nodes[-1]._seq] = nodes
        heappush(ready, -nodes[-1]._seq)


def _add(target: Any, d: Any, pending: dict[Any, Any], summed: set[Any] | None) -> None:
    """Add to the pending gradient of a node or leaf; in place if the sum is an array of this pass."""
    if d.__class__ is ndarray and d.size >= MIN_TILED_SIZE:
        sum_ = pending.pop(target)
        pending[target] = add_gradients(sum_, d)
    elif summed is None:
        pending[target] = pending[target] + d
    elif target in summed:
        try:
            pending[target] += d
        except TypeError:  # CuPy's += does not dispatch to lazy gradients
            pending[target] = pending[target] + d
    else:
        pending[target] = pending[target] + d
        summed.add(target)


def _run_full(
    roots: Roots, retain_graph: bool, create_graph: bool, targets: dict[Key, Any] | None, accumulate: bool
) -> dict[Key, Any]:
    """Run the full loop; return the gradients at the targets."""
    from nbautograd.autograd.full_engine import FullRun  # late: import nbautograd loads little

    return FullRun(roots, retain_graph, create_graph, targets, accumulate).run()
