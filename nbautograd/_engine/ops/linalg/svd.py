# ruff: noqa: N803 - matrices have capital letters, as PyTorch's parameters do
"""Singular value decomposition.

The derivatives are those of M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008), and for complex matrices of Z.-Q. Wan, S.-X. Zhang, "Automatic differentiation for complex
valued SVD" (2019). Each is written in terms of operations, so that it can be differentiated again.

With ``g`` the gradient of the loss L, dL = Re sum(conj(g) · d), the conjugate convention of PyTorch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.compiler.op import composite, derivative_helper, no_method
from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.core.batched import elements
from nbautograd._engine.core.grad_mode import is_grad_enabled
from nbautograd._engine.core.return_types import return_type
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.linalg._common import checked, eye_of, is_complex, mH
from nbautograd._engine.ops.shape.triangular import diag_embed
from nbautograd.errors import AutogradError, LinAlgError


@derivative_helper
def gaps(values: Any) -> Any:
    """Return the differences ``values[j] - values[i]``, with ones instead of the zeros on the diagonal."""
    return values[..., None, :] - values[..., :, None] + eye_of(values)


def check_phase(name: str, x: Any) -> None:
    """Check that a loss is invariant to the phases of complex vectors, which are arbitrary: the diagonal is real."""
    a = elements(x)
    if a.dtype.kind == "c" and not bool((np.abs(a.diagonal(0, -2, -1).imag) <= 1e-2).all()):
        raise AutogradError(
            f"{name}: The vectors are in the complex case specified up to multiplication by e^{{i phi}}. The "
            "specified loss function depends on this quantity, so it is ill-defined."
        )


@derivative_helper
def svd_back(gu: Any, gs: Any, gvh: Any, u: Any, s: Any, vh: Any) -> Any:
    """Return the gradient of A = U S Vᴴ (Giles 2008, section 2.3; Wan & Zhang 2019 for the phases of complex vectors).

    U (X/E · S + S · Y/E + gS) Vᴴ, with X = Uᴴ gU and Y = Vᴴ gV made skew-Hermitian and E = sⱼ² - sᵢ², and the
    components orthogonal to the columns of U and V.
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


@no_method(
    node="LinalgSvdBackward0", symbol="SVD", many=True, A="svd_back(g[0], g[1], g[2], result[0], result[1], result[2])"
)
def svd_parts(A: Tensor, full_matrices: bool) -> Any:
    """Return U, S and Vᴴ."""
    return tuple(converging("linalg.svd", np.linalg.svd, A, full_matrices))


@no_method()
def _svdvals(A: Tensor) -> Tensor:
    """Return the singular values without vectors, if no gradient is needed."""
    return converging("linalg.svd", np.linalg.svd, A, False, False)


def converging(name: str, function: Any, *args: Any) -> Any:
    """Run one of NumPy's decompositions and return its result, with PyTorch's error if it does not converge."""
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
    """Compute the singular value decomposition A = U diag(S) Vᴴ.

    :param A: shape (..., m, n).
    :param full_matrices: if True, U and Vᴴ are square; otherwise they have min(m, n) columns and rows.
    :returns: ``(U, S, Vh)``; the singular values S are real, in descending order.
    :raises LinAlgError: the matrix has nan or inf.

    >>> torch.linalg.svd(torch.tensor([[0., 2.], [1., 0.]])).S
    tensor([2., 1.])
    """
    checked("linalg.svd", A)
    _check_driver(driver)
    return return_type("linalg_svd")(svd_parts(A, full_matrices))


@composite(method=False, out=True)
def linalg_svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """Return the singular values, in descending order.

    >>> torch.linalg.svdvals(torch.tensor([[0., 2.], [1., 0.]]))
    tensor([2., 1.])
    """
    checked("linalg.svdvals", A)
    _check_driver(driver)
    return svd_parts(A, False)[1] if recorded(A) else _svdvals(A)


def recorded(A: Tensor) -> bool:
    """Return whether the operation is recorded."""
    return dispatch_mode.is_on() or bool(A.requires_grad and is_grad_enabled())


@composite(out=True)
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """Compute ``input = U diag(S) Vᴴ``, the SVD; see :func:`linalg.svd`, which returns Vᴴ, not V.

    :param some: False for square U and V.
    :param compute_uv: False for zeros in place of U and V.

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
