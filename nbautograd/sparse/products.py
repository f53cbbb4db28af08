"""Products of sparse matrices with dense and sparse ones."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.arrays.sparse import matmul as array_matmul
from nbautograd._engine.compiler.argument_kinds import check_arguments
from nbautograd._engine.compiler.schema import OPS
from nbautograd._engine.core.batched import BatchedTensor
from nbautograd._engine.core.sparse import refuse, stored, wrapped
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd.errors import kind_of
from nbautograd.sparse.elementwise import mul
from nbautograd.sparse.registry import handles, is_sparse, method, record
from nbautograd.sparse.shapes import t
from nbautograd.sparse.tensors import at_places, build, coalesce, to_sparse

__all__ = ["addmm", "mm"]


def _check(name: str, input: Any, other: Any, ranks: tuple[int, int] = (2, 2)) -> None:
    """Check that two tensors can be multiplied."""
    for position, operand in enumerate((input, other), 1):
        if not isinstance(operand, Tensor):
            raise TypeError(f"{name}(): argument (position {position}) must be Tensor, not {kind_of(operand)}")
    for operand, rank in zip((input, other), ranks, strict=True):
        if operand.ndim != rank or is_sparse(operand) and operand.dense_dim():
            kinds = "matrices, without dense dimensions," if rank == 2 else "a vector"
            raise RuntimeError(f"{name}(): {kinds} expected, got shapes {list(input.shape)} and {list(other.shape)}")
    if input.shape[-1] != other.shape[0]:
        raise RuntimeError(
            f"{name}(): mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, input.shape))} and "
            f"{'x'.join(map(str, other.shape))}): Expected dim 0 size {input.shape[-1]}, got {other.shape[0]}"
        )
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{name}(): expected both to have the same dtype, but got {input.dtype} and {other.dtype}")


def _transposed(x: Any) -> Any:
    """Return the transpose, conjugated if complex, as in gradients."""
    return t(x.conj()) if is_sparse(x) else x.conj().t() if x.is_complex() else x.t()


def _product(input: Any, other: Any, node: str, masked: bool) -> Any:
    """Multiply two matrices, at least one sparse; gradients of sparse ones are masked to their stored elements."""
    if BatchedTensor in (input.__class__, other.__class__):
        return OPS["mm"].function(input, other)  # sample by sample
    product = array_matmul(stored(input), stored(other))

    def rule(g: Any) -> list[Any]:
        return [
            None if input._fn is None else _gradient(g, _transposed(other), input, masked),
            None if other._fn is None else _gradient(_transposed(input), g, other, masked),
        ]

    return record(wrapped(product), node, "@", (input, other), rule)


def _gradient(first: Any, second: Any, of: Any, masked: bool) -> Any:
    """Return the product of two matrices as the gradient of ``of``."""
    if not (masked and is_sparse(of)):
        return mm(first, second) if is_sparse(first) or is_sparse(second) else first @ second
    own = stored(coalesce(of.detach()))
    own = own.like(own.values, is_coalesced=False) if not of.is_sparse_csr else own
    if is_sparse(first) or is_sparse(second):
        return at_places(mm(first, second), own)
    rows, columns = map(wrap, own.indices)
    values = (first.index_select(0, rows) * second.t().index_select(0, columns)).sum(1)
    return build(own.indices, values, own.shape, own.is_coalesced, own.kind)


@handles("mm")
def mm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """Multiply two matrices: dense if one is, else sparse. The gradient of a dense product is dense."""
    _check("mm", input, mat2)
    result = _product(input, mat2, "MmBackward0", masked=False)
    return result if out is None else out.copy_(result)


def sparse_mm(mat1: Any, mat2: Any, reduce: str = "sum") -> Any:
    """Multiply two matrices as ``torch.sparse.mm``: like ``mm``, but the gradients of sparse matrices are sparse.

    :param mat1: a matrix, shape (n, m).
    :param mat2: a matrix, shape (m, p); one of the two is usually sparse.
    :param reduce: must be ``"sum"``.
    :returns: a tensor of shape (n, p): sparse if both matrices are.
    :raises NotImplementedError: ``reduce`` is not ``"sum"``.
    :raises RuntimeError: the shapes do not match.

    >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    if reduce != "sum":
        raise NotImplementedError(f"sparse.mm(): only reduce='sum' is supported, got {reduce!r}")
    _check("sparse.mm", mat1, mat2)
    both = is_sparse(mat1) and is_sparse(mat2)
    return _product(mat1, mat2, "SparseSparseMatmulBackward0" if both else "SparseAddmmBackward0", masked=True)


@handles("mv")
def mv(input: Any, vec: Any) -> Any:
    """Multiply a sparse matrix and a dense vector."""
    _check("mv", input, vec, (2, 1))
    return mm(input, vec.unsqueeze(1)).squeeze(1)


@handles("matmul __matmul__")
def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """Compute ``input @ other`` of matrices, a matrix and a vector, or batches of matrices."""
    if input.ndim == 2 and other.ndim == 1:
        return mv(input, other)
    if input.ndim == 1 and other.ndim == 2:
        return mv(t(other), input)
    return bmm(input, other) if input.ndim == other.ndim == 3 else mm(input, other, out=out)


