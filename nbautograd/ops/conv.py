"""Convolution over any number of dimensions, as products of matrices.

Three operations, each linear in both its inputs and each other's gradients: the convolution itself, its transpose,
and the gradient with respect to the weight. So derivatives of every order stay among them. Below them are the two
that copy the windows of an image into columns and add columns up to an image, each the other's gradient.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from nbautograd.declare import op
from nbautograd.tensor import Tensor

Ints = tuple[int, ...]


def output_size(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """How many windows there are along each dimension."""
    options = zip(size, kernel, stride, padding, dilation, strict=True)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in options)


def padded(x: Any, padding: Ints) -> Any:
    """(n, c, ...) with zeros around the last dimensions."""
    if not any(padding):
        return x
    shape = (*x.shape[:2], *(n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True)))
    found = np.zeros_like(x, shape=shape, order="C")
    found[inner(x.shape[2:], padding)] = x
    return found


def inner(size: Ints, padding: Ints) -> tuple[Any, ...]:
    """The key of what ``padded`` put zeros around."""
    return (..., *(slice(p, p + n) for n, p in zip(size, padding, strict=True)))


def windows(x: Any, kernel: Ints, stride: Ints, dilation: Ints) -> Any:
    """All windows of (n, c, ...), without copying: (n, c, *kernel, *out)."""
    n = len(kernel)
    reach = tuple(d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True))
    found = np.lib.stride_tricks.sliding_window_view(x, reach, tuple(range(2, 2 + n)))
    found = found[(slice(None),) * 2 + tuple(slice(None, None, step) for step in (*stride, *dilation))]
    return found.transpose((0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n)))


def single(kernel: Ints, stride: Ints, padding: Ints) -> bool:
    """Whether the windows are the elements of the image, one by one."""
    return all(k == s == 1 and p == 0 for k, s, p in zip(kernel, stride, padding, strict=True))


def columns_of(x: Any, kernel: Ints, out: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int = 1) -> Any:
    """The first ``out`` windows of (n, c, ...) as columns: (n, groups, c / groups * kernel, product of out)."""
    n, c = x.shape[:2]
    if single(kernel, stride, padding):
        return x.reshape((n, groups, c // groups, math.prod(x.shape[2:])))
    found = windows(padded(x, padding), kernel, stride, dilation)[(..., *map(slice, out))]
    # The copy: one row per weight of a filter.
    return found.reshape((n, groups, c // groups * math.prod(kernel), math.prod(out)))


def image_of(columns: Any, shape: Ints, kernel: Ints, out: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Any:
    """The columns added up where ``columns_of`` took them from: an image of ``shape``, which is (n, c, ...)."""
    size = shape[2:]
    if single(kernel, stride, padding):
        return columns.reshape(shape)
    columns = columns.reshape((*shape[:2], *kernel, *out))
    found = np.zeros_like(columns, shape=(*shape[:2], *(n + 2 * p for n, p in zip(size, padding, strict=True))))
    for offset in itertools.product(*map(range, kernel)):
        starts = [i * d for i, d in zip(offset, dilation, strict=True)]
        key = tuple(slice(i, i + s * n, s) for i, s, n in zip(starts, stride, out, strict=True))
        found[(slice(None), slice(None), *key)] += columns[(slice(None), slice(None), *offset)]
    return found[inner(size, padding)].copy() if any(padding) else found


def all_but_channels(ndim: int) -> Ints:
    """The dimensions over which the gradient of a bias is summed."""
    return (0, *range(2, ndim))


def along_channels(bias: Any, n: int) -> Any:
    """A bias shaped so that it adds to (n, c, ...) with ``n`` further dimensions."""
    return bias.reshape((1, -1) + (1,) * n)


@op(
    node="ConvolutionBackward0",
    symbol="∗",
    method=False,
    input="conv_input(g, conj(weight), None, input.shape, stride, padding, dilation, groups)",
    weight="conv_weight(conj(input), g, weight.shape, stride, padding, dilation, groups)",
    bias="sum_over(g, all_but_channels(g.ndim))",
)
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    out: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> Tensor:
    """(n, c, ...) with weights (o, c / groups, *kernel) gives (n, o, *out)."""
    n, (o, cg), kernel = input.shape[0], weight.shape[:2], weight.shape[2:]
    columns = columns_of(input, kernel, out, stride, padding, dilation, groups)
    filters = weight.reshape((1, groups, o // groups, cg * math.prod(kernel)))
    found = np.matmul(filters, columns).reshape((n, o, *out))
    if bias is not None:
        found += along_channels(bias, len(kernel))
    return found


@op(
    node="ConvolutionBackward0",
    symbol="∗ᵀ",
    method=False,
    input="convolution(g, conj(weight), None, input.shape[2:], stride, padding, dilation, groups)",
    weight="conv_weight(g, conj(input), weight.shape, stride, padding, dilation, groups)",
    bias="sum_over(g, all_but_channels(g.ndim))",
)
def conv_input(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    shape: Any,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> Tensor:
    """The transpose of ``convolution`` in its input: (n, o, ...) gives ``shape``, which is (n, c, ...)."""
    (n, _, *out), (o, cg, *kernel) = input.shape, weight.shape
    filters = weight.reshape((1, groups, o // groups, cg * math.prod(kernel))).swapaxes(2, 3)
    columns = np.matmul(filters, input.reshape((n, groups, o // groups, math.prod(out))))
    found = image_of(columns, shape, tuple(kernel), tuple(out), stride, padding, dilation)
    if bias is not None:
        found += along_channels(bias, len(kernel))
    return found


@op(
    node="ConvolutionBackwardBackward0",
    symbol="∗",
    method=False,
    input="conv_input(conj(output), g, None, input.shape, stride, padding, dilation, groups)",
    output="convolution(conj(input), g, None, output.shape[2:], stride, padding, dilation, groups)",
)
def conv_weight(
    input: Tensor, output: Tensor, shape: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor:
    """The sum over windows of ``input`` times ``output``: the gradient of ``convolution`` for its weight."""
    n, o, kernel = input.shape[0], shape[0], shape[2:]
    columns = columns_of(input, kernel, output.shape[2:], stride, padding, dilation, groups)
    rows = output.reshape((n, groups, o // groups, columns.shape[3]))
    return np.matmul(rows, columns.swapaxes(2, 3)).sum(0).reshape(shape)


@op(
    node="Im2ColBackward0",
    symbol="unfold",
    method=False,
    input="col2im(g, input.shape, kernel, stride, padding, dilation)",
)
def im2col(input: Tensor, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Tensor:
    """The windows of (n, c, ...) as columns: (n, c * kernel, out)."""
    out = output_size(input.shape[2:], kernel, stride, padding, dilation)
    found = columns_of(input, kernel, out, stride, padding, dilation)
    found = found.reshape((found.shape[0], *found.shape[2:]))
    return found.copy() if single(kernel, stride, padding) else found


@op(node="Col2ImBackward0", symbol="fold", method=False, input="im2col(g, kernel, stride, padding, dilation)")
def col2im(input: Tensor, shape: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Tensor:
    """Columns added up to an image of ``shape``, which is (n, c, ...)."""
    out = output_size(shape[2:], kernel, stride, padding, dilation)
    found = image_of(input, shape, kernel, out, stride, padding, dilation)
    return found.copy() if single(kernel, stride, padding) else found
