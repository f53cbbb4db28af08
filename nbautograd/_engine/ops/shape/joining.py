"""Joining tensors: ``cat`` along an existing dimension, ``stack`` along a new one; ``unbind``, its inverse."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.arrays.strides import is_channels_last, row_major
from nbautograd._engine.compiler.op import NATIVE, VIEW, no_method, op, with_argument_errors, with_numpy_names
from nbautograd._engine.core.inplace import into
from nbautograd._engine.core.overlap import check_operands
from nbautograd._engine.core.overrides import UNHANDLED, offer, subclasses
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops.queries import result_dtype
from nbautograd._engine.ops.shape.broadcasting import atleast_1d, atleast_2d, atleast_3d, expand, several
from nbautograd._engine.ops.shape.shape import reshape, view
from nbautograd._engine.ops.shape.slicing import part, slice_
from nbautograd._names.docstrings import described
from nbautograd.errors import DeviceError, ShapeError, kind_of

# -- along an existing dimension -------------------------------------------------------------------------------------


def cut(g: Any, shapes: list[tuple[int, ...]], dim: int) -> list[Any]:
    """Return the gradient of ``cat``: one slice for each of the concatenated tensors."""
    result, start = [], 0
    for shape in shapes:
        if shape == (0,):
            result.append(g.reshape((-1,))[:0])
            continue
        d = dimension(dim, len(shape))
        stop = start + shape[d]
        result.append(
            slice_(g, d, start, stop, 1) if isinstance(g, Tensor) else g[(slice(None),) * d + (slice(start, stop),)]
        )
        start += shape[d]
    return result


@no_method(node="CatBackward0", symbol="cat", half=NATIVE, tensors="cut(g, tensors.shape, dim)")
def cat_same(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Concatenate tensors of one dtype."""
    real = [a for a in tensors if a.shape != (0,)] or tensors[:1]
    d = dimension(dim, real[0].ndim)
    for number, a in enumerate(tensors):
        if a.shape == (0,):
            continue
        if a.ndim != real[0].ndim:
            raise ShapeError(f"Tensors must have same number of dimensions: got {real[0].ndim} and {a.ndim}")
        for i, (n, m) in enumerate(zip(real[0].shape, a.shape, strict=True)):
            if i != d and n != m:
                raise ShapeError(
                    f"Sizes of tensors must match except in dimension {d}. Expected size {n} but got size {m} for "
                    f"tensor number {number} in the list."
                )
    joined = np.concatenate(real, d)
    return joined if joined.flags.c_contiguous or all(map(is_channels_last, real)) else joined.copy()


@described
def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None, axis: int | None = None) -> Tensor:
    """Concatenate tensors along an existing dimension.

    :raises RuntimeError: the shapes differ in another dimension.
    :raises ValueError: there are no tensors.

    >>> torch.cat([torch.tensor([1, 2]), torch.tensor([3])])
    tensor([1, 2, 3])
    """
    if subclasses and (answer := offer(cat, (tensors, dim), {})) is not UNHANDLED:
        return answer
    try:
        result = cat_same(_one_dtype(tensors, "cat"), dim if axis is None else axis)
    except (AttributeError, TypeError):
        if (answer := offer(cat, (tensors, dim if axis is None else axis), {})) is not UNHANDLED:
            return answer
        raise
    check_operands(out, tensors, "cat")
    return into(out, result, "cat")


concat = concatenate = cat


def _tensors(tensors: Sequence[Tensor], name: str) -> Sequence[Tensor]:
    """Return a sequence of tensors that is not empty."""
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {kind_of(tensors)}")
    if not tensors:
        if name == "cat":
            raise ValueError("torch.cat(): expected a non-empty list of Tensors")
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    for i, item in enumerate(tensors):
        if not isinstance(item, Tensor):
            raise TypeError(f"{name}(): expected Tensor as element {i} in argument 0, but got {kind_of(item)}")
    return tensors


