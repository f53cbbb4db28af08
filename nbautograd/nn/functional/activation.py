"""Piecewise linear activations: ReLU and its relatives, shrinkage, hard sigmoid and hard swish."""

from __future__ import annotations

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.strides import row_major
from nbautograd._engine.compiler.op import composite
from nbautograd._engine.core.batched import random_function
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops.creation.from_data import item, number_in
from nbautograd._engine.ops.elementwise.selection import along, along_threshold, relu as _relu  # noqa: F401 - formulas name it
from nbautograd._engine.ops.queries import Number, check_tensors
from nbautograd._engine.rng import generator
from nbautograd.errors import UnsupportedDtypeError
from nbautograd.nn.functional._common import in_place_or_not, pointwise

__all__ = [
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "prelu", "relu",
    "relu6", "relu_", "rrelu", "rrelu_", "softshrink", "threshold", "threshold_",
]  # fmt: skip

along_hardshrink = along("HardshrinkBackwardBackward0")
along_hardtanh = along("HardtanhBackwardBackward0")
along_leakyrelu = along("LeakyReluBackwardBackward0")
along_softshrink = along("SoftshrinkBackwardBackward0")


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``max(input, 0)``; the derivative at 0 is 0."""
    return in_place_or_not("relu", _relu, True, input) if inplace else _relu(input)


def relu_(input: Tensor) -> Tensor:
    """Write the result of :func:`relu` into ``input``."""
    return relu(input, True)


@pointwise(
    symbol="hardtanh",
    accepts="if",
    out=False,
    input="along_hardtanh(where(logical_or(input <= low, input >= high), zeros_of(g), g), input)",
)
def _hardtanh(input: Tensor, low: float, high: float) -> Tensor:
    """Return the input clamped to two bounds, with derivative 0 at both."""
    return np.minimum(high, np.maximum(low, input))


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``min(max(input, 0), 6)``; the derivative at 0 and at 6 is 0."""
    return in_place_or_not("relu6", _hardtanh, inplace, input, 0, 6)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Return the input clamped to ``min_val`` and ``max_val``; unlike ``clamp``, its derivative is 0 at both bounds.

    :raises ValueError: ``min_val`` exceeds ``max_val``.
    """
    check_tensors("hardtanh", input=input)
    if min_val > max_val:
        raise ValueError(f"hardtanh(): min_val cannot be greater than max_val, got {min_val} and {max_val}")
    min_val, max_val = (item("hardtanh", number) for number in (min_val, max_val))
    if input._a.dtype.kind in "iu":
        min_val, max_val = (number_in(number, dtypes.int64, "hardtanh") for number in (min_val, max_val))
        if input._a.dtype.kind == "u" and min_val < 0:
            raise RuntimeError("hardtanh(): cannot do hardtanh on an unsigned type with negative limits")
    min_val, max_val = (number_in(number, input.dtype, "hardtanh") for number in (min_val, max_val))
    return in_place_or_not("hardtanh", _hardtanh, inplace, input, min_val, max_val)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Write the result of :func:`hardtanh` into ``input``."""
    return hardtanh(input, min_val, max_val, True)


