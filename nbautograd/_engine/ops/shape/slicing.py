"""Views of part of a tensor: ``select``, ``narrow``, slices, ``diagonal``, ``unfold``."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays.size import as_int, dimension
from nbautograd._engine.arrays.strides import Geometry, laid_out, places, restride, strides_of
from nbautograd._engine.compiler.op import NATIVE, VIEW, composite, derivative_helper, no_method, op
from nbautograd._engine.core.tensor import Tensor, array_of, wrap
from nbautograd._engine.core.views import AsStridedBackward0, CopySlices

__all__ = ["diagonal", "narrow", "select"]

# -- indices and slices ----------------------------------------------------------------------------------------------


def part(a: Any, d: int, index: int) -> Any:
    """Return the slice of an array at one index of a dimension, which is removed."""
    if a.size:
        return a[(slice(None),) * d + (index, Ellipsis)]
    strides, n = strides_of(a), a.shape[d]
    shift = (index % n) * strides[d]
    return restride(a, (*a.shape[:d], *a.shape[d + 1 :]), (*strides[:d], *strides[d + 1 :]), shift)


def stretch(a: Any, d: int, start: int, stop: int, step: int = 1) -> Any:
    """Return the slice ``start:stop:step`` of one dimension of an array."""
    if a.size and stop > start:
        return a[(slice(None),) * d + (slice(start, stop, step),)]
    strides, n = strides_of(a), max(0, -(-(stop - start) // step))
    shape = (*a.shape[:d], n, *a.shape[d + 1 :])
    return restride(a, shape, (*strides[:d], strides[d] * step, *strides[d + 1 :]), start * strides[d])


@op(symbol="select", kind=VIEW, input="select_back(g, input.shape, dim, index)")
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Return a view of the slice at ``index`` of a dimension, which is removed.

    :raises IndexError: the index is out of range.

    >>> torch.tensor([[1, 2], [3, 4]]).select(1, 0)
    tensor([1, 3])
    """
    d = dimension(dim, input.ndim)
    return part(input, d, checked_index(index, input.shape, d))


def checked_index(index: Any, shape: tuple[int, ...], dim: int) -> int:
    """Check that an index is in range (CuPy would wrap it around), and return it."""
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    result = as_int(index, "select(): argument 'index'")
    if not -shape[dim] <= result < shape[dim]:
        raise IndexError(
            f"select(): index {result} out of range: it is out of bounds for dimension {dim} with size {shape[dim]}"
        )
    return result


@no_method(symbol="slice", kind=VIEW, input="slice_back(g, input.shape, dim, start, stop, step)")
def slice_(input: Tensor, dim: int, start: int | None, stop: int | None, step: int | None) -> Tensor:
    """Return a view of the slice ``start:stop:step`` of a dimension."""
    first, last, by = slice(start, stop, step).indices(input.shape[dim])
    return stretch(input, dim, first, last, by)


@no_method(node="SelectBackwardBackward0", symbol="select", half=NATIVE, input="select(g, dim, index)")
def select_back(input: Tensor, shape: Any, dim: int, index: int) -> Tensor:
    """Compute the transpose of ``select``: ``input`` as that slice of zeros of ``shape``."""
    output = np.zeros_like(input, shape=shape)
    output[(slice(None),) * dimension(dim, len(shape)) + (int(index),)] = input
    return output


@no_method(node="SliceBackwardBackward0", symbol="slice", half=NATIVE, input="slice_(g, dim, start, stop, step)")
def slice_back(input: Tensor, shape: Any, dim: int, start: Any, stop: Any, step: Any) -> Tensor:
    """Compute the transpose of ``slice_``: ``input`` as that slice of zeros of ``shape``."""
    output = np.zeros_like(input, shape=shape)
    output[(slice(None),) * dim + (slice(start, stop, step),)] = input
    return output


@composite()
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """Return a view of the slice ``start:start + length`` of a dimension.

    :raises RuntimeError: the slice is out of range.

    >>> torch.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
    shape = input._a.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start._a.ndim or start._a.dtype.kind not in "iu"):
        raise RuntimeError("narrow(): argument 'start' must be an int or a 0-dim integral Tensor.")
    d, first = dimension(dim, len(shape)), as_int(start, "narrow(): argument 'start' (position 3)")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -shape[d] <= first <= shape[d]:
        raise IndexError(f"start out of range (expected to be in range of [{-shape[d]}, {shape[d]}], but got {first})")
    first += shape[d] * (first < 0)
    if first + length > shape[d]:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({shape[d]}).")
    return slice_(input, d, first, first + length, 1)


# -- diagonals and windows -------------------------------------------------------------------------------------------


def on_diagonal(a: Any, offset: int, dim1: int, dim2: int) -> Any:
    """Return a view of the diagonal of an array over two dimensions, as its last dimension."""
    first, second = dimension(dim1, a.ndim), dimension(dim2, a.ndim)
    if a.ndim < 2 or first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2} (the tensor is {a.ndim}-d)")
    shape, strides = a.shape, strides_of(a)
    length = max(0, min(shape[first] + min(offset, 0), shape[second] - max(offset, 0)))
    shift = (max(offset, 0) * strides[second] - min(offset, 0) * strides[first]) if length else 0
    rest = [d for d in range(a.ndim) if d not in (first, second)]
    steps = (*(strides[d] for d in rest), strides[first] + strides[second])
    return restride(a, (*(shape[d] for d in rest), length), steps, shift)


@op(symbol="diagonal", kind=VIEW, input="diagonal_back(g, input.shape, offset, dim1, dim2)")
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return a view of the diagonal over two dimensions, which becomes the last dimension.

    :param offset: above the main diagonal where positive, below it where negative.
    :raises RuntimeError: the two dimensions are the same.

    >>> torch.tensor([[1, 2], [3, 4]]).diagonal()
    tensor([1, 4])
    """
    return on_diagonal(input, offset, dim1, dim2)


