"""Convolutions and their transposes over one, two and three dimensions; windows as columns."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.shape.padding import pad
from nbautograd._engine.ops.signal import conv
from nbautograd.errors import DtypeError, ShapeError, warn
from nbautograd.nn.functional._common import tuple_of

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "fold", "unfold"]

Ints = int | tuple[int, ...]
Operands = tuple[Tensor, Tensor, Tensor | None]
UNCONVOLVED = ("bool", "uint8", "int8", "int16", "int32")
"""The dtypes that PyTorch's transposed convolutions name first, before they compare that of the bias."""


def _options(name: str, n: int, stride: Ints, dilation: Ints) -> tuple[tuple[int, ...], tuple[int, ...]]:
    step, spread = tuple_of(stride, n, "stride"), tuple_of(dilation, n, "dilation", 1)
    if min(step) < 1:
        raise RuntimeError(f"{name}(): non-positive stride is not supported, got {stride!r}")
    return step, spread


def _padding(name: str, n: int, padding: Ints) -> tuple[int, ...]:
    around = tuple_of(padding, n, "padding")
    if min(around) < 0:
        raise RuntimeError(f"{name}(): negative padding is not supported, got {padding!r}")
    return around


def _check(
    name: str, n: int, input: Tensor, weight: Tensor, bias: Tensor | None, groups: int, transposed: bool
) -> None:
    """Check that the shapes and dtypes of input, weight and bias fit each other."""
    check_tensors(name, input=input, weight=weight)
    if weight._a.ndim != n + 2:
        sizes = f"{'in, out' if transposed else 'out, in'} / groups, {n} sizes of the kernel"
        raise ShapeError(f"{name}(): expected a {n + 2}D weight ({sizes}), got shape {list(weight._a.shape)}")
    if input._a.ndim not in (n + 1, n + 2):
        dims = f"{n + 1}D (unbatched) or {n + 2}D (batched)"
        raise ShapeError(f"{name}(): Expected {dims} input to {name}, but got input of size: {list(input._a.shape)}")
    if groups <= 0:
        raise RuntimeError(f"{name}(): non-positive groups is not supported, got {groups}")
    first, second = weight._a.shape[:2]
    if first % groups or first < groups:
        raise RuntimeError(
            f"{name}(): Given groups={groups}, expected weight to be at least {groups} at dimension 0 and divisible "
            f"by it, but got weight of size {list(weight._a.shape)} instead"
        )
    if 0 in weight._a.shape[2:]:
        raise RuntimeError(f"{name}(): kernel size should be greater than zero, but got {list(weight._a.shape[2:])}")
    channels, out = (first, second * groups) if transposed else (second * groups, first)
    if input._a.shape[-n - 1] != channels:
        raise ShapeError(
            f"{name}(): Given groups={groups}, weight of size {list(weight._a.shape)}, expected "
            f"input{list(input._a.shape)} to have {channels} channels, but got {input._a.shape[-n - 1]} channels "
            "instead"
        )
    if bias is not None:
        check_tensors(name, bias=bias)
        if bias._a.shape != (out,):
            raise ShapeError(
                f"{name}(): Given weight of size {list(weight._a.shape)}, expected bias to be 1-dimensional with "
                f"{out} elements, but got bias of size {list(bias._a.shape)} instead"
            )
    _check_dtypes(name, input, weight, bias, transposed)


def _check_dtypes(name: str, input: Tensor, weight: Tensor, bias: Tensor | None, transposed: bool) -> None:
    """Check that bias and weight have the dtype of the input."""
    for label, x in (("bias", bias), ("weight", weight)):
        if x is not None and x._a.dtype != input._a.dtype:
            if transposed and input.dtype.name in UNCONVOLVED:
                kind = dtypes.scalar_type(input.dtype)
                raise NotImplementedError(f"{name}(): \"slow_{name}_out_cpu\" not implemented for '{kind}'")
            kinds = f"Input type ({dtypes.c_type(input.dtype)}) and {label} type ({dtypes.c_type(x.dtype)})"
            raise DtypeError(f"{name}(): {kinds} should be the same")


def _convolution(
    name: str, n: int, tensors: Operands, stride: Ints, padding: Ints | str, dilation: Ints, groups: int
) -> Tensor:
    input, weight, bias = tensors
    _check(name, n, input, weight, bias, groups, False)
    step, spread = _options(name, n, stride, dilation)
    kernel = weight._a.shape[2:]
    if isinstance(padding, str):
        around, input = _named_padding(name, padding, input, kernel, step, spread)
    else:
        around = _padding(name, n, padding)
    size = tuple(k + 2 * p for k, p in zip(input._a.shape[-n:], around, strict=True))
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, spread, strict=True))
    if any(r > k for r, k in zip(reach, size, strict=True)):
        raise ShapeError(
            f"{name}(): Calculated padded input size per channel: ({_times(size)}). Kernel size: ({_times(reach)}). "
            "Kernel size can't be greater than actual input size"
        )
    out = conv.output_size(input._a.shape[-n:], kernel, step, around, spread)
    if input._a.ndim == n + 2:
        return conv.convolution(input, weight, bias, out, step, around, spread, groups)
    return conv.convolution(input.unsqueeze(0), weight, bias, out, step, around, spread, groups).squeeze(0)


