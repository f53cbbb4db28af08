# ruff: noqa: N803, N806 - matrices have capital letters, as PyTorch's parameters do
"""Pseudoinverses, least squares and ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.compiler.op import composite, derivative_helper, no_method
from nbautograd._engine.core.batched import looks_at_elements
from nbautograd._engine.core.grad_mode import is_grad_enabled
from nbautograd._engine.core.return_types import return_type
from nbautograd._engine.core.tensor import Tensor, array_of, wrap
from nbautograd._engine.ops.linalg._common import check_float, check_same, checked, mH, together
from nbautograd._engine.ops.linalg.eig import linalg_eigvalsh
from nbautograd._engine.ops.linalg.svd import converging, linalg_svdvals
from nbautograd._engine.ops.queries import Number
from nbautograd._engine.ops.shape.broadcasting import joint_shape
from nbautograd.errors import ShapeError

# -- pseudoinverses --------------------------------------------------------------------------------------------------


def _check_tolerances(name: str, atol: Any, rtol: Any) -> None:
    """Check that tolerances are real, and both numbers or both tensors."""
    given = [each for each in (atol, rtol) if each is not None]
    tensors = [each for each in given if isinstance(each, Tensor)]
    is_mixed = 0 < len(tensors) < len(given) and tensors[0]._a.ndim > 0
    if is_mixed or any(isinstance(each, complex) for each in given):
        raise TypeError(f"{name}(): atol and rtol must be of one kind")
    if any(each.is_complex() for each in tensors):
        raise RuntimeError(f"{name}: complex type is not supported")


def tolerance(a: Any, largest: Any, atol: Any, rtol: Any) -> Any:
    """Return the threshold up to which singular values count as 0: the larger of ``atol`` and ``rtol * largest``.

    By default ``rtol`` is eps times the larger side of the matrix, or 0 if ``atol`` is positive.
    """
    atol, rtol = array_of(atol), array_of(rtol)
    absolute = 0.0 if atol is None else atol
    if rtol is None:
        rtol = np.finfo(a.dtype).eps * max(a.shape[-2:])
        if hasattr(absolute, "ndim"):
            rtol = (absolute <= 0) * rtol
        elif absolute > 0:
            rtol = 0.0
    for each in (atol, rtol):
        joint_shape([getattr(each, "shape", ()), largest.shape])  # which raises where they do not broadcast
    relative = rtol * largest
    return np.maximum(absolute, relative) if hasattr(absolute, "ndim") else relative.clip(absolute, None)


def _inverted(values: Any, small: Any) -> Any:
    """Return the reciprocals of the values above the tolerance, 0 for the others."""
    keep = np.abs(values) > small[..., None]
    return np.where(keep, 1 / np.where(keep, values, 1), 0).astype(values.dtype)


@derivative_helper
def pinv_back(g: Any, p: Any, a: Any) -> Any:
    """Return the gradient of the pseudoinverse P (G. Golub, V. Pereyra, SIAM J. Numer. Anal. 10, 1973, eq. 4.12).

    -Pᴴ g Pᴴ + (1 - A P) gᴴ P Pᴴ + Pᴴ P gᴴ (1 - P A)
    """
    gh, ph = mH(g), mH(p)
    first = -ph @ g @ ph
    second = (gh - a @ (p @ gh)) @ (p @ ph)
    third = (ph @ p) @ (gh - (gh @ p) @ a)
    return first + second + third


@no_method(node="LinalgPinvBackward0", symbol="⁺", A="pinv_back(g, result, A)")
def pinv_same(A: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    """Return the pseudoinverses of matrices."""
    if not A.size:
        return A.swapaxes(-1, -2).copy()
    if hermitian:
        values, v = converging("linalg.pinv", np.linalg.eigh, A)
        small = tolerance(A, np.abs(values).max(-1), atol, rtol)
        return (v * _inverted(values, small)[..., None, :]) @ mH(v)
    u, s, vh = converging("linalg.pinv", np.linalg.svd, A, False)
    small = tolerance(A, s.max(-1), atol, rtol)
    return (mH(vh) * _inverted(s, small)[..., None, :]) @ mH(u)


@composite(method=False, out=True)
def linalg_pinv(
    A: Tensor,
    rcond: Number | Tensor | None = None,
    hermitian: bool = False,
    *,
    atol: Number | Tensor | None = None,
    rtol: Number | Tensor | None = None,
) -> Tensor:
    """Return the pseudoinverse (Moore-Penrose inverse) of each matrix.

    :param atol: the absolute tolerance: singular values up to this count as 0; a number, or a tensor with one per
        matrix.
    :param rtol: the relative tolerance, a fraction of the largest singular value.
    :param rcond: an older name for ``rtol``.
    :param hermitian: A is Hermitian, for which a faster method exists.

    >>> torch.linalg.pinv(torch.tensor([[2.], [0.]]))
    tensor([[0.5000, 0.0000]])
    """
    if isinstance(A, Tensor) and A._a.ndim < 2:
        raise ShapeError(
            f"linalg.pinv(): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble types, "
            f"got shape {list(A._a.shape)}"
        )
    checked("linalg.pinv", A, square=hermitian and 0 not in A.shape)
    rtol = rcond if rtol is None else rtol
    _check_tolerances("linalg.pinv", atol, rtol)
    for name, tolerance in (("atol", atol), ("rtol", rtol)):
        if isinstance(tolerance, Tensor) and tolerance.requires_grad and is_grad_enabled():
            raise RuntimeError(f"linalg.pinv(): {name} is not differentiable: pass its detach()")
    batch = [each.shape for each in (atol, rtol) if isinstance(each, Tensor)]
    if batch and A.numel():
        A = A.expand(*joint_shape([*batch, A.shape[:-2]]), *A.shape[-2:])
    return pinv_same(A, atol, rtol, hermitian)


@composite()
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Return the pseudoinverse of each matrix; see :func:`linalg.pinv`.

    >>> torch.pinverse(torch.tensor([[2.], [0.]]))
    tensor([[0.5000, 0.0000]])
    """
    return linalg_pinv(input, rtol=rcond)


