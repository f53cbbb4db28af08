"""Distributions of functions of random variables, by the change of variables."""

from __future__ import annotations

import math
from typing import Any

from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.tensor import Tensor
from nbautograd.distributions import constraints
from nbautograd.distributions.distribution import Distribution
from nbautograd.distributions.independent import Independent
from nbautograd.distributions.transforms import ComposeTransform, Transform
from nbautograd.distributions.utils import _sum_rightmost, attribute, formula

__all__ = ["TransformedDistribution"]


def _as_list(transforms: Any) -> list[Transform]:
    """Return a list of transforms, from a transform or a list."""
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
    if not all(isinstance(transform, Transform) for transform in transforms):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    return transforms


def of_base(name: str, path: str = "base_dist") -> Any:
    """Return a property for the parameter of this name of the base distribution."""

    def get(self: Any) -> Tensor:
        for part in path.split("."):
            self = getattr(self, part)
        return getattr(self, name)

    return property(get, doc=f"The parameter ``{name}`` of the base distribution.")


class TransformedDistribution(Distribution):
    """The distribution of y = fₙ(... f₁(x)), where x has the base distribution.

    Its density is ``log p(y) = log p(x) - log |det ∂y/∂x|``.

    :param base_distribution: the distribution of x.
    :param transforms: a transform, or a list of transforms in the order of application.
    :raises ValueError: an argument is not a transform, or x has too few dimensions.

    >>> d = torch.distributions
    >>> log_normal = d.TransformedDistribution(d.Normal(0.0, 1.0), [d.ExpTransform()])
    >>> log_normal.log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: Any = {}
    base_dist: Any
    _sample = formula(lambda d, shape: d._transformed(d.base_dist.sample(shape)))
    _rsample = formula(lambda d, shape: d._transformed(d.base_dist.rsample(shape)))
    has_rsample = attribute(lambda d: d.base_dist.has_rsample, "True if the base has it.")
    _icdf = formula(lambda d, p: d._transformed(d.base_dist.icdf(d._turned(p))))

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = _as_list(transforms)
        transform = ComposeTransform(self.transforms)
        domain_dim, codomain_dim = transform.domain.event_dim, transform.codomain.event_dim
        shape = base_distribution.batch_shape + base_distribution.event_shape
        base_dim = len(base_distribution.event_shape)
        if len(shape) < domain_dim:
            raise ValueError(f"base_distribution needs to have shape with size at least {domain_dim}, but got {shape}.")
        forward_shape = Size(transform.forward_shape(shape))
        base_shape = Size(transform.inverse_shape(forward_shape))  # transforms with several parameters broadcast
        if shape != base_shape:
            base_distribution = base_distribution.expand(base_shape[: len(base_shape) - base_dim])
        if domain_dim > base_dim:
            base_distribution = Independent(base_distribution, domain_dim - base_dim)
        self.base_dist = base_distribution
        event_dim = max(codomain_dim, base_dim + codomain_dim - domain_dim)
        if len(forward_shape) < event_dim:
            raise AssertionError(f"forward_shape length {len(forward_shape)} must be >= event_dim {event_dim}")
        cut = len(forward_shape) - event_dim
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args=validate_args)

    def _expanded(self, name: str, value: Any, batch_shape: Size) -> Any:
        if name != "base_dist":
            return super()._expanded(name, value, batch_shape)
        shape = batch_shape + self._event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        return value.expand(shape[: len(shape) - len(value.event_shape)])

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """The codomain of the last transform."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        extra = len(self._event_shape) - support.event_dim
        return constraints.independent(support, extra) if extra > 0 else support

    def _transformed(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def _log_prob(self, value: Tensor) -> Tensor:
        event_dim = len(self._event_shape)
        result: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            result = result - _sum_rightmost(slope, event_dim - transform.domain.event_dim)
            y = x
        return result + _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _turned(self, probability: Tensor) -> Tensor:
        """Return the probability p, or 1 - p if the transforms decrease."""
        sign = math.prod(transform.sign for transform in self.transforms)
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        """Return the cumulative distribution function, where all transforms are monotonic.

        :raises ValueError: arguments are validated, and ``value`` is not in the support.

        >>> torch.distributions.LogNormal(0.0, 1.0).cdf(torch.tensor(1.0))
        tensor(0.5000)
        """
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._turned(self.base_dist.cdf(value))
