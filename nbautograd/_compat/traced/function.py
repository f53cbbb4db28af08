"""The compiled function of ``torch.jit.trace``."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._compat.traced.compilation import Compilation, layout
from nbautograd._compat.traced.graph import Changed, FunctionGraph, call_again
from nbautograd._engine.arrays import dtypes
from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.core.grad_mode import is_grad_enabled
from nbautograd._engine.core.pytree import tree_flatten, tree_unflatten
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.rng import generator
from nbautograd.amp import state as autocast
from nbautograd.errors import TracingError, kind_of


class Signature:
    """The arguments of a traced function: names, structure, shapes and dtypes.

    :param names: the name of each argument.
    :param spec: their structure.
    :param tensors: the examples, flat.
    """

    def __init__(self, function: str, names: list[str], spec: Any, tensors: list[Tensor]) -> None:
        self.function, self.names, self.spec = function, names, spec
        self.is_flat = spec.num_leaves == spec.num_children
        self.shapes = [tuple(t._a.shape) for t in tensors]
        self.dtypes = [t._a.dtype for t in tensors]

    def flat(self, arguments: Any) -> list[Any]:
        """Return the tensors in the arguments of a call; raise RuntimeError for other kinds, or another structure."""
        leaves, spec = tree_flatten(arguments)
        self.refuse_kind(leaves)
        if spec != self.spec:
            raise RuntimeError(
                f"{self.function}() Expected arguments that nest as while tracing: {self.spec}; but they nest as {spec}"
            )
        return leaves

    def refuse_kind(self, leaves: list[Any]) -> None:
        """Check that all are tensors."""
        for name, leaf in zip(self.names, leaves, strict=False):
            if not isinstance(leaf, Tensor):
                raise RuntimeError(
                    f"{self.function}() Expected a value of type 'Tensor' for argument '{name}' but instead found type "
                    f"'{kind_of(leaf)}'."
                )

    def check(self, tensors: list[Any]) -> None:
        """Raise TracingError if a shape or dtype differs from the examples'."""
        self.refuse_kind(tensors)
        for name, t, shape, dtype in zip(self.names, tensors, self.shapes, self.dtypes, strict=True):
            a = t._a
            if not isinstance(a, (np.ndarray, np.generic)):
                raise TracingError(f"{self.function}() was traced for the CPU, and argument '{name}' is on {t.device}.")
            if a.shape != shape or a.dtype != dtype:
                what = f"a tensor of shape {list(shape)} and dtype {dtypes.of(dtype)!r}"
                given = f"one of shape {list(a.shape)} and dtype {dtypes.of(a.dtype)!r}"
                raise TracingError(
                    f"{self.function}() was traced for {what} as argument '{name}', and was given {given}. A trace has "
                    "fixed shapes and dtypes: trace the function with such an example, too, or call the function "
                    "itself."
                )


class TracedGraph:
    """A callable recorded graph, which compiles itself for each kind of call.

    :param function: the traced function, for calls in which checked values differ.
    :param result: the structure of the results.
    """

    def __init__(
        self, name: str, graph: FunctionGraph, function: Callable[..., Any], signature: Signature, result: Any
    ) -> None:
        self.name, self.graph, self.function, self.signature, self.result = name, graph, function, signature, result
        self.captured = [tensor for tensor, _ in graph.captured]
        self.arguments = [*graph.inputs, *(value for _, value in graph.captured)]
        self.compilations: dict[Any, Compilation] = {}
        self.lock = threading.RLock()
        self.entry: Callable[..., Any] = self.slow

    def slow(self, tensors: Any) -> Any:
        """Return the result for these tensors, for any kind of call."""
        if _busy:
            self.signature.check(tensors)
            if autocast.snapshot().devices:
                return self.changed(tensors)
            return tree_unflatten(call_again(self.graph, list(tensors)), self.result)
        both, arrays = self.arrays(tensors)
        wanted = tuple([t._fn is not None and a.dtype.kind in "fcV" for t, a in zip(both, arrays, strict=True)])
        if not is_grad_enabled():
            wanted = (False,) * len(both)
        key = (wanted, tuple(map(layout, arrays)))
        compilation = self.compilations.get(key)
        if compilation is None:
            try:
                compilation = self.compile(key, wanted, arrays)
            except Changed:
                return self.changed(tensors)
        self.entry = compilation.entry
        return compilation.entry(tensors, True)

    def arrays(self, tensors: Any) -> tuple[list[Any], list[Any]]:
        """Return all arguments and captured tensors, and their arrays, which must be like those of the trace."""
        self.signature.check(tensors)
        for tensor, value in self.graph.captured:
            a = tensor._a
            if a.shape != value.shape or a.dtype != value.dtype:
                raise TracingError(
                    f"{self.name}() was traced with {value.name or 'a tensor from before'} of shape "
                    f"{list(value.shape)} and dtype {dtypes.of(value.dtype)!r}, which is of shape {list(a.shape)} and "
                    f"dtype {dtypes.of(a.dtype)!r} now: trace the function again."
                )
        both = [*tensors, *self.captured]
        return both, [t._a for t in both]

    def compile(self, key: Any, wanted: tuple[bool, ...], arrays: list[Any]) -> Compilation:
        """Return the functions for this kind of call."""
        with self.lock:
            known = self.compilations.get(key)
            if known is None:
                state = generator.default_generator.get_state() if self.graph.draws else None
                try:
                    values = {value for value, want in zip(self.arguments, wanted, strict=True) if want}
                    by_value = dict(zip(self.arguments, arrays, strict=True))
                    known = Compilation(self.graph, self.name, by_value, values, self.captured, self.result)
                finally:
                    if state is not None:
                        generator.default_generator.set_state(state)
                known.link(self.slow, self.changed, _busy)
                self.compilations[key] = known
            return known

    def copied(self, memo: dict[int, Any]) -> TracedGraph:
        """Return the graph with copies of the captured tensors, for ``copy.deepcopy``."""
        graph = copy.copy(self.graph)
        graph.captured = [(copy.deepcopy(tensor, memo), value) for tensor, value in self.graph.captured]
        return TracedGraph(self.name, graph, copy.deepcopy(self.function, memo), self.signature, self.result)

    def changed(self, tensors: Any) -> Any:
        """Return the result of the original function: a check of values differs, or autocast chooses dtypes."""
        return self.function(*tree_unflatten(tensors, self.signature.spec))


_busy: list[bool] = []
"""Not empty while an observer watches each operation: operations are then called one by one."""


def _watch(on: bool) -> None:
    _busy[:] = [True] * (dispatch_mode.is_on_anywhere() or autocast.is_on_anywhere())


dispatch_mode.process.listeners.append(_watch)
autocast.process.listeners.append(_watch)
_watch(False)
