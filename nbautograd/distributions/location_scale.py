"""Distributions of real numbers with a location and a scale: normal, Laplace, Cauchy, Student's t, and uniform ones."""

from __future__ import annotations

import math
from typing import Any

from nbautograd._engine.arrays.dtypes import finfo
from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import empty, full, ones_like
from nbautograd._engine.ops.creation.random import normal, rand, randn
from nbautograd._engine.ops.elementwise.comparison import isclose
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.shape.broadcasting import broadcast_to
from nbautograd.distributions import constraints
from nbautograd.distributions.distribution import Distribution
from nbautograd.distributions.exp_family import ExponentialFamily
from nbautograd.distributions.gamma_family import Chi2
from nbautograd.distributions.utils import Number, attribute, formula

__all__ = ["Cauchy", "GeneralizedPareto", "Laplace", "Normal", "StudentT", "Uniform"]


class _LocationScale(Distribution):
    """Base of the distributions around a location."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    loc: Tensor
    scale: Tensor
    _mean = _mode = formula(lambda d: d.loc)

    def __init__(self, loc: Number, scale: Number, validate_args: bool | None = None) -> None:
        self._declare(validate_args, loc=loc, scale=scale)


class Normal(_LocationScale, ExponentialFamily):
    """The normal (Gaussian) distribution, of density exp(-(x - loc)² / 2 scale²) / (scale √(2π)).

    :param loc: the mean.
    :param scale: the standard deviation.

    >>> _ = torch.manual_seed(0)
    >>> torch.distributions.Normal(torch.tensor([0.0, 10.0]), 1.0).sample()
    tensor([1.5410, 9.7066])
    """

    _mean_carrier_measure = 0
    _stddev = formula(lambda d: d.scale)
    _variance = formula(lambda d: d.stddev.pow(2))
    _cdf = formula(lambda d, x: 0.5 * (1 + ((x - d.loc) * d.scale.reciprocal() / math.sqrt(2)).erf()))
    _icdf = formula(lambda d, p: d.loc + d.scale * (2 * p - 1).erfinv() * math.sqrt(2))
    _entropy = formula(lambda d: 0.5 + 0.5 * math.log(2 * math.pi) + d.scale.log())
    _natural_params = attribute(lambda d: (d.loc / d.scale.pow(2), -0.5 * d.scale.pow(2).reciprocal()))
    _log_normalizer = formula(lambda d, x, y: -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log())
    _rsample = formula(lambda d, shape: d.loc + d._made(randn, shape, d.loc) * d.scale)

    def _sample(self, sample_shape: Size) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return normal(self.loc.expand(shape), self.scale.expand(shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        return -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - math.log(math.sqrt(2 * math.pi))


class Laplace(_LocationScale):
    """The Laplace distribution, of density ``exp(-|x - loc| / scale) / (2 scale)``.

    :param loc: the mean.
    :param scale: the mean distance from the mean.

    >>> torch.distributions.Laplace(0.0, 1.0).log_prob(torch.tensor(1.0))
    tensor(-1.6931)
    """

    _variance = formula(lambda d: 2 * d.scale.pow(2))
    _stddev = formula(lambda d: 2**0.5 * d.scale)
    _log_prob = formula(lambda d, x: -(2 * d.scale).log() - (x - d.loc).abs() / d.scale)
    _entropy = formula(lambda d: 1 + (2 * d.scale).log())

    def _rsample(self, sample_shape: Size) -> Tensor:
        u = self._made(empty, sample_shape, self.loc).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def _cdf(self, value: Tensor) -> Tensor:
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def _icdf(self, value: Tensor) -> Tensor:
        above = value - 0.5
        return self.loc - self.scale * above.sign() * (-2 * above.abs()).log1p()


class Cauchy(_LocationScale):
    """The Cauchy (Lorentz) distribution, of density 1 / (π scale (1 + ((x - loc) / scale)²)). It has no mean.

    :param loc: the median.
    :param scale: half of the width at half of the maximum.

    >>> torch.distributions.Cauchy(0.0, 1.0).cdf(torch.tensor(1.0))
    tensor(0.7500)
    """

    _mean = formula(lambda d: d._everywhere(math.nan))
    _variance = formula(lambda d: d._everywhere(math.inf))
    _log_prob = formula(lambda d, x: -math.log(math.pi) - d.scale.log() - (((x - d.loc) / d.scale) ** 2).log1p())
    _cdf = formula(lambda d, x: ((x - d.loc) / d.scale).atan() / math.pi + 0.5)
    _icdf = formula(lambda d, p: (math.pi * (p - 0.5)).tan() * d.scale + d.loc)
    _entropy = formula(lambda d: math.log(4 * math.pi) + d.scale.log())
    _rsample = formula(lambda d, shape: d.loc + d._made(empty, shape, d.loc).cauchy_() * d.scale)
    _everywhere = formula(lambda d, x: full(d._extended_shape(), x, dtype=d.loc.dtype, device=d.loc.device))


class StudentT(Distribution):
    """Student's t-distribution: a standard normal number over the root of a chi-squared one per degree of freedom.

    :param df: the degrees of freedom; the mean exists above 1, the variance above 2.
    :param loc: the location.
    :param scale: the scale.

    >>> torch.distributions.StudentT(torch.tensor([1.0, 2.0, 5.0])).variance
    tensor([   nan,    inf, 1.6667])
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    df: Tensor
    loc: Tensor
    scale: Tensor
    _mean = formula(lambda d: where(d.df <= 1, math.nan, d.loc))
    _mode = formula(lambda d: d.loc)

    def __init__(self, df: Number, loc: Number = 0.0, scale: Number = 1.0, validate_args: bool | None = None) -> None:
        self._declare(validate_args, df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)

    def _variance(self) -> Tensor:
        finite = self.df > 2
        safe = where(finite, self.df, 3.0)
        return where(self.df <= 1, math.nan, where(finite, self.scale.pow(2) * safe / (safe - 2), math.inf))

    def _rsample(self, sample_shape: Size) -> Tensor:
        x = self._made(randn, sample_shape, self.df)
        return self.loc + self.scale * (x * (self._chi2.rsample(sample_shape) / self.df).rsqrt())

    def _log_prob(self, value: Tensor) -> Tensor:
        y = (value - self.loc) / self.scale
        normalizer = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + (0.5 * self.df).lgamma()
        normalizer = normalizer - (0.5 * (self.df + 1.0)).lgamma()
        return -0.5 * (self.df + 1.0) * (y**2.0 / self.df).log1p() - normalizer

    def _entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + log_beta


