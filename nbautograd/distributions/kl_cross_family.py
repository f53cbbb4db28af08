"""Kullback-Leibler divergences of distributions of different families.

KL(p || q) = -H(p) - E[log q(x)]: only the entropy and a few expectations of p are needed, so that one function for each
q serves all p. Where q excludes values that have probability under p, the divergence is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import full_like
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd.distributions.counts import Bernoulli, Binomial, ContinuousBernoulli, Poisson
from nbautograd.distributions.gamma_family import Beta, Exponential, Gamma
from nbautograd.distributions.kl import register_kl
from nbautograd.distributions.location_scale import Laplace, Normal, Uniform
from nbautograd.distributions.transformed_family import Gumbel, Pareto
from nbautograd.distributions.utils import euler_constant

__all__: list[str] = []

Divergence = Callable[[Any, Any], Tensor]


def _registered(*classes_of_p: type, q: type) -> Callable[[Divergence], Divergence]:
    """Register a function for several classes of p."""

    def registered(function: Divergence) -> Divergence:
        for p in classes_of_p:
            register_kl(p, q)(function)
        return function

    return registered


# -- values that q excludes --------------------------------------------------------------------------------------------

_INFINITE: dict[type, tuple[str, tuple[type, ...]]] = {
    Beta: ("concentration1", (Pareto,)),
    ContinuousBernoulli: ("probs", (Pareto,)),
    Exponential: ("rate", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    Gamma: ("concentration", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    Gumbel: ("loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    Laplace: ("loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    Normal: ("loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    Pareto: ("scale", (Beta, ContinuousBernoulli, Uniform)),
    Poisson: ("rate", (Bernoulli, Binomial)),
}
"""By class of p: a parameter with the result's shape, and the classes q that exclude some values of p."""


for _p, (_parameter, _classes_of_q) in _INFINITE.items():
    for _q in _classes_of_q:
        register_kl(_p, _q)(lambda p, q, parameter=_parameter: full_like(getattr(p, parameter), math.inf))


# -- expectations of p -------------------------------------------------------------------------------------------------


def _mean_log(p: Any) -> Any:
    """Return E[log x]."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -p.rate.log() - euler_constant
    return p.scale.log() + p.alpha.reciprocal() if isinstance(p, Pareto) else _uniform_mean_log(p.low, p.high)


def _uniform_mean_log(low: Tensor, high: Tensor) -> Tensor:
    """Return E[log x] of a uniform distribution."""
    return (high.xlogy(high) - low.xlogy(low)) / (high - low) - 1


def _mean_exponential(p: Any, loc: Tensor, scale: Tensor) -> Any:
    """Return E[exp(-(x - loc) / scale)], by the moment generating function."""
    if isinstance(p, Exponential):
        product = p.rate * scale
        return (loc / scale).exp() * product / (product + 1)
    if isinstance(p, Gamma):
        return (loc / scale).exp() * (1 + (p.rate * scale).reciprocal()).pow(-p.concentration)
    if isinstance(p, Normal):
        return (-p.loc / scale + 0.5 * (p.scale / scale).pow(2) + loc / scale).exp()
    return ((-(p.low - loc) / scale).exp() - (-(p.high - loc) / scale).exp()) * scale / (p.high - p.low)


def _with_moments(p: Any, order: int) -> tuple[Any, Any]:
    """Return p and a mask where it lacks the moment; there, replace a Pareto distribution by one that has it."""
    if not isinstance(p, Pareto):
        return p, False
    missing = p.alpha <= order
    return Pareto(p.scale, where(missing, order + 1.0, p.alpha), validate_args=False), missing


def _unless(infinite: Any, divergence: Tensor) -> Tensor:
    return divergence if infinite is False else where(infinite, math.inf, divergence)


# -- by class of q -----------------------------------------------------------------------------------------------------


_registered(Bernoulli, q=Poisson)(lambda p, q: -p.entropy() - (p.probs * q.rate.log() - q.rate))


@_registered(Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform, q=Normal)
def _to_normal(p: Any, q: Any) -> Tensor:
    p, infinite = _with_moments(p, 2)
    variance = q.scale.pow(2)
    square = p.variance + (p.mean - q.loc).pow(2)
    return _unless(infinite, -p.entropy() + 0.5 * (2 * math.pi * variance).log() + square / (2 * variance))


@_registered(Normal, q=Laplace)
def _to_laplace(p: Any, q: Any) -> Tensor:
    """Compute the divergence; ``E|x - loc|`` is the mean of a folded normal distribution."""
    gap = p.loc - q.loc
    ratio = gap / p.scale
    distance = math.sqrt(2 / math.pi) * p.scale * (-0.5 * ratio.pow(2)).exp() + gap * (math.sqrt(0.5) * ratio).erf()
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


@_registered(Exponential, Gamma, Normal, Uniform, q=Gumbel)
def _to_gumbel(p: Any, q: Any) -> Tensor:
    linear = (p.mean - q.loc) / q.scale
    return -p.entropy() + q.scale.log() + linear + _mean_exponential(p, q.loc, q.scale)


def _above_zero(p: Any, divergence: Tensor) -> Tensor:
    """Set the divergence to infinity where p is uniform and reaches below 0."""
    return where(p.low < 0, math.inf, divergence) if isinstance(p, Uniform) else divergence


@_registered(Beta, ContinuousBernoulli, Gamma, Pareto, Uniform, q=Exponential)
def _to_exponential(p: Any, q: Any) -> Tensor:
    p, infinite = _with_moments(p, 1)
    return _unless(infinite, _above_zero(p, -p.entropy() - q.rate.log() + q.rate * p.mean))


@_registered(Beta, Exponential, Pareto, Uniform, q=Gamma)
def _to_gamma(p: Any, q: Any) -> Tensor:
    p, infinite = _with_moments(p, 1)
    a, rate = q.concentration, q.rate
    normalizer = a.lgamma() - a * rate.log()
    return _unless(infinite, _above_zero(p, -p.entropy() + normalizer - (a - 1) * _mean_log(p) + rate * p.mean))


@_registered(Beta, Uniform, q=ContinuousBernoulli)
def _to_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    """Compute the divergence; as in PyTorch, it is also infinite for a uniform p that reaches 0 or 1."""
    result: Tensor = -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()
    return where((p.high >= 1) | (p.low <= 0), math.inf, result) if isinstance(p, Uniform) else result


@_registered(Uniform, q=Beta)
def _to_beta(p: Any, q: Any) -> Tensor:
    a, b = q.concentration1, q.concentration0
    log_beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
    mirrored = _uniform_mean_log(1 - p.high, 1 - p.low)
    result = log_beta - p.entropy() - (a - 1) * _mean_log(p) - (b - 1) * mirrored
    return where((p.high > 1) | (p.low < 0), math.inf, result)


@_registered(Uniform, q=Pareto)
def _to_pareto(p: Any, q: Any) -> Tensor:
    normalizer = q.alpha.log() + q.alpha * q.scale.log()
    return where(p.low < q.scale, math.inf, -p.entropy() - normalizer + (q.alpha + 1) * _mean_log(p))


_registered(Beta, q=Uniform)(
    lambda p, q: where((q.low > 0) | (q.high < 1), math.inf, -p.entropy() + (q.high - q.low).log())
)


@_registered(ContinuousBernoulli, q=Uniform)
def _continuous_bernoulli_to_uniform(p: Any, q: Any) -> Tensor:
    """Compute the divergence; as in PyTorch, it is also infinite for a q that ends at 0 or 1."""
    return where((q.low >= 0) | (q.high <= 1), math.inf, -p.entropy() + (q.high - q.low).log())
