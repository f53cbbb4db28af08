"""Sparse tensors built from their parts and from dense tensors, and their decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.device import as_device
from nbautograd._engine.arrays.memory_format import layout, sparse_coo, sparse_csr, strided
from nbautograd._engine.arrays.sparse import SparseArray
from nbautograd._engine.core.node import LEAF
from nbautograd._engine.core.sparse import SparseTensor, stored, wrapped
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops.creation.from_data import check_options, tensor
from nbautograd.errors import kind_of
from nbautograd.sparse.invariants import check_coo, check_csr
from nbautograd.sparse.registry import handles, method, record

__all__ = [
    "at_places",
    "build",
    "coalesce",
    "sparse_coo_tensor",
    "sparse_csr_tensor",
    "sparse_mask",
    "to_dense",
    "to_sparse",
    "to_sparse_csr",
    "values_of",
]

Device = Any


def _tensor_of(data: Any, dtype: Any = None, device: Device = None) -> Tensor:
    if not isinstance(data, Tensor):
        return tensor(data, dtype=dtype, device=device)
    return data if dtype is None and device is None else data.to(device=device, dtype=dtype)


def _indices_of(data: Any, device: Any) -> Any:
    """Return indices as an int64 array."""
    result = _tensor_of(data).detach().to(device)._a
    return np.array(result, dtype=np.int64) if isinstance(result, np.generic) else result.astype(np.int64, copy=False)


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: dtypes.dtype | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
    layout: layout | None = None,
) -> Tensor:
    """Create a sparse tensor from coordinates and values. Values at the same coordinates are summed.

    ``sparse_coo_tensor(size)`` has no values.

    :param indices: shape (sparse dimensions, count): one coordinate per column.
    :param values: shape (count,), or (count, dense dimensions ...); differentiable.
    :param size: by default the smallest that holds all coordinates.
    :param dtype: the dtype of the values.
    :param device: the device of the result; that of ``values`` if None, or the default device for lists.
    :param pin_memory: pin the memory, which requires CUDA.
    :param requires_grad: if True, operations on the result are recorded for backward.
    :param check_invariants: if True, check ``is_coalesced``. Coordinates are always checked.
    :param is_coalesced: promise that coordinates are sorted, each occurring once.
    :param layout: must be ``torch.sparse_coo`` or None.
    :returns: a sparse tensor of shape ``size``.
    :raises RuntimeError: indices, values and size do not match.

    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3., 4.], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if layout not in (None, sparse_coo):
        raise RuntimeError(f"sparse_coo_tensor(): layout is torch.sparse_coo, not {layout!r}")
    dtype = check_options("sparse_coo_tensor", dtype, None, pin_memory)
    if values is None:
        return _empty(indices if size is None else size, dtype, device, requires_grad)
    values = _tensor_of(values, dtype, None if device is None else as_device(device))
    if not values.ndim:
        values = values.unsqueeze(0)
    places = _indices_of(indices, values.device)
    shape = check_coo(places, values._a.shape, size, bool(is_coalesced) and check_invariants is not False)
    result = build(
        places, values if values._fn is not None and not requires_grad else values.detach(), shape, bool(is_coalesced)
    )
    if is_coalesced is False:
        stored(result).is_coalesced = False
    return result.requires_grad_() if requires_grad else result  # type: ignore[no-any-return]


