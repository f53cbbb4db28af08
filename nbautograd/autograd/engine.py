"""The backward pass: a loop over the graph, newest node first.

A node's inputs are always older than the node, so visiting nodes by descending sequence number visits each after all
that feed it. Gradients wait in ``pending``, keyed by edge, and are summed there: that is the sum over paths inside one
pass. What has gathered at the leaves is then added to their ``.grad``: the accumulation across passes.

There are two loops. ``_run`` is the fast one, without a test per node for anything that is rare. ``_run_observed`` does
the same with everything: observers, ``inputs=``, gradients taken at non-leaves. ``backward`` picks one at its start.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from heapq import heappop, heappush
from sys import getrefcount
from typing import Any

import numpy as np

from nbautograd import backend, protocol, storage
from nbautograd.grad_mode import grad_enabled
from nbautograd.node import MANY, AccumulateGrad, Node, Port, Slots, accumulator, public_edge
from nbautograd.storage import clock
from nbautograd.tensor import Tensor, array_of, wrap

__all__ = ["apply", "capture", "execute"]

_accumulation = threading.RLock()  # backward passes of several threads may reach the same leaf


class _Mode:
    """The mode in which a pass runs: recorded or not, and without NumPy's floating-point warnings."""

    __slots__ = ("create", "grad", "quiet")

    def __init__(self, create: bool) -> None:
        self.create = create

    def __enter__(self) -> None:
        self.grad = grad_enabled.set(self.create)
        self.quiet = backend.set_quiet(backend.SILENT)

    def __exit__(self, *exception: object) -> None:
        backend.unset_quiet(self.quiet)
        grad_enabled.reset(self.grad)


def execute(roots: list[tuple[Any, Any]], keep: bool, create: bool, into: set[Any] | None = None) -> None:
    """Run backward from ``roots``, pairs of an edge and its gradient (an array), and accumulate into the leaves.

    :param keep: keep the saved tensors for another pass.
    :param create: record the pass itself; gradients are then tensors.
    :param into: accumulate into these edges only; None for all leaves.
    """
    with _Mode(create):
        roots = [(edge, _as_tensor(g) if create else array_of(g)) for edge, g in roots]
        if into is None and not protocol.observers.get():
            pending = _run(roots, keep, create)
            with _accumulation:
                for leaf in pending:
                    _finish_leaf(leaf, pending, create)
        else:
            _run_observed(roots, keep, create, into, accumulate=True)


def capture(roots: list[tuple[Any, Any]], keep: bool, create: bool, inputs: list[Any]) -> dict[Any, Any]:
    """Run backward and return the gradients at the edges ``inputs``, accumulating nothing."""
    with _Mode(create):
        roots = [(edge, _as_tensor(g) if create else array_of(g)) for edge, g in roots]
        return _run_observed(roots, keep, create, set(inputs), accumulate=False)


def apply(node: Node, gradients: tuple[Any, ...]) -> Any:
    """The gradients of a node's inputs for the given ones of its outputs (tensors or None), as tensors."""
    arrays = [array_of(g) for g in gradients]
    g = arrays[0] if node.outputs() == 1 else Slots({i: a for i, a in enumerate(arrays) if a is not None})
    with _Mode(False):
        found = [None if d is None else wrap(d) for d in _gradients(node, g, True, False)]
    return found[0] if len(found) == 1 else tuple(found)


def _as_tensor(g: Any) -> Tensor:
    return g if isinstance(g, Tensor) else wrap(g)