def _one_dtype(tensors: Sequence[Tensor], name: str) -> list[Tensor]:
    """Return the tensors cast to their common dtype; raise if the list is empty."""
    for i, item in enumerate(_tensors(tensors, name)):
        if name == "cat" and item._a.ndim == 0:
            raise RuntimeError(f"cat(): zero-dimensional tensor (at position {i}) cannot be concatenated")
    places = list(dict.fromkeys(item.device for item in tensors))
    if len(places) > 1:
        raise DeviceError(
            f"{name}(): Expected all tensors to be on the same device, but found at least two devices, "
            f"{places[0]} and {places[1]}!"
        )
    if len({item._a.dtype for item in tensors}) == 1:
        return list(tensors)
    kind = result_dtype(*tensors)
    return [item.to(kind) for item in tensors]


# -- along a new dimension, and back --------------------------------------------------------------------------------


@op(symbol="unbind", kind=VIEW, many=True, input="restack(g, input.shape, dim)")
def unbind(input: Tensor, dim: int = 0) -> Any:
    """Return the slices along a dimension, which is removed, as a tuple of views.

    >>> torch.tensor([[1, 2], [3, 4]]).unbind()
    (tensor([1, 2]), tensor([3, 4]))
    """
    d = dimension(dim, input.ndim)
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return [part(input, d, i) for i in range(input.shape[d])]


def zeros_for_missing(parts: list[Any], shapes: list[tuple[int, ...]]) -> list[Any]:
    """Return the gradients of several outputs, zeros for undefined ones."""
    known = next(p for p in parts if p is not None)
    results = []
    for p, shape in zip(parts, shapes, strict=True):
        if p is None:
            p = known.detach().new_zeros(shape) if isinstance(known, Tensor) else np.zeros_like(known, shape=shape)
        results.append(p)
    return results


def restack(parts: list[Any], shape: tuple[int, ...], dim: int) -> Any:
    """Compute the gradient of ``unbind``: the outputs' gradients stacked, zeros for undefined ones."""
    d = dimension(dim, len(shape))
    filled = zeros_for_missing(parts, [(*shape[:d], *shape[d + 1 :])] * len(parts))
    return stack(filled, d) if isinstance(filled[0], Tensor) else np.stack(filled, d)


def unstacked(g: Any, dim: int) -> list[Any]:
    """Return the gradient of ``stack``: one slice for each tensor that was stacked."""
    if isinstance(g, Tensor):
        return list(unbind(g, dim))
    d = dimension(dim, g.ndim)
    return [g[(slice(None),) * d + (i, Ellipsis)] for i in range(g.shape[d])]


