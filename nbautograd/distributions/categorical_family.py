"""Distributions of choices among several: categorical, one-hot, multinomial ones."""

from __future__ import annotations

import math
from typing import Any

from nbautograd._engine.arrays.dtypes import finfo, int64
from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import eye, full, ones_like, zeros
from nbautograd._engine.ops.creation.distributions import multinomial
from nbautograd._engine.ops.creation.from_data import tensor
from nbautograd._engine.ops.creation.ranges import arange
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.shape.broadcasting import broadcast_tensors
from nbautograd.distributions import constraints
from nbautograd.distributions.counts import Binomial, ByProbability
from nbautograd.distributions.distribution import Distribution
from nbautograd.distributions.utils import attribute, broadcast_all, formula
from nbautograd.nn.functional import one_hot

__all__ = ["Categorical", "Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough"]

CHOICE_CONSTRAINTS = {"probs": constraints.simplex, "logits": constraints.real_vector}


class Categorical(ByProbability, Distribution):
    """The categorical distribution: i with probability ``probs[..., i]``.

    :param probs: weights in the last dimension, which are normalized.
    :param logits: logarithms of weights, instead.
    :raises ValueError: both or neither are given, or they have no dimension.

    >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = CHOICE_CONSTRAINTS
    has_enumerate_support = True
    _binary = False
    _undefined = formula(lambda d: full(d._extended_shape(), math.nan, dtype=d.probs.dtype, device=d.probs.device))
    _mean = _variance = formula(lambda d: d._undefined())
    _mode = formula(lambda d: d.probs.argmax(-1))
    _values = formula(lambda d: arange(d._num_events, dtype=int64, device=d._param.device))
    _entropy = formula(lambda d: -(d.logits.clamp(min=finfo(d.logits.dtype).min) * d.probs).sum(-1))

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        ((name, weights),) = self._probs_or_logits(probs, logits).items()
        if weights.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self.probs = weights / weights.sum(-1, keepdim=True)
        else:
            self.logits = weights - weights.logsumexp(dim=-1, keepdim=True)
        self._num_events = weights.shape[-1]
        super().__init__(weights.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The indices of the choices."""
        return constraints.integer_interval(0, self._num_events - 1)

    def _sample(self, sample_shape: Size) -> Tensor:
        weights = self.probs.reshape(-1, self._num_events)
        return multinomial(weights, sample_shape.numel(), True).T.reshape(self._extended_shape(sample_shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        index, log_probs = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_probs.gather(-1, index[..., :1]).squeeze(-1)


class WithCategorical(ByProbability):
    """The base of distributions that share the parameters of a categorical distribution, ``_categorical``.

    :param probs: weights in the last dimension, which are normalized.
    :param logits: logarithms of weights, instead.
    :raises ValueError: both or neither are given, or they have no dimension.
    """

    _categorical: Any
    _param = attribute(lambda d: d._categorical._param)
    probs: Tensor = attribute(lambda d: d._categorical.probs, "Probabilities of the choices, in the last dimension.")
    logits: Tensor = attribute(lambda d: d._categorical.logits, "Logarithms of the probabilities.")


class OneHotCategorical(WithCategorical, Distribution):
    """The categorical distribution with choices as vectors: 1 for the choice, 0 for all others.

    >>> torch.distributions.OneHotCategorical(torch.tensor([1.0, 3.0])).mode
    tensor([0., 1.])
    """

    arg_constraints = CHOICE_CONSTRAINTS
    support = constraints.one_hot
    has_enumerate_support = True
    _mean = formula(lambda d: d.probs)
    _mode = formula(lambda d: one_hot(d.probs.argmax(-1), d.probs.shape[-1]).to(d.probs))
    _variance = formula(lambda d: d.probs * (1 - d.probs))
    _sample = formula(lambda d, shape: one_hot(d._categorical.sample(shape), d._categorical._num_events).to(d.probs))
    _log_prob = formula(lambda d, x: d._categorical.log_prob(x.argmax(-1)))
    _entropy = formula(lambda d: d._categorical.entropy())
    _values = formula(lambda d: eye(d._event_shape[0], dtype=d._param.dtype, device=d._param.device))

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        super().__init__(*shape, validate_args=validate_args)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot samples with the gradients of the probabilities (Y. Bengio, N. Léonard, A. Courville, 2013).

    >>> logits = torch.zeros(3, requires_grad=True)
    >>> torch.distributions.OneHotCategoricalStraightThrough(logits=logits).rsample().sum()
    tensor(1., grad_fn=<SumBackward0>)
    """

    has_rsample = True
    _rsample = formula(lambda d, shape: d.sample(shape) + (d.probs - d.probs.detach()))


class Multinomial(WithCategorical, Distribution):
    """The multinomial distribution: the counts of several choices in ``total_count`` trials.

    :param total_count: the number of trials.
    :raises NotImplementedError: ``total_count`` is not an int.

    >>> torch.distributions.Multinomial(8, torch.tensor([1.0, 3.0])).mean
    tensor([2., 6.])
    """

    arg_constraints = CHOICE_CONSTRAINTS
    total_count: int
    _mean = formula(lambda d: d.probs * d.total_count)
    _variance = formula(lambda d: d.total_count * d.probs * (1 - d.probs))

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        shape = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        super().__init__(*shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Counts that sum to ``total_count``."""
        return constraints.multinomial(self.total_count)

    def _sample(self, sample_shape: Size) -> Tensor:
        chosen = self._categorical.sample(Size((self.total_count,)) + sample_shape).movedim(0, -1)
        counts = zeros(self._extended_shape(sample_shape), dtype=chosen.dtype, device=chosen.device)
        return counts.scatter_add_(-1, chosen, ones_like(chosen)).type_as(self.probs)

    def _entropy(self) -> Tensor:
        """Compute N H(p) - ln n! + Σᵢ E[ln xᵢ!], where xᵢ has a binomial distribution."""
        binomial = Binomial(self.total_count, probs=self.probs)
        log_factorial = tensor(self.total_count + 1.0, dtype=self.probs.dtype).lgamma()
        counts = binomial.enumerate_support(expand=False)[1:]
        expected = binomial.log_prob(counts).exp() * (counts + 1).lgamma()
        return self.total_count * self._categorical.entropy() - log_factorial + expected.sum([0, -1])

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        logits = where((value == 0) & (logits == -math.inf), 0.0, logits)  # 0 · log 0 is 0
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)
