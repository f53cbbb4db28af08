"""Element by element: choosing between tensors, and comparing them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd.arrays import backend, dtypes
from nbautograd.arrays.masking import bitwise_where
from nbautograd.compiler.op import POINTWISE, alias, composite, op
from nbautograd.core.tensor import Tensor, wrap
from nbautograd.errors import SCALAR_TYPES, DtypeError, kind_of
from nbautograd.ops._internal import not_implemented  # noqa: F401 - formulas name it
from nbautograd.ops.elementwise.arithmetic import as_category
from nbautograd.ops.queries import Number, check_tensors, result_dtype

__all__ = [
    "allclose",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "eq",
    "equal",
    "fmax",
    "fmin",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "heaviside",
    "isclose",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "le",
    "less",
    "less_equal",
    "lt",
    "maximum",
    "minimum",
    "ne",
    "not_equal",
    "relu",
    "where",
]

Mask = Tensor


# -- choosing --------------------------------------------------------------------------------------------------------


@op(
    node="WhereBackward0",
    symbol="where",
    kind=POINTWISE,
    method=False,
    inplace_method=False,
    input="where(condition, g, zeros_of(g))",
    other="where(condition, zeros_of(g), g)",
    name="where",
)
def _where(condition: Mask, input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Elements of ``input`` where ``condition`` is true, of ``other`` where it is false."""
    return bitwise_where(condition, input, other)


def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None) -> Any:
    """Elements of ``input`` where ``condition`` is true, of ``other`` where it is false; all three are broadcast.

    With ``condition`` alone: the indices of its true elements, as ``nonzero(condition, as_tuple=True)`` gives them.

    :param condition: a bool (or uint8) tensor.
    :raises RuntimeError: ``condition`` is of another dtype.

    >>> import nbautograd as torch
    >>> x = torch.tensor([1., -2.])
    >>> torch.where(x > 0, x, 0.)
    tensor([1., 0.])
    """
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if isinstance(condition, Tensor) and condition._a.dtype.char not in "?B":
        raise DtypeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype!r}"
        )
    return _where(condition, input, other, out=out)


Tensor.where = lambda self, condition, other: where(condition, self, other)


def along(node: str) -> Callable[..., Tensor]:
    """Declare a function that gives its first argument, recorded as depending on both, with no slope in the other.

    A gradient that only chooses by its input is still a function of it: differentiated again, it gives 0, not an error.
    """

    def first(input: Tensor, other: Tensor) -> Tensor:
        """The first of two tensors."""
        return input

    name = f"along_{node.partition('Backward')[0].lower()}"
    declare = op(node=node, symbol="·", kind=POINTWISE, method=False, inplace_method=False, out=False, name=name,
                 input="g", other="zeros_of(g)")  # fmt: skip
    return declare(first)


along_threshold = along("ThresholdBackwardBackward0")


@op(
    node="ReluBackward0",
    symbol="relu",
    kind=POINTWISE,
    accepts="if",
    input="along_threshold(where(result <= 0, zeros_of(g), g), result)",
)
def relu(input: Tensor) -> Tensor:
    """Each element, or 0 where it is negative; the derivative at 0 is 0.

    >>> import nbautograd as torch
    >>> torch.relu(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return np.maximum(input, 0)


@op(
    node="MaximumBackward0",
    symbol="max",
    kind=POINTWISE,
    accepts="bif",
    inplace_method=False,
    input="where(input < other, zeros_of(g), where(input == other, g / 2, g))",
    other="where(input > other, zeros_of(g), where(input == other, g / 2, g))",
)
def maximum(input: Tensor, other: Tensor) -> Tensor:
    """The larger of each pair of elements, nan where one is nan; equal ones share the gradient.

    >>> import nbautograd as torch
    >>> torch.maximum(torch.tensor([1., 5.]), torch.tensor([3., 2.]))
    tensor([3., 5.])
    """
    return np.maximum(input, other)


@op(
    node="MinimumBackward0",
    symbol="min",
    kind=POINTWISE,
    accepts="bif",
    inplace_method=False,
    input="where(input > other, zeros_of(g), where(input == other, g / 2, g))",
    other="where(input < other, zeros_of(g), where(input == other, g / 2, g))",
)
def minimum(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of each pair of elements, nan where one is nan; equal ones share the gradient.

    >>> import nbautograd as torch
    >>> torch.minimum(torch.tensor([1., 5.]), torch.tensor([3., 2.]))
    tensor([1., 2.])
    """
    return np.minimum(input, other)


