"""``Function``: operations that users write themselves, forward and backward.

The context object ``ctx`` is the graph's node itself, as in PyTorch, so what ``forward`` notes on it is there in
``backward`` and can be seen on ``grad_fn``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from nbautograd import storage, tracing
from nbautograd.errors import AutogradError
from nbautograd.grad_mode import is_grad_enabled, no_grad
from nbautograd.inplace import check_writable, rebase
from nbautograd.node import FREED, LEAF, MANY, Node, Port, Slots
from nbautograd.tensor import Tensor, new, wrap

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx:
    """What ``forward`` and ``backward`` of a custom function share; any attribute may be set on it."""

    _to_save: tuple[Any, ...] = ()
    _dirty: tuple[Tensor, ...] = ()
    _non_differentiable: tuple[Tensor, ...] = ()
    _materialize = True
    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep inputs, outputs or intermediate tensors for ``backward``, which finds them in ``saved_tensors``."""
        self._to_save = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Tell which inputs ``forward`` has written to in place; they must be returned too."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Tell which outputs are not differentiable; they will not require grad."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (True, the default) or None for outputs that nothing used."""
        self._materialize = value


class BackwardCFunction(Node, FunctionCtx):
    """The node of a custom function; each function has its own subclass, ``<Name>Backward``."""

    __slots__ = ("all_edges",)

    _function: type[Function]
    _count = 1
    _slots: tuple[int | None, ...] = ()  # for each argument of forward, its place among the edges
    _kept: Any = ()
    _outputs: tuple[Any, ...] = ()  # shape and dtype of each
    symbol = "ƒ"
    all_edges: tuple[Any, ...]

    def edges(self) -> tuple[Any, ...]:
        """The edges in the engine's form."""
        return self.all_edges

    def outputs(self) -> int:
        """How many outputs ``forward`` returned."""
        return self._count

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What ``save_for_backward`` kept.

        :raises GraphFreedError: a backward pass has used it up.
        :raises InplaceError: a saved tensor was written to since.
        """
        if self._kept is FREED:
            self.raise_freed()
        found: list[Any] = []
        for tensor, output, time in self._kept:
            if tensor is None:
                found.append(None)
                continue
            array: Any = tensor._a if isinstance(tensor, Tensor) else tensor
            if storage.changed_since(array, time):
                self.raise_changed(f"saved tensor {len(found)}", array)
            found.append(tensor if output is None else wrap(array, self if self._count == 1 else Port(self, output)))
        return tuple(found)

    saved_variables = saved_tensors

    def saved_values(self) -> dict[str, Any]:
        """The saved arrays, numbered."""
        return {str(i): t._a for i, t in enumerate(self.saved_tensors) if t is not None}

    def check_saved(self) -> None:
        """Nothing: ``saved_tensors`` checks when it is read."""

    def keep(self, outputs: list[Any]) -> None:
        """Note the saved tensors: outputs as arrays, or else they and this node would keep each other alive."""
        kept: list[Any] = []
        for tensor in self._to_save:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {len(kept)} is of type "
                    f"{type(tensor).__name__}"
                )
            index = next((i for i, out in enumerate(outputs) if out is tensor and tensor is not None), None)
            kept.append((tensor if index is None or tensor is None else tensor._a, index, storage.tick()))
        self._kept, self._to_save = kept, ()

    def vjp(self, g: Any, keep: bool) -> tuple[Any, Any]:
        """The gradients that ``backward`` returns, over arrays."""
        given = g.take(self._count) if isinstance(g, Slots) else [g]
        tensors = [None if d is None else wrap(d) for d in given]
        return MANY, [None if d is None else d._a for d in self._call_backward(tensors, keep)]

    def vjp_graph(self, g: Any, keep: bool) -> tuple[Any, Any]:
        """The gradients that ``backward`` returns, recorded."""
        return MANY, self._call_backward(g.take(self._count) if isinstance(g, Slots) else [g], keep)

    def _call_backward(self, gradients: list[Any], keep: bool) -> list[Any]:
        if self._kept is FREED:
            self.raise_freed()
        if self._materialize:
            gradients = [self._zeros(i) if g is None else g for i, g in enumerate(gradients)]
        answer = self._function.backward(self, *gradients)
        if not keep and self._kept:
            self._kept = FREED
        values = list(answer) if isinstance(answer, (tuple, list)) else [answer]
        return self._checked(values)

    def _zeros(self, index: int) -> Tensor:
        shape, dtype, make = self._outputs[index]
        return wrap(make(shape, dtype))

    def _checked(self, values: list[Any]) -> list[Any]:
        """The gradients by edge, once their number, types and shapes are known to fit."""
        name, expected = self.name(), len(self._slots)
        if len(values) > expected and all(v is None for v in values[expected:]):
            values = values[:expected]
        if len(values) != expected:
            raise AutogradError(
                f"function {name} returned an incorrect number of gradients (expected {expected}, got {len(values)}): "
                f"backward() must return one for each argument of forward(), None where there is none"
            )
        found: list[Any] = [None] * len(self.all_edges)
        for position, (slot, value) in enumerate(zip(self._slots, values, strict=True)):
            if value is None:
                continue
            if slot is None:
                raise AutogradError(
                    f"function {name} returned a gradient different from None at position {position + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"function {name} returned {type(value).__name__} at position {position + 1}, expected a "
                    "Tensor or None"
                )
            edge = self.all_edges[slot]
            if edge is not None:
                found[slot] = self._fitted(value, position, *self.fit[slot])
        return found

    def _fitted(self, g: Tensor, position: int, shape: tuple[int, ...], dtype: Any) -> Tensor:
        if g._a.shape != shape:
            try:
                g = g.sum_to(shape)
            except RuntimeError:
                raise AutogradError(
                    f"Function {self.name()} returned an invalid gradient at index {position} - got "
                    f"{list(g.shape)} but "
                    f"expected shape compatible with {list(shape)}"
                ) from None
        return g if g._a.dtype == dtype else g.cast(dtype)


BackwardCFunction.__module__ = "nbautograd.autograd.function"


class _FunctionMeta(type):
    """Gives each custom function its own node class."""

    def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> None:
        super().__init__(name, bases, members)
        node = type(
            f"{name}Backward", (BackwardCFunction,), {"__slots__": (), "_function": cls, "__doc__": cls.__doc__}
        )
        node.__module__ = "nbautograd.autograd.function"
        cls._node_class = node


class Function(FunctionCtx, metaclass=_FunctionMeta):
    """Base class of operations written by users, as static methods ``forward`` and ``backward``.

    ``forward(ctx, *args)`` computes with tensors, unrecorded; ``backward(ctx, *grads)`` gets one gradient per output
    and returns one per argument of ``forward``, None for those that are no tensors. ``forward(*args)`` together with
    ``setup_context(ctx, inputs, output)`` is the other style. Call the operation with ``apply``.

    >>> import nbautograd as torch
    >>> class Exp(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, i):
    ...         result = i.exp()
    ...         ctx.save_for_backward(result)
    ...         return result
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         result, = ctx.saved_tensors
    ...         return grad_output * result
    >>> x = torch.tensor([1.], requires_grad=True)
    >>> y = Exp.apply(x)
    >>> y
    tensor([2.7183], grad_fn=<ExpBackward>)
    >>> y.backward()
    >>> x.grad
    tensor([2.7183])
    """

    _node_class: type[BackwardCFunction]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"{type(self).__name__} should not be instantiated. Methods on autograd functions are "
            "static, so you should "
            f"invoke them on the class itself: {type(self).__name__}.apply(...). What __init__ would "
            "have been given can "
            "be passed to forward() as an argument."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; to be overridden."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Note on ``ctx`` what ``backward`` will need; overridden together with a ``forward`` without ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradients of the inputs; to be overridden."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function "
            "to use it with backward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` on ``args`` and record it as one node, if any tensor among them requires grad."""
        tensors = [a for a in args if isinstance(a, Tensor)]
        node: Any = new(cls._node_class)
        node.f0 = node.f1 = None
        node.needs_input_grad = tuple(isinstance(a, Tensor) and a._fn is not None for a in args)
        recorded = is_grad_enabled() and any(node.needs_input_grad)
        before = {id(a): (storage.version_of(a._a), a._fn) for a in tensors}
        with no_grad():
            if cls.setup_context is Function.setup_context:
                answer = cls.forward(node, *args, **kwargs)
            else:
                answer = cls.forward(*args, **kwargs)
                cls.setup_context(node, args, answer)
        if not recorded:
            return answer  # nothing requires grad: whatever forward returned, as it is
        several = isinstance(answer, (tuple, list))
        outputs = list(answer) if several else [answer]
        _record(node, args, outputs, before)
        return tuple(outputs) if several else outputs[0]


