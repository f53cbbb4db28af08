# ruff: noqa: N803, N806 - matrices have capital letters, as PyTorch's parameters do
"""Decompositions of matrices: Cholesky, QR, eigenvalues, singular values, LU, LDL.

The derivatives are those of M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008); of M. Seeger, A. Hetzel, Z. Dai, E. Meissner, N. Lawrence, "Auto-differentiating linear
algebra" (2017); and for complex matrices those of Z.-Q. Wan, S.-X. Zhang, "Automatic differentiation for complex
valued SVD" (2019). Each is written in terms of operations, so that it can be differentiated again.

With ``g`` the gradient of the loss L, dL = Re sum(conj(g) · d), the conjugate convention of PyTorch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd.arrays import backend
from nbautograd.compiler.derivative_helper import derivative_helper
from nbautograd.compiler.op import NATIVE, composite, op
from nbautograd.core import dispatch_mode
from nbautograd.core.grad_mode import is_grad_enabled
from nbautograd.core.return_types import return_type
from nbautograd.core.tensor import Tensor
from nbautograd.errors import AutogradError, LinAlgError
from nbautograd.ops._internal import cast_back  # noqa: F401 - formulas name it
from nbautograd.ops.elementwise.complex import conj, real
from nbautograd.ops.linalg._common import (
    array,
    check_info,
    checked,
    each,
    eye_of,
    is_complex,
    mH,
    no_info,
    solve_same,
    triangle_solve,
)
from nbautograd.ops.shape.joining import cat_same
from nbautograd.ops.shape.slicing import diagonal
from nbautograd.ops.shape.triangular import diag_embed, tril, triu

__all__ = ["cholesky", "qr", "svd"]


# -- Cholesky --------------------------------------------------------------------------------------------------------


@derivative_helper
def cholesky_back(g: Any, factor: Any, upper: bool) -> Any:
    """The gradient of A = L Lᴴ: L⁻ᴴ sym(tril(Lᴴ g)) L⁻¹ / 2 (Giles 2008, section 2.2.4; Seeger et al. 2017)."""
    if upper:
        g, factor = mH(g), mH(factor)
    phi = tril(mH(factor) @ g)
    phi = phi + mH(tril(phi, -1))
    inner = triangle_solve(mH(factor), phi, True, True, False)
    return triangle_solve(factor, inner, False, False, False) * 0.5


def _lower_factor(a: Any) -> tuple[Any, Any]:
    """The lower factor and LAPACK's info; where it failed, what LAPACK left."""
    try:
        found = np.linalg.cholesky(a)  # which reads the lower triangle alone
        if found.__class__ is np.ndarray or bool(np.isfinite(found).all()):
            return found, no_info(a)
    except np.linalg.LinAlgError:
        pass
    host = backend.fetch(a)
    lin = backend.scipy(host, "linalg")

    def factor(m: Any) -> tuple[Any, Any]:
        (potrf,) = lin.get_lapack_funcs(("potrf",), (m,))
        found, info = potrf(m, lower=True, clean=True)
        return np.ascontiguousarray(found), np.int32(info)

    place = backend.module(backend.device_of(a))
    found, info = each(factor, host)
    return place.asarray(found), place.asarray(info)


def _factor(a: Any, upper: bool) -> tuple[Any, Any]:
    if not upper:
        return _lower_factor(a)
    found, info = _lower_factor(mH(a))
    return mH(found).copy(), info


@op(
    node="LinalgCholeskyExBackward0",
    symbol="chol",
    many=True,
    method=False,
    A="cholesky_back(g[0], result[0], upper)",
)
def cholesky_parts(A: Tensor, upper: bool) -> Any:
    """The Cholesky factor and LAPACK's info."""
    return _factor(A, upper)


NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{} is not positive-definite)."
)


