"""From a constraint to a transform into the set: ``biject_to`` for bijections, ``transform_to`` for any surjection.

Optimizers want unconstrained numbers: ``transform_to(constraint)`` maps them into the set, and is often cheaper.
Densities of transformed variables need the bijection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from nbautograd.distributions import constraints, transforms
from nbautograd.distributions.constraints import Constraint
from nbautograd.distributions.transforms import Transform
from nbautograd.distributions.utils import _Number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """A table from a class of constraints to the function that creates a transform into an instance's set.

    :param constraint: an instance of a registered class, the argument of a call.
    :returns: a transform, from a call with a constraint.
    :raises NotImplementedError: no function is registered for the class of the constraint.

    >>> import nbautograd as torch
    >>> d = torch.distributions
    >>> d.transform_to(d.constraints.positive)(torch.tensor(0.0))
    tensor(1.)
    """

    def __init__(self) -> None:
        self._registry: dict[type[Constraint], Factory] = {}
        super().__init__()

    @overload
    def register(self, constraint: Any, factory: None = None) -> Callable[[Factory], Factory]: ...
    @overload
    def register(self, constraint: Any, factory: Factory) -> Factory: ...
    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Register a function for a class of constraints; without a function, return a decorator.

        :param constraint: the class, or an instance.
        :param factory: takes a constraint, returns a transform.
        :raises TypeError: ``constraint`` is neither.

        >>> import nbautograd as torch
        >>> d = torch.distributions
        >>> class Even(d.constraints.Constraint):
        ...     pass
        >>> registry = d.constraint_registry.ConstraintRegistry()
        >>> @registry.register(Even)
        ... def doubled(constraint):
        ...     return d.AffineTransform(0, 2)
        >>> registry(Even())(torch.tensor(3))
        tensor(6)
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        """Return the transform into the constraint's set.

        :raises NotImplementedError: no function is registered for the constraint.
        """
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: Any) -> Callable[[Factory], Factory]:
    """Register a function that creates bijections in both registries."""

    def registered(factory: Factory) -> Factory:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return registered


@_both(constraints.real)
def _to_real(constraint: Any) -> Transform:
    return transforms.identity_transform


@_both(constraints.positive, constraints.nonnegative)
def _to_greater(constraint: Any) -> Transform:
    """Return a transform to the numbers above a bound."""
    parts: list[Transform] = [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    return transforms.ComposeTransform(parts)


@_both(constraints.less_than)
def _to_less(constraint: Any) -> Transform:
    parts: list[Transform] = [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    return transforms.ComposeTransform(parts)


@_both(constraints.interval, constraints.half_open_interval)
def _to_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    sigmoid = transforms.SigmoidTransform()
    if isinstance(low, _Number) and low == 0 and isinstance(high, _Number) and high == 1:
        return sigmoid
    return transforms.ComposeTransform([sigmoid, transforms.AffineTransform(low, high - low)])


@_both(constraints.corr_cholesky)
def _to_corr_cholesky(constraint: Any) -> Transform:
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.simplex)
def _biject_to_simplex(constraint: Any) -> Transform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _transform_to_simplex(constraint: Any) -> Transform:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _transform_to_lower_cholesky(constraint: Any) -> Transform:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _transform_to_positive_definite(constraint: Any) -> Transform:
    return transforms.PositiveDefiniteTransform()


def _register_compounds(registry: ConstraintRegistry) -> None:
    """Register functions for compound constraints, which look up their parts in the same registry."""

    @registry.register(constraints.independent)
    def independent(constraint: Any) -> Transform:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    @registry.register(constraints.cat)
    def cat(constraint: Any) -> Transform:
        return transforms.CatTransform(list(map(registry, constraint.cseq)), constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)
    def stack(constraint: Any) -> Transform:
        return transforms.StackTransform(list(map(registry, constraint.cseq)), constraint.dim)


_register_compounds(biject_to)
_register_compounds(transform_to)
