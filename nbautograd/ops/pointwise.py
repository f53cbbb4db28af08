"""Element by element: arithmetic, exponentials, trigonometry, rounding, comparison, logic."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd import dtypes
from nbautograd.declare import POINTWISE, alias, composite, op
from nbautograd.ops.kernels import ratio  # noqa: F401 - formulas name it
from nbautograd.tensor import Tensor

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "addcdiv",
    "addcmul",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clamp",
    "clip",
    "conj",
    "cos",
    "cosh",
    "div",
    "divide",
    "eq",
    "exp",
    "exp2",
    "expm1",
    "fix",
    "floor",
    "floor_divide",
    "fmod",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "lerp",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "maximum",
    "minimum",
    "mul",
    "multiply",
    "ne",
    "neg",
    "negative",
    "not_equal",
    "pow",
    "reciprocal",
    "relu",
    "remainder",
    "round",
    "rsqrt",
    "rsub",
    "sgn",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "sub",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
    "where",
]

Number = int | float | complex | bool
Mask = Tensor


# -- arithmetic ------------------------------------------------------------------------------------------------------


@op(
    node="AddBackward0",
    symbol="+",
    kind=POINTWISE,
    operators="__add__ __radd__ __iadd__",
    input="g",
    other="g if alpha == 1 else g * alpha",
)
def add(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """``input + alpha * other``.

    >>> import nbautograd as torch
    >>> torch.add(torch.tensor([1., 2.]), torch.tensor([10., 20.]), alpha=2)
    tensor([21., 42.])
    """
    return input + other if alpha == 1 else input + alpha * other


@op(
    node="SubBackward0",
    symbol="−",
    kind=POINTWISE,
    operators="__sub__ __isub__",
    input="g",
    other="-g if alpha == 1 else -g * alpha",
)
def sub(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """``input - alpha * other``.

    >>> import nbautograd as torch
    >>> torch.tensor([5, 7]) - 2
    tensor([3, 5])
    """
    return input - other if alpha == 1 else input - alpha * other


@op(
    node="RsubBackward1",
    symbol="−",
    kind=POINTWISE,
    operators="__rsub__",
    inplace_method=False,
    input="-g if alpha == 1 else -g * alpha",
    other="g",
)
def rsub(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """``other - alpha * input``.

    >>> import nbautograd as torch
    >>> 1 - torch.tensor([5., 7.])
    tensor([-4., -6.])
    """
    return other - input if alpha == 1 else other - alpha * input


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
    if rounding_mode == "floor":
        return floor_divide(input, other, out=out)
    if rounding_mode == "trunc":
        return _trunc_divide(input, other, out=out)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


divide = div


def _refuse_zero_divisor(input: Any, other: Any) -> None:
    """PyTorch refuses to divide integers by zero, where NumPy gives 0."""
    if input.dtype.kind in "iu" and bool((other == 0).any()):
        raise RuntimeError("ZeroDivisionError: an integer tensor was divided by zero")


@op(kind=POINTWISE, method=False, inplace_method=False)
def _trunc_divide(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The quotient rounded towards zero, in the inputs' dtype."""
    _refuse_zero_divisor(input, other)
    if input.dtype.kind == "f":
        return np.trunc(input / other)
    return np.sign(input) * np.sign(other) * (np.abs(input) // np.abs(other))


@op(kind=POINTWISE, operators="__floordiv__ __ifloordiv__")
def floor_divide(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The quotient rounded down.

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


@op(node="FmodBackward0", symbol="fmod", kind=POINTWISE, input="g", other="-g * trunc(input / other)")
def fmod(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """What is left after dividing and rounding towards zero; it has the dividend's sign.

    >>> import nbautograd as torch
    >>> torch.fmod(torch.tensor([-3., 3.]), 2)
    tensor([-1.,  1.])
    """
    _refuse_zero_divisor(input, other)
    return np.fmod(input, other)


@op(node="NegBackward0", symbol="−", kind=POINTWISE, operators="__neg__", input="-g")
def neg(input: Tensor) -> Tensor:
    """``-input``.

    :raises RuntimeError: the dtype is bool.

    >>> import nbautograd as torch
    >>> -torch.tensor([1., -2.])
    tensor([-1.,  2.])
    """
    return -input


negative = neg
Tensor.__pos__ = lambda self: self


@op(node="AbsBackward0", symbol="|·|", kind=POINTWISE, operators="__abs__", input="g * sgn(input)")
def abs(input: Tensor) -> Tensor:
    """The absolute value; its derivative at 0 is 0.

    >>> import nbautograd as torch
    >>> torch.abs(torch.tensor([-1., 2.]))
    tensor([1., 2.])
    """
    return np.abs(input)


absolute = abs


@op(node="SgnBackward0", symbol="sgn", kind=POINTWISE, input="zeros_of(g)")
def sgn(input: Tensor) -> Tensor:
    """The sign: -1, 0 or 1; of a complex number, it divided by its absolute value.

    >>> import nbautograd as torch
    >>> torch.sgn(torch.tensor([-3., 0., 5.]))
    tensor([-1.,  0.,  1.])
    """
    return np.sign(input)


@op(node="SignBackward0", symbol="sign", kind=POINTWISE, input="zeros_of(g)")
def sign(input: Tensor) -> Tensor:
    """The sign: -1, 0 or 1; 0 for nan.

    >>> import nbautograd as torch
    >>> torch.sign(torch.tensor([-3., 0., 5.]))
    tensor([-1.,  0.,  1.])
    """
    return np.nan_to_num(np.sign(input))


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


@op(node="ConjBackward0", symbol="conj", kind=POINTWISE, inplace_method=False, input="conj(g)")
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; of a real tensor, its values.

    >>> import nbautograd as torch
    >>> torch.conj(torch.tensor([1+2j]))
    tensor([1.-2.j])
    """
    return np.conjugate(input)


# -- powers and exponentials -----------------------------------------------------------------------------------------


@op(
    node="PowBackward0",
    symbol="xⁿ",
    kind=POINTWISE,
    method=False,
    inplace_method=False,
    input="g * conj(exponent * input ** (exponent - 1)) if exponent != 0 else zeros_of(g)",
)
def pow_number(input: Tensor, exponent: Number) -> Tensor:
    """``input ** exponent`` for a number ``exponent``."""
    return input**exponent


@op(
    node="PowBackward1",
    symbol="xʸ",
    kind=POINTWISE,
    method=False,
    inplace_method=False,
    input="g * conj(where(exponent == 0, zeros_of(result), exponent * input ** (exponent - 1)))",
    exponent="g * conj(where(input == 0, where(exponent < 0, result * log(input), zeros_of(result)), "
    "result * log(input)))",
)
def pow_tensor(input: Tensor | Number, exponent: Tensor | Number) -> Tensor:
    """``input ** exponent`` for a tensor ``exponent``."""
    return input**exponent


@op(
    node="PowBackward2",
    symbol="aˣ",
    kind=POINTWISE,
    method=False,
    inplace_method=False,
    exponent="g * conj(result * LOG(base)) if base != 0 else zeros_of(g)",
)
def _pow_base(exponent: Tensor, base: Number) -> Tensor:
    """``base ** exponent`` for a number ``base``."""
    return base**exponent


@composite(operators="__pow__", inplace_method=True)
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
        return _pow_base(_as_category(exponent, input), input, out=out)
    if exponent.__class__ is not float and exponent.__class__ is not int or input._a.dtype.kind not in "fc":
        if not isinstance(exponent, Number):
            return NotImplemented
        input = _as_category(input, exponent)
        if input._a.dtype.kind in "iub" and exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
    return pow_number(input, exponent, out=out)


def _as_category(input: Tensor, number: Number) -> Tensor:
    """The tensor in the dtype that it has together with a number."""
    kind = dtypes.result_dtype([(input.dtype, 2), (dtypes.of_number(number), 0)])
    return input if input.dtype is kind else input.to(kind)


@composite(operators="__rpow__", method=False)
def _rpow(input: Tensor, other: Tensor | Number) -> Tensor:
    return pow(other, input)


Tensor.__ipow__ = Tensor.pow_


@composite(inplace_method=True)
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input ** 2``.

    >>> import nbautograd as torch
    >>> torch.square(torch.tensor([-3.]))
    tensor([9.])
    """
    return pow(input, 2, out=out)


@op(node="ExpBackward0", symbol="exp", kind=POINTWISE, floating=True, input="g * conj(result)")
def exp(input: Tensor) -> Tensor:
    """E to the power of each element.

    >>> import nbautograd as torch
    >>> torch.exp(torch.tensor([0., 1.]))
    tensor([1.0000, 2.7183])
    """
    return np.exp(input)


@op(node="Exp2Backward0", symbol="2ˣ", kind=POINTWISE, floating=True, input="g * result * LOG_2")
def exp2(input: Tensor) -> Tensor:
    """2 to the power of each element.

    >>> import nbautograd as torch
    >>> torch.exp2(torch.tensor([3.]))
    tensor([8.])
    """
    return np.exp2(input)


@op(node="Expm1Backward0", symbol="expm1", kind=POINTWISE, floating=True, input="g * (result + 1)")
def expm1(input: Tensor) -> Tensor:
    """``exp(input) - 1``, accurate near 0.

    >>> import nbautograd as torch
    >>> torch.expm1(torch.tensor([0.]))
    tensor([0.])
    """
    return np.expm1(input)


@op(node="LogBackward0", symbol="ln", kind=POINTWISE, floating=True, input="g / conj(input)")
def log(input: Tensor) -> Tensor:
    """The natural logarithm; nan for negative elements, -inf for 0.

    >>> import nbautograd as torch
    >>> torch.log(torch.tensor([1., 0.]))
    tensor([0., -inf])
    """
    return np.log(input)


@op(node="Log2Backward0", symbol="log₂", kind=POINTWISE, floating=True, input="g / (conj(input) * LOG_2)")
def log2(input: Tensor) -> Tensor:
    """The logarithm to base 2.

    >>> import nbautograd as torch
    >>> torch.log2(torch.tensor([8.]))
    tensor([3.])
    """
    return np.log2(input)


@op(node="Log10Backward0", symbol="log₁₀", kind=POINTWISE, floating=True, input="g / (conj(input) * LOG_10)")
def log10(input: Tensor) -> Tensor:
    """The logarithm to base 10.

    >>> import nbautograd as torch
    >>> torch.log10(torch.tensor([100.]))
    tensor([2.])
    """
    return np.log10(input)


@op(node="Log1PBackward0", symbol="ln1p", kind=POINTWISE, floating=True, input="g / conj(input + 1)")
def log1p(input: Tensor) -> Tensor:
    """``log(1 + input)``, accurate near 0.

    >>> import nbautograd as torch
    >>> torch.log1p(torch.tensor([0.]))
    tensor([0.])
    """
    return np.log1p(input)


@op(node="SqrtBackward0", symbol="√", kind=POINTWISE, floating=True, input="g / (2 * conj(result))")
def sqrt(input: Tensor) -> Tensor:
    """The square root; nan for negative elements.

    >>> import nbautograd as torch
    >>> torch.sqrt(torch.tensor([4., 9.]))
    tensor([2., 3.])
    """
    return np.sqrt(input)


@op(node="RsqrtBackward0", symbol="1/√", kind=POINTWISE, floating=True, input="-0.5 * g * conj(result ** 3)")
def rsqrt(input: Tensor) -> Tensor:
    """``1 / sqrt(input)``.

    >>> import nbautograd as torch
    >>> torch.rsqrt(torch.tensor([4.]))
    tensor([0.5000])
    """
    return 1 / np.sqrt(input)


def LOG(number: Number) -> Any:  # noqa: N802 - the logarithm of a number, where log is that of a tensor
    """The natural logarithm of a number: nan for a negative one, complex for a complex one."""
    return np.log(number).item()


LOG_2 = 0.6931471805599453
LOG_10 = 2.302585092994046


# -- trigonometry ----------------------------------------------------------------------------------------------------


@op(node="SinBackward0", symbol="sin", kind=POINTWISE, floating=True, input="g * conj(cos(input))")
def sin(input: Tensor) -> Tensor:
    """The sine of each element, in radians.

    >>> import nbautograd as torch
    >>> torch.sin(torch.tensor([0.]))
    tensor([0.])
    """
    return np.sin(input)


@op(node="CosBackward0", symbol="cos", kind=POINTWISE, floating=True, input="-g * conj(sin(input))")
def cos(input: Tensor) -> Tensor:
    """The cosine of each element, in radians.

    >>> import nbautograd as torch
    >>> torch.cos(torch.tensor([0.]))
    tensor([1.])
    """
    return np.cos(input)


@op(node="TanBackward0", symbol="tan", kind=POINTWISE, floating=True, input="g * conj(1 + result * result)")
def tan(input: Tensor) -> Tensor:
    """The tangent of each element, in radians.

    >>> import nbautograd as torch
    >>> torch.tan(torch.tensor([0.]))
    tensor([0.])
    """
    return np.tan(input)


@op(node="AsinBackward0", symbol="asin", kind=POINTWISE, floating=True, input="g * rsqrt(1 - input * input)")
def asin(input: Tensor) -> Tensor:
    """The angle, in radians, whose sine each element is.

    >>> import nbautograd as torch
    >>> torch.asin(torch.tensor([1.]))
    tensor([1.5708])
    """
    return np.arcsin(input)


@op(node="AcosBackward0", symbol="acos", kind=POINTWISE, floating=True, input="-g * rsqrt(1 - input * input)")
def acos(input: Tensor) -> Tensor:
    """The angle, in radians, whose cosine each element is.

    >>> import nbautograd as torch
    >>> torch.acos(torch.tensor([1.]))
    tensor([0.])
    """
    return np.arccos(input)


@op(node="AtanBackward0", symbol="atan", kind=POINTWISE, floating=True, input="g / (input * input + 1)")
def atan(input: Tensor) -> Tensor:
    """The angle, in radians, whose tangent each element is.

    >>> import nbautograd as torch
    >>> torch.atan(torch.tensor([1.]))
    tensor([0.7854])
    """
    return np.arctan(input)


@op(
    node="Atan2Backward0",
    symbol="atan2",
    kind=POINTWISE,
    floating=True,
    input="g * ratio(other, input * input + other * other)",
    other="-g * ratio(input, input * input + other * other)",
)
def atan2(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The angle, in radians, of the point with ordinate ``input`` and abscissa ``other``.

    >>> import nbautograd as torch
    >>> torch.atan2(torch.tensor([1.]), torch.tensor([-1.]))
    tensor([2.3562])
    """
    return np.arctan2(input, other)


@op(node="SinhBackward0", symbol="sinh", kind=POINTWISE, floating=True, input="g * conj(cosh(input))")
def sinh(input: Tensor) -> Tensor:
    """The hyperbolic sine.

    >>> import nbautograd as torch
    >>> torch.sinh(torch.tensor([0.]))
    tensor([0.])
    """
    return np.sinh(input)


@op(node="CoshBackward0", symbol="cosh", kind=POINTWISE, floating=True, input="g * conj(sinh(input))")
def cosh(input: Tensor) -> Tensor:
    """The hyperbolic cosine.

    >>> import nbautograd as torch
    >>> torch.cosh(torch.tensor([0.]))
    tensor([1.])
    """
    return np.cosh(input)


@op(node="TanhBackward0", symbol="tanh", kind=POINTWISE, floating=True, input="g * conj(1 - result * result)")
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent, between -1 and 1.

    >>> import nbautograd as torch
    >>> torch.tanh(torch.tensor([0., 1.]))
    tensor([0.0000, 0.7616])
    """
    return np.tanh(input)


@op(node="AsinhBackward0", symbol="asinh", kind=POINTWISE, floating=True, input="g * rsqrt(input * input + 1)")
def asinh(input: Tensor) -> Tensor:
    """The inverse hyperbolic sine.

    >>> import nbautograd as torch
    >>> torch.asinh(torch.tensor([0.]))
    tensor([0.])
    """
    return np.arcsinh(input)


@op(node="AcoshBackward0", symbol="acosh", kind=POINTWISE, floating=True, input="g * rsqrt(input * input - 1)")
def acosh(input: Tensor) -> Tensor:
    """The inverse hyperbolic cosine; nan below 1.

    >>> import nbautograd as torch
    >>> torch.acosh(torch.tensor([1.]))
    tensor([0.])
    """
    return np.arccosh(input)


@op(node="AtanhBackward0", symbol="atanh", kind=POINTWISE, floating=True, input="g / (1 - input * input)")
def atanh(input: Tensor) -> Tensor:
    """The inverse hyperbolic tangent; nan outside [-1, 1].

    >>> import nbautograd as torch
    >>> torch.atanh(torch.tensor([0.]))
    tensor([0.])
    """
    return np.arctanh(input)


@op(node="SigmoidBackward0", symbol="σ", kind=POINTWISE, floating=True, input="g * conj((1 - result) * result)")
def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-input))``, between 0 and 1.

    >>> import nbautograd as torch
    >>> torch.sigmoid(torch.tensor([0.]))
    tensor([0.5000])
    """
    return 1 / (1 + np.exp(-input))


@op(node="ReluBackward0", symbol="relu", kind=POINTWISE, input="where(result > 0, g, zeros_of(g))")
def relu(input: Tensor) -> Tensor:
    """Each element, or 0 where it is negative; the derivative at 0 is 0.

    >>> import nbautograd as torch
    >>> torch.relu(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return np.maximum(input, 0)


# -- rounding --------------------------------------------------------------------------------------------------------


@op(node="FloorBackward0", symbol="⌊·⌋", kind=POINTWISE, input="zeros_of(g)")
def floor(input: Tensor) -> Tensor:
    """Each element rounded down; the derivative is 0.

    >>> import nbautograd as torch
    >>> torch.floor(torch.tensor([-0.5, 1.5]))
    tensor([-1.,  1.])
    """
    return np.floor(input)


@op(node="CeilBackward0", symbol="⌈·⌉", kind=POINTWISE, input="zeros_of(g)")
def ceil(input: Tensor) -> Tensor:
    """Each element rounded up; the derivative is 0.

    >>> import nbautograd as torch
    >>> torch.ceil(torch.tensor([0.5, 1.5]))
    tensor([1., 2.])
    """
    return np.ceil(input)


@op(node="TruncBackward0", symbol="trunc", kind=POINTWISE, input="zeros_of(g)")
def trunc(input: Tensor) -> Tensor:
    """Each element rounded towards zero; the derivative is 0.

    >>> import nbautograd as torch
    >>> torch.trunc(torch.tensor([-1.5, 1.5]))
    tensor([-1.,  1.])
    """
    return np.trunc(input)


@op(node="RoundBackward0", symbol="round", kind=POINTWISE, input="zeros_of(g)")
def round(input: Tensor, decimals: int = 0) -> Tensor:
    """Each element rounded to ``decimals`` places, halves to the even neighbour; the derivative is 0.

    >>> import nbautograd as torch
    >>> torch.round(torch.tensor([0.5, 1.5]))
    tensor([0., 2.])
    """
    return np.round(input, decimals)


# -- choosing --------------------------------------------------------------------------------------------------------


@op(kind=POINTWISE, method=False, inplace_method=False)
def zeros_of(input: Tensor) -> Tensor:
    """Zeros of the input's shape and dtype: a gradient that is 0, whatever comes in."""
    return np.zeros_like(input)


@op(
    node="WhereBackward0",
    symbol="where",
    kind=POINTWISE,
    method=False,
    inplace_method=False,
    input="where(condition, g, zeros_of(g))",
    other="where(condition, zeros_of(g), g)",
    name="where",
)
def _where(condition: Mask, input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Elements of ``input`` where ``condition`` is true, of ``other`` where it is false."""
    return np.where(condition, input, other)


def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None) -> Any:
    """Elements of ``input`` where ``condition`` is true, of ``other`` where it is false; all three are broadcast.

    With ``condition`` alone: the indices of its true elements, as ``nonzero(condition, as_tuple=True)`` gives them.

    >>> import nbautograd as torch
    >>> x = torch.tensor([1., -2.])
    >>> torch.where(x > 0, x, 0.)
    tensor([1., 0.])
    """
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    return _where(condition, input, other, out=out)


Tensor.where = lambda self, condition, other: where(condition, self, other)


@op(
    node="MaximumBackward0",
    symbol="max",
    kind=POINTWISE,
    inplace_method=False,
    input="where(input == other, g / 2, where(input > other, g, zeros_of(g)))",
    other="where(input == other, g / 2, where(input > other, zeros_of(g), g))",
)
def maximum(input: Tensor, other: Tensor) -> Tensor:
    """The larger of each pair of elements; equal ones share the gradient.

    >>> import nbautograd as torch
    >>> torch.maximum(torch.tensor([1., 5.]), torch.tensor([3., 2.]))
    tensor([3., 5.])
    """
    return np.maximum(input, other)


@op(
    node="MinimumBackward0",
    symbol="min",
    kind=POINTWISE,
    inplace_method=False,
    input="where(input == other, g / 2, where(input < other, g, zeros_of(g)))",
    other="where(input == other, g / 2, where(input < other, zeros_of(g), g))",
)
def minimum(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of each pair of elements; equal ones share the gradient.

    >>> import nbautograd as torch
    >>> torch.minimum(torch.tensor([1., 5.]), torch.tensor([3., 2.]))
    tensor([1., 2.])
    """
    return np.minimum(input, other)


@op(
    node="ClampBackward1",
    symbol="clamp",
    kind=POINTWISE,
    method=False,
    inplace_method=False,
    input="where(logical_and(input >= low, input <= high), g, zeros_of(g))",
)
def _clamp(input: Tensor, low: Number, high: Number) -> Tensor:
    """Each element brought into [low, high]."""
    return np.minimum(np.maximum(input, low), high)


@composite(inplace_method=True)
def clamp(
    input: Tensor,
    min: Tensor | Number | None = None,
    max: Tensor | Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Each element brought into [``min``, ``max``]; the derivative is 1 inside and at the bounds, 0 outside.

    :raises RuntimeError: neither bound is given.

    >>> import nbautograd as torch
    >>> torch.clamp(torch.tensor([-3., 0.5, 3.]), min=-1, max=1)
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        if min is not None:
            input = maximum(input, min)
        return input if max is None else minimum(input, max, out=out)
    for bound in (min, max):
        if bound is not None:
            input = _as_category(input, bound)
    infinite = input._a.dtype.kind in "fc"
    info = None if infinite else np.iinfo(input._a.dtype)
    low = min if min is not None else (-np.inf if info is None else info.min)
    high = max if max is not None else (np.inf if info is None else info.max)
    return _clamp(input, low, high, out=out)


clip = clamp


@op(
    node="LerpBackward0",
    symbol="lerp",
    kind=POINTWISE,
    input="g * (1 - weight)",
    end="g * weight",
    weight="g * (end - input)",
)
def lerp(input: Tensor, end: Tensor, weight: Tensor | Number) -> Tensor:
    """``input + weight * (end - input)``.

    >>> import nbautograd as torch
    >>> torch.lerp(torch.tensor([0.]), torch.tensor([10.]), 0.3)
    tensor([3.])
    """
    return input + weight * (end - input)


@op(
    node="AddcmulBackward0",
    symbol="addcmul",
    kind=POINTWISE,
    input="g",
    tensor1="g * conj(tensor2) * value",
    tensor2="g * conj(tensor1) * value",
)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``.

    >>> import nbautograd as torch
    >>> torch.addcmul(torch.tensor([1.]), torch.tensor([2.]), torch.tensor([3.]))
    tensor([7.])
    """
    return input + tensor1 * tensor2 * value


@op(
    node="AddcdivBackward0",
    symbol="addcdiv",
    kind=POINTWISE,
    input="g",
    tensor1="g / conj(tensor2) * value",
    tensor2="-g * conj(tensor1 / (tensor2 * tensor2)) * value",
)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``.

    >>> import nbautograd as torch
    >>> torch.addcdiv(torch.tensor([1.]), torch.tensor([6.]), torch.tensor([3.]))
    tensor([3.])
    """
    return input + tensor1 / tensor2 * value


# -- comparison and logic: nothing here is differentiable ------------------------------------------------------------


@op(kind=POINTWISE, operators="__eq__")
def eq(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether each pair of elements is equal.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]) == torch.tensor([1, 3])
    tensor([ True, False])
    """
    return input == other


@op(kind=POINTWISE, operators="__ne__")
def ne(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether each pair of elements differs.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]) != 1
    tensor([False,  True])
    """
    return input != other


@op(kind=POINTWISE, operators="__lt__")
def lt(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether each element is less than the other.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]) < 2
    tensor([ True, False])
    """
    return input < other


@op(kind=POINTWISE, operators="__le__")
def le(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether each element is less than or equal to the other.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]) <= 1
    tensor([ True, False])
    """
    return input <= other


@op(kind=POINTWISE, operators="__gt__")
def gt(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether each element is greater than the other.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]) > 1
    tensor([False,  True])
    """
    return input > other


@op(kind=POINTWISE, operators="__ge__")
def ge(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether each element is greater than or equal to the other.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]) >= 2
    tensor([False,  True])
    """
    return input >= other


@op(kind=POINTWISE, inplace_method=False)
def isnan(input: Tensor) -> Tensor:
    """Whether each element is nan.

    >>> import nbautograd as torch
    >>> torch.isnan(torch.tensor([1., float("nan")]))
    tensor([False,  True])
    """
    return input != input


@op(kind=POINTWISE, inplace_method=False)
def isinf(input: Tensor) -> Tensor:
    """Whether each element is infinite.

    >>> import nbautograd as torch
    >>> torch.isinf(torch.tensor([1., -float("inf")]))
    tensor([False,  True])
    """
    return np.isinf(input)


@op(kind=POINTWISE, inplace_method=False)
def isfinite(input: Tensor) -> Tensor:
    """Whether each element is neither infinite nor nan.

    >>> import nbautograd as torch
    >>> torch.isfinite(torch.tensor([1., float("inf")]))
    tensor([ True, False])
    """
    return np.isfinite(input)


@op(kind=POINTWISE)
def logical_and(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether both elements are nonzero.

    >>> import nbautograd as torch
    >>> torch.logical_and(torch.tensor([1, 0]), torch.tensor([2, 2]))
    tensor([ True, False])
    """
    return np.logical_and(input, other)


@op(kind=POINTWISE)
def logical_or(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether at least one element is nonzero.

    >>> import nbautograd as torch
    >>> torch.logical_or(torch.tensor([1, 0]), torch.tensor([0, 0]))
    tensor([ True, False])
    """
    return np.logical_or(input, other)


@op(kind=POINTWISE)
def logical_xor(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Whether exactly one element is nonzero.

    >>> import nbautograd as torch
    >>> torch.logical_xor(torch.tensor([1, 0]), torch.tensor([2, 2]))
    tensor([False,  True])
    """
    return np.logical_xor(input, other)


@op(kind=POINTWISE)
def logical_not(input: Tensor) -> Tensor:
    """Whether each element is zero.

    >>> import nbautograd as torch
    >>> torch.logical_not(torch.tensor([1, 0]))
    tensor([False,  True])
    """
    return np.logical_not(input)


def _integral(name: str, *arrays: Any) -> None:
    for a in arrays:
        if getattr(a, "dtype", np.dtype(int)).kind not in "iub":
            raise RuntimeError(f"{name}() is not implemented for {a.dtype}: expected an integer or bool dtype")


@op(kind=POINTWISE, operators="__and__ __rand__ __iand__")
def bitwise_and(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The bits that both integers have set; "and" of bools.

    >>> import nbautograd as torch
    >>> torch.tensor([6, 5]) & 4
    tensor([4, 4])
    """
    _integral("bitwise_and", input, other)
    return input & other


@op(kind=POINTWISE, operators="__or__ __ror__ __ior__")
def bitwise_or(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The bits that at least one integer has set; "or" of bools.

    >>> import nbautograd as torch
    >>> torch.tensor([6, 5]) | 1
    tensor([7, 5])
    """
    _integral("bitwise_or", input, other)
    return input | other


@op(kind=POINTWISE, operators="__xor__ __rxor__ __ixor__")
def bitwise_xor(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The bits that exactly one integer has set; "exclusive or" of bools.

    >>> import nbautograd as torch
    >>> torch.tensor([6, 5]) ^ 1
    tensor([7, 4])
    """
    _integral("bitwise_xor", input, other)
    return input ^ other


@op(kind=POINTWISE, operators="__invert__")
def bitwise_not(input: Tensor) -> Tensor:
    """Each bit flipped; "not" of bools.

    >>> import nbautograd as torch
    >>> ~torch.tensor([True, False])
    tensor([False,  True])
    """
    _integral("bitwise_not", input)
    return ~input


@op(kind=POINTWISE, operators="__lshift__ __ilshift__")
def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Each integer's bits shifted left.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]) << 3
    tensor([ 8, 16])
    """
    _integral("bitwise_left_shift", input, other)
    return input << other


@op(kind=POINTWISE, operators="__rshift__ __irshift__")
def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Each integer's bits shifted right.

    >>> import nbautograd as torch
    >>> torch.tensor([8, 16]) >> 3
    tensor([1, 2])
    """
    _integral("bitwise_right_shift", input, other)
    return input >> other


multiply, subtract = mul, sub
greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne
arcsin, arccos, arctan, arctan2, arcsinh, arccosh, arctanh = asin, acos, atan, atan2, asinh, acosh, atanh
fix = trunc
alias(
    multiply=mul,
    subtract=sub,
    divide=div,
    negative=neg,
    absolute=abs,
    greater=gt,
    greater_equal=ge,
    less=lt,
    less_equal=le,
    not_equal=ne,
    arcsin=asin,
    arccos=acos,
    arctan=atan,
    arctan2=atan2,
    arcsinh=asinh,
    arccosh=acosh,
    arctanh=atanh,
    fix=trunc,
    clip=clamp,
)
