"""PyTorch's early signatures, with factors before tensors: ``x.add_(2., y)`` for ``x.add_(y, alpha=2.)``."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.compiler.schema import OpSchema
from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import warn

__all__ = ["call_former"]


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
    """Return the parameters in a former order."""
    tensors, numbers = iter(op.tensors), iter(op.former)
    return ", ".join(f"Tensor {next(tensors)}" if kind == "T" else f"Number {next(numbers)}" for kind in order)
