# ruff: noqa: N803, N806 - matrices have capital letters, as PyTorch's parameters do
"""Helpers of linear algebra: checks, batches of matrices, triangular solves, and calls of LAPACK.

NumPy and CuPy take batches of matrices for most factorizations. Where they do not (LU and LDL, triangular systems on
the CPU), ``each`` loops over the batch.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.strides import row_major
from nbautograd._engine.compiler.op import derivative_helper, no_method
from nbautograd._engine.core.tensor import Tensor, array_of
from nbautograd._engine.ops._internal import added, sum_to
from nbautograd._engine.ops.elementwise.complex import conj
from nbautograd._engine.ops.shape.transpose import transpose
from nbautograd._engine.ops.shape.triangular import tril, triu
from nbautograd.errors import DtypeError, LinAlgError, ShapeError, kind_of


def scalar_type(x: Any) -> str:
    """Return the scalar type of a tensor or array, as PyTorch's messages call it."""
    return dtypes.scalar_type(array_of(x).dtype)


# -- checks ----------------------------------------------------------------------------------------------------------


WITHOUT_A_CHECK = """
    cholesky cholesky_inverse cholesky_solve geqrf linalg.eigh linalg.eigvalsh linalg.householder_product linalg.lu
    linalg.lu_factor linalg.lu_factor_ex linalg.solve_triangular ormqr triangular_solve"""
"""Functions for which PyTorch's kernels raise for integers."""


def check_float(name: str, x: Any, low: bool = False) -> None:
    """Check that ``x`` is a tensor of a floating or complex dtype that LAPACK supports; ``low``: a half too."""
    if isinstance(x, Tensor):
        x = x._a
    elif not hasattr(x, "dtype"):
        raise TypeError(f"{name}(): argument 'A' (position 1) must be Tensor, not {kind_of(x)}")
    if x.dtype.kind not in dtypes.INEXACT:
        kind = NotImplementedError if name.removeprefix("torch.") in WITHOUT_A_CHECK.split() else DtypeError
        raise kind(f"{name}: Expected a floating point or complex tensor as input. Got {scalar_type(x)}")
    if not low and x.dtype.itemsize == 2:
        raise NotImplementedError(
            f"{name}: Low precision dtypes not supported. Got {scalar_type(x)}: it is not implemented for "
            f"'{scalar_type(x)}', cast it to float32 first"
        )


def checked(name: str, x: Any, square: bool = False, label: str = "A") -> None:
    """Check that ``x`` holds matrices, square where required, of a dtype that LAPACK supports."""
    if isinstance(x, Tensor) or hasattr(x, "ndim"):
        shape = array_of(x).shape
        if len(shape) < 2:
            raise ShapeError(
                f"{name}: The input tensor {label} must have at least 2 dimensions, but its shape is {list(shape)}"
            )
        if square and shape[-2] != shape[-1]:
            raise ShapeError(
                f"{name}: {label} must be batches of square matrices, but they are {shape[-2]} by {shape[-1]} matrices"
            )
    check_float(name, x)


def check_same(name: str, a: Any, b: Any, labels: tuple[str, str] = ("A", "B")) -> None:
    """Check that two tensors have the same dtype."""
    if array_of(a).dtype != array_of(b).dtype:
        raise DtypeError(
            f"{name}: Expected {labels[0]} and {labels[1]} to have the same dtype, but found {labels[0]} of type "
            f"{scalar_type(a)} and {labels[1]} of type {scalar_type(b)} instead"
        )


def check_info(name: str, info: Any, message: str) -> None:
    """Check that LAPACK's info is 0 for every matrix; ``{}`` stands for the info in the error's message."""
    if backend.is_bare(array_of(info)):
        return
    info = backend.fetch(array_of(info))
    if info.any():
        where = int(np.flatnonzero(info)[0])
        batch = f"(Batch element {where}): " if info.ndim else ""
        raise LinAlgError(f"{name}: {batch}{message.format(int(info.reshape(-1)[where]))}")


# -- matrices in formulas --------------------------------------------------------------------------------------------


def is_complex(x: Any) -> bool:
    """Return whether the elements are complex."""
    return bool(array_of(x).dtype.kind == "c")


@derivative_helper
def mH(x: Any) -> Any:  # noqa: N802 - the usual name
    """Return the conjugate transpose of each matrix."""
    turned = transpose(x, -2, -1)
    return conj(turned) if is_complex(x) else turned


@no_method()
def eye_of(input: Tensor) -> Tensor:
    """Return the identity of the dtype of ``input``, with as many rows as its last dimension is long."""
    return backend.module(backend.device_of(input)).eye(input.shape[-1], dtype=input.dtype)


# -- batches ---------------------------------------------------------------------------------------------------------


