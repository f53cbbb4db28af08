"""Derivatives of gamma and Dirichlet samples by their parameters, by implicit reparameterization.

If x has the distribution function F and the density p, both with a parameter a, a sample moves with the parameter by
dx/da = -(∂F/∂a) / p (M. Figurnov, S. Mohamed, A. Mnih, 2018). ∂F/∂a has no closed form here. The approximations are
PyTorch's, so that gradients are equal: Taylor series in the tails, S. O. Rice's saddle points for large parameters, and
fitted rational functions in between (M. Jankowiak, F. Obermeyer, 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nbautograd._engine.compiler.op import NATIVE, no_method
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import not_implemented  # noqa: F401 - formulas name it
from nbautograd._engine.ops.elementwise.special import value

Piece = tuple[Any, Callable[..., Any]]


def _piecewise(pieces: Sequence[Piece], *arrays: Any) -> Any:
    """Return a function of arrays of one shape that applies to each element the first piece whose condition holds."""
    result = np.zeros_like(arrays[0])
    left = np.ones_like(arrays[0], bool)
    with np.errstate(all="ignore"):
        for condition, function in pieces:
            here = left & condition
            if here.any():
                result[here] = function(*(array[here] for array in arrays))
            left &= ~here
    return result


def _without_nan(values: Any) -> Any:
    """Replace nan by 0 where the series does not converge: far out in the tails."""
    return np.where(np.isnan(values), np.zeros_like(values), values)


# -- the gamma distribution --------------------------------------------------------------------------------------------

GAMMA_NUMERATOR = (
    (0.16009398, -0.094634809, 0.025146376, -0.0030648343),
    (0.53487893, 0.1298071, 0.065735949, -0.0015649758),
    (0.040121004, -0.0065914022, -0.0026286047, -0.0013441777),
)
GAMMA_DENOMINATOR = (
    (1, 0.32668115, 0.10406089, 0.0014179084),
    (0.16639465, 0.020070113, -0.0035938915, -0.00058392623),
    (0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07),
)
"""Coefficients of uⁱvʲ, with u = ln x/α and v = ln α."""


@no_method(
    symbol="∂Γ/∂α",
    half=NATIVE,
    input="not_implemented('_standard_gamma_grad')",
    output="not_implemented('_standard_gamma_grad')",
)
def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """Return the derivatives of gamma samples ``output`` by the shape parameters ``input``.

    >>> torch._standard_gamma_grad(torch.tensor([1., 20.]), torch.tensor([0.5, 21.]))
    tensor([0.8070, 1.0332])
    """
    alpha, x = (np.broadcast_to(a, output.shape).astype(np.float64) for a in (input, output))
    pieces = [(x < 0.8, _gamma_series), (alpha > 8, _gamma_saddle_point), (True, _gamma_rational)]
    return _piecewise(pieces, x, alpha).astype(input.dtype)


def _gamma_series(x: Any, alpha: Any) -> Any:
    """Sum the series of the incomplete gamma function for small x (DLMF 8.7.1), differentiated term by term."""
    term, plain, squared = np.ones_like(x), 1 / alpha, 1 / alpha**2
    for i in range(1, 6):
        term = term * (-x / i)
        plain = plain + term / (alpha + i)
        squared = squared + term / (alpha + i) ** 2
    moved = (np.log(x) - value("digamma", alpha)) * x**alpha * plain - x**alpha * squared
    return _without_nan(-moved / (x ** (alpha - 1) * np.exp(-x)))


def _gamma_saddle_point(x: Any, alpha: Any) -> Any:
    """Evaluate the saddle point expansion for large α, and its polynomial near the removable singularity at x = α."""
    near = (x >= 0.9 * alpha) & (x <= 1.1 * alpha)
    return _piecewise([(near, _gamma_near_mean), (True, _gamma_far_from_mean)], x, alpha)


def _gamma_near_mean(x: Any, alpha: Any) -> Any:
    first = 1 + 24 * alpha * (1 + 12 * alpha)
    second = 1440 * alpha**2 + 6 * x * (53 - 120 * x) - 65 * x**2 / alpha + alpha * (107 + 3600 * x)
    return first * second / (1244160 * alpha**4)


def _gamma_far_from_mean(x: Any, alpha: Any) -> Any:
    log_ratio, gap, root = np.log(x / alpha), alpha - x, np.sqrt(8 * alpha)
    bent = (-gap - alpha * log_ratio) ** -1.5 * np.sign(gap)
    slope = log_ratio * (root / gap - bent) - np.sqrt(2 / alpha) * (alpha + x) / gap**2
    stirling = 1 + (1 + 1 / (24 * alpha)) / (12 * alpha)
    return -stirling * x * slope / root


def _gamma_rational(x: Any, alpha: Any) -> Any:
    u, v = np.log(x / alpha), np.log(alpha)
    return np.exp(_polynomial(GAMMA_NUMERATOR, u, v) / _polynomial(GAMMA_DENOMINATOR, u, v))


def _polynomial(coefficients: Any, *variables: Any) -> Any:
    """Evaluate a polynomial in several variables (Horner); the first has its powers along the first dimension."""
    inner = [_polynomial(row, *variables[1:]) for row in coefficients] if len(variables) > 1 else coefficients
    result = inner[-1]
    for each in inner[-2::-1]:
        result = result * variables[0] + each
    return result


# -- the Dirichlet distribution, by its marginals, which are beta distributions ----------------------------------------

BETA_NUMERATOR = (
    (
        (1.003668233, -0.01061107488, -0.0657888334, 0.01201642863),
        (0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033),
        (-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013),
    ),
    (
        (0.221950385, -0.3187676331, 0.01799915743, 0.01074823814),
        (-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057),
        (0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05),
    ),
    (
        (-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565),
        (0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181),
        (0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05),
    ),
)
BETA_DENOMINATOR = (
    (
        (1, -0.02924021934, -0.04438342661, 0.007285809825),
        (0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521),
        (-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149),
    ),
    (
        (0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273),
        (0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956),
        (-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05),
    ),
    (
        (0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05),
        (0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05),
        (-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06),
    ),
)
"""Coefficients of uⁱaʲbᵏ, with u = ln x, a = ln α/x and b = ln (α + β) - a."""


@no_method(
    symbol="∂Dir/∂α",
    half=NATIVE,
    x="not_implemented('_dirichlet_grad')",
    alpha="not_implemented('_dirichlet_grad')",
    total="not_implemented('_dirichlet_grad')",
)
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """Return the derivatives of beta samples ``x`` by ``alpha``, divided by 1 - x; ``total`` is ``alpha + beta``.

    >>> torch._dirichlet_grad(torch.tensor([0.5]), torch.tensor([1.]), torch.tensor([2.]))
    tensor([0.6931])
    """
    alpha, total = (np.broadcast_to(a, x.shape) for a in (alpha, total))
    boundary = total * x * (1 - x)
    pieces = [
        ((x <= 0.5) & (boundary < 2.5), _beta_series_by_alpha),
        ((x >= 0.5) & (boundary < 0.75), lambda x, alpha, total: -_beta_series_by_beta(1 - x, total - alpha, alpha)),
        ((alpha > 6) & (total - alpha > 6), _widened(_beta_saddle_point)),
        (True, _widened(_beta_rational)),
    ]
    return _piecewise(pieces, x, alpha, total)


def _widened(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arrays: function(*(array.astype(np.float64) for array in arrays))


def _beta_series_by_alpha(x: Any, alpha: Any, total: Any) -> Any:
    """Sum the series of the incomplete beta function for x near 0 (DLMF 8.17.7), differentiated by α."""
    beta = total - alpha
    factor = value("digamma", alpha) - value("digamma", total) - np.log(x)
    term, series = np.ones_like(x), (factor + 1 / alpha) / alpha
    for i in range(1, 11):
        term = term * (i - beta) * x / i
        series = series + term / (alpha + i) * (factor + 1 / (alpha + i))
    return _without_nan(x * (1 - x) ** -beta * series)


def _beta_series_by_beta(x: Any, alpha: Any, beta: Any) -> Any:
    """Sum the series of the incomplete beta function for x near 0, differentiated by β."""
    factor = value("digamma", alpha + beta) - value("digamma", beta)
    term, product, derived, series = np.ones_like(x), np.ones_like(x), np.zeros_like(x), factor / alpha
    for i in range(1, 9):
        term = term * (-x / i)
        product, derived = product * (beta - i), derived * (beta - i) + product
        series = series + term / (alpha + i) * (derived + factor * product)
    return _without_nan(-((1 - x) ** (1 - beta)) * series)


def _beta_saddle_point(x: Any, alpha: Any, total: Any) -> Any:
    """Evaluate the saddle point expansion for large α and β, and its polynomial near the singularity at the mean."""
    beta = total - alpha
    deviation = np.sqrt(alpha * beta / (total + 1)) / total
    near = abs(x - alpha / total) <= 0.1 * deviation
    return _piecewise([(near, _beta_near_mean), (True, _beta_far_from_mean)], x, alpha, total)


def _beta_near_mean(x: Any, alpha: Any, total: Any) -> Any:
    beta = total - alpha
    by_alpha = (  # coefficients of the powers of α
        47 * x * beta**4,
        (43 + 20 * (16 + 27 * beta) * x) * beta**3,
        3 * (59 + 180 * beta - 90 * x) * beta**2,
        (453 + 1620 * beta * (1 - x) - 455 * x) * beta,
        8 * (1 - x) * (135 * beta - 11),
    )
    polynomial = sum(coefficient * alpha**power for power, coefficient in enumerate(by_alpha))
    scale = (1 + 12 * alpha) * (1 + 12 * beta) / (total**2 * (1 - x))
    return scale * polynomial / (12960 * alpha**3 * beta**2 * (1 + 12 * total))


def _beta_far_from_mean(x: Any, alpha: Any, total: Any) -> Any:
    beta = total - alpha

    def stirling(a: Any) -> Any:
        return 1 + 1 / (12 * a) + 1 / (288 * a**2)

    gap = beta * x - alpha * (1 - x)
    slope = 2 * alpha**2 * (x - 1) + alpha * beta * (x - 1) - x * beta**2
    slope = slope / (np.sqrt(2 * alpha / beta) * total**1.5 * gap**2)
    divergence = beta * np.log(beta / (total * (1 - x))) + alpha * np.log(alpha / (total * x))
    bent = divergence**-1.5 * np.where(x < alpha / total, 1.0, -1.0)
    curve = 0.5 * np.log(alpha / (total * x)) * (np.sqrt(8 * alpha * beta / total) / gap + bent)
    scale = stirling(alpha) * stirling(beta) / stirling(total) * -x / np.sqrt(2 * alpha * beta / total)
    return scale * (slope + curve)


def _beta_rational(x: Any, alpha: Any, total: Any) -> Any:
    u = np.log(x)
    a = np.log(alpha) - u
    b = np.log(total) - a
    mean_slope = x * (value("digamma", total) - value("digamma", alpha)) / (total - alpha)
    return _polynomial(BETA_NUMERATOR, u, a, b) / _polynomial(BETA_DENOMINATOR, u, a, b) * mean_slope
