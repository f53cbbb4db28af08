"""Sparse tensors as a kind of tensor: properties, printing, copies, and unsupported operations.

A ``SparseTensor`` has a ``SparseArray`` instead of an array. Access to its array (``_a``) raises an error, an
``AttributeError``. So an operation fails at its first step, as with an argument that is not a tensor, and offers the
call to the classes of its arguments (``core/overrides.py``), of which this is one: it looks the operation up in the
package ``sparse``, or raises with its name. Dense tensors have no overhead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from nbautograd._engine.arrays import backend, dtypes, version_counter
from nbautograd._engine.arrays.device import as_device
from nbautograd._engine.arrays.memory_format import layout, sparse_csr
from nbautograd._engine.arrays.size import Size, dimension
from nbautograd._engine.arrays.sparse import SparseArray
from nbautograd._engine.core.node import LEAF
from nbautograd._engine.core.tensor import Tensor, new, stored as stored, wrap
from nbautograd._names.docstrings.methods import of_tensors
from nbautograd.errors import SCALAR_TYPES, AutogradError, kind_of


class UnsupportedError(AttributeError, NotImplementedError):
    """An error for an operation without code for sparse tensors."""


OWN_WORDS = {
    "reshape flatten ravel reshape_as unflatten": "reshape is not implemented for sparse tensors",
    "expand expand_as repeat tile broadcast_to": "expand is unsupported for Sparse tensors",
    "contiguous": "unsupported memory format option Contiguous",
}
"""PyTorch's messages for some operations, by their names."""


def refuse(name: str, kind: layout) -> NoReturn:
    """Raise UnsupportedError, which names the operation if it has a name."""
    bare = name.strip("_") or name
    for kinds, words in OWN_WORDS.items():
        if bare in kinds.split():
            raise UnsupportedError(f"{words}: call .to_dense() first") from None
    words = "SparseCsrCPU" if kind is sparse_csr else "SparseCPU"
    called, what = (f"'aten::{bare}'", f"{name}()") if name else ("this", "It")
    raise UnsupportedError(
        f"Could not run {called} with arguments from the '{words}' backend. {what} is for dense tensors: call "
        ".to_dense() first."
    ) from None


_handlers: Mapping[str, Callable[..., Any]] | None = None
_load: Callable[[], Mapping[str, Callable[..., Any]]]


def on_first_use(load: Callable[[], Mapping[str, Callable[..., Any]]]) -> None:
    """Set the loader of the operations on sparse tensors, called with the first sparse tensor."""
    global _load
    _load = load


def _operations() -> Mapping[str, Callable[..., Any]]:
    global _handlers
    if _handlers is None:
        _handlers = _load()
    return _handlers


