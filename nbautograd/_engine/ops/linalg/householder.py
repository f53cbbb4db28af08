# ruff: noqa: N803 - matrices have capital letters, as PyTorch's parameters do
"""Householder reflections: QR in LAPACK's form, and products with its Q.

Q = H1 H2 ... Hk with Hi = I - tau_i v_i v_iᴴ, where v_i is column i of a matrix below its diagonal, with 1 on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.compiler.op import NATIVE, alias, composite, derivative_helper, no_method, op
from nbautograd._engine.core.return_types import return_type
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import refuse_derivative  # noqa: F401 - a formula names it
from nbautograd._engine.ops.elementwise.complex import conj
from nbautograd._engine.ops.linalg._common import check_same, checked, is_complex, mH
from nbautograd._engine.ops.shape.joining import cat_same
from nbautograd._engine.ops.shape.triangular import tril
from nbautograd.errors import ShapeError

# -- products --------------------------------------------------------------------------------------------------------


@derivative_helper
def reflectors(a: Any) -> Any:
    """Return the Householder vectors: the elements below the diagonal, with ones on it."""
    return tril(a, -1) + first_columns(a)


@derivative_helper
def reflect(v: Any, tau: Any, x: Any, i: int) -> Any:
    """Return ``H_i @ x``."""
    column = v[..., :, i : i + 1]
    return x - tau[..., i : i + 1, None] * (column @ (mH(column) @ x))


@derivative_helper
def product_back(g: Any, a: Any, tau: Any, start: Any) -> tuple[Any, Any]:
    """Return the gradients of ``a`` and ``tau`` from that of H1 ... Hk ``start``, first reflection first."""
    k = tau.shape[-1]
    if not k or 0 in a.shape:
        return None, None
    v, back = reflectors(a), conj(tau) if is_complex(tau) else tau
    after = [start]  # the input of each reflection
    for i in range(k - 1, 0, -1):
        after.append(reflect(v, tau, after[-1], i))
    columns, scalars = [], []
    for i in range(k):
        x, column = after[k - 1 - i], v[..., :, i : i + 1]
        gw = g @ (mH(x) @ column)
        scalars.append(-(mH(column) @ gw)[..., 0])
        columns.append(-back[..., i : i + 1, None] * gw - tau[..., i : i + 1, None] * (x @ (mH(g) @ column)))
        g = reflect(v, back, g, i)
    return tril(cat_same([*columns, a[..., k:] * 0], -1), -1), cat_same(scalars, -1)


@no_method()
def first_columns(input: Tensor) -> Tensor:
    """Return the first columns of the identity, shaped like ``input``, batch dimensions included."""
    eye = backend.module(backend.device_of(input)).eye(*input.shape[-2:], dtype=input.dtype)
    return np.broadcast_to(eye, input.shape)


def reflected(a: Any, tau: Any, x: Any, transpose: bool = False) -> Any:
    """Return ``Q @ x`` or ``Qᴴ @ x`` over arrays."""
    v, k = np.tril(a, -1) + first_columns.__wrapped__(a), tau.shape[-1]
    if not k:
        return x.copy()
    for i in range(k) if transpose else range(k - 1, -1, -1):
        x = reflect(v, tau.conj() if transpose else tau, x, i)
    return x


@no_method(
    symbol="Q",
    half=NATIVE,
    out=True,
    A="product_back(g, A, tau, first_columns(A))[0]",
    tau="product_back(g, A, tau, first_columns(A))[1]",
)
def linalg_householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """Return the first n columns of Q = H1 H2 ... Hk, a product of Householder reflections from :func:`geqrf`.

    :param A: shape (..., m, n), with the Householder vectors below the diagonal.
    :param tau: shape (..., k), k at most n.
    :returns: shape (..., m, n).

    >>> torch.linalg.householder_product(torch.tensor([[9.], [1.]]), torch.tensor([1.]))
    tensor([[ 0.],
            [-1.]])
    """
    name = "torch.linalg.householder_product"
    checked(name, A, label="input")
    if A.shape[-2] < A.shape[-1]:
        raise ShapeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    _check_tau(name, A, tau, A.shape[-1])
    return reflected(A, tau, first_columns.__wrapped__(A))


def _check_tau(name: str, a: Any, tau: Any, most: int) -> None:
    if tau.shape[-1:] > (most,) or not tau.ndim:
        raise ShapeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if tau.shape[:-1] != a.shape[:-2]:
        raise ShapeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )
    check_same(name, tau, a, ("tau", "input"))


orgqr = linalg_householder_product
alias(orgqr=orgqr)


@derivative_helper
def ormqr_back(g: Any, a: Any, tau: Any, other: Any, left: bool, transpose: bool) -> tuple[Any, Any]:
    """Return the gradients of ``a`` and ``tau``: Re<g, Qᴴ C> = Re<C, Q g>; ``left=False`` uses the transpose."""
    if not left:
        g, other, transpose = mH(g), mH(other), not transpose
    return product_back(other, a, tau, g) if transpose else product_back(g, a, tau, other)


@op(
    symbol="Q @",
    half=NATIVE,
    out=True,
    input="ormqr_back(g, input, tau, other, left, transpose)[0]",
    tau="ormqr_back(g, input, tau, other, left, transpose)[1]",
    other="ormqr(input, tau, g, left, not transpose)",
)
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Multiply Q, given as Householder reflections, and another matrix, without forming Q.

    :param left: False for ``other @ Q``.
    :param transpose: use Qᴴ.

    >>> torch.ormqr(torch.tensor([[9.], [1.]]), torch.tensor([1.]), torch.tensor([[1.], [2.]]))
    tensor([[-2.],
            [-1.]])
    """
    for label, x in (("input", input), ("other", other)):
        checked("torch.ormqr", x, label=label)
        check_same("torch.ormqr", x, input, (label, "input"))
    _check_tau("torch.ormqr", input, tau, min(input.shape[-2:]))
    if other.shape[-2 if left else -1] != input.shape[-2]:
        raise ShapeError(
            f"torch.ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2]: got "
            f"{list(other.shape)} and {list(input.shape)}"
        )
    if tau.shape[-1] != min(other.shape[-2 if left else -1], input.shape[-1]):
        raise ShapeError(
            "torch.ormqr: tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1]): got "
            f"{list(tau.shape)}, {list(other.shape)} and {list(input.shape)}"
        )
    if other.shape[:-2] != input.shape[:-2]:
        raise ShapeError(
            "torch.ormqr: Expected batch dimensions of other to be equal to input.shape[:-2], but got "
            f"{list(other.shape[:-2])}"
        )
    if left:
        return reflected(input, tau, other, transpose)
    return mH(reflected(input, tau, mH(other), not transpose))


# -- QR in LAPACK's form ---------------------------------------------------------------------------------------------


@no_method(node="GeqrfBackward0", symbol="QR", many=True, real_only=True, input="refuse_derivative('geqrf')")
def geqrf_parts(input: Tensor) -> Any:
    """Return R with the Householder vectors below it, and their scalars tau."""
    packed, tau = np.linalg.qr(input, mode="raw")
    return packed.swapaxes(-1, -2).astype(input.dtype), tau.astype(input.dtype)


@composite(out=True)
def geqrf(input: Tensor) -> Any:
    """Compute QR in LAPACK's form: R with the Householder vectors of Q below it, and their scalars tau.

    It has no derivative, as in PyTorch; use :func:`linalg.qr` for a differentiable one.

    >>> torch.geqrf(torch.tensor([[3.], [4.]])).tau
    tensor([1.6000])
    """
    checked("torch.geqrf", input, label="input")
    return return_type("geqrf")(geqrf_parts(input))
