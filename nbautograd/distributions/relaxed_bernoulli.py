"""Bernoulli variables, relaxed to numbers between 0 and 1, with gradients: the binary concrete distribution.

C. J. Maddison, A. Mnih, Y. W. Teh (2017). With the temperature towards 0, samples become choices.
"""

from __future__ import annotations

from typing import Any

from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.random import rand
from nbautograd.distributions import constraints
from nbautograd.distributions.counts import EVENT_CONSTRAINTS, ByProbability
from nbautograd.distributions.distribution import Distribution
from nbautograd.distributions.transformed_distribution import TransformedDistribution, of_base
from nbautograd.distributions.transforms import SigmoidTransform
from nbautograd.distributions.utils import broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ByProbability, Distribution):
    """The log-odds of a relaxed Bernoulli variable: a logistic distribution.

    >>> relaxed = torch.distributions.relaxed_bernoulli.LogitRelaxedBernoulli(torch.tensor(1.0), logits=0.0)
    >>> relaxed.log_prob(torch.tensor(0.0))
    tensor(-1.3863)
    """

    arg_constraints = EVENT_CONSTRAINTS
    support = constraints.real

    def __init__(
        self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        self._declare(validate_args, **self._probs_or_logits(probs, logits))

    def _rsample(self, sample_shape: Size) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(rand(shape, dtype=probs.dtype, device=probs.device))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        gap = logits - value * self.temperature
        return self.temperature.log() + gap - 2 * gap.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """A relaxed Bernoulli distribution, on (0, 1), with gradients of samples.

    :param probs: the probability of 1.
    :param logits: its log-odds, instead.
    :raises ValueError: both or neither are given.

    >>> relaxed = torch.distributions.RelaxedBernoulli(torch.tensor(0.01), probs=torch.tensor([0.2, 0.9]))
    >>> relaxed.rsample().shape
    torch.Size([2])
    """

    arg_constraints = EVENT_CONSTRAINTS
    support = constraints.unit_interval
    has_rsample = True
    temperature, probs, logits = map(of_base, ("temperature", "probs", "logits"))

    def __init__(
        self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)
