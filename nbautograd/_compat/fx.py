"""``torch.fx``: graphs of a function's code are not supported. Marks for functions do nothing; other names raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["wrap"]

Wrapped = TypeVar("Wrapped", bound="str | Callable[..., object]")


def wrap(fn_or_name: Wrapped) -> Wrapped:
    """Mark a function as one step of a graph, without effect.

    :param fn_or_name: the function, or its name.
    :returns: the argument.
    :raises RuntimeError: the argument is neither.

    >>> import nbautograd as torch
    >>> @torch.fx.wrap
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    6
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            f"Unsupported type for global function! Must be either a callable or string name, not {fn_or_name!r}"
        )
    return fn_or_name
