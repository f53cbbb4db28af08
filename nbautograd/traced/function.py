"""What ``torch.jit.trace`` gives back for a function."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from nbautograd.arrays import dtypes
from nbautograd.arrays.version_counter import next_sequence_nr
from nbautograd.core import dispatch_mode
from nbautograd.core.batched import levels
from nbautograd.core.grad_mode import is_forward_ad_active, is_grad_enabled
from nbautograd.core.inplace import watched
from nbautograd.core.node import LEAF, OutputEdge
from nbautograd.core.overrides import subclasses
from nbautograd.core.pytree import tree_flatten, tree_unflatten
from nbautograd.core.tensor import Tensor, new
from nbautograd.core.views import record_unrecorded_write, replay_view
from nbautograd.errors import TracingError, kind_of
from nbautograd.rng import generator
from nbautograd.traced.compilation import Compilation
from nbautograd.traced.graph import Check, Graph
from nbautograd.traced.node import TracedBackward
from nbautograd.traced.recorder import current
from nbautograd.traced.replay import Changed, call_again

__all__ = ["Signature", "TracedGraph"]


class Signature:
    """The arguments of a traced function: names, nesting, shapes and dtypes.

    :param names: what each argument is called.
    :param spec: how they nest.
    :param tensors: the examples, flat.
    """

    def __init__(self, function: str, names: list[str], spec: Any, tensors: list[Tensor]) -> None:
        self.function, self.names, self.spec = function, names, spec
        self.is_flat = spec.num_leaves == spec.num_children
        self.shapes = [tuple(t._a.shape) for t in tensors]
        self.dtypes = [t._a.dtype for t in tensors]

    def flat(self, arguments: Any) -> list[Any]:
        """The tensors in the arguments of a call.

        :raises RuntimeError: one is no tensor, or they nest in another way.
        """
        leaves, spec = tree_flatten(arguments)
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                self.refuse_kind(leaves)
        if spec != self.spec:
            raise RuntimeError(
                f"{self.function}() Expected arguments that nest as while tracing: {self.spec}; but they nest as {spec}"
            )
        return leaves

    def refuse_kind(self, leaves: list[Any]) -> None:
        for name, leaf in zip(self.names, leaves, strict=False):
            if not isinstance(leaf, Tensor):
                raise RuntimeError(
                    f"{self.function}() Expected a value of type 'Tensor' for argument '{name}' but instead found type "
                    f"'{kind_of(leaf)}'."
                )

    def check(self, tensors: list[Any]) -> None:
        """Make sure that shapes and dtypes are those of the examples.

        :raises TracingError: one is not.
        """
        self.refuse_kind(tensors)
        for name, t, shape, dtype in zip(self.names, tensors, self.shapes, self.dtypes, strict=True):
            a = t._a
            if a.shape != shape or a.dtype != dtype:
                what = f"a tensor of shape {list(shape)} and dtype {dtypes.of(dtype)!r}"
                given = f"one of shape {list(a.shape)} and dtype {dtypes.of(a.dtype)!r}"
                raise TracingError(
                    f"{self.function}() was traced for {what} as argument '{name}', and was given {given}. A trace has "
                    "fixed shapes and dtypes: trace the function with such an example, too, or call the function "
                    "itself."
                )


class TracedGraph:
    """A recorded graph that can be called: it compiles itself for each kind of call.

    :param function: what was traced, for calls in which the values that it looks at differ.
    :param result: how the results nest.
    """

    def __init__(
        self, name: str, graph: Graph, function: Callable[..., Any], signature: Signature, result: Any
    ) -> None:
        self.name, self.graph, self.function, self.signature, self.result = name, graph, function, signature, result
        self.captured = [tensor for tensor, _ in graph.captured]
        self.arguments = [*graph.inputs, *(value for _, value in graph.captured)]
        self.compilations: dict[tuple[bool, ...], Compilation] = {}
        self.node_class: Any = type(
            f"{name}Backward", (TracedBackward,), {"__slots__": (), "__module__": "builtins", "symbol": name}
        )
        self.names = [*signature.names, *(f"captured {number}" for number in range(len(self.captured)))]
        self.checks = any(isinstance(step, Check) for step in graph.steps)
        self.lock = threading.RLock()

    def __call__(self, tensors: list[Any], arguments: tuple[Any, ...]) -> Any:
        """The result for these tensors, which are those in the arguments."""
        self.signature.check(tensors)
        if _watched():
            return tree_unflatten(self.again(tensors), self.result)
        both = [*tensors, *self.captured]
        arrays = [t._a for t in both]
        for (tensor, value), array in zip(self.graph.captured, arrays[len(tensors) :], strict=True):
            if array.shape != value.shape or array.dtype != value.dtype:
                raise TracingError(
                    f"{self.name}() was traced with a parameter or another tensor of shape {list(value.shape)} and "
                    f"dtype {dtypes.of(value.dtype)!r}, which is of shape {list(tensor.shape)} and dtype "
                    f"{tensor.dtype!r} now: trace the function again."
                )
        wanted = tuple([t._fn is not None for t in both]) if is_grad_enabled() else ()
        compilation = self.compilations.get(wanted)
        state = generator.default_generator.get_state() if self.checks and self.graph.draws else None
        try:
            if compilation is None:
                compilation = self.compile(wanted, arrays)
            outputs, effects, kept = compilation.forward(*arrays)
        except Changed:
            if state is not None:
                generator.default_generator.set_state(state)
            return self.function(*arguments)
        return self.finish(compilation, both, arrays, outputs, effects, kept)

    def again(self, tensors: list[Any]) -> list[Tensor]:
        """The outputs by calling all operations on tensors."""
        return call_again(self.graph, tensors)

    def compile(self, wanted: tuple[bool, ...], arrays: list[Any]) -> Compilation:
        """The functions for calls in which these arguments require grad."""
        with self.lock:
            known = self.compilations.get(wanted)
            if known is None:
                state = generator.default_generator.get_state() if self.graph.draws else None
                values = {value for value, want in zip(self.arguments, wanted, strict=False) if want}
                known = Compilation(self.graph, self.name, dict(zip(self.arguments, arrays, strict=True)), values)
                if state is not None:
                    generator.default_generator.set_state(state)
                known.release()
                self.compilations[wanted] = known
            return known

    def finish(self, compilation: Compilation, both: Any, arrays: Any, outputs: Any, effects: Any, kept: Any) -> Any:
        """Make the tensors and the node of a call, and write what the function writes."""
        tensors: dict[Any, Tensor] = {}
        for value, array in zip(compilation.computed, outputs, strict=True):
            output = tensors[value] = new(Tensor)
            output._a, output._fn = array, None
        differentiable = compilation.differentiable
        if differentiable:
            node = new(self.node_class)
            node.extras = node.input_meta = node.next0 = node.next1 = None
            node.kept, node.arguments, node.compilation, node.graph = kept, arrays, compilation, self.graph
            node.count = len(differentiable)
            node.all_edges = tuple([
                (t if t._fn is LEAF else t._fn) for t in both if t._fn is not None
            ])  # fmt: skip
            node._seq = next_sequence_nr()
            if node.count == 1:
                tensors[differentiable[0]]._fn = node
            else:
                for position, value in enumerate(differentiable):
                    tensors[value]._fn = OutputEdge(node, position)
        if effects:
            self.write(both, effects)
        known = dict(zip(self.arguments, both, strict=True))
        results = []
        for output in self.graph.outputs:
            tensor = tensors[output.value] if output.value in tensors else known[output.value]
            results.append(replay_view(tensor, output.steps) if output.steps else tensor)
        return tree_unflatten(results, self.result)

    def write(self, both: Any, effects: Any) -> None:
        """Write what the function writes into tensors from before."""
        known = dict(zip(self.arguments, both, strict=True))
        for (begin, _), array in zip(self.graph.effects, effects, strict=True):
            t = known[begin]
            t._shared_array()[...] = array
            record_unrecorded_write(t)


def _watched() -> bool:
    """Whether somebody looks at each operation, or a tensor may be something special."""
    return bool(
        dispatch_mode.is_on_anywhere() or levels() or is_forward_ad_active() or subclasses or watched() or current.get()
    )