@op(
    node="FmaxBackward0",
    symbol="fmax",
    kind=POINTWISE,
    accepts="bif",
    inplace_method=False,
    input="where(logical_or(input >= other, isnan(other)), g, zeros_of(g))",
    other="where(logical_or(input >= other, isnan(other)), zeros_of(g), g)",
)
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """The larger of each pair of elements, the other where one is nan; of equal ones, ``input`` has the gradient.

    >>> import nbautograd as torch
    >>> torch.fmax(torch.tensor([1., float("nan")]), torch.tensor([3., 2.]))
    tensor([3., 2.])
    """
    return np.fmax(input, other)


@op(
    node="FminBackward0",
    symbol="fmin",
    kind=POINTWISE,
    accepts="bif",
    inplace_method=False,
    input="where(logical_or(input <= other, isnan(other)), g, zeros_of(g))",
    other="where(logical_or(input <= other, isnan(other)), zeros_of(g), g)",
)
def fmin(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of each pair of elements, the other where one is nan; of equal ones, ``input`` has the gradient.

    >>> import nbautograd as torch
    >>> torch.fmin(torch.tensor([1., float("nan")]), torch.tensor([3., 2.]))
    tensor([1., 2.])
    """
    return np.fmin(input, other)


@op(
    node="ClampBackward1",
    symbol="clamp",
    kind=POINTWISE,
    accepts="if",
    method=False,
    inplace_method=False,
    input="where(logical_and(input >= low, input <= high), g, zeros_of(g))",
)
def _clamp(input: Tensor, low: Number, high: Number) -> Tensor:
    """Each element brought into [low, high]."""
    # One pass over large arrays; over small ones two are faster, which skip the Python in np.clip.
    return np.clip(input, low, high) if input.size > 4096 else np.minimum(np.maximum(input, low), high)


@op(
    node="ClampBackward0",
    symbol="clamp",
    kind=POINTWISE,
    accepts="if",
    method=False,
    inplace_method=False,
    input="where(logical_and(input >= low, input <= high), g, zeros_of(g))",
    low="where(logical_and(low < high, input < low), g, zeros_of(g))",
    high="where(logical_or(input > high, high < low), g, zeros_of(g))",
)
def _clamp_tensors(input: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Each element brought into [low, high], which may differ from element to element."""
    return np.minimum(np.maximum(input, low), high)


@op(
    node="ClampMinBackward0",
    symbol="clamp",
    kind=POINTWISE,
    method=False,
    inplace_method=False,
    input="where(input >= low, g, zeros_of(g))",
)
def _clamp_min(input: Tensor, low: Number) -> Tensor:
    """Each element, or ``low`` where it is less."""
    return np.maximum(input, low)


@op(
    node="ClampMaxBackward0",
    symbol="clamp",
    kind=POINTWISE,
    method=False,
    inplace_method=False,
    input="where(input <= high, g, zeros_of(g))",
)
def _clamp_max(input: Tensor, high: Number) -> Tensor:
    """Each element, or ``high`` where it is more."""
    return np.minimum(input, high)


@op(
    node="ClampMinBackward1",
    symbol="clamp",
    kind=POINTWISE,
    accepts="bif",
    method=False,
    inplace_method=False,
    input="where(input >= min, g, zeros_of(g))",
    min="where(input < min, g, zeros_of(g))",
)
def _clamp_min_tensor(input: Tensor, min: Tensor) -> Tensor:
    """The larger of each pair of elements; of equal ones, ``input`` has the gradient."""
    return np.maximum(input, min)


@op(
    node="ClampMaxBackward1",
    symbol="clamp",
    kind=POINTWISE,
    accepts="bif",
    method=False,
    inplace_method=False,
    input="where(input <= max, g, zeros_of(g))",
    max="where(input > max, g, zeros_of(g))",
)
def _clamp_max_tensor(input: Tensor, max: Tensor) -> Tensor:
    """The smaller of each pair of elements; of equal ones, ``input`` has the gradient."""
    return np.minimum(input, max)


@composite(inplace_method=True, out=True)
def clamp_min(input: Tensor, min: Tensor | Number) -> Tensor:
    """Each element, or ``min`` where it is less than that.

    >>> import nbautograd as torch
    >>> torch.clamp_min(torch.tensor([-3., 0.5]), -1)
    tensor([-1.0000,  0.5000])
    """
    check_tensors("clamp_min", input=input)
    return _clamp_min_tensor(input, min) if isinstance(min, Tensor) else _clamp_min(as_category(input, min), min)


@composite(inplace_method=True, out=True)
def clamp_max(input: Tensor, max: Tensor | Number) -> Tensor:
    """Each element, or ``max`` where it is more than that.

    >>> import nbautograd as torch
    >>> torch.clamp_max(torch.tensor([0.5, 3.]), 1)
    tensor([0.5000, 1.0000])
    """
    check_tensors("clamp_max", input=input)
    return _clamp_max_tensor(input, max) if isinstance(max, Tensor) else _clamp_max(as_category(input, max), max)


@composite(inplace_method=True)
def clamp(
    input: Tensor,
    min: Tensor | Number | None = None,
    max: Tensor | Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Each element brought into [``min``, ``max``]; the derivative is 1 inside and at the bounds, 0 outside.

    :raises RuntimeError: neither bound is given, or something is complex.

    >>> import nbautograd as torch
    >>> torch.clamp(torch.tensor([-3., 0.5, 3.]), min=-1, max=1)
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        if max is None:
            return clamp_min(input, min, out=out)
        if min is None:
            return clamp_max(input, max, out=out)
        return _clamp_tensors(input, min, max, out=out)
    for bound in (min, max):
        if bound is not None:
            input = as_category(input, bound)
    info = np.iinfo(input._a.dtype) if input._a.dtype.kind in "iu" else None
    low = min if min is not None else (-np.inf if info is None else info.min)
    high = max if max is not None else (np.inf if info is None else info.max)
    return _clamp(input, low, high, out=out)


@op(
    node="NotImplemented",
    symbol="⎽⎾",
    kind=POINTWISE,
    accepts="bif",
    method=False,
    inplace_method=False,
    input="not_implemented('heaviside')",
    values="not_implemented('heaviside')",
)
def _heaviside(input: Tensor, values: Tensor) -> Tensor:
    """The step function."""
    return np.where(input == 0, values, (input > 0).astype(input.dtype))


@composite(inplace_method=True, out=True)
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 where ``input`` is negative, 1 where it is positive, ``values`` where it is 0; not differentiable.

    :raises RuntimeError: the dtypes differ, or are complex.

    >>> import nbautograd as torch
    >>> torch.heaviside(torch.tensor([-1.5, 0., 2.]), torch.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    check_tensors("heaviside", input=input, values=values)
    if values.dtype is not input.dtype:
        raise DtypeError(
            "heaviside is not implemented for tensors with different dtypes, and these are of "
            f"{input.dtype!r} and {values.dtype!r}"
        )
    return _heaviside(input, values)


# -- comparing: nothing here is differentiable -----------------------------------------------------------------------


@op(kind=POINTWISE, operators="__eq__")
def eq(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each pair of elements is equal.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]) == torch.tensor([1, 3])
    tensor([ True, False])
    """
    return input == other


@op(kind=POINTWISE, operators="__ne__")
def ne(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each pair of elements differs.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]) != 1
    tensor([False,  True])
    """
    return input != other


@op(kind=POINTWISE, accepts="bif", operators="__lt__")
def lt(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each element is less than the other.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]) < 2
    tensor([ True, False])
    """
    return input < other


@op(kind=POINTWISE, accepts="bif", operators="__le__")
def le(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each element is less than or equal to the other.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]) <= 1
    tensor([ True, False])
    """
    return input <= other


@op(kind=POINTWISE, accepts="bif", operators="__gt__")
def gt(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each element is greater than the other.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]) > 1
    tensor([False,  True])
    """
    return input > other


@op(kind=POINTWISE, accepts="bif", operators="__ge__")
def ge(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether each element is greater than or equal to the other.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]) >= 2
    tensor([False,  True])
    """
    return input >= other


