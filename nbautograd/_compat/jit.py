"""``torch.jit``: ``trace`` records and compiles (in ``traced``); ``script`` returns its argument."""

from __future__ import annotations

import collections.abc
import contextlib
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

from nbautograd._compat.futures import Future
from nbautograd._compat.traced.interceptions import TracerWarning, is_tracing
from nbautograd._compat.traced.public import trace, trace_module
from nbautograd._compat.traced.script import ScriptFunction
from nbautograd._compat.traced.trace import TracingCheckError
from nbautograd._names.docstrings import import_in_module
from nbautograd._names.refused import refuse, why
from nbautograd.errors import warn
from nbautograd.nn.modules.module import Module

__all__ = [
    "Attribute", "Error", "Final", "Future", "ScriptFunction", "ScriptModule", "ScriptWarning", "TracerWarning",
    "TracingCheckError", "annotate", "enable_onednn_fusion", "export", "fork", "freeze", "ignore", "interface",
    "is_scripting", "is_tracing", "isinstance", "onednn_fusion_enabled", "optimize_for_inference",
    "optimized_execution", "run_frozen_optimizations", "script", "script_if_tracing", "script_method",
    "set_fusion_strategy", "strict_fusion", "trace", "trace_module", "unused", "wait",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])
Code = TypeVar("Code")
is_a = isinstance  # hidden by ``isinstance`` of this module


def _deprecated(name: str, instead: str = "Please use `torch.compile` instead.") -> None:
    """Give PyTorch's warning, which programs filter."""
    warn(f"`torch.jit.{name}` is deprecated. {instead}", DeprecationWarning)


class Attribute(NamedTuple):
    """A value, and its type for a compiler, for attributes of a ``ScriptModule`` as in PyTorch.

    :param value: the value.
    :param type: its type.
    :returns: a named tuple of both.
    :raises TypeError: an argument is missing.

    >>> torch.jit.Attribute(1, int).value
    1
    """

    value: Any
    type: Any


class Error(Exception):
    """The error of PyTorch's compiled code; never raised by nbautograd.

    :param args, kwargs: the message, as of Python's exceptions.
    :returns: an exception.
    :raises TypeError: keywords are given.

    >>> issubclass(torch.jit.Error, Exception)
    True
    """


class ScriptWarning(Warning):
    """A category of warnings that programs filter; never used by nbautograd."""


class ScriptModule(Module):
    """A module with methods marked by ``script_method``; like any other module, it returns the result of ``forward``.

    :param args, kwargs: none, as of ``nn.Module``.
    :raises TypeError: arguments are given.

    >>> isinstance(torch.jit.ScriptModule(), torch.nn.Module)
    True
    """


