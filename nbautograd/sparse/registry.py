"""The sparse versions of operations, by name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from nbautograd._engine.core.batched import BatchedTensor, levels
from nbautograd._engine.core.sparse import SparseTensor, UnsupportedError
from nbautograd._engine.core.tensor import Tensor
from nbautograd._names.docstrings import with_import

__all__ = ["OPERATIONS", "handles", "is_sparse", "method"]

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
