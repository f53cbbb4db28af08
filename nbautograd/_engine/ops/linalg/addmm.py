"""Fused matrix products and sums: ``beta * input + alpha * product``."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.compiler.op import composite, no_method, op
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.linalg.matmul import check_bmm, check_mm, check_mv, check_same_dtype, factor_as, product
from nbautograd._engine.ops.queries import Number
from nbautograd.errors import DtypeError, ShapeError


def _add_product(input: Any, mat1: Any, mat2: Any, beta: Number, alpha: Number) -> Any:
    product_ = check_mm(mat1, mat2, "addmm")
    if alpha == 1 and beta == 1 and input.__class__ is np.ndarray and input.dtype is product_.dtype:
        try:
            product_ += input
        except ValueError:
            pass  # the checks below raise PyTorch's message
        else:
            return product_
    return _plus("addmm", input, product_, beta, alpha)


def _plus(name: str, input: Any, product_: Any, beta: Number, alpha: Number) -> Any:
    """Compute ``beta * input + alpha * product_``, where a ``beta`` of 0 ignores nan and inf in the input.

    The product is a temporary; its memory is reused for the result.
    """
    check_same_dtype(name, input, product_, "self and mat2 must have the same dtype, but got {a} and {b}")
    if isinstance(product_, np.generic):
        product_ = np.array(product_)
    if alpha != 1:
        product_ *= factor_as(name, alpha, input.dtype)
    if beta == 0:
        return product_
    try:
        product_ += input if beta == 1 else input * factor_as(name, beta, input.dtype)
    except ValueError:
        raise ShapeError(
            f"{name}(): The expanded size of the tensor must match: input of shape {list(input.shape)} cannot be "
            f"expanded to the shape of the product, {list(product_.shape)}"
        ) from None
    return product_


@op(
    former="beta alpha",
    symbol="x @ w + b",
    input="sum_to(g, input.shape) if beta == 1 else sum_to(g, input.shape) * beta.conjugate()",
    mat1="mm(g, conj(t(mat2))) if alpha == 1 else mm(g, conj(t(mat2))) * alpha.conjugate()",
    mat2="mm_like(conj(t(mat1)), g, mat2.strides) if alpha == 1 else "
    "mm_like(conj(t(mat1)), g, mat2.strides) * alpha.conjugate()",
    inplace_method=True,
    out=True,
)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """Compute ``beta * input + alpha * (mat1 @ mat2)``; ``input`` is broadcast.

    >>> torch.addmm(torch.tensor([1., 2.]), torch.eye(2), torch.eye(2))
    tensor([[2., 2.],
            [1., 3.]])
    """
    return _add_product(input, mat1, mat2, beta, alpha)


@op(
    former="beta alpha",
    symbol="x @ w + b",
    input="sum_to(g, input.shape) * beta.conjugate()",
    mat="outer_product(g, conj(vec)) * alpha.conjugate()",
    vec="mv(conj(t(mat)), g) * alpha.conjugate()",
    inplace_method=True,
    out=True,
)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """Compute ``beta * input + alpha * (mat @ vec)``.

    >>> torch.addmv(torch.tensor([1., 2.]), torch.eye(2), torch.tensor([3., 4.]))
    tensor([4., 6.])
    """
    return _plus("addmv", input, check_mv(mat, vec), beta, alpha)


@no_method(
    node="AddrBackward0",
    symbol="+ ⊗",
    input="sum_to(g, input.shape) * beta.conjugate()",
    vec1="mv(g, conj(vec2)) * alpha.conjugate()",
    vec2="mv(t(g), conj(vec1)) * alpha.conjugate()",
)
def addr_same(input: Tensor, vec1: Tensor, vec2: Tensor, beta: Number, alpha: Number) -> Tensor:
    """Compute ``beta * input + alpha * outer(vec1, vec2)`` of one dtype."""
    product_ = vec1[:, None] * vec2
    if input.dtype.kind == "b":
        return (input & bool(beta)) | (product_ & bool(alpha))
    return _plus("addr", input, product_, beta, alpha)


@composite(inplace_method=True, out=True)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """Compute ``beta * input + alpha * outer(vec1, vec2)``.

    >>> torch.addr(torch.zeros(2, 2), torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    for label, v in (("vec1", vec1), ("vec2", vec2)):
        if v._a.ndim != 1:
            raise ShapeError(f"addr: Expected 1-D argument {label}, but got {v._a.ndim}-D")
    kind = dtypes.result_dtype([(x.dtype, 2) for x in (input, vec1, vec2)])  # whatever their dimensions
    items = [x if x.dtype is kind else x.to(kind) for x in (input, vec1, vec2)]
    for label, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, bool) and items[0].dtype.rank:
            raise DtypeError(f"addr: Boolean {label} only supported for Boolean results.")
        if items[0]._a.dtype.kind in "iu" and isinstance(factor, (float, complex)):
            raise RuntimeError(
                f"addr: For integral input tensors, argument {label} must not be a floating point number, got {factor}"
            )
    return addr_same(*items, beta, alpha)


def _check_batches(batch1: Any, batch2: Any) -> None:
    if batch1.ndim < 2 or batch2.ndim < 3:
        raise IndexError(f"Dimension out of range: batches of matrices have 3, not {batch1.ndim} and {batch2.ndim}")
    check_bmm(batch1, batch2)


@op(
    former="beta alpha",
    symbol="+ Σ@",
    input="sum_to(g, input.shape) * beta.conjugate()",
    batch1="bmm(spread(g, (batch1.shape[0], *g.shape), 0), conj(transpose(batch2, 1, 2))) * alpha.conjugate()",
    batch2="bmm(conj(transpose(batch1, 1, 2)), spread(g, (batch1.shape[0], *g.shape), 0)) * alpha.conjugate()",
    inplace_method=True,
    out=True,
)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """Compute ``beta * input + alpha * sum(batch1[i] @ batch2[i])``.

    >>> torch.addbmm(torch.zeros(1, 1), torch.ones(3, 1, 2), torch.ones(3, 2, 1))
    tensor([[6.]])
    """
    _check_batches(batch1, batch2)
    rows = batch1.swapaxes(0, 1).reshape((batch1.shape[1], batch1.shape[0] * batch1.shape[2]))
    columns = batch2.reshape((batch2.shape[0] * batch2.shape[1], batch2.shape[2]))
    return _plus("addbmm", input, product(rows, columns), beta, alpha)


@op(
    former="beta alpha",
    symbol="x @ w + b",
    input="sum_to(g, input.shape) * beta.conjugate()",
    batch1="bmm(g, conj(transpose(batch2, 1, 2))) * alpha.conjugate()",
    batch2="bmm(conj(transpose(batch1, 1, 2)), g) * alpha.conjugate()",
    inplace_method=True,
    out=True,
)
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """Compute ``beta * input + alpha * (batch1 @ batch2)`` for batches of matrices.

    >>> torch.baddbmm(torch.ones(1), torch.ones(3, 1, 2), torch.ones(3, 2, 1)).shape
    torch.Size([3, 1, 1])
    """
    _check_batches(batch1, batch2)
    return _plus("baddbmm", input, np.matmul(batch1, batch2), beta, alpha)
