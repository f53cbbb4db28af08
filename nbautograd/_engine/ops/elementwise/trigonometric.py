"""Elementwise trigonometric and hyperbolic functions, and their inverses; polar coordinates."""

from __future__ import annotations

from math import pi as PI  # noqa: N812 - formulas name it as a constant

import numpy as np

from nbautograd._engine.arrays import precise
from nbautograd._engine.compiler.op import POINTWISE, alias, composite, elementwise, no_method
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import complex_array, ratio  # noqa: F401 - formulas name it
from nbautograd._engine.ops.elementwise.complex import check_parts
from nbautograd._engine.ops.elementwise.exp_log import rsqrt  # noqa: F401 - formulas name it
from nbautograd._engine.ops.queries import example

# -- trigonometric functions -----------------------------------------------------------------------------------------


@elementwise(symbol="sin", floating=True, input="g * conj(cos(input))")
@example("sin([0.]) -> [0.]")
def sin(input: Tensor) -> Tensor:
    """Compute the sine of each element, an angle in radians."""
    return precise.sin(input)


@elementwise(symbol="cos", floating=True, input="-g * conj(sin(input))")
@example("cos([0.]) -> [1.]")
def cos(input: Tensor) -> Tensor:
    """Compute the cosine of each element, an angle in radians."""
    return precise.cos(input)


@elementwise(symbol="tan", floating=True, input="g * conj(1 + result * result)")
@example("tan([0.]) -> [0.]")
def tan(input: Tensor) -> Tensor:
    """Compute the tangent of each element, an angle in radians."""
    return precise.tan(input)


@elementwise(symbol="asin", floating=True, input="g * conj(rsqrt(1 - input * input))")
@example("asin([1.]) -> [1.5708]")
def asin(input: Tensor) -> Tensor:
    """Compute the inverse sine (arcsine) of each element, in radians; nan outside [-1, 1]."""
    return precise.arcsin(input)


@elementwise(symbol="acos", floating=True, input="-g * conj(rsqrt(1 - input * input))")
@example("acos([1.]) -> [0.]")
def acos(input: Tensor) -> Tensor:
    """Compute the inverse cosine (arccosine) of each element, in radians; nan outside [-1, 1]."""
    return precise.arccos(input)


@elementwise(symbol="atan", floating=True, input="g / conj(input * input + 1)")
@example("atan([1.]) -> [0.7854]")
def atan(input: Tensor) -> Tensor:
    """Compute the inverse tangent (arctangent) of each element, in radians."""
    return precise.arctan(input)


@elementwise(
    symbol="atan2", accepts="bif", floating=True,
    input="g * ratio(other, input * input + other * other)",
    other="-g * ratio(input, input * input + other * other)",
)  # fmt: skip
def atan2(input: Tensor, other: Tensor) -> Tensor:
    """Compute the inverse tangent of ``input / other`` in the right quadrant, in radians: the angle of (other, input).

    >>> torch.atan2(torch.tensor([1.]), torch.tensor([-1.]))
    tensor([2.3562])
    """
    return precise.arctan2(input, other)


@elementwise(
    symbol="sinc",
    floating=True,
    input="g * conj(ratio(PI * input * cos(PI * input) - sin(PI * input), PI * input * input))",
)
@example("sinc([0., 0.5]) -> [1.0000, 0.6366]")
def sinc(input: Tensor) -> Tensor:
    """Compute the normalized sinc function ``sin(πx) / (πx)``: 1 at 0."""
    return np.sinc(input)


@elementwise(symbol="°→rad", floating=True, accepts="bif", input="g * (PI / 180)")
@example("deg2rad([180.]) -> [3.1416]")
def deg2rad(input: Tensor) -> Tensor:
    """Convert degrees to radians."""
    return input * (PI / 180)


@elementwise(symbol="rad→°", floating=True, accepts="bif", input="g * (180 / PI)")
@example("rad2deg([3.14159265]) -> [180.]")
def rad2deg(input: Tensor) -> Tensor:
    """Convert radians to degrees."""
    return input * (180 / PI)


