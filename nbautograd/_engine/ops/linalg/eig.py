# ruff: noqa: N803, N806 - matrices have capital letters, as PyTorch's parameters do
"""Eigenvalues and eigenvectors of general matrices, and of symmetric (Hermitian) ones.

``svd.py`` has the reference of the derivatives (Giles 2008), and their convention.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.compiler.op import composite, derivative_helper, no_method
from nbautograd._engine.core.return_types import return_type
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.elementwise.complex import conj, real
from nbautograd._engine.ops.linalg._common import checked, eye_of, mH, solve_same
from nbautograd._engine.ops.linalg.svd import check_phase, converging, gaps, recorded
from nbautograd._engine.ops.shape.slicing import diagonal
from nbautograd._engine.ops.shape.triangular import diag_embed
from nbautograd.errors import LinAlgError

__all__: list[str] = []


@derivative_helper
def eigh_back(gl: Any, gv: Any, values: Any, v: Any) -> Any:
    """Return the gradient of A = V L Vᴴ: V (gL + (Vᴴ gV) / (λⱼ - λᵢ)) Vᴴ (Giles 2008, section 2.3.1)."""
    if gv is None:
        return (v * gl[..., None, :]) @ mH(v)
    x = mH(v) @ gv
    check_phase("linalg_eigh_backward", x)
    inner = (x - mH(x)) * (0.5 * (1 - eye_of(values))) / gaps(values)  # of the skew-Hermitian part: A is Hermitian
    if gl is not None:
        inner = inner + diag_embed(gl)
    return v @ inner @ mH(v)


@no_method(node="LinalgEighBackward0", symbol="eigh", many=True, A="eigh_back(g[0], g[1], result[0], result[1])")
def eigh_parts(A: Tensor, UPLO: str) -> Any:
    """Return the eigenvalues and eigenvectors of Hermitian matrices."""
    return tuple(converging("linalg.eigh", np.linalg.eigh, A, UPLO))


def _triangle(UPLO: str) -> str:
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper()


@composite(method=False, out=True)
def linalg_eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Compute the eigendecomposition A = V diag(L) Vᴴ of symmetric or Hermitian matrices; eigenvalues ascend.

    :param UPLO: the triangle to read, ``"L"`` or ``"U"``.

    >>> torch.linalg.eigh(torch.tensor([[2., 0.], [0., 1.]])).eigenvalues
    tensor([1., 2.])
    """
    checked("linalg.eigh", A, square=True)
    return return_type("linalg_eigh")(eigh_parts(A, _triangle(UPLO)))


@no_method()
def _eigvalsh(A: Tensor, UPLO: str) -> Tensor:
    """Return the eigenvalues without eigenvectors, if no gradient is needed."""
    return converging("linalg.eigh", np.linalg.eigvalsh, A, UPLO)


@composite(method=False, out=True)
def linalg_eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Return the eigenvalues of symmetric or Hermitian matrices: real, ascending.

    >>> torch.linalg.eigvalsh(torch.tensor([[2., 0.], [0., 1.]]))
    tensor([1., 2.])
    """
    checked("linalg.eigvalsh", A, square=True)
    UPLO = _triangle(UPLO)
    return eigh_parts(A, UPLO)[0] if recorded(A) else _eigvalsh(A, UPLO)


@derivative_helper
def eig_back(gl: Any, gv: Any, values: Any, v: Any) -> Any:
    """Return the gradient of A V = V L with columns of norm 1 (Giles 2008, section 2.3.1).

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


@no_method(
    node="LinalgEigBackward0",
    symbol="eig",
    many=True,
    A="cast_back(eig_back(g[0], g[1], result[0], result[1]), A.dtype)",
)
def eig_parts(A: Tensor) -> Any:
    """Return the eigenvalues and eigenvectors, complex."""
    kind = np.result_type(A.dtype, np.complex64)
    values, vectors = _call_naming_errors(np.linalg.eig, A)
    return values.astype(kind), vectors.astype(kind)


def _call_naming_errors(function: Any, a: Any) -> Any:
    try:
        return function(a)
    except np.linalg.LinAlgError:
        if bool(np.isfinite(a).all()):
            raise LinAlgError("linalg.eig: The algorithm failed to converge.") from None
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.") from None


@composite(method=False, out=True)
def linalg_eig(A: Tensor) -> Any:
    """Compute the eigendecomposition ``A @ V = V @ diag(L)`` of square matrices; the results are complex.

    The eigenvectors have norm 1; their order and phases are arbitrary.

    >>> torch.linalg.eig(torch.tensor([[0., 1.], [1., 0.]])).eigenvalues.real.sort().values
    tensor([-1.,  1.])
    """
    checked("linalg.eig", A, square=True)
    return return_type("linalg_eig")(eig_parts(A))


@no_method()
def _eigvals(A: Tensor) -> Tensor:
    """Return the eigenvalues without eigenvectors, if no gradient is needed."""
    return _call_naming_errors(np.linalg.eigvals, A).astype(np.result_type(A.dtype, np.complex64))


@composite(method=False, out=True)
def linalg_eigvals(A: Tensor) -> Tensor:
    """Return the eigenvalues of square matrices: complex, in no particular order.

    >>> torch.linalg.eigvals(torch.tensor([[2., 0.], [0., 2.]]))
    tensor([2.+0.j, 2.+0.j])
    """
    checked("linalg.eigvals", A, square=True)
    return eig_parts(A)[0] if recorded(A) else _eigvals(A)
