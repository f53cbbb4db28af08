"""Distributions of binary events and of counts: Bernoulli, binomial, geometric, negative binomial, Poisson."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from nbautograd._engine.arrays.dtypes import finfo
from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import empty, full_like, ones_like, zeros_like
from nbautograd._engine.ops.creation.distributions import bernoulli, binomial, poisson
from nbautograd._engine.ops.creation.random import rand
from nbautograd._engine.ops.creation.ranges import arange
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd.distributions import constraints
from nbautograd.distributions.constraint_base import _is_all_true
from nbautograd.distributions.distribution import Distribution
from nbautograd.distributions.exp_family import ExponentialFamily
from nbautograd.distributions.gamma_family import Gamma
from nbautograd.distributions.utils import (
    Number,
    attribute,
    broadcast_all,
    clamp_probs,
    formula,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from nbautograd.nn.functional import binary_cross_entropy_with_logits, logsigmoid

__all__ = ["Bernoulli", "Binomial", "ContinuousBernoulli", "Geometric", "NegativeBinomial", "Poisson"]

EVENT_CONSTRAINTS = {"probs": constraints.unit_interval, "logits": constraints.real}


def _cross_entropy(logits: Tensor, values: Tensor) -> Tensor:
    return binary_cross_entropy_with_logits(logits, values, reduction="none")


class ByProbability:
    """``probs`` and ``logits``: one is given, the other is computed on first use.

    :param probs: the probability of 1.
    :param logits: its log-odds, instead.
    :raises ValueError: both or neither are given.
    """

    _binary: ClassVar[bool] = True
    """True if each probability is of one event and logits are log-odds; otherwise they are of a choice."""
    param_shape: Size = attribute(lambda d: d._param.shape, "The shape of ``probs`` and of ``logits``.")

    @staticmethod
    def _probs_or_logits(probs: Any, logits: Any) -> dict[str, Any]:
        """Return the given one, by name; only one may be."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        return {"logits": logits} if probs is None else {"probs": probs}

    @lazy_property
    def logits(self) -> Tensor:
        """Log-odds, or logarithms of probabilities up to a constant."""
        return probs_to_logits(self.probs, is_binary=self._binary)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._binary)

    @property
    def _param(self) -> Tensor:
        """The given one; the other has the same shape and dtype."""
        return vars(self)["probs" if "probs" in vars(self) else "logits"]

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)


class Bernoulli(ByProbability, ExponentialFamily):
    """The Bernoulli distribution: 1 with probability ``probs``, otherwise 0.

    >>> torch.distributions.Bernoulli(torch.tensor([0.3])).variance
    tensor([0.2100])
    """

    arg_constraints = {**EVENT_CONSTRAINTS}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _mean = formula(lambda d: d.probs)
    _mode = formula(lambda d: where(d.probs == 0.5, math.nan, (d.probs >= 0.5).to(d.probs)))
    _variance = formula(lambda d: d.probs * (1 - d.probs))
    _sample = formula(lambda d, shape: bernoulli(d.probs.expand(d._extended_shape(shape))))
    _log_prob = formula(lambda d, x: -_cross_entropy(*broadcast_all(d.logits, x)))
    _entropy = formula(lambda d: _cross_entropy(d.logits, d.probs))
    _values = formula(lambda d: arange(2, dtype=d._param.dtype, device=d._param.device))
    _natural_params = attribute(lambda d: (d.probs.logit(),))
    _log_normalizer = formula(lambda d, x: x.exp().log1p())

    def __init__(
        self, probs: Number | None = None, logits: Number | None = None, validate_args: bool | None = None
    ) -> None:
        self._declare(validate_args, **self._probs_or_logits(probs, logits))


