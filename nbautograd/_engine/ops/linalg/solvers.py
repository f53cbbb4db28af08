# ruff: noqa: N803, N806 - matrices have capital letters, as PyTorch's parameters do
"""Linear systems, inverses and determinants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays.size import as_int
from nbautograd._engine.compiler.op import NATIVE, alias, composite, derivative_helper, no_method, op
from nbautograd._engine.core.batched import looks_at_elements
from nbautograd._engine.core.return_types import return_type
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops._internal import sum_to
from nbautograd._engine.ops.elementwise.complex import conj, real
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.linalg._common import (  # noqa: F401 - a formula names two of them
    check_fit,
    check_info,
    check_same,
    checked,
    eye_of,
    is_complex,
    lu_arrays,
    mH,
    no_info,
    solve_array,
    solve_same,
    substitute,
    together,
    triangle_and_copy_back,
    triangle_and_copy_solved,
    triangle_solve,
)
from nbautograd.errors import LinAlgError, ShapeError, kind_of

# -- systems ---------------------------------------------------------------------------------------------------------


def _system(name: str, a: Tensor, b: Tensor, left: bool) -> Tensor:
    checked(name, a, square=True)
    if not isinstance(b, Tensor):
        raise TypeError(f"{name}(): argument 'B' (position 2) must be Tensor, not {kind_of(b)}")
    check_same(name, a, b)
    are_vectors = b._a.ndim == 1 or (a._a.ndim - 1 == b._a.ndim and b._a.shape == a._a.shape[:-1])
    if not are_vectors:
        check_fit(name, a, b, left)
        return solve_same(a, b, left)
    if not left:
        raise ShapeError(
            f"{name}: Vector broadcasting of the left hand side is not supported for left=False. In this case "
            f"{name} is equivalent to B / A.squeeze(-1)"
        )
    check_fit(name, a, b.unsqueeze(-1), left)
    return solve_columns(a, b)


@no_method(
    node="LinalgSolveExBackward0",
    symbol="solve",
    A="sum_to(-outer_columns(solve_columns(mH(A), g), result), A.shape)",
    B="sum_to(solve_columns(mH(A), g), B.shape)",
)
def solve_columns(A: Tensor, B: Tensor) -> Tensor:
    """Solve ``A @ x = b`` for one vector per matrix."""
    A, B = together("linalg.solve", A, B[..., None])
    return solve_array(A, B)[..., 0]


@derivative_helper
def outer_columns(x: Any, y: Any) -> Any:
    """Return ``x yᴴ`` for vectors in the last dimension."""
    return x[..., None] @ mH(y[..., None])


@composite(method=False, out=True)
def linalg_solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """Solve ``A @ X = B`` for X.

    :param A: shape (..., n, n).
    :param B: shape (..., n, k), or one vector (..., n) per matrix.
    :param left: False for ``X @ A = B``.
    :raises LinAlgError: a matrix is singular.

    >>> torch.linalg.solve(torch.tensor([[2., 0.], [0., 4.]]), torch.tensor([2., 2.]))
    tensor([1.0000, 0.5000])
    """
    return _system("linalg.solve", A, B, left)


@composite(method=False, out=True)
@looks_at_elements
def linalg_solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """Return the solution of :func:`solve`, and LAPACK's info: 0, or the position of a zero on the diagonal of U.

    >>> torch.linalg.solve_ex(torch.zeros(2, 2), torch.ones(2)).info
    tensor(1, dtype=torch.int32)
    """
    result = return_type("linalg_solve_ex")
    try:
        return result((_system("linalg.solve_ex", A, B, left), wrap(no_info(A._a))))
    except LinAlgError:
        if check_errors:
            raise
        return result((B * math.nan, wrap(lu_arrays(A._a)[2])))


@composite(method=False, out=True)
def linalg_solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """Solve ``A @ X = B`` for X, with triangular A.

    :param upper: True if A is upper triangular, False if lower; the other triangle is not read.
    :param left: False for ``X @ A = B``.
    :param unitriangular: assume a diagonal of 1, without reading it.

    >>> torch.linalg.solve_triangular(torch.tensor([[2., 9.], [0., 4.]]), torch.tensor([[20.], [8.]]), upper=True)
    tensor([[1.],
            [2.]])
    """
    name = "linalg.solve_triangular"
    checked(name, A, square=True)
    B = B.to(A.dtype)
    checked(name, B, label="B")
    check_fit(name, A, B, left)
    return triangle_solve(A, B, bool(upper), bool(left), bool(unitriangular))


@composite(out=True)
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """Return the solution X of ``A @ X = input`` with triangular A, and a copy of A.

    :param transpose: solve with the transpose of A.

    >>> torch.triangular_solve(torch.tensor([[20.], [8.]]), torch.tensor([[2., 9.], [0., 4.]])).solution
    tensor([[1.],
            [2.]])
    """
    name = "triangular_solve"
    for label, x in (("b", input), ("A", A)):
        if isinstance(x, Tensor) and x._a.ndim < 2:
            raise ShapeError(f"torch.{name}: Expected {label} to have at least 2 dimensions, but it has {x._a.ndim}")
    checked(name, A, square=True)
    check_same(name, input, A, ("b", "A"))
    check_fit(name, A, input)
    matrix = A.transpose(-2, -1) if transpose else A
    solution, copy = triangle_and_copy(matrix, input, upper != transpose, bool(unitriangular))
    return return_type("triangular_solve")((solution, copy.transpose(-2, -1) if transpose else copy))


@no_method(
    node="TriangularSolveBackward0",
    symbol="solve",
    many=True,
    A="triangle_and_copy_back(g, result[0], A, upper, unit)",
    B="triangle_and_copy_solved(g, A, B, upper, unit)",
)
def triangle_and_copy(A: Tensor, B: Tensor, upper: bool, unit: bool) -> Any:
    """Return the solution of a triangular system, and a copy of its matrix in the batch of the solution."""
    A, B = together("triangular_solve", A, B)
    return substitute(A, B, upper, True, unit), np.broadcast_to(A, (*B.shape[:-2], *A.shape[-2:])).copy()


@derivative_helper
def cholesky_solve_back(g: Any, x: Any, factor: Any, upper: bool, shape: Any) -> Any:
    """Return the gradient of the factor: with gA = -A⁻¹ g Xᴴ, (gA + gAᴴ) L."""
    ga = -cholesky_solve_same(g, factor, upper) @ mH(x)
    both = ga + mH(ga)
    return sum_to(factor @ both if upper else both @ factor, shape)


@no_method(
    node="CholeskySolveBackward0",
    symbol="solve",
    B="sum_to(cholesky_solve_same(g, L, upper), B.shape)",
    L="cholesky_solve_back(g, result, L, upper, L.shape)",
)
def cholesky_solve_same(B: Tensor, L: Tensor, upper: bool) -> Tensor:
    """Solve a system given the Cholesky factor of its matrix."""
    L, B = together("cholesky_solve", L, B)
    first, second = (mH(L), L) if upper else (L, mH(L))
    return substitute(second, substitute(first, B, False, True, False), True, True, False)


@composite(out=True, names="input=B input2=L")
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """Solve ``A @ X = B`` for X, given the Cholesky factor L of A = L Lᴴ.

    :param upper: L is the upper factor, A = Lᴴ L.

    >>> torch.cholesky_solve(torch.tensor([[8.]]), torch.tensor([[2.]]))
    tensor([[2.]])
    """
    for label, x in (("b", B), ("u", L)):
        if isinstance(x, Tensor) and x._a.ndim < 2:
            raise ShapeError(f"{label} should have at least 2 dimensions, but has {x._a.ndim} dimensions instead")
    checked("cholesky_solve", L, square=True, label="L")
    check_same("cholesky_solve", B, L, ("b", "A"))
    check_fit("cholesky_solve", L, B)
    return cholesky_solve_same(B, L, upper)


@derivative_helper
def cholesky_inverse_back(g: Any, inverse: Any, factor: Any, upper: bool) -> Any:
    """Return the gradient of the factor: -A⁻¹ (g + gᴴ) A⁻¹ L."""
    both = -inverse @ (g + mH(g)) @ inverse
    return factor @ both if upper else both @ factor


@op(symbol="⁻¹", half=NATIVE, out=True, L="cholesky_inverse_back(g, result, L, upper)")
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """Compute the inverse of A = L Lᴴ, given the Cholesky factor L.

    >>> torch.cholesky_inverse(torch.tensor([[2.]]))
    tensor([[0.2500]])
    """
    checked("cholesky_inverse", L, square=True)
    if L.size:
        zeros = np.diagonal(L, 0, -2, -1) == 0
        check_info("cholesky_inverse", np.where(zeros.any(-1), zeros.argmax(-1) + 1, 0), NOT_INVERTED)
    return cholesky_solve_same.__wrapped__(eye_of.__wrapped__(L) + L * 0, L, upper)


# -- inverses --------------------------------------------------------------------------------------------------------

NOT_INVERTED = (
    "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."
)


@no_method(node="LinalgInvExBackward0", symbol="⁻¹", A="-mH(result) @ g @ mH(result)")
def inv_same(A: Tensor) -> Tensor:
    """Invert matrices (Giles 2008, section 2.2.3)."""
    try:
        result = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        result = None
    if result is None or (result.__class__ is not np.ndarray and not bool(np.isfinite(result).all())):
        check_info("linalg.inv", lu_arrays(A)[2], NOT_INVERTED)
        if result is None:
            raise LinAlgError("linalg.inv: the inversion could not be completed because the input matrix is singular.")
    return result


@composite(method=False, out=True)
def linalg_inv(A: Tensor) -> Tensor:
    """Invert each matrix.

    :raises LinAlgError: a matrix is singular.

    >>> torch.linalg.inv(torch.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    checked("linalg.inv", A, square=True)
    return inv_same(A)


inverse = linalg_inv
alias(inverse=inverse)


@composite(method=False, out=True)
@looks_at_elements
def linalg_inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """Return the inverse of each matrix, and LAPACK's info: 0, or the position of a zero on the diagonal of U.

    >>> torch.linalg.inv_ex(torch.zeros(2, 2)).info
    tensor(1, dtype=torch.int32)
    """
    checked("linalg.inv_ex", A, square=True)
    result = return_type("linalg_inv_ex")
    try:
        return result((inv_same(A), wrap(no_info(A._a))))
    except LinAlgError:
        if check_errors:
            raise
        return result((A * math.nan, wrap(lu_arrays(A._a)[2])))


@composite(method=False, out=True)
def linalg_tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """Compute the inverse of :func:`tensordot` with A over its last dimensions.

    :param ind: the number of A's first dimensions that form the rows.
    :raises RuntimeError: the products of the sizes of rows and columns differ.

    >>> torch.linalg.tensorinv(torch.eye(6).reshape(2, 3, 6)).shape
    torch.Size([6, 2, 3])
    """
    ind = as_int(ind, "linalg_tensorinv(): argument 'ind' (position 2)")
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', got {ind}")
    if ind > A.ndim:
        raise RuntimeError(f"Expected 'ind' to be at most the number of dimensions, {A.ndim}, got {ind}")
    rows, columns = A.shape[:ind], A.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise ShapeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{math.prod(columns)} != {math.prod(rows)}"
        )
    return linalg_inv(A.reshape(math.prod(rows), math.prod(columns))).reshape((*columns, *rows))


