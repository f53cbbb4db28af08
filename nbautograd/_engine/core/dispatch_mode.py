"""Interpreters, which watch or replace operations as PyTorch's TorchDispatchMode does; and which code functions have.

Anomaly detection, hooks on saved tensors, forward-mode AD and inference mode concern every operation but are rarely on.
So an operation asks for none of them: what is on decides which code it has, and ``Exchange`` is the one place where it
is exchanged.

- The *stub* compiles the operation, or chooses its code again. An operation has it from its declaration, and from each
  moment in which tracing begins or ends anywhere, until it is called.
- The *own code* computes; it is the usual or the traced one.
- The *detour* calls ``dispatch`` with a copy of the own code. An operation has it from the first interpreter, or
  handler of ``compiler/interception.py``, that is on anywhere, until it is called after the last. Other functions, and
  in-place methods, have one for handlers only.

Code objects belong to the process, but an interpreter acts where it was pushed: it is stored in a context variable, and
in other threads and tasks ``dispatch`` runs the own code. Three are pushed ``everywhere``, for all threads: anomaly
detection and forward-mode AD, since PyTorch's are process-wide, and inference mode, whose tensors may be used in any
thread. ``docs/architecture.md`` has a table of all that hooks in, and in which order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from types import CodeType, FunctionType
from typing import Any

from nbautograd._engine.arrays.thread_pool import process_lock
from nbautograd._engine.arrays.version_counter import next_sequence_nr
from nbautograd._engine.core.node import Node, OutputEdge
from nbautograd._engine.core.tensor import Tensor, on_wrap

UNHANDLED = object()
"""Returned by ``override`` if no argument overrides the operation."""


class Switch:
    """Hold what is on everywhere, or in how many contexts; call listeners when the first begins and the last ends."""

    __slots__ = ("contexts", "everywhere", "hooks", "listeners")

    def __init__(self, everywhere: Any = False) -> None:
        self.everywhere, self.contexts, self.hooks = everywhere, 0, 0
        self.listeners: list[Callable[[bool], object]] = []

    def is_on(self) -> bool:
        """Return whether something is on in some context."""
        return bool(self.everywhere or self.contexts or self.hooks)

    def change(self, contexts: int = 0, hooks: int = 0, everywhere: Any = None) -> None:
        """Add to the numbers of contexts (one may end twice) and of hooks; or set what is on everywhere."""
        with process_lock:
            before = self.everywhere, self.contexts, self.hooks
            was_on = before[0] or before[1] or before[2]
            try:
                if everywhere is not None:
                    self.everywhere = everywhere
                self.contexts, self.hooks = max(0, before[1] + contexts), before[2] + hooks
                if (not was_on) is not (not (self.everywhere or self.contexts or self.hooks)):
                    self.tell(not was_on)
            except BaseException:  # an interrupt: no operation may stay in the other state
                if not was_on:
                    self.everywhere, self.contexts, self.hooks = before
                self.tell(self.is_on())
                raise

    def tell(self, on: bool) -> None:
        """Call the listeners."""
        for listener in self.listeners:
            listener(on)


class Call:
    """A recorded call of an operation: the declaration, the arguments and the results."""

    __slots__ = ("args", "kwargs", "op", "results")

    def __init__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], results: Sequence[Any]) -> None:
        self.op, self.args, self.kwargs, self.results = op, args, kwargs, results


class Interpreter:
    """Hold what is called while it is pushed: some of these methods; the others are None.

    - ``run(op, call, *args, **kwargs)`` runs an operation; ``made(node, call)`` gets a new node.
    - ``created(t, known)`` gets a tensor that no operation made. This and the following hold in all threads.
    - ``write(t, result, go)`` makes a write in place; ``prepare(array)`` comes before an array is overwritten.
    - ``change(name, t, again, result)`` comes before a tensor becomes a view of itself, as of any other by ``again``;
      gets other memory; or, as an ``out=``, a result.
    - ``follows`` is True if no in-place method may compute directly into its tensor: all call ``copy_into``.
    """

    _none: Any = None
    run = made = created = write = prepare = change = _none
    follows = False

    def __init__(self, **methods: Any) -> None:
        vars(self).update(methods)


followers: list[Interpreter] = []
"""Those that follow writes, of the whole process, in the order in which they were pushed."""
_WRITES = Interpreter(follows=True)
tracing = Switch()
"""Is on while operations need their traced code: see ``core/tracing.py``."""
process = Switch(())  # with the interpreters that act everywhere
is_on_anywhere = process.is_on
"""Returns whether an interpreter acts in some context."""
_here: ContextVar[tuple[Interpreter, ...]] = ContextVar("interpreters", default=())

tangents: Any = None
"""``autograd/jvp.py`` while forward-mode AD is on, whose levels all threads share: it hears of saved tensors. Otherwise
None. Set by ``autograd/forward_ad.py``; here since the engine asks whether a level is active."""
forward_ad_below: ContextVar[int | None] = ContextVar("forward_ad_below", default=None)
"""Operations see only the tangents of the levels below this number; None for all. Set while tangents are computed."""
override: Callable[..., Any] | None = None
"""Called with each operation's function and arguments while tensors have subclasses: see ``core/overrides.py``."""
watcher: Callable[[str, Callable[..., Any], Any, Any], Any] | None = None
"""Called with each operation's name, the function that runs it, and its arguments, in all threads while a profiler is
on. In-place methods, optimizer steps and batches of data loaders also pass through it.
"""


