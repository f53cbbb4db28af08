"""``torch.utils._contextlib``: context managers that are decorators, too; private in PyTorch as well, but much used."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from nbautograd._engine.core.grad_mode import run_generator, warn_of_class
from nbautograd._names import absent

__all__ = ["context_decorator"]


class _Factory:
    """What makes a context manager each time, as ``run_generator`` wants it."""

    def __init__(self, clone: Callable[[], Any]) -> None:
        self.clone = clone


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """A function each call of which runs in a context manager; of a generator function, each resumption does.

    :param ctx: a context manager, or a function that makes one.
    :param func: the function.
    :raises AssertionError: ``ctx`` could be either.
    :raises RuntimeError: it is a class.

    >>> import nbautograd as torch
    >>> context_decorator(torch.no_grad().clone, torch.is_grad_enabled)()
    False
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it ambiguous "
            "which interface to use: pass lambda: ctx() if it makes context managers, lambda: ctx if it is one."
        )
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have "
            "the context manager applied: decorate the methods that you mean."
        )
    make = ctx if callable(ctx) else lambda: ctx
    if inspect.isgeneratorfunction(func):
        return run_generator(_Factory(make), func)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)

    return wrapped


class _DecoratorContextManager:
    """A base of context managers that decorate functions; one with arguments overrides ``clone``."""

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        func = orig_func
        if inspect.isclass(orig_func):
            warn_of_class(orig_func)
            func = lambda *args, **kwargs: orig_func(*args, **kwargs)  # noqa: E731
        return context_decorator(self.clone, func)

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exception: object) -> Any:
        raise NotImplementedError

    def clone(self) -> Any:
        """Another one, for a call."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same of one without arguments, which decorates without parentheses, too."""

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        """An instance, or the function decorated."""
        return super().__new__(cls) if orig_func is None else cls()(orig_func)


absent.answer(__name__)
