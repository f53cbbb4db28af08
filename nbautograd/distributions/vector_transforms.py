"""Transforms of vectors and matrices: to simplices, triangular and positive definite matrices."""

from __future__ import annotations

import math
from typing import Any

from nbautograd._engine.arrays.dtypes import finfo
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import eye
from nbautograd._engine.ops.creation.ranges import arange
from nbautograd._engine.ops.linalg.cholesky import linalg_cholesky
from nbautograd._engine.ops.shape.padding import pad
from nbautograd.distributions import constraints
from nbautograd.distributions.scalar_transforms import _inside_unit, _Plain
from nbautograd.distributions.transform_base import Transform
from nbautograd.distributions.utils import formula, tril_matrix_to_vec, vec_to_tril_matrix
from nbautograd.nn.functional import logsigmoid, softplus

__all__ = [
    "CorrCholeskyTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "SoftmaxTransform",
    "StickBreakingTransform",
]  # fmt: skip


def _check_dimensions(shape: Any, least: int) -> None:
    if len(shape) < least:
        raise ValueError("Too few dimensions on input")


class SoftmaxTransform(_Plain):
    """y = softmax(x) over the last dimension. It is not bijective: x + c has the same y; the inverse returns log(y).

    >>> torch.distributions.SoftmaxTransform()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    _inverse = formula(lambda t, y: y.log())

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.amax(-1, keepdim=True)).exp()
        return weights / weights.sum(-1, True)

    def _forward_shape(self, shape: Any) -> Any:
        _check_dimensions(shape, 1)
        return shape

    _inverse_shape = _forward_shape


class StickBreakingTransform(_Plain):
    """The bijection from real vectors to the simplex with one more coordinate.

    A stick of length 1 is broken once per coordinate: each takes the share sigmoid(xᵢ - log(n - i)) of the rest, so
    that zeros give equal parts (the logistic stick-breaking process).

    >>> torch.distributions.StickBreakingTransform()(torch.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _shift(x: Tensor) -> Tensor:
        """Return the logarithms of the numbers of remaining parts."""
        return arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Tensor) -> Tensor:
        shares = _inside_unit((x - self._shift(x)).sigmoid())
        left = (1 - shares).cumprod(-1)
        return pad(shares, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        broken = y[..., :-1]
        left = (1 - broken.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return broken.log() - left.log() + self._shift(broken)

    def _log_abs_det(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._shift(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def _forward_shape(self, shape: Any) -> Any:
        _check_dimensions(shape, 1)
        return shape[:-1] + (shape[-1] + 1,)

    def _inverse_shape(self, shape: Any) -> Any:
        _check_dimensions(shape, 1)
        return shape[:-1] + (shape[-1] - 1,)


class CorrCholeskyTransform(Transform):
    """The bijection from real vectors of length D(D-1)/2 to Cholesky factors of D by D correlation matrices.

    The numbers' tanh are canonical partial correlations, row by row below the diagonal; each row becomes a vector of
    length 1 (D. Lewandowski, D. Kurowicka, H. Joe, 2009; the parameterization of Stan's reference manual).

    >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)  # the remaining length of each row
        r = r + eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2  # artanh, without a pole in its gradient at ±1

    def _log_abs_det(self, x: Tensor, y: Tensor) -> Tensor:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)  # without the first column, where it is 1
        return 0.5 * left.log().sum(-1) - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)

    def _forward_shape(self, shape: Any) -> Any:
        _check_dimensions(shape, 1)
        length = shape[-1]
        size = round((0.25 + 2 * length) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != length:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (size, size)

    def _inverse_shape(self, shape: Any) -> Any:
        _check_dimensions(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


class LowerCholeskyTransform(_Plain):
    """The map from real matrices to lower triangular ones with a positive diagonal: its exponentials.

    >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky
    _call = formula(lambda t, x: x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed())
    _inverse = formula(lambda t, y: y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed())


class PositiveDefiniteTransform(_Plain):
    """The map from real matrices to positive definite ones: L Lᵀ with L as of :class:`LowerCholeskyTransform`.

    >>> torch.distributions.PositiveDefiniteTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite
    _inverse = formula(lambda t, y: LowerCholeskyTransform().inv(linalg_cholesky(y)))

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT
