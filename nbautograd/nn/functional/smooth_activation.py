"""Smooth activations: ELU and its relatives, GELU, SiLU, Mish, softplus, gated linear units."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import error_function, precise
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.compiler.op import composite, derivative_helper, no_method
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.elementwise.exp_log import sigmoid
from nbautograd._engine.ops.elementwise.trigonometric import tanh
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.reduction.softmax import refuse_integers
from nbautograd._engine.ops.shape.joining import cat_same
from nbautograd.nn.functional._common import fitting, in_place_or_not, pointwise

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "logsigmoid", "mish", "selu", "selu_", "sigmoid", "silu", "softplus",
    "softsign", "tanh", "tanhshrink",
]  # fmt: skip

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
"""The fixed point of Klambauer et al., "Self-Normalizing Neural Networks" (2017)."""

INVERSE_SQRT_2PI = 1 / math.sqrt(2 * math.pi)
GELU_SCALE = math.sqrt(2 / math.pi)
GELU_CUBE = GELU_SCALE * 0.044715


@pointwise(
    symbol="elu",
    input="where(input > 0, g * scale, g * (alpha * scale * input_scale) * exp(input * input_scale))",
    name="elu",
)
def _elu(input: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor:
    """Return ``scale * input`` where positive, otherwise ``alpha * scale * (exp(input_scale * input) - 1)``."""
    return np.where(input > 0, input * scale, precise.expm1(np.minimum(0, input) * input_scale) * (alpha * scale))


@pointwise(symbol="celu", out=False, input="where(input > 0, g, g * exp(input / alpha))")
def _celu(input: Tensor, alpha: float) -> Tensor:
    """Return ``input`` where positive, otherwise ``alpha * (exp(input / alpha) - 1)``."""
    return np.where(input > 0, input, precise.expm1(np.minimum(0, input) / alpha) * alpha)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return ``input`` where it is positive, otherwise ``alpha * (exp(input) - 1)``."""
    return in_place_or_not("elu", _elu, inplace, input, fitting("elu", alpha, input), 1.0, 1.0)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """Write the result of :func:`elu` into ``input``."""
    return elu(input, alpha, True)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return :func:`elu` with the two constants for which a deep network keeps mean 0 and variance 1."""
    return in_place_or_not("selu", _elu, inplace, input, SELU_ALPHA, SELU_SCALE, 1.0)


def selu_(input: Tensor) -> Tensor:
    """Write the result of :func:`selu` into ``input``."""
    return selu(input, True)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return ``input`` where it is positive, otherwise ``alpha * (exp(input / alpha) - 1)``.

    :raises RuntimeError: ``alpha`` is 0.
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return in_place_or_not("celu", _celu, inplace, input, fitting("celu", alpha, input))


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """Write the result of :func:`celu` into ``input``."""
    return celu(input, alpha, True)


@pointwise(
    node="GeluBackwardBackward0",
    symbol="gelu′",
    out=False,
    input="g * ((2 - input * input) * exp(input * input * -0.5) * INVERSE_SQRT_2PI)",
)
def gelu_slope(input: Tensor) -> Tensor:
    """Compute the derivative of gelu: the normal distribution function plus ``input`` times the density."""
    return error_function.gelu_slope(input)


@pointwise(node="TanhBackward0", symbol="tanh", out=False, input="tanh_slope(g, result)")
def quick_tanh(input: Tensor) -> Tensor:
    """Return the hyperbolic tangent by NumPy's own kernel: within 3 units in the last place, faster."""
    return np.tanh(input)


@derivative_helper
def gelu_tanh_slope(x: Any) -> Any:
    """Compute the derivative of the approximation by tanh."""
    square = x * x
    t = quick_tanh((square * GELU_CUBE + GELU_SCALE) * x)
    return ((square * (3 * GELU_CUBE) + GELU_SCALE) * x * (1 - t) + 1) * (t + 1) * 0.5


@pointwise(symbol="gelu", out=False, input="g * gelu_slope(input)")
def _gelu(input: Tensor) -> Tensor:
    """Return ``input`` times its normal distribution function."""
    return error_function.gelu(input)


@pointwise(node="GeluBackward0", symbol="gelu", out=False, input="g * gelu_tanh_slope(input)")
def _gelu_tanh(input: Tensor) -> Tensor:
    """Return the approximation of gelu by tanh."""
    return input * (np.tanh(input * (input * input * GELU_CUBE + GELU_SCALE)) + 1) * 0.5


