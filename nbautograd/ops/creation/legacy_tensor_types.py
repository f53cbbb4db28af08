"""PyTorch's legacy tensor types: ``FloatTensor([1, 2])``, ``isinstance(t, LongTensor)``."""

from __future__ import annotations

from typing import Any

from nbautograd.arrays import dtypes
from nbautograd.core.defaults import known_types
from nbautograd.core.tensor import Tensor, wrap
from nbautograd.errors import kind_of
from nbautograd.ops.creation.creation import empty
from nbautograd.ops.creation.from_data import tensor

__all__ = list(dtypes.TENSOR_TYPES)


class _TensorType(type):
    """A class whose instances are all tensors of one dtype."""

    dtype: dtypes.dtype

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == "cpu"

    def __call__(cls, *data: Any) -> Tensor:
        """A tensor of a sequence's values; an uninitialised one, of a shape as ints; or an alias of a tensor."""
        if len(data) == 1 and isinstance(data[0], Tensor):
            if data[0].dtype is not cls.dtype:
                raise TypeError(f"{cls.__name__}() expected a tensor of {cls.dtype}, got one of {data[0].dtype}")
            return wrap(data[0].shared_array())
        if len(data) == 1 and not isinstance(data[0], int):
            if not hasattr(data[0], "__len__"):
                raise TypeError(f"new(): data must be a sequence (got {kind_of(data[0])})")
            return tensor(data[0], dtype=cls.dtype)
        return empty(*data, dtype=cls.dtype) if data else empty(0, dtype=cls.dtype)

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def _made(name: str, kind: dtypes.dtype) -> _TensorType:
    doc = f"""CPU tensors of dtype {kind.name}: a constructor, and a class for ``isinstance``.

    >>> import nbautograd as torch
    >>> isinstance(torch.empty(2, dtype=torch.{kind.name}), torch.{name})
    True
    """
    return _TensorType(name, (), {"dtype": kind, "__doc__": doc, "__module__": "torch"})


for _name, _kind in dtypes.TENSOR_TYPES.items():
    globals()[_name] = _made(_name, _kind)


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the legacy tensor type; with ``dtype``, the tensor cast to it.

    :param dtype: a dtype, a tensor type or its name, such as ``"torch.DoubleTensor"``.
    :raises ValueError: no tensor type has this name.

    >>> import nbautograd as torch
    >>> torch.ones(2).type(), torch.ones(2).type(torch.LongTensor)
    ('torch.FloatTensor', tensor([1, 1]))
    """
    if dtype is None:
        place = "" if self.device.type == "cpu" else f"{self.device.type}."
        return f"torch.{place}{next(name for name, kind in dtypes.TENSOR_TYPES.items() if kind is self.dtype)}"
    if isinstance(dtype, _TensorType):
        dtype = dtype.dtype
    elif isinstance(dtype, str):
        tensor_type = dtypes.TENSOR_TYPES.get(dtype.removeprefix("torch."))
        if tensor_type is None:
            raise ValueError(f"invalid type: {dtype!r}; accepted are {known_types()}")
        dtype = tensor_type
    return self.to(dtype)


Tensor.type = _type
