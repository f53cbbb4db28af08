"""Products of matrices and vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd.arrays import dtypes
from nbautograd.arrays.size import dimension
from nbautograd.compiler.op import POINTWISE, alias, composite, op
from nbautograd.core.inplace import into
from nbautograd.core.tensor import Tensor
from nbautograd.errors import DtypeError, ShapeError, is_pytorchs
from nbautograd.ops.queries import Number, check_tensors
from nbautograd.ops.shape.joining import cat
from nbautograd.ops.shape.shape import unsafe_view
from nbautograd.ops.shape.slicing import diagonal

__all__ = [
    "addbmm",
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
    "bmm",
    "cross",
    "dot",
    "ger",
    "matmul",
    "mm",
    "mv",
    "outer",
    "vdot",
]


def check_same_dtype(name: str, a: Any, b: Any) -> None:
    """Make sure that two tensors have one dtype, and one that can be multiplied and added."""
    if a.dtype is b.dtype and a.dtype.kind == "f":
        return
    if a.dtype.kind == "b" and b.dtype.kind == "b":
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'; cast to an integer dtype first")
    if a.dtype != b.dtype:
        raise DtypeError(
            f"{name}(): expected both tensors to have the same dtype, but got: {dtypes.of(a.dtype).name} != "
            f"{dtypes.of(b.dtype).name}"
        )


def product(a: Any, b: Any) -> Any:
    """The matrix product of two arrays (NumPy multiplies integer matrices too, only not by BLAS)."""
    return a.dot(b) if a.__class__ is np.ndarray else a @ b


def _check_mm(a: Any, b: Any) -> Any:
    if a.__class__ is np.ndarray and a.ndim == 2 == b.ndim and a.dtype is b.dtype and a.dtype.char in "fd":
        try:
            return a.dot(b)
        except ValueError:
            pass  # said below, in other words
    if a.ndim != 2 or b.ndim != 2:
        which = "self" if a.ndim != 2 else "mat2"
        raise ShapeError(f"mm(): {which} must be a matrix, got shapes {list(a.shape)} and {list(b.shape)}")
    if a.shape[1] != b.shape[0]:
        raise ShapeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    check_same_dtype("mm", a, b)
    return product(a, b)


@op(
    node="MmBackward0",
    symbol="@",
    out=True,
    input="mm(g, conj(t(mat2)))",
    mat2="mm_like(conj(t(input)), g, mat2.strides)",
)
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices, without broadcasting.

    :param input: shape (n, m).
    :param mat2: shape (m, p), of the same dtype.
    :returns: shape (n, p).
    :raises RuntimeError: they are no matrices, or their shapes or dtypes do not fit.

    >>> import nbautograd as torch
    >>> torch.mm(torch.tensor([[1., 2.]]), torch.tensor([[3.], [4.]]))
    tensor([[11.]])
    """
    return _check_mm(input, mat2)


@op(node="MmBackward0", symbol="@", method=False, input="mm(g, conj(t(mat2)))", mat2="mm(conj(t(input)), g)")
def mm_like(input: Tensor, mat2: Tensor, strides: Any) -> Tensor:
    """The product of two matrices, laid out in memory as one with ``strides``.

    So the gradient of a transposed weight, transposed back, is contiguous like the weight.
    """
    if strides[0] < strides[1]:
        return product(mat2.T, input.T).T
    return input.dot(mat2) if input.__class__ is np.ndarray else input @ mat2


