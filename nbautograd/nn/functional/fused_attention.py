"""Attention as one node: ``_engine/arrays/attention.py`` computes it tile by tile, forward and backward.

Step by step (``attention_by_steps``), each product, the mask and softmax are separate nodes, as pictures show them,
and each reads and writes the scores of all heads. Here a tile's scores become exponentials at once, and their sums
divide the output, which is smaller. Tensors differentiate the steps themselves, so that higher derivatives
exist.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import attention as kernels, backend
from nbautograd._engine.arrays.rows import MIN_SIZE
from nbautograd._engine.compiler.op import no_method
from nbautograd._engine.core.tensor import Tensor, wrap_known
from nbautograd.nn.functional._common import gradients_of_steps, is_fusible
from nbautograd.nn.functional.dropout import dropout
from nbautograd.nn.functional.softmax import softmax

__all__ = ["attention_by_steps", "fused_attention", "is_fused"]


def is_fused(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> bool:
    """Return whether attention is computed as one node: on the CPU, and no observer watches its steps.

    For small inputs, this depends on the shapes, as in PyTorch.
    """
    shape, of_key, of_value = query._a.shape, key._a.shape, value._a.shape
    one_node = len(shape) == 4 and of_key == of_value and (mask is None or mask._a.ndim != 3)
    return (
        (one_node or math.prod(shape[:-1]) * of_key[-2] >= MIN_SIZE)
        and of_key[:-1] == of_value[:-1]
        and shape[:-2] == of_key[:-2]
        and shape[-1] == of_key[-1]
        and 0 not in shape
        and 0 not in of_value
        and is_fusible(query, key, value)
        and (mask is None or not mask.requires_grad and mask.__class__ is Tensor and mask._a.__class__ is np.ndarray)
    )


def fused_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool, factor: float
) -> Tensor:
    """Compute attention for which ``is_fused`` holds.

    :param mask: True where a query may attend, or numbers to add to the scores.
    """
    output, *_ = _attention(query, key, value, mask, is_causal, factor)
    return output


_BACK = "attention_back(g, query, key, value, mask, result[0], result[1], result[2], is_causal, factor)"
_SLOPES = {operand: f"{_BACK}[{i}]" for i, operand in enumerate(("query", "key", "value"))}


@no_method(node="ScaledDotProductFlashAttentionForCpuBackward0", symbol="attention", many=True, **_SLOPES)
def _attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool, factor: float) -> Any:
    """Return the output; then the exponentials of the scores, shifted by a number per row, and their sums."""
    return kernels.attention(query, key, value, mask, is_causal, factor)


def attention_back(
    g: Any, query: Any, key: Any, value: Any, mask: Any, output: Any, powers: Any, sums: Any, is_causal: bool,
    factor: float,
) -> Any:  # fmt: skip
    """Compute the gradients of query, key and value."""
    if not isinstance(query, Tensor):
        return kernels.attention_back(g[0], query, key, value, output, powers, sums, factor)

    def outputs(query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        return [attention_by_steps(query, key, value, mask, 0.0, is_causal, factor)]

    return gradients_of_steps([g[0]], outputs, (query, key, value))


# -- step by step ----------------------------------------------------------------------------------------------------


def attention_by_steps(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool, factor: float
) -> Tensor:
    """Return ``softmax(factor * query @ key.T + mask) @ value``, dropping weights with probability ``dropout_p``."""
    # The root of the factor on either side, so that neither grows too large.
    root = math.sqrt(abs(factor))
    scores = (query * (root if factor >= 0 else -root)) @ (key * root).transpose(-2, -1)
    allowed = None
    if is_causal:
        module, (rows, columns) = backend.module(scores.device), scores._a.shape[-2:]
        allowed = wrap_known(module.arange(columns) <= module.arange(rows)[:, None])  # keys up to the query's index
    elif mask is not None and mask._a.dtype.kind == "b":
        allowed = mask
    elif mask is not None:
        scores = scores + mask
    weights = softmax(scores if allowed is None else scores.where(allowed, -math.inf), -1)
    if mask is not None:  # a row of only -inf, all keys masked, would give nan
        masked = scores.detach() == -math.inf if allowed is None else ~allowed
        weights = weights.masked_fill(masked.all(-1, True), 0)
    return dropout(weights, dropout_p) @ value if dropout_p else weights @ value
