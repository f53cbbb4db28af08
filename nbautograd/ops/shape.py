"""Views of a tensor's memory, copies of it in other shapes, and joining several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from nbautograd import backend, dtypes
from nbautograd.declare import VIEW, alias, composite, op
from nbautograd.device import as_device, device
from nbautograd.errors import DeviceError, ShapeError
from nbautograd.inplace import into
from nbautograd.size import as_int, dimension, sizes
from nbautograd.storage import same_memory
from nbautograd.tensor import Tensor, wrap

__all__ = [
    "broadcast_to",
    "cat",
    "chunk",
    "clone",
    "concat",
    "concatenate",
    "diagonal",
    "flatten",
    "flip",
    "hstack",
    "moveaxis",
    "movedim",
    "narrow",
    "permute",
    "ravel",
    "real",
    "reshape",
    "row_stack",
    "select",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "swapdims",
    "t",
    "tile",
    "transpose",
    "unbind",
    "unflatten",
    "unsqueeze",
    "vstack",
]

# -- views -----------------------------------------------------------------------------------------------------------


def inferred(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """``shape`` with its -1, if any, replaced by what makes it hold ``size`` elements.

    :raises RuntimeError: nothing does.

    >>> inferred((2, -1), 6)
    (2, 3)
    """
    unknown = shape.count(-1)
    if unknown > 1:
        raise ShapeError("only one dimension can be inferred")
    if any(n < -1 for n in shape):
        raise ShapeError(f"invalid shape dimension {min(shape)}")
    if unknown:
        known = math.prod(n for n in shape if n != -1)
        if known == 0:
            raise ShapeError(
                f"cannot reshape tensor of {size} elements into shape {list(shape)} because the unspecified dimension "
                "size -1 can be any value and is ambiguous"
            )
        if size % known == 0:
            return tuple(size // known if n == -1 else n for n in shape)
    elif math.prod(shape) == size:
        return shape
    raise ShapeError(f"shape '{list(shape)}' is invalid for input of size {size}")


@op(node="ViewBackward0", symbol="view", kind=VIEW, input="g.reshape(input.shape)")
def view(input: Tensor, *shape: int) -> Tensor:
    """The same memory in another shape; one size may be -1.

    :raises RuntimeError: the shape holds another number of elements, or the elements do not lie in memory so that it
        can be had without copying (use ``reshape`` then).

    >>> import nbautograd as torch
    >>> torch.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    found = input.reshape(inferred(shape, input.size))
    if found.size and not same_memory(found, input):
        raise ShapeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return found


@op(node="UnsafeViewBackward0", symbol="view", method=False, input="g.reshape(input.shape)")
def reshape_copy(input: Tensor, shape: Any) -> Tensor:
    """A copy in another shape, where no view can be had."""
    return input.reshape(shape).copy() if input.size else input.reshape(shape)


@op(node="UnsafeViewBackward0", symbol="view", method=False, input="g.reshape(input.shape)")
def unsafe_view(input: Tensor, shape: Any) -> Tensor:
    """A fresh result in another shape; nobody else sees its memory."""
    return input.reshape(shape)


