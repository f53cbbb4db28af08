"""``torch.overrides``: for functions that support ``__torch_function__``, and for code that queries them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from nbautograd._engine.core import overrides
from nbautograd._engine.core.tensor import Tensor
from nbautograd._names import namespaces

__all__ = [
    "get_default_nowrap_functions",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether an argument's class overrides functions with ``__torch_function__``.

    >>> import nbautograd as torch
    >>> torch.overrides.has_torch_function([torch.ones(2), 3])
    False
    """
    return bool(overrides.overloaded(relevant_args))


def has_torch_function_unary(relevant_arg: Any) -> bool:
    """Return :func:`has_torch_function` of one argument."""
    return has_torch_function((relevant_arg,))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """Return :func:`has_torch_function` of its arguments."""
    return has_torch_function(relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Return the result of ``public_api(*args, **kwargs)`` according to the classes of ``relevant_args``.

    :raises TypeError: all of them decline.
    """
    return overrides.handle(public_api, overrides.overloaded(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function so that it asks the classes of its arguments first.

    :param dispatcher: a function that returns the relevant arguments, given all.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def public(*args: Any, **kwargs: Any) -> Any:
            relevant = overrides.overloaded(dispatcher(*args, **kwargs))
            return overrides.handle(public, relevant, args, kwargs) if relevant else function(*args, **kwargs)

        return public

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Return whether an object is a tensor, or of a class with ``__torch_function__``.

    >>> import nbautograd as torch
    >>> torch.overrides.is_tensor_like(torch.ones(2)), torch.overrides.is_tensor_like(3)
    (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Return whether a function is a method of ``Tensor``, or the getter of a property."""
    name = getattr(func, "__name__", "")
    return name == "__get__" or any(value is func for cls in Tensor.__mro__ for value in vars(cls).values())


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Return the functions whose results keep their class: getters, which do not use this protocol."""
    return set()


def resolve_name(f: Callable[..., Any]) -> str | None:
    """Return the name of a PyTorch function, with its module; None if it has none.

    >>> import nbautograd as torch
    >>> torch.overrides.resolve_name(torch.nn.functional.relu), torch.overrides.resolve_name(torch.add)
    ('torch.nn.functional.relu', 'torch.add')
    """
    name = getattr(f, "__name__", "")
    for path in ("", "nn.functional", "linalg", "fft", "special"):
        if name and getattr(namespaces.module(path), name, None) is f:
            return ".".join(["torch", *([path] if path else []), name])
    return f"torch.Tensor.{name}" if getattr(Tensor, name, None) is f else None