@composite(method=False, out=True)
def linalg_cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The Cholesky factor L of Hermitian positive-definite matrices, A = L Lᴴ.

    :param A: shape (..., n, n); only one triangle is read.
    :param upper: return Lᴴ instead.
    :raises LinAlgError: a matrix is not positive-definite.

    >>> import nbautograd as torch
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
    """The Cholesky factor, and for each matrix 0 or the order of the first minor that is not positive-definite.

    >>> import nbautograd as torch
    >>> torch.linalg.cholesky_ex(torch.tensor([[1., 2.], [2., 1.]])).info
    tensor(2, dtype=torch.int32)
    """
    checked("linalg.cholesky_ex", A, square=True)
    factor, info = cholesky_parts(A, upper)
    if check_errors:
        check_info("linalg.cholesky_ex", info, NOT_POSITIVE)
    return return_type("linalg_cholesky_ex")((factor, info))


@op(node="CholeskyBackward0", symbol="chol", half=NATIVE, out=True, input="cholesky_back(g, result, upper)")
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The Cholesky factor, as :func:`linalg.cholesky` gives it.

    >>> import nbautograd as torch
    >>> torch.cholesky(torch.tensor([[4., 2.], [2., 5.]]), upper=True)
    tensor([[2., 1.],
            [0., 2.]])
    """
    checked("cholesky", input, square=True)
    factor, info = _factor(input, upper)
    check_info("cholesky", info, NOT_POSITIVE)
    return factor


# -- QR --------------------------------------------------------------------------------------------------------------


@derivative_helper
def qr_back(gq: Any, gr: Any, q: Any, r: Any, mode: str) -> Any:
    """The gradient of A = QR (Seeger et al. 2017, section 4.3; for wide A = Q [R1 R2] with R2 = Qᴴ A2)."""
    m, n = q.shape[-2] if q.ndim > 1 else 0, r.shape[-1]
    if mode == "r":
        raise AutogradError(
            "linalg.qr: The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
            "Please use linalg.qr(A, mode='reduced')"
        )
    if mode == "complete" and m > n:
        raise AutogradError(
            "linalg.qr: The QR decomposition is not differentiable when mode='complete' and nrows > ncols"
        )
    if n <= m:
        return _qr_square(gq, gr, q, r)
    if gr is None:
        wide = q @ (r[..., m:] * 0)
    else:
        wide = q @ gr[..., m:]
        more = q @ r[..., m:] @ mH(gr[..., m:])
        gq = more if gq is None else gq + more
        gr = gr[..., :m]
    return cat_same([_qr_square(gq, gr, q, r[..., :m]), wide], -1)


@derivative_helper
def _qr_square(gq: Any, gr: Any, q: Any, r: Any) -> Any:
    """The gradient where R is square: (gQ + Q T) R⁻ᴴ, T the upper triangle of gR Rᴴ - Qᴴ gQ made Hermitian."""
    x = r * 0 if gr is None else gr @ mH(r)
    if gq is not None:
        x = x - mH(q) @ gq
    x = triu(x)
    x = x + mH(x)
    t = q @ (x - x * eye_of(x) * 0.5)
    return triangle_solve(mH(r), t if gq is None else gq + t, False, False, False)


@op(
    node="LinalgQrBackward0",
    symbol="QR",
    many=True,
    method=False,
    A="qr_back(g[0], g[1], result[0], result[1], mode)",
)
def qr_parts(A: Tensor, mode: str) -> Any:
    """Q and R."""
    if mode == "r":
        return backend.module(backend.device_of(A)).empty((0,), A.dtype), np.linalg.qr(A, mode="r")
    q, r = np.linalg.qr(A, mode=mode)
    return q, r


@composite(method=False, out=True)
def linalg_qr(A: Tensor, mode: str = "reduced") -> Any:
    """A matrix as the product of Q with orthonormal columns and an upper triangular R.

    :param A: shape (..., m, n).
    :param mode: ``"reduced"`` (Q has min(m, n) columns), ``"complete"`` (Q is square) or ``"r"`` (R only).
    :raises RuntimeError: another mode; backward through ``"r"``, or through ``"complete"`` where m > n.

    >>> import nbautograd as torch
    >>> Q, R = torch.linalg.qr(torch.tensor([[3., 1.], [4., 2.]]))
    >>> torch.allclose(Q @ R, torch.tensor([[3., 1.], [4., 2.]]))
    True
    """
    checked("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    return return_type("linalg_qr")(qr_parts(A, mode))


@composite(out=True)
def qr(input: Tensor, some: bool = True) -> Any:
    """A matrix as the product of Q with orthonormal columns and an upper triangular R; see :func:`linalg.qr`.

    :param some: False for a square Q.

    >>> import nbautograd as torch
    >>> torch.qr(torch.eye(2)).R.abs()
    tensor([[1., 0.],
            [0., 1.]])
    """
    checked("qr", input)
    return return_type("qr")(qr_parts(input, "reduced" if some else "complete"))


# -- singular values -------------------------------------------------------------------------------------------------


@derivative_helper
def gaps(values: Any) -> Any:
    """The differences ``values[j] - values[i]``, with ones instead of the zeros on the diagonal."""
    return values[..., None, :] - values[..., :, None] + eye_of(values)


def check_phase(name: str, x: Any) -> None:
    """Make sure that a loss does not depend on the phases of complex vectors, which are arbitrary.

    :raises RuntimeError: it does: the imaginary part of the diagonal of ``x`` is not 0.
    """
    a = array(x)
    if a.dtype.kind == "c" and not bool((np.abs(a.diagonal(0, -2, -1).imag) <= 1e-2).all()):
        raise AutogradError(
            f"{name}: The vectors are in the complex case specified up to multiplication by e^{{i phi}}. The "
            "specified loss function depends on this quantity, so it is ill-defined."
        )


@derivative_helper
def svd_back(gu: Any, gs: Any, gvh: Any, u: Any, s: Any, vh: Any) -> Any:
    """The gradient of A = U S Vᴴ (Giles 2008, section 2.3; Wan & Zhang 2019 for the phases of complex vectors).

    U (X/E · S + S · Y/E + gS) Vᴴ, with X = Uᴴ gU and Y = Vᴴ gV made skew-Hermitian and E = sⱼ² - sᵢ², and what
    lies outside of the spaces that U and V span.
    """
    k = s.shape[-1]
    u, vh = u[..., :k], vh[..., :k, :]
    if gu is None and gvh is None:
        return (u * gs[..., None, :]) @ vh
    columns, rows = s[..., None, :], s[..., :, None]
    difference = gaps(s) * (columns + rows)
    off = 1 - eye_of(s)
    inner = 0 if gs is None else diag_embed(gs)
    phases = 0
    if gu is not None:
        gu = gu[..., :k]
        x = phases = mH(u) @ gu
        inner = inner + (x - mH(x)) * off / difference * columns
        if is_complex(x):  # the phases, which U and V share
            inner = inner + (x - mH(x)) * (0.5 * eye_of(s)) / columns
    if gvh is not None:
        gvh = gvh[..., :k, :]
        y = vh @ mH(gvh)
        phases = phases + y
        inner = inner + rows * ((y - mH(y)) * off / difference)
    check_phase("svd_backward", phases)
    result = u @ inner @ vh
    if gu is not None and u.shape[-2] > k:
        result = result + ((gu - u @ x) / columns) @ vh
    if gvh is not None and vh.shape[-1] > k:
        result = result + (u / columns) @ (gvh - mH(y) @ vh)
    return result


@op(
    node="LinalgSvdBackward0",
    symbol="SVD",
    many=True,
    method=False,
    A="svd_back(g[0], g[1], g[2], result[0], result[1], result[2])",
)
def svd_parts(A: Tensor, full_matrices: bool) -> Any:
    """U, S and Vᴴ."""
    return tuple(converging("linalg.svd", np.linalg.svd, A, full_matrices))


@op(method=False)
def _svdvals(A: Tensor) -> Tensor:
    """The singular values alone, where nobody wants a gradient."""
    return converging("linalg.svd", np.linalg.svd, A, False, False)


def converging(name: str, function: Any, *args: Any) -> Any:
    """The result of one of NumPy's decompositions.

    :raises LinAlgError: it did not converge.
    """
    try:
        return function(*args)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            f"{name}: The algorithm failed to converge because the input matrix contained non-finite values, or is "
            "ill-conditioned or has too many repeated values."
        ) from None


def _check_driver(driver: Any) -> None:
    if driver is not None:
        raise RuntimeError(f"linalg.svd: keyword argument `driver=` is only supported on CUDA inputs, got {driver!r}")


@composite(method=False, out=True)
def linalg_svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """The singular value decomposition A = U diag(S) Vᴴ.

    :param A: shape (..., m, n).
    :param full_matrices: whether U and Vᴴ are square, or have only min(m, n) columns and rows.
    :returns: ``(U, S, Vh)``; S is real and descends.
    :raises LinAlgError: not finite.

    >>> import nbautograd as torch
    >>> torch.linalg.svd(torch.tensor([[0., 2.], [1., 0.]])).S
    tensor([2., 1.])
    """
    checked("linalg.svd", A)
    _check_driver(driver)
    return return_type("linalg_svd")(svd_parts(A, full_matrices))


@composite(method=False, out=True)
def linalg_svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values, descending.

    >>> import nbautograd as torch
    >>> torch.linalg.svdvals(torch.tensor([[0., 2.], [1., 0.]]))
    tensor([2., 1.])
    """
    checked("linalg.svdvals", A)
    _check_driver(driver)
    found: Tensor = svd_parts(A, False)[1] if recorded(A) else _svdvals(A)
    return found


