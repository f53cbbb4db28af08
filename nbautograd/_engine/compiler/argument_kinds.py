"""The argument that does not match its annotation, looked for after an error; and calls in a former order.

PyTorch's early signatures have factors before tensors: ``x.add_(2., y)`` for ``x.add_(y, alpha=2.)``.
"""

from __future__ import annotations

import inspect
import itertools
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.size import as_int
from nbautograd._engine.compiler.schema import POINTWISE, OpSchema
from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import DtypeError, kind_of, name_operation, warn

INTS = (int, np.integer, Tensor)
NUMBERS = (int, float, complex, np.number, np.bool_, Tensor)

_TYPES_OF_WORD: dict[str, tuple[str, tuple[type, ...]]] = {
    "Tensor": ("Tensor", (Tensor,)),
    "Number": ("Number", NUMBERS),
    "float": ("float", NUMBERS),
    "int": ("int", INTS),
    "bool": ("bool", (bool, np.bool_, *INTS)),
    "str": ("str", (str,)),
    "dtype": ("torch.dtype", (type(dtypes.float32),)),
    "Sequence": ("tuple", (tuple, list)),
    "tuple": ("tuple", (tuple, list)),
    "Ints": ("int or tuple of ints", (tuple, list, *INTS)),
    "Dims": ("int or tuple of ints", (type(None), tuple, list, *INTS)),
    "None": ("None", (type(None),)),
}
"""For a word of an annotation: its name in messages, and the accepted types."""


def check_arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise a TypeError for the first argument that does not match its annotation, if any."""
    signature = inspect.signature(function)
    try:
        arguments = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return
    for position, (name, parameter) in enumerate(signature.parameters.items(), 1):
        if name not in arguments or parameter.kind is parameter.VAR_KEYWORD:
            continue
        several = parameter.kind is parameter.VAR_POSITIONAL
        for value in arguments[name] if several else [arguments[name]]:
            expected = _unlike(str(parameter.annotation), value)
            if expected is not None:
                by_name = several or name in kwargs or parameter.kind is parameter.KEYWORD_ONLY
                public = function.__name__.lstrip("_")
                raise _mismatch(public, name, 0 if by_name else position, expected, value) from None


def _mismatch(function: str, name: str, position: int, expected: str, value: Any) -> TypeError:
    place = f" (position {position})" if position else ""  # from 1; none for an argument by name
    problem = f", not {kind_of(value)}"
    if expected == "tuple of ints" and isinstance(value, (tuple, list)):
        for i, item in enumerate(value):
            if not isinstance(item, INTS) or i == 0 and isinstance(item, bool):
                problem = f", but found element of type {kind_of(item)} at pos {i}"
                break
    return TypeError(f"{function}(): argument '{name}'{place} must be {expected}{problem}")


def _unlike(annotation: str, value: Any) -> str | None:
    """Return the types required by an annotation, if the value does not match; None if it does, or if unknown."""
    outer = re.sub(r"\[.*?\]+", "", annotation)  # Sequence[Tensor] is a sequence
    kinds = [_TYPES_OF_WORD.get(word.rpartition(".")[2]) for word in outer.split(" | ")]
    if None not in kinds:
        names, types = zip(*kinds, strict=True)
        if not isinstance(value, tuple(itertools.chain(*types))) or not _fits(value, outer):
            return " or ".join(name for name in names if name != "None")
    takes_tensors = "Sequence[Tensor]" in annotation and "Sequence[int]" not in annotation
    if takes_tensors and isinstance(value, (tuple, list)) and not all(isinstance(item, Tensor) for item in value):
        return "tuple of Tensors"
    return None


def _fits(value: Any, annotation: str) -> bool:
    """Return whether a tensor in place of a number is 0-d, and a tuple in place of integers has only integers."""
    if isinstance(value, Tensor):
        return "Tensor" in annotation or not value.ndim
    return not (isinstance(value, (tuple, list)) and "Ints" in annotation) or all(isinstance(n, INTS) for n in value)


def _is_int(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not value._a.ndim and value._a.dtype.kind in "iu"
    return isinstance(value, INTS) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, NUMBERS) and not getattr(value, "ndim", 0)


def _are_ints(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return not any(isinstance(n, (float, str)) for n in value) and not isinstance(value[0] if value else 0, bool)
    return isinstance(value, INTS) and not isinstance(value, bool)


_TEST_OF_ANNOTATION: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "bool": ("bool", lambda value: isinstance(value, bool)),
    "str": ("str", lambda value: isinstance(value, str)),
    "int": ("int", _is_int),
    "Int": ("int", _is_int),
    "Int | Tensor": ("int or Tensor", lambda value: isinstance(value, INTS)),
    "float": ("float", lambda value: _is_number(value) and not isinstance(value, complex)),
    "Number": ("Number", _is_number),
    "Number | Tensor": ("Number or Tensor", lambda value: isinstance(value, NUMBERS)),
    "Ints": ("tuple of ints", _are_ints),
    "Sequence[int]": ("tuple of ints", lambda value: isinstance(value, (tuple, list)) and _are_ints(value)),
    "Dims": ("tuple of ints", lambda value: value is None or _are_ints(value)),
    "dtypes.dtype": ("torch.dtype", lambda value: isinstance(value, (dtypes.dtype, type, np.dtype))),
}
"""For an annotation: its name in messages, and a test of a value, as strict as PyTorch's."""