@no_method(node="DiagonalBackwardBackward0", symbol="diagonal", half=NATIVE, input="diagonal(g, offset, dim1, dim2)")
def diagonal_back(input: Tensor, shape: Any, offset: int, dim1: int, dim2: int) -> Tensor:
    """Compute the transpose of ``diagonal``: ``input`` on the diagonal of zeros of ``shape``."""
    output = np.zeros_like(input, shape=shape)
    on_diagonal(output, offset, dim1, dim2)[...] = input
    return output


@op(symbol="unfold", kind=VIEW, input="unfold_back(g, input.shape, dimension, size, step)")
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Return a view of all sliding windows of ``size`` along a dimension, ``step`` apart, as a new last dimension.

    :param dimension: the dimension, counted from the end if negative.
    :param size: the length of a window.
    :returns: a tensor whose last dimension is of length ``size``; ``dimension`` enumerates the windows.
    :raises RuntimeError: a window is longer than the dimension, or the step is not positive.

    >>> torch.arange(5).unfold(0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    return _windows(input, dimension, size, step)


def _windows(a: Any, dim: int, size: int, step: int) -> Any:
    d = dimension(dim, a.ndim)
    size, step = as_int(size, "unfold(): argument 'size'"), as_int(step, "unfold(): argument 'step'")
    shape, strides = (a.shape, strides_of(a)) if a.ndim else ((1,), (1,))
    if size < 0:
        raise RuntimeError(f"unfold(): size is {size} but must be >= 0")
    if size > shape[d]:
        raise RuntimeError(f"unfold(): maximum size for tensor at dimension {d} is {shape[d]} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"unfold(): step is {step} but must be > 0")
    count = (shape[d] - size) // step + 1
    if not a.ndim:
        return restride(a, (size,), (1,))
    steps = (*strides[:d], strides[d] * step, *strides[d + 1 :], strides[d])
    return restride(a, (*shape[:d], count, *shape[d + 1 :], size), steps)


@no_method(node="UnfoldBackwardBackward0", symbol="unfold", input="unfold(g, dim, size, step)")
def unfold_back(input: Tensor, shape: Any, dim: int, size: int, step: int) -> Tensor:
    """Compute the transpose of ``unfold``: the windows added into zeros of ``shape``."""
    if not shape:
        return input.sum()
    d = dimension(dim, len(shape))
    output = np.zeros_like(input, shape=shape)
    windows = np.moveaxis(input, -1, 0)
    span = step * ((shape[d] - size) // step) + 1
    for i in range(size):  # the i-th entries of all windows are ``step`` apart
        stretch(output, d, i, i + span, step)[...] += windows[i]
    return output


@no_method(
    node="AsStridedBackward0",
    symbol="strides",
    kind=VIEW,
    input="as_strided_back(g, home, size, stride, storage_offset)",
)
def as_strided_in(input: Tensor, size: Any, stride: Any, storage_offset: int, home: Any) -> Tensor:
    """Return ``as_strided``; ``home`` is the layout of ``input`` in the storage."""
    return restride(input, size, stride, storage_offset - home.offset)


as_strided_in.__wrapped__.reads_strides = True  # so that a replay gives it a base of the same strides


@derivative_helper
def as_strided_back(g: Any, home: Geometry, size: Any, stride: Any, offset: int) -> Any:
    """Compute the gradient of ``as_strided``: accumulate in the storage, then read with the layout of the input.

    Where elements of the input overlap, each gets an equal share.
    """
    length, inside, read, share = _overlap(array_of(g), home, Geometry(size, stride, offset))
    memory = index_back(g, (length,), (read,))  # type: ignore[name-defined]  # noqa: F821
    result = index(memory, (inside,))  # type: ignore[name-defined]  # noqa: F821
    if share is not None:
        result = result * (wrap(share) if isinstance(result, Tensor) else share)
    return result


def _overlap(g: Any, home: Geometry, view: Geometry) -> tuple[int, Any, Any, Any]:
    """Return the storage's length, the positions of the input's and the view's elements, and the elements' shares."""
    length, inside, share = max(home.end(), view.end()), places(home, g), None
    if any(s == 0 and n > 1 for n, s in zip(home.shape, home.strides, strict=True)):
        share = (1 / np.bincount(inside.reshape((-1,)), minlength=length)[inside]).astype(g.dtype)
    return length, inside, places(view, g), share


@no_method(node="CloneBackward0", symbol="clone", half=NATIVE, input="g")
def lay_out(input: Tensor, home: Any, length: int) -> Tensor:
    """Return a copy with the memory layout ``home``."""
    return laid_out(input, home, length)


CopySlices.lay_out = staticmethod(lay_out)  # core does not import operations
AsStridedBackward0.of_base = staticmethod(as_strided_back)
