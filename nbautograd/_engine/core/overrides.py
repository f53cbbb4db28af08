"""``__torch_function__``: user classes that override operations on their objects.

Programs without such classes have no overhead. An object that is not a tensor fails when its array is requested, and
only then gets the call. Once a subclass of Tensor has been defined, operations ask their arguments first (see
``core/dispatch_mode.py``), and so do composites.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any

from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.core.dispatch_mode import UNHANDLED as UNHANDLED
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd.errors import is_pytorchs, variable_of

PACKAGE = __name__.partition(".")[0]
subclasses: list[weakref.ref[type]] = []
"""The live classes derived from ``Tensor`` outside the package that may override operations."""
modes: ContextVar[tuple[Any, ...]] = ContextVar("torch_function_modes", default=())
"""The modes of ``nbautograd.overrides``, the outermost first."""
skips: ContextVar[Any] = ContextVar("torch_function_skips", default=None)
"""The function that is not overridden, or None."""
_off: ContextVar[str] = ContextVar("torch_function_off", default="")


class DisableTorchFunctionSubclass:
    """A block in which tensors of subclasses count as plain tensors."""

    level = "subclasses"

    def __enter__(self) -> None:
        self._token = _off.set(self.level)

    def __exit__(self, *exception: object) -> None:
        _off.reset(self._token)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A block in which no class overrides operations."""

    level = "all"


def disabled_torch_function(*args: Any, **kwargs: Any) -> Any:
    """Return a plain result: the ``__torch_function__`` of classes without overrides, such as parameters."""
    return NotImplemented


def _has_a_say(cls: type) -> bool:
    method = getattr(cls, "__torch_function__", None)
    return method is not None and method is not disabled_torch_function and cls.__module__.partition(".")[0] != "numpy"


def overloaded(arguments: Iterable[Any]) -> list[Any]:
    """Return one argument of each class that overrides: subclasses first, otherwise from left to right."""
    found: list[Any] = []
    level = _off.get()
    for value in _each(arguments):
        cls = type(value)
        if cls is Tensor or not _has_a_say(cls) or any(type(other) is cls for other in found):
            continue
        if not _is_heard(value, cls, level):
            continue
        place = next((i for i, other in enumerate(found) if issubclass(cls, type(other))), len(found))
        found.insert(place, value)
    return found


def _is_heard(value: Any, cls: type, level: str) -> bool:
    """Return whether a class with overrides is asked in a block of this level."""
    if isinstance(value, Tensor):
        return getattr(cls, "_has_a_say", False) and (not level or cls.__module__ == PACKAGE)  # sparse tensors always
    return level != "all" and not is_pytorchs(value)  # their errors name the cure


def _each(arguments: Iterable[Any]) -> Iterator[Any]:
    """Yield the arguments, and the items of lists and tuples among them."""
    for value in arguments:
        if value.__class__ is tuple or value.__class__ is list:
            yield from value
        else:
            yield value


