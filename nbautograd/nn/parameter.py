"""Parameters and buffers: tensors that a module registers on assignment; with or without a shape."""

from __future__ import annotations

from typing import Any, NoReturn, cast

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.device import device as device_class
from nbautograd._engine.core.grad_mode import is_inference_mode_enabled
from nbautograd._engine.core.node import LEAF
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops.creation.creation import empty
from nbautograd._names.docstrings.classes import composed
from nbautograd.errors import kind_of

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"]


class _Flagged(type):
    """Metaclass by which ``isinstance`` also accepts tensors with the attribute ``is_parameter`` or ``is_buffer``."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        flag = cls.__dict__.get("_own_flag")
        return flag is not None and isinstance(instance, Tensor) and bool(instance.__dict__.get(flag))


@composed
class Parameter(Tensor, metaclass=_Flagged):
    """A tensor that becomes a parameter of the module to which it is assigned as an attribute.

    It is a leaf that shares the memory of ``data``.

    :param data: a tensor; by default one without elements.
    :param requires_grad: whether operations on it are recorded.
    :raises AttributeError: ``data`` is not a tensor.
    :raises RuntimeError: the dtype is neither floating nor complex, and ``requires_grad`` is true.

    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()
    _own_flag = "is_parameter"
    _results_are_plain = True

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        """Return a parameter; for a tensor of a subclass, a tensor of that class that is marked as a parameter."""
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise AttributeError(f"Parameter(): 'data' must be a Tensor or None, and {kind_of(data)} is not")
        if requires_grad.__class__ is not bool:
            raise TypeError(f"Parameter(): 'requires_grad' must be bool, not {kind_of(requires_grad)}")
        if requires_grad and data._a.dtype.kind not in dtypes.INEXACT:
            raise RuntimeError(
                f"Only Tensors of floating point and complex dtype can require gradients, and data is {data.dtype!r}: "
                "use Parameter(data, requires_grad=False)"
            )
        if requires_grad and data.is_inference() and not is_inference_mode_enabled():
            raise RuntimeError("Parameter(): cannot set requires_grad=True on an inference tensor: clone() it first")
        result = wrap(data._shared_array().view(), LEAF if requires_grad else None)
        kind = type(data)
        if kind is Tensor or isinstance(data, cls) and not data.__dict__.get("is_parameter"):
            result.__class__ = cls
        else:
            result.__class__ = kind
            result.__dict__["is_parameter"] = True
        return cast("Parameter", result)

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # any arguments of a subclass' __new__
        pass

    def __deepcopy__(self, memo: dict[Any, Any]) -> Parameter:
        if id(self) not in memo:  # without the gradient, unlike other tensors
            copied = memo[id(self)] = Parameter(self.data.clone(), self.requires_grad)
            copied.__class__ = type(self)
        result: Parameter = memo[id(self)]
        return result

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__(tensor_contents=tensor_contents)  # type: ignore[call-arg, unused-ignore]


@composed
class Buffer(Tensor, metaclass=_Flagged):
    """A tensor that becomes a buffer, which is not trained, of the module to which it is assigned as an attribute.

    :param data: a tensor; by default one without elements.
    :param persistent: whether it is part of the module's ``state_dict``.

    >>> m = torch.nn.Module()
    >>> m.count = torch.nn.Buffer(torch.zeros(1))
    >>> m.state_dict()["count"]
    tensor([0.])
    """

    __slots__ = ()
    _own_flag = "is_buffer"
    _results_are_plain = True
    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        """Return a tensor that shares the memory of ``data`` and is marked as a buffer."""
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise AttributeError(f"Buffer(): 'data' must be a Tensor or None, and {kind_of(data)} is not")
        result = data.detach()
        if data.requires_grad:
            result.requires_grad_()
        result.__dict__.update(persistent=persistent, is_buffer=True)
        return cast("Buffer", result)


