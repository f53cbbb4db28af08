"""Element by element: sums, products, quotients, signs, powers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from nbautograd.arrays import backend, dtypes, precise
from nbautograd.compiler.op import POINTWISE, alias, composite, op
from nbautograd.compiler.promotion import number_like
from nbautograd.core.tensor import Tensor
from nbautograd.errors import DtypeError, UnsupportedDtypeError, is_pytorchs, kind_of
from nbautograd.ops._internal import complex_array, not_implemented, ratio  # noqa: F401 - formulas name the others
from nbautograd.ops.queries import Number, check_tensors, result_dtype

__all__ = [
    "abs",
    "absolute",
    "add",
    "addcdiv",
    "addcmul",
    "div",
    "divide",
    "float_power",
    "floor_divide",
    "fmod",
    "gcd",
    "lcm",
    "lerp",
    "mul",
    "multiply",
    "neg",
    "negative",
    "positive",
    "pow",
    "reciprocal",
    "remainder",
    "rsub",
    "sgn",
    "sign",
    "square",
    "sub",
    "subtract",
    "true_divide",
]

# -- sums and products -----------------------------------------------------------------------------------------------


@op(
    node="AddBackward0",
    symbol="+",
    kind=POINTWISE,
    operators="__add__ __radd__ __iadd__",
    input="g",
    other="g if alpha == 1 else conj(conj(g) * alpha)",
)
def add(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """``input + alpha * other``.

    >>> import nbautograd as torch
    >>> torch.add(torch.tensor([1., 2.]), torch.tensor([10., 20.]), alpha=2)
    tensor([21., 42.])
    """
    return input + other if alpha == 1 else input + times(alpha, other)


def times(alpha: Number, array: Any) -> Any:
    """``alpha * array`` in the array's dtype.

    :raises RuntimeError: ``alpha`` is of a higher category than the array.
    """
    factor = number_like(alpha, array.__class__, array)
    if factor is not None:  # a plain number for a usual floating dtype
        try:
            return backend.quietly.run(operator.mul, array, factor)
        except RuntimeError:
            return backend.run_quietly(operator.mul, array, factor)
    if alpha.__class__ is float and array.dtype.kind == "f":
        return array * alpha  # which NumPy takes to the array's dtype
    category = dtypes.of(array.dtype).rank
    if isinstance(alpha, bool) and category:
        raise DtypeError(f"Boolean alpha only supported for Boolean results, and these are {dtypes.of(array.dtype)!r}")
    if isinstance(alpha, float) and category < 2:
        raise DtypeError(
            f"For integral input tensors, argument alpha must not be a floating point number, but it is {alpha}"
        )
    if isinstance(alpha, complex) and category < 3:
        raise DtypeError(f"For non-complex input tensors, argument alpha must not be a complex number, but is {alpha}")
    return array * np.asarray(alpha).astype(array.dtype).item()


@op(
    node="SubBackward0",
    symbol="−",
    kind=POINTWISE,
    operators="__sub__ __isub__",
    accepts_each="ifc",
    input="g",
    other="-g if alpha == 1 else -conj(conj(g) * alpha)",
)
def sub(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """``input - alpha * other``.

    :raises RuntimeError: one of them is bool.

    >>> import nbautograd as torch
    >>> torch.tensor([5, 7]) - 2
    tensor([3, 5])
    """
    return input - other if alpha == 1 else input - times(alpha, other)


@op(
    node="RsubBackward1",
    symbol="−",
    kind=POINTWISE,
    operators="__rsub__",
    accepts_each="ifc",
    method=False,
    inplace_method=False,
    out=False,
    input="-g if alpha == 1 else -conj(conj(g) * alpha)",
    other="g",
)
def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """``other - alpha * input``.

    :raises RuntimeError: one of them is bool.

    >>> import nbautograd as torch
    >>> 1 - torch.tensor([5., 7.])
    tensor([-4., -6.])
    """
    return other - input if alpha == 1 else other - times(alpha, input)


@op(
    node="MulBackward0",
    symbol="×",
    kind=POINTWISE,
    operators="__mul__ __rmul__ __imul__",
    input="g * conj(other)",
    other="g * conj(input)",
)
def mul(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The product of each element of ``input`` with that of ``other``.

    Shapes are broadcast, dtypes promoted.

    :raises RuntimeError: the shapes do not broadcast.

    >>> import nbautograd as torch
    >>> torch.tensor([1., 2.]) * torch.tensor([[3.], [4.]])
    tensor([[3., 6.],
            [4., 8.]])
    """
    return input * other


