"""PyTorch's legacy tensor types: ``FloatTensor([1, 2])``, ``isinstance(t, LongTensor)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.defaults import known_types
from nbautograd._engine.core.storage import STORAGE_TYPES, TypedStorage, UntypedStorage
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import empty
from nbautograd._engine.ops.creation.from_data import tensor
from nbautograd._engine.ops.indexing.indexing import view_alias
from nbautograd._engine.ops.queries import method_of_tensor
from nbautograd.errors import SCALAR_TYPES, kind_of


def _construct(kind: dtypes.dtype | None, data: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
    """Construct a tensor as ``torch.Tensor(...)``, the typed constructors and ``Tensor.new`` do.

    :param kind: the dtype; by default that of a given tensor, or else the default dtype.
    """
    place = options.pop("device", None)
    data = (*data, *(options.pop(name) for name in ("data", "size") if name in options))
    if not options and (len(data) == 1 and isinstance(data[0], Size) or all(map(_is_length, data))):
        return empty(*(data or (0,)), dtype=kind, device=place)
    if options or len(data) > 1:
        kinds = [*map(kind_of, data), *(f"{name}={kind_of(value)}" for name, value in options.items())]
        raise TypeError(
            f"new() received an invalid combination of arguments - got ({', '.join(kinds)}), but expected "
            "lengths, or one sequence, array or tensor, and device="
        )
    return _of_values(kind, data[0], place)


def _of_values(kind: dtypes.dtype | None, values: Any, place: Any) -> Tensor:
    """Return a tensor of a storage, of a tensor or of the elements of a sequence."""
    if isinstance(values, (TypedStorage, UntypedStorage)):
        return _of_storage(kind or dtypes.get_default_dtype(), values)
    if isinstance(values, Tensor):
        return _of_tensor(kind or values.dtype, values)
    if isinstance(values, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{kind_of(values)}'")
    if isinstance(values, (dict, set)) or not hasattr(values, "__len__") or getattr(values, "ndim", 1) == 0:
        raise TypeError(f"new(): data must be a sequence (got {kind_of(values)})")
    return tensor(values, dtype=kind or dtypes.get_default_dtype(), device=place)


def _of_storage(kind: dtypes.dtype, values: TypedStorage | UntypedStorage) -> Tensor:
    """Return a tensor of all elements of a storage, of the dtype ``kind``."""
    if isinstance(values, TypedStorage) and values.dtype is not kind:
        expected, got = (next(n for n, d in STORAGE_TYPES.items() if d is each) for each in (kind, values.dtype))
        raise RuntimeError(
            f"Expected a Storage of type torch.{expected} or an UntypedStorage, but got type torch.{got} for "
            "argument 1 'storage'"
        )
    return empty(0, dtype=kind, device=values.device).set_(values)


def _of_tensor(kind: dtypes.dtype, values: Tensor) -> Tensor:
    """Return an alias of a tensor, which is of the dtype ``kind``."""
    if values.dtype is not kind:
        expected, got = (dtypes.C_TYPES[d.name] for d in (kind, values.dtype))
        raise TypeError(
            f"expected TensorOptions(dtype={expected}) (got TensorOptions(dtype={got})): the constructor keeps "
            f"the dtype. Use tensor.to({kind!r})"
        )
    return view_alias(values)


def _is_length(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, (bool, np.bool_, np.ndarray, Tensor))


@method_of_tensor("new", "new")
def _new(self: Tensor, *data: Any, **options: Any) -> Tensor:
    """Create a tensor of the same dtype on the same device: uninitialized, of the given sizes, or of given values.

    An old form of ``new_empty`` and ``new_tensor``.

    :raises TypeError: the values are not a sequence, or a tensor of another dtype.

    >>> torch.ones(1, dtype=torch.int64).new([1, 2])
    tensor([1, 2])
    """
    return _construct(self.dtype, data, {"device": self.device, **options})


class _TensorType(type):
    """A class whose instances are all tensors of one dtype."""

    dtype: dtypes.dtype

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == "cpu"

    def __call__(cls, *data: Any, **options: Any) -> Tensor:
        """Create a tensor from a sequence; an uninitialized one from sizes; or an alias of a tensor."""
        return _construct(cls.dtype, data, options)

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def _tensor_type(name: str, kind: dtypes.dtype) -> _TensorType:
    doc = f"""CPU tensors of dtype {kind.name}: a constructor, and a class for ``isinstance``.

    >>> import nbautograd as torch
    >>> isinstance(torch.empty(2, dtype=torch.{kind.name}), torch.{name})
    True
    """
    return _TensorType(name, (), {"dtype": kind, "__doc__": doc, "__module__": "torch"})


for _name, _kind in dtypes.TENSOR_TYPES.items():
    globals()[_name] = _tensor_type(_name, _kind)


@method_of_tensor("type", "type")
def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Return the name of the legacy tensor type; with ``dtype``, the tensor cast to it.

    :param dtype: a dtype, a tensor type or its name, such as ``"torch.DoubleTensor"``.
    :param non_blocking: has no effect.
    :returns: a string; with ``dtype`` a tensor of the same shape.
    :raises ValueError: no tensor type has this name.

    >>> torch.ones(2).type(), torch.ones(2).type(torch.LongTensor)
    ('torch.FloatTensor', tensor([1, 1]))
    """
    if dtype is None:
        place = "" if self.device.type == "cpu" else f"{self.device.type}."
        return f"torch.{place}{SCALAR_TYPES[self.dtype.name]}Tensor"
    if isinstance(dtype, _TensorType):
        dtype = dtype.dtype
    elif isinstance(dtype, type):
        raise ValueError(f"invalid type: {dtype.__name__!r}: use tensor.to({dtype.__name__}) for a Python type")
    elif isinstance(dtype, str):
        tensor_type = dtypes.TENSOR_TYPES.get(dtype.removeprefix("torch."))
        if tensor_type is None:
            raise ValueError(f"invalid type: {dtype!r}; accepted are {known_types()}")
        dtype = tensor_type
    return self.to(dtype)


Tensor._construct = staticmethod(_construct)
