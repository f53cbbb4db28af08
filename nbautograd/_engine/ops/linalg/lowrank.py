# ruff: noqa: N803, N806 - matrices have capital letters, as PyTorch's parameters do
"""Low-rank approximations: randomized SVD and PCA; and extreme eigenvalues (``lobpcg``)."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.compiler.op import composite
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.random import randn
from nbautograd._engine.ops.linalg._common import checked, mH, triangle_solve
from nbautograd._engine.ops.linalg.cholesky import linalg_cholesky
from nbautograd._engine.ops.linalg.eig import linalg_eigh
from nbautograd._engine.ops.linalg.matmul import matmul
from nbautograd._engine.ops.linalg.qr import linalg_qr
from nbautograd._engine.ops.linalg.svd import linalg_svd
from nbautograd.errors import ShapeError


def range_basis(a: Tensor, q: int, niter: int) -> Tensor:
    """Return orthonormal columns that approximately span the first q left singular vectors.

    N. Halko, P. G. Martinsson, J. A. Tropp, "Finding structure with randomness", SIAM Review 53 (2011), algorithm 4.4.
    """
    basis: Tensor = linalg_qr(matmul(a, randn(a._a.shape[-1], q, dtype=a.dtype, device=a.device)))[0]
    for _ in range(niter):
        basis = linalg_qr(matmul(mH(a), basis))[0]
        basis = linalg_qr(matmul(a, basis))[0]
    return basis


@composite(method=False)
def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> Any:
    """Compute a low-rank approximation of the singular value decomposition: ``A ≈ U diag(S) Vᴴ``.

    It is randomized. N. Halko, P. G. Martinsson, J. A. Tropp, SIAM Review 53 (2011), algorithm 5.1.

    :param A: shape (..., m, n).
    :param q: a slight overestimate of the rank.
    :param niter: the number of power iterations.
    :param M: subtracted from A first; broadcast.
    :returns: ``(U, S, V)``.

    >>> torch.svd_lowrank(torch.ones(4, 4), q=1)[1].round()
    tensor([4.])
    """
    checked("svd_lowrank", A)
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    if M is not None:
        A = A - M
    if A._a.shape[-2] < A._a.shape[-1]:  # project the shorter side
        v, s, u = svd_lowrank(mH(A), q, niter)
        return u, s, v
    basis = range_basis(A, q, niter)
    u, s, vh = linalg_svd(matmul(mH(basis), A), full_matrices=False)
    return matmul(basis, u), s, mH(vh)


@composite(method=False)
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """Compute the principal components (PCA) of the rows of a matrix, by a randomized SVD; see :func:`svd_lowrank`.

    :param q: the number of components; min(6, m, n) by default.
    :param center: subtract the mean of the rows first.
    :returns: ``(U, S, V)``; the columns of V are the principal directions.
    :raises ValueError: q is not between 0 and min(m, n), or ``niter`` is negative.

    >>> torch.pca_lowrank(torch.tensor([[1., 0.], [3., 0.]]), q=1)[1]
    tensor([1.4142])
    """
    checked("pca_lowrank", A)
    most = min(A._a.shape[-2:])
    q = min(6, most) if q is None else q
    if not 0 <= q <= most:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={most}")
    if not niter >= 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)


@composite(method=False)
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:
    """Return the k largest (or smallest) eigenvalues and eigenvectors of the generalized problem ``A x = λ B x``.

    A is symmetric, B symmetric positive-definite. PyTorch iterates; this function computes all eigenvalues directly and
    returns k of them. The options of the iteration (``X`` apart from its width, ``n``, ``iK``, ``niter``, ``tol``,
    ``method``) have no effect.

    :param largest: False for the smallest eigenvalues.
    :returns: the eigenvalues, and the eigenvectors, of norm 1 with respect to B, as columns.

    >>> torch.lobpcg(torch.tensor([[2., 0.], [0., 5.]]), k=1)[0]
    tensor([5.])
    """
    checked("lobpcg", A, square=True)
    if any(option is not None for option in (tracker, ortho_iparams, ortho_fparams, ortho_bparams)):
        raise NotImplementedError("lobpcg: tracker and ortho_*params are not supported: the computation is direct")
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"lobpcg: method must be 'basic' or 'ortho', got {method!r}")
    m = A._a.shape[-1]
    k = (1 if X is None else X._a.shape[-1]) if k is None else k
    if not 0 < k <= m:
        raise ShapeError(f"lobpcg: k must be between 1 and the size of A, {m}, got {k}")
    if B is None:
        values, vectors = linalg_eigh(A)
    else:
        factor = linalg_cholesky(B)
        half = triangle_solve(factor, A, False, True, False)
        values, vectors = linalg_eigh(triangle_solve(mH(factor), half, True, False, False))
        vectors = triangle_solve(mH(factor), vectors, True, True, False)
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :k], vectors[..., :k]
