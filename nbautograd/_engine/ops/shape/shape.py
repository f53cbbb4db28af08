"""Reshaping: ``view``, ``reshape``, ``flatten``, ``squeeze``, ``unsqueeze``; copies: ``clone``, ``contiguous``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes, memory_format as memory_formats, strides as stride_tools
from nbautograd._engine.arrays.memory_format import channels_last, channels_last_3d, contiguous_format, preserve_format
from nbautograd._engine.arrays.size import Ints, by_name, dimension, sizes
from nbautograd._engine.arrays.strides import restride, strides_of
from nbautograd._engine.compiler.op import NATIVE, OPS, VIEW, composite, no_method, op
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.queries import method_of_tensor
from nbautograd.errors import ShapeError, kind_of

__all__ = ["clone", "flatten", "ravel", "squeeze", "unflatten", "unsqueeze"]


def inferred(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return ``shape`` with -1 replaced by the size that is inferred from the number of elements.

    :raises RuntimeError: the shape is invalid for that number.

    >>> inferred((2, -1), 6)
    (2, 3)
    """
    unknown = shape.count(-1)
    if unknown > 1:
        raise ShapeError("only one dimension can be inferred")
    if min(shape, default=0) < -1:
        raise ShapeError(f"invalid shape dimension {min(shape)}")
    if unknown:
        known = -math.prod(shape)  # one factor is -1
        if known == 0 and size == 0:
            raise ShapeError(
                f"cannot reshape tensor of {size} elements into shape {list(shape)} because the unspecified dimension "
                "size -1 can be any value and is ambiguous"
            )
        if known and size % known == 0:
            return tuple(size // known if n == -1 else n for n in shape)
    elif math.prod(shape) == size:
        return shape
    raise ShapeError(f"shape '{list(shape)}' is invalid for input of size {size}")


def _is_plain(a: Any) -> bool:
    """Return whether NumPy's reshape gives PyTorch's strides: row-major, and no dimension of size 1."""
    return a.flags.c_contiguous and a.size and 1 not in a.shape


@no_method(symbol="view", kind=VIEW, input="g.reshape(input.shape)")
def view(input: Tensor, *shape: int) -> Tensor:
    """Return a view with another shape; one size may be -1, which is inferred."""
    result = inferred(shape, input.size)
    if _is_plain(input) and 1 not in result:
        return input.reshape(result)
    strides = stride_tools.view_strides((input.shape, strides_of(input)), result)
    if strides is None:
        raise ShapeError(
            f"view size is not compatible with input tensor's size and stride: a tensor of shape {list(input.shape)} "
            f"and strides {list(strides_of(input))} has no view of shape {list(result)}, since at least one dimension "
            "would span two runs of memory. Use .reshape(...) instead, which copies."
        )
    return restride(input, result, strides)


_temporary_view = OPS["view"].temporary_view


def temporarily_reshaped(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return ``reshape`` for a single use inside an operation, where no one can observe that it is a view."""
    try:
        return _temporary_view(input, shape)
    except ShapeError:
        return reshape_copy(input, shape)


@no_method(symbol="view", kind=VIEW)
def view_dtype(input: Tensor, dtype: Any) -> Tensor:
    """Return a view whose bytes are reinterpreted as another (NumPy) dtype."""
    have, want = input.itemsize, dtype.itemsize
    if have == want:
        return input.view(dtype)
    names = f"{dtypes.scalar_type(input.dtype)} as {dtypes.scalar_type(dtype)}"
    reason = f"to view {names} (different element sizes)"
    strides = strides_of(input)
    if not input.ndim:
        raise ShapeError(f"self.dim() cannot be 0 {reason}")
    if strides[-1] != 1:
        raise ShapeError(f"self.stride(-1) must be 1 {reason}, but got {strides[-1]}")
    if have > want:
        ratio = have // want
        result = (tuple(n * ratio for n in input.shape[-1:]), tuple(s * ratio for s in strides[:-1]))
    else:
        ratio = want // have
        for what, numbers in (
            ("self.size(-1)", input.shape[-1:]),
            ("self.storage_offset()", (stride_tools.offset_of(input),)),
            ("self.stride()", strides[:-1]),
        ):
            for n in numbers:
                if n % ratio:
                    raise ShapeError(f"{what} must be divisible by {ratio} {reason}, but got {n}")
        result = (tuple(n // ratio for n in input.shape[-1:]), tuple(s // ratio for s in strides[:-1]))
    return _reread(input, dtype, (*input.shape[:-1], *result[0]), (*result[1], 1))


def _reread(a: Any, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """Return the memory of ``a`` reinterpreted as another dtype, with a shape and strides."""
    if not a.size:
        return restride(np.empty_like(a, dtype, shape=(1,)), shape, strides)
    line = restride(a, (max(1, dtype.itemsize // a.itemsize),), (1,))
    return restride(line.view(dtype), shape, strides)


@method_of_tensor("view", "view")
def _view(self: Tensor, *shape: Any, dtype: Any = None, size: Any = None) -> Tensor:
    """Return a view with another shape, one size of which may be -1, or with the bytes reinterpreted as another dtype.

    :param shape: integers, or one sequence of them; or a dtype.
    :param dtype: a dtype, by name.
    :param size: the shape, by name.
    :raises RuntimeError: the shape has another number of elements, or the strides do not allow a view (use ``reshape``
        instead).

    >>> torch.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    >>> torch.tensor([1.]).view(torch.int32)
    tensor([1065353216], dtype=torch.int32)
    """
    if not shape and dtype is None and size is None:
        raise TypeError("view() missing 1 required positional argument: 'size'")
    if shape and isinstance(shape[0], (dtypes.dtype, type)):
        dtype = shape[0]
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
        if not isinstance(dtype, dtypes.dtype):
            raise TypeError(f"view(): argument 'dtype' must be torch.dtype, not {kind_of(dtype)}")
        return view_dtype(self, dtype.numpy)
    return view(self, *(shape if size is None else by_name(size, "size", shape)))


@no_method(node="UnsafeViewBackward0", symbol="view", half=NATIVE, input="g.reshape(input.shape)")
def reshape_copy(input: Tensor, shape: Any) -> Tensor:
    """Return a copy with another shape, where the strides do not allow a view."""
    return input.reshape(shape).copy() if input.size else input.reshape(shape)


@no_method(symbol="view", half=NATIVE, input="g.reshape(input.shape)")
def unsafe_view(input: Tensor, shape: Any) -> Tensor:
    """Return a new result reshaped, which is not recorded as a view."""
    return input.reshape(shape)


@composite()
def reshape(input: Tensor, *_shape: Any, shape: Ints = None) -> Tensor:
    """Return the tensor with another shape: a view where the strides allow it, otherwise a copy.

    :param shape: one size may be -1, which is inferred.
    :raises RuntimeError: the shape has another number of elements.

    >>> torch.arange(4).reshape((2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    wanted = sizes(_shape if shape is None else by_name(shape, "shape", _shape), "shape", "reshape")
    size = inferred(wanted, input.numel())
    try:
        result = view(input, size)
    except ShapeError:
        return reshape_copy(input, size)
    if result._fn is not None and not input._a.flags.c_contiguous:
        result._fn.__class__ = renamed(result._fn.__class__, "ReshapeAliasBackward0")
    return result


@cache
def renamed(cls: type, name: str) -> type:
    """Return a node's class under another name."""
    return type(name, (cls,), {"__slots__": (), "__module__": cls.__module__})


@composite()
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """Return a view with the shape of ``other``.

    >>> torch.arange(4).view_as(torch.ones(2, 2)).shape
    torch.Size([2, 2])
    """
    return view(input, other._a.shape)


@composite()
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """Return the tensor reshaped to the shape of ``other``.

    >>> torch.arange(4).reshape_as(torch.ones(2, 2)).shape
    torch.Size([2, 2])
    """
    return reshape(input, other._a.shape)


@composite()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Return the dimensions from ``start_dim`` to ``end_dim`` flattened into one; a view where possible.

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
    """Return the tensor flattened to one dimension; a view where possible.

    >>> torch.ones(2, 2).ravel()
    tensor([1., 1., 1., 1.])
    """
    return view(contiguous(input), input.numel())


@composite()
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Return a view with one dimension expanded into several: the inverse of ``flatten``.

    :raises RuntimeError: the sizes do not multiply up to the length of the dimension.

    >>> torch.ones(6).unflatten(0, (2, 3)).shape
    torch.Size([2, 3])
    """
    shape = input._a.shape
    d = dimension(dim, len(shape))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if not shape:
        raise RuntimeError("unflatten: Dimension specified as 0 but tensor has no dimensions")
    try:
        parts = inferred(tuple(sizes), shape[d])
    except ShapeError as error:
        raise ShapeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({shape[d]}) in the "
            f"input tensor: {error}"
        ) from None
    return view(input, (*shape[:d], *parts, *shape[d + 1 :]))


# -- dimensions of size 1 --------------------------------------------------------------------------------------------


@op(symbol="unsqueeze", kind=VIEW, input="g.reshape(input.shape)")
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Return a view with a dimension of size 1 inserted at ``dim``.

    >>> torch.ones(3).unsqueeze(0).shape
    torch.Size([1, 3])
    """
    d = dimension(dim, input.ndim + 1)
    shape = input.shape
    if _is_plain(input):
        return input.reshape((*shape[:d], 1, *shape[d:]))
    strides = strides_of(input)
    step = shape[d] * strides[d] if d < input.ndim else 1
    return restride(input, (*shape[:d], 1, *shape[d:]), (*strides[:d], step, *strides[d:]))


def without(a: Any, gone: Any) -> Any:
    """Return an array without the dimensions in ``gone`` that have size 1."""
    if a.size:
        view = a.squeeze(tuple(d for d in gone if a.shape and a.shape[d] == 1))
        return a.view() if view is a else view  # NumPy returns the array itself if there is nothing to squeeze
    left = [d for d, n in enumerate(a.shape) if n != 1 or d not in gone]
    strides = strides_of(a)
    return restride(a, tuple(a.shape[d] for d in left), tuple(strides[d] for d in left))


@no_method(node="SqueezeBackward0", symbol="squeeze", kind=VIEW, input="g.reshape(input.shape)")
def squeeze_all(input: Tensor) -> Tensor:
    """Remove all dimensions of size 1: ``squeeze()``."""
    return without(input, range(input.ndim))


@no_method(node="SqueezeBackward1", symbol="squeeze", kind=VIEW, input="g.reshape(input.shape)")
def squeeze_one(input: Tensor, dim: int) -> Tensor:
    """Remove one dimension if its size is 1: ``squeeze(dim)``."""
    return without(input, (dimension(dim, input.ndim),))


@no_method(node="SqueezeBackward4", symbol="squeeze", half=NATIVE, input="g.reshape(input.shape)")
def squeezed(input: Tensor, dim: int) -> Tensor:
    """Remove one dimension of a new result, which is not recorded as a view."""
    return without(input, (dimension(dim, input.ndim),))


@no_method(node="SqueezeBackward2", symbol="squeeze", kind=VIEW, input="g.reshape(input.shape)")
def squeeze_some(input: Tensor, dims: Any) -> Tensor:
    """Remove those of several dimensions that have size 1: ``squeeze(dims)``."""
    output = [dimension(d, input.ndim) for d in dims]
    for d in output:
        if output.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return without(input, output)


@composite()
def squeeze(input: Tensor, dim: Ints = None) -> Tensor:
    """Return a view without dimensions of size 1: all of them, or those in ``dim``.

    >>> torch.ones(1, 3, 1).squeeze().shape, torch.ones(1, 3, 1).squeeze(0).shape
    (torch.Size([3]), torch.Size([3, 1]))
    """
    if dim is None:
        return squeeze_all(input)
    return squeeze_some(input, dim) if isinstance(dim, (tuple, list)) else squeeze_one(input, dim)


# -- copies ----------------------------------------------------------------------------------------------------------


@op(symbol="clone", half=NATIVE, input="g")
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return a differentiable copy.

    :param memory_format: the memory format of the copy; by default that of ``input``.

    >>> x = torch.ones(2, requires_grad=True)
    >>> x.clone()
    tensor([1., 1.], grad_fn=<CloneBackward0>)
    """
    if memory_format is None and (input.ndim < 2 or input.flags.c_contiguous):
        return input.copy()
    if memory_format is None:
        return stride_tools.copied(input)
    result = stride_tools.empty(input, input.shape, stride_tools.strides_for(input, memory_format, "clone"))
    result[...] = input
    return result


@composite()
def contiguous(input: Tensor, memory_format: Any = contiguous_format) -> Tensor:
    """Return the tensor itself if it is contiguous in memory (row-major), otherwise a contiguous copy.

    :param memory_format: another order of dimensions: ``torch.channels_last`` or ``torch.channels_last_3d``.

    >>> torch.ones(2, 3).t().contiguous().is_contiguous()
    True
    """
    if is_contiguous(input, memory_format):
        return input
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return clone(input, memory_format=memory_format)


@method_of_tensor("is_contiguous")
def is_contiguous(self: Tensor, memory_format: Any = contiguous_format) -> bool:
    """Return whether the tensor is contiguous in memory: row-major without gaps, or in the order of ``memory_format``.

    :param memory_format: the requested order.
    :returns: a Python bool.
    :raises TypeError: ``memory_format`` is not a memory format.

    >>> x = torch.ones(2, 3)
    >>> x.is_contiguous(), x.t().is_contiguous()
    (True, False)
    """
    a = self._a
    if not isinstance(memory_format, memory_formats.memory_format):
        kind = type(memory_format).__name__
        raise TypeError(f"is_contiguous(): argument 'memory_format' must be torch.memory_format, not {kind}")
    if memory_format is contiguous_format or memory_format is preserve_format:
        return bool(a.flags.c_contiguous)
    if a.ndim != {channels_last: 4, channels_last_3d: 5}[memory_format]:
        return False
    sizes = zip(a.shape, strides_of(a), stride_tools.channels_last(a.shape), strict=True)
    return all(n == 1 or have == want for n, have, want in sizes)


@no_method(symbol="Re", input="cast_back(g, input.dtype)")
def real(input: Tensor) -> Tensor:
    """Return the real part as a copy, for formulas."""
    return input.real.copy()
