"""Classification losses: negative log-likelihood, cross entropy and margin losses of class indices."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.compiler.op import check_option, derivative_helper, no_method, op, with_argument_errors
from nbautograd._engine.core.batched import checks_values, elements, looks_at_elements
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import highest, pairwise_sum, zeros_of
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.queries import Number, check_tensors
from nbautograd._engine.ops.reduction.reduction import sum_over
from nbautograd._engine.ops.reduction.softmax import log_softmax_over
from nbautograd._engine.ops.shape.shape import unsqueeze
from nbautograd.errors import DtypeError, ShapeError
from nbautograd.nn.functional._common import check_reduction, floating_only, legacy_reduction, no_derivative, reduced
from nbautograd.nn.functional.loss import aggregate, each  # noqa: F401 - formulas name each
from nbautograd.nn.functional.smooth_activation import logsigmoid

__all__ = ["cross_entropy", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss"]


INT64, UINT8, UINT64 = np.dtype(np.int64), np.dtype(np.uint8), np.dtype(np.uint64)
MAX_CACHED_COUNTS = 1 << 12
"""The number of row counts that are cached between losses."""


def _numbers(like: Any, size: int) -> Any:
    """Return 0, 1, 2 and so on, read-only, on the device of an array."""
    if like.__class__ is np.ndarray:
        return _kept_numbers(size) if size <= MAX_CACHED_COUNTS else np.arange(size)
    return backend.module(backend.device_of(like)).arange(size)


@functools.lru_cache(maxsize=64)
def _kept_numbers(size: int) -> Any:
    result = np.arange(size)
    result.flags.writeable = False
    return result


@checks_values
def _ignored(target: Tensor, classes: int, ignore_index: int) -> int | None:
    """Return ``ignore_index``, or None where no target can equal it; any other target must be a class."""
    index = elements(target)
    index = index if index.dtype is INT64 else index.astype(np.int64)
    # Read as unsigned, negative numbers are large: one comparison finds all invalid classes.
    if not 0 <= ignore_index < classes and (not index.size or highest(index.view(UINT64)) < classes):
        return None
    index = np.where(index != ignore_index, index, 0)
    if index.size and highest(index.view(UINT64)) >= classes:
        wrong = int(index.min()) if int(index.min()) < 0 else int(index.max())
        raise IndexError(f"nll_loss(): Target {wrong} is out of bounds: there are {classes} classes")
    return ignore_index


def _chosen(shape: tuple[int, ...], target: Any, weight: Any, ignored: int | None, kind: Any) -> tuple[Any, Any]:
    """Return the index of each target's class and its weight: 0 where it is ignored, None if all are 1."""
    index, weights = target if target.dtype is INT64 else target.astype(np.int64), None
    if ignored is not None:
        counts = index != ignored
        index, weights = np.where(counts, index, 0), counts.astype(kind)
    if weight is not None:
        weights = np.take(weight, index) if weights is None else np.where(weights != 0, np.take(weight, index), 0)
        weights = weights.astype(kind)
    if len(shape) == 1:
        return index, weights
    if len(shape) == 2:
        return (_numbers(index, len(index)), index), weights
    n = index.ndim
    rows, *inner = (_numbers(index, size).reshape((-1,) + (1,) * (n - 1 - d)) for d, size in enumerate(index.shape))
    return (rows, index, *inner), weights


def _nll_loss(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignored: int | None) -> Tensor:
    """Negate the elements at ``target`` along dimension 1, weight and reduce them; the targets are already checked."""
    where, weights = _chosen(input.shape, target, weight, ignored, input.dtype)
    result = input[where]
    if weights is not None:
        result = np.where(weights == 0, weights, result * weights)
    if reduction == "none":
        return -result if weights is None else 0 - result
    loss = 0 - pairwise_sum(result)
    return loss if reduction == "sum" else loss / (result.size if weights is None else pairwise_sum(weights))


_BACK = "nll_back(g, input.shape, target, weight, reduction, ignored)"
_nll_of_rows = op(node="NllLossBackward0", symbol="nll", method=False, input=_BACK, name="nll_rows")(_nll_loss)
_nll_of_images = op(node="NllLoss2DBackward0", symbol="nll", method=False, input=_BACK, name="nll_images")(_nll_loss)


@no_method(node="NllLossBackwardBackward0", symbol="nll", input="nll_rows(g, target, weight, reduction, ignored)")
def nll_back(
    input: Tensor, shape: Any, target: Tensor, weight: Tensor | None, reduction: str, ignored: int | None
) -> Tensor:
    """Compute the transpose of the loss, which is linear: the gradient of every element of ``shape``."""
    where, weights = _chosen(shape, target, weight, ignored, input.dtype)
    if reduction == "mean":
        input = input / (target.size if weights is None else pairwise_sum(weights))
    output = np.zeros(shape, input.dtype) if target.__class__ is np.ndarray else np.zeros_like(input, shape=shape)
    slopes = -input if weights is None else -input * weights
    output[where] = slopes if ignored is None else np.where(target == ignored, np.zeros_like(slopes), slopes)
    return output


