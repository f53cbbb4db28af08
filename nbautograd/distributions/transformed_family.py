"""Transformed distributions: log-normal, half-normal, Gumbel, Weibull, Pareto, ..."""

from __future__ import annotations

import math
from typing import Any

from nbautograd._engine.arrays.dtypes import finfo
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import full, full_like, ones_like, zeros_like
from nbautograd._engine.ops.creation.from_data import as_tensor
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd.distributions import constraints
from nbautograd.distributions.gamma_family import Exponential, Gamma
from nbautograd.distributions.location_scale import Cauchy, Normal, Uniform
from nbautograd.distributions.transformed_distribution import TransformedDistribution, of_base
from nbautograd.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    StickBreakingTransform,
)
from nbautograd.distributions.utils import Number, broadcast_all, euler_constant, formula

__all__ = [
    "Gumbel", "HalfCauchy", "HalfNormal", "InverseGamma", "Kumaraswamy", "LogNormal", "LogisticNormal", "Pareto",
    "Weibull",
]  # fmt: skip

_LOCATION_AND_SCALE = {"loc": constraints.real, "scale": constraints.positive}


class LogNormal(TransformedDistribution):
    """The log-normal distribution: of exp(x), where x is normal.

    :param loc: the mean of the logarithm.
    :param scale: the standard deviation of the logarithm.

    >>> torch.distributions.LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    arg_constraints = _LOCATION_AND_SCALE
    support = constraints.positive
    has_rsample = True
    loc, scale = map(of_base, ("loc", "scale"))
    _mean = formula(lambda d: (d.loc + d.scale.pow(2) / 2).exp())
    _mode = formula(lambda d: (d.loc - d.scale.square()).exp())
    _entropy = formula(lambda d: d.base_dist.entropy() + d.loc)

    def __init__(self, loc: Number, scale: Number, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    def _variance(self) -> Tensor:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()


class LogisticNormal(TransformedDistribution):
    """The logistic-normal distribution on the simplex: normal vectors, by stick breaking.

    :param loc: the means, in the last dimension.
    :param scale: the standard deviations.

    >>> torch.distributions.LogisticNormal(torch.zeros(3), torch.ones(3)).sample().shape
    torch.Size([4])
    """

    arg_constraints = _LOCATION_AND_SCALE
    support = constraints.simplex
    has_rsample = True
    loc, scale = (of_base(name, "base_dist.base_dist") for name in ("loc", "scale"))

    def __init__(self, loc: Number, scale: Number, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)


class _Half(TransformedDistribution):
    """Base of the distributions of ``|x|``, where the distribution of x, the base, is symmetric around 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    scale = of_base("scale")
    _mode = formula(lambda d: zeros_like(d.scale))
    _icdf = formula(lambda d, p: d.base_dist.icdf((p + 1) / 2))
    _entropy = formula(lambda d: d.base_dist.entropy() - math.log(2))

    def cdf(self, value: Tensor) -> Tensor:
        """Return the cumulative distribution function.

        :raises ValueError: arguments are validated, and ``value`` is negative.

        >>> x = torch.tensor(1.0)
        >>> torch.distributions.HalfNormal(1.0).cdf(x), torch.distributions.HalfCauchy(1.0).cdf(x)
        (tensor(0.6827), tensor(0.5000))
        """
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1


