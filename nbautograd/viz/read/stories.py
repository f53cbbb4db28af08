"""Choose the sentence about an operation's effect on the elements of a gradient: one for each family.

The numbers come from the formula itself (see ``terms``); the sentence explains them.
"""

from __future__ import annotations

from nbautograd.viz.read import formulas
from nbautograd.viz.read.jacobians import DIAGONAL, MATRIX, MOVE, OUTER
from nbautograd.viz.read.model import GraphModel

__all__ = ["STORIES", "pair_of", "story_of"]

_FAMILIES: dict[str, str] = {
    "sum": "Sum Nansum",
    "mean": "Mean",
    "softmax": "Softmax",
    "log_softmax": "LogSoftmax",
    "nll": "NllLoss NllLoss2D",
    "winner": "Max Min Amax Amin Aminmax Median Nanmedian Kthvalue Mode Maximum Minimum Fmax Fmin",
    "winner_so_far": "Cummax Cummin",
    "winner_of_window": "MaxPool2DWithIndices MaxPool3DWithIndices AdaptiveMaxPool2D AdaptiveMaxPool3D "
    "FractionalMaxPool2D FractionalMaxPool3D",
    "share_of_window": "AvgPool2D AvgPool3D AdaptiveAvgPool2D AdaptiveAvgPool3D",
    "convolution": "Convolution Convolution.input",
    "convolution_weight": "Convolution.weight",
    "norm": "NativeBatchNorm NativeLayerNorm NativeGroupNorm",
    "norm_weight": "NativeBatchNorm.weight NativeLayerNorm.weight NativeGroupNorm.weight",
    "bias": "Convolution.bias NativeBatchNorm.bias NativeLayerNorm.bias NativeGroupNorm.bias",
    "embedding": "Embedding EmbeddingBag",
    "taken": "Index IndexSelect Gather Take MaskedSelect AsStrided Unfold Im2Col",
    "part": "Select Slice Diagonal Split SplitWithSizes UnsafeSplit UnsafeSplitWithSizes Unbind Topk Tril Triu Trace "
    "Narrow",
    "sorted": "Sort Msort",
    "masked": "MaskedFill MaskedScatter",
    "positive": "Relu",
    "above": "Threshold",
    "dropped": "NativeDropout Dropout",
    "masked_value": "MaskedFill.value Fill.value IndexFill.value",
    "side": "Where",
    "clamped": "Clamp ClampMin ClampMax Hardtanh Hardsigmoid",
    "piece": "Cat Stack BlockDiag Hstack Vstack",
    "overwritten": "Fill Zero Copy Put IndexPut IndexCopy IndexFill SelectScatter SliceScatter DiagonalScatter "
    "AsStridedScatter Scatter",
    "written": "Copy.src Put.source IndexPut.values IndexCopy.source SelectScatter.src SliceScatter.src "
    "DiagonalScatter.src AsStridedScatter.src Scatter.src MaskedScatter.source",
    "added_at": "IndexAdd.source ScatterAdd.src",
    "repeated": "Expand Repeat SumToSize",
    "padded": "ConstantPadNd",
    "padded_copies": "ReflectionPad1D ReflectionPad2D ReflectionPad3D ReplicationPad1D ReplicationPad2D "
    "ReplicationPad3D CircularPad1D CircularPad2D CircularPad3D",
    "folded": "Col2Im",
    "running_sum": "Cumsum",
    "running_product": "Cumprod",
    "running_share": "Logcumsumexp",
    "product": "Prod",
    "share": "Logsumexp",
    "length": "LinalgVectorNorm Norm",
    "spread": "Var Std VarMean StdMean",
    "attention": "ScaledDotProductFlashAttentionForCpu",
    "weights": "UpsampleBicubic2D UpsampleNearest1D UpsampleNearestExact1D UpsampleLinear1D UpsampleNearest2D "
    "UpsampleNearestExact2D UpsampleBilinear2D UpsampleNearest3D UpsampleNearestExact3D UpsampleTrilinear3D "
    "UpsampleBilinear2DAa UpsampleBicubic2DAa GridSampler2D GridSampler3D",
    "grid": "GridSampler2D.grid GridSampler3D.grid AffineGridGenerator",
    "distance": "EuclideanDist Cdist Pdist",
    "gate": "Glu",
    "fourier": "FftC2C FftR2C FftC2R",
}
_LARGE = {MATRIX: "matrix", DIAGONAL: "elementwise"}
"""The sentences for kinds of which no element can be written out."""
_BY_NAME = {name: story for story, names in _FAMILIES.items() for name in names.split()}
_VECTOR = "matrix_vector"

STORIES = tuple(
    f"story_{key}"
    for key in (*_FAMILIES, "cross_entropy", "outer", _VECTOR, "places", "places_some", "all", *_LARGE.values())
)
"""The keys of all sentences."""


def story_of(name: str, parameter: str, kind: str, permutes: bool, pair: str, shown: bool = True) -> str:
    """Return the key of the sentence about the gradient sent to an input, or nothing if its numbers explain it.

    :param name: of the node.
    :param kind: how the gradient enters its formula.
    :param permutes: True if each sent element is an arrived one.
    :param pair: the node that sent the gradient, if there is only one.
    :param shown: whether an element is written out.

    >>> story_of("SoftmaxBackward0", "input", "other", False, "")
    'story_softmax'
    >>> story_of("LogSoftmaxBackward0", "input", "other", False, "NllLossBackward0")
    'story_cross_entropy'
    >>> story_of("ReluBackward0", "self", "diagonal", False, "")
    'story_positive'
    """
    own = formulas.base(name)
    if own == "LogSoftmax" and formulas.base(pair) in ("NllLoss", "NllLoss2D"):
        return "story_cross_entropy"
    if own == "Mv" and kind == MATRIX:
        return f"story_{_VECTOR}"
    story = _BY_NAME.get(f"{own}.{parameter}") or _BY_NAME.get(own)
    if story is None or (story == "norm" and kind == DIAGONAL):  # a norm with the numbers of another batch
        story = _of_kind(kind, permutes, shown)
    return story and f"story_{story}"


def _of_kind(kind: str, permutes: bool, shown: bool) -> str:
    """Return the story of an operation without one of its own."""
    if kind in _LARGE:
        return "" if shown else _LARGE[kind]
    if kind == MOVE:
        return "places" if permutes else "places_some"
    return "outer" if kind == OUTER else "all"


def pair_of(model: GraphModel, key: str) -> str:
    """Return the name of the only operation that uses the result of a log-softmax: with a loss after it, the two are
    one.
    """
    if not model.by_id[key].name.startswith("LogSoftmax"):
        return ""
    results = {key} | {edge.dst for (src, _), edge in model.results.items() if src == key}
    users = {edge.dst for edge in model.flows.values() if edge.src in results}
    return model.by_id[users.pop()].name if len(users) == 1 else ""