@composite()
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The elements in another shape: a view where the memory allows it, otherwise a copy.

    :raises RuntimeError: the shape holds another number of elements.

    >>> import nbautograd as torch
    >>> torch.arange(4).reshape((2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    size = inferred(sizes(shape, "shape"), input.numel())
    try:
        return view(input, size)
    except ShapeError:
        return reshape_copy(input, size)


@composite()
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """The same memory in the shape of ``other``.

    >>> import nbautograd as torch
    >>> torch.arange(4).view_as(torch.ones(2, 2)).shape
    torch.Size([2, 2])
    """
    return view(input, other._a.shape)


@composite()
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """The elements in the shape of ``other``.

    >>> import nbautograd as torch
    >>> torch.arange(4).reshape_as(torch.ones(2, 2)).shape
    torch.Size([2, 2])
    """
    return reshape(input, other._a.shape)


@composite()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from ``start_dim`` to ``end_dim`` merged into one.

    >>> import nbautograd as torch
    >>> torch.ones(2, 3, 4).flatten(1).shape
    torch.Size([2, 12])
    """
    shape = input._a.shape
    first, last = dimension(start_dim, len(shape)), dimension(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, (1,))
    if first == last:
        return input
    return reshape(input, (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))


@composite()
def ravel(input: Tensor) -> Tensor:
    """The elements in one dimension.

    >>> import nbautograd as torch
    >>> torch.ones(2, 2).ravel()
    tensor([1., 1., 1., 1.])
    """
    return reshape(input, (-1,))


@composite()
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension split into several.

    >>> import nbautograd as torch
    >>> torch.ones(6).unflatten(0, (2, 3)).shape
    torch.Size([2, 3])
    """
    shape = input._a.shape
    d = dimension(dim, len(shape))
    return view(input, (*shape[:d], *inferred(tuple(sizes), shape[d]), *shape[d + 1 :]))


def order(dims: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """A permutation of all dimensions, from the front.

    :raises RuntimeError: it names too few, too many, or one twice.
    """
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    found = tuple(dimension(d, ndim) for d in dims)
    if len(set(found)) != ndim:
        raise RuntimeError(f"permute(): duplicate dims are not allowed, got {list(dims)}")
    return found


def inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes ``dims``."""
    found = order(dims, len(dims))
    return tuple(sorted(range(len(found)), key=found.__getitem__))


@op(node="PermuteBackward0", symbol="permute", kind=VIEW, input="permute(g, *inverse(dims))")
def permute(input: Tensor, *dims: int) -> Tensor:
    """The dimensions in another order; the memory is shared.

    :raises RuntimeError: ``dims`` is no permutation of the dimensions.

    >>> import nbautograd as torch
    >>> torch.ones(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3])
    """
    return input.transpose(order(dims, input.ndim))


@op(node="TransposeBackward0", symbol="transpose", kind=VIEW, input="transpose(g, dim0, dim1)")
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged; the memory is shared.

    >>> import nbautograd as torch
    >>> torch.ones(2, 3).transpose(0, 1).shape
    torch.Size([3, 2])
    """
    a, b = dimension(dim0, input.ndim), dimension(dim1, input.ndim)
    return input.swapaxes(a, b) if input.ndim else input.view()


swapaxes = swapdims = transpose


def _at_most_2d(a: Any) -> Any:
    if a.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {a.ndim}D")
    return a.T


@op(node="TBackward0", symbol="ᵀ", kind=VIEW, input="t(g)")
def t(input: Tensor) -> Tensor:
    """A matrix transposed; of fewer dimensions, the tensor itself.

    >>> import nbautograd as torch
    >>> torch.ones(2, 3).t().shape
    torch.Size([3, 2])
    """
    return _at_most_2d(input)


Tensor.T = property(lambda self: permute(self, *range(self.ndim - 1, -1, -1)), doc="All dimensions reversed.")
Tensor.mT = property(lambda self: transpose(self, -2, -1), doc="The last two dimensions exchanged.")


def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """The dimensions ``source`` moved to ``destination``, the others kept in order.

    >>> import nbautograd as torch
    >>> torch.movedim(torch.ones(2, 3, 4), 0, 2).shape
    torch.Size([3, 4, 2])
    """
    n = input._a.ndim
    here = [dimension(d, n) for d in ([source] if isinstance(source, int) else source)]
    there = [dimension(d, n) for d in ([destination] if isinstance(destination, int) else destination)]
    if len(here) != len(there):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({here} dims) should contain the same number of dims "
            f"as destination ({there} dims)"
        )
    for what, dims in (("source", here), ("destination", there)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({dims})")
    dims = [d for d in range(n) if d not in here]
    for position, d in sorted(zip(there, here, strict=True)):
        dims.insert(position, d)
    return permute(input, *dims)


moveaxis = movedim
alias(swapaxes=transpose, swapdims=transpose, movedim=movedim, moveaxis=movedim)


@op(node="UnsqueezeBackward0", symbol="unsqueeze", kind=VIEW, input="g.reshape(input.shape)")
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A dimension of length 1 put in at ``dim``; the memory is shared.

    >>> import nbautograd as torch
    >>> torch.ones(3).unsqueeze(0).shape
    torch.Size([1, 3])
    """
    n = input.ndim + 1
    if not -n <= as_int(dim, "dim") < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return np.expand_dims(input, dim)


@op(node="SqueezeBackward0", symbol="squeeze", kind=VIEW, method=False, input="g.reshape(input.shape)")
def squeeze_all(input: Tensor) -> Tensor:
    """All dimensions of length 1 removed."""
    return input.reshape(tuple(n for n in input.shape if n != 1))


@op(node="SqueezeBackward1", symbol="squeeze", kind=VIEW, method=False, input="g.reshape(input.shape)")
def squeeze_one(input: Tensor, dim: int) -> Tensor:
    """One dimension removed if its length is 1."""
    d = dimension(dim, input.ndim)
    return input.reshape(tuple(n for i, n in enumerate(input.shape) if i != d or n != 1))


@op(node="SqueezeBackward2", symbol="squeeze", kind=VIEW, method=False, input="g.reshape(input.shape)")
def squeeze_some(input: Tensor, dims: Any) -> Tensor:
    """Of several dimensions those removed whose length is 1."""
    gone = {dimension(d, input.ndim) for d in dims}
    return input.reshape(tuple(n for i, n in enumerate(input.shape) if i not in gone or n != 1))


@composite()
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Dimensions of length 1 removed: all of them, or those that ``dim`` names; the memory is shared.

    >>> import nbautograd as torch
    >>> torch.ones(1, 3, 1).squeeze().shape, torch.ones(1, 3, 1).squeeze(0).shape
    (torch.Size([3]), torch.Size([3, 1]))
    """
    if dim is None:
        return squeeze_all(input)
    return squeeze_some(input, dim) if isinstance(dim, (tuple, list)) else squeeze_one(input, dim)


@op(node="ExpandBackward0", symbol="expand", kind=VIEW, input="sum_to(g, input.shape)")
def expand(input: Tensor, *size: int) -> Tensor:
    """Dimensions of length 1 repeated without copying; -1 leaves a length as it is, new ones come first.

    :raises RuntimeError: the shape cannot be had so.

    >>> import nbautograd as torch
    >>> torch.tensor([[1], [2]]).expand(-1, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    return np.broadcast_to(input, expanded(input.shape, size))


def expanded(have: tuple[int, ...], want: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that ``expand`` gives.

    :raises RuntimeError: it cannot be had.
    """
    extra = len(want) - len(have)
    if extra < 0:
        raise ShapeError(
            f"expand(the tensor of shape {list(have)}, size={list(want)}): the number of sizes "
            f"provided ({len(want)}) must "
            f"be greater or equal to the number of dimensions in the tensor ({len(have)})"
        )
    shape = tuple(have[d - extra] if n == -1 and d >= extra else n for d, n in enumerate(want))
    for d, n in enumerate(shape):
        if n < 0:
            raise ShapeError(
                f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {d}"
            )
        if d >= extra and have[d - extra] not in (1, n):
            raise ShapeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have[d - extra]}) "
                "at non-singleton "
                f"dimension {d}.  Target sizes: {list(want)}.  Tensor sizes: {list(have)}"
            )
    return shape


