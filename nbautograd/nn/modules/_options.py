"""Layers that call a function with options, one declaration each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, dataclass_transform

from nbautograd._engine.compiler.source import compiled
from nbautograd.nn.modules.module import Module

__all__ = ["Layer", "differing"]

REQUIRED = inspect.Parameter.empty


@dataclass_transform()
class Layer(Module):
    """Base class of layers that keep options as attributes and call a function with them.

    As in a dataclass, the annotated names of a subclass are the options, in the order of ``__init__``'s arguments,
    and their values the defaults. The arguments of the class statement, which subclasses inherit, are:

    :param shared: whether this is a base without a function, whose options are the first ones of its subclasses.
    :param function: the function that ``forward`` calls with the inputs, and the options by name.
    :param inputs: the names of the inputs.
    :param show: the options in ``repr``: names, for ``name=value``, or a format string in which 0 is the layer;
        ``inplace=True`` is added where the class has that option and it is true.
    :param convert: functions that turn given options into the attributes.
    :param buffers: options that are tensors and belong to the state.
    :param unused: options that are not passed to the function.
    :param training: whether the function gets ``training``.
    :param positional: the number of options that may be passed by position; all by default.
    """

    _function: Callable[..., Any]
    _inputs: tuple[str, ...] = ("input",)
    _options: tuple[str, ...] = ()
    _defaults: Mapping[str, Any] = {}
    _passed: tuple[str, ...] = ()
    _unused: tuple[str, ...] = ()
    _show: str = ""
    _convert: Mapping[str, Callable[[Any], Any]] = {}
    _buffer_names: tuple[str, ...] = ()
    _with_training = False
    _signature = inspect.Signature()

    def __init_subclass__(
        cls, function: Callable[..., Any] | None = None, inputs: str | None = None, show: str | None = None,
        convert: Mapping[str, Callable[[Any], Any]] | None = None, buffers: str | None = None,
        unused: str | None = None, training: bool = False, positional: int | None = None, shared: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init_subclass__(**kwargs)
        for name, words in (("_inputs", inputs), ("_buffer_names", buffers), ("_unused", unused)):
            if words is not None:
                setattr(cls, name, tuple(words.split()))
        if convert is not None:
            cls._convert = convert
        cls._with_training = cls._with_training or training
        if show is not None:
            cls._show = show if "{" in show else ", ".join(f"{name}={{0.{name}}}" for name in show.split())
        if function is None and not shared:
            return  # a subclass of the user's
        own = tuple(vars(cls).get("__annotations__", {}))
        defaults = {name: vars(cls)[name] for name in own if name in vars(cls)}
        for name in defaults:
            delattr(cls, name)
        cls._options, cls._defaults = cls._options + own, {**cls._defaults, **defaults}
        if function is None:
            return
        cls._function = staticmethod(function)
        cls._passed = tuple(name for name in cls._options if name not in cls._unused)
        cls._signature = _signature_of(cls._options, cls._defaults, len(cls._options[:positional]))
        cls.__init__ = _initializer(cls._signature)  # type: ignore[method-assign]

    def _take(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Store the options as attributes."""
        Module.__init__(self)
        bound = self._bound("__init__", self._signature, args, kwargs)
        bound.apply_defaults()
        for name, value in self._checked(bound.arguments).items():
            if name in self._convert:
                value = self._convert[name](value)
            if name in self._buffer_names:
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def _checked(self, options: dict[str, Any]) -> dict[str, Any]:
        """Validate the options and return them."""
        return options

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Return the function's result for the inputs."""
        if named or len(inputs) != len(self._inputs):
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            signature = inspect.Signature([inspect.Parameter(name, kind) for name in self._inputs])
            inputs = self._bound("forward", signature, inputs, named).args
        options = {name: getattr(self, name) for name in self._passed}
        if self._with_training:
            options["training"] = self.training
        return self._function(*inputs, **options)

    def _bound(
        self, method: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> inspect.BoundArguments:
        """Bind arguments to a signature; raise as a method of that signature does."""
        try:
            return signature.bind(*args, **kwargs)
        except TypeError:
            options = signature.parameters.values()
            bare = _with_self(signature.replace(parameters=[each.replace(default=REQUIRED) for each in options]))
            called = FunctionType(compiled(f"def {method}{bare}: ...", "<arguments>", method), {}, method)
            optional = [each for each in options if each.default is not REQUIRED]
            named = [each.name for each in optional if each.kind is inspect.Parameter.KEYWORD_ONLY]
            called.__defaults__ = (0,) * (len(optional) - len(named))
            called.__kwdefaults__ = dict.fromkeys(named)
            called.__qualname__ = f"{type(self).__name__}.{method}"
            called(self, *args, **kwargs)
            raise

    def extra_repr(self) -> str:
        """Return the options to show."""
        text = self._show.format(self)
        if "inplace" in self._options and self.inplace and "inplace" not in self._show:
            return f"{text}, inplace=True" if text else "inplace=True"
        return text


def differing(module: Module, usual: Mapping[str, Any]) -> str:
    """Return the options of a module that differ from the usual ones, each after a comma."""
    values = {name: getattr(module, name) for name in usual}
    return "".join(f", {name}={value}" for name, value in values.items() if value != usual[name])


def _signature_of(options: tuple[str, ...], defaults: Mapping[str, Any], positional: int) -> inspect.Signature:
    """Return the signature of options, the first ones of which may be passed by position."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return inspect.Signature([
        inspect.Parameter(name, kinds[i >= positional], default=defaults.get(name, REQUIRED))
        for i, name in enumerate(options)
    ])  # fmt: skip


def _initializer(signature: inspect.Signature) -> Any:
    def __init__(self: Layer, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        self._take(args, kwargs)

    __init__.__signature__ = _with_self(signature)  # type: ignore[attr-defined]
    return __init__


def _with_self(signature: inspect.Signature) -> inspect.Signature:
    """Return a method's signature, from that of its other arguments."""
    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return signature.replace(parameters=[me, *signature.parameters.values()])