def _run(roots: list[tuple[Any, Any]], keep: bool, create: bool) -> dict[Any, Any]:
    """The fast loop; returns the sums that arrived at the leaves."""
    pending: dict[Any, Any] = {}  # edge -> sum of the gradients that have arrived so far
    ready: list[tuple[int, Any]] = []  # heap of (-seq, node); leaves, whose seq is 0, never enter it
    for edge, g in roots:
        _send(edge, g, pending, ready)
    if not ready:
        return pending
    node = heappop(ready)[1]
    g = pending.pop(node)
    while True:
        if node.hooks is not None:
            g = _before(node, g)
        if node.seq < clock.last_write:
            node.check_saved()
        d, d1 = node.vjp_graph(g, keep) if create else node.vjp(g, keep)
        # An only successor is handed its gradient directly, without going through the heap: the heir.
        heir = None
        if node.hooks is not None or d is MANY:
            for to, part in zip(node.edges(), _after(node, d, d1, g), strict=True):
                if to is not None and part is not None:
                    _send(to, part, pending, ready)
        else:
            edge = node.f0
            while True:  # send d along f0, then d1 along f1
                if d is not None:
                    if edge is heir:
                        g = g + d
                    elif edge in pending:
                        pending[edge] = pending[edge] + d
                    elif heir is None and edge.seq:
                        heir, g = edge, d
                    else:
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
        node = heir


def _send(edge: Any, d: Any, pending: dict[Any, Any], ready: list[tuple[int, Any]]) -> None:
    if edge in pending:
        pending[edge] = pending[edge] + d
    else:
        pending[edge] = d
        if edge.seq:
            heappush(ready, (-edge.seq, edge))


def _gradients(node: Node, g: Any, keep: bool, create: bool) -> list[Any]:
    """The gradients of a node's inputs, by edge."""
    d, d1 = node.vjp_graph(g, keep) if create else node.vjp(g, keep)
    return list(d1) if d is MANY else [d, d1][: node.arity]


# -- leaves ----------------------------------------------------------------------------------------------------------


def _owned_count() -> int:
    """What getrefcount says in ``_finish_leaf`` of an array that only ``pending`` and that function hold."""
    probe = {0: np.empty(1)}

    def look(key: int) -> int:
        d = probe[key]
        return getrefcount(d)

    return look(0)


_OWNED = _owned_count()


def _finish_leaf(leaf: Tensor, pending: dict[Any, Any], create: bool) -> None:
    """Add what arrived at a leaf to its ``.grad``, running its hooks."""
    d = pending[leaf]
    if leaf._hooks is None and leaf._grad is None and not create:
        # An array that nobody else holds becomes .grad without a copy: .grad shares memory with nothing.
        owned = getrefcount(d) <= _OWNED and getattr(d, "base", None) is None
        leaf._grad = wrap(d if owned or isinstance(d, np.generic) else d.copy())
        return
    if leaf._hooks is not None:
        d = _before(accumulator(leaf), d)
    _accumulate(leaf, d, create)
    if leaf._hooks is not None:
        _call_post_accumulate(leaf)


def _accumulate(leaf: Tensor, d: Any, create: bool) -> None:
    """``leaf.grad += d``: in place unless the pass is recorded, so that whoever holds ``.grad`` sees it grow."""
    if leaf._grad is None:
        leaf._grad = d.clone() if create else wrap(d.copy())
    elif create or leaf._grad._fn is not None:
        leaf._grad = leaf._grad + (d if create else wrap(d))
    else:
        held = leaf._grad
        if isinstance(held._a, np.generic):
            held._a = held._a + d
        else:
            held._a += d
            storage.record_write(held._a)


def _call_post_accumulate(leaf: Tensor) -> None:
    assert leaf._hooks is not None
    for hook in list(leaf._hooks.post.values()):
        hook(leaf)


# -- hooks -----------------------------------------------------------------------------------------------------------


def _replaced(hook: Any, g: Any, new: Any, what: str) -> Any:
    """What a hook returned in the place of the gradient ``g``, once it is known to fit."""
    if new is None:
        return g
    if not isinstance(new, Tensor):
        raise TypeError(f"{what} must return a Tensor or None, but {hook!r} returned {type(new).__name__}")
    if new._a.shape != g.shape:
        raise RuntimeError(
            f"{what} has changed the size of value: {hook!r} returned shape {list(new.shape)} for a gradient of shape "
            f"{list(g.shape)}"
        )
    return new if isinstance(g, Tensor) else new._a