def checked_option(
    function: str, name: str, value: Any, hint: str, position: int | None = None, operands: tuple[Any, ...] = ()
) -> Any:
    """Check one argument by its annotation.

    :param operands: those that a factor multiplies: a bool multiplies only bools.
    :returns: the value; the number of a tensor in place of one; Python's number for NumPy's.
    """
    if value is None and (hint.endswith("None") or name == "requires_grad"):
        return value
    kind = hint.removesuffix(" | None").removesuffix(" | bool")
    if value.__class__ is bool:
        _check_factor(function, name, operands)
        if kind == "Dims" != hint and position is not None:
            return value  # var(input, unbiased): by position alone
    if hint[0] in "iI" and (value.__class__ is int or name + "?" * (kind != hint) in SYMBOLIC):
        return as_int(value, f"{function}(): argument '{name}'")
    expected, matches = _TEST_OF_ANNOTATION[kind]
    if matches(value):
        if not isinstance(value, Tensor) or "Tensor" in kind:
            return value.item() if isinstance(value, np.number) else value  # which would promote arrays to its dtype
        number = _number_of(kind, value)
        if kind == "float":
            check_real(function, value, number)
        if number is not None:
            return number
    check_real(function, value, value)
    raise _mismatch(function, name, 0 if position is None else position + 1, expected, value) from None


SYMBOLIC = ("groups", "ignore_index", "index", "n?", "num_samples", "padding_idx", "padding_idx?", "step", "step?")
"""Integer options (? or None) that may also be arrays and vectors of one element."""


def _number_of(kind: str, value: Tensor) -> Any:
    """Return a tensor's number, or the tensor in place of several; None if it is of another kind."""
    several = kind in ("Dims", "Ints")
    if value.requires_grad or kind not in ("float", "Number") and value._a.dtype.kind not in "iub"[: 2 + several]:
        return None
    return value if value.ndim else 1 * value.item() if several else value.item()


def _check_factor(function: str, name: str, operands: tuple[Any, ...]) -> None:
    if any(not isinstance(each, Tensor) or each._a.dtype.kind != "b" for each in operands):
        raise DtypeError(f"{function}(): Boolean {name} only supported for Boolean results")


def check_real(function: str, value: Any, number: Any) -> None:
    """Raise for a complex number in place of a real one, where PyTorch reads it first."""
    if isinstance(number, complex) and (number is not value or function.rstrip("_") in OF_SCALARS):
        raise RuntimeError(f"{function}(): value cannot be converted to type double without overflow: {number}")


OF_SCALARS = ("celu", "dist", "elu", "hardshrink", "histc", "leaky_relu", "linalg_vector_norm", "renorm", "softplus")
"""Functions whose numbers PyTorch takes as complex ones first."""


def raise_bad_argument(op: OpSchema, values: tuple[Any, ...], public: str) -> NoReturn:
    """Raise a TypeError for the argument that is not a tensor; if all are tensors, re-raise the current error."""
    for name, value in zip(op.tensors, values, strict=True):
        items = value if name in op.lists and isinstance(value, (tuple, list)) else [value]
        accepted: tuple[type, ...] = (Tensor, int, float, complex) if name in op.numbers else (Tensor,)
        accepted += (type(None),) * (name in op.optional)
        for item in items:
            if not isinstance(item, accepted):
                expected = "tuple of Tensors" if name in op.lists else "Tensor"
                raise _mismatch(public, name, op.tensors.index(name) + 1, expected, item) from None
    if not any(isinstance(value, Tensor) for value in values) and op.kind == POINTWISE:
        raise _mismatch(public, op.tensors[0], 1, "Tensor", values[0]) from None
    if isinstance(error := sys.exception(), Exception):
        name_operation(error, public)
    raise


# -- calls in a former order -------------------------------------------------------------------------------------------


def call_former(op: OpSchema, args: tuple[Any, ...], out: Any = None, method: Any = None) -> Any:
    """Call an operation with arguments in a former order, and warn.

    :param args: the arguments as passed, with a trailing ``...`` for each missing one.
    :param method: the function to call instead of the operation's own: its in-place method.
    :raises TypeError: the arguments are not in such an order.
    """
    while args[-1] is ...:
        args = args[:-1]
    order = "".join("NT"[isinstance(value, Tensor)] for value in args)
    if len(op.former) == 1:  # the last operand may be a number
        order = order[:2] + "T" * len(args[2:])
    tensors, numbers = ([value for kind, value in zip(order, args, strict=True) if kind == own] for own in "TN")
    function = op.function if method is None else method
    if order not in _orders(op) or not all(isinstance(value, (int, float, complex)) for value in numbers):
        expected, given = len(op.positional), len(args)
        raise TypeError(
            f"{function.__name__}() takes {expected} positional arguments but {given} were given: options have names"
        )
    _warn(function.__name__, order, op)
    factors = dict(zip(op.former, numbers, strict=False))
    keywords = {} if out is None else {"out": out}
    return function(*tensors, **factors, **keywords)


def _warn(name: str, order: str, op: OpSchema) -> None:
    """Warn that the order is a former one, and say what it is now."""
    options = ", ".join(f"Number {each} = 1" for each in op.former)
    signature = ", ".join(f"Tensor {each}" for each in op.tensors)
    warn(
        f"This overload of {name} is deprecated:\n\t{name}({_described(order, op)})\nConsider using one of the "
        f"following signatures instead:\n\t{name}({signature}, *, {options})"
    )


def _orders(op: OpSchema) -> set[str]:
    """Return the former orders, with T for a tensor and N for a number."""
    rest = "T" * (len(op.tensors) - 1)
    if len(op.former) == 1:
        return {f"TN{rest}"}
    return {f"NTN{rest}", f"NT{rest}", f"TNN{rest}", f"TN{rest}"}  # of the function, and of the method


def _described(order: str, op: OpSchema) -> str:
    tensors, numbers = iter(op.tensors), iter(op.former)
    return ", ".join(f"Tensor {next(tensors)}" if kind == "T" else f"Number {next(numbers)}" for kind in order)