def recorded(A: Tensor) -> bool:
    """Whether a gradient can be wanted."""
    return dispatch_mode.is_on() or bool(A.requires_grad and is_grad_enabled())


@composite(out=True)
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """The singular value decomposition ``input = U diag(S) Vᴴ``; see :func:`linalg.svd`, which returns Vᴴ, not V.

    :param some: False for square U and V.
    :param compute_uv: False for zeros in place of U and V.

    >>> import nbautograd as torch
    >>> torch.svd(torch.tensor([[0., 2.], [1., 0.]])).S
    tensor([2., 1.])
    """
    checked("linalg.svd", input)
    result = return_type("svd")
    if compute_uv:
        u, s, vh = svd_parts(input, not some)
        return result((u, s, mH(vh)))
    m, n = input.shape[-2:]
    s = linalg_svdvals(input)
    return result((input.new_zeros(*input.shape[:-2], m, m), s, input.new_zeros(*input.shape[:-2], n, n)))


# -- eigenvalues -----------------------------------------------------------------------------------------------------


@derivative_helper
def eigh_back(gl: Any, gv: Any, values: Any, v: Any) -> Any:
    """The gradient of A = V L Vᴴ: V (gL + (Vᴴ gV) / (λⱼ - λᵢ)) Vᴴ (Giles 2008, section 2.3.1)."""
    if gv is None:
        return (v * gl[..., None, :]) @ mH(v)
    x = mH(v) @ gv
    check_phase("linalg_eigh_backward", x)
    inner = (x - mH(x)) * (0.5 * (1 - eye_of(values))) / gaps(values)  # of the skew-Hermitian part: A is Hermitian
    if gl is not None:
        inner = inner + diag_embed(gl)
    return v @ inner @ mH(v)


