# ruff: noqa: N803, N806 - matrices have capital letters, as PyTorch's parameters do
"""Norms of vectors and matrices, and condition numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.compiler.op import check_option, composite
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.linalg._common import check_float, checked
from nbautograd._engine.ops.linalg.solvers import linalg_inv_ex
from nbautograd._engine.ops.linalg.svd import linalg_svdvals
from nbautograd._engine.ops.queries import Number, example
from nbautograd._engine.ops.reduction.distances import vector_norm
from nbautograd.errors import DtypeError, ShapeError

Dims = int | tuple[int, ...] | list[int] | None


# -- vectors ---------------------------------------------------------------------------------------------------------


def _in_dtype(name: str, x: Tensor, dtype: dtypes.dtype | None) -> Tensor:
    """Return the input cast to ``dtype``, which must be of the same category and not narrower."""
    check_float(name, x, low=True)
    if dtype is None:
        return x
    if not (dtype.is_floating_point or dtype.is_complex):
        raise DtypeError(f"{name}: dtype should be floating point or complex, but got {dtypes.scalar_type(dtype)}")
    if dtype.is_complex != x.dtype.is_complex:
        have, want = ("complex", "complex") if x.dtype.is_complex else ("real", "real")
        raise DtypeError(f"{name}: dtype should be {want} for {have} inputs, but got {dtypes.scalar_type(dtype)}")
    if dtypes.promote_types(x.dtype, dtype) is not dtype:
        raise DtypeError(
            f"{name}: the dtype of the input ({dtypes.scalar_type(x.dtype)}) should be convertible without narrowing "
            f"to the specified dtype ({dtypes.scalar_type(dtype)})"
        )
    return x.to(dtype)


def _dims(dim: Any) -> Any:
    """Return ``dim``, with an empty one, which means all dimensions, as None."""
    return None if isinstance(dim, (tuple, list)) and not dim else dim


@composite(method=False, out=True)
@example("linalg.vector_norm([3., 4.]) -> tensor(5.)")
def linalg_vector_norm(
    x: Tensor, ord: Number = 2, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> Tensor:
    """Compute the vector norm (sum of abs(x)^ord)^(1/ord), over ``dim``.

    :param ord: a number; ``inf`` and ``-inf`` for the largest and smallest absolute value, 0 for the number of nonzero
        elements.
    :param dim: the dimension of the vectors, or several; None for all.
    """
    name = "linalg.vector_norm"
    ord = check_option("linalg_vector_norm", "ord", ord, "Number", 1)
    if isinstance(ord, complex):
        raise RuntimeError(f"{name}: Expected a non-complex scalar as the order of norm.")
    x = _in_dtype(name, x, dtype)
    return vector_norm(x, float(ord), _dims(dim), keepdim)


# -- matrices --------------------------------------------------------------------------------------------------------


def _two_dims(name: str, a: Tensor, dim: Any) -> tuple[int, int]:
    check_option(name, "dim", dim, "Sequence[int]")
    if len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {dim}")
    first, second = dimension(dim[0], a._a.ndim), dimension(dim[1], a._a.ndim)
    if first == second:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    return first, second


@composite(method=False, out=True)
@example("linalg.matrix_norm([[3., 0.], [0., 4.]], 2) -> tensor(4.)")
def linalg_matrix_norm(
    A: Tensor, ord: float | str = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:  # fmt: skip
    """Compute the matrix norm, over two dimensions.

    :param ord: ``"fro"`` (the 2-norm of all elements), ``"nuc"`` (the sum of the singular values), 2 and -2 (the
        largest and the smallest singular value), 1 and -1 (the largest and the smallest column sum of absolute
        values), ``inf`` and ``-inf`` (the largest and the smallest row sum).
    :param dim: the two dimensions of the matrices.
    :raises RuntimeError: the order is not supported.
    """
    name = "linalg.matrix_norm"
    if isinstance(A, Tensor) and A._a.ndim < 2:
        raise ShapeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    rows, columns = _two_dims(name, A, dim)
    ord = ord if isinstance(ord, str) else check_option("linalg_matrix_norm", "ord", ord, "Number", 1)
    check_float(name, A, low=ord not in ("nuc", 2, -2))
    A = _in_dtype(name, A, dtype)
    if ord == "fro":
        return vector_norm(A, 2.0, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2) and not isinstance(ord, bool):
        return _of_singular_values(A, ord, (rows, columns), keepdim)
    if isinstance(ord, (str, complex)) or abs(ord) not in (1, math.inf):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    summed, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm(A, 1.0, summed, keepdim)
    left = kept - (kept > summed and not keepdim)
    return largest(sums, left, keepdim) if ord > 0 else sums.amin(left, keepdim)


def _of_singular_values(A: Tensor, ord: Any, dims: tuple[int, int], keepdim: bool) -> Tensor:
    """Return the sum of the singular values, the largest one or the smallest one."""
    s = linalg_svdvals(A.movedim(dims, (-2, -1)))
    result: Tensor = s.sum(-1) if ord == "nuc" else largest(s, -1, False) if ord == 2 else s.amin(-1)
    return result[..., None, None].movedim((-2, -1), dims) if keepdim else result


def largest(x: Tensor, dim: int, keepdim: bool) -> Tensor:
    """Return the maximum along a dimension; 0 if it is empty."""
    return x.amax(dim, keepdim) if x._a.shape[dim] else x.sum(dim, keepdim)


@composite(method=False, out=True)
@example("linalg.norm([[3., 0.], [0., 4.]]) -> tensor(5.)")
def linalg_norm(
    input: Tensor, ord: float | str | None = None, dim: Dims = None, keepdim: bool = False, *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:  # fmt: skip
    """Compute the vector or matrix norm.

    :param ord: as in :func:`vector_norm` or :func:`matrix_norm`; None for the 2-norm of all elements over ``dim``.
    :param dim: one dimension for vectors, two for matrices; by default the whole input, as a vector or a matrix.
    """
    dim = _dims(dim)
    several = [dim] if isinstance(dim, int) else dim
    if several is not None and len(several) not in (1, 2) and ord is not None:
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {dim}")
    if ord is None:
        return linalg_vector_norm(input, 2, dim, keepdim, dtype=dtype)
    if several is None and input._a.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input._a.ndim}D."
        )
    matrices = len(several) == 2 if several is not None else input._a.ndim == 2
    if matrices:
        return linalg_matrix_norm(input, ord, (0, 1) if several is None else several, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: ord={ord!r} is a norm of matrices, but the input is 1D or dim names one")
    return linalg_vector_norm(input, ord, dim, keepdim, dtype=dtype)


# -- condition -------------------------------------------------------------------------------------------------------


@composite(method=False, out=True)
@example("linalg.cond([[4., 0.], [0., 2.]]) -> tensor(2.)")
def linalg_cond(A: Tensor, p: float | str | None = None) -> Tensor:
    """Compute the condition number: the norm of A times the norm of its inverse; inf for singular matrices.

    :param p: an order of :func:`matrix_norm`; None for 2, by singular values, which also supports non-square matrices.
    """
    name = "linalg.cond"
    p = p if p is None or isinstance(p, str) else check_option("linalg_cond", "p", p, "Number", 1)
    if p not in (None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise RuntimeError(f"{name} got an invalid norm type: {p}")
    if A._a.ndim > 1 and not A.numel() and (A._a.shape[-1] == A._a.shape[-2] or not isinstance(p, str)):
        zeros = A.new_zeros(A.shape[:-2])
        return zeros.abs() if A.is_complex() else zeros
    checked(name, A)
    if p is None or p in (2, -2):
        s = linalg_svdvals(A)
        first, last = s[..., :1], s[..., -1:]
        return (last / first if p == -2 else first / last).squeeze(-1)
    checked(name, A, square=True)
    inverse, info = linalg_inv_ex(A)
    product = linalg_matrix_norm(A, p) * linalg_matrix_norm(inverse, p)
    return where(info != 0, math.inf, product)


# -- vectors or matrices -----------------------------------------------------------------------------------------------


@composite(out=True)
@example("norm([3., 4.]) -> tensor(5.)")
def norm(
    input: Tensor, p: float | str | None = "fro", dim: Dims = None, keepdim: bool = False, *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:  # fmt: skip
    """Compute the p-norm of all elements or over ``dim``: (sum of abs(x)^p)^(1/p).

    :param p: a number, ``inf``, ``-inf``, ``"fro"`` (2, the default) or ``"nuc"``, the sum of singular values.
    :raises RuntimeError: the dtype is an integer dtype or bool.
    """
    if p == "nuc" or p == "fro" and isinstance(dim, (tuple, list)) and len(dim) > 2:
        dims = dim if isinstance(dim, (tuple, list)) else range(input._a.ndim) if dim is None else (dim,)
        return linalg_matrix_norm(input, p, tuple(dims), keepdim, dtype=dtype)
    if isinstance(p, complex) or isinstance(p, str) and p != "fro":
        raise RuntimeError(f"norm(): p must be a real number, inf, -inf, 'fro' or 'nuc', not {p!r}")
    input = _in_dtype("linalg.vector_norm", input, dtype)
    return vector_norm(input, 2.0 if p is None or p == "fro" else float(p), dim, keepdim)
