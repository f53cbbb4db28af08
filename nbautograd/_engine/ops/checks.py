"""``torch._check`` and variants: conditions on numbers and tensors that a program asserts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.from_data import tensor
from nbautograd._engine.ops.queries import check_tensors

Message = Callable[[], object] | None


def _check_with(error_type: type[Exception], cond: Any, message: Message = None) -> None:
    """Raise an error of this type unless ``cond`` is true.

    :param message: a function that returns the message.
    :raises TypeError: ``cond`` is not a bool, or ``message`` is not callable.
    """
    if isinstance(cond, Tensor):
        raise TypeError("cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all()")
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type("Expected cond to be True, but got False. Pass a message that names the expected condition.")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond: Any, message: Message = None) -> None:
    """Raise a RuntimeError unless ``cond`` is true.

    :param message: a function that returns the message.
    """
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Message = None) -> None:
    """Raise an IndexError unless ``cond`` is true."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Message = None) -> None:
    """Raise a ValueError unless ``cond`` is true."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Message = None) -> None:
    """Raise a TypeError unless ``cond`` is true."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Message = None) -> None:
    """Raise a NotImplementedError unless ``cond`` is true."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all(cond: Any, message: Message = None) -> None:
    """Raise a RuntimeError unless all elements of a tensor of bools are true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not dtypes.bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(RuntimeError, bool(cond._a.all()), message)


def _assert(condition: Any, message: str) -> None:
    """Run ``assert`` as a function."""
    assert condition, message


def _assert_async(input: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raise a RuntimeError if a tensor of one element is zero.

    :raises RuntimeError: the element is zero, or the tensor has several elements.
    """
    check_tensors("_assert_async", input=input)
    if input.numel() != 1:
        raise RuntimeError(
            f"Boolean value of Tensor with {'no values' if input.numel() == 0 else 'more than one value'} is ambiguous"
        )
    if not bool(input):
        raise RuntimeError(assert_msg)


def _shape_as_tensor(input: Tensor) -> Tensor:
    """Return the shape of a tensor as a tensor of integers."""
    return tensor(list(input.shape), dtype=dtypes.int64)
