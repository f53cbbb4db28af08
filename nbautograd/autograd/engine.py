"""The backward pass: a loop over the graph, newest node first.

A node's inputs are always older than the node, so visiting nodes by descending sequence number visits each after all
that feed it. Gradients wait in ``pending``, keyed by edge, and are summed there: that is the sum over paths inside one
pass. What has gathered at the leaves is then added to their ``.grad``: the accumulation across passes.

There are two loops. ``_run`` is the fast one, without a test per node for anything that is rare. ``_run_observed`` does
the same with everything: observers, ``inputs=``, gradients taken at non-leaves, hooks of leaves, anomaly detection.
``execute`` picks one at its start.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar, copy_context
from heapq import heappop, heappush
from sys import getrefcount
from typing import Any

import numpy as np

from nbautograd import backend, protocol, storage
from nbautograd.autograd import anomaly_mode as anomaly, forward_ad
from nbautograd.grad_mode import grad_enabled
from nbautograd.node import MANY, LeafHooks, Node, Port, Slots, accumulator, public_edge
from nbautograd.storage import clock
from nbautograd.tensor import Tensor, array_of, wrap

__all__ = ["Pass", "accumulate", "apply", "capture", "current_pass", "execute"]

_accumulation = threading.RLock()  # backward passes of several threads may reach the same leaf

Key = tuple[Any, int]  # a node, or a leaf, and which of its outputs


class Pass:
    """One backward pass while it runs."""

    __slots__ = ("__weakref__", "_visited", "roots", "targets")

    def __init__(self, roots: list[tuple[Any, Any]], targets: set[Any] | None) -> None:
        self.roots, self.targets = [edge for edge, _ in roots], targets
        self._visited: set[Any] | None = None

    def visits(self, edge: Any) -> bool:
        """Whether a node or leaf gets a gradient in this pass."""
        if self._visited is None:
            _, order = _reachable(self.roots)
            self._visited = set(order) if self.targets is None else _leading_to(order, self.targets) & set(order)
        return edge in self._visited


_current: ContextVar[Pass | None] = ContextVar("current_pass", default=None)
current_pass = _current.get
"""The pass that runs now; None outside."""


def _apart(run: Callable[..., Any], create: bool, this: Pass | None, *arguments: Any) -> Any:
    """Call ``run``, recorded or not, and without NumPy's floating-point warnings.

    It gets a copy of the context, which is dropped at its end. So no mode stays behind, wherever it is interrupted:
    between two calls of Python code that set and reset one, a KeyboardInterrupt might come.
    """
    return copy_context().run(_with_mode, run, create, this, arguments)


def _with_mode(run: Callable[..., Any], create: bool, this: Pass | None, arguments: tuple[Any, ...]) -> Any:
    grad_enabled.set(create)
    backend.set_quiet(backend.SILENT)
    _current.set(this)
    return run(*arguments)


def execute(roots: list[tuple[Any, Any]], keep: bool, create: bool, into: dict[Key, Any] | None = None) -> None:
    """Run backward from ``roots``, pairs of an edge and its gradient (an array), and accumulate into the leaves.

    :param keep: keep the saved tensors for another pass.
    :param create: record the pass itself; gradients are then tensors.
    :param into: accumulate into these only: by node and output, the tensor; None for all leaves.
    """
    this = Pass(roots, None if into is None else {node for node, _ in into})
    _apart(_execute, create, this, roots, keep, create, into)


def _execute(roots: list[tuple[Any, Any]], keep: bool, create: bool, into: dict[Key, Any] | None) -> None:
    create = create or forward_ad.is_active()  # gradients then carry tangents, so they must be tensors
    roots = [(edge, _as_tensor(g) if create else array_of(g)) for edge, g in roots]
    if into is None and _plain():
        _finish(_run(roots, keep, create), create)
    else:
        _run_observed(roots, keep, create, into, accumulate=True)


def capture(roots: list[tuple[Any, Any]], keep: bool, create: bool, keys: list[Key]) -> dict[Key, Any]:
    """Run backward and return the gradients at ``keys``, accumulating nothing."""
    found: dict[Key, Any] = _apart(
        _capture, create, Pass(roots, {node for node, _ in keys}), roots, keep, create, dict.fromkeys(keys)
    )
    return found


def _capture(roots: list[tuple[Any, Any]], keep: bool, create: bool, targets: dict[Key, Any]) -> dict[Key, Any]:
    create = create or forward_ad.is_active()
    roots = [(edge, _as_tensor(g) if create else array_of(g)) for edge, g in roots]
    if _plain() and not any(isinstance(target, Node) for target, _ in targets):
        needed = _leading_to(_reachable(edge for edge, _ in roots)[1], {leaf for leaf, _ in targets})
        pending = _run(roots, keep, create, needed)
        return {(leaf, 0): pending[leaf] for leaf, _ in targets if leaf in pending}
    return _run_observed(roots, keep, create, targets, accumulate=False)


def _plain() -> bool:
    """Whether nobody looks on who would have to be told of every step."""
    return not LeafHooks.alive and not anomaly.mode.on and not protocol.observers.get()


def apply(node: Node, gradients: tuple[Any, ...]) -> Any:
    """The gradients of a node's inputs for the given ones of its outputs (tensors or None), as tensors.

    They are recorded where gradients are, and hooks of the node run.
    """
    create = grad_enabled.get() and any(isinstance(g, Tensor) and g._fn is not None for g in gradients)
    return _apart(_apply, create, None, node, gradients, create)


def _apply(node: Node, gradients: tuple[Any, ...], create: bool) -> Any:
    given = [g if create else array_of(g) for g in gradients]
    g = given[0] if node.outputs() == 1 else Slots({i: a for i, a in enumerate(given) if a is not None})
    if node.hooks is not None:
        g = _pre_hooks(node, g)
    node.check_saved()
    d, d1 = node.vjp_graph(g, True) if create else node.vjp(g, True)
    found = [None if d is None else _as_tensor(d) for d in _after(node, d, d1, g)]
    return found[0] if len(found) == 1 else tuple(found)


def accumulate(leaf: Tensor, g: Tensor | None) -> None:
    """Add a gradient to ``leaf.grad`` as a pass would, with all hooks but those of the tensor."""
    if g is not None:
        _apart(lambda: _visit_leaf(leaf, _pre_hooks(accumulator(leaf), g._a), False), False, None)


def _as_tensor(g: Any) -> Tensor:
    return g if isinstance(g, Tensor) else wrap(g)


def _run(roots: list[tuple[Any, Any]], keep: bool, create: bool, needed: set[Any] | None = None) -> dict[Any, Any]:
    """The fast loop; returns the sums that arrived at the leaves.

    :param needed: the edges to follow; None for all.
    """
    pending: dict[Any, Any] = {}  # edge -> sum of the gradients that have arrived so far
    ready: list[tuple[int, Any]] = []  # heap of (-seq, node); leaves, whose seq is 0, never enter it
    for edge, g in roots:
        if needed is None or edge in needed:
            _send(edge, g, pending, ready)
    if not ready:
        return pending
    node = heappop(ready)[1]
    g = pending.pop(node)
    while True:
        hooked = node.rare is not None and node.hooks is not None
        if hooked:
            g = _pre_hooks(node, _tensor_hooks(node, g))
        if node.seq < clock.last_write:
            node.check_saved()
        if needed is None:
            d, d1 = node.vjp_graph(g, keep) if create else node.vjp(g, keep)
        else:
            d, d1 = _partly(node, g, keep, create, needed)
        # An only successor is handed its gradient directly, without going through the heap: the heir.
        if d1 is None and not ready and d is not None and not hooked:
            edge = node.f0
            if edge.seq and edge not in pending:
                node, g = edge, d
                continue
        heir = None
        if hooked or d is MANY:
            for to, part in zip(node.edges(), _after(node, d, d1, g), strict=True):
                if to is not None and part is not None and (needed is None or to in needed):
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


def _partly(node: Node, g: Any, keep: bool, create: bool, needed: set[Any]) -> tuple[Any, Any]:
    """The gradients of those inputs of a node that are needed."""
    vjp = node.vjp_graph if create else node.vjp
    if node.skips == "set":
        return vjp(g, keep, frozenset(i for i, to in enumerate(node.edges()) if to not in needed))
    if node.skips == "pair":
        return vjp(g, keep, node.f0 not in needed, node.f1 not in needed)
    d, d1 = vjp(g, keep)
    return (d, d1) if d is MANY else (d if node.f0 in needed else None, d1 if node.f1 in needed else None)


def _send(edge: Any, d: Any, pending: dict[Any, Any], ready: list[tuple[int, Any]]) -> None:
    if edge in pending:
        pending[edge] = pending[edge] + d
    else:
        pending[edge] = d
        if edge.seq:
            heappush(ready, (-edge.seq, edge))


# -- leaves ----------------------------------------------------------------------------------------------------------


def _owned_count() -> int:
    """What getrefcount says in ``_prepare`` of an array that only ``pending`` and that function hold."""
    probe = {0: np.empty(1)}

    def look(key: int) -> int:
        d = probe[key]
        return getrefcount(d)

    return look(0)


_OWNED = _owned_count()

_BASE = 3  # references to a base that is known through one view: that view's, and in ``_whole`` the name and the call


def _whole(d: Any) -> bool:
    """Whether an array has its memory to itself: its own, or all of that of an array that is known through it alone."""
    base = getattr(d, "base", None)
    if base is None:
        return True
    alone = base.__class__ is np.ndarray and base.base is None and getrefcount(base) <= _BASE
    return alone and base.size == d.size and d.flags.c_contiguous


Fresh = list[tuple[Tensor, Tensor]]  # leaves, and what their .grad is to be
Grown = list[tuple[Tensor, Any]]  # tensors that are some leaf's .grad, and what is to be added to them


def _finish(pending: dict[Tensor, Any], create: bool) -> None:
    """Add what arrived at the leaves to their ``.grad``: at all of them or, if that fails or is interrupted, at none.

    Whatever can fail comes first. An interrupt that comes later has to wait until the last leaf has its gradient.
    """
    if create and pending and grad_enabled.get():
        _warn_of_cycle()
    with _accumulation:
        fresh, grown = _prepare(pending, create)
        leaves, sums = iter(fresh), iter(grown)
        try:
            _commit(leaves, sums, grown)
        except BaseException:
            _commit(leaves, sums, grown)
            raise


def _prepare(pending: dict[Tensor, Any], create: bool) -> tuple[Fresh, Grown]:
    """The steps that ``_commit`` takes; in place unless the pass is recorded, so that holders of ``.grad`` see it."""
    fresh: Fresh = []
    grown: Grown = []
    for leaf in pending:
        if leaf._fn is None:  # requires_grad_(False) since it was used
            continue
        d, held = pending[leaf], leaf._grad
        if held is None:
            if create:
                fresh.append((leaf, d.clone()))
            else:
                # An array that nobody else holds becomes .grad without a copy: .grad shares memory with nothing.
                owned = getrefcount(d) <= _OWNED and _whole(d)
                fresh.append((leaf, wrap(d if owned or isinstance(d, np.generic) else d.copy())))
        elif create or held._fn is not None:
            fresh.append((leaf, held + _as_tensor(d)))
        else:
            grown.append((held, d))
    return fresh, grown


def _commit(leaves: Iterator[tuple[Tensor, Tensor]], sums: Iterator[tuple[Tensor, Any]], grown: Grown) -> None:
    """Take the steps that are left.

    Python runs handlers of signals at calls and at jumps backward only. There is no call in the first two loops, nor
    an unpacking, which may need memory; so a step of theirs is taken or not begun. A step of the third may be taken
    twice, which counts a version more.
    """
    for step in leaves:
        step[0]._grad = step[1]
    for sum_ in sums:
        sum_[0]._a += sum_[1]
    for held, _ in grown:
        if not isinstance(held._a, np.generic):
            storage.record_write(held._a)


_warned = False


def _warn_of_cycle() -> None:
    """Once: what ``backward(create_graph=True)`` leaves behind."""
    global _warned
    if not _warned:
        _warned = True
        import warnings

        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient, whose graph leads back to it: the memory stays until the garbage collector finds the cycle. "
            "autograd.grad(..., create_graph=True) makes none; or set .grad to None after use.",
            UserWarning,
            stacklevel=8,
        )


def _visit_leaf(leaf: Tensor, g: Any, create: bool) -> None:
    """Accumulate at once, with the hooks that come after it."""
    _finish({leaf: g}, create)
    hooks = leaf._hooks
    if hooks is not None:
        for hook in list(hooks.accumulated.values()):
            hook(leaf)
        for hook in list(hooks.post.values()):
            answer = hook((), (_as_tensor(g),))
            if answer:
                raise RuntimeError(
                    f"hook {_name(hook)} has returned an incorrect number of values: a leaf has no inputs"
                )


# -- hooks -----------------------------------------------------------------------------------------------------------


def _name(hook: Any) -> str:
    return f"'{getattr(hook, '__name__', hook)}'"


def _shown(g: Any) -> Any:
    """A gradient as a hook gets it: a tensor that is its own, so that writing into it changes nobody else's."""
    return g if g is None or isinstance(g, Tensor) else wrap(g.copy())


