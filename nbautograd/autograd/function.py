"""Custom operations: ``Function``, in PyTorch's two styles, and the node that calls its ``backward``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from nbautograd._engine.arrays import backend, version_counter
from nbautograd._engine.core import batched, dispatch_mode
from nbautograd._engine.core.exchanged_data import latest
from nbautograd._engine.core.grad_mode import is_grad_enabled, no_grad
from nbautograd._engine.core.node import FREED, LEAF, MULTIPLE, Node, OutputEdge, OutputGrads
from nbautograd._engine.core.pytree import tree_flatten
from nbautograd._engine.core.sparse import SparseTensor, stored, wrapped
from nbautograd._engine.core.tensor import Tensor, new, wrap
from nbautograd._engine.fusion.lazy_gradient import materialize_pending
from nbautograd._engine.ops._internal import cast, sum_to
from nbautograd._names.docstrings.methods import describe_methods
from nbautograd.autograd import function_outputs, saved_tensors as saving, tangents
from nbautograd.autograd.function_ctx import FunctionCtx
from nbautograd.errors import AutogradError, kind_of, warn

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "once_differentiable"]


class _Saved:
    """A saved tensor; an output is stored as an array: a node with its own output would be a reference cycle."""

    __slots__ = ("array", "output", "time", "value")

    def __init__(self, value: Any, output: Any, time: int) -> None:
        self.value, self.output, self.time = value, output, time
        self.array = getattr(value, "_a", value)  # the array when it was saved: a tensor's data may be exchanged


class BackwardCFunction(Node, FunctionCtx):
    """The node of a custom function; each function has its own subclass, ``<Name>Backward``.

    :returns: a node; a custom function creates its own in ``apply``.

    >>> import nbautograd as torch
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...
    >>> Double.apply(torch.tensor(2.0, requires_grad=True)).grad_fn.name()
    'DoubleBackward'
    """

    __slots__ = ("all_edges",)

    _function: type[Function]
    _count = 1
    _slots: tuple[int | None, ...] = ()  # for each argument of forward, its position among the edges
    _saved: Any = ()
    _outputs: tuple[Any, ...] = ()  # shape, dtype and device of each
    all_edges: tuple[Any, ...]

    def next_nodes(self) -> tuple[Any, ...]:
        """Return the targets of the inputs' gradients: nodes, leaves or None."""
        return self.all_edges

    def outputs(self) -> int:
        """Return the number of outputs of ``forward``."""
        return self._count

    @property
    def saved_tensors(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The tensors of ``save_for_backward``.

        :raises GraphFreedError: a backward pass has freed them.
        :raises InplaceError: a saved tensor was written to since.
        """
        if self._saved is FREED:
            self.raise_freed()
        return tuple(None if saved is None else self._unpack(i, saved) for i, saved in enumerate(self._saved))

    @property
    def saved_variables(self) -> Any:
        """The former name of ``saved_tensors``."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    def _unpack(self, position: int, saved: _Saved) -> Tensor:
        value, edge = saved.value, saved.output
        if not isinstance(value, saving.Packed):
            for array, time in ((saved.array, saved.time), latest(saved.array, saved.time)):
                if version_counter.changed_since(array, time):
                    self.report_changed(f"saved tensor {position}", array)
            if isinstance(value, Tensor):
                return value
        if isinstance(edge, int):
            edge = self if self._count == 1 else OutputEdge(self, edge)
        if isinstance(value, saving.Packed):
            return value.tensor(edge)
        output = wrap(value, edge)
        if dispatch_mode.tangents is not None:
            dispatch_mode.tangents.unpacked(output, value)
        return output

    def _made_by(self, what: str) -> str:
        saved = self._saved[int(what.rpartition(" ")[2])]
        if isinstance(saved.output, int):
            return self.output_text(saved.output)
        node = saved.value.grad_fn
        return node.output_text(saved.value.output_nr) if node else ""

    def saves(self) -> bool:
        """Return whether ``save_for_backward`` was called."""
        return bool(self._saved)

    def saved_values(self) -> dict[str, Any]:
        """Return the saved arrays, numbered."""
        return {str(i): t._a for i, t in enumerate(self.saved_tensors) if t is not None}

    def check_saved(self) -> None:
        """Do nothing: ``saved_tensors`` does the version check when it is read."""

    def save_tensors(self, outputs: list[Any]) -> None:
        """Store the saved tensors."""
        hooks = saving.current()
        saved: list[Any] = []
        for tensor in self._to_save:
            if tensor is None:
                saved.append(None)
                continue
            if not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {len(saved)} is of type "
                    f"{type(tensor).__name__}"
                )
            if tensor.is_inference():
                raise AutogradError(
                    "Inference tensors cannot be saved for backward: clone() it, or create it under torch.no_grad() "
                    "instead of torch.inference_mode()."
                )
            output: Any = next((i for i, out in enumerate(outputs) if out is tensor), None)
            value: Any = tensor if output is None else tensor._a
            if hooks is not None:
                value = (saving.pack if output is None else saving.pack_result)(tensor, hooks)
                if output is None:
                    output = tensor if tensor._fn is LEAF else tensor._fn
            saved.append(_Saved(value, output, version_counter.next_sequence_nr()))
        self._saved, self._to_save = saved, ()

    def vjp(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Return the gradients that ``backward`` returns, over arrays."""
        materialize_pending()  # it may write to anything
        incoming = g.take(self._count) if isinstance(g, OutputGrads) else [g]
        # Copies: backward may write into them, while other nodes may hold the same arrays.
        answer = self._call_backward([None if d is None else wrapped(d.copy()) for d in incoming], retain_graph)
        return MULTIPLE, [None if d is None else stored(d) if d.__class__ is SparseTensor else d._a for d in answer]

    def vjp_graph(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Return the gradients that ``backward`` returns, recorded."""
        incoming = g.take(self._count) if isinstance(g, OutputGrads) else [g]
        before = [None if d is None else version_counter.version_of(d._a) for d in incoming]
        answer = self._call_backward(incoming, retain_graph)
        for d, version in zip(incoming, before, strict=True):
            if d is not None and version_counter.version_of(d._a) != version:
                raise AutogradError(
                    f"{self.name()}: backward() has modified its incoming gradient by an inplace operation, which "
                    "other nodes may also hold. With create_graph=True, compute a new tensor instead"
                )
        return MULTIPLE, answer

    def apply(self, *gradients: Any) -> Any:
        """Call the function's ``backward`` or ``vjp`` on these gradients."""
        return self._backward()(self, *gradients)

    def _backward(self) -> Callable[..., Any]:
        cls = self._function
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise AutogradError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed: both are names for "
                f"one method. Keep only one of them in {cls.__name__}."
            )
        return cls.vjp

    def _call_backward(self, gradients: list[Any], retain_graph: bool) -> list[Any]:
        if self._saved is FREED:
            self.raise_freed()
        if self._materialize:
            gradients = [self._zeros(i) if g is None else g for i, g in enumerate(gradients)]
        answer = self._backward()(self, *gradients)
        gradients = self._checked(list(answer) if isinstance(answer, tuple) else [answer])
        if not retain_graph and self._saved:
            self._saved = FREED
        return gradients

    def _zeros(self, index: int) -> Tensor | None:
        if self._outputs[index] is None:
            return None
        shape, dtype, place = self._outputs[index]
        return wrap(backend.module(place).zeros(shape, dtype))

    def _checked(self, values: list[Any]) -> list[Any]:
        """Return the gradients by edge, after checks of their number, types and shapes."""
        name, expected = self.name(), len(self._slots)
        if len(values) > expected and all(v is None for v in values[expected:]):
            values = values[:expected]
        if len(values) != expected:
            raise AutogradError(
                f"function {name} returned an incorrect number of gradients (expected {expected}, got {len(values)}): "
                f"backward() must return one for each argument of forward(), None for one without gradient"
            )
        by_edge: list[Any] = [None] * len(self.all_edges)
        for position, (slot, value) in enumerate(zip(self._slots, values, strict=True)):
            if value is None:
                continue
            if slot is None:
                raise AutogradError(
                    f"function {name} returned a gradient different than None at position {position + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            if not isinstance(value, Tensor):
                raise AutogradError(
                    f"expected Variable or None (got {kind_of(value)}): function {name} returned it at position "
                    f"{position + 1}"
                )
            if self.all_edges[slot] is not None:
                by_edge[slot] = self._fit_gradient(value, position, *self.input_meta[slot])
        return by_edge

    def _fit_gradient(self, g: Tensor, position: int, shape: tuple[int, ...], dtype: Any) -> Tensor:
        if g.__class__ is SparseTensor and tuple(g.shape) == shape:
            return g
        if g._a.shape != shape:
            try:
                g = sum_to(g, shape)
            except RuntimeError:
                raise AutogradError(
                    f"Function {self.name()} returned an invalid gradient at index {position} - got "
                    f"{list(g.shape)} but expected shape compatible with {list(shape)}"
                ) from None
        if g._a.dtype == dtype:
            return g
        function_outputs.check_kind(self, position, g, dtype)
        return cast(g, dtype)


BackwardCFunction.__module__ = "nbautograd.autograd.function"


class FunctionMeta(type):
    """A metaclass that gives each custom function its own node class.

    :param name: the name of the class.
    :param bases: its bases.
    :param members: the members of the class.
    :returns: the class, whose ``_backward_cls`` is the class of its nodes.
    :raises TypeError: an argument is missing or has an unsupported type.

    >>> import nbautograd as torch
    >>> class Double(torch.autograd.Function):
    ...     pass
    ...
    >>> type(Double).__name__, Double._backward_cls.__name__
    ('FunctionMeta', 'DoubleBackward')
    """

    def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> None:
        super().__init__(name, bases, members)
        node = type(
            f"{name}Backward", (BackwardCFunction,), {"__slots__": (), "_function": cls, "__doc__": cls.__doc__}
        )
        node.__module__ = "nbautograd.autograd.function"
        cls._node_class = cls._backward_cls = node


@describe_methods
class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base class of operations written by users, as static methods ``forward`` and ``backward``.

    ``forward(ctx, *args)`` computes with tensors, unrecorded; ``backward(ctx, *grads)`` gets one gradient per output
    and returns one per argument of ``forward``, None for those that are not tensors. ``forward(*args)`` together with
    ``setup_context(ctx, inputs, output)`` is the other style. ``jvp(ctx, *tangents)`` returns the tangent of each
    output, for forward-mode derivatives. Call the operation with ``apply``.

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
    _backward_cls: type[BackwardCFunction]
    generate_vmap_rule = False
    # Attributes of nodes, so that ``Function.name`` and the like exist where PyTorch has them.
    name, metadata, next_functions = Node.name, Node.metadata, Node.next_functions
    register_hook, register_prehook = Node.register_hook, Node.register_prehook

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            f"invoke them on the class itself: {type(self).__name__}.apply(...). Arguments of __init__ "
            "can be passed to forward() as an argument.",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Raise: call a Function with ``apply``."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            f"function with static forward method, and call {type(self).__name__}.apply(...)."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; must be overridden."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Store values for ``backward`` on ``ctx``; overridden together with a ``forward`` without ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradients of the inputs; must be overridden."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function "
            "to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Compute the tangents of the outputs from those of the inputs; must be overridden for forward mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Compute the results for all samples, and their batch dimensions; must be overridden for ``vmap``."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` on the arguments and record it as one node, if any tensor among them requires grad.

        :param args: the arguments of ``forward``; tensors among them may require grad.
        :param kwargs: keyword arguments of ``forward``.
        :returns: the results of ``forward``, of the same shapes.
        :raises RuntimeError: ``forward`` returns something that cannot be recorded, such as a leaf it has written to.

        >>> import nbautograd as torch
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         return 2 * g
        ...
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> Double.apply(x)
        tensor(4., grad_fn=<DoubleBackward>)
        """
        plain_style = cls.setup_context is Function.setup_context
        node: Any = new(cls._node_class)
        if kwargs:
            bound = inspect.signature(cls.forward).bind(*([node] if plain_style else []), *args, **kwargs)
            args, kwargs = bound.args[1:] if plain_style else bound.args, bound.kwargs
        if plain_style and (batched.in_transform() or batched.levels()):
            function_outputs.refuse_in_transforms(cls)
        tensors = [a for a in args if isinstance(a, Tensor)]
        if batched.levels() and any(batched.level_of(a) for a in tree_flatten(args)[0]):
            from nbautograd.autograd.function_vmap import apply_batched

            return apply_batched(cls, Function, args)
        node.next0 = node.next1 = node.input_meta = node.extras = None
        node.needs_input_grad = tuple(isinstance(a, Tensor) and a._fn is not None for a in args)
        recorded = is_grad_enabled() and any(node.needs_input_grad)
        before = {id(a): a._fn for a in tensors}
        levels = [level for level in tangents.visible() if tangents.highest(args, [level])]
        with no_grad(), tangents.suspended():
            if plain_style:
                answer = cls.forward(node, *args, **kwargs)
            else:
                answer = cls.forward(*args, **kwargs)
                cls.setup_context(node, args, answer)
                same = tensors if recorded else [t for t in tensors if t._fn is None]
                function_outputs.check_saved(node, same, answer if isinstance(answer, tuple) else (answer,))
        several = isinstance(answer, tuple)
        outputs = list(answer) if several else [answer]
        function_outputs.check_dirty(node, outputs)
        if recorded:
            function_outputs.record(node, args, tensors, outputs, before)
        else:
            function_outputs.connect(node, tensors, outputs, False)
        for level in levels:
            function_outputs.set_tangents(node, args, outputs, level)
        return tuple(outputs) if several else outputs[0]


class InplaceFunction(Function):
    """PyTorch's former base class of functions with an ``inplace`` option; use :class:`Function`.

    :param args: none are accepted, as by :class:`Function`.
    :param kwargs: likewise.
    :returns: nothing: call it with ``apply``, which returns the result of ``forward``, of the same shape.
    :raises RuntimeError: an instance is called.

    >>> import nbautograd as torch
    >>> from nbautograd.autograd.function import InplaceFunction
    >>> class Double(InplaceFunction):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...
    >>> Double.apply(torch.tensor(2.0))
    tensor(4.)
    """


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a ``backward`` whose own computation must not be differentiated; differentiating it raises.

    :param backward: the method, below ``@staticmethod``.
    :returns: the function, unrecorded.
    :raises RuntimeError: when a gradient that it computed is differentiated.

    >>> import nbautograd as torch
    >>> from nbautograd.autograd.function import once_differentiable
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, g):
    ...         return 2 * g
    ...
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    tensor(2.)
    """

    @functools.wraps(backward)
    def wrapper(ctx: Any, *gradients: Any) -> Any:
        with no_grad():
            answer = backward(ctx, *gradients)
        if not is_grad_enabled() or not any(isinstance(g, Tensor) and g.requires_grad for g in gradients):
            return answer
        values = list(answer) if isinstance(answer, (tuple, list)) else [answer]
        leaves = tuple(value.detach().requires_grad_() if isinstance(value, Tensor) else None for value in values)
        for index, value in enumerate(values):
            if isinstance(value, Tensor):
                node = new(function_outputs.ErrorNode)
                node.targets = leaves
                node.next0 = node.next1 = node.input_meta = node.extras = None
                node._seq = version_counter.next_sequence_nr()
                node.message = (
                    "trying to differentiate twice a function that was marked with @once_differentiable: "
                    f"{backward.__qualname__}"
                )
                values[index] = wrap(value._a, node)
        return tuple(values) if isinstance(answer, (tuple, list)) else values[0]

    return wrapper
