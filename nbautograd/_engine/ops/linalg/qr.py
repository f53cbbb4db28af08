# ruff: noqa: N803 - matrices have capital letters, as PyTorch's parameters do
"""QR decomposition.

The derivative is that of M. Seeger, A. Hetzel, Z. Dai, E. Meissner, N. Lawrence, "Auto-differentiating linear algebra"
(2017).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.compiler.op import composite, derivative_helper, no_method
from nbautograd._engine.core.return_types import return_type
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.linalg._common import checked, eye_of, mH, triangle_solve
from nbautograd._engine.ops.shape.joining import cat_same
from nbautograd._engine.ops.shape.triangular import triu
from nbautograd.errors import AutogradError


@derivative_helper
def qr_back(gq: Any, gr: Any, q: Any, r: Any, mode: str) -> Any:
    """Return the gradient of A = QR (Seeger et al. 2017, section 4.3; for wide A = Q [R1 R2] with R2 = Qᴴ A2)."""
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
    """Return the gradient if R is square: (gQ + Q T) R⁻ᴴ, T the upper triangle of gR Rᴴ - Qᴴ gQ made Hermitian."""
    x = r * 0 if gr is None else gr @ mH(r)
    if gq is not None:
        x = x - mH(q) @ gq
    x = triu(x)
    x = x + mH(x)
    t = q @ (x - x * eye_of(x) * 0.5)
    return triangle_solve(mH(r), t if gq is None else gq + t, False, False, False)


@no_method(node="LinalgQrBackward0", symbol="QR", many=True, A="qr_back(g[0], g[1], result[0], result[1], mode)")
def qr_parts(A: Tensor, mode: str) -> Any:
    """Return Q and R."""
    if mode == "r":
        return backend.module(backend.device_of(A)).empty((0,), A.dtype), np.linalg.qr(A, mode="r")
    return tuple(np.linalg.qr(A, mode=mode))


@composite(method=False, out=True)
def linalg_qr(A: Tensor, mode: str = "reduced") -> Any:
    """Compute the QR decomposition A = Q R: Q with orthonormal columns, R upper triangular.

    :param A: shape (..., m, n).
    :param mode: ``"reduced"`` (Q has min(m, n) columns), ``"complete"`` (Q is square) or ``"r"`` (R only).
    :raises RuntimeError: the mode is unknown; or backward through ``"r"``, or through ``"complete"`` with m > n.

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
    """Factor a matrix into Q with orthonormal columns and an upper triangular R; see :func:`linalg.qr`.

    :param some: False for a square Q.

    >>> torch.qr(torch.eye(2)).R.abs()
    tensor([[1., 0.],
            [0., 1.]])
    """
    checked("qr", input)
    return return_type("qr")(qr_parts(input, "reduced" if some else "complete"))
