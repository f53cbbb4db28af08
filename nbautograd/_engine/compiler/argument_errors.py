"""Errors of arguments: the argument of the wrong type, or the operation whose shapes or dtypes do not match.

All work is done after an error, so that valid calls have no cost. Accepted types are read from the annotations, so that
they are stated once.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

from nbautograd import errors
from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.size import MAX_INT64, MIN_INT64
from nbautograd._engine.compiler.schema import OpSchema
from nbautograd._engine.core.overrides import UNHANDLED, offer, overloaded, subclasses
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._names import lazy
from nbautograd.errors import is_pytorchs

F = TypeVar("F", bound=Callable[..., Any])


def with_argument_errors(function: F) -> F:
    """Return a function with clear errors: a TypeError names the argument of the wrong type, others the function."""
    function.__qualname__ = function.__qualname__.lstrip("_")  # which Python names in errors of arguments

    options = options_of(function)
    first_option = min((position for _, position, *_ in options), default=sys.maxsize)

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        if subclasses and (answer := offer(public, args, kwargs)) is not UNHANDLED:
            return answer
        if len(args) > first_option or kwargs and options:
            args = check_options(function, options, args, kwargs)
        try:
            return function(*args, **kwargs)
        except CALL_ERRORS as error:
            if (answer := answer_error(error, public, function, args, kwargs)) is not UNHANDLED:
                return answer
            raise

    return public  # type: ignore[return-value]


_NAMES = """
    avg_pool1d avg_pool2d avg_pool3d bilinear channel_shuffle conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d cosine_similarity gelu hardshrink linear logsigmoid one_hot pairwise_distance pixel_shuffle
    pixel_unshuffle prelu scaled_dot_product_attention softplus softshrink"""
OPERATIONS = frozenset(_NAMES.split())
"""The functions of networks that are operations in PyTorch, not functions in Python."""
CALL_ERRORS = (AttributeError, *errors.CAUGHT)


def answer_error(error: Exception, public: Any, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Offer a failed call to the classes of its arguments, or name the function in the error.

    :returns: an argument's answer, or UNHANDLED.
    :raises TypeError: an argument does not match its annotation, which PyTorch's operations see before all else.
    """
    is_call = isinstance(error, (AttributeError, TypeError))
    if is_call and (answer := offer(public, args, kwargs)) is not UNHANDLED:
        return answer
    is_operation = function.__module__.startswith("nbautograd._engine.ops") or function.__name__ in OPERATIONS
    if isinstance(error, AttributeError) or not is_call and is_operation:
        from nbautograd._engine.compiler.argument_kinds import check_arguments  # after an error only

        check_arguments(function, args, kwargs)
    errors.name_operation(error, function.__name__)
    return UNHANDLED


AT_SIGHT: dict[str, tuple[type, ...]] = {
    "bool": (bool,), "str": (str,), "int": (int,), "Int": (int,), "float": (float, int), "Number": (float, int),
    "Number | Tensor": (float, int, Tensor), "Ints": (int,), "Dims": (int, type(None)),
    "Dims | bool": (int, type(None)), "Int | Tensor": (), "Sequence[int]": (), "dtypes.dtype": (),
}  # fmt: skip
"""For an annotation: the classes of which a value needs no further look."""


USUAL = {
    "bool": "? is not True and ? is not False",
    "str": "?.__class__ is not str",
    "int": "?.__class__ is not int",
    "float": "?.__class__ is not float and ?.__class__ is not int",
    "Number": "?.__class__ is not float and ?.__class__ is not int",
    "Sequence[int]": "?.__class__ is not tuple",
    "Ints": "?.__class__ is not tuple and ?.__class__ is not int",
}
"""For an annotation of an option: the condition under which its argument is looked at once more."""


Options = list[tuple[str, int, str, tuple[type, ...]]]


def options_of(function: Callable[..., Any]) -> Options:
    """Return the options of a function that have one of the simple annotations.

    Of each: name, position, annotation, and the classes of the values that need no further look.
    """
    function = inspect.unwrap(function)
    code, hints = function.__code__, function.__annotations__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    own = (function.__module__ or "").startswith("nbautograd.")  # a function without a module is a reader's
    kinds = [hint for hint in AT_SIGHT if own or hint == "bool"]
    options: Options = []
    for i, name in enumerate(names):
        hint = str(hints.get(name))
        kind = hint.removesuffix(" | None")
        if kind in kinds and name not in _READ_BY_PYTHON.get(kind, ()):
            at_sight = AT_SIGHT.get(kind, ()) + (type(None),) * (kind != hint)
            if kind in ("int", "Int") and name[:3] not in ("dim", "axi"):
                at_sight = at_sight[1:]
            options.append((name, i if i < code.co_argcount else sys.maxsize, hint, at_sight))
    return options


_READ_BY_PYTHON = {
    "bool": (
        *("antialias", "center", "get_infos", "inplace", "recompute_scale_factor", "reduce", "return_indices"),
        "size_average",
    ),
    "float": ("norm_type",),
    "str": ("mode", "padding_mode", "reduction"),
}
"""By annotation, options that PyTorch's Python code reads: it takes any value as true or false, or compares texts."""