@composite()
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """The tensor broadcast to a shape without copying.

    >>> import nbautograd as torch
    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand(input, *size)


@composite()
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor expanded to the shape of ``other``.

    >>> import nbautograd as torch
    >>> torch.ones(1).expand_as(torch.zeros(2))
    tensor([1., 1.])
    """
    return expand(input, *other._a.shape)


@op(node="SelectBackward0", symbol="select", kind=VIEW, input="select_back(g, input.shape, dim, index)")
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice at ``index`` of one dimension, which goes away; the memory is shared.

    :raises IndexError: out of range.

    >>> import nbautograd as torch
    >>> torch.tensor([[1, 2], [3, 4]]).select(1, 0)
    tensor([1, 3])
    """
    d = dimension(dim, input.ndim)
    return input[(slice(None),) * d + (checked_index(index, input.shape, d), Ellipsis)]


def checked_index(index: int, shape: tuple[int, ...], dim: int) -> int:
    """An index known to be in range (CuPy would wrap it around).

    :raises IndexError: it is not.
    """
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    if not -shape[dim] <= index < shape[dim]:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {shape[dim]}")
    return index


@op(
    node="SliceBackward0",
    symbol="slice",
    kind=VIEW,
    method=False,
    input="slice_back(g, input.shape, dim, start, stop, step)",
)
def slice_(input: Tensor, dim: int, start: int | None, stop: int | None, step: int | None) -> Tensor:
    """Part of one dimension; the memory is shared."""
    return input[(slice(None),) * dim + (slice(start, stop, step),)]


@op(node="SelectBackwardBackward0", symbol="select", method=False, input="select(g, dim, index)")
def select_back(input: Tensor, shape: Any, dim: int, index: int) -> Tensor:
    """Zeros of ``shape`` with ``input`` where ``select`` looks: its gradient."""
    found = np.zeros_like(input, shape=shape)
    found[(slice(None),) * dimension(dim, len(shape)) + (index,)] = input
    return found


@op(node="SliceBackwardBackward0", symbol="slice", method=False, input="slice_(g, dim, start, stop, step)")
def slice_back(input: Tensor, shape: Any, dim: int, start: Any, stop: Any, step: Any) -> Tensor:
    """Zeros of ``shape`` with ``input`` where ``slice_`` looks: its gradient."""
    found = np.zeros_like(input, shape=shape)
    found[(slice(None),) * dim + (slice(start, stop, step),)] = input
    return found


@composite()
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """``length`` entries of one dimension from ``start`` on; the memory is shared.

    :raises RuntimeError: they are not there.

    >>> import nbautograd as torch
    >>> torch.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
    shape = input._a.shape
    d, first = dimension(dim, len(shape)), int(start)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -shape[d] <= first <= shape[d]:
        raise IndexError(f"start out of range (expected to be in range of [{-shape[d]}, {shape[d]}], but got {first})")
    first += shape[d] * (first < 0)
    if first + length > shape[d]:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({shape[d]}).")
    return slice_(input, d, first, first + length, 1)


