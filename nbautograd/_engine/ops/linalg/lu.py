# ruff: noqa: N803, N806 - matrices have capital letters, as PyTorch's parameters do
"""LU with partial pivoting, and LDL for Hermitian and symmetric matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.compiler.op import composite, derivative_helper, no_method
from nbautograd._engine.core.batched import BatchedTensor
from nbautograd._engine.core.return_types import return_type
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import refuse_derivative  # noqa: F401 - formulas name it
from nbautograd._engine.ops.linalg._common import (
    check_fit,
    check_info,
    check_same,
    checked,
    each,
    lu_arrays,
    mH,
    no_info,
    permutation,
    substitute,
    together,
    triangle_solve,
)
from nbautograd._engine.ops.queries import method_of_tensor
from nbautograd._engine.ops.shape.joining import cat_same
from nbautograd._engine.ops.shape.transpose import transpose
from nbautograd._engine.ops.shape.triangular import tril, triu
from nbautograd.errors import ShapeError


@derivative_helper
def lu_back(gl: Any, gu: Any, p: Any, low: Any, up: Any) -> Any:
    """Return the gradient of A = P L U: P L⁻ᴴ (tril(Lᴴ gL, -1) + triu(gU Uᴴ)) U⁻ᴴ (Giles 2008, by the same steps).

    If A is not square, L2 = A2 U⁻¹ for the remaining rows, or U2 = L⁻¹ A2 for the remaining columns.
    """
    m, n = low.shape[-2], up.shape[-1]
    k = low.shape[-1]
    below = beside = None
    if m > n:
        if gl is not None:
            below = triangle_solve(mH(up), gl[..., k:, :], False, False, False)
            more = -mH(low[..., k:, :]) @ below
            gu, gl = more if gu is None else gu + more, gl[..., :k, :]
        else:
            below = low[..., k:, :] * 0 @ up
        low = low[..., :k, :]
    elif n > m:
        if gu is not None:
            beside = triangle_solve(mH(low), gu[..., k:], True, True, True)
            more = -beside @ mH(up[..., k:])
            gl, gu = more if gl is None else gl + more, gu[..., :k]
        else:
            beside = low @ (up[..., k:] * 0)
        up = up[..., :k]
    inner: Any = 0
    if gl is not None:
        inner = tril(mH(low) @ gl, -1)
    if gu is not None:
        inner = inner + triu(gu @ mH(up))
    inner = triangle_solve(mH(up), triangle_solve(mH(low), inner, True, True, True), False, False, False)
    if below is not None:
        inner = cat_same([inner, below], -2)
    if beside is not None:
        inner = cat_same([inner, beside], -1)
    return p @ inner


def _check(name: str, a: Any, pivot: Any) -> None:
    if isinstance(a, Tensor) and a._a.ndim < 2:
        raise ShapeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(a._a.shape)} instead")
    checked(name, a)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU; leave pivot=True")


@no_method(node="LinalgLuBackward0", symbol="LU", many=True, A="lu_back(g[0], g[1], result[2], result[0], result[1])")
def lu_triple(A: Tensor) -> Any:
    """Return L, U and P; PyTorch numbers the outputs that have gradients first."""
    packed, pivots, _ = lu_arrays(A)
    return unpack_triple.__wrapped__(packed, pivots)


@composite(method=False, out=True)
def linalg_lu(A: Tensor, *, pivot: bool = True) -> Any:
    """Compute the LU decomposition A = P L U with partial pivoting: permutation, unit lower and upper triangular.

    :param A: shape (..., m, n).

    >>> torch.linalg.lu(torch.tensor([[1., 2.], [4., 4.]])).U
    tensor([[4., 4.],
            [0., 1.]])
    """
    _check("linalg.lu", A, pivot)
    low, up, p = lu_triple(A)
    return return_type("linalg_lu")((p.detach(), low, up))


@derivative_helper
def lu_factor_back(g: Any, packed: Any, pivots: Any) -> Any:
    """Return the gradient of A from that of the packed LU."""
    k = min(packed.shape[-2], packed.shape[-1])
    low, up, p = unpack_triple(packed, pivots)
    return lu_back(g[..., :k], g[..., :k, :], p, low, up)


@no_method(node="LinalgLuFactorExBackward0", symbol="LU", many=True, A="lu_factor_back(g[0], result[0], result[1])")
def lu_packed(A: Tensor) -> Any:
    """Return the packed LU, the pivots, and LAPACK's info."""
    return lu_arrays(A)