def check_fit(name: str, a: Tensor, b: Tensor, left: bool = True) -> None:
    """Check that the shapes of ``a @ X = b``, or ``X @ a = b``, match."""
    for x, letter in ((a, "A"), (b, "B")):
        if x._a.ndim < 2:
            raise ShapeError(f"{name}: The input tensor {letter} must have at least 2 dimensions.")
    if a._a.shape[-1] != b._a.shape[-2 if left else -1]:
        equation = "AX = B" if left else "XA = B"
        shapes = " and ".join(f"{x._a.shape[-2]}x{x._a.shape[-1]}" for x in (a, b))
        raise ShapeError(f"{name}: Incompatible shapes of A and B for the equation {equation} ({shapes})")


def together(name: str, *arrays: Any, labels: str = "A and B") -> list[Any]:
    """Return matrices with their batch dimensions broadcast."""
    try:
        batch = np.broadcast_shapes(*(a.shape[:-2] for a in arrays))
    except ValueError:
        raise ShapeError(
            f"{name}: the batch dimensions of {labels} must match or be broadcastable, got the shapes "
            + " and ".join(str(list(a.shape)) for a in arrays)
        ) from None
    return [np.broadcast_to(a, (*batch, *a.shape[-2:])) if a.shape[:-2] != batch else a for a in arrays]


def each(function: Callable[..., Any], *arrays: Any, vectors: int = 0) -> tuple[Any, ...]:
    """Apply ``function`` to each matrix of a batch and stack the results: for routines that take one matrix.

    :param arrays: with equal batch dimensions; the last ``vectors`` of them hold vectors instead of matrices.
    """
    first = arrays[0]
    batch = first.shape[:-2]
    cores = [2] * (len(arrays) - vectors) + [1] * vectors
    if not batch:
        return tuple(function(*arrays))
    count = math.prod(batch)
    place = backend.module(backend.device_of(first))
    if not count:  # call it once for the shapes of the results
        models = [place.zeros(a.shape[a.ndim - core :], a.dtype) for a, core in zip(arrays, cores, strict=True)]
        return tuple(place.zeros((*batch, *r.shape), r.dtype) for r in map(place.asarray, function(*models)))
    flat = [a.reshape((count, *a.shape[a.ndim - core :])) for a, core in zip(arrays, cores, strict=True)]
    results = zip(*(function(*(a[i] for a in flat)) for i in range(count)), strict=True)
    return tuple(np.stack([place.asarray(r) for r in parts]).reshape((*batch, *parts[0].shape)) for parts in results)


def no_info(a: Any) -> Any:
    """Return LAPACK's info of success, 0, for each matrix."""
    return backend.module(backend.device_of(a)).zeros(a.shape[:-2], np.int32)


# -- LU --------------------------------------------------------------------------------------------------------------


def lu_arrays(a: Any) -> tuple[Any, Any, Any]:
    """Compute LU with partial pivoting: both triangles in one array, the pivots (1-based), and LAPACK's info."""
    k = min(a.shape[-2:])
    place = backend.module(backend.device_of(a))
    if not k:
        return a.copy(), place.zeros((*a.shape[:-2], 0), np.int32), no_info(a)
    lin = backend.scipy(a, "linalg")

    (getrf,) = lin.get_lapack_funcs(("getrf",), (a,)) if hasattr(lin, "get_lapack_funcs") else (None,)

    def factor(m: Any) -> tuple[Any, Any, Any]:
        if getrf is not None:
            packed, pivots, info = getrf(m)
            return np.ascontiguousarray(packed), (pivots + 1).astype(np.int32), np.int32(info)
        with warnings.catch_warnings():  # SciPy warns of zeros on the diagonal, which info reports
            warnings.simplefilter("ignore")
            packed, pivots = lin.lu_factor(m, check_finite=False)
        zero = packed.diagonal() == 0
        return packed, (pivots + 1).astype(np.int32), (zero.any() * (zero.argmax() + 1)).astype(np.int32)

    return each(factor, a)


def permutation(pivots: Any, rows: int) -> Any:
    """Return the permutation of rows from LAPACK's pivots: successive row swaps, 1-based."""
    place = backend.module(backend.device_of(pivots))
    if backend.is_bare(pivots):
        return np.empty_like(pivots, np.int64, shape=(*pivots.shape[:-1], rows))
    if pivots.ndim == 1:
        rows_of = list(range(rows))
        for i, p in enumerate(pivots.tolist()):
            rows_of[i], rows_of[p - 1] = rows_of[p - 1], rows_of[i]
        return place.asarray(np.array(rows_of, np.int64))
    order = place.zeros((*pivots.shape[:-1], rows), np.int64) + place.arange(rows)
    for i in range(pivots.shape[-1]):
        j = pivots[..., i : i + 1].astype(np.int64) - 1
        here, there = order[..., i : i + 1].copy(), np.take_along_axis(order, j, -1)
        order = np.where(place.arange(rows) == j, here, order)
        order[..., i : i + 1] = there
    return order