@op(node="DiagonalBackward0", symbol="diagonal", kind=VIEW, input="diagonal_back(g, input.shape, offset, dim1, dim2)")
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal over two dimensions, put last; the memory is shared.

    >>> import nbautograd as torch
    >>> torch.tensor([[1, 2], [3, 4]]).diagonal()
    tensor([1, 4])
    """
    return np.diagonal(input, offset, dimension(dim1, input.ndim), dimension(dim2, input.ndim))


@op(node="DiagonalBackwardBackward0", symbol="diagonal", method=False, input="diagonal(g, offset, dim1, dim2)")
def diagonal_back(input: Tensor, shape: Any, offset: int, dim1: int, dim2: int) -> Tensor:
    """Zeros of ``shape`` with ``input`` on the diagonal: its gradient."""
    found = np.zeros_like(input, shape=shape)
    view = np.diagonal(found, offset, dimension(dim1, len(shape)), dimension(dim2, len(shape)))
    if view.__class__ is np.ndarray:
        view.flags.writeable = True
    view[...] = input
    return found


# -- views in several parts ------------------------------------------------------------------------------------------


@op(node="UnbindBackward0", symbol="unbind", kind=VIEW, many=True, input="restack(g, input.shape, dim)")
def unbind(input: Tensor, dim: int = 0) -> Any:
    """The slices along one dimension, which goes away, as a tuple; the memory is shared.

    >>> import nbautograd as torch
    >>> torch.tensor([[1, 2], [3, 4]]).unbind()
    (tensor([1, 2]), tensor([3, 4]))
    """
    d = dimension(dim, input.ndim)
    return [input[(slice(None),) * d + (i, Ellipsis)] for i in range(input.shape[d])]


def restack(parts: list[Any], shape: tuple[int, ...], dim: int) -> Any:
    """The gradient of ``unbind``: those of its parts, zeros for the missing ones, stacked."""
    known = next(p for p in parts if p is not None)
    filled = [known * 0 if p is None else p for p in parts]
    return stack(filled, dim) if isinstance(known, Tensor) else np.stack(filled, dimension(dim, len(shape)))


@op(
    node="SplitBackward0",
    symbol="split",
    kind=VIEW,
    many=True,
    method=False,
    input="rejoin(g, input.shape, sections, dim)",
)
def split_at(input: Tensor, sections: Any, dim: int) -> Any:
    """Parts of the given lengths along one dimension; the memory is shared."""
    starts = np.cumsum([0, *sections]).tolist()
    head = (slice(None),) * dim
    return [input[(*head, slice(a, b))] for a, b in pairwise(starts)]


def rejoin(parts: list[Any], shape: tuple[int, ...], sections: Sequence[int], dim: int) -> Any:
    """The gradient of ``split``: those of its parts, zeros for the missing ones, joined."""
    known = next(p for p in parts if p is not None)
    graph = isinstance(known, Tensor)
    like = known._a if graph else known
    filled = []
    for part, length in zip(parts, sections, strict=True):
        if part is None:
            zeros = np.zeros_like(like, shape=(*shape[:dim], length, *shape[dim + 1 :]))
            part = wrap(zeros) if graph else zeros
        filled.append(part)
    return cat(filled, dim) if graph else np.concatenate(filled, dim)


@composite()
def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of a length (the last may be shorter), or of several lengths, along one dimension.

    :raises RuntimeError: the lengths do not sum to that of the dimension.

    >>> import nbautograd as torch
    >>> torch.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if tensor._a.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = dimension(dim, tensor._a.ndim)
    n = tensor._a.shape[d]
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        if step < 0 or step == 0 and n:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={step}")
        sections = [min(step, n - i) for i in range(0, n, step)] if n else [0]
    else:
        sections = [int(s) for s in split_size_or_sections]
        if sum(sections) != n or min(sections, default=0) < 0:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at "
                f"dimension {d}), but "
                f"got split_sizes={sections}"
            )
    found: tuple[Tensor, ...] = split_at(tensor, sections, d)
    return found


@composite()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` parts of equal length (the last may be shorter) along one dimension.

    >>> import nbautograd as torch
    >>> torch.arange(5).chunk(2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = input._a.shape[dimension(dim, input._a.ndim)]
    return split(input, max(1, -(-n // chunks)) if n else 0, dim) if n else (input,)


# -- joining ---------------------------------------------------------------------------------------------------------


def cut(g: Any, shapes: list[tuple[int, ...]], dim: int) -> list[Any]:
    """The gradient of ``cat``: one part for each tensor that was joined."""
    found, start = [], 0
    for shape in shapes:
        if shape == (0,):
            found.append(g.reshape((-1,))[:0])
            continue
        d = dimension(dim, len(shape))
        found.append(g[(slice(None),) * d + (slice(start, start + shape[d]),)])
        start += shape[d]
    return found


@op(node="CatBackward0", symbol="cat", method=False, tensors="cut(g, tensors.shape, dim)")
def cat_same(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Tensors of one dtype joined along a dimension."""
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
                    f"Sizes of tensors must match except in dimension {d}. Expected size {n} but got size {m} "
                    "for tensor "
                    f"number {number} in the list."
                )
    return np.concatenate(real, d)


