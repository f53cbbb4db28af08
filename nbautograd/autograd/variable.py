"""``Variable``, the former wrapper of tensors that require gradients."""

from __future__ import annotations

from typing import Any, ClassVar

from nbautograd._engine.core.tensor import Tensor
from nbautograd.autograd.backward import ImperativeEngine
from nbautograd.errors import kind_of, warn

__all__ = ["Variable"]


class _VariableType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableType):
    """A new leaf that shares the memory of a tensor; the tensor class of early PyTorch code.

    :param data: the tensor; without it, an empty one.
    :param requires_grad: if True, operations on the leaf are recorded.
    :param volatile: has no effect, and warns; use ``no_grad``.
    :raises TypeError: ``data`` is not a tensor.

    >>> import nbautograd as torch
    >>> torch.autograd.Variable(torch.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    >>> isinstance(torch.ones(2), torch.autograd.Variable)
    True
    """

    _execution_engine: ClassVar[Any] = ImperativeEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        """Return the leaf, which is a tensor."""
        if volatile:
            warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
            if requires_grad:
                raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {kind_of(data)}: use torch.tensor(data)")
        leaf = Tensor() if data is None else data.detach()
        return leaf.requires_grad_() if requires_grad else leaf
