"""Products of matrices and vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import blas, dtypes
from nbautograd._engine.compiler.op import alias, broadcast_shapes, composite, no_method, op
from nbautograd._engine.core import tracing
from nbautograd._engine.core.inplace import into
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.from_data import number_in
from nbautograd._engine.ops.queries import Number, check_tensors, method_of_tensor
from nbautograd._engine.ops.shape.broadcasting import temporarily_expanded as expanded
from nbautograd._engine.ops.shape.shape import squeezed, temporarily_reshaped as reshaped, unsafe_view
from nbautograd.errors import DtypeError, ShapeError, is_pytorchs

__all__ = ["bmm", "dot", "ger", "matmul", "mm", "mv", "outer"]

_SAME_DTYPE = {
    "mm": "expected m1 and m2 to have the same dtype, but got: {c_a} != {c_b}",
    "addmm": "mat1 and mat2 must have the same dtype, but got {a} and {b}",
    "mv": "addmv input tensors must have the same dtype, but got {a} and {b}",
    "vdot": "dot : expected both vectors to have same dtype, but found {a} and {b}",
    "tensordot": "both inputs should have same dtype, but got {a} and {b}",
    "dot": "dot : expected both vectors to have same dtype, but found {a} and {b}",
}
"""PyTorch's messages for operands of different dtypes, by operation."""


def check_same_dtype(name: str, a: Any, b: Any, words: str = "") -> None:
    """Check that two arrays have the same dtype, and not bool, for which there is no product of elements."""
    if a.dtype is b.dtype and a.dtype.kind == "f":
        return
    has_products = a.size and b.size or name not in ("mm", "mv", "bmm", "tensordot")
    if a.dtype.kind == "b" and b.dtype.kind == "b" and has_products:
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'; cast to an integer dtype first")
    if a.dtype != b.dtype:
        words = words or _SAME_DTYPE.get(name, "expected scalar type {a} but found {b}")
        raise DtypeError(
            f"{name}(): "
            + words.format(
                a=dtypes.scalar_type(a.dtype),
                b=dtypes.scalar_type(b.dtype),
                c_a=dtypes.c_type(a.dtype),
                c_b=dtypes.c_type(b.dtype),
            )
        )


def product(a: Any, b: Any) -> Any:
    """Compute the matrix product of two arrays (NumPy also multiplies integer matrices, without BLAS)."""
    if a.__class__ is not np.ndarray:
        return a @ b
    if a.ndim == b.ndim == 2 and len(a) * b.size > blas.MAX_UNPACKED and a.dtype.char in "fd" and a.dtype is b.dtype:
        return large_product(a, b)
    return a.dot(b)


def large_product(a: Any, b: Any) -> Any:
    """Compute the product of two matrices of one floating dtype: in blocks, unless operations are traced.

    Traced operations can be shown as a program, whose ``@`` gives the same bits.
    """
    return a.dot(b) if tracing.is_on() else blas.product(a, b)


def check_mm(a: Any, b: Any, name: str = "mm") -> Any:
    if a.__class__ is np.ndarray and a.ndim == 2 == b.ndim and a.dtype is b.dtype and a.dtype.char in "fd":
        try:
            return a.dot(b) if len(a) * b.size <= blas.MAX_UNPACKED else large_product(a, b)
        except ValueError:
            pass  # the checks below raise PyTorch's message
    if a.ndim != 2 or b.ndim != 2:
        which = "self" if a.ndim != 2 else "mat2"
        raise ShapeError(f"mm(): {which} must be a matrix, got shapes {list(a.shape)} and {list(b.shape)}")
    if a.shape[1] != b.shape[0]:
        raise ShapeError("mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})".format(*a.shape, *b.shape))
    check_same_dtype(name, a, b)
    return product(a, b)