@pointwise(
    symbol="leaky relu", input="along_leakyrelu(where(input > 0, g, g * negative_slope), input)", name="leaky_relu"
)
def _leaky_relu(input: Tensor, negative_slope: float) -> Tensor:
    """Return the input, times ``negative_slope`` where it is not positive."""
    scaled = input * negative_slope
    if 0 < negative_slope <= 1:
        return np.maximum(input, scaled, out=scaled if scaled.__class__ is np.ndarray else None)
    number_in(negative_slope, dtypes.of(input.dtype), "leaky_relu")
    return np.where(input > 0, input, scaled)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return ``input`` where it is positive, otherwise ``negative_slope * input``."""
    return in_place_or_not("leaky_relu", _leaky_relu, inplace, input, negative_slope)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """Write the result of :func:`leaky_relu` into ``input``."""
    return leaky_relu(input, negative_slope, True)


@pointwise(
    node="PreluKernelBackward0",
    symbol="prelu",
    out=False,
    input="where(input > 0, g, g * weight)",
    weight="where(input > 0, zeros_of(g), g * input)",
)
def _prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return the input, times ``weight`` where it is not positive."""
    return np.where(input > 0, input, input * weight)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return ``input`` where it is positive, otherwise ``weight * input``.

    :param input: shape (n, c, ...).
    :param weight: one element, or shape (c,).
    :raises RuntimeError: the shapes or dtypes do not fit.

    >>> torch.nn.functional.prelu(torch.tensor([-1., 2.]), torch.tensor([0.5]))
    tensor([-0.5000,  2.0000])
    """
    check_tensors("prelu", input=input, weight=weight)
    x, w = input._a, weight._a
    if x.dtype != w.dtype:
        kinds = f"{dtypes.scalar_type(input.dtype)} and {dtypes.scalar_type(weight.dtype)}"
        raise RuntimeError(f"prelu: Type promoting not supported. Got {kinds}")
    if w.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {w.ndim}")
    if w.size != 1:
        if not x.ndim:
            raise RuntimeError("prelu: Not allow zero-dim input tensor with several weights.")
        channels = x.shape[1] if x.ndim > 1 else 1
        if channels != w.size:
            sizes = f"parameter numbers = {w.size} and channel size = {channels}"
            raise RuntimeError(f"prelu: Mismatch of parameter numbers and input channel size. Found {sizes}.")
    return _prelu(input, weight.reshape((1, -1) + (1,) * (x.ndim - 2)) if x.ndim > 1 else weight.reshape((1,) * x.ndim))


Tensor.prelu = prelu


@pointwise(node="RreluWithNoiseBackward0", symbol="rrelu", out=False, input="g * noise")
def _rrelu(input: Tensor, noise: Tensor) -> Tensor:
    """Return the input times the slopes drawn before, which are 1 where it is positive."""
    return input * noise


@pointwise(node="RreluWithNoiseBackward0", symbol="rrelu", out=False, input="where(input > 0, g, g * slope)")
def _rrelu_mean(input: Tensor, slope: float) -> Tensor:
    """Return the input, times one slope where it is not positive: the evaluation mode of rrelu."""
    return row_major(np.where(input > 0, input, input * slope))


def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Return ``input`` where it is positive, otherwise ``slope * input`` with slopes drawn uniformly, or their mean.

    :param training: whether to draw the slopes.
    :raises RuntimeError: ``lower`` exceeds ``upper``.
    """
    check_tensors("rrelu", input=input)
    if lower > upper:
        raise RuntimeError(f"rrelu(): lower bound must be less than or equal to upper bound, got {lower} and {upper}")
    if not training:
        return in_place_or_not("rrelu", _rrelu_mean, inplace, input, (lower + upper) / 2)
    if input.is_complex():
        raise UnsupportedDtypeError("rrelu", input.dtype, "f")
    return in_place_or_not("rrelu", _rrelu, inplace, input, _rrelu_noise(input, lower, upper))


@random_function("distribution")
def _rrelu_noise(input: Tensor, lower: float, upper: float) -> Tensor:
    """Return the random slopes, 1 where the input is positive."""
    array = input._a
    if backend.is_bare(array):
        return wrap(np.empty_like(array))
    negative = backend.fetch(array <= 0)
    noise = np.ones(array.shape, array.dtype)
    # Each element that is not positive gets one number, drawn in double precision between rounded bounds.
    drawn = generator.default_generator.rand((int(negative.sum()),), np.dtype(np.float64))
    low, high = float(array.dtype.type(lower)), float(array.dtype.type(upper))
    noise[negative] = drawn * (high - low) + low
    return wrap(backend.module(input.device).asarray(noise))


