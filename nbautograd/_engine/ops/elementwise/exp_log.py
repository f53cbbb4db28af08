"""Elementwise exponentials, logarithms and roots, and the logistic function."""

from __future__ import annotations

import numpy as np

from nbautograd._engine.arrays import precise
from nbautograd._engine.compiler.op import POINTWISE, composite, elementwise, no_method
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.queries import check_tensors, example
from nbautograd.errors import UnsupportedDtypeError

__all__ = [
    "exp", "exp2", "expm1", "hypot", "ldexp", "log", "log1p", "log2", "log10", "logaddexp", "logaddexp2", "rsqrt",
    "sigmoid", "sqrt",
]  # fmt: skip

LOG_2 = 0.6931471805599453
LOG_10 = 2.302585092994046


# -- exponentials and logarithms -------------------------------------------------------------------------------------


@elementwise(symbol="exp", floating=True, input="g * conj(result)")
@example("exp([0., 1.]) -> [1.0000, 2.7183]")
def exp(input: Tensor) -> Tensor:
    """Compute ``e**x`` for each element."""
    return precise.exp(input)


@elementwise(symbol="2ˣ", floating=True, input="g * conj(result) * LOG_2")
@example("exp2([3.]) -> [8.]")
def exp2(input: Tensor) -> Tensor:
    """Compute ``2**x`` for each element."""
    return precise.exp2(input)


@elementwise(symbol="expm1", floating=True, input="g * conj(result + 1)")
@example("expm1([0.]) -> [0.]")
def expm1(input: Tensor) -> Tensor:
    """Compute ``exp(x) - 1`` for each element, accurate near 0."""
    return precise.expm1(input)


@elementwise(symbol="ln", floating=True, input="g / conj(input)")
@example("log([1., 0.]) -> [0., -inf]")
def log(input: Tensor) -> Tensor:
    """Compute the natural logarithm of each element; nan for negative elements, -inf for 0."""
    return precise.log(input)


@elementwise(symbol="log₂", floating=True, input="g / (conj(input) * LOG_2)")
@example("log2([8.]) -> [3.]")
def log2(input: Tensor) -> Tensor:
    """Compute the base-2 logarithm of each element."""
    return precise.log2(input)


@elementwise(symbol="log₁₀", floating=True, input="g / (conj(input) * LOG_10)")
@example("log10([100.]) -> [2.]")
def log10(input: Tensor) -> Tensor:
    """Compute the base-10 logarithm of each element."""
    return precise.log10(input)


@elementwise(symbol="ln1p", floating=True, input="g / conj(input + 1)")
@example("log1p([0.]) -> [0.]")
def log1p(input: Tensor) -> Tensor:
    """Compute ``log(1 + x)`` for each element, accurate near 0."""
    return precise.log1p(input)


@elementwise(
    symbol="ln(eˣ+eʸ)", accepts="fc", inplace_method=False,
    input="g / conj(1 + exp(other - input))",
    other="g / conj(1 + exp(input - other))",
)  # fmt: skip
@example("logaddexp([1000.], [1000.]) -> [1000.6932]")
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """Compute ``log(exp(input) + exp(other))``, without overflow.

    :raises RuntimeError: the dtypes are integer dtypes.
    """
    if input.dtype.kind == "f":
        return precise.logaddexp(input, other)
    swap = input.real < other.real
    large, small = np.where(swap, other, input), np.where(swap, input, other)
    result = large + precise.log1p(precise.exp(small - large))
    endless = np.isinf(large.real) & (large.real == small.real)  # inf - inf is nan
    return np.where(
        endless, np.where(large.real < 0, small, precise.log(precise.exp(input) + precise.exp(other))), result
    )


@elementwise(
    symbol="log₂(2ˣ+2ʸ)", accepts="f", inplace_method=False,
    input="g / (1 + exp2(other - input))",
    other="g / (1 + exp2(input - other))",
)  # fmt: skip
@example("logaddexp2([1000.], [1000.]) -> [1001.]")
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """Compute ``log2(2 ** input + 2 ** other)``, without overflow.

    :raises RuntimeError: the dtypes are not floating.
    """
    return precise.logaddexp2(input, other)


@composite(inplace_method=True, out=True)
@example("ldexp([1.], [1, 2, 3]) -> [2., 4., 8.]")
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """Compute ``input * 2 ** other``.

    :raises RuntimeError: ``other`` is bool and ``input`` is floating.
    """
    check_tensors("ldexp", input=input, other=other)
    if input.is_floating_point() and not other.dtype.rank:
        raise UnsupportedDtypeError("ldexp", other.dtype, "ifc")
    return _ldexp(input, other)


@no_method(
    symbol="x·2ʸ", kind=POINTWISE, floating=True, input="g * conj(exp2(other))", other="g * conj(result * LOG_2)"
)
def _ldexp(input: Tensor, other: Tensor) -> Tensor:
    """Compute ``input * 2 ** other``, for operands of one dtype."""
    return input * precise.exp2(other)


@no_method(
    node="SigmoidBackwardBackward0", symbol="σ′", kind=POINTWISE, out=False,
    slope="sigmoid_slope(g, conj(value))",
    value="g * conj(slope * (1 - 2 * value))",
)  # fmt: skip
def sigmoid_slope(slope: Tensor, value: Tensor) -> Tensor:
    """Compute the vjp of the sigmoid, from its value: ``slope * value * (1 - value)``."""
    return slope * ((1 - value) * value)


@elementwise(symbol="σ", floating=True, input="sigmoid_slope(g, conj(result))")
@example("sigmoid([0.]) -> [0.5000]")
def sigmoid(input: Tensor) -> Tensor:
    """Compute the logistic sigmoid ``1 / (1 + exp(-x))`` of each element."""
    return 1 / (1 + precise.exp(-input))


# -- roots -----------------------------------------------------------------------------------------------------------


@elementwise(symbol="√", floating=True, input="g / (2 * conj(result))")
@example("sqrt([4., 9.]) -> [2., 3.]")
def sqrt(input: Tensor) -> Tensor:
    """Compute the square root of each element; nan for negative elements."""
    return np.sqrt(input)


@elementwise(symbol="1/√", floating=True, input="-0.5 * g * conj(result ** 3)")
@example("rsqrt([4.]) -> [0.5000]")
def rsqrt(input: Tensor) -> Tensor:
    """Compute the reciprocal of the square root of each element."""
    return 1 / np.sqrt(input)


@elementwise(symbol="√(x²+y²)", accepts="f", input="g * (input / result)", other="g * (other / result)")
@example("hypot([3.], [4.]) -> [5.]")
def hypot(input: Tensor, other: Tensor) -> Tensor:
    """Compute the hypotenuse ``sqrt(input**2 + other**2)``, without overflow.

    :raises RuntimeError: the dtypes are not floating.
    """
    return precise.hypot(input, other)
