"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.tensor import Tensor
from nbautograd.distributions import constraints
from nbautograd.distributions.categorical_family import Categorical
from nbautograd.distributions.constraints import MixtureSameFamilyConstraint
from nbautograd.distributions.distribution import Distribution
from nbautograd.distributions.utils import attribute, formula
from nbautograd.nn.functional import log_softmax

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture: a component is chosen, then a sample of it is drawn.

    :param mixture_distribution: a ``Categorical`` over the components.
    :param component_distribution: a distribution whose last batch dimension runs over the components.
    :raises ValueError: an argument is not such a distribution, or the shapes do not match.

    >>> d = torch.distributions
    >>> normals = d.Normal(torch.tensor([-1.0, 1.0]), 0.5)
    >>> d.MixtureSameFamily(d.Categorical(torch.ones(2)), normals).variance
    tensor(1.2500)
    """

    arg_constraints: Any = {}
    has_rsample = False
    mixture_distribution: Categorical = attribute(
        lambda d: d._mixture_distribution, "The distribution over the components."
    )
    component_distribution: Distribution = attribute(
        lambda d: d._component_distribution, "The components, along the last batch dimension."
    )
    _mean = formula(lambda d: d._mixed(d._component_distribution.mean))
    _padded = formula(lambda d, x: x.unsqueeze(-1 - d._event_ndims))  # with a dimension for the components

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        mixtures, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for size1, size2 in zip(reversed(mixtures), reversed(batch), strict=False):
            if size1 != 1 and size2 != 1 and size1 != size2:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixtures}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})"
                )
        weights, components = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if weights != components:
            raise ValueError(
                f"`mixture_distribution component` ({weights}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components})"
            )
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._num_component, self._event_ndims = weights, len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        """The support of the components."""
        support = self._component_distribution.support
        return None if support is None else MixtureSameFamilyConstraint(support)

    def _mixed(self, moments: Tensor) -> Tensor:
        """Compute the mean over the components, by their probabilities."""
        probs = self._mixture_distribution.probs
        missing = len(self._batch_shape) - len(self._mixture_distribution.batch_shape)
        padding = 0 if len(self._mixture_distribution.batch_shape) == 1 else missing
        shape = probs.shape[:-1] + (1,) * padding + probs.shape[-1:] + (1,) * self._event_ndims
        return (probs.reshape(shape) * moments).sum(-1 - self._event_ndims)

    def _variance(self) -> Tensor:
        """Compute the mean of the variances, and the variance of the means."""
        within = self._mixed(self._component_distribution.variance)
        return within + self._mixed((self._component_distribution.mean - self._padded(self.mean)).pow(2.0))

    def cdf(self, x: Tensor) -> Tensor:
        """Return the cumulative distribution function: the mean of the components', by their probabilities.

        >>> d = torch.distributions
        >>> d.MixtureSameFamily(d.Categorical(torch.ones(2)), d.Normal(torch.zeros(2), 1.0)).cdf(torch.tensor(0.0))
        tensor(0.5000)
        """
        return (self._component_distribution.cdf(self._padded(x)) * self._mixture_distribution.probs).sum(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        each = self._component_distribution.log_prob(self._padded(value))
        return (each + log_softmax(self._mixture_distribution.logits, dim=-1)).logsumexp(dim=-1)

    def _sample(self, sample_shape: Size) -> Tensor:
        """Draw samples of all components, and select one of them."""
        dim = len(sample_shape) + len(self._batch_shape)
        mixture = self._mixture_distribution
        if len(mixture.batch_shape) < len(self._batch_shape):
            mixture = mixture.expand(self._batch_shape)
        chosen = mixture.sample(sample_shape)
        drawn = self._component_distribution.sample(sample_shape)
        places = chosen.reshape(chosen.shape + (1,) * (len(self._event_shape) + 1))
        places = places.repeat((1,) * len(chosen.shape) + (1,) + self._event_shape)
        return drawn.gather(dim, places).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
