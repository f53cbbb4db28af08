"""Losses with a margin: hinge, ranking, cosine and triplet."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.elementwise.selection import where
from nbautograd._engine.ops.queries import check_tensors
from nbautograd.nn.functional._common import check_reduction, legacy_reduction, reduced
from nbautograd.nn.functional.linear import pairwise_distance

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return ``input`` where ``target`` is 1, ``max(0, margin - input)`` where it is -1.

    >>> torch.nn.functional.hinge_embedding_loss(torch.tensor([0.5, 0.25]), torch.tensor([1, -1]), reduction="none")
    tensor([0.5000, 0.7500])
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    check_tensors("hinge_embedding_loss", input=input, target=target)
    limit = float(margin) if input.dtype.is_floating_point else int(margin)
    apart = where(target != 1, (limit - input).clamp_min(0), 0)
    return reduced(apart + where(target != -1, input, 0), reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return ``max(0, -target * (input1 - input2) + margin)``: target 1 wants ``input1`` to be larger, -1 ``input2``.

    :raises RuntimeError: the numbers of dimensions differ.

    >>> torch.nn.functional.margin_ranking_loss(torch.tensor([1.]), torch.tensor([3.]), torch.tensor([1.]))
    tensor(2.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    check_tensors("margin_ranking_loss", input1=input1, input2=input2, target=target)
    if not input1._a.ndim == input2._a.ndim == target._a.ndim:
        sizes = f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape}"
        raise RuntimeError(f"margin_ranking_loss : All input tensors should have same dimension but got sizes: {sizes}")
    return reduced((-target * (input1 - input2) + float(margin)).clamp_min(0), reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return ``1 - cos(input1, input2)`` for target 1, and ``max(0, cos(input1, input2) - margin)`` for target -1.

    :param input1: shape (n, m), or (m,); likewise ``input2``.
    :param target: shape (n,), or ().

    >>> torch.nn.functional.cosine_embedding_loss(torch.tensor([1., 0.]), torch.tensor([0., 1.]), torch.tensor(1))
    tensor(1.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    check_tensors("cosine_embedding_loss", input1=input1, input2=input2, target=target)
    if target._a.ndim > 1:
        raise RuntimeError("cosine_embedding_loss(): 0D or 1D target tensor expected, multi-target not supported")
    for label, x in (("input1", input1), ("input2", input2)):
        if x._a.ndim != target._a.ndim + 1:
            dims = f"{target._a.ndim}D target tensor expects {target._a.ndim + 1}D input tensors"
            raise RuntimeError(f"cosine_embedding_loss(): {dims}, but found {label} with sizes {list(x._a.shape)}")
    eps = 1e-12  # inside the root, as in PyTorch, unlike in cosine_similarity
    product = (input1 * input2).sum(-1)
    lengths = ((input1 * input1).sum(-1) + eps) * ((input2 * input2).sum(-1) + eps)
    cosine = product / lengths.sqrt()
    too_close = (cosine - float(margin)).clamp_min(0)
    return reduced(where(target == 1, 1 - cosine, 0) + where(target == -1, too_close, 0), reduction)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return ``max(0, margin + d(anchor, positive) - d(anchor, negative))`` with p-norm distances d.

    :raises RuntimeError: the numbers of dimensions differ.

    >>> a, b, c = torch.tensor([[0.]]), torch.tensor([[2.]]), torch.tensor([[1.]])
    >>> torch.nn.functional.triplet_margin_loss(a, b, c)
    tensor(2.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_triplet("triplet_margin_loss", anchor, positive, negative)
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return reduced((margin + near - far).clamp_min(0), reduction)


def _check_triplet(name: str, anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    check_tensors(name, anchor=anchor, positive=positive, negative=negative)
    if not anchor._a.ndim == positive._a.ndim == negative._a.ndim:
        raise RuntimeError(
            f"{name}(): The anchor, positive, and negative tensors are expected to have the same number of dimensions, "
            f"but got: anchor {anchor._a.ndim}D, positive {positive._a.ndim}D, and negative {negative._a.ndim}D inputs"
        )


def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Any = None, margin: float = 1.0,
    swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Compute :func:`triplet_margin_loss` with any distance, by default :func:`pairwise_distance`.

    :raises ValueError: ``margin`` is not positive, or ``reduction`` is invalid.

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
    return reduced((margin + near - far).clamp_min(0), reduction)