@op(symbol="@", out=True, input="mm(g, conj(t(mat2)))", mat2="mm_like(conj(t(input)), g, mat2.strides)")
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Compute the matrix product of two matrices, without broadcasting.

    :param input: shape (n, m).
    :param mat2: shape (m, p), of the same dtype.
    :returns: shape (n, p).
    :raises RuntimeError: one is not 2-d, or their shapes or dtypes do not match.

    >>> torch.mm(torch.tensor([[1., 2.]]), torch.tensor([[3.], [4.]]))
    tensor([[11.]])
    """
    return check_mm(input, mat2)


@no_method(node="MmBackward0", symbol="@", input="mm(g, conj(t(mat2)))", mat2="mm(conj(t(input)), g)")
def mm_like(input: Tensor, mat2: Tensor, strides: Any) -> Tensor:
    """Compute the matrix product, column-major if ``strides`` are.

    This makes the gradient of a transposed weight, transposed back, contiguous like the weight.
    """
    if strides[0] < strides[1]:
        return product(mat2.T, input.T).T
    return product(input, mat2)


@op(symbol="@", out=True, input="outer_product(g, conj(vec))", vec="mv(conj(t(input)), g)")
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Compute the matrix-vector product: (n, m) @ (m,) gives (n,).

    :raises RuntimeError: the shapes or dtypes do not match.

    >>> torch.mv(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 1.]))
    tensor([3., 7.])
    """
    return check_mv(input, vec)


def check_mv(mat: Any, vec: Any) -> Any:
    if mat.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if mat.ndim != 2 or vec.ndim != 1:
        raise ShapeError(f"vector + matrix @ vector expected, got {vec.ndim}, {mat.ndim}, {vec.ndim}")
    if mat.shape[1] != vec.shape[0]:
        raise ShapeError(
            f"size mismatch, got input ({mat.shape[0]}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})"
        )
    check_same_dtype("mv", mat, vec)
    return product(mat, vec)


@op(symbol="·", out=True, input="g * conj(tensor)", tensor="g * conj(input)")
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Compute the dot product of two vectors.

    :raises RuntimeError: one is not 1-d, or their lengths or dtypes differ.

    >>> torch.dot(torch.tensor([2., 3.]), torch.tensor([2., 1.]))
    tensor(7.)
    """
    check_dot("dot", input, tensor)
    return product(input, tensor)


def check_dot(name: str, a: Any, b: Any) -> None:
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(f"{name}: 1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.shape != b.shape:
        n, m = a.shape[0], b.shape[0]
        raise ShapeError(
            f"{name}: inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number of "
            f"elements, but got {n} and {m} elements respectively"
        )
    check_same_dtype(name, a, b)


@op(symbol="@", out=True, input="bmm(g, conj(transpose(mat2, 1, 2)))", mat2="bmm(conj(transpose(input, 1, 2)), g)")
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Compute the batched matrix product: (b, n, m) @ (b, m, p) gives (b, n, p), without broadcasting.

    :raises RuntimeError: the shapes or dtypes do not match.

    >>> torch.bmm(torch.ones(10, 3, 4), torch.ones(10, 4, 5)).shape
    torch.Size([10, 3, 5])
    """
    check_bmm(input, mat2)
    return np.matmul(input, mat2)


def check_bmm(a: Any, b: Any) -> None:
    if a.ndim != 3 or b.ndim != 3:
        raise ShapeError(f"batch1 and batch2 must be 3D tensors, got {a.ndim}D and {b.ndim}D")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise ShapeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: "
            f"[{b.shape[0]}, {b.shape[1]}]."
        )
    check_same_dtype("bmm", a, b)


@no_method(node="MulBackward0", symbol="⊗", input="mv(g, conj(vec2))", vec2="mv(t(g), conj(input))")
def outer_product(input: Tensor, vec2: Tensor) -> Tensor:
    """Compute ``outer`` of one dtype."""
    return input[:, None] * vec2