@op(
    node="LinalgEighBackward0",
    symbol="eigh",
    many=True,
    method=False,
    A="eigh_back(g[0], g[1], result[0], result[1])",
)
def eigh_parts(A: Tensor, UPLO: str) -> Any:
    """The eigenvalues and eigenvectors of Hermitian matrices."""
    return tuple(converging("linalg.eigh", np.linalg.eigh, A, UPLO))


def _triangle(UPLO: str) -> str:
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper()


@composite(method=False, out=True)
def linalg_eigh(A: Tensor, UPLO: str = "L") -> Any:
    """The eigenvalues (real, ascending) and the orthonormal eigenvectors of Hermitian matrices, A = V diag(L) Vᴴ.

    :param UPLO: which triangle is read, ``"L"`` or ``"U"``.

    >>> import nbautograd as torch
    >>> torch.linalg.eigh(torch.tensor([[2., 0.], [0., 1.]])).eigenvalues
    tensor([1., 2.])
    """
    checked("linalg.eigh", A, square=True)
    return return_type("linalg_eigh")(eigh_parts(A, _triangle(UPLO)))


@op(method=False)
def _eigvalsh(A: Tensor, UPLO: str) -> Tensor:
    """The eigenvalues alone, where nobody wants a gradient."""
    return converging("linalg.eigh", np.linalg.eigvalsh, A, UPLO)


