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


def _exponential(bound: str, sign: int) -> Factory:
    """Return a function that creates transforms to the numbers on one side of a constraint's bound."""
    return lambda c: transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(getattr(c, bound), sign)]
    )


def _to_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    sigmoid = transforms.SigmoidTransform()
    if isinstance(low, _Number) and low == 0 and isinstance(high, _Number) and high == 1:
        return sigmoid
    return transforms.ComposeTransform([sigmoid, transforms.AffineTransform(low, high - low)])


def _to_parts(registry: ConstraintRegistry) -> dict[Any, Factory]:
    """Return the functions for compound constraints, which look up their parts in the same registry."""
    return {
        constraints.independent: lambda c: transforms.IndependentTransform(
            registry(c.base_constraint), c.reinterpreted_batch_ndims
        ),
        constraints.cat: lambda c: transforms.CatTransform(list(map(registry, c.cseq)), c.dim, c.lengths),
        constraints.stack: lambda c: transforms.StackTransform(list(map(registry, c.cseq)), c.dim),
    }


BIJECTIONS: dict[Any, Factory] = {
    constraints.real: lambda c: transforms.identity_transform,
    constraints.positive: _exponential("lower_bound", 1),
    constraints.nonnegative: _exponential("lower_bound", 1),
    constraints.less_than: _exponential("upper_bound", -1),
    constraints.interval: _to_interval,
    constraints.half_open_interval: _to_interval,
    constraints.corr_cholesky: lambda c: transforms.CorrCholeskyTransform(),
}
FURTHER: list[tuple[ConstraintRegistry, dict[Any, Factory]]] = [
    (biject_to, {constraints.simplex: lambda c: transforms.StickBreakingTransform()}),
    (
        transform_to,
        {
            constraints.simplex: lambda c: transforms.SoftmaxTransform(),
            constraints.lower_cholesky: lambda c: transforms.LowerCholeskyTransform(),
            constraints.positive_definite: lambda c: transforms.PositiveDefiniteTransform(),
            constraints.positive_semidefinite: lambda c: transforms.PositiveDefiniteTransform(),
        },
    ),
]
"""The functions of each registry besides those of bijections and of compound constraints."""
for _registry, _factories in FURTHER:
    for _kind, _factory in (BIJECTIONS | _factories | _to_parts(_registry)).items():
        _registry.register(_kind, _factory)
