"""Distributions of waiting times and shares: exponential, gamma, chi-squared, F, Dirichlet and beta ones."""

from __future__ import annotations

import math

from nbautograd._engine.arrays.dtypes import finfo
from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import empty, zeros_like
from nbautograd._engine.ops.creation.distributions import _sample_dirichlet, _standard_gamma
from nbautograd._engine.ops.creation.from_data import as_tensor, tensor
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.elementwise.special import igamma
from nbautograd._engine.ops.shape.joining import stack
from nbautograd.distributions import constraints
from nbautograd.distributions.distribution import Distribution
from nbautograd.distributions.exp_family import ExponentialFamily
from nbautograd.distributions.utils import Number, _Number, attribute, broadcast_all, formula
from nbautograd.nn.functional import one_hot

__all__ = ["Beta", "Chi2", "Dirichlet", "Exponential", "FisherSnedecor", "Gamma"]


class Exponential(ExponentialFamily):
    """The exponential distribution, of density rate · exp(-rate · x) for x ≥ 0.

    :param rate: the inverse of the mean.

    >>> torch.distributions.Exponential(2.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    rate: Tensor
    _mean = _stddev = formula(lambda d: d.rate.reciprocal())
    _mode = formula(lambda d: zeros_like(d.rate))
    _variance = formula(lambda d: d.rate.pow(-2))
    _log_prob = formula(lambda d, x: d.rate.log() - d.rate * x)
    _cdf = formula(lambda d, x: 1 - (-d.rate * x).exp())
    _icdf = formula(lambda d, p: -(-p).log1p() / d.rate)
    _entropy = formula(lambda d: 1.0 - d.rate.log())
    _natural_params = attribute(lambda d: (-d.rate,))
    _log_normalizer = formula(lambda d, x: -(-x).log())
    _rsample = formula(lambda d, shape: d._made(empty, shape, d.rate).exponential_() / d.rate)

    def __init__(self, rate: Number, validate_args: bool | None = None) -> None:
        self._declare(validate_args, rate=rate)


class Gamma(ExponentialFamily):
    """The gamma distribution, of density rateᵃ xᵃ⁻¹ exp(-rate · x) / Γ(a).

    Gradients flow through samples to both parameters.

    :param concentration: the shape a.
    :param rate: the inverse of the scale.

    >>> torch.distributions.Gamma(2.0, 4.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    concentration: Tensor
    rate: Tensor
    _mean = formula(lambda d: d.concentration / d.rate)
    _mode = formula(lambda d: ((d.concentration - 1) / d.rate).clamp(min=0))
    _variance = formula(lambda d: d.concentration / d.rate.pow(2))
    _cdf = formula(lambda d, x: igamma(d.concentration, d.rate * x))
    _natural_params = attribute(lambda d: (d.concentration - 1, -d.rate))
    _log_normalizer = formula(lambda d, x, y: (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log())

    def __init__(self, concentration: Number, rate: Number, validate_args: bool | None = None) -> None:
        self._declare(validate_args, concentration=concentration, rate=rate)

    def _rsample(self, sample_shape: Size) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)  # avoids zeros; not recorded, so that gradients stay
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at ``value``, which may be a number.

        :raises ValueError: arguments are validated, and ``value`` is negative.

        >>> torch.distributions.Gamma(1.0, 1.0).log_prob(2.0)
        tensor(-2.)
        """
        return super().log_prob(as_tensor(value, dtype=self.rate.dtype, device=self.rate.device))

    def _log_prob(self, value: Tensor) -> Tensor:
        a = self.concentration
        return a.xlogy(self.rate) + (a - 1).xlogy(value) - self.rate * value - a.lgamma()

    def _entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()


class Chi2(Gamma):
    """The chi-squared distribution: of the sum of ``df`` squared standard normal numbers. It is a gamma distribution.

    :param df: the degrees of freedom.

    >>> torch.distributions.Chi2(3.0).variance
    tensor(6.)
    """

    arg_constraints = {"df": constraints.positive}
    _derived = ("concentration", "rate")
    df: Tensor = attribute(lambda d: d.concentration * 2, "The degrees of freedom.")

    def __init__(self, df: Number, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)


class FisherSnedecor(Distribution):
    """The F-distribution of R. Fisher and G. Snedecor: of the ratio of two chi-squared numbers per degree of freedom.

    :param df1: the degrees of freedom of the numerator.
    :param df2: the degrees of freedom of the denominator; the mean exists above 2, the variance above 4.

    >>> torch.distributions.FisherSnedecor(1.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    df1: Tensor
    df2: Tensor
    _mode = formula(lambda d: where(d.df1 <= 2, math.nan, (d.df1 - 2) / d.df1 * d.df2 / (d.df2 + 2)))

    def __init__(self, df1: Number, df2: Number, validate_args: bool | None = None) -> None:
        first, second = broadcast_all(df1, df2)
        self._gamma1, self._gamma2 = (Gamma(df * 0.5, df) for df in (first, second))
        self._declare(validate_args, df1=first, df2=second)

    def _mean(self) -> Tensor:
        df2 = where(self.df2 <= 2, math.nan, self.df2)
        return df2 / (df2 - 2)

    def _variance(self) -> Tensor:
        df1, df2 = self.df1, where(self.df2 <= 4, math.nan, self.df2)
        return 2 * df2.pow(2) * (df1 + df2 - 2) / (df1 * (df2 - 2).pow(2) * (df2 - 4))

    def _rsample(self, sample_shape: Size) -> Tensor:
        tiny = finfo(self.df2.dtype).tiny
        x1 = self._gamma1.rsample(sample_shape)
        return (x1 / self._gamma2.rsample(sample_shape).clamp(min=tiny)).clamp(min=tiny)

    def _log_prob(self, value: Tensor) -> Tensor:
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        normalizer = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        power = half1 * ratio.log() + (half1 - 1) * value.log()
        return normalizer + power - (half1 + half2) * (ratio * value).log1p()


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of shares that sum to 1, of density Γ(Σaᵢ) / ΠΓ(aᵢ) · Πxᵢ^(aᵢ-1).

    Gradients flow through samples to the concentrations.

    :param concentration: the parameters aᵢ, in the last dimension.
    :raises ValueError: ``concentration`` has no dimension.

    >>> torch.distributions.Dirichlet(torch.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    concentration: Tensor
    _mean = formula(lambda d: d.concentration / d.concentration.sum(-1, True))
    _rsample = formula(lambda d, shape: _sample_dirichlet(d.concentration.expand(d._extended_shape(shape))))
    _natural_params = attribute(lambda d: (d.concentration,))
    _log_normalizer = formula(lambda d, x: x.lgamma().sum(-1) - x.sum(-1).lgamma())

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def _mode(self) -> Tensor:
        """Return the mode; if all concentrations are below 1, the density is infinite at corners: take the first."""
        excess = (self.concentration - 1).clamp(min=0.0)
        mode = excess / excess.sum(-1, True)
        corner = one_hot(mode.argmax(-1), mode.shape[-1]).to(mode)
        return where((self.concentration < 1).all(-1).unsqueeze(-1), corner, mode)

    def _variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def _log_prob(self, value: Tensor) -> Tensor:
        a = self.concentration
        return (a - 1.0).xlogy(value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def _entropy(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1)
        log_beta = a.lgamma().sum(-1) - total.lgamma()
        return log_beta - (a.shape[-1] - total) * total.digamma() - ((a - 1.0) * a.digamma()).sum(-1)


class Beta(ExponentialFamily):
    """The beta distribution on [0, 1], of density xᵃ⁻¹ (1 - x)ᵇ⁻¹ / B(a, b): the Dirichlet distribution of two shares.

    >>> torch.distributions.Beta(1.0, 3.0).mean
    tensor(0.2500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _mean = formula(lambda d: d.concentration1 / (d.concentration1 + d.concentration0))
    _mode = formula(lambda d: d._dirichlet.mode[..., 0])
    _rsample = formula(lambda d, shape: d._dirichlet.rsample(shape).select(-1, 0))
    _log_prob = formula(lambda d, x: d._dirichlet.log_prob(stack([x, 1.0 - x], -1)))
    _entropy = formula(lambda d: d._dirichlet.entropy())
    _natural_params = attribute(lambda d: (d.concentration1, d.concentration0))
    _log_normalizer = formula(lambda d, x, y: x.lgamma() + y.lgamma() - (x + y).lgamma())
    concentration1: Tensor = attribute(lambda d: d._dirichlet.concentration[..., 0], "The parameter of x.")
    concentration0: Tensor = attribute(lambda d: d._dirichlet.concentration[..., 1], "The parameter of 1 - x.")

    def __init__(self, concentration1: Number, concentration0: Number, validate_args: bool | None = None) -> None:
        if isinstance(concentration1, _Number) and isinstance(concentration0, _Number):
            both = tensor([float(concentration1), float(concentration0)])
        else:
            both = stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    def _variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))