def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None, axis: int | None = None) -> Tensor:
    """Tensors joined along an existing dimension.

    :raises RuntimeError: the shapes differ in another dimension, or there are no tensors.

    >>> import nbautograd as torch
    >>> torch.cat([torch.tensor([1, 2]), torch.tensor([3])])
    tensor([1, 2, 3])
    """
    result = cat_same(_one_dtype(tensors, "cat"), dim if axis is None else axis)
    return into(out, result, "cat")


concat = concatenate = cat


def _one_dtype(tensors: Sequence[Tensor], name: str) -> list[Tensor]:
    if isinstance(tensors, Tensor) or not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    if not tensors:
        raise RuntimeError(f"{name}(): expected a non-empty list of Tensors")
    for i, item in enumerate(tensors):
        if not isinstance(item, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(item).__name__}")
        if name == "cat" and item._a.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    places = list(dict.fromkeys(item.device for item in tensors))
    if len(places) > 1:
        raise DeviceError(
            f"{name}(): Expected all tensors to be on the same device, but found at least two devices, "
            f"{places[0]} and {places[1]}!"
        )
    if len({item._a.dtype for item in tensors}) == 1:
        return list(tensors)
    kind = tensors[0].dtype
    for item in tensors[1:]:
        kind = dtypes.promote_types(kind, item.dtype)
    return [item.to(kind) for item in tensors]


