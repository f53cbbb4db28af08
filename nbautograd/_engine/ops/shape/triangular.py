"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.device import as_device, device
from nbautograd._engine.arrays.size import as_int, dimension
from nbautograd._engine.arrays.strides import row_major
from nbautograd._engine.compiler.op import NATIVE, composite, op, with_argument_errors
from nbautograd._engine.core.tensor import Tensor, wrap_known
from nbautograd._engine.ops._internal import pairwise_sum
from nbautograd._engine.ops.creation.from_data import check_options, creation
from nbautograd._engine.ops.queries import Number, check_tensors
from nbautograd._engine.ops.shape.as_strided import as_strided
from nbautograd._engine.ops.shape.rearrange import flip
from nbautograd._engine.ops.shape.shape import clone, reshape, unsqueeze
from nbautograd._engine.ops.shape.slicing import diagonal as view_diagonal, on_diagonal
from nbautograd._names.docstrings import described

# -- diagonals -------------------------------------------------------------------------------------------------------


@op(symbol="diagonal", half=NATIVE, input="diagonal(g, offset, dim1, dim2)")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return matrices of zeros with the last dimension of ``input`` on their diagonals.

    :param offset: above the main diagonal where positive, below it where negative.
    :param dim1: the first dimension of the matrices in the result.
    :param dim2: the second one.
    :raises RuntimeError: the two dimensions are the same, or the tensor is 0-d.

    >>> torch.diag_embed(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    if not input.ndim:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got -2)")
    ndim = input.ndim + 1
    first, second = dimension(dim1, ndim), dimension(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    shape = list(input.shape[:-1])
    for d in sorted((first, second)):
        shape.insert(d, input.shape[-1] + abs(offset))
    output = np.zeros_like(input, shape=tuple(shape))
    on_diagonal(output, offset, first, second)[...] = input
    return output


@composite(out=True)
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the diagonal matrix of a vector; or the diagonal of a matrix, copied.

    :param diagonal: above the main diagonal where positive, below it where negative.
    :raises RuntimeError: the tensor has neither one dimension nor two.

    >>> torch.diag(torch.tensor([1, 2])), torch.diag(torch.tensor([[1, 2], [3, 4]]))
    (tensor([[1, 0],
            [0, 2]]), tensor([1, 4]))
    """
    if input._a.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input._a.ndim}D")
    return diag_embed(input, diagonal) if input._a.ndim == 1 else clone(view_diagonal(input, diagonal))


@composite()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Return the diagonal matrix of the flattened input.

    >>> torch.diagflat(torch.tensor([[1], [2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag_embed(reshape(input, -1), offset)


def _fill_diagonal(self: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """Fill the main diagonal with one value, in place.

    :param wrap: in a matrix with more rows than columns, start the diagonal again below its end.
    :param fill_value: a number.
    :returns: the tensor itself.
    :raises RuntimeError: the tensor has only one dimension, or more than two of unequal lengths.

    >>> import nbautograd as torch
    >>> torch.zeros(2, 2).fill_diagonal_(5)
    tensor([[5., 0.],
            [0., 5.]])
    """
    shape = self._a.shape
    if len(shape) < 2:
        raise RuntimeError(f"fill_diagonal_(): dimensions must larger than 1, got a tensor of {len(shape)} dimensions")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError(f"fill_diagonal_(): all dimensions of input must be of equal length, got {list(shape)}")
    step, offset = sum(self.stride()), self.storage_offset()
    as_strided(self, (min(shape),), (step,), offset).fill_(fill_value)
    rows, columns = shape[:2]
    if wrap and len(shape) == 2 and rows > columns + 1:
        for start in range(columns + 1, rows, columns + 1):  # the diagonal restarts after that many rows
            length = min(columns, rows - start)
            as_strided(self, (length,), (step,), offset + start * self.stride(0)).fill_(fill_value)
    return self


_fill_diagonal.__name__ = _fill_diagonal.__qualname__ = "fill_diagonal_"
Tensor.fill_diagonal_ = with_argument_errors(_fill_diagonal)


@op(symbol="tr", accepts="ifc", input="diagonal_back(expand(g, shorter(input.shape)), input.shape, 0, 0, 1)")
def trace(input: Tensor) -> Tensor:
    """Return the trace of a matrix: the sum of its diagonal.

    :raises RuntimeError: the tensor is not a matrix.

    >>> torch.trace(torch.tensor([[1., 2.], [3., 4.]]))
    tensor(5.)
    """
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return pairwise_sum(on_diagonal(input, 0, 0, 1))


def shorter(shape: tuple[int, ...]) -> int:
    """Return the length of the diagonal."""
    return min(shape)


# -- triangles -------------------------------------------------------------------------------------------------------


def _check_matrices(name: str, a: Any) -> None:
    if a.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions, got {a.ndim}")


@op(symbol="◺", inplace_method=True, out=True, half=NATIVE, input="tril(g, diagonal)")
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the lower triangle of each matrix; the elements above the diagonal are 0.

    :param diagonal: above the main diagonal where positive, below it where negative.
    :raises RuntimeError: there are fewer than two dimensions.

    >>> torch.tril(torch.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    _check_matrices("tril", input)
    return row_major(np.tril(input, diagonal))


@op(symbol="◹", inplace_method=True, out=True, half=NATIVE, input="triu(g, diagonal)")
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the upper triangle of each matrix; the elements below the diagonal are 0.

    :param diagonal: above the main diagonal where positive, below it where negative.
    :raises RuntimeError: there are fewer than two dimensions.

    >>> torch.triu(torch.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """
    _check_matrices("triu", input)
    return row_major(np.triu(input, diagonal))


def _indices_of(name: str, which: str, example: str) -> Any:
    """Make ``tril_indices`` or ``triu_indices``."""

    def make(
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: dtypes.dtype | None = None,
        device: device | str | int | None = None,
        layout: Any = None,
        pin_memory: bool = False,
    ) -> Tensor:
        dtype = check_options(name, dtype, layout, pin_memory)
        for what, n in (("row", row), ("col", col)):
            if as_int(n, f"{name}(): argument '{what}'") < 0:
                raise RuntimeError(f"{name}(): {what} must be non-negative, got {n}")
        module, offset = backend.module(as_device(device)), as_int(offset, f"{name}(): argument 'offset'")
        kind = dtypes.int64 if dtype is None else dtype
        if kind.rank != 1 or kind.itemsize < 2:
            raise NotImplementedError(f"{name}(): not implemented for dtype {kind!r}: expected an integer dtype")
        i, j = np.indices((row, col))
        result = np.stack(np.nonzero(j - i <= offset if which == "lower" else j - i >= offset))
        return wrap_known(module.asarray(result.astype(kind.numpy)))

    make.__name__ = make.__qualname__ = name
    first = f"Return the indices of a matrix's {which} triangle, shape (2, count): row numbers and column numbers."
    make.__doc__ = f"{first}\n\n    >>> torch.{name}(2, 2)\n    {example}\n    "
    return creation(make)


tril_indices = _indices_of("tril_indices", "lower", "tensor([[0, 1, 1],\n            [0, 0, 1]])")
triu_indices = _indices_of("triu_indices", "upper", "tensor([[0, 0, 1],\n            [0, 1, 1]])")


@with_argument_errors
@described
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803 - PyTorch's name
    """Return the Vandermonde matrix of a vector: each row holds the powers of one element.

    :param N: the number of columns; by default the number of rows.
    :param increasing: powers increase from left to right; by default they decrease.
    :raises RuntimeError: ``x`` is not a vector, or ``N`` is negative.

    >>> torch.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    check_tensors("vander", x=x)
    if x._a.ndim != 1:
        raise RuntimeError(f"x must be a one-dimensional tensor, got one of {x._a.ndim} dimensions")
    columns = x._a.shape[0] if N is None else N
    if columns < 0:
        raise RuntimeError(f"N must be non-negative, got {columns}")
    if x._a.dtype.kind in "iub":
        x = x.to(dtypes.int64)
    powers = unsqueeze(x, 1) ** wrap_known(backend.module(x.device).arange(columns))
    return powers if increasing else flip(powers, 1)
