"""Views of part of a tensor's memory: slices, diagonals, windows, and parts side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from nbautograd.arrays.size import as_int, dimension
from nbautograd.arrays.strides import Geometry, places, restride, strides_of
from nbautograd.compiler.argument_errors import with_argument_errors
from nbautograd.compiler.derivative_helper import derivative_helper
from nbautograd.compiler.op import NATIVE, VIEW, alias, composite, op
from nbautograd.core.tensor import Tensor, array_of, wrap
from nbautograd.ops.queries import check_tensors

__all__ = [
    "chunk",
    "diagonal",
    "dsplit",
    "hsplit",
    "narrow",
    "select",
    "split",
    "split_with_sizes",
    "tensor_split",
    "unbind",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "vsplit",
]

# -- one index, a range ----------------------------------------------------------------------------------------------


def part(a: Any, d: int, index: int) -> Any:
    """The slice of an array at one index of a dimension, which goes away."""
    if a.size:
        return a[(slice(None),) * d + (index, Ellipsis)]
    strides, n = strides_of(a), a.shape[d]
    shift = (index % n) * strides[d]
    return restride(a, (*a.shape[:d], *a.shape[d + 1 :]), (*strides[:d], *strides[d + 1 :]), shift)


def stretch(a: Any, d: int, start: int, stop: int, step: int = 1) -> Any:
    """A range of one dimension of an array."""
    if a.size and stop > start:
        return a[(slice(None),) * d + (slice(start, stop, step),)]
    strides, n = strides_of(a), max(0, -(-(stop - start) // step))
    return restride(
        a,
        (*a.shape[:d], n, *a.shape[d + 1 :]),
        (*strides[:d], strides[d] * step, *strides[d + 1 :]),
        start * strides[d],
    )


@op(node="SelectBackward0", symbol="select", kind=VIEW, input="select_back(g, input.shape, dim, index)")
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice at ``index`` of one dimension, which goes away; the memory is shared.

    :raises IndexError: out of range.

    >>> import nbautograd as torch
    >>> torch.tensor([[1, 2], [3, 4]]).select(1, 0)
    tensor([1, 3])
    """
    d = dimension(dim, input.ndim)
    return part(input, d, checked_index(index, input.shape, d))


def checked_index(index: Any, shape: tuple[int, ...], dim: int) -> int:
    """An index known to be in range (CuPy would wrap it around).

    :raises IndexError: it is not.
    """
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    found = as_int(index, "select(): argument 'index'")
    if not -shape[dim] <= found < shape[dim]:
        raise IndexError(
            f"select(): index {found} out of range: it is out of bounds for dimension {dim} with size {shape[dim]}"
        )
    return found


@op(
    node="SliceBackward0",
    symbol="slice",
    kind=VIEW,
    method=False,
    input="slice_back(g, input.shape, dim, start, stop, step)",
)
def slice_(input: Tensor, dim: int, start: int | None, stop: int | None, step: int | None) -> Tensor:
    """Part of one dimension; the memory is shared."""
    first, last, by = slice(start, stop, step).indices(input.shape[dim])
    return stretch(input, dim, first, last, by)


@op(node="SelectBackwardBackward0", symbol="select", method=False, half=NATIVE, input="select(g, dim, index)")
def select_back(input: Tensor, shape: Any, dim: int, index: int) -> Tensor:
    """Zeros of ``shape`` with ``input`` where ``select`` looks: its gradient."""
    found = np.zeros_like(input, shape=shape)
    found[(slice(None),) * dimension(dim, len(shape)) + (int(index),)] = input
    return found


