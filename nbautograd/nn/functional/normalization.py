"""Normalization: mean 0 and variance 1 over batches, layers, groups or instances, then a scale and a shift."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes, normalization as kernels, rows as row_kernels
from nbautograd._engine.arrays.size import as_int
from nbautograd._engine.arrays.strides import images_like, in_format
from nbautograd._engine.compiler.op import check_option, derivative_helper, no_method, op
from nbautograd._engine.core import batched
from nbautograd._engine.core.grad_mode import unrecorded
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import pairwise_mean, sum_to, zeros_of
from nbautograd._engine.ops.elementwise.exp_log import rsqrt
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.reduction.reduction import mean_over
from nbautograd._engine.ops.shape.padding import pad
from nbautograd.errors import SCALAR_TYPES, UnsupportedDtypeError, warn
from nbautograd.nn.functional._common import check_running, floating_only, is_mixed, no_derivative, of_nothing
from nbautograd.nn.functional.pooling import avg_pool2d, avg_pool3d

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm"]

Shape = tuple[int, ...]


# -- the operations --------------------------------------------------------------------------------------------------

# All three norms are one map: the statistics of the input, in the shape ``rows``, are taken over ``axes``, and
# weight and bias, of the shape ``own``, multiply and add in the shape ``wide`` to the result in the input's shape.


def _norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, rows: Shape, axes: Shape, wide: Shape, own: Shape,
    eps: float,
) -> Any:  # fmt: skip
    """Return the normalized input; then the mean, the reciprocal of the standard deviation, and the variance."""
    planes = _planes(input, rows, axes, wide, own, weight, bias)
    if planes is not None:
        if not planes:
            scale = None if weight is None else weight.reshape(-1)
            shift = None if bias is None else bias.reshape(-1)
            result, mean, rstd, variance = kernels.row_norm(input.reshape(-1, rows[-1]), scale, shift, eps)
            if len(rows) == 2:
                return result.reshape(input.shape), mean, rstd, variance
        else:
            result, mean, rstd, variance = kernels.plane_norm(input, planes, axes[0], weight, bias, eps)
        shape = tuple([1 if d in axes else n for d, n in enumerate(rows)])
        return result.reshape(input.shape), mean.reshape(shape), rstd.reshape(shape), variance.reshape(shape)
    input = in_format(input)
    x = input.reshape(rows)
    mean = pairwise_mean(x, axes, True)
    result = x - mean
    variance = pairwise_mean(result * result, axes, True)
    rstd = 1 / np.sqrt(variance + eps)
    result *= rstd
    result = result.reshape(input.shape)
    if axes == (2,):  # groups of channels, for which the input was copied
        result = images_like(result, input)
    if weight is not None:
        result *= weight.reshape(wide)
    if bias is not None:
        result += bias.reshape(wide)
    return result, mean, rstd, variance


def _planes(
    x: Any, rows: Shape, axes: Shape, wide: Shape, own: Shape, *others: Any, backward: bool = False
) -> Shape | None:
    """Return the shape of the planes of channels, one weight each, samples first; () for a weight per element.

    None where arrays are small, not contiguous, or in another memory order: samples of ``vmap`` come before all
    dimensions.
    """
    last = len(rows) - 1
    if axes == (last,) and math.prod(own) == rows[last] and wide[len(wide) - len(own) :] == own:
        return () if x.size and row_kernels.are_rows(x, *others) else None
    # Step by step, small arrays take fewer calls, except pictures and the gradient of groups.
    in_steps = len(axes) == 1 and not (backward and axes == (2,)) or x.size < 1 << 8
    if x.size < row_kernels.MIN_SIZE and in_steps or not row_kernels.are_rows(x, *others):
        return None
    if wide != (1, *own, *(1,) * (x.ndim - 2)):
        return None
    if axes == (2,) and last == 2:  # groups of channels
        return (*rows[:2], own[0] // rows[1])
    return rows[:2] if axes[0] == 0 and rows == x.shape else None


@derivative_helper
def norm_back(
    g: Any, x: Any, weight: Any, mean: Any, rstd: Any, rows: Shape, axes: Shape, wide: Shape, own: Shape
) -> tuple[Any, Any, Any]:
    """Compute the gradients of input, weight and bias.

    :param g: the gradients of the result and, in higher derivatives, of mean and rstd.
    """
    if x.__class__ is np.ndarray and g[1] is None and g[2] is None:
        cotangent = np.ascontiguousarray(g[0])
        planes = _planes(x, rows, axes, wide, own, cotangent, weight, backward=True)
        if planes is not None:
            if not planes:
                scale, width = None if weight is None else weight.reshape(-1), rows[-1]
                flat = cotangent.reshape(-1, width), x.reshape(-1, width)
                result, *slopes = kernels.row_norm_back(*flat, mean, rstd, scale)
            else:
                result, *slopes = kernels.plane_norm_back(cotangent, x, planes, axes[0], mean, rstd, weight)
            return result.reshape(x.shape), *(slope.reshape(own) for slope in slopes)
    unit = (x.reshape(rows) - mean) * rstd
    if g[0] is None:
        return _input_back(g, None, unit, x.shape, rstd, rows, axes), None, None
    slope = sum_to(g[0] * unit.reshape(x.shape), wide).reshape(own)
    part = g[0] if weight is None else g[0] * weight.reshape(wide)
    result = _input_back(g, part.reshape(rows), unit, x.shape, rstd, rows, axes)
    return result, slope, sum_to(g[0], wide).reshape(own)


@derivative_helper
def _input_back(g: Any, part: Any, unit: Any, shape: Shape, rstd: Any, rows: Shape, axes: Shape) -> Any:
    """Compute the gradient of the input from ``part``, that of ``unit``, the normalized input."""
    result = None
    if part is not None:
        result = (part - mean_over(part, axes, True) - unit * mean_over(part * unit, axes, True)) * rstd
    count = math.prod(rows[d] for d in axes)
    for extra in (None if g[1] is None else g[1] / count, None if g[2] is None else g[2] * rstd * rstd * unit / -count):
        if extra is not None:
            extra = extra + zeros_of(unit)
            result = extra if result is None else result + extra
    return None if result is None else result.reshape(shape)


def _declare_norm(node: str, name: str) -> Any:
    backward = "norm_back(g, input, weight, result[1], result[2], rows, axes, wide, own)"
    slopes = {operand: f"{backward}[{i}]" for i, operand in enumerate(("input", "weight", "bias"))}
    symbol = name.replace("_", " ")
    return op(node=node, symbol=symbol, method=False, many=True, name=f"native_{name}", **slopes)(_norm)


_layer = _declare_norm("NativeLayerNormBackward0", "layer_norm")
_group = _declare_norm("NativeGroupNormBackward0", "group_norm")
_batch = _declare_norm("NativeBatchNormBackward0", "batch_norm")


@no_method(
    node="NativeBatchNormBackward0",
    symbol="batch norm",
    input="g * eval_scale(weight, running_var, wide, eps)",
    weight="eval_weight_back(g, input, running_mean, running_var, wide, eps, own)",
    bias="sum_to(g, wide).reshape(own)",
)
def _batch_norm_eval(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, wide: Shape,
    own: Shape, eps: float,
) -> Tensor:  # fmt: skip
    """Return batch normalization with running statistics, in evaluation mode."""
    result = in_format(input) - running_mean.reshape(wide)
    result *= 1 / np.sqrt(running_var.reshape(wide) + eps)
    if weight is not None:
        result *= weight.reshape(wide)
    if bias is not None:
        result += bias.reshape(wide)
    return result


@derivative_helper
def eval_scale(weight: Any, running_var: Any, wide: Shape, eps: float) -> Any:
    """Return the factor of the input."""
    scale = rsqrt(running_var.reshape(wide) + eps)
    return scale if weight is None else scale * weight.reshape(wide)


@derivative_helper
def eval_weight_back(g: Any, x: Any, running_mean: Any, running_var: Any, wide: Shape, eps: float, shape: Shape) -> Any:
    """Compute the gradient of the weight."""
    unit = (x - running_mean.reshape(wide)) * eval_scale(None, running_var, wide, eps)
    return sum_to(g * unit, wide).reshape(shape)


def _check_channels(name: str, channels: int, **arguments: Tensor | None) -> None:
    for label, t in arguments.items():
        if t is not None:
            if not isinstance(t, Tensor):
                check_tensors(name, **{label: t})
            if t._a.size != channels or t._a.ndim != 1 and (name == "group_norm" or label.startswith("running")):
                raise RuntimeError(f"{name}(): {label} should contain {channels} elements not {t._a.size}")


def _update(running: Tensor, fresh: Tensor, momentum: float) -> None:
    value = running * (1 - momentum) + fresh.detach().reshape(-1).to(running.dtype) * momentum
    if batched.tracer is None and isinstance(running._a, np.ndarray) and isinstance(value._a, np.ndarray):
        running._shared_array()[...] = value._a  # this counts as no write, as in PyTorch; a trace records writes
    else:
        running.copy_(value)


def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
    bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Normalize each channel to mean 0 and variance 1 over the batch (Ioffe and Szegedy, 2015).

    :param running_mean: shape (c,), like the next three; replaces the batch's mean in evaluation, and ``running_var``
        its variance. Training updates both: ``(1 - momentum) * running + momentum * batch``, with unbiased variance.
    :raises ValueError: training with a single value per channel.
    :raises RuntimeError: shapes do not fit, or the running statistics are missing.

    >>> x = torch.tensor([[1., 10.], [3., 30.]])
    >>> torch.nn.functional.batch_norm(x, None, None, training=True)
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    """
    check_tensors("batch_norm", input=input)
    if eps < 0 or training and eps == 0:
        raise ValueError(f"batch_norm eps must be positive in training, and non-negative otherwise, but got {eps}")
    return _batch_norm(input, (running_mean, running_var, weight, bias), training, momentum, eps)


