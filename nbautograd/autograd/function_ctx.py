"""The context object, ``ctx``, of a custom ``Function``."""

from __future__ import annotations

from typing import Any

from nbautograd.core.tensor import Tensor
from nbautograd.errors import AutogradError

__all__ = ["ForwardContext", "FunctionCtx"]


class FunctionCtx:
    """The context passed to ``forward`` and ``backward`` of a custom function; any attribute may be set on it."""

    _to_save: tuple[Any, ...] = ()
    _to_save_forward: tuple[Any, ...] = ()
    _dirty: tuple[Tensor, ...] = ()
    _non_differentiable: tuple[Tensor, ...] = ()
    _materialize = True
    needs_input_grad: tuple[bool, ...] = ()
    saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Save inputs, outputs or intermediate tensors for ``backward``, which reads them from ``saved_tensors``."""
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Save tensors for ``jvp``, which reads them from ``saved_tensors``."""
        self._to_save_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declare the inputs that ``forward`` has written to in place; they must be returned, too."""
        _all_tensors(tensors, "mark_dirty can only accept variables")
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declare the outputs that are not differentiable; they will not require grad."""
        _all_tensors(tensors, "mark_non_differentiable only accepts variable arguments")
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (True, the default) or None for outputs that nothing used."""
        self._materialize = value


def _all_tensors(tensors: tuple[Any, ...], rule: str) -> None:
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise AutogradError(f"{rule}, but argument {index} is of type {type(tensor).__name__}")


FunctionCtx.__module__ = "nbautograd.autograd.function"


class ForwardContext(FunctionCtx):
    """The context passed to ``jvp``: ``saved_tensors`` are those of ``save_for_forward``."""

    def __init__(self, node: Any) -> None:
        self.__dict__.update(node.__dict__)
        self.saved_tensors = node._to_save_forward
        self.needs_input_grad = node.needs_input_grad
