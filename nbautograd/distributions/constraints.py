"""Constraints of parameters and samples: sets of numbers, vectors and matrices, each with a ``check``.

A constraint without parameters is an object, such as ``positive``; one with parameters is a class, such as
``greater_than(lower_bound)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbautograd._engine.arrays.dtypes import bool_, finfo
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import full
from nbautograd._engine.ops.elementwise.comparison import isclose
from nbautograd._engine.ops.linalg.cholesky import linalg_cholesky_ex
from nbautograd._engine.ops.linalg.eig import linalg_eigvalsh
from nbautograd._engine.ops.shape.joining import cat as concatenate, stack as stacked
from nbautograd.distributions.constraint_base import (
    Constraint,
    MixtureSameFamilyConstraint,
    _all_rightmost,
    _Dependent,
    _DependentProperty,
    _IndependentConstraint,
    _is_all_true,
    is_dependent,
)
from nbautograd.distributions.utils import attribute, formula

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
    "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
    "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


# -- numbers -----------------------------------------------------------------------------------------------------------


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True
    _check = formula(lambda c, x: (x == 0) | (x == 1))


class _Real(Constraint):
    """All real numbers: no NaN."""

    _check = formula(lambda c, x: x == x)


class _Above(Constraint):
    """Base of numbers with a lower bound."""

    _shown = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__()


class _Below(Constraint):
    """Base of numbers with an upper bound."""

    _shown = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound
        super().__init__()


class _Between(Constraint):
    """Base of numbers with a lower and an upper bound."""

    _shown = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound
        super().__init__()


class _IntegerInterval(_Between):
    """Integers from a lower to an upper bound.

    :param lower_bound: the least integer, a number or a tensor.
    :param upper_bound: the largest integer.
    :raises TypeError: a bound is missing.

    >>> integer_interval(0, 2).check(torch.tensor([0., 0.5, 2.]))
    tensor([ True, False,  True])
    """

    is_discrete = True
    _check = formula(lambda c, x: (x % 1 == 0) & (x >= c.lower_bound) & (x <= c.upper_bound))


class _IntegerLessThan(_Below):
    """Integers at or below a bound."""

    is_discrete = True
    _check = formula(lambda c, x: (x % 1 == 0) & (x <= c.upper_bound))


class _IntegerGreaterThan(_Above):
    """Integers at or above a bound."""

    is_discrete = True
    _check = formula(lambda c, x: (x % 1 == 0) & (x >= c.lower_bound))


class _GreaterThan(_Above):
    """Numbers above a bound.

    :param lower_bound: the bound, a number or a tensor.
    :raises TypeError: the bound is missing.

    >>> greater_than(0).check(torch.tensor([0., 1.]))
    tensor([False,  True])
    """

    _check = formula(lambda c, x: x > c.lower_bound)


class _GreaterThanEq(_Above):
    """Numbers at or above a bound.

    :param lower_bound: the bound, a number or a tensor.
    :raises TypeError: the bound is missing.

    >>> greater_than_eq(0).check(torch.tensor([-1., 0.]))
    tensor([False,  True])
    """

    _check = formula(lambda c, x: x >= c.lower_bound)


class _LessThan(_Below):
    """Numbers below a bound.

    :param upper_bound: the bound, a number or a tensor.
    :raises TypeError: the bound is missing.

    >>> less_than(0).check(torch.tensor([-1., 0.]))
    tensor([ True, False])
    """

    _check = formula(lambda c, x: x < c.upper_bound)


class _Interval(_Between):
    """Numbers between two bounds, both included.

    :param lower_bound: the lower bound, a number or a tensor.
    :param upper_bound: the upper bound.
    :raises TypeError: a bound is missing.

    >>> interval(0, 1).check(torch.tensor([0., 1., 2.]))
    tensor([ True,  True, False])
    """

    _check = formula(lambda c, x: (x >= c.lower_bound) & (x <= c.upper_bound))


class _HalfOpenInterval(_Between):
    """Numbers between two bounds, the lower one included.

    :param lower_bound: the lower bound, a number or a tensor.
    :param upper_bound: the upper bound.
    :raises TypeError: a bound is missing.

    >>> half_open_interval(0, 1).check(torch.tensor([0., 1.]))
    tensor([ True, False])
    """

    _check = formula(lambda c, x: (x >= c.lower_bound) & (x < c.upper_bound))


# -- vectors -----------------------------------------------------------------------------------------------------------


class _OneHot(Constraint):
    """Vectors of zeros and a single one."""

    is_discrete = True
    event_dim = 1
    _check = formula(lambda c, x: boolean.check(x).all(-1) & (x.sum(-1) == 1))


class _Simplex(Constraint):
    """Vectors of nonnegative numbers that sum to 1."""

    event_dim = 1
    _check = formula(lambda c, x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6))


class _Multinomial(Constraint):
    """Vectors of nonnegative counts that sum to at most a bound.

    :param upper_bound: the bound, a number or a tensor.
    :raises TypeError: the bound is missing.

    >>> multinomial(2).check(torch.tensor([[1., 1.], [2., 1.]]))
    tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1
    _check = formula(lambda c, x: (x >= 0).all(-1) & (x.sum(-1) <= c.upper_bound))

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound


