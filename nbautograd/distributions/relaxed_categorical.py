"""Choices, relaxed to points of the simplex, so that samples have gradients: the concrete distribution.

It was found twice: C. J. Maddison, A. Mnih, Y. W. Teh (2017), and E. Jang, S. Gu, B. Poole (2017), as Gumbel-softmax.
With the temperature towards 0, samples become choices.
"""

from __future__ import annotations

from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import full_like
from nbautograd._engine.ops.creation.random import rand
from nbautograd.distributions import constraints
from nbautograd.distributions.categorical_family import CHOICE_CONSTRAINTS, Categorical, WithCategorical
from nbautograd.distributions.distribution import Distribution
from nbautograd.distributions.transformed_distribution import TransformedDistribution, of_base
from nbautograd.distributions.transforms import ExpTransform
from nbautograd.distributions.utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(WithCategorical, Distribution):
    """The logarithms of a relaxed one-hot variable.

    >>> relaxed = torch.distributions.relaxed_categorical.ExpRelaxedCategorical(torch.tensor(1.0), torch.ones(2))
    >>> relaxed.rsample().exp().sum() > 0.999
    tensor(True)
    """

    arg_constraints = CHOICE_CONSTRAINTS
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        super().__init__(*shape, validate_args=validate_args)

    def _rsample(self, sample_shape: Size) -> Tensor:
        u = clamp_probs(rand(self._extended_shape(sample_shape), dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits + -(-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def _log_prob(self, value: Tensor) -> Tensor:
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        log_scale = full_like(self.temperature, float(count)).lgamma() - self.temperature.log() * -(count - 1)
        score = logits - value * self.temperature
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """A relaxed one-hot distribution, on the simplex, with gradients of samples.

    :param probs: weights in the last dimension, which are normalized.
    :param logits: logarithms of weights, instead.
    :raises ValueError: both or neither are given, or they have no dimension.

    >>> torch.distributions.RelaxedOneHotCategorical(torch.tensor(2.0), torch.ones(3)).rsample().shape
    torch.Size([3])
    """

    arg_constraints = CHOICE_CONSTRAINTS
    support = constraints.simplex
    has_rsample = True
    temperature, probs, logits = map(of_base, ("temperature", "probs", "logits"))

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
