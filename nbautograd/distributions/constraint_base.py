"""What constraints share, and constraints that depend on others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd._engine.core.batched import BatchedTensor
from nbautograd._engine.core.tensor import Tensor

__all__ = ["Constraint", "MixtureSameFamilyConstraint", "is_dependent"]


class Constraint:
    """Base of constraints: a set, and whether values are in it.

    ``event_dim`` is the number of dimensions of one value, ``is_discrete`` says whether the set is.

    >>> import nbautograd as torch
    >>> torch.distributions.constraints.positive.check(torch.tensor([1., -1.]))
    tensor([ True, False])
    """

    is_discrete: Any = False
    event_dim: Any = 0
    _shown: tuple[str, ...] = ()
    """The attributes that ``repr`` shows."""

    def check(self, value: Tensor) -> Tensor:
        """For each value of ``event_dim`` dimensions, whether it is in the set: a tensor of bools.

        >>> import nbautograd as torch
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
    """Stands for a constraint that depends on other parameters, and so is not known of a class.

    :param is_discrete: whether values are discrete, as far as one knows.
    :param event_dim: the number of dimensions of one value, as far as one knows.
    :returns: called with the same keywords, another such constraint.
    :raises NotImplementedError: ``is_discrete`` or ``event_dim`` is asked for and not known.

    >>> import nbautograd as torch
    >>> constraints = torch.distributions.constraints
    >>> constraints.dependent(event_dim=1).event_dim, constraints.is_dependent(constraints.dependent)
    (1, True)
    """

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
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
    """Whether a constraint is known of instances only.

    :param constraint: the constraint.
    :returns: a Python bool.

    >>> import nbautograd as torch
    >>> torch.distributions.constraints.is_dependent(torch.distributions.Uniform.support)
    True
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that is a constraint: of a class a dependent one, of an instance what the function returns.

    :param fn: a function of an instance that returns a constraint; None to decorate one.
    :param is_discrete: whether values are discrete, as far as the class knows.
    :param event_dim: the number of dimensions of one value, as far as the class knows.
    :returns: a decorator if ``fn`` is None.

    >>> import nbautograd as torch
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
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[[Any], Any]) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _Wrapping(Constraint):
    """A constraint on what another one constrains, taken together in some other way."""

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        return self.base_constraint.event_dim


def _is_all_true(valid: Tensor) -> bool:
    """Whether all elements are true: inside of ``vmap`` those of all samples, so that checks work there, too."""
    while isinstance(valid, BatchedTensor):
        valid = valid.value
    return bool(valid.all())


def _all_rightmost(result: Tensor, kept: int) -> Tensor:
    """Whether all are true over all dimensions but the first ``kept``."""
    return result.reshape(result.shape[:kept] + (-1,)).all(-1)


class _IndependentConstraint(_Wrapping):
    """Another constraint, which has to hold over ``reinterpreted_batch_ndims`` more dimensions.

    :param base_constraint: the other constraint.
    :param reinterpreted_batch_ndims: how many batch dimensions belong to one value.
    :raises AssertionError: ``base_constraint`` is no constraint, or the number is no int or negative.

    >>> import nbautograd as torch
    >>> constraints = torch.distributions.constraints
    >>> constraints.independent(constraints.positive, 1).check(torch.tensor([[1., 2.], [1., -2.]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            kind = type(reinterpreted_batch_ndims).__name__
            raise AssertionError(f"reinterpreted_batch_ndims must be an int, got {kind}")
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def event_dim(self) -> Any:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def _check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_rightmost(result, result.dim() - self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Wrapping):
    """What samples of a mixture satisfy: ``base_constraint``, of the components', for every component.

    :param base_constraint: the constraint of the components.
    :raises AssertionError: it is no constraint.

    >>> import nbautograd as torch
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