@op(
    node="DivBackward0",
    symbol="÷",
    kind=POINTWISE,
    operators="__truediv__ __itruediv__ __div__ __idiv__",
    floating=True,
    input="g / conj(other)",
    other="-g * conj(input / other / other)",
)
def true_divide(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The quotient of each element of ``input`` by that of ``other``; integers give floats.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]) / 2
    tensor([0.5000, 1.0000])
    """
    return input / other


@composite(inplace_method=True)
def div(
    input: Tensor, other: Tensor | Number, *, rounding_mode: str | None = None, out: Tensor | None = None
) -> Tensor:
    """The quotient, exact or rounded to an integer.

    :param rounding_mode: None, ``"trunc"`` (towards zero) or ``"floor"`` (down).
    :raises RuntimeError: another rounding mode.

    >>> import nbautograd as torch
    >>> torch.div(torch.tensor([7., -7.]), 2, rounding_mode="trunc")
    tensor([ 3., -3.])
    """
    if rounding_mode is None:
        return true_divide(input, other, out=out)
    if rounding_mode in ("floor", "trunc"):
        return divide_rounded(input, other, rounding_mode, out=out)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


def _refuse_zero_divisor(input: Any, other: Any) -> None:
    """PyTorch refuses to divide integers by zero, where NumPy gives 0."""
    if input.dtype.kind in "iu" and bool((other == 0).any()):
        raise RuntimeError("ZeroDivisionError: an integer tensor was divided by zero")


@op(
    node="DivBackward2",
    symbol="÷",
    kind=POINTWISE,
    accepts="if",
    method=False,
    inplace_method=False,
    input="zeros_of(g)",
    other="zeros_of(g)",
)
def divide_rounded(input: Tensor | Number, other: Tensor | Number, rounding_mode: str) -> Tensor:
    """The quotient rounded to an integer, in the inputs' dtype; its derivative is 0."""
    _refuse_zero_divisor(input, other)
    if rounding_mode == "floor":
        return np.floor_divide(input, other)
    if input.dtype.kind == "f":
        return np.trunc(input / other)
    quotient = np.floor_divide(input, other)
    return quotient + ((quotient < 0) & (quotient * other != input)).astype(quotient.dtype)


