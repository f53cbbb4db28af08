"""``torch.utils._contextlib``: context managers that are also decorators; private in PyTorch, but widely used."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from nbautograd._engine.core.grad_mode import run_in, warn_of_class
from nbautograd._names import absent

__all__ = ["context_decorator"]


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose calls run in a context manager; for a generator function, each resumption does.

    :param ctx: a context manager, or a function that returns one.
    :param func: the function.
    :raises AssertionError: ``ctx`` could be either.
    :raises RuntimeError: ``func`` is a class.

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
    return run_in(SimpleNamespace(clone=make), func)


class _DecoratorContextManager:
    """The base of context managers that decorate functions; override ``clone`` if there are arguments."""

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
        """Return another context manager, for a call."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The base of context managers without arguments, which also decorate without parentheses."""

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        """Return an instance, or the decorated function."""
        return super().__new__(cls) if orig_func is None else cls()(orig_func)


absent.answer(__name__)
