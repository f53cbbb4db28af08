"""Interception of single functions: a handler is called in place of a function that many modules have imported.

A dispatch mode sees every operation. For a few functions, as in autocast, it is cheaper to exchange their code and
leave all others alone (``core/dispatch_mode.py``), so that every reference to the function calls the handler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial, update_wrapper
from types import CodeType
from typing import Any

from nbautograd._engine.arrays.thread_pool import process_lock
from nbautograd._engine.compiler.source import compiled
from nbautograd._engine.core.dispatch_mode import Exchange, exchange_of

Handler = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""A function called with the original function, and the arguments of the call."""
Held = tuple[int, Handler, "Interceptions | None"]
TRACE, AUTOCAST, OVERRIDE = range(3)
"""The kinds of handlers, from the innermost outwards: ``plain`` is the next inner one, at last the function itself."""

_held: dict[Exchange, list[Held]] = {}
"""The handlers of each intercepted function, the innermost first."""


@cache
def _detour(free: int) -> CodeType:
    """Return the code that calls handlers, for functions with this number of closure variables, which they keep."""
    names = "".join(f"f{i}, " for i in range(free))
    call = "_plain(*args, **kwargs) if (handler := _exchange.interceptor) is None else handler(_plain, args, kwargs)"
    text = f"lambda *args, _exchange, _plain, **kwargs: ({call}) if True or ({names}) else 0"
    outer = compiled(f"def outer({names}): return {text}", "<nbautograd interception>", "outer")
    return next(each for each in outer.co_consts if isinstance(each, CodeType))


def intercept(function: Any, handler: Handler, kind: int = TRACE, owner: Interceptions | None = None) -> None:
    """Call ``handler(plain, args, kwargs)`` instead of ``function`` until ``release``, or until its owner is off."""
    exchange = exchange_of(function)
    if exchange.detour is None:
        exchange.detour = _detour(len(function.__code__.co_freevars))
    held = _held.setdefault(exchange, [])
    held.insert(sum(other < kind for other, *_ in held), (kind, handler, owner))  # as the innermost of its kind
    _call_handlers(exchange, held)


def release(function: Any, handler: Handler) -> None:
    """End the interception by a handler; the function's own code returns with the end of the last one."""
    exchange = exchange_of(function)
    held = _held[exchange]
    found = next((each for each in held if each[1] is handler), None)  # none: that of another function of an operation
    if found is not None:
        held.remove(found)
    _call_handlers(exchange, held)


def return_to_own_code(function: Any) -> None:
    """Return a function to its own code if its handlers are switched off; one that has nothing to do calls this."""
    exchange = exchange_of(function)
    with process_lock:
        held = _held.get(exchange, [])
        for each in tuple(held):
            owner = each[2]
            if owner is not None and not owner.is_on:
                owner.released[function] = None  # first: an interrupt between the two leaves it callable
                held.remove(each)
        _call_handlers(exchange, held)


def _call_handlers(exchange: Exchange, held: list[Held]) -> None:
    """Let intercepted functions call the last handler, whose plain function calls the one before it."""
    if len(held) < 2:
        exchange.interceptor = held[0][1] if held else None
    else:
        exchange.interceptor = partial(_call_all, [handler for _, handler, _ in held])
    exchange.exchange()


def _call_all(handlers: list[Handler], plain: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    for handler in handlers[:-1]:
        plain = update_wrapper(partial(_call_one, handler, plain), plain)
    return handlers[-1](plain, args, kwargs)


def _call_one(handler: Handler, plain: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    return handler(plain, args, kwargs)


class Interceptions:
    """Handlers of many functions, which are switched on and off together.

    After they are switched off, a function keeps the code that calls its handler until its next call, in which the
    handler calls ``return_to_own_code``. So to switch them on again takes no longer than what was called in between.
    """

    def __init__(self, handlers: Mapping[Any, Handler], kind: int) -> None:
        self.handlers, self.kind, self.is_on = handlers, kind, False
        self.released = dict.fromkeys(handlers)

    def switch(self, on: bool) -> None:
        """Call the handlers from now on, or no more."""
        with process_lock:
            self.is_on = on
            for function in list(self.released) if on else ():
                held = _held.get(exchange_of(function), ())
                if all(owner is not self for *_, owner in held):  # else an interrupt ended this loop before
                    intercept(function, self.handlers[function], self.kind, self)
                del self.released[function]


def is_intercepted(function: Any) -> bool:
    """Return whether a handler is called for ``function``."""
    return any(owner is None or owner.is_on for *_, owner in _held.get(exchange_of(function), ()))
