"""Activations: what a layer does to each number that comes out of it, and the softmax family."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from nbautograd.arrays import backend, dtypes, precise
from nbautograd.arrays.size import dimension
from nbautograd.compiler.derivative_helper import derivative_helper
from nbautograd.compiler.op import POINTWISE, composite, op
from nbautograd.core.tensor import Tensor, wrap
from nbautograd.errors import UnsupportedDtypeError, kind_of
from nbautograd.nn.functional._common import in_place_or_not
from nbautograd.ops.elementwise.comparison import along, along_threshold, relu as _relu  # noqa: F401 - formulas name the second
from nbautograd.ops.elementwise.exp_log_trig import exp, sigmoid, tanh
from nbautograd.ops.elementwise.special import erf
from nbautograd.ops.queries import check_tensors
from nbautograd.ops.reduction.softmax import log_softmax_over, refuse_integers, softmax_over
from nbautograd.ops.shape.joining import cat_same
from nbautograd.rng import generator

__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]


SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805
"""The fixed point of Klambauer et al., "Self-Normalizing Neural Networks" (2017)."""


SQRT_HALF = math.sqrt(0.5)
INVERSE_SQRT_2PI = 1 / math.sqrt(2 * math.pi)
GELU_SCALE, GELU_CUBE = math.sqrt(2 / math.pi), 0.044715


def gelu_inner(x: Any) -> Any:
    """The argument of tanh in the approximation of gelu."""
    return x * (x * x * (GELU_SCALE * GELU_CUBE) + GELU_SCALE)


along_hardshrink = along("HardshrinkBackwardBackward0")
along_hardtanh = along("HardtanhBackwardBackward0")
along_leakyrelu = along("LeakyReluBackwardBackward0")
along_softshrink = along("SoftshrinkBackwardBackward0")


# -- rectifiers ------------------------------------------------------------------------------------------------------


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``; the derivative at 0 is 0.

    >>> import nbautograd as torch
    >>> torch.nn.functional.relu(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return in_place_or_not("relu", _relu, True, input) if inplace else _relu(input)


def relu_(input: Tensor) -> Tensor:
    """:func:`relu`, written into ``input``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.relu_(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return relu(input, True)


@op(
    node="HardtanhBackward0",
    symbol="hardtanh",
    kind=POINTWISE,
    accepts="if",
    method=False,
    inplace_method=False,
    out=False,
    input="along_hardtanh(where(logical_and(input > low, input < high), g, zeros_of(g)), input)",
)
def _hardtanh(input: Tensor, low: float, high: float) -> Tensor:
    """The input between two bounds, with derivative 0 at both."""
    return np.minimum(np.maximum(input, low), high)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``; the derivative at 0 and at 6 is 0.

    >>> import nbautograd as torch
    >>> torch.nn.functional.relu6(torch.tensor([-1., 2., 8.]))
    tensor([0., 2., 6.])
    """
    return in_place_or_not("relu6", _hardtanh, inplace, input, 0, 6)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """The input brought between ``min_val`` and ``max_val``; unlike ``clamp`` with derivative 0 at both.

    :raises ValueError: ``min_val`` exceeds ``max_val``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.hardtanh(torch.tensor([-3., 0.5]))
    tensor([-1.0000,  0.5000])
    """
    check_tensors("hardtanh", input=input)
    if min_val > max_val:
        raise ValueError(f"hardtanh(): min_val cannot be greater than max_val, got {min_val} and {max_val}")
    if input._a.dtype.kind in "iu":
        min_val, max_val = int(min_val), int(max_val)
        if input._a.dtype.kind == "u" and min_val < 0:
            raise RuntimeError("hardtanh(): cannot do hardtanh on an unsigned type with negative limits")
    return in_place_or_not("hardtanh", _hardtanh, inplace, input, min_val, max_val)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """:func:`hardtanh`, written into ``input``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.hardtanh_(torch.tensor([-3., 0.5]))
    tensor([-1.0000,  0.5000])
    """
    return hardtanh(input, min_val, max_val, True)


@op(
    node="LeakyReluBackward0",
    symbol="leaky relu",
    kind=POINTWISE,
    accepts="f",
    method=False,
    inplace_method=False,
    input="along_leakyrelu(where(input > 0, g, g * negative_slope), input)",
    name="leaky_relu",
)
def _leaky_relu(input: Tensor, negative_slope: float) -> Tensor:
    """The input, times ``negative_slope`` where it is not positive."""
    return np.where(input > 0, input, input * negative_slope)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, otherwise ``negative_slope * input``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.leaky_relu(torch.tensor([-1., 2.]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return in_place_or_not("leaky_relu", _leaky_relu, inplace, input, negative_slope)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """:func:`leaky_relu`, written into ``input``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.leaky_relu_(torch.tensor([-1., 2.]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return leaky_relu(input, negative_slope, True)


@op(
    node="PreluKernelBackward0",
    symbol="prelu",
    kind=POINTWISE,
    accepts="f",
    method=False,
    inplace_method=False,
    out=False,
    input="where(input > 0, g, g * weight)",
    weight="where(input > 0, zeros_of(g), g * input)",
)
def _prelu(input: Tensor, weight: Tensor) -> Tensor:
    """The input, times ``weight`` where it is not positive."""
    return np.where(input > 0, input, input * weight)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``input`` where it is positive, otherwise ``weight * input``.

    :param input: shape (n, c, ...).
    :param weight: one element, or shape (c,).
    :raises RuntimeError: the shapes or dtypes do not fit.

    >>> import nbautograd as torch
    >>> torch.nn.functional.prelu(torch.tensor([-1., 2.]), torch.tensor([0.5]))
    tensor([-0.5000,  2.0000])
    """
    check_tensors("prelu", input=input, weight=weight)
    x, w = input._a, weight._a
    if x.dtype != w.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype!r} and {weight.dtype!r}")
    if w.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {w.ndim}")
    if w.size != 1:
        if not x.ndim:
            raise RuntimeError("prelu: Not allow zero-dim input tensor with several weights.")
        channels = x.shape[1] if x.ndim > 1 else 1
        if channels != w.size:
            raise RuntimeError(
                f"prelu: Mismatch of parameter numbers and input channel size. Found parameter numbers = {w.size} "
                f"and channel size = {channels}."
            )
    return _prelu(input, weight.reshape((1, -1) + (1,) * (x.ndim - 2)) if x.ndim > 1 else weight.reshape((1,) * x.ndim))


Tensor.prelu = prelu


@op(
    node="RreluWithNoiseBackward0",
    symbol="rrelu",
    kind=POINTWISE,
    accepts="f",
    method=False,
    inplace_method=False,
    out=False,
    input="g * noise",
)
def _rrelu(input: Tensor, noise: Tensor) -> Tensor:
    """The input times slopes that were drawn before; 1 where it is positive."""
    return input * noise


@op(
    node="RreluWithNoiseBackward0",
    symbol="rrelu",
    kind=POINTWISE,
    accepts="f",
    method=False,
    inplace_method=False,
    out=False,
    input="where(input > 0, g, g * slope)",
)
def _rrelu_mean(input: Tensor, slope: float) -> Tensor:
    """The same when not training: one slope for all."""
    return np.where(input > 0, input, input * slope)


def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """``input`` where it is positive, otherwise ``slope * input`` with slopes drawn uniformly, or their mean.

    :param training: whether to draw them.
    :raises RuntimeError: ``lower`` exceeds ``upper``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.rrelu(torch.tensor([-1., 2.]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    """
    check_tensors("rrelu", input=input)
    if lower > upper:
        raise RuntimeError(f"rrelu(): lower bound must be less than or equal to upper bound, got {lower} and {upper}")
    if not training:
        return in_place_or_not("rrelu", _rrelu_mean, inplace, input, (lower + upper) / 2)
    if input.is_complex():
        raise UnsupportedDtypeError("rrelu", input.dtype, "f")
    array = input._a
    negative = backend.fetch(array <= 0)
    noise = np.ones(array.shape, array.dtype)
    # One number is drawn for each element that is not positive, in double precision between rounded bounds.
    drawn = generator.default_generator.rand((int(negative.sum()),), np.dtype(np.float64))
    low, high = float(array.dtype.type(lower)), float(array.dtype.type(upper))
    noise[negative] = drawn * (high - low) + low
    return in_place_or_not("rrelu", _rrelu, inplace, input, wrap(backend.module(input.device).asarray(noise)))


def rrelu_(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Tensor:
    """:func:`rrelu`, written into ``input``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.rrelu_(torch.tensor([-1., 2.]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    """
    return rrelu(input, lower, upper, training, True)


@op(
    node="ThresholdBackward0",
    symbol="threshold",
    kind=POINTWISE,
    accepts="if",
    method=False,
    inplace_method=False,
    input="along_threshold(where(input <= limit, zeros_of(g), g), input)",
    name="threshold",
)
def _threshold(input: Tensor, limit: float, value: float) -> Tensor:
    """The input where it exceeds ``limit``, ``value`` elsewhere."""
    return np.where(input <= limit, input.dtype.type(value), input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``input`` where it exceeds ``threshold``, otherwise ``value``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.threshold(torch.tensor([-1., 2.]), 1, 20)
    tensor([20.,  2.])
    """
    return in_place_or_not("threshold", _threshold, inplace, input, threshold, value)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """:func:`threshold`, written into ``input``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.threshold_(torch.tensor([-1., 2.]), 1, 20)
    tensor([20.,  2.])
    """
    return in_place_or_not("threshold", _threshold, True, input, threshold, value)


# -- exponential units -----------------------------------------------------------------------------------------------


@op(
    node="EluBackward0",
    symbol="elu",
    kind=POINTWISE,
    accepts="f",
    method=False,
    inplace_method=False,
    input="where(input > 0, g * scale, g * (alpha * scale * input_scale) * exp(input * input_scale))",
    name="elu",
)
def _elu(input: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor:
    """``scale * input`` where positive, otherwise ``alpha * scale * (exp(input_scale * input) - 1)``."""
    return np.where(input > 0, input * scale, precise.expm1(np.minimum(input, 0) * input_scale) * (alpha * scale))


@op(
    node="CeluBackward0",
    symbol="celu",
    kind=POINTWISE,
    accepts="f",
    method=False,
    inplace_method=False,
    out=False,
    input="where(input > 0, g, g * exp(input / alpha))",
)
def _celu(input: Tensor, alpha: float) -> Tensor:
    """``input`` where positive, otherwise ``alpha * (exp(input / alpha) - 1)``."""
    return np.where(input > 0, input, precise.expm1(np.minimum(input, 0) / alpha) * alpha)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, otherwise ``alpha * (exp(input) - 1)``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.elu(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """
    return in_place_or_not("elu", _elu, inplace, input, alpha, 1.0, 1.0)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """:func:`elu`, written into ``input``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.elu_(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """
    return elu(input, alpha, True)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """:func:`elu` with the two constants for which a deep network keeps mean 0 and variance 1.

    >>> import nbautograd as torch
    >>> torch.nn.functional.selu(torch.tensor([-1., 2.]))
    tensor([-1.1113,  2.1014])
    """
    return in_place_or_not("selu", _elu, inplace, input, SELU_ALPHA, SELU_SCALE, 1.0)


def selu_(input: Tensor) -> Tensor:
    """:func:`selu`, written into ``input``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.selu_(torch.tensor([-1., 2.]))
    tensor([-1.1113,  2.1014])
    """
    return selu(input, True)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, otherwise ``alpha * (exp(input / alpha) - 1)``.

    :raises RuntimeError: ``alpha`` is 0.

    >>> import nbautograd as torch
    >>> torch.nn.functional.celu(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return in_place_or_not("celu", _celu, inplace, input, alpha)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """:func:`celu`, written into ``input``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.celu_(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """
    return celu(input, alpha, True)


# -- smooth ones -----------------------------------------------------------------------------------------------------


@derivative_helper
def gelu_slope(x: Any) -> Any:
    """The derivative of gelu: the normal distribution function plus ``x`` times the density."""
    return (erf(x * SQRT_HALF) + 1) * 0.5 + x * exp(x * x * -0.5) * INVERSE_SQRT_2PI


@derivative_helper
def gelu_tanh_slope(x: Any) -> Any:
    """The derivative of the approximation by tanh."""
    t = tanh(gelu_inner(x))
    return (t + 1) * 0.5 + x * (1 - t * t) * (x * x * (3 * GELU_SCALE * GELU_CUBE) + GELU_SCALE) * 0.5


@op(
    node="GeluBackward0",
    symbol="gelu",
    kind=POINTWISE,
    accepts="f",
    method=False,
    inplace_method=False,
    out=False,
    input="g * gelu_slope(input)",
)
def _gelu(input: Tensor) -> Tensor:
    """``input`` times the normal distribution function of it."""
    return input * ((backend.scipy(input, "special").erf(input * SQRT_HALF) + 1) * 0.5)


@op(
    node="GeluBackward0",
    symbol="gelu",
    kind=POINTWISE,
    accepts="f",
    method=False,
    inplace_method=False,
    out=False,
    input="g * gelu_tanh_slope(input)",
)
def _gelu_tanh(input: Tensor) -> Tensor:
    """The approximation of gelu by tanh."""
    return input * (precise.tanh(gelu_inner(input)) + 1) * 0.5


@composite(method=False, out=True)
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """``input`` times the normal distribution function of it.

    :param approximate: ``"none"``, or ``"tanh"`` for 0.5 x (1 + tanh(sqrt(2/π) (x + 0.044715 x³))) (Hendrycks and
        Gimpel, 2016).
    :raises RuntimeError: another approximation.

    >>> import nbautograd as torch
    >>> torch.nn.functional.gelu(torch.tensor([-1., 2.]))
    tensor([-0.1587,  1.9545])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate!r}")
    return _gelu(input) if approximate == "none" else _gelu_tanh(input)


@derivative_helper
def silu_slope(x: Any) -> Any:
    """The derivative of silu."""
    s = sigmoid(x)
    return s * (1 + x * (1 - s))


@op(
    node="SiluBackward0",
    symbol="silu",
    kind=POINTWISE,
    accepts="fc",
    method=False,
    inplace_method=False,
    input="g * conj(silu_slope(input))",
    name="silu",
)
def _silu(input: Tensor) -> Tensor:
    """``input`` times its logistic function."""
    return input / (1 + precise.exp(-input))


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``, also called swish.

    >>> import nbautograd as torch
    >>> torch.nn.functional.silu(torch.tensor([-1., 2.]))
    tensor([-0.2689,  1.7616])
    """
    return in_place_or_not("silu", _silu, inplace, input)


@derivative_helper
def mish_slope(x: Any) -> Any:
    """The derivative of mish."""
    t = tanh(softplus(x, 1.0, 20.0))
    return t + x * sigmoid(x) * (1 - t * t)


@op(
    node="MishBackward0",
    symbol="mish",
    kind=POINTWISE,
    accepts="f",
    method=False,
    inplace_method=False,
    input="g * mish_slope(input)",
    name="mish",
)
def _mish(input: Tensor) -> Tensor:
    """``input * tanh(softplus(input))``."""
    return input * precise.tanh(_softplus.__wrapped__(input, 1.0, 20.0))


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(log(1 + exp(input)))``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.mish(torch.tensor([-1., 2.]))
    tensor([-0.3034,  1.9440])
    """
    return in_place_or_not("mish", _mish, inplace, input)


@op(
    node="SoftplusBackward0",
    symbol="softplus",
    kind=POINTWISE,
    accepts="f",
    method=False,
    inplace_method=False,
    input="where(input * beta > threshold, g, g * sigmoid(input * beta))",
    name="softplus",
)
def _softplus(input: Tensor, beta: float, threshold: float) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``, and ``input`` itself where that is large."""
    scaled = input * beta
    return np.where(scaled > threshold, input, precise.log1p(precise.exp(scaled)) / beta)


@composite(method=False, out=True)
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``, and ``input`` itself where ``beta * input`` exceeds ``threshold``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.softplus(torch.tensor([-1., 2.]))
    tensor([0.3133, 2.1269])
    """
    return _softplus(input, beta, threshold)


@op(
    node="LogSigmoidBackward0",
    symbol="log σ",
    kind=POINTWISE,
    accepts="f",
    method=False,
    inplace_method=False,
    input="g * sigmoid(-input)",
)
def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(input))``, without overflow.

    >>> import nbautograd as torch
    >>> torch.nn.functional.logsigmoid(torch.tensor([-100., 0.]))
    tensor([-100.0000,   -0.6931])
    """
    return np.minimum(input, 0) - precise.log1p(precise.exp(-np.abs(input)))


def softsign(input: Tensor) -> Tensor:
    """``input / (1 + abs(input))``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.softsign(torch.tensor([-1., 3.]))
    tensor([-0.5000,  0.7500])
    """
    check_tensors("softsign", input=input)
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.tanhshrink(torch.tensor([-1., 2.]))
    tensor([-0.2384,  1.0360])
    """
    check_tensors("tanhshrink", input=input)
    return input - input.tanh()


def first_half(x: Any, dim: int) -> Any:
    """The first half along a dimension, of an array or a tensor."""
    return x[(slice(None),) * (dim % x.ndim) + (slice(None, x.shape[dim] // 2),)]


def second_half(x: Any, dim: int) -> Any:
    """The other half."""
    return x[(slice(None),) * (dim % x.ndim) + (slice(x.shape[dim] // 2, None),)]


@derivative_helper
def glu_back(g: Any, x: Any, dim: int) -> Any:
    """The gradient of glu."""
    s = sigmoid(second_half(x, dim))
    part = g * s
    return cat_same([part, part * first_half(x, dim) * (1 - s)], dim)


@op(
    node="GluBackward0",
    symbol="glu",
    method=False,
    input="glu_back(g, input, dim)",
)
def _glu(input: Tensor, dim: int) -> Tensor:
    """The first half times the logistic function of the second."""
    return first_half(input, dim) * sigmoid.__wrapped__(second_half(input, dim))


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of ``input`` along ``dim`` times the sigmoid of the second half.

    :raises RuntimeError: the size along ``dim`` is odd, or there is no dimension.

    >>> import nbautograd as torch
    >>> torch.nn.functional.glu(torch.tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
    """
    check_tensors("glu", input=input)
    if not input._a.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    refuse_integers("glu", input._a)
    d = dimension(dim, input._a.ndim)
    if input._a.shape[d] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {d} is size {input._a.shape[d]}")
    return _glu(input, d)


# -- piecewise linear ------------------------------------------------------------------------------------------------


@op(
    node="HardsigmoidBackward0",
    symbol="hardsigmoid",
    kind=POINTWISE,
    accepts="f",
    method=False,
    inplace_method=False,
    input="where(logical_and(input > -3, input < 3), g / 6, zeros_of(g))",
    name="hardsigmoid",
)
def _hardsigmoid(input: Tensor) -> Tensor:
    """``min(max(input + 3, 0), 6) / 6``."""
    return np.minimum(np.maximum(input + 3, 0), 6) / 6


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input + 3, 0), 6) / 6``, a sigmoid of three straight lines.

    >>> import nbautograd as torch
    >>> torch.nn.functional.hardsigmoid(torch.tensor([-4., 0., 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """
    return in_place_or_not("hardsigmoid", _hardsigmoid, inplace, input)


@op(
    node="HardswishBackward0",
    symbol="hardswish",
    kind=POINTWISE,
    accepts="f",
    method=False,
    inplace_method=False,
    input="where(input <= -3, zeros_of(g), where(input < 3, g * (input / 3 + 0.5), g))",
    name="hardswish",
)
def _hardswish(input: Tensor) -> Tensor:
    """``input`` times its hard sigmoid."""
    return input * np.minimum(np.maximum(input + 3, 0), 6) / 6


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * hardsigmoid(input)``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.hardswish(torch.tensor([-4., 3.]))
    tensor([-0.,  3.])
    """
    return in_place_or_not("hardswish", _hardswish, inplace, input)


@op(
    node="HardshrinkBackward0",
    symbol="hardshrink",
    kind=POINTWISE,
    accepts="f",
    inplace_method=False,
    input="along_hardshrink(where(logical_and(input >= -lambd, input <= lambd), zeros_of(g), g), input)",
)
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input``, but 0 between ``-lambd`` and ``lambd``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.hardshrink(torch.tensor([-0.4, 2.]))
    tensor([0., 2.])
    """
    if not isinstance(lambd, (int, float)):
        raise TypeError(f"hardshrink(): argument 'lambd' (position 2) must be Number, not {kind_of(lambd)}")
    return np.where((input >= -lambd) & (input <= lambd), input.dtype.type(0), input)


@op(
    node="SoftshrinkBackward0",
    symbol="softshrink",
    kind=POINTWISE,
    accepts="f",
    method=False,
    inplace_method=False,
    input="along_softshrink(where(logical_and(input >= -lambd, input <= lambd), zeros_of(g), g), input)",
    name="softshrink",
)
def _softshrink(input: Tensor, lambd: float) -> Tensor:
    """The input moved towards 0 by ``lambd``."""
    nearer = np.where(input > lambd, input - lambd, input + lambd)
    return np.where((input >= -lambd) & (input <= lambd), input.dtype.type(0), nearer)


@composite(method=False, out=True)
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input`` moved towards 0 by ``lambd``, and 0 where it is nearer than that.

    :raises RuntimeError: ``lambd`` is negative.

    >>> import nbautograd as torch
    >>> torch.nn.functional.softshrink(torch.tensor([-0.4, 2.]))
    tensor([0.0000, 1.5000])
    """
    check_tensors("softshrink", input=input)
    if not lambd >= 0:
        raise RuntimeError(
            f"lambda must be in range [0, {dtypes.of(input._a.dtype).name}'s largest] for softshrink, but found {lambd}"
        )
    return _softshrink(input, lambd)


# -- softmax ---------------------------------------------------------------------------------------------------------


def _implicit_dim(name: str, dim: int | None, ndim: int) -> int:
    if dim is None:
        warnings.warn(
            f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
            "argument.",
            UserWarning,
            stacklevel=3,
        )
        return 0 if ndim in (0, 1, 3) else 1
    return dim


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None) -> Tensor:
    """``exp(input)`` divided by its sum over ``dim``, without overflow.

    :raises RuntimeError: the dtype is not floating.

    >>> import nbautograd as torch
    >>> torch.nn.functional.softmax(torch.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    check_tensors("softmax", input=input)
    x = input if dtype is None else input.to(dtype)
    return softmax_over(x, _implicit_dim("softmax", dim, x._a.ndim))


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None) -> Tensor:
    """:func:`softmax` of ``-input``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.softmin(torch.tensor([0., 1000.]), dim=0)
    tensor([1., 0.])
    """
    check_tensors("softmin", input=input)
    x = -input if dtype is None else (-input).to(dtype)
    return softmax_over(x, _implicit_dim("softmin", dim, x._a.ndim))


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None
) -> Tensor:
    """The logarithm of :func:`softmax`, computed without it.

    :raises RuntimeError: the dtype is not floating.

    >>> import nbautograd as torch
    >>> torch.nn.functional.log_softmax(torch.tensor([0., 0.]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    check_tensors("log_softmax", input=input)
    x = input if dtype is None else input.to(dtype)
    return log_softmax_over(x, _implicit_dim("log_softmax", dim, x._a.ndim))


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Samples of a categorical distribution, relaxed so that they have a gradient (Jang et al., 2017).

    :param tau: the temperature: the nearer to 0, the nearer to one-hot vectors.
    :param hard: one-hot vectors forward, the gradient of the relaxed ones backward.

    >>> import nbautograd as torch
    >>> torch.nn.functional.gumbel_softmax(torch.zeros(2, 3), hard=True).sum(1)
    tensor([1., 1.])
    """
    check_tensors("gumbel_softmax", logits=logits)
    array = logits._a
    refuse_integers("gumbel_softmax", array)
    drawn = generator.default_generator.exponential(array.shape, array.dtype)
    noise = -wrap(backend.module(logits.device).asarray(drawn)).log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = soft.detach().argmax(dim, True)
    one_hot = (soft.detach() * 0).scatter(dim, chosen, 1.0)
    return one_hot - soft.detach() + soft
