"""Interception of single functions: a handler is called in place of a function that many modules have imported.

A dispatch mode sees every operation. For a few functions, as in autocast, it is cheaper to exchange their code and
leave all others alone. A declared operation diverts itself (see ``compiler/op.py``); for any other function the code
object is exchanged here, so that every reference to the function calls the handler.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import cache, partial, update_wrapper
from typing import Any

from nbautograd._engine.arrays.thread_pool import process_lock
from nbautograd._engine.compiler.inplace import inplace_code
from nbautograd._engine.compiler.registry import OPS
from nbautograd._engine.compiler.source import compiled
from nbautograd._engine.core import dispatch_mode

__all__ = ["Handler", "Interceptions", "intercept", "is_intercepted", "release"]

Handler = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""A function called with the original function, and the arguments of the call."""

_held: dict[Any, list[Handler]] = {}
"""For each intercepted function its handlers: each is called in place of the one before it, the last one first."""
_usual: dict[Any, tuple[types.CodeType, Any, bool]] = {}
"""For each function with exchanged code: its code, its keyword defaults, and whether it wraps another."""


def intercept(function: Any, handler: Handler, outside: bool = False) -> None:
    """Call ``handler(plain, args, kwargs)`` instead of ``function`` until ``release``.

    :param outside: if True, ``plain`` calls the handlers that the function has; otherwise they call this one.
    """
    if function in _owners:
        _owners[function].restore(function)  # so that ``plain`` is the function itself, also for who keeps it
    handlers = _held.setdefault(function, [])
    if not handlers and _declaration(function) is None:
        _exchange(function)
    handlers.insert(len(handlers) if outside else 0, handler)
    _call_handlers(function, handlers)


def release(function: Any, handler: Handler) -> None:
    """End the interception by a handler; the function's own code returns with the end of the last one."""
    handlers = _held[function]
    handlers.remove(handler)
    if handlers:
        _call_handlers(function, handlers)
        return
    del _held[function]
    op = _declaration(function)
    if op is not None:
        op.interceptor = None
        op.divert(dispatch_mode.is_on_anywhere())
        return
    function.__code__, function.__kwdefaults__, wraps = _usual.pop(function)
    if not wraps:
        del function.__wrapped__


def _exchange(function: Any) -> None:
    """Exchange the code of a function that is no operation itself."""
    method_of = getattr(function, "__globals__", {}).get("OP")
    if method_of is not None:
        inplace_code(function, method_of)  # a method compiles itself once, which would replace this code
    plain = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    plain.__kwdefaults__, plain.__annotations__ = function.__kwdefaults__, function.__annotations__
    plain.__qualname__ = function.__qualname__  # for messages
    _usual[function] = function.__code__, function.__kwdefaults__, "__wrapped__" in vars(function)
    vars(function).setdefault("__wrapped__", plain)  # whose signature is the true one
    function.__kwdefaults__ = {"_plain": plain}
    function.__code__ = _diverted(len(function.__code__.co_freevars))


def _call_handlers(function: Any, handlers: list[Handler]) -> None:
    """Let an intercepted function call the last handler, whose plain function calls the one before it."""
    handler = handlers[0] if len(handlers) == 1 else partial(_call_all, tuple(handlers))
    op = _declaration(function)
    if op is not None:
        op.interceptor = handler
        op.divert(dispatch_mode.is_on_anywhere())
    else:
        function.__kwdefaults__ = {**function.__kwdefaults__, "_handler": handler}


def _call_all(
    handlers: tuple[Handler, ...], plain: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    for handler in handlers[:-1]:
        plain = update_wrapper(partial(_call_one, handler, plain), plain)
    return handlers[-1](plain, args, kwargs)


def _call_one(handler: Handler, plain: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    return handler(plain, args, kwargs)


class Interceptions:
    """Handlers of many functions, which are switched on and off together.

    After they are switched off, a function keeps the code that calls its handler until its next call, which restores
    its own code. So to switch them on again takes no longer than what was called in between.
    """

    def __init__(self, handlers: Mapping[Any, Handler]) -> None:
        self.handlers, self.is_on = handlers, False
        self._calls: dict[Any, Handler] = {function: partial(self._call, function) for function in handlers}
        self._released = dict.fromkeys(handlers)
        _owners.update(dict.fromkeys(handlers, self))

    def switch(self, on: bool) -> None:
        """Call the handlers from now on, or no more."""
        with process_lock:
            self.is_on = on
            for function in list(self._released) if on else ():
                if self._calls[function] not in _held.get(function, ()):  # else an interrupt ended this loop before
                    intercept(function, self._calls[function], outside=True)
                del self._released[function]

    def rests(self, function: Any) -> bool:
        """Return whether a function has the code that calls its handler, which is switched off."""
        return not self.is_on and function not in self._released

    def _call(self, function: Any, plain: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.is_on:
            return self.handlers[function](plain, args, kwargs)
        self.restore(function)
        return plain(*args, **kwargs)

    def restore(self, function: Any) -> None:
        """Return a function to its own code, if its handler is switched off."""
        with process_lock:
            if self.rests(function):
                self._released[function] = None  # first: an interrupt between the two leaves it callable
                release(function, self._calls[function])


_owners: dict[Any, Interceptions] = {}
"""By function: those that may call a handler in its place."""


def is_intercepted(function: Any) -> bool:
    """Return whether a handler is called for ``function``."""
    owner = _owners.get(function)
    return len(_held.get(function, ())) > (owner is not None and owner.rests(function))


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
