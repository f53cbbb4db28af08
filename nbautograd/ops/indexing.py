"""``x[...]`` and ``x[...] = ...``, gathering and scattering."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd import backend, dtypes
from nbautograd.declare import OPS, composite, op
from nbautograd.errors import ShapeError
from nbautograd.inplace import check_writable, rebase, store
from nbautograd.ops.creation import copy, tensor
from nbautograd.ops.shape import select, slice_, unsqueeze, view
from nbautograd.size import dimension
from nbautograd.storage import record_write
from nbautograd.tensor import Tensor, array_of, wrap

__all__ = [
    "gather",
    "index_select",
    "masked_fill",
    "masked_select",
    "nonzero",
    "scatter",
    "scatter_add",
    "take",
    "take_along_dim",
]

Number = int | float | complex | bool


_NO_DTYPE = np.dtype(object)  # stands for what has no dtype


# -- reading ---------------------------------------------------------------------------------------------------------


def _items(x: Tensor, key: Any) -> list[Any]:
    """The parts of an index, one per dimension (and None for new ones), the ellipsis written out."""
    items = list(key) if isinstance(key, tuple) else [key]
    used = sum(_width(item) for item in items)
    n = x._a.ndim
    if used > n:
        raise IndexError(f"too many indices for tensor of dimension {n}")
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    for i in reversed(dots):  # the first stands for all dimensions that are left, further ones for none
        items[i : i + 1] = [slice(None)] * (n - used if i == dots[0] else 0)
    return items


def _width(item: Any) -> int:
    """How many dimensions a part of an index uses up."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, (Tensor, np.ndarray)) and str(item.dtype).endswith("bool"):
        return int(item.ndim)
    return 1


def _is_basic(item: Any) -> bool:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return True
    if isinstance(item, (bool, np.bool_)):
        return False
    if isinstance(item, Tensor):
        return item._a.ndim == 0 and item._a.dtype.kind in "iu"
    return isinstance(item, (int, np.integer))


def _index_array(item: Any, like: Tensor) -> Any:
    """A part of an index as an array, or as it is where it is basic."""
    if isinstance(item, slice) or item is None:
        return item
    if isinstance(item, Tensor):
        if item._a.dtype.kind not in "iub":
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        here = backend.device_of(item._a) == like.device
        return item._a if here else backend.module(like.device).asarray(backend.fetch(item._a))
    if isinstance(item, (list, tuple, range, np.ndarray)):
        found = np.asarray(item)
        if found.size == 0:
            found = found.astype(np.int64)
        if found.dtype.kind not in "iub":
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return backend.module(like.device).asarray(found)
    if isinstance(item, (bool, np.bool_, int, np.integer)):
        return item
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
        f"(got {type(item).__name__})"
    )


def _get(x: Tensor, key: Any) -> Tensor:
    """``x[key]``: a view for integers, slices, None and the ellipsis, otherwise a copy of the chosen elements."""
    if key.__class__ is int:
        return select(x, 0, key)
    whole = key is Ellipsis or isinstance(key, tuple) and not key
    if whole:
        return view_alias(x)
    items = _items(x, key)
    if all(_is_basic(item) for item in items):
        return _basic(x, items)
    return _advanced(x, items)


def _basic(x: Tensor, items: list[Any]) -> Tensor:
    """One view after another, as PyTorch does it, so that the graph shows each."""
    dim = 0
    for item in items:
        if item is None:
            x = unsqueeze(x, dim)
            dim += 1
        elif isinstance(item, slice):
            if item != slice(None) or len(items) == 1:
                x = slice_(x, dim, *_bounds(item, x._a.shape[dim]))
            dim += 1
        else:
            x = select(x, dim, int(item))
    return x


def _bounds(item: slice, length: int) -> tuple[int, int, int]:
    step = 1 if item.step is None else int(item.step)
    if step <= 0:
        raise ValueError("step must be greater than zero")
    start, stop, _ = slice(*(None if v is None else int(v) for v in (item.start, item.stop))).indices(length)
    return start, max(start, stop), step


def view_alias(x: Tensor) -> Tensor:
    """The tensor under another name, sharing its memory."""
    return _alias(x)


@op(node="AliasBackward0", symbol="alias", kind="view", method=False, input="g")
def _alias(input: Tensor) -> Tensor:
    """The same memory."""
    return input.view()


