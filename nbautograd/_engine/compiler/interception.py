"""Interception of single functions: a handler is called in place of a function that many modules have imported.

A dispatch mode sees every operation. For a few functions, as in autocast, it is cheaper to exchange their code and
leave all others alone. A declared operation diverts itself (see ``compiler/op.py``); for any other function the code
object is exchanged here, so that every reference to the function calls the handler.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import cache
from typing import Any

from nbautograd._engine.compiler.inplace import inplace_code
from nbautograd._engine.compiler.registry import OPS
from nbautograd._engine.compiler.source import compiled
from nbautograd._engine.core import dispatch_mode

__all__ = ["Handler", "intercept", "is_intercepted", "release"]

Handler = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""A function called with the original function, and the arguments of the call."""

_usual: dict[Any, tuple[types.CodeType, Any, Any]] = {}
"""For each function with exchanged code: its code, its keyword defaults, and its wrapped function."""
_ABSENT = object()


def intercept(function: Any, handler: Handler) -> None:
    """Call ``handler(plain, args, kwargs)`` instead of ``function`` until ``release``."""
    op = _declaration(function)
    if op is not None:
        op.interceptor = handler
        op.divert(dispatch_mode.is_on_anywhere())
        return
    method_of = getattr(function, "__globals__", {}).get("OP")
    if method_of is not None:
        inplace_code(function, method_of)  # a method compiles itself once, which would replace this code
    plain = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    plain.__kwdefaults__ = function.__kwdefaults__
    _usual[function] = function.__code__, function.__kwdefaults__, vars(function).get("__wrapped__", _ABSENT)
    function.__wrapped__ = plain  # whose signature is the true one
    function.__kwdefaults__ = {"_handler": handler, "_plain": plain}
    function.__code__ = _diverted(len(function.__code__.co_freevars))


def release(function: Any) -> None:
    """Restore a function's own code."""
    op = _declaration(function)
    if op is not None:
        op.interceptor = None
        op.divert(dispatch_mode.is_on_anywhere())
        return
    function.__code__, function.__kwdefaults__, wrapped = _usual.pop(function)
    if wrapped is _ABSENT:
        del function.__wrapped__
    else:
        function.__wrapped__ = wrapped


def is_intercepted(function: Any) -> bool:
    """Return whether a handler is called for ``function``."""
    op = _declaration(function)
    return function in _usual if op is None else op.interceptor is not None


@cache
def _declaration(function: Any) -> Any:
    """Return the declaration of a function of this library, if it is an operation itself."""
    op: Any = getattr(function, "__globals__", {}).get("OP")
    declared: Any = None if op is None else OPS.get(op.name)
    return op if declared is op and op is not None and op.function is function else None


@cache
def _diverted(free: int) -> types.CodeType:
    """Return the code that calls the handler, for functions with this number of closure variables."""
    names = ", ".join(f"free_{i}" for i in range(free))
    lines = [
        f"def around({names}):",
        "    def diverted(*args, _handler, _plain, **kwargs):",
        *([f"        if False: ({names},)"] if free else []),
        "        return _handler(_plain, args, kwargs)",
        "    return diverted",
    ]
    around = compiled("\n".join(lines), f"<nbautograd interception {free}>", "around")
    return next(constant for constant in around.co_consts if isinstance(constant, types.CodeType))