def _check_target(name: str, input: Tensor, target: Tensor, weight: Any) -> None:
    """Check that the target has one element for each row of classes, and their dtype."""
    a, t = input._a, target._a
    if not a.ndim:
        raise ValueError(f"{name}(): Expected 1 or more dimensions (got 0)")
    fitting: tuple[tuple[int, ...], ...] = ((), (1,))
    if a.ndim > 1:
        first, rows = a.shape[0], t.shape[0] if t.ndim else 0
        if rows != first:
            raise ValueError(f"Expected input batch_size ({first}) to match target batch_size ({rows}).")
        fitting = ((first, *a.shape[2:]),)
    elif t.ndim == 1 and t.shape != (1,):
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {t.shape[0]}")
    if weight is not None:
        check_tensors(name, weight=weight)
    if t.shape not in fitting:
        reason = "0D or 1D target tensor expected, multi-target not supported. " * (a.ndim < 3)
        reason += "only batches of spatial targets supported (3D tensors). " * (a.ndim == 4 and t.ndim != 3)
        raise ShapeError(f"{name}(): {reason}Expected target size {list(fitting[0])}, got {list(t.shape)}")
    if t.dtype not in (INT64, UINT8):
        kind = dtypes.scalar_type(target.dtype)
        raise DtypeError(f"{name}(): expected target dtype to be Long or Byte, but got {kind}")


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return minus the log probability of the right class.

    :param input: logarithms of probabilities, shape (n, c), (n, c, ...) or (c,).
    :param target: the index of the right class, shape (n,), (n, ...) or (); int64.
    :param weight: a factor for each class, shape (c,); the mean is over the weights.
    :param ignore_index: a target that adds no loss and is not counted.
    :raises IndexError: a target is not a class.
    :raises ValueError: the batch sizes differ, or ``reduction`` is invalid.

    >>> log_p = torch.tensor([[0.25, 0.75], [0.5, 0.5]]).log()
    >>> torch.nn.functional.nll_loss(log_p, torch.tensor([1, 0]), reduction="none")
    tensor([0.2877, 0.6931])
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_tensors("nll_loss", input=input, target=target)
    check_reduction(reduction)
    ignore_index = check_option("nll_loss", "ignore_index", ignore_index, "int")
    _check_target("nll_loss", input, target, weight)
    floating_only("nll_loss", input)
    _check_weight("nll_loss", input, weight)
    no_derivative("nll_loss", weight=weight)
    return _loss_of(input, target, weight, reduction, ignore_index)


def _loss_of(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int) -> Tensor:
    """Return ``nll_loss`` of arguments that are already checked, except the values of the targets."""
    shape = input._a.shape
    if len(shape) == 1 and target._a.ndim == 1:
        target = target[0]
    ignored = _ignored(target, shape[1 if len(shape) > 1 else 0], ignore_index)
    return (_nll_of_rows if len(shape) < 3 else _nll_of_images)(input, target, weight, reduction, ignored)


def _check_weight(name: str, input: Tensor, weight: Tensor | None) -> None:
    if weight is None:
        return
    check_tensors(name, weight=weight)
    classes = input._a.shape[1 if input._a.ndim > 1 else 0]
    if weight._a.shape != (classes,):
        raise RuntimeError(
            f"{name}(): weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight._a.shape)}"
        )
    if weight._a.dtype != input._a.dtype:
        kinds = f"{dtypes.scalar_type(input.dtype)} but found {dtypes.scalar_type(weight.dtype)}"
        raise DtypeError(f"{name}(): expected scalar type {kinds} for weight")