@op(node="MvBackward0", symbol="@", out=True, input="outer_product(g, conj(vec))", vec="mv(conj(t(input)), g)")
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix (n, m) and a vector (m,).

    :raises RuntimeError: the shapes or dtypes do not fit.

    >>> import nbautograd as torch
    >>> torch.mv(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 1.]))
    tensor([3., 7.])
    """
    return _check_mv(input, vec)


def _check_mv(mat: Any, vec: Any) -> Any:
    if mat.ndim != 2 or vec.ndim != 1:
        raise ShapeError(f"vector + matrix @ vector expected, got {vec.ndim}, {mat.ndim}, {vec.ndim}")
    if mat.shape[1] != vec.shape[0]:
        raise ShapeError(
            f"size mismatch, got input ({mat.shape[0]}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})"
        )
    check_same_dtype("mv", mat, vec)
    return product(mat, vec)


@op(node="DotBackward0", symbol="·", out=True, input="g * conj(tensor)", tensor="g * conj(input)")
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors' elements.

    :raises RuntimeError: they are no vectors of equal length and dtype.

    >>> import nbautograd as torch
    >>> torch.dot(torch.tensor([2., 3.]), torch.tensor([2., 1.]))
    tensor(7.)
    """
    _check_dot("dot", input, tensor)
    return product(input, tensor)