@no_method(node="StackBackward0", symbol="stack", half=NATIVE, tensors="unstacked(g, dim)")
def stack_same(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Stack tensors of one dtype."""
    for number, a in enumerate(tensors):
        if a.shape != tensors[0].shape:
            raise ShapeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
                f"{list(a.shape)} at entry {number}"
            )
    d = dimension(dim, tensors[0].ndim + 1)
    if d < tensors[0].ndim and is_channels_last(tensors[0]) and all(map(is_channels_last, tensors)):
        return np.concatenate(tensors, d).reshape((*tensors[0].shape[:d], len(tensors), *tensors[0].shape[d:]))
    return row_major(np.stack(tensors, d))


@with_numpy_names
def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None) -> Tensor:
    """Stack tensors of one shape along a new dimension.

    :raises RuntimeError: the shapes differ.

    >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    result = stack_same(_one_dtype(tensors, "stack"), dim)
    check_operands(out, tensors, "stack")
    return into(out, result, "stack")


@described
def hstack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Stack tensors horizontally: concatenate along dimension 1, or 0 for 1-d tensors.

    >>> torch.hstack([torch.tensor([1]), torch.tensor([2, 3])])
    tensor([1, 2, 3])
    """
    parts = atleast_1d(_tensors(tensors, "hstack"))
    return cat(parts, 0 if parts[0]._a.ndim == 1 else 1, out=out)


@described
def vstack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Stack tensors vertically: concatenate along dimension 0; 1-d tensors become rows.

    >>> torch.vstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return cat(atleast_2d(_tensors(tensors, "vstack")), 0, out=out)


row_stack = vstack


@described
def dstack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Stack tensors depthwise: concatenate along dimension 2.

    >>> torch.dstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
    return cat(atleast_3d(_tensors(tensors, "dstack")), 2, out=out)


@described
def column_stack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Concatenate tensors along dimension 1; 1-d tensors become columns.

    >>> torch.column_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    columns = [reshape(t, t.numel(), 1) if t._a.ndim < 2 else t for t in _tensors(tensors, "column_stack")]
    return hstack(columns, out=out)


# -- blocks, grids and choices ---------------------------------------------------------------------------------------


@no_method(node="BlockDiagBackward0", symbol="blocks", tensors="blocks_of(g, tensors.shape)")
def block_diag_same(tensors: Sequence[Tensor]) -> Tensor:
    """Compute ``block_diag`` of matrices of one dtype."""
    blocks = [a if a.ndim == 2 else a.reshape((1, -1)) for a in tensors]
    shape = tuple(sum(a.shape[d] for a in blocks) for d in (0, 1))
    output = np.zeros_like(blocks[0], shape=shape, order="C")
    row = column = 0
    for a in blocks:
        output[row : row + a.shape[0], column : column + a.shape[1]] = a
        row, column = row + a.shape[0], column + a.shape[1]
    return output


def blocks_of(g: Any, shapes: list[tuple[int, ...]]) -> list[Any]:
    """Return the gradient of ``block_diag``: the blocks on the diagonal."""
    result, row, column = [], 0, 0
    for shape in shapes:
        rows, columns = shape if len(shape) == 2 else (1, shape[0] if shape else 1)
        result.append(g[row : row + rows, column : column + columns].reshape(tuple(shape)))
        row, column = row + rows, column + columns
    return result


@described
def block_diag(*tensors: Tensor) -> Tensor:
    """Return the block diagonal matrix of the given matrices; vectors count as rows.

    :raises RuntimeError: a tensor has more than two dimensions.

    >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    for i, t in enumerate(tensors):
        if isinstance(t, Tensor) and t._a.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t._a.ndim} dimensions"
            )
    if not tensors:
        return wrap(np.zeros((1, 0), dtypes.get_default_dtype().numpy))
    return block_diag_same(_one_dtype(tensors, "block_diag"))


@with_argument_errors
@described
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Return coordinate tensors of the grid that vectors span: one for each, expanded over the grid.

    :param indexing: ``"ij"``, the default, for a grid of shape ``(len(a), len(b), ...)``; ``"xy"`` exchanges the first
        two dimensions.
    :raises RuntimeError: a tensor has more than one dimension, the dtypes differ, or ``indexing`` is neither of these.

    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")
    (tensor([[1, 1],
            [2, 2]]), tensor([[3, 4],
            [3, 4]]))
    """
    vectors = several(tensors)
    if not vectors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for t in vectors:
        if t._a.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(t.shape)}")
        if t.dtype is not vectors[0].dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(vectors) > 1
    order = [vectors[1], vectors[0], *vectors[2:]] if swap else list(vectors)
    size = tuple(t.numel() for t in order)
    grids = [expand(view(t, *((1,) * i + (size[i],) + (1,) * (len(size) - i - 1))), *size) for i, t in enumerate(order)]
    if swap:
        grids[:2] = grids[1::-1]
    return tuple(grids)


@described
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Return the Cartesian product of vectors, one combination per row.

    :raises RuntimeError: a tensor is not 1-d.

    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    vectors = several(tensors)
    for t in vectors:
        if t._a.ndim != 1:
            raise RuntimeError(f"cartesian_prod(): Expect a 1D vector, but got shape {list(t._a.shape)}")
    if len(vectors) == 1:
        return vectors[0]
    return stack([reshape(grid, -1) for grid in meshgrid(*vectors, indexing="ij")], 1)


@with_argument_errors
@described
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Return the combinations of ``r`` elements of a vector, one per row, in the order of ``itertools.combinations``.

    :raises RuntimeError: the tensor is not 1-d, or ``r`` is negative.

    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input._a.ndim != 1:
        raise RuntimeError(f"combinations(): Expect a 1D vector, but got shape {list(input._a.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.detach().new_zeros((0,))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = np.fromiter(itertools.chain.from_iterable(choose(range(input._a.shape[0]), r)), np.int64).reshape(-1, r)
    return stack([input[wrap(backend.module(input.device).asarray(column))] for column in chosen.T], 1)
