"""Regression losses: squared, absolute, smooth L1 and Huber."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.compiler.op import broadcast_shapes, derivative_helper, no_method
from nbautograd._engine.core.inplace import check_cast
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import pairwise_sum, summed
from nbautograd._engine.ops.elementwise.arithmetic import abs, sgn
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.reduction.variance import squared_difference
from nbautograd.errors import DtypeError, kind_of, warn
from nbautograd.nn.functional._common import check_reduction, floating_only, legacy_reduction, reduced

__all__ = ["huber_loss", "l1_loss", "mse_loss", "smooth_l1_loss"]


def aggregate(losses: Any, reduction: str) -> Any:
    """Reduce arrays of losses as ``reduction`` says."""
    if reduction == "none":
        return losses
    summed = pairwise_sum(losses)
    return summed / losses.dtype.type(losses.size) if reduction == "mean" else summed


def each(g: Any, shape: tuple[int, ...], reduction: str) -> Any:
    """Compute the gradient of each loss, from that of the reduced loss."""
    return g / math.prod(shape) if reduction == "mean" and math.prod(shape) else g


def weighted(x: Any, weight: Any) -> Any:
    """Return ``x`` times the weights, if there are any."""
    return x if weight is None else x * weight


def broadcast_pair(name: str, input: Tensor, target: Tensor, warns: bool = True) -> tuple[Tensor, Tensor]:
    """Return both sides in one shape and one dtype."""
    check_tensors(name, input=input, target=target)
    if input._a.shape != target._a.shape:
        if warns:
            warn(
                f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
                "likely lead to incorrect results due to broadcasting. Please ensure they have the same size."
            )
        shape = joint_shape(name, input, target)
        input, target = input.expand(*shape), target.expand(*shape)
    if input._a.dtype != target._a.dtype:
        kind = dtypes.promote_types(input.dtype, target.dtype)
        input, target = input.to(kind), target.to(kind)
    return input, target


def joint_shape(name: str, *tensors: Tensor) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(t._a.shape for t in tensors))
    except ValueError:
        broadcast_shapes(tensors[0]._a.shape, tensors[1]._a.shape)  # raises an error that names the mismatch
        raise


def _weighted_difference(losses: Tensor, weight: Tensor | None, reduction: str, over_weights: bool) -> Tensor:
    """Weight and reduce losses; divide their mean by the weights if ``over_weights``."""
    if weight is None:
        return reduced(losses, reduction)
    check_reduction(reduction)
    if not isinstance(weight, Tensor):
        raise TypeError(f"argument 'weight' must be Tensor, not {kind_of(weight)}")
    own, wanted = weight._a.shape, losses._a.shape
    if own != wanted:
        raise ValueError(f"Weights and input must have the same size, got {list(own)} and {list(wanted)}")
    losses = losses * weight
    return losses.sum() / weight.sum() if reduction == "mean" and over_weights else reduced(losses, reduction)


@no_method(
    node="MseLossBackward0",
    symbol="mse",
    input="2 * (input - target) * each(g, input.shape, reduction)",
    target="2 * (target - input) * each(g, input.shape, reduction)",
)
def _mse(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    """Return the squared differences, reduced."""
    if input.__class__ is not np.ndarray and reduction != "none":
        total = summed(squared_difference, (input, target))
        return total / total.dtype.type(math.prod(input.shape)) if reduction == "mean" else total
    difference = input - target
    return aggregate(difference * difference, reduction)


def mse_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the squared differences: their mean, their sum, or all of them.

    :param weight: a factor for each; the mean is then over the weights.

    >>> torch.nn.functional.mse_loss(torch.tensor([1., 2.]), torch.tensor([0., 0.]))
    tensor(2.5000)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = broadcast_pair("mse_loss", input, target)
    check_reduction(reduction)
    floating_only("mse_loss", input)
    if weight is not None:
        return _weighted_difference(_mse(input, target, "none"), weight, reduction, True)
    return _mse(input, target, reduction)


def l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the absolute differences: their mean, their sum, or all of them.

    :param weight: a factor for each; the mean is then over the weights.

    >>> torch.nn.functional.l1_loss(torch.tensor([1., 2.]), torch.tensor([0., 0.]))
    tensor(1.5000)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_tensors("l1_loss", input=input, target=target)
    if input.dtype.rank == 0 or target.dtype.rank == 0:
        raise DtypeError("l1_loss(): Subtraction, the `-` operator, with a bool tensor is not supported.")
    input, target = broadcast_pair("l1_loss", input, target)
    return _weighted_difference((input - target).abs(), weight, reduction, True)


@derivative_helper
def smooth_l1_slope(d: Any, beta: float) -> Any:
    """Compute the derivative of the smooth absolute value."""
    return where(abs(d) >= beta, sgn(d), d / beta)


@no_method(
    node="SmoothL1LossBackward0",
    symbol="smooth l1",
    input="smooth_l1_slope(input - target, beta) * each(g, input.shape, reduction)",
    target="smooth_l1_slope(target - input, beta) * each(g, input.shape, reduction)",
)
def _smooth_l1(input: Tensor, target: Tensor, reduction: str, beta: float) -> Tensor:
    """Return the smooth absolute differences, reduced."""
    size = np.abs(input - target)
    return aggregate(np.where(size < beta, size * size * (0.5 / beta), size - 0.5 * beta), reduction)


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", beta: float = 1.0,
) -> Tensor:  # fmt: skip
    """Return the absolute differences less ``beta / 2``; below ``beta`` their squares over ``2 beta``.

    :raises RuntimeError: ``beta`` is negative.

    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.5, 3.]), torch.tensor([0., 0.]), reduction="none")
    tensor([0.1250, 2.5000])
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    input, target = broadcast_pair("smooth_l1_loss", input, target)
    check_reduction(reduction)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    floating_only("smooth_l1_loss", input)
    return _smooth_l1(input, target, reduction, beta)


