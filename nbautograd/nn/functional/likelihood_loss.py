"""Negative log-likelihoods: binary cross entropy, soft margin, Kullback-Leibler, Poisson and Gaussian."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes, precise
from nbautograd._engine.compiler.op import derivative_helper, no_method
from nbautograd._engine.core.batched import elements
from nbautograd._engine.core.inplace import check_cast
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import zeros_of
from nbautograd._engine.ops.elementwise.exp_log import log, log1p, sigmoid
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.elementwise.special import xlogy
from nbautograd._engine.ops.queries import check_tensors
from nbautograd.errors import SCALAR_TYPES, DtypeError, ShapeError, warn
from nbautograd.nn.functional._common import check_reduction, floating_only, legacy_reduction, no_derivative, reduced
from nbautograd.nn.functional.loss import aggregate, broadcast_pair, each, joint_shape, weighted  # noqa: F401 - formulas name each
from nbautograd.nn.functional.smooth_activation import logsigmoid

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "gaussian_nll_loss", "kl_div", "poisson_nll_loss",
    "soft_margin_loss",
]  # fmt: skip


LEAST_LOG = -100.0
"""The lower bound of logarithms of probabilities, which keeps losses finite."""


@derivative_helper
def bce_slope(x: Any, t: Any) -> Any:
    """Compute the derivative of the cross entropy by the probability."""
    spread = (1 - x) * x
    return (x - t) / where(spread < 1e-12, zeros_of(spread) + 1e-12, spread)


@derivative_helper
def bce_target_slope(x: Any) -> Any:
    """Compute the derivative of the cross entropy by the target."""
    return clamped(log1p(-x)) - clamped(log(x))


@no_method(node="ClampBackward1", input="where(input >= LEAST_LOG, g, zeros_of(g))", symbol="clamp")
def clamped(input: Tensor) -> Tensor:
    """Return a logarithm, clamped to ``LEAST_LOG``."""
    return np.maximum(input, LEAST_LOG)


@no_method(
    node="BinaryCrossEntropyBackward0",
    symbol="bce",
    input="weighted(bce_slope(input, target), weight) * each(g, input.shape, reduction)",
    target="weighted(bce_target_slope(input), weight) * each(g, input.shape, reduction)",
)
def _bce(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """Return the cross entropies, reduced."""
    right, wrong = np.maximum(precise.log(input), LEAST_LOG), np.maximum(precise.log1p(-input), LEAST_LOG)
    return aggregate(weighted((target - 1) * wrong - target * right, weight), reduction)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return ``-(target * log(input) + (1 - target) * log(1 - input))``, the logarithms no less than -100.

    :param input: probabilities.
    :param weight: a factor for each, broadcast.
    :raises ValueError: the shapes differ.
    :raises RuntimeError: an element of ``input`` is not in [0, 1].

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
    no_derivative("binary_cross_entropy", weight=weight)
    if target._a.dtype != input._a.dtype:
        kinds = f"{dtypes.scalar_type(target.dtype)} but expected {dtypes.scalar_type(input.dtype)}"
        raise RuntimeError(f"binary_cross_entropy(): Found dtype {kinds}")
    for label, given in (("input", elements(input)), ("target", elements(target))):
        if given.size and not bool(((given >= 0) & (given <= 1)).all()):
            raise RuntimeError(f"binary_cross_entropy(): all elements of {label} should be between 0 and 1")
    if weight is not None:
        weight = weight.to(input.dtype).expand(*joint_shape("binary_cross_entropy", input, weight))
    return _bce(input, target, weight, reduction)


@derivative_helper
def logits_slope(x: Any, t: Any, pos_weight: Any) -> Any:
    """Compute the derivative of the cross entropy by the logit."""
    if pos_weight is None:
        return sigmoid(x) - t
    return (1 - t) - ((pos_weight - 1) * t + 1) * sigmoid(-x)


@derivative_helper
def logits_target_slope(x: Any, pos_weight: Any) -> Any:
    """Compute the derivative of the cross entropy by the target."""
    return -x if pos_weight is None else -x - (pos_weight - 1) * logsigmoid(x)


@no_method(
    node="BinaryCrossEntropyWithLogitsBackward0",
    symbol="bce",
    input="weighted(logits_slope(input, target, pos_weight), weight) * each(g, input.shape, reduction)",
    target="weighted(logits_target_slope(input, pos_weight), weight) * each(g, input.shape, reduction)",
)
def _bce_logits(
    input: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: str
) -> Tensor:
    """Return the cross entropies of logits, reduced."""
    right = precise.log1p(precise.exp(-np.abs(input))) - np.minimum(input, 0)  # minus the logarithm of the probability
    if pos_weight is not None:
        right = right * ((pos_weight - 1) * target + 1)
    return aggregate(weighted((1 - target) * input + right, weight), reduction)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return :func:`binary_cross_entropy` of ``sigmoid(input)``, without overflow.

    :param weight: a factor for each, broadcast.
    :param pos_weight: a factor for the positive part, broadcast.
    :raises ValueError: the shapes differ.
    :raises RuntimeError: the dtype of ``target``, which is also the result's, is not floating.

    >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.tensor([0.]), torch.tensor([1.]))
    tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_tensors("binary_cross_entropy_with_logits", input=input, target=target)
    check_reduction(reduction)
    if input._a.shape != target._a.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    for t in (weight, pos_weight):
        if t is None:
            continue
        check_tensors("binary_cross_entropy_with_logits", weight=t)
        if joint_shape("binary_cross_entropy_with_logits", input, t) != input._a.shape:
            shapes = f"{[*input._a.shape]} doesn't match the broadcast shape with a weight of shape {[*t._a.shape]}"
            raise ShapeError(f"binary_cross_entropy_with_logits(): output with shape {shapes}")
    dtype = target.dtype
    floating_only("binary_cross_entropy_with_logits", input)
    input, target = broadcast_pair("binary_cross_entropy_with_logits", input, target)
    no_derivative("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    check_cast(input.dtype.numpy, dtype.numpy)
    weight, pos_weight = (None if t is None else t.to(input.dtype) for t in (weight, pos_weight))
    return _bce_logits(input, target, weight, pos_weight, reduction).to(dtype)


@no_method(
    node="SoftMarginLossBackward0",
    symbol="soft margin",
    input="-target * sigmoid(-target * input) * each(g, input.shape, reduction)",
    target="-input * sigmoid(-target * input) * each(g, input.shape, reduction)",
)
def _soft_margin(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    """Return the logistic losses, reduced."""
    return aggregate(precise.log1p(precise.exp(-target * input)), reduction)


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """Return ``log(1 + exp(-target * input))``, for targets 1 and -1.

    >>> torch.nn.functional.soft_margin_loss(torch.tensor([0.]), torch.tensor([1.]))
    tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_tensors("soft_margin_loss", input=input, target=target)
    check_reduction(reduction)
    dtype = input.dtype
    shape = input._a.shape
    input, target = broadcast_pair("soft_margin_loss", input, target, warns=False)
    if input._a.shape != shape:
        raise ShapeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(input._a.shape)}")
    floating_only("soft_margin_loss", input)
    check_cast(input.dtype.numpy, dtype.numpy)
    return _soft_margin(input, target, reduction).to(dtype)