@composite(method=False, out=True)
def linalg_tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """Solve ``tensordot(A, X, X.ndim) = B`` for X.

    :param dims: dimensions of A that are moved to its end first.
    :raises RuntimeError: A, reshaped to a matrix, is not square.

    >>> torch.linalg.tensorsolve(torch.eye(6).reshape(2, 3, 6), torch.ones(2, 3))
    tensor([1., 1., 1., 1., 1., 1.])
    """
    if dims is not None:
        if not isinstance(dims, (tuple, list)):
            raise TypeError(f"linalg_tensorsolve(): argument 'dims' must be tuple of ints, not {kind_of(dims)}")
        A = A.movedim(dims, list(range(A.ndim - len(dims), A.ndim)))
    shape = A.shape[B.ndim :]
    rows, columns = B.numel(), math.prod(shape)
    if rows != columns or A.numel() != rows * columns:
        raise ShapeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {columns} != {A.numel() // max(columns, 1)}"
        )
    return linalg_solve(A.reshape(rows, columns), B.reshape(rows)).reshape(shape)


# -- determinants ----------------------------------------------------------------------------------------------------


@derivative_helper
def adjugate_back(g: Any, result: Any, a: Any) -> Any:
    """Return the gradient of adj A = det(A) A⁻¹, for non-singular matrices."""
    inverse = mH(inv_same(a))
    weight = (g * (conj(result) if is_complex(result) else result)).sum((-2, -1))[..., None, None]
    return weight * inverse - inverse @ g @ mH(result)