def _record(node: BackwardCFunction, args: tuple[Any, ...], outputs: list[Any], before: dict[int, Any]) -> None:
    """Make ``node`` the origin of ``outputs``, replacing those that are inputs returned unchanged."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    slots = iter(range(len(tensors)))
    node._slots = tuple(next(slots) if isinstance(a, Tensor) else None for a in args)
    node.all_edges = tuple(a if a._fn is LEAF else a._fn for a in tensors)
    node.fit = tuple((a._a.shape, a._a.dtype) for a in tensors)
    node.inputs = tuple(f"input {i}" for i, a in enumerate(args) if isinstance(a, Tensor))
    node.arity = len(tensors)
    node.seq = storage.tick()
    node._count = len(outputs)
    for tensor in node._dirty:
        if before.get(id(tensor), (0, None))[1] is LEAF:
            check_writable(tensor, node.name())
    node.keep(outputs)
    node._outputs = tuple(
        (o._a.shape, o._a.dtype, _zeros_like(o._a)) if isinstance(o, Tensor) else None for o in outputs
    )
    fixed = {id(t) for t in node._non_differentiable}
    inputs, dirty = {id(a) for a in tensors}, {id(t) for t in node._dirty}
    for index, out in enumerate(outputs):
        if not isinstance(out, Tensor):
            continue
        fn = node if len(outputs) == 1 else Port(node, index)
        if id(out) in fixed or out._a.dtype.kind not in "fc":
            out._fn = None
        elif id(out) in dirty:
            rebase(out, fn)
        elif id(out) in inputs or out._view is not None:
            outputs[index] = wrap(out.shared_array().view(), fn)
        else:
            out._fn = fn
    if tracing.is_on():
        shown = next((o for o in outputs if isinstance(o, Tensor)), None)
        if shown is not None:
            node.trace = tracing.note(node, shown, tuple((f"input {i}", a) for i, a in enumerate(args)))


def _zeros_like(array: Any) -> Callable[..., Any]:
    from nbautograd import backend

    made: Callable[..., Any] = backend.module(backend.device_of(array)).zeros
    return made


class _Twice(Node):
    """Stands behind the gradients of a ``once_differentiable`` backward, which cannot be differentiated again."""

    __slots__ = ("message",)
    message: str

    def vjp(self, g: Any, keep: bool) -> tuple[Any, Any]:
        raise AutogradError(self.message)

    vjp_graph = vjp


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a ``backward`` whose own computation is not to be differentiated; trying to raises.

    :raises RuntimeError: when a gradient that it computed is differentiated.
    """

    @functools.wraps(backward)
    def wrapper(ctx: Any, *gradients: Any) -> Any:
        with no_grad():
            answer = backward(ctx, *gradients)
        if not is_grad_enabled() or not any(isinstance(g, Tensor) and g._fn is not None for g in gradients):
            return answer
        values = list(answer) if isinstance(answer, (tuple, list)) else [answer]
        for index, value in enumerate(values):
            if isinstance(value, Tensor):
                node = new(_Twice)
                node.f0, node.f1, node.fit, node.seq = None, None, None, storage.tick()
                node.message = (
                    "trying to differentiate twice a function that was marked with @once_differentiable: "
                    f"{backward.__qualname__}"
                )
                values[index] = wrap(value._a, node)
        return tuple(values) if isinstance(answer, (tuple, list)) else values[0]

    return wrapper