# -- ranks -----------------------------------------------------------------------------------------------------------


@composite(method=False, out=True)
@looks_at_elements
def linalg_matrix_rank(
    A: Tensor,
    tol: Number | Tensor | None = None,
    hermitian: bool = False,
    *,
    atol: Number | Tensor | None = None,
    rtol: Number | Tensor | None = None,
) -> Tensor:
    """Return the numerical rank of each matrix: the number of singular values above the tolerance.

    :param atol: the absolute tolerance: singular values up to this count as 0; a number, or a tensor with one per
        matrix.
    :param rtol: the relative tolerance, a fraction of the largest singular value.
    :param tol: an older name for ``atol``, with an ``rtol`` of 0.

    >>> torch.linalg.matrix_rank(torch.ones(3, 3))
    tensor(1)
    """
    if tol is not None:
        if atol is not None or rtol is not None:
            raise TypeError("matrix_rank() takes either tol, or atol and rtol")
        atol, rtol = tol, 0.0
    _check_tolerances("linalg.matrix_rank", atol, rtol if tol is None else None)
    is_empty = isinstance(A, Tensor) and A._a.ndim > 1 and not A._a.size
    if not is_empty or atol is rtol is None:
        checked("torch.linalg.matrix_rank", A, square=hermitian and not is_empty, label="input")
    if is_empty:
        return wrap(backend.module(A.device).zeros(A._a.shape[:-2], np.int64))
    a = A.detach()
    s = linalg_eigvalsh(a).abs() if hermitian else linalg_svdvals(a)
    small = tolerance(a._a, s._a.max(-1), atol, rtol)
    return wrap((s._a > small[..., None]).sum(-1, dtype=np.int64))