def script(obj: Code, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Code:
    """Return the argument, a function, module or class, which runs as it is written. Also a decorator.

    It is deprecated and warns, as in PyTorch 2.13.

    :param obj: the function, module or class; also a list or dict.
    :param optimize, example_inputs: accepted and ignored.
    :returns: ``obj``.
    :raises TypeError: PyTorch cannot compile ``obj``.

    >>> import warnings, nbautograd as torch
    >>> with warnings.catch_warnings(action="ignore"):
    ...     double = torch.jit.script(lambda x: 2 * x)
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    _deprecated("script", "Please switch to `torch.compile` or `torch.export`.")
    if not callable(obj) and not is_a(obj, (list, dict)):
        raise TypeError(f"{type(obj)} is a built-in class: script() takes a function, a module or a class")
    return obj


def script_method(fn: F) -> F:
    """Mark a method of a ``ScriptModule``, without effect."""
    _deprecated("script_method", "Please switch to `torch.compile` or `torch.export`.")
    return fn


def script_if_tracing(fn: F) -> F:
    """Return the function: nothing is traced.

    :param fn: the function.
    :returns: ``fn``.

    >>> torch.jit.script_if_tracing(abs)(-2)
    2
    """
    return fn


def unused(fn: F) -> F:
    """Mark a function for a compiler to leave out; it runs as written.

    :param fn: the function.
    :returns: ``fn``.

    >>> torch.jit.unused(abs)(-2)
    2
    """
    return fn


def export(fn: F) -> F:
    """Mark a method for a compiler to include; it runs as written.

    :param fn: the method.
    :returns: ``fn``.

    >>> torch.jit.export(abs)(-2)
    2
    """
    return fn


_overload = _overload_method = _drop = unused
_script_if_tracing = script_if_tracing


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Mark a function for a compiler to leave to Python: ``@ignore`` or ``@ignore(drop=True)``; it runs as written.

    :param drop: the function, or a bool for a decorator with arguments.
    :param kwargs: accepted and ignored.
    :returns: the function, or a decorator that returns its function.
    :raises RuntimeError: ``drop`` is neither a function nor a bool.

    >>> torch.jit.ignore(drop=True)(abs)(-2)
    2
    """
    if callable(drop):
        return drop
    if not is_a(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    return lambda fn: fn


def interface(obj: Code) -> Code:
    """Mark a class as an interface, and return it unchanged.

    :param obj: the class.
    :returns: ``obj``.
    :raises RuntimeError: ``obj`` is not a class.

    >>> import warnings, nbautograd as torch
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.jit.interface(dict) is dict
    True
    """
    _deprecated("interface")
    if not inspect.isclass(obj):
        raise RuntimeError("interface must be applied to a class")
    return obj


def annotate(the_type: Any, the_value: Code) -> Code:
    """Return the value; its type is for a compiler.

    :param the_type: accepted and not checked.
    :param the_value: the value.
    :returns: ``the_value``.

    >>> torch.jit.annotate(list[int], [1, 2])
    [1, 2]
    """
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Return whether a value has a type, which may name the items of containers, as ``list[int]``; a tuple means any.

    :param obj: any value.
    :param target_type: the type, ``None``, a union or a tuple of types.
    :returns: a Python bool.
    :raises RuntimeError: a container type does not name its items.

    >>> torch.jit.isinstance([1, 2], list[int]), torch.jit.isinstance((1, "a"), tuple[int, int])
    (True, False)
    """
    if is_a(target_type, tuple):
        return any(isinstance(obj, each) for each in target_type)
    origin, parts = typing.get_origin(target_type), typing.get_args(target_type)
    if origin in (typing.Union, types.UnionType):
        return any(isinstance(obj, each) for each in parts)
    if target_type is None:
        return obj is None
    container = origin or target_type
    if container in (list, tuple, dict) and not parts and target_type != tuple[()]:
        name = getattr(target_type, "__name__", str(target_type))
        raise RuntimeError(
            f"Attempted to use {name} without a contained type. Please add a contained type, e.g. {name}[int]"
        )
    return is_a(obj, container) and _has_items(obj, container, parts)


_isinstance = isinstance


def _has_items(obj: Any, container: Any, parts: tuple[Any, ...]) -> bool:
    """Return whether the items of a container have the types that the container's type names."""
    if container is dict:
        return all(isinstance(key, parts[0]) and isinstance(value, parts[1]) for key, value in obj.items())
    if container is tuple and parts[-1:] != (Ellipsis,):
        return len(obj) == len(parts) and all(map(isinstance, obj, parts))
    if container in (tuple, list, collections.abc.Sequence):
        return all(isinstance(each, parts[0]) for each in obj)
    return True


def _unwrap_optional(x: Any) -> Any:
    """Return a value after checking that it is not None.

    :raises AssertionError: the value is None.
    """
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x


def is_scripting() -> bool:
    """Return False: nothing is compiled."""
    return False


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Call the function immediately, as PyTorch does outside compiled code, and return its result as a future.

    :param func: the function.
    :param args, kwargs: the arguments of the function.
    :returns: a ``torch.jit.Future`` that is done.
    :raises TypeError: ``func`` is not callable; its own errors are also raised.

    >>> import warnings, nbautograd as torch
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.jit.wait(torch.jit.fork(torch.add, torch.ones(2), 1))
    tensor([2., 2.])
    """
    _deprecated("fork")
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[Any]) -> Any:
    """Return the result of a ``fork``.

    :param future: a ``torch.jit.Future``.
    :returns: its result.
    :raises TypeError: ``future`` is not a future.

    >>> import warnings, nbautograd as torch
    >>> future = torch.jit.Future()
    >>> future.set_result(3)
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.jit.wait(future)
    3
    """
    _deprecated("wait")
    if not is_a(future, Future):
        raise TypeError(f"wait(): argument 'future' must be a Future, not {type(future).__name__}")
    return future.wait()


_fork, _wait = fork, wait


def freeze(mod: Module, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Module:
    """Return the module: there is no graph to put its parameters into.

    :param mod: a module in eval mode.
    :param preserved_attrs, optimize_numerics: accepted and ignored.
    :returns: ``mod``.
    :raises RuntimeError: ``mod`` is not a module, or is in training mode.

    >>> import warnings, nbautograd as torch
    >>> module = torch.nn.Linear(2, 1).eval()
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.jit.freeze(module) is module
    True
    """
    _deprecated("freeze")
    if not is_a(mod, Module):
        raise RuntimeError(f"Freezing expects a ScriptModule as input, not {type(mod).__name__}")
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. "
            "Please call .eval() on your module before freezing."
        )
    return mod


def optimize_for_inference(mod: Module, other_methods: list[str] | None = None) -> Module:
    """Return the module in eval mode: there is no graph to optimize.

    :param mod: a module.
    :param other_methods: accepted and ignored.
    :returns: ``mod``.
    :raises RuntimeError: ``mod`` is not a module.

    >>> import warnings, nbautograd as torch
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.jit.optimize_for_inference(torch.nn.Dropout()).training
    False
    """
    _deprecated("optimize_for_inference")
    if not is_a(mod, Module):
        raise RuntimeError(f"optimize_for_inference expects a ScriptModule as input, not {type(mod).__name__}")
    return mod.eval()


def run_frozen_optimizations(
    mod: Module, optimize_numerics: bool = True, preserved_methods: list[str] | None = None
) -> None:
    """Do nothing: there is no graph.

    :param mod, optimize_numerics, preserved_methods: accepted and ignored.
    :returns: None.
    """


_strategy: list[tuple[str, int]] = [("STATIC", 2), ("DYNAMIC", 10)]
_onednn = False


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Store the fusion strategy of a compiler, which has no effect.

    :param strategy: pairs of ``"STATIC"`` or ``"DYNAMIC"`` and a number; they are not checked.
    :returns: the previous strategy.

    >>> import warnings, nbautograd as torch
    >>> with warnings.catch_warnings(action="ignore"):
    ...     before = torch.jit.set_fusion_strategy([("STATIC", 3)])
    ...     torch.jit.set_fusion_strategy(before)
    [('STATIC', 3)]
    """
    _deprecated("set_fusion_strategy")
    global _strategy
    before, _strategy = _strategy, strategy
    return before


def enable_onednn_fusion(enabled: bool) -> None:
    """Store whether a compiler may use oneDNN, which has no effect.

    :param enabled: the setting.
    :returns: None.

    >>> torch.jit.enable_onednn_fusion(True)
    >>> torch.jit.onednn_fusion_enabled()
    True
    >>> torch.jit.enable_onednn_fusion(False)
    """
    global _onednn
    _onednn = bool(enabled)


def onednn_fusion_enabled() -> bool:
    """Return the setting of ``enable_onednn_fusion``, initially False.

    :returns: a Python bool.

    >>> torch.jit.onednn_fusion_enabled()
    False
    """
    return _onednn


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Open a ``with`` block without effect."""
    yield


class strict_fusion:  # noqa: N801 - PyTorch's name
    """A context manager without effect: it concerns compiled code.

    :returns: a context manager.

    >>> with torch.jit.strict_fusion():
    ...     x = torch.ones(2) + 1
    """

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Raise: there is no compiled code to write.

    :param m: the module.
    :param f: the file.
    :returns: nothing, because it always raises.
    :raises NotImplementedError: always.

    >>> torch.jit.save(torch.nn.ReLU(), "relu.pt")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    NotImplementedError: torch.jit.save is not part of nbautograd: ...
    """
    refuse("jit.save", f"{why('jit')}; torch.save(module.state_dict(), f) stores its weights")


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> Any:
    """Raise: reading compiled code is not supported.

    :param f: the file.
    :param map_location: the device of the tensors.
    :returns: nothing, because it always raises.
    :raises NotImplementedError: always.

    >>> torch.jit.load("relu.pt")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    NotImplementedError: torch.jit.load is not part of nbautograd: ...
    """
    refuse("jit.load", f"{why('jit')}; torch.load reads a state_dict, which PyTorch can write of the module")


import_in_module(__name__)
