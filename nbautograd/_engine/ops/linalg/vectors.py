"""Products of vectors, and matrices made from them: dot and cross products, Vandermonde, diagonals."""

from __future__ import annotations

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.arrays.strides import row_major
from nbautograd._engine.compiler.op import POINTWISE, composite, no_method, op
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.linalg._common import check_float, scalar_type
from nbautograd._engine.ops.linalg.matmul import check_dot, check_same_dtype, product
from nbautograd._engine.ops.shape.joining import cat
from nbautograd._engine.ops.shape.slicing import diagonal
from nbautograd._names.docstrings import described
from nbautograd.errors import DtypeError, ShapeError, warn


@op(symbol="·", out=True, input="conj(g) * other", other="g * input")
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Compute the dot product of two vectors, the first of which is conjugated.

    >>> torch.vdot(torch.tensor([2., 3.]), torch.tensor([2., 1.]))
    tensor(7.)
    """
    check_dot("vdot", input, other)
    return product(input.conj() if input.dtype.kind == "c" else input, other)


@composite(method=False, out=True)
def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Compute the dot products of vectors along a dimension, the first conjugated; batch dimensions are broadcast.

    >>> torch.linalg.vecdot(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 1.]))
    tensor([3., 7.])
    """
    check_same_dtype("linalg.vecdot", x._a, y._a)
    check_float("linalg.vecdot", x, low=True)
    if x._a.ndim == y._a.ndim == 1 and dim in (0, -1):
        return vdot(x, y)
    return (x.conj() * y).sum(dim)


@no_method(
    node="LinalgCrossBackward0",
    symbol="×",
    kind=POINTWISE,
    accepts="ifc",
    name="linalg_cross_same",
    input="linalg_cross_same(conj(other), g, dim)",
    other="linalg_cross_same(g, conj(input), dim)",
)
def cross_same(input: Tensor, other: Tensor, dim: int) -> Tensor:
    """Compute ``linalg.cross`` of one dtype and shape."""
    return row_major(np.cross(input, other, axis=dim))


@composite(method=False, out=True)
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Compute the cross products of vectors of three elements along ``dim``; batch dimensions are broadcast.

    :raises RuntimeError: the length along ``dim`` is not 3.

    >>> torch.linalg.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
    """
    if input._a.ndim != other._a.ndim:
        raise ShapeError(
            f"linalg.cross: inputs must have the same number of dimensions, got {input._a.ndim} and {other._a.ndim}"
        )
    if input.dtype is not other.dtype:
        raise DtypeError(
            f"linalg.cross: expected scalar type {dtypes.scalar_type(input.dtype)} but found "
            f"{dtypes.scalar_type(other.dtype)}: cast one of them with to()"
        )
    d = dimension(dim, input._a.ndim)
    if (input._a.shape[d : d + 1], other._a.shape[d : d + 1]) != ((3,), (3,)):
        raise ShapeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[d]} and {other.shape[d]}"
        )
    return cross_same(input, other, d)


@composite(out=True)
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Compute the cross products of vectors of three elements.

    :param dim: the dimension of the vectors; by default the first of size 3.

    >>> torch.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., 0.]), dim=0)
    tensor([0., 0., 1.])
    """
    if dim is None:
        if 3 not in input._a.shape:
            raise RuntimeError(f"no dimension of size 3 in input, whose shape is {list(input._a.shape)}")
        dim = input._a.shape.index(3)
        warn("Using torch.cross without specifying the dim arg is deprecated")
    return linalg_cross(input, other, dim=dim)


@composite(method=False)
def linalg_vander(x: Tensor, N: int | None = None) -> Tensor:  # noqa: N803 - PyTorch's name
    """Return vandermonde matrices: the powers of each element from 0 to N - 1, along a new last dimension.

    >>> torch.linalg.vander(torch.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    n = (x._a.shape or (1,))[-1] if N is None else N
    if not x._a.ndim:
        x = x.unsqueeze(0)
    if n is None or n <= 1:
        raise RuntimeError(f"linalg.vander: N must be greater than 1, got {n}")
    if x._a.dtype.kind == "b" or x._a.dtype.itemsize == 2 and x._a.dtype.kind in "fV":
        kind = scalar_type(x)
        raise DtypeError(f"linalg.vander supports floating point, complex, and integer tensors, but got {kind}")
    if x._a.dtype.kind in "iu":
        x = x.to(dtypes.int64)
    return cat([x.new_ones((*x._a.shape, 1)), x.unsqueeze(-1).expand((*x._a.shape, n - 1)).cumprod(-1)], -1)


@described
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:  # noqa: N803
    """Return a view of the diagonals of matrices: :func:`diagonal` over the last two dimensions by default.

    >>> torch.linalg.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return diagonal(A, offset, dim1, dim2)