# -- matrices ----------------------------------------------------------------------------------------------------------


class _LowerTriangular(Constraint):
    """Matrices that are zero above the diagonal."""

    event_dim = 2
    _check = formula(lambda c, x: _all_rightmost(x.tril() == x, x.dim() - 2))


class _LowerCholesky(_LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def _check(self, value: Tensor) -> Tensor:
        return super()._check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Lower triangular matrices with a positive diagonal and rows of length 1."""

    def _check(self, value: Tensor) -> Tensor:
        tolerance = finfo(value.dtype).eps * value.shape[-1] * 10
        return super()._check(value) & ((value.detach().norm(dim=-1) - 1.0).abs() <= tolerance).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2
    _check = formula(lambda c, x: full(x.shape[:-2], x.shape[-2] == x.shape[-1], dtype=bool_, device=x.device))


class _Symmetric(_Square):
    """Symmetric matrices."""

    def _check(self, value: Tensor) -> Tensor:
        if value.shape[-2] != value.shape[-1]:
            return super()._check(value)
        return isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def _check(self, value: Tensor) -> Tensor:
        symmetric = super()._check(value)
        return (linalg_eigvalsh(value) >= 0).all(-1) if _is_all_true(symmetric) else symmetric


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues: those with a Cholesky decomposition."""

    def _check(self, value: Tensor) -> Tensor:
        symmetric = super()._check(value)
        return linalg_cholesky_ex(value).info == 0 if _is_all_true(symmetric) else symmetric


# -- several constraints -----------------------------------------------------------------------------------------------


class _JoinedConstraint(Constraint):
    """Base of several constraints, each for a part of a value along ``dim``."""

    is_discrete = attribute(lambda c: any(constraint.is_discrete for constraint in c.cseq))
    event_dim = attribute(lambda c: max(constraint.event_dim for constraint in c.cseq))

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        if not all(isinstance(constraint, Constraint) for constraint in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim
        super().__init__()

    def _check_dim(self, value: Tensor) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_JoinedConstraint):
    """Constraints of slices of the given lengths along ``dim``.

    :param cseq: the constraints.
    :param dim: the dimension.
    :param lengths: the length of each slice; 1 by default.
    :raises AssertionError: an item is not a constraint, or the number of lengths differs.

    >>> cat([positive, real], lengths=[1, 2]).check(torch.tensor([1., -1., -1.]))
    tensor([True, True, True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    def _check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        places = zip(self.cseq, starts, self.lengths, strict=True)
        checks = [constraint.check(value.narrow(self.dim, start, length)) for constraint, start, length in places]
        return concatenate(checks, self.dim)


class _Stack(_JoinedConstraint):
    """Constraints of the tensors stacked along ``dim``.

    :param cseq: the constraints.
    :param dim: the dimension.
    :raises AssertionError: an item is not a constraint.

    >>> stack([positive, real]).check(torch.tensor([-1., -1.]))
    tensor([False,  True])
    """

    @property
    def event_dim(self) -> Any:
        dim = super().event_dim
        return dim + 1 if self.dim + dim < 0 else dim

    def _check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        parts = zip(value.unbind(self.dim), self.cseq, strict=False)
        return stacked([constraint.check(part) for part, constraint in parts], self.dim)


# -- the public names --------------------------------------------------------------------------------------------------

dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean: Constraint = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
