"""``torch._subclasses``: the tensors of PyTorch's compiler, of which a program here never meets one."""

from __future__ import annotations

from typing import Any, NoReturn

from nbautograd._engine.core.tensor import Tensor
from nbautograd._names.refused import refuse

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]


class FakeTensor(Tensor):
    """The class of tensors without values in PyTorch's compiler: it has no instances."""

    def __new__(cls, *args: Any, **options: Any) -> NoReturn:
        refuse("_subclasses.FakeTensor", "a tensor on the device meta has a shape and a dtype without values, too")


class FakeTensorMode:
    """The mode that makes such tensors: it cannot be created."""

    def __init__(self, *args: Any, **options: Any) -> None:
        refuse("_subclasses.FakeTensorMode", "use torch.device('meta') as a context")


def is_fake(x: object) -> bool:
    """Return whether a tensor is one of PyTorch's compiler: False.

    >>> import nbautograd as torch
    >>> is_fake(torch.ones(2))
    False
    """
    return isinstance(x, FakeTensor)
