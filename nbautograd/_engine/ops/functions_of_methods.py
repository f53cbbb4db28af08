"""Functions derived from methods: ``torch.detach``, and in-place functions such as ``torch.sin_``."""

from __future__ import annotations

from collections.abc import Sequence

from nbautograd._engine.compiler.op import composite, with_argument_errors
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.linalg.matmul import mm
from nbautograd._engine.ops.queries import check_tensors, example
from nbautograd._names import lazy
from nbautograd._names.docstrings import described


@described
@with_argument_errors
@example("flip(torch.arange(3), (0,)) -> [2, 1, 0]")
def flip(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Return the tensor reversed along ``dims``, copied.

    :raises TypeError: ``dims`` is no tuple; the method also takes integers one by one.
    """
    return input.flip(tuple(dims))


@described
@with_argument_errors
@example("permute(torch.ones(2, 3, 4), (2, 0, 1)).shape -> torch.Size([4, 2, 3])")
def permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Return a view with the dimensions permuted.

    :raises TypeError: ``dims`` is no tuple; the method also takes integers one by one.
    :raises RuntimeError: ``dims`` is not a permutation of the dimensions.
    """
    return input.permute(dims)


@described
@with_argument_errors
@example("reshape(torch.arange(4), (2, 2)) -> [[0, 1], [2, 3]]")
def reshape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the tensor with another shape: a view where the strides allow it, otherwise a copy.

    :param shape: one size may be -1, which is inferred.
    :raises TypeError: ``shape`` is no tuple; the method also takes integers one by one.
    :raises RuntimeError: the shape has another number of elements.
    """
    return input.reshape(shape)


@described
@with_argument_errors
@example("tile([[1, 2]], (2,)) -> [[1, 2, 1, 2]]")
def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Return the tensor repeated along each dimension, as NumPy's ``tile`` does; missing numbers are 1.

    :raises TypeError: ``dims`` is no tuple; the method also takes integers one by one.
    """
    return input.tile(dims)


def detach(input: Tensor) -> Tensor:
    """Return a tensor without history that shares the memory.

    >>> import nbautograd as torch
    >>> torch.detach(torch.ones(2, requires_grad=True))
    tensor([1., 1.])
    """
    check_tensors("detach", input=input)
    return input.detach()


def detach_(input: Tensor) -> Tensor:
    """Detach the tensor itself from its history.

    :raises RuntimeError: the tensor is a view.
    """
    check_tensors("detach_", input=input)
    return input.detach_()


@composite(method=False, out=True)
def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Compute the matrix product, under PyTorch's name for sparse matrices; here they are dense.

    >>> torch.spmm(torch.eye(2), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return mm(input, mat2)


dsmm = spmm

for _name in lazy.FAMILIES[__name__.partition(".")[2]].split():
    if _name not in globals():
        globals()[_name] = getattr(Tensor, _name)
