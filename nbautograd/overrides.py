"""``torch.overrides``: modes that override functions, functions that support ``__torch_function__``, and queries."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from nbautograd import autograd
from nbautograd._engine.compiler.interception import OVERRIDE, Handler, Interceptions, return_to_own_code
from nbautograd._engine.core import overrides
from nbautograd._engine.core.dispatch_mode import Switch
from nbautograd._engine.core.tensor import Tensor
from nbautograd._names import namespaces
from nbautograd.errors import warn

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "get_default_nowrap_functions", "handle_torch_function",
    "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
    "is_tensor_method_or_property", "redispatch_function", "resolve_name", "wrap_torch_function",
]  # fmt: skip


class TorchFunctionMode:
    """A block in which each call of a function of this library, or of a tensor's method, goes to the mode first.

    A class defines ``__torch_function__(self, func, types, args=(), kwargs=None)`` and calls ``func`` for the result.
    The mode is off in it, so that the call goes to the next outer mode, and then to classes of tensors. Functions that
    create tensors also go to the mode; reads of attributes, such as ``x.shape``, do not.

    >>> import nbautograd as torch
    >>> class Log(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__, args)
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     x = torch.ones(2) * 3
    ones (2,)
    mul (tensor([1., 1.]), 3)
    """

    inner: TorchFunctionMode

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute ``func(*args, **kwargs)``, or another result; subclasses define it.

        :param types: the classes among the arguments that override functions, too.
        """
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        _process.change(1)
        overrides.modes.set((*overrides.modes.get(), self))
        return self

    def __exit__(self, *exception: object) -> None:
        overrides.modes.set(overrides.modes.get()[:-1])
        _process.change(-1)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a mode (deprecated)."""
        warn("`push` is no longer necessary: enter the mode itself by `with`")
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute ``func(*args, **kwargs)``."""
        return func(*args, **(kwargs or {}))


_process = Switch()
NOT_OVERRIDDEN = re.compile(
    r"(are|autocast|clear|compiled?|get|init|(un)?load|manual|set|sym|thread|use)(_.*)?|broadcast_shapes|can_cast|cond|fork|"
    r"from_.*|frombuffer|initial_seed|is_(anomaly|autocast|deterministic|inference|storage|tensor|vulkan|warn).*|promote_types|"
    r"save|seed|typename|vmap|wait|with_argument_errors|"
    r"_[^_].*|__(class_getitem|copy|deepcopy|delitem|dir|init|init_subclass|iter|new|reduce|reduce_ex|setstate)__|"
    r"as_subclass"
)
"""The functions and methods that no mode overrides, as in PyTorch: they get and set what is global."""


@functools.cache
def _interceptions() -> Interceptions:
    """Return the handlers of all public functions and methods."""
    homes = [*map(namespaces.module, ("", "nn.functional", "linalg", "fft", "special")), Tensor]
    functions: dict[Any, Handler] = {autograd.grad: _offering_handler(autograd.grad)}
    for home in homes:
        for name in dir(home):
            function = getattr(home, name, None)
            if isinstance(function, FunctionType) and not NOT_OVERRIDDEN.fullmatch(name):
                op = function.__globals__.get("OP")
                if function is getattr(op, "operator", None):  # which asks with the operation
                    continue
                functions.setdefault(function, _offering_handler(function))
                if function.__name__[0] == "_" and function.__name__[:2] != "__":
                    function.__name__ = name  # which modes print: an operator has one of its own in its module
    return Interceptions(functions, OVERRIDE)


_process.listeners.append(lambda on: _interceptions().switch(on))


def _offering_handler(function: Any) -> Handler:
    def offer(plain: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if overrides.is_in_mode():
            result = overrides.offer(function, args, kwargs)
            if result is not overrides.UNHANDLED:
                return result
        elif not _process.contexts:
            return_to_own_code(function)
        return plain(*args, **kwargs)

    return offer


def redispatch_function(func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """Return ``func(*args, **kwargs)``, which no mode and no class overrides; what it calls itself is overridden.

    >>> import nbautograd as torch
    >>> class Points(torch.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return torch.overrides.redispatch_function(func, types, args, kwargs)
    >>> torch.ones(2).as_subclass(Points) * 2
    tensor([2., 2.])
    """
    token = overrides.skips.set(func)
    try:
        return func(*args, **(kwargs or {}))
    finally:
        overrides.skips.reset(token)


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether a mode, or an argument's class, overrides functions with ``__torch_function__``.

    >>> import nbautograd as torch
    >>> torch.overrides.has_torch_function([torch.ones(2), 3])
    False
    """
    return overrides.asked(relevant_args) is not None


def has_torch_function_unary(relevant_arg: Any) -> bool:
    """Return :func:`has_torch_function` of one argument."""
    return has_torch_function((relevant_arg,))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """Return :func:`has_torch_function` of its arguments."""
    return has_torch_function(relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Return the result of ``public_api(*args, **kwargs)`` by a mode, or by the classes of ``relevant_args``.

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
            relevant = overrides.asked(dispatcher(*args, **kwargs))
            return function(*args, **kwargs) if relevant is None else overrides.handle(public, relevant, args, kwargs)

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
