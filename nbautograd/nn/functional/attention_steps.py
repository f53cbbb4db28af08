"""Scaled dot-product attention step by step: each product, the mask and softmax are separate operations."""

from __future__ import annotations

import math

from nbautograd._engine.arrays import backend
from nbautograd._engine.core.tensor import Tensor, wrap_known
from nbautograd.nn.functional.dropout import dropout
from nbautograd.nn.functional.softmax import softmax

__all__ = ["attention_by_steps"]


def attention_by_steps(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool, factor: float
) -> Tensor:
    """Return ``softmax(factor * query @ key.T + mask) @ value``.

    :param mask: True where a query may attend, or numbers to add to the scores.
    :param dropout_p: the probability of dropping a weight.
    """
    # The root of the factor on either side, so that neither grows too large.
    root = math.sqrt(abs(factor))
    scores = (query * (root if factor >= 0 else -root)) @ (key * root).transpose(-2, -1)
    allowed = None
    if is_causal:
        allowed = _causal_mask(scores)
    elif mask is not None and mask._a.dtype.kind == "b":
        allowed = mask
    elif mask is not None:
        scores = scores + mask
    weights = softmax(scores if allowed is None else scores.where(allowed, -math.inf), -1)
    if mask is not None:  # a row of only -inf, all keys masked, would give nan
        masked = scores.detach() == -math.inf if allowed is None else ~allowed
        weights = weights.masked_fill(masked.all(-1, True), 0)
    return dropout(weights, dropout_p) @ value if dropout_p else weights @ value


def _causal_mask(scores: Tensor) -> Tensor:
    """Return a mask of shape (l, s), True where the key's index is at most the query's."""
    module, (rows, columns) = backend.module(scores.device), scores._a.shape[-2:]
    return wrap_known(module.arange(columns) <= module.arange(rows)[:, None])
