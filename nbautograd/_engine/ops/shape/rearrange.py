"""Rearranging elements, as copies: ``flip``, ``roll``, ``rot90``, ``repeat``, ``kron``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nbautograd._engine.arrays.size import as_int, by_name, dimension, sizes
from nbautograd._engine.arrays.strides import empty_as, in_format
from nbautograd._engine.compiler.op import NATIVE, alias, composite, op, with_numpy_names
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops.queries import check_tensors, method_of_tensor
from nbautograd._engine.ops.shape.broadcasting import expand
from nbautograd._engine.ops.shape.shape import clone, reshape, unsafe_view, unsqueeze
from nbautograd._names.docstrings import described


@op(symbol="flip", half=NATIVE, input="g if dims == () else flip(g, *dims)")
def flip(input: Tensor, *dims: int) -> Tensor:
    """Return the tensor reversed along ``dims``, copied.

    :raises RuntimeError: a dimension is named twice.

    >>> torch.flip(torch.arange(3), (0,))
    tensor([2, 1, 0])
    """
    output = [dimension(d, input.ndim) for d in dims]
    for d in output:
        if output.count(d) > 1:
            raise RuntimeError(f"flip(): dim {d} appears multiple times in the list of dims")
    return _turned(input, tuple(output)) if input.ndim else input.copy()


def _turned(a: Any, dims: tuple[int, ...]) -> Any:
    """Return a copy reversed along dimensions, which keep their order in memory."""
    if a.flags.c_contiguous:
        return np.flip(a, dims).copy()
    output = empty_as(a)
    output[...] = np.flip(a, dims)
    return output


@method_of_tensor("__reversed__")
def _reversed(self: Tensor) -> Tensor:
    """Return ``reversed(tensor)``: the tensor flipped along the first dimension.

    :returns: a tensor of the same shape.

    >>> reversed(torch.tensor([1, 2, 3]))
    tensor([3, 2, 1])
    """
    return flip(self, 0) if self._a.ndim else self


@composite()
def fliplr(input: Tensor) -> Tensor:
    """Return the tensor flipped left to right: dimension 1 reversed, copied.

    :raises RuntimeError: there is only one dimension.

    >>> torch.fliplr(torch.tensor([[1, 2]]))
    tensor([[2, 1]])
    """
    if input._a.ndim < 2:
        raise RuntimeError(f"fliplr(): Input must be >= 2-d, got {input._a.ndim}-d.")
    return flip(input, 1)


@composite()
def flipud(input: Tensor) -> Tensor:
    """Return the tensor flipped upside down: dimension 0 reversed, copied.

    :raises RuntimeError: the tensor is 0-d.

    >>> torch.flipud(torch.tensor([1, 2]))
    tensor([2, 1])
    """
    if input._a.ndim < 1:
        raise RuntimeError("flipud(): Input must be >= 1-d, got 0-d.")
    return flip(input, 0)


Ints = int | tuple[int, ...] | list[int]


@op(symbol="roll", half=NATIVE, input="roll(g, negated(shifts), dims)")
def roll(input: Tensor, shifts: Ints, dims: Any = None) -> Tensor:
    """Return the tensor shifted circularly along dimensions.

    :param shifts: the number of places to shift by, or one number for each of ``dims``.
    :param dims: the dimensions; by default the flattened tensor is shifted.
    :raises RuntimeError: their numbers differ.

    >>> torch.roll(torch.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    by: Any = tuple(shifts) if isinstance(shifts, (tuple, list)) else (as_int(shifts, "shifts"),)
    if not by:
        raise RuntimeError("`shifts` required")
    dims = () if dims is None else dims
    along = tuple(dims) if isinstance(dims, (tuple, list)) else (as_int(dims, "dims"),)
    if len(by) != (len(along) or 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(by)}, dims:{len(along)}")
    if not along:
        return np.roll(input.reshape((-1,)), as_int(by[0], "shifts")).reshape(input.shape)
    if not input.size:
        return input.copy()
    if not input.ndim:
        raise IndexError(f"roll(): Dimension specified as {along[0]} but tensor has no dimensions")
    output = tuple(dimension(d, input.ndim) for d in along)
    return np.roll(in_format(input), tuple(as_int(n, "shifts") for n in by), output)


def negated(shifts: Any) -> Any:
    """Return the inverse shifts."""
    return tuple(-int(n) for n in shifts) if isinstance(shifts, (tuple, list)) else -int(shifts)


@op(symbol="rot90", half=NATIVE, input="rot90(g, -k, dims)")
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Return the tensor rotated by 90 degrees ``k`` times in the plane of two dimensions, from the first to the second.

    :raises RuntimeError: there are not two different dimensions.

    >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    if len(dims) != 2:
        raise RuntimeError(f"rot90(): expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"rot90(): expected total dims >= 2, but got total dims = {input.ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == input.ndim:
        raise RuntimeError(
            f"rot90(): expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    for d in dims:
        if not -input.ndim <= d < input.ndim:
            raise RuntimeError(f"rot90(): Rotation dim out of range: {d} for a tensor of {input.ndim} dimensions")
    first, second = (dimension(d, input.ndim) for d in dims)
    if k % 2:
        return _turned(input, (second if k % 4 == 1 else first,)).swapaxes(first, second)
    return _turned(input, (first, second)) if k % 4 else input.copy()


# -- repeated --------------------------------------------------------------------------------------------------------


@op(symbol="repeat", half=NATIVE, input="unrepeat(g, input.shape, repeats)")
def repeat(input: Tensor, *repeats: int) -> Tensor:
    """Return the tensor repeated along each dimension, copied.

    :param repeats: how often, for each dimension; extra ones add dimensions in front.
    :returns: a tensor with one dimension for each number.
    :raises RuntimeError: there are fewer numbers than dimensions, or one is negative.

    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    if len(repeats) < input.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: got "
            f"{len(repeats)} for {input.ndim}"
        )
    if min(repeats, default=0) < 0:
        raise RuntimeError(f"repeat(): Trying to create tensor with negative dimension: repeats {list(repeats)}")
    return np.tile(input, repeats)


def unrepeat(g: Any, shape: tuple[int, ...], repeats: tuple[int, ...]) -> Any:
    """Return the gradient of ``repeat``: the sum over the copies."""
    padded = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    pairs = tuple(n for pair in zip(repeats, padded, strict=True) for n in pair)
    return g.reshape(pairs).sum(tuple(range(0, 2 * len(repeats), 2))).reshape(tuple(shape))


@described
def tile(input: Tensor, *_dims: Any, dims: Ints = None) -> Tensor:
    """Return the tensor repeated along each dimension, as NumPy's ``tile`` does; missing numbers are 1.

    >>> torch.tile(torch.tensor([[1, 2]]), (2,))
    tensor([[1, 2, 1, 2]])
    """
    check_tensors("tile", input=input)
    times = sizes(_dims if dims is None else by_name(dims, "dims", _dims), "dims", "tile")
    return repeat(input, *((1,) * (input._a.ndim - len(times)) + times))


alias(tile=tile)


@with_numpy_names
def repeat_interleave(
    input: Tensor, repeats: int | Tensor | None = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Return each element, or slice along ``dim``, repeated, with its copies next to each other.

    :param repeats: the number of repetitions, or a 1-d integer tensor with one for each element. With ``repeats`` as
        the only argument, the result holds for each copy the index of its element.
    :param output_size: the length of the result, if it is known.
    :raises RuntimeError: a number is negative, or their count is not the number of elements.

    >>> torch.repeat_interleave(torch.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    >>> torch.repeat_interleave(torch.tensor([1, 2]), torch.tensor([2, 1]))
    tensor([1, 1, 2])
    """
    if repeats is None:
        return _owners(input, output_size)
    x = reshape(input, -1) if dim is None else input
    d = dimension(-1 if dim is None else dim, x._a.ndim)
    if not x._a.ndim:
        raise IndexError(f"repeat_interleave(): Dimension specified as {dim} but tensor has no dimensions")
    if not isinstance(repeats, Tensor):
        if repeats < 0:
            raise RuntimeError(f"repeat_interleave(): repeats must be non-negative, got {repeats}")
        shape = x._a.shape
        _check_length(output_size, shape[d] * repeats)
        grown = expand(unsqueeze(x, d + 1), *shape[: d + 1], repeats, *shape[d + 1 :])
        return reshape(clone(grown), *shape[:d], shape[d] * repeats, *shape[d + 1 :])
    if repeats._a.ndim > 1:
        raise RuntimeError("repeat_interleave(): repeats must be 0-dim or 1-dim tensor")
    n = x._a.shape[d]
    if repeats._a.ndim == 0 or repeats._a.shape[0] == 1:
        repeats = expand(reshape(repeats, 1), n)
    elif repeats._a.shape[0] != n:
        raise RuntimeError(
            f"repeat_interleave(): repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats._a.shape[0]} and input.size({d}) = {n}"
        )
    from nbautograd._engine.ops.indexing.gather import index_select

    return index_select(x, d, _owners(repeats, output_size))


def _owners(repeats: Tensor, output_size: int | None) -> Tensor:
    """Return, for each copy, the index of its element."""
    a = repeats._a
    if a.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if a.dtype.kind not in "iu" or a.itemsize < 4:
        raise RuntimeError(f"repeats has to be Long or Int tensor, got {repeats.dtype!r}")
    if a.size and a.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if repeats.is_meta:
        length = repeats.sum().item() if output_size is None else output_size
        return wrap(np.empty_like(a, shape=(length,)))
    if not a.size:
        return wrap(a)
    _check_length(output_size, int(a.sum()))
    ends = a.cumsum()
    # The index of the first element whose copies end after this position.
    return wrap(np.searchsorted(ends, np.arange(int(ends[-1]), like=a), "right").astype(a.dtype))


def _check_length(output_size: int | None, total: int) -> None:
    if output_size is not None and output_size != total:
        raise RuntimeError(
            f"repeat_interleave(): allocated size does not match required size: {output_size=}, but {total} "
            "elements are to be made"
        )


alias(repeat_interleave=repeat_interleave)


@composite(out=True)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Return the Kronecker product: a block ``element * other`` for each element of ``input``.

    >>> torch.kron(torch.tensor([1, 10]), torch.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    n = max(input._a.ndim, other._a.ndim)
    left, right = ((1,) * (n - t._a.ndim) + t._a.shape for t in (input, other))
    product = reshape(input, _interleaved(left, (1,) * n)) * reshape(other, _interleaved((1,) * n, right))
    return unsafe_view(product, tuple(a * b for a, b in zip(left, right, strict=True)))


def _interleaved(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    return tuple(n for pair in zip(a, b, strict=True) for n in pair)
