"""Convolution over two dimensions, as products of matrices.

Three operations, each linear in both its inputs and each other's gradients: the convolution itself, its transpose,
and the gradient with respect to the weight. So derivatives of every order stay among them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd.declare import op
from nbautograd.tensor import Tensor

Pair = tuple[int, int]


def _windows(x: Any, kernel: Pair, stride: Pair, dilation: Pair) -> Any:
    """All windows of (n, c, h, w), without copying: (n, c, kh, kw, oh, ow)."""
    reach = tuple(d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True))
    found = np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))
    found = found[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]
    return found.transpose((0, 1, 4, 5, 2, 3))


def _padded(x: Any, padding: Pair) -> Any:
    return np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2)) if any(padding) else x


@op(
    node="ConvolutionBackward0",
    symbol="∗",
    method=False,
    input="conv_input(g, weight, None, input.shape, stride, padding, dilation, groups)",
    weight="conv_weight(input, g, weight.shape, stride, padding, dilation, groups)",
    bias="sum_over(g, (0, 2, 3))",
)
def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Tensor:
    """(n, c, h, w) with weights (o, c / groups, kh, kw) gives (n, o, oh, ow)."""
    n = input.shape[0]
    o, cg, kh, kw = weight.shape
    windows = _windows(_padded(input, padding), (kh, kw), stride, dilation)
    oh, ow = windows.shape[4:]
    columns = windows.reshape((n, groups, cg * kh * kw, oh * ow))  # the copy: one row per weight of a filter
    filters = weight.reshape((1, groups, o // groups, cg * kh * kw))
    found = np.matmul(filters, columns).reshape((n, o, oh, ow))
    return found if bias is None else found + bias.reshape((1, o, 1, 1))


@op(
    node="ConvolutionBackward0",
    symbol="∗ᵀ",
    method=False,
    input="convolution(g, weight, None, stride, padding, dilation, groups)",
    weight="conv_weight(g, input, weight.shape, stride, padding, dilation, groups)",
    bias="sum_over(g, (0, 2, 3))",
)
def conv_input(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    shape: Any,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Tensor:
    """The transpose of ``convolution`` in its input: (n, o, oh, ow) gives ``shape``, which is (n, c, h, w)."""
    n, c, h, w = shape
    o, cg, kh, kw = weight.shape
    oh, ow = input.shape[2:]
    filters = weight.reshape((1, groups, o // groups, cg * kh * kw)).swapaxes(2, 3)
    columns = np.matmul(filters, input.reshape((n, groups, o // groups, oh * ow))).reshape((n, c, kh, kw, oh, ow))
    found = np.zeros_like(input, shape=(n, c, h + 2 * padding[0], w + 2 * padding[1]))
    for i in range(kh):
        for j in range(kw):
            top, left = i * dilation[0], j * dilation[1]
            found[:, :, top : top + stride[0] * oh : stride[0], left : left + stride[1] * ow : stride[1]] += columns[
                :, :, i, j
            ]
    found = found[:, :, padding[0] : padding[0] + h, padding[1] : padding[1] + w]
    return found if bias is None else found + bias.reshape((1, c, 1, 1))


@op(
    node="ConvolutionBackwardBackward0",
    symbol="∗",
    method=False,
    input="conv_input(output, g, None, input.shape, stride, padding, dilation, groups)",
    output="convolution(input, g, None, stride, padding, dilation, groups)",
)
def conv_weight(
    input: Tensor, output: Tensor, shape: Any, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Tensor:
    """The gradient of ``convolution`` with respect to its weight; ``output`` is that of its result."""
    n = input.shape[0]
    o, cg, kh, kw = shape
    windows = _windows(_padded(input, padding), (kh, kw), stride, dilation)
    oh, ow = output.shape[2:]
    columns = windows[:, :, :, :, :oh, :ow].reshape((n, groups, cg * kh * kw, oh * ow))
    rows = output.reshape((n, groups, o // groups, oh * ow))
    return np.matmul(rows, columns.swapaxes(2, 3)).sum(0).reshape(shape)