@composite(method=False, out=True)
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Return ``input`` times its normal distribution function.

    :param approximate: ``"none"``, or ``"tanh"`` for 0.5 x (1 + tanh(sqrt(2/π) (x + 0.044715 x³))) (Hendrycks and
        Gimpel, 2016).
    :raises RuntimeError: ``approximate`` is invalid.

    >>> torch.nn.functional.gelu(torch.tensor([-1., 2.]))
    tensor([-0.1587,  1.9545])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate!r}")
    return _gelu(input) if approximate == "none" else _gelu_tanh(input)


@derivative_helper
def silu_slope(x: Any) -> Any:
    """Compute the derivative of silu."""
    s = sigmoid(x)
    return s * (1 + x * (1 - s))


@pointwise(symbol="silu", real_only=True, accepts="fc", input="g * conj(silu_slope(input))", name="silu")
def _silu(input: Tensor) -> Tensor:
    """Return ``input`` times its logistic function."""
    return input / (1 + precise.exp(-input))


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * sigmoid(input)``, also called swish."""
    return in_place_or_not("silu", _silu, inplace, input)


@derivative_helper
def mish_slope(x: Any) -> Any:
    """Compute the derivative of mish."""
    t = tanh(softplus(x, 1.0, 20.0))
    return t + x * sigmoid(x) * (1 - t * t)


@pointwise(symbol="mish", input="g * mish_slope(input)", name="mish")
def _mish(input: Tensor) -> Tensor:
    """Return ``input * tanh(softplus(input))``."""
    return input * precise.tanh(_softplus.__wrapped__(input, 1.0, 20.0))


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * tanh(log(1 + exp(input)))``."""
    return in_place_or_not("mish", _mish, inplace, input)


@pointwise(symbol="softplus", input="where(input * beta > threshold, g, g * sigmoid(input * beta))", name="softplus")
def _softplus(input: Tensor, beta: float, threshold: float) -> Tensor:
    """Return ``log(1 + exp(beta * input)) / beta``, and ``input`` itself where that is large."""
    scaled = input * beta
    return np.where(scaled > threshold, input, precise.log1p(precise.exp(scaled)) / beta)


@composite(method=False, out=True)
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return ``log(1 + exp(beta * input)) / beta``, and ``input`` itself where ``beta * input`` exceeds ``threshold``.

    >>> torch.nn.functional.softplus(torch.tensor([-1., 2.]))
    tensor([0.3133, 2.1269])
    """
    return _softplus(input, fitting("softplus", beta, input), fitting("softplus", threshold, input))


@pointwise(node="LogSigmoidBackward0", symbol="log σ", input="g * sigmoid(-input)")
def logsigmoid(input: Tensor) -> Tensor:
    """Return ``log(sigmoid(input))``, without overflow.

    >>> torch.nn.functional.logsigmoid(torch.tensor([-100., 0.]))
    tensor([-100.0000,   -0.6931])
    """
    return np.minimum(0, input) - precise.log1p(precise.exp(-np.abs(input)))


def softsign(input: Tensor) -> Tensor:
    """Return ``input / (1 + abs(input))``."""
    check_tensors("softsign", input=input)
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """Return ``input - tanh(input)``."""
    check_tensors("tanhshrink", input=input)
    return input - input.tanh()


def first_half(x: Any, dim: int) -> Any:
    """Return the first half along a dimension, of an array or a tensor."""
    return x[(slice(None),) * (dim % x.ndim) + (slice(None, x.shape[dim] // 2),)]


def second_half(x: Any, dim: int) -> Any:
    """Return the second half along a dimension, of an array or a tensor."""
    return x[(slice(None),) * (dim % x.ndim) + (slice(x.shape[dim] // 2, None),)]


@derivative_helper
def glu_back(g: Any, x: Any, dim: int) -> Any:
    """Compute the gradient of glu."""
    s = sigmoid(second_half(x, dim))
    part = g * s
    return cat_same([part, part * first_half(x, dim) * (1 - s)], dim)


@no_method(symbol="glu", input="glu_back(g, input, dim)")
def _glu(input: Tensor, dim: int) -> Tensor:
    """Return the first half times the logistic function of the second."""
    return first_half(input, dim) * sigmoid.__wrapped__(second_half(input, dim))


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return the first half of ``input`` along ``dim`` times the sigmoid of the second half.

    :raises RuntimeError: the size along ``dim`` is odd, or ``input`` has no dimensions.
    """
    check_tensors("glu", input=input)
    if not input._a.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    d = dimension(dim, input._a.ndim)
    refuse_integers("glu", input._a)
    if input._a.shape[d] % 2:
        raise RuntimeError(f"glu(): Halving dimension must be even, but dimension {d} is size {input._a.shape[d]}")
    return _glu(input, d)