@composite(method=False, out=True)
def linalg_eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of Hermitian matrices, real and ascending.

    >>> import nbautograd as torch
    >>> torch.linalg.eigvalsh(torch.tensor([[2., 0.], [0., 1.]]))
    tensor([1., 2.])
    """
    checked("linalg.eigvalsh", A, square=True)
    UPLO = _triangle(UPLO)
    found: Tensor = eigh_parts(A, UPLO)[0] if recorded(A) else _eigvalsh(A, UPLO)
    return found


@derivative_helper
def eig_back(gl: Any, gv: Any, values: Any, v: Any) -> Any:
    """The gradient of A V = V L with columns of norm 1 (Giles 2008, section 2.3.1).

    V⁻ᴴ (gL + (Vᴴ gV - VᴴV Re(diag(Vᴴ gV))) / conj(λⱼ - λᵢ)) Vᴴ
    """
    vh = mH(v)
    inner = 0 if gl is None else diag_embed(gl)
    if gv is not None:
        x = vh @ gv
        check_phase("linalg_eig_backward", x)
        x = x - (vh @ v) * real(diagonal(x, 0, -2, -1))[..., None, :]
        inner = inner + x * (1 - eye_of(values)) / conj(gaps(values))
    return solve_same(vh, inner @ vh, True)


@op(
    node="LinalgEigBackward0",
    symbol="eig",
    many=True,
    method=False,
    A="cast_back(eig_back(g[0], g[1], result[0], result[1]), A.dtype)",
)
def eig_parts(A: Tensor) -> Any:
    """The eigenvalues and eigenvectors, complex."""
    kind = np.result_type(A.dtype, np.complex64)
    values, vectors = _finite(np.linalg.eig, A)
    return values.astype(kind), vectors.astype(kind)


def _finite(function: Any, a: Any) -> Any:
    try:
        return function(a)
    except np.linalg.LinAlgError:
        if bool(np.isfinite(a).all()):
            raise LinAlgError("linalg.eig: The algorithm failed to converge.") from None
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.") from None


@composite(method=False, out=True)
def linalg_eig(A: Tensor) -> Any:
    """The eigenvalues and eigenvectors of square matrices, both complex: ``A @ V = V @ diag(L)``.

    The eigenvectors have norm 1; their order and phases are arbitrary.

    >>> import nbautograd as torch
    >>> torch.linalg.eig(torch.tensor([[0., 1.], [1., 0.]])).eigenvalues.real.sort().values
    tensor([-1.,  1.])
    """
    checked("linalg.eig", A, square=True)
    return return_type("linalg_eig")(eig_parts(A))


@op(method=False)
def _eigvals(A: Tensor) -> Tensor:
    """The eigenvalues alone, where nobody wants a gradient."""
    return _finite(np.linalg.eigvals, A).astype(np.result_type(A.dtype, np.complex64))


@composite(method=False, out=True)
def linalg_eigvals(A: Tensor) -> Tensor:
    """The eigenvalues of square matrices, complex and in no order.

    >>> import nbautograd as torch
    >>> torch.linalg.eigvals(torch.tensor([[2., 0.], [0., 2.]]))
    tensor([2.+0.j, 2.+0.j])
    """
    checked("linalg.eigvals", A, square=True)
    found: Tensor = eig_parts(A)[0] if recorded(A) else _eigvals(A)
    return found