@op(
    node="NotImplemented",
    symbol="⌊÷⌋",
    kind=POINTWISE,
    operators="__floordiv__ __ifloordiv__",
    accepts="if",
    input="not_implemented('floor_divide')",
    other="not_implemented('floor_divide')",
)
def floor_divide(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The quotient rounded down; not differentiable (``div(..., rounding_mode="floor")`` is).

    :raises RuntimeError: integers are divided by zero.

    >>> import nbautograd as torch
    >>> torch.tensor([7, -7]) // 2
    tensor([ 3, -4])
    """
    _refuse_zero_divisor(input, other)
    return np.floor_divide(input, other)


@composite(operators="__rfloordiv__", method=False)
def _rfloordiv(input: Tensor, other: Tensor | Number) -> Tensor:
    return floor_divide(other, input)


@op(
    node="RemainderBackward0",
    symbol="mod",
    kind=POINTWISE,
    accepts="if",
    operators="__mod__ __imod__",
    input="g",
    other="-g * floor(input / other)",
)
def remainder(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """What is left after dividing and rounding down; it has the divisor's sign.

    >>> import nbautograd as torch
    >>> torch.tensor([-3., 3.]) % 2
    tensor([1., 1.])
    """
    _refuse_zero_divisor(input, other)
    return np.remainder(input, other)


@composite(operators="__rmod__", method=False)
def _rmod(input: Tensor, other: Tensor | Number) -> Tensor:
    return remainder(other, input)


@op(node="FmodBackward0", symbol="fmod", kind=POINTWISE, accepts="if", input="g", other="-g * trunc(input / other)")
def fmod(input: Tensor, other: Tensor | Number) -> Tensor:
    """What is left after dividing and rounding towards zero; it has the dividend's sign.

    >>> import nbautograd as torch
    >>> torch.fmod(torch.tensor([-3., 3.]), 2)
    tensor([-1.,  1.])
    """
    _refuse_zero_divisor(input, other)
    return np.fmod(input, other)


# -- signs -----------------------------------------------------------------------------------------------------------


@op(node="NegBackward0", symbol="−", kind=POINTWISE, accepts="ifc", operators="__neg__", input="-g")
def neg(input: Tensor) -> Tensor:
    """``-input``.

    :raises RuntimeError: the dtype is bool.

    >>> import nbautograd as torch
    >>> -torch.tensor([1., -2.])
    tensor([-1.,  2.])
    """
    return -input


@composite()
def positive(input: Tensor) -> Tensor:
    """``+input``: the tensor itself.

    :raises RuntimeError: the dtype is bool.

    >>> import nbautograd as torch
    >>> +torch.tensor([1., -2.])
    tensor([ 1., -2.])
    """
    if input.dtype.rank == 0:
        raise UnsupportedDtypeError("positive", input.dtype, "ifc")
    return input


Tensor.__pos__ = positive


@op(node="AbsBackward0", symbol="|·|", kind=POINTWISE, accepts="ifc", operators="__abs__", input="g * sgn(input)")
def abs(input: Tensor) -> Tensor:
    """The absolute value; its derivative at 0 is 0.

    >>> import nbautograd as torch
    >>> torch.abs(torch.tensor([-1., 2.]))
    tensor([1., 2.])
    """
    return precise.absolute(input)


@op(
    node="SgnBackward0",
    symbol="sgn",
    kind=POINTWISE,
    input="ratio(g - real(g * conj(result)) * result, abs(input))",
)
def sgn(input: Tensor) -> Tensor:
    """The sign: -1, 0 or 1; of a complex number, it divided by its absolute value.

    >>> import nbautograd as torch
    >>> torch.sgn(torch.tensor([-3., 0., 5.]))
    tensor([-1.,  0.,  1.])
    """
    if input.dtype.kind == "c":
        wide = precise.widened(input)
        size = precise.absolute(wide)
        size = size + (size == 0)
        return complex_array(wide.real / size, wide.imag / size).astype(input.dtype)
    return _sign(input)


@op(node="SignBackward0", symbol="sign", kind=POINTWISE, accepts="bif", input="zeros_of(g)")
def sign(input: Tensor) -> Tensor:
    """The sign: -1, 0 or 1; 0 for nan.

    :raises RuntimeError: the dtype is complex; see ``sgn``.

    >>> import nbautograd as torch
    >>> torch.sign(torch.tensor([-3., 0., 5.]))
    tensor([-1.,  0.,  1.])
    """
    return _sign(input)


def _sign(a: Any) -> Any:
    """The sign of a real array, in its dtype."""
    return (a > 0).astype(a.dtype) if a.dtype.kind in "bu" else (a > 0).astype(a.dtype) - (a < 0).astype(a.dtype)


@op(node="ReciprocalBackward0", symbol="1/·", kind=POINTWISE, floating=True, input="-g * conj(result * result)")
def reciprocal(input: Tensor) -> Tensor:
    """``1 / input``.

    >>> import nbautograd as torch
    >>> torch.reciprocal(torch.tensor([2., 4.]))
    tensor([0.5000, 0.2500])
    """
    return np.reciprocal(input)


@composite(operators="__rtruediv__ __rdiv__", method=False)
def _rdiv(input: Tensor, other: Tensor | Number) -> Tensor:
    return reciprocal(input) * other


# -- powers ----------------------------------------------------------------------------------------------------------


@op(
    node="PowBackward0",
    symbol="xⁿ",
    kind=POINTWISE,
    accepts="ifc",
    method=False,
    inplace_method=False,
    input="g * conj(exponent * input ** (exponent - 1)) if exponent != 0 else zeros_of(g)",
)
def pow_number(input: Tensor, exponent: Number) -> Tensor:
    """``input ** exponent`` for a number ``exponent``."""
    if input.dtype.kind not in "fc" or exponent in BY_OPERATOR:
        return input**exponent
    return precise.power(input, input.dtype.type(exponent))


BY_OPERATOR = (-1, 0, 0.5, 1, 2)
"""Exponents whose powers NumPy's operator computes by a root or a product, exactly rounded."""


@op(
    node="PowBackward1",
    symbol="xʸ",
    kind=POINTWISE,
    accepts="ifc",
    method=False,
    inplace_method=False,
    input="g * conj(where(exponent == 0, zeros_of(result), exponent * input ** (exponent - 1)))",
    exponent="g * conj(where(logical_and(input == 0, is_nonnegative(exponent)), zeros_of(result), "
    "result * log(input)))",
)
def pow_tensor(input: Tensor | Number, exponent: Tensor | Number) -> Tensor:
    """``input ** exponent`` for a tensor ``exponent``."""
    return precise.power(input, exponent) if input.dtype.kind in "fc" else _integer_power(input, exponent)


def _integer_power(base: Any, exponent: Any) -> Any:
    """Powers of integers; 1 / base ** -exponent rounded towards zero where the exponent is negative."""
    power = base ** np.maximum(exponent, 0)
    if base.dtype.kind == "u":
        return power
    parity = np.where(exponent % 2 == 0, 1, base)
    return np.where(exponent >= 0, power, np.where((base == 1) | (base == -1), parity, 0)).astype(base.dtype)


@op(kind=POINTWISE, method=False, inplace_method=False)
def is_nonnegative(input: Tensor) -> Tensor:
    """Whether the (real part of the) exponent is at least 0: then powers of 0 do not change with it."""
    return input.real >= 0


@op(
    node="PowBackward2",
    symbol="aˣ",
    kind=POINTWISE,
    accepts="ifc",
    method=False,
    inplace_method=False,
    exponent="where(is_nonnegative(exponent) if base == 0 else exponent != exponent, zeros_of(result), "
    "g * conj(result * LOG(base)))",
)
def pow_base(exponent: Tensor, base: Number) -> Tensor:
    """``base ** exponent`` for a number ``base``."""
    if exponent.dtype.kind in "fc":
        return precise.power(exponent.dtype.type(base), exponent)
    return _integer_power(exponent * 0 + base, exponent)


@composite(inplace_method=True)
def pow(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input`` to the power ``exponent``; either may be a number.

    :raises RuntimeError: an integer tensor to a negative integer power.

    >>> import nbautograd as torch
    >>> torch.pow(torch.tensor([2., 3.]), 2), 2 ** torch.tensor([2., 3.])
    (tensor([4., 9.]), tensor([4., 8.]))
    """
    if isinstance(exponent, Tensor):
        if isinstance(input, Tensor):
            return pow_tensor(input, exponent, out=out)
        return pow_base(as_category(exponent, input), input, out=out)
    check_tensors("pow", input=input)
    if exponent.__class__ is not float and exponent.__class__ is not int or input._a.dtype.kind not in dtypes.INEXACT:
        if not isinstance(exponent, Number):
            raise TypeError(
                f"pow(): argument 'exponent' (position 2) must be Tensor or Number, not {kind_of(exponent)}"
            )
        input = as_category(input, exponent)
        if input._a.dtype.kind in "iub" and exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
    return pow_number(input, exponent, out=out)


def _to_the_power(self: Tensor, exponent: Any) -> Any:
    """``self ** exponent``, which leaves what is neither tensor nor number to the other operand."""
    known = isinstance(exponent, (Tensor, Number)) or is_pytorchs(exponent)  # the latter for the message
    return pow(self, exponent) if known else NotImplemented


Tensor.__pow__ = _to_the_power


def as_category(input: Tensor, number: Number) -> Tensor:
    """The tensor in the dtype that it has together with a number."""
    if input._a.dtype.kind == "f" and (number.__class__ is float or number.__class__ is int):
        return input
    kind = result_dtype(input, number)
    return input if input.dtype is kind else input.to(kind)


@composite(operators="__rpow__", method=False)
def _rpow(input: Tensor, other: Tensor | Number) -> Tensor:
    return pow(other, input)


Tensor.__ipow__ = Tensor.pow_


@composite(inplace_method=True, out=True)
def float_power(input: Tensor | Number, exponent: Tensor | Number) -> Tensor:
    """``input`` to the power ``exponent``, in double precision.

    >>> import nbautograd as torch
    >>> torch.float_power(torch.tensor([2, 3]), -1)
    tensor([0.5000, 0.3333], dtype=torch.float64)
    """
    both = (input, exponent)
    if not isinstance(exponent, Tensor):
        check_tensors("float_power", input=input)
    kind = dtypes.complex128 if result_dtype(*both).is_complex else dtypes.float64
    base, power = (value.to(kind) if isinstance(value, Tensor) else value for value in both)
    return pow(base, power)


@composite(inplace_method=True)
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input ** 2``.

    >>> import nbautograd as torch
    >>> torch.square(torch.tensor([-3.]))
    tensor([9.])
    """
    return pow(input, 2, out=out)


def LOG(number: Number) -> Any:  # noqa: N802 - the logarithm of a number, where log is that of a tensor
    """The natural logarithm of a number: -inf for 0, nan for a negative one, complex for a complex one."""
    with np.errstate(all="ignore"):
        return np.log(number).item()


# -- products and quotients of several -------------------------------------------------------------------------------


@composite(inplace_method=True, out=True)
def lerp(input: Tensor, end: Tensor, weight: Tensor | Number) -> Tensor:
    """``input + weight * (end - input)``.

    :raises RuntimeError: the dtypes of ``input`` and ``end`` differ, or are integer ones.

    >>> import nbautograd as torch
    >>> torch.lerp(torch.tensor([0.]), torch.tensor([10.]), 0.3)
    tensor([3.])
    """
    check_tensors("lerp", input=input, end=end)
    if input.dtype is not end.dtype:
        raise DtypeError(
            f"lerp(): expected dtype {input.dtype!r} for `end`, as for `input`, but got dtype {end.dtype!r}"
        )
    if input.dtype.rank < 2:
        raise UnsupportedDtypeError("lerp", input.dtype, "fc")
    return _lerp(input, end, weight)


@op(
    node="LerpBackward0",
    symbol="lerp",
    kind=POINTWISE,
    method=False,
    inplace_method=False,
    input="g * conj(1 - weight)",
    end="g * conj(weight)",
    weight="g * conj(end - input)",
)
def _lerp(input: Tensor, end: Tensor, weight: Tensor | Number) -> Tensor:
    """From ``input`` to ``end``, exact at both."""
    way = end - input
    if weight.__class__ is np.ndarray and not weight.ndim:
        return input + weight * way if np.abs(weight) < 0.5 else end - way * (1 - weight)
    return np.where(np.abs(weight) < 0.5, input + weight * way, end - way * (1 - weight))


@op(
    node="AddcmulBackward0",
    symbol="addcmul",
    kind=POINTWISE,
    accepts="ifc",
    input="g",
    tensor1="g * conj(tensor2 * value)",
    tensor2="g * conj(tensor1 * value)",
)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``.

    >>> import nbautograd as torch
    >>> torch.addcmul(torch.tensor([1.]), torch.tensor([2.]), torch.tensor([3.]))
    tensor([7.])
    """
    return input + tensor1 * tensor2 * np.asarray(value).astype(input.dtype).item()


@op(
    node="AddcdivBackward0",
    symbol="addcdiv",
    kind=POINTWISE,
    accepts="fc",
    input="g",
    tensor1="g * conj(value / tensor2)",
    tensor2="-g * conj(value * tensor1 / (tensor2 * tensor2))",
)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``.

    :raises RuntimeError: all are integers: Integer division with addcdiv is not supported.

    >>> import nbautograd as torch
    >>> torch.addcdiv(torch.tensor([1.]), torch.tensor([6.]), torch.tensor([3.]))
    tensor([3.])
    """
    return input + tensor1 / tensor2 * value


@op(kind=POINTWISE, accepts="i")
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor of each pair of integers.

    :raises RuntimeError: the dtype is not an integer one.

    >>> import nbautograd as torch
    >>> torch.gcd(torch.tensor([4, 6]), torch.tensor([6, -9]))
    tensor([2, 3])
    """
    return np.gcd(input, other)


@op(kind=POINTWISE, accepts="i")
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple of each pair of integers.

    :raises RuntimeError: the dtype is not an integer one.

    >>> import nbautograd as torch
    >>> torch.lcm(torch.tensor([4, 6]), torch.tensor([6, 9]))
    tensor([12, 18])
    """
    return np.lcm(input, other)


absolute, divide, multiply, negative, subtract = abs, div, mul, neg, sub
alias(absolute=abs, divide=div, multiply=mul, negative=neg, subtract=sub)
