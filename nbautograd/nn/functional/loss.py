"""Losses that compare numbers with numbers: differences, probabilities, distances."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from nbautograd.arrays import dtypes, precise
from nbautograd.compiler.derivative_helper import derivative_helper
from nbautograd.compiler.op import op
from nbautograd.core.tensor import Tensor
from nbautograd.errors import ShapeError, UnsupportedDtypeError, kind_of
from nbautograd.nn.functional._common import check_reduction, legacy_reduction, reduced
from nbautograd.nn.functional.activation import logsigmoid
from nbautograd.nn.functional.linear import pairwise_distance
from nbautograd.ops._internal import pairwise_sum, zeros_of
from nbautograd.ops.elementwise.arithmetic import abs, sgn
from nbautograd.ops.elementwise.comparison import where
from nbautograd.ops.elementwise.exp_log_trig import log, log1p, sigmoid
from nbautograd.ops.elementwise.special import xlogy
from nbautograd.ops.queries import check_tensors

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


# -- what they share -------------------------------------------------------------------------------------------------


def aggregate(losses: Any, reduction: str) -> Any:
    """Arrays of losses as ``reduction`` asks."""
    if reduction == "none":
        return losses
    summed = pairwise_sum(losses)
    return summed / losses.dtype.type(losses.size) if reduction == "mean" else summed


def each(g: Any, shape: tuple[int, ...], reduction: str) -> Any:
    """The gradient of each loss, from that of the reduced loss."""
    return g / math.prod(shape) if reduction == "mean" and math.prod(shape) else g


def weighted(x: Any, weight: Any) -> Any:
    """``x`` times the weights, if there are any."""
    return x if weight is None else x * weight


def _pair(name: str, input: Tensor, target: Tensor, warn: bool = True) -> tuple[Tensor, Tensor]:
    """Both sides in one shape and one dtype."""
    check_tensors(name, input=input, target=target)
    if input._a.shape != target._a.shape:
        if warn:
            warnings.warn(
                f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
                "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
                UserWarning,
                stacklevel=3,
            )
        shape = _joint(name, input, target)
        input, target = input.expand(*shape), target.expand(*shape)
    if input._a.dtype != target._a.dtype:
        kind = dtypes.promote_types(input.dtype, target.dtype)
        input, target = input.to(kind), target.to(kind)
    return input, target


def _joint(name: str, *tensors: Tensor) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(t._a.shape for t in tensors))
    except ValueError:
        a, b = (list(t._a.shape) for t in tensors[:2])
        raise ShapeError(
            f"{name}(): The size of tensor a {a} must match the size of tensor b {b} where neither is 1: they do not "
            "broadcast"
        ) from None


def floating_only(name: str, *tensors: Tensor) -> None:
    """Make sure that the dtypes are floating.

    :raises NotImplementedError: one is not.
    """
    for t in tensors:
        if t._a.dtype.kind not in "fV":
            raise UnsupportedDtypeError(name, t.dtype, "f")


def _weighted_difference(losses: Tensor, weight: Tensor | None, reduction: str, over_weights: bool) -> Tensor:
    """Weighted losses; their mean is over the weights where ``over_weights``."""
    if weight is None:
        return reduced(losses, reduction)
    check_reduction(reduction)
    if not isinstance(weight, Tensor):
        raise TypeError(f"argument 'weight' must be Tensor, not {kind_of(weight)}")
    if weight._a.shape != losses._a.shape:
        raise ValueError(
            f"Weights and input must have the same size, got {list(weight._a.shape)} and {list(losses._a.shape)}"
        )
    losses = losses * weight
    return losses.sum() / weight.sum() if reduction == "mean" and over_weights else reduced(losses, reduction)


# -- differences -----------------------------------------------------------------------------------------------------


@op(
    node="MseLossBackward0",
    symbol="mse",
    method=False,
    input="2 * (input - target) * each(g, input.shape, reduction)",
    target="2 * (target - input) * each(g, input.shape, reduction)",
)
def _mse(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    """The squared differences, reduced."""
    difference = input - target
    return aggregate(difference * difference, reduction)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squared differences: their mean, their sum, or all of them.

    :param reduction: ``"mean"``, ``"sum"`` or ``"none"``.
    :param weight: a factor for each; the mean is then over the weights.
    :raises ValueError: another reduction.

    >>> import nbautograd as torch
    >>> torch.nn.functional.mse_loss(torch.tensor([1., 2.]), torch.tensor([0., 0.]))
    tensor(2.5000)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = _pair("mse_loss", input, target)
    check_reduction(reduction)
    if input.dtype.rank < 2:
        raise UnsupportedDtypeError("mse_loss", input.dtype, "f")
    if weight is not None:
        return _weighted_difference(_mse(input, target, "none"), weight, reduction, True)
    return _mse(input, target, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The absolute differences: their mean, their sum, or all of them.

    :param reduction: ``"mean"``, ``"sum"`` or ``"none"``.
    :param weight: a factor for each; the mean is then over the weights.
    :raises ValueError: another reduction.

    >>> import nbautograd as torch
    >>> torch.nn.functional.l1_loss(torch.tensor([1., 2.]), torch.tensor([0., 0.]))
    tensor(1.5000)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = _pair("l1_loss", input, target)
    return _weighted_difference((input - target).abs(), weight, reduction, True)


@derivative_helper
def smooth_l1_slope(d: Any, beta: float) -> Any:
    """The derivative of the smooth absolute value."""
    return where(abs(d) < beta, d / beta, sgn(d))


@op(
    node="SmoothL1LossBackward0",
    symbol="smooth l1",
    method=False,
    input="smooth_l1_slope(input - target, beta) * each(g, input.shape, reduction)",
    target="smooth_l1_slope(target - input, beta) * each(g, input.shape, reduction)",
)
def _smooth_l1(input: Tensor, target: Tensor, reduction: str, beta: float) -> Tensor:
    """The smooth absolute differences, reduced."""
    size = np.abs(input - target)
    return aggregate(np.where(size < beta, size * size * (0.5 / beta), size - 0.5 * beta), reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """The absolute differences less ``beta / 2``; below ``beta`` their squares over ``2 beta``.

    :param reduction: ``"mean"``, ``"sum"`` or ``"none"``.
    :raises RuntimeError: ``beta`` is negative.

    >>> import nbautograd as torch
    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.5, 3.]), torch.tensor([0., 0.]), reduction="none")
    tensor([0.1250, 2.5000])
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = _pair("smooth_l1_loss", input, target)
    check_reduction(reduction)
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    floating_only("smooth_l1_loss", input)
    return _smooth_l1(input, target, reduction, beta)


