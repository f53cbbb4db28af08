"""Parameters and buffers: tensors that are registered when they are assigned to a module."""

from __future__ import annotations

from typing import Any, NoReturn, cast

from nbautograd.arrays import dtypes
from nbautograd.core.node import LEAF
from nbautograd.core.tensor import Tensor, wrap
from nbautograd.errors import kind_of
from nbautograd.ops.creation.creation import empty

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"]


class _Flagged(type):
    """Metaclass by which ``isinstance`` also accepts tensors with the attribute ``is_parameter`` or ``is_buffer``."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        flag = cls.__dict__.get("_own_flag")
        return flag is not None and isinstance(instance, Tensor) and bool(instance.__dict__.get(flag))


class Parameter(Tensor, metaclass=_Flagged):
    """A tensor that becomes a parameter of the module to which it is assigned as an attribute.

    It is a leaf that shares the memory of ``data``.

    :param data: a tensor; by default one without elements.
    :param requires_grad: whether operations on it are recorded.
    :raises AttributeError: ``data`` is no tensor.
    :raises RuntimeError: the dtype is neither floating nor complex, and ``requires_grad`` is true.

    >>> import nbautograd as torch
    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()
    _own_flag = "is_parameter"
    _results_are_plain = True

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        """A parameter; of a tensor of a user's own class, a tensor of that class that counts as one."""
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise AttributeError(f"Parameter(): 'data' must be a Tensor or None, and {kind_of(data)} is not")
        if requires_grad and data._a.dtype.kind not in dtypes.INEXACT:
            raise RuntimeError(
                f"Only Tensors of floating point and complex dtype can require gradients, and data is {data.dtype!r}: "
                "use Parameter(data, requires_grad=False)"
            )
        result = wrap(data._shared_array().view(), LEAF if requires_grad else None)
        kind = type(data)
        if kind is Tensor or isinstance(data, cls) and not data.__dict__.get("is_parameter"):
            result.__class__ = cls
        else:
            result.__class__ = kind
            result.__dict__["is_parameter"] = True
        return cast("Parameter", result)

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # whatever a subclass' __new__ takes
        pass

    def __deepcopy__(self, memo: dict[Any, Any]) -> Parameter:
        if id(self) not in memo:  # without the gradient, unlike that of other tensors
            copied = memo[id(self)] = Parameter(self.data.clone(), self.requires_grad)
            copied.__class__ = type(self)
        result: Parameter = memo[id(self)]
        return result

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__(tensor_contents=tensor_contents)  # type: ignore[call-arg, unused-ignore]


class Buffer(Tensor, metaclass=_Flagged):
    """A tensor that becomes a buffer, which is not trained, of the module to which it is assigned as an attribute.

    :param data: a tensor; by default one without elements.
    :param persistent: whether it is part of the module's ``state_dict``.

    >>> import nbautograd as torch
    >>> m = torch.nn.Module()
    >>> m.count = torch.nn.Buffer(torch.zeros(1))
    >>> m.state_dict()
    OrderedDict([('count', tensor([0.]))])
    """

    __slots__ = ()
    _own_flag = "is_buffer"
    _results_are_plain = True
    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        """A tensor that shares the memory of ``data`` and is known as a buffer."""
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise AttributeError(f"Buffer(): 'data' must be a Tensor or None, and {kind_of(data)} is not")
        result = data.detach()
        if data.requires_grad:
            result.requires_grad_()
        result.__dict__.update(persistent=persistent, is_buffer=True)
        return cast("Buffer", result)


def _refuse(kind: str) -> NoReturn:
    raise NotImplementedError(f"{kind} is not supported: lazy modules are not; say the sizes when making the module")


class UninitializedParameter(Parameter):
    """A parameter whose shape is not known yet: not supported.

    :raises NotImplementedError: always.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> UninitializedParameter:
        """Raise NotImplementedError."""
        _refuse("UninitializedParameter")


class UninitializedBuffer(Tensor):
    """A buffer whose shape is not known yet: not supported.

    :raises NotImplementedError: always.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> UninitializedBuffer:
        """Raise NotImplementedError."""
        _refuse("UninitializedBuffer")
