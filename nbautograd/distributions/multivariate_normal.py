"""Multivariate normal distributions, with any covariance or with one of low rank plus a diagonal."""

from __future__ import annotations

import math

from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import eye
from nbautograd._engine.ops.creation.random import randn
from nbautograd._engine.ops.linalg.cholesky import linalg_cholesky
from nbautograd._engine.ops.linalg.solvers import cholesky_inverse, linalg_solve_triangular
from nbautograd._engine.ops.shape.broadcasting import broadcast_shapes, broadcast_tensors
from nbautograd.distributions import constraints
from nbautograd.distributions.distribution import Distribution
from nbautograd.distributions.utils import _standard_normal, attribute, formula, lazy_property

__all__ = ["LowRankMultivariateNormal", "MultivariateNormal"]

MATRICES = {
    "covariance_matrix": constraints.positive_definite,
    "precision_matrix": constraints.positive_definite,
    "scale_tril": constraints.lower_cholesky,
}
"""The matrices that determine the covariance, of which one is given."""


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Multiply matrices and vectors."""
    return (bmat @ bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:  # noqa: N803
    """Return squared Mahalanobis distances xᵀ (L Lᵀ)⁻¹ x; solve vectors that share a matrix together, as columns."""
    outer = bx.dim() - bL.dim() + 1
    columns = bx.reshape((math.prod(bx.shape[:outer]),) + bx.shape[outer:]).movedim(0, -1)
    squares = linalg_solve_triangular(bL, columns, upper=False).pow(2).sum(-2)
    return squares.movedim(-1, 0).reshape(bx.shape[:-1])


def _precision_to_scale_tril(P: Tensor) -> Tensor:  # noqa: N803
    """Return the Cholesky factor of P⁻¹ without inverting P: from the factor of P with reversed rows and columns."""
    factor = linalg_cholesky(P.flip(-2, -1)).flip(-2, -1).mT
    return linalg_solve_triangular(factor, eye(P.shape[-1], dtype=P.dtype, device=P.device), upper=False)


def _half_log_det(factor: Tensor) -> Tensor:
    """Return log √det(L Lᵀ)."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _one_of(error: type[Exception], *matrices: Tensor | None) -> tuple[str, Tensor]:
    """Return the name and the value of the only matrix that is not None; otherwise raise the error."""
    specified = [(name, matrix) for name, matrix in zip(MATRICES, matrices, strict=True) if matrix is not None]
    if len(specified) != 1:
        raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return specified[0]


def _scale_tril(name: str, matrix: Tensor) -> Tensor:
    """Return the Cholesky factor of the covariance, from any of the three matrices."""
    if name == "scale_tril":
        return matrix
    return linalg_cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)


class _OfCovariance(Distribution):
    """Base of distributions with a covariance, by its Cholesky factor."""

    _unbroadcasted_scale_tril: Tensor

    def _matrices(self, matrix: Tensor) -> Tensor:
        size = self._event_shape[-1:]
        return matrix.expand(self._batch_shape + size + size)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._matrices(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self._matrices(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)


class _OfVectors(_OfCovariance):
    """Base of the normal distributions of vectors."""

    support = constraints.real_vector
    has_rsample = True
    loc: Tensor
    _mean = _mode = formula(lambda d: d.loc)


class MultivariateNormal(_OfVectors):
    """The multivariate normal distribution, of density exp(-(x - μ)ᵀ Σ⁻¹ (x - μ) / 2) / √det(2πΣ).

    Pass one of three matrices. All computations use the Cholesky factor, so ``scale_tril`` is the fastest.

    :param loc: the mean μ, in the last dimension.
    :param covariance_matrix: the covariance Σ.
    :param precision_matrix: its inverse.
    :param scale_tril: its Cholesky factor, lower triangular.
    :raises ValueError: not exactly one is given, or an argument has too few dimensions.

    >>> d = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    >>> d.log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {"loc": constraints.real_vector, **MATRICES}
    _variance = formula(lambda d: d._unbroadcasted_scale_tril.pow(2).sum(-1).expand(d._batch_shape + d._event_shape))
    _rsample = formula(lambda d, shape: d.loc + _batch_mv(d._unbroadcasted_scale_tril, d._made(randn, shape, d.loc)))

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = _one_of(ValueError, covariance_matrix, precision_matrix, scale_tril)
        if matrix.dim() < 2:
            what = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{what} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = _scale_tril(name, matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._matrices(cholesky_inverse(self._unbroadcasted_scale_tril))

    def _log_prob(self, value: Tensor) -> Tensor:
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        half_log_det = _half_log_det(self._unbroadcasted_scale_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half_log_det

    def _entropy(self) -> Tensor:
        size = self._event_shape[0]
        half_log_det = _half_log_det(self._unbroadcasted_scale_tril)
        return (0.5 * size * (1.0 + math.log(2 * math.pi)) + half_log_det).expand(self._batch_shape)


# -- low rank ----------------------------------------------------------------------------------------------------------


def _plus_identity(matrix: Tensor) -> Tensor:
    return matrix + eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:  # noqa: N803
    """Return the Cholesky factor of I + Wᵀ D⁻¹ W, the capacitance matrix of Woodbury's identity."""
    return linalg_cholesky(_plus_identity((W.mT / D.unsqueeze(-2)) @ W))


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:  # noqa: N803
    """Return log det(W Wᵀ + D), by the matrix determinant lemma."""
    return 2 * _half_log_det(capacitance_tril) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:  # noqa: N803
    """Return squared distances xᵀ (W Wᵀ + D)⁻¹ x, by Woodbury's identity."""
    projected = _batch_mv(W.mT / D.unsqueeze(-2), x)
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, projected)


class LowRankMultivariateNormal(_OfVectors):
    """The multivariate normal distribution with covariance W Wᵀ + D: a few factors, and noise of each coordinate.

    With m factors, only matrices of size m by m are decomposed, by M. A. Woodbury's identity and the matrix determinant
    lemma.

    :param loc: the mean, in the last dimension.
    :param cov_factor: the factors W, of shape (..., n, m).
    :param cov_diag: the diagonal D, of shape (..., n).
    :raises ValueError: shapes do not match.

    >>> d = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.tensor([[1.0], [0.0]]), torch.ones(2))
    >>> d.covariance_matrix
    tensor([[2., 0.],
            [0., 1.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    cov_factor: Tensor
    cov_diag: Tensor
    _parts: tuple[Tensor, Tensor] = attribute(lambda d: (d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag))

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            means, self.cov_factor, diagonals = broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = means[..., 0], diagonals[..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        factor, diagonal = self._parts
        deviation = diagonal.sqrt().unsqueeze(-1)
        scaled = factor / deviation
        return self._matrices(deviation * linalg_cholesky(_plus_identity(scaled @ scaled.mT)))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance W Wᵀ + D."""
        factor, diagonal = self._parts
        return self._matrices(factor @ factor.mT + diagonal.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        factor, diagonal = self._parts
        solved = linalg_solve_triangular(self._capacitance_tril, factor.mT / diagonal.unsqueeze(-2), upper=False)
        return self._matrices(diagonal.reciprocal().diag_embed() - solved.mT @ solved)

    def _variance(self) -> Tensor:
        factor, diagonal = self._parts
        return (factor.pow(2).sum(-1) + diagonal).expand(self._batch_shape + self._event_shape)

    def _rsample(self, sample_shape: Size) -> Tensor:
        shape = self._extended_shape(sample_shape)[:-1] + self.cov_factor.shape[-1:]
        factors = _standard_normal(shape, self.loc.dtype, self.loc.device)
        noise = self._made(randn, sample_shape, self.loc)
        factor, diagonal = self._parts
        return self.loc + _batch_mv(factor, factors) + diagonal.sqrt() * noise

    def _log_det(self) -> Tensor:
        return _batch_lowrank_logdet(*self._parts, self._capacitance_tril)

    def _distance(self, x: Tensor) -> Tensor:
        """Return the squared Mahalanobis distance from 0."""
        return _batch_lowrank_mahalanobis(*self._parts, x, self._capacitance_tril)

    def _log_prob(self, value: Tensor) -> Tensor:
        distance = self._distance(value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def _entropy(self) -> Tensor:
        size = self._event_shape[0]
        return (0.5 * (size * (1.0 + math.log(2 * math.pi)) + self._log_det())).expand(self._batch_shape)