@derivative_helper
def huber_slope(d: Any, delta: float) -> Any:
    """The derivative of Huber's loss."""
    return where(abs(d) <= delta, d, sgn(d) * delta)


@op(
    node="HuberLossBackward0",
    symbol="huber",
    method=False,
    input="huber_slope(input - target, delta) * each(g, input.shape, reduction)",
    target="huber_slope(target - input, delta) * each(g, input.shape, reduction)",
)
def _huber(input: Tensor, target: Tensor, reduction: str, delta: float) -> Tensor:
    """Huber's losses, reduced."""
    size = np.abs(input - target)
    return aggregate(np.where(size <= delta, size * size * 0.5, (size - 0.5 * delta) * delta), reduction)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the squared differences; above ``delta`` straight lines (Huber, 1964).

    :param reduction: ``"mean"``, ``"sum"`` or ``"none"``.
    :raises RuntimeError: ``delta`` is not positive.

    >>> import nbautograd as torch
    >>> torch.nn.functional.huber_loss(torch.tensor([0.5, 3.]), torch.tensor([0., 0.]), reduction="none")
    tensor([0.1250, 2.5000])
    """
    input, target = _pair("huber_loss", input, target)
    check_reduction(reduction)
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, got {delta}")
    floating_only("huber_loss", input)
    if weight is not None:
        return _weighted_difference(_huber(input, target, "none", delta), weight, reduction, False)
    return _huber(input, target, reduction, delta)


# -- probabilities ---------------------------------------------------------------------------------------------------

LEAST_LOG = -100.0
"""A probability of 0 costs no more than this, so that losses stay finite."""


@derivative_helper
def bce_slope(x: Any, t: Any) -> Any:
    """The derivative of the cross entropy by the probability."""
    spread = (1 - x) * x
    return (x - t) / where(spread < 1e-12, zeros_of(spread) + 1e-12, spread)


@derivative_helper
def bce_target_slope(x: Any) -> Any:
    """The derivative of the cross entropy by the target."""
    return clamped(log1p(-x)) - clamped(log(x))


@op(node="ClampBackward1", method=False, input="where(input >= LEAST_LOG, g, zeros_of(g))", symbol="clamp")
def clamped(input: Tensor) -> Tensor:
    """A logarithm, but no less than the least."""
    return np.maximum(input, LEAST_LOG)


@op(
    node="BinaryCrossEntropyBackward0",
    symbol="bce",
    method=False,
    input="weighted(bce_slope(input, target), weight) * each(g, input.shape, reduction)",
    target="weighted(bce_target_slope(input), weight) * each(g, input.shape, reduction)",
)
def _bce(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """The cross entropies, reduced."""
    right, wrong = np.maximum(precise.log(input), LEAST_LOG), np.maximum(precise.log1p(-input), LEAST_LOG)
    return aggregate(weighted((target - 1) * wrong - target * right, weight), reduction)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``-(target * log(input) + (1 - target) * log(1 - input))``, the logarithms no less than -100.

    :param input: probabilities.
    :param weight: a factor for each, broadcast.
    :param reduction: ``"mean"``, ``"sum"`` or ``"none"``.
    :raises ValueError: the shapes differ.
    :raises RuntimeError: an element of ``input`` is not in [0, 1].

    >>> import nbautograd as torch
    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.]))
    tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_tensors("binary_cross_entropy", input=input, target=target)
    check_reduction(reduction)
    if input._a.shape != target._a.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    floating_only("binary_cross_entropy", input)
    if target._a.dtype != input._a.dtype:
        raise RuntimeError(f"binary_cross_entropy(): Found dtype {target.dtype!r} but expected {input.dtype!r}")
    if input._a.size and not bool(((input._a >= 0) & (input._a <= 1)).all()):
        raise RuntimeError("binary_cross_entropy(): all elements of input should be between 0 and 1")
    if weight is not None:
        weight = weight.expand(*_joint("binary_cross_entropy", input, weight))
    return _bce(input, target, weight, reduction)


@derivative_helper
def logits_slope(x: Any, t: Any, pos_weight: Any) -> Any:
    """The derivative of the cross entropy by the logit."""
    if pos_weight is None:
        return sigmoid(x) - t
    return (1 - t) - ((pos_weight - 1) * t + 1) * sigmoid(-x)


@derivative_helper
def logits_target_slope(x: Any, pos_weight: Any) -> Any:
    """The derivative of the cross entropy by the target."""
    return -x if pos_weight is None else -x - (pos_weight - 1) * logsigmoid(x)


@op(
    node="BinaryCrossEntropyWithLogitsBackward0",
    symbol="bce",
    method=False,
    input="weighted(logits_slope(input, target, pos_weight), weight) * each(g, input.shape, reduction)",
    target="weighted(logits_target_slope(input, pos_weight), weight) * each(g, input.shape, reduction)",
)
def _bce_logits(
    input: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: str
) -> Tensor:
    """The cross entropies of logits, reduced."""
    right = precise.log1p(precise.exp(-np.abs(input))) - np.minimum(input, 0)  # minus the logarithm of the probability
    if pos_weight is not None:
        right = right * ((pos_weight - 1) * target + 1)
    return aggregate(weighted((1 - target) * input + right, weight), reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """:func:`binary_cross_entropy` of ``sigmoid(input)``, without overflow.

    :param weight: a factor for each, broadcast.
    :param pos_weight: a factor for the positive part, broadcast.
    :param reduction: ``"mean"``, ``"sum"`` or ``"none"``.
    :raises ValueError: the shapes differ.

    >>> import nbautograd as torch
    >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.tensor([0.]), torch.tensor([1.]))
    tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_tensors("binary_cross_entropy_with_logits", input=input, target=target)
    check_reduction(reduction)
    if input._a.shape != target._a.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    for t in (weight, pos_weight):
        if t is not None and _joint("binary_cross_entropy_with_logits", input, t) != input._a.shape:
            raise ShapeError(
                f"binary_cross_entropy_with_logits(): output with shape {list(input._a.shape)} doesn't match the "
                f"broadcast shape with a weight of shape {list(t._a.shape)}"
            )
    input, target = _pair("binary_cross_entropy_with_logits", input, target)
    floating_only("binary_cross_entropy_with_logits", input)
    return _bce_logits(input, target, weight, pos_weight, reduction)


