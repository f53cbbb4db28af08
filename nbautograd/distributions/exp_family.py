"""Exponential families, whose entropies and divergences come from their log-normalizers."""

from __future__ import annotations

from nbautograd._engine.core.tensor import Tensor
from nbautograd.autograd.backward import grad
from nbautograd.distributions.distribution import Distribution
from nbautograd.distributions.utils import attribute

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """The base of distributions with a density of the form exp(t(x)·θ - F(θ) + k(x)).

    θ are the natural parameters, F is the log-normalizer, k the carrier measure. A subclass declares
    ``_natural_params``, ``_log_normalizer(*natural_params)`` and ``_mean_carrier_measure``; it gets an entropy by
    automatic differentiation of F, H = F(θ) - θ·∇F(θ) - E[k] (F. Nielsen and R. Nock, 2010).

    >>> isinstance(torch.distributions.Poisson(3.0), torch.distributions.ExponentialFamily)
    True
    """

    _natural_params = _mean_carrier_measure = attribute(Distribution._missing)
    _log_normalizer = Distribution._missing

    def _entropy(self) -> Tensor:
        carried = self._mean_carrier_measure  # first, because a family without it has no entropy
        parameters = [parameter.detach().requires_grad_() for parameter in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        result = normalizer - carried
        for parameter, slope in zip(parameters, grad(normalizer.sum(), parameters, create_graph=True), strict=True):
            result = result - (parameter * slope).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
