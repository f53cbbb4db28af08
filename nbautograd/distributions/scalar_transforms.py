"""Transforms of numbers, element by element."""

from __future__ import annotations

import math
from typing import Any

from nbautograd._engine.arrays.dtypes import finfo
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import full_like
from nbautograd._engine.ops.shape.broadcasting import broadcast_shapes
from nbautograd.distributions import constraints
from nbautograd.distributions.transform_base import Transform
from nbautograd.distributions.utils import _Number, _sum_rightmost, attribute, broadcast_all, formula
from nbautograd.nn.functional import softplus

__all__ = [
    "AbsTransform", "AffineTransform", "CumulativeDistributionTransform", "ExpTransform", "PowerTransform",
    "SigmoidTransform", "SoftplusTransform", "TanhTransform",
]  # fmt: skip


class _Plain(Transform):
    """Base of transforms without parameters, all of which are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))


class _Increasing(_Plain):
    """Base of increasing bijections from the real numbers."""

    domain = constraints.real
    bijective = True
    sign = +1


class ExpTransform(_Increasing):
    """y = exp(x).

    >>> torch.distributions.ExpTransform()(torch.tensor(0.0))
    tensor(1.)
    """

    codomain = constraints.positive
    _call = formula(lambda t, x: x.exp())
    _inverse = formula(lambda t, y: y.log())
    _log_abs_det = formula(lambda t, x, y: x)


class PowerTransform(Transform):
    """y = x ** exponent, of positive numbers.

    >>> torch.distributions.PowerTransform(2.0)(torch.tensor(3.0))
    tensor(9.)
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True
    _arguments = ("exponent",)
    _sign = formula(lambda t: t.exponent.sign())
    _call = formula(lambda t, x: x.pow(t.exponent))
    _inverse = formula(lambda t, y: y.pow(1 / t.exponent))
    _log_abs_det = formula(lambda t, x, y: (t.exponent * y / x).abs().log())
    _forward_shape = _inverse_shape = formula(lambda t, shape: broadcast_shapes(shape, t.exponent.shape))

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())


def _inside_unit(values: Tensor) -> Tensor:
    """Clamp values to the open unit interval."""
    info = finfo(values.dtype)
    return values.clamp(min=info.tiny, max=1.0 - info.eps)


class SigmoidTransform(_Increasing):
    """y = 1 / (1 + exp(-x)), with the inverse log(y) - log(1 - y).

    >>> torch.distributions.SigmoidTransform()(torch.tensor(0.0))
    tensor(0.5000)
    """

    codomain = constraints.unit_interval
    _call = formula(lambda t, x: _inside_unit(x.sigmoid()))
    _log_abs_det = formula(lambda t, x, y: -softplus(-x) - softplus(x))

    def _inverse(self, y: Tensor) -> Tensor:
        y = _inside_unit(y)
        return y.log() - (-y).log1p()


class SoftplusTransform(_Increasing):
    """y = log(1 + exp(x)), which is x itself where x is above 20.

    >>> torch.distributions.SoftplusTransform()(torch.tensor(0.0))
    tensor(0.6931)
    """

    codomain = constraints.positive
    _call = formula(lambda t, x: softplus(x))
    _inverse = formula(lambda t, y: (-y).expm1().neg().log() + y)
    _log_abs_det = formula(lambda t, x, y: -softplus(-x))


class TanhTransform(_Increasing):
    """y = tanh(x). A cache is more accurate than its inverse near ±1.

    >>> torch.distributions.TanhTransform()(torch.tensor(0.0))
    tensor(0.)
    """

    codomain = constraints.interval(-1.0, 1.0)
    _call = formula(lambda t, x: x.tanh())
    _inverse = formula(lambda t, y: y.atanh())

    def _log_abs_det(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))  # log(1 - tanh²), without cancellation


class AbsTransform(_Plain):
    """``y = |x|``; the inverse returns y, one of the two solutions.

    >>> torch.distributions.AbsTransform()(torch.tensor(-2.0))
    tensor(2.)
    """

    domain = constraints.real
    codomain = constraints.positive
    _call = formula(lambda t, x: x.abs())
    _inverse = formula(lambda t, y: y)


def _same(a: Any, b: Any) -> bool:
    """Return whether two parameters, numbers or tensors, are equal."""
    equal = a == b
    return bool(equal.all()) if isinstance(equal, Tensor) else bool(equal)


class AffineTransform(Transform):
    """y = loc + scale * x, element by element.

    :param loc: a number or a tensor.
    :param scale: a number or a tensor.
    :param event_dim: the number of dimensions of one value: 0 for numbers, 1 for vectors, ...

    >>> torch.distributions.AffineTransform(1.0, 2.0)(torch.tensor(3.0))
    tensor(7.)
    """

    bijective = True
    _arguments = ("loc", "scale", "event_dim")
    _call = formula(lambda t, x: t.loc + t.scale * x)
    _inverse = formula(lambda t, y: (y - t.loc) / t.scale)
    event_dim: int = attribute(lambda t: t._event_dim, "The number of dimensions of one value.")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """Real numbers, of ``event_dim`` dimensions."""
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    def _sign(self) -> Any:
        return (self.scale > 0) - (self.scale < 0) if isinstance(self.scale, _Number) else self.scale.sign()

    def _log_abs_det(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, _Number):
            result = full_like(x, math.log(abs(self.scale)))
        else:
            result = self.scale.abs().log()
        return _sum_rightmost(result, self._event_dim).expand(x.shape[: x.dim() - self._event_dim])

    def _forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    _inverse_shape = _forward_shape


class CumulativeDistributionTransform(Transform):
    """y = F(x), the cumulative distribution function of a distribution of numbers: y is uniform if x is a sample.

    :param distribution: a distribution with ``cdf`` and ``icdf``.

    >>> normal = torch.distributions.Normal(0.0, 1.0)
    >>> torch.distributions.CumulativeDistributionTransform(normal)(torch.tensor(0.0))
    tensor(0.5000)
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1
    _arguments = ("distribution",)
    _call = formula(lambda t, x: t.distribution.cdf(x))
    _inverse = formula(lambda t, y: t.distribution.icdf(y))
    _log_abs_det = formula(lambda t, x, y: t.distribution.log_prob(x))
    domain = attribute(lambda t: t.distribution.support, "The support of the distribution.")

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution
