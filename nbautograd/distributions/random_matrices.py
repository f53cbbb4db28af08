"""Distributions of matrices: of Cholesky factors of correlations (LKJ), and of covariances (Wishart)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nbautograd._engine.arrays.dtypes import finfo
from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import eye
from nbautograd._engine.ops.creation.from_data import tensor
from nbautograd._engine.ops.creation.random import randn
from nbautograd._engine.ops.creation.ranges import arange
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.elementwise.special import mvlgamma
from nbautograd._engine.ops.linalg.solvers import cholesky_solve, linalg_slogdet
from nbautograd._engine.ops.shape.broadcasting import broadcast_shapes
from nbautograd._engine.ops.shape.joining import cat
from nbautograd.distributions import constraints
from nbautograd.distributions.constraint_base import _is_all_true
from nbautograd.distributions.distribution import Distribution
from nbautograd.distributions.exp_family import ExponentialFamily
from nbautograd.distributions.gamma_family import Beta, Chi2
from nbautograd.distributions.multivariate_normal import MATRICES, _half_log_det, _OfCovariance, _one_of, _scale_tril
from nbautograd.distributions.utils import _Number, attribute, broadcast_all, formula, lazy_property, vec_to_tril_matrix
from nbautograd.errors import warn

__all__ = ["LKJCholesky", "Wishart"]


class LKJCholesky(Distribution):
    """The distribution of Cholesky factors L of correlation matrices with density det(L Lᵀ)^(concentration - 1).

    Samples are drawn row by row, by the onion method (D. Lewandowski, D. Kurowicka, H. Joe, 2009).

    :param dim: the size of the matrices.
    :param concentration: 1 makes all correlation matrices equally probable; larger values favor the identity.
    :raises ValueError: ``dim`` is less than 2.

    >>> d = torch.distributions.LKJCholesky(3, 0.5)
    >>> factor = d.sample()
    >>> torch.allclose((factor @ factor.mT).diagonal(), torch.ones(3))
    True
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    concentration: Tensor

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        offset = arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = cat([offset.new_zeros((1,)), offset])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)  # of the squared lengths left of L_ii
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args)

    def _sample(self, sample_shape: Size) -> Tensor:
        square = self._beta.sample(sample_shape).unsqueeze(-1)
        normal = self._made(randn, sample_shape, square).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)
        below = square.sqrt() * direction
        left = (1 - (below**2).sum(-1)).clamp(min=finfo(below.dtype).tiny)
        return below + left.sqrt().diag_embed()

    def _log_prob(self, value: Tensor) -> Tensor:
        """Return the log density; its constant is equation (16) of the paper, as a product of beta functions."""
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        rest = self.dim - 1
        alpha = self.concentration + 0.5 * rest
        normalizer = 0.5 * rest * math.log(math.pi) + mvlgamma(alpha - 0.5, rest) - alpha.lgamma() * rest
        return (order * diagonal.log()).sum(-1) - normalizer


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """Compute the derivative of the logarithm of the multivariate gamma function."""
    return (x.unsqueeze(-1) - arange(p, dtype=x.dtype, device=x.device) / 2).digamma().sum(-1)


class Wishart(_OfCovariance, ExponentialFamily):
    """The Wishart distribution: of the sum of ``df`` products x xᵀ of normal vectors of mean 0.

    Samples are drawn by M. S. Bartlett's decomposition, from chi-squared and normal numbers.

    :param df: the degrees of freedom, above the size of the matrices minus 1.
    :param covariance_matrix: the covariance of the vectors.
    :param precision_matrix: its inverse, instead.
    :param scale_tril: its Cholesky factor, instead.
    :raises AssertionError: not exactly one matrix is given.
    :raises ValueError: the matrix has too few dimensions, or ``df`` is too small.

    >>> torch.distributions.Wishart(torch.tensor(3.0), covariance_matrix=torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    df: Tensor
    _mean = formula(lambda d: d._scaled(d.df, d.covariance_matrix))
    _natural_params = attribute(lambda d: (-d.precision_matrix / 2, (d.df - d._event_shape[-1] - 1) / 2))
    _scaled = formula(lambda d, factor, matrix: factor.expand(d._batch_shape)[..., None, None] * matrix)

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, param = _one_of(AssertionError, covariance_matrix, precision_matrix, scale_tril)
        if param.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape, event_shape = param.shape[:-2], param.shape[-2:]
        if isinstance(df, _Number):
            self.df = tensor(df, dtype=param.dtype, device=param.device)
        else:
            batch_shape = broadcast_shapes(batch_shape, df.shape)
            self.df = df.expand(batch_shape)
        if not _is_all_true(self.df > event_shape[-1] - 1):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}.")
        setattr(self, name, param.expand(batch_shape + (-1, -1)))
        if not _is_all_true(self.df >= event_shape[-1]):
            warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.")
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_scale_tril = _scale_tril(name, param)
        order = arange(event_shape[-1], dtype=param.dtype, device=param.device)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - order.expand(batch_shape + (-1,)))

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The constraints: the degrees of freedom are above the size of the matrices minus 1."""
        return {**MATRICES, "df": constraints.greater_than(self._event_shape[-1] - 1)}

    def _expanded(self, name: str, value: Any, batch_shape: Size) -> Any:
        if name == "df":
            return value.expand(batch_shape)  # the bound of a number has no batch dimensions yet
        return super()._expanded(name, value, batch_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        factor = self._unbroadcasted_scale_tril
        identity = eye(self._event_shape[-1], dtype=factor.dtype, device=factor.device)
        return self._matrices(cholesky_solve(identity, factor))

    def _mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        return self._scaled(where(factor <= 0, math.nan, factor), self.covariance_matrix)

    def _variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        return self._scaled(self.df, covariance.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return a Aᵀ with A = L B: B has roots of chi-squared numbers on its diagonal, normal ones below."""
        size = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        roots = roots.clamp(min=finfo(roots.dtype).eps)
        shape = Size(sample_shape) + self._batch_shape + (size * (size - 1) // 2,)
        below = randn(shape, dtype=roots.dtype, device=roots.device)
        factor = self._unbroadcasted_scale_tril @ (roots.diag_embed() + vec_to_tril_matrix(below, diag=-1))
        return factor @ factor.mT

    def rsample(self, sample_shape: Sequence[int] = Size(), max_try_correction: int | None = None) -> Tensor:
        """Draw samples with gradients; draw singular ones again.

        Like PyTorch, draw the regular ones a second time, so that the same seed gives the same samples.

        :param max_try_correction: the number of tries, 10 by default.

        >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).rsample((5,)).shape
        torch.Size([5, 2, 2])
        """
        shape = Size(sample_shape)
        tries = 10 if max_try_correction is None else max_try_correction
        if tries > 0:
            self._bartlett_sampling(shape)
        sample = self._bartlett_sampling(shape)
        batch = tuple(range(len(shape), len(shape) + len(self._batch_shape)))
        for _ in range(tries - 1):
            regular = self.support.check(sample)
            regular = regular.all(batch) if batch else regular
            if _is_all_true(regular):
                break
            warn("Singular sample detected.")
            again = self._bartlett_sampling(shape)
            sample = where(regular.reshape(shape + (1,) * (sample.dim() - len(shape))), sample, again)
        return sample

    def _log_prob(self, value: Tensor) -> Tensor:
        nu, size, factor = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        log_det = linalg_slogdet(value).logabsdet
        return (
            -nu * (size * math.log(2) / 2 + _half_log_det(factor))
            - mvlgamma(nu / 2, p=size)
            + (nu - size - 1) / 2 * log_det
            - trace / 2
        )

    def _entropy(self) -> Tensor:
        nu, size = self.df, self._event_shape[-1]
        scale = (size + 1) * (size * math.log(2) / 2 + _half_log_det(self._unbroadcasted_scale_tril))
        gammas = mvlgamma(nu / 2, p=size) - (nu - size - 1) / 2 * _mvdigamma(nu / 2, size)
        return scale + gammas + nu * size / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        size = self._event_shape[-1]
        half = y + (size + 1) / 2
        return half * (-linalg_slogdet(-2 * x).logabsdet + math.log(2) * size) + mvlgamma(half, p=size)