@composite(method=False, out=True)
def linalg_lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """Compute the LU decomposition in packed form, for :func:`lu_solve`: L and U in one matrix, and the pivots.

    :returns: ``(LU, pivots)``; pivots are row swaps, 1-based.
    :raises RuntimeError: a diagonal element of U is 0.

    >>> torch.linalg.lu_factor(torch.tensor([[1., 2.], [4., 4.]])).pivots
    tensor([2, 2], dtype=torch.int32)
    """
    _check("torch.linalg.lu_factor", A, pivot)
    packed, pivots, info = lu_packed(A)
    check_info("torch.linalg.lu_factor", info, ZERO)
    return return_type("linalg_lu_factor")((packed, pivots))


ZERO = (
    "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want the "
    "factorization, call linalg.lu(A) or linalg.lu_factor_ex(A)"
)


@composite(method=False, out=True)
def linalg_lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """Return the packed LU of :func:`lu_factor`, and LAPACK's info: 0, or the position of a zero on the diagonal of U.

    >>> torch.linalg.lu_factor_ex(torch.zeros(2, 2)).info
    tensor(1, dtype=torch.int32)
    """
    _check("torch.linalg.lu_factor_ex", A, pivot)
    packed, pivots, info = lu_packed(A)
    if check_errors:
        check_info("torch.linalg.lu_factor", info, ZERO)
    return return_type("linalg_lu_factor_ex")((packed, pivots, info))


@composite(method=False, out=True)
def lu(input: Tensor, pivot: bool = True, get_infos: Any = False) -> Any:
    """Compute the LU decomposition in packed form and its pivots; see :func:`linalg.lu_factor`.

    :param get_infos: also return LAPACK's info, instead of raising.

    >>> torch.lu(torch.tensor([[1., 2.], [4., 4.]]))[1]
    tensor([2, 2], dtype=torch.int32)
    """
    result = linalg_lu_factor_ex(input, pivot=pivot)
    return return_type("_lu_with_info")(result) if get_infos else (result[0], result[1])


@method_of_tensor("lu", "lu")
def _lu(self: Tensor, pivot: bool = True, get_infos: Any = False) -> Any:
    """Compute the LU decomposition in packed form and its pivots, as a plain tuple; see :func:`torch.lu`.

    :param pivot: exchange rows; LAPACK does no other.
    :param get_infos: also return LAPACK's info.
    :returns: the packed factors, of the matrix's dtype, and the pivots, int32; with ``get_infos`` also the infos.
    :raises RuntimeError: the input has fewer than two dimensions, or ``pivot`` is False.

    >>> torch.tensor([[1., 2.], [4., 4.]]).lu()[1]
    tensor([2, 2], dtype=torch.int32)
    """
    return tuple(lu(self, pivot, get_infos))


# -- unpacking -------------------------------------------------------------------------------------------------------


@derivative_helper
def lu_unpack_back(gl: Any, gu: Any, packed: Any) -> Any:
    """Return the gradient of the packed LU: the strict lower triangle of L's gradient and the upper triangle of U's."""
    m, n = packed.shape[-2], packed.shape[-1]
    k = min(m, n)
    total = packed * 0
    if gl is not None:
        low = tril(gl, -1)
        total = total + (cat_same([low, packed[..., k:] * 0], -1) if n > k else low)
    if gu is not None:
        up = triu(gu)
        total = total + (cat_same([up, packed[..., k:, :] * 0], -2) if m > k else up)
    return total


@no_method(node="LuUnpackBackward0", symbol="P L U", many=True, LU_data="lu_unpack_back(g[0], g[1], LU_data)")
def unpack_triple(LU_data: Tensor, LU_pivots: Tensor) -> Any:
    """Return L, U and P of a packed LU."""
    m, k, place = LU_data.shape[-2], min(LU_data.shape[-2:]), backend.module(backend.device_of(LU_data))
    low = np.tril(LU_data[..., :k], -1) + place.eye(m, k, dtype=LU_data.dtype)
    p = place.arange(m)[:, None] == permutation(LU_pivots, m)[..., None, :]
    return low, np.triu(LU_data[..., :k, :]), p.astype(LU_data.dtype)