def unstacked(g: Any, dim: int) -> list[Any]:
    """The gradient of ``stack``: one slice for each tensor that was stacked."""
    if isinstance(g, Tensor):
        return list(unbind(g, dim))
    d = dimension(dim, g.ndim)
    return [g[(slice(None),) * d + (i, Ellipsis)] for i in range(g.shape[d])]


@op(node="StackBackward0", symbol="stack", method=False, tensors="unstacked(g, dim)")
def stack_same(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Tensors of one dtype and shape stacked along a new dimension."""
    for number, a in enumerate(tensors):
        if a.shape != tensors[0].shape:
            raise ShapeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
                f"{list(a.shape)} at entry {number}"
            )
    return np.stack(tensors, dimension(dim, tensors[0].ndim + 1))


def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None) -> Tensor:
    """Tensors of one shape stacked along a new dimension.

    :raises RuntimeError: the shapes differ.

    >>> import nbautograd as torch
    >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    result = stack_same(_one_dtype(tensors, "stack"), dim)
    return into(out, result, "stack")


def atleast(tensor: Tensor, ndim: int) -> Tensor:
    """A tensor with leading dimensions of length 1 up to ``ndim``."""
    return tensor if tensor._a.ndim >= ndim else view(tensor, (1,) * (ndim - tensor._a.ndim) + tensor._a.shape)


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined side by side: along dimension 1, or 0 if they are 1-d.

    >>> import nbautograd as torch
    >>> torch.hstack([torch.tensor([1]), torch.tensor([2, 3])])
    tensor([1, 2, 3])
    """
    parts = [atleast(tensor, 1) for tensor in tensors]
    return cat(parts, 0 if parts and parts[0]._a.ndim == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined one below the other, along dimension 0.

    >>> import nbautograd as torch
    >>> torch.vstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return cat([atleast(tensor, 2) for tensor in tensors], 0)


row_stack = vstack


# -- copies ----------------------------------------------------------------------------------------------------------


@op(node="CloneBackward0", symbol="clone", input="g")
def clone(input: Tensor) -> Tensor:
    """A copy with memory of its own, differentiable.

    >>> import nbautograd as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> x.clone()
    tensor([1., 1.], grad_fn=<CloneBackward0>)
    """
    return input.copy()


@composite()
def contiguous(input: Tensor) -> Tensor:
    """The tensor itself if its elements lie in memory in row-major order, otherwise a copy in that order.

    >>> import nbautograd as torch
    >>> torch.ones(2, 3).t().contiguous().is_contiguous()
    True
    """
    return input if input.is_contiguous() else clone(input)


@op(node="FlipBackward0", symbol="flip", input="flip(g, *dims)")
def flip(input: Tensor, *dims: int) -> Tensor:
    """The order of the elements along ``dims`` reversed, copied.

    >>> import nbautograd as torch
    >>> torch.flip(torch.arange(3), (0,))
    tensor([2, 1, 0])
    """
    return np.flip(input, tuple(dimension(d, input.ndim) for d in dims)).copy()


Tensor.__reversed__ = lambda self: flip(self, 0) if self._a.ndim else self


@op(node="RepeatBackward0", symbol="repeat", input="unrepeat(g, input.shape, repeats)")
def repeat(input: Tensor, *repeats: int) -> Tensor:
    """The tensor repeated along each dimension, copied.

    :raises RuntimeError: there are fewer numbers than dimensions.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    if len(repeats) < input.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: got "
            f"{len(repeats)} for {input.ndim}"
        )
    return np.tile(input, repeats)