def _answer(hook: Any, g: Any, shown: Tensor, new: Any) -> Any:
    """The gradient after a hook: what it returned, once that is known to fit, or what it may have written into."""
    if new is None:
        return shown if isinstance(g, Tensor) else shown._a
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}' (hook {_name(hook)})")
    if new._a.shape != g.shape:
        raise RuntimeError(
            f"hook {_name(hook)} has changed the size of value: it returned shape {list(new.shape)} for a gradient of "
            f"shape {list(g.shape)}"
        )
    if new.dtype is not shown.dtype or new.device != shown.device:
        raise RuntimeError(
            f"hook {_name(hook)} has changed the type of value (was {shown.dtype!r} on {shown.device}, "
            f"got {new.dtype!r} on {new.device})"
        )
    return new if isinstance(g, Tensor) else new._a


def _answers(hook: Any, old: list[Any], shown: tuple[Any, ...], answer: Any) -> list[Any]:
    """The same for a hook that gets, and returns, one gradient per input or output."""
    if answer is None:
        answer = [None] * len(old)
    elif isinstance(answer, Tensor) and len(old) == 1:
        answer = [answer]
    elif not isinstance(answer, (tuple, list)):
        raise TypeError(f"expected tuple, but hook returned '{type(answer).__name__}' (hook {_name(hook)})")
    if len(answer) != len(old):
        raise RuntimeError(
            f"hook {_name(hook)} has returned an incorrect number of values (got {len(answer)}, but expected "
            f"{len(old)})"
        )
    found = []
    for g, given, new in zip(old, shown, answer, strict=True):
        if g is None and new is not None:
            raise RuntimeError(f"can't replace a None gradient with a non-None value (hook {_name(hook)})")
        found.append(None if g is None else _answer(hook, g, given, new))
    return found


