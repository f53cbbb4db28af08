"""Elementwise selection: ``where``, ``relu``, ``maximum``, ``minimum``, ``clamp``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.masking import bitwise_where
from nbautograd._engine.compiler.op import POINTWISE, alias, composite, elementwise, no_method, op
from nbautograd._engine.core.overrides import UNHANDLED, offer, subclasses
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import under_node
from nbautograd._engine.ops.creation.from_data import number_in
from nbautograd._engine.ops.elementwise.arithmetic import as_category
from nbautograd._engine.ops.queries import Number, check_tensors, example, method_of_tensor, result_dtype
from nbautograd._names.docstrings import described
from nbautograd.errors import DtypeError

__all__ = ["clamp", "clamp_max", "clamp_min", "clip", "fmax", "fmin", "maximum", "minimum", "relu", "where"]

Mask = Tensor


@no_method(
    symbol="where",
    kind=POINTWISE,
    input="where(condition, g, zeros_of(g))",
    other="where(condition, zeros_of(g), g)",
    name="where",
)
def _where(condition: Mask, input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Return elements of ``input`` where ``condition`` is true, of ``other`` where it is false."""
    return bitwise_where(condition, input, other)


@described
def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None) -> Any:
    """Return elements of ``input`` where ``condition`` is true, else of ``other``; all three are broadcast.

    With ``condition`` only, return ``nonzero(condition, as_tuple=True)``: the indices of the true elements.

    :param condition: a bool (or uint8) tensor.
    :raises RuntimeError: ``condition`` is of another dtype.

    >>> x = torch.tensor([1., -2.])
    >>> torch.where(x > 0, x, 0.)
    tensor([1., 0.])
    """
    if subclasses and (answer := offer(where, (condition, input, other), {})) is not UNHANDLED:
        return answer
    if input is None and other is None:
        check_tensors("where", condition=condition)
        return condition.nonzero(as_tuple=True)
    try:
        if isinstance(condition, Tensor) and condition._a.dtype.char not in "?B":
            raise DtypeError(
                f"where expected condition to be a boolean tensor, but got a tensor with dtype "
                f"{dtypes.scalar_type(condition.dtype)}"
            )
        for number, value in ((input, other), (other, input)):
            if number.__class__ in (int, float) and not -128 <= number < 128:
                number_in(number, result_dtype(number, value), "where", one=True)
        return _where(condition, input, other, out=out)
    except (AttributeError, TypeError):
        if (answer := offer(where, (condition, input, other), {})) is not UNHANDLED:
            return answer
        raise


@method_of_tensor("where", "where")
def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Return the elements of the tensor where ``condition`` is true, elsewhere those of ``other``.

    :param condition: a bool tensor.
    :param other: a tensor or a number.
    :returns: a tensor of the shape to which all three broadcast.
    :raises RuntimeError: the shapes do not broadcast, or ``condition`` is not of bool dtype.

    >>> x = torch.tensor([-1., 2.])
    >>> x.where(x > 0, 0)
    tensor([0., 2.])
    """
    return where(condition, self, other)


def along(node: str) -> Callable[..., Tensor]:
    """Declare the identity of the first argument that also depends on the second, with derivative 0.

    A gradient that selects by its input still depends on it: its second derivative is 0, not an error.
    """

    def first(input: Tensor, other: Tensor) -> Tensor:
        """Return the first of two tensors."""
        return input

    name = f"along_{node.partition('Backward')[0].lower()}"
    declare = op(node=node, symbol="·", kind=POINTWISE, method=False, inplace_method=False, out=False, name=name,
                 input="g", other="zeros_of(g)")  # fmt: skip
    return declare(first)


along_threshold = along("ThresholdBackwardBackward0")


@elementwise(symbol="relu", accepts="if", input="along_threshold(where(result <= 0, zeros_of(g), g), result)")
@example("relu([-1., 2.]) -> [0., 2.]")
def relu(input: Tensor) -> Tensor:
    """Compute the rectified linear unit ``max(x, 0)`` of each element; the derivative at 0 is 0."""
    return np.maximum(0, input)  # of equal operands the second is returned: -0 stays -0, as in PyTorch


@elementwise(
    symbol="max", accepts="bif", inplace_method=False,
    input="where(input < other, zeros_of(g), where(input == other, g / 2, g))",
    other="where(input > other, zeros_of(g), where(input == other, g / 2, g))",
)  # fmt: skip
@example("maximum([1., 5.], [3., 2.]) -> [3., 5.]")
def maximum(input: Tensor, other: Tensor) -> Tensor:
    """Return the elementwise maximum; nan propagates, and ties share the gradient."""
    return np.maximum(other, input)  # of equal operands the second is returned: input's zero keeps its sign


@elementwise(
    symbol="min", accepts="bif", inplace_method=False,
    input="where(input > other, zeros_of(g), where(input == other, g / 2, g))",
    other="where(input < other, zeros_of(g), where(input == other, g / 2, g))",
)  # fmt: skip
@example("minimum([1., 5.], [3., 2.]) -> [1., 2.]")
def minimum(input: Tensor, other: Tensor) -> Tensor:
    """Return the elementwise minimum; nan propagates, and ties share the gradient."""
    return np.minimum(other, input)  # as in maximum


@elementwise(
    symbol="fmax", accepts="bif", inplace_method=False,
    input="where(logical_or(input >= other, isnan(other)), g, zeros_of(g))",
    other="where(logical_or(input >= other, isnan(other)), zeros_of(g), g)",
)  # fmt: skip
@example('fmax([1., float("nan")], [3., 2.]) -> [3., 2.]')
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """Return the elementwise maximum that ignores nan; of ties, ``input`` gets the gradient."""
    return np.fmax(input, other)


@elementwise(
    symbol="fmin", accepts="bif", inplace_method=False,
    input="where(logical_or(input <= other, isnan(other)), g, zeros_of(g))",
    other="where(logical_or(input <= other, isnan(other)), zeros_of(g), g)",
)  # fmt: skip
@example('fmin([1., float("nan")], [3., 2.]) -> [1., 2.]')
def fmin(input: Tensor, other: Tensor) -> Tensor:
    """Return the elementwise minimum that ignores nan; of ties, ``input`` gets the gradient."""
    return np.fmin(input, other)


@no_method(
    node="ClampBackward1", symbol="clamp", kind=POINTWISE, accepts="if",
    input="where(logical_and(input >= low, input <= high), g, zeros_of(g))",
)  # fmt: skip
def _clamp(input: Tensor, low: Number, high: Number) -> Tensor:
    """Clamp each element to [low, high]."""
    # np.clip makes one pass, which is faster for large arrays; for small ones, its Python overhead dominates.
    return np.clip(input, low, high) if input.size > 4096 else np.minimum(high, np.maximum(low, input))


@no_method(
    node="ClampBackward0", symbol="clamp", kind=POINTWISE, accepts="if",
    input="where(logical_and(input >= low, input <= high), g, zeros_of(g))",
    low="where(logical_and(low < high, input < low), g, zeros_of(g))",
    high="where(logical_or(input > high, high < low), g, zeros_of(g))",
)  # fmt: skip
def _clamp_tensors(input: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Clamp each element to [low, high], which are tensors."""
    return np.minimum(high, np.maximum(low, input))