def _empty(size: Any, dtype: Any, device: Device, requires_grad: bool) -> Tensor:
    if isinstance(size, Tensor) or not isinstance(size, (tuple, list)):
        raise TypeError(f"sparse_coo_tensor(): argument 'size' must be tuple of ints, but found {kind_of(size)}")
    module = backend.module(as_device(device))
    values = module.zeros((0,), (dtype or dtypes.get_default_dtype()).numpy)
    array = SparseArray(module.zeros((len(size), 0), np.int64), values, tuple(map(int, size)), len(size) > 0)
    return wrapped(array, LEAF if requires_grad else None)


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: dtypes.dtype | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Create a sparse matrix of compressed rows.

    :param crow_indices: shape (rows + 1,): the start of each row among the values, and the end of the last one.
    :param col_indices: shape (count,): the column of each value.
    :param values: shape (count,), or (count, dense dimensions ...); differentiable.
    :param size: by default as many columns as are used.
    :param dtype: the dtype of the values.
    :param device: the device of the result; that of ``values`` if None, or the default device for lists.
    :param pin_memory: pin the memory, which requires CUDA.
    :param requires_grad: if True, operations on the result are recorded for backward.
    :param check_invariants: accepted without effect: the parts are always checked.
    :returns: a sparse tensor of shape ``size``.
    :raises RuntimeError: the parts do not match, or describe a batch of matrices.

    >>> torch.sparse_csr_tensor([0, 1, 2], [2, 0], [3., 4.], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    dtype = check_options("sparse_csr_tensor", dtype, None, pin_memory)
    values = _tensor_of(values, dtype, None if device is None else as_device(device))
    crow, col = (_indices_of(part, values.device) for part in (crow_indices, col_indices))
    shape = check_csr(crow, col, values._a.shape, size)
    rows = np.repeat(backend.module(values.device).arange(len(crow) - 1), np.diff(crow).tolist())
    indices = np.stack((rows, col))
    in_order = bool((np.diff(rows * (shape[1] + 1) + col) > 0).all())
    result = build(indices, values.detach() if requires_grad else values, shape, in_order, sparse_csr)
    return result.requires_grad_() if requires_grad else result  # type: ignore[no-any-return]


# -- the steps that all others are made of -----------------------------------------------------------------------------


@handles("_build")
def build(indices: Any, values: Tensor, shape: Any, is_coalesced: bool = False, kind: layout = sparse_coo) -> Any:
    """Return the sparse tensor of an array of coordinates and a tensor of values."""
    array = SparseArray(indices, values._shared_array(), tuple(shape), is_coalesced, kind)
    name = "SparseCooTensorWithDimsAndTensorsBackward0" if kind is sparse_coo else "SparseCompressedTensorBackward0"
    return record(wrapped(array), name, "sparse", (values,), lambda g: (values_of(at_places(g, array)),))


def values_of(s: Any) -> Any:
    """Return the stored values as a dense tensor. Duplicate coordinates give duplicate gradients."""
    array = stored(s)
    return record(
        wrap(array.values),
        "ValuesBackward0",
        "values",
        (s,),
        lambda g: (build(array.indices, g, array.shape, array.is_coalesced, array.kind),),
    )


def at_places(g: Any, mask: SparseArray) -> Any:
    """Return a dense or a sparse tensor at the coordinates of ``mask``."""
    if g.__class__ is not SparseTensor:
        values = g[tuple(map(wrap, mask.indices))] if mask.sparse_dim else g.unsqueeze(0)
    else:
        own = coalesce(g)
        array = stored(own)
        if array.sparse_dim != mask.sparse_dim:  # hybrid in another way
            return at_places(to_dense(g), mask)
        place, is_there = array.places(mask.keys())
        if array.nnz:
            there = wrap(is_there.reshape((-1,) + (1,) * array.dense_dim))
            values = values_of(own)[wrap(place)].where(there, wrap(np.zeros_like(array.values, shape=())))
        else:
            values = wrap(np.zeros_like(array.values, shape=(mask.nnz, *array.values.shape[1:])))
    return build(mask.indices, values, mask.shape, mask.is_coalesced, mask.kind)


@handles("coalesce")
def _coalesce(input: Any) -> Any:
    """Return the tensor with sorted coordinates, each occurring once; the tensor itself if it is coalesced."""
    if stored(input).kind is not sparse_coo:
        raise RuntimeError("coalesce expected sparse coordinate tensor layout but got SparseCsr")
    return coalesce(input)


def coalesce(input: Any) -> Any:
    """Return the tensor with sorted coordinates, each occurring once; also for compressed rows."""
    array = stored(input)
    if array.is_coalesced:
        return input
    return record(wrapped(array.coalesced()), "CoalesceBackward0", "coalesce", (input,), lambda g: (g,))


def to_dense(input: Any, dtype: dtypes.dtype | None = None, *, masked_grad: bool | None = None) -> Any:
    """Return the dense tensor.

    :param masked_grad: if True, the gradient is only that of the stored elements.
    :raises RuntimeError: a dtype is given.
    """
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    array = stored(input)

    def rule(g: Any) -> tuple[Any]:
        if masked_grad is False:
            return (to_sparse(g, array.sparse_dim) if g.__class__ is not SparseTensor else g,)
        own = array.coalesced()
        return (at_places(g, own.like(own.values, is_coalesced=own.kind is sparse_csr)),)

    return record(wrap(array.dense()), "ToDenseBackward0", "dense", (input,), rule)


handles("to_dense")(to_dense)


# -- of dense tensors --------------------------------------------------------------------------------------------------


@method
def to_sparse(input: Tensor, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None) -> Tensor:
    """Return the nonzero elements as a sparse tensor.

    :param sparse_dim: the number of sparse dimensions, which come first; by default all.
    :param layout: ``torch.sparse_coo`` or ``torch.sparse_csr``.
    :param input: a dense tensor, or a sparse one.
    :param blocksize: has no effect.
    :returns: a sparse tensor of the same shape.
    :raises RuntimeError: the layout is not supported, or ``sparse_dim`` is out of range.

    >>> torch.tensor([0., 5.]).to_sparse()
    tensor(indices=tensor([[1]]),
           values=tensor([5.]),
           size=(2,), nnz=1, layout=torch.sparse_coo)
    """
    if not isinstance(sparse_dim, (int, type(None))):
        sparse_dim, layout = None, sparse_dim
    if layout is sparse_csr:
        return to_sparse_csr(input)
    if layout not in (None, sparse_coo):
        refuse_layout("to_sparse", layout)
    if input.__class__ is SparseTensor:
        array = stored(input)
        if array.kind is sparse_coo:
            return input
        plain = array.like(array.values, kind=sparse_coo)
        return record(wrapped(plain), "ToSparseBackward0", "sparse", (input,), lambda g: (g,))  # type: ignore[no-any-return]
    a = input._shared_array()
    count = input.ndim if sparse_dim is None else sparse_dim
    if not min(1, input.ndim) <= count <= input.ndim:
        raise RuntimeError(f"sparse_dim argument for to_sparse must be in >0 and <={input.ndim}, got {count}")
    nonzero = (a != 0).any(tuple(range(count, a.ndim))) if count < a.ndim else a != 0
    places = np.nonzero(nonzero.reshape((1,) * (not a.ndim) + nonzero.shape))
    indices = np.stack(places).astype(np.int64)[:count]
    values = a[tuple(indices)] if count else a.reshape((1,))[places]
    result = wrapped(SparseArray(indices, values, tuple(a.shape), True))
    name = "ToSparseBackward1" if sparse_dim is None else "ToSparseBackward0"
    return record(result, name, "sparse", (input,), lambda g: (g.to_dense(),))  # type: ignore[no-any-return]


@method
def to_sparse_csr(input: Tensor, dense_dim: int | None = None) -> Tensor:
    """Return the nonzero elements of a matrix as a sparse matrix of compressed rows.

    :param input: a dense tensor, or a sparse one.
    :param dense_dim: the number of dense dimensions, which come last; by default none.
    :returns: a sparse matrix of the same shape.
    :raises RuntimeError: the tensor is not a matrix.

    >>> torch.tensor([[0., 5.], [1., 0.]]).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    if input.__class__ is SparseTensor:
        array = stored(input)
        if array.kind is sparse_csr:
            return input
        count = array.sparse_dim
    else:
        count = input.ndim - (dense_dim or 0)
    if count != 2:
        raise RuntimeError(f"to_sparse_csr(): only matrices can have compressed rows, but this has {count} dimensions")
    if input.__class__ is not SparseTensor:
        array = stored(to_sparse(input.detach(), 2))
    compressed = array.coalesced().like(array.coalesced().values, kind=sparse_csr)

    def rule(g: Any) -> tuple[Any]:
        return (at_places(g, compressed.like(compressed.values, kind=sparse_coo)) if input.is_sparse else g.to_dense(),)

    return record(wrapped(compressed), "ToSparseCsrBackward0", "csr", (input,), rule)  # type: ignore[no-any-return]


@method
def to_sparse_coo(input: Tensor) -> Tensor:
    """Return the nonzero elements as a sparse tensor of coordinates: ``to_sparse()``.

    :param input: a dense tensor, or a sparse one.
    :returns: a sparse tensor of the same shape.
    :raises TypeError: another argument is given.

    >>> torch.tensor([0., 5.]).to_sparse_coo().to_dense()
    tensor([0., 5.])
    """
    return to_sparse(input)


def refuse_layout(name: str, wanted: Any) -> Any:
    """Raise an error for a layout that is not supported."""
    raise RuntimeError(f"{name}(): sparse tensors are torch.sparse_coo or torch.sparse_csr here, not {wanted!r}")


@method
def to_sparse_csc(input: Tensor, dense_dim: int | None = None) -> Tensor:
    """Raise: compressed columns are not supported.

    :param input: a dense tensor, or a sparse one.
    :param dense_dim: has no effect.
    :returns: never.
    :raises RuntimeError: always.

    >>> torch.eye(2).to_sparse_csc()
    Traceback (most recent call last):
    RuntimeError: to_sparse_csc(): sparse tensors are torch.sparse_coo or torch.sparse_csr here, not 'torch.sparse_csc'
    """
    return refuse_layout("to_sparse_csc", "torch.sparse_csc")  # type: ignore[no-any-return]


def _without_blocks(name: str) -> Any:
    """Give tensors a method that raises, and return it."""

    def convert(input: Tensor, blocksize: Any = None, dense_dim: int | None = None) -> Tensor:
        return refuse_layout(name, f"torch.{name[3:]}")  # type: ignore[no-any-return]

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"""Raise: compressed blocks are not supported.

    :param input: a dense tensor, or a sparse one.
    :param blocksize: has no effect.
    :param dense_dim: has no effect.
    :returns: never.
    :raises RuntimeError: always.

    >>> torch.eye(2).{name}((1, 1))
    Traceback (most recent call last):
    RuntimeError: {name}(): sparse tensors are torch.sparse_coo or torch.sparse_csr here, not 'torch.{name[3:]}'
    """
    return method(convert)


to_sparse_bsr, to_sparse_bsc = map(_without_blocks, ("to_sparse_bsr", "to_sparse_bsc"))


@method
def sparse_mask(input: Tensor, mask: Tensor) -> Tensor:
    """Return the elements at the coordinates of a sparse tensor, as a sparse tensor.

    :param input: a tensor.
    :param mask: a sparse tensor of the same shape.
    :returns: a sparse tensor of the same shape.
    :raises RuntimeError: the shapes differ, or the mask is dense.

    >>> torch.ones(2).sparse_mask(torch.tensor([0., 5.]).to_sparse()).to_dense()
    tensor([0., 1.])
    """
    if mask.__class__ is not SparseTensor:
        raise RuntimeError("sparse_mask(): mask must be sparse. Call to_sparse()")
    if input.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(input.shape)} but mask has size "
            f"{list(mask.shape)}"
        )
    result = at_places(input.detach(), stored(mask))

    def rule(g: Any) -> tuple[Any]:
        return (g if input.layout is not strided else g.to_dense(),)

    return record(result, "SparseMaskBackward0", "mask", (input,), rule)  # type: ignore[no-any-return]


# -- the parts ---------------------------------------------------------------------------------------------------------


@handles("is_coalesced")
def is_coalesced(input: Any) -> bool:
    """Return whether coordinates are known to be sorted, each occurring once."""
    array = stored(input)
    if array.kind is not sparse_coo:
        raise RuntimeError("is_coalesced expected sparse coordinate tensor layout but got SparseCsr")
    return bool(array.is_coalesced)


def _require_coalesced(array: SparseArray, what: str) -> None:
    if not array.is_coalesced:
        raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")


@handles("indices")
def indices(input: Any) -> Tensor:
    """Return the coordinates, one per column."""
    array = stored(input)
    if array.kind is not sparse_coo:
        raise RuntimeError("indices expected sparse coordinate tensor layout but got SparseCsr")
    _require_coalesced(array, "indices")
    return wrap(array.indices)


@handles("values")
def values(input: Any) -> Any:
    """Return the values."""
    if stored(input).kind is sparse_coo:
        _require_coalesced(stored(input), "values")
    return values_of(input)


def _array_of(name: str, input: Any) -> SparseArray:
    if input.__class__ is not SparseTensor:
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: it is dense")
    return stored(input)  # type: ignore[no-any-return]


@method
def _indices(input: Any) -> Tensor:
    return wrap(_array_of("_indices", input).indices)


@method
def _values(input: Any) -> Tensor:
    return wrap(_array_of("_values", input).values)


@handles("crow_indices")
def crow_indices(input: Any) -> Tensor:
    """Return the start of each row among the values, and the end of the last one."""
    if stored(input).kind is not sparse_csr:
        raise RuntimeError("crow_indices expected sparse row compressed tensor layout but got Sparse")
    return wrap(stored(input).crow())


@handles("col_indices")
def col_indices(input: Any) -> Tensor:
    """Return the column of each value."""
    if stored(input).kind is not sparse_csr:
        raise RuntimeError("col_indices expected sparse row compressed tensor layout but got Sparse")
    return wrap(stored(input).indices[1])