# -- hyperbolic functions --------------------------------------------------------------------------------------------


@elementwise(symbol="sinh", floating=True, input="g * conj(cosh(input))")
@example("sinh([0.]) -> [0.]")
def sinh(input: Tensor) -> Tensor:
    """Compute the hyperbolic sine of each element."""
    return precise.sinh(input)


@elementwise(symbol="cosh", floating=True, input="g * conj(sinh(input))")
@example("cosh([0.]) -> [1.]")
def cosh(input: Tensor) -> Tensor:
    """Compute the hyperbolic cosine of each element."""
    return precise.cosh(input)


@no_method(
    node="TanhBackwardBackward0", symbol="tanh′", kind=POINTWISE, out=False,
    slope="tanh_slope(g, conj(value))",
    value="-2 * (g * conj(slope * value))",
)  # fmt: skip
def tanh_slope(slope: Tensor, value: Tensor) -> Tensor:
    """Compute the vjp of tanh, from its value: ``slope * (1 - value**2)``."""
    return slope * (1 - value * value)


@elementwise(symbol="tanh", floating=True, input="tanh_slope(g, conj(result))")
@example("tanh([0., 1.]) -> [0.0000, 0.7616]")
def tanh(input: Tensor) -> Tensor:
    """Compute the hyperbolic tangent of each element."""
    return precise.tanh(input)


@elementwise(symbol="asinh", floating=True, input="g * conj(rsqrt(input * input + 1))")
@example("asinh([0.]) -> [0.]")
def asinh(input: Tensor) -> Tensor:
    """Compute the inverse hyperbolic sine of each element."""
    return precise.arcsinh(input)


@elementwise(symbol="acosh", floating=True, input="g * conj(half_plane(input) * rsqrt(input * input - 1))")
@example("acosh([1.]) -> [0.]")
def acosh(input: Tensor) -> Tensor:
    """Compute the inverse hyperbolic cosine of each element; nan below 1."""
    return precise.arccosh(input)


@no_method(kind=POINTWISE)
def half_plane(input: Tensor) -> Tensor:
    """Return the sign that makes ``sqrt(z² - 1)`` equal ``sqrt(z - 1) * sqrt(z + 1)``: -1 on the left, 1 for real z."""
    left = (input.real < 0) | ((input.real == 0) & (input.imag < 0))
    return np.where(left & (input.dtype.kind == "c"), -1, 1).astype(input.dtype)


@elementwise(symbol="atanh", floating=True, input="g / conj(1 - input * input)")
@example("atanh([0.]) -> [0.]")
def atanh(input: Tensor) -> Tensor:
    """Compute the inverse hyperbolic tangent of each element; nan outside [-1, 1]."""
    return precise.arctanh(input)


arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh = acos, acosh, asin, asinh, atan, atan2, atanh
alias(arccos=acos, arccosh=acosh, arcsin=asin, arcsinh=asinh, arctan=atan, arctan2=atan2, arctanh=atanh)


@no_method(
    symbol="r∠φ", kind=POINTWISE, accepts="f",
    abs="real(g) * cos(angle) + imag(g) * sin(angle)",
    angle="(imag(g) * cos(angle) - real(g) * sin(angle)) * abs",
)  # fmt: skip
def _polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Build complex numbers from polar coordinates."""
    return complex_array(abs * precise.cos(angle), abs * precise.sin(angle))


@composite(method=False, out=True)
@example("polar([2.], [0.]) -> [2.+0.j]")
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Build complex numbers from polar coordinates: ``abs * (cos(angle) + i sin(angle))``.

    :param abs: float32 or float64, the same dtype as ``angle``; shapes are broadcast.
    :raises RuntimeError: the dtypes differ, or are not supported.
    """
    check_parts("polar", abs=abs, angle=angle)
    return _polar(abs, angle)
