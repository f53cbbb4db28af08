"""The context object, ``ctx``, of a custom ``Function``."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.core.tensor import Tensor


class FunctionCtx:
    """The context passed to ``forward`` and ``backward`` of a custom function; any attribute may be set on it.

    :returns: a context; a custom function creates its own.

    >>> import nbautograd as torch
    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.power = 2
    ...         ctx.save_for_backward(x)
    ...         return x ** ctx.power
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * ctx.power * x
    ...
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)
    """

    _to_save: tuple[Any, ...] = ()
    _to_save_forward: tuple[Any, ...] = ()
    _dirty: tuple[Tensor, ...] = ()
    _non_differentiable: tuple[Tensor, ...] = ()
    _materialize = True
    needs_input_grad: tuple[bool, ...] = ()
    saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Save inputs, outputs or intermediate tensors for ``backward``, which reads them from ``saved_tensors``.

        :param tensors: tensors, or None.
        :returns: None.
        :raises TypeError: an argument is neither (raised when ``forward`` has returned).

        >>> import nbautograd as torch
        >>> class Cube(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x ** 3
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         x, = ctx.saved_tensors
        ...         return 3 * x * x * g
        ...
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> Cube.apply(x).backward()
        >>> x.grad
        tensor(12.)
        """
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Save tensors for ``jvp``, which reads them from ``saved_tensors``.

        :param tensors: tensors, or None.
        :returns: None.
        :raises TypeError: an argument is neither (raised when ``forward`` has returned).

        >>> import nbautograd as torch
        >>> class Cube(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_forward(x)
        ...         return x ** 3
        ...     @staticmethod
        ...     def jvp(ctx, t):
        ...         return 3 * ctx.saved_tensors[0] ** 2 * t
        ...
        >>> torch.func.jvp(Cube.apply, (torch.tensor(2.0),), (torch.tensor(1.0),))
        (tensor(8.), tensor(12.))
        """
        self._to_save_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declare the inputs that ``forward`` has written to in place; ``forward`` must also return them.

        :param tensors: arguments of ``forward``.
        :returns: None.
        :raises RuntimeError: an input is not returned (raised when ``forward`` has returned).

        >>> import nbautograd as torch
        >>> class DoubleIt(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.mark_dirty(x)
        ...         return x.mul_(2)
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         return 2 * g
        ...
        >>> x = torch.ones(2)
        >>> _ = DoubleIt.apply(x)
        >>> x
        tensor([2., 2.])
        """
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declare the outputs that are not differentiable; they will not require grad.

        :param tensors: outputs of ``forward``.
        :returns: None.
        :raises TypeError: an argument is not a tensor.

        >>> import nbautograd as torch
        >>> class Sort(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         values, places = x.sort()
        ...         ctx.mark_non_differentiable(places)
        ...         return values, places
        ...     @staticmethod
        ...     def backward(ctx, g, _):
        ...         return g
        ...
        >>> values, places = Sort.apply(torch.tensor([2.0, 1.0], requires_grad=True))
        >>> values.requires_grad, places.requires_grad
        (True, False)
        """
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether ``backward`` gets zeros (True, the default) or None for unused outputs.

        :param value: zeros (True) or None (False).
        :returns: None.

        >>> import nbautograd as torch
        >>> class Two(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.set_materialize_grads(False)
        ...         return 2 * x, 3 * x
        ...     @staticmethod
        ...     def backward(ctx, g, h):
        ...         return (2 * g if h is None else 2 * g + 3 * h)
        ...
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> Two.apply(x)[0].backward()
        >>> x.grad
        tensor(2.)
        """
        self._materialize = value


FunctionCtx.__module__ = "nbautograd.autograd.function"


class ForwardContext(FunctionCtx):
    """The context passed to ``jvp``: ``saved_tensors`` are those of ``save_for_forward``."""

    def __init__(self, node: Any) -> None:
        self.__dict__.update(node.__dict__)
        self.saved_tensors, self.needs_input_grad = node._to_save_forward, node.needs_input_grad