def check_options(
    function: Callable[..., Any], options: Options, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Check the arguments of options, and replace tensors in place of numbers by their numbers, also in ``kwargs``.

    :returns: the positional arguments.
    :raises TypeError: an argument is of another type.
    """
    count = len(args)
    for name, position, hint, at_sight in options:
        if position < count:
            value = args[position]
        elif name in kwargs:
            value = kwargs[name]
        else:
            continue
        kind = value.__class__
        if kind in at_sight or kind is int and hint[0] in "iI" and MIN_INT64 <= value <= MAX_INT64:
            continue
        public = function.__name__.lstrip("_")
        if position < count:
            args = (*args[:position], check_option(public, name, value, hint, position), *args[position + 1 :])
        else:
            kwargs[name] = check_option(public, name, value, hint)
    return args


def check_option(function: str, name: str, value: Any, hint: str, *more: Any) -> Any:
    """Check one argument by its annotation as ``checked_option`` does, which is loaded late."""
    if value.__class__ in AT_SIGHT.get(hint, ()) and hint[0] not in "iI":
        return value
    from nbautograd._engine.compiler.argument_kinds import checked_option

    return checked_option(function, name, value, hint, *more)


# -- of operations ---------------------------------------------------------------------------------------------------


def refuse_or_offer(op: OpSchema, values: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Offer the call to an argument's ``__torch_function__``; without one, act as ``raise_bad_argument``."""
    if overloaded(values):
        return _offered(op, values, args, kwargs)
    if op.name in OF_TWO_NUMBERS and all(isinstance(value, (int, float, complex, np.number)) for value in values):
        return op.function(wrap(np.array(values[0], dtypes.of_number(values[0]).numpy)), *args[1:], **kwargs)
    return _bad_argument(op, values)


OF_TWO_NUMBERS = ("add", "divide_rounded", "floor_divide", "mul", "sub", "true_divide")
"""Operations that PyTorch computes of two numbers; all others need a tensor."""


def _bad_argument(op: OpSchema, values: tuple[Any, ...]) -> NoReturn:
    from nbautograd._engine.compiler.argument_kinds import raise_bad_argument  # after an error only

    raise_bad_argument(op, values, public_name(op))


def _offered(op: OpSchema, values: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Offer a call to the classes of its arguments, without options that have their defaults."""
    defaults = op.body.__defaults__ or ()
    while defaults and len(args) > len(op.positional) - len(op.body.__defaults__ or ()) and args[-1] is defaults[-1]:
        args, defaults = args[:-1], defaults[:-1]
    usual = op.body.__kwdefaults__ or {}
    given = {name: value for name, value in kwargs.items() if value is not usual.get(name)}
    answer = offer(op.function, args, given)
    return _bad_argument(op, values) if answer is UNHANDLED else answer


def not_implemented_or_raise(op: OpSchema, values: tuple[Any, ...], args: Any = (), kwargs: Any = None) -> Any:
    """Return NotImplemented for operators, so that Python tries the other operand's method or raises a TypeError.

    PyTorch's tensors do not support ours, and their class is also called Tensor; comparisons would be False without an
    error.
    """
    if overloaded(values) and not any(is_pytorchs(value) for value in values):
        return _offered(op, values, args, kwargs or {})
    if any(is_pytorchs(value) for value in values):
        _bad_argument(op, values)
    if all(isinstance(value, (Tensor, int, float, complex)) for value in values):
        raise
    if op.name == "eq" and isinstance(values[1], np.ndarray) and values[1].dtype.kind in "biufc":  # no other operator
        return op.function(values[0], wrap(values[1]))
    return NotImplemented


def refuse_dtype(op: OpSchema, tensor: Tensor) -> NoReturn:
    """Raise for a dtype that an operation does not accept."""
    raise errors.UnsupportedDtypeError(public_name(op), tensor.dtype, op.accepts)


def refuse_complex(op: OpSchema) -> NoReturn:
    """Raise in place of the node of a complex result."""
    raise RuntimeError(f"{public_name(op)} does not support automatic differentiation for outputs with complex dtype.")


def name_operation(op: OpSchema, error: Exception) -> None:
    """Put the operation's public name before an error's message, if it names none."""
    errors.name_operation(error, public_name(op))


def public_name(op: OpSchema) -> str:
    """Return the public name of an operation: for ``pow_tensor`` and the like, the name of its node."""
    module, bare = op.body.__module__, op.name.lstrip("_")
    late = lazy.FAMILIES.get(module.partition(".")[2])
    exported = getattr(sys.modules.get(module), "__all__", None) if late is None else late.split()
    if exported is None or bare in exported:
        return bare
    if op.node_name is None or op.node_name == "NotImplemented":
        return op.symbol if op.symbol.isidentifier() else bare
    node = re.sub(r"Backward\d*$", "", op.node_name)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", node).lower()