def _positive_part(x: Tensor) -> Tensor:
    """Return max(x, 0), with the derivative 1/2 at 0."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(ByProbability, Distribution):
    """The binomial distribution: the number of successes in ``total_count`` trials with probability ``probs``.

    :param total_count: the number of trials, a number or a tensor.
    :param probs: the probability of success.

    >>> torch.distributions.Binomial(10, torch.tensor([0.2, 0.5])).mean
    tensor([2., 5.])
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, **EVENT_CONSTRAINTS}
    has_enumerate_support = True
    total_count: Tensor
    _mean = formula(lambda d: d.total_count * d.probs)
    _mode = formula(lambda d: ((d.total_count + 1) * d.probs).floor().clamp(max=d.total_count))
    _variance = formula(lambda d: d.total_count * d.probs * (1 - d.probs))

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        ((name, param),) = self._probs_or_logits(probs, logits).items()
        count, param = broadcast_all(total_count, param)
        self._declare(validate_args, total_count=count.type_as(param), **{name: param})

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The integers from 0 to ``total_count``."""
        return constraints.integer_interval(0, self.total_count)

    def _sample(self, sample_shape: Size) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        n, logits = self.total_count, self.logits
        log_factorial = (n + 1).lgamma()
        normalizer = n * _positive_part(logits) + n * (-logits.abs()).exp().log1p() - log_factorial
        return value * logits - (value + 1).lgamma() - (n - value + 1).lgamma() - normalizer

    def _entropy(self) -> Tensor:
        self._common_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def _common_count(self, name: str) -> int:
        """Return the number of trials, if the whole batch shares it."""
        count = int(self.total_count.max())
        if self.total_count.min() != count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return count

    def _values(self) -> Tensor:
        return arange(1 + self._common_count("enumerate_support"), dtype=self._param.dtype, device=self._param.device)


class Geometric(ByProbability, Distribution):
    """The geometric distribution: the number of failures before the first success, (1 - p)ᵏ p.

    :param probs: the probability of success, above 0.
    :raises ValueError: both or neither are given, or a probability is 0.

    >>> torch.distributions.Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints = {**EVENT_CONSTRAINTS}
    support = constraints.nonnegative_integer
    _mean = formula(lambda d: 1.0 / d.probs - 1.0)
    _mode = formula(lambda d: zeros_like(d.probs))
    _variance = formula(lambda d: (1.0 / d.probs - 1.0) / d.probs)
    _entropy = formula(lambda d: _cross_entropy(d.logits, d.probs) / d.probs)

    def __init__(
        self, probs: Number | None = None, logits: Number | None = None, validate_args: bool | None = None
    ) -> None:
        self._declare(validate_args, **self._probs_or_logits(probs, logits))
        if self._validate_args and probs is not None and not _is_all_true(self.probs > 0):
            value = self.probs
            raise ValueError(
                f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{self!r} to be positive but found invalid values:\n{value.detach()[~(value > 0)]}"
            )

    def _sample(self, sample_shape: Size) -> Tensor:
        u = self._made(empty, sample_shape, self.probs).uniform_(finfo(self.probs.dtype).tiny, 1)
        return (u.log() / (-self.probs).log1p()).floor()

    def _log_prob(self, value: Tensor) -> Tensor:
        value, probs = broadcast_all(value, self.probs)
        certain = where((probs == 1) & (value == 0), 0.0, probs)  # 0 · log 0 is 0
        return value * (-certain).log1p() + self.probs.log()