@handles("__rmatmul__")
def rmatmul(input: Any, other: Any) -> Any:
    """Compute ``other @ input``."""
    return matmul(other, input)


@handles("bmm")
def bmm(input: Any, mat2: Any) -> Any:
    """Multiply a batch of sparse matrices with a batch of dense ones."""
    if not is_sparse(input) or is_sparse(mat2):
        refuse("bmm", stored(mat2).kind)
    if input.ndim != 3 or mat2.ndim != 3 or input.shape[0] != mat2.shape[0]:
        raise RuntimeError(
            f"bmm: Tensors 'self' and 'mat2' must be batches of matrices of the same length, got shapes "
            f"{list(input.shape)} and {list(mat2.shape)}"
        )
    from nbautograd._engine.ops.shape.joining import stack as stack_dense

    return stack_dense([mm(input[i], mat2[i]) for i in range(input.shape[0])])


def _addmm(input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any, masked: bool) -> Any:
    _check("addmm", mat1, mat2)
    if is_sparse(input):
        raise RuntimeError("expand is unsupported for Sparse tensors: the first argument of addmm() must be dense")
    product = sparse_mm(mat1, mat2) if masked else mm(mat1, mat2)
    if is_sparse(product):
        product = product.to_dense()
    scaled = product if alpha == 1 else product * alpha
    return scaled if beta == 0 else (input if beta == 1 else input * beta) + scaled


@handles("addmm sspaddmm_ addmm_")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Compute ``beta * input + alpha * (mat1 @ mat2)`` with a sparse first matrix."""
    return _addmm(input, mat1, mat2, beta, alpha, masked=False)


@handles("_sparse_addmm")
def sparse_addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Compute ``torch.sparse.addmm``: like ``addmm``, but the gradient of the sparse matrix is sparse.

    :param input: a dense tensor that broadcasts to shape (n, p).
    :param mat1: a sparse matrix, shape (n, m).
    :param mat2: a matrix, shape (m, p).
    :param beta: a number that multiplies ``input``; if 0, ``input`` is ignored.
    :param alpha: a number that multiplies the product.
    :returns: a dense tensor of shape (n, p).
    :raises RuntimeError: the shapes do not match, or ``input`` is sparse.

    >>> torch.sparse.addmm(torch.ones(2, 1), torch.eye(2).to_sparse(), torch.ones(2, 1), alpha=2)
    tensor([[3.],
            [3.]])
    """
    return _addmm(input, mat1, mat2, beta, alpha, masked=True)


@handles("linear _linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """Compute ``input @ weight.t() + bias`` of matrices, one of which is sparse."""
    product = mm(input, t(weight) if is_sparse(weight) else weight.t())
    return product if bias is None else product + bias


def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Multiply a sparse matrix and a dense one; the result is a sparse tensor whose rows are dense.

    :param mat1: a sparse matrix, shape (n, m).
    :param mat2: a dense matrix, shape (m, p).
    :returns: a sparse tensor of shape (n, p), with one sparse and one dense dimension.
    :raises RuntimeError: the shapes do not match.

    >>> torch.hspmm(torch.eye(2).to_sparse(), torch.ones(2, 2)).dense_dim()
    1
    """
    _check("hspmm", mat1, mat2)
    return to_sparse(mm(mat1, mat2), 1)


@method
def smm(input: Tensor, mat: Tensor) -> Tensor:
    """Multiply a sparse matrix and a dense one; the result is a sparse tensor.

    :param input: a sparse matrix, shape (n, m).
    :param mat: a dense matrix, shape (m, p).
    :returns: a sparse tensor of shape (n, p).
    :raises RuntimeError: the shapes do not match.

    >>> torch.smm(torch.eye(2).to_sparse(), torch.eye(2)).is_sparse
    True
    """
    _check("smm", input, mat)
    return to_sparse(mm(input, mat))


@method
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Compute ``beta * input + alpha * (mat1 @ mat2)`` of two sparse matrices and a dense one, as a sparse tensor.

    :param input: a sparse matrix, shape (n, p).
    :param mat1: a sparse matrix, shape (n, m).
    :param mat2: a dense matrix, shape (m, p).
    :param beta: a number that multiplies ``input``.
    :param alpha: a number that multiplies the product.
    :returns: a sparse tensor of shape (n, p).
    :raises RuntimeError: ``input`` or ``mat1`` is dense, or ``mat2`` sparse.

    >>> x = torch.eye(2).to_sparse()
    >>> torch.sspaddmm(x, x, torch.ones(2, 2), beta=2).to_dense()
    tensor([[3., 1.],
            [1., 3.]])
    """
    check_arguments(sspaddmm, (input, mat1, mat2), {})
    if not is_sparse(input):
        raise RuntimeError("sspaddmm(): tensor.sspaddmm(...) can only be called on sparse tensors")
    for name, operand, wanted in (("mat1", mat1, "sparse"), ("mat2", mat2, "strided")):
        if is_sparse(operand) != (wanted == "sparse"):
            given = "Sparse" if is_sparse(operand) else "Strided"
            raise RuntimeError(f"sspaddmm: expected '{name}' to have {wanted} layout, got '{name}' with layout {given}")
    return mul(input, beta) + mul(smm(mat1, mat2), alpha)  # type: ignore[no-any-return]
