"""The engine's events for a graph that does not send them itself, such as PyTorch's: by hooks on its nodes.

Nothing is imported from PyTorch; ``register_prehook`` and ``register_hook`` of the nodes are all that is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nbautograd import protocol
from nbautograd.errors import is_pytorchs
from nbautograd.viz.read.model import GraphModel

__all__ = ["is_foreign", "watch"]


def is_foreign(tensor: Any) -> bool:
    """Whether the tensor is PyTorch's own, whose engine has to be watched through hooks."""
    return is_pytorchs(tensor)


@contextmanager
def watch(
    model: GraphModel,
    roots: tuple[tuple[Any, int], ...],
    gradients: tuple[Any, ...],
    callback: Callable[[protocol.Event], object],
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> Iterator[None]:
    """While the block runs, send the events of one backward pass through the graph of ``model`` to ``callback``."""
    watcher = _Watcher(callback, retain_graph)
    error: BaseException | None = None
    try:
        for node in list(model.handles.ops):
            watcher.attach(node)
        callback(protocol.PassStarted(roots, gradients, retain_graph, create_graph))
        yield
    except BaseException as caught:
        error = caught
        raise
    finally:
        watcher.detach()
        callback(protocol.PassFinished(error))


class _Watcher:
    """Puts hooks on nodes, turns their calls into events, and takes them off again."""

    def __init__(self, callback: Callable[[protocol.Event], object], retain: bool) -> None:
        self.callback, self.retain = callback, retain
        self.handles: list[Any] = []
        self.totals: dict[tuple[Any, int], Any] = {}
        self.before: dict[Any, Any] = {}

    def attach(self, node: Any) -> None:
        """Watch one node."""
        leaf = hasattr(node, "variable")
        started, finished = (self.leaf_started, self.leaf_finished) if leaf else (self.started, self.finished)
        self.handles.append(node.register_prehook(lambda gradients: started(node, gradients)))
        self.handles.append(node.register_hook(lambda inputs, outputs: finished(node, inputs, outputs)))

    def detach(self) -> None:
        """Take all hooks off."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()

    def started(self, node: Any, gradients: tuple[Any, ...]) -> None:
        """A node is about to run."""
        self.callback(protocol.NodeStarted(node, tuple(gradients)))

    def finished(self, node: Any, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        """A node has run and sends ``inputs``, the gradients of its inputs."""
        for index, ((to, to_index), gradient) in enumerate(zip(node.next_functions, inputs, strict=False)):
            if to is not None and gradient is not None:
                sent = gradient.detach()
                known = self.totals.get((to, to_index))
                self.totals[to, to_index] = sent if known is None else known + sent
                event = protocol.EdgeSent(node, index, to, to_index, sent, self.totals[to, to_index])
                self.callback(event)
        saves = any(name.startswith("_saved_") and name != "_saved_alpha" for name in dir(type(node)))
        self.callback(protocol.NodeFinished(node, saves and not self.retain))

    def leaf_started(self, node: Any, gradients: tuple[Any, ...]) -> None:
        """A leaf's ``.grad`` is about to be added to."""
        grad = node.variable.grad
        self.before[node] = None if grad is None else grad.detach().clone()
        self.callback(protocol.NodeStarted(node, tuple(gradients)))

    def leaf_finished(self, node: Any, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        """A leaf's ``.grad`` has been added to."""
        self.callback(protocol.Accumulated(node, self.before.pop(node, None), outputs[0], node.variable.grad))
        self.callback(protocol.NodeFinished(node, False))