class HalfNormal(_Half):
    """The half-normal distribution: of ``|x|``, where x is normal with mean 0.

    :param scale: the standard deviation of x.

    >>> torch.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    _mean = formula(lambda d: d.scale * math.sqrt(2 / math.pi))
    _variance = formula(lambda d: d.scale.pow(2) * (1 - 2 / math.pi))
    _log_prob = formula(lambda d, x: where(x >= 0, d.base_dist.log_prob(x) + math.log(2), -math.inf))

    def __init__(self, scale: Number, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)


class HalfCauchy(_Half):
    """The half-Cauchy distribution: of ``|x|``, where x has a Cauchy distribution around 0.

    :param scale: the scale of x, the median of ``|x|``.

    >>> torch.distributions.HalfCauchy(2.0).cdf(torch.tensor(2.0))
    tensor(0.5000)
    """

    _mean = formula(lambda d: full(d._extended_shape(), math.inf, dtype=d.scale.dtype, device=d.scale.device))
    _variance = formula(lambda d: d.base_dist.variance)

    def __init__(self, scale: Number, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def _log_prob(self, value: Tensor) -> Tensor:
        value = as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)


class InverseGamma(TransformedDistribution):
    """The inverse-gamma distribution: of 1 / x, where x has a gamma distribution.

    :param concentration: the shape of x; the mean exists above 1, the variance above 2.
    :param rate: the rate of x.

    >>> torch.distributions.InverseGamma(torch.tensor([2.0]), torch.tensor([3.0])).mean
    tensor([3.])
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    concentration, rate = map(of_base, ("concentration", "rate"))
    _mean = formula(lambda d: where(d.concentration > 1, d.rate / (d.concentration - 1), math.inf))
    _mode = formula(lambda d: d.rate / (d.concentration + 1))

    def __init__(self, concentration: Number, rate: Number, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    def _variance(self) -> Tensor:
        a = self.concentration
        return where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), math.inf)

    def _entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Gumbel(TransformedDistribution):
    """The Gumbel distribution of maxima: F(x) = exp(-exp(-(x - loc) / scale)).

    :param loc: the mode.
    :param scale: the scale.

    >>> torch.distributions.Gumbel(1.0, 2.0).mean
    tensor(2.1544)
    """

    arg_constraints = _LOCATION_AND_SCALE
    support = constraints.real
    loc: Tensor
    scale: Tensor
    _mean = formula(lambda d: d.loc + d.scale * euler_constant)
    _mode = formula(lambda d: d.loc)
    _stddev = formula(lambda d: math.pi / math.sqrt(6) * d.scale)
    _variance = formula(lambda d: d.stddev.pow(2))
    _entropy = formula(lambda d: d.scale.log() + (1 + euler_constant))

    def __init__(self, loc: Number, scale: Number, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = finfo(self.loc.dtype)
        low, high = full_like(self.loc, info.tiny), full_like(self.loc, 1 - info.eps)
        turn, move = AffineTransform(0, -ones_like(self.scale)), AffineTransform(self.loc, -self.scale)
        transforms = [ExpTransform().inv, turn, ExpTransform().inv, move]
        super().__init__(Uniform(low, high, validate_args=validate_args), transforms, validate_args=validate_args)

    def _log_prob(self, value: Tensor) -> Tensor:
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()


class Kumaraswamy(TransformedDistribution):
    """Kumaraswamy's distribution on [0, 1], F(x) = 1 - (1 - xᵃ)ᵇ: like the beta distribution, with a closed form.

    >>> torch.distributions.Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    concentration1: Tensor
    concentration0: Tensor
    _mean = formula(lambda d: d._moment(1))
    _variance = formula(lambda d: d._moment(2) - d.mean.pow(2))

    def __init__(self, concentration1: Number, concentration0: Number, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        low, high = (full_like(self.concentration0, end) for end in (0, 1))
        first, last = (PowerTransform(a.reciprocal()) for a in (self.concentration0, self.concentration1))
        transforms = [first, AffineTransform(loc=1.0, scale=-1.0), last]
        super().__init__(Uniform(low, high, validate_args=validate_args), transforms, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        """Return B B(1 + n/a, b)."""
        power, b = 1 + n / self.concentration1, self.concentration0
        return b * (power.lgamma() + b.lgamma() - (power + b).lgamma()).exp()

    def _mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return where((b < 1) | (a < 1), math.nan, b.reciprocal() * (-b).log1p() - (-b * a).log1p()).exp()

    def _entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()


class Pareto(TransformedDistribution):
    """The Pareto distribution, 1 - F(x) = (scale / x)ᵅ for x ≥ scale.

    :param scale: the least value.
    :param alpha: the exponent α; the mean exists above 1, the variance above 2.

    >>> torch.distributions.Pareto(1.0, torch.tensor([1.0, 2.0])).mean
    tensor([inf, 2.])
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    scale: Tensor
    alpha: Tensor
    _mode = formula(lambda d: d.scale)
    _entropy = formula(lambda d: (d.scale / d.alpha).log() + (1 + d.alpha.reciprocal()))

    def __init__(self, scale: Number, alpha: Number, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(loc=0, scale=self.scale)], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Numbers at or above the scale."""
        return constraints.greater_than_eq(self.scale)

    def _mean(self) -> Tensor:
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    def _variance(self) -> Tensor:
        alpha = self.alpha.clamp(min=2)
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))


class Weibull(TransformedDistribution):
    """The Weibull distribution of lifetimes, 1 - F(x) = exp(-(x / scale)ᵏ).

    :param scale: the scale.
    :param concentration: the shape k: above 1 failures become more frequent with time.

    >>> torch.distributions.Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _derived = ("concentration_reciprocal",)
    scale: Tensor
    concentration: Tensor
    _mean = formula(lambda d: d.scale * (1 + d.concentration_reciprocal).lgamma().exp())
    _mode = formula(lambda d: d.scale * ((d.concentration - 1) / d.concentration) ** d.concentration.reciprocal())

    def __init__(self, scale: Number, concentration: Number, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        transforms = [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    def _variance(self) -> Tensor:
        second = (1 + 2 * self.concentration_reciprocal).lgamma().exp()
        return self.scale.pow(2) * (second - (2 * (1 + self.concentration_reciprocal).lgamma()).exp())

    def _entropy(self) -> Tensor:
        ratio = self.concentration_reciprocal
        return euler_constant * (1 - ratio) + (self.scale * ratio).log() + 1