def _before(node: Node, g: Any) -> Any:
    """The gradient of a node's output after the hooks that run before the node."""
    hooks = node.hooks
    assert hooks is not None
    observers = protocol.observers.get()
    for hook in list(hooks.tensor.values()):
        new = _replaced(hook, g, hook(_as_tensor(g)), "hook")
        for observer in observers:
            observer(protocol.HookCalled(public_edge(node)[0], "tensor", g, new))
        g = new
    for hook in list(hooks.pre.values()):
        many = isinstance(g, Slots)
        given = g.take(node.outputs()) if many else [g]
        answer = hook(tuple(None if v is None else _as_tensor(v) for v in given))
        if answer is not None:
            values = list(answer) if isinstance(answer, (tuple, list)) else [answer]
            values = [
                old if old is None else _replaced(hook, old, new, "prehook")
                for old, new in zip(given, values, strict=True)
            ]
            new = Slots({i: v for i, v in enumerate(values) if v is not None}) if many else values[0]
            for observer in observers:
                observer(protocol.HookCalled(node, "pre", g, new))
            g = new
    if hooks.retain is not None:
        tensor = hooks.retain()
        if tensor is not None:
            _accumulate_retained(tensor, g)
    return g


def _accumulate_retained(tensor: Tensor, g: Any) -> None:
    if tensor._grad is None:
        tensor._grad = g.clone() if isinstance(g, Tensor) else wrap(g.copy())
    else:
        tensor._grad = tensor._grad + _as_tensor(g)


def _after(node: Node, d: Any, d1: Any, g: Any) -> list[Any]:
    """The gradients of a node's inputs after the hooks that run after the node."""
    found = list(d1) if d is MANY else [d, d1][: node.arity]
    hooks = node.hooks
    if hooks is None or not hooks.post:
        return found
    outputs = g.take(node.outputs()) if isinstance(g, Slots) else [g]
    for hook in list(hooks.post.values()):
        answer = hook(
            tuple(None if v is None else _as_tensor(v) for v in found),
            tuple(None if v is None else _as_tensor(v) for v in outputs),
        )
        if answer is not None:
            values = list(answer) if isinstance(answer, (tuple, list)) else [answer]
            if len(values) != len(found):
                raise RuntimeError(
                    f"hook {hook!r} has returned an incorrect number of values: {len(values)} for {len(found)}"
                )
            found = [
                old if old is None else _replaced(hook, old, new, "hook")
                for old, new in zip(found, values, strict=True)
            ]
            for observer in protocol.observers.get():
                observer(protocol.HookCalled(node, "post", None, None))
    return found


# -- the loop with everything ----------------------------------------------------------------------------------------


def _reachable(roots: Iterable[Any]) -> tuple[dict[Any, int], list[Any]]:
    """For each edge that a pass from ``roots`` reaches, how many edges lead to it; and all of them, newest first."""
    counts: dict[Any, int] = {}
    stack = list(dict.fromkeys(roots))
    seen = set(stack)
    while stack:
        edge = stack.pop()
        for to in edge.edges() if isinstance(edge, Node) else ():
            if to is not None:
                counts[to] = counts.get(to, 0) + 1
                if to not in seen:
                    seen.add(to)
                    stack.append(to)
    return counts, sorted(seen, key=lambda edge: -edge.seq)


def _leading_to(order: list[Any], targets: set[Any]) -> set[Any]:
    """The edges from which one of the targets can be reached."""
    needed = set(targets)
    for edge in reversed(order):
        if isinstance(edge, Node) and any(to in needed for to in edge.edges() if to is not None):
            needed.add(edge)
    return needed