@composite(method=False, out=True)
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """Return P, L and U, unpacked from the result of :func:`linalg.lu_factor`.

    :param unpack_data: False for empty L and U.
    :param unpack_pivots: False for an empty P.

    >>> torch.lu_unpack(*torch.linalg.lu_factor(torch.tensor([[1., 2.], [4., 4.]]))).P
    tensor([[0., 1.],
            [1., 0.]])
    """
    if LU_pivots._a.dtype != np.int32:
        raise RuntimeError(
            f"torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype, got "
            f"{LU_pivots.dtype}. Pass the pivots of linalg.lu_factor"
        )
    if LU_data._a.ndim < 2:
        raise (IndexError if LU_pivots._a.ndim else RuntimeError)(
            f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU_data._a.shape)} instead"
        )
    pivots = LU_pivots._a
    if (
        unpack_pivots
        and pivots.size
        and LU_pivots.__class__ is not BatchedTensor  # whose samples are not looked at
        and not backend.is_bare(pivots)
        and not 1 <= pivots.min() <= pivots.max() <= LU_data._a.shape[-2]
    ):
        raise RuntimeError("pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.")
    low, up, p = unpack_triple(LU_data, LU_pivots)
    empty = LU_data.detach().new_empty(0)
    if not unpack_data:
        low = up = empty
    return return_type("lu_unpack")(((p if unpack_pivots else empty).detach(), low, up))


# -- solving ---------------------------------------------------------------------------------------------------------


@derivative_helper
def lu_solve_back(g: Any, x: Any, packed: Any, pivots: Any, left: bool, adjoint: bool) -> Any:
    """Return the gradient of the packed LU, through that of A = P L U: gL = Pᵀ gA Uᴴ, gU = Lᴴ Pᵀ gA."""
    gb = lu_solve_same(packed, pivots, g, left, not adjoint)
    if left:
        ga = -x @ mH(gb) if adjoint else -gb @ mH(x)
    else:
        ga = -mH(gb) @ x if adjoint else -mH(x) @ gb
    low, up, p = unpack_triple(packed, pivots)
    turned = transpose(p, -2, -1) @ ga
    return tril(turned @ mH(up), -1) + triu(mH(low) @ turned)


@no_method(
    node="LinalgLuSolveBackward0",
    symbol="solve",
    LU="sum_to(lu_solve_back(g, result, LU, pivots, left, adjoint), LU.shape)",
    B="sum_to(lu_solve_same(LU, pivots, g, left, not adjoint), B.shape)",
)
def lu_solve_same(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool) -> Tensor:
    """Solve a system given the LU of its matrix."""
    LU, B = together("linalg.lu_solve", LU, B, labels="LU and B")
    if not left:
        return mH(_solve_packed(LU, pivots, mH(B), not adjoint))
    return _solve_packed(LU, pivots, B, adjoint)


def _solve_packed(packed: Any, pivots: Any, b: Any, adjoint: bool) -> Any:
    n = packed.shape[-1]
    order = np.broadcast_to(permutation(pivots, n), (*packed.shape[:-2], n))
    if adjoint:  # Uᴴ Lᴴ Pᵀ X = B
        b = substitute(mH(packed), substitute(mH(packed), b, False, True, False), True, True, True)
        return np.take_along_axis(b, order.argsort(-1)[..., None], -2)
    b = np.take_along_axis(b, order[..., None], -2)
    return substitute(packed, substitute(packed, b, False, True, True), True, True, False)


@composite(method=False, out=True)
def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """Solve ``A @ X = B`` for X, given the packed LU of A.

    :param left: False for ``X @ A = B``.
    :param adjoint: solve with Aᴴ.

    >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[2., 0.], [0., 4.]]))
    >>> torch.linalg.lu_solve(LU, pivots, torch.tensor([[2.], [2.]]))
    tensor([[1.0000],
            [0.5000]])
    """
    name = "linalg.lu_solve"
    checked(name, LU, square=True, label="LU")
    checked(name, B, label="B")
    check_same(name, LU, B, ("LU", "B"))
    if pivots._a.dtype != np.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32, got {pivots.dtype}")
    if not pivots._a.ndim:
        raise IndexError(f"{name}: Dimension specified as -1 but tensor has no dimensions")
    if pivots._a.shape != LU._a.shape[:-1]:
        raise ShapeError(
            f"{name}: Number of pivots per batch should be same as the dimension of the matrix: LU has shape "
            f"{list(LU._a.shape)}, pivots {list(pivots._a.shape)}"
        )
    check_fit(name, LU, B, left)
    return lu_solve_same(LU, pivots, B, bool(left), bool(adjoint))