@no_method(symbol="clamp", kind=POINTWISE, accepts="bif", input="where(input >= low, g, zeros_of(g))")
def _clamp_min(input: Tensor, low: Number) -> Tensor:
    """Clamp each element to at least ``low``."""
    return np.maximum(low, input)


@no_method(symbol="clamp", kind=POINTWISE, accepts="bif", input="where(input <= high, g, zeros_of(g))")
def _clamp_max(input: Tensor, high: Number) -> Tensor:
    """Clamp each element to at most ``high``."""
    return np.minimum(high, input)


@no_method(
    node="ClampMinBackward1", symbol="clamp", kind=POINTWISE, accepts="bif",
    input="where(input >= min, g, zeros_of(g))",
    min="where(input < min, g, zeros_of(g))",
)  # fmt: skip
def _clamp_min_tensor(input: Tensor, min: Tensor) -> Tensor:
    """Return the elementwise maximum; of ties, ``input`` gets the gradient."""
    return np.maximum(min, input)


@no_method(
    node="ClampMaxBackward1", symbol="clamp", kind=POINTWISE, accepts="bif",
    input="where(input <= max, g, zeros_of(g))",
    max="where(input > max, g, zeros_of(g))",
)  # fmt: skip
def _clamp_max_tensor(input: Tensor, max: Tensor) -> Tensor:
    """Return the elementwise minimum; of ties, ``input`` gets the gradient."""
    return np.minimum(max, input)


_clamp_low = under_node(_clamp_min_tensor, "ClampBackward0", "_clamp_low")
_clamp_high = under_node(_clamp_max_tensor, "ClampBackward0", "_clamp_high")


@composite(inplace_method=True)
@example("clamp_min([-3., 0.5], -1) -> [-1.0000,  0.5000]")
def clamp_min(input: Tensor, min: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Clamp each element to at least ``min``."""
    check_tensors("clamp_min", input=input)
    if isinstance(min, Tensor):
        return _clamp_min_tensor(input, min, out=out)
    input = as_category(input, min)
    return _clamp_min(input, number_in(min, input.dtype), out=out)


@composite(inplace_method=True)
@example("clamp_max([0.5, 3.], 1) -> [0.5000, 1.0000]")
def clamp_max(input: Tensor, max: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Clamp each element to at most ``max``."""
    check_tensors("clamp_max", input=input)
    if isinstance(max, Tensor):
        return _clamp_max_tensor(input, max, out=out)
    input = as_category(input, max)
    return _clamp_max(input, number_in(max, input.dtype), out=out)


def _bound(bound: Any, other: Any) -> Any:
    """Return a bound; as a number if it is one of NumPy's, which has a dtype, or a tensor beside a number."""
    if isinstance(bound, np.generic):
        return bound.item()
    if not isinstance(bound, Tensor) or not isinstance(other, (int, float, np.integer, np.floating, np.bool_)):
        return bound
    if bound._a.ndim or bound.requires_grad:
        raise TypeError("clamp(): bounds are two numbers or two tensors; beside a number, a tensor is 0-d")
    return bound.item()


@composite(inplace_method=True)
@example("clamp([-3., 0.5, 3.], min=-1, max=1) -> [-1.0000,  0.5000,  1.0000]")
def clamp(
    input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Clamp each element to [``min``, ``max``]; the derivative is 1 inside and at the bounds, 0 outside.

    :raises RuntimeError: neither bound is given, or a dtype is complex.
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    min, max = _bound(min, max), _bound(max, min)
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        if max is None:
            return _clamp_low(input, min, out=out)
        if min is None:
            return _clamp_high(input, max, out=out)
        return _clamp_tensors(input, min, max, out=out)
    for bound in (min, max):
        if bound is not None:
            input = as_category(input, bound)
    low, high = -np.inf, np.inf
    if input._a.dtype.kind in "iu":
        info = np.iinfo(input._a.dtype)
        low, high = info.min, info.max
    if min is not None:
        low = number_in(min, input.dtype)
    if max is not None:
        high = number_in(max, input.dtype)
    return _clamp(input, low, high, out=out)


clip = clamp
alias(clip=clamp)