@op(
    node="SoftMarginLossBackward0",
    symbol="soft margin",
    method=False,
    input="-target * sigmoid(-target * input) * each(g, input.shape, reduction)",
    target="-input * sigmoid(-target * input) * each(g, input.shape, reduction)",
)
def _soft_margin(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    """The logistic losses, reduced."""
    return aggregate(precise.log1p(precise.exp(-target * input)), reduction)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))``, for targets 1 and -1.

    :param reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.soft_margin_loss(torch.tensor([0.]), torch.tensor([1.]))
    tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = _pair("soft_margin_loss", input, target, warn=False)
    check_reduction(reduction)
    floating_only("soft_margin_loss", input)
    return _soft_margin(input, target, reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """``target * (log(target) - input)``: the Kullback-Leibler divergence of distributions, term by term.

    :param input: logarithms of probabilities.
    :param target: probabilities; their logarithms if ``log_target``.
    :param reduction: ``"batchmean"`` (the sum over the size of the first dimension, the divergence as it is defined),
        ``"mean"``, ``"sum"`` or ``"none"``.
    :raises ValueError: another reduction.

    >>> import nbautograd as torch
    >>> p = torch.tensor([[0.5, 0.5]])
    >>> torch.nn.functional.kl_div(p.log(), torch.tensor([[1., 0.]]), reduction="batchmean")
    tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_tensors("kl_div", input=input, target=target)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.",
            UserWarning,
            stacklevel=2,
        )
    losses = target.exp() * (target - input) if log_target else xlogy(target, target) - target * input
    if reduction == "batchmean":
        return losses.sum() / input._a.shape[0] if input._a.ndim else losses.sum()
    return reduced(losses, reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log likelihood of counts of a Poisson distribution.

    :param input: the logarithm of the expectation, or with ``log_input=False`` the expectation.
    :param full: add Stirling's approximation of ``log(target!)`` where ``target`` exceeds 1.
    :param eps: added to the expectation before its logarithm is taken.
    :raises ValueError: another reduction.

    >>> import nbautograd as torch
    >>> torch.nn.functional.poisson_nll_loss(torch.tensor([0.]), torch.tensor([2.]))
    tensor(1.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_tensors("poisson_nll_loss", input=input, target=target)
    check_reduction(reduction)
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + (target * (2 * math.pi)).log() * 0.5
        losses = losses + stirling.masked_fill(target <= 1, 0)
    return reduced(losses, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log likelihood of ``target`` under normal distributions of means ``input`` and variances ``var``.

    :param var: shape as ``input``, or with last size 1, or without the last dimension; at least ``eps`` is used.
    :param full: add the constant ``log(2 π) / 2``.
    :raises ValueError: ``var`` is negative or of another shape, or another reduction.

    >>> import nbautograd as torch
    >>> torch.nn.functional.gaussian_nll_loss(torch.tensor([0.]), torch.tensor([2.]), torch.tensor([1.]))
    tensor(2.)
    """
    check_tensors("gaussian_nll_loss", input=input, target=target)
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError(f"gaussian_nll_loss(): var has negative entry/entries: {var}")
        var = (input * 0).detach() + var
    if bool((var._a < 0).any()):
        raise ValueError("gaussian_nll_loss(): var has negative entry/entries")
    shape = input._a.shape
    if var._a.shape != shape:
        if shape[:-1] == var._a.shape:
            var = var.unsqueeze(-1)
        elif not (shape[:-1] == var._a.shape[:-1] and var._a.shape[-1] == 1) and not _fits(var._a.shape, shape):
            raise ValueError(
                f"gaussian_nll_loss(): var is of incorrect size {list(var._a.shape)} for input {list(shape)}"
            )
    check_reduction(reduction)
    # The bound has no derivative, as if it were not there.
    raised = var + (var.detach().clamp(min=eps) - var.detach())
    difference = input - target
    losses = (raised.log() + difference * difference / raised) * 0.5
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


def _fits(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether a shape broadcasts to another."""
    try:
        return np.broadcast_shapes(shape, other) == other
    except ValueError:
        return False


# -- margins and distances -------------------------------------------------------------------------------------------


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``input`` where ``target`` is 1, ``max(0, margin - input)`` where it is -1.

    :param reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    >>> import nbautograd as torch
    >>> torch.nn.functional.hinge_embedding_loss(torch.tensor([0.5, 0.25]), torch.tensor([1, -1]), reduction="none")
    tensor([0.5000, 0.7500])
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_tensors("hinge_embedding_loss", input=input, target=target)
    apart = where(target != 1, (margin - input).clamp(min=0), 0)
    return reduced(apart + where(target != -1, input, 0), reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``: target 1 wants ``input1`` to be larger, -1 ``input2``.

    :param reduction: ``"mean"``, ``"sum"`` or ``"none"``.
    :raises RuntimeError: the numbers of dimensions differ.

    >>> import nbautograd as torch
    >>> torch.nn.functional.margin_ranking_loss(torch.tensor([1.]), torch.tensor([3.]), torch.tensor([1.]))
    tensor(2.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_tensors("margin_ranking_loss", input1=input1, input2=input2, target=target)
    if not input1._a.ndim == input2._a.ndim == target._a.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.shape}, input2: {input2.shape}, target: {target.shape}"
        )
    return reduced((-target * (input1 - input2) + margin).clamp(min=0), reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos(input1, input2)`` where ``target`` is 1, ``max(0, cos(input1, input2) - margin)`` where it is -1.

    :param input1: shape (n, m), or (m,); so ``input2``.
    :param target: shape (n,), or ().
    :raises RuntimeError: the shapes do not fit.

    >>> import nbautograd as torch
    >>> torch.nn.functional.cosine_embedding_loss(torch.tensor([1., 0.]), torch.tensor([0., 1.]), torch.tensor(1))
    tensor(1.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_tensors("cosine_embedding_loss", input1=input1, input2=input2, target=target)
    if target._a.ndim > 1:
        raise RuntimeError("cosine_embedding_loss(): 0D or 1D target tensor expected, multi-target not supported")
    for label, x in (("input1", input1), ("input2", input2)):
        if x._a.ndim != target._a.ndim + 1:
            raise RuntimeError(
                f"cosine_embedding_loss(): {target._a.ndim}D target tensor expects {target._a.ndim + 1}D input "
                f"tensors, but found {label} with sizes {list(x._a.shape)}"
            )
    eps = 1e-12  # inside the root: PyTorch's way here, unlike in cosine_similarity
    lengths = ((input1 * input1).sum(-1) + eps) * ((input2 * input2).sum(-1) + eps)
    cosine = (input1 * input2).sum(-1) / lengths.sqrt()
    alike = where(target == 1, 1 - cosine, 0)
    return reduced(alike + where(target == -1, (cosine - margin).clamp(min=0), 0), reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, margin + d(anchor, positive) - d(anchor, negative))`` with p-norm distances d.

    :param swap: use ``d(positive, negative)`` where it is less than ``d(anchor, negative)``.
    :raises RuntimeError: the numbers of dimensions differ.

    >>> import nbautograd as torch
    >>> a, b, c = torch.tensor([[0.]]), torch.tensor([[2.]]), torch.tensor([[1.]])
    >>> torch.nn.functional.triplet_margin_loss(a, b, c)
    tensor(2.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_triplet("triplet_margin_loss", anchor, positive, negative)
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return reduced((margin + near - far).clamp(min=0), reduction)


def _check_triplet(name: str, anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    check_tensors(name, anchor=anchor, positive=positive, negative=negative)
    if not anchor._a.ndim == positive._a.ndim == negative._a.ndim:
        raise RuntimeError(
            f"{name}(): The anchor, positive, and negative tensors are expected to have the same number of dimensions, "
            f"but got: anchor {anchor._a.ndim}D, positive {positive._a.ndim}D, and negative {negative._a.ndim}D inputs"
        )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """:func:`triplet_margin_loss` with any distance, by default :func:`pairwise_distance`.

    :raises ValueError: ``margin`` is not positive, or another reduction.

    >>> import nbautograd as torch
    >>> a, b, c = torch.tensor([[0.]]), torch.tensor([[2.]]), torch.tensor([[1.]])
    >>> torch.nn.functional.triplet_margin_with_distance_loss(a, b, c, distance_function=lambda x, y: (x - y).abs())
    tensor(2.)
    """
    check_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_triplet("triplet_margin_with_distance_loss", anchor, positive, negative)
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((margin + near - far).clamp(min=0), reduction)