def _times(size: tuple[int, ...]) -> str:
    return " x ".join(map(str, size))


def _named_padding(
    name: str, padding: str, input: Tensor, kernel: Any, stride: Any, dilation: Any
) -> tuple[tuple[int, ...], Tensor]:
    """Return the padding of a name such as ``"same"``, and the input, padded on one side if the padding is uneven."""
    if padding == "valid":
        return (0,) * len(kernel), input
    if padding != "same":
        raise RuntimeError(f"{name}(): Invalid padding string: '{padding}', expected 'valid' or 'same'")
    if any(s != 1 for s in stride):
        raise RuntimeError(f"{name}(): padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if any(total % 2 for total in totals):
        warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
            "input be created"
        )
        input = pad(input, [side for total in reversed(totals) for side in (0, total % 2)])
    return tuple(total // 2 for total in totals), input


def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints | str = 0,
    dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Compute a convolution (cross-correlation) over one dimension; see :func:`conv2d`.

    :param weight: shape (o, c / groups, k).

    >>> torch.nn.functional.conv1d(torch.tensor([[1., 2., 4.]]), torch.tensor([[[-1., 1.]]]))
    tensor([[1., 2.]])
    """
    return _convolution("conv1d", 1, (input, weight, bias), stride, padding, dilation, groups)


def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints | str = 0,
    dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Compute a convolution (cross-correlation) over two dimensions.

    :param weight: shape (o, c / groups, kh, kw).
    :param padding: zeros on both sides, ``"valid"`` (none) or ``"same"`` (as many as keep the size, for stride 1).
    :returns: shape (n, o, oh, ow) with oh = (h + 2 padding - dilation (kh - 1) - 1) // stride + 1.

    >>> torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return _convolution("conv2d", 2, (input, weight, bias), stride, padding, dilation, groups)


def conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints | str = 0,
    dilation: Ints = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Compute a convolution (cross-correlation) over three dimensions; see :func:`conv2d`.

    :param weight: shape (o, c / groups, kd, kh, kw).

    >>> torch.nn.functional.conv3d(torch.ones(1, 1, 3, 3, 3), torch.ones(1, 1, 3, 3, 2))
    tensor([[[[[18., 18.]]]]])
    """
    return _convolution("conv3d", 3, (input, weight, bias), stride, padding, dilation, groups)


def _transpose(
    name: str, n: int, tensors: Operands, stride: Ints, padding: Ints, output_padding: Ints, groups: int,
    dilation: Ints,
) -> Tensor:  # fmt: skip
    input, weight, bias = tensors
    if n < 3 and isinstance(bias, Tensor) and not bias.is_complex() and input.is_floating_point():
        bias = bias.to(input.dtype)  # it may have any real dtype
    _check(name, n, input, weight, bias, groups, True)
    step, spread = _options(name, n, stride, dilation)
    around, extra = _padding(name, n, padding), tuple_of(output_padding, n, "output_padding")
    if min(extra) < 0:
        raise RuntimeError(f"{name}(): negative output_padding is not supported, got {output_padding!r}")
    if any(e >= max(s, d) for e, s, d in zip(extra, step, spread, strict=True)):
        given = f"output_padding {extra}, stride {step} and dilation {spread}"
        raise RuntimeError(f"{name}(): output padding must be smaller than either stride or dilation, but got {given}")
    x = input if input._a.ndim == n + 2 else input.unsqueeze(0)
    options = zip(x._a.shape[2:], step, around, spread, weight._a.shape[2:], extra, strict=True)
    size = tuple((m - 1) * s - 2 * p + d * (k - 1) + e + 1 for m, s, p, d, k, e in options)
    if min(size) <= 0:
        sizes = f"({_times(x._a.shape[2:])}). Calculated output size per channel: ({_times(size)})"
        raise ShapeError(f"{name}(): Given input size per channel: {sizes}. Output size is too small")
    shape = (x._a.shape[0], weight._a.shape[1] * groups, *size)
    result = conv.conv_input(x, weight, bias, shape, step, around, spread, groups)
    return result if x is input else result.squeeze(0)


def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints = 0,
    output_padding: Ints = 0, groups: int = 1, dilation: Ints = 1,
) -> Tensor:  # fmt: skip
    """Compute the transpose of :func:`conv1d`; see :func:`conv_transpose2d`.

    >>> torch.nn.functional.conv_transpose1d(torch.tensor([[1., 2.]]), torch.tensor([[[-1., 1.]]]))
    tensor([[-1., -1.,  2.]])
    """
    return _transpose("conv_transpose1d", 1, (input, weight, bias), stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints = 0,
    output_padding: Ints = 0, groups: int = 1, dilation: Ints = 1,
) -> Tensor:  # fmt: skip
    """Compute the transpose of :func:`conv2d`, which is the gradient of its input.

    :param output_padding: elements to add to the smallest of the sizes that :func:`conv2d` maps to the input's size.
    :returns: shape (n, o, oh, ow) with oh = (h - 1) stride - 2 padding + dilation (kh - 1) + output_padding + 1.

    >>> torch.nn.functional.conv_transpose2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    return _transpose("conv_transpose2d", 2, (input, weight, bias), stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints = 0,
    output_padding: Ints = 0, groups: int = 1, dilation: Ints = 1,
) -> Tensor:  # fmt: skip
    """Compute the transpose of :func:`conv3d`; see :func:`conv_transpose2d`.

    >>> torch.nn.functional.conv_transpose3d(torch.ones(1, 1, 1, 1, 2), torch.ones(1, 1, 1, 1, 2))
    tensor([[[[[1., 2., 1.]]]]])
    """
    return _transpose("conv_transpose3d", 3, (input, weight, bias), stride, padding, output_padding, groups, dilation)


# -- windows as columns ----------------------------------------------------------------------------------------------


def _window_options(
    kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    for given in (kernel_size, dilation, padding, stride):
        if isinstance(given, (tuple, list)) and len(given) != 2:
            raise RuntimeError(f"unfold() and fold() take one number or two, not {given!r}")
    kernel, spread = tuple_of(kernel_size, 2, "kernel_size", 1), tuple_of(dilation, 2, "dilation", 1)
    return kernel, spread, tuple_of(padding, 2, "padding", 0), tuple_of(stride, 2, "stride", 1)


def unfold(input: Tensor, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> Tensor:
    """Return the windows of an image as columns (im2col).

    :param input: shape (n, c, h, w), or (c, h, w).
    :returns: shape (n, c kh kw, windows).

    >>> torch.nn.functional.unfold(torch.arange(6.).reshape(1, 1, 2, 3), 2)
    tensor([[[0., 1.],
             [1., 2.],
             [3., 4.],
             [4., 5.]]])
    """
    check_tensors("unfold", input=input)
    kernel, spread, around, step = _window_options(kernel_size, dilation, padding, stride)
    shape = input._a.shape
    if len(shape) < 3:
        raise IndexError(f"unfold(): Dimension out of range: expected at least 3 dimensions, but got {list(shape)}")
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise ShapeError(
            "unfold(): Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
            f"for input, but got: {list(shape)}"
        )
    blocks = conv.output_size(shape[-2:], kernel, step, around, spread)
    if min(blocks) < 1:
        raise ShapeError(
            f"unfold(): Given input with spatial size {shape[-2:]}, kernel_size={kernel}, dilation={spread}, "
            f"padding={around}, "
            f"calculated shape of the array of sliding blocks as {blocks}, but its components must be at least one."
        )
    if len(shape) == 4:
        return conv.im2col(input, kernel, step, around, spread)
    return conv.im2col(input.unsqueeze(0), kernel, step, around, spread).squeeze(0)


def fold(
    input: Tensor, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
) -> Tensor:
    """Add columns up to an image, with overlaps (col2im): the transpose of :func:`unfold`.

    :param input: shape (n, c kh kw, windows), or (c kh kw, windows).
    :param output_size: (h, w).
    :returns: shape (n, c, h, w).

    >>> torch.nn.functional.fold(torch.ones(1, 4, 2), (2, 3), 2)
    tensor([[[[1., 2., 1.],
              [1., 2., 1.]]]])
    """
    check_tensors("fold", input=input)
    size = tuple_of(output_size, 2, "output_size", 1)
    kernel, spread, around, step = _window_options(kernel_size, dilation, padding, stride)
    shape = input._a.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise ShapeError(
            "fold(): Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
            f"dimensions for input, but got: {list(shape)}"
        )
    cell = kernel[0] * kernel[1]
    if shape[-2] % cell:
        raise ShapeError(
            "fold(): Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={shape[-2]} and kernel_size={kernel}."
        )
    blocks = conv.output_size(size, kernel, step, around, spread)
    if min(blocks) < 1 or shape[-1] != blocks[0] * blocks[1]:
        raise ShapeError(
            f"fold(): Given output_size={size}, kernel_size={kernel}, dilation={spread}, padding={around}, "
            f"stride={step}, expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{blocks[0]} * {blocks[1]} = {blocks[0] * blocks[1]}, but got input.size(2)={shape[-1]}."
        )
    x = input if len(shape) == 3 else input.unsqueeze(0)
    result = conv.col2im(x, (x._a.shape[0], shape[-2] // cell, *size), kernel, step, around, spread)
    return result if x is input else result.squeeze(0)
