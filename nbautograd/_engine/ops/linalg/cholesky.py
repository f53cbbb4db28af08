# ruff: noqa: N803 - matrices have capital letters, as PyTorch's parameters do
"""Cholesky decomposition of symmetric (Hermitian) positive definite matrices.

The derivative is that of M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.compiler.op import NATIVE, composite, derivative_helper, no_method, op
from nbautograd._engine.core.return_types import return_type
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.linalg._common import check_info, checked, each, mH, no_info, triangle_solve
from nbautograd._engine.ops.shape.triangular import tril


@derivative_helper
def cholesky_back(g: Any, factor: Any, upper: bool) -> Any:
    """Return the gradient of A = L Lᴴ: L⁻ᴴ sym(tril(Lᴴ g)) L⁻¹ / 2 (Giles 2008, section 2.2.4; Seeger et al. 2017)."""
    if upper:
        g, factor = mH(g), mH(factor)
    phi = tril(mH(factor) @ g)
    phi = phi + mH(tril(phi, -1))
    return triangle_solve(factor, triangle_solve(mH(factor), phi, True, True, False), False, False, False) * 0.5


def _lower_factor(a: Any) -> tuple[Any, Any]:
    """Return the lower Cholesky factor and LAPACK's info; on failure, LAPACK's partial factor."""
    try:
        result = np.linalg.cholesky(a)  # which reads only the lower triangle
        if result.__class__ is np.ndarray or bool(np.isfinite(result).all()):
            return result, no_info(a)
    except np.linalg.LinAlgError:
        pass
    host = backend.fetch(a)
    lin = backend.scipy(host, "linalg")

    def factor(m: Any) -> tuple[Any, Any]:
        (potrf,) = lin.get_lapack_funcs(("potrf",), (m,))
        result, info = potrf(m, lower=True, clean=True)
        return np.ascontiguousarray(result), np.int32(info)

    place = backend.module(backend.device_of(a))
    result, info = each(factor, host)
    return place.asarray(result), place.asarray(info)


@no_method(node="LinalgCholeskyExBackward0", symbol="chol", many=True, A="cholesky_back(g[0], result[0], upper)")
def cholesky_parts(A: Tensor, upper: bool) -> Any:
    """Return the Cholesky factor and LAPACK's info."""
    if not upper:
        return _lower_factor(A)
    result, info = _lower_factor(mH(A))
    return mH(result).copy(), info


NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{} is not positive-definite)."
)


@composite(method=False, out=True)
def linalg_cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """Compute the Cholesky decomposition A = L Lᴴ of symmetric or Hermitian positive-definite matrices.

    :param A: shape (..., n, n); only one triangle is read.
    :param upper: return Lᴴ instead.
    :raises LinAlgError: a matrix is not positive-definite.

    >>> torch.linalg.cholesky(torch.tensor([[4., 2.], [2., 5.]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    checked("linalg.cholesky", A, square=True)
    factor, info = cholesky_parts(A, upper)
    check_info("linalg.cholesky", info, NOT_POSITIVE)
    return factor


@composite(method=False, out=True)
def linalg_cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """Return the Cholesky decomposition, and LAPACK's info: 0, or the order of the minor that is not positive-definite.

    >>> torch.linalg.cholesky_ex(torch.tensor([[1., 2.], [2., 1.]])).info
    tensor(2, dtype=torch.int32)
    """
    checked("linalg.cholesky_ex", A, square=True)
    factor, info = cholesky_parts(A, upper)
    if check_errors:
        check_info("linalg.cholesky_ex", info, NOT_POSITIVE)
    return return_type("linalg_cholesky_ex")((factor, info))


@op(symbol="chol", half=NATIVE, out=True, input="cholesky_back(g, result, upper)")
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """Compute the Cholesky decomposition; see :func:`linalg.cholesky`.

    >>> torch.cholesky(torch.tensor([[4., 2.], [2., 5.]]), upper=True)
    tensor([[2., 1.],
            [0., 2.]])
    """
    if not input.size:
        return input.copy()  # of any dtype
    checked("cholesky", input, square=True)
    factor, info = cholesky_parts.__wrapped__(input, upper)
    check_info("cholesky", info, NOT_POSITIVE)
    return factor
