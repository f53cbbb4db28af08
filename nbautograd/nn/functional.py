"""Functions of neural networks: convolution, activations, losses."""

from __future__ import annotations

import warnings
from typing import Any

from nbautograd import dtypes
from nbautograd.declare import op
from nbautograd.errors import DtypeError, ShapeError
from nbautograd.ops import conv
from nbautograd.ops.pointwise import relu, sigmoid, tanh
from nbautograd.tensor import Tensor

__all__ = [
    "conv2d",
    "conv_transpose2d",
    "l1_loss",
    "linear",
    "log_softmax",
    "mse_loss",
    "relu",
    "sigmoid",
    "softmax",
    "tanh",
]

Pair = int | tuple[int, int]


def _pair(value: Any, what: str, least: int) -> tuple[int, int]:
    found = (value, value) if isinstance(value, int) else tuple(int(v) for v in value)
    if len(found) == 1:
        found = found * 2
    if len(found) != 2 or min(found) < least:
        raise RuntimeError(f"{what} must be an int or a pair of ints of at least {least}, got {value!r}")
    return found[0], found[1]


def _check_conv(name: str, input: Tensor, weight: Tensor, bias: Tensor | None, channels: int, groups: int) -> None:
    for label, x in (("input", input), ("weight", weight)):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}(): argument '{label}' must be Tensor, not {type(x).__name__}")
    if weight._a.ndim != 4:
        raise ShapeError(f"{name}(): expected a 4D weight (out, in / groups, kh, kw), got shape {list(weight.shape)}")
    if input._a.ndim not in (3, 4):
        raise ShapeError(
            f"Expected 3D (unbatched) or 4D (batched) input to {name}, but got input of size: {list(input.shape)}"
        )
    if groups <= 0 or weight._a.shape[0] % groups:
        raise RuntimeError(
            f"{name}(): groups={groups} must be positive and divide weight.shape[0]={weight._a.shape[0]}"
        )
    if input._a.shape[-3] != channels:
        raise ShapeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input{list(input.shape)} to have "
            f"{channels} channels, but got {input._a.shape[-3]} channels instead"
        )
    for x in (weight, bias):
        if x is not None and x._a.dtype != input._a.dtype:
            raise DtypeError(
                f"{name}(): input and weight and bias must have the same dtype, but got {input.dtype!r} and {x.dtype!r}"
            )


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Pair | str = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution (cross-correlation) over two dimensions.

    :param input: shape (n, c, h, w), or (c, h, w).
    :param weight: shape (o, c / groups, kh, kw).
    :param bias: shape (o,).
    :param padding: zeros on both sides, ``"valid"`` (none) or ``"same"`` (as many as keep the size, for stride 1).
    :returns: shape (n, o, oh, ow) with oh = (h + 2 padding - dilation (kh - 1) - 1) // stride + 1.
    :raises RuntimeError: shapes, dtypes or options do not fit.

    >>> import nbautograd as torch
    >>> torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    _check_conv("conv2d", input, weight, bias, weight._a.shape[1] * groups if weight._a.ndim == 4 else 0, groups)
    step, spread = _pair(stride, "stride", 1), _pair(dilation, "dilation", 1)
    kernel = weight._a.shape[2:]
    if isinstance(padding, str):
        around, input = _named_padding(padding, input, kernel, step, spread)
    else:
        around = _pair(padding, "padding", 0)
    for axis in (0, 1):
        size, reach = input._a.shape[axis - 2] + 2 * around[axis], spread[axis] * (kernel[axis] - 1) + 1
        if reach > size:
            raise ShapeError(
                f"Calculated padded input size per channel: ({size}). Kernel size: ({reach}). Kernel size "
                "can't be greater "
                "than actual input size"
            )
    batched = input._a.ndim == 4
    result = conv.convolution(input if batched else input.unsqueeze(0), weight, bias, step, around, spread, groups)
    return result if batched else result.squeeze(0)


