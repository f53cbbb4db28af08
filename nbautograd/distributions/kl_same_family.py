"""Kullback-Leibler divergences of distributions of one family."""

from __future__ import annotations

import math
from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.linalg.solvers import linalg_solve_triangular
from nbautograd.autograd.backward import grad
from nbautograd.distributions.categorical_family import Categorical, OneHotCategorical
from nbautograd.distributions.counts import Bernoulli, Binomial, ContinuousBernoulli, Geometric, Poisson
from nbautograd.distributions.exp_family import ExponentialFamily
from nbautograd.distributions.gamma_family import Beta, Dirichlet, Exponential, Gamma
from nbautograd.distributions.independent import Independent
from nbautograd.distributions.kl import kl_divergence, register_kl
from nbautograd.distributions.location_scale import Cauchy, Laplace, Normal, Uniform
from nbautograd.distributions.multivariate_normal import (
    LowRankMultivariateNormal,
    MultivariateNormal,
    _batch_mahalanobis,
    _half_log_det,
)
from nbautograd.distributions.transformed_distribution import TransformedDistribution
from nbautograd.distributions.transformed_family import Gumbel, HalfNormal, Pareto
from nbautograd.distributions.utils import _sum_rightmost, euler_constant
from nbautograd.nn.functional import softplus

__all__: list[str] = []


# -- discrete ----------------------------------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    yes = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    no = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    yes = where(p.probs == 0, 0.0, where(q.probs == 0, math.inf, yes))
    return yes + where(p.probs == 1, 0.0, where(q.probs == 1, math.inf, no))


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return where(p.total_count > q.total_count, math.inf, p.total_count * each)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    return where(p.probs == 0, 0.0, where(q.probs == 0, math.inf, p.probs * (p.logits - q.logits))).sum(-1)


register_kl(OneHotCategorical, OneHotCategorical)(lambda p, q: _categorical(p._categorical, q._categorical))
register_kl(Geometric, Geometric)(lambda p, q: -p.entropy() - (-q.probs).log1p() / p.probs - q.logits)
register_kl(Poisson, Poisson)(lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate))

# -- shares and waiting times ------------------------------------------------------------------------------------------


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    normalizers = [d._cont_bern_log_norm() + (-d.probs).log1p() for d in (p, q)]
    return p.mean * (p.logits - q.logits) + normalizers[0] - normalizers[1]


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    p1, p0, q1, q0 = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    p_total, q_total = p1 + p0, q1 + q0
    normalizers = q1.lgamma() + q0.lgamma() - q_total.lgamma() - (p1.lgamma() + p0.lgamma() - p_total.lgamma())
    slopes = (p1 - q1) * p1.digamma() + (p0 - q0) * p0.digamma() + (q_total - p_total) * p_total.digamma()
    return normalizers + slopes


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    a_total, b_total = a.sum(-1), b.sum(-1)
    normalizers = a_total.lgamma() - b_total.lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return normalizers + ((a - b) * (a.digamma() - a_total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    normalizers = b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma()
    return normalizers + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    """Return the Bregman divergence of the log-normalizers (F. Nielsen and R. Nock, 2010)."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot "
            "be computed using Bregman divergences"
        )
    p_params = [parameter.detach().requires_grad_() for parameter in p._natural_params]
    q_params = q._natural_params
    normalizer = p._log_normalizer(*p_params)
    result = q._log_normalizer(*q_params) - normalizer
    slopes = grad(normalizer.sum(), p_params, create_graph=True)
    for p_param, q_param, slope in zip(p_params, q_params, slopes, strict=True):
        result = result - _sum_rightmost((q_param - p_param) * slope, len(q.event_shape))
    return result


# -- real numbers ------------------------------------------------------------------------------------------------------


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


register_kl(HalfNormal, HalfNormal)(lambda p, q: _normal(p.base_dist, q.base_dist))


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    """Compute the formula of F. Chyzak and F. Nielsen (2019)."""
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc) / q.scale
    slope = ((1 + ratio).lgamma() - distance).exp()
    return -ratio.log() + distance + ratio * euler_constant + slope - (1 + euler_constant)


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    return where(p.scale < q.scale, math.inf, q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    return where((q.low > p.low) | (q.high < p.high), math.inf, ((q.high - q.low) / (p.high - p.low)).log())


# -- compound distributions --------------------------------------------------------------------------------------------


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    """Compute the bases' divergence: a common bijection does not change it."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


# -- vectors -----------------------------------------------------------------------------------------------------------


def _check_events(p: Any, q: Any, what: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {what} with different event shapes cannot be computed")


def _trace_of_square(matrices: Tensor) -> Tensor:
    """Return tr(A Aᵀ), the sum of all squares."""
    return matrices.pow(2).sum((-2, -1))


def _solved(factor: Tensor, matrices: Tensor) -> Tensor:
    return linalg_solve_triangular(factor, matrices, upper=False)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: Any, q: Any) -> Tensor:
    """Compute (log det Σq/Σp + tr(Σq⁻¹ Σp) + (μq - μp)ᵀ Σq⁻¹ (μq - μp) - n) / 2."""
    _check_events(p, q, "Multivariate Normals")
    p_factor, q_factor = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    trace = _trace_of_square(_solved(q_factor, p_factor))
    distance = _batch_mahalanobis(q_factor, q.loc - p.loc)
    return _half_log_det(q_factor) - _half_log_det(p_factor) + 0.5 * (trace + distance - p.event_shape[0])


def _woodbury(q: Any) -> Tensor:
    """Return C⁻¹ Wᵀ D⁻¹, with which Σ⁻¹ = D⁻¹ - (...)ᵀ (...)."""
    factor, diagonal = q._parts
    return _solved(q._capacitance_tril, factor.mT / diagonal.unsqueeze(-2))


def _to_low_rank(p: Any, q: Any, log_det: Tensor, trace: Tensor) -> Tensor:
    return 0.5 * (q._log_det() - log_det + trace + q._distance(q.loc - p.loc) - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p: Any, q: Any) -> Tensor:
    _check_events(p, q, "Low Rank Multivariate Normals")
    (p_factor, p_diagonal), (_, q_diagonal), projection = p._parts, q._parts, _woodbury(q)
    trace = (p_diagonal / q_diagonal).sum(-1) + _trace_of_square(p_factor * q_diagonal.rsqrt().unsqueeze(-1))
    trace = trace - _trace_of_square(projection * p_diagonal.sqrt().unsqueeze(-2))
    trace = trace - _trace_of_square(projection @ p_factor)
    return _to_low_rank(p, q, p._log_det(), trace)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _multivariate_to_low_rank(p: Any, q: Any) -> Tensor:
    _check_events(p, q, "(Low Rank) Multivariate Normals")
    factor = p._unbroadcasted_scale_tril
    trace = _trace_of_square(factor * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1))
    trace = trace - _trace_of_square(_woodbury(q) @ factor)
    return _to_low_rank(p, q, 2 * _half_log_det(factor), trace)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_to_multivariate(p: Any, q: Any) -> Tensor:
    _check_events(p, q, "(Low Rank) Multivariate Normals")
    (factor, diagonal), q_factor = p._parts, q._unbroadcasted_scale_tril
    trace = _trace_of_square(_solved(q_factor, factor))
    trace = trace + _trace_of_square(_solved(q_factor, diagonal.sqrt().diag_embed()))
    distance = _batch_mahalanobis(q_factor, q.loc - p.loc)
    return 0.5 * (2 * _half_log_det(q_factor) - p._log_det() + trace + distance - p.event_shape[0])
