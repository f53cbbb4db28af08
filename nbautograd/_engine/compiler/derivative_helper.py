"""``@derivative_helper``: a function that formulas call, written once and run over arrays and over tensors.

A one-line formula is text in its ``@op``. A formula of several steps is a function, in which the name of an operation
must mean its body over arrays and the operation itself over tensors, just as in the text.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, TypeVar

from nbautograd._engine.compiler.op import OPS
from nbautograd._engine.compiler.registry import HELPERS
from nbautograd._engine.core.tensor import Tensor

__all__ = ["derivative_helper"]

F = TypeVar("F", bound=Callable[..., Any])


def derivative_helper(function: F) -> F:
    """Make ``function`` use the bodies of operations for arrays, and the operations themselves for tensors."""
    compiled: dict[bool, Callable[..., Any]] = {}

    @functools.wraps(function)
    def either(*args: Any) -> Any:
        graph = False
        for a in args:
            if isinstance(a, Tensor):
                graph = True
        if graph not in compiled:
            meanings = {name: op.function if graph else op.body for name, op in OPS.items()}
            scope = {**function.__globals__, **meanings}
            compiled[graph] = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
        return compiled[graph](*args)

    HELPERS[either] = function
    return either