def _run_observed(
    roots: list[tuple[Any, Any]], keep: bool, create: bool, targets: set[Any] | None, accumulate: bool
) -> dict[Any, Any]:
    """The loop with everything; returns the gradients at the targets.

    A leaf's AccumulateGrad runs as soon as all edges to it have been used, as PyTorch's does.
    """
    observers = protocol.observers.get()

    def tell(event: protocol.Event) -> None:
        for observer in observers:
            observer(event)

    counts, order = _reachable(edge for edge, _ in roots)
    needed = None if targets is None else _leading_to(order, targets)
    pending: dict[Any, Any] = {}
    captured: dict[Any, Any] = {}
    ready: list[tuple[float, int, Any]] = []  # heap of (-seq, order of arrival, edge); leaves go first

    def arrive(edge: Any, d: Any) -> Any:
        total = pending[edge] = pending[edge] + d if edge in pending else d
        return total

    def enqueue(edge: Any) -> None:
        heappush(ready, (-edge.seq if edge.seq else float("-inf"), len(queued), edge))
        queued.add(edge)

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
                    _observe_leaf(edge, g, create, targets, accumulate, captured, tell)
                continue
            shown = edge.__class__ is not Port
            if g is not None and (needed is None or edge in needed):
                outputs = tuple(g.take(edge.outputs())) if isinstance(g, Slots) else (g,)
                if shown:
                    tell(protocol.NodeStarted(edge, outputs))
                if edge.hooks is not None:
                    g = _before(edge, g)
                if targets is not None and edge in targets:
                    captured[edge] = g
                    tell(protocol.Captured(*public_edge(edge), g))
                    if accumulate and (edge.hooks is None or edge.hooks.retain is None):
                        _retain_target(edge, g)
                if needed is None or any(to in needed for to in edge.edges() if to is not None):
                    if edge.seq < clock.last_write:
                        edge.check_saved()
                    d, d1 = edge.vjp_graph(g, keep) if create else edge.vjp(g, keep)
                    for index, (to, part) in enumerate(zip(edge.edges(), _after(edge, d, d1, g), strict=True)):
                        if to is not None and part is not None and (needed is None or to in needed):
                            total = arrive(to, part)
                            if shown:
                                node, slot = public_edge(to)
                                if to.__class__ is Port or isinstance(total, Slots):
                                    total = part
                                tell(protocol.EdgeSent(edge, index, node, slot, part, total))
                if shown:
                    tell(protocol.NodeFinished(edge, bool(edge.saved) and not keep))
            for to in edge.edges():
                if to is not None:
                    counts[to] -= 1
                    if not counts[to] and to not in queued:
                        enqueue(to)
    except BaseException as caught:
        error = caught
        raise
    finally:
        tell(protocol.PassFinished(error))
    return captured


def _retain_target(edge: Any, g: Any) -> None:
    """``backward(inputs=[t])`` for a computed t: its gradient goes into ``t.grad``."""
    tensor = edge.__dict__.get("_target")
    tensor = None if tensor is None else tensor()
    if tensor is not None:
        _accumulate_retained(tensor, g)


def _observe_leaf(
    leaf: Tensor, g: Any, create: bool, targets: set[Any] | None, accumulate: bool, captured: dict[Any, Any], tell: Any
) -> None:
    if targets is not None and leaf not in targets:
        return
    node: AccumulateGrad = accumulator(leaf)
    tell(protocol.NodeStarted(node, (g,)))
    if leaf._hooks is not None:
        g = _before(node, g)
    if accumulate:
        with _accumulation:
            before = None if leaf._grad is None else array_of(leaf._grad).copy()
            _accumulate(leaf, g, create)
        assert leaf._grad is not None
        tell(protocol.Accumulated(node, before, g, leaf._grad._a))
        if leaf._hooks is not None:
            _call_post_accumulate(leaf)
    else:
        captured[leaf] = g
        tell(protocol.Captured(node, 0, g))
    tell(protocol.NodeFinished(node, False))