@with_argument_errors
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Return minus the log probability of the right class, from unnormalized scores: ``nll_loss(log_softmax(input))``.

    :param input: shape (n, c), (n, c, ...) or (c,).
    :param target: indices of classes, shape (n,), (n, ...) or (); or probabilities of the shape of ``input``.
    :param weight: a factor for each class, shape (c,).
    :param ignore_index: a target that adds no loss and is not counted.
    :param label_smoothing: the share of the probability to spread evenly over all classes.

    >>> torch.nn.functional.cross_entropy(torch.tensor([[0., 0.]]), torch.tensor([1]))
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    a, t, classes_dim = input._a, target._a, int(input._a.ndim > 1)
    if not a.ndim:
        raise ValueError("cross_entropy(): Expected 1 or more dimensions (got 0)")
    if t.dtype.kind in "fV" and a.shape == t.shape:
        if ignore_index >= 0:
            raise RuntimeError(f"ignore_index is not supported for floating point target, got {ignore_index}")
        _check_weight("cross_entropy", input, weight)
        return _of_probabilities(input, target, weight, reduction, label_smoothing, classes_dim)
    _check_target("cross_entropy", input, target, weight)
    floating_only("cross_entropy", input)
    if weight is not None:
        _check_weight("cross_entropy", input, weight)
        no_derivative("cross_entropy", weight=weight)
    scores = log_softmax_over(input, classes_dim)
    loss = _loss_of(scores, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return loss
    spread = _spread_evenly(scores, target, weight, reduction, ignore_index, classes_dim)
    return loss * (1 - label_smoothing) + spread * (label_smoothing / input._a.shape[classes_dim])


def _of_probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, label_smoothing: float, d: int
) -> Tensor:
    """Return the cross entropy with distributions as targets."""
    classes = input._a.shape[d]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    terms = log_softmax_over(input, d) * target
    if weight is not None:
        terms = terms * weight.reshape((-1,) + (1,) * (input._a.ndim - d - 1))
    if reduction == "none":
        return -terms.sum(d)
    count = input._a.size // classes if classes else 0
    if reduction == "sum":
        return -terms.sum()
    return -terms.sum() / count if count else -(terms.sum() * float("nan"))


def _spread_evenly(
    scores: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int, d: int
) -> Tensor:
    """Return the label smoothing term: the loss averaged over all classes."""
    terms = scores if weight is None else scores * weight.reshape((-1,) + (1,) * (scores._a.ndim - d - 1))
    shape = scores._a.shape
    ignored = (target == ignore_index).reshape((*shape[:d], *shape[d + 1 :]))
    losses = -terms.sum(d).masked_fill(ignored, 0)
    if reduction != "mean":
        return losses if reduction == "none" else losses.sum()
    if weight is None:
        return losses.sum() / (~ignored).sum()
    _, weights = _chosen(shape, target._a, weight._a, ignore_index, scores._a.dtype)
    return losses.sum() / float(pairwise_sum(weights))


# -- margins ---------------------------------------------------------------------------------------------------------


@no_method()
def is_class(target: Tensor, like: Tensor) -> Tensor:
    """Return one-hot rows of the dtype of ``like``, shape (n, c)."""
    classes = backend.module(backend.device_of(like)).arange(like.shape[-1])
    return (target.reshape((-1, 1)) == classes).astype(like.dtype)


@derivative_helper
def multi_margin_slope(x: Any, target: Any, p: int, margin: float, weight: Any) -> Any:
    """Compute the derivative of each row's loss by its elements."""
    hot = is_class(target, x)
    gap = (x - sum_over(x * hot, -1, True) + margin) * (1 - hot)
    slope = where(gap > 0, gap * 2 if p == 2 else zeros_of(gap) + 1, zeros_of(gap)) / x.shape[-1]
    if weight is not None:
        slope = slope * sum_over(hot * weight, -1, True)
    return slope - hot * sum_over(slope, -1, True)


@no_method(
    node="MultiMarginLossBackward0",
    symbol="multi margin",
    input="multi_margin_slope(input, target, p, margin, weight) * unsqueeze(each(g, target.shape, reduction), -1)",
)
def _multi_margin(
    input: Tensor, target: Tensor, p: Number, margin: float, weight: Tensor | None, reduction: str
) -> Tensor:
    """Compute the losses of rows (n, c), reduced."""
    hot = is_class.__wrapped__(target, input)
    gap = np.maximum((input - pairwise_sum(input * hot, (1,), True) + margin) * (1 - hot), 0)
    losses = pairwise_sum(gap * gap if p == 2 else gap, (1,)) / input.shape[1]
    return aggregate(losses if weight is None else losses * pairwise_sum(hot * weight, (1,)), reduction)


def multi_margin_loss(
    input: Tensor, target: Tensor, p: Number = 1, margin: float = 1.0, weight: Tensor | None = None,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Compute the mean over the classes of ``max(0, margin - input[right] + input[other]) ** p``.

    :param target: the index of the right class, shape (n,), or ().
    :param p: 1 or 2.
    :param weight: a factor for each class, shape (c,).
    :raises ValueError: ``p`` or ``reduction`` is invalid.
    :raises RuntimeError: the shapes do not fit, or a target is not a class.

    >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0.5, 0.25]]), torch.tensor([0]))
    tensor(0.3750)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_tensors("multi_margin_loss", input=input, target=target)
    if p not in (1, 2):
        raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
    check_reduction(reduction)
    _check_multi_margin(input, target, weight)
    if input._a.ndim == 2:
        return _multi_margin(input, target, p, margin, weight, reduction)
    result = _multi_margin(input.reshape(1, -1), target.reshape(1), p, margin, weight, reduction)
    return result.reshape(target._a.shape) if reduction == "none" else result