def kl_div(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", log_target: bool = False,
) -> Tensor:  # fmt: skip
    """Return ``target * (log(target) - input)``: the Kullback-Leibler divergence of distributions, term by term.

    :param input: logarithms of probabilities.
    :param target: probabilities; their logarithms if ``log_target``.
    :param reduction: ``"batchmean"`` (the sum over the size of the first dimension, the mathematical definition),
        ``"mean"``, ``"sum"`` or ``"none"``.

    >>> p = torch.tensor([[0.5, 0.5]])
    >>> torch.nn.functional.kl_div(p.log(), torch.tensor([[1., 0.]]), reduction="batchmean")
    tensor(0.6931)
    """
    is_named = size_average is None and reduce is None
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_tensors("kl_div", input=input, target=target)
    if reduction != "batchmean":
        check_reduction(reduction)
    if reduction == "mean" and is_named:
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition."
        )
    if input._a.dtype.kind == "c" or target._a.dtype.kind == "c":
        raise DtypeError("kl_div: Complex inputs not supported.")
    if input._a.dtype.kind in "biu" or target._a.dtype.kind in "biu":
        raise RuntimeError("kl_div: Integral inputs not supported. Convert them with .float().")
    losses = target.exp() * (target - input) if log_target else xlogy(target, target) - target * input
    if reduction == "batchmean":
        return losses.sum() / input._a.shape[0] if input._a.ndim else losses.sum()
    return reduced(losses, reduction)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None,
    eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return minus the log likelihood of counts of a Poisson distribution.

    :param input: the logarithm of the expectation, or with ``log_input=False`` the expectation.
    :param full: add Stirling's approximation of ``log(target!)`` where ``target`` exceeds 1.
    :param eps: added to the expectation before its logarithm is taken.

    >>> torch.nn.functional.poisson_nll_loss(torch.tensor([0.]), torch.tensor([2.]))
    tensor(1.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_tensors("poisson_nll_loss", input=input, target=target)
    check_reduction(reduction)
    logarithms = target * (input if log_input else (input + eps).log())
    losses = (input.exp() if log_input else input) - logarithms
    if full:
        stirling = target * target.log() - target + (target * (2 * math.pi)).log() * 0.5
        losses = losses + stirling.masked_fill(target <= 1, 0)
    return reduced(losses, reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Return minus the log likelihood of ``target`` for normal distributions of means ``input`` and variances ``var``.

    :param var: shape as ``input``, or with last size 1, or without the last dimension; at least ``eps`` is used.
    :param full: add the constant ``log(2 π) / 2``.
    :raises ValueError: ``var`` is negative or its shape does not fit, or ``reduction`` is invalid.

    >>> torch.nn.functional.gaussian_nll_loss(torch.tensor([0.]), torch.tensor([2.]), torch.tensor([1.]))
    tensor(2.)
    """
    check_tensors("gaussian_nll_loss", input=input, target=target)
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError(f"gaussian_nll_loss(): var has negative entry/entries: {var}")
        var = (input * 0).detach() + var
    if bool((elements(var) < 0).any()):
        raise ValueError("gaussian_nll_loss(): var has negative entry/entries")
    shape = input._a.shape
    if var._a.shape != shape:
        if shape[:-1] == var._a.shape:
            var = var.unsqueeze(-1)
        elif var._a.ndim != len(shape) or [m for n, m in zip(shape, var._a.shape, strict=True) if n != m] != [1]:
            size = list(var._a.shape)
            raise ValueError(f"gaussian_nll_loss(): var is of incorrect size {size} for input {list(shape)}")
    check_reduction(reduction)
    if var.dtype.rank < 2:
        kind = SCALAR_TYPES[var.dtype.name]
        raise DtypeError(f"gaussian_nll_loss(): result type Float can't be cast to the desired output type {kind}")
    # The bound is not differentiated.
    raised = var + (var.detach().clamp(min=eps) - var.detach())
    difference = input - target
    losses = (raised.log() + difference**2 / raised) * 0.5
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)