@composite(out=True, names="input=b")
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Solve ``A @ X = b`` for X, given the packed LU of A; see :func:`linalg.lu_solve`.

    >>> torch.lu_solve(torch.tensor([[2.], [2.]]), *torch.lu(torch.tensor([[2., 0.], [0., 4.]])))
    tensor([[1.0000],
            [0.5000]])
    """
    return linalg_lu_solve(LU_data, LU_pivots, b)


# -- LDL -------------------------------------------------------------------------------------------------------------


@no_method(node="NotImplemented", symbol="LDL", many=True, A="refuse_derivative('linalg_ldl_factor_ex')")
def ldl_parts(A: Tensor, hermitian: bool) -> Any:
    """Return LDL in LAPACK's packed form, its pivots and its info."""
    place = backend.module(backend.device_of(A))
    if not A.size:
        return A.copy(), place.zeros(A.shape[:-1], np.int32), no_info(A)
    lin = backend.scipy(A, "linalg")
    if not hasattr(lin, "get_lapack_funcs"):
        raise NotImplementedError("linalg.ldl_factor: CuPy has no LDL decomposition; move the tensor to the CPU first")

    def factor(m: Any) -> tuple[Any, Any, Any]:
        (trf,) = lin.get_lapack_funcs(("hetrf" if hermitian and m.dtype.kind == "c" else "sytrf",), (m,))
        packed, pivots, info = trf(m, lower=True)
        return np.ascontiguousarray(np.tril(packed)), pivots.astype(np.int32), np.int32(info)

    return each(factor, A)


@composite(method=False, out=True)
def linalg_ldl_factor(A: Tensor, *, hermitian: bool = False) -> Any:
    """Compute the LDL decomposition of symmetric (or Hermitian) matrices, definite or not, in LAPACK's packed form.

    It has no derivative, as in PyTorch.

    :raises LinAlgError: a matrix is singular.

    >>> torch.linalg.ldl_factor(torch.tensor([[4., 2.], [2., 3.]])).LD
    tensor([[4.0000, 0.0000],
            [0.5000, 2.0000]])
    """
    checked("torch.linalg.ldl_factor", A, square=True)
    packed, pivots, info = ldl_parts(A, hermitian)
    check_info("torch.linalg.ldl_factor", info, "The diagonal block {} of D is zero: the input matrix is singular.")
    return return_type("linalg_ldl_factor")((packed, pivots))


@composite(method=False, out=True)
def linalg_ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """Return the packed LDL of :func:`ldl_factor`, and LAPACK's info: 0, or the position of a zero block of D.

    >>> torch.linalg.ldl_factor_ex(torch.eye(2)).info
    tensor(0, dtype=torch.int32)
    """
    checked("torch.linalg.ldl_factor_ex", A, square=True)
    packed, pivots, info = ldl_parts(A, hermitian)
    if check_errors:
        check_info("torch.linalg.ldl_factor_ex", info, "The diagonal block {} of D is zero: the input is singular.")
    return return_type("linalg_ldl_factor_ex")((packed, pivots, info))


@no_method(
    node="NotImplemented",
    symbol="solve",
    LD="refuse_derivative('linalg_ldl_solve')",
    B="refuse_derivative('linalg_ldl_solve')",
)
def ldl_solution(LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool) -> Tensor:
    """Solve a system given the LDL of its matrix."""
    LD, B = together("torch.linalg.ldl_solve", LD, B, labels="LD and B")
    if not B.size:
        return B.copy()
    lin = backend.scipy(LD, "linalg")

    def solve(m: Any, b: Any, exchanges: Any) -> tuple[Any]:
        (trs,) = lin.get_lapack_funcs(("hetrs" if hermitian and m.dtype.kind == "c" else "sytrs",), (m, b))
        x, _ = trs(m, exchanges, b, lower=True)
        return (np.ascontiguousarray(x),)

    (x,) = each(solve, LD, B, np.broadcast_to(pivots, LD.shape[:-1]), vectors=1)
    return x


@composite(method=False, out=True)
def linalg_ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """Solve ``A @ X = B`` for X, given the packed LDL of A.

    >>> LD, pivots = torch.linalg.ldl_factor(torch.tensor([[4., 2.], [2., 3.]]))
    >>> torch.linalg.ldl_solve(LD, pivots, torch.tensor([[6.], [5.]]))
    tensor([[1.],
            [1.]])
    """
    name = "torch.linalg.ldl_solve"
    checked(name, LD, square=True, label="LD")
    check_same(name, LD, B, ("LD", "B"))
    if B._a.ndim < 2:
        raise IndexError(f"{name}: Expected B to have at least 2 dimensions, but it has {B._a.ndim} dimensions instead")
    if pivots._a.shape != LD._a.shape[:-1]:
        raise ShapeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots._a.shape)} instead"
        )
    if pivots._a.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {pivots.dtype}")
    check_fit(name, LD, B)
    return ldl_solution(LD, pivots, B, hermitian)
