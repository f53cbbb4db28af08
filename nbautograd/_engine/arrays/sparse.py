"""Sparse arrays: the coordinates of some elements and their values. All others are zero.

The first dimensions are sparse; dense ones may follow, in which case each value is an array. Coordinates may occur
several times: their values are summed, and ``coalesced`` is an array in which they are sorted and occur once. Products
are computed by SciPy's sparse arrays, which are imported on first use.

Gradients of embedding tables are also sparse arrays. So a backward pass may contain sparse arrays: sums and products
with others stay sparse where possible, and everything else is computed with dense arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.memory_format import layout, sparse_coo, sparse_csr

_KNOWN_TO_SCIPY = "bhilqpBHILQPfdFD"  # type characters; others are computed as float32 or int64


class SparseArray:
    """Coordinates and values.

    :param indices: int64, shape (sparse dimensions, count).
    :param values: shape (count, dense dimensions ...).
    :param shape: the shape of the whole array.
    :param is_coalesced: True if the coordinates are known to be sorted, each occurring once.
    :param kind: the layout shown to users; row layouts are also stored as coordinates.
    """

    __slots__ = ("indices", "is_coalesced", "kind", "shape", "values")

    def __init__(
        self, indices: Any, values: Any, shape: tuple[int, ...], is_coalesced: bool = False, kind: layout = sparse_coo
    ) -> None:
        self.indices, self.values, self.shape, self.kind = indices, values, shape, kind
        self.is_coalesced = is_coalesced or len(values) < 2

    # -- properties ---------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements, including zeros."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes per value."""
        return int(self.values.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, including zeros: the size of the dense array."""
        return self.size * self.itemsize

    @property
    def sparse_dim(self) -> int:
        """Number of sparse dimensions, which come first."""
        return int(self.indices.shape[0])

    @property
    def dense_dim(self) -> int:
        """Number of dense dimensions."""
        return int(self.values.ndim) - 1

    @property
    def nnz(self) -> int:
        """Number of values."""
        return int(self.values.shape[0])

    def like(self, values: Any, **changes: Any) -> SparseArray:
        """Return an array with other values at the same coordinates."""
        parts = {"indices": self.indices, "shape": self.shape, "is_coalesced": self.is_coalesced, "kind": self.kind}
        return SparseArray(values=values, **{**parts, **changes})

    def copy(self) -> SparseArray:
        """Return a copy with its own memory for the values."""
        return self.like(self.values.copy())

    def astype(self, dtype: Any, copy: bool = True) -> SparseArray:
        """Return the array with values of another dtype."""
        return self.like(self.values.astype(dtype, copy=copy))

    # -- coordinates -------------------------------------------------------------------------------------------------

    def keys(self) -> Any:
        """Return the coordinates as one number each: their index in row-major order."""
        keys = np.zeros_like(self.indices, shape=(self.nnz,))
        for row, length in zip(self.indices, self.shape, strict=False):
            keys = keys * length + row
        return keys

    def coalesced(self) -> SparseArray:
        """Return the array with sorted coordinates, each occurring once, with the sum of its values."""
        if self.is_coalesced:
            return self
        keys, first, inverse = np.unique(self.keys(), return_index=True, return_inverse=True)
        if len(keys) == self.nnz:  # sorted only
            values = np.take(self.values, first, 0)
        else:
            values = np.zeros_like(self.values, shape=(len(keys), *self.values.shape[1:]))
            backend.add_at(values, (inverse.reshape((-1,)),), self.values)
        return self.like(values, indices=np.take(self.indices, first, 1), is_coalesced=True)

    def places(self, keys: Any) -> tuple[Any, Any]:
        """Return the positions of the given ``keys`` in this coalesced array, and which of them exist."""
        own = self.keys()
        if not len(own):
            return np.zeros_like(keys), np.zeros_like(keys, dtype=bool)
        place = np.minimum(np.searchsorted(own, keys), len(own) - 1)
        return place, np.take(own, place) == keys

    def at(self, mask: SparseArray) -> Any:
        """Return the values at the coordinates of another sparse array."""
        own = self.coalesced()
        place, is_there = own.places(mask.keys())
        if not own.nnz:
            return np.zeros_like(own.values, shape=(mask.nnz, *own.values.shape[1:]))
        values = np.take(own.values, place, 0)
        return np.where(is_there.reshape((-1,) + (1,) * own.dense_dim), values, np.zeros_like(values, shape=()))

    def dense(self) -> Any:
        """Return the array as a dense array."""
        output = np.zeros_like(self.values, shape=self.shape)
        if not self.sparse_dim:
            return self.values.sum(0, dtype=self.dtype) if self.nnz else output
        if self.is_coalesced:
            output[tuple(self.indices)] = self.values
        else:
            backend.add_at(output, tuple(self.indices), self.values)
        return output

    def crow(self) -> Any:
        """Return the start of each row among the values, and the end of the last one, for sorted coordinates."""
        counts = np.bincount(self.indices[0], None, self.shape[0])
        return np.concatenate((np.zeros_like(counts, shape=(1,)), np.cumsum(counts))).astype(np.int64)

    # -- arithmetic, also as a gradient ------------------------------------------------------------------------------

    def plus(self, other: SparseArray) -> SparseArray:
        """Return the sum of two: their coordinates concatenated, coalesced if both are."""
        if self.indices is other.indices or (
            self.indices.shape == other.indices.shape and bool((self.indices == other.indices).all())
        ):
            return self.like(self.values + other.values, is_coalesced=self.is_coalesced or other.is_coalesced)
        kind = np.result_type(self.dtype, other.dtype)
        values = np.concatenate((self.values.astype(kind), other.values.astype(kind)))
        both = self.like(values, indices=np.concatenate((self.indices, other.indices), 1), is_coalesced=False)
        return both.coalesced() if self.is_coalesced and other.is_coalesced else both

    def __add__(self, other: Any) -> Any:
        if other.__class__ is SparseArray:
            alike = self.sparse_dim == other.sparse_dim and self.shape == other.shape
            return self.plus(other) if alike else self.dense() + other.dense()
        dense = self.dense()
        return other + dense if isinstance(other, (np.generic, dense.__class__)) else NotImplemented

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (int, float, complex)) or getattr(other, "ndim", 1) == 0:
            return self.like(self.values * other)
        return self.dense() * (other.dense() if other.__class__ is SparseArray else other)

    __rmul__ = __mul__

    def __neg__(self) -> SparseArray:
        return self.like(-self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(backend.fetch(self.dense()), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, out: Any = None, **options: Any) -> Any:
        if out is None and method == "__call__" and len(operands) == 2 and ufunc in (np.add, np.multiply):
            first, second = operands
            if first.__class__ is not SparseArray:
                first, second = second, first
            return first + second if ufunc is np.add else first * second
        if out is not None:
            options["out"] = out
        return getattr(ufunc, method)(*map(_written_out, operands), **options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*map(_written_out, args), **{name: _written_out(value) for name, value in kwargs.items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.dense(), name)

    def __getitem__(self, key: Any) -> Any:
        return self.dense()[key]


def _written_out(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(_written_out, value))
    return value.dense() if value.__class__ is SparseArray else value


# -- products ----------------------------------------------------------------------------------------------------------


def _of_scipy(a: SparseArray, kind: Any) -> Any:
    """Return a matrix in SciPy's compressed row format, which also sums equal coordinates."""
    sparse = backend.scipy(a.values, "sparse")
    return sparse.coo_matrix((a.values.astype(kind, copy=False), (a.indices[0], a.indices[1])), a.shape).tocsr()


def matmul(a: Any, b: Any) -> Any:
    """Return the product of two matrices, or a matrix and a vector, at least one sparse; sparse if both are."""
    out = np.result_type(a.dtype, b.dtype) if a.dtype.kind != "V" else a.dtype
    kind = out if out.char in _KNOWN_TO_SCIPY else np.dtype(np.float32 if out.kind in "fV" else np.int64)
    left, right = (
        _of_scipy(m, kind) if m.__class__ is SparseArray else np.ascontiguousarray(m).astype(kind, copy=False)
        for m in (a, b)
    )
    if b.__class__ is not SparseArray:
        return (left @ right).astype(out, copy=False)
    if a.__class__ is not SparseArray:
        return np.ascontiguousarray((right.T @ left.T).T).astype(out, copy=False)
    product = (left @ right).tocoo()
    indices = np.stack((product.row, product.col)).astype(np.int64)
    both = sparse_csr if a.kind is b.kind is sparse_csr else sparse_coo
    return SparseArray(indices, product.data.astype(out), (a.shape[0], b.shape[1]), False, both).coalesced()