def is_forward_ad_active() -> bool:
    """Return whether a level of forward-mode AD is active, so that operations compute tangents."""
    return tangents is not None and forward_ad_below.get() != 0


def set_hook(slot: str, function: Callable[..., Any] | None) -> None:
    """Set ``override`` or ``watcher``, which all calls of operations go through from now on; None ends that."""
    with process_lock:
        hooks = (function is not None) - (globals()[slot] is not None)
        if hooks:
            _follow(_WRITES, hooks > 0)
        globals()[slot] = function
        process.change(hooks=hooks)


def is_on() -> bool:
    """Return whether an interpreter acts in this context."""
    return bool(process.everywhere or _here.get())


def push(interpreter: Interpreter, everywhere: bool = False) -> None:
    """Call an interpreter until the matching ``pop``: in this context, or in all threads if ``everywhere``."""
    _follow(interpreter, True)
    if everywhere:
        process.change(everywhere=(*process.everywhere, interpreter))
    else:
        process.change(1)
        _here.set((*_here.get(), interpreter))


def pop(interpreter: Interpreter) -> None:
    """Stop calling an interpreter."""
    _follow(interpreter, False)
    here = _without(_here.get(), interpreter)
    if here is None and (everywhere := _without(process.everywhere, interpreter)) is not None:
        process.change(everywhere=everywhere)
        return
    if here is not None:  # else it was pushed in a context that has ended
        _here.set(here)
    process.change(-1)


def _follow(interpreter: Interpreter, on: bool) -> None:
    """Let an interpreter follow writes and new tensors, if it does, from now on or no more."""
    with process_lock:
        if interpreter.created is not None:
            on_wrap(interpreter.created, on)
        if interpreter.follows and on:
            followers.append(interpreter)
        elif interpreter in followers:
            followers.remove(interpreter)


def _without(stack: tuple[Interpreter, ...], interpreter: Interpreter) -> tuple[Interpreter, ...] | None:
    """Return the stack without the innermost occurrence of an interpreter; None if it is not among them."""
    for i in reversed(range(len(stack))):
        if stack[i] is interpreter:
            return stack[:i] + stack[i + 1 :]
    return None


def dispatch(op: Any, plain: Callable[..., Any], args: Any, kwargs: Any, seen: bool = False) -> Any:
    """Run the operation ``op``, whose usual code is ``plain``, by the interpreters that act in this context.

    :param seen: True if the watcher has seen this call.
    """
    watch = watcher
    if watch is not None and not seen:
        return watch(op.name, lambda *args, **kwargs: dispatch(op, plain, args, kwargs, True), args, kwargs)
    if override is not None:
        result = override(op.function, args, kwargs)
        if result is not UNHANDLED:
            return result
    if op.interceptor is not None:
        return op.interceptor(functools.partial(_by_stack, op, plain), args, kwargs)
    return _by_stack(op, plain, *args, **kwargs)


