"""Predicates on tensors (``is_complex``, ``is_same_size``, ...) and the dtype of a result."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from nbautograd._engine.arrays import dtypes, version_counter
from nbautograd._engine.compiler.op import composite
from nbautograd._engine.core.tensor import Tensor
from nbautograd._names.docstrings import add_example, described, with_import
from nbautograd.errors import kind_of

__all__ = [
    "can_cast", "is_complex", "is_conj", "is_floating_point", "is_inference", "is_neg", "is_nonzero", "is_same_size",
    "is_signed", "is_tensor", "numel", "result_type",
]  # fmt: skip

Number = int | float | complex | bool
F = TypeVar("F", bound=Callable[..., Any])


def method_of_tensor(name: str, called: str = "") -> Callable[[F], F]:
    """Attach a function to Tensor.

    :param called: the function's own name from then on, which Python says in errors of arguments.
    """

    def attach(function: F) -> F:
        function.__doc__ = with_import(function.__doc__ or "")
        if called:
            function.__name__ = function.__qualname__ = called
        setattr(Tensor, name, function)
        return function

    return attach


_LIST = re.compile(r"\[\[.*?\]\]|(?<!Size\()\[.*?\]")


def example(text: str, before: str = "") -> Callable[[F], F]:
    """Append an example to a docstring: ``"exp([0., 1.]) -> [1.0000, 2.7183]"``.

    Lists stand for tensors, and a name at the beginning for one of ``torch``.

    :param before: the lines before it.
    """
    call, _, result = text.partition(" -> ")
    call, result = _LIST.sub(r"torch.tensor(\g<0>)", call), _LIST.sub(r"tensor(\g<0>)", result)
    if result.startswith("tensor([["):
        result = result.replace("], [", "],\n        [")
    lead = "torch." if text[0].isalpha() else ""

    def append(function: F) -> F:
        add_example(function, f"{before}>>> {lead}{call}\n{result}")
        return function

    return append


def check_tensors(function: str, **arguments: Any) -> None:
    """Check that arguments are tensors."""
    for position, (name, value) in enumerate(arguments.items(), 1):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"{function}(): argument '{name}' (position {position}) must be Tensor, not {kind_of(value)}"
            )


@described
def is_tensor(obj: object) -> bool:
    """Return whether ``obj`` is a tensor.

    >>> torch.is_tensor(torch.ones(2)), torch.is_tensor([1, 2])
    (True, False)
    """
    return isinstance(obj, Tensor)


@described
@example("is_complex([1j]) -> True")
def is_complex(input: Tensor) -> bool:
    """Return whether the dtype is complex."""
    check_tensors("is_complex", input=input)
    return input.is_complex()


@described
@example("is_floating_point([1.]) -> True")
def is_floating_point(input: Tensor) -> bool:
    """Return whether the dtype is floating."""
    check_tensors("is_floating_point", input=input)
    return input.is_floating_point()


@composite()
@example("is_signed([1.]), [True].is_signed() -> (True, False)")
def is_signed(input: Tensor) -> bool:
    """Return whether the dtype is signed: it has negative numbers."""
    check_tensors("is_signed", input=input)
    return input.dtype.is_signed


@composite()
@example("is_nonzero([0.]) -> False")
def is_nonzero(input: Tensor) -> bool:
    """Return whether a tensor of one element is not equal to zero.

    :raises RuntimeError: the tensor does not have exactly one element.
    """
    check_tensors("is_nonzero", input=input)
    return bool(input)


@composite()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return whether both tensors have the same shape.

    >>> torch.is_same_size(torch.ones(2), torch.zeros(2))
    True
    """
    check_tensors("is_same_size", input=input, other=other)
    return input.shape == other.shape


@composite()
@example("is_conj([1j]) -> False")
def is_conj(input: Tensor) -> bool:
    """Return False: conjugation is always eager, without lazy conjugate views."""
    check_tensors("is_conj", input=input)
    return False


@composite()
@example("is_neg([1.]) -> False")
def is_neg(input: Tensor) -> bool:
    """Return False: negation is always eager, without lazy negative views."""
    check_tensors("is_neg", input=input)
    return False


@composite()
@example("is_inference(torch.ones(2)) -> False")
def is_inference(input: Tensor) -> bool:
    """Return whether this is an inference tensor, created in inference mode."""
    check_tensors("is_inference", input=input)
    return version_counter.is_inference(input._a)


@described
@example("numel(torch.ones(2, 3)) -> 6")
def numel(input: Tensor) -> int:
    """Return the number of elements."""
    check_tensors("numel", input=input)
    return input.numel()


@described
def result_type(tensor1: Tensor | Number, tensor2: Tensor | Number) -> dtypes.dtype:
    """Return the dtype of arithmetic between the two, by type promotion.

    A Python number, or a 0-d tensor next to tensors with dimensions, counts only if its category (bool, integer,
    floating, complex) is higher than that of the rest.

    >>> torch.result_type(torch.tensor([1, 2]), 1.0), torch.result_type(torch.tensor([1.]), 1j)
    (torch.float32, torch.complex64)
    """
    return result_dtype(tensor1, tensor2)


def result_dtype(*values: Tensor | Number) -> dtypes.dtype:
    """Return the result dtype of all arguments, by type promotion."""
    kinds = [
        (value.dtype, 2 if value._a.ndim else 1) if isinstance(value, Tensor) else (dtypes.of_number(value), 0)
        for value in values
    ]
    return dtypes.result_dtype(kinds)


@described
def can_cast(from_: dtypes.dtype, to: dtypes.dtype) -> bool:
    """Return whether type promotion allows the cast: not complex to real, floating to integer, or a number to bool.

    >>> torch.can_cast(torch.double, torch.float), torch.can_cast(torch.float, torch.int)
    (True, False)
    """
    from_, to = dtypes.as_dtype(from_), dtypes.as_dtype(to)
    for position, (name, value) in enumerate((("from_", from_), ("to", to)), 1):
        if not isinstance(value, dtypes.dtype):
            raise TypeError(
                f"can_cast(): argument '{name}' (position {position}) must be torch.dtype, not {kind_of(value)}"
            )
    return from_.rank <= to.rank
