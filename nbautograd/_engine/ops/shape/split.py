"""Splitting a tensor along a dimension: ``split``, ``chunk``, ``tensor_split`` and variants."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from nbautograd._engine.arrays.size import as_int, dimension
from nbautograd._engine.compiler.op import NATIVE, VIEW, alias, composite, no_method, with_numpy_names
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import under_node
from nbautograd._engine.ops.queries import check_tensors, method_of_tensor
from nbautograd._engine.ops.shape.joining import cat_same, zeros_for_missing
from nbautograd._engine.ops.shape.slicing import slice_, stretch
from nbautograd.errors import kind_of


@no_method(node="SplitBackward0", symbol="split", kind=VIEW, many=True, input="rejoin(g, input.shape, sections, dim)")
def split_evenly(input: Tensor, sections: Any, dim: int) -> Any:
    """Return views of parts of the given sizes along a dimension."""
    return [stretch(input, dim, start, stop) for start, stop in pairwise(accumulate(sections, initial=0))]


@no_method(
    node="UnsafeSplitBackward0", symbol="split", many=True, half=NATIVE, input="rejoin(g, input.shape, sections, dim)"
)
def split_apart(input: Tensor, sections: Any, dim: int) -> Any:
    """Split like ``split_evenly``, but into parts that autograd does not treat as views."""
    return [stretch(input, dim, start, stop) for start, stop in pairwise(accumulate(sections, initial=0))]


split_at = under_node(split_evenly, "SplitWithSizesBackward0", "split_at")
split_apart_at = under_node(split_apart, "UnsafeSplitWithSizesBackward0", "split_apart_at")


def rejoin(parts: list[Any], shape: tuple[int, ...], sections: Sequence[int], dim: int) -> Any:
    """Return the gradient of ``split``: the outputs' gradients concatenated, zeros for undefined ones."""
    filled = zeros_for_missing(parts, [(*shape[:dim], n, *shape[dim + 1 :]) for n in sections])
    return cat_same(filled, dim) if isinstance(filled[0], Tensor) else np.concatenate(filled, dim)


def _length(input: Tensor, dim: int, name: str) -> tuple[int, int]:
    """Return the non-negative dimension and its size."""
    if input._a.ndim == 0:
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")
    d = dimension(dim, input._a.ndim)
    return d, input._a.shape[d]


