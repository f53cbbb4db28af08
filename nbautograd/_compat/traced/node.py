"""The node of a call of a traced function: one node of the tape for all of its operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._compat.traced.graph import replay
from nbautograd._engine.arrays.version_counter import changed_since
from nbautograd._engine.core.exchanged_data import latest
from nbautograd._engine.core.grad_mode import enable_grad
from nbautograd._engine.core.node import FREED, MULTIPLE, Node, OutputEdge, UnrecordedView
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.fusion.lazy_gradient import materialize
from nbautograd._engine.ops.indexing.indexing import view_alias
from nbautograd.autograd import engine

__all__ = ["TracedBackward"]


class TracedBackward(Node):
    """The base of nodes; each traced function has its own subclass, with its name.

    :cvar compilation: the compiled functions.
    :ivar arguments: the arrays of all inputs and captured tensors, for derivatives of higher order.
    :ivar kept: the inputs of the backward function; ``FREED`` after it has run.
    """

    __slots__ = ("arguments", "kept")
    compilation: Any
    arguments: Any
    kept: Any
    graph: Any
    count: int

    def outputs(self) -> int:
        """Return the number of outputs with gradients."""
        return self.count

    def saves(self) -> bool:
        """Return whether a backward pass frees saved values."""
        return True

    def saved_values(self) -> dict[str, Any]:
        """Return the inputs of the backward function, by the names in its code."""
        if self.kept is FREED:
            self.raise_freed()
        names = self.compilation.saved
        return {n: a for n, a in zip(names, self.kept, strict=True) if isinstance(a, (np.ndarray, np.generic))}

    def check_saved(self) -> None:
        """Check that other code has not written to its saved values."""
        if self.kept is FREED:
            return
        for index in self.compilation.visible:
            array = self.kept[index]
            now, time = latest(array, self._seq)
            if now is not array and now.shape == array.shape:
                if changed_since(now, time):
                    self.report_changed(f"s_{self.compilation.saved[index]}", now)
                self.kept[index] = now
            elif changed_since(array, self._seq):
                self.report_changed(f"s_{self.compilation.saved[index]}", array)

    def _made_by(self, what: str) -> str:
        return ""

    def vjp(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Compute the gradients of the arguments, by the compiled backward pass."""
        if self.kept is FREED:
            self.raise_freed()
        return self.several([g] if self.count == 1 else g.take(self.count), retain_graph)

    def several(self, parts: list[Any], retain_graph: bool) -> tuple[Any, Any]:
        """Compute the gradients of the arguments from all outputs' gradients, some of which may be None."""
        parts = [materialize(part) for part in parts]
        function = self.compilation.backward(parts, self.kept)
        return self.finished(function(self.kept, *[part for part in parts if part is not None]), retain_graph)

    def finished(self, gradients: list[Any], retain_graph: bool) -> tuple[Any, Any]:
        """Free the saved values, and return the gradients."""
        if not retain_graph:
            self.kept = self.arguments = FREED
        if self.arity > 2:
            return MULTIPLE, gradients
        first, second = [*gradients, None][:2]
        return first, second

    def vjp_graph(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Compute the gradients over tensors, by calling the operations again: this allows higher derivatives."""
        if self.kept is FREED:
            self.raise_freed()
        parts = [g] if self.count == 1 else g.take(self.count)
        compilation, graph = self.compilation, self.graph
        tensors = self.tensors()
        with enable_grad():
            aliases = {value: view_alias(t) if t._fn is not None else t for value, t in tensors.items()}
            names = dict(zip(compilation.saved, self.kept, strict=True))
            drawn = {
                step: [names[compilation.code.names[v]] for v in step.results] for step in graph.random if step.results
            }
            outputs = replay(graph.needed, aliases, drawn)
            pairs = zip(compilation.differentiable, parts, strict=True)
            roots = [(outputs[value]._fn, part) for value, part in pairs if part is not None]
            keys: list[Any] = [_key(aliases[value]) for value in compilation.edges]
            by_key = engine.capture(roots, True, True, keys)
        return self.finished(list(map(by_key.get, keys)), retain_graph)

    def tensors(self) -> dict[Any, Tensor]:
        """Return the arguments as tensors, which depend on the next nodes."""
        compilation, edges = self.compilation, self.next_nodes()
        places = {value: index for index, value in enumerate(compilation.edges)}
        result = {}
        for value, array in zip(compilation.arguments, self.arguments, strict=True):
            edge = edges[places[value]] if value in places else None
            if edge.__class__ is UnrecordedView:
                edge = None
            if changed_since(array, self._seq) and value in self.graph.read:
                self.report_changed(f"s_{compilation.code.names[value]}", array)
            result[value] = wrap(array, edge)
        return result


def _key(t: Tensor) -> tuple[Any, int]:
    fn = t._fn
    return (fn.next0, fn.index) if fn.__class__ is OutputEdge else (fn, 0)
