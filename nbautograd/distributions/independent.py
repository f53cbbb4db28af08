"""Batch dimensions as event dimensions."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from nbautograd._engine.core.tensor import Tensor
from nbautograd.distributions import constraints
from nbautograd.distributions.distribution import Distribution
from nbautograd.distributions.utils import _sum_rightmost, attribute, formula

__all__ = ["Independent"]

D = TypeVar("D", bound=Distribution)


class Independent(Distribution, Generic[D]):
    """A distribution whose last batch dimensions are dimensions of one event: its parts are independent.

    :param base_distribution: the distribution of each part.
    :param reinterpreted_batch_ndims: the number of batch dimensions.
    :raises ValueError: the base has fewer batch dimensions.

    >>> vector = torch.distributions.Independent(torch.distributions.Normal(torch.zeros(3), 1.0), 1)
    >>> vector.batch_shape, vector.event_shape, vector.log_prob(torch.zeros(3))
    (torch.Size([]), torch.Size([3]), tensor(-2.7568))
    """

    arg_constraints: Any = {}
    base_dist: D
    _mean = formula(lambda d: d.base_dist.mean)
    _mode = formula(lambda d: d.base_dist.mode)
    _variance = formula(lambda d: d.base_dist.variance)
    _sample = formula(lambda d, shape: d.base_dist.sample(shape))
    _rsample = formula(lambda d, shape: d.base_dist.rsample(shape))
    _entropy = formula(lambda d: _sum_rightmost(d.base_dist.entropy(), d.reinterpreted_batch_ndims))
    has_rsample = attribute(lambda d: d.base_dist.has_rsample, "True if the base has it.")
    has_enumerate_support = attribute(
        lambda d: d.reinterpreted_batch_ndims <= 0 and d.base_dist.has_enumerate_support,
        "True if the base has it and no batch dimension is reinterpreted.",
    )

    def __init__(self, base_distribution: D, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None:
        batch, event = base_distribution.batch_shape, base_distribution.event_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch)}"
            )
        kept = len(batch) - reinterpreted_batch_ndims
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(batch[:kept], batch[kept:] + event, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        """The base's support, for all parts."""
        support = self.base_dist.support
        if support is None or not self.reinterpreted_batch_ndims:
            return support
        return constraints.independent(support, self.reinterpreted_batch_ndims)

    def log_prob(self, value: Tensor) -> Tensor:
        """Compute the sum of the parts' logarithms of densities; the base validates.

        >>> parts = torch.distributions.Bernoulli(torch.tensor([0.5, 0.5]))
        >>> torch.distributions.Independent(parts, 1).log_prob(torch.ones(2))
        tensor(-1.3863)
        """
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return the values of the base.

        :raises NotImplementedError: several parts exist; their combinations are not supported.

        >>> torch.distributions.Independent(torch.distributions.Bernoulli(0.5), 0).enumerate_support()
        tensor([0., 1.])
        """
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
