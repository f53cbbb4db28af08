"""Special functions of one or two variables: gamma, error, zeta, entropies. The values are SciPy's."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, error_function, precise
from nbautograd._engine.arrays.strides import copied, row_major
from nbautograd._engine.compiler.op import POINTWISE, UNSUPPORTED, check_option, composite, elementwise, no_method
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import not_implemented  # noqa: F401 - formulas name it
from nbautograd._engine.ops.queries import Number, example
from nbautograd._names.docstrings import described
from nbautograd.errors import kind_of

real_function = functools.partial(elementwise, floating=True, accepts="bif")
"""Declares an elementwise function of real numbers."""
special = functools.partial(no_method, kind=POINTWISE, floating=True, accepts="bif")
"""Declares such a function that is no method: one of ``torch.special``."""

SQRT_HALF = math.sqrt(0.5)
SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
SQRT_2PI = math.sqrt(2 * math.pi)
HALF_SQRT_PI = math.sqrt(math.pi) / 2
TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def value(name: str, *arrays: Any) -> Any:
    """Return SciPy's function ``name`` for real arrays, in their dtype; float32 is computed in float64."""
    a = arrays[0]
    result = getattr(backend.scipy(a, "special"), name)(*map(precise.widened, arrays))
    return result if result.dtype == a.dtype else result.astype(a.dtype)


def added(terms: Iterable[Any]) -> Any:
    """Return the sum of a sequence of arrays or tensors."""
    return functools.reduce(operator.add, terms)


# -- gamma functions -------------------------------------------------------------------------------------------------


def _log_gamma(x: Any) -> Any:
    """Return the logarithm of the absolute value of the gamma function, which is inf at both ends, as in PyTorch."""
    return np.where(x == -math.inf, -x, value("gammaln", x))


@real_function(symbol="ln Γ", input="g * digamma(input)")
@example("lgamma([1., 4.]) -> [0.0000, 1.7918]")
def lgamma(input: Tensor) -> Tensor:
    """Compute the logarithm of the absolute value of the gamma function."""
    return _log_gamma(input)


@real_function(symbol="ψ", input="g * derivative_of_digamma(input, 1)")
@example("digamma([1., 0.5]) -> [-0.5772, -1.9635]")
def digamma(input: Tensor) -> Tensor:
    """Compute the digamma function, the derivative of ``lgamma``; -inf at 0, nan at negative integers."""
    return value("digamma", input)


@special(node="PolygammaBackward0", symbol="ψ⁽ⁿ⁾", input="g * derivative_of_digamma(input, order + 1)")
def derivative_of_digamma(input: Tensor, order: int) -> Tensor:
    """Compute the derivative of the given order: :func:`polygamma` with its arguments exchanged."""
    if order < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, but n is {order}")
    if order == 0:
        return value("digamma", input)
    if order > 1:
        input = copied(input) if 0 in input.strides else input
        factorial = math.gamma(order + 1) if order < 171 else math.inf
        return (-1) ** (order + 1) * factorial * value("zeta", np.full_like(input, order + 1), input)
    dtype, input = input.dtype, precise.widened(input)
    right = input >= 0.5
    zeta = value("zeta", np.full_like(input, 2), np.where(right, input, 1 - input))
    angle = math.pi * input
    if dtype.char == "f":  # at a pole the result is the square of pi's rounding error, and PyTorch's pi is float32's
        rounded = (np.float32(math.pi) * input.astype(dtype)).astype(input.dtype)
        angle = np.where(input == np.floor(input), rounded, angle)
    result = np.where(right, zeta, (math.pi / precise.sin(angle)) ** 2 - zeta)  # reflection, DLMF 5.15.6
    return result.astype(dtype)


@described
@example("polygamma(1, [1., 0.5]) -> [1.6449, 4.9348]")
def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the polygamma function, the n-th derivative of ``digamma``, by the Hurwitz zeta function (DLMF 25.11.12).

    The method takes ``n`` only.

    :raises RuntimeError: ``n`` is negative.
    :raises TypeError: ``n`` is not an int.
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"polygamma(): argument 'input' (position 2) must be Tensor, not {kind_of(input)}")
    return derivative_of_digamma(input, check_option("polygamma", "n", n, "int", 0), out=out)


