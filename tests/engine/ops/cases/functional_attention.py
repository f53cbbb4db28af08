"""Cases of nn.functional: embedding and attention."""

from __future__ import annotations

import math
from typing import Any

from tests.engine.ops.cases.case import case


def _classes(T: Any, *shape: int) -> Any:
    """Classes from 0 to 3."""
    return T.tensor([0, 2, 1, 3, 1, 0, 3, 2, 2, 1, 3, 0][: math.prod(shape)]).reshape(shape)


CASES = [
    case("F.embedding", lambda T, w: T.nn.functional.embedding(_classes(T, 3, 2), w, padding_idx=None), (4, 3)),
    case(
        "F.embedding_bag sum",
        lambda T, w: T.nn.functional.embedding_bag(_classes(T, 3, 2), w, mode="sum", padding_idx=2),
        (4, 3),
    ),
    case(
        "F.embedding_bag mean",
        lambda T, w: T.nn.functional.embedding_bag(_classes(T, 3, 2), w, mode="mean", padding_idx=2),
        (4, 3),
    ),
    case(
        "F.embedding_bag max",
        lambda T, w: T.nn.functional.embedding_bag(_classes(T, 3, 2), w, mode="max", padding_idx=2),
        (4, 3),
    ),
    case(
        "F.scaled_dot_product_attention",
        lambda T, q, k, v: T.nn.functional.scaled_dot_product_attention(q, k, v),
        (2, 3, 4),
        (2, 5, 4),
        (2, 5, 2),
    ),
    case(
        "F.scaled_dot_product_attention causal",
        lambda T, q, k, v: T.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
        (2, 3, 4),
        (2, 3, 4),
        (2, 3, 4),
    ),
    case(
        "F.scaled_dot_product_attention mask",
        lambda T, q, k, v, m: T.nn.functional.scaled_dot_product_attention(q, k, v, m),
        (3, 4),
        (5, 4),
        (5, 4),
        (3, 5),
    ),
    case(
        "F.scaled_dot_product_attention heads",
        lambda T, q, k, v: T.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        (1, 4, 2, 3),
        (1, 2, 3, 3),
        (1, 2, 3, 2),
    ),
    case(
        "F.multi_head_attention_forward",
        lambda T, q, w, b, o: T.nn.functional.multi_head_attention_forward(
            q, q, q, 4, 2, w, b, None, None, False, 0.0, o, None
        )[0],
        (3, 2, 4),
        (12, 4),
        (12,),
        (4, 4),
    ),
    case(
        "F.multi_head_attention_forward weights",
        lambda T, q, w, b, k, v: T.nn.functional.multi_head_attention_forward(
            q, q, q, 4, 2, w, b, k, v, True, 0.0, w[:4], None, attn_mask=_classes(T, 3, 3) > 2
        )[1],
        (3, 2, 4),
        (12, 4),
        (12,),
        (1, 1, 4),
        (1, 1, 4),
    ),
    case(
        "F.embedding_bag weighted",
        lambda T, w, share: T.nn.functional.embedding_bag(_classes(T, 3, 2), w, mode="sum", per_sample_weights=share),
        (5, 2),
        (3, 2),
        oracle=False,
    ),
]
