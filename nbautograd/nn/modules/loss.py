"""Losses: distances of outputs from targets.

All have ``reduction``: ``"mean"``, ``"sum"`` or ``"none"``. ``size_average`` and ``reduce`` are its deprecated forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import kind_of
from nbautograd.nn import functional as F  # noqa: N812
from nbautograd.nn.functional._common import legacy_reduction
from nbautograd.nn.modules._options import Layer
from nbautograd.nn.modules.shaping import PairwiseDistance

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss",
    "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]  # fmt: skip


class _Loss(Layer, inputs="input target", unused="size_average reduce", buffers="weight"):
    def _checked(self, options: dict[str, Any]) -> dict[str, Any]:
        size_average, reduce = options.pop("size_average", None), options.pop("reduce", None)
        options["reduction"] = legacy_reduction(size_average, reduce, options["reduction"])
        return options


class _ReducedLoss(_Loss, shared=True):
    """Base of losses whose first options are those of the reduction."""

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class _WeightedLoss(_Loss, shared=True):
    """Base of losses with a weight of each class, or of each element."""

    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class L1Loss(_ReducedLoss, function=F.l1_loss):
    """``|input - target|``."""


class MSELoss(_ReducedLoss, function=F.mse_loss):
    """``(input - target)²``."""


class SmoothL1Loss(_ReducedLoss, function=F.smooth_l1_loss):
    """Squares of small errors, up to ``beta``, and absolute values of large ones (Girshick, 2015)."""

    beta: float = 1.0


class HuberLoss(_Loss, function=F.huber_loss):
    """Squares of small errors, up to ``delta``, and ``delta`` times absolute values of large ones (Huber, 1964)."""

    reduction: str = "mean"
    delta: float = 1.0


class KLDivLoss(_ReducedLoss, function=F.kl_div):
    """The Kullback-Leibler divergence ``target · (log(target) - input)``; the input is a distribution's logarithm."""

    log_target: bool = False


class BCELoss(_WeightedLoss, function=F.binary_cross_entropy):
    """The cross-entropy of probabilities of two classes."""


class BCEWithLogitsLoss(_WeightedLoss, function=F.binary_cross_entropy_with_logits, buffers="weight pos_weight"):
    """The cross-entropy of the sigmoid of scores of two classes."""

    pos_weight: Tensor | None = None


class NLLLoss(_Loss, function=F.nll_loss):
    """Minus the logarithm of the probability of the right class: input (n, c, ...), target (n, ...)."""

    weight: Tensor | None = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"


class CrossEntropyLoss(_Loss, function=F.cross_entropy):
    """The cross-entropy of scores of classes: input (n, c, ...), target of classes (n, ...) or probabilities."""

    weight: Tensor | None = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"
    label_smoothing: float = 0.0


class PoissonNLLLoss(_Loss, function=F.poisson_nll_loss, inputs="log_input target"):
    """Minus the logarithm of the probability of counts, by Poisson's distribution."""

    log_input: bool = True
    full: bool = False
    size_average: bool | None = None
    eps: float = 1e-8
    reduce: bool | None = None
    reduction: str = "mean"


class GaussianNLLLoss(_Loss, function=F.gaussian_nll_loss, inputs="input target var", positional=0):
    """Minus the logarithm of the density of a normal distribution (Nix and Weigend, 1994)."""

    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"


class HingeEmbeddingLoss(_Loss, function=F.hinge_embedding_loss):
    """The input (a distance) where the target is 1; ``max(0, margin - input)`` where it is -1."""

    margin: float = 1.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class SoftMarginLoss(_ReducedLoss, function=F.soft_margin_loss):
    """``log(1 + exp(-target · input))``."""


class CosineEmbeddingLoss(_Loss, function=F.cosine_embedding_loss, inputs="input1 input2 target"):
    """One minus the cosine of two vectors, where the target is 1; where it is -1, its excess over ``margin``."""

    margin: float = 0.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class MarginRankingLoss(_Loss, function=F.margin_ranking_loss, inputs="input1 input2 target"):
    """``max(0, -target · (input1 - input2) + margin)``."""

    margin: float = 0.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class MultiLabelMarginLoss(_ReducedLoss, function=F.multilabel_margin_loss):
    """The amount by which each wrong class misses a margin of 1 below each right class."""


class MultiLabelSoftMarginLoss(_WeightedLoss, function=F.multilabel_soft_margin_loss):
    """The mean of the binary cross-entropies of the classes."""


class MultiMarginLoss(_Loss, function=F.multi_margin_loss):
    """The amount by which each wrong class misses ``margin`` below the right class, to the power ``p``.

    :raises ValueError: ``p`` is neither 1 nor 2, or ``weight`` is not one-dimensional.
    """

    p: int = 1
    margin: float = 1.0
    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def _checked(self, options: dict[str, Any]) -> dict[str, Any]:
        if options["p"] not in (1, 2):
            raise ValueError(f"only p == 1 and p == 2 supported, got {options['p']}")
        if not isinstance(options["weight"], (Tensor, type(None))):
            raise TypeError(f"MultiMarginLoss: weight must be Tensor, not {kind_of(options['weight'])}")
        if options["weight"] is not None and options["weight"].ndim != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be 1-D, but got {options['weight'].ndim}-D")
        return super()._checked(options)


class TripletMarginLoss(_Loss, function=F.triplet_margin_loss, inputs="anchor positive negative"):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` of p-norm distances.

    :param swap: take the distance of ``positive`` and ``negative`` where it is smaller (Balntas et al., 2016).
    :raises ValueError: ``margin`` is not positive.
    """

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def _checked(self, options: dict[str, Any]) -> dict[str, Any]:
        return super()._checked(_with_margin("TripletMarginLoss", options))


def _with_margin(name: str, options: dict[str, Any]) -> dict[str, Any]:
    if options["margin"] <= 0:
        raise ValueError(f"{name}: expected margin to be greater than 0, got {options['margin']} instead")
    return options


class TripletMarginWithDistanceLoss(
    _Loss, function=F.triplet_margin_with_distance_loss, inputs="anchor positive negative", positional=0
):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` of any distance."""

    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None
    margin: float = 1.0
    swap: bool = False
    reduction: str = "mean"

    def _checked(self, options: dict[str, Any]) -> dict[str, Any]:
        if options["distance_function"] is None:
            options["distance_function"] = PairwiseDistance()
        return super()._checked(_with_margin("TripletMarginWithDistanceLoss", options))


class CTCLoss(_Loss, function=F.ctc_loss, inputs="log_probs targets input_lengths target_lengths"):
    """Minus the logarithm of the probability of label sequences under all alignments (Graves et al., 2006)."""

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False