@op(node="SliceBackwardBackward0", symbol="slice", method=False, half=NATIVE, input="slice_(g, dim, start, stop, step)")
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
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start._a.ndim or start._a.dtype.kind not in "iu"):
        raise RuntimeError("narrow(): argument 'start' must be an int or a 0-dim integral Tensor.")
    d, first = dimension(dim, len(shape)), int(start)
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
    """The diagonal of an array over two dimensions, put last: a view."""
    first, second = dimension(dim1, a.ndim), dimension(dim2, a.ndim)
    if a.ndim < 2 or first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2} (the tensor is {a.ndim}-d)")
    shape, strides = a.shape, strides_of(a)
    length = max(0, min(shape[first] + min(offset, 0), shape[second] - max(offset, 0)))
    shift = (max(offset, 0) * strides[second] - min(offset, 0) * strides[first]) if length else 0
    rest = [d for d in range(a.ndim) if d not in (first, second)]
    return restride(
        a,
        (*(shape[d] for d in rest), length),
        (*(strides[d] for d in rest), strides[first] + strides[second]),
        shift,
    )


@op(node="DiagonalBackward0", symbol="diagonal", kind=VIEW, input="diagonal_back(g, input.shape, offset, dim1, dim2)")
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal over two dimensions, put last; the memory is shared.

    :raises RuntimeError: the two dimensions are one.

    >>> import nbautograd as torch
    >>> torch.tensor([[1, 2], [3, 4]]).diagonal()
    tensor([1, 4])
    """
    return on_diagonal(input, offset, dim1, dim2)


@op(
    node="DiagonalBackwardBackward0",
    symbol="diagonal",
    method=False,
    half=NATIVE,
    input="diagonal(g, offset, dim1, dim2)",
)
def diagonal_back(input: Tensor, shape: Any, offset: int, dim1: int, dim2: int) -> Tensor:
    """Zeros of ``shape`` with ``input`` on the diagonal: its gradient."""
    found = np.zeros_like(input, shape=shape)
    on_diagonal(found, offset, dim1, dim2)[...] = input
    return found


@op(node="UnfoldBackward0", symbol="unfold", kind=VIEW, input="unfold_back(g, input.shape, dimension, size, step)")
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """All windows of a length along a dimension, ``step`` apart, as a last dimension; the memory is shared.

    :raises RuntimeError: a window is longer than the dimension, or the step is not positive.

    >>> import nbautograd as torch
    >>> torch.arange(5).unfold(0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    return _windows(input, dimension, size, step)


def _windows(a: Any, dim: int, size: int, step: int) -> Any:
    d = dimension(dim, a.ndim)
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
    return restride(
        a, (*shape[:d], count, *shape[d + 1 :], size), (*strides[:d], strides[d] * step, *strides[d + 1 :], strides[d])
    )


@op(node="UnfoldBackwardBackward0", symbol="unfold", method=False, input="unfold(g, dim, size, step)")
def unfold_back(input: Tensor, shape: Any, dim: int, size: int, step: int) -> Tensor:
    """Zeros of ``shape`` to which the windows are added: the gradient of ``unfold``."""
    if not shape:
        return input.sum()
    d = dimension(dim, len(shape))
    found = np.zeros_like(input, shape=shape)
    windows = np.moveaxis(input, -1, 0)
    span = step * ((shape[d] - size) // step) + 1
    for i in range(size):  # the i-th entries of all windows lie ``step`` apart
        stretch(found, d, i, i + span, step)[...] += windows[i]
    return found


@op(
    node="AsStridedBackward0",
    symbol="strides",
    kind=VIEW,
    method=False,
    input="as_strided_back(g, home, size, stride, storage_offset)",
)
def as_strided_in(input: Tensor, size: Any, stride: Any, storage_offset: int, home: Any) -> Tensor:
    """The memory at any strides; ``home`` is the geometry of ``input``, from which its memory is found."""
    return restride(input, size, stride, storage_offset - home.offset)


@derivative_helper
def as_strided_back(g: Any, home: Geometry, size: Any, stride: Any, offset: int) -> Any:
    """The gradient of ``as_strided``: that of the memory, added up where elements overlap, read as the input lies.

    Where elements of the input overlap, each gets an equal share.
    """
    length, inside, read, share = _overlap(array_of(g), home, Geometry(size, stride, offset))
    memory = index_back(g, (length,), (read,))  # type: ignore[name-defined]  # noqa: F821
    found = index(memory, (inside,))  # type: ignore[name-defined]  # noqa: F821
    if share is not None:
        found = found * (wrap(share) if isinstance(found, Tensor) else share)
    return found


def _overlap(g: Any, home: Geometry, view: Geometry) -> tuple[int, Any, Any, Any]:
    """How long the memory is, where the elements of the input and of the view are, and the shares of the former."""
    length, inside, share = max(home.end(), view.end()), places(home, g), None
    if any(s == 0 and n > 1 for n, s in zip(home.shape, home.strides, strict=True)):
        share = (1 / np.bincount(inside.reshape((-1,)), minlength=length)[inside]).astype(g.dtype)
    return length, inside, places(view, g), share


# -- several parts ---------------------------------------------------------------------------------------------------


@op(node="UnbindBackward0", symbol="unbind", kind=VIEW, many=True, input="restack(g, input.shape, dim)")
def unbind(input: Tensor, dim: int = 0) -> Any:
    """The slices along one dimension, which goes away, as a tuple; the memory is shared.

    >>> import nbautograd as torch
    >>> torch.tensor([[1, 2], [3, 4]]).unbind()
    (tensor([1, 2]), tensor([3, 4]))
    """
    d = dimension(dim, input.ndim)
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return [part(input, d, i) for i in range(input.shape[d])]


def _filled(parts: list[Any], shapes: list[tuple[int, ...]]) -> list[Any]:
    """The gradients of several parts, zeros for those that did not arrive."""
    known = next(p for p in parts if p is not None)
    found = []
    for p, shape in zip(parts, shapes, strict=True):
        if p is None:
            p = np.zeros_like(array_of(known), shape=shape)
            p = wrap(p) if isinstance(known, Tensor) else p
        found.append(p)
    return found


def restack(parts: list[Any], shape: tuple[int, ...], dim: int) -> Any:
    """The gradient of ``unbind``: those of its parts, zeros for the missing ones, stacked."""
    from nbautograd.ops.shape.joining import stack

    d = dimension(dim, len(shape))
    filled = _filled(parts, [(*shape[:d], *shape[d + 1 :])] * len(parts))
    return stack(filled, d) if isinstance(filled[0], Tensor) else np.stack(filled, d)


def parts_of(a: Any, sections: Sequence[int], d: int) -> list[Any]:
    """Parts of the given lengths along one dimension of an array."""
    return [stretch(a, d, start, stop) for start, stop in pairwise(accumulate(sections, initial=0))]


@op(
    node="SplitBackward0",
    symbol="split",
    kind=VIEW,
    many=True,
    method=False,
    input="rejoin(g, input.shape, sections, dim)",
)
def split_evenly(input: Tensor, sections: Any, dim: int) -> Any:
    """Parts of one length, the last excepted, along one dimension; the memory is shared."""
    return parts_of(input, sections, dim)


@op(
    node="SplitWithSizesBackward0",
    symbol="split",
    kind=VIEW,
    many=True,
    method=False,
    input="rejoin(g, input.shape, sections, dim)",
)
def split_at(input: Tensor, sections: Any, dim: int) -> Any:
    """Parts of the given lengths along one dimension; the memory is shared."""
    return parts_of(input, sections, dim)


@op(
    node="UnsafeSplitBackward0",
    symbol="split",
    many=True,
    method=False,
    half=NATIVE,
    input="rejoin(g, input.shape, sections, dim)",
)
def split_apart(input: Tensor, sections: Any, dim: int) -> Any:
    """Parts of one length, the last excepted, that autograd takes for tensors of their own."""
    return parts_of(input, sections, dim)


@op(
    node="UnsafeSplitWithSizesBackward0",
    symbol="split",
    many=True,
    method=False,
    half=NATIVE,
    input="rejoin(g, input.shape, sections, dim)",
)
def split_apart_at(input: Tensor, sections: Any, dim: int) -> Any:
    """Parts of the given lengths that autograd takes for tensors of their own."""
    return parts_of(input, sections, dim)


def rejoin(parts: list[Any], shape: tuple[int, ...], sections: Sequence[int], dim: int) -> Any:
    """The gradient of ``split``: those of its parts, zeros for the missing ones, joined."""
    from nbautograd.ops.shape.joining import cat_same

    filled = _filled(parts, [(*shape[:dim], n, *shape[dim + 1 :]) for n in sections])
    return cat_same(filled, dim) if isinstance(filled[0], Tensor) else np.concatenate(filled, dim)


def _length(input: Tensor, dim: int, name: str) -> tuple[int, int]:
    """The dimension, from the front, and its length."""
    if input._a.ndim == 0:
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")
    d = dimension(dim, input._a.ndim)
    return d, input._a.shape[d]


def _even(step: Any, n: int, name: str) -> list[int]:
    """How long the parts are where a dimension of length ``n`` is split in parts of ``step``."""
    step = as_int(step, f"{name}(): argument 'split_size'")
    if step < 0:
        raise RuntimeError(f"{name} expects split_size be non-negative, but got split_size={step}")
    if step == 0 and n:
        raise RuntimeError(
            f"{name} expects split_size > 0 unless the dimension has length 0: split_size can only be 0 if dimension "
            f"size is 0, but got dimension size of {n}"
        )
    return [min(step, n - i) for i in range(0, n, step)] if n else [0]


def _given(sizes: Sequence[int], n: int, d: int) -> list[int]:
    """The lengths of the parts, once they are known to fit."""
    found = [as_int(size, "split_with_sizes(): argument 'split_sizes'") for size in sizes]
    if sum(found) != n or min(found, default=0) < 0:
        what = "sum exactly to" if min(found, default=0) >= 0 else "have only non-negative entries and sum to"
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to {what} {n} (input tensor's size at dimension {d}), but got "
            f"split_sizes={found}"
        )
    return found


@composite()
def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of a length (the last may be shorter), or of several lengths, along one dimension.

    :raises RuntimeError: the lengths do not sum to that of the dimension.

    >>> import nbautograd as torch
    >>> torch.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if isinstance(split_size_or_sections, (tuple, list)):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    d, n = _length(tensor, dim, "split")
    found: tuple[Tensor, ...] = split_evenly(tensor, _even(split_size_or_sections, n, "split"), d)
    return found


Tensor.split = lambda self, split_size, dim=0: split(self, split_size, dim)


@composite()
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of the given lengths along one dimension.

    :raises RuntimeError: the lengths do not sum to that of the dimension.

    >>> import nbautograd as torch
    >>> torch.arange(3).split_with_sizes([1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    d, n = _length(input, dim, "split_with_sizes")
    found: tuple[Tensor, ...] = split_at(input, _given(split_sizes, n, d), d)
    return found


def _chunks(input: Tensor, chunks: int, dim: int) -> tuple[int, list[int]]:
    """The dimension, and the lengths of at most ``chunks`` parts."""
    d, n = _length(input, dim, "chunk")
    if as_int(chunks, "chunk(): argument 'chunks'") <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return d, _even(-(-n // chunks), n, "chunk") if n else [0] * chunks


@composite()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` parts of equal length (the last may be shorter) along one dimension.

    :raises RuntimeError: ``chunks`` is not positive.

    >>> import nbautograd as torch
    >>> torch.arange(5).chunk(2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    d, sections = _chunks(input, chunks, dim)
    found: tuple[Tensor, ...] = (split_evenly if input._a.shape[d] else split_at)(input, sections, d)
    return found


@composite()
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """``split`` whose parts may be written to in place, on the promise that the whole is not used any more.

    >>> import nbautograd as torch
    >>> torch.unsafe_split(torch.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    d, n = _length(input, dim, "split")
    found: tuple[Tensor, ...] = split_apart(input, _even(split_size, n, "split"), d)
    return found


@composite()
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """``split_with_sizes`` whose parts may be written to in place, if the whole is not used any more.

    >>> import nbautograd as torch
    >>> torch.unsafe_split_with_sizes(torch.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    d, n = _length(input, dim, "split_with_sizes")
    found: tuple[Tensor, ...] = split_apart_at(input, _given(split_sizes, n, d), d)
    return found


@composite()
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """``chunk`` whose parts may be written to in place, if the whole is not used any more.

    >>> import nbautograd as torch
    >>> torch.unsafe_chunk(torch.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    d, sections = _chunks(input, chunks, dim)
    found: tuple[Tensor, ...] = (split_apart if input._a.shape[d] else split_apart_at)(input, sections, d)
    return found


@with_argument_errors
def tensor_split(
    input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> tuple[Tensor, ...]:
    """Parts along one dimension: a number of nearly equal ones, or cut at the given indices.

    :param indices_or_sections: how many parts, or where to cut; also as a tensor on the CPU.
    :raises RuntimeError: the tensor is 0-d, or the number is not positive.

    >>> import nbautograd as torch
    >>> torch.tensor_split(torch.arange(5), 3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    >>> torch.tensor_split(torch.arange(5), (1, 3))
    (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    given = next((v for v in (indices_or_sections, indices, sections) if v is not None), None)
    d, n = _length(input, dim, "tensor_split")
    if isinstance(given, Tensor):
        if given._a.ndim > 1 or str(given.dtype) != "torch.int64":
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor "
                f"of dtype int64 on the CPU, but got one of {given._a.ndim} dimensions and {given.dtype}"
            )
        given = given.tolist()
    if not isinstance(given, (tuple, list)):
        count = as_int(given, "tensor_split(): argument 'indices_or_sections'")
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        small, longer = divmod(n, count)
        given = list(accumulate([small + (i < longer) for i in range(count - 1)]))
    cuts = [0, *(as_int(i, "tensor_split(): an index") for i in given), n]
    return tuple(_between(input, d, start, stop) for start, stop in pairwise(cuts))


def _between(input: Tensor, d: int, start: int, stop: int) -> Tensor:
    n = input._a.shape[d]
    first, last = (min(max(i + n * (i < 0), 0), n) for i in (start, stop))
    return slice_(input, d, first, max(first, last), 1)


alias(tensor_split=tensor_split)


def _splitter(name: str, least: int, dim_of: Any, doc: str) -> Any:
    def splits(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        check_tensors(name, input=input)
        n = input._a.ndim
        if n < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension{'s' * (least > 1)}, but got a tensor "
                f"with {n} dimensions!"
            )
        d = dim_of(n)
        if isinstance(indices_or_sections, int):
            if indices_or_sections <= 0:
                raise RuntimeError(f"number of sections must be larger than 0, got {indices_or_sections}")
            if input._a.shape[d] % indices_or_sections:
                raise RuntimeError(
                    f"torch.{name} attempted to split along dimension {d}, but the size of the dimension "
                    f"{input._a.shape[d]} is not divisible by the split_size {indices_or_sections}!"
                )
        return tensor_split(input, indices_or_sections, d)

    splits.__name__ = splits.__qualname__ = name
    splits.__doc__ = doc
    setattr(Tensor, name, splits)
    return splits


hsplit = _splitter(
    "hsplit",
    1,
    lambda n: 0 if n == 1 else 1,
    """Parts side by side: along dimension 1, or 0 of a vector; a number of equal ones, or cut at the given indices.

    :raises RuntimeError: the length is not divisible by the number.

    >>> import nbautograd as torch
    >>> torch.hsplit(torch.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """,
)
vsplit = _splitter(
    "vsplit",
    2,
    lambda n: 0,
    """Parts one below the other, along dimension 0; a number of equal ones, or cut at the given indices.

    :raises RuntimeError: the length is not divisible by the number.

    >>> import nbautograd as torch
    >>> torch.vsplit(torch.tensor([[1], [2]]), 2)
    (tensor([[1]]), tensor([[2]]))
    """,
)
dsplit = _splitter(
    "dsplit",
    3,
    lambda n: 2,
    """Parts along dimension 2; a number of equal ones, or cut at the given indices.

    :raises RuntimeError: the length is not divisible by the number.

    >>> import nbautograd as torch
    >>> torch.dsplit(torch.tensor([[[1, 2]]]), 2)
    (tensor([[[1]]]), tensor([[[2]]]))
    """,
)