@op(kind=POINTWISE, inplace_method=False, out=False)
def isnan(input: Tensor) -> Tensor:
    """Whether each element is nan.

    >>> import nbautograd as torch
    >>> torch.isnan(torch.tensor([1., float("nan")]))
    tensor([False,  True])
    """
    return input != input


@op(kind=POINTWISE, inplace_method=False, out=False)
def isinf(input: Tensor) -> Tensor:
    """Whether each element is infinite.

    >>> import nbautograd as torch
    >>> torch.isinf(torch.tensor([1., -float("inf")]))
    tensor([False,  True])
    """
    return np.isinf(input)


@op(kind=POINTWISE, inplace_method=False, out=False)
def isfinite(input: Tensor) -> Tensor:
    """Whether each element is neither infinite nor nan.

    >>> import nbautograd as torch
    >>> torch.isfinite(torch.tensor([1., float("inf")]))
    tensor([ True, False])
    """
    return np.isfinite(input)


@op(kind=POINTWISE, accepts="bif", inplace_method=False)
def isposinf(input: Tensor) -> Tensor:
    """Whether each element is plus infinity.

    :raises RuntimeError: the dtype is complex.

    >>> import nbautograd as torch
    >>> torch.isposinf(torch.tensor([1., float("inf"), -float("inf")]))
    tensor([False,  True, False])
    """
    return input == np.inf


