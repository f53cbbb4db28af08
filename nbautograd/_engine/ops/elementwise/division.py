"""Elementwise division: exact, rounded, remainders, and divisors of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.compiler.op import POINTWISE, alias, composite, elementwise, no_method
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import not_implemented  # noqa: F401 - formulas name it
from nbautograd._engine.ops.queries import Number, example

__all__ = ["div", "divide", "floor_divide", "fmod", "gcd", "lcm", "reciprocal", "remainder", "true_divide"]


@elementwise(
    node="DivBackward0", symbol="÷", operators="__truediv__ __itruediv__ __div__ __idiv__", floating=True,
    input="g / conj(other)",
    other="-g * conj(input / other / other)",
)  # fmt: skip
@example("[1, 2] / 2 -> [0.5000, 1.0000]")
def true_divide(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Compute ``input / other``, elementwise; integers give floats."""
    return input / other


@composite(inplace_method=True)
@example('div([7., -7.], 2, rounding_mode="trunc") -> [ 3., -3.]')
def div(
    input: Tensor, other: Tensor | Number, *, rounding_mode: str | None = None, out: Tensor | None = None
) -> Tensor:
    """Compute ``input / other``, elementwise, exact or rounded to an integer.

    :param rounding_mode: None, ``"trunc"`` (towards zero) or ``"floor"`` (down).
    :raises RuntimeError: the rounding mode is unknown.
    """
    if rounding_mode is None:
        return true_divide(input, other, out=out)
    if rounding_mode in ("floor", "trunc"):
        return divide_rounded(input, other, rounding_mode, out=out)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


divide = div
alias(divide=div)


def _refuse_zero_divisor(input: Any, other: Any) -> None:
    """Raise if integers are divided by zero, as PyTorch does; NumPy gives 0."""
    if input.size and input.dtype.kind in "iu" and bool((other == 0).any()):
        raise RuntimeError("ZeroDivisionError: an integer tensor was divided by zero")


@no_method(node="DivBackward2", symbol="÷", kind=POINTWISE, accepts="if", input="zeros_of(g)", other="zeros_of(g)")
def divide_rounded(input: Tensor | Number, other: Tensor | Number, rounding_mode: str) -> Tensor:
    """Return the quotient rounded to an integer, in the inputs' result type; its derivative is 0."""
    _refuse_zero_divisor(input, other)
    if rounding_mode == "floor":
        return np.floor_divide(input, other)
    if input.dtype.kind == "f":
        return np.trunc(input / other)
    quotient = np.floor_divide(input, other)
    return quotient + ((quotient < 0) & (quotient * other != input)).astype(quotient.dtype)


@elementwise(
    node="NotImplemented", symbol="⌊÷⌋", operators="__floordiv__ __ifloordiv__", accepts="if",
    input="not_implemented('floor_divide')",
    other="not_implemented('floor_divide')",
)  # fmt: skip
@example("[7, -7] // 2 -> [ 3, -4]")
def floor_divide(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Compute ``input // other``, the quotient rounded down; use ``div(..., rounding_mode="floor")`` for derivatives.

    :raises RuntimeError: integers are divided by zero.
    """
    _refuse_zero_divisor(input, other)
    return np.floor_divide(input, other)


@composite(operators="__rfloordiv__", method=False)
@example("7 // [2, 5] -> [3, 1]")
def _rfloordiv(input: Tensor, other: Tensor | Number) -> Tensor:
    """Compute ``other // input``, the reflected form of floor division.

    :raises RuntimeError: an integer is divided by zero.
    """
    return floor_divide(other, input)


@elementwise(
    symbol="mod", accepts="if", operators="__mod__ __imod__",
    input="g",
    other="-g * divide_rounded(input, other, 'floor')",
)  # fmt: skip
@example("[-3., 3.] % 2 -> [1., 1.]")
def remainder(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Compute ``input % other``, the remainder of floor division, which has the sign of the divisor."""
    _refuse_zero_divisor(input, other)
    result = np.remainder(input, other)
    if result.dtype.kind != "f":
        return result
    return np.where(result == 0, np.copysign(result, input), result)  # a zero has the dividend's sign


@composite(operators="__rmod__", method=False)
@example("7 % [4, 5] -> [3, 2]")
def _rmod(input: Tensor, other: Tensor | Number) -> Tensor:
    """Compute ``other % input``, the reflected form of the remainder.

    :raises RuntimeError: an integer is divided by zero.
    """
    if input.requires_grad and not isinstance(other, (Tensor, complex)):
        return remainder_of_number(input, other)
    return remainder(other, input)


@no_method(node="NotImplemented", symbol="mod", kind=POINTWISE, accepts="f", input="not_implemented('remainder')")
def remainder_of_number(input: Tensor, number: Number) -> Tensor:
    """Compute ``number % input``, without a derivative, as in PyTorch; that of a tensor has one."""
    result = np.remainder(number, input)
    return np.where(result == 0, np.copysign(result, number), result)


@elementwise(symbol="fmod", accepts="if", input="g", other="-g * trunc(input / other)")
@example("fmod([-3., 3.], 2) -> [-1.,  1.]")
def fmod(input: Tensor, other: Tensor | Number) -> Tensor:
    """Compute C's ``fmod``: the remainder of truncated division, which has the sign of the dividend."""
    _refuse_zero_divisor(input, other)
    return np.fmod(input, other)


@elementwise(symbol="1/·", floating=True, input="-g * conj(result * result)")
@example("reciprocal([2., 4.]) -> [0.5000, 0.2500]")
def reciprocal(input: Tensor) -> Tensor:
    """Compute ``1 / input``, elementwise; integers give floats."""
    return np.reciprocal(input)


@composite(operators="__rtruediv__ __rdiv__", method=False)
@example("1 / [2, 4] -> [0.5000, 0.2500]")
def _rdiv(input: Tensor, other: Tensor | Number) -> Tensor:
    """Compute ``other / input``, the reflected form of division.

    :raises TypeError: ``other`` is neither.
    """
    return reciprocal(input) * other


@elementwise(accepts="i")
@example("gcd([4, 6], [6, -9]) -> [2, 3]")
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """Return the greatest common divisor of each pair of integers.

    :raises RuntimeError: the dtype is not an integer dtype.
    """
    return np.gcd(input, other)


@elementwise(accepts="i")
@example("lcm([4, 6], [6, 9]) -> [12, 18]")
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """Return the least common multiple of each pair of integers.

    :raises RuntimeError: the dtype is not an integer dtype.
    """
    result = np.lcm(input, other)
    return abs(result) if result.itemsize > 2 else result