@example("[1., 0.5].polygamma(1) -> [1.6449, 4.9348]")
def _polygamma(input: Tensor, n: int) -> Tensor:
    """Compute the n-th derivative of the digamma function.

    :param input: a tensor of any real dtype.
    :param n: the order, not negative.
    :returns: a tensor of the shape of ``input``; integers give the default floating dtype.
    :raises RuntimeError: ``n`` is negative.
    :raises TypeError: ``n`` is not an int.
    """
    return derivative_of_digamma(input, n)


_polygamma.__name__ = _polygamma.__qualname__ = "polygamma"
composite(inplace_method=True)(_polygamma)


@real_function(symbol="ln Γₚ", accepts_each="if", input="g * added(digamma(input - j / 2) for j in range(p))")
@example("mvlgamma([2., 3.], 2) -> [0.4516, 1.5502]")
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """Compute the logarithm of the multivariate gamma function of dimension ``p`` (DLMF 35.3.4).

    :raises RuntimeError: ``p`` is less than 1.
    """
    if p < 1:
        raise RuntimeError(f"mvlgamma(): p has to be greater than or equal to 1, but it is {p}")
    terms = row_major(input)[..., None]
    halves = (np.arange(p, like=terms) / 2).astype(terms.dtype)  # which does not fit into memory for a p without end
    return _log_gamma(terms - halves).sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


@composite(method=False, out=True)
@example("special.multigammaln([3.], 2) -> [1.5502]")
def special_multigammaln(input: Tensor, p: int) -> Tensor:
    """Compute the logarithm of the multivariate gamma function of dimension ``p``: :func:`mvlgamma`."""
    return mvlgamma(input, p)


@elementwise(
    symbol="P",
    accepts="f",
    input="not_implemented('igamma: input')",
    other="g * exp((input - 1) * log(other) - other - lgamma(input))",
)
@example("igamma([1.], [2.]) -> [0.8647]")
def igamma(input: Tensor, other: Tensor) -> Tensor:
    """Compute the regularized lower incomplete gamma function P(input, other), DLMF 8.2.4.

    Only the derivative with respect to ``other`` is defined.

    :raises NotImplementedError: both are integers.
    """
    return value("gammainc", input, other)


@elementwise(
    symbol="Q",
    accepts="f",
    input="not_implemented('igammac: input')",
    other="-g * exp((input - 1) * log(other) - other - lgamma(input))",
)
@example("igammac([1.], [2.]) -> [0.1353]")
def igammac(input: Tensor, other: Tensor) -> Tensor:
    """Compute the regularized upper incomplete gamma function Q(input, other) = 1 - P(input, other), DLMF 8.2.4.

    Only the derivative with respect to ``other`` is defined.

    :raises NotImplementedError: both are integers.
    """
    return value("gammaincc", input, other)


