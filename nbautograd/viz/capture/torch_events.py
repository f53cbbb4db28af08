"""The engine's events for a graph that does not send them itself, such as PyTorch's: by hooks on its nodes.

Nothing is imported from PyTorch. It uses ``register_prehook`` and ``register_hook`` of the nodes and, for passes that a
block runs itself, a ``TorchFunctionMode`` that intercepts ``backward`` and ``grad``.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from nbautograd import protocol
from nbautograd.viz.capture.torch_watch import pytorch, writes
from nbautograd.viz.read import introspect
from nbautograd.viz.read.introspect import settle, trace_of
from nbautograd.viz.read.values import is_tensor

__all__ = ["passes_observed", "watch"]

MAX_NODES = 20_000  # with hooks


@contextmanager
def watch(
    roots: tuple[tuple[Any, int], ...], gradients: tuple[Any, ...], callback: Callable[[protocol.Event], object], *,
    retain_graph: bool = False, create_graph: bool = False,
) -> Iterator[None]:  # fmt: skip
    """While the block runs, send the events of one backward pass from ``roots`` to ``callback``."""
    settle()
    watcher = _Watcher(callback, retain_graph)
    watcher.totals |= dict(zip(roots, gradients, strict=True))
    error: BaseException | None = None
    try:
        callback(protocol.PassStarted(roots, gradients, retain_graph, create_graph))
        for node in _reachable([node for node, _ in roots]):
            watcher.attach(node)
        yield
    except BaseException as caught:
        error = caught
        if watcher.running is not None:
            explain_write(error, watcher.running)
        raise
    finally:
        watcher.detach()
        settle()
        callback(protocol.PassFinished(error))


def _reachable(roots: list[Any]) -> list[Any]:
    seen = dict.fromkeys(roots)
    ahead = list(seen)
    while ahead and len(seen) < MAX_NODES:
        for to, _ in ahead.pop().next_functions:
            if to is not None and to not in seen:
                seen[to] = None
                ahead.append(to)
    return list(seen)


class _Watcher:
    """Puts hooks on nodes, turns their calls into events, and takes them off again."""

    def __init__(self, callback: Callable[[protocol.Event], object], retain: bool) -> None:
        self.callback, self.retain = callback, retain
        self.handles: list[Any] = []
        self.totals: dict[tuple[Any, int], Any] = {}
        self.before: dict[Any, Any] = {}
        self.saving: set[Any] = set()  # nodes that keep tensors alive
        self.running: Any = None  # the node whose formula is running

    def attach(self, node: Any) -> None:
        """Watch one node."""
        leaf = hasattr(node, "variable")
        if not leaf and introspect.saved_of(node)[0]:
            self.saving.add(node)
        finished = self.leaf_finished if leaf else self.finished
        self.handles.append(node.register_prehook(lambda gradients: self.started(node, gradients, leaf)))
        self.handles.append(node.register_hook(lambda inputs, outputs: finished(node, inputs, outputs)))

    def detach(self) -> None:
        for handle in self.handles:
            handle.remove()
        self.handles.clear()

    def started(self, node: Any, gradients: tuple[Any, ...], leaf: bool) -> None:
        """A node is about to run, or a leaf's ``.grad`` to be added to, and hooks of its own have run."""
        if leaf:
            grad = node.variable.grad
            self.before[node] = None if grad is None else grad.detach().clone()
        else:
            self.running = node
        came = [self.came(node, index, gradient) for index, gradient in enumerate(gradients)]
        self.callback(protocol.NodeStarted(node, tuple(came)))
        self.tell_hooks(node, came, gradients)

    def came(self, node: Any, index: int, gradient: Any) -> Any:
        """Return the gradient of an output before hooks changed it: the sent one, unless only the order differs."""
        total = self.totals.get((node, index))
        return total if total is not None and gradient is not None and _differ(total, gradient) else gradient

    def tell_hooks(self, node: Any, before: Sequence[Any], after: Sequence[Any]) -> None:
        """Hooks on a node's results have run: those that are known of, and those that have changed something."""
        variable = getattr(node, "variable", None)
        trace = trace_of(node) if variable is None else None
        tensor = variable if variable is not None else trace.output() if trace is not None else None
        known = dict(introspect.hooks_of(node, tensor)) if tensor is not None else {}
        for old, new in zip(before, after, strict=True):
            if old is not new or (new is not None and known.get("tensor")):
                self.callback(protocol.HookCalled(node, "tensor", old, new))

    def finished(self, node: Any, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        """A node has run and sends ``inputs``, the gradients of its inputs."""
        self.running = None
        for index, ((to, to_index), gradient) in enumerate(zip(node.next_functions, inputs, strict=False)):
            if to is not None and gradient is not None:
                sent = gradient.detach()
                known = self.totals.get((to, to_index))
                self.totals[to, to_index] = sent if known is None else known + sent
                self.callback(protocol.EdgeSent(node, index, to, to_index, sent, self.totals[to, to_index]))
        self.callback(protocol.NodeFinished(node, node in self.saving and not self.retain))

    def leaf_finished(self, node: Any, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        """A leaf's ``.grad`` has been added to."""
        self.callback(protocol.Accumulated(node, self.before.pop(node, None), outputs[0], node.variable.grad))
        self.callback(protocol.NodeFinished(node, False))


def explain_write(error: BaseException, node: Any) -> None:
    """Add to PyTorch's error about a modified saved tensor the content of nbautograd's: the value and the line."""
    told = re.search(r"is at version (\d+); expected version (\d+)", str(error))
    saved = introspect.changed_saved(node) if told is not None else ""
    if told is None or not saved:
        return
    error.saved = saved  # type: ignore[attr-defined]
    trace = trace_of(node)
    refs = {operand.name: operand.tensor for operand in trace.operands} | {"result": trace.output} if trace else {}
    tensor = refs[saved]() if refs.get(saved) is not None else None
    after = int(told[2])
    for ref, version, filename, line in writes:
        one = ref()
        if one is not None and version > after and (one is tensor or _share(one, tensor)):
            error.written = filename, line  # type: ignore[attr-defined]
            return


def _share(one: Any, other: Any) -> bool:
    try:
        return bool(one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr())
    except Exception:
        return False


def _differ(one: Any, other: Any) -> bool:
    """Return whether two gradients have different numbers, apart from the order in which terms were added."""
    if one.shape != other.shape or (one.data_ptr() == other.data_ptr() and one.data_ptr()):
        return bool(one.shape != other.shape)
    try:
        return not bool((one - other).abs().max() <= 1e-4 * other.abs().max())
    except Exception:
        return False


# -- passes that a block runs itself ---------------------------------------------------------------------------------


@contextmanager
def passes_observed() -> Iterator[None]:
    """Send the events of PyTorch's passes inside the block to ``protocol.observers``, as nbautograd's engine does."""
    torch = pytorch()
    if torch is None:
        yield
        return
    with _mode_class(torch)():
        yield


@cache
def _mode_class(torch: Any) -> type:
    base = sys.modules["torch.overrides"].TorchFunctionMode
    grad = torch.autograd
    started = {torch.Tensor.backward: "gradient", grad.backward: "grad_tensors", grad.grad: "grad_outputs"}

    class Listening(base):  # type: ignore[misc, valid-type]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            given = started.get(func)
            if given is None or not protocol.observers.get():
                return func(*args, **(kwargs or {}))
            return _observed(func, given, args, kwargs or {})

    return Listening


def _several(given: Any) -> list[Any]:
    return [] if given is None else [given] if is_tensor(given) else list(given)


def _observed(func: Any, given: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a pass, and notify its observers; ``given`` is the parameter of the gradients that the pass starts with."""
    try:
        known = inspect.signature(func).bind(*args, **kwargs).arguments
        tensors = _several(next(iter(known.values())))
        gradients = [None] * len(tensors) if known.get(given) is None else _several(known[given])
        retain, create = known.get("retain_graph"), known.get("create_graph", False)
        wanted = _several(known.get("inputs"))  # of backward, whose result is None, no matter
        roots = [(tensor.grad_fn, tensor.output_nr) for tensor in tensors]
        begins = all(node is not None for node, _ in roots)
        seeds = [
            tensor.detach().new_ones(tensor.shape) if gradient is None else gradient
            for tensor, gradient in zip(tensors, gradients, strict=True)
        ]
    except Exception:  # the call itself raises the error
        begins = False
    if not begins:
        return func(*args, **kwargs)

    def tell(event: protocol.Event) -> None:
        for observer in protocol.observers.get():
            observer(event)

    keeps = bool(create if retain is None else retain)
    with watch(tuple(roots), tuple(seeds), tell, retain_graph=keeps, create_graph=bool(create)):
        result = func(*args, **kwargs)
        for tensor, gradient in zip(wanted, result or (), strict=False):
            if gradient is not None:
                edge = sys.modules["torch"].autograd.graph.get_gradient_edge(tensor)
                tell(protocol.Captured(edge.node, edge.output_nr, gradient))
        return result