def _named_padding(name: str, input: Tensor, kernel: Any, stride: Any, dilation: Any) -> tuple[tuple[int, int], Tensor]:
    if name == "valid":
        return (0, 0), input
    if name != "same":
        raise ValueError(f"Invalid padding string '{name}', should be one of 'valid', 'same'")
    if stride != (1, 1):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if any(total % 2 for total in totals):
        warnings.warn(
            "Using padding='same' with even kernel lengths and odd dilation requires a zero-padded "
            "copy of the input be "
            "created",
            UserWarning,
            stacklevel=3,
        )
        from nbautograd.ops.indexing import pad_like

        shape = list(input._a.shape)
        for axis, total in zip((-2, -1), totals, strict=True):
            shape[axis] += total % 2
        input = pad_like(input, tuple(shape))
    return (totals[0] // 2, totals[1] // 2), input


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Pair = 0,
    output_padding: Pair = 0,
    groups: int = 1,
    dilation: Pair = 1,
) -> Tensor:
    """The transpose of :func:`conv2d`: what its gradient with respect to its input is.

    :param input: shape (n, c, h, w), or (c, h, w).
    :param weight: shape (c, o / groups, kh, kw).
    :param bias: shape (o,).
    :returns: shape (n, o, oh, ow) with oh = (h - 1) stride - 2 padding + dilation (kh - 1) + output_padding + 1.
    :raises RuntimeError: shapes, dtypes or options do not fit.

    >>> import nbautograd as torch
    >>> torch.nn.functional.conv_transpose2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    _check_conv("conv_transpose2d", input, weight, bias, weight._a.shape[0] if weight._a.ndim == 4 else 0, groups)
    step, spread = _pair(stride, "stride", 1), _pair(dilation, "dilation", 1)
    around, extra = _pair(padding, "padding", 0), _pair(output_padding, "output_padding", 0)
    if any(e >= max(s, d) for e, s, d in zip(extra, step, spread, strict=True)):
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got output_padding {extra}"
        )
    batched = input._a.ndim == 4
    x = input if batched else input.unsqueeze(0)
    kernel = weight._a.shape[2:]
    size = [
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
        for n, s, p, d, k, e in zip(x._a.shape[2:], step, around, spread, kernel, extra, strict=True)
    ]
    if min(size) <= 0:
        raise ShapeError(f"conv_transpose2d(): the output would have the empty size {size}")
    shape = (x._a.shape[0], weight._a.shape[1] * groups, *size)
    result = conv.conv_input(x, weight, bias, shape, step, around, spread, groups)
    return result if batched else result.squeeze(0)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``.

    :param input: shape (..., in).
    :param weight: shape (out, in).
    :param bias: shape (out,).
    :raises RuntimeError: the shapes or dtypes do not fit.

    >>> import nbautograd as torch
    >>> torch.nn.functional.linear(torch.tensor([[1., 2.]]), torch.tensor([[3., 4.]]), torch.tensor([10.]))
    tensor([[21.]])
    """
    if bias is not None and input._a.ndim == 2:
        result: Tensor = bias.addmm(input, weight.t())
        return result
    product = input @ weight.t()
    return product if bias is None else product + bias


# -- activations -----------------------------------------------------------------------------------------------------