@derivative_helper
def huber_slope(d: Any, delta: float, mixed: Any) -> Any:
    """Compute the derivative of Huber's loss, which PyTorch has in one dtype."""
    if mixed:
        raise DtypeError(f"Found dtype {mixed[1]} but expected {mixed[0]}")
    return where(abs(d) > delta, sgn(d) * delta, d)


@no_method(
    node="HuberLossBackward0",
    symbol="huber",
    input="huber_slope(input - target, delta, mixed) * each(g, input.shape, reduction)",
    target="huber_slope(target - input, delta, mixed[::-1]) * each(g, input.shape, reduction)",
)
def _huber(input: Tensor, target: Tensor, reduction: str, delta: float, mixed: tuple[str, ...]) -> Tensor:
    """Return Huber's losses, reduced."""
    size = np.abs(input - target)
    return aggregate(np.where(size <= delta, size * size * 0.5, (size - 0.5 * delta) * delta), reduction)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Return half the squared differences, continued by straight lines above ``delta`` (Huber, 1964).

    :raises RuntimeError: ``delta`` is not positive.

    >>> torch.nn.functional.huber_loss(torch.tensor([0.5, 3.]), torch.tensor([0., 0.]), reduction="none")
    tensor([0.1250, 2.5000])
    """
    check_tensors("huber_loss", input=input, target=target)
    if not delta > 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, got {delta}")
    check_cast(target._a.dtype, input._a.dtype)
    kinds = dtypes.scalar_type(input.dtype), dtypes.scalar_type(target.dtype)
    mixed = () if input.dtype is target.dtype else kinds
    input, target = broadcast_pair("huber_loss", input, target.to(input.dtype))
    check_reduction(reduction)
    floating_only("huber_loss", input)
    if weight is not None:
        return _weighted_difference(_huber(input, target, "none", delta, mixed), weight, reduction, False)
    return _huber(input, target, reduction, delta, mixed)
