"""Cases of nn.functional: losses."""

from __future__ import annotations

import math
from typing import Any

from tests.engine.ops.cases.case import case


def _classes(T: Any, *shape: int) -> Any:
    """Classes from 0 to 3."""
    return T.tensor([0, 2, 1, 3, 1, 0, 3, 2, 2, 1, 3, 0][: math.prod(shape)]).reshape(shape)


def _signs(T: Any, *shape: int) -> Any:
    """1 and -1."""
    return T.tensor([1.0, -1.0, -1.0, 1.0, 1.0, -1.0][: math.prod(shape)]).reshape(shape)


def _weights(T: Any, n: int) -> Any:
    """A weight for each of ``n`` classes."""
    return T.tensor([0.5, 2.0, 1.5, 0.7][:n], dtype=T.float64)


def _targets(T):
    return T.tensor([1, 0, 3])


CASES = [
    case("F.mse_loss mean", lambda T, x, y: T.nn.functional.mse_loss(x, y, reduction="mean"), (2, 3), (2, 3)),
    case("F.mse_loss sum", lambda T, x, y: T.nn.functional.mse_loss(x, y, reduction="sum"), (2, 3), (2, 3)),
    case("F.mse_loss none", lambda T, x, y: T.nn.functional.mse_loss(x, y, reduction="none"), (2, 3), (2, 3)),
    case("F.l1_loss mean", lambda T, x, y: T.nn.functional.l1_loss(x, y, reduction="mean"), (2, 3), (2, 3)),
    case("F.l1_loss sum", lambda T, x, y: T.nn.functional.l1_loss(x, y, reduction="sum"), (2, 3), (2, 3)),
    case("F.l1_loss none", lambda T, x, y: T.nn.functional.l1_loss(x, y, reduction="none"), (2, 3), (2, 3)),
    case(
        "F.smooth_l1_loss mean", lambda T, x, y: T.nn.functional.smooth_l1_loss(x, y, reduction="mean"), (2, 3), (2, 3)
    ),
    case("F.smooth_l1_loss sum", lambda T, x, y: T.nn.functional.smooth_l1_loss(x, y, reduction="sum"), (2, 3), (2, 3)),
    case(
        "F.smooth_l1_loss none", lambda T, x, y: T.nn.functional.smooth_l1_loss(x, y, reduction="none"), (2, 3), (2, 3)
    ),
    case("F.huber_loss mean", lambda T, x, y: T.nn.functional.huber_loss(x, y, reduction="mean"), (2, 3), (2, 3)),
    case("F.huber_loss sum", lambda T, x, y: T.nn.functional.huber_loss(x, y, reduction="sum"), (2, 3), (2, 3)),
    case("F.huber_loss none", lambda T, x, y: T.nn.functional.huber_loss(x, y, reduction="none"), (2, 3), (2, 3)),
    case(
        "F.soft_margin_loss mean",
        lambda T, x: T.nn.functional.soft_margin_loss(x, _signs(T, 2, 3), reduction="mean"),
        (2, 3),
    ),
    case(
        "F.soft_margin_loss sum",
        lambda T, x: T.nn.functional.soft_margin_loss(x, _signs(T, 2, 3), reduction="sum"),
        (2, 3),
    ),
    case(
        "F.soft_margin_loss none",
        lambda T, x: T.nn.functional.soft_margin_loss(x, _signs(T, 2, 3), reduction="none"),
        (2, 3),
    ),
    case("F.mse_loss weight", lambda T, x, y, w: T.nn.functional.mse_loss(x, y, weight=w), (2, 3), (2, 3), (2, 3)),
    case("F.smooth_l1_loss beta", lambda T, x, y: T.nn.functional.smooth_l1_loss(x, y, beta=0.4), (2, 3), (2, 3)),
    case("F.huber_loss delta", lambda T, x, y: T.nn.functional.huber_loss(x, y, delta=0.4), (2, 3), (2, 3)),
    case(
        "F.binary_cross_entropy mean",
        lambda T, x, y: T.nn.functional.binary_cross_entropy(x, y, weight=_weights(T, 3), reduction="mean"),
        (2, 3),
        (2, 3),
        low=0.05,
        high=0.95,
    ),
    case(
        "F.binary_cross_entropy_with_logits mean",
        lambda T, x, y: T.nn.functional.binary_cross_entropy_with_logits(
            x, y, weight=_weights(T, 3), reduction="mean", pos_weight=_weights(T, 3)
        ),
        (2, 3),
        (2, 3),
    ),
    case(
        "F.nll_loss mean",
        lambda T, x: T.nn.functional.nll_loss(x, _classes(T, 3), weight=_weights(T, 4), reduction="mean"),
        (3, 4),
    ),
    case(
        "F.cross_entropy mean",
        lambda T, x: T.nn.functional.cross_entropy(
            x, _classes(T, 3), weight=_weights(T, 4), ignore_index=1, reduction="mean"
        ),
        (3, 4),
    ),
    case(
        "F.cross_entropy smooth mean",
        lambda T, x: T.nn.functional.cross_entropy(
            x, _classes(T, 3), weight=_weights(T, 4), label_smoothing=0.2, reduction="mean"
        ),
        (3, 4),
    ),
    case(
        "F.cross_entropy probabilities mean",
        lambda T, x, y: T.nn.functional.cross_entropy(x, y, label_smoothing=0.2, reduction="mean"),
        (3, 4),
        (3, 4),
    ),
    case(
        "F.binary_cross_entropy sum",
        lambda T, x, y: T.nn.functional.binary_cross_entropy(x, y, weight=_weights(T, 3), reduction="sum"),
        (2, 3),
        (2, 3),
        low=0.05,
        high=0.95,
    ),
    case(
        "F.binary_cross_entropy_with_logits sum",
        lambda T, x, y: T.nn.functional.binary_cross_entropy_with_logits(
            x, y, weight=_weights(T, 3), reduction="sum", pos_weight=_weights(T, 3)
        ),
        (2, 3),
        (2, 3),
    ),
    case(
        "F.nll_loss sum",
        lambda T, x: T.nn.functional.nll_loss(x, _classes(T, 3), weight=_weights(T, 4), reduction="sum"),
        (3, 4),
    ),
    case(
        "F.cross_entropy sum",
        lambda T, x: T.nn.functional.cross_entropy(
            x, _classes(T, 3), weight=_weights(T, 4), ignore_index=1, reduction="sum"
        ),
        (3, 4),
    ),
    case(
        "F.cross_entropy smooth sum",
        lambda T, x: T.nn.functional.cross_entropy(
            x, _classes(T, 3), weight=_weights(T, 4), label_smoothing=0.2, reduction="sum"
        ),
        (3, 4),
    ),
    case(
        "F.cross_entropy probabilities sum",
        lambda T, x, y: T.nn.functional.cross_entropy(x, y, label_smoothing=0.2, reduction="sum"),
        (3, 4),
        (3, 4),
    ),
    case(
        "F.binary_cross_entropy none",
        lambda T, x, y: T.nn.functional.binary_cross_entropy(x, y, weight=_weights(T, 3), reduction="none"),
        (2, 3),
        (2, 3),
        low=0.05,
        high=0.95,
    ),
    case(
        "F.binary_cross_entropy_with_logits none",
        lambda T, x, y: T.nn.functional.binary_cross_entropy_with_logits(
            x, y, weight=_weights(T, 3), reduction="none", pos_weight=_weights(T, 3)
        ),
        (2, 3),
        (2, 3),
    ),
    case(
        "F.nll_loss none",
        lambda T, x: T.nn.functional.nll_loss(x, _classes(T, 3), weight=_weights(T, 4), reduction="none"),
        (3, 4),
    ),
    case(
        "F.cross_entropy none",
        lambda T, x: T.nn.functional.cross_entropy(
            x, _classes(T, 3), weight=_weights(T, 4), ignore_index=1, reduction="none"
        ),
        (3, 4),
    ),
    case(
        "F.cross_entropy smooth none",
        lambda T, x: T.nn.functional.cross_entropy(
            x, _classes(T, 3), weight=_weights(T, 4), label_smoothing=0.2, reduction="none"
        ),
        (3, 4),
    ),
    case(
        "F.cross_entropy probabilities none",
        lambda T, x, y: T.nn.functional.cross_entropy(x, y, label_smoothing=0.2, reduction="none"),
        (3, 4),
        (3, 4),
    ),
    case("F.nll_loss 2d", lambda T, x: T.nn.functional.nll_loss(x, _classes(T, 2, 2)), (2, 4, 2)),
    case("F.nll_loss one", lambda T, x: T.nn.functional.nll_loss(x, _classes(T, 1)[0]), (4,)),
    case(
        "F.multilabel_soft_margin_loss",
        lambda T, x, y: T.nn.functional.multilabel_soft_margin_loss(x, y),
        (2, 3),
        (2, 3),
    ),
    case(
        "F.kl_div", lambda T, x, y: T.nn.functional.kl_div(x, y, reduction="batchmean"), (2, 3), (2, 3), low=0.1, high=1
    ),
    case(
        "F.kl_div log", lambda T, x, y: T.nn.functional.kl_div(x, y, reduction="sum", log_target=True), (2, 3), (2, 3)
    ),
    case(
        "F.poisson_nll_loss",
        lambda T, x, y: T.nn.functional.poisson_nll_loss(x, y, full=True),
        (2, 3),
        (2, 3),
        low=0.2,
        high=3,
    ),
    case(
        "F.poisson_nll_loss plain",
        lambda T, x, y: T.nn.functional.poisson_nll_loss(x, y, log_input=False),
        (2, 3),
        (2, 3),
        low=0.2,
        high=3,
    ),
    case(
        "F.gaussian_nll_loss",
        lambda T, x, y, v: T.nn.functional.gaussian_nll_loss(x, y, v, full=True),
        (2, 3),
        (2, 3),
        (2, 1),
        low=0.2,
        high=3,
    ),
    case("F.hinge_embedding_loss", lambda T, x: T.nn.functional.hinge_embedding_loss(x, _signs(T, 2, 3)), (2, 3)),
    case(
        "F.margin_ranking_loss",
        lambda T, x, y: T.nn.functional.margin_ranking_loss(x, y, _signs(T, 6), margin=0.3),
        (6,),
        (6,),
    ),
    case(
        "F.cosine_embedding_loss",
        lambda T, x, y: T.nn.functional.cosine_embedding_loss(x, y, _signs(T, 4), margin=-0.5),
        (4, 3),
        (4, 3),
    ),
    case(
        "F.triplet_margin_loss",
        lambda T, x, y, z: T.nn.functional.triplet_margin_loss(x, y, z, swap=True),
        (2, 3),
        (2, 3),
        (2, 3),
    ),
    case(
        "F.triplet_margin_with_distance_loss",
        lambda T, x, y, z: T.nn.functional.triplet_margin_with_distance_loss(x, y, z),
        (2, 3),
        (2, 3),
        (2, 3),
    ),
    case(
        "F.soft_margin_loss target",
        lambda T, x, y: T.nn.functional.soft_margin_loss(x, y),
        (2, 3),
        (2, 3),
        second=True,
        oracle=False,
    ),
    case(
        "F.multi_margin_loss",
        lambda T, x: T.nn.functional.multi_margin_loss(x, _targets(T), margin=0.7),
        (3, 4),
        oracle=False,
    ),
    case(
        "F.multilabel_margin_loss",
        lambda T, x: T.nn.functional.multilabel_margin_loss(x, T.tensor([[1, 2, -1, 0], [0, -1, 1, 2], [3, 1, 0, -1]])),
        (3, 4),
        oracle=False,
    ),
    case(
        "F.ctc_loss",
        lambda T, x: T.nn.functional.ctc_loss(
            x.log_softmax(2), T.tensor([[1, 2], [2, 1]]), T.tensor([4, 4]), T.tensor([2, 1]), reduction="none"
        ),
        (4, 2, 3),
        second=False,
        oracle=False,
    ),
]
