# ruff: noqa: N803, N806 - matrices have capital letters, as PyTorch's parameters do
"""Functions of square matrices: the exponential, powers; and products of many matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.size import as_int
from nbautograd._engine.compiler.op import alias, composite, derivative_helper, no_method
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.linalg._common import checked, eye_of, mH, solve_array
from nbautograd._engine.ops.linalg.matmul import matmul
from nbautograd._engine.ops.linalg.solvers import linalg_inv
from nbautograd._engine.ops.shape.joining import cat_same
from nbautograd.errors import ShapeError, kind_of, warn

# N. Higham, "The scaling and squaring method for the matrix exponential revisited", SIAM J. Matrix Anal. Appl. 26
# (2005): the coefficients of the Padé approximant of degree 13, and the largest norm for which it is accurate.
PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
MAX_UNSCALED_NORM = 5.371920351148152


def exponential(a: Any) -> Any:
    """Compute exp(A) of arrays by scaling and squaring, each matrix scaled by its own power of 2."""
    size = np.abs(a).sum(-2).max(-1)
    ratio = np.where(np.isfinite(size) & (size > MAX_UNSCALED_NORM), size / MAX_UNSCALED_NORM, 1)
    times = np.ceil(np.log2(ratio))[..., None, None]
    a = a * np.exp2(-times).astype(size.dtype)
    b, one = PADE, eye_of.__wrapped__(a)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    odd = a @ (a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * one)
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * one
    x = solve_array(even - odd, even + odd)
    for i in range(int(times.max())):
        x = np.where(times > i, x @ x, x)
    return x


@derivative_helper
def exponential_back(g: Any, a: Any) -> Any:
    """Return the derivative of exp at Aᴴ in direction g: the upper right block of exp([[Aᴴ, g], [0, Aᴴ]]).

    I. Najfeld, T. Havel, "Derivatives of the matrix exponential and their computation", Adv. Appl. Math. 16 (1995).
    """
    n = a.shape[-1]
    ah = mH(a)
    upper, lower = cat_same([ah, g], -1), cat_same([ah * 0, ah], -1)
    return linalg_matrix_exp(cat_same([upper, lower], -2))[..., :n, n:]


@no_method(symbol="exp", A="exponential_back(g, A)")
def linalg_matrix_exp(A: Tensor) -> Tensor:
    """Compute the matrix exponential of square matrices: the sum of Aᵏ / k!.

    :param A: shape (..., n, n).

    >>> torch.linalg.matrix_exp(torch.tensor([[0., 1.], [0., 0.]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    checked("linalg.matrix_exp", A, square=True)
    return exponential(A) if A.size else A.copy()


matrix_exp = linalg_matrix_exp
alias(matrix_exp=matrix_exp)


@composite(method=False, out=True, names="input=A")
def linalg_matrix_power(A: Tensor, n: int) -> Tensor:
    """Compute the n-th power of square matrices, by repeated squaring; for negative n, of the inverse.

    :param A: shape (..., m, m).
    :raises LinAlgError: n is negative and a matrix is singular.

    >>> torch.linalg.matrix_power(torch.tensor([[1., 1.], [0., 1.]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    n = as_int(n, "linalg_matrix_power(): argument 'n' (position 2)")
    if A._a.ndim < 2 or A._a.shape[-2] != A._a.shape[-1]:
        checked("linalg.matrix_power", A.to(A.dtype) if A._a.dtype.kind in dtypes.INEXACT else A.float(), square=True)
    if n == 0:
        result = A.clone()
        result[...] = eye_of(A)
        return result
    if n == 1:
        return A.clone()
    if n < 0:
        A, n = linalg_inv(A), -n
    power, output = A, None
    while n:
        n, bit = divmod(n, 2)
        if bit:
            output = power if output is None else matmul(output, power)
        if n:
            power = matmul(power, power)
    assert output is not None
    return output


matrix_power = linalg_matrix_power
alias(matrix_power=matrix_power)


# -- products of many ------------------------------------------------------------------------------------------------


def best_splits(sizes: list[int]) -> list[list[int]]:
    """Return the optimal parenthesization of a matrix chain product, by dynamic programming.

    T. Cormen, C. Leiserson, R. Rivest, C. Stein, "Introduction to Algorithms", section on matrix-chain multiplication.
    """
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
    return split


def _check_dimensions(items: list[Any]) -> None:
    last = len(items) - 1
    for i, x in enumerate(items):
        if not isinstance(x, Tensor):
            raise TypeError(f"multi_dot(): argument 'tensors' must be tuple of Tensors, not {kind_of(x)} at {i}")
        if i in (0, last) and x._a.ndim not in (1, 2):
            place = "the first" if i == 0 else "the last"
            raise ShapeError(f"multi_dot(): {place} tensor must be 1D or 2D but got {x._a.ndim}D")
        if 0 < i < last and x._a.ndim != 2:
            raise ShapeError(f"multi_dot(): tensor {i} must be 2D but got {x._a.ndim}D")


def _check_chain(items: list[Tensor]) -> None:
    for i in range(len(items) - 1):
        a, b = items[i]._a, items[i + 1]._a
        if a.dtype != b.dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensors {i} and {i + 1} are of "
                f"{items[i].dtype} and {items[i + 1].dtype}"
            )
        if a.shape[-1] != b.shape[0]:
            raise ShapeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a.shape)} and {list(b.shape)} cannot be "
                "multiplied"
            )


@composite(method=False, out=True)
def linalg_multi_dot(tensors: Any) -> Tensor:
    """Multiply two or more matrices, in the order with the fewest multiplications.

    :param tensors: matrices; the first may be a vector (a row), and so may the last (a column).
    :raises RuntimeError: there are fewer than two, or their shapes do not match.

    >>> torch.linalg.multi_dot([torch.ones(10, 100), torch.ones(100, 5), torch.ones(5, 2)]).shape
    torch.Size([10, 2])
    """
    items = list(tensors)
    if len(items) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(items)}")
    last = len(items) - 1
    _check_dimensions(items)
    row, column = items[0]._a.ndim == 1, items[last]._a.ndim == 1
    if row:
        items[0] = items[0].unsqueeze(0)
    if column:
        items[last] = items[last].unsqueeze(-1)
    _check_chain(items)
    split = best_splits([items[0]._a.shape[0], *(x._a.shape[1] for x in items)])

    def product(i: int, j: int) -> Tensor:
        return items[i] if i == j else matmul(product(i, split[i][j]), product(split[i][j] + 1, j))

    result = product(0, last)
    n, m = result._a.shape
    return result.view(*([] if row else [n]), *([] if column else [m]))


@composite(method=False, out=True)
def chain_matmul(*matrices: Tensor) -> Tensor:
    """Multiply matrices, in the order with the fewest multiplications; see :func:`linalg.multi_dot`.

    >>> import warnings
    >>> import nbautograd as torch
    >>> warnings.simplefilter("ignore")  # it is deprecated
    >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4)).shape
    torch.Size([2, 4])
    """
    warn("torch.chain_matmul is deprecated: use torch.linalg.multi_dot")
    if len(matrices) == 1 and isinstance(matrices[0], (tuple, list)):
        matrices = tuple(matrices[0])
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for i, x in enumerate(matrices):
        if x._a.ndim != 2:
            raise ShapeError(f"chain_matmul(): Tensor dimension is {x._a.ndim}, expected 2 instead, at position {i}")
    return matrices[0] if len(matrices) == 1 else linalg_multi_dot(matrices)
