"""Elementwise logical and bitwise operations; none is differentiable."""

from __future__ import annotations

import numpy as np

from nbautograd._engine.compiler.op import composite, elementwise
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.queries import Number, example

__all__ = [
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "logical_and", "logical_not", "logical_or", "logical_xor",
]  # fmt: skip


# -- logical ---------------------------------------------------------------------------------------------------------


@elementwise()
@example("logical_and([1, 0], [2, 2]) -> [ True, False]")
def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Compute logical AND, elementwise: True if both elements are nonzero."""
    return np.logical_and(input, other)


@elementwise()
@example("logical_or([1, 0], [0, 0]) -> [ True, False]")
def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """Compute logical OR, elementwise: True if at least one element is nonzero."""
    return np.logical_or(input, other)


@elementwise()
@example("logical_xor([1, 0], [2, 2]) -> [False,  True]")
def logical_xor(input: Tensor, other: Tensor) -> Tensor:
    """Compute logical XOR, elementwise: True if exactly one element is nonzero."""
    return np.logical_xor(input, other)


@elementwise()
@example("logical_not([1, 0]) -> [False,  True]")
def logical_not(input: Tensor) -> Tensor:
    """Compute logical NOT, elementwise: True if the element is zero."""
    return np.logical_not(input)


# -- bitwise ---------------------------------------------------------------------------------------------------------


@elementwise(accepts="bi", operators="__and__ __rand__ __iand__")
@example("[6, 5] & 4 -> [4, 4]")
def bitwise_and(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Compute bitwise AND of integers; logical AND of bools."""
    return input & other


@elementwise(accepts="bi", operators="__or__ __ror__ __ior__")
@example("[6, 5] | 1 -> [7, 5]")
def bitwise_or(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Compute bitwise OR of integers; logical OR of bools."""
    return input | other


@elementwise(accepts="bi", operators="__xor__ __rxor__ __ixor__")
@example("[6, 5] ^ 1 -> [7, 4]")
def bitwise_xor(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Compute bitwise XOR of integers; logical XOR of bools."""
    return input ^ other


@elementwise(accepts="bi")
@example("~[True, False] -> [False,  True]")
def bitwise_not(input: Tensor) -> Tensor:
    """Compute bitwise NOT of integers; logical NOT of bools."""
    return ~input


@composite(operators="__invert__", method=False)
@example("~[True, False] -> [False,  True]")
def _invert(input: Tensor) -> Tensor:
    """Compute ``~input``: bitwise NOT of integers, logical NOT of bools.

    :param input: a tensor of bool or integer dtype.
    :returns: a tensor of the shape of ``input``.
    :raises TypeError: the dtype is neither.
    """
    if input.dtype.rank > 1:
        raise TypeError(
            f"~ (operator.invert) is only implemented on integer and Boolean-type tensors, and this is {input.dtype!r}"
        )
    return bitwise_not(input)


@elementwise(accepts="i", operators="__lshift__ __ilshift__")
@example("[1, 2] << 3 -> [ 8, 16]")
def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Shift the bits of ``input`` left by ``other``: ``input << other``."""
    return input << other


@elementwise(accepts="i", operators="__rshift__ __irshift__")
@example("[8, 16] >> 3 -> [1, 2]")
def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Shift the bits of ``input`` right by ``other``: ``input >> other``; negative numbers keep their sign."""
    return input >> other


@composite(operators="__rlshift__", method=False)
@example("1 << [2, 5] -> [ 4, 32]")
def _rlshift(input: Tensor, other: Tensor | Number) -> Tensor:
    """Compute ``other << input``, the reflected form of the shift.

    :param input: the operand on the right.
    :param other: the operand on the left, an integer or a tensor.
    :raises RuntimeError: a dtype is not an integer dtype.
    """
    return bitwise_left_shift(other, input)


@composite(operators="__rrshift__", method=False)
@example("64 >> [2, 5] -> [16,  2]")
def _rrshift(input: Tensor, other: Tensor | Number) -> Tensor:
    """Compute ``other >> input``, the reflected form of the shift.

    :param input: the operand on the right.
    :param other: the operand on the left, an integer or a tensor.
    :raises RuntimeError: a dtype is not an integer dtype.
    """
    return bitwise_right_shift(other, input)