def unrepeat(g: Any, shape: tuple[int, ...], repeats: tuple[int, ...]) -> Any:
    """The gradient of ``repeat``: the sum over the copies."""
    padded = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    pairs = tuple(n for pair in zip(repeats, padded, strict=True) for n in pair)
    return g.reshape(pairs).sum(tuple(range(0, 2 * len(repeats), 2))).reshape(tuple(shape))


def tile(input: Tensor, *dims: Any) -> Tensor:
    """The tensor repeated along each dimension, missing numbers being 1.

    >>> import nbautograd as torch
    >>> torch.tile(torch.tensor([[1, 2]]), (2,))
    tensor([[1, 2, 1, 2]])
    """
    times = sizes(dims, "dims")
    return repeat(input, *((1,) * (input._a.ndim - len(times)) + times))


Tensor.tile = tile


# -- other dtypes and devices ----------------------------------------------------------------------------------------


@op(node="ToCopyBackward0", symbol="to", method=False, input="move(g, input.dtype, source, place)")
def move(input: Tensor, dtype: Any, place: device, source: device) -> Tensor:
    """A copy in another (NumPy) dtype on another device than ``source``, where it is."""
    if backend.device_of(input) != place:
        input = backend.module(place).asarray(backend.fetch(input))
    if input.dtype.kind == "c" and dtype.kind != "c":
        input = input.real
    return input.astype(dtype)


@composite()
def to(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor in another dtype, on another device, or like another tensor; itself if it is so already.

    ``to(dtype)``, ``to(device)``, ``to(device, dtype)``, ``to(other)``, each with ``non_blocking`` and ``copy``.

    :raises TypeError: an argument is none of these.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]).to(torch.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    kind, place = kwargs.pop("dtype", None), kwargs.pop("device", None)
    copy = kwargs.pop("copy", False)
    kwargs.pop("non_blocking", None)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    for position, value in enumerate(args):
        if isinstance(value, Tensor):
            kind, place = value.dtype, value.device
        elif isinstance(value, dtypes.dtype):
            kind = value
        elif isinstance(value, (str, device)) or isinstance(value, int) and not isinstance(value, bool):
            place = value
        elif isinstance(value, bool):
            copy = copy or position == len(args) - 1 and value and len(args) > 2
        elif value is not None:
            raise TypeError(
                f"to(): argument {position + 1} must be a dtype, a device or a Tensor, not {type(value).__name__}"
            )
    kind = input.dtype if kind is None else kind
    target = input.device if place is None else as_device(place)
    if kind is input.dtype and target == input.device and not copy:
        return input
    result = move(input, kind.numpy, target, input.device)
    return result if kind.rank > 1 else wrap(result._a)


def _converter(name: str, kind: dtypes.dtype) -> Any:
    def convert(self: Tensor) -> Tensor:
        return to(self, kind)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"The tensor in dtype {kind.name}; itself if it is so already."
    return convert


for _name, _kind in {
    **{d.name: d for d in dtypes.ALL},
    **dtypes.ALIASES,
    "byte": dtypes.uint8,
    "char": dtypes.int8,
}.items():
    if not _name[-1].isdigit():
        setattr(Tensor, _name, _converter(_name, _kind))


@composite()
def cpu(input: Tensor) -> Tensor:
    """The tensor on the CPU; itself if it is there already.

    >>> import nbautograd as torch
    >>> torch.ones(2).cpu().device
    device(type='cpu')
    """
    return to(input, "cpu")


@composite()
def cuda(input: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """The tensor on a CUDA device, the current one by default.

    :raises RuntimeError: CUDA cannot be used here; the message says why.
    """
    return to(input, "cuda" if device is None else device)


@composite()
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype of ``other``.

    >>> import nbautograd as torch
    >>> torch.tensor([1]).type_as(torch.tensor([1.]))
    tensor([1.])
    """
    return to(input, other.dtype)


@op(node="RealBackward0", symbol="Re", method=False, input="cast_back(g, input.dtype)")
def real(input: Tensor) -> Tensor:
    """The real part."""
    return input.real.copy()