# -- without a shape, as lazy modules have them until their first input ------------------------------------------------

CONVERSIONS = frozenset({
    *("__hash__", "bfloat16", "char", "copy_", "cpu", "cuda", "double", "float", "get_device", "half", "int"),
    *("is_complex", "is_floating_point", "long", "short", "size", "to"),
})  # fmt: skip
"""The methods that work without a shape."""


def _without_array(self: Any) -> NoReturn:
    raise AttributeError("an uninitialized tensor has no elements")


class UninitializedTensorMixin:
    """The base of parameters and buffers without a shape. Operations on them raise, because they have no array."""

    __slots__ = ()
    _has_a_say = True
    cls_to_become: type = Tensor
    _a = property(_without_array)

    @property
    def _array(self) -> Any:
        """The array without elements that holds the dtype and the device."""
        return Tensor._a.__get__(self)

    @property
    def shape(self) -> NoReturn:
        """The shape, which is unknown: raises a RuntimeError."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    @property
    def dtype(self) -> dtypes.dtype:
        """The dtype that the tensor will have."""
        return dtypes.of(self._array.dtype)

    @property
    def device(self) -> device_class:
        """The device that the tensor will be on."""
        return backend.device_of(self._array)

    @property
    def data(self) -> Tensor:
        """A tensor without elements, of the dtype and on the device."""
        return wrap(self._array)

    @data.setter
    def data(self, value: Tensor) -> None:
        Tensor._a.__set__(self, value._a)

    @property
    def is_leaf(self) -> bool:
        """True: no operation computed the tensor."""
        return True

    def detach(self) -> Any:
        """Return the tensor itself: it has no graph to detach from."""
        return self

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Turn into a parameter or tensor with a shape and uninitialized elements.

        :param device: by default the tensor's device; likewise ``dtype``.
        """
        array = empty(shape, device=self.device if device is None else device, dtype=dtype or self.dtype)._a
        self.__class__ = self.cls_to_become
        cast("Tensor", self)._a = array

    def share_memory_(self) -> NoReturn:
        """Raise a RuntimeError: the tensor has no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)  # type: ignore[call-arg, attr-defined]
        return memo[id(self)]

    def __reduce_ex__(self, proto: Any) -> Any:
        return type(self), (cast("Tensor", self).requires_grad,)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", str(func))
        if name not in CONVERSIONS:
            raise ValueError(
                f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
                f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{cls.__name__}` objects. When using "
                "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch "
                "functions"
            )
        plain = [wrap(each._array) if isinstance(each, UninitializedTensorMixin) else each for each in args]
        return func(*plain, **(kwargs or {}))


def is_lazy(param: Any) -> bool:
    """Return whether a tensor is a parameter or a buffer without a shape."""
    return isinstance(param, UninitializedTensorMixin)


@composed
class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape is not known yet; ``materialize(shape)`` makes it one.

    >>> p = torch.nn.UninitializedParameter()
    >>> p.materialize((2, 3))
    >>> p.shape
    torch.Size([2, 3])
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        """Return a parameter without a shape."""
        result = wrap(empty(0, device=device, dtype=dtype)._a, LEAF if requires_grad else None)
        result.__class__ = cls
        return cast("UninitializedParameter", result)

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        pass


@composed
class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]
    """A buffer whose shape is not known yet; ``materialize(shape)`` makes it a tensor.

    :param persistent: whether it is part of the module's ``state_dict``.

    >>> torch.nn.UninitializedBuffer()
    <UninitializedBuffer>
    """

    __slots__ = ()
    _results_are_plain = True
    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> UninitializedBuffer:
        """Return a buffer without a shape."""
        result = wrap(empty(0, device=device, dtype=dtype)._a)
        result.__class__ = cls
        result.__dict__.update(persistent=persistent, is_buffer=True)
        return cast("UninitializedBuffer", result)

    def __init__(
        self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> None:
        pass
