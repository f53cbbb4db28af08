"""Elementwise logical and bitwise operations; none is differentiable."""

from __future__ import annotations

import numpy as np

from nbautograd._engine.compiler.op import composite, elementwise
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.queries import Number

__all__ = [
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
]


# -- logical ---------------------------------------------------------------------------------------------------------


@elementwise()
def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Compute logical AND, elementwise: True if both elements are nonzero.

    >>> torch.logical_and(torch.tensor([1, 0]), torch.tensor([2, 2]))
    tensor([ True, False])
    """
    return np.logical_and(input, other)


@elementwise()
def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """Compute logical OR, elementwise: True if at least one element is nonzero.

    >>> torch.logical_or(torch.tensor([1, 0]), torch.tensor([0, 0]))
    tensor([ True, False])
    """
    return np.logical_or(input, other)


@elementwise()
def logical_xor(input: Tensor, other: Tensor) -> Tensor:
    """Compute logical XOR, elementwise: True if exactly one element is nonzero.

    >>> torch.logical_xor(torch.tensor([1, 0]), torch.tensor([2, 2]))
    tensor([False,  True])
    """
    return np.logical_xor(input, other)


@elementwise()
def logical_not(input: Tensor) -> Tensor:
    """Compute logical NOT, elementwise: True if the element is zero.

    >>> torch.logical_not(torch.tensor([1, 0]))
    tensor([False,  True])
    """
    return np.logical_not(input)


# -- bitwise ---------------------------------------------------------------------------------------------------------


@elementwise(accepts="bi", operators="__and__ __rand__ __iand__")
def bitwise_and(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Compute bitwise AND of integers; logical AND of bools.

    >>> torch.tensor([6, 5]) & 4
    tensor([4, 4])
    """
    return input & other


@elementwise(accepts="bi", operators="__or__ __ror__ __ior__")
def bitwise_or(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Compute bitwise OR of integers; logical OR of bools.

    >>> torch.tensor([6, 5]) | 1
    tensor([7, 5])
    """
    return input | other


@elementwise(accepts="bi", operators="__xor__ __rxor__ __ixor__")
def bitwise_xor(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Compute bitwise XOR of integers; logical XOR of bools.

    >>> torch.tensor([6, 5]) ^ 1
    tensor([7, 4])
    """
    return input ^ other


@elementwise(accepts="bi")
def bitwise_not(input: Tensor) -> Tensor:
    """Compute bitwise NOT of integers; logical NOT of bools.

    >>> ~torch.tensor([True, False])
    tensor([False,  True])
    """
    return ~input


@composite(operators="__invert__", method=False)
def _invert(input: Tensor) -> Tensor:
    """Compute ``~input``: bitwise NOT of integers, logical NOT of bools.

    :param input: a tensor of bool or integer dtype.
    :returns: a tensor of the shape of ``input``.
    :raises TypeError: the dtype is neither.

    >>> ~torch.tensor([True, False])
    tensor([False,  True])
    """
    if input.dtype.rank > 1:
        raise TypeError(
            f"~ (operator.invert) is only implemented on integer and Boolean-type tensors, and this is {input.dtype!r}"
        )
    return bitwise_not(input)


@elementwise(accepts="i", operators="__lshift__ __ilshift__")
def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Shift the bits of ``input`` left by ``other``: ``input << other``.

    >>> torch.tensor([1, 2]) << 3
    tensor([ 8, 16])
    """
    return input << other


@elementwise(accepts="i", operators="__rshift__ __irshift__")
def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Shift the bits of ``input`` right by ``other``: ``input >> other``; negative numbers keep their sign.

    >>> torch.tensor([8, 16]) >> 3
    tensor([1, 2])
    """
    return input >> other


@composite(operators="__rlshift__", method=False)
def _rlshift(input: Tensor, other: Tensor | Number) -> Tensor:
    """Compute ``other << input``, the reflected form of the shift.

    :param input: the operand on the right.
    :param other: the operand on the left, an integer or a tensor.
    :raises RuntimeError: a dtype is not an integer dtype.

    >>> 1 << torch.tensor([2, 5])
    tensor([ 4, 32])
    """
    return bitwise_left_shift(other, input)


@composite(operators="__rrshift__", method=False)
def _rrshift(input: Tensor, other: Tensor | Number) -> Tensor:
    """Compute ``other >> input``, the reflected form of the shift.

    :param input: the operand on the right.
    :param other: the operand on the left, an integer or a tensor.
    :raises RuntimeError: a dtype is not an integer dtype.

    >>> 64 >> torch.tensor([2, 5])
    tensor([16,  2])
    """
    return bitwise_right_shift(other, input)