class NegativeBinomial(ByProbability, Distribution):
    """The negative binomial distribution: the number of successes before ``total_count`` failures.

    It is a Poisson distribution whose rate has a gamma distribution; ``total_count`` need not be an integer.

    :param total_count: the number of failures.
    :param probs: the probability of success, below 1.

    >>> torch.distributions.NegativeBinomial(4.0, torch.tensor(0.5)).mean
    tensor(4.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    total_count: Tensor
    _mean = formula(lambda d: d.total_count * d.logits.exp())
    _mode = formula(lambda d: ((d.total_count - 1) * d.logits.exp()).floor().clamp(min=0.0))
    _variance = formula(lambda d: d.mean / (-d.logits).sigmoid())
    _sample = formula(lambda d, shape: poisson(d._gamma.sample(shape)))

    def __init__(
        self,
        total_count: Number,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        ((name, param),) = self._probs_or_logits(probs, logits).items()
        count, param = broadcast_all(total_count, param)
        self._declare(validate_args, total_count=count.type_as(param), **{name: param})

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def _log_prob(self, value: Tensor) -> Tensor:
        n, logits = self.total_count, self.logits
        power = n * logsigmoid(-logits) + value * logsigmoid(logits)
        normalizer = -(n + value).lgamma() + (1.0 + value).lgamma() + n.lgamma()
        return power - normalizer.masked_fill(n + value == 0.0, 0.0)


class Poisson(ExponentialFamily):
    """The Poisson distribution of the number of independent events, rateᵏ exp(-rate) / k!.

    :param rate: the mean.

    >>> torch.distributions.Poisson(2.0).log_prob(torch.tensor(0.0))
    tensor(-2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Tensor
    _mean = _variance = formula(lambda d: d.rate)
    _mode = formula(lambda d: d.rate.floor())
    _sample = formula(lambda d, shape: poisson(d.rate.expand(d._extended_shape(shape))))
    _natural_params = attribute(lambda d: (d.rate.log(),))
    _log_normalizer = formula(lambda d, x: x.exp())

    def __init__(self, rate: Number, validate_args: bool | None = None) -> None:
        self._declare(validate_args, rate=rate)

    def _log_prob(self, value: Tensor) -> Tensor:
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()


class ContinuousBernoulli(ByProbability, ExponentialFamily):
    """The continuous Bernoulli distribution on [0, 1], of density C(p) pˣ (1 - p)¹⁻ˣ.

    Its normalizing constant C turns the loss that image models use for gray values into a density (G. Loaiza-Ganem,
    J. P. Cunningham, 2019). It is singular at p = 1/2, near which Taylor series replace it.

    :param probs: the parameter p.
    :param lims: the probabilities between which Taylor series are used.

    >>> torch.distributions.ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    arg_constraints = {**EVENT_CONSTRAINTS}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _log_prob = formula(lambda d, x: -_cross_entropy(*broadcast_all(d.logits, x)) + d._cont_bern_log_norm())
    _natural_params = attribute(lambda d: (d.logits,))
    _rsample = formula(lambda d, shape: d.icdf(d._made(rand, shape, d.probs)))
    _stable = formula(lambda d: (d.probs <= d._lims[0]) | (d.probs > d._lims[1]))  # where the closed forms hold
    _cut_probs = formula(lambda d: where(d._stable(), d.probs, d._lims[0] * ones_like(d.probs)))  # elsewhere a bound

    def __init__(
        self,
        probs: Number | None = None,
        logits: Number | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        parameter = self._probs_or_logits(probs, logits)
        self._lims = lims
        if probs is not None:
            (probs,) = broadcast_all(probs)
            if validate_args is not None and not _is_all_true(constraints.unit_interval.check(probs)):
                raise ValueError("The parameter probs has invalid values")
            parameter = {"probs": clamp_probs(probs)}
        self._declare(validate_args, **parameter)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities, clamped to the open interval."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _cont_bern_log_norm(self) -> Tensor:
        """Return the logarithm of the normalizing constant: of 2 artanh(1 - 2p) / (1 - 2p)."""
        p = self._cut_probs()
        low = where(p <= 0.5, p, zeros_like(p))
        high = where(p >= 0.5, p, ones_like(p))
        slope = where(p <= 0.5, (-2.0 * low).log1p(), (2.0 * high - 1.0).log())
        closed = ((-p).log1p() - p.log()).abs().log() - slope
        x = (self.probs - 0.5).pow(2)
        return where(self._stable(), closed, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    def _mean(self) -> Tensor:
        p = self._cut_probs()
        closed = p / (2.0 * p - 1.0) + 1.0 / ((-p).log1p() - p.log())
        x = self.probs - 0.5
        return where(self._stable(), closed, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    def _variance(self) -> Tensor:
        p = self._cut_probs()
        closed = p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / ((-p).log1p() - p.log()).pow(2)
        x = (self.probs - 0.5).pow(2)
        return where(self._stable(), closed, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def _cdf(self, value: Tensor) -> Tensor:
        p = self._cut_probs()
        closed = (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = where(self._stable(), closed, value)
        return where(value <= 0.0, zeros_like(value), where(value >= 1.0, ones_like(value), inside))

    def _icdf(self, value: Tensor) -> Tensor:
        p = self._cut_probs()
        closed = ((-p + value * (2.0 * p - 1.0)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
        return where(self._stable(), closed, value)

    def _entropy(self) -> Tensor:
        log_no, log_yes = (-self.probs).log1p(), self.probs.log()
        return self.mean * (log_no - log_yes) - self._cont_bern_log_norm() - log_no

    def _log_normalizer(self, x: Tensor) -> Tensor:
        """Return the logarithm of (exp(x) - 1) / x."""
        low, high = (limit - 0.5 for limit in self._lims)
        stable = (x <= low) | (x > high)
        cut = where(stable, x, full_like(x, low))
        closed = cut.expm1().abs().log() - cut.abs().log()
        return where(stable, closed, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