@composite(out=True)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Compute the outer product of two vectors: (n,) and (m,) give (n, m).

    >>> torch.outer(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    for label, v in (("self", input), ("vec2", vec2)):
        if v._a.ndim != 1:
            raise ShapeError(f"outer: Expected 1-D argument {label}, but got {v._a.ndim}-D")
    return input.unsqueeze(1) * vec2


ger = outer
alias(ger=outer)


@composite()
def matmul(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """Compute the matrix product of two tensors.

    Two vectors give their dot product; a matrix and a vector their matrix-vector product. With more dimensions, all but
    the last two are batch dimensions and are broadcast.

    :raises RuntimeError: the shapes or dtypes do not match.

    >>> torch.tensor([[1, 2], [3, 4]]) @ torch.tensor([1, 1])
    tensor([3, 7])
    """
    check_tensors("matmul", input=input, other=other)
    return into(out, _matmul(input, other), "matmul")


@method_of_tensor("__matmul__")
def _at(self: Tensor, other: Any) -> Any:
    """Compute ``self @ other``; return NotImplemented if the other operand is not a tensor.

    :param other: a tensor.
    :returns: a tensor, with the shape of the result of :func:`matmul`.
    :raises RuntimeError: the shapes do not fit.

    >>> torch.tensor([[1., 2.]]) @ torch.tensor([[3.], [4.]])
    tensor([[11.]])
    """
    if not isinstance(other, Tensor):
        if is_pytorchs(other):
            check_tensors("matmul", input=self, other=other)
        return NotImplemented
    return mm(self, other) if self._a.ndim == 2 == other._a.ndim else _matmul(self, other)


def _matmul(a: Tensor, b: Tensor) -> Tensor:
    n, m = a._a.ndim, b._a.ndim
    if n == 2 and m == 2:
        return mm(a, b)
    if n == 1 and m == 1:
        return dot(a, b)
    if n == 2 and m == 1:
        return mv(a, b)
    if n == 1 and m == 2:
        return squeezed(mm(a.unsqueeze(0), b), 0)
    if not n or not m:
        raise ShapeError(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    return _batched(a, b)


def _batched(a: Tensor, b: Tensor) -> Tensor:
    left = a.unsqueeze(0) if a._a.ndim == 1 else a
    right = b.unsqueeze(1) if b._a.ndim == 1 else b
    (*batch_a, n, k), (*batch_b, k2, p) = left._a.shape, right._a.shape
    if k != k2:
        raise ShapeError(_unlike_sizes(a._a.shape, b._a.shape, (*batch_a, n, k), (*batch_b, k2, p)))
    if not batch_b:  # fold the batch into rows: a single product
        rows = left.reshape(math.prod(batch_a) * n, k)
        return unsafe_view(mv(rows, b), (*batch_a, n)) if b._a.ndim == 1 else unsafe_view(mm(rows, b), (*batch_a, n, p))
    try:
        batch = batch_a if batch_a == batch_b else np.broadcast_shapes(tuple(batch_a), tuple(batch_b))
    except ValueError:
        broadcast_shapes(tuple(batch_a), tuple(batch_b))  # which reports the mismatch
        raise
    rows, columns = expanded(left, (*batch, n, k)), expanded(right, (*batch, k, p))
    count = math.prod(batch)
    product = bmm(reshaped(rows, (count, n, k)), reshaped(columns, (count, k, p)))
    return unsafe_view(product, (*batch, p) if a._a.ndim == 1 else (*batch, n, p))


def _unlike_sizes(a: tuple[int, ...], b: tuple[int, ...], left: tuple[int, ...], right: tuple[int, ...]) -> str:
    """Return the message of ``matmul`` for different inner sizes: that of one matrix product, or of a batch."""
    shapes = f"matmul(): shapes {list(a)} and {list(b)} cannot be multiplied"
    (*batch, n, k), (*other_batch, k2, p) = left, right
    if not other_batch:
        return f"{shapes}: mat1 and mat2 shapes cannot be multiplied ({math.prod(batch) * n}x{k} and {k2}x{p})"
    count = math.prod(broadcast_shapes(tuple(batch), tuple(other_batch)))
    return (
        f"{shapes}: Expected size for first two dimensions of batch2 tensor to be: [{count}, {k}] but got: "
        f"[{count}, {k2}]."
    )


@composite(operators="__rmatmul__", method=False)
def _rmatmul(input: Tensor, other: Tensor) -> Tensor:
    """Compute ``other @ input``, the reflected form of the matrix product.

    :param input: the operand on the right.
    :param other: the operand on the left, a tensor.
    :returns: a tensor, with the shape of the result of :func:`matmul`.
    :raises TypeError: ``other`` is not a tensor.

    >>> torch.ones(2).__rmatmul__(torch.eye(2))
    tensor([1., 1.])
    """
    return matmul(other, input)


def factor_as(name: str, value: Number, dtype: Any) -> Any:
    """Return a scalar factor cast to a dtype; truncated for integer dtypes, as in PyTorch."""
    return dtype.type(number_in(value, dtypes.of(dtype), name))
