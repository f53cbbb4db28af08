"""The base class of constraints, and constraints that depend on parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd._engine.core.batched import BatchedTensor
from nbautograd._engine.core.tensor import Tensor
from nbautograd.distributions.utils import attribute

__all__ = ["Constraint", "MixtureSameFamilyConstraint", "is_dependent"]


class Constraint:
    """The base of constraints: a set, and a check for its values.

    ``event_dim`` is the number of dimensions of one value; ``is_discrete`` is True for a discrete set.

    >>> torch.distributions.constraints.positive.check(torch.tensor([1., -1.]))
    tensor([ True, False])
    """

    is_discrete: Any = False
    event_dim: Any = 0
    _shown: tuple[str, ...] = ()
    """The attributes that ``repr`` shows."""

    def check(self, value: Tensor) -> Tensor:
        """Check which values of ``event_dim`` dimensions are in the set, and return a tensor of bools.

        >>> torch.distributions.constraints.simplex.check(torch.tensor([[0.5, 0.5], [1., 1.]]))
        tensor([ True, False])
        """
        return self._check(value)

    def _check(self, value: Tensor) -> Tensor:
        raise NotImplementedError

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)
        return f"{self.__class__.__name__.removeprefix('_')}({shown})"


# -- constraints that depend on others ---------------------------------------------------------------------------------


class _Dependent(Constraint):
    """A placeholder for a constraint that depends on other parameters: the class does not know it.

    :param is_discrete: whether values are discrete, if known.
    :param event_dim: the number of dimensions of one value, if known.
    :returns: another such constraint, if called with these keywords.
    :raises NotImplementedError: ``is_discrete`` or ``event_dim`` is read and unknown.

    >>> constraints = torch.distributions.constraints
    >>> constraints.dependent(event_dim=1).event_dim, constraints.is_dependent(constraints.dependent)
    (1, True)
    """

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> Any:
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def _check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Constraint) -> bool:
    """Return whether only instances know a constraint.

    :param constraint: the constraint.
    :returns: a Python bool.

    >>> torch.distributions.constraints.is_dependent(torch.distributions.Uniform.support)
    True
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that is a constraint: a dependent one on a class, the function's result on an instance.

    :param fn: a function of an instance that returns a constraint; None to decorate one.
    :param is_discrete: whether values are discrete, if the class knows.
    :param event_dim: the number of dimensions of one value, if the class knows.
    :returns: a decorator if ``fn`` is None.

    >>> constraints = torch.distributions.constraints
    >>> class Above:
    ...     def __init__(self, bound):
    ...         self.bound = bound
    ...     @constraints.dependent_property(is_discrete=False, event_dim=0)
    ...     def support(self):
    ...         return constraints.greater_than(self.bound)
    >>> Above.support.event_dim, Above(3).support
    (0, GreaterThan(lower_bound=3))
    """

    def __init__(
        self,
        fn: Callable[[Any], Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        property.__init__(self, fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable[[Any], Any]) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _Wrapping(Constraint):
    """The base of constraints that wrap another constraint."""

    is_discrete = attribute(lambda c: c.base_constraint.is_discrete)
    event_dim = attribute(lambda c: c.base_constraint.event_dim)

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint
        super().__init__()


def _is_all_true(valid: Tensor) -> bool:
    """Return whether all elements are true: inside ``vmap`` those of all samples, so that checks work there."""
    while isinstance(valid, BatchedTensor):
        valid = valid.value
    return bool(valid.all())


def _all_rightmost(result: Tensor, kept: int) -> Tensor:
    """Return whether all elements are true over all dimensions except the first ``kept``."""
    return result.reshape(result.shape[:kept] + (-1,)).all(-1)


class _IndependentConstraint(_Wrapping):
    """Another constraint that must hold over ``reinterpreted_batch_ndims`` more dimensions.

    :param base_constraint: the other constraint.
    :param reinterpreted_batch_ndims: the number of batch dimensions that belong to one value.
    :raises AssertionError: ``base_constraint`` is not a constraint, or the number is not a nonnegative int.

    >>> constraints = torch.distributions.constraints
    >>> constraints.independent(constraints.positive, 1).check(torch.tensor([[1., 2.], [1., -2.]]))
    tensor([ True, False])
    """

    event_dim = attribute(lambda c: c.base_constraint.event_dim + c.reinterpreted_batch_ndims)

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            kind = type(reinterpreted_batch_ndims).__name__
            raise AssertionError(f"reinterpreted_batch_ndims must be an int, got {kind}")
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_rightmost(result, result.dim() - self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Wrapping):
    """The constraint of a mixture's samples: ``base_constraint``, the components', holds for every component.

    :param base_constraint: the constraint of the components.
    :raises AssertionError: ``base_constraint`` is not a constraint.

    >>> constraints = torch.distributions.constraints
    >>> constraints.MixtureSameFamilyConstraint(constraints.positive).check(torch.tensor([1., -1.]))
    tensor([ True, False])
    """

    def _check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_rightmost(result, value.dim() - self.event_dim)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_constraint!r})"
