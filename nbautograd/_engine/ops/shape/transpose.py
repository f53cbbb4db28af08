"""Permuting dimensions: ``permute``, ``transpose``, ``movedim`` and ``x.T``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.arrays.strides import restride, strides_of
from nbautograd._engine.compiler.op import OPS, VIEW, alias, composite, op
from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import warn

__all__ = ["adjoint", "moveaxis", "movedim", "swapaxes", "swapdims", "t", "transpose"]


def permuted(a: Any, dims: tuple[int, ...]) -> Any:
    """Return an array with its dimensions permuted."""
    if a.size:
        return a.transpose(dims)
    strides = strides_of(a)
    return restride(a, tuple(a.shape[d] for d in dims), tuple(strides[d] for d in dims))


def order(dims: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """Return a permutation as non-negative dimensions."""
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    output = tuple([dimension(d, ndim) for d in dims])
    if len(set(output)) != ndim:
        raise RuntimeError(f"permute(): duplicate dims are not allowed, got {list(dims)}")
    return output


def inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Return the inverse permutation of ``dims``."""
    result = order(dims, len(dims))
    return tuple(sorted(range(len(result)), key=result.__getitem__))


@op(symbol="permute", kind=VIEW, input="permute(g, *inverse(dims))")
def permute(input: Tensor, *dims: int) -> Tensor:
    """Return a view with the dimensions permuted.

    :raises RuntimeError: ``dims`` is not a permutation of the dimensions.

    >>> torch.ones(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3])
    """
    return permuted(input, order(dims, input.ndim))


temporarily_permuted = OPS["permute"].temporary_view
"""``permute`` for a single use inside an operation."""


@op(symbol="transpose", kind=VIEW, input="transpose(g, dim0, dim1)")
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Return a view with two dimensions swapped.

    >>> torch.ones(2, 3).transpose(0, 1).shape
    torch.Size([3, 2])
    """
    a, b = dimension(dim0, input.ndim), dimension(dim1, input.ndim)
    if not input.ndim:
        return input.view()
    if input.size:
        return input.swapaxes(a, b)
    dims = list(range(input.ndim))
    dims[a], dims[b] = b, a
    return permuted(input, tuple(dims))


@composite()
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Return a view with two dimensions swapped (NumPy's name for ``transpose``).

    >>> torch.ones(2, 3).swapaxes(0, 1).shape
    torch.Size([3, 2])
    """
    return transpose(input, axis0, axis1)


@composite()
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Return a view with two dimensions swapped (an alias of ``transpose``).

    >>> torch.ones(2, 3).swapdims(0, 1).shape
    torch.Size([3, 2])
    """
    return transpose(input, dim0, dim1)


@op(symbol="xᵀ", kind=VIEW, input="t(g)")
def t(input: Tensor) -> Tensor:
    """Return the transpose of a matrix, as a view; a tensor with fewer dimensions is returned itself.

    :raises RuntimeError: there are more than two dimensions.

    >>> torch.ones(2, 3).t().shape
    torch.Size([3, 2])
    """
    return input.T if input.size and input.ndim <= 2 else _at_most_2d(input)


def _at_most_2d(a: Any) -> Any:
    if a.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {a.ndim}D")
    return a.T if a.size else permuted(a, tuple(range(a.ndim))[::-1])


def _reversed(self: Tensor) -> Tensor:
    n = self._a.ndim
    if n not in (0, 2):
        warn(
            f"The use of x.T on tensors of dimension other than 2, here {n}, to reverse their shape is deprecated. Use "
            "x.mT to transpose batches of matrices or x.permute(*range(x.ndim - 1, -1, -1)) to reverse the dimensions."
        )
    return permute(self, *range(n - 1, -1, -1))


def _transposed(t: Tensor, name: str, owner: str = "Tensor.") -> Tensor:
    """Return the transpose of each matrix; a scalar itself, with a warning."""
    if not t._a.ndim:
        _warn_scalar(owner + name)
        return t
    if t._a.ndim < 2:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got {t._a.ndim}-D tensor."
        )
    return transpose(t, -2, -1)


def _warn_scalar(what: str) -> None:
    warn(f"{what} is deprecated on 0-D tensors. Use x.conj(), or x itself.")


def _hermitian(self: Tensor) -> Tensor:
    if self._a.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self._a.ndim}-D tensor.")
    if not self._a.ndim:
        _warn_scalar("Tensor.H")
        return self.conj()
    return adjoint(self)


@composite()
def adjoint(input: Tensor) -> Tensor:
    """Return the conjugate transpose: the last two dimensions swapped and the elements conjugated.

    :raises RuntimeError: there is one dimension.

    >>> torch.tensor([[1j, 2]]).adjoint()
    tensor([[0.-1.j],
            [2.-0.j]])
    """
    return _transposed(input, "adjoint()", "").conj()


Tensor.T = property(_reversed, doc="A view with the dimensions in reversed order: the transpose.")
Tensor.mT = property(lambda self: _transposed(self, "mT"), doc="The transpose of each matrix, as a view.")
Tensor.H = property(_hermitian, doc="The conjugate transpose of a matrix.")
Tensor.mH = property(lambda self: _transposed(self, "mH").conj(), doc="The conjugate transpose of each matrix.")


@composite()
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Return a view with the dimensions ``source`` moved to the positions ``destination``; the others keep their order.

    :raises RuntimeError: a dimension is repeated, or the numbers of dimensions differ.

    >>> torch.movedim(torch.ones(2, 3, 4), 0, 2).shape
    torch.Size([3, 4, 2])
    """
    n = input._a.ndim
    several = isinstance(source, (tuple, list))
    sources = list(source) if several else [dimension(source, n)]
    destinations = list(destination) if isinstance(destination, (tuple, list)) else [dimension(destination, n)]
    if several != isinstance(destination, (tuple, list)):
        raise TypeError("movedim(): 'source' and 'destination' must both be ints, or both tuples of ints")
    if len(sources) != len(destinations):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({sources} dims) should contain the same number of "
            f"dims as destination ({destinations} dims)"
        )
    here, there = [dimension(d, n) for d in sources], [dimension(d, n) for d in destinations]
    for what, dims in (("source", here), ("destination", there)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({dims})")
    dims = [d for d in range(n) if d not in here]
    for position, d in sorted(zip(there, here, strict=True)):
        dims.insert(position, d)
    return permute(input, *dims[:n])  # a 0-d tensor has none


moveaxis = movedim
alias(moveaxis=movedim)