def _even(step: Any, n: int, name: str) -> list[int]:
    """Return the sizes of the parts of a dimension of size ``n`` that is split in parts of ``step``."""
    step = as_int(step, f"{name}(): argument 'split_size'")
    if step < 0:
        raise RuntimeError(f"{name} expects split_size be non-negative, but got split_size={step}")
    if step == 0 and n:
        raise RuntimeError(
            f"{name} expects split_size > 0 unless the dimension has length 0: split_size can only be 0 if dimension "
            f"size is 0, but got dimension size of {n}"
        )
    return [step] * (n // step) + [n % step] * (n % step > 0) if n else [0]


def _given(sizes: Sequence[int], n: int, d: int) -> list[int]:
    """Check the sizes of the parts, which must sum to ``n``, and return them."""
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(
            f"split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not {kind_of(sizes)}"
        )
    output = [as_int(size, "split_with_sizes(): argument 'split_sizes'") for size in sizes]
    if sum(output) != n or min(output, default=0) < 0:
        what = "sum exactly to" if min(output, default=0) >= 0 else "have only non-negative entries and sum to"
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to {what} {n} (input tensor's size at dimension {d}), but got "
            f"split_sizes={output}"
        )
    return output


@composite()
def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Return views of the parts of a tensor along a dimension.

    :param split_size_or_sections: the size of every part (the last may be smaller), or a list of sizes.
    :raises RuntimeError: the sizes do not sum to that of the dimension.

    >>> torch.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if isinstance(split_size_or_sections, (tuple, list)):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    d, n = _length(tensor, dim, "split")
    return split_evenly(tensor, _even(split_size_or_sections, n, "split"), d)


@method_of_tensor("split", "split")
def _split(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Return views of parts of ``split_size`` (the last may be smaller), or of the given sizes, along a dimension.

    :param split_size: the length of each part, or a list of lengths.
    :param dim: the dimension, counted from the end if negative.
    :returns: a tuple of tensors.
    :raises RuntimeError: a size is negative, or the sizes do not sum to that of the dimension.
    :raises IndexError: ``dim`` is out of range.

    >>> torch.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return split(self, split_size, dim)


@composite()
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Return views of parts of the given sizes along a dimension.

    :raises RuntimeError: the sizes do not sum to that of the dimension.

    >>> torch.arange(3).split_with_sizes([1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    d, n = _length(input, dim, "split_with_sizes")
    return split_at(input, _given(split_sizes, n, d), d)


def _chunks(input: Tensor, chunks: int, dim: int) -> tuple[int, list[int]]:
    """Return the non-negative dimension, and the sizes of at most ``chunks`` parts."""
    d, n = _length(input, dim, "chunk")
    if as_int(chunks, "chunk(): argument 'chunks'") <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return d, _even(-(-n // chunks), n, "chunk") if n else [0] * chunks


@composite()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Return views of at most ``chunks`` parts of equal size (the last may be smaller) along a dimension.

    :raises RuntimeError: ``chunks`` is not positive.

    >>> torch.arange(5).chunk(2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    d, sections = _chunks(input, chunks, dim)
    return (split_evenly if input._a.shape[d] else split_at)(input, sections, d)


@composite()
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split like ``split``; the parts may be modified in place, if the tensor itself is not used afterwards.

    >>> torch.unsafe_split(torch.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    d, n = _length(input, dim, "split")
    return split_apart(input, _even(split_size, n, "split"), d)


@composite()
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split like ``split_with_sizes``; the parts may be modified in place, if the tensor itself is not used afterwards.

    >>> torch.unsafe_split_with_sizes(torch.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    d, n = _length(input, dim, "split_with_sizes")
    return split_apart_at(input, _given(split_sizes, n, d), d)


@composite()
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split like ``chunk``; the parts may be modified in place, if the tensor itself is not used afterwards.

    >>> torch.unsafe_chunk(torch.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    d, sections = _chunks(input, chunks, dim)
    return (split_apart if input._a.shape[d] else split_apart_at)(input, sections, d)


@with_numpy_names
def tensor_split(
    input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> tuple[Tensor, ...]:
    """Return views of parts along a dimension: a number of nearly equal ones, or split at the given indices.

    :param indices_or_sections: the number of parts, or the indices to split at; or a CPU tensor with them.
    :raises RuntimeError: the tensor is 0-d, or the number is not positive.

    >>> torch.tensor_split(torch.arange(5), 3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    >>> torch.tensor_split(torch.arange(5), (1, 3))
    (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    where = next((v for v in (indices_or_sections, indices, sections) if v is not None), None)
    d, n = _length(input, dim, "tensor_split")
    if isinstance(where, Tensor):
        if where._a.ndim > 1 or str(where.dtype) != "torch.int64":
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor "
                f"of dtype int64 on the CPU, but got one of {where._a.ndim} dimensions and {where.dtype}"
            )
        where = where.tolist()
    if not isinstance(where, (tuple, list)):
        count = as_int(where, "tensor_split(): argument 'indices_or_sections'")
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        small, longer = divmod(n, count)
        where = list(accumulate(([small + 1] * longer + [small] * (count - longer))[:-1]))
    cuts = [0, *(as_int(i, "tensor_split(): an index") for i in where), n]
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
        if not isinstance(indices_or_sections, (tuple, list)) and not getattr(indices_or_sections, "ndim", 0):
            indices_or_sections = as_int(indices_or_sections, f"{name}(): argument 'sections'")
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
    return composite(names="sections=indices_or_sections indices=indices_or_sections")(splits)


hsplit = _splitter(
    "hsplit",
    1,
    lambda n: 0 if n == 1 else 1,
    """Return views of parts split horizontally: along dimension 1 (0 of a vector), in equal parts or at indices.

    :raises RuntimeError: the length is not divisible by the number.

    >>> torch.hsplit(torch.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """,
)
vsplit = _splitter(
    "vsplit",
    2,
    lambda n: 0,
    """Return views of parts split vertically: along dimension 0, in equal parts or at indices.

    :raises RuntimeError: the length is not divisible by the number.

    >>> torch.vsplit(torch.tensor([[1], [2]]), 2)
    (tensor([[1]]), tensor([[2]]))
    """,
)
dsplit = _splitter(
    "dsplit",
    3,
    lambda n: 2,
    """Return views of parts split depthwise: along dimension 2, in equal parts or at indices.

    :raises RuntimeError: the length is not divisible by the number.

    >>> torch.dsplit(torch.tensor([[[1, 2]]]), 2)
    (tensor([[[1]]]), tensor([[[2]]]))
    """,
)