def _advanced(x: Tensor, items: list[Any]) -> Tensor:
    key = tuple(_index_array(item, x) for item in items)
    _check_bounds(key, x._a.shape)
    return index(x, key)


def _check_bounds(key: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    """Make sure that indices are in range and masks fit.

    :raises IndexError: one is not.
    """
    dim = 0
    for item in key:
        if item is None or isinstance(item, (bool, np.bool_)):
            continue
        if hasattr(item, "dtype") and item.dtype.kind == "b":
            for i, n in enumerate(item.shape):
                if n != shape[dim + i]:
                    raise IndexError(
                        f"The shape of the mask {list(item.shape)} at index {i} does not match the shape of the "
                        "indexed "
                        f"tensor {list(shape)} at index {dim + i}"
                    )
            dim += item.ndim
            continue
        if not isinstance(item, slice):
            low, high = (item, item) if isinstance(item, int) else (item.min(), item.max()) if item.size else (0, -1)
            if low <= high and (low < -shape[dim] or high >= shape[dim]):
                bad = int(high if high >= shape[dim] else low)
                raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {shape[dim]}")
        dim += 1


@op(node="IndexBackward0", symbol="index", method=False, input="index_back(g, input.shape, key)")
def index(input: Tensor, key: Any) -> Tensor:
    """The elements chosen by arrays of indices or a mask, copied."""
    return input[tuple(array_of(item) for item in key)]


@op(node="IndexBackwardBackward0", symbol="index", method=False, input="index(g, key)")
def index_back(input: Tensor, shape: Any, key: Any) -> Tensor:
    """Zeros of ``shape`` to which ``input`` is added where ``index`` looked: its gradient."""
    found = np.zeros_like(input, shape=shape)
    key = tuple(array_of(item) for item in key)
    masks = all(getattr(item, "dtype", _NO_DTYPE).kind == "b" for item in key)
    if masks:
        found[key] = input  # a mask names no element twice
    else:
        backend.add_at(found, key, input)
    return found


Tensor.__getitem__ = _get


# -- writing ---------------------------------------------------------------------------------------------------------


def _set(x: Tensor, key: Any, value: Any) -> None:
    """``x[key] = value``, recorded where x or value requires grad."""
    items = [] if key is Ellipsis or isinstance(key, tuple) and not key else _items(x, key)
    if not isinstance(value, Tensor):
        value = tensor(value, dtype=x.dtype if isinstance(value, (int, float, complex)) else None, device=x.device)
    if all(_is_basic(item) for item in items):
        part = _basic(x, items) if items else x
        check_writable(part, "index assignment")
        store(part, copy(part, _fitting(value, part._a.shape)))
        return
    key = tuple(_index_array(item, x) for item in items)
    _check_bounds(key, x._a.shape)
    check_writable(x, "index assignment")
    result = index_put(x, value, key)
    x.shared_array()[...] = result._a
    record_write(x._a)
    if result._fn is not None:
        rebase(x, result._fn)


def _fitting(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The value without leading dimensions of length 1 that its target lacks, once it is known to broadcast."""
    have = value._a.shape
    while len(have) > len(shape) and have[0] == 1:
        have = have[1:]
    padded = (1,) * (len(shape) - len(have)) + have
    if len(have) > len(shape) or any(n not in (1, m) for n, m in zip(padded, shape, strict=True)):
        raise ShapeError(
            f"shape mismatch: value tensor of shape {list(value._a.shape)} cannot be broadcast to "
            "indexing result of shape "
            f"{list(shape)}"
        )
    return value if have == value._a.shape else view(value, have)


@op(
    node="IndexPutBackward0",
    symbol="[…]=",
    method=False,
    input="zero_at(g, key)",
    values="cast_back(sum_to(index(g, key), values.shape), values.dtype)",
)
def index_put(input: Tensor, values: Tensor, key: Any) -> Tensor:
    """A copy of ``input`` with the elements at ``key`` replaced."""
    found = input.copy()
    try:
        found[key] = values
    except ValueError:
        raise ShapeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
            "indexing result of shape "
            f"{list(input[key].shape)}"
        ) from None
    return found


@op(node="IndexPutBackward0", symbol="[…]=", method=False, input="zero_at(g, key)")
def zero_at(input: Tensor, key: Any) -> Tensor:
    """A copy of ``input`` with zeros at ``key``."""
    found = input.copy()
    found[key] = 0
    return found


Tensor.__setitem__ = _set


def _delete(x: Tensor, key: Any) -> None:
    raise TypeError("Tensor does not support deleting items")


Tensor.__delitem__ = _delete


# -- along one dimension ---------------------------------------------------------------------------------------------


def along(index: Any, dim: int) -> tuple[Any, ...]:
    """The full index of ``out[i][j] = x[index[i][j]][j]`` (for dim 0) and the like."""
    grids = [np.arange(n).reshape((1,) * d + (n,) + (1,) * (index.ndim - d - 1)) for d, n in enumerate(index.shape)]
    if index.__class__ is not np.ndarray:
        grids = [np.asarray(grid, like=index) for grid in grids]
    return tuple(index if d == dim else grid for d, grid in enumerate(grids))


def _check_along(name: str, a: Any, dim: int, index: Any, src_shape: tuple[int, ...] | None = None) -> int:
    """The dimension, once the index is known to fit.

    :raises RuntimeError: a dtype, rank, shape or entry does not.
    """
    d = dimension(dim, a.ndim)
    if index.dtype.kind not in "iu":
        raise RuntimeError(f"{name}(): Expected dtype int64 for index, got {dtypes.of(index.dtype).name}")
    if index.size == 0:
        return d
    if max(index.ndim, 1) != max(a.ndim, 1):
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as input tensor: {index.ndim} and {a.ndim}"
        )
    for i, n in enumerate(index.shape):
        if i != d and n > a.shape[i] or src_shape is not None and n > src_shape[i]:
            limits = f"tensor {list(a.shape)}" + ("" if src_shape is None else f" and src {list(src_shape)}")
            raise RuntimeError(
                f"{name}(): Expected index {list(index.shape)} to be smaller than {limits} apart from dimension {d}"
            )
    if a.ndim and (index.min() < 0 or index.max() >= a.shape[d]):
        bad = int(index.min() if index.min() < 0 else index.max())
        raise RuntimeError(f"{name}(): index {bad} is out of bounds for dimension {d} with size {a.shape[d]}")
    return d


@op(node="GatherBackward0", symbol="gather", input="gather_back(g, input.shape, dim, index)")
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """``out[i][j] = input[index[i][j]][j]`` for ``dim=0``, and the like for other dimensions.

    :raises RuntimeError: an index is out of bounds, or of another rank or dtype.

    >>> import nbautograd as torch
    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    d = _check_along("gather", input, dim, index)
    if input.ndim == 0:
        return np.broadcast_to(input, index.shape).copy()
    return input[along(index, d)]


@op(node="GatherBackwardBackward0", symbol="gather", method=False, input="gather(g, dim, index)")
def gather_back(input: Tensor, shape: Any, dim: int, index: Tensor) -> Tensor:
    """Zeros of ``shape`` to which ``input`` is added where ``gather`` looked: its gradient."""
    found = np.zeros_like(input, shape=shape)
    if not shape:
        return input.sum()
    backend.add_at(found, along(index, dimension(dim, len(shape))), input)
    return found


def _at(a: Any, index: Any) -> Any:
    """The part of ``src`` that an index covers."""
    return a[tuple(slice(n) for n in index.shape)]


@op(
    node="ScatterBackward0",
    symbol="scatter",
    method=False,
    input="zero_along(g, dim, index)",
    src="pad_like(gather(g, dim, index), src.shape)",
)
def scatter_src(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """``out[index[i][j]][j] = src[i][j]`` for ``dim=0`` in a copy of ``input``."""
    d = _check_along("scatter", input, dim, index, src.shape)
    found = input.copy()
    found[along(index, d)] = _at(src, index)
    return found


@op(node="ScatterBackward1", symbol="scatter", method=False, input="zero_along(g, dim, index)")
def scatter_value(input: Tensor, dim: int, index: Tensor, value: Number) -> Tensor:
    """The same with one number for all."""
    d = _check_along("scatter", input, dim, index)
    found = input.copy()
    found[along(index, d)] = value
    return found


@op(node="ScatterBackward1", symbol="scatter", method=False, input="zero_along(g, dim, index)")
def zero_along(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """A copy of ``input`` with zeros where ``scatter`` writes."""
    found = input.copy()
    found[along(index, dimension(dim, input.ndim))] = 0
    return found


@op(node="ConstantPadNdBackward0", symbol="pad", method=False, input="crop_like(g, input.shape)")
def pad_like(input: Tensor, shape: Any) -> Tensor:
    """``input`` in the first corner of zeros of ``shape``."""
    found = np.zeros_like(input, shape=shape)
    found[tuple(slice(n) for n in input.shape)] = input
    return found


@op(node="SliceBackward0", symbol="slice", method=False, input="pad_like(g, input.shape)")
def crop_like(input: Tensor, shape: Any) -> Tensor:
    """The first corner of ``input`` in ``shape``."""
    return input[tuple(slice(n) for n in shape)].copy()


@op(
    node="ScatterAddBackward0",
    symbol="scatter +",
    inplace_method=True,
    input="g",
    src="pad_like(gather(g, dim, index), src.shape)",
)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """``out[index[i][j]][j] += src[i][j]`` for ``dim=0``, and the like for other dimensions, in a copy.

    >>> import nbautograd as torch
    >>> torch.zeros(3).scatter_add(0, torch.tensor([0, 0, 2]), torch.ones(3))
    tensor([2., 0., 1.])
    """
    d = _check_along("scatter_add", input, dim, index, src.shape)
    if src.dtype != input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    found = input.copy()
    backend.add_at(found, along(index, d), _at(src, index))
    return found


@composite(inplace_method=True)
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """``out[index[i][j]][j] = src[i][j]`` for ``dim=0``, and the like for other dimensions, in a copy.

    :param src: a tensor at least as large as ``index``, or a number (also as ``value``).
    :param reduce: ``"add"`` or ``"multiply"`` instead of replacing.
    :raises RuntimeError: an index is out of bounds, a shape too large, or a dtype differs.

    >>> import nbautograd as torch
    >>> torch.zeros(2, 3).scatter(1, torch.tensor([[2], [0]]), 5.)
    tensor([[0., 0., 5.],
            [5., 0., 0.]])
    """
    given = src if value is None else value
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce!r}")
    if not isinstance(index, Tensor):
        raise TypeError(f"scatter(): argument 'index' (position 3) must be Tensor, not {type(index).__name__}")
    if isinstance(given, Tensor):
        if given.dtype is not input.dtype:
            raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
        if reduce is None:
            return scatter_src(input, dim, index, given)
    elif reduce is None:
        return scatter_value(input, dim, index, given)
    else:
        given = tensor(given, dtype=input.dtype, device=input.device).expand(*index._a.shape)
    if reduce == "add":
        return scatter_add(input, dim, index, given)
    if input.requires_grad or given.requires_grad:
        raise NotImplementedError("scatter(reduce='multiply') is not differentiable")
    return wrap(_multiply_at(input._a, dimension(dim, input._a.ndim), index._a, given._a))


def _multiply_at(a: Any, dim: int, index: Any, src: Any) -> Any:
    found = a.copy()
    np.multiply.at(found, along(index, dim), _at(src, index))
    return found


@op(node="IndexSelectBackward0", symbol="index", input="index_select_back(g, input.shape, dim, index)")
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices at ``index``, a 1-d tensor of indices, along one dimension, copied.

    :raises IndexError: one is out of range, or the index has more dimensions.

    >>> import nbautograd as torch
    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 0, torch.tensor([1, 1]))
    tensor([[3, 4],
            [3, 4]])
    """
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype.kind not in "iu":
        raise RuntimeError(
            f"index_select(): Expected dtype int32 or int64 for index, got {dtypes.of(index.dtype).name}"
        )
    d = dimension(dim, input.ndim)
    if index.size and (index.min() < 0 or index.max() >= input.shape[d]):
        raise IndexError(f"index out of range in self: expected 0 to {input.shape[d] - 1} along dimension {d}")
    return np.take(input, index.reshape((-1,)), d)


@op(node="IndexAddBackward0", symbol="index +", method=False, input="index_select(g, dim, index)")
def index_select_back(input: Tensor, shape: Any, dim: int, index: Tensor) -> Tensor:
    """Zeros of ``shape`` to which slices are added at ``index``: the gradient of ``index_select``."""
    found = np.zeros_like(input, shape=shape)
    backend.add_at(found, (slice(None),) * dimension(dim, len(shape)) + (index.reshape((-1,)),), input)
    return found


@op(
    node="MaskedFillBackward0",
    symbol="mask",
    inplace_method=True,
    input="masked_fill(g, mask, 0)",
    value="where(mask, g, zeros_of(g)).sum()",
)
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number) -> Tensor:
    """``value`` where the bool tensor ``mask``, broadcast, is true; ``input`` elsewhere.

    :raises RuntimeError: the mask is of another dtype, or does not broadcast.

    >>> import nbautograd as torch
    >>> torch.tensor([1., 2.]).masked_fill(torch.tensor([True, False]), -1)
    tensor([-1.,  2.])
    """
    if mask.dtype.kind != "b":
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {dtypes.of(mask.dtype).name}"
        )
    found = np.broadcast_to(input, np.broadcast_shapes(input.shape, mask.shape)).copy()
    found[np.broadcast_to(mask, found.shape)] = value
    return found


@op(node="MaskedSelectBackward0", symbol="mask", input="masked_back(g, input.shape, mask)")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the bool tensor ``mask`` is true, in one dimension.

    >>> import nbautograd as torch
    >>> torch.masked_select(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))
    tensor([1, 3])
    """
    if mask.dtype.kind != "b":
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, got dtype {dtypes.of(mask.dtype).name}")
    shape = np.broadcast_shapes(input.shape, mask.shape)
    return np.broadcast_to(input, shape)[np.broadcast_to(mask, shape)]


@op(
    node="MaskedSelectBackwardBackward0",
    symbol="mask",
    method=False,
    input="masked_select(expand(g, *joint(shape, mask.shape)), mask)",
)
def masked_back(input: Tensor, shape: Any, mask: Tensor) -> Tensor:
    """Zeros of ``shape`` with ``input`` where the mask chose: the gradient of ``masked_select``."""
    full = joint(shape, mask.shape)
    found = np.zeros_like(input, shape=full)
    found[np.broadcast_to(mask, full)] = input
    return OPS["sum_to"].body(found, shape)


def joint(shape: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that both broadcast to."""
    return tuple(np.broadcast_shapes(tuple(shape), tuple(other)))


@op(node="TakeBackward0", symbol="take", input="index_back(g, flat(input.shape), (index,)).reshape(input.shape)")
def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements by their place in the flattened tensor, in the shape of ``index``.

    >>> import nbautograd as torch
    >>> torch.take(torch.tensor([[4, 3], [5, 6]]), torch.tensor([0, 3]))
    tensor([4, 6])
    """
    _check_bounds((index,), flat(input.shape))
    return input.reshape((-1,))[index]


def flat(shape: tuple[int, ...]) -> tuple[int]:
    """The shape with all dimensions merged."""
    return (math.prod(shape),)


@composite()
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Elements by their place along a dimension, as ``argmax`` and ``argsort`` give it.

    >>> import nbautograd as torch
    >>> torch.take_along_dim(torch.tensor([[10, 30, 20]]), torch.tensor([[1]]), dim=1)
    tensor([[30]])
    """
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    d = dimension(dim, input._a.ndim)
    ours = np.broadcast_shapes(*(_but(s, d) for s in (input._a.shape, indices._a.shape)))
    grown = input.expand(*ours[:d], input._a.shape[d], *ours[d + 1 :])
    return gather(grown, d, indices.expand(*ours[:d], indices._a.shape[d], *ours[d + 1 :]))


def _but(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (*shape[:dim], 1, *shape[dim + 1 :])


@composite()
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the nonzero elements: one row each, or as a tuple with a tensor per dimension.

    >>> import nbautograd as torch
    >>> torch.nonzero(torch.tensor([0, 5, 0, 7]))
    tensor([[1],
            [3]])
    """
    a = input._a
    found = np.nonzero(a if a.ndim else a.reshape((1,)))
    if as_tuple:
        return tuple(wrap(part) for part in found)
    rows = np.stack(found, 1)
    return wrap(rows if a.ndim else rows[:, :0])