@no_method(symbol="adj", A="adjugate_back(g, result, A)")
def adjugate(A: Tensor) -> Tensor:
    """Return the adjugate of each matrix: the gradient of the determinant, also where that is 0."""
    d = np.linalg.det(A)[..., None, None]
    if not A.size:
        return A.copy()
    if bool((np.abs(d) > 0).all()):
        return d * np.linalg.inv(A)
    # A = U S Vᴴ: each singular value is replaced by the product of all others.
    u, s, vh = np.linalg.svd(A)
    others = np.where(eye_of.__wrapped__(s) != 0, 1, s[..., None, :]).prod(-1)
    phase = (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]
    return (phase * (mH(vh) * others[..., None, :] @ mH(u))).astype(A.dtype)


@no_method(symbol="det", half=NATIVE, out=True, A="g[..., None, None] * mH(adjugate(A))")
def linalg_det(A: Tensor) -> Tensor:
    """Compute the determinant of each matrix.

    The gradient is the adjugate, which is also defined for singular matrices.

    :param A: shape (..., n, n).

    >>> torch.linalg.det(torch.tensor([[2., 0.], [1., 4.]]))
    tensor(8.)
    """
    checked("linalg.det", A, square=True)
    return np.linalg.det(A)


det = linalg_det
alias(det=det)