def _dim(name: str, dim: int | None, ndim: int) -> int:
    if dim is None:
        warnings.warn(
            f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
            "dim=X as an argument.",
            UserWarning,
            stacklevel=3,
        )
        return 0 if ndim in (0, 1, 3) else 1
    return dim


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None) -> Tensor:
    """``exp(input)`` divided by its sum over ``dim``, without overflow.

    >>> import nbautograd as torch
    >>> torch.nn.functional.softmax(torch.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    x = input if dtype is None else input.to(dtype)
    return _softmax(x, _dim("softmax", dim, x._a.ndim))


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None
) -> Tensor:
    """The logarithm of :func:`softmax`, computed without it.

    >>> import nbautograd as torch
    >>> torch.nn.functional.log_softmax(torch.tensor([0., 0.]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    x = input if dtype is None else input.to(dtype)
    return _log_softmax(x, _dim("log_softmax", dim, x._a.ndim))


def _shifted(a: Any, dim: int) -> Any:
    if a.dtype.kind not in "fc":
        raise DtypeError(f"softmax() is not implemented for {dtypes.of(a.dtype).name}: expected a floating dtype")
    if not a.ndim:
        return a - a
    return a - a.max(dim, None, True) if a.size else a


def _total(a: Any, dim: int) -> Any:
    return a.sum(dim, None, None, True) if a.ndim else a


def _scaled(a: Any) -> Any:
    import numpy as np

    return np.exp(a)


@op(node="SoftmaxBackward0", symbol="softmax", method=False, input="(g - total(g * result, dim)) * result")
def _softmax(input: Tensor, dim: int) -> Tensor:
    """Softmax over one dimension."""
    powers = _scaled(_shifted(input, dim))
    return powers / _total(powers, dim)


@op(node="LogSoftmaxBackward0", symbol="log softmax", method=False, input="g - exp(result) * total(g, dim)")
def _log_softmax(input: Tensor, dim: int) -> Tensor:
    """Log-softmax over one dimension."""
    import numpy as np

    shifted = _shifted(input, dim)
    return shifted - np.log(_total(np.exp(shifted), dim))


def total(g: Any, dim: int) -> Any:
    """The sum over ``dim``, which is kept with length 1, of an array or a tensor."""
    return g.sum(dim, keepdim=True) if isinstance(g, Tensor) else _total(g, dim)


Tensor.softmax = softmax
Tensor.log_softmax = log_softmax


# -- losses ----------------------------------------------------------------------------------------------------------


def _loss(name: str, input: Tensor, target: Tensor, reduction: str) -> tuple[Tensor, Tensor]:
    """Both sides in one shape, once the arguments are known to fit."""
    for label, x in (("input", input), ("target", target)):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}(): argument '{label}' must be Tensor, not {type(x).__name__}")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction: expected 'mean', 'sum' or 'none'")
    if input._a.shape != target._a.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely "
            "lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            UserWarning,
            stacklevel=3,
        )
    return input, target


def mse_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """The squared differences: their mean, their sum, or all of them.

    :param reduction: ``"mean"``, ``"sum"`` or ``"none"``.
    :raises ValueError: another reduction.

    >>> import nbautograd as torch
    >>> torch.nn.functional.mse_loss(torch.tensor([1., 2.]), torch.tensor([0., 0.]))
    tensor(2.5000)
    """
    reduction = _legacy(size_average, reduce, reduction)
    input, target = _loss("mse_loss", input, target, reduction)
    if input._a.dtype.kind == "f" and input._a.dtype == target._a.dtype and input._a.shape == target._a.shape:
        return _mse(input, target, reduction)
    squares = (input - target).square()
    return squares if reduction == "none" else squares.mean() if reduction == "mean" else squares.sum()


@op(
    node="MseLossBackward0",
    symbol="mse",
    method=False,
    input="2 * (input - target) * (g / count(input.shape) if reduction == 'mean' else g)",
    target="2 * (target - input) * (g / count(input.shape) if reduction == 'mean' else g)",
)
def _mse(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    """The squared differences of two tensors alike, reduced."""
    difference = input - target
    squares = difference * difference
    if reduction == "none":
        return squares
    return squares.sum() / squares.dtype.type(squares.size) if reduction == "mean" else squares.sum()


def count(shape: tuple[int, ...]) -> int:
    """How many elements a tensor has."""
    import math

    return math.prod(shape)


def l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """The absolute differences: their mean, their sum, or all of them.

    :param reduction: ``"mean"``, ``"sum"`` or ``"none"``.
    :raises ValueError: another reduction.

    >>> import nbautograd as torch
    >>> torch.nn.functional.l1_loss(torch.tensor([1., 2.]), torch.tensor([0., 0.]))
    tensor(1.5000)
    """
    reduction = _legacy(size_average, reduce, reduction)
    input, target = _loss("l1_loss", input, target, reduction)
    sizes = (input - target).abs()
    return sizes if reduction == "none" else sizes.mean() if reduction == "mean" else sizes.sum()


def _legacy(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that the former arguments ``size_average`` and ``reduce`` ask for, if they are given."""
    if size_average is None and reduce is None:
        return reduction
    found = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.",
        UserWarning,
        stacklevel=3,
    )
    return found