def _batch_norm(input: Tensor, tensors: Sequence[Any], training: bool, momentum: float, eps: float) -> Tensor:
    """Compute ``batch_norm`` with any ``eps``, and the other four tensors."""
    running_mean, running_var, weight, bias = tensors
    others = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    shape = input._a.shape
    count = math.prod(shape[:1] + shape[2:])
    if training and count == 1:
        kind = ValueError if shape else IndexError
        raise kind(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    if not input._a.size:
        return of_nothing(input, **others)
    if len(shape) < 2:
        raise RuntimeError(f"batch_norm(): at least 2 dimensions, but got {list(shape)}")
    missing = [label for label in ("running_mean", "running_var") if others[label] is None]
    if missing and not training:
        raise RuntimeError(f"batch_norm(): {missing[0]} must be defined in evaluation mode")
    floating_only("batch_norm", input)
    _check_channels("batch_norm", shape[1], **others)
    check_running(training, running_mean, running_var)
    no_derivative("batch_norm", running_mean=running_mean, running_var=running_var)
    weight, bias = (t if t is None or t._a.ndim == 1 else t.reshape(-1) for t in (weight, bias))
    if is_mixed("batch_norm", input, running_mean, running_var, weight, bias):
        tensors = (running_mean, running_var, weight, bias)
        return _batch_norm(input.to(dtypes.float32), tensors, training, momentum, eps).to(input.dtype)
    wide, own = (1, shape[1]) + (1,) * (len(shape) - 2), (shape[1],)
    if not training:
        return _batch_norm_eval(input, weight, bias, running_mean.detach(), running_var.detach(), wide, own, eps)
    result, mean, _, variance = _batch(input, weight, bias, shape, (0, *range(2, len(shape))), wide, own, eps)
    if running_mean is not None:  # then there are both
        unrecorded(_update, running_mean, mean, momentum)
        unrecorded(_update, running_var, variance * (count / max(count - 1, 1)), momentum)
    return result


def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Normalize each channel of each sample to mean 0 and variance 1 (Ulyanov et al., 2016).

    :param use_input_stats: whether to use the input's statistics instead of the running ones.
    :raises ValueError: a channel has a single element.
    :raises RuntimeError: shapes do not fit, or the running statistics are missing.

    >>> torch.nn.functional.instance_norm(torch.tensor([[[1., 3.], [10., 30.]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """
    check_tensors("instance_norm", input=input)
    shape = input._a.shape
    if use_input_stats and math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    if len(shape) < 2:
        raise RuntimeError(f"instance_norm(): input must have at least 2 dimensions, got shape {list(shape)}")
    floating_only("batch_norm", input)
    n, c = shape[:2]
    _check_channels("instance_norm", c, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    check_running(use_input_stats, running_mean, running_var)
    is_mixed("instance_norm", input, weight)
    each = [None if t is None else t.repeat(n) for t in (running_mean, running_var, weight, bias)]
    each[:2] = [None if t is None else t.to(input.dtype) for t in each[:2]]
    result = _batch_norm(input.contiguous().view(1, n * c, *shape[2:]), each, use_input_stats, momentum, eps)
    for running, followed in ((running_mean, each[0]), (running_var, each[1])):
        if use_input_stats and running is not None and followed is not None:
            unrecorded(running.copy_, followed.detach().view(n, c).mean(0))
    return result.view(*shape)


def _shape_of(name: str, input: Tensor, normalized_shape: Any, **arguments: Tensor | None) -> Shape:
    """Check the normalized shape, and return it."""
    if not isinstance(input, Tensor):
        check_tensors(name, input=input)
    shape = tuple([n if n.__class__ is int else as_int(n, f"{name}(): argument 'normalized_shape'")
                   for n in normalized_shape])  # fmt: skip
    if not shape:
        raise RuntimeError(
            f"{name}(): Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []"
        )
    for label, t in arguments.items():
        if t is None:
            continue
        if not isinstance(t, Tensor):
            check_tensors(name, **{label: t})
        if t._a.shape != shape:
            raise RuntimeError(
                f"{name}(): Expected {label} to be of same shape as normalized_shape, but got {label} of shape "
                f"{list(t._a.shape)} and normalized_shape = {list(shape)}"
            )
    have = input._a.shape
    if len(have) < len(shape) and name == "rms_norm":
        raise ValueError(f"rms_norm(): Input tensor must have at least {len(shape)} dimensions, but got {len(have)}")
    if have[-len(shape) :] != shape:
        raise RuntimeError(
            f"{name}(): Given normalized_shape={list(shape)}, expected input with shape [*, "
            f"{', '.join(map(str, shape))}], but got input of size{list(have)}"
        )
    return shape


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Normalize the last dimensions together to mean 0 and variance 1 (Ba et al., 2016).

    :param normalized_shape: their sizes; also the shape of ``weight`` and ``bias``.
    :param eps: added to the variance.

    >>> torch.nn.functional.layer_norm(torch.tensor([[1., 3.], [10., 30.]]), (2,))
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]])
    """
    shape = _shape_of("layer_norm", input, normalized_shape, weight=weight, bias=bias)
    floating_only("layer_norm", input)
    if is_mixed("layer_norm", input, weight, bias):
        return layer_norm(input.to(dtypes.float32), shape, weight, bias, eps).to(input.dtype)
    have = input._a.shape
    rows = (math.prod(have[: len(have) - len(shape)]), math.prod(shape))
    return _layer(input, weight, bias, rows, (1,), (1,) * (len(have) - len(shape)) + shape, shape, eps)[0]


def group_norm(
    input: Tensor, num_groups: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalize groups of channels of each sample to mean 0 and variance 1 (Wu and He, 2018).

    :param input: shape (n, c, ...), ``num_groups`` dividing c.

    >>> torch.nn.functional.group_norm(torch.tensor([[1., 3., 10., 30.]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    check_tensors("group_norm", input=input)
    shape = input._a.shape
    if len(shape) < 2:
        raise RuntimeError(f"group_norm(): Expected at least 2 dimensions for input tensor but received {len(shape)}")
    check_tensors("group_norm", **{name: t for name, t in (("weight", weight), ("bias", bias)) if t is not None})
    if (num_groups := check_option("group_norm", "num_groups", num_groups, "int", 1)) <= 0:
        raise RuntimeError(f"group_norm(): Expected num groups to be greater than 0, got {num_groups}")
    n, c = shape[:2]
    if c % num_groups:
        raise RuntimeError(
            f"group_norm(): Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(shape)} and num_groups={num_groups}"
        )
    size = c // num_groups * math.prod(shape[2:])
    if size == n == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(shape)}")
    floating_only("group_norm", input)
    _check_channels("group_norm", c, weight=weight, bias=bias)
    if is_mixed("group_norm", input, weight, bias):
        return group_norm(input.to(dtypes.float32), num_groups, weight, bias, eps).to(input.dtype)
    rows = (n, num_groups, size)
    return _group(input, weight, bias, rows, (2,), (1, c) + (1,) * (len(shape) - 2), (c,), eps)[0]


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide the last dimensions together by the root of their mean square (Zhang and Sennrich, 2019).

    :param normalized_shape: their sizes; also the shape of ``weight``.
    :param eps: added to the mean square; by default the dtype's machine epsilon.

    >>> torch.nn.functional.rms_norm(torch.tensor([1., 7.]), (2,))
    tensor([0.2000, 1.4000])
    """
    shape = _shape_of("rms_norm", input, normalized_shape, weight=weight)
    if input.dtype.rank < 2:
        raise UnsupportedDtypeError("rms_norm", input.dtype, "fc")
    half = input._a.dtype.itemsize == 2
    if weight is not None and weight.dtype is not input.dtype:
        if not input.is_complex():
            kinds = f"{SCALAR_TYPES[input.dtype.name]} and {SCALAR_TYPES[weight.dtype.name]}"
            warn(f"rms_norm(): Mismatch dtype between input and weight: {kinds}")
        if half and weight._a.dtype == np.float32:
            return rms_norm(input.to(dtypes.float32), shape, weight, eps).to(input.dtype)
    if eps is None:
        eps = 2.0**-7 if input.dtype is dtypes.bfloat16 else float(np.finfo(input._a.dtype).eps)
    dims, input = tuple(range(-len(shape), 0)), input.contiguous()
    x = input.to(dtypes.float32) if half else input  # the square of a large half overflows
    result = x * (x.square().mean(dims, True) + eps).rsqrt()
    result = result.to(input.dtype) if half else result
    return result if weight is None else (result * weight).to(input.dtype)


def local_response_norm(
    input: Tensor, size: int, alpha: float | Tensor = 1e-4, beta: float | Tensor = 0.75, k: float | Tensor = 1.0
) -> Tensor:
    """Divide each element by ``(k + alpha * mean)^beta``, with the mean of squares over ``size`` neighboring channels.

    See Krizhevsky et al., "ImageNet classification with deep convolutional neural networks" (2012).

    :raises ValueError: ``input`` has fewer than three dimensions.

    >>> torch.nn.functional.local_response_norm(torch.ones(1, 1, 2), 1, alpha=3., beta=0.5)
    tensor([[[0.5000, 0.5000]]])
    """
    check_tensors("local_response_norm", input=input)
    shape = input._a.shape
    if len(shape) < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {len(shape)} dimensions)")
    if not input._a.size:
        return input
    squares, sides = (input * input).unsqueeze(1), (size // 2, (size - 1) // 2)
    if len(shape) == 3:
        means = avg_pool2d(pad(squares, (0, 0, *sides)), (size, 1), 1).squeeze(1)
    else:
        squares = squares.view(shape[0], 1, shape[1], shape[2], -1)
        means = avg_pool3d(pad(squares, (0, 0, 0, 0, *sides)), (size, 1, 1), 1).squeeze(1).view(*shape)
    return input / (means * alpha + k).pow(beta)
