"""Gradient modes, which control recording on the tape: ``no_grad``, ``enable_grad``, ``set_grad_enabled``.

The modes are context variables, so that threads and asyncio tasks do not see each other's.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Self, TypeVar, overload

from nbautograd.errors import kind_of, warn

F = TypeVar("F", bound=Callable[..., Any])

grad_enabled: ContextVar[bool] = ContextVar("grad_enabled", default=True)
is_grad_enabled = grad_enabled.get
"""Returns True if operations are recorded now."""
inference: ContextVar[bool] = ContextVar("inference", default=False)
is_inference_mode_enabled = inference.get
"""Returns True if ``inference_mode`` is on."""


def boolean(value: Any, function: str, argument: str, position: int = 1) -> bool:
    """Return an argument that is a bool; raise TypeError for any other."""
    if not isinstance(value, bool):
        raise TypeError(f"{function}(): argument '{argument}' (position {position}) must be bool, not {kind_of(value)}")
    return value


def unrecorded(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function without recording, also if interrupted."""
    before = grad_enabled.get()
    try:
        grad_enabled.set(False)
        result = call(*args, **kwargs)
    finally:
        grad_enabled.set(before)
    return result


class _Mode:
    """A context manager, re-enterable, and a decorator of functions and generator functions."""

    __slots__ = ("_before",)
    mode: bool
    _before: list[bool]

    def __enter__(self) -> None:
        self._before.append(grad_enabled.get())
        grad_enabled.set(self.mode)

    def __exit__(self, *exception: object) -> None:
        grad_enabled.set(self._before.pop())

    def clone(self) -> _Mode:
        """Return a new object of the same mode, for each call of a decorated function."""
        return type(self)()

    def __call__(self, function: F) -> F:
        return run_in(self, function)  # type: ignore[return-value]


def run_in(mode: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs in ``mode.clone()``. A generator runs in it too, but its caller does not."""
    if inspect.isgeneratorfunction(function):
        return run_generator(mode, function)
    if inspect.isclass(function):
        warn_of_class(function)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with mode.clone():
            return function(*args, **kwargs)

    return wrapper


def warn_of_class(cls: type) -> None:
    """Warn that decorating a class affects only its construction, and turns it into a function."""
    warn(
        "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions "
        f"or methods: {cls.__name__} becomes a function, and its methods run in no other mode. Decorate __init__, or "
        "the methods, instead.",
        FutureWarning,
    )


def run_generator(mode: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a generator function of which each resumption runs in ``mode.clone()``."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        send, value = generator.send, None
        while True:
            try:
                with mode.clone():
                    item = send(value)
            except StopIteration as stop:
                return stop.value
            try:
                send, value = generator.send, (yield item)
            except GeneratorExit:
                with mode.clone():  # its ``finally`` also runs in this mode
                    generator.close()
                raise
            except BaseException as error:
                send, value = generator.throw, error

    return wrapper


class _Fixed(_Mode):
    """A mode fixed by the class, so that ``@no_grad`` also decorates without parentheses."""

    __slots__ = ()

    @overload
    def __new__(cls, function: F) -> F: ...  # type: ignore[misc]
    @overload
    def __new__(cls, function: None = None) -> Self: ...
    def __new__(cls, function: Any = None) -> Any:
        """Return a context manager, or the decorated function if ``function`` is not None."""
        self = object.__new__(cls)
        self._before = []
        return self if function is None else self(function)


_Fixed.__new__.__qualname__ = "grad_mode.__new__"


class no_grad(_Fixed):  # noqa: N801 - PyTorch's name
    """A mode that does not record operations: results have no ``grad_fn`` and do not require grad.

    >>> import nbautograd as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    __slots__ = ()
    mode = False


class enable_grad(_Fixed):  # noqa: N801 - PyTorch's name
    """A mode that records operations again inside ``no_grad``.

    >>> import nbautograd as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     (x * 2).requires_grad
    True
    """

    __slots__ = ()
    mode = True


class set_grad_enabled(_Mode):  # noqa: N801 - PyTorch's name
    """A mode that sets whether operations are recorded: at once as a function, for a block as a context manager.

    >>> import nbautograd as torch
    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        self.mode = boolean(mode, "set_grad_enabled", "enabled")
        self._before = [grad_enabled.get()]
        grad_enabled.set(self.mode)

    def __enter__(self) -> None:
        grad_enabled.set(self.mode)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    def clone(self) -> _Mode:
        """Return a new object, which sets the mode at once and again when entered."""
        return set_grad_enabled(self.mode)

    def __call__(self, function: F) -> F:
        """Decorate a function: the decorator acts only inside calls."""
        grad_enabled.set(self._before.pop())  # as a decorator it acts only inside calls
        return super().__call__(function)


_multithreading: ContextVar[bool] = ContextVar("multithreading", default=True)


def is_multithreading_enabled() -> bool:
    """Return the value of ``set_multithreading_enabled``."""
    return _multithreading.get()


class set_multithreading_enabled:  # noqa: N801 - PyTorch's name
    """A setting for compatibility with PyTorch: backward passes run in the calling thread, so it changes nothing."""

    def __init__(self, mode: bool) -> None:
        self.mode = boolean(mode, "set_multithreading_enabled", "enabled")
        self.prev = _multithreading.get()
        _multithreading.set(self.mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _multithreading.set(self.prev)


class _AnomalyMode:
    """The state of anomaly detection, shared by all threads as in PyTorch."""

    __slots__ = ("check_forward", "check_nan", "inf", "on", "wanted")

    def __init__(self) -> None:
        self.on = self.check_nan = self.check_forward = self.inf = False
        self.wanted = True  # the last argument check_nan, even if the mode is off


anomaly = _AnomalyMode()
