"""The sparse versions of operations, by name, and their recording, with a rule over tensors for the gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from nbautograd._engine.arrays.version_counter import next_sequence_nr
from nbautograd._engine.core import dispatch_mode, tracing
from nbautograd._engine.core.batched import BatchedTensor, levels
from nbautograd._engine.core.grad_mode import enable_grad, is_grad_enabled, no_grad
from nbautograd._engine.core.node import FREED, LEAF, MULTIPLE, Node
from nbautograd._engine.core.sparse import SparseTensor, UnsupportedError, stored, values_of, wrapped
from nbautograd._engine.core.tensor import Tensor
from nbautograd._names.docstrings import with_import
from nbautograd.autograd.backward import grad

__all__ = ["OPERATIONS", "Rule", "SparseNode", "handles", "is_sparse", "method", "recompute", "record"]

F = TypeVar("F", bound=Callable[..., Any])
OPERATIONS: dict[str, Callable[..., Any]] = {}
"""The operations by name; others are not supported."""

PRODUCTS = {"mm", "mv", "matmul", "__rmatmul__"}
"""Operations that accept batched tensors inside ``vmap``: sample by sample."""


def handles(names: str) -> Callable[[F], F]:
    """Decorate a function that implements these operations and methods for sparse arguments."""

    def add(function: F) -> F:
        @functools.wraps(function)
        def public(*args: Any, **kwargs: Any) -> Any:
            if levels() and not PRODUCTS & {*names.split()} and any(a.__class__ is BatchedTensor for a in args):
                raise UnsupportedError(
                    f"vmap: {function.__name__}() of a sparse tensor and batched ones is not supported"
                )
            return function(*args, **kwargs)

        for name in names.split():
            OPERATIONS[name] = public
            if hasattr(Tensor, name):
                setattr(SparseTensor, name, public)
        return public  # type: ignore[return-value]

    return add


def method(function: F) -> F:
    """Decorate a function that is a method of dense and of sparse tensors."""
    if function.__doc__:
        function.__doc__ = with_import(function.__doc__)
    setattr(Tensor, function.__name__, function)
    setattr(SparseTensor, function.__name__, function)
    OPERATIONS[function.__name__] = function
    return function


def is_sparse(value: Any) -> bool:
    """Return whether a value is a sparse tensor."""
    return value.__class__ is SparseTensor


# -- recording ---------------------------------------------------------------------------------------------------------


Rule = Callable[[Any], Sequence[Any]]
"""Maps the gradient of the result to those of the inputs, over tensors, dense or sparse; None for no gradient."""


class SparseNode(Node):
    """The node of an operation with sparse inputs, or with a sparse result."""

    __slots__ = ("edges", "rule", "s_values")
    saved = ("s_values",)
    edges: tuple[Any, ...]
    rule: Rule
    s_values: Any

    def next_nodes(self) -> tuple[Any, ...]:
        """Return the targets of the inputs' gradients."""
        return self.edges

    def vjp(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Return the gradients of the inputs, as arrays."""
        return MULTIPLE, [None if d is None else stored(d) for d in self.apply_rule(wrapped(g), retain_graph)]

    def vjp_graph(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Return the gradients of the inputs, recorded."""
        return MULTIPLE, self.apply_rule(g, retain_graph)

    def apply_rule(self, g: Any, retain_graph: bool) -> list[Any]:
        """Return the gradients of those inputs that require one."""
        if self.s_values is FREED:
            self.raise_freed()
        gradients = self.rule(g)
        if not retain_graph:
            self.rule, self.s_values = None, FREED  # type: ignore[assignment]  # it is not called again
        return [None if edge is None else d for edge, d in zip(self.edges, gradients, strict=True)]


@functools.cache
def _class(name: str, symbol: str, arity: int) -> type[SparseNode]:
    names = ("input", "other", *(f"input {i}" for i in range(2, arity)))[:arity]
    body = {"__slots__": (), "symbol": symbol, "arity": arity, "inputs": names, "__module__": Node.__module__}
    return type(name, (SparseNode,), body)


def _edge(t: Any) -> Any:
    return None if t is None else t if t._fn is LEAF else t._fn


def record(result: Any, name: str, symbol: str, inputs: Sequence[Any], rule: Rule) -> Any:
    """Record ``result`` as that of an operation, if an input requires a gradient and gradient mode is on.

    :param inputs: tensors, or None for an argument that is not a tensor.
    :param rule: a function that returns a gradient for each of ``inputs``.
    """
    edges = tuple(map(_edge, inputs))
    if result.dtype.rank < 2 or not is_grad_enabled() or all(edge is None for edge in edges):  # rank below 2: integers
        return result
    node = _class(name, symbol, len(inputs))()
    node.edges, node.rule = edges, rule
    node.s_values = tuple(values_of(t) for t in inputs if t is not None)
    node.next0, node.next1, node.input_meta, node.extras = edges[0], edges[-1], None, None
    node._seq = next_sequence_nr()
    result._fn = node
    if dispatch_mode.is_on():
        dispatch_mode.node_created(node)
    if tracing.is_on():
        tracing.note(node, result, tuple(zip(node.inputs, inputs, strict=True)))
    return result


def recompute(name: str, symbol: str, inputs: Sequence[Tensor], compute: Callable[..., Any]) -> Any:
    """Record a composite operation as one node, which recomputes it to differentiate it."""
    with no_grad():
        result = compute(*inputs)

    def rule(g: Any) -> list[Any]:
        again = is_grad_enabled()
        with enable_grad():
            own = [t if again else t.detach().requires_grad_(t.requires_grad) for t in inputs]
            output = compute(*own)
        gradients = iter(grad(output, [t for t in own if t.requires_grad], g, create_graph=again, allow_unused=True))
        return [next(gradients) if t.requires_grad else None for t in own]

    return record(result, name, symbol, inputs, rule)