def _check_multi_margin(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Check the shapes and dtypes of ``multi_margin_loss``, and that each target is a class."""
    if weight is not None and weight._a.ndim != 1:
        raise ValueError(f"weight must be one-dimensional, got shape {list(weight._a.shape)}")
    shape = [*input._a.shape]
    rows, classes = (1, *(shape or (1,)))[-2:]
    if len(shape) > 2 or not classes:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {shape}")
    if target._a.ndim > 1 or target._a.size != rows:
        raise RuntimeError(f"inconsistent target size, expected {rows} but got {list(target._a.shape)}")
    floating_only("multi_margin_loss", input)
    _check_long("multi_margin_loss", target)
    no_derivative("multi_margin_loss", weight=weight)
    if weight is not None and weight._a.size != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight._a.shape)}")
    classes_of_all = elements(target)
    if rows and not 0 <= int(classes_of_all.min()) <= int(classes_of_all.max()) < classes:
        raise RuntimeError(f"multi_margin_loss(): target out of range: there are {classes} classes")


def _check_long(name: str, target: Tensor) -> None:
    if target._a.dtype != np.int64:
        raise DtypeError(f"{name}(): expected target dtype to be Long, but got {dtypes.scalar_type(target.dtype)}")


@no_method()
def label_counts(target: Tensor, like: Tensor) -> Tensor:
    """Count each class in rows of labels, up to the first negative label; the counts have the dtype of ``like``."""
    valid = np.cumsum(target < 0, -1) == 0
    classes = backend.module(backend.device_of(like)).arange(like.shape[-1])
    return ((target[..., None] == classes) & valid[..., None]).sum(-2).astype(like.dtype)


@derivative_helper
def multilabel_slope(x: Any, target: Any) -> Any:
    """Compute the derivative of each row's loss by its elements."""
    counts = label_counts(target, x)
    gap = 1 - unsqueeze(x, -1) + unsqueeze(x, -2)
    pairs = unsqueeze(counts, -1) * unsqueeze(where(counts == 0, zeros_of(counts) + 1, zeros_of(counts)), -2)
    pairs = where(gap > 0, pairs, zeros_of(pairs)) / x.shape[-1]
    return sum_over(pairs, -2, False) - sum_over(pairs, -1, False)


@no_method(
    node="MultilabelMarginLossBackward0",
    symbol="multilabel margin",
    input="multilabel_slope(input, target) * unsqueeze(each(g, target.shape[:-1], reduction), -1)",
)
def _multilabel_margin(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    """Compute the losses of rows (n, c) or (c,), reduced."""
    counts = label_counts.__wrapped__(target, input)
    gap = np.maximum(1 - input[..., :, None] + input[..., None, :], 0)
    pairs = counts[..., :, None] * (counts == 0)[..., None, :]
    return aggregate((gap * pairs).sum(-1).sum(-1) / input.shape[-1], reduction)


@looks_at_elements
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """Sum ``max(0, 1 - (input[i] - input[j]))`` over right classes i and wrong classes j, divided by their number.

    :param target: the indices of the right classes, then -1; shape as ``input``.
    :raises RuntimeError: the shapes differ, or a target is not a class.

    >>> torch.nn.functional.multilabel_margin_loss(torch.tensor([0.5, 0.25]), torch.tensor([0, -1]))
    tensor(0.3750)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_tensors("multilabel_margin_loss", input=input, target=target)
    check_reduction(reduction)
    shape = input._a.shape
    if len(shape) > 2 or 0 in shape[1:]:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {[*shape]}")
    if target._a.shape != shape and {target._a.shape, shape} != {(), (1,)}:
        raise RuntimeError(f"inconsistent target size: {list(target._a.shape)} for input of size: {list(shape)}")
    _check_long("multilabel_margin_loss", target)
    floating_only("multilabel_margin_loss", input)
    classes = shape[-1] if shape else 1
    if target._a.size and (int(target._a.min()) < -1 or int(target._a.max()) >= classes):
        raise RuntimeError(f"multilabel_margin_loss(): target is out of range: there are {classes} classes")
    if not shape:
        return _multilabel_margin(input.reshape(1), target.reshape(1), reduction)
    return _multilabel_margin(input, target, reduction)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Average the binary cross entropies of logits over the last dimension.

    :param target: 1 for right classes, 0 for others; shape as ``input``.
    :param weight: a factor for each class.

    >>> torch.nn.functional.multilabel_soft_margin_loss(torch.tensor([[0., 0.]]), torch.tensor([[1., 0.]]))
    tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_tensors("multilabel_soft_margin_loss", input=input, target=target)
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    losses = losses if weight is None else losses * weight
    classes = input._a.ndim - 1  # also where a target of more dimensions adds some in front
    return reduced(losses.sum(classes) / input._a.shape[classes], reduction)