@of_tensors
class SparseTensor(Tensor):
    """A tensor that stores only some elements, with their coordinates."""

    __slots__ = ("_sparse",)
    _sparse: SparseArray
    _has_a_say = True  # see core/overrides.py

    @property
    def _a(self) -> NoReturn:
        refuse("", self._sparse.kind)

    @_a.setter
    def _a(self, array: Any) -> NoReturn:
        raise UnsupportedError("a sparse tensor cannot be given a dense array. Pass a sparse tensor to copy_()")

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the sparse version of an operation."""
        if not all(issubclass(kind, Tensor) for kind in types):
            return NotImplemented
        name = getattr(func, "__name__", str(func))
        operation = _operations().get(name)
        if operation is None:
            of = next((t for t in _each((*args, *(kwargs or {}).values())) if isinstance(t, SparseTensor)), None)
            refuse(name, sparse_csr if of is None else of._sparse.kind)
        return operation(*args, **(kwargs or {}))

    # -- properties --------------------------------------------------------------------------------------------------

    is_sparse = property(lambda self: self._sparse.kind is not sparse_csr, doc="True if it stores coordinates.")
    is_sparse_csr = property(lambda self: self._sparse.kind is sparse_csr, doc="True if it stores compressed rows.")

    @property
    def shape(self) -> Size:
        """The shape, as a :class:`Size`."""
        return Size(self._sparse.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        """The type of the values."""
        return dtypes.of(self._sparse.dtype)

    @property
    def device(self) -> Any:
        """The device of the values."""
        return backend.device_of(self._sparse.values)

    @property
    def layout(self) -> layout:
        """``torch.sparse_coo`` or ``torch.sparse_csr``."""
        return self._sparse.kind

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._sparse.ndim

    @property
    def itemsize(self) -> int:
        """Bytes per value."""
        return self._sparse.itemsize

    @property
    def nbytes(self) -> int:
        """Raise: only the indices and the values have memory.

        :raises RuntimeError: always.
        """
        raise RuntimeError(
            "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the "
            "nbytes of the indices and values.  If you want the size of the  equivalent dense tensor, multiply "
            "numel() by element_size()"
        )

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the length of one dimension."""
        return self.shape if dim is None else self.shape[dimension(dim, self.ndim)]

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self._sparse.ndim

    ndimension = dim

    def numel(self) -> int:
        """Return the number of elements, including zeros."""
        return self._sparse.size

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """Return zeros: the elements have no strides."""
        if self.is_sparse_csr:
            raise RuntimeError("Sparse CSR tensors do not have strides")
        strides = (0,) * self.ndim
        return strides if dim is None else strides[dimension(dim, self.ndim)]

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Return False: the elements are not in memory order."""
        return False

    def storage_offset(self) -> int:
        """Return zero."""
        return 0

    def sparse_dim(self) -> int:
        """Return the number of sparse dimensions."""
        return self._sparse.sparse_dim

    def dense_dim(self) -> int:
        """Return the number of dense dimensions, which come last."""
        return self._sparse.dense_dim

    def _nnz(self) -> int:
        return self._sparse.nnz

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """Return the name of the type; with ``dtype``, cast."""
        if dtype is None:
            return f"torch.{'cuda.' * self.is_cuda}sparse.{SCALAR_TYPES[self.dtype.name]}Tensor"
        return self.to(dtype)

    @property
    def _version(self) -> int:
        return version_counter.version_of(self._sparse.values)

    def is_inference(self) -> bool:
        """Return whether the tensor was created in inference mode."""
        return version_counter.is_inference(self._sparse.values)

    # -- not as Python values ----------------------------------------------------------------------------------------

    def _no_storage(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: the elements do not have one storage.

        :raises RuntimeError: always.
        """
        raise NotImplementedError("Cannot access storage of SparseTensorImpl: see .indices() and .values()")

    storage = untyped_storage = is_shared = _no_storage

    def is_pinned(self, device: Any = None) -> bool:
        """Return False: the values are not in pinned memory."""
        return False

    def _no_pointer(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: a sparse tensor does not have an array.

        :raises RuntimeError: always.
        """
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage: call .to_dense() first")

    data_ptr = tolist = __dlpack__ = __dlpack_device__ = _no_pointer

    def numpy(self, *, force: bool = False) -> NoReturn:
        """Raise: a sparse tensor does not have an array.

        :raises TypeError: always.
        """
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    __array__ = numpy  # type: ignore[assignment]

    def item(self) -> Any:
        """Return the only element as a Python number.

        :raises RuntimeError: the tensor does not have exactly one element.
        """
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return self._sparse.dense().item()

    _number = item

    def __index__(self) -> int:
        if self.dtype.is_floating_point or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __bool__(self) -> bool:
        if self.numel() != 1:
            count = "no values" if self.numel() == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {count} is ambiguous")
        return bool(self.item())

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self._sparse.shape[0]

    def __iter__(self) -> Any:
        if not self.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        from nbautograd._engine.core import printing

        s, fn = self._sparse, self.grad_fn
        crow = s.kind is sparse_csr
        parts = {"crow_indices": s.crow(), "col_indices": s.indices[1]} if crow else {"indices": s.indices}
        texts = [
            printing.format_part(name, part, backend.fetch) for name, part in {**parts, "values": s.values}.items()
        ]
        text = ",\n       ".join(texts) + (", " if crow else ",\n       ") + f"size={tuple(s.shape)}, nnz={s.nnz}"
        return printing.annotated(
            f"tensor({text}",
            [
                *([] if self.is_cpu else [f"device='{self.device}'"]),
                *([] if printing.is_usual(self.dtype) else [f"dtype={self.dtype!r}"]),
                f"layout={s.kind!r}",
                *(
                    [f"grad_fn=<{type(fn).__name__}>"]
                    if fn is not None
                    else ["requires_grad=True"] * self.requires_grad
                ),
            ],
        )

    # -- its place in the graph --------------------------------------------------------------------------------------

    @property
    def data(self) -> Tensor:
        """A tensor of the same values without history."""
        return wrapped(self._sparse)

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, SparseTensor):
            raise RuntimeError("data of a sparse tensor has to be a sparse tensor")
        self._sparse = value._sparse

    def detach(self) -> Tensor:
        """Return a tensor of the same values without history."""
        return wrapped(self._sparse)

    @property
    def requires_grad(self) -> bool:
        """True if operations on this tensor are recorded."""
        return self._fn is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise AutogradError(f"requires_grad must be a bool, not {kind_of(value)}")
        if value and self._sparse.dtype.kind not in dtypes.INEXACT:
            raise AutogradError("only Tensors of floating point and complex dtype can require gradients")
        if self._fn is not None and self._fn is not LEAF:
            raise AutogradError("you can only change requires_grad flags of leaf variables.")
        self._fn = LEAF if value else None

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set ``requires_grad`` in place."""
        if self.is_leaf or not requires_grad:
            self.requires_grad = requires_grad
        return self

    def _check_grad(self, value: Tensor) -> None:
        if not isinstance(value, SparseTensor):
            raise AutogradError(
                "attempting to assign a gradient to a tensor that has data of a different type: the tensor is sparse"
            )
        super()._check_grad(value)

    # -- copies ------------------------------------------------------------------------------------------------------

    def __copy__(self) -> Tensor:
        return wrapped(self._sparse, None if self._fn is None else LEAF)

    def _copy_deeply(self, memo: dict[Any, Any]) -> None:
        from copy import deepcopy

        copied = memo[id(self)] = wrapped(self._sparse.copy(), None if self._fn is None else LEAF)
        copied._grad = deepcopy(self._grad, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        s = self._sparse
        parts = (backend.fetch(s.indices), backend.fetch(s.values), tuple(s.shape), s.is_coalesced, s.kind, self.dtype)
        return _rebuild_sparse, (*parts, str(self.device), self._fn is not None)


SparseTensor.__module__ = "nbautograd"


def _each(arguments: Any) -> Any:
    for value in arguments:
        yield from value if isinstance(value, (tuple, list)) else (value,)


def _rebuild_sparse(
    indices: Any, values: Any, shape: Any, is_coalesced: bool, kind: layout, dtype: Any, where: str, requires_grad: bool
) -> Tensor:
    module = backend.module(as_device(where))
    array = SparseArray(module.asarray(indices), module.asarray(values.astype(dtype.numpy)), shape, is_coalesced, kind)
    return wrapped(array, LEAF if requires_grad else None)


def wrapped(array: Any, fn: Any = None, wrap: Callable[..., Tensor] = wrap) -> Tensor:
    """Return a tensor of an array, a sparse tensor of a sparse array; otherwise like ``wrap``."""
    if array.__class__ is not SparseArray:
        return wrap(array, fn)
    if _handlers is None:
        _operations()
    t: SparseTensor = new(SparseTensor)
    t._sparse, t._fn = array, fn
    return t


def sparse_gradient(indices: Any, values: Any, shape: Any) -> Any:
    """Return the gradient with ``values`` at ``indices``: a sparse array for arrays, a sparse tensor for tensors."""
    if isinstance(values, Tensor):
        return _operations()["_build"](indices, values, tuple(shape))
    return SparseArray(indices, values, tuple(shape))


def values_of(tensor: Any) -> Any:
    """Return the array of a tensor or gradient; of a sparse one, the values that it stores; None if it has none."""
    array = stored(tensor)
    array = array.values if array.__class__ is SparseArray else array
    return array if hasattr(array, "dtype") and hasattr(array.dtype, "kind") else None
