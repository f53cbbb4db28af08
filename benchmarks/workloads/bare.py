"""The limit of an operation's passes: the NumPy calls that they cannot do without, on arrays.

What is prepared, such as the windows of a convolution as columns, is not timed; nothing is checked or recorded; and new
arrays are made as NumPy makes them. So a row of ``layers.py`` that is near its limit can only become faster by fewer
passes over memory, or by a faster BLAS.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from workloads import by_hand

__all__ = ["BARE", "BARE_BACK"]

Call = Callable[[], Any]


def product(a: Any, b: Any) -> Call:
    """A matrix product, or a batch of them."""
    return lambda: np.matmul(a, b)


def linear(x: Any, w: Any, b: Any) -> Call:
    def call() -> Any:
        y = np.dot(x.reshape(-1, x.shape[-1]), w.T)
        return np.add(y, b, y)

    return call


def attention(query: Any, key: Any, value: Any) -> Call:
    def call() -> Any:
        powers = np.matmul(query * np.float32(1 / math.sqrt(query.shape[-1])), key.swapaxes(2, 3))
        np.exp(powers, powers)
        return np.matmul(powers, value) / powers.sum(-1, keepdims=True)

    return call


def convolution(stride: int = 1, padding: int = 0) -> Callable[..., Call]:
    """The product with the windows as columns, which are made before."""

    def prepared(x: Any, w: Any, b: Any) -> Call:
        dims = tuple(range(2, x.ndim))
        x = np.pad(x, ((0, 0), (0, 0), *(((padding, padding),) * len(dims))))
        windows = sliding_window_view(x, w.shape[2:], dims)[(..., *((slice(None, None, stride),) * len(dims)),
                                                            *((slice(None),) * len(dims)))]  # fmt: skip
        n, c = x.shape[:2]
        places = windows.ndim - len(dims)
        order = (0, 1, *range(places, windows.ndim), *range(2, places))
        columns = np.ascontiguousarray(windows.transpose(order)).reshape(n, c * math.prod(w.shape[2:]), -1)
        if w.shape[1] == 1 < c:  # depthwise
            rows = columns.reshape(n, c, -1, columns.shape[-1])
            return lambda: np.matmul(w.reshape(c, 1, -1), rows)
        return lambda: np.matmul(w.reshape(len(w), -1), columns)

    return prepared


def transposed_convolution(x: Any, w: Any, b: Any) -> Call:
    rows, filters = x.reshape(*x.shape[:2], -1), np.ascontiguousarray(w.reshape(len(w), -1).T)
    return lambda: np.matmul(filters, rows)


def pooled(ufunc: Any) -> Callable[[Any], Call]:
    """The four elements of each window of 2 by 2."""

    def prepared(x: Any) -> Call:
        def call() -> Any:
            rows = ufunc(x[:, :, ::2], x[:, :, 1::2])
            return ufunc(rows[..., ::2], rows[..., 1::2])

        return call

    return prepared


def normalized(rows: Callable[[Any], Any], spread: Callable[[Any, Any], Any]) -> Callable[..., Call]:
    """Rows with mean 0 and variance 1, times weight, plus bias.

    :param spread: gives weight or bias the shape in which they meet the result, cut into rows of that length.
    """

    def prepared(x: Any, weight: Any, bias: Any) -> Call:
        matrix, factors, shifts = rows(x), spread(x, weight), spread(x, bias)
        width = matrix.shape[1]
        ones = np.full(width, 1 / width, np.float32)
        wide = matrix.shape if len(factors) == 1 else (len(factors), -1)

        def call() -> Any:
            y = matrix - (matrix @ ones)[:, None]
            y *= (1 / np.sqrt(np.vecdot(y, y) / width + np.float32(1e-5)))[:, None]
            y = y.reshape(wide)
            y *= factors
            y += shifts
            return y

        return call

    return prepared


def unary(*ufuncs: Any) -> Callable[[Any], Call]:
    """Ufuncs one after the other, the first into a new array."""

    def prepared(x: Any) -> Call:
        def call() -> Any:
            y = ufuncs[0](x)
            for ufunc in ufuncs[1:]:
                ufunc(y, y)
            return y

        return call

    return prepared


def logistic(times: bool) -> Callable[[Any], Call]:
    """``1 / (1 + exp(-x))``, or ``x`` times that."""

    def prepared(x: Any) -> Call:
        def call() -> Any:
            y = np.negative(x)
            np.exp(y, y)
            np.add(y, 1, y)
            return np.divide(x if times else 1, y, y)

        return call

    return prepared


def softmax(x: Any, *_: Any) -> Call:
    ones = np.ones(x.shape[1], np.float32)

    def call() -> Any:
        y = np.exp(x)
        return np.divide(y, (y @ ones)[:, None], y)

    return call


def log_softmax(x: Any, *_: Any) -> Call:
    ones = np.ones(x.shape[1], np.float32)

    def call() -> Any:
        y = x - np.maximum.reduce(x, 1)[:, None]
        return np.subtract(y, np.log(np.exp(y) @ ones)[:, None], y)

    return call


def normalized_back(g: Any, x: Any, weight: Any, bias: Any) -> Call:
    _, unit, rstd = by_hand.normalized(x, weight, bias)
    return lambda: by_hand.normalized_back(g, unit, rstd, weight)


def softmax_back(g: Any, x: Any) -> Call:
    y = np.exp(x)

    def call() -> Any:
        slope = g - np.vecdot(g, y)[:, None]
        return np.multiply(slope, y, slope)

    return call


def log_softmax_back(g: Any, x: Any) -> Call:
    ones = np.ones(x.shape[1], np.float32)

    def call() -> Any:
        powers = np.exp(x)
        np.multiply(powers, (g @ ones)[:, None], powers)
        return np.subtract(g, powers, powers)

    return call


def logistic_back(times: bool) -> Callable[[Any, Any], Call]:
    """``g · y · (1 - y)``; or ``g · y · (1 + x · (1 - y))`` with the logistic function ``y`` of ``x``."""

    def prepared(g: Any, x: Any) -> Call:
        def call() -> Any:
            y = sigmoid() if times else x
            slope = np.subtract(1, y)
            if times:
                np.multiply(slope, x, slope)
                np.add(slope, 1, slope)
            np.multiply(slope, y, slope)
            return np.multiply(slope, g, slope)

        sigmoid = logistic(False)(x)
        return call

    return prepared


BARE: dict[str, Callable[..., Call]] = {
    "linear": linear,
    "linear of a sequence": linear,
    "batched product": product,
    "einsum bij,bkj->bik": lambda a, b: product(a, b.swapaxes(1, 2)),
    "attention": attention,
    "attention, causal": attention,
    "conv1d 5": convolution(padding=2),
    "conv2d 3×3": convolution(padding=1),
    "conv2d 3×3, 1 channel": convolution(),
    "conv2d 5×5, stride 2": convolution(2, 2),
    "conv2d 1×1": convolution(),
    "depthwise conv 3×3": convolution(padding=1),
    "conv_transpose2d 4×4, stride 2": transposed_convolution,
    "max_pool2d 2": pooled(np.maximum),
    "avg_pool2d 2": pooled(np.add),
    "adaptive_avg_pool2d 1": lambda x: lambda: x.reshape(*x.shape[:2], -1).mean(-1),
    "interpolate, nearest": lambda x: lambda: np.repeat(np.repeat(x, 2, 2), 2, 3),
    "pad": lambda x: lambda: np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))),
    "batch_norm": normalized(
        lambda x: np.ascontiguousarray(x.swapaxes(0, 1)).reshape(x.shape[1], -1), lambda x, p: p[:, None]
    ),
    "layer_norm": normalized(lambda x: x, lambda x, p: p[None]),
    "group_norm": normalized(lambda x: x.reshape(4 * len(x), -1), lambda x, p: np.tile(p, len(x))[:, None]),
    "rms_norm": lambda x, w: lambda: x * (1 / np.sqrt(np.vecdot(x, x)))[:, None],
    "relu": lambda x: lambda: np.maximum(x, 0),
    "leaky_relu": lambda x: lambda: np.maximum(x, x * np.float32(0.01)),
    "gelu": lambda x: lambda: by_hand.gelu(x),
    "gelu, tanh": unary(np.square, np.square, np.tanh),
    "silu": logistic(True),
    "tanh": unary(np.tanh),
    "sigmoid": logistic(False),
    "softmax": softmax,
    "log_softmax": log_softmax,
    "cross_entropy": log_softmax,
    "bce_with_logits": lambda x, y: unary(np.abs, np.negative, np.exp, np.log1p)(x),
    "embedding": lambda i, w: lambda: np.take(w, i, 0),
    "x[i]": lambda x, i: lambda: np.take(x, i, 0),
    "cumsum": lambda x: lambda: np.cumsum(x, -1),
}
"""By an operation's name: a function from its operands to the calls. None for an operation of more than a few calls."""

BARE_BACK: dict[str, Callable[..., Call]] = {
    "layer_norm": normalized_back,
    "relu": lambda g, x: lambda: g * (x > 0),
    "silu": logistic_back(True),
    "sigmoid": logistic_back(False),
    "softmax": softmax_back,
    "log_softmax": log_softmax_back,
}
"""For some backward passes: a function from the result's gradient and the operands to the calls."""
