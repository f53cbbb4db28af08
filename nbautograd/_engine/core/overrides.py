"""``__torch_function__``: classes of users' own that say what operations do with their objects.

Nobody pays for it who has no such class. An object that is no tensor fails where its array is asked for, and is offered
the call then. Of tensors' subclasses it is known that there are some once one has been defined: from then on operations
ask their arguments first (see ``core/dispatch_mode.py``), and composites do.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any

from nbautograd._engine.core import dispatch_mode, inplace
from nbautograd._engine.core.dispatch_mode import UNHANDLED
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd.errors import is_pytorchs, variable_of

__all__ = [
    "UNHANDLED",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "disabled_torch_function",
    "handle",
    "offer",
    "overloaded",
    "subclasses",
]

PACKAGE = __name__.partition(".")[0]
subclasses: list[weakref.ref[type]] = []
"""The classes derived from ``Tensor`` outside of the package that have a say, as long as there are any."""
_off: ContextVar[str] = ContextVar("torch_function_off", default="")


class DisableTorchFunctionSubclass:
    """A block in which subclasses of tensors are taken as tensors."""

    level = "subclasses"

    def __enter__(self) -> None:
        self._token = _off.set(self.level)

    def __exit__(self, *exception: object) -> None:
        _off.reset(self._token)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A block in which no class has a say."""

    level = "all"


def disabled_torch_function(*args: Any, **kwargs: Any) -> Any:
    """The ``__torch_function__`` of classes that want none, such as parameters: results are plain tensors."""
    return NotImplemented


def _has_a_say(cls: type) -> bool:
    method = getattr(cls, "__torch_function__", None)
    return method is not None and method is not disabled_torch_function and cls.__module__.partition(".")[0] != "numpy"


def overloaded(arguments: Iterable[Any]) -> list[Any]:
    """One argument of each class that has a say: those of subclasses first, else from left to right."""
    found: list[Any] = []
    level = _off.get()
    for value in _each(arguments):
        cls = type(value)
        if cls is Tensor or not _has_a_say(cls) or any(type(other) is cls for other in found):
            continue
        if isinstance(value, Tensor):
            if not getattr(cls, "_has_a_say", False) or level and cls.__module__ != PACKAGE:  # sparse tensors always
                continue
        elif level == "all" or is_pytorchs(value):  # errors say what to do with it
            continue
        place = next((i for i, other in enumerate(found) if issubclass(cls, type(other))), len(found))
        found.insert(place, value)
    return found


def _each(arguments: Iterable[Any]) -> Iterator[Any]:
    """The arguments, and what lists and tuples among them hold."""
    for value in arguments:
        if value.__class__ is tuple or value.__class__ is list:
            yield from value
        else:
            yield value


def offer(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the classes of the arguments make of a call; ``UNHANDLED`` if none of them has a say."""
    arguments = overloaded((*args, *kwargs.values()) if kwargs else args)
    return handle(function, arguments, args, kwargs) if arguments else UNHANDLED


def handle(function: Callable[..., Any], arguments: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Ask the classes of ``arguments``, one after the other, what a call comes to.

    :raises TypeError: all of them decline.
    """
    kinds = tuple(map(type, arguments))
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
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.GetSetDescriptorType,
)


def _torch_function(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What operations do with tensors of a subclass: compute, and give results that class.

    A class of one's own may override it as PyTorch's, to see each call and to change it.

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
    """A result, or those in it, as tensors of a subclass."""
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else _as_subclass(result, cls)
    if isinstance(result, (tuple, list)) and any(isinstance(part, Tensor) for part in result):
        return type(result)([_convert(part, cls) for part in result])
    return result


def _as_subclass(self: Tensor, cls: Any) -> Any:
    """The same tensor, with its history, as one of a subclass.

    :raises TypeError: ``cls`` is no class of tensors.

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
    """A new leaf of class ``cls`` that shares the memory of ``data``."""
    if not isinstance(data, Tensor):
        raise TypeError(f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type(data).__name__}")
    leaf = wrap(data._shared_array().view())
    leaf.__class__ = cls
    if require_grad:
        leaf.requires_grad = True
    return leaf


def _notice(cls: Any, **options: Any) -> None:
    """Called with every class derived from ``Tensor``."""
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
    if not subclasses:
        inplace.preparers.append(_nothing)  # no method in place computes straight into its tensor
    subclasses.append(weakref.ref(cls, _forget))
    dispatch_mode.set_override(offer)


def _nothing(array: Any) -> None:
    """Prepare an array for a write."""


def _forget(reference: weakref.ref[type]) -> None:
    """Called when one of the classes is gone: after the last, operations ask no more."""
    subclasses.remove(reference)
    if not subclasses:
        dispatch_mode.set_override(None)
        inplace.preparers.remove(_nothing)


def _of_own_class(method: Any) -> Any:
    """A method, or a property, of which the result is of the tensor's own class."""
    if isinstance(method, property):
        getter: Any = method.fget
        return property(lambda self: _convert(getter(self), type(self)), method.fset, method.fdel, method.__doc__)

    def public(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _convert(method(self, *args, **kwargs), type(self))

    public.__name__, public.__qualname__, public.__doc__ = method.__name__, method.__qualname__, method.__doc__
    return public


_PLAIN = ("data", "detach", "new_empty", "new_full", "new_ones", "new_tensor", "new_zeros")
"""Methods that are no operations."""

_tensor_class: Any = Tensor
_tensor_class.__torch_function__ = classmethod(_torch_function)
_tensor_class.as_subclass = _as_subclass
_tensor_class._make_subclass = staticmethod(_make_subclass)
_tensor_class.__init_subclass__ = classmethod(_notice)  # type: ignore[arg-type]
_torch_function.__name__ = "__torch_function__"
_as_subclass.__name__ = _as_subclass.__qualname__ = "as_subclass"