def rrelu_(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Tensor:
    """Write the result of :func:`rrelu` into ``input``."""
    return rrelu(input, lower, upper, training, True)


@pointwise(
    symbol="threshold",
    accepts="if",
    input="along_threshold(where(input <= limit, zeros_of(g), g), input)",
    name="threshold",
)
def _threshold(input: Tensor, limit: Number, value: Number) -> Tensor:
    """Return the input where it exceeds ``limit``, ``value`` elsewhere."""
    return np.where(input <= limit, input.dtype.type(value), input)


def _thresholded(input: Tensor, limit: Number, value: Number, inplace: bool) -> Tensor:
    if isinstance(input, Tensor):
        limit, value = (number_in(number, input.dtype, "threshold") for number in (limit, value))
    return in_place_or_not("threshold", _threshold, inplace, input, limit, value)


def threshold(input: Tensor, threshold: Number, value: Number, inplace: bool = False) -> Tensor:
    """Return ``input`` where it exceeds ``threshold``, otherwise ``value``."""
    return _thresholded(input, threshold, value, inplace)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """Write the result of :func:`threshold` into ``input``."""
    return _thresholded(input, threshold, value, True)


@pointwise(
    symbol="hardsigmoid", input="where(logical_and(input > -3, input < 3), g / 6, zeros_of(g))", name="hardsigmoid"
)
def _hardsigmoid(input: Tensor) -> Tensor:
    """Return ``min(max(input + 3, 0), 6) / 6``."""
    return np.minimum(np.maximum(input + 3, 0), 6) / 6


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``min(max(input + 3, 0), 6) / 6``, a sigmoid of three straight lines."""
    return in_place_or_not("hardsigmoid", _hardsigmoid, inplace, input)


@pointwise(
    symbol="hardswish",
    input="where(input <= -3, zeros_of(g), where(input < 3, g * (input / 3 + 0.5), g))",
    name="hardswish",
)
def _hardswish(input: Tensor) -> Tensor:
    """Return ``input`` times its hard sigmoid."""
    return input * np.minimum(np.maximum(input + 3, 0), 6) / 6


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * hardsigmoid(input)``."""
    return in_place_or_not("hardswish", _hardswish, inplace, input)


@pointwise(
    symbol="hardshrink",
    method=True,
    input="along_hardshrink(where(logical_and(input >= -lambd, input <= lambd), zeros_of(g), g), input)",
)
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return ``input`` with 0 between ``-lambd`` and ``lambd``.

    >>> torch.nn.functional.hardshrink(torch.tensor([-0.4, 2.]))
    tensor([0., 2.])
    """
    number_in(lambd, dtypes.of(input.dtype), "hardshrink")
    return np.where((input >= -lambd) & (input <= lambd), input.dtype.type(0), input)


@pointwise(
    symbol="softshrink",
    input="along_softshrink(where(logical_and(input >= -lambd, input <= lambd), zeros_of(g), g), input)",
    name="softshrink",
)
def _softshrink(input: Tensor, lambd: float) -> Tensor:
    """Return the input moved towards 0 by ``lambd``."""
    nearer = np.where(input > lambd, input - lambd, input + lambd)
    return np.where((input >= -lambd) & (input <= lambd), input * 0, nearer)


@composite(method=False, out=True)
def softshrink(input: Tensor, lambd: Number = 0.5) -> Tensor:
    """Return ``input`` moved towards 0 by ``lambd``, and 0 within that distance of 0.

    :raises RuntimeError: ``lambd`` is negative.

    >>> torch.nn.functional.softshrink(torch.tensor([-0.4, 2.]))
    tensor([-0.0000, 1.5000])
    """
    check_tensors("softshrink", input=input)
    lambd = number_in(lambd, dtypes.float64, "softshrink")
    if input._a.dtype.kind in "fV" and not 0 <= lambd <= dtypes.finfo(input.dtype).max:
        kind = dtypes.of(input._a.dtype).name
        raise RuntimeError(f"lambda must be in range [0, {kind}'s largest] for softshrink, but found {lambd}")
    return _softshrink(input, lambd)