def _tensor_hooks(node: Node, g: Any) -> Any:
    """The gradient of a tensor after its hooks; it is then complete, and kept if the tensor retains it."""
    hooks = node.hooks
    if hooks is None:
        return g
    observers = protocol.observers.get()
    for hook in list(hooks.tensor.values()):
        shown = _shown(g)
        new = _answer(hook, g, shown, hook(shown))
        for observer in observers:
            observer(protocol.HookCalled(public_edge(node)[0], "tensor", g, new))
        g = new
    tensor = None if hooks.retain is None else hooks.retain()
    if tensor is not None:
        _retain(tensor, g)
    return g


def _retain(tensor: Tensor, g: Any) -> None:
    """Add to the ``.grad`` of a computed tensor."""
    if tensor._grad is None:
        tensor._grad = g.clone() if isinstance(g, Tensor) else wrap(g.copy())
    else:
        tensor._grad = tensor._grad + _as_tensor(g)


def _pre_hooks(node: Node, g: Any) -> Any:
    """The gradients of a node's outputs after the hooks that run before the node."""
    hooks = node.hooks
    if hooks is None:
        return g
    for hook in list(hooks.pre.values()):
        many = isinstance(g, Slots)
        given = g.take(node.outputs()) if many else [g]
        shown = tuple(map(_shown, given))
        values = _answers(hook, given, shown, hook(shown))
        new = Slots({i: v for i, v in enumerate(values) if v is not None}) if many else values[0]
        for observer in protocol.observers.get():
            observer(protocol.HookCalled(node, "pre", g, new))
        g = new
    return g