def _by_stack(op: Any, plain: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run an operation by the interpreters on the stack."""
    stack = dict.fromkeys((*process.everywhere, *_here.get()))
    if not stack:
        if op.interceptor is None and not is_on_anywhere():
            with process_lock:  # the last one has ended, unless another thread has begun one
                op.exchange()
        return plain(*args, **kwargs)
    call = plain
    for each in stack:
        if each.run is not None:
            call = functools.partial(each.run, op, call)
    begin = next_sequence_nr()
    result = call(*args, **kwargs)
    if any(each.made is not None for each in stack):
        results = result if isinstance(result, (tuple, list)) else (result,)
        for node in _nodes_of(results):
            if isinstance(node, Node) and node._seq > begin:  # not that of an argument, returned unchanged
                node_created(node, Call(op, args, kwargs, results))
    return result


def _nodes_of(results: Sequence[Any]) -> dict[Any, None]:
    """Return what the results come from, mostly nodes, each once."""
    edges = [t._fn for t in results if isinstance(t, Tensor)]
    return dict.fromkeys([fn.next0 if fn.__class__ is OutputEdge else fn for fn in edges])


def node_created(node: Node, call: Call | None = None) -> None:
    """Pass a new node to the interpreters; called by code that creates nodes without ``dispatch``."""
    for each in dict.fromkeys((*process.everywhere, *_here.get())):
        if each.made is not None:
            each.made(node, call)


# -- the code of functions ---------------------------------------------------------------------------------------------


def _first_call(*args: Any, **kwargs: Any) -> Any:
    """Compile the operation, or choose its code; the names in capitals are the function's own globals."""
    OP.exchange(True) if OP.compiled else OP.compile()  # type: ignore[name-defined]  # noqa: F821
    return STUB(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821 - which is a stub no more


def _dispatch(*args: Any, **kwargs: Any) -> Any:
    """Run the operation by the interpreters."""
    return DISPATCH(OP, PLAIN, args, kwargs)  # type: ignore[name-defined]  # noqa: F821


FIRST_CALL, DETOUR = _first_call.__code__, _dispatch.__code__
_CURRENT: dict[Exchange, None] = {}
"""The operations with the code for the present modes; any other is a stub."""
_DIRECT: dict[Exchange, None] = {}
"""Those with their own code."""


class Exchange:
    """Functions that exchange their code together: those of an operation, or a single other function."""

    is_operation = False
    detour: CodeType | None = None
    """The code that calls handlers or ``dispatch``; the first handler of a function that is no operation sets it."""
    compile_own: Any  # that of an operation
    interceptor: Any = None
    """Called with the copy and its arguments, in place of each function; None without handlers."""

    def __init__(self) -> None:
        self.functions: dict[Any, Any] = {}  # with their copies
        self.own: dict[bool, list[tuple[Any, CodeType]]] = {}  # with their own code, by whether it is traced

    def add(self, function: Any) -> Any:
        """Exchange the code of a function, too; return the copy of it."""
        plain = self.functions[function] = FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        plain.__kwdefaults__, plain.__annotations__ = function.__kwdefaults__, function.__annotations__
        plain.__qualname__ = function.__qualname__  # for messages
        if self.is_operation:
            function.__globals__.update(PLAIN=plain, DISPATCH=dispatch)
        else:
            function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "_exchange": self, "_plain": plain}
        return plain

    def exchange(self, called: bool = False) -> None:
        """Give the functions the code for the present modes and handlers; stubs wait until they are ``called``."""
        detours, traced = self.interceptor is not None, False
        if self.is_operation:
            if called:
                _CURRENT[self] = None
            elif self not in _CURRENT:
                return
            detours, traced = detours or is_on_anywhere(), tracing.is_on()
            _DIRECT[self] = None  # until it is diverted wholly: an interrupt must not leave it forgotten
        for function, code in self.own.get(traced) or self.compile_own(traced):
            if detours:
                plain = self.functions[function]
                if plain.__code__ is not code:
                    plain.__code__ = code
                code = self.detour
            function.__code__ = code
        if detours:
            _DIRECT.pop(self, None)

    def renew(self, code: CodeType, defaults: tuple[Any, ...] | None = None, keywords: Any = None) -> Any:
        """Take this as the own code of the only function; return the copy."""
        ((function, plain),) = self.functions.items()
        plain.__defaults__ = function.__defaults__ = defaults
        plain.__kwdefaults__ = function.__kwdefaults__ = {**function.__kwdefaults__, **(keywords or {})}
        plain.__code__, self.own[False] = code, [(function, code)]
        self.exchange()
        return plain


_others: dict[Any, Exchange] = {}
"""The exchanges of functions that are no operations, by function."""


def exchange_of(function: Any) -> Any:
    """Return what exchanges the code of a function: its operation, or an exchange of its own."""
    op = getattr(function, "__globals__", {}).get("OP")
    if op is not None and function in (op.function, op.operator):
        return op
    with process_lock:
        exchange = _others.get(function)
        if exchange is None:
            exchange = Exchange()
            exchange.own[False] = [(function, function.__code__)]
            _others[function] = exchange
            vars(function).setdefault("__wrapped__", exchange.add(function))  # whose signature is the true one
    return exchange


def _switch_tracing(on: bool) -> None:
    for operation in [*_CURRENT]:
        for function in operation.functions:
            function.__code__ = FIRST_CALL
        _DIRECT.pop(operation, None)
        _CURRENT.pop(operation, None)


def _switch_modes(on: bool) -> None:
    if on:
        for operation in [*_DIRECT]:
            operation.exchange()


tracing.listeners.append(_switch_tracing)
process.listeners.append(_switch_modes)
