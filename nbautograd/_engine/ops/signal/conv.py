"""Convolution over any number of dimensions, by im2col and matrix products.

Three bilinear operations, each other's gradients: the convolution, its transpose, and the gradient with respect to the
weight. So derivatives of every order use only these three. They are built on ``im2col``, which copies the windows of an
image into columns, and ``col2im``, which sums columns into an image: each is the other's gradient.

A batch is processed in parts whose columns stay in the processor's cache (see ``columns_of``).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.strides import images_like, row_major
from nbautograd._engine.compiler.op import no_method
from nbautograd._engine.core.tensor import Tensor

Ints = tuple[int, ...]

COLUMNS_SIZE = 1 << 18
"""Approximate number of elements in the columns of one part of a batch."""
PADDED_SIZE = 1 << 17
"""Approximate number of elements in the padded images of one part of a batch."""
MIN_COPIED_ROW = 24
"""Below this length, rows are slow to copy, and a product per row is too small for BLAS."""
MIN_CHANNELS = 8
"""With fewer channels, products cost more than copying the windows."""
MAX_WIDENING = 2
"""With more output channels per input channel, summing products costs more than copying the windows."""
MAX_SHIFTS = 25
"""With more kernel elements, a single product is faster than a sum of shifted products."""
MAX_FEW_CHANNELS = 1 << 10
"""Up to this product of input and output channels, a weight's gradient is many small products."""


def output_size(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """Return the number of windows along each dimension."""
    options = zip(size, kernel, stride, padding, dilation, strict=True)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in options)


def padded_shape(x: Any, padding: Ints) -> Ints:
    """Return the shape of (n, c, ...) with its spatial dimensions zero-padded."""
    return (*x.shape[:2], *(n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True)))


def padded(x: Any, padding: Ints) -> Any:
    """Return (n, c, ...) with its spatial dimensions zero-padded."""
    if not any(padding):
        return x
    output = np.zeros_like(x, shape=padded_shape(x, padding), order="C")
    output[inner(x.shape[2:], padding)] = x
    return output


def inner(size: Ints, padding: Ints) -> tuple[Any, ...]:
    """Return the index of the input within the result of ``padded``."""
    return (..., *(slice(p, p + n) for n, p in zip(size, padding, strict=True)))


def windows(x: Any, kernel: Ints, out: Ints, stride: Ints, dilation: Ints) -> Any:
    """Return a strided view of the first ``out`` windows of (n, c, ...): (n, c, *kernel, *out)."""
    image, channel, *steps = x.strides
    moves = (factor * step for factors in (dilation, stride) for factor, step in zip(factors, steps, strict=True))
    return backend.of(x).strided(x, (*x.shape[:2], *kernel, *out), (image, channel, *moves), 0)


def single(kernel: Ints, stride: Ints, padding: Ints) -> bool:
    """Return whether the windows are single elements: a kernel of size 1, without stride or padding."""
    return all(k == s == 1 and p == 0 for k, s, p in zip(kernel, stride, padding, strict=True))