class Uniform(Distribution):
    """The uniform distribution on [low, high).

    :param low: the lower end.
    :param high: the upper end.

    >>> torch.distributions.Uniform(0.0, 4.0).entropy()
    tensor(1.3863)
    """

    has_rsample = True
    low: Tensor
    high: Tensor
    _mean = formula(lambda d: (d.high + d.low) / 2)
    _mode = formula(lambda d: math.nan * d.high)
    _stddev = formula(lambda d: (d.high - d.low) / 12**0.5)
    _variance = formula(lambda d: (d.high - d.low).pow(2) / 12)
    _cdf = formula(lambda d, x: ((x - d.low) / (d.high - d.low)).clamp(min=0, max=1))
    _icdf = formula(lambda d, p: p * (d.high - d.low) + d.low)
    _entropy = formula(lambda d: (d.high - d.low).log())
    _rsample = formula(lambda d, shape: d.low + d._made(rand, shape, d.low) * (d.high - d.low))

    def __init__(self, low: Number, high: Number, validate_args: bool | None = None) -> None:
        self._declare(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The constraints: the lower end is below the upper end."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The interval with both ends."""
        return constraints.interval(self.low, self.high)

    def _log_prob(self, value: Tensor) -> Tensor:
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return inside.log() - (self.high - self.low).log()


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution of excesses: 1 - F(x) = (1 + ξ z)^(-1/ξ), z = (x - μ) / σ.

    :param loc: the threshold μ.
    :param scale: the scale σ.
    :param concentration: the shape ξ: 0 is an exponential distribution; below 0 there is an upper end, μ - σ / ξ.

    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.0).cdf(torch.tensor(1.0))
    tensor(0.6321)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    loc: Tensor
    scale: Tensor
    concentration: Tensor
    _mode = formula(lambda d: d.loc)
    _cdf = formula(lambda d, x: d.log_cdf(x).exp())
    _entropy = formula(lambda d: broadcast_to(d.scale.log() + d.concentration + 1, d._batch_shape))
    _rsample = formula(lambda d, shape: d.icdf(d._made(rand, shape, d.loc)))

    def __init__(self, loc: Number, scale: Number, concentration: Number, validate_args: bool | None = None) -> None:
        self._declare(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The numbers from the threshold to the upper end, if it exists."""
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, where(self.concentration < 0, end, math.inf))

    def _shape(self) -> tuple[Tensor, Tensor]:
        """Return a mask where the shape is 0, and a divisor, which is 1 there."""
        zero = isclose(self.concentration, self.concentration.new_zeros(()))
        return zero, where(zero, ones_like(self.concentration), self.concentration)

    def _mean(self) -> Tensor:
        exists = self.concentration < 1
        return where(exists, self.loc + self.scale / (1 - where(exists, self.concentration, 0.5)), math.nan)

    def _variance(self) -> Tensor:
        exists = self.concentration < 0.5
        shape = where(exists, self.concentration, 0.25)
        return where(exists, self.scale**2 / ((1 - shape) ** 2 * (1 - 2 * shape)), math.nan)

    def _log_prob(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        zero, shape = self._shape()
        power = 1 / shape + ones_like(z)
        powered = where(power == 0, power, power * (shape * z).log1p())
        return -self.scale.log() - where(zero, z, powered)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of a sample above ``value``.

        >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.0).log_survival_function(torch.tensor(2.0))
        tensor(-2.)
        """
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        zero, shape = self._shape()
        return where(zero, -z, -(shape * z).log1p() / shape)

    def log_cdf(self, value: Tensor) -> Tensor:
        """Return the logarithm of ``cdf``.

        >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.0).log_cdf(torch.tensor(2.0))
        tensor(-0.1454)
        """
        return (-self.log_survival_function(value).exp()).log1p()

    def _icdf(self, value: Tensor) -> Tensor:
        zero, shape = self._shape()
        log_survival = (-value).log1p()
        powered = self.loc + self.scale / shape * (-shape * log_survival).expm1()
        return where(zero, self.loc - self.scale * log_survival, powered)
