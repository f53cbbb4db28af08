"""Methods of tensors that are rarely used: Python functions of each element, and old names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import SCALAR_TYPES, kind_of, warn

# -- element by element in Python --------------------------------------------------------------------------------


def apply_(self: Any, callable: Callable[[Any], Any]) -> Any:
    """Replace each element by the result of a Python function: slow, and only on the CPU.

    :raises TypeError: the tensor is on a CUDA device.
    :raises RuntimeError: the tensor requires grad.

    >>> import nbautograd as torch
    >>> torch.tensor([1., 2.]).apply_(lambda value: value * 10)
    tensor([10., 20.])
    """
    return _map("apply_", self, callable)


def map_(self: Any, tensor: Any, callable: Callable[[Any, Any], Any]) -> Any:
    """Replace each element by a Python function of it and that of another tensor, which is broadcast."""
    return _map("map_", self, callable, other=tensor)


def map2_(self: Any, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Any:
    """Replace each element by a Python function of it and those of two other tensors."""
    return _map("map2_", self, callable, x=x, y=y)


# -- old names ---------------------------------------------------------------------------------------------------


def resize(self: Any, *sizes: Any) -> Any:
    """Return the tensor resized: the old form of ``view``, which warns.

    :raises RuntimeError: the number of elements would change.
    """
    warn("non-inplace resize is deprecated")
    shape = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    if math.prod(shape) != self.numel():
        lengths, own = ("x".join(map(str, each)) for each in (shape, self.shape))
        raise RuntimeError(
            f"requested resize to {lengths} ({math.prod(shape)} elements in total), but the given tensor has a "
            f"size of {own} ({self.numel()} elements). autograd's resize can only change the shape of a given "
            "tensor, while preserving the number of elements."
        )
    return self.contiguous().view(shape)


def resize_as(self: Any, tensor: Any) -> Any:
    """Return the tensor resized: the old form of ``view_as``, which warns.

    :raises TypeError: ``tensor`` is not a tensor.
    """
    if not hasattr(tensor, "is_sparse"):
        raise TypeError(f"resize_as(): argument 'tensor' (position 1) must be Tensor, not {kind_of(tensor)}")
    warn("non-inplace resize_as is deprecated")
    return self.contiguous().view(tensor.shape)


def _map(name: str, target: Any, function: Callable[..., Any], **others: Any) -> Any:
    """Replace the elements of ``target`` by a function of them and of those of other tensors.

    :raises TypeError: an argument is not a tensor, or has another dtype; or the tensor is on a CUDA device.
    :raises RuntimeError: a tensor requires grad.
    """
    for position, (argument, other) in enumerate(others.items(), 1):
        if not hasattr(other, "is_sparse"):
            raise TypeError(
                f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {kind_of(other)}"
            )
        if other.dtype is not target.dtype:
            wanted, got = (f"torch.{SCALAR_TYPES[t.dtype.name]}Tensor" for t in (target, other))
            raise TypeError(f"{name}: expected {wanted} for '{argument}' (got {got})")
    if any(t.requires_grad for t in (target, *others.values())):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if target.is_cuda:
        raise TypeError(f"{name} is only implemented on CPU tensors, and this one is on {target.device}")
    operands = [target, *(other.expand(target.shape) for other in others.values())]
    results = [function(*elements) for elements in zip(*(t.flatten().tolist() for t in operands), strict=True)]
    with no_grad():
        return target.copy_(target.new_tensor(results).view(target.shape))


for _method in (apply_, map2_, map_, resize, resize_as):
    _method.__qualname__ = f"Tensor.{_method.__name__}"  # for Python's own errors
    setattr(Tensor, _method.__name__, _method)