def _after(node: Node, d: Any, d1: Any, g: Any) -> list[Any]:
    """The gradients of a node's inputs after the hooks that run after the node."""
    found = list(d1) if d is MANY else [d, d1][: node.arity]
    hooks = node.hooks
    if hooks is None or not hooks.post:
        return found
    outputs = g.take(node.outputs()) if isinstance(g, Slots) else [g]
    for hook in list(hooks.post.values()):
        shown = tuple(map(_shown, found))
        answer = hook(shown, tuple(map(_shown, outputs)))
        new = _answers(hook, found, shown, answer)
        for observer in protocol.observers.get() if answer is not None else ():
            observer(protocol.HookCalled(node, "post", tuple(found), tuple(new)))
        found = new
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
                _retain(tensor, part)

    def visit(edge: Node, g: Any) -> None:
        outputs = tuple(g.take(edge.outputs())) if isinstance(g, Slots) else (g,)
        shown = edge.__class__ is not Port
        if shown:
            tell(protocol.NodeStarted(edge, outputs))
        g = _tensor_hooks(edge, g)
        take(edge, g)
        if needed is None or any(to in needed for to in edge.edges() if to is not None):
            g = _pre_hooks(edge, g)
            if edge.seq < clock.last_write:
                edge.check_saved()
            if needed is not None:
                d, d1 = _partly(edge, g, keep, create, needed)
            else:
                d, d1 = edge.vjp_graph(g, keep) if create else edge.vjp(g, keep)
            found = _after(edge, d, d1, g)
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
        g = _tensor_hooks(node, g)
        if accumulate:
            g = _pre_hooks(node, g)
            before = None if leaf._grad is None or not observers else array_of(leaf._grad).copy()
            hooks = leaf._hooks
            if hooks is not None and (hooks.accumulated or hooks.post):
                with _accumulation:
                    _visit_leaf(leaf, g, create)
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
        _finish(arrived, create)
    except BaseException as caught:
        error = caught
        raise
    finally:
        tell(protocol.PassFinished(error))
    return captured