def offer(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the overriding result of a call; ``UNHANDLED`` if no mode and no class overrides."""
    arguments = asked((*args, *kwargs.values()) if kwargs else args, function)
    return UNHANDLED if arguments is None else handle(function, arguments, args, kwargs)


def asked(values: Iterable[Any], function: Any = None) -> list[Any] | None:
    """Return the arguments that override a call; None if neither they nor a mode do."""
    if skips.get() is not None and function in (None, skips.get()):
        skips.set(function)
        return None
    return overloaded(values) or ([] if is_in_mode() else None)


def is_in_mode() -> bool:
    """Return whether a mode overrides operations here."""
    return bool(modes.get()) and _off.get() != "all"


def handle(function: Callable[..., Any], arguments: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Ask the innermost mode, which is off until it answers, and the classes of ``arguments`` for the result of a call.

    :raises TypeError: all of them decline.
    """
    kinds = tuple(map(type, arguments))
    if is_in_mode():
        *outer, mode = modes.get()
        token = modes.set((*outer,))
        try:
            result = mode.__torch_function__(function, kinds, args, kwargs)
        finally:
            modes.reset(token)
        if result is not NotImplemented:
            return result
        kinds = (*kinds, type(mode))
    for argument in arguments:
        result = argument.__torch_function__(function, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    name = getattr(function, "__name__", repr(function))
    raise TypeError(
        f"Multiple dispatch failed for 'torch.{name}'; all __torch_function__ handlers returned NotImplemented: those "
        f"of {', '.join(kind.__qualname__ for kind in kinds)}"
    )


# -- of tensors --------------------------------------------------------------------------------------------------------

_BUILTIN = (
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType,
    types.GetSetDescriptorType,
)  # fmt: skip


def _torch_function(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Compute an operation on tensors of a subclass, and give its results that class.

    A user class may override it, as in PyTorch, to see and change each call.

    :param func: the function that was called.
    :param types: the classes among the arguments that have a ``__torch_function__``.
    """
    home = getattr(func, "__module__", None) or ""
    if isinstance(func, _BUILTIN) or home.partition(".")[0] == "torch":
        tensor = next(
            (variable_of(each) for each in (*args, *(kwargs or {}).values()) if isinstance(each, Tensor)), "x"
        )
        raise TypeError(
            f"{getattr(func, '__name__', func)}() is PyTorch's and was given a tensor of nbautograd: take the "
            "function from nbautograd, too, or write `from torch.utils.dlpack import from_dlpack; "
            f"from_dlpack({tensor}.detach())` for the tensor"
        )
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if cls is Tensor else _convert(result, cls)


def _convert(result: Any, cls: type) -> Any:
    """Return a result, or its items, as tensors of a subclass."""
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else _as_subclass(result, cls)
    if isinstance(result, (tuple, list)) and any(isinstance(part, Tensor) for part in result):
        return type(result)([_convert(part, cls) for part in result])
    return result


def _as_subclass(self: Tensor, cls: Any) -> Any:
    """Return the tensor, with its history, as one of a subclass.

    :raises TypeError: ``cls`` is not a tensor class.

    >>> import nbautograd as torch
    >>> torch.ones(2).as_subclass(torch.nn.Parameter)
    Parameter containing:
    tensor([1., 1.])
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError("cls must be a type (and a subclass of torch.Tensor)")
    with DisableTorchFunctionSubclass():
        alias = self._alias()
    alias.__class__ = cls
    return alias


def _make_subclass(cls: Any, data: Tensor, require_grad: bool = False, **options: Any) -> Any:
    """Return a new leaf of class ``cls`` that shares the memory of ``data``."""
    if not isinstance(data, Tensor):
        raise TypeError(f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type(data).__name__}")
    leaf = wrap(data._shared_array().view())
    leaf.__class__ = cls
    if require_grad:
        leaf.requires_grad = True
    return leaf


def _notice(cls: Any, **options: Any) -> None:
    """Register a class derived from ``Tensor``."""
    super(Tensor, cls).__init_subclass__(**options)
    if cls.__module__.partition(".")[0] == PACKAGE:
        return
    cls._printed_as = cls.__name__
    plain = cls._results_are_plain and getattr(cls.__torch_function__, "__func__", None) is _torch_function
    if plain or not _has_a_say(cls):
        return
    cls._has_a_say = True
    for name in _PLAIN:
        if name not in vars(cls) and getattr(cls, name) is getattr(Tensor, name):
            setattr(cls, name, _of_own_class(getattr(Tensor, name)))
    subclasses.append(weakref.ref(cls, _forget))
    dispatch_mode.set_hook("override", offer)


def _forget(reference: weakref.ref[type]) -> None:
    """Remove a freed class: after the last one, operations no longer ask."""
    subclasses.remove(reference)
    if not subclasses:
        dispatch_mode.set_hook("override", None)


def _of_own_class(method: Any) -> Any:
    """Wrap a method, or a property, so that its result has the tensor's own class."""
    if isinstance(method, property):
        getter: Any = method.fget
        return property(lambda self: _convert(getter(self), type(self)), method.fset, method.fdel, method.__doc__)

    def public(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _convert(method(self, *args, **kwargs), type(self))

    public.__name__, public.__qualname__, public.__doc__ = method.__name__, method.__qualname__, method.__doc__
    return public


_PLAIN = ("data", "detach", "new_empty", "new_full", "new_ones", "new_tensor", "new_zeros")
"""Methods that are not operations."""

_tensor_class: Any = Tensor
_tensor_class.__torch_function__ = classmethod(_torch_function)
_tensor_class.as_subclass = _as_subclass
_tensor_class._make_subclass = staticmethod(_make_subclass)
_tensor_class.__init_subclass__ = classmethod(_notice)  # type: ignore[arg-type]
_torch_function.__name__ = "__torch_function__"
_as_subclass.__name__ = _as_subclass.__qualname__ = "as_subclass"