@op(kind=POINTWISE, accepts="bif", inplace_method=False)
def isneginf(input: Tensor) -> Tensor:
    """Whether each element is minus infinity.

    :raises RuntimeError: the dtype is complex.

    >>> import nbautograd as torch
    >>> torch.isneginf(torch.tensor([1., float("inf"), -float("inf")]))
    tensor([False, False,  True])
    """
    return input == -np.inf


@op(kind=POINTWISE, inplace_method=False, out=False)
def isreal(input: Tensor) -> Tensor:
    """Whether each element has no imaginary part.

    >>> import nbautograd as torch
    >>> torch.isreal(torch.tensor([1, 1j]))
    tensor([ True, False])
    """
    return input.imag == 0 if input.dtype.kind == "c" else np.ones_like(input, dtype=bool)


@op(kind=POINTWISE, method=False, inplace_method=False, out=False)
def _isclose(input: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    """Whether each pair of elements is close, in one dtype."""
    close = input == other
    if equal_nan:
        close = close | ((input != input) & (other != other))
    if rtol == 0 and atol == 0:
        return close
    if other.dtype.kind not in "fc":
        other = other.astype(dtypes.get_default_dtype().numpy)
    difference = np.abs(input - other)
    return close | (np.isfinite(difference) & (difference <= atol + np.abs(rtol * other)))


@composite()
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether each pair of elements is close: ``|input - other| <= atol + rtol * |other|``.

    :param equal_nan: whether two nans are close.
    :raises RuntimeError: the dtypes differ, or a tolerance is negative.

    >>> import nbautograd as torch
    >>> torch.isclose(torch.tensor([1., 1.]), torch.tensor([1.1, 1.000001]))
    tensor([False,  True])
    """
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RuntimeError(f"isclose(): {name} must be greater than or equal to zero, but got {tolerance}")
    check_tensors("isclose", input=input, other=other)
    if input.dtype is not other.dtype:
        raise DtypeError(
            f"isclose(): {SCALAR_TYPES[input.dtype.name]} did not match {SCALAR_TYPES[other.dtype.name]}: the dtypes "
            "of both tensors must be the same"
        )
    return _isclose(input, other, rtol, atol, equal_nan)


@composite()
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all pairs of elements are close; see ``isclose``.

    :raises RuntimeError: the dtypes differ, or a tolerance is negative.

    >>> import nbautograd as torch
    >>> torch.allclose(torch.tensor([1., 2.]), torch.tensor([1., 2.000001]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@composite()
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether the shapes are the same and all elements are equal.

    >>> import nbautograd as torch
    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2])), torch.equal(torch.ones(2), torch.ones(1))
    (True, False)
    """
    check_tensors("equal", input=input, other=other)
    return input.shape == other.shape and bool((input == other).all())


@op(method=False)
def _isin(elements: Tensor, test_elements: Tensor, invert: bool) -> Tensor:
    """Whether each element is among the others, or none of them."""
    return np.isin(elements, test_elements, invert=invert)


@composite(method=False, out=True)
def isin(
    elements: Tensor | Number, test_elements: Tensor | Number, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Whether each element of ``elements`` is one of ``test_elements``; one of the two may be a number.

    :param assume_unique: a promise that neither has an element twice; nothing depends on it here.
    :param invert: whether it is none of them instead.
    :raises RuntimeError: the dtype is bool or complex.

    >>> import nbautograd as torch
    >>> torch.isin(torch.tensor([[1, 2], [3, 4]]), torch.tensor([2, 3]))
    tensor([[False,  True],
            [ True, False]])
    """
    both = (elements, test_elements)
    tensors = [value for value in both if isinstance(value, Tensor)]
    if not tensors:
        raise TypeError(
            f"isin(): elements or test_elements must be a Tensor, not {kind_of(elements)} and {kind_of(test_elements)}"
        )
    for t in tensors:
        if t.dtype.rank not in (1, 2):
            raise DtypeError(f"Unsupported input type encountered for isin(): {SCALAR_TYPES[t.dtype.name]}")
    kind = result_dtype(*both)
    place = tensors[0].device
    first, second = (
        value.to(kind) if isinstance(value, Tensor) else wrap(backend.module(place).asarray(value, kind.numpy))
        for value in both
    )
    return _isin(first, second, invert)


clip = clamp
greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne
alias(clip=clamp, greater=gt, greater_equal=ge, less=lt, less_equal=le, not_equal=ne)