def images_at_once(x: Any, numbers: int) -> int:
    """Return how many images of ``x`` to process at a time, given ``numbers`` column elements each; all on a GPU."""
    return max(1, COLUMNS_SIZE // numbers) if x.__class__ is np.ndarray and numbers else max(1, len(x))


def columns_of(
    x: Any, kernel: Ints, out: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int = 1, by_rows: bool = False
) -> Iterator[tuple[slice, Any]]:
    """Yield the first ``out`` windows of (n, c, ...) as columns (im2col), one part of the batch at a time.

    For each part, yields the slice of images, and an array (n, groups, rows, window, columns) that the next part
    overwrites. By default there is one row, and a window is (c / groups, *kernel). With ``by_rows`` each position of
    the first dimension has its own row, and a window is (kernel[0], c / groups, *kernel[1:]): consecutive rows then
    overlap in memory, so that a 3x3 kernel copies each number three times instead of nine. This requires a dilation of
    1 along the first dimension.
    """
    n, c = x.shape[:2]
    if single(kernel, stride, padding) and x.shape[2:] == tuple(out):
        yield slice(None), x.reshape((n, groups, 1, c // groups, math.prod(x.shape[2:])))
        return
    if not by_rows:  # one row: add a dimension of size 1
        x, padding = x[:, :, None], (0, *padding)
        kernel, out, stride, dilation = ((1, *sizes) for sizes in (kernel, out, stride, dilation))
    height, rows, length = kernel[0], (out[0] - 1) * stride[0] + kernel[0], math.prod(out[1:])
    part_of_window = (c // groups, *kernel[1:])  # the columns of one row
    block = math.prod(part_of_window) * length
    step = min(images_at_once(x, groups * rows * block), max(1, n))
    frame = np.zeros_like(x, shape=(step, *padded_shape(x, padding)[1:]), order="C") if any(padding) else None
    source = x if frame is None else frame
    image, channel, row, *steps = source.strides
    shape = (groups, rows, *part_of_window, *out[1:])
    spread = (d * t for d, t in zip(dilation[1:], steps, strict=True))
    strides = (image, channel * (c // groups), row, channel, *spread, *map(operator.mul, stride[1:], steps))
    strided = backend.of(x).strided
    taken = strided(source, (len(source), *shape), strides, 0)
    buffer = np.empty_like(x, shape=(step, *shape), order="C")
    shape = (step, groups, out[0], height * math.prod(part_of_window), length)
    own = buffer.strides
    columns = strided(buffer, shape, (*own[:2], stride[0] * own[2], length * x.itemsize, x.itemsize), 0)
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        count = part.stop - start
        if frame is not None:
            frame[:count][inner(x.shape[2:], padding)] = x[part]
        buffer[:count] = taken[:count] if frame is not None else taken[part]
        yield part, columns[:count]


def image_of(columns: Any, shape: Ints, kernel: Ints, out: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Any:
    """Compute the transpose of ``columns_of`` (col2im): sum columns into an image of ``shape`` (n, c, ...)."""
    size = tuple(shape[2:])
    if single(kernel, stride, padding) and size == tuple(out):
        return columns.reshape(shape)
    columns = columns.reshape((*shape[:2], *kernel, *out))
    output = np.zeros_like(columns, shape=(*shape[:2], *(n + 2 * p for n, p in zip(size, padding, strict=True))))
    for offset in itertools.product(*map(range, kernel)):
        starts = [i * d for i, d in zip(offset, dilation, strict=True)]
        key = tuple(slice(i, i + s * n, s) for i, s, n in zip(starts, stride, out, strict=True))
        output[(slice(None), slice(None), *key)] += columns[(slice(None), slice(None), *offset)]
    return output[inner(size, padding)]


# Without a stride there is a faster way. The elements of all windows at one position of the kernel are the padded
# image, shifted; flattened, they are one contiguous range of memory. So the convolution is a sum of matrix products,
# one per kernel position, without copies. It also computes elements beyond the ends of rows, which are dropped.


def shifted(
    x: Any, kernel: Ints, out: Ints, padding: Ints, dilation: Ints, numbers: int = PADDED_SIZE
) -> Iterator[tuple[slice, tuple[int, ...], list[Any]]]:
    """Yield flattened padded images, one per kernel position, one part of the batch at a time.

    For each part, yields the slice of images, the shape of the result, (n, out[0], *padded sizes), and matrices (n, c,
    length), which overlap in memory and which the next part overwrites.
    """
    n, c = x.shape[:2]
    size = padded_shape(x, padding)[2:]
    moves = [math.prod(size[d + 1 :]) * spread for d, spread in enumerate(dilation)]
    offsets = [sum(map(operator.mul, moves, place)) for place in itertools.product(*map(range, kernel))]
    rows = (out[0], *size[1:])
    length, whole = math.prod(rows), math.prod(size)
    step = max(1, min(n, numbers // max(c * whole, 1)))
    memory = np.zeros((step, c, max(whole, offsets[-1] + length)), x.dtype)  # the last windows extend beyond the end
    frame = memory[:, :, :whole].reshape((step, c, *size))[inner(x.shape[2:], padding)]
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        count = part.stop - start
        frame[:count] = x[part]
        yield part, (count, *rows), [memory[:count, :, offset : offset + length] for offset in offsets]


def by_shifts(x: Any, other: Any, kernel: Ints, stride: Ints, groups: int) -> bool:
    """Return whether ``shifted`` can compute a convolution of these arrays without too many products."""
    floating = x.__class__ is np.ndarray and x.dtype.kind == "f" and x.dtype is other.dtype
    return floating and groups == 1 and len(kernel) > 1 and set(stride) == {1} and 1 < math.prod(kernel) <= MAX_SHIFTS


def convolved_by_shifts(x: Any, weight: Any, bias: Any, out: Ints, padding: Ints, dilation: Ints) -> Any:
    """Compute ``convolved`` as a sum of products, one per kernel position."""
    o, c = weight.shape[:2]
    filters = np.ascontiguousarray(weight.reshape((o, c, -1)).transpose(2, 0, 1))
    output = np.empty((len(x), o, *out), x.dtype)
    within = (slice(None), slice(None), *(slice(m) for m in out))
    for part, (count, *rows), images in shifted(x, weight.shape[2:], out, padding, dilation):
        total = np.matmul(filters[0], images[0])
        product = np.empty_like(total)
        for matrix, image in zip(filters[1:], images[1:], strict=True):
            np.matmul(matrix, image, out=product)
            np.add(total, product, total)
        windows_of_part = total.reshape((count, o, *rows))[within]
        if bias is None:
            output[part] = windows_of_part
        else:
            np.add(windows_of_part, along_channels(bias, len(out)), output[part])
    return output


def convolved_by_channels(x: Any, weight: Any, bias: Any, out: Ints, padding: Ints, dilation: Ints) -> Any:
    """Compute ``convolved`` with one channel per group, copying images, whose rows are longer than windows' rows."""
    o, c, places = len(weight), x.shape[1], math.prod(weight.shape[2:])
    filters = row_major(weight.reshape((c, o // c, places)))
    output = np.empty((len(x), o, *out), x.dtype)
    within = (slice(None), slice(None), *(slice(m) for m in out))
    columns: Any = None
    for part, (count, *rows), images in shifted(x, weight.shape[2:], out, padding, dilation, COLUMNS_SIZE // places):
        if columns is None:  # the first part is the largest
            columns = np.empty((count, c, places, math.prod(rows)), x.dtype)
        for place, image in enumerate(images):
            columns[:count, :, place] = image
        windows_of_part = np.matmul(filters, columns[:count]).reshape((count, o, *rows))[within]
        if bias is None:
            output[part] = windows_of_part
        else:
            np.add(windows_of_part, along_channels(bias, len(out)), output[part])
    return output


def weight_by_shifts(x: Any, output: Any, shape: Any, padding: Ints, dilation: Ints) -> Any:
    """Compute ``conv_weight`` as products, one per kernel position; row by row if each channel has its own filter."""
    (o, c, *kernel), out = shape, output.shape[2:]
    depthwise = c < x.shape[1]
    result = np.zeros((math.prod(kernel), o, c), x.dtype)
    within = (slice(None), slice(None), *(slice(m) for m in out))
    for part, (count, *rows), images in shifted(x, tuple(kernel), out, padding, dilation):
        spread = np.zeros((count, o, *rows), x.dtype)  # zeros at the ends of rows
        spread[within] = output[part]
        spread = spread.reshape((count, o, -1))
        for place, image in enumerate(images):
            if depthwise:
                result[place, :, 0] += np.vecdot(spread, image).sum(0)
            else:
                result[place] += np.matmul(spread, image.swapaxes(1, 2)).sum(0)
    return np.ascontiguousarray(result.transpose(1, 2, 0)).reshape(shape)


def convolved(
    x: Any, weight: Any, bias: Any, out: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    """Return the convolution of (n, c, ...) with (o, c / groups, *kernel), plus an optional bias."""
    if (
        out[-1] < MIN_COPIED_ROW
        and weight.shape[1] >= MIN_CHANNELS
        and weight.shape[0] <= MAX_WIDENING * weight.shape[1]
        and by_shifts(x, weight, weight.shape[2:], stride, groups)
    ):
        return convolved_by_shifts(x, weight, bias, out, padding, dilation)
    if weight.shape[1] == 1 < groups and by_shifts(x, weight, weight.shape[2:], stride, 1):
        return convolved_by_channels(x, weight, bias, out, padding, dilation)
    (o, cg), kernel, length = weight.shape[:2], weight.shape[2:], math.prod(out[1:])
    if groups == math.prod(kernel) == math.prod(stride) == 1 and out == x.shape[2:] and row_major(x) is x:
        output = np.matmul(weight.reshape(o, cg), x.reshape(len(x), cg, -1))
        if bias is not None:
            output += bias[:, None]
        return output.reshape(len(x), o, *out)
    # A product per row pays off if rows are not too short for BLAS.
    by_rows = x.__class__ is np.ndarray and len(out) > 1 and groups == dilation[0] == 1 < kernel[0] and length >= 24
    height, rows = (kernel[0], out[0]) if by_rows else (1, 1)
    filters = weight.reshape((groups, o // groups, cg, height, math.prod(kernel) // height)).swapaxes(2, 3)
    filters = row_major(filters.reshape((groups, 1, o // groups, cg * math.prod(kernel))))  # otherwise without BLAS
    output = np.empty_like(x, shape=(len(x), o, *out), order="C")
    for part, columns in columns_of(x, kernel, out, stride, padding, dilation, groups, by_rows):
        images = output[part]
        shape = (len(images), groups, o // groups, rows, math.prod(out) // rows)
        np.matmul(filters, columns, out=images.reshape(shape).swapaxes(2, 3))
        if bias is not None:
            images += along_channels(bias, len(out))
    return output


# A transposed convolution with a stride equals several without one: each input element affects ``stride`` positions of
# the output, the phases, and each phase has its own filters, every stride-th element of the kernel.


def in_phases(size: Ints, out: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> bool:
    """Return whether a transposed convolution splits into phases: each has a kernel, and they cover the output."""
    return (
        set(stride) != {1}
        and set(dilation) == {1}
        and all(map(operator.ge, kernel, stride))
        and all(n + p <= (m - 1) * s + k for n, p, m, s, k in zip(size, padding, out, stride, kernel, strict=True))
    )


def transposed_in_phases(x: Any, weight: Any, bias: Any, shape: Ints, stride: Ints, padding: Ints, groups: int) -> Any:
    """Compute ``conv_input`` as one convolution for all phases: the stride divides the kernel, so kernels are equal."""
    (o, cg), kernel = weight.shape[:2], weight.shape[2:]
    taps = tuple(map(operator.floordiv, kernel, stride))
    spatial, phases = len(stride), math.prod(stride)
    split = weight.reshape((groups, o // groups, cg, *itertools.chain(*zip(taps, stride, strict=True))))
    filters = split[(..., *(index for _ in stride for index in (slice(None, None, -1), slice(None))))]
    filters = filters.transpose((0, 2, *range(4, 3 + 2 * spatial, 2), 1, *range(3, 3 + 2 * spatial, 2)))
    filters = filters.reshape((groups * cg * phases, o // groups, *taps))
    biases = None if bias is None else bias.repeat(phases)
    around, once = tuple(k - 1 for k in taps), (1,) * spatial
    size = tuple(m + r for m, r in zip(x.shape[2:], around, strict=True))
    output = np.empty_like(x, shape=shape, order="C")
    step = images_at_once(x, groups * cg * phases * math.prod(size))
    for start in range(0, len(x), step):
        images = output[start : start + step]
        parts = convolved(x[start : start + step], filters, biases, size, once, around, once, groups)
        parts = parts.reshape((*images.shape[:2], *stride, *size))
        for phase in itertools.product(*map(range, stride)):
            lay(parts[(slice(None), slice(None), *phase)], images, phase, stride, padding)
    return output


def transposed_by_phases(x: Any, weight: Any, bias: Any, shape: Ints, stride: Ints, padding: Ints, groups: int) -> Any:
    """Compute ``conv_input`` as a convolution for each phase, whose kernels need not be equal."""
    output, once = np.empty_like(x, shape=shape, order="C"), (1,) * len(stride)
    for phase in itertools.product(*map(range, stride)):
        filters = flipped(weight[(..., *(slice(i, None, s) for i, s in zip(phase, stride, strict=True)))], groups)
        around = tuple(k - 1 for k in filters.shape[2:])
        size = tuple(map(operator.add, x.shape[2:], around))
        lay(convolved(x, filters, bias, size, once, around, once, groups), output, phase, stride, padding)
    return output


def lay(part: Any, images: Any, phase: Ints, stride: Ints, padding: Ints) -> None:
    """Write one phase of the images, without their padding."""
    first = [-(-(p - i) // s) for p, i, s in zip(padding, phase, stride, strict=True)]
    begin = [q * s + i - p for q, i, p, s in zip(first, phase, padding, stride, strict=True)]
    place = images[(..., *map(slice, begin, images.shape[2:], stride))]
    place[...] = part[(..., *(slice(q, q + n) for q, n in zip(first, place.shape[2:], strict=True)))]


def flipped(weight: Any, groups: int) -> Any:
    """Return the filters that turn the transpose of a convolution without a stride into a convolution."""
    (o, cg), kernel = weight.shape[:2], weight.shape[2:]
    turned = weight[(..., *(slice(None, None, -1) for _ in kernel))].reshape((groups, o // groups, cg, *kernel))
    return turned.swapaxes(1, 2).reshape((groups * cg, o // groups, *kernel))


def all_but_channels(ndim: int) -> Ints:
    """Return the dimensions over which the gradient of a bias is summed."""
    return (0, *range(2, ndim))


def along_channels(bias: Any, n: int) -> Any:
    """Return a bias reshaped to broadcast with (n, c, ...), which has ``n`` spatial dimensions."""
    return bias.reshape((1, -1) + (1,) * n)


@no_method(
    symbol="∗",
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
    """Convolve (cross-correlate) (n, c, ...) with weights (o, c / groups, *kernel): (n, o, *out)."""
    return images_like(convolved(input, weight, bias, out, stride, padding, dilation, groups), input, weight)


@no_method(
    node="ConvolutionBackward0",
    symbol="∗ᵀ",
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
    """Compute the transpose of ``convolution`` in its input: (n, o, ...) to ``shape`` (n, c, ...)."""
    out, (o, cg), kernel, size = input.shape[2:], weight.shape[:2], weight.shape[2:], tuple(shape[2:])
    once = (1,) * len(size)
    around = tuple(d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding, strict=True))
    whole = min(around) >= 0 and output_size(out, kernel, once, around, dilation) == size
    if whole and tuple(stride) == once != kernel and o <= 3 * shape[1]:
        # Computed as a convolution, which copies windows instead of summing columns, unless it has far more windows.
        output = convolved(input, flipped(weight, groups), bias, size, stride, around, dilation, groups)
        return images_like(output, input, weight)
    are_equal = not any(map(operator.mod, kernel, stride))  # the kernels of all phases
    if (are_equal or cg >= MIN_CHANNELS) and in_phases(size, out, kernel, stride, padding, dilation):
        phases = transposed_in_phases if are_equal else transposed_by_phases
        return images_like(phases(input, weight, bias, tuple(shape), stride, padding, groups), input, weight)
    filters = weight.reshape((groups, o // groups, cg * math.prod(kernel))).swapaxes(1, 2)
    output = np.empty_like(input, shape=tuple(shape), order="C")
    step = images_at_once(input, groups * cg * math.prod(out))  # "kernel" times as much, since each weight is a step
    for start in range(0, len(input), step):
        images = output[start : start + step]
        rows = input[start : start + step].reshape((len(images), groups, o // groups, math.prod(out)))
        images[...] = image_of(np.matmul(filters, rows), images.shape, kernel, out, stride, padding, dilation)
        if bias is not None:
            images += along_channels(bias, len(size))
    return images_like(output, input, weight)


@no_method(
    node="ConvolutionBackwardBackward0",
    symbol="∗",
    input="conv_input(conj(output), g, None, input.shape, stride, padding, dilation, groups)",
    output="convolution(conj(input), g, None, output.shape[2:], stride, padding, dilation, groups)",
)
def conv_weight(
    input: Tensor, output: Tensor, shape: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor:
    """Compute the gradient of ``convolution`` for its weight: the sum over windows of ``input`` times ``output``."""
    o, kernel, size = shape[0], tuple(shape[2:]), math.prod(shape[1:])
    out = output.shape[2:]
    ungrouped = 1 if groups == shape[0] == input.shape[1] else groups  # a filter for each channel
    if shape[0] * shape[1] <= MAX_FEW_CHANNELS and by_shifts(input, output, kernel, stride, ungrouped):
        return weight_by_shifts(input, output, shape, padding, dilation)
    result = np.zeros_like(input, shape=(groups, size, o // groups), order="C")
    for part, columns in columns_of(input, kernel, out, stride, padding, dilation, groups):
        rows = output[part].reshape((len(columns), groups, o // groups, math.prod(out)))
        result += np.matmul(columns[:, :, 0], rows.swapaxes(2, 3)).sum(0)
    return result.swapaxes(1, 2).reshape(shape)


@no_method(symbol="unfold", accepts="bfc", input="col2im(g, input.shape, kernel, stride, padding, dilation)")
def im2col(input: Tensor, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Tensor:
    """Return the windows of (n, c, ...) as columns (``unfold``): (n, c * kernel, out)."""
    out = output_size(input.shape[2:], kernel, stride, padding, dilation)
    result = windows(padded(input, padding), kernel, out, stride, dilation)
    result = result.reshape((input.shape[0], input.shape[1] * math.prod(kernel), math.prod(out)))
    return result.copy() if single(kernel, stride, padding) else result


@no_method(symbol="fold", accepts="bfc", input="im2col(g, kernel, stride, padding, dilation)")
def col2im(input: Tensor, shape: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Tensor:
    """Sum columns into an image (``fold``) of ``shape`` (n, c, ...)."""
    out = output_size(shape[2:], kernel, stride, padding, dilation)
    result = image_of(input, shape, kernel, out, stride, padding, dilation)
    return result.copy() if any(padding) or single(kernel, stride, padding) else result