# -- triangular systems ----------------------------------------------------------------------------------------------


@derivative_helper
def triangle_back(g: Any, x: Any, a: Any, upper: bool, left: bool, unit: bool, shape: Any) -> Any:
    """Return the gradient of a triangular system's matrix: the triangle of -A⁻ᴴ g Xᴴ."""
    gb = triangle_solve(mH(a), g, not upper, left, unit)
    full = -gb @ mH(x) if left else -mH(x) @ gb
    return sum_to(triu(full, int(unit)) if upper else tril(full, -int(unit)), shape)


@no_method(
    node="LinalgSolveTriangularBackward0",
    symbol="solve",
    A="triangle_back(g, result, A, upper, left, unitriangular, A.shape)",
    B="sum_to(triangle_solve(mH(A), g, not upper, left, unitriangular), B.shape)",
)
def triangle_solve(A: Tensor, B: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    """Return the solution X of ``A @ X = B`` or ``X @ A = B`` with triangular A; batch dimensions are broadcast."""
    A, B = together("linalg.solve_triangular", A, B)
    return substitute(A, B, upper, left, unitriangular)


def substitute(a: Any, b: Any, upper: bool, left: bool, unit: bool) -> Any:
    """Solve ``a @ X = b`` or ``X @ a = b`` for arrays of equal batches; inf where a diagonal is 0."""
    if not b.size:
        return b.copy()
    lin = backend.scipy(a, "linalg")
    if not hasattr(lin, "get_blas_funcs"):  # CuPy's function takes batches
        if not left:
            return substitute(a.swapaxes(-1, -2), b.swapaxes(-1, -2), not upper, True, unit).swapaxes(-1, -2)
        return lin.solve_triangular(a, b, lower=not upper, unit_diagonal=unit)

    (trsm,) = lin.get_blas_funcs(("trsm",), (a, b))

    def solve(m: Any, rhs: Any) -> tuple[Any]:
        return (np.ascontiguousarray(trsm(1, m, rhs, side=int(not left), lower=int(not upper), diag=int(unit))),)

    (x,) = each(solve, a, b)
    return x


# -- general systems -------------------------------------------------------------------------------------------------


@derivative_helper
def solve_back(g: Any, x: Any, a: Any, left: bool, shape: Any) -> Any:
    """Return the gradient of a system's matrix: -A⁻ᴴ g Xᴴ (Giles 2008, section 2.3.1)."""
    gb = solve_same(mH(a), g, left)
    return sum_to(-gb @ mH(x) if left else -mH(x) @ gb, shape)


@no_method(
    node="LinalgSolveExBackward0",
    symbol="solve",
    A="solve_back(g, result, A, left, A.shape)",
    B="sum_to(solve_same(mH(A), g, left), B.shape)",
)
def solve_same(A: Tensor, B: Tensor, left: bool) -> Tensor:
    """Return the solution X of ``A @ X = B`` or ``X @ A = B``; batch dimensions are broadcast."""
    A, B = together("linalg.solve", A, B)
    if not left:
        return row_major(solve_array(A.swapaxes(-1, -2), B.swapaxes(-1, -2)).swapaxes(-1, -2))
    return solve_array(A, B)


SINGULAR = "The solver failed because the input matrix is singular."


def solve_array(a: Any, b: Any) -> Any:
    """Return the solution X of ``a @ X = b``, or raise a LinAlgError that names the batch element of a singular one."""
    try:
        x = np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        check_info("linalg.solve", lu_arrays(a)[2], SINGULAR)
        raise LinAlgError(f"linalg.solve: {SINGULAR}") from None
    if x.__class__ is not np.ndarray and not bool(np.isfinite(x).all()):  # CuPy does not report singular matrices
        check_info("linalg.solve", lu_arrays(a)[2], SINGULAR)
    return x


@derivative_helper
def triangle_and_copy_back(g: Any, x: Any, A: Any, upper: bool, unit: bool) -> Any:
    """Return the gradient of the matrix of :func:`triangle_and_copy`."""
    return added(
        None if g[0] is None else triangle_back(g[0], x, A, upper, True, unit, A.shape),
        None if g[1] is None else sum_to(g[1], A.shape),
    )


@derivative_helper
def triangle_and_copy_solved(g: Any, A: Any, B: Any, upper: bool, unit: bool) -> Any:
    """Return the gradient of the right side of :func:`triangle_and_copy`."""
    return None if g[0] is None else sum_to(triangle_solve(mH(A), g[0], not upper, True, unit), B.shape)
