"""What the operations are for sparse tensors, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from nbautograd.core.sparse import SparseTensor
from nbautograd.core.tensor import Tensor

__all__ = ["OPERATIONS", "handles", "is_sparse", "method"]

F = TypeVar("F", bound=Callable[..., Any])
OPERATIONS: dict[str, Callable[..., Any]] = {}
"""The operations by name; what is not here is refused."""


def handles(names: str) -> Callable[[F], F]:
    """Decorator: the function is what these operations and methods are where an argument is sparse."""

    def add(function: F) -> F:
        for name in names.split():
            OPERATIONS[name] = function
            if hasattr(Tensor, name):
                setattr(SparseTensor, name, function)
        return function

    return add


def method(function: F) -> F:
    """Decorator: the function is a method of dense and of sparse tensors."""
    setattr(Tensor, function.__name__, function)
    setattr(SparseTensor, function.__name__, function)
    OPERATIONS[function.__name__] = function
    return function


def is_sparse(value: Any) -> bool:
    """Whether a value is a sparse tensor."""
    return value.__class__ is SparseTensor
