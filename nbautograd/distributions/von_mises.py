"""Von Mises' distribution of angles."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nbautograd._engine.arrays.dtypes import bool_, float64
from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import empty, zeros
from nbautograd._engine.ops.creation.random import rand
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd.distributions import constraints
from nbautograd.distributions.distribution import Distribution
from nbautograd.distributions.utils import formula, lazy_property

__all__ = ["VonMises"]

_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411),
)
_LARGE = (
    (
        *(0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281),
        *(-0.02057706, 0.02635537, -0.01647633, 0.00392377),
    ),
    (
        *(0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555),
        *(0.02282967, -0.02895312, 0.01787654, -0.00420059),
    ),
)


def _polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    result = coefficients[-1] + x * 0
    for coefficient in reversed(coefficients[:-1]):
        result = coefficient + x * result
    return result


def _log_modified_bessel_fn(x: Tensor, order: int = 0) -> Tensor:
    """Return the logarithm of the modified Bessel function of order 0 or 1, for x > 0.

    By the polynomials 9.8.1 to 9.8.4 of M. Abramowitz and I. A. Stegun's handbook (1964), below 3.75 and above.
    """
    small = _polynomial((x / 3.75) ** 2, _SMALL[order])
    if order == 1:
        small = x.abs() * small
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return where(x < 3.75, small.log(), large)


class VonMises(Distribution):
    """Von Mises' distribution of angles, of density exp(κ cos(x - loc)) / (2π I₀(κ)): normal on a circle.

    :param loc: the mean angle, in radians.
    :param concentration: κ, about the inverse of the variance where it is large.

    >>> torch.distributions.VonMises(0.0, 1.0).log_prob(torch.tensor(0.0))
    tensor(-1.0738)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    loc: Tensor
    concentration: Tensor
    _mean = _mode = formula(lambda d: d.loc)

    def __init__(self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self._declare(validate_args, loc=loc, concentration=concentration)

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance, 1 - I₁(κ) / I₀(κ)."""
        k = self.concentration
        return 1 - (_log_modified_bessel_fn(k, order=1) - _log_modified_bessel_fn(k, order=0)).exp()

    def _log_prob(self, value: Tensor) -> Tensor:
        log_prob = self.concentration * (value - self.loc).cos()
        return log_prob - math.log(2 * math.pi) - _log_modified_bessel_fn(self.concentration, order=0)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        """The parameter of the wrapped Cauchy distribution for proposals."""
        k = self.concentration.to(float64)
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))

    def _sample(self, sample_shape: Size) -> Tensor:
        """Draw samples by rejection (D. J. Best and N. I. Fisher, 1979), in float64."""
        shape = self._extended_shape(sample_shape)
        loc, k, r = self.loc.to(float64), self.concentration.to(float64), self._proposal_r
        x = empty(shape, dtype=float64, device=loc.device)
        done = zeros(shape, dtype=bool_, device=loc.device)
        while not done.all():
            u1, u2, u3 = rand((3, *shape), dtype=float64, device=loc.device).unbind()
            z = (math.pi * u1).cos()
            f = (1 + r * z) / (r + z)
            c = k * (r - f)
            accepted = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
            x = where(accepted, (u3 - 0.5).sign() * f.acos(), x)
            done = done | accepted
        return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