@special(
    symbol="ζ", half=UNSUPPORTED, input="not_implemented('zeta')", other="-g * input * special_zeta(input + 1, other)"
)
@example("special.zeta([2., 4.], 1) -> [1.6449, 1.0823]")
def special_zeta(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Compute the Hurwitz zeta function, the sum of ``(k + other) ** -input`` over k = 0, 1, 2, ... (DLMF 25.11.1).

    Only the derivative with respect to ``other`` is defined.
    """
    return value("zeta", input, other)


# -- error functions and the normal distribution ---------------------------------------------------------------------


@real_function(symbol="erf", input="g * exp(-(input * input)) * TWO_OVER_SQRT_PI")
@example("erf([0., 1.]) -> [0.0000, 0.8427]")
def erf(input: Tensor) -> Tensor:
    """Compute the error function (DLMF 7.2.1)."""
    return error_function.erf(input)


@real_function(symbol="erfc", input="-g * exp(-(input * input)) * TWO_OVER_SQRT_PI")
@example("erfc([0., 1.]) -> [1.0000, 0.1573]")
def erfc(input: Tensor) -> Tensor:
    """Compute the complementary error function ``1 - erf(x)``, accurate where it is tiny."""
    return value("erfc", input)


@real_function(symbol="erf⁻¹", input="g * exp(result * result) * HALF_SQRT_PI")
@example("erfinv([0., 0.5]) -> [0.0000, 0.4769]")
def erfinv(input: Tensor) -> Tensor:
    """Compute the inverse of the error function: nan outside [-1, 1]."""
    return value("erfinv", input)


@special(symbol="erfcx", half=UNSUPPORTED, input="g * (2 * input * result - TWO_OVER_SQRT_PI)")
@example("special.erfcx([0., 10.]) -> [1.0000, 0.0561]")
def special_erfcx(input: Tensor) -> Tensor:
    """Compute the scaled complementary error function ``exp(x**2) * erfc(x)``, without overflow (DLMF 7.2)."""
    return value("erfcx", input)


@composite(method=False, out=True)
@example("special.ndtr([0., 1.96]) -> [0.5000, 0.9750]")
def special_ndtr(input: Tensor) -> Tensor:
    """Compute the cumulative distribution function (CDF) of the standard normal distribution."""
    return erfc(input * -SQRT_HALF) * 0.5


@special(symbol="Φ⁻¹", half=UNSUPPORTED, input="g * exp(result * result / 2) * SQRT_2PI")
def special_ndtri(input: Tensor) -> Tensor:
    """Compute the quantile function of the standard normal distribution, the inverse of ``ndtr``; nan outside [0, 1].

    >>> torch.special.ndtri(torch.tensor([0.5, 0.975]))
    tensor([0.0000, 1.9600])
    """
    return value("ndtri", input)


@special(symbol="ln Φ", half=UNSUPPORTED, input="g / special_erfcx(input * -SQRT_HALF) * SQRT_2_OVER_PI")
@example("special.log_ndtr([0., -20.]) -> [  -0.6931, -203.9172]")
def special_log_ndtr(input: Tensor) -> Tensor:
    """Compute the logarithm of the standard normal CDF ``ndtr``, accurate where that is tiny."""
    return value("log_ndtr", input)


# -- logarithms ------------------------------------------------------------------------------------------------------


@real_function(
    symbol="logit",
    input="where((input >= (eps or 0)) & (input <= 1 - (eps or 0)), g / (input * (1 - input)), "
    "zeros_of(g) * (NAN if eps is None else 0))",
)
@example("logit([0.5, 0.9, 1.], eps=0.01) -> [0.0000, 2.1972, 4.5951]")
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """Compute the logit ``log(x / (1 - x))``, the inverse of the sigmoid.

    :param eps: clamp the input to [eps, 1 - eps] first; None for nan outside [0, 1].
    """
    if eps is None:
        return precise.log(input / (1 - input))
    inside = np.where(input < eps, eps, np.where(input > 1 - eps, 1 - eps, input))
    return precise.log(inside / (1 - inside))


NAN = math.nan


@special(symbol="entr", input="-g * (log(input) + 1)")
@example("special.entr([-1., 0., 0.5]) -> [  -inf, 0.0000, 0.3466]")
def special_entr(input: Tensor) -> Tensor:
    """Compute the entropy ``-x * log(x)`` of each element: 0 at 0, -inf below."""
    return value("entr", input)


def _times(factor: Any, logarithm: Any, of: Any) -> Any:
    """Return a factor times the logarithm of ``of``: 0 where the factor is 0, unless ``of`` is nan."""
    with backend.quiet():
        product = factor * logarithm
    return np.where((factor == 0) & (of == of), product.dtype.type(0), product)


@real_function(
    symbol="x ln y", input="xlogy(where((input == 0) & (other <= 0), zeros_of(g), g), other)", other="g * input / other"
)
@example("xlogy([0., 2.], [0., 2.]) -> [0.0000, 1.3863]")
def xlogy(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Compute ``input * log(other)``: 0 where ``input`` is 0, unless ``other`` is nan."""
    return _times(input, precise.log(other), other)


@special(
    symbol="x ln1p y",
    input="special_xlog1py(where((input == 0) & (other <= -1), zeros_of(g), g), other)",
    other="g * input / (other + 1)",
)
@example("special.xlog1py([0., 2.], [-1., 1.]) -> [0.0000, 1.3863]")
def special_xlog1py(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Compute ``input * log1p(other)``: 0 where ``input`` is 0, unless ``other`` is nan."""
    return _times(input, precise.log1p(other), other)