@derivative_helper
def slogdet_back(gs: Any, gl: Any, sign: Any, a: Any) -> Any:
    """Return the gradient of log(det A) = log|det A| + i arg(det A), whose derivative is tr(A⁻¹ dA)."""
    weight: Any = 0 if gl is None else gl
    if gs is not None and is_complex(sign):
        weight = weight - real(conj(gs) * sign * -1j) * 1j
    elif gl is None:
        return a * 0
    return solve_same(mH(a), weight[..., None, None] * eye_of(a), True)


@no_method(node="LinalgSlogdetBackward0", symbol="log|det|", many=True, A="slogdet_back(g[0], g[1], result[0], A)")
def slogdet_parts(A: Tensor) -> Any:
    """Return the sign and the logarithm of the absolute value of determinants."""
    return tuple(np.linalg.slogdet(A))


@composite(method=False, out=True)
def linalg_slogdet(A: Tensor) -> Any:
    """Return the sign and the logarithm of the absolute value of each determinant, without overflow.

    >>> torch.linalg.slogdet(torch.eye(2) * -3).logabsdet
    tensor(2.1972)
    """
    checked("linalg.slogdet", A, square=True)
    return return_type("linalg_slogdet")(slogdet_parts(A))


@composite(out=True)
def slogdet(input: Tensor) -> Any:
    """Return the sign and the logarithm of the absolute value of each determinant; see :func:`linalg.slogdet`.

    >>> torch.slogdet(torch.eye(2) * -3).sign
    tensor(1.)
    """
    checked("linalg.slogdet", input, square=True)
    return return_type("slogdet")(slogdet_parts(input))


@composite()
def logdet(input: Tensor) -> Tensor:
    """Return the log-determinant of each matrix: -inf where the determinant is 0, nan where it is negative.

    >>> torch.logdet(torch.eye(2) * 3)
    tensor(2.1972)
    """
    checked("logdet", input, square=True)
    sign, size = slogdet_parts(input)
    return sign.log() + size if is_complex(input) else where(sign == -1, math.nan, size)
