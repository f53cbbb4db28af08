"""Connectionist temporal classification: the cost of a sequence of labels whose places in time are not known.

Graves et al., "Connectionist temporal classification: labelling unsegmented sequence data with recurrent neural
networks" (2006); the equations named below are theirs. All sequences of a batch are computed together, so the loops
are over time only.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nbautograd._engine.arrays import backend, precise
from nbautograd._engine.compiler.op import check_option, no_method
from nbautograd._engine.core.batched import looks_at_elements
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.shape.joining import stack
from nbautograd._engine.ops.shape.padding import pad
from nbautograd.errors import ShapeError
from nbautograd.nn.functional._common import check_reduction, floating_only

__all__ = ["ctc_loss"]

NEVER = -1e30
"""The logarithm of a probability of 0, finite so that higher derivatives have no nan."""


class Labels(NamedTuple):
    """The labels of a batch, a blank before, between and after them, and the lengths."""

    states: Any
    """(n, l): the label of each state."""
    skips: Any
    """(n, l): True if a state may follow the last but one."""
    steps: Any
    """(n,): the number of time steps of each sequence."""
    ends: Any
    """(n,): the last state of each sequence."""


def _labels(targets: Any, steps: Any, lengths: Any, blank: int) -> Labels:
    n, width = targets.shape
    states = np.full_like(targets, blank, shape=(n, 2 * width + 1))
    states[:, 1::2] = targets
    skips = np.zeros_like(states, dtype=np.bool_)
    skips[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    return Labels(states, skips, steps, 2 * lengths)


def _shifted(a: Any, by: int) -> Any:
    """Return rows shifted by some states and filled with -inf; backwards for negative numbers."""
    output = np.full_like(a, -np.inf)
    if by > 0:
        output[:, by:] = a[:, :-by]
    else:
        output[:, :by] = a[:, -by:]
    return output


def _forward(scores: Any, labels: Labels) -> Any:
    """Return the logarithm of the probability of all paths to each state at each time (alpha; equations 5 to 8)."""
    alpha = np.full_like(scores, -np.inf)
    alpha[0, :, :2] = scores[0, :, :2]
    if scores.shape[2] > 1:
        alpha[0, :, 1][labels.ends == 0] = -np.inf
    for t in range(1, len(scores)):
        before = alpha[t - 1]
        total = np.logaddexp(before, _shifted(before, 1))
        total = np.logaddexp(total, np.where(labels.skips, _shifted(before, 2), -np.inf))
        alpha[t] = total + scores[t]
    return alpha


def _backward(scores: Any, labels: Labels) -> Any:
    """Return the logarithm of the probability of all paths from each state to the end (beta; equations 9 to 11)."""
    last = np.full_like(scores[0], -np.inf)
    state = backend.module(backend.device_of(scores)).arange(scores.shape[2])
    ends = labels.ends[:, None]
    last[(state == ends) | ((state == ends - 1) & (ends > 0))] = 0
    beta = np.full_like(scores, -np.inf)
    current = last
    follows = np.zeros_like(labels.skips)
    follows[:, :-2] = labels.skips[:, 2:]
    for t in range(len(scores) - 1, -1, -1):
        if t + 1 < len(scores):
            after = current
            current = np.logaddexp(after, _shifted(after, -1))
            current = np.logaddexp(current, np.where(follows, _shifted(after, -2), -np.inf))
        current = np.where((labels.steps == t + 1)[:, None], last, current) + scores[t]
        beta[t] = current
    return beta


def _scores(log_probs: Any, labels: Labels) -> Any:
    index = np.broadcast_to(labels.states, (len(log_probs), *labels.states.shape))
    return np.take_along_axis(log_probs, index, 2)


def _costs(alpha: Any, labels: Labels) -> Any:
    """Return minus the logarithm of the probability of each sequence (equation 8)."""
    rows = backend.module(backend.device_of(labels.ends)).arange(len(labels.ends))
    time = np.maximum(labels.steps - 1, 0)
    whole = alpha[time, rows, labels.ends]
    short = np.where(labels.ends > 0, alpha[time, rows, np.maximum(labels.ends - 1, 0)], -np.inf)
    nothing = np.where(labels.ends > 0, np.inf, 0)
    return np.where(labels.steps > 0, -np.logaddexp(whole, short), nothing).astype(alpha.dtype)


@no_method(node="CtcLossBackward0", symbol="ctc", log_probs="ctc_back(g, log_probs, result, labels, zero_infinity)")
def _ctc(log_probs: Tensor, labels: Labels, zero_infinity: bool) -> Tensor:
    """Return the cost of each sequence of labels."""
    return _costs(_forward(_scores(log_probs, labels), labels), labels)


def ctc_back(g: Any, log_probs: Any, costs: Any, labels: Labels, zero_infinity: bool) -> Any:
    """Compute the gradient (equation 15): of arrays from the sums over paths, of tensors by differentiating these sums.

    As in PyTorch it is the gradient of the scores from which softmax computed ``log_probs``: it relies on their
    normalization, so the term that softmax adds is 0.
    """
    if isinstance(g, Tensor):
        return _back_recorded(g, log_probs, labels, zero_infinity)
    scores = _scores(log_probs, labels)
    alpha, beta = _forward(scores, labels), _backward(scores, labels)
    true_costs = _costs(alpha, labels)
    finite = np.isfinite(true_costs)
    logs = alpha + beta - scores + np.where(finite, true_costs, 0)[:, None]
    shares = np.where(np.isfinite(logs), precise.exp(logs), 0)
    result = precise.exp(log_probs)
    t, module = len(log_probs), backend.module(backend.device_of(log_probs))
    times, rows = module.arange(t)[:, None], module.arange(len(labels.ends))[None, :, None]
    index = np.broadcast_to(labels.states, (t, *labels.states.shape))
    backend.add_at(result, (times[..., None], rows, index), -shares)
    result = np.where(finite[:, None], result * g[:, None], 0 if zero_infinity else np.nan)
    return np.where((times < labels.steps)[:, :, None], result, 0).astype(log_probs.dtype)


def _back_recorded(g: Tensor, log_probs: Tensor, labels: Labels, zero_infinity: bool) -> Tensor:
    """Compute the gradient with recorded operations, for higher derivatives."""
    from nbautograd.autograd import grad

    index = wrap(np.broadcast_to(labels.states, (log_probs._a.shape[0], *labels.states.shape)).copy())
    skips, steps = wrap(labels.skips), labels.steps
    module = backend.module(log_probs.device)
    state = module.arange(labels.states.shape[1])
    ends = labels.ends[:, None]
    first = wrap((state < 2) & ((state == 0) | (ends > 0)))
    final = wrap((state == ends) | ((state == ends - 1) & (ends > 0)))
    scores = log_probs.gather(2, index)
    alpha = scores[0].masked_fill(~first, NEVER)
    for t in range(1, log_probs._a.shape[0]):
        one, two = (pad(alpha, (by, -by), value=NEVER) for by in (1, 2))
        total = stack([alpha, one, two.masked_fill(~skips, NEVER)]).logsumexp(0) + scores[t]
        alpha = total.where(wrap((t < steps)[:, None]), alpha)
    costs = -alpha.masked_fill(~final, NEVER).logsumexp(1)
    impossible = wrap((costs._a > -NEVER / 2) | (steps == 0))
    weights = g.masked_fill(impossible, 0)
    (slope,) = grad(costs, log_probs, weights, create_graph=True)
    whole = log_probs.exp() * weights.unsqueeze(1) + slope
    if not zero_infinity:
        whole = whole.masked_fill(impossible.unsqueeze(1), float("nan"))
    return whole.masked_fill(wrap((module.arange(log_probs._a.shape[0])[:, None] >= steps)[:, :, None]), 0)


def _lengths(name: str, label: str, lengths: Any, like: Tensor, n: int) -> Any:
    """Return lengths as an array."""
    values = backend.fetch(lengths._a) if isinstance(lengths, Tensor) else np.asarray(lengths)
    if values.dtype.kind not in "iu":
        raise RuntimeError(f"{name}(): {label} must be integral, got {values.dtype}")
    values = values.reshape((-1,)).astype(np.int64)
    if len(values) != n:
        raise RuntimeError(f"{name}(): {label} must be of size batch_size, {n}, got {len(values)}")
    if len(values) and int(values.min()) < 0:
        raise RuntimeError(f"{name}(): Expected {label} to have value at least 0, but got value {int(values.min())}")
    return backend.module(like.device).asarray(values)


@looks_at_elements
def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Return minus the log probability of sequences of labels, summed over all alignments in time.

    :param log_probs: logarithms of probabilities, as ``log_softmax`` gives them: shape (t, n, c), or (t, c).
    :param targets: labels other than ``blank``: shape (n, s), or (s,), or those of all sequences one after the other.
    :param input_lengths: the number of time steps of each sequence, n ints or a tensor; likewise ``target_lengths``.
    :param blank: the class of the blank, which is not a label.
    :param reduction: ``"mean"`` (of costs over the lengths of their targets), ``"sum"`` or ``"none"``.
    :param zero_infinity: return 0, not infinity, for sequences that are too short for their labels.
    :raises RuntimeError: shapes, lengths or dtypes do not fit.

    >>> scores = torch.zeros(2, 1, 2).log_softmax(2)  # two steps, a blank and one label: three of four ways
    >>> torch.nn.functional.ctc_loss(scores, torch.tensor([[1]]), [2], [1])
    tensor(0.2877)
    """
    name = "ctc_loss"
    check_tensors(name, log_probs=log_probs, targets=targets)
    check_reduction(reduction)
    check_option(name, "zero_infinity", zero_infinity, "bool")
    floating_only(name, log_probs)
    if log_probs._a.ndim not in (2, 3):
        raise ShapeError(f"{name}(): expected log_probs of shape (t, n, c) or (t, c), got {list(log_probs._a.shape)}")
    batched = log_probs._a.ndim == 3
    x = log_probs if batched else log_probs.unsqueeze(1)
    t, n, classes = x._a.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"{name}(): blank must be in label range, 0 to {classes - 1}, got {blank}")
    steps = _lengths(name, "input_lengths", input_lengths, x, n)
    lengths = _lengths(name, "target_lengths", target_lengths, x, n)
    if n and int(steps.max()) > t:
        raise RuntimeError(f"{name}(): Expected input_lengths to have value at most {t}, but got {int(steps.max())}")
    rows = _rows(name, targets._a.real.astype(np.int64), lengths, n, batched, blank)
    costs = _ctc(x, _labels(rows, steps, lengths, blank), zero_infinity)
    if zero_infinity:
        costs = where(costs == math.inf, 0, costs)
    if reduction == "mean":
        return (costs / wrap(np.maximum(lengths, 1).astype(costs._a.dtype))).mean()
    if reduction == "sum":
        return costs.sum()
    return costs if batched else costs.squeeze(0)


def _rows(name: str, targets: Any, lengths: Any, n: int, batched: bool, blank: int) -> Any:
    """Return the labels of each sequence in a row of its own, followed by blanks."""
    width = int(lengths.max()) if n else 0
    places = backend.module(backend.device_of(targets)).arange(width)
    if targets.ndim == 2 or not batched:
        if targets.ndim == 1:
            targets = targets.reshape((1, -1))
        if targets.shape[0] != n or targets.shape[1] < width:
            sizes = f"{width} at dimension 1, and {n} rows, but got targets of shape {list(targets.shape)}"
            raise RuntimeError(f"{name}(): Expected tensor to have size at least {sizes}")
        at = targets[:, :width]
    else:
        if targets.ndim != 1 or targets.shape[0] != int(lengths.sum()):
            sizes = f"{int(lengths.sum())} at dimension 0, but got targets of shape {list(targets.shape)}"
            raise RuntimeError(f"{name}(): Expected tensor to have size {sizes}")
        starts = np.cumsum(lengths) - lengths
        at = np.take(targets, np.minimum(starts[:, None] + places, max(len(targets) - 1, 0))) if width else targets[:0]
        at = at.reshape((n, width))
    return np.where(places < lengths[:, None], at, blank).astype(np.int64)