# -- least squares ---------------------------------------------------------------------------------------------------

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@derivative_helper
def lstsq_back(gx: Any, gr: Any, x: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return the gradients of A and B, from those of X = A⁺ B and of the squared residuals of A X - B."""
    ga, gb = a * 0, b * 0
    if gx is not None:
        p = pinv_same(a, None, None, False)
        ga, gb = pinv_back(gx @ mH(b), p, a), mH(p) @ gx
    if gr is not None and a.shape[-2] > a.shape[-1] and len(gr.shape) > 0 and gr.shape[-1] == b.shape[-1]:
        rest = (a @ x - b) * gr[..., None, :] * 2  # the residual is stationary in X: no gradient through X
        ga, gb = ga + rest @ mH(x), gb - rest
    return ga, gb


@no_method(
    node="LinalgLstsqBackward0",
    symbol="lstsq",
    many=True,
    A="sum_to(lstsq_back(g[0], g[1], result[0], A, B)[0], A.shape)",
    B="sum_to(lstsq_back(g[0], g[1], result[0], A, B)[1], B.shape)",
)
def lstsq_parts(A: Tensor, B: Tensor, rcond: float, residuals: bool) -> Any:
    """Return the minimum-norm solution, the squared residuals, the ranks and the singular values."""
    A, B = together("torch.linalg.lstsq", A, B)
    place, (m, n) = backend.module(backend.device_of(A)), A.shape[-2:]
    real = np.abs(A).dtype
    nothing = place.zeros((0,), real)
    if not A.size:
        batch = A.shape[:-2]
        x = place.zeros((*batch, n, B.shape[-1]), A.dtype)
        return x, nothing, place.zeros(batch, np.int64), place.zeros((*batch, min(m, n)), real)
    u, s, vh = converging("torch.linalg.lstsq", np.linalg.svd, A, False)
    small = s.max(-1) * rcond
    x = mH(vh) @ (_inverted(s, small)[..., None] * (mH(u) @ B))
    rank = (s > small[..., None]).sum(-1)
    if residuals and m > n and bool((rank == n).all()):
        return x, (np.abs(A @ x - B) ** 2).sum(-2), rank, s
    return x, nothing, rank, s


def _as_columns(name: str, A: Tensor, B: Tensor) -> tuple[Tensor, bool]:
    """Return right sides that fit the matrices, as columns, and whether they were vectors."""
    vector = A._a.shape[:-1] == B._a.shape or (A._a.ndim, B._a.ndim) == (2, 1)
    if A._a.ndim - B._a.ndim != vector:
        raise ShapeError(f"{name}: input and other have shapes {list(A._a.shape)} and {list(B._a.shape)}")
    side = -1 if vector else -2
    if A._a.shape[-2] != B._a.shape[side]:
        raise ShapeError(
            f"{name}: input.size(-2) should match other.size({side}), got {list(A._a.shape)} and {list(B._a.shape)}"
        )
    return B.unsqueeze(-1) if vector else B, vector


@composite(method=False, out=True)
def linalg_lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """Compute the minimum-norm least-squares solution X of ``A @ X = B``.

    :param A: shape (..., m, n).
    :param B: shape (..., m, k), or (..., m).
    :param rcond: singular values up to this fraction of the largest count as 0; eps times max(m, n) by default.
    :param driver: ``"gels"``, ``"gelsy"``, ``"gelsd"`` or ``"gelss"``. All are computed by the SVD here; as in PyTorch
        the driver decides which of the other results are empty.
    :returns: ``(solution, residuals, rank, singular_values)``.

    >>> torch.linalg.lstsq(torch.tensor([[1.], [1.]]), torch.tensor([[1.], [3.]])).solution
    tensor([[2.0000]])
    """
    name = "torch.linalg.lstsq"
    if isinstance(A, Tensor) and A._a.ndim < 2:
        raise ShapeError(f"{name}: input must have at least 2 dimensions, got shape {list(A._a.shape)}")
    checked(name, A, label="input")
    check_float(name, B)
    check_same(name, A, B, ("input", "other"))
    driver = "gelsy" if driver is None else driver
    if driver not in DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of ({', '.join(DRIVERS)}), got {driver!r}")
    columns, vector = _as_columns(name, A, B)
    eps = float(np.finfo(A._a.dtype).eps) * max(A._a.shape[-2:])
    rcond = 0.0 if driver == "gels" else eps if rcond is None else rcond
    solution, residuals, rank, s = lstsq_parts(A, columns, rcond, driver != "gelsy")
    if vector:
        solution = solution.squeeze(-1)
    place = backend.module(backend.device_of(A._a))
    if driver == "gels":
        rank = wrap(place.zeros((0,), np.int64))
    values = s.detach() if driver in ("gelsd", "gelss") else wrap(place.zeros((0,), s._a.dtype))
    return return_type("linalg_lstsq")((solution, residuals, rank, values))