def _check_dot(name: str, a: Any, b: Any) -> None:
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(f"{name}: 1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.shape != b.shape:
        n, m = a.shape[0], b.shape[0]
        raise ShapeError(
            f"{name}: inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number of "
            f"elements, but got {n} and {m} elements respectively"
        )
    check_same_dtype(name, a, b)


@op(
    node="BmmBackward0",
    symbol="@",
    out=True,
    input="bmm(g, conj(transpose(mat2, 1, 2)))",
    mat2="bmm(conj(transpose(input, 1, 2)), g)",
)
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Products of pairs of matrices: (b, n, m) with (b, m, p) gives (b, n, p).

    :raises RuntimeError: the shapes or dtypes do not fit.

    >>> import nbautograd as torch
    >>> torch.bmm(torch.ones(10, 3, 4), torch.ones(10, 4, 5)).shape
    torch.Size([10, 3, 5])
    """
    _check_bmm(input, mat2)
    return np.matmul(input, mat2)


def _check_bmm(a: Any, b: Any) -> None:
    if a.ndim != 3 or b.ndim != 3:
        raise ShapeError(f"batch1 and batch2 must be 3D tensors, got {a.ndim}D and {b.ndim}D")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise ShapeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: "
            f"[{b.shape[0]}, {b.shape[1]}]."
        )
    check_same_dtype("bmm", a, b)


@op(node="MulBackward0", symbol="⊗", method=False, input="mv(g, conj(vec2))", vec2="mv(t(g), conj(input))")
def outer_product(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of the elements of two vectors of one dtype."""
    return input[:, None] * vec2


@composite(out=True)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of the elements of two vectors: (n,) with (m,) gives (n, m).

    >>> import nbautograd as torch
    >>> torch.outer(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    for label, v in (("self", input), ("vec2", vec2)):
        if v._a.ndim != 1:
            raise ShapeError(f"outer: Expected 1-D argument {label}, but got {v._a.ndim}-D")
    product_: Tensor = input.unsqueeze(1) * vec2
    return product_


ger = outer
alias(ger=outer)


@composite()
def matmul(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """The matrix product: of two vectors their dot product, of a matrix and a vector or of two matrices the usual one.

    Of more dimensions, all but the last two are broadcast.

    :raises RuntimeError: the shapes or dtypes do not fit.

    >>> import nbautograd as torch
    >>> torch.tensor([[1, 2], [3, 4]]) @ torch.tensor([1, 1])
    tensor([3, 7])
    """
    check_tensors("matmul", input=input, other=other)
    result = _matmul(input, other)
    return into(out, result, "matmul")


def _at(self: Tensor, other: Any) -> Any:
    """``self @ other``, which leaves what is no tensor to the other operand."""
    if not isinstance(other, Tensor):
        if is_pytorchs(other):
            check_tensors("matmul", input=self, other=other)
        return NotImplemented
    return mm(self, other) if self._a.ndim == 2 == other._a.ndim else _matmul(self, other)


Tensor.__matmul__ = _at


def _matmul(a: Tensor, b: Tensor) -> Tensor:
    n, m = a._a.ndim, b._a.ndim
    if n == 2 and m == 2:
        return mm(a, b)
    if n == 1 and m == 1:
        return dot(a, b)
    if n == 2 and m == 1:
        return mv(a, b)
    if n == 1 and m == 2:
        return mm(a.unsqueeze(0), b).squeeze(0)
    if not n or not m:
        raise ShapeError(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    return _batched(a, b)


def _batched(a: Tensor, b: Tensor) -> Tensor:
    left = a.unsqueeze(0) if a._a.ndim == 1 else a
    right = b.unsqueeze(1) if b._a.ndim == 1 else b
    (*batch_a, n, k), (*batch_b, k2, p) = left._a.shape, right._a.shape
    if k != k2:
        raise ShapeError(
            f"matmul(): shapes {list(a._a.shape)} and {list(b._a.shape)} cannot be multiplied ({k} != {k2})"
        )
    if not batch_b:  # many rows by one matrix: a single product
        result = unsafe_view(mm(left.reshape(math.prod(batch_a) * n, k), right), (*batch_a, n, p))
    else:
        try:
            batch = np.broadcast_shapes(tuple(batch_a), tuple(batch_b))
        except ValueError:
            raise ShapeError(
                f"matmul(): the batch dimensions of {list(a._a.shape)} and {list(b._a.shape)} do not broadcast"
            ) from None
        count = math.prod(batch)
        rows, columns = left.expand(*batch, n, k), right.expand(*batch, k, p)
        result = bmm(rows.reshape(count, n, k), columns.reshape(count, k, p))
        result = unsafe_view(result, (*batch, n, p))
    if a._a.ndim == 1:
        result = result.squeeze(-2)
    return result.squeeze(-1) if b._a.ndim == 1 else result


@composite(operators="__rmatmul__", method=False)
def _rmatmul(input: Tensor, other: Tensor) -> Tensor:
    return matmul(other, input)


# -- products added to something ---------------------------------------------------------------------------------------


def _factor(name: str, value: Number, dtype: Any) -> Any:
    """A factor in the dtype of what it multiplies; PyTorch drops the fraction where that is an integer one."""
    if isinstance(value, complex) and dtype.kind != "c":
        raise RuntimeError(
            f"{name}(): value cannot be converted to type {dtype} without overflow: the factor {value} is complex"
        )
    return dtype.type(value)


def _add_product(input: Any, mat1: Any, mat2: Any, beta: Number, alpha: Number) -> Any:
    product_ = _check_mm(mat1, mat2)
    if alpha == 1 and beta == 1 and input.__class__ is np.ndarray and input.dtype is product_.dtype:
        try:
            product_ += input
        except ValueError:
            pass  # said below, in other words
        else:
            return product_
    return _plus("addmm", input, product_, beta, alpha)


def _plus(name: str, input: Any, product_: Any, beta: Number, alpha: Number) -> Any:
    """``beta * input + alpha * product_``, where a ``beta`` of 0 leaves the input's nan and inf out.

    The product, which nobody else holds, becomes the result.
    """
    check_same_dtype(name, input, product_)
    if isinstance(product_, np.generic):
        product_ = np.array(product_)
    if alpha != 1:
        product_ *= _factor(name, alpha, input.dtype)
    if beta == 0:
        return product_
    try:
        product_ += input if beta == 1 else input * _factor(name, beta, input.dtype)
    except ValueError:
        raise ShapeError(
            f"{name}(): The expanded size of the tensor must match: input of shape {list(input.shape)} cannot be "
            f"expanded to the shape of the product, {list(product_.shape)}"
        ) from None
    return product_


@op(
    node="AddmmBackward0",
    symbol="+ @",
    input="sum_to(g, input.shape) if beta == 1 else sum_to(g, input.shape) * beta.conjugate()",
    mat1="mm(g, conj(t(mat2))) if alpha == 1 else mm(g, conj(t(mat2))) * alpha.conjugate()",
    mat2="mm_like(conj(t(mat1)), g, mat2.strides) if alpha == 1 else "
    "mm_like(conj(t(mat1)), g, mat2.strides) * alpha.conjugate()",
    inplace_method=True,
    out=True,
)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``, ``input`` being broadcast.

    >>> import nbautograd as torch
    >>> torch.addmm(torch.tensor([1., 2.]), torch.eye(2), torch.eye(2))
    tensor([[2., 2.],
            [1., 3.]])
    """
    return _add_product(input, mat1, mat2, beta, alpha)


@op(
    node="AddmvBackward0",
    symbol="+ @",
    input="sum_to(g, input.shape) * beta.conjugate()",
    mat="outer_product(g, conj(vec)) * alpha.conjugate()",
    vec="mv(conj(t(mat)), g) * alpha.conjugate()",
    inplace_method=True,
    out=True,
)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``.

    >>> import nbautograd as torch
    >>> torch.addmv(torch.tensor([1., 2.]), torch.eye(2), torch.tensor([3., 4.]))
    tensor([4., 6.])
    """
    return _plus("addmv", input, _check_mv(mat, vec), beta, alpha)


@op(
    node="AddrBackward0",
    symbol="+ ⊗",
    method=False,
    input="sum_to(g, input.shape) * beta.conjugate()",
    vec1="mv(g, conj(vec2)) * alpha.conjugate()",
    vec2="mv(t(g), conj(vec1)) * alpha.conjugate()",
)
def addr_same(input: Tensor, vec1: Tensor, vec2: Tensor, beta: Number, alpha: Number) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)`` in one dtype."""
    product_ = vec1[:, None] * vec2
    if input.dtype.kind == "b":
        return (input & bool(beta)) | (product_ & bool(alpha))
    return _plus("addr", input, product_, beta, alpha)


@composite(inplace_method=True, out=True)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``.

    >>> import nbautograd as torch
    >>> torch.addr(torch.zeros(2, 2), torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    for label, v in (("vec1", vec1), ("vec2", vec2)):
        if v._a.ndim != 1:
            raise ShapeError(f"addr: Expected 1-D argument {label}, but got {v._a.ndim}-D")
    items = one_dtype(input, vec1, vec2)
    for label, factor in (("beta", beta), ("alpha", alpha)):
        if items[0]._a.dtype.kind in "iu" and isinstance(factor, (float, complex)):
            raise RuntimeError(
                f"addr: For integral input tensors, argument {label} must not be a floating point number, got {factor}"
            )
    found: Tensor = addr_same(*items, beta, alpha)
    return found


def one_dtype(*tensors: Tensor) -> list[Tensor]:
    """The tensors in the dtype that arithmetic between them would have."""
    kind = dtypes.result_dtype([(x.dtype, 2 if x._a.ndim else 1) for x in tensors])
    return [x if x.dtype is kind else x.to(kind) for x in tensors]


@op(
    node="AddbmmBackward0",
    symbol="+ Σ@",
    input="sum_to(g, input.shape) * beta.conjugate()",
    batch1="bmm(spread(g, (batch1.shape[0], *g.shape), 0), conj(transpose(batch2, 1, 2))) * alpha.conjugate()",
    batch2="bmm(conj(transpose(batch1, 1, 2)), spread(g, (batch1.shape[0], *g.shape), 0)) * alpha.conjugate()",
    inplace_method=True,
    out=True,
)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """``beta * input + alpha * sum(batch1[i] @ batch2[i])``.

    >>> import nbautograd as torch
    >>> torch.addbmm(torch.zeros(1, 1), torch.ones(3, 1, 2), torch.ones(3, 2, 1))
    tensor([[6.]])
    """
    _check_bmm(batch1, batch2)
    rows = batch1.swapaxes(0, 1).reshape((batch1.shape[1], batch1.shape[0] * batch1.shape[2]))
    columns = batch2.reshape((batch2.shape[0] * batch2.shape[1], batch2.shape[2]))
    return _plus("addbmm", input, product(rows, columns), beta, alpha)


@op(
    node="BaddbmmBackward0",
    symbol="+ @",
    input="sum_to(g, input.shape) * beta.conjugate()",
    batch1="bmm(g, conj(transpose(batch2, 1, 2))) * alpha.conjugate()",
    batch2="bmm(conj(transpose(batch1, 1, 2)), g) * alpha.conjugate()",
    inplace_method=True,
    out=True,
)
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)`` for each pair of matrices.

    >>> import nbautograd as torch
    >>> torch.baddbmm(torch.ones(1), torch.ones(3, 1, 2), torch.ones(3, 2, 1)).shape
    torch.Size([3, 1, 1])
    """
    _check_bmm(batch1, batch2)
    return _plus("baddbmm", input, np.matmul(batch1, batch2), beta, alpha)


# -- products of vectors -----------------------------------------------------------------------------------------------


@op(node="VdotBackward0", symbol="·", out=True, input="conj(g) * other", other="g * input")
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The dot product of two vectors, the first one conjugated.

    >>> import nbautograd as torch
    >>> torch.vdot(torch.tensor([2., 3.]), torch.tensor([2., 1.]))
    tensor(7.)
    """
    _check_dot("vdot", input, other)
    return product(input.conj() if input.dtype.kind == "c" else input, other)


@composite(method=False, out=True)
def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The dot products of vectors along a dimension, the first one conjugated; batches are broadcast.

    >>> import nbautograd as torch
    >>> torch.linalg.vecdot(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 1.]))
    tensor([3., 7.])
    """
    check_same_dtype("linalg.vecdot", x._a, y._a)
    product_: Tensor = x.conj() * y
    return product_.sum(dim)


@op(
    node="LinalgCrossBackward0",
    symbol="×",
    kind=POINTWISE,
    method=False,
    inplace_method=False,
    input="linalg_cross_same(conj(other), g, dim)",
    other="linalg_cross_same(g, conj(input), dim)",
)
def linalg_cross_same(input: Tensor, other: Tensor, dim: int) -> Tensor:
    """The cross product of vectors in three dimensions."""
    return np.cross(input, other, axis=dim)


@composite(method=False, out=True)
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross products of vectors of three elements along a dimension; batches are broadcast.

    :raises RuntimeError: the length along ``dim`` is not 3.

    >>> import nbautograd as torch
    >>> torch.linalg.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
    """
    if input._a.ndim != other._a.ndim:
        raise ShapeError(
            f"linalg.cross: inputs must have the same number of dimensions, got {input._a.ndim} and {other._a.ndim}"
        )
    d = dimension(dim, input._a.ndim)
    if (input._a.shape[d : d + 1], other._a.shape[d : d + 1]) != ((3,), (3,)):
        raise ShapeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[d]} and {other.shape[d]}"
        )
    found: Tensor = linalg_cross_same(input, other, d)
    return found


@composite(out=True)
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross products of vectors of three elements.

    :param dim: the dimension of the vectors; by default the first that has length 3.

    >>> import nbautograd as torch
    >>> torch.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., 0.]), dim=0)
    tensor([0., 0., 1.])
    """
    if dim is None:
        if 3 not in input._a.shape:
            raise RuntimeError(f"no dimension of size 3 in input, whose shape is {list(input._a.shape)}")
        dim = input._a.shape.index(3)
    return linalg_cross(input, other, dim=dim)


@composite(method=False)
def linalg_vander(x: Tensor, N: int | None = None) -> Tensor:  # noqa: N803 - PyTorch's name
    """Vandermonde matrices: the powers of each element from 0 to N - 1, along a new last dimension.

    >>> import nbautograd as torch
    >>> torch.linalg.vander(torch.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    n = (x._a.shape or (1,))[-1] if N is None else N
    if not x._a.ndim:
        x = x.unsqueeze(0)
    if n is None or n <= 1:
        raise RuntimeError(f"linalg.vander: N must be greater than 1, got {n}")
    if x._a.dtype.kind in "biu":
        x = x.to(dtypes.int64)
    powers = [x * 0 + 1, x]
    while len(powers) < n:
        powers.append(powers[-1] * x)
    return cat([power.unsqueeze(-1) for power in powers], -1)


def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:  # noqa: N803
    """The diagonals of matrices, a view; :func:`diagonal` with the last two dimensions by default.

    >>> import nbautograd as torch
    >>> torch.linalg.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return diagonal(A, offset, dim1, dim2)
